"""Ranks that do not hold alike what they must."""

import numpy as np
import pytest

from kit.words import check_said
from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
from workbench.comparison.findings.ranks import find_outlier
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.dump import Dump
from workbench.dump.index import EMPTY
from workbench.graph.graph import Graph, Op, Param, Parameter

SPEC = TensorSpec("float32", (2,))
WEIGHT = Parameter("w", SPEC, True)


def graph(*types):
    ops = [Op(f"{kind}-op0", kind, (Param(0), Param(0)), {}, (SPEC,)) for kind in types]
    return Graph("g", (WEIGHT,), tuple(ops))


def bound(net, values, io="output"):
    """A dump of one operator: its tensor by rank, the last operator of the graph."""
    number = len(net.ops) - 1
    op, runs = net.ops[number], {}
    for rank, value in enumerate(values):
        if value is not None:
            block = Execution(rank, "Net", 0, 3, 0)
            key = TensorKey(op.op_type, op.name, io, 0, 0, 3, rank=rank)
            source = ArraySource(np.array([value, 1], np.float32))
            record = TensorRecord(key, SPEC, source)
            runs[block] = {
                number: OperatorRun(block, number, op.op_type, op.name, {(io, 0): record})
            }
    graphs = {(rank, 0): net for rank in range(len(values))}
    return Binding(Dump("", "mindspore", EMPTY), graphs, runs)


@pytest.mark.parametrize(
    ("values", "code", "apart"),
    [
        ((1, 1, 2), "rank-apart-from", {"ranks": (2,), "others": (0, 1)}),
        ((5, 1, 1, None), "rank-apart-from", {"ranks": (0,), "others": (1, 2)}),
        ((1, 1, 1, 2, 3), "ranks-apart-from", {"ranks": (3, 4), "others": (0, 1, 2)}),
        ((1, 2), "ranks-apart", {"ranks": (0, 1)}),
    ],
)
def test_the_ranks_that_differ_from_most_are_named(values, code, apart):
    found = find_outlier(bound(graph("AllReduce"), values)).said
    name = Message("compare/output-of", slot=0, op_name="AllReduce-op0")
    check_said(found, f"compare/{code}", name=name, iteration=3, **apart)


@pytest.mark.parametrize("values", [(1, 1), (7,), (1, None, 1)])
def test_ranks_that_agree_are_not_named(values):
    assert find_outlier(bound(graph("AllReduce"), values)) is None


def test_nan_is_like_nan():
    assert find_outlier(bound(graph("HcomAllReduce"), (np.nan, np.nan))) is None


def test_a_part_is_a_ranks_own():
    assert find_outlier(bound(graph("ReduceScatter"), (1, 2))) is None


def test_weights_are_alike_where_ranks_meet_and_nowhere_else():
    found = find_outlier(bound(graph("AllReduce", "AssignAdd"), (1, 1, 2), "input"))
    values = {"ranks": (2,), "others": (0, 1), "name": "w", "iteration": 3}
    check_said(found.said, "compare/rank-apart-from", **values)
    assert find_outlier(bound(graph("AssignAdd"), (1, 1, 2), "input")) is None
