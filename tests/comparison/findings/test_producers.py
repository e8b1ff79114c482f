"""Which lanes of which input were exchanged, where that explains an operator's statistics."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from kit.build.small_dumps import Net
from workbench.comparison.findings.producers import _exchange
from workbench.graph.graph import Value

RNG = np.random.default_rng(5)


def lanes(array, axis, distance):
    """Lane c holds what stands at c xor distance, 0 where nothing does."""
    found = np.zeros_like(array)
    for c in range(array.shape[axis]):
        if c ^ distance < array.shape[axis]:
            to, of = ([slice(None)] * array.ndim for _ in range(2))
            to[axis], of[axis] = c, c ^ distance
            found[tuple(to)] = array[tuple(of)]
    return found


def suspect(read, given, *, inputs=None, before=None):
    """An operator that should have read ``given`` in every slot where it has an operand of an operator."""
    net = Net()
    x = net.feed("x")
    operands = [x if one is None else net.op("Tanh", x) for one in read]
    net.op("Add", *operands)
    known = dict(enumerate(read)) if inputs is None else inputs

    def errors_with(change):
        if not change:
            return {0: 1.0} if before is None else before
        (one,) = change.values()
        return {0: float(np.abs(one - given).max()), 1: 0.0}

    return SimpleNamespace(
        graph=net.graph(Value(0)),
        number=sum(one is not None for one in read),
        inputs=known,
        errors_with=errors_with,
    )


@pytest.mark.parametrize(
    ("shape", "dtype", "axis", "distance", "found"),
    [
        ((2, 16), "float32", 1, 1, True),
        ((2, 16), "float32", 1, 7, True),
        ((2, 32), "float32", 1, 15, True),
        ((2, 32), "float32", 1, 16, False),  # a block holds 16
        ((2, 32), "int8", 1, 16, True),  # 32 of a byte
        ((2, 5), "float32", 1, 7, True),
        ((5,), "float32", 0, 3, True),
        ((3, 6, 2), "float32", 2, 1, True),
        ((2, 6, 3, 3), "float32", 1, 5, True),
        ((2, 6, 3, 3), "float32", 3, 1, False),  # no channels
    ],
)
def test_lanes_of_a_block_are_exchanged_by_a_distance(shape, dtype, axis, distance, found):
    array = (50 * RNG.normal(size=shape)).astype(dtype)
    one = suspect([array], lanes(array, axis, distance))
    assert list(_exchange(one)) == ([(0, distance)] if found else [])


ARRAY = RNG.normal(size=(2, 8)).astype(np.float32)
MOVED = lanes(ARRAY, 1, 2)
ONCE = [(0, 2)]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(suspect([ARRAY, ARRAY], MOVED), [(0, 2), (1, 2)], id="either term of a sum"),
        pytest.param(suspect([None, ARRAY], MOVED), [(1, 2)], id="no feed"),
        pytest.param(suspect([ARRAY], MOVED, inputs={}), [], id="unknown"),
        pytest.param(suspect([np.float32(3)], np.float32(3)), [], id="a number"),
        pytest.param(suspect([ARRAY], ARRAY + 1), [], id="no exchange"),
        pytest.param(suspect([ARRAY], MOVED, before={0: 0.0}), [], id="nothing to explain"),
        pytest.param(suspect([ARRAY], MOVED, before={0: math.inf}), [], id="without bound"),
        pytest.param(suspect([ARRAY], MOVED, before={}), [], id="not compared"),
        pytest.param(suspect([ARRAY], MOVED + 0.04), ONCE, id="almost all of the error"),
        pytest.param(suspect([ARRAY], MOVED + 0.06), [], id="not enough of it"),
    ],
)
def test_an_exchange_must_explain_an_error(one, expected):
    assert list(_exchange(one)) == expected
