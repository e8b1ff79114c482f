"""Reader of ge.proto's ``ModelDef`` in its binary form.

Operators are decoded one at a time: what a hostile file can make Google's library allocate is bounded by what one
of them may hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import FormatError
from workbench.graph_files.ge.graph import model_graph
from workbench.graph_files.ge.schema import GE_IR
from workbench.proto.text import decode_text, single
from workbench.proto.wire import BYTES, decode, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.nodes import Graph
    from workbench.proto.wire import WireField

MAX_ENTRIES = 1 << 18
"""Most graphs of a model, and most operators and other fields of a graph."""

MAX_MESSAGES = 1 << 23
"""Most messages of a model: attributes, descriptors, lists. Each is a Python object or two."""

_GRAPH, _OP = 7, 6


def parse_ge_model(data: bytes, where: str = "<bytes>") -> Graph:
    """Read a graph from the bytes of a ``ModelDef``; raises FormatError if they are none.

    Fields that nobody knows are left out without a count: the binary form has no lines.
    """
    reader = _Reader(data, where)
    graph = model_graph(reader.message("ModelDef", 0, len(data)))
    if graph is None:
        raise FormatError(
            "graph_files/model-without-graph", place=f"{where}: byte 0", size=len(data)
        )
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
        values: dict[str, Any] = {}
        for descriptor, value in message.ListFields():
            field = GE_IR.by_name[kind][descriptor.name]
            if field.many == "@":
                values[field.name] = {
                    key: self._value(field.kind, entry) for key, entry in value.items()
                }
            elif field.many:
                values[field.name] = tuple(self._value(field.kind, item) for item in value)
            else:
                values[field.name] = self._value(field.kind, value)
        return GE_IR.to_python(kind, values)

    def _value(self, kind: str, value: Any) -> Any:
        if kind in GE_IR.messages:
            return self._values(kind, value)
        if kind in GE_IR.enums:
            return GE_IR.enum_word(kind, value)
        if kind == "float":
            return single(value)
        return decode_text(kind, value) if kind == "text" else value


_ONE_BY_ONE = {"ModelDef": ("graph", _GRAPH, "GraphDef"), "GraphDef": ("op", _OP, "OpDef")}
"""Message → the field that it has many of: name, number and message."""
