"""Protobuf's text form, read by the rows of `workbench.graph_files.ge.fields`.

The whole language is accepted: any layout, comments, both quotes and brackets, lists, separators.
Fields that the rows do not name are checked for form, counted in lines and left out. Everything else
that breaks the language raises FormatError with line and caret.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn, cast

from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.graph_files.ge.fields import FIELDS, ONE_OF, Field, finish
from workbench.graph_files.ge.scalars import (
    STRING,
    asked,
    excerpt,
    line_of,
    parse_string,
    parse_word,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 100
"""Deepest nesting of blocks, as in protobuf's own readers of binary messages."""

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
_OPAQUE = "AttrGroups"
_ENTRY = {
    kind: {"key": Field(1, "key", "string"), "value": Field(2, "value", kind)} for kind in FIELDS
}


class Scanner:
    """Reads messages of one text; ``where`` starts its errors, ``unknown`` counts lines left out.

    ``shortcut`` may read an ``OpDef`` by other means: given the text and the place of the field's
    name it returns the fields and the place behind it, or ``None`` to leave it to this class.
    """

    def __init__(
        self,
        text: str,
        where: str,
        shortcut: Callable[[str, int], tuple[Any, int] | None] | None = None,
    ) -> None:
        self.text = text
        self.where = where
        self.shortcut = shortcut
        self.unknown = 0

    def message(self, kind: str, position: int, close: str = "", depth: int = 0) -> tuple[Any, int]:
        """Read a ``kind`` up to its ``close`` (``""``: end of the text); return it and the place behind."""
        known = FIELDS[kind]
        fields, position = self._fields(known, kind in ONE_OF, position, close, depth)
        sealed = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
        return finish(kind, sealed), position

    def _fields(
        self, known: dict[str, Field], one: bool, position: int, close: str, depth: int
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
                self.fail(found.start("name"), "ir/field-repeated", name=field.name)
            value, position = self._value(field, found, depth)
            if field.many == "map":
                fields.setdefault(field.name, {}).update(value)
            elif field.many:
                fields.setdefault(field.name, []).extend(value)
            else:
                fields[field.name] = value

    def _leave(self, found: re.Match[str] | None, position: int, opened: int, close: str) -> int:
        """Return the place behind a message; raises FormatError if it does not end here."""
        if found is not None:
            if found["close"] != close:
                code = "ir/close" if close else "ir/close-without-block"
                self.fail(found.start("close"), code, expected=close, got=found["close"])
            return found.end()
        start = self._blank(position)
        if start < len(self.text):
            self._complain(start)
        if close:
            self.fail(start, "ir/block-open", line=line_of(self.text, opened), expected=close)
        return start

    def _complain(self, start: int) -> NoReturn:
        """Say why no field begins at ``start``."""
        begun = _BEGUN.match(self.text, start)
        end = begun.end() if begun else start
        got = self.text[end : end + 12].split("\n")[0]
        if begun is None:
            self.fail(start, "ir/no-field", got=got)
        name = begun["name"][:_MAX_NAME]
        if got[:1] in ('"', "'"):
            self.fail(end, "ir/string-open", name=name, got=got)
        self.fail(end, "ir/no-value", name=name, got=got)

    def _value(self, field: Field, found: re.Match[str], depth: int) -> tuple[Any, int]:
        """Read the value of a field; a repeated one gives a list, a map a list of pairs."""
        group = cast("str", found.lastgroup)
        if field.kind not in FIELDS:
            self._need_colon(found)
        if found["open"] == "[" and field.many:
            value, position = self._list(field, found.end(), depth)
            return value, self._separated(position)
        if (group == "open") != (field.kind in FIELDS) or found["open"] == "[":
            self._refuse(field, found, group)
        if group != "open":
            value, position = self._scalar(field, found), found.end()
        else:
            read = None
            if field.kind == "OpDef" and self.shortcut is not None:
                read = self.shortcut(self.text, found.start("name"))
            value, position = read or self._block(field, found, depth)
            position = self._separated(position)
        return ([value] if field.many else value), position

    def _need_colon(self, found: re.Match[str]) -> None:
        if not found["colon"]:
            name = found["name"][:_MAX_NAME]
            self.fail(found.end("name"), "ir/no-colon", name=name)

    def _block(self, field: Field, found: re.Match[str], depth: int) -> tuple[Any, int]:
        """Read a nested message, or one entry of a map as ``(key, value)``."""
        if depth >= MAX_DEPTH:
            self.fail(found.start("open"), "ir/blocks-deep", most=MAX_DEPTH)
        close = _CLOSING[found["open"]]
        if field.many == "map":
            rows = _ENTRY[field.kind]
            entry, position = self._fields(rows, False, found.end(), close, depth + 1)
            value = entry["value"] if "value" in entry else finish(field.kind, {})
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
            if found is None or (field.kind and block != (field.kind in FIELDS)):
                expected = asked(field.kind) if field.kind else Message("ir/value")
                self.fail(self._blank(position), "ir/item", name=field.name, expected=expected)
            if block:
                item = field._replace(kind=field.kind or _OPAQUE)
                value, position = self._block(item, found, depth)
            else:
                value, position = self._scalar(field, found), found.end()
            items.append(value)
            mark = _LIST_MARK.match(self.text, position)
            if mark is None:
                self.fail(self._blank(position), "ir/list-open", name=field.name)
            position = mark.end()
            end = mark if mark[1] == "]" else None
        return items, end.end()

    def _scalar(self, field: Field, found: re.Match[str]) -> Any:
        """Value of a scalar; a field without kind takes any and gives nothing."""
        group = cast("str", found.lastgroup)
        if not field.kind:
            return None
        if group == "word":
            value = parse_word(field.kind, found[group])
            if value is not None:
                return value
        elif field.kind in _QUOTED:
            try:
                return parse_string(field.kind, found[group])
            except ValueError as error:
                self.fail(found.start(group), "ir/escape", name=field.name, got=str(error))
        return self._refuse(field, found, group)

    def _refuse(self, field: Field, found: re.Match[str], group: str) -> NoReturn:
        """Say what a field must hold and what it has."""
        got = found[group][:_MAX_NAME]
        expected = asked(field.kind)
        self.fail(found.start(group), "ir/value-kind", name=field.name, expected=expected, got=got)

    def _stranger(self, found: re.Match[str], depth: int) -> int:
        """Return the place behind a field that nobody knows; its form is checked all the same."""
        opening = found["open"]
        if not opening:
            self._need_colon(found)
            return found.end()
        if opening in _CLOSING:
            position = self._block(Field(0, found["name"], _OPAQUE), found, depth)[1]
        else:
            self._need_colon(found)
            field = Field(0, found["name"][:_MAX_NAME], "")
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
