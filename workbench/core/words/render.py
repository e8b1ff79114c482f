"""Sentences out of the tables: where a code's words stand, and how values are written in them.

A sentence names its values in braces, as `str.format` does: ``{path}``, ``{got!r}`` (quoted, its middle left out
above 80 characters), ``{error:.2g}``. Beside the ordinary formats there are

==============================  ===========================================================
``{n:count}``                   ``20,000``
``{n:count tensor}``            ``1 tensor``, ``20,000 tensors``; ``{n:count entry/entries}``
``{names:list}``                ``a, b, c``; above twenty names the last is ``… (12 more)``
``{names:or}``                  ``a, b or c``
``{problems:lines}``            one below the other
``{size:bytes}``                ``1.2 MiB``
``{error:number}``              two significant digits: ``0.39``, ``1.5e-4``, ``7.8e5``, ``NaN``
``{share:percent}``             ``96 %`` of 0.96
==============================  ===========================================================
"""

from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from string import Formatter
from typing import TYPE_CHECKING, Any

from workbench.core.text import plural, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

AREAS = (
    "core",
    "graph",
    "ir",
    "run",
    "dump",
    "compare",
    "config",
    "pipeline",
    "show",
    "explorer",
    "ui",
    "cli",
)
"""Tables of sentences: each is the module of that name beside this one."""

_QUOTED = 80
_LISTED = 20


def sentence(code: str, values: Mapping[str, Any]) -> str:
    """Return the sentence of a code with its values; no line break is added, none taken out."""
    return fill(template(code), values)


def fill(words: str, values: Mapping[str, Any]) -> str:
    """Return words with their values in the place of the braces."""
    return _FORMATTER.vformat(words, (), values)


def template(code: str) -> str:
    """Return the words of a code, values still in braces; a code without a row raises LookupError."""
    area, _, name = code.partition("/")
    if area not in AREAS or name not in table(area):
        message = f"no sentence has the code {code!r}"
        raise LookupError(message)
    return table(area)[name]


@cache
def table(area: str) -> dict[str, str]:
    """Return the sentences of an area: name → words."""
    found: dict[str, str] = import_module(f"workbench.core.words.{area}").SENTENCES
    return found


def number(value: float) -> str:
    """Write a figure with two significant digits; whole numbers below 10,000 in full.

    >>> number(0.387), number(0.00015), number(784000.0), number(40.2), number(1.0), number(float("inf"))
    ('0.39', '1.5e-4', '7.8e5', '40', '1', 'Inf')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    if abs(value) < 1e4 and float(value).is_integer():
        return f"{value:.0f}"
    if 1e-3 <= abs(value) < 1e4:
        return f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}"


def byte_size(count: float) -> str:
    """Write a number of bytes in the unit that suits it.

    >>> byte_size(12), byte_size(1_258_291), byte_size(5 << 30)
    ('12 bytes', '1.2 MiB', '5 GiB')
    """
    if abs(count) < 1024:
        return plural(int(count), "byte")
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if abs(count) < 1024 or unit == "TiB":
            break
    return f"{count:.0f} {unit}" if count >= 100 or count == int(count) else f"{count:.1f} {unit}"


def _count(value: float, word: str) -> str:
    """``3 tensors``: the word's plural is itself with an s, or stands behind a slash."""
    one, _, many = word.partition("/")
    if not one:
        return f"{value:,}"
    return f"{value:,} {many or one + 's'}" if value != 1 else f"1 {one}"


def _listed(names: Iterable[Any], _: str) -> str:
    shown = [str(name) for name in names]
    if len(shown) > _LISTED + 1:
        shown[_LISTED:] = [f"… ({len(shown) - _LISTED} more)"]
    return ", ".join(shown)


def _or(names: Iterable[Any], _: str) -> str:
    *shown, last = [str(name) for name in names]
    return f"{', '.join(shown)} or {last}" if shown else last


_FORMATS: dict[str, Callable[[Any, str], str]] = {
    "count": _count,
    "list": _listed,
    "or": _or,
    "lines": lambda items, _: "\n".join(map(str, items)),
    "bytes": lambda value, _: byte_size(value),
    "number": lambda value, _: number(value),
    "percent": lambda value, _: f"{value:.0%}".replace("%", " %"),
}


class _Words(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        name, _, rest = format_spec.partition(" ")
        if name in _FORMATS:
            return _FORMATS[name](value, rest)
        return str(value) if not format_spec else format(value, format_spec)

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "r":
            return shorten(repr(value), _QUOTED)
        return super().convert_field(value, conversion)

    def get_value(self, key: int | str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        if isinstance(key, str):
            return kwargs[key]
        return super().get_value(key, args, dict(kwargs))


_FORMATTER = _Words()
