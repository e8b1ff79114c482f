"""Where NaN and infinity begin: at the operator that makes them of finite numbers, or at one that gave it such.

A root of a negative number is no number, rightly so. Where the golden's operator read another one there, who gave
it is to blame: the first operator back from there whose element is off, though it read what it should.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.align.differences import Difference
from workbench.comparison.bind.wiring import array_of
from workbench.comparison.follow.naming import NOBODY, Named, arrays_of
from workbench.comparison.graphs.roles import LEAVES
from workbench.core.dtypes import DTYPES, name_of
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.graph.graph import Value
from workbench.ops import IDENTITY, MOVEMENT, RESHAPING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.follow.facts import Scene
    from workbench.comparison.measure.measure import Measured
    from workbench.core.dtypes import DType
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph, Op

    Array = NDArray[Any]

_WAY = 64
"""Operators that are looked at between two that were compared."""


def born_between(scene: Scene, number: int, unobserved: Iterable[int]) -> Named:
    """Name the operator that makes NaN or infinity of finite numbers before, or at, one that shows them.

    ``unobserved`` are the target's operators before it that were not compared. It is named itself if its own output
    was not compared either, or if one of the golden's operators does it.
    """
    alone = (number,) if ("output", 0) not in scene.measured(number) else ()
    for one in (*sorted(unobserved)[-_WAY:], *alone):
        if (born := born_here(scene, one)).differences:
            return born
    found, block = scene.found, scene.survey.pairing.blocks.get(scene.block)
    if found is None or block is None or number not in found.match_of:
        return NOBODY
    golden, graph = scene.survey.pairing.golden, found.golden.graph
    for one in _uncompared_before(graph, found.match_of[number], found.matched_golden):
        said = _birth(golden, graph, block, one, "compare/born-in-golden")
        if said is not None:
            return Named(number, (Difference("non-finite", graph.ops[one].name, said),))
    return NOBODY


def born_here(scene: Scene, number: int) -> Named:
    """Name an operator that makes NaN or infinity of finite numbers, whether or not that is right of them."""
    binding, op = scene.survey.pairing.target, scene.graph.ops[number]
    said = _birth(binding, scene.graph, scene.block, number, "compare/born-non-finite")
    if said is None:
        return NOBODY
    giver = _giver_of_misfit(scene, number)
    if giver is not None:
        return giver
    return Named(number, (Difference("non-finite", op.name, said),))


def _uncompared_before(graph: Graph, number: int, matched: frozenset[int]) -> Iterator[int]:
    """Operators of the golden without a counterpart that feed one of its operators, the nearest first."""
    waiting, seen = [number], {number}
    while waiting and len(seen) < _WAY:
        for operand in graph.ops[waiting.pop(0)].flat_inputs():
            before = operand.op if isinstance(operand, Value) else -1
            if before < 0 or before in seen:
                continue
            if before not in matched or graph.ops[before].op_type in IDENTITY:
                seen.add(before)
                waiting.append(before)
                yield before


def _birth(
    binding: Binding, graph: Graph, block: Execution, number: int, code: str
) -> Message | None:
    """Say that an operator reads finite numbers alone and gives others; ``None`` if it does not, or nobody knows."""
    runs = binding.runs.get(block, {})
    run, op = runs.get(number), graph.ops[number]
    given = run.tensors.get(("output", 0)) if run is not None else None
    if run is None or given is None or id(given) in binding.oddities:
        return None
    read = [_read(runs, run, op, slot) for slot, _ in enumerate(op.flat_inputs())]
    known = [one for one in read if one is not None and id(one) not in binding.oddities]
    if not known or len(known) != len(read):
        return None
    count = _extent(given)[0]
    extents = [_extent(one) for one in known]
    if not count or any(bad or not whole for bad, _, whole in extents):
        return None
    largest = max(most for _, most, _ in extents)
    return Message(code, name=op.name, op_type=op.op_type, count=count, largest=largest)


def _read(
    runs: Mapping[int, OperatorRun], run: OperatorRun, op: Op, slot: int
) -> TensorRecord | None:
    """What an operator read in a slot: as it was dumped there, else as its producer gave it."""
    own, operand = run.tensors.get(("input", slot)), op.operand(slot)
    if own is not None or not isinstance(operand, Value):
        return own
    before = runs.get(operand.op)
    return before.tensors.get(("output", operand.slot)) if before is not None else None


@np.errstate(all="ignore")  # of NaN that signal
def _extent(record: TensorRecord) -> tuple[int, float, bool]:
    """How many elements are NaN or infinite, the largest magnitude of the others, and whether that is known."""
    try:
        if record.source is None:
            return 0, 0.0, False
        array = record.source.array()
        numbers = array.astype(np.float64)
    except (FormatError, TypeError, ValueError):
        return 0, 0.0, False
    finite = np.isfinite(numbers)
    most = float(np.abs(numbers[finite]).max()) if finite.any() else 0.0
    return int(numbers.size - np.count_nonzero(finite)), most, True


# --- numbers that a function has no result for ------------------------------------------------------

DOMAINS: Mapping[str, Callable[[Array], Array]] = {
    "Sqrt": np.sqrt,
    "Rsqrt": np.sqrt,
    "Log": np.log,
    "Log1p": np.log1p,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "ACos": np.arccos,
    "Atanh": np.arctanh,
}
"""Operator types that have no result for some numbers, and functions that have none for the same."""

POLES: Mapping[str, int] = {
    "Log": 0,
    "Rsqrt": 0,
    "Reciprocal": 0,
    "Inv": 0,
    "RealDiv": 1,
    "Div": 1,
}
"""Operator types that give infinity for zero, and the slot in which they read it."""


def count_underflows(read: Measured, row: DType) -> tuple[int, float] | None:
    """How many numbers are zero that a format has nothing for, and how large the golden's are there at most.

    ``None`` if there are none, if another number has become zero, or if nobody can tell.
    """
    arrays = arrays_of(read)
    if arrays is None or arrays[0].size != arrays[1].size:
        return None
    ours, theirs = (one.reshape(-1).astype(np.float64) for one in arrays)
    lost = np.abs(theirs[(ours == 0) & (theirs != 0)])
    if not lost.size or not lost.max() < row.smallest:
        return None
    return int(lost.size), float(lost.max())


_OFF = 8.0
"""Roundings of its tensor that an element is off by, where it is another number: five deviations of rounding errors
that are as large as the norm of a healthy tensor's error allows."""


def misfits(op_type: str, read: Array, gave: Array) -> NDArray[np.intp]:
    """Places, flat, where an operator read a number that it has no result for; none unless that explains all NaN.

    ``read`` and ``gave`` are the target's. Nothing else that is not finite may be there.
    """
    nothing = np.empty(0, np.intp)
    function = DOMAINS.get(op_type)
    if function is None or read.size != gave.size:
        return nothing
    wide = read.reshape(-1).astype(np.float64)
    with np.errstate(all="ignore"):
        outside = np.isfinite(wide) & np.isnan(function(wide))
    if not outside.any() or (~np.isfinite(gave.reshape(-1).astype(np.float64)) & ~outside).any():
        return nothing
    return np.flatnonzero(outside)


class _Output(NamedTuple):
    """An output of the target and the golden's, flat; the rounding of its format, and the golden's mean magnitude."""

    target: Array
    golden: Array
    shape: tuple[int, ...]
    roundoff: float
    magnitude: float

    def is_off(self, place: int) -> bool:
        """Whether an element is another number than the golden's."""
        ours, theirs = float(self.target[place]), float(self.golden[place])
        return not abs(ours - theirs) <= _OFF * self.roundoff * max(self.magnitude, abs(theirs))


def _giver_of_misfit(scene: Scene, number: int) -> Named | None:
    """Name who gave an operator a number that it has no result for; ``None``: that is not so, or nobody can tell."""
    op = scene.graph.ops[number]
    runs = scene.survey.pairing.target.runs.get(scene.block, {})
    run = runs.get(number)
    read = _read(runs, run, op, 0) if run is not None else None
    gave = run.tensors.get(("output", 0)) if run is not None else None
    ours = array_of(read) if read is not None else None
    given = array_of(gave) if gave is not None else None
    if ours is None or given is None:
        return None
    places = misfits(op.op_type, ours, given)
    if not places.size:
        return None
    place = int(places[0])
    found = _first_off(scene, number, place)
    if found is None:
        return None
    giver, output = found
    at = tuple(int(one) for one in np.unravel_index(place, output.shape))
    values = {"target": float(output.target[place]), "golden": float(output.golden[place])}
    said = Message("compare/born-of-element", at=at, reader=op.name, op_type=op.op_type, **values)
    return Named(giver, (Difference("non-finite", op.name, said),))


def _first_off(scene: Scene, number: int, place: int) -> tuple[int, _Output] | None:
    """The operator back from another whose element is off while those that it read there are not."""
    found: tuple[int, _Output] | None = None
    for _ in range(_WAY):
        op = scene.graph.ops[number]
        if op.op_type in MOVEMENT and op.op_type not in (IDENTITY | RESHAPING):
            return None  # its elements come from other places
        before = [
            one
            for one in op.flat_inputs()
            if isinstance(one, Value) and scene.graph.ops[one.op].op_type not in LEAVES
        ]
        outputs = [_output_of(scene, one) for one in before]
        size = found[1].target.size if found is not None else None
        if any(one is None or size not in (None, one.target.size) for one in outputs):
            return None  # nobody knows what it read there
        off = [
            (value.op, one)
            for value, one in zip(before, outputs, strict=True)
            if one is not None and one.is_off(place)
        ]
        if not off:
            return found
        found = off[0]
        number = found[0]
    return None


def _output_of(scene: Scene, value: Value) -> _Output | None:
    item: Measured | None = scene.measured(value.op).get(("output", value.slot))
    if item is None:
        return None
    target, golden = array_of(item.pair.target), array_of(item.pair.golden)
    if target is None or golden is None or target.size != golden.size:
        return None
    row = DTYPES.get(name_of(target.dtype))
    if row is None or not row.is_float:
        return None
    theirs = golden.reshape(-1).astype(np.float64)
    magnitude = math.sqrt(float(np.mean(theirs * theirs))) if theirs.size else 0.0
    ours = target.reshape(-1).astype(np.float64)
    return _Output(ours, theirs, target.shape, row.roundoff, magnitude)
