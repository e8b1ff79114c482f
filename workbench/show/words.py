"""How values read on screen: numbers, shapes, tensors, operators. One spelling for every view."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec

MISSING = "–"

VERDICTS: dict[str, str] = {
    "pass": "Pass",
    "warn": "Pass with warnings",
    "fail": "Fail",
    "inconclusive": "Inconclusive",
}
"""Verdict → its words on screen."""

STATUSES: dict[str, str] = {
    "fail": "differs beyond what number formats and inputs explain",
    "warn": "differs, but is explained or small",
    "uncomparable": "could not be compared; the reason stands beside it",
    "pass": "differs within the noise floor",
    "equal": "every element has the same value",
}
"""Status of a row → meaning, the worst first."""

OTHERS_STATUSES: dict[str, str] = {
    "fail": "fails by the tool's own verdict, or by thresholds where it states none",
    "warn": "the tool warns of it",
    "uncomparable": "not judged; the reason stands beside it",
    "pass": "passes by the tool's own verdict, or by thresholds where it states none",
    "equal": STATUSES["equal"],
}
"""The same in the result of another tool."""

UNMATCHED = "unmatched"
"""What the screen calls a tensor without a partner, to tell it from an uncomparable pair."""


def number(value: float | None, digits: int = 3) -> str:
    """Write a figure the way every table does: whole numbers in full, ``NaN`` and ``Inf`` in words.

    >>> number(0.000412345), number(0.5), number(123.4), number(20000), number(float("nan"))
    ('4.12e-4', '0.500', '123', '20,000', 'NaN')
    """
    if value is None:
        return MISSING
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    if abs(value) < 1e7 and float(value).is_integer():
        return f"{value:,.0f}"
    if 1e-2 <= abs(value) < 1e3:
        return f"{value:#.{digits}g}".removesuffix(".")
    return _scientific(value, digits)


def _scientific(value: float, digits: int) -> str:
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def exact(value: complex | None, digits: int = 17) -> str:
    """Write one element with as many digits as tell it from its neighbours in its format.

    >>> exact(0.1), exact(16777217), exact(True), exact(float("-inf")), exact(0.10000000149, 9)
    ('0.1', '16777217', 'True', '-Inf', '0.100000001')
    """
    if isinstance(value, float):
        if not math.isfinite(value):
            return number(value)
        return min(f"{value:.{digits}g}", repr(value), key=len)
    return MISSING if value is None else f"{value}"


def times(value: float | None, floor: float | None) -> str:
    """Say how many times the noise floor a value is, or ``""`` where the question has no answer.

    >>> times(4e-2, 1e-3), times(1.2e-3, 1e-3), times(1e-3, 0.0)
    ('40×', '1.2×', '')
    """
    if value is None or floor is None or not floor > 0 or not math.isfinite(value):
        return ""
    ratio = value / floor
    if not math.isfinite(ratio):
        return ""
    if ratio >= 1e4:
        return f"{_scientific(ratio, 2)}×"
    return f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:#.2g}×"


def shape(spec: TensorSpec | None) -> str:
    """Write a shape: ``32×64``, ``scalar``, ``?`` for an open dimension, ``""`` if unknown."""
    return "" if spec is None or spec.shape is None else _shape(tuple(spec.shape))


@lru_cache(4096)
def _shape(sizes: tuple[int, ...]) -> str:
    return "×".join("?" if size < 0 else str(size) for size in sizes) or "scalar"


def leaf(name: str) -> str:
    """Last two parts of a scoped name: the layer and the operator.

    >>> leaf("Default/net-Net/conv1-Conv2d/Conv2D-op0")
    'conv1-Conv2d/Conv2D-op0'
    """
    return "/".join(name.rstrip("/").split("/")[-2:]) or name
