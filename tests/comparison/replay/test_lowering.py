"""What an operator of a dump computes, or the reason why nobody knows."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from kit.words import check_said
from workbench.comparison.align.align import align
from workbench.comparison.replay.kernel import compute_kernel
from workbench.comparison.replay.lowering import LOWERING_RULES, RANDOM, REGISTERS, lower
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Const, Graph, Op, Param, Parameter, Value
from workbench.graph_files.onnx.dialect import DOMAIN, OUTPUTS
from workbench.ops import COLLECTIVES, OPS
from workbench.ops.aliases import ALIASES
from workbench.ops.decompositions import DECOMPOSITIONS

RNG = np.random.default_rng(5)


def spec(*shape):
    return TensorSpec("float32", shape)


SQUARE = spec(2, 2)


def op(op_type, *inputs, outputs=(SQUARE,), name="op", input_specs=(), **attrs):
    return Op(name, op_type, inputs, attrs, outputs, input_specs)


def named(*pairs, **more):
    """Attributes of a kernel that stands for operators, as GE writes them."""
    return {
        "_datadump_original_op_names": tuple(name for name, _ in pairs),
        "_datadump_original_op_types": tuple(kind for _, kind in pairs),
        **more,
    }


def convolution(x, w):
    """1 x 1 convolution: a product over channels."""
    return np.einsum("nchw,oc->nohw", x.astype(np.float64), w[:, :, 0, 0].astype(np.float64))


IMAGE = RNG.standard_normal((2, 3, 4, 4)).astype(np.float32)
WEIGHT = RNG.standard_normal((5, 3, 1, 1)).astype(np.float32)
BIAS = RNG.standard_normal(5).astype(np.float32)
OUT = spec(2, 5, 4, 4)


# --- refusals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "code"),
    [(RANDOM, "random"), (REGISTERS, "overflow-status"), (COLLECTIVES, "other-ranks")],
)
def test_what_nobody_can_compute_again_is_refused_with_its_reason(kinds, code):
    for kind in kinds:
        work = lower(0, op(kind, Param(0)), None)
        assert work.kernel is None
        check_said(work.reason, f"compare/{code}", op_type=kind)


def test_an_unknown_type_is_refused_by_name():
    reason = lower(0, op("Quux", Param(0)), None).reason
    check_said(reason, "compare/no-kernel", op_type="Quux")


def test_too_few_inputs_are_a_reason_not_an_exception():
    work = lower(0, op("MatMul", Param(0)), None)
    assert work.kernel is None
    assert isinstance(work.reason.values["why"], GraphError)


# --- the order of the rules ----------------------------------------------------------------------

INT8 = {"input_specs": (SQUARE, TensorSpec("int8", (2, 2)))}
TWO = named(("a", "MatMul"), ("b", "ReLU"))
EXCLUSIVE = (
    [RANDOM, REGISTERS, COLLECTIVES],
    [OPS, ALIASES, DECOMPOSITIONS],
)
"""Sets of types that have none in common, so that the order of their rules decides nothing."""


@pytest.mark.parametrize("kinds", EXCLUSIVE)
def test_no_type_is_known_in_two_ways(kinds):
    assert [set(a) & set(b) for a, b in combinations(kinds, 2) if set(a) & set(b)] == []


@pytest.mark.parametrize(
    ("op_type", "count", "read", "given"),
    [
        ("FlashAttentionScore", 4, "uint8", "float32"),
        ("PromptFlashAttention", 4, "int8", "float32"),
        ("MaxPoolWithMask", 1, "float32", "int8"),
    ],
)
def test_a_mask_of_eight_bits_is_no_step_of_int8(op_type, count, read, given):
    specs = (SQUARE, SQUARE, SQUARE, TensorSpec(read, (2, 2)))
    masked = replace(
        op(op_type, *map(Param, range(count)), head_num=1),
        input_specs=specs,
        outputs=(SQUARE, TensorSpec(given, (2, 2))),
    )
    assert lower(0, masked, None).kernel is not None


BIASED = (Param(0), Param(1), Param(2))
WITH_BIAS = {"input_specs": (SQUARE, SQUARE, spec(2))}

ONNX = {OUTPUTS: ("y",)}
"""What a node of ONNX has beside its attributes."""

WORDED = (TensorSpec("int8", (2, 2)), TensorSpec("int8", (2, 2)), TensorSpec("uint64", (2,)))
"""What a layer of int8 reads: integers, and a word with a scale for every channel."""

BOTH = [
    (op("Dropout", Param(0)), "random", "table"),
    (op("StandardNormal", Param(0), **INT8), "random", "int8"),
    (op("NPUGetFloatStatusV2", Param(0)), "registers", "table"),
    (op("NPUGetFloatStatus", Param(0), **INT8), "registers", "int8"),
    (op("AllReduce", Param(0), Param(1), **INT8), "collectives", "int8"),
    (op("AllReduce", Param(0)), "collectives", "table"),
    (op("MatMul", *BIASED, input_specs=WORDED), "integers", "int8"),
    (op("MatMul", Param(0), Param(1), **TWO, **INT8), "int8", "fusion"),
    (op("MatMul", Param(0), Param(1), **TWO), "fusion", "table"),
    (op("MatMulV2", Param(0), Param(1), **TWO), "fusion", "spelling"),
    (op("MatMulExt", Param(0), Param(1), **TWO), "fusion", "expansion"),
    (op("MatMul", *BIASED, **TWO, **WITH_BIAS), "fusion", "bias"),
    (op("GeLU", Param(0), **TWO), "fusion", "formula"),
    (op("GeLU", Param(0)), "formula", "table"),
    (op("MatMul", *BIASED, **WITH_BIAS), "bias", "table"),
    (op("MatMulV2", *BIASED, **WITH_BIAS), "bias", "spelling"),
    (op("QuantizeLinear", Param(0), **INT8, **ONNX), "int8", "onnx"),
    (op("Relu", Param(0), **TWO, **ONNX), "onnx", "fusion"),
    (op("MatMul", Param(0), Param(1)), "table", "unknown"),
    (op("MatMulV2", Param(0), Param(1)), "spelling", "unknown"),
    (op("MatMulExt", Param(0), Param(1)), "expansion", "unknown"),
]  # fmt: skip
"""Operators that two rules apply to: the one that decides, and the other."""


@pytest.mark.parametrize(
    ("operator", "first", "second"), BOTH, ids=lambda one: one if isinstance(one, str) else ""
)
def test_where_two_rules_apply_the_first_one_decides(operator, first, second):
    applying = [rule.name for rule in LOWERING_RULES if rule.applies(operator)]
    assert applying[0] == first
    assert second in applying


NO_TYPE_IN_COMMON = {
    ("random", "registers"), ("registers", "collectives"), ("collectives", "integers"), ("formula", "bias"),
    ("table", "spelling"), ("spelling", "expansion"),
}  # fmt: skip
"""Neighbors that exclude each other: no type is in the sets of both (`EXCLUSIVE`); a product is no collective."""


def test_every_two_neighbors_have_a_case_or_exclude_each_other():
    cases = {(first, second) for _, first, second in BOTH}
    neighbors = [*pairwise(rule.name for rule in LOWERING_RULES)]
    assert [both for both in neighbors if (both in cases) == (both in NO_TYPE_IN_COMMON)] == []


# --- single operators --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op_type", "rule"),
    [("MatMul", "table"), ("MatMulV2", "spelling"), ("MatMulExt", "expansion")],
)
def test_three_ways_to_the_same_product(op_type, rule):
    work = lower(0, op(op_type, Param(0), Param(1)), None)
    x, y = RNG.standard_normal((2, 2, 2))
    assert work.rule == rule
    np.testing.assert_allclose(compute_kernel(work.kernel, {0: x, 1: y})[0], x @ y)


def test_a_node_of_onnx_is_computed_if_it_is_one_of_ours_under_another_name():
    work = lower(0, op("Relu", Param(0), **ONNX), None)
    assert work.rule == "spelling"
    np.testing.assert_array_equal(compute_kernel(work.kernel, {0: np.float32([-1, 2])})[0], [0, 2])


@pytest.mark.parametrize(
    "node",
    [
        op("Softmax", Param(0), axis=1, **ONNX),  # along all axes from 1 on before opset 13
        op("Flatten", Param(0), axis=2, **ONNX),
        op("ReduceMax", Param(0), **ONNX),  # ONNX keeps the axes if nothing is said
        op("MaxPool", Param(0), kernel_shape=(2, 2), strides=(1, 1), **ONNX),
        op("Relu", Param(0), **ONNX, **{DOMAIN: "my.ops"}),
        op("Add", Param(0), **ONNX),
    ],
    ids=lambda one: f"{one.attrs.get(DOMAIN, '')} {one.op_type}",
)
def test_a_node_of_onnx_that_only_sounds_like_ours_is_not_computed(node):
    work = lower(0, node, None)
    assert work.kernel is None
    check_said(work.reason, "compare/no-kernel", op_type=node.op_type)


def test_an_operator_that_stands_for_itself_is_plain():
    work = lower(0, op("ReLU", Param(0), **named(("a", "ReLU"))), None)
    assert work.rule == "table"


@pytest.mark.parametrize("op_type", ["MatMul", "ReLU", "Conv2D"])
def test_an_operator_with_more_inputs_than_its_row_has_is_not_computed(op_type):
    inputs = [Param(number) for number in range(len(OPS[op_type].arguments) + 1)]
    work = lower(0, op(op_type, *inputs), None)
    assert work.kernel is None
    assert work.reason.values["why"].code == "graph/inputs-count"


X, Y = RNG.standard_normal((2, 2, 3, 3)).astype(np.float32)
ROW = RNG.standard_normal(3).astype(np.float32)


@pytest.mark.parametrize(
    ("op_type", "read", "result"),
    [
        ("Conv2D", (IMAGE, WEIGHT, BIAS), convolution(IMAGE, WEIGHT) + BIAS[:, None, None]),
        ("MatMul", (X[0], Y[0], ROW), X[0].astype(np.float64) @ Y[0] + ROW),
        ("MatMulV2", (X[0], Y[0], ROW), X[0].astype(np.float64) @ Y[0] + ROW),
        ("BatchMatMulV2", (X, Y, ROW), X.astype(np.float64) @ Y + ROW),
    ],
)
def test_a_product_of_ge_adds_the_bias_that_it_reads(op_type, read, result):
    specs = tuple(spec(*array.shape) for array in read)
    given = (spec(*result.shape),)
    kernel = op(op_type, *BIASED, outputs=given, input_specs=specs, **named(("a", op_type)))
    work = lower(0, kernel, None)
    assert work.rule == "bias"
    found = compute_kernel(work.kernel, dict(enumerate(read)))[0]
    np.testing.assert_allclose(found, result, rtol=1e-6, atol=1e-6)


# --- fused kernels, by their types ---------------------------------------------------------------


def fused(**attrs):
    kinds = named(("conv", "Conv2D"), ("bias", "BiasAdd"), ("relu", "ReLU"))
    return op("Conv2D", Param(0), Param(1), Param(2), outputs=(OUT,), name="conv", **kinds, **attrs)


def test_a_chain_from_its_types_reads_its_inputs_in_order():
    work = lower(0, fused(), None)
    assert work.rule == "types"
    found = compute_kernel(work.kernel, {0: IMAGE, 1: WEIGHT, 2: BIAS})[0]
    expected = np.maximum(convolution(IMAGE, WEIGHT) + BIAS[:, None, None], 0)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_a_chain_that_does_not_name_its_bias_adds_it_to_the_product():
    """A node of ONNX has its bias itself, so that a kernel of it and a ReLU names two."""
    specs = tuple(spec(*one.shape) for one in (IMAGE, WEIGHT, BIAS))
    kinds = named(("conv", "Conv2D"), ("relu", "ReLU"))
    made = op("Conv2D", *BIASED, outputs=(OUT,), name="conv", input_specs=specs, **kinds)
    found = compute_kernel(lower(0, made, None).kernel, {0: IMAGE, 1: WEIGHT, 2: BIAS})[0]
    expected = np.maximum(convolution(IMAGE, WEIGHT) + BIAS[:, None, None], 0)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
def test_a_normalization_that_went_into_the_weights_is_no_part_of_a_chain(bias):
    """A compiler for inference leaves nothing of it but other weights, and its name."""
    kinds = named(("conv", "Conv2D"), ("bn", "BatchNorm"), ("relu", "ReLU"))
    arrays = (IMAGE, WEIGHT, BIAS)[: 2 + bias]
    specs = tuple(spec(*one.shape) for one in arrays)
    read = map(Param, range(len(arrays)))
    made = op("Conv2D", *read, outputs=(OUT,), name="conv", input_specs=specs, **kinds)
    found = compute_kernel(lower(0, made, None).kernel, dict(enumerate(arrays)))[0]
    expected = convolution(IMAGE, WEIGHT) + (BIAS[:, None, None] if bias else 0)
    np.testing.assert_allclose(found, np.maximum(expected, 0), rtol=1e-10, atol=1e-12)


def test_the_first_operator_of_a_chain_has_the_kernels_settings():
    work = lower(0, fused(stride=2), None)
    found = compute_kernel(work.kernel, {0: IMAGE, 1: WEIGHT, 2: BIAS})[0]
    expected = convolution(IMAGE, WEIGHT)[:, :, ::2, ::2] + BIAS[:, None, None]
    np.testing.assert_allclose(found, np.maximum(expected, 0), rtol=1e-10, atol=1e-12)


def test_a_chain_that_reads_more_than_its_types_do_is_refused():
    kinds = named(("a", "Add"), ("b", "ReLU"))
    work = lower(0, op("Add", Param(0), Param(1), Param(2), **kinds), None)
    assert work.kernel is None
    first, second = (work.reason.values[name] for name in ("first", "second"))
    check_said(first, "compare/fusion-inputs", kernel="Add+ReLU", more=1)
    assert second == Message("compare/no-network")


@pytest.mark.parametrize("second", ["Quux", "Transpose"])
def test_a_chain_of_which_settings_are_unknown_is_refused(second):
    work = lower(0, op("Add", Param(0), Param(1), **named(("a", "Add"), ("b", second))), None)
    assert work.kernel is None
    first = work.reason.values["first"]
    check_said(first, "compare/fusion-unknown", kernel=f"Add+{second}")


def test_a_convolution_that_begins_a_batch_normalization():
    """Part of a BatchNorm in training: the convolution's result, sums and sums of squares by channel."""
    kinds = named(("conv", "Conv2D"), ("bn", "BatchNorm"), _datadump_is_multiop=True)
    three = (OUT, spec(5), spec(5))
    work = lower(0, op("Conv2D", Param(0), Param(1), outputs=three, name="conv", **kinds), None)
    out, sums, squares = compute_kernel(work.kernel, {0: IMAGE, 1: WEIGHT})
    expected = convolution(IMAGE, WEIGHT)
    np.testing.assert_allclose(out, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sums.reshape(-1), expected.sum((0, 2, 3)), rtol=1e-10)
    np.testing.assert_allclose(squares.reshape(-1), (expected**2).sum((0, 2, 3)), rtol=1e-10)


def test_the_update_of_a_batch_normalization_with_its_activation():
    kinds = named(("bn", "BatchNorm"), ("relu", "ReLU"), _datadump_is_multiop=True)
    inputs = [Param(n) for n in range(7)]
    outputs = (OUT, *(spec(5),) * 4)
    settings = {"epsilon": 1e-3, "factor": 0.1}
    operator = op("BNTrainingUpdate", *inputs, outputs=outputs, name="bn", **kinds, **settings)
    x = RNG.standard_normal((2, 5, 4, 4)).astype(np.float32)
    wide = x.astype(np.float64)
    sums, squares = wide.sum((0, 2, 3)), (wide**2).sum((0, 2, 3))
    scale, offset = RNG.standard_normal((2, 5))
    read = dict(enumerate((x, sums, squares, scale, offset, np.zeros(5), np.ones(5))))
    work = lower(0, operator, None)
    found = compute_kernel(work.kernel, read)
    mean, var = wide.mean((0, 2, 3)), wide.var((0, 2, 3))
    at = (slice(None), None, None)
    normal = (wide - mean[at]) / np.sqrt(var + 1e-3)[at] * scale[at] + offset[at]
    tensors = [a for a in found if a.shape == x.shape]
    assert len(tensors) == 1
    np.testing.assert_allclose(tensors[0], np.maximum(normal, 0), rtol=1e-6, atol=1e-9)


# --- fused kernels, by the golden ----------------------------------------------------------------


def network(*, transpose_b):
    ops = (
        Op("fc", "MatMul", (Param(0), Param(1)), {"transpose_b": transpose_b}, (spec(2, 5),),
           (spec(2, 3), spec(5, 3))),
        Op("bias", "BiasAdd", (Value(0), Param(2)), {}, (spec(2, 5),), (spec(2, 5), spec(5))),
        Op("scale", "Mul", (Value(1), Const(3.0, "float32")), {}, (spec(2, 5),), (spec(2, 5), None)),
    )  # fmt: skip
    return Graph("net", _parameters(), ops, (Value(2),))


def _parameters():
    return (
        Parameter("x", spec(2, 3)),
        Parameter("fc.weight", spec(5, 3), True, "fc.weight"),
        Parameter("fc.bias", spec(5), True, "fc.bias"),
    )


def test_a_fused_kernel_computes_what_the_goldens_operators_do():
    kinds = named(("fc", "MatMul"), ("bias", "BiasAdd"), ("scale", "Mul"))
    kernel = Op("scale", "MatMulV2", (Param(0), Param(1), Param(2)), kinds, (spec(2, 5),),
                (spec(2, 3), spec(5, 3), spec(5)))  # fmt: skip
    target = Graph("compiled", _parameters(), (kernel,), (Value(0),), dialect="ge")
    found = align(target, network(transpose_b=True))
    work = lower(0, kernel, found)
    x, w, b = (RNG.standard_normal(s) for s in ((2, 3), (5, 3), (5,)))
    assert work.rule == "fusion", work.reason
    np.testing.assert_allclose(
        compute_kernel(work.kernel, {0: x, 1: w, 2: b})[0], 3 * (x @ w.T + b)
    )


# --- what a type does not say ----------------------------------------------------------------------

X = np.array([-3.0, -0.5, 0.0, 1.0, 2.5])
BY_TANH = [x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) for x in X]
BY_ERF = [x / 2 * (1 + math.erf(x / math.sqrt(2))) for x in X]


@pytest.mark.parametrize("op_type", ["GeLU", "Gelu"])
@pytest.mark.parametrize(
    ("attrs", "expected"),
    [({}, BY_ERF), ({"approximate": "none"}, BY_ERF), ({"approximate": "tanh"}, BY_TANH)],
    ids=["default", "none", "tanh"],
)
def test_the_node_of_onnx_says_which_formula_a_gelu_has(op_type, attrs, expected):
    """ONNX's own default is the error function."""
    x = Parameter("x", spec(5))
    node = Op("act", "Gelu", (Param(0),), {**ONNX, **attrs}, (spec(5),), (spec(5),))
    kernel = Op("act", op_type, (Param(0),), named(("act", "Gelu")), (spec(5),), (spec(5),))
    found = align(
        Graph("compiled", (x,), (kernel,), (Value(0),), dialect="ge"),
        Graph("net", (x,), (node,), (Value(0),), dialect="onnx"),
    )
    work = lower(0, kernel, found)
    np.testing.assert_allclose(compute_kernel(work.kernel, {0: X})[0], expected, rtol=1e-12)


def test_a_gelu_of_another_network_is_that_with_tanh():
    work = lower(0, op("GeLU", Param(0), input_specs=(spec(5),), outputs=(spec(5),)), None)
    np.testing.assert_allclose(compute_kernel(work.kernel, {0: X})[0], BY_TANH, rtol=1e-12)


# --- layers of int8 ------------------------------------------------------------------------------

DRAW = np.random.default_rng(3)
X8 = DRAW.integers(-128, 128, (2, 5), np.int8)
W8 = DRAW.integers(-128, 128, (5, 4), np.int8)
BIAS8 = DRAW.integers(-5000, 5000, 4, np.int32)
SCALES = np.array([2**-9, 2**-10, 1.5 * 2**-9, 2**-8], np.float32)
WORDS = SCALES.view(np.uint32).astype(np.uint64) | np.uint64(1 << 46)


def int8_layer(*arrays, types=("MatMul",)):
    """A product of int8 as GE fuses it: what it reads, the types that it stands for, and its result in float16."""
    specs = tuple(TensorSpec(array.dtype.name, array.shape) for array in arrays)
    names = named(*((f"n{number}", kind) for number, kind in enumerate(types)))
    gives = (TensorSpec("float16", (X8.shape[0], W8.shape[1])),)
    reads = map(Param, range(len(arrays)))
    return op("MatMul", *reads, outputs=gives, input_specs=specs, **names)


def by_loops(bias, relu):
    """The layer with Python's integers, which round nothing."""
    found = np.zeros((2, 4))
    for row in range(2):
        for column in range(4):
            total = sum(int(X8[row, k]) * int(W8[k, column]) for k in range(5))
            value = (total + (int(BIAS8[column]) if bias else 0)) * float(SCALES[column])
            found[row, column] = max(value, 0.0) if relu else value
    return found


@pytest.mark.parametrize(
    ("arrays", "types"),
    [
        ((X8, W8, WORDS), ("MatMul",)),
        ((X8, W8, BIAS8, WORDS), ("MatMul",)),
        ((X8, W8, WORDS), ("MatMul", "ReLU")),
        ((X8, W8, BIAS8, WORDS), ("MatMul", "Add", "ReLU")),
        ((X8, W8, BIAS8, WORDS), ("MatMul", "ReLU")),
    ],
)
def test_a_layer_of_int8_is_computed_on_its_integers(arrays, types):
    work = lower(0, int8_layer(*arrays, types=types), None)
    assert work.rule == "integers"
    (got,) = compute_kernel(work.kernel, dict(enumerate(arrays)))
    np.testing.assert_array_equal(got, by_loops(len(arrays) == 4, "ReLU" in types))


def test_what_a_layer_of_int8_goes_on_with_must_be_known():
    work = lower(0, int8_layer(X8, W8, WORDS, types=("MatMul", "Mul")), None)
    assert (work.kernel, work.reason.values["why"].code) == (None, "compare/fusion-unknown")


@pytest.mark.parametrize(("settings", "known"), [({"scale": 4.0}, True), ({}, False)])
def test_a_quantizer_is_computed_by_the_scale_that_it_states(settings, known):
    ends = {"input_specs": (SQUARE,), "outputs": (TensorSpec("int8", (2, 2)),)}
    work = lower(0, op("AscendQuant", Param(0), **ends, **settings), None)
    assert (work.kernel is not None) is known
    if not known:
        assert work.reason.code == "compare/int8-step"
    else:
        x = np.array([[0.6, -0.1], [100, -100]], np.float32)
        (got,) = compute_kernel(work.kernel, {0: x})
        assert got.tolist() == [[2, 0], [127, -128]]


def test_a_kernel_that_ends_in_int8_states_no_scale():
    """Whatever it is called after: a pooling that also quantizes says nothing of how."""
    ends = {"input_specs": (SQUARE,), "outputs": (TensorSpec("int8", (2, 2)),)}
    assert lower(0, op("MaxPool", Param(0), **ends), None).reason.code == "compare/int8-step"
