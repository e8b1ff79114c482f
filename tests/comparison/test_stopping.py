"""A stop at any time: it is asked for often, ends soon, and accuses nobody whom the whole comparison does not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from kit.evidence import defects
from workbench.comparison import stages
from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.engine import compare_dumps
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.pair.pairing import EVERYTHING
from workbench.comparison.replay.attempt import ReplayCache
from workbench.comparison.replay.replay import replay
from workbench.core.long_work import stoppable
from workbench.dump.reader import load

PAIR = Path(__file__).parents[2] / "sample_dumps" / "simulated_pair"
POINTS = 12
MOST = 20
"""Asks after a stop: one a stage, and those of loops that end at once."""


class Stop:
    """Asked whether to stop: true from one ask on. ``after`` are the asks from then on."""

    def __init__(self, at: float = float("inf")) -> None:
        self.at, self.asks = at, 0

    def __call__(self) -> bool:
        self.asks += 1
        return self.asks >= self.at

    @property
    def after(self) -> float:
        return max(self.asks - self.at, 0)


@cache
def dumps():
    return load(PAIR / "target"), load(PAIR / "golden")


def stopped(at=float("inf")):
    asked = Stop(at)
    return compare_dumps(*dumps(), cancelled=asked).result, asked


@cache
def whole():
    return stopped()


def test_a_comparison_asks_before_every_tensor_and_every_operator_that_it_computes(monkeypatch):
    computed, attempt = set(), ReplayCache.attempt
    monkeypatch.setattr(
        ReplayCache, "attempt", lambda own, *place: computed.add(place) or attempt(own, *place)
    )
    result, asked = stopped()
    assert not result.partial
    assert asked.asks > len(result.rows) + len(computed) > 60


@pytest.mark.parametrize("point", range(POINTS))
@pytest.mark.parametrize("left", [-1.0, 1e6])
def test_a_stop_at_any_time_ends_and_accuses_nobody_else(monkeypatch, left, point):
    """With no time left after a stop, and with time to follow all that was measured."""
    monkeypatch.setattr(stages.Grace.__init__, "__defaults__", (left,))
    full, asked = whole()
    at = 1 + point * (asked.asks - 1) // POINTS
    result, now = stopped(at)
    assert left > 0 or (result.partial and now.after <= MOST)
    named = {(one.op_name, one.slot) for one in defects(result)}
    assert named <= {(one.op_name, one.slot) for one in defects(full)}


@pytest.mark.parametrize("at", [1, 8, 16, 24, 32])
def test_replay_keeps_what_it_has_decided_when_it_is_stopped(at):
    """An operator that exact arithmetic leaves open is neither suspect nor acquitted yet."""
    target, golden = bind_both(*dumps())
    pairing = pair_tensors(target, golden, EVERYTHING)
    full = replay(pairing, npu=True)
    with stoppable(Stop(at)):
        found = replay(pairing, npu=True)
    assert len(found.own_errors) < len(full.own_errors)
    for place, own in found.own_errors.items():
        assert (own.suspect, full.own_errors[place].suspect) == (0.0, 0.0)


def test_what_is_short_is_done_to_its_end(monkeypatch):
    """A stop when following begins leaves time for it: tensors are judged as without the stop, nothing is explained."""
    full, _ = whole()
    asked = Stop()
    monkeypatch.setattr(stages.Grace.__init__, "__defaults__", (1e6,))
    follow = stages.Stages.__call__

    def begun(own, name):
        asked.at = asked.asks + 1 if name == "follow" else asked.at
        return follow(own, name)

    monkeypatch.setattr(stages.Stages, "__call__", begun)
    result = compare_dumps(*dumps(), cancelled=asked).result
    assert [row.status for row in result.rows] == [row.status for row in full.rows]
    assert result.findings
