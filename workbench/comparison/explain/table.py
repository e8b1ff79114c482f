"""The hypotheses: one row for every kind of fault, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from workbench._values import NamedTuple
from workbench.comparison.explain.hypotheses import (
    attributes,
    elements,
    inside,
    operands,
    outputs,
    tiles,
    units,
    weights,
)
from workbench.comparison.limits import limits
from workbench.npu.cube import CUBE
from workbench.npu.ops_info import INTEGERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from workbench.comparison.explain.case import Candidate, Evaluation


def is_float(case: Evaluation) -> bool:
    """The output holds floats."""
    return case.is_float


def is_number(case: Evaluation) -> bool:
    """The output holds numbers, no truth values."""
    return case.trial.given.dtype.kind != "b"


def is_integer(case: Evaluation) -> bool:
    """The output holds integers."""
    return case.trial.given.dtype.kind in "iu"


def is_result(case: Evaluation) -> bool:
    """What is on trial is an output, and not what the operator left in an input."""
    return case.trial.slot >= 0


def is_input_intact(case: Evaluation, guess: Candidate) -> bool:
    """The input that it says was another one lies in the dump, as the operator read it."""
    return guess.accuses in case.trial.dumped


def is_output_itself(case: Evaluation) -> bool:
    """What is on trial is what was there when the operator was done: of what is read later others may have written."""
    return not case.trial.read_later


def was_read_at_once(case: Evaluation, _: Candidate) -> bool:
    """What was given is what was there when the operator was done: nobody had time to write over it."""
    return not case.trial.read_later


def is_moved(case: Evaluation, _: Candidate) -> bool:
    """What is off belongs to other places of the same output: it was computed, and is nobody else's."""
    return case.moved is not None


def is_tile(case: Evaluation, _: Candidate) -> bool:
    """What is off are whole slices, a tile, or elements here and there, and no few neighbors."""
    region = case.region
    if region is None or case.places.size <= 1:
        return False
    return region.shape == "slices" or elements.count_runs(case.places) > limits().runs_few


def is_chain(case: Evaluation) -> bool:
    """The kernel has several operators, so that one hands something on to the next."""
    return len(case.trial.kernel.ops) > 1


class Hypothesis(NamedTuple):
    """All that is known of a kind of fault, or of one way to guess at several kinds.

    Attributes
    ----------
    made_from : str
        ``output``: from what was given and expected alone. ``handed``: from what one operator of a kernel hands
        on to the next. ``computed``: from the operator computed again, which nobody does any more once a guess
        with next to no free numbers explains everything.
    guesses : function
        Yields candidates, the likelier ones first.
    words : tuple of str
        Codes of what they say.
    why : str
        Why it stands here.
    types : collection of str
        Operators of which the kernel has one, else there is nothing to guess; empty: any.
    needs : tuple of functions
        What must hold of a case besides.
    denied_by : tuple of functions
        What the data on disk may show that it cannot be so; () where they show nothing of the kind. A guess that is
        denied is not made.
    """

    made_from: Literal["output", "handed", "computed"]
    guesses: Callable[[Evaluation], Iterator[Candidate]]
    words: tuple[str, ...]
    why: str
    types: Collection[str] = ()
    needs: tuple[Callable[[Evaluation], bool], ...] = ()
    denied_by: tuple[Callable[[Evaluation, Candidate], bool], ...] = ()

    def denied(self, case: Evaluation, guess: Candidate) -> bool:
        """Whether the data deny a guess."""
        return any(denies(case, guess) for denies in self.denied_by)

    def applies(self, case: Evaluation) -> bool:
        """Whether a case can have such a fault."""
        if self.types and not any(op.op_type in self.types for op in case.trial.kernel.ops):
            return False
        return all(need(case) for need in self.needs)


HYPOTHESES: dict[str, Hypothesis] = {
    "nan-output": Hypothesis(
        "output", elements.nan_output, ("compare/fault-nan",),
        "one pass over the output; NaN that nobody expects is no noise", needs=(is_float,),
    ),
    "bit-flip": Hypothesis(
        "output", elements.bit_flip, ("compare/fault-bit",),
        "few elements; before what may put anything in their place, so that equals are told by the rarer fault",
        denied_by=(is_moved, is_tile),
    ),
    "overwritten-element": Hypothesis(
        "output", elements.overwritten_element, ("compare/fault-overwritten",),
        "few elements, whatever they hold", denied_by=(is_moved, is_tile),
    ),
    "overrun": Hypothesis(
        "output", elements.overrun, ("compare/fault-overrun", "compare/fault-overrun-in"),
        "the beginning of the output; searches other tensors for it", denied_by=(was_read_at_once, is_moved),
    ),
    "unwritten-tail-tile": Hypothesis(
        "output", elements.unwritten_tail_tile, ("compare/fault-tile", "compare/fault-tail"),
        "the end of the output; searches other tensors for one row of it", denied_by=(is_moved,),
    ),
    "unwritten-tile": Hypothesis(
        "output", tiles.unwritten_tile, ("compare/fault-blank", "compare/fault-earlier"),
        "any part of the output: behind the last tile, which is the likelier one to be forgotten",
        needs=(is_output_itself,), denied_by=(is_moved,),
    ),
    "misplaced-tile": Hypothesis(
        "output", tiles.misplaced_tile, ("compare/fault-moved",),
        "compares slices with each other",
    ),
    "scaled-tile": Hypothesis(
        "output", tiles.scaled_tile, ("compare/fault-part-scaled",),
        "a part of the output with one factor: before the whole, which it leaves to others", needs=(is_float,),
        denied_by=(is_moved,),
    ),
    "wrong-sign": Hypothesis(
        "output", outputs.wrong_sign, ("compare/fault-sign",),
        "the whole output without a free number",
    ),
    "flush-to-zero": Hypothesis(
        "output", outputs.flush_to_zero, ("compare/fault-flush",),
        "the whole output with one limit, the smallest that stayed", needs=(is_float,),
    ),
    "saturated": Hypothesis(
        "output", outputs.saturated, ("compare/fault-saturated", "compare/fault-saturated-at"),
        "the whole output with one limit, the largest there is", needs=(is_number,),
    ),
    "scaled-output": Hypothesis(
        "output", outputs.scaled_output, ("compare/fault-scale",),
        "the whole output with one factor, which fits anything a little", needs=(is_number,),
    ),
    "wrong-layout-lanes": Hypothesis(
        "output", outputs.wrong_layout_lanes, ("compare/fault-lanes",),
        "tries every distance inside a block on a sample",
    ),
    "transposed-output": Hypothesis(
        "output", operands.transposed_output, ("compare/fault-order",),
        "tries up to 23 orders of the axes on the whole output",
    ),
    "stale-output": Hypothesis(
        "output", elements.stale_output,
        ("compare/fault-zero", "compare/fault-unwritten", "compare/fault-stale",
         "compare/fault-stale-in", "compare/fault-unrelated"),
        "last of these: hashes other tensors, and holds of anything that has nothing to do with what was expected",
        denied_by=(is_moved,),
    ),
    "faults between steps": Hypothesis(
        "handed", inside.inside,
        ("compare/inside-sign", "compare/inside-flush", "compare/inside-saturated",
         "compare/inside-lanes", "compare/inside-scale", "compare/inside-nan",
         "compare/inside-overwritten", "compare/inside-bit"),
        "the faults above, of a step inside: before the faults of computing, which a kernel has one for each step",
        needs=(is_chain, is_result, is_float),
    ),
    "integer-wrap": Hypothesis(
        "computed", units.integer_wrap, ("compare/fault-wrapped", "compare/fault-clipped"),
        "computes once; for integers hardly anything else is left", needs=(is_integer, is_result),
    ),
    "missing-step": Hypothesis(
        "computed", units.missing_step, ("compare/fault-missing",),
        "computes a kernel twice a step",
    ),
    "swapped-inputs": Hypothesis(
        "computed", operands.swapped_inputs, ("compare/fault-swapped",),
        "computes once for every two inputs of one shape",
    ),
    "half-accumulation": Hypothesis(
        "computed", units.half_accumulation,
        ("compare/fault-accumulation", "compare/fault-accumulation-read"),
        "computes once for every format that inputs may have", types=CUBE, needs=(is_float,),
    ),
    "missing-cast": Hypothesis(
        "computed", units.missing_cast, ("compare/fault-cast",),
        "computes once or twice for every coarser format", needs=(is_float,),
    ),
    "fast-approximation": Hypothesis(
        "computed", units.fast_approximation, ("compare/fault-formula",),
        "computes once for every formula", types=units.TRANSCENDENTAL, needs=(is_float,),
    ),
    "transposed-weight": Hypothesis(
        "computed", operands.transposed_weight,
        ("compare/fault-transposed", "compare/fault-flipped"),
        "computes once for every two axes", types=INTEGERS,
    ),
    "dropped-k-tail": Hypothesis(
        "computed", operands.dropped_k_tail, ("compare/fault-k-tail",),
        "computes as often as the logarithm of the blocks", types=INTEGERS,
    ),
    "wrong-weight-element": Hypothesis(
        "computed", weights.wrong_weight_element, ("compare/fault-weight",),
        "solves for elements, which may take as long as several computations", needs=(is_float,),
        denied_by=(is_input_intact, is_moved),
    ),
    "wrong-attribute": Hypothesis(
        "computed", attributes.wrong_attribute,
        ("compare/fault-setting", "compare/fault-scalar", "compare/fault-window",
         "compare/fault-convolution"),
        "computes once for every other value of every setting: most of the budget",
    ),
    "shifted-output": Hypothesis(
        "computed", outputs.shifted_output, ("compare/fault-shift",),
        "cheap, but last: its free edge fits what the others explain without",
    ),
}  # fmt: skip
"""Guesses by kind. What the simulated device can have is called here as there; the others are what happens
in compilers and kernels besides: an operator left out, inputs or axes exchanged, integers wrapped around.
The order says what a budget still reaches, what an exact explanation makes needless, and which of two equally
good guesses is told."""
