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
    # rows, channels and tiles
    "fault-blank": "{where} not written: {content} instead",
    "fault-earlier": "{where} not written: earlier data of another tensor instead",
    "fault-moved": "{where} written from another place of the output",
    "fault-part-scaled": "{where} scaled by {factor:.6g}",
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

_SYMPTOM: dict[str, str] = {
    # what is certain about a wrong tensor, and where
    "symptom": "{where}: {detail}",
    "where-elements": "{places:list 4}",
    "where-rows": "{count:word row/rows} {places:list 8}",
    "where-rows-range": "rows {first} to {last}",
    "where-columns": "{count:word column/columns} {places:list 8}",
    "where-columns-range": "columns {first} to {last}",
    "where-channels": "{count:word channel/channels} {places:list 8}",
    "where-channels-range": "channels {first} to {last}",
    "where-slices": "index {places:list 8} along axis {axis}",
    "where-slices-range": "index {first} to {last} along axis {axis}",
    "where-block": "block of {sizes:times} from {start}",
    "where-run": "elements {first} to {last} of {size} in memory order",
    "where-scattered": "{count:count} of {size:count element}",
    "where-whole": "whole output",
    "symptom-non-finite": "not finite ({nan:count} NaN, {inf:count} Inf)",
    "symptom-stale": "the same bytes as in iteration {iteration}",
    "symptom-flushed": "{count:count element} of magnitude {largest:.4g} and below are zero, and no others",
    "symptom-zero": "zero where {count:count other number is expected/other numbers are expected}",
    "symptom-sign": "expected numbers with the other sign",
    "symptom-saturated": "±{limit:.6g} in {count:count element} where larger magnitudes are expected",
    "symptom-saturated-at": (
        "±{limit:.6g}, the maximum of {dtype}, in {count:count element} where larger magnitudes are expected"
    ),
    "symptom-constant": "{value:.6g} everywhere",
    "symptom-format": "every number is rounded to {dtype}",
    "symptom-exchanged": "{count} slices exchanged among themselves along axis {axis}",
    "symptom-shifted": "slices shifted by {step:+d} along axis {axis}",
    "symptom-copied": "copies of what belongs to {of}",
    "symptom-scaled": "expected numbers × {factor:.6g}",
    "symptom-offset": "expected numbers {step:+.6g}",
    "symptom-transposed": "axes in the order {axes}",
    "symptom-permuted": "the expected numbers at other places",
    "symptom-few": "other numbers in {count:count} of {size:count element}; all others agree",
    "symptom-local": "other numbers; all elements elsewhere agree",
}

FAULTS: dict[str, str] = {**_SINGLE, **_COMPUTED, **_PATTERN, **_SYMPTOM}
