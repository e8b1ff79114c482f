"""Graphs that control flow parts, joined where the other dump has one."""

from dataclasses import replace

import numpy as np

from workbench.comparison.graphs.joining import joined
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.tree import Dump
from workbench.graph.nodes import Graph, Op, Param, Parameter, Value

SPEC = TensorSpec("float32", (2,))
X, W = Parameter("x", SPEC), Parameter("w", SPEC, True, "w")
PASSED = Parameter("", SPEC, passed=True)


def graph(graph_id, kinds, *parameters, inner=True):
    """A graph whose first operator reads all parameters and every other one the operator before."""
    ops, before = [], [Param(index) for index in range(len(parameters))]
    for number, kind in enumerate(kinds):
        ops.append(Op(f"Default/{kind}-op{graph_id}", kind, tuple(before), outputs=(SPEC,)))
        before = [Value(number)]
    return Graph(f"g{graph_id}", parameters, tuple(ops), tuple(before), graph_id, inner=inner)


def dump_of(*graphs):
    records = tuple(
        TensorRecord(
            TensorKey(op.op_type, op.name, "output", 0, one.graph_id), SPEC, ArraySource(np.ones(2))
        )
        for one in graphs
        for op in one.ops
    )
    return Dump("here", "tree", records, {(0, one.graph_id): one for one in graphs})


ENTRY = graph(0, ["Neg", "Exp"], X, W, inner=False)
SIDE = graph(1, ["Add", "ReLU"], W, PASSED)
OTHER = graph(2, ["Abs"], PASSED, X)
ONE = dump_of(graph(0, ["Neg"], X, inner=False))


def test_operators_follow_each_other_and_weights_are_one():
    dump = dump_of(ENTRY, SIDE, OTHER)
    whole = joined(dump, ONE)
    (found,) = whole.graphs.values()
    assert [op.op_type for op in found.ops] == ["Neg", "Exp", "Add", "ReLU", "Abs"]
    assert [parameter.name for parameter in found.parameters] == ["x", "w", "", ""]
    assert [op.inputs for op in found.ops] == [
        (Param(0), Param(1)), (Value(0),), (Param(1), Param(2)), (Value(2),), (Param(3), Param(0)),
    ]  # fmt: skip
    assert found.outputs == (Value(1), Value(3), Value(4))
    assert {record.key.graph_id for record in whole.records} == {0}
    assert {record.key.graph_id for record in dump.records} == {0, 1, 2}  # the dump itself stays


def test_graphs_join_the_one_that_calls_them():
    second = replace(graph(3, ["Tanh"], X, inner=False), graph_id=3)
    whole = joined(dump_of(ENTRY, SIDE, second, graph(4, ["Sin"], PASSED)), ONE)
    assert {key: len(one.ops) for key, one in whole.graphs.items()} == {(0, 0): 4, (0, 3): 2}
    assert {record.key.graph_id for record in whole.records} == {0, 3}


def test_dumps_of_the_same_kind_stay_as_they_are():
    dump = dump_of(ENTRY, SIDE)
    assert joined(dump, dump) is dump
    assert joined(ONE, dump) is ONE
    assert joined(dump, Dump("there", "tree", ())) is dump
