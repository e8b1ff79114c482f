"""How a weight was changed, where both arrays are at hand: what is certain of it, and nothing else.

Every recognizer compares whole arrays and says something only if all elements fit. What none of them recognizes
stays a relative difference.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.comparison.graphs.traverse import producer
from workbench.comparison.limits import limits
from workbench.core.dtypes import DTYPES, roundoff
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.graph.nodes import Param
from workbench.graph.traits import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured

    Array = NDArray[Any]

_LARGEST = 1 << 24
"""Elements of a weight that is looked at; it takes a few copies in float64."""


class Both(NamedTuple):
    """A weight on both sides: arrays as they are stored, and as float64; ``unit`` is the coarser roundoff."""

    stored: tuple[Array, Array]
    target: Array
    golden: Array
    unit: float

    @property
    def sides(self) -> tuple[tuple[str, Array, Array], ...]:
        """Each side with its own array and the other's, the target first."""
        return ("target", self.target, self.golden), ("golden", self.golden, self.target)


def both_of(target: Array, golden: Array) -> Both | None:
    """Return two arrays of floats, of any equal shape, or ``None`` where nothing can be said of them."""
    if target.size != golden.size or not 0 < target.size <= _LARGEST:
        return None
    units = [roundoff(one.dtype.name) for one in (target, golden)]
    if not all(units):
        return None
    ours, theirs = target.astype(np.float64), golden.astype(np.float64)
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return None
    return Both((target, golden), ours, theirs, max(units))


def weight_change(target: Array, golden: Array) -> Message | None:
    """Say how a weight of the target was made of the golden's; ``None`` if nothing is certain."""
    both = both_of(target, golden)
    if both is None or np.array_equal(both.target.ravel(), both.golden.ravel()):
        return None
    said = (one.recognize(both) for one in RECOGNIZERS)
    return next((one for one in said if one is not None), None)


def change_of_parameter(flow: Trace, event: Assessment, name: str) -> Message | None:
    """Say how a parameter that an operator reads was changed; ``None`` where it is not at hand."""
    item = _measured(flow, event, name)
    if item is None or item.pair.target.source is None or item.pair.golden.source is None:
        return None
    try:
        return weight_change(item.pair.target.source.array(), item.pair.golden.source.array())
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


def _are_near(a: Array, b: Array, unit: float) -> bool:
    """Whether all elements agree within a few roundings of their own size."""
    return bool((np.abs(a - b) <= limits().change_fit * unit * np.abs(b)).all())


def _rounded(both: Both) -> Message | None:
    """One side is the other in a narrower number format, bit for bit."""
    for (side, narrow, _), stored in zip(both.sides, reversed(both.stored), strict=True):
        for name in ("bfloat16", "float16"):
            if roundoff(name) <= roundoff(stored.dtype.name):
                continue
            with np.errstate(all="ignore"):
                expected = stored.astype(DTYPES[name].storage).astype(np.float64)
            if np.array_equal(narrow.ravel(), expected.ravel()):
                return Message("compare/change-rounded", side=side, dtype=name)
        if stored.dtype == np.float32:
            kept = np.ascontiguousarray(stored).view(np.uint32) & np.uint32(0xFFFF0000)
            if np.array_equal(narrow.ravel(), kept.view(np.float32).astype(np.float64).ravel()):
                return Message("compare/change-truncated", side=side, dtype="bfloat16")
    return None


def _transposed(both: Both) -> Message | None:
    """The elements of the golden with its axes in another order."""
    rank = both.golden.ndim
    if not 2 <= rank <= 4:
        return None
    given = both.target.ravel()
    for axes in permutations(range(rank)):
        if axes != tuple(range(rank)):
            moved = both.golden.transpose(axes).ravel()
            if _are_near(given, moved, both.unit) and not _are_near(
                moved, both.golden.ravel(), both.unit
            ):
                return Message("compare/change-transposed", axes=axes)
    return None


class _Rows(NamedTuple):
    """Both sides cut along an axis, and the numbers of the rows that differ."""

    axis: int
    target: Array
    golden: Array
    off: Array


def _cut(both: Both) -> Iterator[_Rows]:
    """Yield both sides cut along every axis along which some rows differ and others are near."""
    if both.target.shape != both.golden.shape:
        return
    near = np.abs(both.target - both.golden) <= limits().change_fit * both.unit * np.abs(
        both.golden
    )
    for axis, count in enumerate(both.target.shape):
        ours, theirs, same = (
            np.moveaxis(one, axis, 0).reshape(count, -1) for one in (both.target, both.golden, near)
        )
        off = np.flatnonzero(~same.all(axis=1))
        if 0 < off.size < count:
            yield _Rows(axis, ours, theirs, off)


def _zeroed(both: Both) -> Message | None:
    """Rows along an axis are zero on one side alone, all others agree."""
    for rows in _cut(both):
        for side, ours, theirs in (
            ("target", rows.target, rows.golden),
            ("golden", rows.golden, rows.target),
        ):
            if not ours[rows.off].any() and theirs[rows.off].any(axis=1).all():
                numbers = [int(one) for one in rows.off]
                return Message("compare/change-zeroed", side=side, axis=rows.axis, rows=numbers)
    return None


def _exchanged(both: Both) -> Message | None:
    """Rows along an axis stand in each other's place, bit for bit."""
    shape = both.target.shape
    for axis, count in enumerate(shape if shape == both.golden.shape else ()):
        if not 1 < count < both.target.size:
            continue
        ours, theirs = (
            np.moveaxis(one, axis, 0).reshape(count, -1) for one in (both.target, both.golden)
        )
        places = {row.tobytes(): number for number, row in enumerate(theirs + 0.0)}
        order = [places.get(row.tobytes(), -1) for row in ours + 0.0]
        if len(places) == count and sorted(order) == list(range(count)):
            moved = [number for number, one in enumerate(order) if one != number]
            return Message(
                "compare/change-exchanged", axis=axis, count=len(moved), row=moved[0],
                other=order[moved[0]],
            )  # fmt: skip
    return None


def _permuted(both: Both) -> Message | None:
    """All elements are there, in another order."""
    if np.array_equal(np.sort(both.target, axis=None), np.sort(both.golden, axis=None)):
        return Message("compare/change-permuted")
    return None


def _scaled(both: Both) -> Message | None:
    """Every element times one factor; one magnitude alone would tell nothing."""
    given, golden = both.target.ravel(), both.golden.ravel()
    power = float(golden @ golden)
    if (
        not power
        or np.ptp(np.abs(golden)) <= limits().change_fit * both.unit * np.abs(golden).max()
    ):
        return None
    factor = float(given @ golden) / power
    if not factor or abs(factor - 1.0) <= 2 * limits().change_fit * both.unit:
        return None
    if not _are_near(given, factor * golden, both.unit):
        return None
    return Message("compare/change-scaled", factor=factor)


def _quantized(both: Both) -> Message | None:
    """One side holds multiples of a step, of the tensor or of every row, half a step from the other at most."""
    for side, ours, theirs in both.sides:
        for axis in (None, *range(min(ours.ndim, 2))) if ours.shape == theirs.shape else ():
            cut = [
                one.reshape(1, -1)
                if axis is None
                else np.moveaxis(one, axis, 0).reshape(one.shape[axis], -1)
                for one in (ours, theirs)
            ]
            bits = [_bits(a, b, both.unit) for a, b in zip(*cut, strict=True)]
            if all(bits) and max(one or 0 for one in bits) <= 8:
                told = max(one or 0 for one in bits)
                return Message("compare/change-quantized", side=side, bits=told)
    return None


def _bits(steps: Array, free: Array, unit: float) -> int | None:
    """Bits that a row of multiples of a step takes; ``None`` if it is none of another's values so rounded."""
    values = np.unique(steps)
    if steps.size < 64 or not 2 < values.size <= min(256, steps.size // 2):
        return None
    if np.unique(free).size < 2 * values.size:
        return None
    apart = np.diff(values)
    step = float(apart.min())
    blur = 0.05 + 2 * unit * float(np.abs(values).max()) / step
    multiples = apart / step
    if blur > 0.25 or (np.abs(multiples - np.rint(multiples)) > blur).any():
        return None
    inside = (steps > values[0]) & (steps < values[-1])  # beyond the ends numbers are clipped
    if (np.abs(steps - free)[inside] > (0.5 + blur) * step).any():
        return None
    return max(int(np.ceil(np.log2(np.rint((values[-1] - values[0]) / step) + 1))), 1)


def _unrelated(both: Both) -> Message | None:
    """Nothing of one side is left in the other: another checkpoint, or another initialization."""
    ours, theirs = (one.ravel() - one.mean() for one in (both.target, both.golden))
    length = float(np.linalg.norm(ours) * np.linalg.norm(theirs))
    if ours.size < 256 or not length:
        return None
    found = float(ours @ theirs) / length
    if abs(found) > limits().change_unrelated / np.sqrt(ours.size):
        return None
    return Message("compare/change-unrelated", correlation=found)


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
        "permuted", _permuted, "an order that has no name; before unrelated, which it looks like"
    ),
    Recognizer("scaled", _scaled, "before quantized: a factor keeps steps"),
    Recognizer("quantized", _quantized, "half a step off at most, so that it is related"),
    Recognizer(
        "unrelated", _unrelated, "last: only what nothing else explains may have nothing in common"
    ),
)
"""Kinds of changes; the first that is certain is said."""
