"""Kinds of value that only msprobe has: lists of numbers and ranges, of modes, of slices, of statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.config.form.kinds import Kind, Misfit, list_of, optional

STATISTICS = (
    *("max", "min", "mean", "count", "negative zero count", "positive zero count", "nan count"),
    *("negative inf count", "positive inf count", "zero count", "l2norm", "hash", "md5"),
)
"""What MindSpore takes in a list as ``summary_mode``."""

LARGEST = 1_000_000
"""Largest step and rank, and longest list of them."""

_NOTHING: dict[str, Any] = {"enum": [None, False, 0, "", [], {}]}

_MODES = ("input", "output", "forward", "backward")

_NUMBERS = "a list of numbers and ranges like '5-8', 0 to 1000000"


def or_nothing(kind: Kind, default: Any) -> Kind:
    """A kind, or nothing of any type, which is read as a default."""
    schema = {"anyOf": [dict(kind.schema), _NOTHING]}
    return Kind(
        kind.expected,
        kind.misfit,
        lambda value: kind.read(value) if value else default,
        schema,
        kind.input,
        kind.options,
    )


def number_range(element: Any) -> tuple[int, int] | None:
    """Return the first and last number of an element of ``step`` or ``rank``; ``None`` if it is none.

    >>> number_range(3), number_range("5-8"), number_range("8-5")
    ((3, 3), (5, 8), None)
    """
    if type(element) is not int and not isinstance(element, str):
        return None
    try:
        first, *more = map(int, element.split("-") if isinstance(element, str) else [element])
    except ValueError:
        return None
    last = more[0] if more else first
    if len(more) > 1:
        return None
    return (first, last) if 0 <= first <= last <= LARGEST else None


def _numbers(value: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = list_of("any").read([] if value is None else value)
    if len(found) > LARGEST:
        raise Misfit
    for index, element in enumerate(found):
        if number_range(element) is None:
            raise Misfit(index)
    return found


def _modes(value: Any) -> tuple[str, ...]:
    found: tuple[Any, ...] = list_of("any").read([] if value is None else value)
    if found == ("all",):
        return found
    for index, mode in enumerate(found):
        if mode not in _MODES:
            raise Misfit(index)
    if len(found) > len(_MODES):
        raise Misfit
    return found


def _any_modes(value: Any) -> tuple[Any, ...]:
    """Modes that nobody checks: anything but a number, of elements that a set takes."""
    if isinstance(value, int | float) and value:
        raise Misfit
    for index, mode in enumerate(value if isinstance(value, list | tuple) else ()):
        if isinstance(mode, list | tuple | dict):
            raise Misfit(index)
    return tuple(value) if value and isinstance(value, list | tuple) else ("all",)


def _slices(value: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = list_of("any").read(value or [])
    for index, one in enumerate(found):
        numbers = isinstance(one, Mapping) and all(isinstance(n, int) for n in one.values())
        if not numbers or one.get("dim", 0) < 0 or one.get("size", 0) < 0:
            raise Misfit(index)
    return found


def _figures(value: Any) -> Any:
    """MindSpore looks at text and at lists only."""
    if isinstance(value, str) and value not in SUMMARIES:
        raise Misfit
    for index, one in enumerate(value if isinstance(value, list | tuple) else ()):
        if one not in STATISTICS:
            raise Misfit(index)
    return tuple(value) if isinstance(value, list) else value


def _kind(
    expected: str, misfit: Any, read: Callable[[Any], Any], array: Mapping[str, Any], *more: Any
) -> Kind:
    schema = {"anyOf": [{"type": "array", **array}, *more]}
    return Kind(expected, misfit, read, schema, "list")


SUMMARIES = ("statistics", "md5", "xor")
_COUNT = {"type": ["integer", "boolean"]}
_NATURAL = _COUNT | {"minimum": 0}
_SPELLED = r"^\s*\+?[0-9]{1,7}\s*(-\s*\+?[0-9]{1,7}\s*)?$"
NUMBER_LIST = _kind(
    _NUMBERS,
    ["1,2"],
    _numbers,
    {
        "items": {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": LARGEST},
                {"type": "string", "pattern": _SPELLED},
            ]
        }
    },
    {"type": "null"},
)
MODE_LIST = _kind(
    f"a list of {', '.join(_MODES)}, or ['all']",
    ["all", "input"],
    _modes,
    {"items": {"enum": list(_MODES)}, "maxItems": len(_MODES)},
    {"const": ["all"]},
    {"type": "null"},
)
SLICE_LIST = _kind(
    "a list of objects of integers: dim, size, begin, end",
    [{"dim": -1}],
    _slices,
    {
        "items": {
            "type": "object",
            "additionalProperties": _COUNT,
            "properties": {"dim": _NATURAL, "size": _NATURAL},
        }
    },
    _NOTHING,
)
FIGURE_LIST = _kind(
    f"'statistics', 'md5', 'xor' or a list of {', '.join(STATISTICS)}",
    ["median"],
    _figures,
    {"items": {"enum": list(STATISTICS)}},
    {"enum": list(SUMMARIES)},
    {"not": {"type": ["string", "array"]}},
)
ANY_MODES = _kind(
    "a list",
    1,
    _any_modes,
    {"items": {"not": {"type": ["array", "object"]}}},
    {"type": ["string", "object", "null"]},
    _NOTHING,
)
NAMES = optional(list_of("text"))
ANY_NAMES = or_nothing(list_of("text"), ())
