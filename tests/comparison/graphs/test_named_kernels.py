"""Kernels that files name: which nodes of another framework's model they stand for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.build.small_dumps import Net
from workbench.comparison.graphs.ge_origins import is_inserted, original_names
from workbench.comparison.graphs.named_kernels import compiled_as, take_apart
from workbench.graph.graph import Value
from workbench.graph_files.onnx.dialect import DIALECT, OUTPUTS

APART = {
    "one name": ("conv1", {"conv1"}, []),
    "two names": ("conv1relu1", {"conv1", "relu1"}, [("conv1", "relu1")]),
    "three names": ("abc", {"a", "b", "c"}, [("a", "b", "c")]),
    "slashes, as files have them": ("_a_Conv_b_Relu", {"_a_Conv", "_b_Relu"}, [("_a_Conv", "_b_Relu")]),
    "a rest that is no name": ("conv1relu1x", {"conv1", "relu1"}, []),
    "a beginning that is none": ("xconv1relu1", {"conv1", "relu1"}, []),
    "two ways": ("abc", {"a", "bc", "ab", "c"}, [("a", "bc"), ("ab", "c")]),
    "nothing known": ("ab", set(), []),
    "no name": ("", {"a"}, []),
}  # fmt: skip


@pytest.mark.parametrize(("name", "known", "ways"), APART.values(), ids=APART)
def test_a_name_is_taken_apart_into_known_ones(name, known, ways):
    assert sorted(take_apart(name, known)) == sorted(ways)


def test_a_name_of_very_many_parts_is_soon_given_up():
    assert take_apart("a" * 3000, {"a", "aa"}) == []


def model(branch=False):
    """conv, relu and pool in a row, and an addition of both ends; with a branch the addition reads conv, too."""
    net = Net()
    conv = net.op("Conv", net.feed("x"), net.weight("w"), name="conv")
    relu = net.op("Relu", conv, name="net/relu")
    pool = net.op("MaxPool", relu, name="pool")
    net.op("Add", pool, conv if branch else relu, name="add")
    graph = net.graph()
    ops = tuple(replace(op, attrs={OUTPUTS: (op.name,)}) for op in graph.ops)
    return replace(graph, ops=ops, dialect=DIALECT)


FILES = {
    "a kernel of two": (
        [("Conv2D", "convnet_relu")], False, [("convnet_relu", ("conv", "net/relu")), ("pool", None), ("add", None)],
    ),
    "kernels of one": (
        [("Conv2D", "conv"), ("Add", "add")], False,
        [("conv", ("conv",)), ("net/relu", None), ("pool", None), ("add", ("add",))],
    ),
    "a part that has a file of its own": (
        [("Conv2D", "convnet_relu"), ("Relu", "net_relu")], False,
        [("conv", None), ("net_relu", ("net/relu",)), ("pool", None), ("add", None)],
    ),
    "a first part that others read": (
        [("Conv2D", "convnet_relu")], True,
        [("conv", None), ("net/relu", None), ("pool", None), ("add", None)],
    ),
    "parts that do not hang together": (
        [("Conv2D", "convpool")], False,
        [("conv", None), ("net/relu", None), ("pool", None), ("add", None)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "branch", "expected"), FILES.values(), ids=FILES)
def test_a_kernel_stands_for_the_nodes_in_its_name(files, branch, expected):
    found = compiled_as(model(branch), files)
    assert [(op.name, original_names(op)) for op in found.ops] == expected


def test_a_kernel_reads_what_its_nodes_read_from_outside():
    found = compiled_as(model(), [("Conv2D", "convnet_relu"), ("Cast", "trans_Cast_3")])
    kernel, pool, add, cast = found.ops
    assert kernel.inputs == model().ops[0].inputs
    assert (pool.inputs, add.inputs) == ((Value(0),), (Value(1), Value(0)))
    assert (found.dialect, found.outputs, kernel.op_type) == ("ge", (Value(2),), "Conv2D")
    assert is_inserted(cast)


def layers():
    """A product, its bias and an activation in a scope, and a product in another."""
    net = Net()
    product = net.op("MatMul", net.feed("x"), net.weight("w"), name="/ffn/fc1/MatMul")
    biased = net.op("Add", product, net.weight("b"), name="/ffn/fc1/Add")
    relu = net.op("Relu", biased, name="/ffn/Relu")
    net.op("MatMul", relu, net.weight("v"), name="/head/Gemm")
    graph = net.graph()
    ops = tuple(replace(op, attrs={OUTPUTS: (op.name,)}) for op in graph.ops)
    return replace(graph, ops=ops, dialect=DIALECT)


FFN = ("/ffn/fc1/MatMul", "/ffn/fc1/Add", "/ffn/Relu")
LAYERS = {
    "a bias that went into the weights of its product": (
        [("MatMul", "_ffn_fc1_MatMul_ffn_Relu")], {"_ffn_fc1_MatMul_ffn_Relu": FFN},
    ),
    "a layer with what ends its integers": (
        [("MatMul", "_ffn_fc1_MatMul_ffn_fc1_dequant_AscendDequant_ffn_Relu")],
        {"_ffn_fc1_MatMul_ffn_fc1_dequant_AscendDequant_ffn_Relu": FFN},
    ),
    "an activation that quantizes for the next layer": (
        [("MatMul", "_ffn_fc1_MatMul"), ("Add", "_ffn_fc1_Add"), ("Relu", "_ffn_Relu_head_act_quant_AscendQuant")],
        {"_ffn_fc1_MatMul": FFN[:1], "_ffn_fc1_Add": FFN[1:2], "_ffn_Relu_head_act_quant_AscendQuant": FFN[2:]},
    ),
    "sums and what makes floats of them, in two files": (
        [("MatMul", "_head_Gemm"), ("AscendDequant", "_head_dequant_AscendDequant")],
        {"_head_dequant_AscendDequant": ("/head/Gemm",), "_head_Gemm": ()},
    ),
    "a quantizing kernel of its own": (
        [("AscendQuant", "_head_act_quant_AscendQuant")], {"_head_act_quant_AscendQuant": ()},
    ),
    "floats of a layer that no node is in": ([("AscendDequant", "_else_dequant_AscendDequant")], {}),
}  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), LAYERS.values(), ids=LAYERS)
def test_what_a_quantization_tool_inserts_belongs_to_its_layer(files, expected):
    found = compiled_as(layers(), files)
    stands = {op.name: original_names(op) for op in found.ops}
    assert {name: names for name, names in stands.items() if names is not None} == expected
