"""Looks at memory: one dump holds a tensor more than once, as its operator wrote it and as others read it.

Files are written when an operator is done, so what a reader's file holds was in memory then. Operators
that run nothing give the same memory another name. Where two looks at one tensor differ, something wrote
over it between them. What a later look shows as it was written nobody wrote over, and NaN that reads as
zero is how a device that saturates shows it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.comparison.graphs.roles import LEAVES, rewritten_slots
from workbench.core.dtypes import DTYPES, name_of
from workbench.core.errors import FormatError
from workbench.graph.nodes import Value
from workbench.graph.table import OPS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.core.tensors import TensorRecord
    from workbench.graph.nodes import Graph

    Array = NDArray[Any]

_MOST = 1 << 20  # elements of a tensor that is looked at


class Snapshot(NamedTuple):
    """A file of a tensor: when operator ``op`` was done, as its output or input ``slot``."""

    op: int
    io: str
    slot: int
    record: TensorRecord


@dataclass(frozen=True, slots=True)
class Damage:
    """A tensor that is not what its operator wrote.

    ``value`` is the tensor, ``reader`` the look that shows it first, ``written`` what it was. ``since`` is the
    last operator after which it was still as written; those behind it up to ``reader.op`` may have done it.
    ``inferred`` says that there is no such file, but what the reader gave tells it.
    """

    block: Execution
    value: Value
    written: Snapshot
    reader: Snapshot
    since: int
    inferred: bool = False

    @property
    def suspects(self) -> range:
        """Numbers of the operators that ran between the two looks, the reader too: it may have written itself."""
        return range(self.since + 1, self.reader.op + 1)


def root(graph: Graph, value: Value) -> Value:
    """Return the output whose memory another name stands for."""
    while True:
        row = OPS.get(graph.ops[value.op].op_type)
        if row is None or row.engine != "none" or value.slot:
            return value
        source = graph.ops[value.op].operand(0)
        if not isinstance(source, Value) or source.op >= value.op:
            return value
        value = source


def looks(binding: Binding, block: Execution, graph: Graph) -> dict[Value, list[Snapshot]]:
    """All files of tensors that operators of a graph gave, in order of time; weights and feeds are left out."""
    found: dict[Value, list[Snapshot]] = {}
    for number, run in sorted(binding.runs.get(block, {}).items()):
        for (io, slot), record in sorted(run.tensors.items()) if number >= 0 else ():
            value = _shown(graph, number, io, slot)
            if value is not None and id(record) not in binding.oddities:
                found.setdefault(value, []).append(Snapshot(number, io, slot, record))
    for some in found.values():
        some.sort(key=lambda look: (look.op, look.io == "input"))
    return found


def _shown(graph: Graph, number: int, io: str, slot: int) -> Value | None:
    """Whose memory a file of an operator shows."""
    op = graph.ops[number]
    if io == "output":
        value = Value(number, slot)
    else:
        operand = op.operand(slot)
        if not isinstance(operand, Value) or slot in rewritten_slots(op):
            return None
        value = operand
    value = root(graph, value)
    return None if graph.ops[value.op].op_type in LEAVES else value


def data(record: TensorRecord) -> Array | None:
    """Elements of a tensor; ``None`` if it has none, cannot be read or is too large to be searched."""
    if record.source is None:
        return None
    try:
        shape = record.source.spec().shape
        if shape is None or math.prod(shape) > _MOST:
            return None
        return np.asarray(record.source.array())
    except FormatError:
        return None


def find_damage(
    block: Execution, value: Value, some: Sequence[Snapshot], size: int | None
) -> Damage | None:
    """The first damage of a tensor of ``size`` elements; ``None`` if all looks show the same, or only one was had."""
    written = some[0]
    if len(some) < 2 or (written.op, written.io) != (value.op, "output"):
        return None
    since, found = written.op, None
    for look in some[1:]:
        same = _same(written.record, look.record, size)
        if same and found is not None and (found.reader.op, look.io) == (look.op, "input"):
            return None  # what should have been a name of the tensor gave something else
        if same:
            since, found = look.op, None  # nothing writes a tensor back
        elif same is False and found is None:
            found = Damage(block, value, written, look, since)
    return found


def _same(one: TensorRecord, other: TensorRecord, size: int | None) -> bool | None:
    """Whether two files hold the same elements; ``None`` if that cannot be told."""
    ours, theirs = data(one), data(other)
    if ours is None or theirs is None:
        return _same_statistics(one, other, size)
    if ours.dtype != theirs.dtype or ours.size != theirs.size:
        return None
    return ours.tobytes() == theirs.tobytes() or _is_saturated(ours, theirs)


def _is_saturated(ours: Array, theirs: Array) -> bool:
    """Whether the second are the first as a device without NaN and infinities shows them."""
    row = DTYPES.get(name_of(ours.dtype))
    if row is None or not row.is_float or np.isfinite(ours).all():
        return False
    with np.errstate(all="ignore"):
        numbers = ours.astype(np.float64)
        wide = np.clip(np.nan_to_num(numbers, nan=0.0), -row.largest, row.largest)
        return bool(np.array_equal(wide, theirs.astype(np.float64).reshape(wide.shape)))


def _same_statistics(one: TensorRecord, other: TensorRecord, size: int | None) -> bool | None:
    """Whether two tensors have the same statistics.

    Those of a device count its padding, which is another one in every copy: then only numbers tell
    that are beyond all that were written.
    """
    ours, theirs = one.statistics, other.statistics
    if not ours or not theirs or one.label != other.label:
        return None
    names = ours.keys() & theirs.keys()
    pairs = {name: (_number(ours[name]), _number(theirs[name])) for name in names}
    known = {name: (a, b) for name, (a, b) in pairs.items() if a is not None and b is not None}
    if not known:
        return None
    if all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in known.values()):
        return True
    if one.label.size == size:
        return False
    (low, lower), (high, higher) = (
        known.get(f"{name} Value", (0.0, 0.0)) for name in ("Min", "Max")
    )
    return False if lower < min(low, 0.0) or higher > max(high, 0.0) else None


def _number(value: float | str) -> float | None:
    return float(value) if isinstance(value, float | int) else None


def damages(
    binding: Binding, block: Execution, near: Collection[int] | None = None
) -> Iterator[Damage]:
    """Tensors of an execution that were written over, in the order of when that shows.

    ``near`` are operators: nothing is looked for where none of the tensors that they read or gave is one.
    """
    graph = binding.graph(block)
    if graph is None:
        return
    found = looks(binding, block, graph)

    def damage(value: Value) -> Damage | None:
        return find_damage(block, value, found[value], graph.ops[value.op].outputs[value.slot].size)

    first = [v for v, some in found.items() if near is None or any(one.op in near for one in some)]
    if any(damage(value) for value in first):
        every = [one for value in found if (one := damage(value)) is not None]
        yield from sorted(every, key=lambda one: (one.reader.op, one.since))
