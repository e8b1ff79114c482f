"""How a comparison is made again: the command and the Python that ask the same, without paths of output."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any, Final

from workbench.comparison.map_file import NO_OVERRIDES, overrides_text
from workbench.core.text import call_text, json_visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.comparison.map_file import Overrides

COMMAND: Final = "Command"
PYTHON: Final = "Python"
"""Titles of the texts."""

_MAP = "map.json"
"""Name under which the command and the Python read a map file that was made by hand."""

_OPTIONS = {"map_file": "--map", "repeats": "--repeat"}
"""Option of the command where it is not the argument's own name."""

_PLAIN = frozenset(string.ascii_letters + string.digits + " /._-:,=+@%")


def provenance_texts(
    sides: tuple[str, str], given: Mapping[str, Any], overrides: Overrides = NO_OVERRIDES
) -> dict[str, str]:
    """Return texts by title for trees (target, golden), the arguments beside them, and the map file.

    An argument that is a list is an option given several times. The map file is one of the texts; one that was
    made by hand is read from ``map.json``.

    >>> provenance_texts(("a b", "c"), {"rank": (0, 1), "profile": ""})["Command"]
    "workbench compare 'a b' c --rank 0:1"
    """
    place = overrides.path or (_MAP if overrides else "")
    asked = {"map_file": place, **given}
    asked = {name: value for name, value in asked.items() if value not in (None, "", [])}
    words = ["workbench", "compare", *sides]
    for name, value in asked.items():
        option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
        for one in value if isinstance(value, list) else [value]:
            words += [option, _word(one)]
    arguments = [*map(repr, sides), *(f"{name}={_literal(value)}" for name, value in asked.items())]
    python = f"import workbench as wb\n\ncomparison = wb.compare({', '.join(arguments)})"
    texts = {COMMAND: " ".join(map(_quoted, words)), PYTHON: python}
    if overrides:
        texts[f"Map file ({place})"] = json_visible(overrides_text(overrides))
    return texts


def after_method(
    made: Mapping[str, str], method: str, given: Mapping[str, object]
) -> dict[str, str]:
    """Return the texts of a comparison that a method of another one gives; there is no command for it."""
    known = {name: value for name, value in given.items() if value is not None}
    lines = []
    if known.pop("keep", None) is not None:
        lines.append("# rows are left out by a function that this code does not have")
    if known:
        lines.append(f"comparison = comparison{call_text(method, known)}")
    return {
        title: "\n".join((text.rstrip(), *lines, "")) if title == PYTHON else text
        for title, text in made.items()
        if title != COMMAND
    }


def report_line(path: str, options: Mapping[str, object]) -> str:
    """Return the line that writes the report of ``comparison`` with the options that are given."""
    given = [f"{name}={value!r}" for name, value in options.items() if value is not None]
    return f"comparison.to_html({', '.join([repr(path), *given])})\n"


def _quoted(word: str) -> str:
    r"""Quote a word for the shell; what cannot be seen is spelled, as ``$'\x1b'``."""
    if word.isprintable():
        from shlex import quote

        return quote(word)
    data = word.encode("utf-8", "surrogateescape").decode("latin-1")
    return "$'" + "".join(c if c in _PLAIN else f"\\x{ord(c):02x}" for c in data) + "'"


def _word(value: object) -> str:
    return ":".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _literal(value: object) -> str:
    return repr(value) if isinstance(value, tuple | list | int | float) else repr(str(value))
