"""Reader of ge.proto's ``ModelDef`` in its binary form: alone, or as the first part of an offline model (``.om``).

Operators are decoded one at a time: what a hostile file can make Google's library allocate is bounded by what one
of them may hold.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.errors import FormatError
from workbench.core.files import file_content, open_file, size_within, unreadable
from workbench.graph_files.ge.graph import model_graph
from workbench.graph_files.ge.schema import GE_IR, to_python
from workbench.graph_files.look import MAX_BYTES
from workbench.proto.text import decode_text, single
from workbench.proto.wire import BYTES, decode, walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from workbench.graph.graph import Graph
    from workbench.proto.wire import WireField

MAX_ENTRIES = 1 << 18
"""Most graphs of a model, and most operators and other fields of a graph."""

MAX_MESSAGES = 1 << 23
"""Most messages of a model: attributes, descriptors, lists. Each is a Python object or two."""

_GRAPH, _OP = 7, 6
_HEADER = 256
"""Bytes before the table of parts, at least; the second word says how many."""

_ENCRYPTED_AT = 80
_MODEL_DEF = 0
_MOST_PARTS = 1024
_TABLES = ((8, struct.Struct("<I4xQQ")), (4, struct.Struct("<III")))
"""Where the rows of the table begin, and a row: kind, offset behind the table, size. Newer ones have 64 bits."""


def read_ge_model(path: Path) -> Graph:
    """Read the graph of a ``ModelDef``; raises FormatError with its byte if it is damaged."""
    graph = parse_ge_model(file_content(path, MAX_BYTES, "graph"), str(path))
    return replace(graph, path=str(path))


def read_om(path: Path) -> Graph:
    """Read the graph of an offline model; weights and kernels behind it are not read.

    Raises FormatError with its byte if it is damaged, or encrypted.
    """
    with open_file(path, "graph") as file:
        size = size_within(file, path, MAX_BYTES, "graph")
        try:
            head = file.read(_HEADER + _MOST_PARTS * _TABLES[0][1].size)
            start, end = _find_model(head, size, path)
            file.seek(0)
            data = file.read(end)
        except OSError as error:
            raise unreadable(path, error, "graph") from error
    return replace(parse_ge_model(data, str(path), start), path=str(path))


def _find_model(head: bytes, size: int, path: Path) -> tuple[int, int]:
    """Where the ``ModelDef`` of an offline model begins and ends; of several models the first one's."""
    if len(head) < _HEADER + 4:
        raise FormatError("graph_files/om-short", place=f"{path}: byte {size}", held=size)
    if head[_ENCRYPTED_AT]:
        raise FormatError("graph_files/om-encrypted", place=f"{path}: byte {_ENCRYPTED_AT}")
    (at,) = struct.unpack_from("<I", head, 4)
    if _HEADER <= at <= len(head) - 4:
        (count,) = struct.unpack_from("<I", head, at)
        for gap, row in _TABLES:
            end = at + gap + count * row.size
            if count <= _MOST_PARTS and end <= len(head):
                parts = list(row.iter_unpack(head[at + gap : end]))
                found = _part_of(parts, end, size)
                if found is not None:
                    return found
    raise FormatError("graph_files/om-parts", place=f"{path}: byte {at}", size=size)


def _part_of(parts: list[tuple[Any, ...]], base: int, size: int) -> tuple[int, int] | None:
    """Place of the ``ModelDef`` among parts that lie one behind the other; ``None`` if they do not."""
    expected = 0
    for _, offset, length in parts:
        if offset != expected or base + offset + length > size:
            return None
        expected += length
    found = [(base + at, base + at + length) for kind, at, length in parts if kind == _MODEL_DEF]
    return found[0] if found else None


def parse_ge_model(data: bytes, where: str = "<bytes>", start: int = 0) -> Graph:
    """Read a graph from the ``ModelDef`` from byte ``start`` on; raises FormatError if there is none.

    Fields that nobody knows are left out without a count: the binary form has no lines.
    """
    reader = _Reader(data, where)
    graph = model_graph(reader.message("ModelDef", start, len(data)))
    if graph is None:
        place = f"{where}: byte {start}"
        raise FormatError("graph_files/model-without-graph", place=place, size=len(data) - start)
    return graph


class _Reader:
    """Reads the messages of one model as Python values, the same as its text would give."""

    def __init__(self, data: bytes, where: str) -> None:
        self._data = data
        self._where = where
        self._left = MAX_MESSAGES

    def message(self, kind: str, start: int, end: int) -> dict[str, Any]:
        """Return the fields of a model or a graph; what it has many of is decoded one at a time."""
        name, number, inner = _ONE_BY_ONE[kind]
        rest = GE_IR.message_class(kind)()
        found: list[Any] = []
        for tag_at, field in self._entries(start, end):
            if field.number != number or field.wire != BYTES:
                rest.MergeFrom(decode(GE_IR, kind, self._data, self._where, tag_at, field.end))
            elif inner in _ONE_BY_ONE:
                found.append(self.message(inner, field.start, field.end))
            else:
                message = decode(GE_IR, inner, self._data, self._where, field.start, field.end)
                found.append(self._values(inner, message))
        values: dict[str, Any] = self._values(kind, rest)
        return {**values, name: tuple(found)} if found else values

    def _entries(self, start: int, end: int) -> Iterator[tuple[int, WireField]]:
        """Yield the fields between two positions, each with the place of its tag."""
        tag_at = start
        for count, field in enumerate(walk(self._data, self._where, start, end)):
            if count >= MAX_ENTRIES:
                place = f"{self._where}: byte {tag_at}"
                raise FormatError("proto/fields", place=place, limit=MAX_ENTRIES)
            yield tag_at, field
            tag_at = field.end

    def _values(self, kind: str, message: Any) -> Any:
        """Return what a message becomes in Python."""
        self._left -= 1
        if self._left < 0:
            place = f"{self._where}: byte 0"
            raise FormatError("graph_files/model-messages", place=place, limit=MAX_MESSAGES)
        known = GE_IR.by_name[kind]
        values: dict[str, Any] = {}
        for descriptor, value in message.ListFields():
            name, inner = descriptor.name, known[descriptor.name].kind
            many = known[name].many
            if many == "@":
                values[name] = {key: self._value(inner, entry) for key, entry in value.items()}
            elif many and inner in _AS_THEY_ARE:
                values[name] = tuple(value)
            elif many:
                values[name] = tuple(self._value(inner, item) for item in value)
            else:
                values[name] = self._value(inner, value)
        return to_python(kind, values)

    def _value(self, kind: str, value: Any) -> Any:
        if kind in _AS_THEY_ARE:
            return value
        if kind in GE_IR.messages:
            return self._values(kind, value)
        if kind == "float":
            return single(value)
        return decode_text(kind, value) if kind == "text" else GE_IR.enum_word(kind, value)


_AS_THEY_ARE = frozenset(("string", "bytes", "int64", "uint32", "bool"))
_ONE_BY_ONE = {"ModelDef": ("graph", _GRAPH, "GraphDef"), "GraphDef": ("op", _OP, "OpDef")}
"""Message → the field that it has many of: name, number and message."""
