"""How a weight was changed, where both arrays are at hand: what is certain of it, and nothing else.

Every recognizer compares whole arrays and says something only if all elements fit. What none of them recognizes
stays a relative difference.
"""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.graphs.traverse import producer
from workbench.comparison.limits import limits
from workbench.core.dtypes import DTYPES, roundoff
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.graph.graph import Param
from workbench.ops import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured

    Array = NDArray[Any]

_LARGEST = 1 << 24
"""Elements of a weight that is looked at; it takes a few copies in float64."""

_ROWS = 1 << 16
"""Rows along an axis that are looked up one by one."""

_SAMPLE = 64
"""Elements that mostly tell at once that an order of axes is not the one."""

_BITS = 8
"""Of int8, the widest format that networks are quantized to."""


class Both(NamedTuple):
    """A weight on both sides.

    Attributes
    ----------
    stored : tuple of arrays
        The target's and the golden's, as they are stored.
    target, golden : arrays of float64
        What they are in the narrower of the two formats: there, what is the same is equal.
    unit : float
        Relative roundoff of that format.
    """

    stored: tuple[Array, Array]
    target: Array
    golden: Array
    unit: float

    @property
    def sides(self) -> tuple[tuple[str, Array, Array], ...]:
        """Each side with its own array and the other's, the target first."""
        return ("target", self.target, self.golden), ("golden", self.golden, self.target)

    @property
    def is_alike(self) -> bool:
        """Whether both have the same shape, so that rows of one have their place in the other."""
        return self.target.shape == self.golden.shape


def both_of(target: Array, golden: Array) -> Both | None:
    """Return two arrays of floats, of any equal size, or ``None`` where nothing can be said of them."""
    if target.size != golden.size or not 0 < target.size <= _LARGEST:
        return None
    units = [roundoff(one.dtype.name) for one in (target, golden)]
    if not all(units):
        return None
    narrow = (target if units[0] >= units[1] else golden).dtype
    with np.errstate(all="ignore"):
        ours, theirs = (one.astype(narrow).astype(np.float64) for one in (target, golden))
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return None
    return Both((target, golden), ours, theirs, max(units))


def weight_change(target: Array, golden: Array) -> Message | None:
    """Say how a weight of the target was made of the golden's; ``None`` if nothing is certain."""
    both = both_of(target, golden)
    if both is None or _is_equal(target.astype(np.float64), golden.astype(np.float64)):
        return None
    said = (one.recognize(both) for one in RECOGNIZERS)
    return next((one for one in said if one is not None), None)


def change_of_parameter(flow: Trace, event: Assessment, name: str) -> Message | None:
    """Say how a parameter that an operator reads was changed; ``None`` where it is not at hand, or distrusted."""
    item = _measured(flow, event, name)
    if item is None or item.reason is not None:
        return None
    ours, theirs = item.pair.target.source, item.pair.golden.source
    if ours is None or theirs is None:
        return None
    try:
        return weight_change(ours.array(), theirs.array())
    except FormatError:
        return None


def _measured(flow: Trace, event: Assessment, name: str) -> Measured | None:
    """What was measured of a parameter as an operator reads it, else of its file."""
    graph, block = flow.pairing.target.graph(event.block), event.block
    if graph is None or event.origin_op < 0:
        return None
    measured = flow.index.get((block, event.origin_op), {})
    for slot, operand in enumerate(graph.ops[event.origin_op].flat_inputs()):
        origin = producer(graph, operand, IDENTITY)
        if isinstance(origin, Param) and graph.parameters[origin.index].name == name:
            return measured.get(("input", slot)) or flow.parameter(block, name)
    return None


def _is_equal(a: Array, b: Array) -> bool:
    """Whether two arrays hold the same elements in the same order."""
    return np.array_equal(a.ravel(), b.ravel())


def _is_varied(array: Array) -> bool:
    """Whether an array holds enough different numbers that equality with it is no chance."""
    ordered = np.sort(array, axis=None)
    return bool(np.count_nonzero(np.diff(ordered)) >= limits().slice_elements)


def _rounded(both: Both) -> Message | None:
    """One side is the other in a narrower number format, bit for bit."""
    if not (_is_varied(both.target) and _is_varied(both.golden)):
        return None
    stored = [one.astype(np.float64) for one in both.stored]
    for side, narrow, wide in (
        ("target", stored[0], both.stored[1]),
        ("golden", stored[1], both.stored[0]),
    ):
        for name in ("bfloat16", "float16"):
            if roundoff(name) <= roundoff(wide.dtype.name):
                continue
            with np.errstate(all="ignore"):
                expected = wide.astype(DTYPES[name].storage).astype(np.float64)
            if _is_equal(narrow, expected):
                return Message("compare/change-rounded", side=side, dtype=name)
        if wide.dtype == np.float32:
            kept = np.ascontiguousarray(wide).view(np.uint32) & np.uint32(0xFFFF0000)
            if _is_equal(narrow, kept.view(np.float32).astype(np.float64)):
                return Message("compare/change-truncated", side=side, dtype="bfloat16")
    return None


def _transposed(both: Both) -> Message | None:
    """The elements of the golden with its axes in another order."""
    rank = both.golden.ndim
    given = both.target.ravel()
    if not 2 <= rank <= 4 or _is_equal(given, both.golden):
        return None
    for axes in permutations(range(rank)):
        moved = both.golden.transpose(axes)
        if _is_equal(given[:_SAMPLE], moved.flat[:_SAMPLE]) and _is_equal(given, moved):
            return Message("compare/change-transposed", axes=axes)
    return None


def _rows(array: Array, axis: int | None) -> Array:
    """An array as rows along an axis, (rows, elements of a row); ``None``: as one row."""
    if axis is None:
        return array.reshape(1, -1)
    return np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)


def _zeroed(both: Both) -> Message | None:
    """Rows along an axis are zero on one side alone, all others are equal."""
    for axis in range(both.target.ndim if both.is_alike else 0):
        for side, one, other in both.sides:
            ours, theirs = _rows(one, axis), _rows(other, axis)
            differ = (ours != theirs).any(axis=1)
            if ours.shape[1] < 2 or not differ.any() or ours[differ].any():
                continue
            if np.count_nonzero(ours[~differ]) >= limits().slice_elements:
                rows = np.flatnonzero(differ).tolist()
                return Message("compare/change-zeroed", side=side, axis=axis, rows=rows)
    return None


def _exchanged(both: Both) -> Message | None:
    """Rows along an axis stand in each other's place."""
    for axis in range(both.target.ndim if both.is_alike else 0):
        ours, theirs = _rows(both.target, axis) + 0.0, _rows(both.golden, axis) + 0.0  # -0 is 0
        if not 1 < len(ours) <= _ROWS or ours.shape[1] < 2:
            continue
        places = {row.tobytes(): number for number, row in enumerate(theirs)}
        order = [places.get(row.tobytes(), -1) for row in ours]
        moved = [number for number, one in enumerate(order) if one != number]
        if moved and len(places) == len(ours) and sorted(order) == list(range(len(ours))):
            row, other = moved[0], order[moved[0]]
            return Message(
                "compare/change-exchanged", axis=axis, count=len(moved), row=row, other=other
            )
    return None


def _permuted(both: Both) -> Message | None:
    """All elements are there, in another order."""
    ours, theirs = np.sort(both.target, axis=None), np.sort(both.golden, axis=None)
    if not _is_equal(ours, theirs) or _is_equal(both.target, both.golden):
        return None
    return Message("compare/change-permuted") if _is_varied(both.golden) else None


def _scaled(both: Both) -> Message | None:
    """Every element times one factor; few elements, or one magnitude alone, would tell nothing."""
    given, golden = both.target.ravel(), both.golden.ravel()
    fit = limits().change_fit * both.unit
    power, sizes = float(golden @ golden), np.abs(golden)
    told = np.count_nonzero(golden) >= limits().slice_elements
    if not told or not power or np.ptp(sizes) <= fit * sizes.max():
        return None
    factor = float(given @ golden) / power
    if not factor or abs(factor - 1.0) <= 2 * fit:
        return None
    wanted = factor * golden
    if not (np.abs(given - wanted) <= fit * np.abs(wanted)).all():
        return None
    return Message("compare/change-scaled", factor=factor)


def _quantized(both: Both) -> Message | None:
    """One side holds multiples of a step, of the tensor or of every row, half a step from the other at most."""
    axes = (None, *range(min(both.target.ndim, 2))) if both.is_alike else ()
    for side, ours, theirs in both.sides:
        for axis in axes:
            levels = _most_levels(_rows(ours, axis), _rows(theirs, axis), both.unit)
            if levels:
                bits = math.ceil(math.log2(levels))
                return Message("compare/change-quantized", side=side, bits=bits, levels=levels)
    return None


def _most_levels(steps: Array, free: Array, unit: float) -> int:
    """Levels of the row that has most of them; 0 if one row is not a quantized one."""
    if (np.abs(steps - free) <= 2 * roundoff("float8_e5m2") * np.abs(free)).all():
        return 0  # number formats have steps, too, but fine ones where numbers are small
    most = 0
    for ours, theirs in zip(steps, free, strict=True):
        levels = _levels(ours, theirs, unit)
        if not levels:
            return 0
        most = max(most, levels)
    return most


def _levels(steps: Array, free: Array, unit: float) -> int:
    """Levels, used or not, of a row of multiples of a step that another was rounded to; 0 if it is none."""
    values = np.unique(steps)
    few = 2 < values.size <= min(1 << _BITS, steps.size // 2)
    if steps.size < limits().format_elements or not few or np.unique(free).size < 2 * values.size:
        return 0
    apart = np.diff(values)
    number = np.cumsum(np.rint(apart / apart.min()))
    levels, step = int(number[-1]) + 1, float(np.ptp(values)) / float(number[-1])
    blur = limits().change_fit * unit * float(np.abs(values).max())
    if levels > 1 << _BITS or blur > step / 4:
        return 0
    if (np.abs(values[1:] - values[0] - number * step) > blur).any():
        return 0
    inside = (steps > values[0]) & (steps < values[-1])  # beyond the ends numbers are clipped
    moved = np.abs(steps - free)[inside]
    rounded = np.count_nonzero(moved > blur) >= limits().slice_elements
    return levels if rounded and (moved <= step / 2 + blur).all() else 0


def _uncorrelated(both: Both) -> Message | None:
    """The values have nothing to do with those of the other side at the same places."""
    ours, theirs = both.target.ravel(), both.golden.ravel()
    if ours.size < limits().change_uncorrelated_elements:
        return None
    nearest = float(
        np.quantile(np.abs(ours - theirs), 0.25)
    )  # a few large changes hide that the rest agrees
    if nearest <= limits().change_apart * float(np.median(np.abs(theirs))):
        return None
    ours, theirs = ours - ours.mean(), theirs - theirs.mean()
    length = float(np.linalg.norm(ours) * np.linalg.norm(theirs))
    found = float(ours @ theirs) / length if length and _is_varied(both.golden) else 1.0
    if abs(found) > limits().change_uncorrelated / math.sqrt(ours.size) or not _is_varied(ours):
        return None
    return Message("compare/change-uncorrelated", correlation=found)


class Recognizer(NamedTuple):
    """One kind of change: what it is called, how it is recognized, and why it stands here."""

    name: str
    recognize: Callable[[Both], Message | None]
    why: str


RECOGNIZERS = (
    Recognizer(
        "rounded",
        _rounded,
        "bit for bit: nothing is surer; before steps, which coarse formats have, too",
    ),
    Recognizer("transposed", _transposed, "before other orders, of which it is one"),
    Recognizer("zeroed", _zeroed, "rows that are left agree, so no order or factor explains it"),
    Recognizer("exchanged", _exchanged, "before permuted, of which it is one"),
    Recognizer(
        "permuted", _permuted, "an order that has no name; before uncorrelated, which it is as well"
    ),
    Recognizer("scaled", _scaled, "before quantized: a factor keeps steps"),
    Recognizer("quantized", _quantized, "half a step off at most, so that it is related"),
    Recognizer(
        "uncorrelated",
        _uncorrelated,
        "last: only what nothing else explains may have nothing in common",
    ),
)
"""Kinds of changes; the first that is certain is said."""
