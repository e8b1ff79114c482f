"""Which results come of an overflow that both runs have, by figures as they are of float16."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kit.build.small_dumps import Net
from workbench.comparison.bind.binding import Execution
from workbench.comparison.follow.overflow import both_overflow, flag_of, is_overflowed
from workbench.comparison.limits import LIMITS
from workbench.core.errors import FormatError
from workbench.core.tensors import ArraySource

BLOCK, OTHER = (Execution(0, "Net", 0, step, 0) for step in (0, 1))
LARGEST = 65504.0


def graph():
    net = Net()
    value = net.op("Tanh", net.feed("x"), name="Gradients/a")
    net.op("Exp", value, name="Gradients/b")
    net.op("Neg", value, name="Default/c")
    return net.graph()


class Broken:
    """A record whose file cannot be read."""

    @property
    def spec(self):
        raise FormatError("compare/not-numbers", got="x")


def worst(mismatch, *, target="float16", golden="float16", **metrics):
    records = (
        SimpleNamespace(spec=SimpleNamespace(dtype=dtype)) if dtype else Broken()
        for dtype in (target, golden)
    )
    pair = SimpleNamespace(**dict(zip(("target", "golden"), records, strict=True)))
    return SimpleNamespace(
        pair=pair, divergence=SimpleNamespace(mismatch=mismatch, metrics=metrics)
    )


def overflows(op=1, item=None, *, block=BLOCK, tainted=False, before=()):
    scene = SimpleNamespace(block=block, survey=SimpleNamespace(overflowing={BLOCK}), graph=graph())
    seen = SimpleNamespace(op=op, tainted=tainted, worst=item)
    carry = SimpleNamespace(overflowed={(BLOCK, number) for number in before})
    return is_overflowed(scene, seen, carry)


NANS = worst(2, TargetNaN=2, GoldenNaN=2)
ENDS = {"TargetMin": -1.0, "TargetMax": LARGEST, "GoldenPosInf": 2, "GoldenNegInf": 1}
PLACES = {
    "a gradient": ({"item": NANS}, True),
    "of a step without overflow": ({"item": NANS, "block": OTHER}, False),
    "of what was wrong before": ({"item": NANS, "tainted": True}, False),
    "on the way forward": ({"item": NANS, "op": 2}, False),
    "not compared": ({}, False),
    "behind an overflow": ({"before": [0]}, True),
    "behind one on the way forward": ({"before": [0], "op": 2}, True),
    "beside one": ({"before": [2]}, False),
}
FIGURES = {
    "NaN everywhere they differ": (NANS, True),
    "NaN that are not all": (worst(3, TargetNaN=2, GoldenNaN=2), False),
    "NaN of one side": (worst(2, TargetNaN=2, GoldenNaN=0), False),
    "no mismatch": (worst(0, TargetNaN=0, GoldenNaN=0), False),
    "nothing measured": (worst(2), False),
    "saturated where the golden is infinite": (worst(3, **ENDS), True),
    "at the lower end": (worst(3, **{**ENDS, "TargetMin": -LARGEST, "TargetMax": 1.0}), True),
    "hardly not saturated": (worst(3, **{**ENDS, "TargetMax": LARGEST - 32}), False),
    "saturated at other places": (worst(4, **ENDS), False),
    "saturated and infinite": (worst(3, **ENDS, TargetPosInf=1), False),
    "as large in a wider type": (worst(3, target="float32", **ENDS), False),
    "integers": (worst(3, target="int8", **ENDS), False),
    "of a type that nobody knows": (worst(3, target="odd", **ENDS), False),
    "unreadable": (worst(3, target="", **ENDS), False),
    "the golden saturated": (worst(1, GoldenMax=LARGEST, GoldenMin=0.0, TargetNaN=1), True),
}  # fmt: skip


@pytest.mark.parametrize("case", PLACES)
def test_where_an_operator_may_show_an_overflow(case):
    known, expected = PLACES[case]
    assert overflows(**known) is expected


@pytest.mark.parametrize("case", FIGURES)
def test_what_an_overflow_of_both_runs_looks_like(case):
    item, expected = FIGURES[case]
    assert overflows(item=item) is expected


def binding(flag, op_type="AllFinite", place=("output", 0)):
    source = None if flag is None else ArraySource(np.asarray(flag))
    run = SimpleNamespace(op_type=op_type, tensors={place: SimpleNamespace(source=source)})
    return SimpleNamespace(runs={BLOCK: {0: SimpleNamespace(op_type="Add", tensors={}), 1: run}})


FLAGS = {
    "up": (binding(True), True),
    "up in one of several": (binding([0.0, 1.0]), True),
    "down": (binding(False), False),
    "of another operator": (binding(True, "Add"), False),
    "its input": (binding(True, place=("input", 0)), False),
    "without data": (binding(None), False),
    "as large as a flag": (binding(np.ones(LIMITS.flag_largest)), True),
    "too large for a flag": (binding(np.ones(LIMITS.flag_largest + 1)), False),
}


@pytest.mark.parametrize("case", FLAGS)
def test_a_flag_is_up_if_it_holds_anything_but_zero(case):
    side, expected = FLAGS[case]
    assert flag_of(side, BLOCK) is (side.runs[BLOCK][1] if expected else None)
    assert flag_of(side, OTHER) is None


@pytest.mark.parametrize(("target", "golden"), [(True, True), (True, False), (False, True)])
def test_both_runs_must_raise_it(target, golden):
    pairing = SimpleNamespace(
        target=binding(target), golden=binding(golden), block_order=(BLOCK,), blocks={BLOCK: BLOCK}
    )
    assert both_overflow(pairing) == ([BLOCK] if target and golden else [])
