"""Regular expressions of others: matched in bounded time, whatever they are.

Python's ``re`` tries one way after the other, and ``(a*)*b`` has more ways through forty letters than anybody
can wait for. Where the ways are not few, all of them are followed at once here: as the set of places of the
text that they have come to.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import inf, prod
from re import _parser  # type: ignore[attr-defined]  # has no types; what `re` itself compiles from
from typing import TYPE_CHECKING, Any

from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

FEW = 2**24
"""So many ways `re` may try: a fraction of a second."""

MAX_STEPS = 2_000_000
"""Most steps of following all ways through one text."""

_LENGTH = 256
"""Ways of a repetition without end: the length of a long name."""

_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")


@lru_cache(maxsize=4096)
def compile_bounded(text: str) -> Expression:
    """Read an expression of Python's; raises FormatError if it is none."""
    return Expression(text)


class Expression:
    """A regular expression that can be trusted with any text."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._whole = re.compile(text)
            self._tree = list(_parser.parse(text))
            self._few = _ways(self._tree) <= FEW
            self._plain = self._whole.flags == re.UNICODE and _is_plain(self._tree)
        except (re.error, RecursionError, OverflowError) as error:
            raise FormatError("core/expression-invalid", got=text, why=error) from error

    def fullmatch(self, name: str) -> bool:
        """Whether a whole name matches."""
        if self._few:
            return self._whole.fullmatch(name) is not None
        return len(name) in self._ends(name, {0})

    def search(self, name: str) -> bool:
        """Whether any part of a name matches."""
        if self._few:
            return self._whole.search(name) is not None
        return bool(self._ends(name, set(range(len(name) + 1))))

    def _ends(self, name: str, starts: set[int]) -> set[int]:
        if not self._plain:
            raise FormatError("core/expression-repeats", got=self.text)
        try:
            return _Ways(name, self.text).through(self._tree, starts)
        except RecursionError as error:
            raise FormatError("core/expression-nested", got=self.text) from error


def _ways(nodes: Iterable[tuple[Any, Any]]) -> float:
    """Upper bound of the ways through a text of `_LENGTH` that ``re`` may try."""
    return prod(_ways_of(str(kind), value) for kind, value in nodes)


def _ways_of(kind: str, value: Any) -> float:
    if kind == "BRANCH":
        return sum(_ways(side) for side in value[1])
    if kind == "SUBPATTERN":
        return _ways(value[3])
    if kind in ("ASSERT", "ASSERT_NOT"):
        return _ways(value[1])
    if kind in _REPEATS:
        least, most, inner = value
        each, number = _ways(inner), float(min(int(most) - least, _LENGTH) + 1)
        if each == 1:
            return number
        return float(number * each ** int(most)) if int(most) < _LENGTH else inf
    known = ("LITERAL", "NOT_LITERAL", "ANY", "IN", "AT", "GROUPREF")
    return 1 if kind in known else 2  # what no vendor's form can say counts as little


def _is_plain(nodes: Iterable[tuple[Any, Any]]) -> bool:
    """Whether all of an expression can be followed as a set of places."""
    for kind, value in nodes:
        word = str(kind)
        inner: Sequence[Any] = ()
        if word == "BRANCH":
            inner = value[1]
        elif word == "SUBPATTERN" and not value[1] and not value[2]:
            inner = [value[3]]
        elif word in ("ASSERT", "ASSERT_NOT") and value[0] == 1:
            inner = [value[1]]
        elif word in _REPEATS:
            inner = [value[2]]
        elif word not in _SINGLE and word != "AT":
            return False
        if not all(map(_is_plain, inner)):
            return False
    return True


class _Ways:
    """All ways through one text at once."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text, self._steps = name, text, 0

    def through(self, nodes: Iterable[tuple[Any, Any]], places: set[int]) -> set[int]:
        """Return the places behind some pieces of the expression."""
        for kind, value in nodes:
            self._steps += 1 + len(places)
            if self._steps > MAX_STEPS:
                raise FormatError(
                    "core/expression-steps", got=self._text, name=self._name, limit=MAX_STEPS
                )
            places = self._behind(str(kind), value, places)
            if not places:
                break
        return places

    def _behind(self, kind: str, value: Any, places: set[int]) -> set[int]:
        if kind in _SINGLE:
            fits, name = _SINGLE[kind], self._name
            return {place + 1 for place in places if place < len(name) and fits(value, name[place])}
        if kind == "AT":
            return {place for place in places if _EDGES[str(value)].match(self._name, place)}
        if kind == "BRANCH":
            return set().union(*(self.through(side, places) for side in value[1]))
        if kind == "SUBPATTERN":
            return self.through(value[3], places)
        if kind in _REPEATS:
            least, most, inner = value
            return self._repeated(least, int(most), inner, places)
        wanted = kind == "ASSERT"
        return {place for place in places if bool(self.through(value[1], {place})) == wanted}

    def _repeated(self, least: int, most: int, inner: Any, places: set[int]) -> set[int]:
        """Places behind ``least`` to ``most`` repetitions; a piece may be empty, so stop where none is new."""
        for _ in range(least):
            before, places = places, self.through(inner, places)
            if places in (before, set()):
                break
        found, new = set(places), places
        for _ in range(min(most - least, len(self._name) + 1)):
            new = self.through(inner, new) - found
            if not new:
                break
            found |= new
        return found


_EDGES = {
    "AT_BEGINNING": re.compile("^"),
    "AT_BEGINNING_STRING": re.compile(r"\A"),
    "AT_END": re.compile("$"),
    "AT_END_STRING": re.compile(r"\Z"),
    "AT_BOUNDARY": re.compile(r"\b"),
    "AT_NON_BOUNDARY": re.compile(r"\B"),
}


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": _is_word,
}


def _in_set(items: Sequence[tuple[Any, Any]], char: str) -> bool:
    """Whether a character is in a set such as ``[^a-z_]``."""
    negated = bool(items) and str(items[0][0]) == "NEGATE"
    return any(_is_item(str(kind), value, char) for kind, value in items) != negated


def _is_item(kind: str, value: Any, char: str) -> bool:
    if kind == "LITERAL":
        return bool(ord(char) == value)
    if kind == "RANGE":
        return bool(value[0] <= ord(char) <= value[1])
    if kind == "NEGATE":
        return False
    word = str(value)
    if "_NOT_" in word:
        return not _CATEGORIES[word.replace("_NOT_", "_")](char)
    return _CATEGORIES[word](char)


_SINGLE: dict[str, Callable[[Any, str], bool]] = {
    "LITERAL": lambda code, char: ord(char) == code,
    "NOT_LITERAL": lambda code, char: ord(char) != code,
    "ANY": lambda _, char: char != "\n",
    "IN": _in_set,
}
"""Pieces of one character: whether it is one."""
