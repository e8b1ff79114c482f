"""Matches that grow from what surrounds operators, in networks of unusual shape."""

from __future__ import annotations

import numpy as np

import workbench as wb
from workbench import nn
from workbench.comparison.align.neighbors import NeighborMatcher
from workbench.config import new

BRANCHES = 100


class Fan(nn.Cell):
    """One value that very many operators of one type read."""

    def construct(self, x):
        scaled = [nn.functional.relu(x * float(number)) for number in range(BRANCHES)]
        return nn.functional.concat(scaled, 0) * 2.0


def test_a_value_that_very_many_read_does_not_have_everybody_weighed_with_everybody(
    tmp_path, monkeypatch
):
    graph = wb.trace(Fan(), np.ones((2, 3), np.float32))
    trees = {}
    for surface, options in (("acl", {"device": "a2"}), ("mindspore-cpu", {})):
        trees[surface] = tmp_path / surface
        wb.simulate(graph, None, new(surface), trees[surface], surface=surface, **options)
    weighed, weigh = [], NeighborMatcher.weigh
    monkeypatch.setattr(
        NeighborMatcher, "weigh", lambda self, t, g: weighed.append((t, g)) or weigh(self, t, g)
    )
    comparison = wb.compare(trees["acl"], trees["mindspore-cpu"])
    assert len(weighed) < 20 * BRANCHES  # not BRANCHES²
    muls = {
        (row.op_name, row.golden_op_name)
        for row in comparison.rows
        if row.op_type == "Mul" and row.match_rule
    }
    assert len(muls) == BRANCHES + 1
    assert all(ours.replace("_", "/") == theirs.replace("_", "/") for ours, theirs in muls)
