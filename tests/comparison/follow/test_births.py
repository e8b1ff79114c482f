"""NaN and infinity that begin where nobody compared: who is named."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import Net, in_memory, shoot
from kit.evidence import codes, defects


def network(*, cast=False, extra=False):
    """x · w → ReLU → Neg; before the ReLU a cast to float16 or an Exp that the other side has not."""
    net, dtype = Net(), "float32"
    value = net.op("MatMul", net.feed("x"), net.weight("w"))
    if extra:
        value = net.op("Exp", value)
    if cast:
        dtype = "float16"
        value = net.op("Cast", value, dtype=dtype)
    net.op("Neg", net.op("ReLU", value, dtype=dtype), dtype=dtype)
    return net.graph()


def dump(graph, size, io=None):
    values = {name: array * np.float32(size) for name, array in small.given(graph).items()}
    with np.errstate(all="ignore"):
        shots = shoot(graph, values)
    return in_memory([shot for shot in shots if io in (None, shot.io)], graph)


CASES = {
    "a cast of the target": ({"cast": True}, {}, 300, "Default/Cast-op0", "born-non-finite"),
    "a cast of the golden": ({}, {"cast": True}, 300, "Default/ReLU-op0", "born-in-golden"),
    "an operator of the target": ({"extra": True}, {}, 30, "Default/Exp-op0", "born-non-finite"),
    "a cast within its range": ({"cast": True}, {}, 1, "", ""),
    "a cast of both": ({"cast": True}, {"cast": True}, 300, "", ""),
}  # fmt: skip
"""Target, golden, size of what they read, the operator that is named, and by what."""


@pytest.mark.parametrize("io", [None, "output"])
@pytest.mark.parametrize("case", CASES)
def test_the_operator_that_makes_infinity_is_named(case, io):
    ours, theirs, size, named, code = CASES[case]
    found = wb.compare(dump(network(**ours), size, io), dump(network(**theirs), size, io))
    first = defects(found)[:1]
    assert [one.op_name for one in first] == ([named] if named else [])
    assert [one.kind for one in first] == (["non-finite"] if named else [])
    assert not code or code in codes(first[0].evidence)
