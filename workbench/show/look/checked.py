"""Traits that are refused in the words of the workbench, where traitlets would speak of its own."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import traitlets as T

from workbench.core.errors import WorkbenchError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TEXT = Message("show/expected-text")
"""What a trait that holds text expects."""


class Checked(T.TraitType[Any, Any]):
    """A trait of an object with state; raises WorkbenchError for a value that does not fit.

    Parameters
    ----------
    expected : Message or list
        What it must be, or all that it can be.
    fits : callable
        Whether a value is that; may raise WorkbenchError to say more.
    """

    def __init__(
        self, expected: Message | Iterable[Any], fits: Callable[[Any], bool], default: Any = None
    ) -> None:
        super().__init__(default_value=default)
        self.expected = expected if isinstance(expected, Message) else list(expected)
        self._fits = fits

    def default(self, obj: Any = None) -> Any:
        """Return the default, of mutable ones a copy."""
        return copy(super().default(obj))

    def validate(self, obj: Any, value: Any) -> Any:
        """Return the value; lists become tuples, which nobody can change unheard."""
        value = tuple(value) if isinstance(value, list) else value
        if self._fits(value):
            return value
        if isinstance(self.expected, list):
            raise WorkbenchError("core/choice", subject=self.name, got=value, known=self.expected)
        raise WorkbenchError("show/setting", name=self.name, expected=self.expected, got=value)


def a(*kinds: type) -> Callable[[Any], bool]:
    """Whether a value is of one of some types; ``None`` is not, nor is True a number."""
    return lambda value: isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def between(least: int, most: int) -> Callable[[Any], bool]:
    """Whether a value is a whole number in a range, both ends included."""
    return lambda value: a(int)(value) and least <= value <= most


def one_of(known: Iterable[Any]) -> Callable[[Any], bool]:
    """Whether a value is one of some texts, or ``None`` if that is one of them."""
    choices = tuple(known)
    return lambda value: isinstance(value, str | None) and value in choices


def some_of(known: Iterable[str]) -> Callable[[Any], bool]:
    """Whether a value is a tuple of some texts."""
    choices = frozenset(known)
    return lambda value: texts(value) and choices.issuperset(value)


def texts(value: Any) -> bool:
    """Whether a value is a tuple of texts."""
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


def whole(least: int, most: int, default: int) -> Checked:
    """Return the trait of a whole number in a range."""
    expected = Message("show/expected-whole", least=least, most=most)
    return Checked(expected, between(least, most), default)
