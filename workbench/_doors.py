"""Doors: what is imported when it is first used, by its place (``module:name``).

A package whose ``__init__`` has ``__getattr__, __dir__ = make_door(__name__, PLACES)`` has the names of one literal
table and imports none of their modules. Type checkers see the names by imports below ``TYPE_CHECKING``;
``from package import *`` sees those of ``__all__``. A row of a table names a function by ``later(place)``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def find(place: str) -> Any:
    """Import what stands at a place: ``module:name``, or a module."""
    module, _, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


def later(place: str) -> Callable[..., Any]:
    """Return a function that is imported when it is first called."""

    def call(*arguments: Any, **settings: Any) -> Any:
        return find(place)(*arguments, **settings)

    call.__name__ = call.__qualname__ = place.partition(":")[2]
    return call


def make_door(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose names have places.

    A name that was asked for stays in the package, and ``dir`` lists ``__all__``.
    Raises AttributeError, naming the known ones, for any other.
    """

    def __getattr__(name: str) -> Any:
        if name not in places:
            message = f"module {package!r} has no attribute {name!r}; known: {sorted(places)}"
            raise AttributeError(message)
        value = find(places[name])
        setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted(vars(sys.modules[package])["__all__"])

    return __getattr__, __dir__
