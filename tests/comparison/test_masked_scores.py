"""Scores that a mask strikes out: left out where Softmax makes nothing of them on either side, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build.small_dumps import Net, Shot, file_name, in_memory

S = 6
RNG = np.random.default_rng(40)
SCORES = RNG.standard_normal((2, S, S)).astype(np.float32)
MASK = np.triu(np.ones((S, S), bool), 1)
STRUCK = 2 * int(MASK.sum())


def shares(masked):
    """Softmax by loops."""
    out = np.zeros_like(masked)
    for place in np.ndindex(masked.shape[:-1]):
        row = masked[place].astype(np.float64)
        weights = np.exp(row - row.max())
        out[place] = weights / weights.sum()
    return out


class Attention:
    """Scores and a mask, their sum, Softmax, and perhaps somebody else who reads the sum."""

    def __init__(self, far, *, mask=MASK, given=None, shared=None, reader="", returned=False):
        net = Net()
        scores, masks = net.feed("scores", SCORES.shape), net.feed("mask", mask.shape)
        added = net.op("Add", scores, masks, shape=SCORES.shape)
        soft = net.op("Softmax", added, shape=SCORES.shape, attrs={"axis": -1})
        results = [soft, *([added] if returned else [])]
        lay = np.where(mask, np.float32(far), np.float32(0))
        summed = SCORES + lay if given is None else given
        share = shares(summed) if shared is None else shared
        names = [file_name(op.name) for op in net.ops]
        self.shots = [
            Shot("Add", names[0], "input", 0, SCORES),
            Shot("Add", names[0], "output", 0, summed),
            Shot("Softmax", names[1], "input", 0, summed),
            Shot("Softmax", names[1], "output", 0, share),
        ]
        if reader:
            results.append(net.op(reader, added, net.weight("w", (S, S)), shape=SCORES.shape))
            made = np.where(mask, 0, summed) @ np.eye(S, dtype=np.float32)
            self.shots.append(Shot(reader, file_name(net.ops[-1].name), "output", 0, made))
        self.graph = net.graph(*results)

    def dump(self, *, graph=True):
        return in_memory(self.shots, *([self.graph] if graph else []))


def with_one(array, value):
    """An array with another number at one place that is struck out."""
    found = array.copy()
    found[0, 0, S - 1] = value
    return found


FIRST = Attention(-1e9)
SUM, SHARE = FIRST.shots[1].data, FIRST.shots[3].data
LOWEST = np.where(MASK, np.float32(-65504), SCORES)
ONE = {
    "NaN": {"given": with_one(LOWEST, np.nan), "shared": SHARE},
    "infinity": {"given": with_one(LOWEST, np.inf), "shared": SHARE},
    "a number that no mask gives": {"given": with_one(LOWEST, -30000.0)},
    "an open score": {"given": with_one(LOWEST, 0.5)},
}
"""What stands in the place of one score."""

ALL = {
    "Softmax makes something of one": {"given": LOWEST, "shared": with_one(SHARE, 1e-3)},
    "somebody multiplies them": {"given": LOWEST, "reader": "MatMul"},
    "the network returns them": {"given": LOWEST, "returned": True},
}
"""Why none is left out."""


@pytest.mark.parametrize("graph", [True, False])
@pytest.mark.parametrize("far", [-65504.0, -np.inf, -4e4])
def test_what_softmax_makes_nothing_of_is_left_out(far, graph):
    target = Attention(far, given=np.where(MASK, np.float32(far), SCORES))
    found = wb.compare(target.dump(graph=graph), FIRST.dump(graph=graph))
    assert found.coverage.dont_care == {"masked-scores": 2 * STRUCK}  # given and read
    assert [one for one in found.findings if one.defect] == []
    counted = {row.dont_care: row.status for row in found.rows if row.dont_care}
    assert counted == {STRUCK: "equal"}


@pytest.mark.parametrize("graph", [True, False])
@pytest.mark.parametrize("far", [-65504.0, -1e9])
def test_what_the_golden_has_as_minus_infinity_is_left_out(far, graph):
    """A device that saturates has its least number where a causal mask has -Inf."""
    found = wb.compare(Attention(far).dump(graph=graph), Attention(-np.inf).dump(graph=graph))
    assert found.coverage.dont_care == {"masked-scores": 2 * STRUCK}
    assert [one for one in found.findings if one.defect] == []


def test_what_agrees_is_compared_as_a_whole():
    assert wb.compare(FIRST.dump(), Attention(-1e9).dump()).coverage.dont_care == {}


@pytest.mark.parametrize("case", ONE.values(), ids=ONE)
def test_what_is_not_struck_out_counts_beside_what_is(case):
    found = wb.compare(Attention(-65504, **case).dump(), FIRST.dump())
    added = [row for row in found.rows if (row.op_type, row.io) == ("Add", "output")]
    assert [(row.status, row.dont_care) for row in added] == [("fail", STRUCK - 1)]
    assert (found.verdict, found.findings[0].op_type) == ("fail", "Add")


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_what_may_do_something_is_compared(case):
    told = {name: case[name] for name in ("reader", "returned") if name in case}
    found = wb.compare(Attention(-65504, **case).dump(), Attention(-1e9, **told).dump())
    added = [row for row in found.rows if (row.op_type, row.io) == ("Add", "output")]
    assert [(row.status, row.dont_care) for row in added] == [("fail", 0)]


def test_a_difference_elsewhere_is_told():
    given = np.where(MASK, np.float32(-65504), SCORES * np.float32(1.05))
    found = wb.compare(Attention(-65504, given=given).dump(), FIRST.dump())
    assert (found.verdict, found.findings[0].op_type) == ("fail", "Add")
