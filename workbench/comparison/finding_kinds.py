"""Kinds of findings: the one table of what each is, what it is worth, and what to do about it."""

from __future__ import annotations

from workbench._values import NamedTuple


class Kind(NamedTuple):
    """All that is known of a kind of finding.

    Attributes
    ----------
    defect : bool
        Whether it makes a comparison fail.
    meaning : str
    score : float
        Of a finding with full evidence. An own error gains with its size, up to 0.69.
    advice : str
        What to do.
    fault : str
        Kind of the fault, where the difference itself says it.
    """

    defect: bool
    meaning: str
    score: float
    advice: str
    fault: str = ""


KINDS: dict[str, Kind] = {
    "attribute": Kind(
        True, "attribute or constant argument differs between the graphs", 0.98,
        "Align the attribute and re-run the target.", fault="wrong-attribute",
    ),
    "parameter": Kind(
        True, "weight or other parameter read by the operator differs", 0.95,
        "Load the same checkpoint and hyper-parameters on both sides and compare again.",
    ),
    "input": Kind(
        True, "network input read by the operator differs", 0.95,
        "Feed both runs the same data and compare again.",
    ),
    "constant": Kind(
        True, "constant tensor read by the operator differs", 0.95,
        "Compare how the two programs build this constant.",
    ),
    "structure": Kind(
        True, "operators are missing, extra or replaced", 0.9,
        "Compare what the two programs compute at this operator.",
    ),
    "exchanged": Kind(
        True, "files of two tensors hold each other's values", 0.95,
        "Check how the dump was copied, renamed or converted, and dump again.",
    ),
    "overwritten": Kind(
        True, "an output is overwritten while it is still needed", 0.95,
        "Check what this operator writes beyond its output, and the sizes that it was compiled for.",
        fault="overrun",
    ),
    "ended": Kind(
        True, "the run ended early at this operator", 0.9,
        "Check the device log for the failure, and configure an exception dump of the operator.",
    ),
    "shape": Kind(
        True, "output shape differs", 0.9,
        "Compare the operator's attributes and input shapes in both programs.",
    ),
    "overflow": Kind(
        True, "scaled gradients overflow and the step is skipped", 0.9,
        "Lower the loss scale, or use dynamic loss scaling.",
    ),
    "underflow": Kind(
        True, "gradients underflow to zero", 0.9,
        "Raise the loss scale.",
    ),
    "rank": Kind(
        True, "ranks of one job differ where they must be equal", 0.8,
        "Compare this rank with a golden run; check its device and its links.",
    ),
    "non-finite": Kind(
        True, "first NaN or Inf", 0.65,
        "Check the operator's inputs for values outside the range of its number format.",
    ),
    "number-format": Kind(
        True, "the whole run stores values in a coarser format than stated, or cuts bits off", 0.9,
        "Check precision mode, mixed precision and casting of the target run, then re-run it.",
    ),
    "common-factor": Kind(
        True, "operators of one type, or of the whole run, are off by one common factor", 0.85,
        "Check what these operators share: kernel version, scale or epsilon, compiler options.",
    ),
    "bias": Kind(
        True, "all elements are off by one factor, below expected rounding", 0.6,
        "Run this operator alone with the target's inputs and average the relative error of its elements.",
    ),
    "own-error": Kind(
        True, "local error exceeds what inputs and number formats explain", 0.5,
        "Run this operator alone with the target's inputs in higher precision.",
    ),
    "precision": Kind(
        False, "the runs use different number formats; rounding explains the differences", 0.3,
        "Expected with different number formats; no action.",
    ),
    "incomplete": Kind(
        False, "network outputs or tensors were not compared", 0.28,
        "Dump them on both sides and compare again; --allow-missing NAME accepts what is missing on purpose.",
    ),
    "changed-memory": Kind(
        False, "a watched output changed after the operator; unknown whether it was still needed", 0.25,
        "Dump the graph as well (DUMP_GE_GRAPH) or name it: unused memory is reused.",
    ),
    "cut-short": Kind(
        False, "nothing dumped from this operator on; unknown whether the run ended there", 0.25,
        "Check the log of the run, or dump all operators. Expected if operators were selected by a list.",
    ),
    "undecided": Kind(
        False, "the error may be rounding or a defect: without graphs nobody can say", 0.28,
        "Supply the graph of the run (--target-graph FILE), or dump inputs and outputs of all operators in full.",
    ),
    "unmatched": Kind(
        False, "unmatched tensors", 0.1,
        "Dump the same operators on both sides to compare these as well.",
    ),
    "info": Kind(
        False, "worth knowing; no cause of divergence", 0.2,
        "No action unless the operator's outputs are in doubt.",
    ),
}  # fmt: skip
"""Kind → what is known of it."""


CAUSE_ADVICE: dict[str, str] = {
    "nan-output": "Check the kernel for uninitialized memory, 0/0 and Inf − Inf.",
    "bit-flip": "Re-run the target: if the bit is right then, test the device memory (ECC); else check the kernel.",
    "overwritten-element": "Check which other kernel or copy writes to this memory.",
    "unwritten-tail-tile": "Check the tiling of the last block: the shape is no multiple of the tile.",
    "unwritten-tile": "Check the tiling: which core computes this block, and whether its result is copied out.",
    "misplaced-tile": "Check the offsets with which the blocks of this operator are read and written.",
    "scaled-tile": "Check the tiling: whether the sum over K is complete, or added twice, in this block.",
    "dropped-k-tail": "Check the tiling of the K axis: its length is no multiple of the tile.",
    "wrong-sign": "Check the sign in the kernel and in the attributes of the operator.",
    "flush-to-zero": "Scale the values up, or run this operator in a format with a wider exponent (float32, bfloat16).",
    "saturated": "Check the overflow mode (INF/NAN or saturation), or run this operator in a wider format.",
    "scaled-output": "Check scales: dequantization, loss scale, attributes of the operator.",
    "wrong-layout-lanes": "Check the format conversion (TransData) before and after this operator.",
    "transposed-output": "Check the layout in which the output is written and read.",
    "stale-output": "Check that the operator ran in this iteration, and its synchronization with its consumers.",
    "integer-wrap": "Check the width of the integers inside the kernel.",
    "missing-step": "Check the fusion: a step of the fused operator is not computed.",
    "swapped-inputs": "Check the order of the operator's inputs.",
    "half-accumulation": "Accumulate in float32 (precision mode of the operator).",
    "missing-cast": "Keep this operator in float32 (precision mode or black list).",
    "fast-approximation": "Select the high-precision implementation of the operator.",
    "transposed-weight": "Check the transpose flags and the layout of the weight.",
    "wrong-weight-element": "Check how the weight is loaded and stored on the device.",
    "wrong-attribute": "Compare the attributes that the kernel was compiled with to those of the graph.",
    "shifted-output": "Check offsets and padding in the tiling of the operator.",
}
"""Cause that an error of no other kind looks like → what to do; of others what their kind advises."""

KERNEL_CORRECT = (
    "Check the golden's output of this operator: replay finds the target's kernel correct."
)
"""Advice of an error that replay of the target does not confirm."""

_OPEN = frozenset(("own-error", "non-finite"))
"""Kinds that say nothing of the cause, so that what to do depends on it."""


def advice_for(kind: str, cause: str = "", *, kernel_correct: bool = False) -> str:
    """Return what to do about a finding of a kind, by the likely cause if there is one.

    ``kernel_correct``: replay with the target's inputs gives what the target gave.
    """
    if kind not in _OPEN:
        return KINDS[kind].advice
    if cause in CAUSE_ADVICE:
        return CAUSE_ADVICE[cause]
    return KERNEL_CORRECT if kernel_correct else KINDS[kind].advice
