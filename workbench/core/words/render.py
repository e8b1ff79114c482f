"""Sentences out of the tables: where a code's words stand, and how values are written in them.

A sentence names its values in braces, as `str.format` does: ``{path}``, ``{got!r}`` (quoted, its middle left out
above 80 characters), ``{error:.2g}``. Beside the ordinary formats there are

==============================  ===========================================================
``{n:count}``                   ``20,000``
``{n:count tensor}``            ``1 tensor``, ``20,000 tensors``; ``{n:count entry/entries}``
``{n:word row/rows}``           ``row`` of 1, ``rows`` of others
``{sizes:times}``               ``16 × 16``
``{names:list}``                ``a, b, c``; above twenty names the last is ``… (12 more)``
``{names:list 3}``              the same above three
``{names:or}``                  ``a, b or c``
``{reasons:semicolons}``        joined by ``; ``
``{names:and}``                 ``a, b and c``; of more than eight seven and how many more
``{problems:lines}``            one below the other
``{parts:clauses}``             ``a; b; c``
``{size:bytes}``                ``1.2 MiB``
``{error:number}``              two significant digits: ``0.39``, ``1.5e-4``, ``7.8e5``, ``NaN``
``{share:percent}``             ``96 %`` of 0.96; ``> 99 %`` of 0.999: only a whole is 100 %, and only nothing 0 %
==============================  ===========================================================
"""

from __future__ import annotations

import math
import reprlib
from functools import cache
from importlib import import_module
from itertools import islice
from string import Formatter
from typing import TYPE_CHECKING, Any

from workbench.core.text import plural, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

AREAS = (
    "core",
    "proto",
    "graph",
    "graph_files",
    "run",
    "dump",
    "compare",
    "config",
    "golden",
    "views",
    "session",
    "job",
    "simulation",
    "layouts",
    "forecast",
    "ascendcl",
    "show",
    "explorer",
    "ui",
    "cli",
)
"""Tables of sentences: each is the module of that name beside this one."""

_QUOTED = 80
_LISTED = 20
_JOINED = 8


def sentence(code: str, values: Mapping[str, Any]) -> str:
    """Return the sentence of a code with its values; no line break is added, none taken out."""
    return fill(template(code), values)


def fill(words: str, values: Mapping[str, Any]) -> str:
    """Return a template that stands in a row of another table, such as a rule's, with its values.

    >>> fill("{name!r} has {n:count entry/entries}", {"name": "layer", "n": 2})
    "'layer' has 2 entries"
    """
    if "{" not in words and "}" not in words:
        return words
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
    if 1e-3 <= abs(value) < 9999.5:
        return f"{value:.2g}" if abs(value) < 99.5 else f"{value:.0f}"
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


def percent(share: float) -> str:
    """Write a share in whole percent; what is not all of it is no 100 %, and what is not nothing no 0 %.

    >>> percent(0.96), percent(0.9995), percent(1.0), percent(0.002), percent(0.0)
    ('96 %', '> 99 %', '100 %', '< 1 %', '0 %')
    """
    if 0.995 <= share < 1.0:
        return "> 99 %"
    return "< 1 %" if 0.0 < share < 0.005 else f"{100 * share:.0f} %"


class _Bounded(reprlib.Repr):
    """``repr`` of the beginning of a value, whose cost does not grow with it; keys keep their order."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 6
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = 30
        self.maxstring = self.maxother = self.maxlong = 1000

    def repr_dict(self, value: dict[Any, Any], level: int) -> str:
        if level <= 0 and value:
            return "{...}"
        shown = [
            f"{self.repr1(key, level - 1)}: {self.repr1(item, level - 1)}"
            for key, item in islice(value.items(), self.maxdict)
        ]
        return f"{{{', '.join(shown + ['...'] * (len(value) > self.maxdict))}}}"

    def repr_str(self, value: str, level: int) -> str:
        return repr(value)

    def repr_int(self, value: int, level: int) -> str:
        return repr(value) if value.bit_length() < 10_000 else hex(value)


_BOUNDED = _Bounded()


def quoted(value: Any) -> str:
    """Return what ``{value!r}`` is in a sentence: one line of 80 characters at most; cheap for large values.

    >>> quoted(["a", 1]), len(quoted("x" * 1000)) <= 80, len(quoted(list(range(10**6)))) <= 80
    ("['a', 1]", True, True)
    """
    plain = not isinstance(value, list | tuple | dict | set | frozenset | int)
    return shorten(repr(value) if plain else _BOUNDED.repr(value), _QUOTED)


def _count(value: float, word: str) -> str:
    """``3 tensors``: the word's plural is itself with an s, or stands behind a slash."""
    one, _, many = word.partition("/")
    if not one:
        return f"{value:,}"
    return f"{value:,} {many or one + 's'}" if value != 1 else f"1 {one}"


def _word(value: float, words: str) -> str:
    one, _, many = words.partition("/")
    return one if value == 1 else many


def _listed(names: Iterable[Any], most: str) -> str:
    shown, limit = [str(name) for name in names], int(most or _LISTED)
    if len(shown) > limit + 1:
        shown[limit:] = [f"… ({len(shown) - limit} more)"]
    return ", ".join(shown)


def _or(names: Iterable[Any], _: str) -> str:
    *shown, last = [str(name) for name in names]
    return f"{', '.join(shown)} or {last}" if shown else last


def _and(names: Iterable[Any], _: str) -> str:
    shown = [str(name) for name in names]
    if len(shown) > _JOINED:
        shown[_JOINED - 1 :] = [f"{len(shown) - _JOINED + 1} more"]
    *first, last = shown or [""]
    return f"{', '.join(first)} and {last}" if first else last


_FORMATS: dict[str, Callable[[Any, str], str]] = {
    "count": _count,
    "word": _word,
    "times": lambda items, _: " × ".join(map(str, items)),
    "list": _listed,
    "or": _or,
    "semicolons": lambda items, _: "; ".join(map(str, items)),
    "and": _and,
    "lines": lambda items, _: "\n".join(map(str, items)),
    "clauses": lambda items, _: "; ".join(map(str, items)),
    "bytes": lambda value, _: byte_size(value),
    "number": lambda value, _: number(value),
    "percent": lambda value, _: percent(value),
}


class _Words(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        name, _, rest = format_spec.partition(" ")
        if name in _FORMATS:
            return _FORMATS[name](value, rest)
        return str(value) if not format_spec else format(value, format_spec)

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "r":
            return quoted(value)
        return super().convert_field(value, conversion)

    def get_value(self, key: int | str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        if isinstance(key, str):
            return kwargs[key]
        return super().get_value(key, args, dict(kwargs))


_FORMATTER = _Words()
