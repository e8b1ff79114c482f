"""A side without a graph that fits borrows the other's, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.build import small_dumps as small
from kit.build.small_dumps import chain, in_memory, shoot
from workbench.comparison.bind.borrow import bind_both

GRAPH = chain("MatMul", "ReLU")
SHOTS = shoot(GRAPH, small.given(GRAPH))
NAMES = {op.name for op in GRAPH.ops}


def names(binding):
    """Operators that a graph knows, as runs call them."""
    return {run.op_name for runs in binding.runs.values() for run in runs.values() if run.op >= 0}


def of_rank(rank):
    return [shot._replace(rank=rank) for shot in SHOTS]


def graphs(binding):
    return {key: graph.name for key, graph in binding.graphs.items()}


def test_the_side_without_a_graph_has_the_other_ones():
    ours, theirs = bind_both(in_memory(SHOTS), in_memory(SHOTS, GRAPH))
    assert graphs(ours) == graphs(theirs) == {(0, 0): GRAPH.name}
    assert names(ours) == names(theirs) == NAMES


def test_of_two_sides_with_graphs_both_keep_their_own():
    other = replace(GRAPH, name="another")
    ours, theirs = bind_both(in_memory(SHOTS, other), in_memory(SHOTS, GRAPH))
    assert graphs(ours) == {(0, 0): "another"}
    assert graphs(theirs) == {(0, 0): GRAPH.name}


def test_without_any_graph_there_is_nothing_to_borrow():
    sides = bind_both(in_memory(SHOTS), in_memory(SHOTS))
    assert [graphs(side) for side in sides] == [{}, {}]
    assert [names(side) for side in sides] == [set(), set()]


@pytest.mark.parametrize(("dumped", "known"), [([1], {1}), ([0, 1], {0}), ([1, 2], set())])
def test_a_lone_rank_borrows_of_another_lone_one_and_many_of_their_own(dumped, known):
    shots = [shot for rank in dumped for shot in of_rank(rank)]
    ours, _ = bind_both(in_memory(shots, rank=dumped[0]), in_memory(SHOTS, GRAPH))
    assert {rank for rank, _ in ours.graphs} == known
