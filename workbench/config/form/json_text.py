"""Read JSON with the line of every key, and say where and why text is not JSON.

The standard library's decoder keeps no positions, recurses, and accepts ``NaN``; the parsers of the
vendors (nlohmann::json) do none of that. Nesting is bounded, because nothing real is deep.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.core.errors import FormatError
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.core.problems import Problem

MAX_DEPTH = 500
"""Levels of objects and lists that are read; every vendor's own form has at most five."""

MAX_VALUES = 50_000
"""Values that are read: in a quarter of a second; the largest real form, every operator of a network, has 20,000."""

MAX_PATH = 1000
"""Longest path that a line is kept for; what lies deeper has the line of what is around it."""

MANY = 100
"""Keys that appear again and are told one by one."""

_TOKEN = re.compile(
    r'[ \t\r\n]*+(?:(?P<string>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>true|false|null)|(?P<mark>[\[\]{},:]))"
)
_BLANK = re.compile(r"[ \t\r\n]*")
_WORDS = {"true": True, "false": False, "null": None}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded form and where its parts stand.

    ``lines`` maps paths (``dump.dump_list[0].layer[1]``) to 1-based lines, ``duplicates`` lists the first
    `MANY` keys that appear again (path and line), ``trailing`` is the line of text behind the value (0: none),
    ``problems`` are those of the text itself.
    """

    data: Any
    text: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    duplicates: tuple[tuple[str, int], ...] = ()
    trailing: int = 0
    problems: tuple[Problem, ...] = ()


def decode_json(text: str, where: str = "<text>") -> Decoded:
    """Decode one JSON value; raises FormatError ``where:line:`` with line and caret."""
    return _Decoder(text, where).run()


def json_kind(value: Any) -> str:
    """Name the kind of a decoded JSON value, as JSON's own grammar does."""
    kinds = {dict: "object", list: "array", str: "string", bool: str(value).lower()}
    return "null" if value is None else kinds.get(type(value), "number")


def _below(path: str, step: str) -> str:
    """Path of a member; that of its holder if it were too long."""
    return path + step if len(path) + len(step) <= MAX_PATH else path


class _Decoder:
    """One pass over the tokens; ``_stack`` holds the open containers with their paths."""

    def __init__(self, text: str, where: str) -> None:
        self._text, self._where = text, where
        self._place = 1 if text.startswith("\ufeff") else 0
        self._start = self._place
        self._line, self._counted = 1, 0
        self._data: Any = None
        self._lines: dict[str, int] = {}
        self._again: list[tuple[str, int]] = []
        self._stack: list[tuple[Any, str]] = []
        self._key = ""
        self._values = 0

    def run(self) -> Decoded:
        state = "value"
        while state != "end":
            kind, token = self._token()
            closes = self._stack and token == ("}" if self._is_object() else "]")
            if kind == "mark" and closes and state in ("after", "first-key", "first-item"):
                self._stack.pop()
                state = "after" if self._stack else "end"
            elif state == "after":
                self._need(token == ",", f"json-{self._name()}-goes-on", token)
                state = "key" if self._is_object() else "item"
            elif state in ("key", "first-key"):
                self._need(kind == "string", "json-key", token)
                self._open_member(token)
                state = "value"
            else:
                state = self._value(kind, token)
        rest = self._blank(self._place)
        trailing = self._line_of(rest) if rest < len(self._text) else 0
        return Decoded(self._data, self._text, self._lines, tuple(self._again), trailing)

    def _is_object(self) -> bool:
        return isinstance(self._stack[-1][0], dict)

    def _name(self) -> str:
        return "object" if self._is_object() else "array"

    def _blank(self, place: int) -> int:
        match = _BLANK.match(self._text, place)
        return match.end() if match else place

    def _token(self) -> tuple[str, str]:
        match = _TOKEN.match(self._text, self._place)
        if match is None:
            self._start = self._blank(self._place)
            got = self._text[self._start : self._start + 20]
            self._need(False, "json-token" if got else "json-end", got)
            raise AssertionError
        kind = str(match.lastgroup)
        self._start, self._place = match.span(kind)
        return kind, match[kind]

    def _open_member(self, token: str) -> None:
        """Note a key and its line, and read the colon behind it."""
        self._key = self._string(token)
        container, path = self._stack[-1]
        place = _below(path, f".{self._key}" if path else self._key)
        line = self._line_of(self._start)
        if self._key in container and len(self._again) < MANY:
            self._again.append((place, line))
        if place != path:
            self._lines[place] = line
        _, colon = self._token()
        self._need(colon == ":", "json-colon", colon)

    def _value(self, kind: str, token: str) -> str:
        """Store a value; return the state that follows."""
        self._values += 1
        self._need(self._values <= MAX_VALUES, "json-many", token)
        path = ""
        if self._stack:
            container, above = self._stack[-1]
            step = f".{self._key}" if above else self._key
            if isinstance(container, list):
                step = f"[{len(container)}]"
            path = _below(above, step)
            if isinstance(container, list) and path != above:
                self._lines[path] = self._line_of(self._start)
        value = self._scalar(kind, token)
        if not self._stack:
            self._data = value
        elif isinstance(container, list):
            container.append(value)
        else:
            container[self._key] = value
        if isinstance(value, dict | list):
            self._stack.append((value, path))
            self._need(len(self._stack) <= MAX_DEPTH, "json-deep", token)
            return "first-key" if isinstance(value, dict) else "first-item"
        return "after" if self._stack else "end"

    def _scalar(self, kind: str, token: str) -> Any:
        if kind == "string":
            return self._string(token)
        if kind == "word":
            return _WORDS[token]
        if kind == "number":
            return self._number(token)
        self._need(token in "{[", "json-value", token)
        return {} if token == "{" else []

    def _string(self, token: str) -> str:
        text: str = json.loads(token) if "\\" in token else token[1:-1]
        self._need(not _LONE_SURROGATE.search(text), "json-character", token)
        return text

    def _number(self, token: str) -> int | float:
        if token == "-0":  # no unsigned number to any of the vendors' parsers
            return -0.0
        if token.lstrip("-").isdecimal() and len(token) <= 20:
            return int(token)
        number = float(token)
        self._need(math.isfinite(number), "json-number", token)
        return number

    def _line_of(self, place: int) -> int:
        """1-based line of a place; places come in rising order."""
        self._line += self._text.count("\n", self._counted, place)
        self._counted = max(place, self._counted)
        return self._line

    def _need(self, holds: bool, fault: str, got: str) -> None:
        """Refuse the text unless something holds: with the line, and a caret below the place."""
        if holds:
            return
        begin = self._text.rfind("\n", 0, self._start) + 1
        line = self._text[begin : begin + 200].partition("\n")[0].rstrip("\r")
        column = self._start - begin
        caret = "\n" + " " * column + "^" if column <= len(line) else ""
        number = self._text.count("\n", 0, self._start) + 1
        limit = MAX_VALUES if fault == "json-many" else MAX_DEPTH
        why = Message(f"config/{fault}", got=got[:40], limit=limit)
        place = f"{self._where}:{number}"
        raise FormatError("config/json", place=place, why=why, excerpt=f"\n{line}{caret}")
