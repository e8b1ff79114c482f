"""Symptoms: what is certain about a wrong tensor, before anything is said of its cause.

A symptom follows from the two tensors alone, what was given and what was expected: which elements are off, and what
stands there instead. It is true whatever the cause. Where nothing of the table holds throughout, there is none.
"""

from __future__ import annotations

from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.comparison.explain.regions import Region, locate, name_slices
from workbench.comparison.limits import limits
from workbench.comparison.replay.kernel import sum_of_squares
from workbench.comparison.result import Symptom
from workbench.core.dtypes import DTYPES, roundoff
from workbench.core.words import Message
from workbench.npu.rounding import ROUND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]

_MOST = 1 << 22
"""Elements of a tensor whose orders are tried."""

_SLICES = 1 << 11
"""Slices along an axis that are told apart."""


@dataclass(frozen=True, eq=False)
class Contrast:
    """A wrong tensor beside the right one, with what is worked out of them once.

    Attributes
    ----------
    given, expected : arrays
        Of one shape.
    noise : float
        Relative error that the number formats explain.
    before : sequence of (int, array)
        What the same output was in earlier iterations, latest first.
    """

    given: Array
    expected: Array
    noise: float
    before: Sequence[tuple[int, Array]] = ()

    @cached_property
    def ours(self) -> Array:
        """What was given, in float64."""
        with np.errstate(all="ignore"):
            return self.given.astype(np.float64)

    @cached_property
    def theirs(self) -> Array:
        """What was expected, in float64."""
        with np.errstate(all="ignore"):
            return self.expected.astype(np.float64)

    @cached_property
    def rms(self) -> float:
        """Root mean square of an expected element."""
        finite = self.theirs[np.isfinite(self.theirs)]
        return float(np.sqrt(sum_of_squares(finite) / max(finite.size, 1)))

    @cached_property
    def off(self) -> NDArray[np.bool_]:
        """Which elements differ by more than noise."""
        return ~self.near(self.ours, self.theirs)

    @cached_property
    def region(self) -> Region | None:
        """Where what is off lies."""
        return locate(self.off)

    def near(self, some: Array, wanted: Array) -> NDArray[np.bool_]:
        """Which elements of an array are others but for noise."""
        with np.errstate(all="ignore"):
            beyond = limits().element_beyond * self.noise * (np.abs(wanted) + self.rms)
            same = (some == wanted) | (np.isnan(some) & np.isnan(wanted))
            return np.asarray(same | (np.abs(some - wanted) <= beyond))

    def told(self, wanted: Array) -> NDArray[np.bool_]:
        """Which expected elements are told from zero."""
        return np.asarray(np.abs(wanted) > limits().element_beyond * self.noise * (2 * self.rms))


class SymptomRow(NamedTuple):
    """A symptom: what is certain where it holds, how it is seen, and why it stands where it does."""

    meaning: str
    detect: Callable[[Contrast, Region], Message | None]
    why: str


def describe_symptom(
    given: Array, expected: Array, noise: float, before: Sequence[tuple[int, Array]] = ()
) -> Symptom | None:
    """Return what is certain about a wrong tensor; ``None`` if nothing of the table holds.

    ``noise`` is the relative error that the number formats explain, ``before`` what the same output was in earlier
    iterations, as (iteration, array), latest first.
    """
    if given.shape != expected.shape or not given.size or given.dtype.kind == "c":
        return None
    case = Contrast(given, expected, max(noise, roundoff(given.dtype.name)), before)
    if case.region is None:
        return None
    with np.errstate(all="ignore"):
        for kind, row in SYMPTOMS.items():
            detail = row.detect(case, case.region)
            if detail is not None:
                return Symptom(kind, _where(case, detail), detail)
    return None


def _where(case: Contrast, detail: Message) -> Message:
    """Where a symptom is: where what is off lies, but what is seen of a tensor as a whole is so everywhere."""
    assert case.region is not None
    return case.region.said if detail.code not in _WHOLE else Message("compare/where-whole")


_WHOLE = (
    "compare/symptom-format",
    "compare/symptom-transposed",
    "compare/symptom-stale",
    "compare/symptom-flushed",
)
"""What holds of the elements that are right by chance as well."""


def _non_finite(case: Contrast, _: Region) -> Message | None:
    lost = ~np.isfinite(case.ours) & np.isfinite(case.theirs)
    if not lost.any() or (case.off & ~lost).any():
        return None
    nan = int(np.count_nonzero(lost & np.isnan(case.ours)))
    return Message("compare/symptom-non-finite", nan=nan, inf=int(np.count_nonzero(lost)) - nan)


def _stale(case: Contrast, _: Region) -> Message | None:
    if not np.ptp(case.ours):
        return None  # zeros are what they are, and may have been there before
    for iteration, array in case.before:
        if array.shape == case.given.shape and array.tobytes() == case.given.tobytes():
            return Message("compare/symptom-stale", iteration=iteration)
    return None


def _flushed(case: Contrast, region: Region) -> Message | None:
    """All that is smaller than a limit is zero, and nothing else."""
    size = np.abs(case.theirs)
    gone, stayed = (case.ours == 0) & (size > 0), size[case.ours != 0]
    if region.shape not in ("scattered", "whole") or np.count_nonzero(gone) < 2 or not stayed.size:
        return None
    largest = float(size[gone].max())
    if largest >= float(stayed.min()) or (case.off & ~gone).any():
        return None
    return Message("compare/symptom-flushed", count=int(np.count_nonzero(gone)), largest=largest)


def _zero(case: Contrast, region: Region) -> Message | None:
    if case.ours[region.mask].any():
        return None
    return Message("compare/symptom-zero", count=int(np.count_nonzero(case.off)))


def _sign(case: Contrast, region: Region) -> Message | None:
    negated = case.near(case.ours, -case.theirs)
    if case.given.dtype.kind in "bu" or not negated[region.mask].all():
        return None
    return Message("compare/symptom-sign", count=int(np.count_nonzero(case.off)))


def _saturated(case: Contrast, _: Region) -> Message | None:
    values = np.abs(case.ours[case.off])
    limit = float(values[0])
    if values.size < 2 or not np.all(values == limit) or limit < float(np.max(np.abs(case.ours))):
        return None
    if limit == 0 or not np.all(np.abs(case.theirs[case.off]) > limit):
        return None
    known = [row.name for row in DTYPES.values() if row.largest == limit and row.name != "bool"]
    code = "symptom-saturated-at" if known else "symptom-saturated"
    return Message(
        f"compare/{code}", count=values.size, limit=limit, dtype=known[0] if known else ""
    )


def _constant(case: Contrast, region: Region) -> Message | None:
    values = case.ours[region.mask]
    if values.size < 2 or not np.all(values == values[0]):
        return None
    return Message("compare/symptom-constant", value=float(values[0]))


def _copied(case: Contrast, region: Region) -> Message | None:
    """Slices hold what belongs to other slices of the same tensor."""
    for axis in range(case.given.ndim) if region.axis < 0 else (region.axis,):
        found = sources(case, axis)
        if found is None:
            continue
        places, of = found
        known = of >= 0
        steps = np.unique((places - of)[known])
        count = np.count_nonzero(known)
        if places.size > 2 and steps.size == 1 and places.size - count <= abs(steps[0]):
            return Message("compare/symptom-shifted", step=int(steps[0]), axis=axis)
        if not known.all():
            continue
        if {*places.tolist()} == {*of.tolist()}:
            return Message("compare/symptom-exchanged", axis=axis, count=places.size)
        said = name_slices(case.given.shape, axis, of)
        return Message("compare/symptom-copied", of=said)
    return None


def sources(case: Contrast, axis: int) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Which slices along an axis are off, and of which others they hold the values, -1 of none; ``None``: all of none.

    A source is told from zero, and from the slice that belongs there.
    """
    count = case.given.shape[axis]
    rest = case.given.size // max(count, 1)
    if not 1 < count <= _SLICES or rest < limits().slice_elements:
        return None
    ours, theirs, off = (
        np.moveaxis(array, axis, 0).reshape(count, rest)
        for array in (case.ours, case.theirs, case.off)
    )
    places, found = np.flatnonzero(off.any(axis=1)), list[int]()
    sample = _telling(theirs)
    for place in places.tolist():
        likely = np.flatnonzero(case.near(ours[place, sample], theirs[:, sample]).all(axis=1))
        held = [n for n in likely.tolist() if case.near(ours[place], theirs[n]).all()]
        source = held[0] if held and held[0] != place else -1
        blank = np.count_nonzero(case.told(theirs[source])) < limits().slice_elements
        found.append(-1 if blank else source)
        if found.count(-1) > limits().slices_unknown:
            return None
    return (places, np.array(found, np.intp)) if {*found} != {-1} else None


def _telling(slices: Array) -> NDArray[np.intp]:
    """Positions in a slice by which slices are told apart: those that vary most from one to the next."""
    spread = np.nan_to_num(slices.std(axis=0))
    return np.argsort(-spread, kind="stable")[:16]


def _scaled(case: Contrast, region: Region) -> Message | None:
    ours, theirs = case.ours[region.mask], case.theirs[region.mask]
    below = sum_of_squares(theirs)
    if np.count_nonzero(case.told(theirs)) < limits().slice_elements or not np.isfinite(below):
        return None
    factor = float(np.einsum("i,i->", ours, theirs)) / below
    if not np.isfinite(factor) or abs(factor) <= limits().element_beyond * case.noise:
        return None
    if not case.near(ours, factor * theirs).all():
        return None
    return Message("compare/symptom-scaled", factor=factor)


def _offset(case: Contrast, region: Region) -> Message | None:
    ours, theirs = case.ours[region.mask], case.theirs[region.mask]
    if ours.size < limits().slice_elements or not np.isfinite(ours - theirs).all():
        return None
    step = float(np.mean(ours - theirs))
    spread = float(np.ptp(theirs))
    if spread <= limits().element_beyond * case.noise * 4 * case.rms:
        return None  # one number everywhere: a factor would say as much
    return (
        Message("compare/symptom-offset", step=step)
        if case.near(ours, theirs + step).all()
        else None
    )


def _format(case: Contrast, _: Region) -> Message | None:
    """Every element is one of a coarser format, and no farther than its rounding from what was expected."""
    own = DTYPES.get(case.given.dtype.name)
    if own is None or case.given.dtype.kind != "f" or case.given.size < limits().format_elements:
        return None
    for name in ("float16", "bfloat16"):
        unit = roundoff(name)
        if unit <= own.roundoff:
            continue
        ours = case.given.astype(np.float32)
        held = np.asarray(ROUND[name](ours, saturate=False, own=False)) == ours
        right = np.asarray(ROUND[name](case.expected.astype(np.float32), saturate=False, own=False))
        fine = np.abs(case.ours - case.theirs) <= 2 * unit * np.abs(case.theirs) + 1e-7 * case.rms
        if held.all() and fine.all() and np.mean(right == case.expected) < 0.5:
            return Message("compare/symptom-format", dtype=name)
    return None


def _transposed(case: Contrast, _: Region) -> Message | None:
    shape = case.given.shape
    if not 1 < len(shape) <= 4 or case.given.size > _MOST or not np.ptp(case.theirs):
        return None
    for axes in permutations(range(len(shape))):
        if axes == tuple(range(len(shape))):
            continue
        moved = case.theirs.transpose(axes).reshape(shape)
        if case.near(case.ours, moved).all() and not case.near(moved, case.theirs).all():
            return Message("compare/symptom-transposed", axes=list(axes))
    return None


def _permuted(case: Contrast, region: Region) -> Message | None:
    """The same numbers, to the last bit, at other places."""
    ours, theirs = case.given[region.mask], case.expected[region.mask]
    if ours.size < limits().slice_elements or ours.dtype.kind not in "fiu":
        return None
    ordered, wanted = np.sort(ours), np.sort(theirs)
    if np.unique(wanted).size < limits().slice_elements or not np.array_equal(ordered, wanted):
        return None
    return Message("compare/symptom-permuted", count=int(np.count_nonzero(case.off)))


def _few(case: Contrast, region: Region) -> Message | None:
    count = int(np.count_nonzero(case.off))
    if count > min(limits().elements_few, case.given.size // 4) or region.shape == "slices":
        return None
    return Message("compare/symptom-few", count=count, size=case.given.size)


def _local(case: Contrast, region: Region) -> Message | None:
    """All that is off lies in a region, and everything outside of it agrees."""
    if region.shape not in ("slices", "block", "run"):
        return None
    count = int(np.count_nonzero(region.mask))
    if count > case.given.size / 2:
        return None
    return Message("compare/symptom-local", count=count, size=case.given.size)


SYMPTOMS: dict[str, SymptomRow] = {
    "non-finite": SymptomRow(
        "NaN or Inf where a finite number is expected, and nothing else", _non_finite,
        "first: whatever else is said of a tensor presupposes numbers",
    ),
    "stale": SymptomRow(
        "the bytes of the same output in an earlier iteration", _stale,
        "before all that is said of values: every byte is another's",
    ),
    "flushed": SymptomRow(
        "zero is whatever is smaller than a limit, and nothing else", _flushed,
        "before zero: these zeros are told by the size of what is expected there",
    ),
    "zero": SymptomRow(
        "zero where other numbers are expected", _zero,
        "before constant and scaled: zero is one number, and a factor",
    ),
    "sign-flipped": SymptomRow(
        "the expected numbers with the other sign", _sign, "before scaled: a factor of -1",
    ),
    "saturated": SymptomRow(
        "the largest magnitude where larger ones are expected", _saturated,
        "before constant: saturated at one side only it is one number",
    ),
    "constant": SymptomRow(
        "one number where different ones are expected", _constant,
        "before copied: every slice of one number is like another",
    ),
    "number-format": SymptomRow(
        "all numbers are of a coarser format, and within its rounding of the expected ones", _format,
        "before copied and scaled: coarse numbers may meet those of another slice",
    ),
    "copied": SymptomRow(
        "slices hold what belongs to other slices of the same tensor", _copied,
        "before scaled: rows may be multiples of each other; the place says more",
    ),
    "scaled": SymptomRow(
        "the expected numbers times one factor", _scaled,
        "before offset: of numbers that vary, one that fits both is a factor",
    ),
    "offset": SymptomRow(
        "the expected numbers plus one number", _offset, "before transposed: costs less",
    ),
    "transposed": SymptomRow(
        "the expected tensor with its axes in another order", _transposed,
        "before permuted, which holds as well",
    ),
    "permuted": SymptomRow(
        "the expected numbers, to the last bit, at other places", _permuted,
        "before few elements and region, which say nothing of the values",
    ),
    "few-elements": SymptomRow(
        "a few elements hold other numbers; all others agree", _few,
        "before region: single elements are seldom a tile",
    ),
    "region": SymptomRow(
        "all that is off lies in slices, a block or a run; all others agree", _local,
        "last: says where, and nothing of the values",
    ),
}  # fmt: skip
"""Kind of symptom → how it is seen; the first that holds is told."""
