"""Executions of several ranks that belong together, and what ranks must hold alike."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.comparison.bind.binding import Execution
from workbench.comparison.follow.ranks import (
    is_meeting,
    is_replicated,
    lockstep,
    measured_of_peers,
    met_by,
)
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Graph, Op, Param, Parameter

ONE = TensorSpec("float32", (2,))


def at(rank, iteration=0, turn=0, graph=0, net="Net"):
    return Execution(rank, net, graph, iteration, turn)


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [[at(0)]],
        [[at(0), at(1), at(2)]],
        [[at(0), at(1)], [at(0, 1), at(1, 1)]],
        [[at(0), at(1)], [at(0, turn=1), at(1, turn=1)]],
        [[at(0), at(1)], [at(0, graph=1), at(1, graph=1)]],
        [[at(0)], [at(1, net="Other")]],
        [[at(0), at(1)], [at(0), at(1)]],
    ],
    ids=["none", "one rank", "three", "steps", "turns", "graphs", "nets", "a rank comes again"],
)
def test_ranks_walk_side_by_side_and_nothing_else_does(steps):
    assert [*lockstep([block for step in steps for block in step])] == steps


def op(op_type, name="op"):
    return Op(name, op_type, (Param(0), Param(0)), {}, (ONE,), (ONE, ONE))


def graph(*ops):
    return Graph("g", (Parameter("w", ONE, is_weight=True),), ops)


@pytest.mark.parametrize(
    ("op_type", "meets", "replicated"),
    [
        ("AllReduce", True, True),
        ("ReduceScatter", True, False),
        ("HcomReduceScatter", True, False),
        ("AlltoAll", True, False),
        ("ApplyMomentum", False, True),
        ("BNTrainingUpdate", False, False),
        ("MatMul", False, False),
    ],
)
def test_what_ranks_meet_at_and_what_they_hold_alike(op_type, meets, replicated):
    one = op(op_type)
    assert is_meeting(one) is meets
    assert is_replicated(graph(one), one) is replicated


def peer(*names):
    """Another rank; every operator has one input and one output measured."""
    return SimpleNamespace(
        graph=graph(*(op("AllReduce", name) for name in names)),
        measured=lambda number: {("input", 0): names[number], ("output", 0): "given"},
    )


def test_inputs_of_the_other_ranks_lie_under_slots_of_their_own():
    peers = [peer("first", "sum"), peer("first"), peer("sum")]
    assert [*met_by(op("AllReduce", "sum"), peers)] == [(peers[0], 1), (peers[2], 0)]
    assert measured_of_peers(op("AllReduce", "sum"), peers) == {-1: "sum", -2: "sum"}
    assert measured_of_peers(op("MatMul", "sum"), peers) == {}
