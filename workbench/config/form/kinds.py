"""What a setting may hold: a kind of value, with its check, its words, its input and its JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Element = Literal["any", "text", "integer", "number"]


class Misfit(ValueError):
    """A value that a kind does not take.

    ``index`` is the element of a list that is wrong, ``word`` what it must be: text, an integer, or one of several.
    """

    def __init__(self, index: int | None = None, word: str = "element") -> None:
        super().__init__(index, word)
        self.index, self.word = index, word


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value.

    Attributes
    ----------
    expected : str
        What a value may be.
    misfit : object
        A value that is refused.
    read : function of a decoded value
        Returns it as the vendor keeps it, or raises Misfit.
    schema : dict
        JSON Schema of a value as it is written.
    input : {"choice", "list", "text", "value"}
        How a value is entered; ``value`` is JSON.
    options : tuple
        Every value of a choice.
    """

    expected: str
    misfit: Any
    read: Callable[[Any], Any]
    schema: Mapping[str, Any]
    input: Literal["choice", "list", "text", "value"] = "value"
    options: tuple[Any, ...] = ()


def _checked(takes: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Return what reads a value as it is, where it fits."""

    def read(value: Any) -> Any:
        if not takes(value):
            raise Misfit
        return value

    return read


def choice_of(*options: str | int) -> Kind:
    """One of several texts or numbers, of the same type: ``True`` is no 1."""
    *most, last = map(repr, options)
    number = isinstance(options[0], int)
    return Kind(
        f"{', '.join(most)} or {last}" if most else last,
        len(options) if number else "other",
        _checked(lambda value: any(type(value) is type(one) and value == one for one in options)),
        {"enum": list(options), "type": "integer" if number else "string"},
        "choice",
        options,
    )


def integer_from(least: int | None = None) -> Kind:
    """A whole number, at least ``least``."""
    bound = {} if least is None else {"minimum": least}
    words = "an integer" if least is None else f"an integer of at least {least}"
    return Kind(
        words,
        "1" if least is None else least - 1,
        _checked(lambda value: type(value) is int and (least is None or value >= least)),
        bound | {"type": "integer"},
    )


def text_like(pattern: str = "") -> Kind:
    """Text, in which a pattern is found; ``$`` is the very end, as in JSON Schema."""
    if not pattern:
        return TEXT
    found = re.compile(pattern.replace("$", r"\Z")).search
    read = _checked(
        lambda value: isinstance(value, str) and _is_whole(value) and found(value) is not None
    )
    return replace(TEXT, read=read, schema={"pattern": pattern, "type": "string"})


def _is_whole(text: str) -> bool:
    """Whether a text has no half of a character."""
    return not any("\ud800" <= one <= "\udfff" for one in text)


_TYPES: dict[Element, tuple[Any, dict[str, Any]]] = {
    "any": (object, {}),
    "text": (str, {"type": "string"}),
    "integer": (int, {"type": "integer"}),
    "number": (int | float, {"anyOf": [{"type": t} for t in ("integer", "number", "boolean")]}),
}
"""Element of a list → its types, and its JSON Schema."""


def list_of(element: Element) -> Kind:
    """A list of elements of one kind; a truth value is a number here, and no integer."""
    types, schema = _TYPES[element]
    word = element if element in ("text", "integer") else "element"

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise Misfit
        for index, item in enumerate(value):
            if not isinstance(item, types) or (element == "integer" and type(item) is bool):
                raise Misfit(index, word)
        return tuple(value)

    return Kind("a list", "x", read, {"items": schema, "type": "array"}, "list")


def uint32(value: Any) -> int | None:
    """Return what MindSpore keeps of a number of 64 bits; ``None`` if it is no unsigned integer.

    >>> uint32(2**32 + 1), uint32(True), uint32(-1)
    (1, None, None)
    """
    if type(value) is not int or not 0 <= value < 2**64:
        return None
    return value % 2**32


def unsigned(kept: Kind) -> Kind:
    """A kind of which 32 bits are kept before anything is looked at; it does not take None."""
    bounds = {"minimum": 0, "maximum": 2**64 - 1}
    return replace(converted(uint32, kept), schema=bounds | dict(kept.schema))


def converted(convert: Callable[[Any], Any], kind: Kind) -> Kind:
    """A kind behind what the vendor does to a value first; ``convert`` may raise Misfit."""
    return replace(kind, read=lambda value: kind.read(convert(value)))


def optional(kind: Kind) -> Kind:
    """A kind, or nothing."""
    return replace(
        kind,
        read=lambda value: None if value is None else kind.read(value),
        schema={"anyOf": [dict(kind.schema), {"type": "null"}]},
    )


def either(one: Kind, other: Kind) -> Kind:
    """A kind, or another one."""

    def read(value: Any) -> Any:
        try:
            return one.read(value)
        except Misfit:
            return other.read(value)

    schema = {"anyOf": [dict(one.schema), dict(other.schema)]}
    return Kind(f"{one.expected} or {other.expected}", one.misfit, read, schema)


def where(fits: Callable[[Any], Any], kind: Kind, expected: str = "") -> Kind:
    """A kind whose values must pass a test, too; ``expected`` says what they then are."""

    def read(value: Any) -> Any:
        if not fits(kept := kind.read(value)):
            raise Misfit
        return kept

    return replace(kind, read=read, expected=expected or kind.expected)


ANY = Kind("anything", None, lambda value: value, {})

TEXT = Kind("text", 1, _checked(lambda value: isinstance(value, str)), {"type": "string"}, "text")

SWITCH = Kind(
    "true or false",
    "true",
    _checked(lambda value: type(value) is bool),
    {"type": "boolean"},
    "choice",
    (True, False),
)

RECORD = Kind(
    "an object",
    [],
    _checked(lambda value: isinstance(value, dict) and all(isinstance(key, str) for key in value)),
    {"type": "object"},
)
