"""The figures of a pair in exact arithmetic: slow, plain, one element after the other.

The definitions are written down anew from the documents of the field; nothing here is shared with
the kernels. Only the last step of a figure rounds.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

SIDES = ("Target", "Golden")


def numbers(array: Any) -> list[Any]:
    """Elements as Python numbers, complex ones as two, bool as 0 and 1."""
    flat = array.reshape(-1)
    if flat.dtype.kind == "c":
        return [part for z in flat.tolist() for part in (z.real, z.imag)]
    if flat.dtype.kind in "biu":
        return [int(x) for x in flat.tolist()]
    return [float(x) for x in flat]


def finite(x: Any) -> bool:
    return isinstance(x, int) or math.isfinite(x)


def root(square: Fraction) -> Fraction:
    """Square root to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        context.Emax, context.Emin = 10_000, -10_000
        value = (Decimal(square.numerator) / Decimal(square.denominator)).sqrt()
    return Fraction(value)


def as_float(x: Fraction | float) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def quotient(a: Fraction, b: Fraction) -> Fraction | float:
    if b:
        return a / b
    return math.inf if a else Fraction(0)


def same_kind(t: Any, g: Any) -> bool:
    """Whether a pair that is not jointly finite agrees."""
    return not (finite(t) or finite(g)) and t == g


def describe(side: str, values: list[Any]) -> dict[str, float]:
    rest = [Fraction(x) for x in values if finite(x)]
    odd = [x for x in values if not finite(x)]
    figures: dict[str, float] = {
        f"{side}NaN": sum(math.isnan(x) for x in odd),
        f"{side}PosInf": sum(x == math.inf for x in odd),
        f"{side}NegInf": sum(x == -math.inf for x in odd),
        f"{side}Zero": sum(x == 0 for x in rest),
    }
    names = [f"{side}{name}" for name in ("Min", "Max", "Mean", "Std")]
    if not rest:
        return figures | dict.fromkeys(names, math.nan)
    mean = sum(rest, Fraction(0)) / len(rest)
    spread = root(sum(((x - mean) ** 2 for x in rest), Fraction(0)) / len(rest))
    return figures | dict(
        zip(names, map(as_float, (min(rest), max(rest), mean, spread)), strict=True)
    )


def relative_errors(pairs: list[tuple[Fraction, Fraction]], scale: Fraction) -> list[Fraction]:
    """|t − g| / |g|; where |g| is at most 2⁻⁵², against the scale, or 1 if that is 0."""
    tiny = Fraction(1, 2**52)
    return [abs(t - g) / (abs(g) if abs(g) > tiny else (scale or Fraction(1))) for t, g in pairs]


def share_within(
    pairs: list[tuple[Fraction, Fraction]], bound: float, extra: int, size: int
) -> float:
    hits = sum(t == g or (g != 0 and abs(t - g) / abs(g) < Fraction(bound)) for t, g in pairs)
    return (hits + extra) / size


def exact(target: Any, golden: Any) -> dict[str, float]:
    """Every figure of a pair by its title; ``equal`` and ``error`` besides."""
    if "c" in (target.dtype.kind, golden.dtype.kind):
        target, golden = (
            x.astype("c16" if x.dtype.kind != "c" else x.dtype) for x in (target, golden)
        )
    ts, gs = numbers(target), numbers(golden)
    size = len(ts)
    pairs = [
        (Fraction(t), Fraction(g)) for t, g in zip(ts, gs, strict=True) if finite(t) and finite(g)
    ]
    odd = [(t, g) for t, g in zip(ts, gs, strict=True) if not (finite(t) and finite(g))]
    agreeing = sum(same_kind(t, g) for t, g in odd)
    mismatch = len(odd) - agreeing
    scale = max((abs(Fraction(g)) for g in gs if finite(g)), default=Fraction(0))
    out = describe("Target", ts) | describe("Golden", gs) | {"NonFiniteMismatch": mismatch}
    out["OneThousandthErrRatio"] = share_within(pairs, 0.001, agreeing, size)
    out["FiveThousandthsErrRatio"] = share_within(pairs, 0.005, agreeing, size)
    out["equal"] = mismatch == 0 and all(t == g for t, g in pairs)
    if not pairs and mismatch:
        names = CROSS.keys() - {"error"}
        return out | dict.fromkeys(names, math.nan) | {"error": math.inf}
    return out | {name: as_float(rule(pairs, scale)) for name, rule in CROSS.items()}


def norm(values: list[Fraction]) -> Fraction:
    return root(sum((x * x for x in values), Fraction(0)))


def cosine(pairs: list[tuple[Fraction, Fraction]], _: Fraction) -> Fraction:
    if all(t == g for t, g in pairs):
        return Fraction(1)
    norms = norm([t for t, _ in pairs]) * norm([g for _, g in pairs])
    return sum((t * g for t, g in pairs), Fraction(0)) / norms if norms else Fraction(0)


def euclid(pairs: list[tuple[Fraction, Fraction]], _: Fraction) -> Fraction | float:
    return quotient(norm([t - g for t, g in pairs]), norm([g for _, g in pairs]))


def largest(pairs: list[tuple[Fraction, Fraction]]) -> Fraction:
    return max((abs(t - g) for t, g in pairs), default=Fraction(0))


CROSS: dict[str, Any] = {
    "CosineSimilarity": cosine,
    "MaxAbsoluteError": lambda pairs, _: largest(pairs),
    "MeanAbsoluteError": lambda pairs, _: (
        sum((abs(t - g) for t, g in pairs), Fraction(0)) / max(len(pairs), 1)
    ),
    "RootMeanSquareError": lambda pairs, _: root(
        sum(((t - g) ** 2 for t, g in pairs), Fraction(0)) / max(len(pairs), 1)
    ),
    "RelativeEuclideanDistance": euclid,
    "AccumulatedRelativeError": lambda pairs, s: sum(relative_errors(pairs, s), Fraction(0)),
    "MaxRelativeError": lambda pairs, s: max(relative_errors(pairs, s), default=Fraction(0)),
    "MeanRelativeError": lambda pairs, s: (
        sum(relative_errors(pairs, s), Fraction(0)) / max(len(pairs), 1)
    ),
    "error": euclid,
}
