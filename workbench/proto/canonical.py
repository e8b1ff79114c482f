"""The quick way through protobuf's text form as its own printer lays it out: two blanks a level, fields in order.

One pattern, made from the rows of a schema, checks a whole message: every line, every type, every escape. What fits
it is well-formed, so its fields can wait: `LazyMessage` and `LazyMap` keep places in the text and read a value when
somebody asks, which cannot fail any more. What does not fit (another layout, new fields, damage) is left to
`workbench.proto.text`.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from workbench._values import dataclass
from workbench.proto.text import TextReader, parse_string

if TYPE_CHECKING:
    from workbench.proto.schema import Field, Schema

_STRING = r'"[^"\\\n]*+(?:\\(?:[0-3][0-7][0-7]|[nrt"\'\\])[^"\\\n]*+)*+"'
_INT = r"-?(?:0|[1-9][0-9]{0,17})"
_SCALARS = {
    "string": _STRING,
    "text": _STRING,
    "bytes": _STRING,
    "int64": _INT,
    "uint32": r"(?:0|[1-9][0-9]{0,8})",
    "bool": "(?:true|false)",
    "float": r"-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:e[-+][0-9]++)?|inf|nan)",
}
_WORD = "[A-Z][A-Z0-9_]*+"


@dataclass(frozen=True)
class Layout:
    """Which repeated message of a text is read by one pattern, and how far the pattern goes.

    Attributes
    ----------
    schema : Schema
    name, message : str
        The field, and its message.
    indent : int
        Blanks before the field.
    recursive : str
        Message that may stand inside itself; in the pattern ``depth`` times below ``message``, once below ``pieces``.
    carriers : frozenset of str
        Messages that lead from one ``recursive`` to the next; deeper ones are left to the reader of any layout.
    outside : frozenset of str
        Messages that are never part of the pattern.
    pieces : str
        Message whose occurrences are checked with the rest and split apart when one is asked for.
    """

    schema: Schema
    name: str
    message: str = field(compare=False)
    indent: int = field(compare=False)
    recursive: str = field(compare=False)
    depth: int = field(compare=False)
    carriers: frozenset[str] = field(compare=False)
    outside: frozenset[str] = field(compare=False)
    pieces: str = field(compare=False)

    def read(self, text: str, position: int) -> tuple[LazyMessage, int] | None:
        """Read the message whose field's name stands at ``position``; ``None`` if it is not laid out as usual.

        Returns it and the place behind it.
        """
        blanks = " " * self.indent
        head = f"\n{blanks}{self.name} {{\n"
        start = position - self.indent - 1
        if not text.startswith(head, start):
            return None
        found = lazy_message(self, text, self.message, self.indent + 2, start + len(head))
        tail = f"{blanks}}}\n"
        if not text.startswith(tail, found.end):
            return None
        return found, found.end + len(tail)

    def field_pattern(self, row: Field, indent: int, depth: int) -> str:
        """Pattern of one occurrence of a field, indentation and line ends included; ``""`` if it has none."""
        blanks = " " * indent
        scalar = _WORD if row.kind in self.schema.enums else _SCALARS.get(row.kind)
        if scalar:
            return f"{blanks}{row.name}: {scalar}\n"
        if not self.schema.messages.get(row.kind) or row.kind in self.outside:
            return ""
        if row.many == "@":
            inner = self._fields(row.kind, indent + 4, depth)
            entry = f"{blanks}  key: {_STRING}\n{blanks}  value \\{{\n{inner}{blanks}  \\}}\n"
            return f"{blanks}{row.name} \\{{\n{entry}{blanks}\\}}\n"
        inner = self._fields(row.kind, indent + 2, depth)
        return f"{blanks}{row.name} \\{{\n{inner}{blanks}\\}}\n"

    def _fields(self, message: str, indent: int, depth: int) -> str:
        """Pattern of all fields of a message; the recursive one goes ``depth`` levels down."""
        if message == self.recursive:
            depth -= 1
        deep = (self.recursive, *self.carriers)
        rows = [row for row in self.schema.messages[message] if depth or row.kind not in deep]
        patterns = [
            (self.field_pattern(row, indent, depth), "*+" if row.many else "?+") for row in rows
        ]
        if message in self.schema.one_of:
            blanks = " " * indent
            choices = (pattern.removeprefix(blanks) for pattern, _ in patterns if pattern)
            return f"(?:{blanks}(?:{'|'.join(choices)}))?+"
        return "".join(f"(?:{pattern}){times}" for pattern, times in patterns if pattern)


@cache
def _groups(layout: Layout, message: str, indent: int) -> re.Pattern[str]:
    """Pattern of a message with one group for each of its rows, which spans all occurrences."""
    depth = layout.depth if message == layout.message else 1
    parts = []
    for row in layout.schema.messages[message]:
        pattern = layout.field_pattern(row, indent, 1 if row.kind == layout.pieces else depth)
        parts.append(f"((?:{pattern}){'*+' if row.many else '?+'})" if pattern else "()")
    return re.compile("".join(parts))


@cache
def _entry(indent: int) -> re.Pattern[str]:
    """Pattern of the head of a map's entry."""
    blanks = " " * indent
    return re.compile(f"^{blanks}[a-z_]+ \\{{\n{blanks}  key: ({_STRING})\n", re.MULTILINE)


class LazyMessage(Mapping[str, Any]):
    """The fields of one message of well-formed text, each read when asked for.

    ``ends`` are the places where the message begins and where each row of its kind ends.
    """

    __slots__ = ("_ends", "_indent", "_layout", "_message", "_text")

    def __init__(
        self, layout: Layout, text: str, message: str, indent: int, ends: array[int]
    ) -> None:
        self._layout = layout
        self._text = text
        self._message = message
        self._indent = indent
        self._ends = ends

    @property
    def end(self) -> int:
        """The place behind the last field."""
        return self._ends[-1]

    def _span(self, name: str) -> tuple[int, int]:
        """Where the occurrences of a field begin and end; an empty span if there is none."""
        row = self._layout.schema.places[self._message].get(name)
        return (0, 0) if row is None else (self._ends[row], self._ends[row + 1])

    def __getitem__(self, name: str) -> Any:
        start, end = self._span(name)
        if start == end:
            raise KeyError(name)
        layout = self._layout
        row = layout.schema.by_name[self._message][name]
        if row.many == "@":
            return LazyMap(layout.schema, self._text, self._message, name, self._indent, start, end)
        if row.kind == layout.pieces:
            inner = self._indent + 2
            pieces = self.pieces(name)
            return tuple(lazy_message(layout, piece, row.kind, inner) for piece in pieces)
        raw = self._text[start:end]
        if row.kind == "string":
            return self._strings(row, raw)
        return TextReader(layout.schema, raw).message(self._message, 0)[0][name]

    def _strings(self, row: Field, raw: str) -> Any:
        head = " " * self._indent + row.name + ': "'
        values: Any = raw[len(head) : -2].split('"\n' + head)
        if "\\" in raw or not raw.isascii():
            values = [_string(f'"{value}"') for value in values]
        return tuple(values) if row.many else values[0]

    def pieces(self, name: str) -> list[str]:
        """Texts of the blocks of a repeated field, without the lines that open and close them."""
        start, end = self._span(name)
        blanks = " " * self._indent
        head, tail = f"{blanks}{name} {{\n", f"{blanks}}}\n"
        inner = self._text[start + len(head) : end - len(tail)]
        return inner.split(tail + head) if start < end else []

    def __iter__(self) -> Iterator[str]:
        rows = self._layout.schema.messages[self._message]
        for row, start, end in zip(rows, self._ends, self._ends[1:], strict=False):
            if start < end:
                yield row.name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


def lazy_message(
    layout: Layout, text: str, message: str, indent: int, start: int = 0
) -> LazyMessage:
    """Return the message whose fields begin at ``start``; it ends where no further field fits."""
    found = cast("re.Match[str]", _groups(layout, message, indent).match(text, start))
    ends = array("q", [start, *(end for _, end in found.regs[1:])])
    return LazyMessage(layout, text, message, indent, ends)


def excerpt(piece: str, map_name: str, indent: int, keys: tuple[str, ...]) -> str:
    """Return the part of a message's text before a map, and the map's entries called ``keys``."""
    blanks = " " * indent
    head = f"{blanks}{map_name} {{\n"
    parts = [piece.partition(head)[0]]
    for key in keys:
        start = piece.find(f'{head}{blanks}  key: "{key}"\n')
        if start >= 0:
            parts.append(piece[start : piece.index(f"\n{blanks}}}\n", start) + indent + 3])
    return "".join(parts)


class LazyMap(Mapping[str, Any]):
    """A map of well-formed text; a value is read when asked for."""

    __slots__ = (
        "_end",
        "_indent",
        "_index",
        "_message",
        "_name",
        "_schema",
        "_start",
        "_text",
        "_values",
    )

    def __init__(
        self, schema: Schema, text: str, message: str, name: str, indent: int, start: int, end: int
    ) -> None:
        self._schema = schema
        self._text = text
        self._message = message
        self._name = name
        self._indent = indent
        self._start = start
        self._end = end
        self._index: dict[str, int] | None = None
        self._values: dict[str, Any] = {}

    def _places(self) -> dict[str, int]:
        """Where the entry of each key begins; the last one counts."""
        if self._index is None:
            found = _entry(self._indent).finditer(self._text, self._start, self._end)
            self._index = {_string(match[1]): match.start() for match in found}
        return self._index

    def __getitem__(self, key: str) -> Any:
        if key not in self._values:
            start = self._places()[key]
            tail = f"\n{' ' * self._indent}}}\n"
            raw = self._text[start : self._text.index(tail, start) + len(tail)]
            read, _ = TextReader(self._schema, raw).message(self._message, 0)
            self._values[key] = read[self._name][key]
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places())

    def __len__(self) -> int:
        return len(self._places())

    def __repr__(self) -> str:
        return repr(dict(self))


def _string(quoted: str) -> str:
    if quoted.isascii() and "\\" not in quoted:
        return quoted[1:-1]
    return cast("str", parse_string("string", quoted))
