"""Kernels that stand for other operators: which belong together, and which of their tensors correspond."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from kit.build.small_dumps import Net, ge_attr, ge_graph
from workbench.comparison.align.align import align
from workbench.comparison.align.fusions import find_fusions, find_leaves, paired_names
from workbench.comparison.graphs.ge_origins import (
    is_inserted,
    is_part,
    origin_of,
    original_names,
    original_types,
)
from workbench.comparison.graphs.source_network import network_of
from workbench.comparison.graphs.view import GraphView, Origin
from workbench.comparison.map_file import Match, Overrides
from workbench.comparison.pair.executions import _likeness
from workbench.graph.graph import Const, Param, Value
from workbench.graph_files.ge.text import parse_ge_text


def op(name, type_, *inputs, names=None, types=None, part=False, outputs=({},)):
    """One operator of a GE graph; each output is its origin: name and slot, or nothing."""
    lines = [f'name: "{name}" type: "{type_}"', *(f'input: "{one}"' for one in inputs)]
    if names is not None:
        lines.append(ge_attr("_datadump_original_op_names", names))
    if types is not None:
        lines.append(ge_attr("_datadump_original_op_types", types))
    if part:
        lines.append(ge_attr("_datadump_is_multiop", True))
    for output in outputs:
        inner = "".join(ge_attr(f"_datadump_origin_{key}", value) for key, value in output.items())
        desc = f'dtype: DT_FLOAT shape {{ dim: 4 dim: 4 }} layout: "ND" {inner}'
        lines.append(f"output_desc {{ {desc} }}")
    return "op { " + " ".join(lines) + " }"


def origin(name, slot=0):
    return {"name": name, "output_index": slot}


RELU = ge_graph(
    op("x", "Data"),
    op("w", "Const"),
    op("trans_TransData_0", "TransData", "x:0", names=[]),
    op("conv1relu1", "Conv2D", "trans_TransData_0:0", "w:0", names=["conv1", "relu1"],
       types=["Conv2D", "ReLU"], outputs=[origin("relu1")]),
    op("pool", "MaxPool", "conv1relu1:0"),
    op("out", "NetOutput", "pool:0", outputs=()),
)  # fmt: skip

SPLIT = ge_graph(
    op("x", "Data"),
    op("w", "Const"),
    op("conv1bn1_Reduce", "Conv2D", "x:0", "w:0", names=["conv1", "bn1"], part=True,
       types=["Conv2D", "BatchNorm"], outputs=[origin("conv1"), {"name": ""}, {"name": ""}]),
    op("bn1_Updaterelu1", "BNTrainingUpdate", "conv1bn1_Reduce:0", "conv1bn1_Reduce:1",
       "conv1bn1_Reduce:2", names=["bn1", "relu1"], types=["BatchNorm", "ReLU"], part=True,
       outputs=[origin("relu1")]),
    op("out", "NetOutput", "bn1_Updaterelu1:0", outputs=()),
)  # fmt: skip


def network(*kinds, names):
    """Operators in a row; the first reads x and w."""
    net = Net()
    x, w = net.feed("x"), net.weight("w")
    value = net.op(kinds[0], x, w, name=names[0])
    for kind, name in zip(kinds[1:], names[1:], strict=True):
        value = net.op(kind, value, name=name)
    return net.graph(value)


CHAIN = network("Conv2D", "ReLU", "MaxPool", names=["conv1", "relu1", "pool"])
NORM = network("Conv2D", "BatchNorm", "ReLU", names=["conv1", "bn1", "relu1"])


def fusions(target, golden):
    return find_fusions(GraphView(target), GraphView(golden))


def test_what_a_kernel_says_is_read():
    kernel = RELU.op("conv1relu1")
    assert original_names(kernel) == ("conv1", "relu1")
    assert original_types(kernel) == ("Conv2D", "ReLU")
    assert origin_of(kernel, 0) == ("relu1", 0)
    assert is_inserted(RELU.op("trans_TransData_0"))
    pool = RELU.op("pool")
    assert (original_names(pool), original_types(pool)) == (None, ("MaxPool",))
    assert (is_inserted(pool), is_part(pool), origin_of(pool, 0)) == (False, False, ("pool", 0))
    first = SPLIT.op("conv1bn1_Reduce")
    assert is_part(first)
    assert [origin_of(first, slot) for slot in range(3)] == [("conv1", 0), None, None]
    assert origin_of(RELU.op("trans_TransData_0"), 0) is None


@pytest.mark.parametrize(
    ("names", "part", "expected"),
    [(["a"], False, ("a", 0)), (["a", "b"], False, ("b", 0)), (["a", "b"], True, None), (["", "a"], False, ("a", 0))],
)  # fmt: skip
def test_an_output_that_says_nothing_is_that_of_the_last_operator(names, part, expected):
    kernel = ge_graph(op("k", "Conv2D", names=names, part=part)).ops[0]
    assert origin_of(kernel, 0) == expected


@pytest.mark.parametrize("value", [3, True, "conv1"])
def test_attributes_of_another_kind_do_no_harm(value):
    text = op("k", "Conv2D").replace(
        " }", f" {ge_attr('_datadump_original_op_names', value)} }}", 1
    )
    kernel = parse_ge_text(f'graph {{ name: "n" {text} }}').ops[0]
    assert original_names(kernel) in (None, ("conv1",))


def test_several_operators_became_one():
    (found,) = fusions(RELU, CHAIN)
    assert (found.target, found.golden) == ((3,), (0, 1))
    assert found.values == ((Origin("op", 3, 0), Origin("op", 1, 0)),)


def test_several_became_several():
    (found,) = fusions(SPLIT, NORM)
    assert (found.target, found.golden) == ((2, 3), (0, 1, 2))
    assert set(found.values) == {
        (Origin("op", 2, 0), Origin("op", 0, 0)),
        (Origin("op", 3, 0), Origin("op", 2, 0)),
    }


def test_one_became_several():
    golden = network("Conv2D", "BatchNorm", names=["conv1", "bn1"])
    target = ge_graph(
        op("x", "Data"), op("w", "Const"), op("conv1", "Conv2D", "x:0", "w:0"),
        op("bn1_Reduce", "BNTrainingReduce", "conv1:0", names=["bn1"], part=True),
        op("bn1_Update", "BNTrainingUpdate", "conv1:0", "bn1_Reduce:0", names=["bn1"], part=True,
           outputs=[origin("bn1")]),
    )  # fmt: skip
    (found,) = fusions(target, golden)
    assert (found.target, found.golden) == ((3, 4), (1,))
    assert found.values == ((Origin("op", 4, 0), Origin("op", 1, 0)),)


@pytest.mark.parametrize("between", [False, True])
def test_of_kernels_that_one_operator_became_the_last_gives_its_result(between):
    """Where none says which output it is, and whatever the compiler inserted between them."""
    names, cast = ["hard"], [op("c", "Cast", "hard/Mul:0", names=[])] if between else []
    target = ge_graph(
        op("x", "Data"), op("hard/Mul", "Mul", "x:0", names=names), *cast,
        op("hard/Add", "Add", "c:0" if between else "hard/Mul:0", names=names),
        op("hard", "ClampScalar", "hard/Add:0", names=names),
    )  # fmt: skip
    net = Net()
    golden = net.graph(net.op("HardSigmoid", net.feed("x"), name="hard"))
    (found,) = fusions(target, golden)
    last = len(target.ops) - 1
    assert found.values == ((Origin("op", last, 0), Origin("op", 0, 0)),)


@pytest.mark.parametrize(("target", "golden"), [(RELU, CHAIN), (SPLIT, NORM)])
def test_sides_may_be_exchanged(target, golden):
    (found,), (back,) = fusions(target, golden), fusions(golden, target)
    assert (back.target, back.golden) == (found.golden, found.target)
    assert {(b, a) for a, b in back.values} == set(found.values)


def test_two_runs_of_one_compiler_need_no_fusion():
    assert fusions(RELU, RELU) == []
    assert align(RELU, RELU).match_of[3] == 3


def test_a_run_without_fusions_is_held_against_one_with_them():
    plain = ge_graph(
        op("x", "Data"), op("w", "Const"), op("conv1", "Conv2D", "x:0", "w:0"),
        op("relu1", "ReLU", "conv1:0"), op("pool", "MaxPool", "relu1:0"),
    )  # fmt: skip
    (found,) = fusions(RELU, plain)
    assert (found.target, found.golden) == ((3,), (2, 3))


def test_a_kernel_of_another_name_for_one_operator_is_its_partner():
    target = ge_graph(
        op("x", "Data"),
        op("w", "Const"),
        op("conv1_lxslice", "Conv2D", "x:0", "w:0", names=["conv1"]),
    )
    found = align(target, network("Conv2D", names=["conv1"]))
    assert found.match_of == {2: 0}
    assert [(m.rule, m.score) for m in found.matches if m.target == (2,)] == [("fusion", 1.0)]


def test_an_operator_that_keeps_its_name_may_be_of_another_type():
    target = ge_graph(op("x", "Data"), op("w", "Const"), op("conv1", "Conv2DV2", "x:0", "w:0"))
    found = align(target, network("Conv2D", names=["conv1"]))
    assert found.match_of == {2: 0}
    assert found.matches[0].rule == "name"


def test_alignment_knows_values_inside_and_at_the_edges():
    found = align(RELU, CHAIN)
    assert [(f.target, f.golden) for f in found.fusions] == [((3,), (0, 1))]
    assert found.match_of == {4: 2}
    assert found.groups == ()
    assert found.mapped(Origin("op", 3)) == Origin("op", 1)
    assert found.mapped(Origin("op", 0)) == Origin("param", 0)
    assert found.mapped(Origin("op", 1)) == Origin("param", 1)
    assert found.counterpart(3) == 0  # of the two, the convolution
    assert found.counterpart(4) == 2
    assert found.counterpart(0) is None
    assert found.matched_golden == {0, 1, 2}
    assert _likeness(found) == 1.0


def test_the_users_word_counts_before_that_of_the_graph():
    found = align(RELU, CHAIN, Overrides((Match(("conv1relu1",), ("conv1",)),)))
    assert found.match_of[3] == 0
    assert found.fusions == ()


@pytest.mark.parametrize(
    ("ours", "theirs", "pairs"),
    [
        (["a", "b"], ["b", "c"], {"b": "b"}),
        (["n/R-op3", "n/R-op7"], ["n/R-op5", "n/R-op9"], {"n/R-op3": "n/R-op5", "n/R-op7": "n/R-op9"}),
        (["n/R-op7", "n/R-op3"], ["n/R-op3", "n/R-op5"], {"n/R-op3": "n/R-op3", "n/R-op7": "n/R-op5"}),
        (["n/R-op3"], ["n/R-op3", "n/R-op5"], {"n/R-op3": "n/R-op3"}),
        (["n/R-op4"], ["n/R-op3", "n/R-op5"], {}),
        (["net/conv.1"], ["net_conv_1"], {"net/conv.1": "net_conv_1"}),
        (["a/R-op1"], ["b/R-op1"], {}),
    ],
)  # fmt: skip
def test_names_are_paired_however_they_are_numbered(ours, theirs, pairs):
    assert paired_names(ours, theirs) == pairs


def test_data_operators_are_the_parameters_of_their_names():
    assert find_leaves(RELU, CHAIN) == {
        Origin("op", 0): Origin("param", 0),
        Origin("op", 1): Origin("param", 1),
    }
    renamed = replace(
        CHAIN, parameters=(replace(CHAIN.parameters[0], name="image"), CHAIN.parameters[1])
    )
    assert find_leaves(RELU, renamed)[Origin("op", 0)] == Origin("param", 0)  # the only feed
    iterator = ge_graph(op("IteratorGetNext", "IteratorGetNext"), op("w", "Variable"))
    assert find_leaves(iterator, CHAIN)[Origin("op", 0, 0)] == Origin("param", 0)


def test_the_network_behind_a_graph_has_its_operators_again():
    found = network_of(RELU)
    assert [(one.name, one.op_type) for one in found.ops] == [
        ("x", "Data"), ("w", "Const"), ("conv1", "Conv2D"), ("relu1", "ReLU"), ("pool", "MaxPool"),
        ("out", "NetOutput"),
    ]  # fmt: skip
    assert found.op("conv1").inputs == (Value(0), Value(1))
    assert found.op("relu1").inputs == (Value(2),)
    assert found.op("pool").inputs == (Value(3),)
    assert found.op("relu1").outputs == RELU.op("conv1relu1").outputs
    assert found.outputs == (Value(4),)


def test_what_was_made_of_one_operator_is_one_again():
    found = network_of(SPLIT)
    assert [one.name for one in found.ops] == ["x", "w", "conv1", "bn1", "relu1", "out"]
    assert found.op("conv1").inputs == (Value(0), Value(1))
    assert found.op("bn1").inputs[0] == Value(2)
    assert found.op("relu1").inputs == (Value(3),)


def test_what_several_kernels_of_one_operator_read_it_reads_once():
    kernel = partial(op, names=["bn"], types=["BatchNorm"], part=True)
    found = network_of(
        ge_graph(
            op("x", "Data"),
            op("gamma", "Const"),
            kernel("bn_Reduce", "BNTrainingReduce", "x:0", outputs=[{"name": ""}]),
            kernel(
                "bn_Update",
                "BNTrainingUpdate",
                "x:0",
                "bn_Reduce:0",
                "gamma:0",
                outputs=[origin("bn")],
            ),
            op("out", "NetOutput", "bn_Update:0", outputs=()),
        )
    )
    assert found.op("bn").inputs == (Value(0), Value(1))  # gamma stays the second


def test_a_graph_that_tells_of_no_other_operators_is_the_network():
    plain = ge_graph(op("x", "Data"), op("relu", "ReLU", "x:0"))
    assert network_of(plain) is plain
    assert network_of(CHAIN) is CHAIN


def test_settings_and_parameters_of_other_graphs_stay():
    net = Net()
    x = net.feed("x")
    net.op("Softmax", x, Const(-1, "int64", ()), name="soft")
    graph = net.graph()
    assert align(graph, graph).fusions == ()
    assert isinstance(graph.ops[0].inputs[0], Param)
