"""How sure the bias test is: healthy tensors that it must not accuse, factors and truncation that it must find.

``python benchmarks/bias.py [--seeds 84]``

Every operator computes in float32 as a device does (products in several splits, sums by blocks, rows of softmax and
LayerNorm by their own sum, with odd seeds rounded to the storage format on the way) and rounds to the storage
format; the reference computes in float64 and rounds once. A fault multiplies what is stored by a factor before it
is rounded, or cuts bits off instead of rounding.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from workbench.comparison.measure.bias import bias_of
from workbench.comparison.replay.deviation import store_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Array = np.ndarray[Any, Any]

FORMATS = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
ROWS, WIDTH = 256, 256
FACTORS = (1.0015, 1 / 1.0015, 1.002, 1.005, 0.99)


class Case(NamedTuple):
    """A tensor: its operator type, what the device has before it stores, what it should store, and the format."""

    op_type: str
    device: Array
    exact: Array
    format: str

    def stored(self, values: Array) -> Array:
        """Round to the format."""
        return np.asarray(values.astype(FORMATS[self.format]))


def product(x: Array, w: Array, blocks: int) -> Array:
    """A product whose sums are formed block by block in float32."""
    parts = np.array_split(np.arange(x.shape[1]), blocks)
    total = np.zeros((x.shape[0], w.shape[1]), np.float32)
    for part in parts:
        total += x[:, part].astype(np.float32) @ w[part].astype(np.float32)
    return total


def gelu(x: Array, kind: type) -> Array:
    x = x.astype(kind)
    inner = kind(0.7978845608028654) * (x + kind(0.044715) * x * x * x)
    return np.asarray(kind(0.5) * x * (kind(1) + np.tanh(inner)))


def softmax(x: Array, kind: type, on_the_way: Callable[[Array], Array]) -> Array:
    x = x.astype(kind)
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(powers / on_the_way(powers.sum(axis=-1, keepdims=True)))


def layer_norm(x: Array, kind: type, on_the_way: Callable[[Array], Array]) -> Array:
    x = x.astype(kind)
    rest = x - x.mean(axis=-1, keepdims=True)
    variance = (rest * rest).mean(axis=-1, keepdims=True)
    return np.asarray(rest * on_the_way(kind(1) / np.sqrt(variance + kind(1e-5))))


def cases(seeds: range) -> Iterator[Case]:
    """Every operator in every format with every seed."""
    for seed in seeds:
        for name, storage in FORMATS.items():
            rng = np.random.default_rng((seed, len(name)))
            x = rng.standard_normal((ROWS, WIDTH)).astype(storage)
            w = rng.standard_normal((WIDTH, WIDTH)).astype(storage)
            yield from _cases(x, w, name, odd=bool(seed % 2))


def _cases(x: Array, w: Array, name: str, *, odd: bool) -> Iterator[Case]:
    def through(values: Array) -> Array:
        return values.astype(FORMATS[name]).astype(np.float32) if odd else values

    exact = x.astype(float) @ w.astype(float)
    for blocks in (1, 2, 4, 8):
        yield Case("MatMul", product(x, w, blocks), exact, name)
    shape = ROWS, WIDTH // 4, 4
    halves = x.reshape(shape).astype(np.float32).sum(axis=2, dtype=np.float32)
    yield Case("ReduceSum", halves, x.reshape(shape).astype(float).sum(axis=2), name)
    yield Case("GeLU", gelu(x, np.float32), gelu(x, np.float64), name)
    same = lambda values: values  # noqa: E731
    yield Case("Softmax", softmax(x, np.float32, through), softmax(x, np.float64, same), name)
    yield Case("LayerNorm", layer_norm(x, np.float32, through), layer_norm(x, np.float64, same), name)  # fmt: skip


def cut(values: Array, name: str) -> Array:
    """Store without rounding: the nearest number of the format that is no larger in magnitude."""
    near = np.asarray(values.astype(FORMATS[name]))
    beyond = np.abs(near.astype(np.float64)) > np.abs(values)
    return np.where(beyond, np.nextafter(near, np.zeros_like(near)), near)


class Found(NamedTuple):
    """What was counted, by operator type and format."""

    healthy: Counter[str]
    alarms: Counter[str]
    largest: dict[str, tuple[float, float]]
    factors: Counter[float]
    within: Counter[float]
    truncated: Counter[str]
    taken_for_cut: Counter[str]


def measured(seeds: range) -> Found:
    """Test every case as it is, with every factor, and cut off."""
    found = Found(Counter(), Counter(), {}, Counter(), Counter(), Counter(), Counter())
    for case in cases(seeds):
        key = f"{case.op_type} {case.format}"
        given, expected = case.stored(case.device), case.stored(case.exact)
        bias = bias_of(given, expected, case.op_type)
        assert bias is not None
        found.healthy[key] += 1
        found.alarms[key] += bias.accuses
        z, slope = found.largest.get(key, (0.0, 0.0))
        found.largest[key] = max(z, abs(bias.certainty)), max(slope, abs(bias.slope) / bias.spacing)
        found.taken_for_cut[key] += store_of(given, expected) is not None
        for factor in FACTORS:
            scaled = bias_of(
                case.stored(case.device.astype(float) * factor), expected, case.op_type
            )
            assert scaled is not None
            low, high = scaled.interval
            found.factors[factor] += scaled.accuses
            found.within[factor] += low <= factor <= high
        if case.format != "float32":
            store = store_of(cut(case.exact, case.format), expected)
            found.truncated[key] += store is not None and store.is_cut
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=84, help="24 tensors each")
    found = measured(range(parser.parse_args().seeds))
    count = sum(found.healthy.values())
    alarms, taken = sum(found.alarms.values()), sum(found.taken_for_cut.values())
    print(f"healthy tensors: {count}, alarms: {alarms}, taken for truncation: {taken}\n")
    print(
        "| operator, format | largest certainty | largest slope, × spacing at 1 | truncation found |"
    )
    print("| --- | ---: | ---: | ---: |")
    for key, (z, slope) in found.largest.items():
        share = (
            "–" if key.endswith("float32") else f"{found.truncated[key] / found.healthy[key]:.1%}"
        )
        print(f"| {key} | {z:.1f} | {slope:.3f} | {share} |")
    print("\n| factor | found | factor within its interval |\n| ---: | ---: | ---: |")
    for factor in FACTORS:
        told, within = found.factors[factor] / count, found.within[factor] / count
        print(f"| {factor:.4f} | {told:.1%} | {within:.1%} |")


if __name__ == "__main__":
    main()
