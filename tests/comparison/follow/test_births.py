"""NaN and infinity that begin where nobody compared: who is named."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build import small_dumps as small
from kit.build.small_dumps import Net, in_memory, shoot
from kit.evidence import codes, defects
from workbench.comparison.finding_kinds import KINDS


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


def sliced(*, cast=False, extra=False):
    """x · w → StridedSlice of the first two rows → Neg; only the last row of the product is large."""
    net, dtype = Net(), "float32"
    value = net.op("MatMul", net.feed("x"), net.weight("w"))
    if extra:
        value = net.op("Exp", value)
    if cast:
        dtype = "float16"
        value = net.op("Cast", value, dtype=dtype)
    rows = [net.feed(name, (2,), "int64") for name in ("begin", "end", "steps")]
    value = net.op("StridedSlice", value, *rows, shape=(2, 4), dtype=dtype)
    net.op("Neg", value, shape=(2, 4), dtype=dtype)
    return net.graph()


def dump_of_slice(graph, size, io=None):
    values = small.given(graph)
    values["x"] = np.diag([1, 1, 1, size]).astype(np.float32)
    values["w"] = np.abs(values["w"]) + 1
    rows = {"begin": [0, 0], "end": [2, 4], "steps": [1, 1]}
    values |= {name: np.array(row, np.int64) for name, row in rows.items()}
    with np.errstate(all="ignore"):
        shots = shoot(graph, values)
    return in_memory([shot for shot in shots if io in (None, shot.io)], graph)


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


UNREAD = {
    "a cast of the target": ({"cast": True}, {}, 1e5, "Default/Cast-op0", "born-non-finite"),
    "a cast of the golden": ({}, {"cast": True}, 1e5, "Default/StridedSlice-op0", "born-in-golden"),
    "an operator of the target": ({"extra": True}, {}, 1e3, "Default/Exp-op0", "born-non-finite"),
}
"""As above, of infinity that a reader is given but does not take up; whoever makes it is named all the same."""


@pytest.mark.parametrize("case", UNREAD)
def test_infinity_that_its_reader_leaves_out_is_not_put_on_the_reader(case):
    ours, theirs, size, named, code = UNREAD[case]
    found = wb.compare(*(dump_of_slice(sliced(**one), size) for one in (ours, theirs)))
    (first,) = defects(found)
    assert (first.kind, first.op_name) == ("non-finite", named)
    assert code in codes(first.evidence)


@pytest.mark.parametrize("ours", [{"cast": True}, {}], ids=["a cast", "none"])
def test_infinity_that_nobody_makes_is_no_defect(ours):
    found = wb.compare(dump_of_slice(sliced(**ours), 1), dump_of_slice(sliced(), 1))
    assert defects(found) == []


def logarithm(dtype):
    """x · w → Log → Neg → ReLU."""
    net = Net()
    value = net.op("MatMul", net.feed("x"), net.weight("w"), dtype=dtype)
    for kind in ("Log", "Neg", "ReLU"):
        value = net.op(kind, value, dtype=dtype)
    return net.graph()


@pytest.mark.parametrize("io", [None, "output"])
def test_an_operator_that_makes_infinity_of_what_rounding_left_is_named_and_not_the_golden(io):
    """1e-9 is zero in float16: the logarithm is right, and minus infinity."""
    dumps = []
    for dtype in ("float16", "float32"):
        graph = logarithm(dtype)
        values = small.given(graph)
        values["x"] = np.diag([1, 1, 1, 1e-9]).astype(np.float32)
        values["w"] = np.abs(values["w"]) + 1
        with np.errstate(all="ignore"):
            shots = shoot(graph, values)
        dumps.append(in_memory([shot for shot in shots if io in (None, shot.io)], graph))
    (first,) = defects(wb.compare(*dumps))
    assert (first.kind, first.op_name) == ("non-finite", "Default/Log-op0")
    assert "born-non-finite" in codes(first.evidence)
    assert str(first.advice).startswith(KINDS["non-finite"].advice)
