"""A message: what is to be said to a person, before anybody has said it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from workbench.core.text import readable
from workbench.core.words.render import fill, sentence

if TYPE_CHECKING:
    from collections.abc import Mapping


class Message:
    """A code and the values it is about; ``str`` makes the sentence of it.

    Parameters
    ----------
    code : str
        ``area/name``, a row of the area's table.
    place : str
        File and line or byte that it is about, as of errors; stands before the sentence.
    **values
        What the sentence names: numbers with full precision, names as they are, other messages.

    >>> one = Message("core/choice", subject="device", got="a9", known=["910a", "a2"])
    >>> str(one), one.code, one.values["got"]
    ("unknown device 'a9' (choose from 910a, a2)", 'core/choice', 'a9')
    """

    __slots__ = ("code", "place", "values")

    code: str
    place: str
    values: Mapping[str, Any]

    def __init__(self, code: str, /, *, place: object = "", **values: Any) -> None:
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "place", str(place))
        object.__setattr__(self, "values", MappingProxyType(values))

    def __str__(self) -> str:
        text = sentence(self.code, self.values)
        return readable(f"{self.place}: {text}" if self.place else text)

    def __repr__(self) -> str:
        held = dict(self.values) | ({"place": self.place} if self.place else {})
        return f"Message({', '.join([repr(self.code), *(f'{k}={v!r}' for k, v in held.items())])})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        mine, theirs = (self.code, self.place, self.values), (other.code, other.place, other.values)
        return mine == theirs

    def __hash__(self) -> int:
        return hash(self.code)  # values may be lists

    def __deepcopy__(self, _memo: object) -> Self:
        return self  # nothing of it changes, and its values may be deep

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)

    def __reduce__(self) -> tuple[object, ...]:
        return (_message, (self.code, self.place, dict(self.values)))


def _message(code: str, place: str, values: dict[str, Any]) -> Message:
    return Message(code, place=place, **values)


class RowMessage(Message):
    """A message whose words stand in the row that makes it: a rule of configuration, a note.

    Parameters
    ----------
    code : str
        Name of the row.
    words : str
        The row's sentence, its values in braces.
    **values
        What the sentence names.

    >>> str(RowMessage("step", "{key} has {n:count piece}", key="dump_step", n=101))
    'dump_step has 101 pieces'
    """

    __slots__ = ("words",)

    words: str

    def __init__(self, code: str, words: str, /, **values: Any) -> None:
        super().__init__(code, **values)
        object.__setattr__(self, "words", words)

    def __str__(self) -> str:
        text = fill(self.words, self.values)
        return readable(f"{self.place}: {text}" if self.place else text)

    def __reduce__(self) -> tuple[object, ...]:
        return (_row_message, (self.code, self.words, dict(self.values)))


def _row_message(code: str, words: str, values: dict[str, Any]) -> RowMessage:
    return RowMessage(code, words, **values)
