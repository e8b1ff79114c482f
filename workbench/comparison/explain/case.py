"""A trial made ready for guesses: numbers that are worked out once, what each guess leaves over, what it costs."""

from __future__ import annotations

import math
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.comparison.explain.memory import HeldTensors
from workbench.comparison.explain.regions import locate
from workbench.comparison.explain.symptoms import Contrast, sources
from workbench.comparison.limits import limits
from workbench.comparison.replay.attempt import TROUBLE
from workbench.comparison.replay.kernel import Change, distance, sum_of_squares
from workbench.core.dtypes import roundoff
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.graph.graph import Param, Value
from workbench.npu.arithmetic import EXACT, Arithmetic
from workbench.npu.cube import CUBE
from workbench.npu.profiles import HF32, HF32_AWAY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from workbench.comparison.explain.regions import Region
    from workbench.comparison.replay.kernel import Trial
    from workbench.graph.graph import Op
    from workbench.npu.arithmetic import Arithmetic

    Array = NDArray[Any]

BUDGET = 4e9
"""Operations on numbers that the guesses for one trial may cost."""

_CHUNK = 1 << 18  # elements compared at a time
_SORTED = 1 << 22  # elements of an output whose slices are compared with each other
_LARGE = 1 << 20  # elements from which float32 holds what float32 can

_THIN, _THIN_COST = 8, 1e6  # channels of a thin case, and operations from which it is worth it
_FEW = slice(0, _THIN)
_THIN_TYPES: dict[str, tuple[Any, ...]] = {
    "Conv2D": ((slice(0, 1),), (_FEW,)),
    "MaxPool": ((slice(0, 1), _FEW),),
    "AvgPool": ((slice(0, 1), _FEW),),
}
"""What of its inputs the first image and channels of an operator's output come from."""

FAILURES = (WorkbenchError, *TROUBLE)
"""What a guess may raise when settings or inputs do not fit together."""

FORMATS = (
    ("", ""), ("float16", "float16"), ("float16", ""), (HF32, ""), (HF32_AWAY, ""), ("bfloat16", "bfloat16")
)  # fmt: skip
"""Inputs and outputs of units as devices have them, beyond the operators' own dtypes."""


class OverBudgetError(Exception):
    """The next guess would cost more than is left."""


class Budget:
    """Operations on numbers that may still be spent; evaluations of one trial share one."""

    def __init__(self, left: float = BUDGET) -> None:
        self.left = left

    def spend(self, cost: float) -> None:
        """Count what something costs; raises OverBudgetError if it is not left."""
        if cost > self.left:
            raise OverBudgetError
        self.left -= cost

    def overspend(self, cost: float) -> float:
        """Count what something costs even if it is not left; return what is left."""
        self.left -= cost
        return self.left


class Candidate(NamedTuple):
    """What the operator gives if it has a certain fault.

    ``parameters`` counts the free numbers that were fitted to what it gave; a choice among a few is
    a part of one. ``loose``: they were solved for from rounded numbers, so that the last bits may differ.
    ``accuses`` is the flat input of the kernel that was another one if it is so, -1 for none.
    """

    kind: str
    output: Array
    said: Message
    parameters: float = 0.0
    loose: bool = False
    accuses: int = -1


class ScoredCandidate(NamedTuple):
    """A guess and what it leaves over, and its score: the lower, the better.

    The score is a length of description (Rissanen, *Modeling by shortest data description*, 1978): what it takes
    to say, to a tenth of the noise, what the guess leaves over of every element, and its fitted numbers.
    """

    candidate: Candidate
    remains: float
    exact: float
    score: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A trial, ready for guesses, with what is worked out of it once.

    Attributes
    ----------
    given, expected : flat arrays of floats
        What the operator gave and should have given: float64, float32 if there are many.
    scale : float
        Norm that errors are relative to: of what was expected; if that is 0, of what was given.
    rms : float
        That of one element.
    coarse : float
        Half of the last bit of the format that the output was rounded to.
    grain : float
        To how much of an element numbers are described; ``number`` is what that costs, in nats.
    floor : float
        The trial's; if that is 0, half of the last bit that its dtype keeps.
    cost : float
        Operations that computing the kernel once takes.
    """

    trial: Trial
    budget: Budget = field(default_factory=Budget)
    _read: dict[int, list[Array]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def given(self) -> Array:
        return _wide(self.trial.given)

    @cached_property
    def expected(self) -> Array:
        return _wide(self.trial.expected)

    @cached_property
    def scale(self) -> float:
        return _norm(self.expected) or self._size or 1.0

    @cached_property
    def rms(self) -> float:
        return self.scale / math.sqrt(max(self.given.size, 1))

    @cached_property
    def floor(self) -> float:
        return self.trial.floor if self.trial.floor > 0 else roundoff(self.trial.given.dtype.name)

    @cached_property
    def coarse(self) -> float:
        return max(roundoff(self.trial.arithmetic.output), roundoff(self.trial.given.dtype.name))

    @cached_property
    def grain(self) -> float:
        return max(limits().grain_share * self.floor, limits().grain_least)

    @cached_property
    def number(self) -> float:
        return math.log(1.0 / min(self.grain, 0.1))

    @cached_property
    def cost(self) -> float:
        return _cost(self.trial)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.trial.given.shape

    @property
    def is_float(self) -> bool:
        """Whether the output holds floats; they may be of a format that NumPy calls something else."""
        return self.trial.given.dtype.kind not in "biu"

    @cached_property
    def held(self) -> HeldTensors:
        """What memory held when the operator ran."""
        return HeldTensors(self.trial)

    @cached_property
    def off(self) -> NDArray[np.bool_]:
        """Which elements, flat, differ by more than noise."""
        found = np.empty(self.given.size, np.bool_)
        for piece in slices_of(found.size):
            found[piece] = self._off(self.given[piece], self.expected[piece])
        return found

    def _off(self, given: Array, expected: Array) -> NDArray[np.bool_]:
        with np.errstate(all="ignore"):
            gap = np.abs(given - expected)
            far = gap > limits().element_beyond * self.floor * (np.abs(expected) + self.rms)
            finite = np.isfinite(gap) & np.isfinite(expected)
            same = (given == expected) | (np.isnan(given) & np.isnan(expected))
        return np.asarray(np.where(finite, far, ~same))

    def still_off(self, output: Array) -> float:
        """How many elements are off a guess, as a share of those that are off what was expected; 1 at most."""
        count, flat = 0, output.reshape(-1)
        for piece in slices_of(flat.size):
            count += int(
                np.count_nonzero(self._off(self.given[piece], flat[piece].astype(np.float64)))
            )
        return min(count / max(self.places.size, 1), 1.0)

    def near(self, values: Array, places: NDArray[np.intp]) -> bool:
        """Whether values are, but for noise, what is expected at flat places.

        One at least has to be told from zero, or met exactly.
        """
        wanted = self.expected[places]
        found = values.astype(wanted.dtype)
        told = np.abs(wanted) > 4 * limits().element_beyond * self.floor * self.rms
        met = found == wanted
        return bool(np.all(met | ~self._off(found, wanted)) and np.any(met | told))

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Flat places of the elements that are off."""
        return np.flatnonzero(self.off)

    @cached_property
    def region(self) -> Region | None:
        """Where what is off lies."""
        return locate(self.off.reshape(self.shape))

    @cached_property
    def moved(self) -> tuple[int, NDArray[np.intp], NDArray[np.intp]] | None:
        """Axis, slices that are off, and those whose values they hold; ``None`` where not all hold another's."""
        if self.region is None or self.given.size > _SORTED:
            return None
        contrast = Contrast(self.trial.given, self.trial.expected, max(self.floor, self.coarse))
        for axis in range(len(self.shape)) if self.region.axis < 0 else (self.region.axis,):
            found = sources(contrast, axis)
            if found is not None and (found[1] >= 0).all():
                return axis, *found
        return None

    @cached_property
    def error(self) -> float:
        """What is to be explained: the share that no guess but "nothing is wrong" leaves over."""
        return self.remains(self.trial.expected)

    def remains(self, output: Array) -> float:
        """‖given - output‖ over `scale`; infinite where finite and non-finite values meet."""
        return self._distance(self.given, output)

    def differs(self, output: Array) -> bool:
        """Whether an output is another one than what was expected: one that is within the noise explains no error."""
        return self._distance(self.expected, output) > self.floor

    def meets(self, output: Array) -> bool:
        """Whether an output has anything of the given one: where that is next to nothing, so is zero."""
        rest = self.remains(output)
        return math.isinf(rest) or rest * self.scale <= limits().guess_met * self._size

    @cached_property
    def _size(self) -> float:
        return _norm(self.given)

    def _distance(self, own: Array, output: Array) -> float:
        if output.shape != self.shape:
            return math.inf
        flat, total = output.reshape(-1), 0.0
        for piece in slices_of(flat.size):
            total += _apart(own[piece], flat[piece])
        return math.sqrt(total) / self.scale

    def surprise(self, output: Array, *, loose: bool = False) -> float:
        """What it takes to say how an output differs from the given one, in nats.

        Σ ½ ln(1 + z²) + 3 n z² / (z² + 100²), where z is the gap in grains, tenths of the noise that an element may
        have, and n what a free number costs: little for noise, far more than a free number for another one.
        """
        if output.shape != self.shape:
            return math.inf
        flat, total = output.reshape(-1), 0.0
        grain = max(self.grain, limits().grain_share * self.coarse) if loose else self.grain
        for piece in slices_of(flat.size):
            guess = flat[piece].astype(np.float64, copy=False)
            total += float(np.sum(self._surprises(self.given[piece], guess, grain)))
        return total

    def _surprises(self, given: Array, guess: Array, grain: float) -> Array:
        with np.errstate(all="ignore"):
            gap = (given - guess) / (self.grain * (self.rms + np.abs(guess)))
            gap *= gap
            if not np.isfinite(gap).all():
                same = (given == guess) | (np.isnan(given) & np.isnan(guess))
                other = np.where(np.isfinite(gap), gap, self.grain**-2.0)
                gap = np.where(same, 0.0, other)
        far = (limits().gap_far * grain / self.grain) ** 2
        worst = limits().gap_numbers * self.number
        return np.asarray(np.log1p(gap) / 2 + worst * gap / (gap + far))

    def exact(self, output: Array) -> float:
        """Share of the elements whose value is the given one."""
        if output.shape != self.shape or not output.size:
            return 0.0
        flat, count = output.reshape(-1), 0
        for piece in slices_of(flat.size):
            a, b = self.given[piece], flat[piece].astype(self.given.dtype)
            count += int(np.count_nonzero((a == b) | (np.isnan(a) & np.isnan(b))))
        return count / output.size

    def recomputed(self, change: Change, times: float = 1.0) -> Array | None:
        """Return the output with one thing changed, ``None`` if that does not fit.

        Raises OverBudgetError where it would cost more than is left; ``times`` as much as usual.
        """
        self.budget.spend(self.cost * times)
        return recomputed(self.trial, change)

    def computed(self, part: int, arithmetic: Arithmetic, times: float = 1.0) -> Array | None:
        """Return the output with one operator computed in another arithmetic, as `recomputed` does."""
        if len(self.trial.kernel.ops) > 1:
            return self.recomputed(Change(part, arithmetic=arithmetic), times)
        self.budget.spend(self.cost * times)
        return recomputed(replace(self.trial, arithmetic=arithmetic), Change())

    def thin(self) -> Evaluation | None:
        """The same case of one image and few channels, for an operator alone that takes them apart.

        ``None`` where that is not worth it. It tells which of many windows are worth computing whole.
        """
        op, *others = self.trial.kernel.ops
        images = _THIN_TYPES.get(op.op_type)
        if others or images is None or len(self.shape) != 4 or self.cost < _THIN_COST:
            return None
        inputs = dict(self.trial.inputs)
        for place, operand in enumerate(list(op.flat_inputs())[: len(images)]):
            if isinstance(operand, Param) and operand.index in inputs:
                inputs[operand.index] = inputs[operand.index][images[place]]
        few = (slice(0, 1), slice(0, _THIN))
        given, expected = self.trial.given[few], self.trial.expected[few]
        trial = replace(self.trial, inputs=inputs, given=given, expected=expected)
        return Evaluation(trial, Budget(math.inf))

    def tensors(self, part: int) -> list[Array]:
        """Return the tensors that an operator of the kernel reads; [] if they cannot be computed."""
        if part not in self._read:
            seen: list[Array] = []

            def load(tensors: list[Array]) -> list[Array]:
                seen[:] = tensors
                return tensors

            self.recomputed(Change(part, load=load))
            self._read[part] = seen
        return self._read[part]

    def parts(self, types: Collection[str] = ()) -> Iterator[tuple[int, Op]]:
        """Operators of the kernel with their numbers, the last one first; those of some types alone, if any."""
        ops = self.trial.kernel.ops
        found = ((number, ops[number]) for number in reversed(range(len(ops))))
        return (one for one in found if not types or one[1].op_type in types)


def recomputed(trial: Trial, change: Change) -> Array | None:
    """Return the output of a trial with one thing changed, ``None`` if that does not fit."""
    try:
        output = trial.recompute(change)
    except FAILURES:
        return None
    return output if output.shape == trial.given.shape else None


def slices_of(size: int) -> Iterator[slice]:
    """Slices of at most `_CHUNK` elements."""
    return (slice(start, start + _CHUNK) for start in range(0, size, _CHUNK))


def _wide(array: Array) -> Array:
    """Flat floats to read: float32 for many numbers of no more bits, else float64."""
    small = array.dtype.kind not in "iub" and array.dtype.itemsize <= 4
    wide = np.float32 if small and array.size > _LARGE else np.float64
    with np.errstate(all="ignore"):
        flat = array.reshape(-1).astype(wide, copy=False)
    flat.setflags(write=False)
    return flat


def _norm(flat: Array) -> float:
    total = 0.0
    for piece in slices_of(flat.size):
        some = flat[piece].astype(np.float64, copy=False)
        finite = some if np.isfinite(some).all() else some[np.isfinite(some)]
        total += sum_of_squares(finite)
    return math.sqrt(total)


def _apart(given: Array, guess: Array) -> float:
    """Squared distance of two flat arrays."""
    with np.errstate(all="ignore"):
        other = guess.astype(np.float64, copy=False)
        gap = given - other
        total = sum_of_squares(gap)
        if math.isfinite(total):
            return total
        same = (given == other) | (np.isnan(given) & np.isnan(other))
        rest = gap[~same]
        return sum_of_squares(rest) if np.isfinite(rest).all() else math.inf


def _cost(trial: Trial) -> float:
    """Operations that computing the kernel once takes, by the sizes of what it reads and gives."""
    total = 10.0 * trial.given.size
    for op in trial.kernel.ops:
        read = [_shape(trial, operand) for operand in op.flat_inputs()]
        sizes = [math.prod(shape) for shape in read]
        given = [spec.size for spec in op.outputs if spec.size is not None]
        out = max([*given, trial.given.size if not given else 0])
        total += 10.0 * (sum(sizes) + sum(given))
        if op.op_type in CUBE and len(read) > 1:
            total += 2.0 * out * _inner(op, read)
    return total


def _shape(trial: Trial, operand: Any) -> tuple[int, ...]:
    if isinstance(operand, Param):
        array = trial.inputs.get(operand.index)
        return array.shape if array is not None else ()
    if isinstance(operand, Value):
        outputs = trial.kernel.ops[operand.op].outputs
        spec = outputs[operand.slot] if operand.slot < len(outputs) else None
        return (spec.shape or ()) if spec is not None and spec.size is not None else ()
    return ()


def _inner(op: Op, read: list[tuple[int, ...]]) -> float:
    """Length of the sums that a cube operator forms, about."""
    left, weight = read[0], read[1]
    if op.op_type == "Conv2D" or op.op_type.startswith("Conv2DT"):
        return math.prod(weight[1:])
    if op.op_type.startswith("Conv2DBackprop"):
        return math.prod(weight[1:]) if op.op_type.endswith("Input") else math.prod(left[2:])
    return max((*left[-2:], *weight[-2:]), default=1)


def with_fitted_arithmetic(trial: Trial, budget: float) -> Evaluation:
    """Return the case of a trial, computed as most elements of the output say if that is not known.

    An arithmetic counts only if it differs from what was expected by no more than the floor: it explains
    noise, not the operator's own error. The floor is lowered to what the right elements show of noise.
    """
    case = Evaluation(trial, Budget(budget))
    if not case.is_float or not case.error > case.floor:
        return case
    if (noise := last_bits(case)) is not None:
        return _lowered(case, max(noise, case.coarse / limits().rounding_flips))
    if trial.arithmetic != EXACT or case.floor <= limits().floor_closer * case.coarse:
        return case
    least, best = case.surprise(trial.expected), trial
    for other in _others(trial):
        if case.budget.overspend(case.cost) < budget / 2:
            break
        surprise = case.surprise(other.expected)
        if surprise < least:
            least, best = surprise, other
    if best is trial:
        return case
    found = Evaluation(best, case.budget)
    return _lowered(found, _measured(found))


def _lowered(case: Evaluation, floor: float) -> Evaluation:
    """Return a case with a lower noise floor, if it is one."""
    if floor >= case.floor:
        return case
    return Evaluation(replace(case.trial, floor=floor), case.budget)


def _others(trial: Trial) -> Iterator[Trial]:
    """The same trial with other arithmetics that the floor allows for."""
    cube = any(op.op_type in CUBE for op in trial.kernel.ops)
    for inputs, output in FORMATS:
        if not cube and inputs != output:
            continue
        arithmetic = Arithmetic("cube", inputs, output)
        try:
            expected = replace(trial, arithmetic=arithmetic).recompute(Change())
        except FAILURES:
            return
        if distance(expected, trial.expected) <= max(trial.floor, 0.0):
            yield replace(trial, expected=expected, arithmetic=arithmetic)


def last_bits(case: Evaluation) -> float | None:
    """Return the noise that right elements show where they differ by a few last bits at most, relative to `scale`.

    ``None`` where they do not: too many of those that the floor takes for noise are neither so near nor off. Of
    noise that is normal and as wide as that allows, the elements within a few bits show more than half, and it
    counts `noise_spread` times: the floor that is lowered to it never lies below the noise, however many are equal.
    """
    told = case.expected != 0  # zeros are right whatever the arithmetic
    gap = np.abs(case.given - case.expected)
    bit = np.ldexp(2 * case.coarse, np.frexp(case.expected)[1] - 1)
    near = told & (gap <= limits().bits_near * bit)
    if np.count_nonzero(near) <= limits().bits_share * np.count_nonzero(told & (near | ~case.off)):
        return None
    return _noise(gap[near], case)


def _measured(case: Evaluation) -> float:
    """Noise of the elements that are not off, within what the floor was."""
    near = ~case.off
    if not near.any():
        return case.floor
    gap = (case.given[near] - case.expected[near]).astype(np.float64)
    noise = _noise(gap[np.isfinite(gap)], case) if gap.size else case.floor
    return min(max(noise, case.floor / limits().floor_closer), case.floor)


def _noise(gap: Array, case: Evaluation) -> float:
    """What counts as noise where right elements differ so much."""
    if not gap.size:
        return case.floor
    return limits().noise_spread * float(np.sqrt(np.mean(gap.astype(np.float64) ** 2))) / case.rms
