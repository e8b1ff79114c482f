"""Operators between a quantization and its end: which they are, and what is compared around them."""

from __future__ import annotations

import pytest

from kit.build.small_dumps import Net, ge_attr, ge_graph
from workbench.comparison.align.align import align
from workbench.comparison.graphs.quantization import find_quantised
from workbench.graph.graph import Value

WORDS = {"int8": "DT_INT8", "half": "DT_FLOAT16", "sums": "DT_INT32", "float": "DT_FLOAT"}


def op(name, type_, *inputs, gives=("half",), names=None):
    lines = [f'name: "{name}" type: "{type_}"', *(f'input: "{one}"' for one in inputs)]
    if names is not None:
        lines.append(ge_attr("_datadump_original_op_names", names))
    desc = 'output_desc {{ dtype: {} shape {{ dim: 4 dim: 4 }} layout: "ND" }}'
    lines += [desc.format(WORDS[word]) for word in gives]
    return "op { " + " ".join(lines) + " }"


UNIT = "resnet_v1_50/block1/unit_1/bottleneck_v1"
NEXT = "resnet_v1_50/block1/unit_2/bottleneck_v1"
RESNET = [  # as AMCT and GE make it of a ResNet of TensorFlow: a chain, and a sum that is int8 and float
    ("input", (), ("float",)),
    ("trans_Cast_0", ("input:0",), ("half",)),
    ("resnet_v1_50/conv1/Conv2Dresnet_v1_50/conv1/Relu", ("trans_Cast_0:0",), ("half",)),
    (f"resnet_v1_50/pool1/MaxPool{UNIT}/shortcut/act_quant/AscendQuant", ("@2:0",), ("int8",)),
    (
        f"{UNIT}/conv1/Conv2D{UNIT}/conv1/dequant/AscendDequant{UNIT}/conv2/act_quant/AscendQuant",
        ("@3:0",),
        ("int8",),
    ),
    ("trans_TransData_7", ("@4:0",), ("int8",)),
    (f"{UNIT}/conv3/Conv2D{UNIT}/conv3/dequant/AscendDequant", ("@5:0",), ("half",)),
    (
        f"{UNIT}/shortcut/Conv2D{UNIT}/shortcut/dequant/AscendDequant{UNIT}/add{UNIT}/Relu"
        f"{NEXT}/conv1/act_quant/AscendQuant",
        ("@3:0", "@6:0"),
        ("half", "int8"),
    ),
    (f"{NEXT}/conv1/anti_quant/AscendAntiQuant", ("@7:1",), ("half",)),
    (f"{NEXT}/conv1/Relu", ("@8:0", "@7:0"), ("half",)),
]


def test_a_network_of_amct_is_filtered_as_by_msaccucmp():
    names = [name for name, _, _ in RESNET]
    read = [
        [f"{names[int(one[1])]}{one[2:]}" if one[0] == "@" else one for one in inputs]
        for _, inputs, _ in RESNET
    ]
    graph = ge_graph(
        *(
            op(name, "Op", *inputs, gives=gives)
            for (name, _, gives), inputs in zip(RESNET, read, strict=True)
        )
    )
    found = find_quantised(graph)
    assert found.quant == {3, 4, 7}
    assert found.dequant == {6, 7, 8}
    assert found.inside == {4, 5, 6, 7, 8}
    assert found.integers == {Value(3), Value(4), Value(5), Value(7, 1)}
    # quant_filter hides an operator, this tensors: what a dequantizing kernel gives besides stays hidden
    shown = [n for n, one in enumerate(graph.ops) if not found.hides(n, "output", 0, one)]
    assert shown == [0, 1, 2, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("name", "names", "gives", "reads", "kind"),
    [
        ("res2a_branch2a_quant_layer", None, "int8", False, "quant"),
        ("conv1.weight_quant", None, "int8", False, "quant"),
        ("conv1.quant", None, "int8", True, "quant"),
        ("w/AscendWeightQuant", None, "int8", False, "quant"),
        ("kernel_1", ["conv1", "conv1/dequant/AscendDequant"], "half", True, "dequant"),
        ("conv1conv1_dequant_layer", None, "half", True, "dequant"),
        ("conv1.dequant", None, "float", True, "dequant"),
        ("res_anti_quant_layer", None, "half", True, "dequant"),
        ("conv1.quant", None, "half", False, ""),  # looks like one, but what it gives is no int8
        ("conv1.quant", None, "half", True, "inside"),
        ("conv1conv1_dequant_layer", None, "int8", True, "inside"),
        ("conv1.dequant", None, "half", False, ""),
        ("conv1", None, "sums", True, "inside"),
        ("conv1", None, "half", False, ""),
    ],
)
def test_names_and_dtypes_tell_what_an_operator_does(name, names, gives, reads, kind):
    before = op("x/AscendQuant" if reads else "x", "Op", gives=("int8" if reads else "half",))
    found = find_quantised(
        ge_graph(
            before,
            op(name, "Op", "x/AscendQuant:0" if reads else "x:0", gives=(gives,), names=names),
        )
    )
    assert (1 in found.quant, 1 in found.dequant) == (kind == "quant", kind == "dequant")
    assert (Value(1) in found.integers) == (kind in ("quant", "inside"))
    assert (1 in found.inside) == reads


def test_a_network_without_quantization_has_none():
    found = find_quantised(ge_graph(op("x", "Data", gives=("int8",)), op("y", "Cast", "x:0")))
    assert not found
    assert found == find_quantised(ge_graph(op("x", "Data")))


def amct(fused):
    """A network of two layers as AMCT gives it to GE, and as GE compiles it."""
    head = [
        op("x", "Data", gives=("float",)),
        op("w1", "Const", gives=("int8",)),
        op("w2", "Const", gives=("int8",)),
    ]
    quant = op("conv1/act_quant/AscendQuant", "AscendQuant", "x:0", gives=("int8",))
    if fused:
        first = "conv1/Conv2Dconv1/dequant/AscendDequantrelu1fc/act_quant/AscendQuant"
        body = [
            op(first, "Conv2D", "conv1/act_quant/AscendQuant:0", "w1:0", gives=("int8",),
               names=["conv1/Conv2D", "conv1/dequant/AscendDequant", "relu1", "fc/act_quant/AscendQuant"]),
            op("fc/MatMulfc/dequant/AscendDequant", "MatMul", f"{first}:0", "w2:0",
               names=["fc/MatMul", "fc/BiasAdd", "fc/dequant/AscendDequant"]),
        ]  # fmt: skip
        last = "fc/MatMulfc/dequant/AscendDequant:0"
    else:
        body = [
            op("conv1/Conv2D", "Conv2D", "conv1/act_quant/AscendQuant:0", "w1:0", gives=("sums",)),
            op("conv1/dequant/AscendDequant", "AscendDequant", "conv1/Conv2D:0"),
            op("relu1", "ReLU", "conv1/dequant/AscendDequant:0"),
            op("fc/act_quant/AscendQuant", "AscendQuant", "relu1:0", gives=("int8",)),
            op(
                "trans_TransData_3",
                "TransData",
                "fc/act_quant/AscendQuant:0",
                gives=("int8",),
                names=[],
            ),
            op("fc/MatMul", "MatMul", "trans_TransData_3:0", "w2:0", gives=("sums",)),
            op("fc/BiasAdd", "BiasAdd", "fc/MatMul:0", gives=("sums",)),
            op("fc/dequant/AscendDequant", "AscendDequant", "fc/BiasAdd:0"),
        ]
        last = "fc/dequant/AscendDequant:0"
    return ge_graph(*head, quant, *body, op("out", "NetOutput", last, gives=()))


def floats():
    net = Net()
    x, w1, w2 = net.feed("x"), net.weight("w1"), net.weight("w2")
    relu = net.op("ReLU", net.op("Conv2D", x, w1, name="conv1/Conv2D"), name="relu1")
    return net.graph(
        net.op("BiasAdd", net.op("MatMul", relu, w2, name="fc/MatMul"), name="fc/BiasAdd")
    )


@pytest.mark.parametrize(
    ("fused", "pairs"),
    [
        (
            False,
            {
                "conv1/dequant/AscendDequant": "conv1/Conv2D",
                "relu1": "relu1",
                "fc/dequant/AscendDequant": "fc/BiasAdd",
            },
        ),
        (True, {"fc/MatMulfc/dequant/AscendDequant": "fc/BiasAdd"}),
    ],
)
def test_layers_correspond_though_the_graph_names_only_what_amct_inserted(fused, pairs):
    graph = amct(fused)
    found = align(graph, floats())
    names = {
        found.target.graph.ops[a.number].name: found.golden.graph.ops[b.number].name
        for a, b in found.values.items()
        if b.kind == "op"
    }
    names |= {
        graph.ops[t].name: found.golden.graph.ops[g].name
        for t, g in found.match_of.items()
        if t not in found.fused and Value(t) not in found.quantised.integers
    }
    assert names == pairs
    assert found.groups == ()
    covered = {n for match in found.matches for n in match.golden}
    assert covered == set(range(4))


def test_a_graph_is_left_as_it_is_if_both_sides_have_integers():
    graph = amct(False)
    found = align(graph, amct(False))
    assert not found.quantised
    assert found.target.graph is graph
    assert len(found.match_of) >= 8
