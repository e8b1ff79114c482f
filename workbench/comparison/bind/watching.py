"""Watched memory: after which operator an output is no longer what its operator wrote.

One dump is enough: its watched outputs were dumped when their operator was done and again after others
(`workbench.dump.watched`). The first file that differs tells whose write it was, as far as operators were looked
at; the graph tells whether anybody still read the output then. If not, its memory had simply been
given away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.dump.container.source import ContainerSource
from workbench.dump.files.block_index import BlockSource, held_container
from workbench.dump.names.mindspore import sanitize
from workbench.dump.tree import Note
from workbench.graph.nodes import Value
from workbench.graph.table import OPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Binding
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.graph.nodes import Graph


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


@dataclass(frozen=True, slots=True)
class Change:
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


RESULT = "the end of the graph"
"""Who reads a result."""


def find_changes(binding: Binding) -> tuple[list[Change], list[Note]]:
    """Return the first change of every watched output, in order of time, and what could not be read."""
    dump = binding.dump
    own: dict[TensorKey, list[TensorRecord]] = {}
    for record in dump.records if dump.watched else ():
        own.setdefault(record.key._replace(turn=0), []).append(record)
    later: dict[TensorKey, list[TensorRecord]] = {}
    for record in dump.watched:
        later.setdefault(record.key, []).append(record)
    changes: list[Change] = []
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
) -> Change | None:
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


def _told(record: TensorRecord, span: Span, since: str, binding: Binding) -> Change:
    """Say who was looked at, who was not, and who still reads the output, as far as a graph tells."""
    key = record.key
    graph = binding.graphs.get(key.graph_key)
    numbers = {sanitize(op.name): n for n, op in enumerate(graph.ops)} if graph is not None else {}

    def named(name: str, op_type: str) -> Named:
        number = numbers.get(name, -1)
        if graph is None or number < 0:
            return Named(name, op_type, -1)
        return Named(graph.ops[number].name, graph.ops[number].op_type, number)

    owner, after, before = (
        named(key.op_name, key.op_type),
        named(record.after, ""),
        named(since, ""),
    )
    change = Change(key, owner, after, span, before.name)
    if graph is None or min(owner.number, after.number, before.number) < 0:
        return change
    readers = list(_readers(graph, Value(owner.number, key.slot)))
    still = [name for number, name in readers if number > after.number]
    return Change(
        key,
        owner,
        after,
        span,
        before.name,
        tuple(op.name for op in graph.ops[before.number + 1 : after.number]),
        tuple(still),
        readers[-1][1] if readers and not still else "",
    )


def _readers(graph: Graph, value: Value) -> Iterator[tuple[float, str]]:
    """Who reads an output or the same memory under another name, in order of the graph."""
    waiting, found = [value], set[tuple[float, str]]()
    while waiting:
        one = waiting.pop()
        if one in graph.outputs:
            found.add((math.inf, RESULT))
        for number, slot in graph.consumers.get(one, ()):
            op = graph.ops[number]
            found.add((number, op.name))
            row = OPS.get(op.op_type)
            if row is not None and row.engine == "none" and slot == 0:
                waiting.append(Value(number))
    yield from sorted(found)


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
    if not isinstance(record.source, BlockSource):
        data = np.ascontiguousarray(record.source.array()).reshape(-1).view(np.uint8)
        return _Lying([data], data.size)
    blocks = held_container(record.path).part("output")
    if record.key.slot >= len(blocks):
        raise FormatError("compare/watched-slot", place=record.path, slot=record.key.slot)
    block = blocks[record.key.slot]
    return _Lying(ContainerSource(record.path, block).raw_pieces(), block.size, block.address)
