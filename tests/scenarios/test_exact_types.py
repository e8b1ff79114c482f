"""Integers, booleans and indices are equal or not: rounding explains none of their differences."""

from __future__ import annotations

import numpy as np
import pytest

from kit.build.small_dumps import Net, in_memory, shoot
from workbench.comparison.engine import compare_dumps
from workbench.core.words import Message

ROWS = (4, 4096)
RNG = np.random.default_rng(0)


def reads(dtype, shape):
    """A network that reads integers and computes with them as floats."""
    net = Net()
    value = net.op("Cast", net.feed("ids", shape, dtype), shape=shape)
    net.op("Tanh", value, shape=shape)
    return net.graph()


def computes(dtype, shape):
    """A network that computes integers of integers."""
    net = Net()
    value = net.op("Neg", net.feed("ids", shape, dtype), shape=shape, dtype=dtype)
    net.op("Cast", value, shape=shape)
    return net.graph()


def with_one(array, by=1, at=77):
    """The array with another element."""
    changed = array.copy()
    changed.flat[at % array.size] += by
    return changed


def with_other(mask):
    changed = mask.copy()
    changed.flat[9] = not changed.flat[9]
    return changed


def exchanged(array):
    changed = array.copy()
    changed.flat[[3, 700_000]] = changed.flat[[700_000, 3]]
    return changed


FEEDS = {  # what a network reads, and what the target read
    "one token id of 4x4096": (RNG.integers(0, 50_000, ROWS, dtype=np.int32), with_one),
    "two of a million indices": (RNG.permutation(1_000_000).astype(np.int32), exchanged),
    "int64 near 2^40": (np.full(1000, 2**40, np.int64), with_one),
    "int64 near 2^60": (np.full(1000, 2**60, np.int64), with_one),
    "a random seed": (np.array([20_261_123], np.int64), with_one),
    "a mask": (np.ones((64, 1024), np.bool_), with_other),
    "uint8 pixels": (RNG.integers(0, 255, (224, 224, 3), dtype=np.uint8), with_one),
}


@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_of_integers_that_differs_by_one_is_a_defect(name):
    right, spoil = FEEDS[name]
    graph = reads(right.dtype.name, right.shape)
    target = in_memory(shoot(graph, {"ids": spoil(right)}), graph)
    result = compare_dumps(target, in_memory(shoot(graph, {"ids": right}), graph)).result
    assert (result.verdict, result.findings[0].kind) == ("fail", "input")
    assert result.findings[0].op_name == "Default/Tanh-op0"  # the first that computes with it
    (row,) = (row for row in result.rows if (row.op_type, row.io, row.slot) == ("Cast", "input", 0))
    assert (row.status, row.noise_floor) == ("fail", 0.0)


@pytest.mark.parametrize("graphs", [True, False])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_an_operator_that_gives_another_integer_is_the_origin(dtype, graphs):
    graph = computes(dtype, (4, 512))
    values = {"ids": np.arange(1, 2049).reshape(4, 512).astype(dtype)}
    dumps = (
        in_memory(shoot(graph, values, alter=alter), *([graph] if graphs else []))
        for alter in ({"Default/Neg-op0": with_one}, {})
    )
    result = compare_dumps(*dumps).result
    assert result.verdict == "fail"
    assert result.findings[0].op_name.endswith("Neg-op0")


PLACE = {"unequal": 1, "size": 2048, "at": [0, 77], "target": -77, "golden": -78}
FLAT = Message("compare/error-alone", where="output.0", error=pytest.approx(1 / 53_524.3, rel=1e-4))


@pytest.mark.parametrize(
    ("lying", "said"),
    [
        (lambda out: out, Message("compare/exact-differs", where="output.0", **PLACE)),
        (lambda out: out.reshape(-1), FLAT),  # elements that do not lie alike have no common place
    ],
)
def test_the_first_unequal_integer_of_an_output_is_told(lying, said):
    graph = computes("int32", (4, 512))
    values = {"ids": np.arange(1, 2049, dtype=np.int32).reshape(4, 512)}
    target = shoot(graph, values, alter={"Default/Neg-op0": with_one})
    target = [shot._replace(data=lying(shot.data)) for shot in target]
    result = compare_dumps(in_memory(target, graph), in_memory(shoot(graph, values), graph)).result
    assert said in result.findings[0].evidence


def noisy(op_type, dtype, **changes):
    """A network whose integers come of floats that are computed on the way."""
    net = Net()
    value = net.op("Tanh", net.feed("x", (64, 64)), shape=(64, 64))
    net.op(op_type, value, shape=(64, 64), dtype=dtype, **changes)
    return net.graph()


@pytest.mark.parametrize("op_type", ["Cast", "Sign"])
def test_integers_of_floats_may_differ_where_noise_comes_in(op_type):
    graph = noisy(op_type, "int32")
    x = {"x": np.linspace(-9, 9, 4096, dtype=np.float32).reshape(64, 64)}
    noise = {"Default/Tanh-op0": lambda out: np.nextafter(out, np.float32(2))}
    target = in_memory(shoot(graph, x, alter=noise), graph)
    result = compare_dumps(target, in_memory(shoot(graph, x), graph)).result
    assert result.verdict in ("pass", "warn")
    assert not any(finding.defect for finding in result.findings)
