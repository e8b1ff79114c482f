"""How a comparison is made again: the command and the Python that ask the same, without paths of output."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONS = {"map_file": "--map"}
"""Option of the command where it is not the argument's own name."""


def recipe(sides: tuple[str, str], given: Mapping[str, Any]) -> dict[str, str]:
    """Return texts by title for trees (target, golden) and the arguments that were given beside them.

    >>> recipe(("a b", "c"), {"rank": (0, 1), "profile": ""})["Command"]
    "workbench compare 'a b' c --rank 0:1"
    """
    asked = {name: value for name, value in given.items() if value not in (None, "")}
    words = ["workbench", "compare", *sides]
    for name, value in asked.items():
        words += [_OPTIONS.get(name, f"--{name.replace('_', '-')}"), _word(value)]
    arguments = [*map(repr, sides), *(f"{name}={_literal(value)}" for name, value in asked.items())]
    python = f"import workbench as wb\n\ncomparison = wb.compare({', '.join(arguments)})"
    return {"Command": shlex.join(words), "Python": python}


def _word(value: object) -> str:
    return ":".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _literal(value: object) -> str:
    return repr(value) if isinstance(value, tuple | int) else repr(str(value))
