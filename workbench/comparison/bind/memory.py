"""One tensor seen several times in the memory of one dump, and what wrote over it in between.

Files are written when an operator is done, so what a reader's file holds was in memory then (`find_overwrites`):
where two snapshots of a tensor differ, something wrote over it between them. What a later snapshot shows as it was
written nobody wrote over, and NaN that reads as zero is how a device that saturates shows it.

Watched outputs were dumped when their operator was done and again after others (`workbench.dump.watched`), which
needs no graph (`find_changes`): the first file that differs tells whose write it was, as far as operators were
looked at. That is no overwrite yet: if nobody still read the output, its memory had simply been given away. So
a `WatchedChange` has the names and bytes of files, an `Overwrite` operators by number and elements.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.graphs.roles import LEAVES, rewritten_slots
from workbench.comparison.graphs.traverse import ALIAS, copies, readers, storage_of
from workbench.comparison.trust import may_say
from workbench.core.dtypes import DTYPES, name_of
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.dump.dump import Note
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.payload.blocks import raw_chunks
from workbench.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.graph.graph import Graph

    Array = NDArray[Any]

_MOST = 1 << 20  # elements of a tensor that is looked at

RESULT = "the end of the graph"
"""Who reads a result."""


class Snapshot(NamedTuple):
    """A file of a tensor: when operator ``op`` was done, as its output or input ``slot``."""

    op: int
    io: str
    slot: int
    record: TensorRecord


class Overwrite(NamedTuple):
    """A tensor that is not what its operator wrote.

    ``value`` is the tensor, ``reader`` the snapshot that shows it first, ``written`` what it was. ``since`` is the
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
        """Numbers of the operators that ran between the two snapshots, the reader too: it may have done it itself."""
        return range(self.since + 1, self.reader.op + 1)


class Span(NamedTuple):
    """Bytes that differ: the first, the last, how many, of how many, and the address of the tensor."""

    first: int
    last: int
    different: int
    size: int
    address: int

    @property
    def said(self) -> Message:
        """Where they lie."""
        place = {"first": self.first, "last": self.last, "size": self.size}
        if self.different <= self.last - self.first:
            if self.address:
                code = "compare/bytes-some-at"
                return Message(code, count=self.different, address=self.address, **place)
            return Message("compare/bytes-some", count=self.different, **place)
        if self.address:
            return Message("compare/bytes-at", address=self.address, **place)
        return Message("compare/bytes", **place)


class Named(NamedTuple):
    """An operator as its graph calls it, or its files; ``number`` is its place there, -1 if unknown."""

    name: str
    op_type: str
    number: int


class WatchedChange(NamedTuple):
    """A watched output that is not what it was.

    Attributes
    ----------
    key : TensorKey
        Of the output, as files call it.
    owner, after : Named
        Its operator, and the one after which it was first seen changed.
    span : Span
    since : str
        The last operator after which it was still the same; its own if no other was looked at.
    between : tuple of str
        Operators that ran after ``since`` and before ``after``: nobody looked after them.
    readers : tuple of str, or None
        Who reads it after that (`RESULT`: it is a result); ``None`` if no graph tells.
    last_reader : str
        Where nobody does, who was the last.
    """

    key: TensorKey
    owner: Named
    after: Named
    span: Span
    since: str
    between: tuple[str, ...] = ()
    readers: tuple[str, ...] | None = None
    last_reader: str = ""


def find_overwrites(
    binding: Binding, block: Execution, near: Collection[int] | None = None
) -> Iterator[Overwrite]:
    """Tensors of an execution that were written over, in the order of when that shows.

    ``near`` are operators: nothing is looked for where none of the tensors that they read or gave is one.
    """
    graph = binding.graph(block)
    if graph is None or not may_say("memory", binding.trust(block)):
        return
    found = _snapshots(binding, block, graph)

    def overwrite(value: Value) -> Overwrite | None:
        size = graph.ops[value.op].outputs[value.slot].size
        return first_overwrite(block, value, found[value], size)

    first = [v for v, some in found.items() if near is None or any(one.op in near for one in some)]
    if any(overwrite(value) for value in first):
        every = [one for value in found if (one := overwrite(value)) is not None]
        yield from sorted(every, key=lambda one: (one.reader.op, one.since))


def _snapshots(binding: Binding, block: Execution, graph: Graph) -> dict[Value, list[Snapshot]]:
    """All files of tensors that operators of a graph gave, in order of time; weights and feeds are left out."""
    found: dict[Value, list[Snapshot]] = {}
    for number, run in sorted(binding.runs.get(block, {}).items()):
        for (io, slot), record in sorted(run.tensors.items()) if number >= 0 else ():
            value = _shown(graph, number, io, slot)
            if value is not None and id(record) not in binding.oddities:
                found.setdefault(value, []).append(Snapshot(number, io, slot, record))
    for some in found.values():
        some.sort(key=lambda one: (one.op, one.io == "input"))
    return found


def _shown(graph: Graph, number: int, io: str, slot: int) -> Value | None:
    """Whose memory a file of an operator shows."""
    op = graph.ops[number]
    operand = Value(number, slot) if io == "output" else op.operand(slot)
    if not isinstance(operand, Value) or (io == "input" and slot in rewritten_slots(op)):
        return None
    value = storage_of(graph, operand)
    return None if graph.ops[value.op].op_type in LEAVES else value


def first_overwrite(
    block: Execution, value: Value, some: Sequence[Snapshot], size: int | None
) -> Overwrite | None:
    """The first overwrite of a tensor of ``size`` elements; ``None`` if all show the same, or only one was had."""
    written = some[0]
    if len(some) < 2 or (written.op, written.io) != (value.op, "output"):
        return None
    since, found = written.op, None
    for one in some[1:]:
        same = _same(written.record, one.record, size)
        if same and found is not None and (found.reader.op, one.io) == (one.op, "input"):
            return None  # what should have been a name of the tensor gave something else
        if same:
            since, found = one.op, None  # nothing writes a tensor back
        elif same is False and found is None:
            found = Overwrite(block, value, written, one, since)
    return found


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


def find_changes(binding: Binding) -> tuple[list[WatchedChange], list[Note]]:
    """Return the first change of every watched output, in order of time, and what could not be read."""
    dump = binding.dump
    own: dict[TensorKey, list[TensorRecord]] = {}
    for record in dump.records if dump.watched else ():
        own.setdefault(record.key._replace(turn=0), []).append(record)
    later: dict[TensorKey, list[TensorRecord]] = {}
    for record in dump.watched:
        later.setdefault(record.key, []).append(record)
    changes: list[WatchedChange] = []
    notes: list[Note] = []
    for key, looks in later.items():
        try:
            change = _first_change(own.get(key, []), looks, binding)
        except FormatError as error:
            said = Message("compare/unreadable", why=error)
            notes.append(Note("unreadable", key.op_name, said))
            continue
        if change is not None:
            changes.append(change)
    return changes, notes


def _first_change(
    own: Sequence[TensorRecord], looks: Iterable[TensorRecord], binding: Binding
) -> WatchedChange | None:
    """The first look, after the operator's own file, at which its output is another."""
    since, written = "", None
    for record in sorted([*own, *looks], key=lambda one: (one.timestamp_us, one.after)):
        if not record.after:
            written, since = record, record.key.op_name
        elif written is not None:
            span = difference(written, record)
            if span is not None:
                return _told(record, span, since, binding)
            since = record.after
    return None


def _told(record: TensorRecord, span: Span, since: str, binding: Binding) -> WatchedChange:
    """Say who was looked at, who was not, and who still reads the output, as far as a graph tells."""
    key = record.key
    own = key.graph_key not in binding.borrowed
    graph = binding.graphs.get(key.graph_key) if own else None
    numbers = {sanitize(op.name): n for n, op in enumerate(graph.ops)} if graph is not None else {}

    def named(name: str, op_type: str = "") -> Named:
        number = numbers.get(name, -1)
        if graph is None or number < 0:
            return Named(name, op_type, -1)
        return Named(graph.ops[number].name, graph.ops[number].op_type, number)

    owner, after, before = named(key.op_name, key.op_type), named(record.after), named(since)
    change = WatchedChange(key, owner, after, span, before.name)
    if graph is None or min(owner.number, after.number, before.number) < 0:
        return change
    reading = _reading(graph, Value(owner.number, key.slot))
    still = tuple(name for number, name in reading if number > after.number)
    return change._replace(
        between=tuple(op.name for op in graph.ops[before.number + 1 : after.number]),
        readers=still,
        last_reader=reading[-1][1] if reading and not still else "",
    )


def _reading(graph: Graph, value: Value) -> list[tuple[float, str]]:
    """Who reads an output or the same memory under another name, in order of the graph."""
    found: set[tuple[float, str]] = {
        (number, graph.ops[number].name) for number, _ in readers(graph, value, ALIAS)
    }
    if any(one in graph.outputs for one in copies(graph, value, ALIAS)):
        found.add((math.inf, RESULT))
    return sorted(found)


def difference(one: TensorRecord, other: TensorRecord) -> Span | None:
    """Bytes of two files that differ, padding included; ``None`` if none do.

    Raises FormatError if a file is not what it claims.
    """
    ours, theirs = _lying(one), _lying(other)
    if ours.size != theirs.size:
        size = max(ours.size, theirs.size)
        return Span(0, size - 1, size, ours.size, ours.address)
    first, last, count, at = -1, -1, 0, 0
    for mine, its in zip(ours.pieces, theirs.pieces, strict=True):
        places = np.flatnonzero(mine != its)
        if places.size:
            first = at + int(places[0]) if first < 0 else first
            last, count = at + int(places[-1]), count + places.size
        at += mine.size
    return None if first < 0 else Span(first, last, count, ours.size, ours.address)


class _Lying(NamedTuple):
    """Bytes of a tensor in its file."""

    pieces: Iterable[NDArray[np.uint8]]
    size: int
    address: int = 0


def _lying(record: TensorRecord) -> _Lying:
    if record.source is None:
        raise FormatError("compare/watched-statistics", place=record.path)
    place = record.place
    if place is None:
        data = np.ascontiguousarray(record.source.array()).reshape(-1).view(np.uint8)
        return _Lying([data], data.size)
    return _Lying(raw_chunks(place.path, place.start, place.nbytes), place.nbytes, place.address)
