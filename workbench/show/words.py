"""How values read on screen: numbers, shapes, tensors, operators. One spelling for every view."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from workbench.comparison.result import times_expected
from workbench.core.words.render import number as spoken

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec

MISSING = "–"

VERDICTS: dict[str, str] = {
    "pass": "show/verdict-pass",
    "warn": "show/verdict-warn",
    "fail": "show/verdict-fail",
    "incomplete": "show/verdict-incomplete",
    "inconclusive": "show/verdict-inconclusive",
}
"""Verdict → code of its words on screen."""

STATUSES: dict[str, str] = {
    "fail": "show/means-fail",
    "warn": "show/means-warn",
    "uncomparable": "show/means-uncomparable",
    "pass": "show/means-pass",
    "equal": "show/means-equal",
}
"""Status of a row → code of its meaning, the worst first."""

OTHERS_STATUSES: dict[str, str] = {
    "fail": "show/tool-fail",
    "warn": "show/tool-warn",
    "uncomparable": "show/tool-uncomparable",
    "pass": "show/tool-pass",
    "equal": STATUSES["equal"],
}
"""The same in the result of another tool."""

UNMATCHED = "unmatched"
"""What the screen calls a tensor without a partner, to tell it from an uncomparable pair."""

STATUS_WORDS: dict[str, str] = {
    "fail": "explorer/status-fail",
    "warn": "explorer/status-warn",
    "uncomparable": "explorer/status-uncomparable",
    UNMATCHED: "explorer/status-unmatched",
    "pass": "explorer/status-pass",
    "equal": "explorer/status-equal",
    "incomplete": "show/verdict-incomplete",
    "inconclusive": "show/verdict-inconclusive",
}
"""Status → code of its word on screen."""

SIDES: dict[str, str] = {"target": "show/target", "golden": "show/golden"}
"""Side → code of its name on screen."""

ORIGINS: dict[str, str] = {
    "file": "show/from-file",
    "notebook": "show/from-notebook",
    "dump": "show/from-dump",
}
"""Origin of lines of source → code of its words."""

CERTAINTIES: dict[str, str] = {"candidate": "show/candidate", "forward": "show/forward"}
"""Certainty of a source line that is not surely the operator's own → code of its words."""

SIDE_VALUES: dict[str, str] = {
    "saturated": "show/value-saturated",
    "zeros": "show/value-zeros",
    "minimum": "show/value-minimum",
    "maximum": "show/value-maximum",
    "mean": "show/value-mean",
    "deviation": "show/value-std",
}
"""Name of a `workbench.views.values.SideValue` → code of its words; other names stay."""

ELEMENT_ERRORS: dict[str, tuple[str, str]] = {
    "absolute": ("show/axis-absolute", "show/kind-absolute"),
    "relative": ("show/axis-relative", "show/kind-relative"),
    "ulp": ("show/axis-ulp", "show/kind-ulp"),
}
"""Error of one element → codes of its name and of its definition."""


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

    Written as in every sentence, so that one error has one multiple.

    >>> times(4e-2, 1e-3), times(1.2e-3, 1e-3), times(0.784, 1e-6), times(1e-3, 0.0)
    ('40 ×', '1.2 ×', '7.8e5 ×', '')
    """
    ratio = times_expected(value, floor)
    return "" if ratio is None else f"{spoken(ratio)} ×"


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
