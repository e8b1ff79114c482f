"""What an operator adds to the error by itself: measured once, against what number formats explain.

Two floors, two measurements. `quick_own_error` holds an operator against what it may be off without a look
at its data: most operators stay below that. `assess_own_error` takes the rest, with the condition of the operator
on its very inputs, and says whether the error is suspect.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.limits import limits
from workbench.comparison.replay.attempt import TROUBLE, Attempt
from workbench.comparison.replay.deviation import Deviation, deviation_of
from workbench.comparison.replay.floors import FLOAT32, Floor, careful_floor, quick_floor, unit_of
from workbench.comparison.replay.kernel import cast_like, distance
from workbench.core.errors import GraphError
from workbench.npu.arithmetic import EXACT, Arithmetic
from workbench.ops import CHOOSING, STEPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.comparison.repeats.measured import Spread
    from workbench.comparison.replay.slices import SliceError
    from workbench.core.words import Message

    Array = NDArray[Any]


class OwnError(NamedTuple):
    """The own error of one execution of one operator.

    Attributes
    ----------
    slot : int
        The result that is farthest beyond its floor; ``-1 - s`` is what was left in overwritten input ``s``.
    error : float
        Relative error of that result against what the inputs make of it.
    floor : Floor
        What explains it.
    unequal : float
        Share of its elements that are another number than ``arithmetic`` gives.
    arithmetic : Arithmetic
        How the operator was computed.
    rule : str
        How it is known what it computes, as in `workbench.comparison.replay.lowering`.
    assumed : tuple of Message
        What of its inputs is not from the target's files.
    suspect : float
        Multiple of what is explained; 0 if it is explained.
    errors : tuple of (int, float)
        Relative errors of all results, by slot.
    slices : SliceError, optional
        Slices of that result that make it suspect where its norm does not.
    deviation : Deviation, optional
        How the result deviates as a whole; ``None`` where it does not, or not all of its inputs are known.
    between_runs : bool
        Whether it would be suspect if other runs of the target did not differ by as much.
    """

    slot: int
    error: float
    floor: Floor
    share_unequal: float
    arithmetic: Arithmetic = EXACT
    rule: str = "table"
    assumed: tuple[Message, ...] = ()
    suspect: float = 0.0
    errors: tuple[tuple[int, float], ...] = ()
    slices: SliceError | None = None
    deviation: Deviation | None = None
    between_runs: bool = False

    @property
    def is_outlier(self) -> bool:
        """Whether it is suspect only beside its like, which are reproduced to the bit."""
        if self.slices is not None:
            return False
        excused = max(limits().suspect_factor * self.floor.rounding, self.floor.model)
        return bool(self.suspect) and self.error <= excused

    @property
    def explained(self) -> float:
        """Relative error that is explained; for an outlier what single roundings leave beside the others' none."""
        allowed = self.floor.rounding
        return min(allowed, self.error / limits().suspect_factor) if self.suspect else allowed

    @property
    def is_reproduced(self) -> bool:
        """Whether the result is reproduced to the bit, but for single elements."""
        return self.share_unequal <= limits().bit_share

    @property
    def is_biased(self) -> bool:
        """Whether a common factor of the result accuses the operator."""
        return self.deviation is not None and self.deviation.bias.accuses

    @property
    def is_beyond_rounding(self) -> bool:
        """Whether many elements differ, and by more than single roundings that fell elsewhere."""
        return not self.is_reproduced and self.error > limits().coarse_share * self.floor.ulp


def result_slot(io: str, slot: int) -> int:
    """Slot of a result as replay counts them: overwritten input ``s`` is ``-1 - s``."""
    return slot if io == "output" else -1 - slot


def quick_own_error(attempt: Attempt) -> tuple[OwnError, bool] | None:
    """Measure an operator against its quick floors, in exact arithmetic, and say whether they explain it.

    ``None``: nothing of what it gave can be compared. Raises one of ``TROUBLE``.
    """
    expected = attempt.results()
    errors = errors_of(attempt, expected)
    if not errors:
        return None
    floors = {slot: quick_floor(attempt, slot) for slot in errors}
    slot = _worst(errors, floors)
    own = _own_error(attempt, slot, Floor(floors[slot], 0.0), EXACT, expected, errors)
    return own, all(errors[slot] <= floors[slot] for slot in errors)


def assess_own_error(
    attempt: Attempt, arithmetic: Arithmetic, *, wide: bool = False, unrounded: bool = False
) -> OwnError:
    """Measure an operator against its careful floor, and say whether it is suspect; raises one of ``TROUBLE``.

    By itself nothing is suspect that is less than the device's own formats cost, however well its rounding is known.
    The result that is farthest beyond its quick floor is looked at first, the next one where that is explained.
    ``wide``, ``unrounded``: as of `careful_floor`.
    """
    expected = attempt.results(arithmetic)
    errors = errors_of(attempt, expected)
    if not errors:
        raise GraphError("compare/inputs-unknown")
    quick = {slot: quick_floor(attempt, slot, arithmetic) for slot in errors}
    times = {slot: _times(errors[slot], quick[slot]) for slot in errors}
    found: list[OwnError] = []
    for slot in sorted(times, key=times.__getitem__, reverse=True):
        if found and (found[-1].suspect or times[slot] <= 1.0):
            break
        known = careful_floor(
            attempt, slot, expected[slot], arithmetic, wide=wide, unrounded=unrounded
        )
        suspect = _suspect(errors[slot], known)
        found.append(_own_error(attempt, slot, known, arithmetic, expected, errors, suspect))
    return found[-1] if found[-1].suspect else found[0]


def try_own_error(
    attempt: Attempt | Message | None,
    arithmetic: Arithmetic,
    *,
    wide: bool = False,
    unrounded: bool = False,
) -> OwnError | None:
    """Return what `assess_own_error` does; ``None`` where the operator cannot be computed again."""
    if not isinstance(attempt, Attempt):
        return None
    try:
        return assess_own_error(attempt, arithmetic, wide=wide, unrounded=unrounded)
    except TROUBLE:
        return None


OF_ONE = frozenset(("Sigmoid",))
"""Types of results between 0 and 1 that libraries compute to a part of 1, not of the result.

onnxruntime's logistic function takes -18 for whatever is below.
"""

PART_OF_ONE = 4 * FLOAT32
"""Measured of onnxruntime 1.32 from -40 to 40: 2.7 roundings of 1."""


def library_own_error(attempt: Attempt) -> OwnError | None:
    """Measure an operator that a library computed, as the golden's are; ``None`` if it cannot be computed again."""
    try:
        own = assess_own_error(attempt, EXACT)
    except TROUBLE:
        return None
    if not own.suspect or attempt.op.op_type not in OF_ONE:
        return own
    expected = attempt.results(EXACT)[own.slot].astype(np.float64)
    off = np.max(np.abs(attempt.given[own.slot] - expected), initial=0.0)
    return own._replace(suspect=0.0) if off <= PART_OF_ONE else own


def _suspect(error: float, floor: Floor) -> float:
    """Multiple of what roundings explain, where that is too much; else 0."""
    times = _times(error, floor.rounding)
    beyond = times > limits().suspect_factor and error >= floor.largest
    return times if beyond else 0.0


def ordered_own_error(attempt: Attempt, arithmetic: Arithmetic) -> OwnError | None:
    """Measure a sum in its known order against no rounding at all; ``None``: nothing of it can be compared.

    Raises one of ``TROUBLE``.
    """
    expected = attempt.results(arithmetic)
    errors = errors_of(attempt, expected)
    if not errors:
        return None
    slot = max(errors, key=errors.__getitem__)
    return _own_error(attempt, slot, Floor(0.0, 0.0), arithmetic, expected, errors)


def less_spread(own: OwnError, spreads: Mapping[int, Spread], factor: float) -> OwnError:
    """Return an own error that is not suspect if no result is off by more than ``factor`` times what runs differ.

    ``spreads`` are largest relative errors between runs, by slot.
    """
    allowed = limits().suspect_factor * own.floor.rounding
    from workbench.comparison.repeats.measured import Spread

    nothing = Spread()
    beyond = any(
        error > max(allowed, factor * spreads.get(slot, nothing).error)
        for slot, error in own.errors or ((own.slot, own.error),)
    )
    mine = spreads.get(own.slot, nothing)
    local = own.slices is not None and own.slices.error > factor * mine.slice_error
    if beyond or local or not mine.error:
        return own
    return own._replace(suspect=0.0, slices=None, between_runs=True)


def errors_of(attempt: Attempt, expected: Mapping[int, Array]) -> dict[int, float]:
    """Relative errors of what an operator gave, by slot."""
    return {slot: distance(attempt.given[slot], array) for slot, array in expected.items()}


def _own_error(
    attempt: Attempt,
    slot: int,
    floor: Floor,
    arithmetic: Arithmetic,
    expected: Mapping[int, Array],
    errors: Mapping[int, float],
    suspect: float = 0.0,
) -> OwnError:
    return OwnError(
        slot,
        errors[slot],
        floor,
        share_unequal(attempt.given[slot], expected[slot]),
        arithmetic,
        attempt.rule,
        attempt.assumed,
        suspect,
        tuple(errors.items()),
        deviation=_deviation(attempt, slot, errors[slot], expected[slot]),
    )


def _deviation(attempt: Attempt, slot: int, error: float, expected: Array) -> Deviation | None:
    """How a result deviates as a whole, where all inputs are the target's own and it is a new number."""
    guessed = attempt.partial or attempt.invented or attempt.assumed
    op_type = attempt.op.op_type
    if not error or not math.isfinite(error) or slot < 0 or guessed or op_type in CHOOSING | STEPS:
        return None
    return deviation_of(attempt.given[slot], expected, op_type)


def is_out_of_range(attempt: Attempt, slot: int) -> bool:
    """Whether the dtype of a result has lost more than a rounding: to zero, or to infinity."""
    given = attempt.given[slot]
    if slot < 0 or not unit_of(given):
        return False
    exact = attempt.computed((slot,))[slot]
    if exact.size != given.size:
        return False
    exact = exact.reshape(given.shape)
    allowed = limits().suspect_factor * quick_floor(attempt, slot)
    return distance(cast_like(exact, given), exact) > allowed


def share_unequal(given: Array, expected: Array) -> float:
    """Return the share of elements that are not the same, NaN against NaN apart."""
    if given.size == 0 or given.shape != expected.shape:
        return float(given.shape != expected.shape)
    same = np.equal(given, expected) | (
        np.not_equal(given, given) & np.not_equal(expected, expected)
    )
    return 1.0 - float(np.count_nonzero(same)) / given.size


def _worst(errors: Mapping[int, float], floors: Mapping[int, float]) -> int:
    """Result that is farthest beyond its floor."""
    return max(errors, key=lambda slot: _times(errors[slot], floors[slot]))


def _times(error: float, floor: float) -> float:
    if not error:
        return 0.0
    return error / floor if floor else math.inf
