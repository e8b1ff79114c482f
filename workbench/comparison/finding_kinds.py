"""Kinds of findings: the one table of what each is, what it is worth, and what to do about it."""

from __future__ import annotations

from typing import NamedTuple


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
        "Compare the two programs at this source line.",
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
        "Compare attributes and input shapes of the operator at this source line.",
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


CHANGED = "changed-memory"
"""Kind without a verdict of its own that is worth a warning."""
