"""What a fault did to an operator's output, as hypotheses say it: name → words."""

from __future__ import annotations

_SINGLE: dict[str, str] = {
    # places
    "element": "{index}",
    "elements": "{count:count element} from {first} on",
    # single elements and memory
    "fault-nan": "NaN written at {where}",
    "fault-overwritten": "{where} overwritten with {value}; all other elements correct",
    "fault-bit": "bit {bit} flipped at {where}; all other elements correct",
    "fault-tile": "last tile of {side} × {side} not written; it holds {content}",
    "fault-tail": "last {size:bytes} not written; they hold {content}",
    "holds-number": "{value:number}",
    "holds-numbers": "{values:list 3}",
    "holds-earlier": "earlier data",
    "holds-tensor": "data of another tensor",
    "holds-other": "other values",
    "fault-zero": "output is all zero, as memory that was never written",
    "fault-unwritten": "nothing written: previous content kept",
    "fault-stale": "{share:percent} of its bytes are earlier data of other tensors",
    "fault-stale-in": "{share:percent} of its bytes in {format} are earlier data of other tensors",
    "fault-unrelated": "output has nothing in common with the expected one",
    "fault-overrun": "first {size:bytes} overwritten with {content}; the rest is correct",
    "fault-overrun-in": "first {size:bytes} in {format} overwritten with {content}; the rest is correct",
    # whole outputs
    "fault-sign": "all elements have the wrong sign",
    "fault-scale": "all elements scaled by {factor:.6g}",
    "fault-flush": "{count:count element} below {limit:.4g} flushed to zero",
    "fault-saturated": "{count:count element} saturated at {limit:.6g}",
    "fault-saturated-at": "{count:count element} saturated at {limit:.6g}, the maximum of {dtype}",
    "fault-lanes": "channels c and c xor {distance} exchanged in blocks of {lanes} channels",
    "fault-order": "output has axis order {axes}",
    "fault-shift": "output shifted by {step:+d} along axis {axis}",
    "fault-wrapped": "integers beyond {dtype} wrapped around",
    "fault-clipped": "integers beyond {dtype} clipped",
}

_COMPUTED: dict[str, str] = {
    "fault-missing": "{op_type} skipped: its input {slot} is passed on unchanged",
    "fault-swapped": "inputs {first} and {second} exchanged",
    "fault-transposed": "weight read with axes {first} and {second} exchanged",
    "fault-flipped": "weight read with rows and columns of its kernels reversed",
    "fault-k-tail": "last {count} of {blocks:count block} of {size} elements missing from the sums",
    "fault-weight": "element {index} of input {slot} was {value:.5g} instead of {expected:.5g}",
    "fault-accumulation": "{op_type} accumulated in float16 instead of float32",
    "fault-accumulation-read": "{op_type} accumulated in float16 instead of float32, inputs in {dtype}",
    "fault-cast": "{op_type} computed in {dtype}, as if a Cast were missing",
    "fault-formula": "{op_type} computed by a fast approximation ({formula})",
    "fault-setting": "{op_type} used {name} = {used} instead of {value}",
    "fault-scalar": "{op_type} used {used} instead of {value} as input {slot}",
    "fault-window": (
        "{op_type} used kernel size {kernel}, stride {stride}, dilation {dilation}, padding {pads}"
    ),
    "fault-convolution": "{op_type} used stride {stride}, dilation {dilation}, padding {pads}",
    # between the operators of a fused kernel
    "inside-sign": "the result of {op_type} inside the kernel has the wrong sign",
    "inside-flush": "the result of {op_type} inside the kernel was flushed to zero below {limit:.4g}",
    "inside-saturated": "the result of {op_type} inside the kernel was saturated at {limit:.6g}",
    "inside-lanes": "the result of {op_type} inside the kernel has channels c and c xor {distance} exchanged",
    "inside-scale": "the result of {op_type} inside the kernel was scaled by {factor:.6g}",
    "inside-nan": "NaN in the result of {op_type} inside the kernel at {where}",
    "inside-overwritten": "{where} in the result of {op_type} inside the kernel overwritten with {value:.6g}",
    "inside-bit": "bit {bit} flipped at {where} in the result of {op_type} inside the kernel",
}

_PATTERN: dict[str, str] = {
    # what an error looks like that no fault explains
    "pattern": "{parts:clauses}",
    "pattern-empty": "the output is empty",
    "pattern-spread": "the error is spread over all elements",
    "pattern-all": "all elements are wrong",
    "pattern-some": "{count:count} of {size:count element} ({percent:number} %) wrong: {first} to {last}",
    "pattern-run": (
        "{count:count} of {size:count element} ({percent:number} %) wrong: one block, {first} to {last}"
    ),
    "pattern-period": "repeats every {period} places along axis {axis}",
    "pattern-places": "only at index {places:list 4} of {size} along axis {axis}",
    "pattern-range": "only at index {first} to {last} of {size} along axis {axis}",
    "pattern-high": "all too large",
    "pattern-low": "all too small",
    "pattern-small": "magnitudes too small",
    "pattern-large": "magnitudes too large",
    "pattern-ratio": "about {factor:.4g} × the expected values",
    "pattern-value": "{count:count} × {value}",
    "pattern-largest": "{count:count} × {value:g}, the maximum of {dtype}",
}

FAULTS: dict[str, str] = {**_SINGLE, **_COMPUTED, **_PATTERN}
