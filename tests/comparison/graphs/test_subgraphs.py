"""Graphs that call others become one, and so do those that control flow parts."""

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from kit.evidence import defects
from workbench.comparison.engine import compare_dumps
from workbench.comparison.graphs.subgraphs import inline_calls, join_graphs
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.dump import Dump
from workbench.dump.index import EMPTY, index_of
from workbench.graph.graph import Graph, Op, Param, Parameter, Value
from workbench.graph.rewrite import map_operands
from workbench.network.models import load_graph

SPEC = TensorSpec("float32", (2,))


def op(name, op_type, *inputs, **attrs):
    return Op(name, op_type, tuple(Value(number) for number in inputs), attrs, (SPEC,))


def graph(name, *ops, subgraphs=()):
    ends = [one for one in ops if one.op_type == "NetOutput"]
    return Graph(
        name, ops=ops, outputs=ends[0].inputs if ends else (), subgraphs=subgraphs, dialect="ge"
    )


def data(index):
    return op(f"d{index}", "Data", _parent_node_index=index)


def listing(found):
    return [
        (one.name, [found.ops[v.op].name for v in one.flat_inputs() if isinstance(v, Value)])
        for one in found.ops
    ]


def test_a_choice_reads_what_its_sides_result_in_and_they_read_what_it_reads():
    then = graph("then", data(1), op("relu", "Relu", 0), op("end", "NetOutput", 1))
    other = graph("else", data(1), op("neg", "Neg", 0), op("end", "NetOutput", 1))
    main = graph(
        "main",
        op("p", "Data"),
        op("x", "Data"),
        op("abs", "Abs", 1),
        op("if", "If", 0, 2, subgraph_name=("then", "else")),
        op("sqrt", "Sqrt", 3),
        op("out", "NetOutput", 4),
        subgraphs=(then, other),
    )
    assert listing(inline_calls(main)) == [
        ("p", []),
        ("x", []),
        ("abs", ["x"]),
        ("relu", ["abs"]),
        ("neg", ["abs"]),
        ("if", ["p", "abs", "relu", "neg"]),
        ("sqrt", ["if"]),
        ("out", ["sqrt"]),
    ]
    assert inline_calls(main).outputs == (Value(6),)


def test_what_is_handed_on_through_two_calls_is_what_the_outermost_reads():
    deep = graph("deep", data(0), op("relu", "Relu", 0), op("end", "NetOutput", 1))
    call = op("call", "PartitionedCall", 0, subgraph_name=("deep",))
    middle = graph("middle", data(0), call, op("end", "NetOutput", 1))
    outer = op("outer", "PartitionedCall", 0, subgraph_name=("middle",))
    main = graph("main", op("x", "Data"), outer, subgraphs=(deep, middle))
    assert listing(inline_calls(main)) == [
        ("x", []), ("relu", ["x"]), ("call", ["x", "relu"]), ("outer", ["x", "call"])
    ]  # fmt: skip


@pytest.mark.parametrize("index", [None, 7, -1, "0", True])
def test_data_that_no_caller_gives_stay(index):
    then = graph("then", op("d", "Data", _parent_node_index=index), op("relu", "Relu", 0))
    call = op("call", "If", 0, subgraph_name=("then",))
    found = inline_calls(graph("main", op("x", "Data"), call, subgraphs=(then,)))
    assert ("relu", ["d"]) in listing(found)


@pytest.mark.parametrize("calls", [("a",), ("b",), ("a", "b"), (), ("nobody",), 5, [1]])
def test_nothing_is_lost_or_doubled_whatever_calls_what(calls):
    one = graph("a", op("in_a", "If", subgraph_name=("b",)))
    other = graph("b", op("in_b", "If", subgraph_name=("a", "b")))
    main = graph("main", op("if", "If", subgraph_name=calls), subgraphs=(one, other))
    assert sorted(one.name for one in inline_calls(main).ops) == ["if", "in_a", "in_b"]


def test_calls_may_be_nested_deeply():
    subs = tuple(
        graph(f"g{n}", op(f"op{n}", "PartitionedCall", subgraph_name=(f"g{n + 1}",)))
        for n in range(3000)
    )
    main = graph("main", op("call", "PartitionedCall", subgraph_name=("g0",)), subgraphs=subs)
    assert len(inline_calls(main).ops) == 3001


def test_a_graph_of_another_dialect_stays():
    sub = graph("then", op("relu", "Relu"))
    main = replace(graph("main", op("x", "Relu"), subgraphs=(sub,)), dialect="2.6")
    assert inline_calls(main) is main


def with_a_choice(dump):
    """The dump of a network of which everything from the first product on is the side of an If."""

    def parted(whole):
        cut = next(n for n, one in enumerate(whole.ops) if one.op_type == "MatMul")
        reads = whole.ops[cut].inputs[0]

        def new(value):
            if value.op >= cut:
                return replace(value, op=value.op - cut + 1)
            return Value(0) if value == reads else value

        entry = Op("given", "Data", (), {"_parent_node_index": 0}, (SPEC,))
        inner = tuple(
            replace(one, inputs=tuple(map_operands(operand, new) for operand in one.inputs))
            for one in whole.ops[cut:]
        )
        leaves = tuple(one for one in whole.ops[:cut] if one.op_type != "NetOutput")
        call = Op("choice", "If", (reads,), {"subgraph_name": ("then",)}, (SPEC,))
        then = Graph("then", ops=(entry, *inner), dialect="ge")
        return replace(whole, ops=(*leaves, call), outputs=(), subgraphs=(then,))

    return replace(dump, graphs={key: parted(one) for key, one in dump.graphs.items()})


@pytest.mark.parametrize("fault", ["fc2-Dense/MatMul-op0", "conv2-Conv2d/Conv2D-op0", ""])
def test_operators_of_a_side_are_compared_and_blamed(fault, tmp_path):
    lenet, form = load_graph("lenet"), wb.config.new("tensorflow")
    options = {"surface": "tensorflow", "device": "a2"}
    golden = wb.load(wb.simulate(lenet, None, form, tmp_path / "g", **options))
    faults = [f"scaled-output:Default/{fault}:1.5"] if fault else []
    target = wb.load(wb.simulate(lenet, None, form, tmp_path / "t", faults=faults, **options))
    plain = compare_dumps(target, golden).result
    found = compare_dumps(with_a_choice(target), with_a_choice(golden)).result
    assert found.coverage == plain.coverage
    assert found.verdict == plain.verdict
    names = [one.op_name for one in defects(found)]
    assert names == [one.op_name for one in defects(plain)]
    assert bool(names) == bool(fault)


# --- graphs that control flow parts ---------------------------------------------------------

X, W = Parameter("x", SPEC), Parameter("w", SPEC, True, "w")
PASSED = Parameter("", SPEC, captured=True)


def piece(graph_id, kinds, *parameters, inner=True):
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
    return Dump("here", "tree", index_of(records), {(0, one.graph_id): one for one in graphs})


ENTRY = piece(0, ["Neg", "Exp"], X, W, inner=False)
SIDE = piece(1, ["Add", "ReLU"], W, PASSED)
OTHER = piece(2, ["Abs"], PASSED, X)
ONE = dump_of(piece(0, ["Neg"], X, inner=False))


def test_operators_follow_each_other_and_weights_are_one():
    dump = dump_of(ENTRY, SIDE, OTHER)
    whole = join_graphs(dump, ONE)
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
    second = replace(piece(3, ["Tanh"], X, inner=False), graph_id=3)
    whole = join_graphs(dump_of(ENTRY, SIDE, second, piece(4, ["Sin"], PASSED)), ONE)
    assert {key: len(one.ops) for key, one in whole.graphs.items()} == {(0, 0): 4, (0, 3): 2}
    assert {record.key.graph_id for record in whole.records} == {0, 3}


def test_dumps_of_the_same_kind_stay_as_they_are():
    dump = dump_of(ENTRY, SIDE)
    assert join_graphs(dump, dump) is dump
    assert join_graphs(ONE, dump) is ONE
    assert join_graphs(dump, Dump("there", "tree", EMPTY)) is dump
