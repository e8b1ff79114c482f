"""What is fused, how it is called, what it computes. The oracle is the network run operator by operator."""

from __future__ import annotations

import numpy as np
import pytest

from kit.arrays import outputs
from kit.build.programs import program_for
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Graph, Op, Param, Parameter, SourceTensor, Value
from workbench.network import nn
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import functional as F
from workbench.network.symbolic import Initial, record
from workbench.network.symbolic import Parameter as Weight
from workbench.network.tracer import trace
from workbench.npu.compile.fusions import FUSIONS, fuse
from workbench.npu.compile.patterns import Matcher, OpPattern, ScalarPattern, scalar
from workbench.npu.compile.quantize import Quantization
from workbench.npu.faults import parse_fault, with_compile_faults
from workbench.npu.numerics import numeric_model
from workbench.npu.runner import run_program
from workbench.run.reference import run_reference

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 5, 8)).astype(np.float32)
IMAGE = RNG.standard_normal((2, 4, 9, 9)).astype(np.float32)
A2 = numeric_model("a2")
CONV = "Default/conv1-Conv2d/Conv2D-op0"
RELU = "Default/relu-ReLU/ReLU-op0"


class Norm(nn.Cell):
    """LayerNorm by hand; ``square`` and ``root`` choose its spelling."""

    def __init__(self, square="square", root="rsqrt", axis=-1, epsilon=2**-6):
        self.gamma = Weight(Initial((8,), "normal", 1.0))
        self.beta = Weight(Initial((8,), "normal", 1.0))
        self.how = square, root, axis, epsilon

    def construct(self, x):
        square, root, axis, epsilon = self.how
        centred = x - F.mean(x, axis, True)
        spell = {"square": F.square, "mul": lambda y: y * y, "pow": lambda y: F.pow(y, 2.0)}
        spread = F.mean(spell[square](centred), axis, True) + epsilon
        y = centred * F.rsqrt(spread) if root == "rsqrt" else centred / F.sqrt(spread)
        return y * self.gamma + self.beta


def softmax(x):
    power = F.exp(x - record("ReduceMax", x, -1, True))
    return power / F.sum(power, -1, True)


def gelu(x):
    return x * 0.5 * (F.erf(x / 2**0.5) + 1.0)


def fused(graph, level="graph", off=()):
    return [op for op in fuse(graph, level, frozenset(off)).ops if op.fused is not None]


def compiled(graph, surface="mindspore-ge", off=(), device="a2", precision=""):
    return program_for(graph, surface, device, precision, off)


def kernels(program):
    """Operators of the program, those that only convert left out."""
    return [op for op in program.graph.ops if op.op_type not in ("Cast", "TransData")]


def golden_of(program, golden):
    """(name, slot) of a program's output → the golden tensor that it stands for."""
    found = {}
    for op in kernels(program):
        origins = op.provenance or [SourceTensor(op.name, s, o) for s, o in enumerate(op.outputs)]
        for slot, origin in enumerate(origins):
            if origin is not None:
                found[op.name, slot] = golden[origin.op_name, origin.slot]
    return found


def errors(graph, program, **more):
    """Relative error of every tensor of the network that the program still has."""
    ours = outputs(run_program(program, **more))
    theirs = golden_of(program, outputs(run_reference(graph)))
    return {
        key: float(np.linalg.norm(ours[key] - value) / np.linalg.norm(value))
        for key, value in theirs.items()
    }


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("off", [(), ("ALL",)])
def test_a_compiled_network_computes_what_the_network_says(name, off):
    graph = load_graph(name)
    program = compiled(graph, off=off)
    found = errors(graph, program)
    assert (len(kernels(program)) < len(graph.ops)) == (not off)
    assert 0 < max(found.values()) < 1e-3
    last = graph.outputs[0]
    assert (graph.ops[last.op].name, last.slot) in {
        (o.op_name, o.slot) for op in program.graph.ops for o in op.provenance if o is not None
    } | {(op.name, 0) for op in kernels(program) if not op.provenance}


@pytest.mark.parametrize(
    ("network", "x", "type_", "attrs"),
    [
        (
            Norm(),
            X,
            "LayerNorm",
            {"begin_norm_axis": 2, "begin_params_axis": -1, "epsilon": 2**-6},
        ),
        (Norm("mul", "sqrt", axis=2), X, "LayerNorm", {"epsilon": 2**-6}),
        (Norm("pow", "rsqrt", axis=(-1,), epsilon=0.5), X, "LayerNorm", {"epsilon": 0.5}),
        (softmax, X, "Softmax", {"axis": (2,)}),
        (gelu, X, "GeLU", {}),
        (nn.GELU(approximate=False), X, "GeLU", {}),
    ],
)
def test_a_function_spelled_out_becomes_one_kernel(network, x, type_, attrs):
    graph = trace(network, x)
    program = compiled(graph)
    (op,) = kernels(program)
    assert op.op_type == type_
    assert attrs.items() <= op.attrs.items()
    assert op.name.startswith(graph.ops[-1].name + "/")
    assert op.attrs["_datadump_original_op_names"] == tuple(one.name for one in graph.ops)
    assert op.attrs["_datadump_original_op_types"] == tuple(one.op_type for one in graph.ops)
    assert op.provenance[0] == SourceTensor(graph.ops[-1].name, 0, graph.ops[-1].outputs[0])
    assert max(errors(graph, program).values()) < 1e-6


def test_a_layer_norm_has_mean_and_variance_as_outputs_of_no_one():
    graph = trace(Norm(), X)
    program = compiled(graph)
    (op,) = kernels(program)
    assert [spec.shape for spec in op.outputs] == [(3, 5, 8), (3, 5, 1), (3, 5, 1)]
    assert op.provenance[1:] == (None, None)
    found = outputs(run_program(program))
    np.testing.assert_allclose(found[op.name, 1], X.mean(-1, keepdims=True), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found[op.name, 2], X.var(-1, keepdims=True), rtol=1e-4)


def two_axes(x):
    power = F.exp(x - record("ReduceMax", x, -1, True))
    return power / F.sum(power, 1, True)


def read_elsewhere(x):
    largest = record("ReduceMax", x, -1, True)
    power = F.exp(x - largest)
    return largest, power / F.sum(power, -1, True)


ALIKE = {
    "another axis": Norm(axis=1),
    "several axes": Norm(axis=(1, 2)),
    "two axes": two_axes,
    "a part is read elsewhere": read_elsewhere,
    "another root": lambda x: x * 0.5 * (F.erf(x / 2.0) + 1.0),
    "another factor": lambda x: x * 0.4 * (F.erf(x / 2**0.5) + 1.0),
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_only_looks_alike_stays_as_it_is(name):
    assert fused(trace(ALIKE[name], X)) == []


def test_two_readers_of_one_input_are_not_the_inside():
    graph = trace(lambda x: (softmax(x), F.exp(x)), X)
    assert [op.op_type for op in kernels(compiled(graph))] == ["Softmax", "Exp"]


def test_a_value_that_something_else_reads_is_not_hidden():
    class Net(nn.Cell):
        def __init__(self):
            self.conv1 = nn.Conv2d(4, 6, 3, has_bias=True)

        def construct(self, x):
            y = self.conv1(x)
            return F.relu(y), y

    graph = trace(Net(), IMAGE)
    program = compiled(graph)
    conv, relu = kernels(program)
    assert (conv.op_type, relu.op_type) == ("Conv2D", "ReLU")
    assert conv.name == CONV
    assert conv.provenance[0].op_name == graph.ops[1].name
    assert max(errors(graph, program).values()) < 1e-3


@pytest.mark.parametrize("surface", ["mindspore-ge", "acl"])
def test_names_are_strung_together_and_originals_kept_in_order(surface):
    graph = load_graph("lenet")
    program = compiled(graph, surface)
    first, product = kernels(program)[0], kernels(program)[5]
    assert first.name == CONV + RELU
    assert first.attrs["_datadump_original_op_names"] == (CONV, RELU)
    assert first.attrs["pad_mode"] == "same"
    names = [f"Default/fc1-Dense/{kind}-op0" for kind in ("MatMul", "BiasAdd")]
    assert product.name == names[0] + "Default/relu-ReLU/ReLU-op2"
    assert product.attrs["_datadump_original_op_names"] == (*names, "Default/relu-ReLU/ReLU-op2")
    assert product.attrs["_datadump_original_op_types"] == ("MatMul", "BiasAdd", "ReLU")
    assert (product.attrs["transpose_a"], product.attrs["transpose_b"]) == (False, True)
    assert product.attrs["has_bias"] is True
    assert [one.op_type for one in product.fused.ops] == ["MatMul", "BiasAdd", "ReLU"]
    assert product.provenance == (
        SourceTensor(product.attrs["_datadump_original_op_names"][2], 0, product.outputs[0]),
    )
    bias = program.graph.parameters[product.inputs[2].index].name
    assert (len(product.inputs), bias) == (3, "fc1.bias")


@pytest.mark.parametrize(("length", "strung"), [(300, False), (257, False), (256, True)])
def test_a_name_that_would_be_too_long_says_so_instead(length, strung):
    spec = TensorSpec("float32", (2, 2))
    names = ["a" * 256, "b" * length]
    ops = (
        Op(names[0], "MatMul", (Param(0), Param(1)), outputs=(spec,)),
        Op(names[1], "ReLU", (Value(0),), outputs=(spec,)),
    )
    graph = Graph("g", (Parameter("x", spec), Parameter("w", spec, True)), ops, (Value(1),))
    (op,) = fused(graph, "buffer")
    assert op.name == ("".join(names) if strung else names[0] + "_ub_fusion")
    assert op.attrs["_datadump_original_op_names"] == tuple(names)


@pytest.mark.parametrize("shape", [(6,), (1,), (9, 6)])
def test_an_addition_is_a_bias_if_it_has_a_number_a_column(shape):
    summand = RNG.standard_normal(shape).astype(np.float32)
    w = RNG.standard_normal((8, 6)).astype(np.float32)

    class Net(nn.Cell):
        def __init__(self):
            self.w, self.b = Weight(w), Weight(summand)

        def construct(self, x):
            return F.matmul(x, self.w) + self.b

    graph = trace(Net(), RNG.standard_normal((9, 8)).astype(np.float32))
    found = fused(graph)
    assert len(found) == (shape == (6,))
    assert max(errors(graph, compiled(graph)).values()) < 1e-6


OF_INT8 = frozenset(
    (
        "TbeCommonRules0FusionPass",
        "TbeConvDequantQuantFusionPass",
        "TbeEltwiseQuantFusionPass",
        "TbeFullyconnectionElemwiseDequantFusionPass",
        "TbePool2dQuantFusionPass",
    )
)
"""Fusions of quantized networks; they change no number but through float16."""


class Quantized(nn.Cell):
    """Convolutions with and without an activation between, a pooling, an addition, a dense layer."""

    def __init__(self):
        self.a, self.b = (nn.Conv2d(4, 4, 3, pad_mode="same") for _ in range(2))
        self.c, self.d = (nn.Conv2d(4, 4, 3, pad_mode="same", has_bias=True) for _ in range(2))
        self.pool = nn.MaxPool2d(2, 2)
        self.fc = nn.Dense(144, 5)

    def construct(self, x):
        y = self.b(self.a(x))
        y = F.relu(self.c(y))
        y = self.d(y)
        y = self.d(y + y)
        y = self.c(self.pool(F.concat((y, y), -1)))
        return F.relu(self.fc(F.reshape(y, (2, -1))))


@pytest.mark.parametrize("name", sorted(OF_INT8))
def test_fusions_of_int8_change_kernels_and_no_number(name):
    graph = trace(Quantized(), IMAGE)
    on, off = (
        program_for(graph, "acl", off=names, quantization=Quantization("w8a8"))
        for names in ((), (name,))
    )
    assert {op.name for op in kernels(on)} != {op.name for op in kernels(off)}
    for one, other in zip(results(on), results(off), strict=True):
        np.testing.assert_array_equal(one, other)


def results(program):
    """What a program returns."""
    found = {
        (r.key.op_name, r.key.slot): r.source.array()
        for r in run_program(program)
        if r.key.io == "output"
    }
    ops = program.graph.ops
    return [found[ops[value.op].name, value.slot] for value in program.graph.outputs]


def test_what_is_quantized_stays_a_tensor_if_asked_for():
    graph = trace(Quantized(), IMAGE)
    for dumpable in (False, True):
        program = program_for(
            graph, "torchair", quantization=Quantization("w8a8"), quant_dumpable=dumpable
        )
        made_of = [[op.op_type for op in one.fused.ops] for one in kernels(program) if one.fused]
        assert any(kinds[-1] == "AscendQuant" for kinds in made_of) is not dumpable
        assert any("AscendDequant" in kinds for kinds in made_of)


SPLITS = (
    "AddNFusionPass", "FusedBatchnormFusionPass", "TbeBnupdateEltwiseEltwiseFusionPass",
    "TbeBnupdateEltwiseFusionPass", "TbeConvBnreduceFusionPass", "ZConcatDFusionPass",
)  # fmt: skip
"""Fusions that are about operators in several parts: `test_splitting`."""


OF_TRAINING = ("MomentumLossscaleFusionPass", "MulAddNPass")
"""Fusions of optimizers: `test_training_fusions`."""


@pytest.mark.parametrize("name", sorted(FUSIONS.keys() - OF_INT8 - {*SPLITS, *OF_TRAINING}))
def test_every_fusion_can_be_switched_off(name):
    networks = [Norm(), softmax, gelu, nn.Dense(8, 4, activation="relu")]
    graphs = [*(trace(one, X) for one in networks), load_graph("alexnet"), load_graph("resnet")]
    for graph in graphs:
        with_it = {op.name for op in kernels(compiled(graph, "acl"))}
        without = compiled(graph, "acl", off=[name])
        if with_it != {op.name for op in kernels(without)} or name == "AABiasaddConvFusion":
            break
    else:
        pytest.fail("nothing uses it")
    assert max(errors(graph, without).values()) < 1e-3


SUMS = {
    "a number": (lambda x, y: (x * 0.5, y), "FusedMulAddN"),
    "more than two": (lambda x, y: (x * 0.5, y, y), "Mul AddN"),
    "the second": (lambda x, y: (y, x * 0.5), "Mul AddN"),
    "a tensor": (lambda x, y: (x * y, y), "Mul AddN"),
}


@pytest.mark.parametrize("what", SUMS)
def test_a_sum_of_two_takes_in_the_number_that_its_first_is_scaled_by(what):
    summands, want = SUMS[what]
    graph = trace(lambda x, y: record("AddN", summands(x, y)), X, X)
    program = compiled(graph)
    assert " ".join(op.op_type for op in kernels(program)) == want
    assert max(errors(graph, program).values()) < 1e-6


def test_a_long_sum_is_searched_in_no_time():
    """Not in every order of its 60 summands."""
    graph = trace(lambda x: record("AddN", (F.relu(x),) * 60), X)
    assert [op.op_type for op in kernels(compiled(graph))] == ["ReLU", "AddN"]


def test_a_950_fuses_nothing_in_its_buffer():
    graph = load_graph("lenet")
    types = [op.op_type for op in kernels(compiled(graph, device="950"))]
    assert types.count("ReLU") == 4
    assert "BiasAdd" not in types  # but in the graph


def test_an_unknown_fusion_is_refused():
    graph = load_graph("mlp")
    with refused("core/choice", GraphError, subject="fusion", got="Nothing"):
        compiled(graph, off=["Nothing"])


def test_a_constant_setting_becomes_an_attribute():
    graph = trace(lambda x: F.softmax(F.reshape(x, (3, 40)), -1), X)
    program = compiled(graph)
    reshape, soft = program.graph.ops
    assert (reshape.inputs, reshape.attrs["shape"]) == ((Param(0),), (3, 40))
    assert (soft.inputs, soft.attrs["axis"]) == ((Value(0),), (-1,))


def test_an_operator_whose_axis_is_an_attribute_is_one_with_a_kernel():
    graph = trace(lambda x: F.concat((x, x), 1), X)
    (op,) = kernels(compiled(graph))
    assert (op.op_type, op.attrs["axis"]) == ("ConcatD", 1)
    assert max(errors(graph, compiled(graph)).values()) == 0


def test_nothing_is_rounded_between_fused_operators():
    graph = load_graph("mlp")
    name = "Default/body-SequentialCell/0-Dense/MatMul-op0"
    program = compiled(graph, device="910a", precision="force_fp16")
    first = kernels(program)[0]
    found = outputs(run_program(program))[first.name, 0]
    values = {p.name: p.default.astype(np.float16).astype(np.float32) for p in graph.parameters}
    w, b = values["body.0.weight"], values["body.0.bias"]
    exact = np.maximum(values["x"].astype(np.float64) @ w.T + b, 0)
    assert first.name.startswith(name)
    assert found.dtype == np.float16
    half = exact.astype(np.float16).astype(np.float64)
    np.testing.assert_allclose(found, half, rtol=2**-10)
    assert np.mean(found == half) > 0.99  # a rounding in between would miss many


@pytest.mark.parametrize(
    "text",
    [
        "scaled-output:Default/fc1-Dense/MatMul-op0:1.5",
        "half-accumulation:Default/fc1-Dense/MatMul-op0",
        "scaled-output:Default/relu-ReLU/ReLU-op2:1.5",
        "wrong-attribute:Default/conv1-Conv2d/Conv2D-op0:pad_mode=pad,pad=2,dilation=1",
        "scaled-output:Default/fc1-Dense/MatMul-op0Default/relu-ReLU/ReLU-op2:1.5",
        "wrong-weight-element:Default/fc1-Dense/MatMul-op0:4000",
    ],
)
def test_a_fault_works_inside_a_fused_operator(text):
    graph, fault = load_graph("lenet"), parse_fault(text)
    program = compiled(with_compile_faults(graph, [fault]))
    clean, faulty = errors(graph, compiled(graph)), errors(graph, program, faults=[fault])
    names = [op.name for op in kernels(program)]
    place = next(
        n for n, name in enumerate(names) if fault.op_name in name or name.endswith(fault.op_name)
    )
    for name in names[:place]:
        assert faulty[name, 0] == clean[name, 0]
    if "pad=2" in text:  # what `same` means for a window of five: no fault at all
        assert faulty == clean
    else:
        assert faulty[names[place], 0] > 1.5 * clean[names[place], 0]


def test_a_fault_that_meets_a_part_does_not_strike_the_whole_too():
    graph, fault = load_graph("lenet"), parse_fault("scaled-output:MatMul:2")
    program = compiled(graph)
    clean, faulty = outputs(run_program(program)), outputs(run_program(program, faults=[fault]))
    name = kernels(program)[5].name
    relu = np.maximum  # (2 · x w + b) is not 2 · (x w + b)
    bias = next(p.default for p in graph.parameters if p.name == "fc1.bias")
    x = clean[kernels(program)[4].name, 0].astype(np.float64)
    w = next(p.default for p in graph.parameters if p.name == "fc1.weight").astype(np.float64)
    np.testing.assert_allclose(faulty[name, 0], relu(2 * (x @ w.T) + bias, 0), rtol=1e-4, atol=1e-5)


def test_a_failing_part_stops_the_whole():
    graph, fault = (
        load_graph("lenet"),
        parse_fault("aicore-exception:Default/fc1-Dense/BiasAdd-op0"),
    )
    program = compiled(graph)
    records = list(run_program(program, faults=[fault]))
    assert records[-1].key.op_name == kernels(program)[5].name
    assert records[-1].event.kind == "failure"
    assert not records[-1].source.array().any()


def test_a_fault_in_no_operator_of_network_or_program_is_refused():
    program = compiled(load_graph("lenet"))
    with refused("run/fault-nowhere", GraphError, graph="LeNet"):
        list(run_program(program, faults=[parse_fault("wrong-sign:Default/fc9")]))


# ---------------- how a part of a graph is found by its shape

ROW = TensorSpec("float32", (3,))
HALF = Const(0.5, "float32", ())


def line(*ops, outputs=None):
    """Operators by type and operands, on an input and a weight."""
    made = tuple(Op(f"o{k}", kind, operands, {}, (ROW,)) for k, (kind, operands) in enumerate(ops))
    parameters = (Parameter("x", ROW), Parameter("w", ROW, is_weight=True))
    return Graph("g", parameters, made, (Value(len(made) - 1),) if outputs is None else outputs)


SQUARED = OpPattern("Add", (OpPattern("Mul", ("x", "x"), role="square"), "rest"))
LESS = OpPattern("Sub", ("a", OpPattern("Neg", ("b",))))
MATCHED = [
    (SQUARED, line(("Mul", (Param(0), Param(0))), ("Add", (Value(0), Param(1)))),
     ({"x": Param(0), "rest": Param(1)}, {"square": 0}, {0, 1})),
    (SQUARED, line(("Mul", (Param(0), Param(0))), ("Add", (Param(1), Value(0)))),
     ({"x": Param(0), "rest": Param(1)}, {"square": 0}, {0, 1})),
    (SQUARED, line(("Mul", (Param(0), Param(1))), ("Add", (Value(0), Param(1)))), None),
    (SQUARED, line(("Square", (Param(0),)), ("Add", (Value(0), Param(1)))), None),
    (SQUARED, line(("Mul", (Param(0), Param(0))), ("Sub", (Value(0), Param(1)))), None),
    (LESS, line(("Neg", (Param(0),)), ("Sub", (Value(0), Param(1)))), None),
    (LESS, line(("Neg", (Param(0),)), ("Sub", (Param(1), Value(0)))),
     ({"a": Param(1), "b": Param(0)}, {}, {0, 1})),
    (OpPattern("Mul Add", ("a", ScalarPattern(0.5))), line(("Mul", (HALF, Param(0)))),
     ({"a": Param(0)}, {}, {0})),
    (OpPattern("Mul", ("a", ScalarPattern(0.501))), line(("Mul", (HALF, Param(0)))), None),
    (OpPattern("Mul", ("a", ScalarPattern(0.50049))), line(("Mul", (HALF, Param(0)))), ({"a": Param(0)}, {}, {0})),
    (OpPattern("Neg", ("a", "b")), line(("Neg", (Param(0),))), None),
    (OpPattern("Unknown", ("a",)), line(("Unknown", (Param(0),))), None),
    (OpPattern("Unknown"), line(("Unknown", (Param(0),))), ({}, {}, {0})),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "graph", "found"), MATCHED, ids=range(len(MATCHED)))
def test_a_part_is_found_by_types_operands_and_scalars(pattern, graph, found):
    part = Matcher(graph).find(len(graph.ops) - 1, pattern)
    if found is None:
        assert part is None
    else:
        assert (dict(part.names), dict(part.roles), set(part.members)) == found


READ_LATER = line(("Neg", (Param(0),)), ("Abs", (Value(0),)), ("Exp", (Value(0),)))
INSIDE = OpPattern("Abs", (OpPattern("Neg", ("x",)),))
SHOWN = OpPattern("Abs", (OpPattern("Neg", ("x",), shown=True),))


def test_the_inside_of_a_part_is_read_by_nobody_else_unless_it_is_shown():
    assert Matcher(READ_LATER).find(1, INSIDE) is None
    assert Matcher(READ_LATER).find(1, SHOWN).members == {0, 1}
    earlier = line(("Neg", (Param(0),)), ("Exp", (Value(0),)), ("Abs", (Value(0),)))
    assert Matcher(earlier).find(2, SHOWN) is None
    result = line(("Neg", (Param(0),)), ("Abs", (Value(0),)), outputs=(Value(1), Value(0)))
    assert Matcher(result).find(1, INSIDE) is None
    assert Matcher(result).find(1, SHOWN).members == {0, 1}
    alone = line(("Neg", (Param(0),)), ("Abs", (Value(0),)))
    assert Matcher(alone).find(1, INSIDE).members == {0, 1}


def test_a_matcher_knows_weights_and_readers():
    matcher = Matcher(READ_LATER)
    assert [matcher.is_weight(one) for one in (Param(0), Param(1), Value(0), HALF)] == [
        False,
        True,
        False,
        False,
    ]
    assert [matcher.readers(number) for number in range(3)] == [{1, 2}, set(), {-1}]
    assert matcher.op(Value(1)) is READ_LATER.ops[1]
    assert matcher.op(Param(0)) is None


SCALARS = [
    (HALF, 0.5), (Const(2, "int64"), 2.0), (Const((3,), "tuple", (1,)), 3.0), (Const([4.0], "float32", (1,)), 4.0),
    (Const(True, "bool", ()), None), (Const((1, 2), "tuple"), None), (Const(0.5, "float32", (2,)), None),
    (Const("valid", "str"), None), (Param(0), None), (Value(0), None),
]  # fmt: skip


@pytest.mark.parametrize(("operand", "number"), SCALARS, ids=range(len(SCALARS)))
def test_a_scalar_is_one_number(operand, number):
    assert scalar(operand) == number


# ---------------- normalization in a convolution


class Normed(nn.Cell):
    """A convolution, perhaps with a bias, and a normalization with moments of its own."""

    def __init__(self, has_bias):
        self.conv = nn.Conv2d(4, 6, 3, has_bias=has_bias)
        self.norm = nn.BatchNorm2d(6)
        draw = np.random.default_rng(4)
        for weight in (
            self.norm.gamma,
            self.norm.beta,
            self.norm.moving_mean,
            self.norm.moving_variance,
        ):
            weight.set_data(draw.uniform(0.5, 1.5, 6).astype(np.float32))

    def construct(self, x):
        return self.norm(self.conv(x))


@pytest.mark.parametrize("has_bias", [True, False])
def test_a_normalization_goes_into_a_convolution_of_constants(has_bias):
    graph = trace(Normed(has_bias), IMAGE)
    program = compiled(graph, "acl", precision="must_keep_origin_dtype")
    (conv,) = kernels(program)
    assert (conv.op_type, conv.attrs["has_bias"], len(conv.inputs)) == ("Conv2D", True, 3)
    assert conv.provenance == (SourceTensor(graph.ops[-1].name, 0, graph.ops[-1].outputs[0]),)
    (want,) = [outputs(run_reference(graph))[graph.ops[-1].name, 0]]
    np.testing.assert_allclose(
        outputs(run_program(program))[conv.name, 0], want, rtol=2e-2, atol=2e-2
    )


class FedMoments(Normed):
    def construct(self, x, mean):
        norm = self.norm
        return F.batch_norm(self.conv(x), norm.gamma, norm.beta, mean, norm.moving_variance)


def test_a_normalization_of_moments_that_are_fed_stays():
    graph = trace(FedMoments(False), IMAGE, np.ones(6, np.float32))
    assert not [op for op in fuse(graph, "graph", frozenset()).ops if "Host" in op.op_type]
