"""Faces of plain objects: made above, asked for below.

An object of a low layer offers `form()`; the widget behind it lives in the highest. The package
itself connects the two when it is imported, by name, so that nothing below imports upwards and no
widget is loaded before somebody asks for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FACES: dict[str, Callable[..., Any]] = {}
"""Maker of each face, by name."""


def make_face(name: str, item: object, **options: Any) -> Any:
    """Return the face of an object."""
    return FACES[name](item, **options)
