"""What is written is read back by the reader of real files, operator by operator."""

from dataclasses import replace

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import (
    Bundle,
    Const,
    FreeRef,
    Graph,
    GraphRef,
    Op,
    Param,
    Parameter,
    SourceFrame,
    Value,
)
from workbench.graph_files.mindspore.text import parse_ms_text, read_ms_text
from workbench.graph_files.mindspore.write_text import write_ms_text
from workbench.network import nn
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import functional
from workbench.network.tracer import trace

F = TensorSpec("float32", (2, 3))
W = TensorSpec("float32", (4, 3))
Y = TensorSpec("float32", (2, 4))
B = TensorSpec("bool", ())
MONAD = Const("U", "monad")
STEP = TensorSpec("int32", (1,))

FRAMES = (
    SourceFrame("/w/net.py", 8, '        y = self.fc("a/b")', 0, 12, 24),
    SourceFrame("/w/lib/python3.11/ops.py", 31, "    return matmul(x, w)", 33, 8, 26),
    SourceFrame("/w/net.py", 9, "", group="candidate"),
    SourceFrame("/w/net.py", 10, "z", group="forward"),
)

MATMUL = Op(
    "Default/fc-Dense/MatMul-op0",
    "MatMul",
    (Param(1), Param(0), Const(False, "bool", ()), Const(True, "bool", ())),
    {"input_names": ("x1", "x2"), "mode": 1, "eps": 1e-5},
    (Y,),
    (F, W, B, B),
    (F, W, B, B),
    (Y,),
    FRAMES,
    unique_id="9022",
)
NORM = Op(
    "Default/norm-LayerNorm/LayerNorm-op0",
    "LayerNorm",
    (Value(0), Param(2), Const(1e-5, "float32", ())),
    {},
    (Y, TensorSpec("float32", (2, 1)), TensorSpec("float32", (2, 1))),
    (Y, TensorSpec("float32", (4,)), TensorSpec("float32", ())),
    (Y, TensorSpec("float32", (4,)), TensorSpec("float32", ())),
    (Y, TensorSpec("float32", (2, 1)), TensorSpec("float32", (2, 1))),
)
CONCAT = Op(
    "Default/Concat-op0",
    "Concat",
    (Bundle((Value(1, 0), Value(0), Value(1, 1))), Const(1, "int64", ())),
    {},
    (TensorSpec("float16", (2, 9)),),
    (None, TensorSpec("int64", ())),
    (Y, Y, TensorSpec("float32", (2, 1)), TensorSpec("int64", ())),
    (TensorSpec("float32", (2, 9), "NC1HWC0"),),
    forward_id="7837",
)
RESHAPE = Op(
    "Default/Reshape-op0",
    "Reshape",
    (Value(2), Const((-1,), "tuple", (1,))),
    {},
    (TensorSpec("float16", (18,)),),
    (TensorSpec("float16", (2, 9)), None),
    (TensorSpec("float16", (2, 9)), TensorSpec("int64", ())),
    (TensorSpec("float16", (18,)),),
)
ASSIGN = Op(
    "Default/AssignAdd-op0",
    "AssignAdd",
    (Param(3), Const((1,), "int32", (1,)), MONAD),
    {"side_effect_mem": True},
    (STEP,),
    (STEP, STEP, None),
    (STEP, STEP),
    (STEP,),
)
GRAPH = Graph(
    "kernel_graph0",
    (
        Parameter("fc.weight", W, True, "fc.weight"),
        Parameter("größe γ", F),
        Parameter("norm.gamma", TensorSpec("float32", (4,)), True, "norm.gamma"),
        Parameter("enc/layer.0:step", STEP, True, "enc/layer.0:step"),
    ),
    (MATMUL, NORM, CONCAT, RESHAPE, ASSIGN),
    (Value(3), Value(1, 2)),
    dialect="mindspore",
)


def stated(graph):
    """The same graph with the dialect and the device types that the writer spells out."""
    read = parse_ms_text(write_ms_text(graph))
    ops = tuple(
        replace(op, device_inputs=again.device_inputs, device_outputs=again.device_outputs)
        for op, again in zip(graph.ops, read.ops, strict=True)
    )
    return replace(graph, ops=ops, dialect="mindspore"), read


def test_a_graph_reads_back_as_it_is():
    read = parse_ms_text(write_ms_text(GRAPH))
    assert read == GRAPH
    assert read.unknown_lines == 0


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_traced_network_reads_back(name):
    expected, read = stated(load_graph(name))
    assert read == expected
    assert read.unknown_lines == 0
    assert parse_ms_text(write_ms_text(read)) == read


def test_every_real_graph_reads_back_as_it_is(real_pairs):
    paths = [path for pair in real_pairs.values() for path in pair.folder.rglob("*.ir")]
    assert len(paths) == 16
    for path in paths:
        graph = read_ms_text(path)
        read = parse_ms_text(write_ms_text(graph))
        assert read.unknown_lines == 0, path
        assert read == replace(graph, dialect="mindspore"), path


def test_kernels_without_device_types_take_those_of_the_host():
    op = replace(CONCAT, device_inputs=(), device_outputs=())
    read = parse_ms_text(write_ms_text(replace(GRAPH, ops=(MATMUL, NORM, op, RESHAPE, ASSIGN))))
    assert read.ops[2].device_inputs == CONCAT.device_inputs
    assert read.ops[2].device_outputs == (TensorSpec("float16", (2, 9)),)


def test_the_text_has_mindspores_lines():
    text = write_ms_text(GRAPH)
    for line in (
        "# IR entry: @kernel_graph0\n# Total subgraphs: 1\n\n# Total params: 4\n# Params:\n",
        "%para1_fc.weight: <Ref[Tensor[Float32]], (4, 3), ref_key=fc.weight, is_parameter>"
        "  :  has_default  :  <UnknownxDefaultFormat[const vector]{4, 3}>  :  IsWeight: true\n",
        "%para2_größe γ: <Tensor[Float32], (2, 3)> : [2, 3]"
        "  :  <Float32xDefaultFormat[const vector]{2, 3}>  :  IsWeight: false\n",
        "  %0(CNode_0) = Load(%para1_fc.weight, UMonad[U]) "
        "cnode_attrs: {checkpoint: Bool(1), is_dynamic_len: Bool(0)}\n",
        "      : (<Ref[Tensor[Float32]], (4, 3), ref_key=fc.weight, is_parameter>, "
        "<UMonad, NoShape>) -> (<Tensor[Float32], (4, 3)>)\n",
        "  %1(CNode_1) = PrimFunc_MatMul(%para2_größe γ, %0, Bool(0), Bool(1)) primitive_attrs: "
        "{input_names: [x1, x2], mode: I64(1), eps: F32(1e-05)} cnode_attrs: {checkpoint: Bool(1), "
        'is_dynamic_len: Bool(0)} cnode_primal_attrs: {unique_id: "9022"}\n',
        "      : (<Tensor[Float32], (2, 3)>, <Tensor[Float32], (4, 3)>, <Bool, NoShape>, "
        "<Bool, NoShape>) -> (<Tensor[Float32], (2, 4)>)\n",
        "      : (Tensor, Tensor, Scalar, Scalar) -> (Tensor)\n",
        "      # Fullname with scope: (Default/fc-Dense/MatMul-op0)\n"
        '      # In file /w/net.py:8, 12~24/        y = self.fc("a/b")/\n',
        "      # Corresponding code candidate:\n      # In file /w/net.py:9/\n",
        "      # Corresponding forward node candidate:\n      # In file /w/net.py:10/z/\n",
        "= TupleGetItem(%3, I64(0)) ",
        "      : (TupleUnfold, Scalar) -> (Tensor)\n",
        "-> (<Tuple[Tensor[Float32]*3], TupleShape((2, 4), (2, 4), (2, 1))>)\n"
        "      : (Tensor, Tensor, Tensor) -> (TupleUnfold)\n",
        "= PrimFunc_AssignAdd(%para4_enc/layer.0:step, "
        "Tensor(shape=[1], dtype=Int32, value=[1]), U) ",
        "(<Tensor[Float16], (2, 9)>, <Tuple[Int64], TupleShape(NoShape)>)",
        "      : (Tensor, Tuple) -> (Tensor)\n",
        "= UpdateState(UMonad[U], %",
        "\n  Return(%",
        "\n}\n# Order:\n#   1: @kernel_graph0:CNode_",
    ):
        assert line in text


def test_a_gradient_names_its_forward_operator():
    gradient = replace(CONCAT, forward_id=MATMUL.unique_id)
    text = write_ms_text(replace(GRAPH, ops=(MATMUL, NORM, gradient, RESHAPE, ASSIGN)))
    links = '{forward_node_name: "MatMul_9022", forward_unique_id: "9022"}'
    assert f"cnode_primal_attrs: {links}\n" in text
    unknown = 'cnode_primal_attrs: {forward_unique_id: "7837"}\n'  # of an operator elsewhere
    assert unknown in write_ms_text(GRAPH)


def test_weights_are_loaded_once_and_changed_where_they_lie():
    text = write_ms_text(
        replace(GRAPH, ops=(MATMUL, replace(MATMUL, name="b"), ASSIGN), outputs=())
    )
    assert text.count("= Load(%para1_") == 1
    assert "Load(%para4_" not in text


@pytest.mark.parametrize("key", ["w", ""])
@pytest.mark.parametrize("is_weight", [True, False])
def test_weights_with_a_key_are_references_and_nothing_else_is(is_weight, key):
    op = Op("Default/Add-op0", "Add", (Param(0),), {}, (F,), (F,))
    text = write_ms_text(Graph("g", (Parameter("w", F, is_weight, key),), (op,), (Value(0),)))
    loads = int(is_weight and key == "w")
    assert (text.count("= Load(%para1_w"), text.count("<Ref[")) == (loads, 2 * loads)
    assert parse_ms_text(text).ops[0].inputs == (Param(0),)


def test_the_counts_are_those_of_the_node_lines():
    text = write_ms_text(GRAPH)
    nodes = text.count("\n  %") + text.count("\n  Return(")
    assert f"Total number of cnodes: {nodes}\n" in text


@pytest.mark.parametrize("unfold", [True, False])
def test_tuples_keep_whether_they_are_unfolded(unfold):
    bundle = Bundle((Value(0), Const(2, "int64", ())), unfold)
    op = Op("Default/Stack-op0", "Stack", (bundle,), {}, (Y,), (None,), (), ())
    _, read = stated(replace(GRAPH, ops=(MATMUL, op), outputs=(Value(1),)))
    assert read.ops[1].inputs == (bundle,)


def test_a_graph_out_of_order_is_refused():
    with refused("graph_files/later-operand", GraphError, graph=GRAPH.name):
        write_ms_text(replace(GRAPH, ops=(NORM, MATMUL)))


def test_a_graph_without_operators_reads_back():
    graph = Graph("empty", (Parameter("x", F),), (), (Param(0),), dialect="mindspore")
    assert parse_ms_text(write_ms_text(graph)) == graph


def test_a_tensor_of_two_dimensions_spans_lines_and_reads_back():
    const = Const(tuple(range(6)), "float32", (2, 3))
    op = Op("Default/Add-op0", "Add", (Param(1), const), {}, (F,), (F, F), (F, F), (F,))
    graph = replace(GRAPH, ops=(op,), outputs=(Value(0),))
    assert "value=\n[[0 1 2]\n [3 4 5]])" in write_ms_text(graph)
    assert parse_ms_text(write_ms_text(graph)) == graph


def test_subgraphs_calls_and_free_values_read_back():
    inner = Graph(
        "body",
        (Parameter("n", Y),),
        (
            Op(
                "Default/Add-op9",
                "Add",
                (Param(0), FreeRef("kernel_graph0", "CNode_3")),
                {},
                (Y,),
                (Y, TensorSpec("Func", ())),
                (Y, Y),
                (Y,),
            ),
        ),
        (Value(0),),
        dialect="mindspore",
    )
    call = Op("(1)", "call", (GraphRef("body"), Value(0)), {}, (Y,), (Y,))
    graph = replace(GRAPH, ops=(MATMUL, call), outputs=(Value(1),), subgraphs=(inner,))
    read = parse_ms_text(write_ms_text(graph))
    assert "= call @body(%1)" in write_ms_text(graph)
    assert read == graph


def test_a_graph_that_others_call_says_so_as_real_ones_do():
    fc = nn.Dense(4, 4)

    def network(p, x):
        return functional.cond(p, fc, functional.tanh, functional.relu(x))

    entry, join, then, orelse = trace(network, np.bool_(True), np.ones((2, 4), np.float32)).graphs
    text = write_ms_text(then)
    head = [line for line in text.splitlines() if line.startswith("%para")]
    assert [line.partition(":")[0] for line in head[:2]] == [
        "%para1_dense0.weight",
        "%para2_dense0.bias",
    ]
    assert head[2:] == [  # as in MindSpore 2.10, which lists the state elsewhere
        "%para3_: <Tensor[Float32], (2, 4)>  :  <Float32xDefaultFormat[const vector]{2, 4}>  :  IsWeight: false",
        "%para4_u: <UMonad, NoShape>  :  <UMonadxDefaultFormat[const vector]{}>  :  IsWeight: false",
    ]
    assert "# Total params: 4" in text
    inner = Graph("body", (Parameter("n", Y),), (), (Param(0),), dialect="mindspore")
    behind = write_ms_text(replace(then, subgraphs=(inner,)))
    assert [line for line in behind.splitlines() if line.startswith("%para")] == head
    assert "# Total params: 4" in behind
    assert parse_ms_text(behind).subgraphs == (inner,)
    assert "Load(%para1_dense0.weight, %para4_u)" in text
    assert "UMonad[U]" not in text
    for graph in (entry, join, then, orelse):
        again = parse_ms_text(write_ms_text(graph))
        assert again.inner == graph.inner
        assert [op.op_type for op in again.ops] == [op.op_type for op in graph.ops]
        assert [op.inputs for op in again.ops] == [op.inputs for op in graph.ops]
