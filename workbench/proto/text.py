"""Protobuf's text form, read by the rows of a `Schema`.

The whole language is accepted: any layout, comments, both quotes and brackets, lists, separators.
Fields that the rows do not name are checked for form, counted in lines and left out. Everything else
that breaks the language raises FormatError with line and caret.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.proto.schema import Field, entry_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.proto.schema import Schema

    Shortcut = Callable[[str, int], tuple[Any, int] | None]

MAX_DEPTH = 100
"""Deepest nesting of blocks, as in protobuf's own readers of binary messages."""

MAX_SHOWN = 100
"""Longest part of a line that an error shows."""

STRING = r""""[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'"""
"""Pattern of one quoted string on one line."""

_PIECE = re.compile(STRING)
_INTEGER = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]{1,16})|(0[0-7]{0,22})|([1-9][0-9]{0,19}))")
_FLOAT = re.compile(
    r"-?(?:((?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)[fF]?|(?i:inf(?:inity)?|nan))"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BOOLS = {"true": True, "True": True, "t": True, "1": True}
_BOOLS |= {"false": False, "False": False, "f": False, "0": False}
_LIMITS = {
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint32": (0, (1 << 32) - 1),
    "uint64": (0, (1 << 64) - 1),
}
_ESCAPE = re.compile(
    rb"\\(?:[0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.|$)", re.DOTALL
)
_SIMPLE = dict(zip(b"abfnrtv\\'\"?", b"\a\b\f\n\r\t\v\\'\"?", strict=True))
_ASKED = {
    "int32": Message("proto/int32"),
    "int64": Message("proto/int64"),
    "uint32": Message("proto/uint32"),
    "uint64": Message("proto/uint64"),
    "float": Message("proto/float"),
    "double": Message("proto/float"),
    "bool": Message("proto/bool"),
}
_MAX_NAME = 40
_SPACE = r"(?:[ \t\r\n\f\v]++|#[^\n]*+)*+"
_NAME = r"(?:[A-Za-z_][A-Za-z0-9_]*+|[0-9]++|\[[A-Za-z0-9_./-]++\])"
_VALUE = rf"(?:(?P<text>(?:{STRING})(?:{_SPACE}(?:{STRING}))*+)|(?P<word>[-+.A-Za-z0-9_]++))"
_FIELD = re.compile(
    rf"{_SPACE}(?:(?P<name>{_NAME}){_SPACE}(?P<colon>:?){_SPACE}"
    rf"(?:(?P<open>[{{<\[])|{_VALUE}(?:{_SPACE}[,;])?)|(?P<close>[}}>]))"
)
_BEGUN = re.compile(rf"(?P<name>{_NAME}){_SPACE}:?{_SPACE}")
_ITEM = re.compile(rf"{_SPACE}(?:(?P<open>[{{<])|{_VALUE})")
_LIST_MARK = re.compile(rf"{_SPACE}([,\]])")
_LIST_END = re.compile(rf"{_SPACE}\]")
_SEPARATOR = re.compile(rf"(?:{_SPACE}[,;])?")
_BLANK = re.compile(_SPACE)
_QUOTED = frozenset(("string", "text", "bytes"))
_CLOSING = {"{": "}", "<": ">"}
_ANYTHING = ""
"""Kind of a field that nobody declares."""


class TextReader:
    """Reads messages of one text; ``where`` starts its errors, ``unknown`` counts lines left out.

    ``shortcuts`` may read messages of a kind by other means: given the text and the place of the field's
    name one returns the fields and the place behind it, or ``None`` to leave it to this class.
    """

    def __init__(
        self,
        schema: Schema,
        text: str,
        where: str = "",
        shortcuts: Mapping[str, Shortcut] = MappingProxyType({}),
    ) -> None:
        self.schema = schema
        self.known = schema.by_name
        self.text = text
        self.where = where
        self.shortcuts = shortcuts
        self.unknown = 0

    def message(self, kind: str, position: int, close: str = "", depth: int = 0) -> tuple[Any, int]:
        """Read a ``kind`` up to its ``close`` (``""``: end of the text); return it and the place behind."""
        known, one = self.known[kind], kind in self.schema.one_of
        fields, position = self._fields(known, one, position, close, depth)
        sealed = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
        return self.schema.to_python(kind, sealed), position

    def _fields(
        self, known: Mapping[str, Field], one: bool, position: int, close: str, depth: int
    ) -> tuple[dict[str, Any], int]:
        """Read fields up to ``close``; ``one`` allows a single one."""
        fields: dict[str, Any] = {}
        opened = position
        while True:
            found = _FIELD.match(self.text, position)
            if found is None or found.lastgroup == "close":
                return fields, self._leave(found, position, opened, close)
            field = known.get(found["name"])
            if field is None:
                position = self._stranger(found, depth)
                # what stands inside an opaque message is known, and nobody's business
                self.unknown += (
                    self.text.count("\n", found.start("name"), position) + 1 if known else 0
                )
                continue
            if fields and (one or (not field.many and field.name in fields)):
                self.fail(found.start("name"), "proto/field-repeated", name=field.name)
            value, position = self._value(field, found, depth)
            if field.many == "@":
                fields.setdefault(field.name, {}).update(value)
            elif field.many:
                fields.setdefault(field.name, []).extend(value)
            else:
                fields[field.name] = value

    def _leave(self, found: re.Match[str] | None, position: int, opened: int, close: str) -> int:
        """Return the place behind a message; raises FormatError if it does not end here."""
        if found is not None:
            if found["close"] != close:
                code = "proto/close" if close else "proto/close-without-block"
                self.fail(found.start("close"), code, expected=close, got=found["close"])
            return found.end()
        start = self._blank(position)
        if start < len(self.text):
            self._complain(start)
        if close:
            self.fail(start, "proto/block-open", line=line_of(self.text, opened), expected=close)
        return start

    def _complain(self, start: int) -> NoReturn:
        """Say why no field begins at ``start``."""
        begun = _BEGUN.match(self.text, start)
        end = begun.end() if begun else start
        got = self.text[end : end + 12].split("\n")[0]
        if begun is None:
            self.fail(start, "proto/no-field", got=got)
        name = begun["name"][:_MAX_NAME]
        if got[:1] in ('"', "'"):
            self.fail(end, "proto/string-open", name=name, got=got)
        self.fail(end, "proto/no-value", name=name, got=got)

    def _value(self, field: Field, found: re.Match[str], depth: int) -> tuple[Any, int]:
        """Read the value of a field; a repeated one gives a list, a map a list of pairs."""
        group = cast("str", found.lastgroup)
        if field.kind not in self.known:
            self._need_colon(found)
        if found["open"] == "[" and field.many:
            value, position = self._list(field, found.end(), depth)
            return value, self._separated(position)
        if (group == "open") != (field.kind in self.known) or found["open"] == "[":
            self._refuse(field, found, group)
        if group != "open":
            value, position = self._scalar(field, found), found.end()
        else:
            shortcut = self.shortcuts.get(field.kind)
            read = shortcut(self.text, found.start("name")) if shortcut else None
            value, position = read or self._block(field, found, depth)
            position = self._separated(position)
        return ([value] if field.many else value), position

    def _need_colon(self, found: re.Match[str]) -> None:
        if not found["colon"]:
            name = found["name"][:_MAX_NAME]
            self.fail(found.end("name"), "proto/no-colon", name=name)

    def _block(self, field: Field, found: re.Match[str], depth: int) -> tuple[Any, int]:
        """Read a nested message, or one entry of a map as ``(key, value)``."""
        if depth >= MAX_DEPTH:
            self.fail(found.start("open"), "proto/blocks-deep", most=MAX_DEPTH)
        close = _CLOSING[found["open"]]
        if field.many == "@":
            rows = entry_fields(field.kind)
            entry, position = self._fields(rows, False, found.end(), close, depth + 1)
            value = entry["value"] if "value" in entry else self.schema.to_python(field.kind, {})
            return (entry.get("key", ""), value), position
        value, position = self.message(field.kind, found.end(), close, depth + 1)
        return value, position

    def _list(self, field: Field, position: int, depth: int) -> tuple[list[Any], int]:
        """Read ``a, b]``."""
        items: list[Any] = []
        end = _LIST_END.match(self.text, position)
        while end is None:
            found = _ITEM.match(self.text, position)
            block = found is not None and found.lastgroup == "open"
            if found is None or (field.kind and block != (field.kind in self.known)):
                expected = asked(self.schema, field.kind) if field.kind else Message("proto/value")
                self.fail(self._blank(position), "proto/item", name=field.name, expected=expected)
            if block:
                value, position = self._block(field, found, depth)
            else:
                value, position = self._scalar(field, found), found.end()
            items.append(value)
            mark = _LIST_MARK.match(self.text, position)
            if mark is None:
                self.fail(self._blank(position), "proto/list-open", name=field.name)
            position = mark.end()
            end = mark if mark[1] == "]" else None
        return items, end.end()

    def _scalar(self, field: Field, found: re.Match[str]) -> Any:
        """Value of a scalar; a field without kind takes any and gives nothing."""
        group = cast("str", found.lastgroup)
        if not field.kind:
            return None
        if group == "word":
            value = parse_word(self.schema, field.kind, found[group])
            if value is not None:
                return value
        elif field.kind in _QUOTED:
            try:
                return parse_string(field.kind, found[group])
            except ValueError as error:
                self.fail(found.start(group), "proto/escape", name=field.name, got=str(error))
        return self._refuse(field, found, group)

    def _refuse(self, field: Field, found: re.Match[str], group: str) -> NoReturn:
        """Say what a field must hold and what it has."""
        got = found[group][:_MAX_NAME]
        expected = asked(self.schema, field.kind)
        self.fail(
            found.start(group), "proto/value-kind", name=field.name, expected=expected, got=got
        )

    def _stranger(self, found: re.Match[str], depth: int) -> int:
        """Return the place behind a field that nobody knows; its form is checked all the same."""
        opening = found["open"]
        if not opening:
            self._need_colon(found)
            return found.end()
        if opening in _CLOSING:
            position = self._block(Field(0, found["name"], _ANYTHING), found, depth)[1]
        else:
            self._need_colon(found)
            field = Field(0, found["name"][:_MAX_NAME], _ANYTHING)
            position = self._list(field, found.end(), depth)[1]
        return self._separated(position)

    def _blank(self, position: int) -> int:
        """The place behind blanks and comments."""
        return cast("re.Match[str]", _BLANK.match(self.text, position)).end()

    def _separated(self, position: int) -> int:
        """The place behind a separator, if there is one."""
        return cast("re.Match[str]", _SEPARATOR.match(self.text, position)).end()

    def fail(self, position: int, code: str, **values: Any) -> NoReturn:
        """Raise FormatError for a place of the text: path and line, the line itself and a caret."""
        where = f"{self.where}:{line_of(self.text, position)}"
        shown = excerpt(self.text, position)
        raise FormatError(code, place=where, excerpt=shown, **values) from None


def asked(schema: Schema, kind: str) -> Message:
    """Return what a field of a kind must be."""
    if kind in schema.messages:
        return Message("proto/block")
    word = Message("proto/word" if kind in schema.enums else "proto/string")
    return _ASKED.get(kind, word)


def parse_word(schema: Schema, kind: str, word: str) -> Any:
    """Return the value of a bare word; ``None`` if the kind has no such value.

    >>> from workbench.proto.schema import Schema
    >>> [parse_word(Schema("any", {}), *one) for one in (("int64", "0x10"), ("float", "1e-05"), ("bool", "2"))]
    [16, 1e-05, None]
    """
    if kind == "bool":
        return _BOOLS.get(word)
    if kind in ("float", "double"):
        return _parse_float(kind, word)
    is_enum = kind in schema.enums
    if is_enum and _WORD.fullmatch(word):
        return word
    found = _INTEGER.fullmatch(word)
    if found is None or not (is_enum or kind in _LIMITS):
        return None
    sign, sixteen, eight, ten = found.groups()
    size = int(sixteen, 16) if sixteen else int(eight, 8) if eight else int(ten)
    low, high = _LIMITS.get(kind, _LIMITS["int64"])
    number = -size if sign else size
    if not low <= number <= high:
        return None
    return schema.enum_word(kind, number) if is_enum else number


def _parse_float(kind: str, word: str) -> float | None:
    found = _FLOAT.fullmatch(word)
    size = found and (found[1] or word.lstrip("-"))
    if size is None:
        return None
    number = float(size) * (-1 if word[0] == "-" else 1)
    return single(number) if kind == "float" else number


def single(value: float) -> float:
    """The shortest decimal number that names the same number of single precision.

    >>> single(0.100000001490116), single(1e300)
    (0.1, inf)
    """
    with np.errstate(over="ignore"):
        return float(str(np.float32(value)))


def parse_string(kind: str, quoted: str) -> str | bytes:
    """Value of strings that stand side by side; raises ValueError for an escape that C does not have."""
    if "\\" not in quoted and quoted.count(quoted[0]) == 2 and quoted[-1] == quoted[0]:
        return decode_text(kind, quoted[1:-1].encode("utf-8", "surrogateescape"))
    pieces = (piece[0][1:-1] for piece in _PIECE.finditer(_bare(quoted)))
    return decode_text(kind, b"".join(unescape(piece) for piece in pieces))


def _bare(quoted: str) -> str:
    """Strings without the comments between them, whose quotes must not be read as strings."""
    if "#" not in quoted:
        return quoted
    return " ".join(found[0] for found in _PIECE_OR_COMMENT.finditer(quoted) if found[0][0] != "#")


_PIECE_OR_COMMENT = re.compile(rf"{STRING}|#[^\n]*")


def decode_text(kind: str, data: bytes) -> str | bytes:
    r"""A string field as text; ``text`` that is no UTF-8 stays bytes, a name gets ``\xff`` escapes."""
    if kind == "bytes":
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data if kind == "text" else data.decode("utf-8", "backslashreplace")


def unescape(text: str) -> bytes:
    """Bytes of the inside of a string; raises ValueError for an escape that C does not have."""
    data = text.encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(lambda found: _byte(found[0]), data) if b"\\" in data else data


@lru_cache(maxsize=1024)
def _byte(escape: bytes) -> bytes:
    """What one escape stands for."""
    mark = escape[1:2]
    if mark and mark[0] in _SIMPLE:
        return bytes([_SIMPLE[mark[0]]])
    try:
        if mark and mark in b"uU":
            return chr(int(escape[2:], 16)).encode("utf-8")
        return bytes([int(escape[2:], 16) if mark in b"xX" and mark else int(escape[1:], 8)])
    except (ValueError, OverflowError):
        raise ValueError(escape.decode("utf-8", "backslashreplace")) from None


def line_of(text: str, position: int) -> int:
    """Number of the line that holds a position."""
    return text.count("\n", 0, position) + 1


def excerpt(text: str, position: int) -> str:
    """Return the line that holds a position (at most a part of it) and a caret below."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    start = max(start, position - MAX_SHOWN // 2)
    shown = text[start : min(len(text) if end < 0 else end, start + MAX_SHOWN)]
    shown = "".join(letter if letter.isprintable() else "?" for letter in shown)
    return f"{shown}\n{' ' * (position - start)}^"
