"""One arithmetic: what a device computes of an operator, and what a replay computes of its dump, bit for bit."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from ops.cases import CASES

from kit.build.programs import target_for
from kit.words import refused
from workbench.comparison.replay.attempt import cast_like
from workbench.comparison.replay.kernel import compute_kernel
from workbench.comparison.replay.models import arithmetic_of
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Graph, Kernel, Op, Param, Parameter, Value
from workbench.npu.arithmetic import Arithmetic, compute, load, round_to, store
from workbench.npu.compile.pipeline import OP_BY_OP, compile_graph
from workbench.npu.numerics import numeric_model
from workbench.npu.orders import Order, Orders, sequential
from workbench.npu.runner import run_program
from workbench.ops import COLLECTIVES, OPS, infer_outputs

DEVICES = [
    ("a2", None),
    ("910a", None),
    ("a2", "force_fp16"),
    ("950", "must_keep_origin_dtype"),
    ("a2", "allow_mix_precision_bf16"),
]
ALONE = {"NPUGetFloatStatusV2", "NPUClearFloatStatusV2", *COLLECTIVES}
"""What a replay does not compute: the register of the device, and what needs the other ranks."""


def operator(name, arrays, settings):
    """One operator on parameters, its settings as attributes."""
    row = OPS[name]
    specs = tuple(TensorSpec(one.dtype.name, one.shape) for one in arrays)
    params = tuple(Param(slot) for slot in range(len(arrays)))
    inputs = (Bundle(params),) if row.tensors < 0 else params
    if row.places:
        tensors = dict(zip(row.places, params, strict=True))
        known = {**row.defaults, **settings}
        inputs = tuple(
            tensors.get(place, Const(known.get(argument), ""))
            for place, argument in enumerate(row.arguments[: max(row.places) + 1])
        )
    return Op("x", name, inputs, dict(settings), infer_outputs(name, specs, settings), specs)


def graph_of(op, arrays):
    pairs = zip(op.input_specs, arrays, strict=True)
    parameters = tuple(
        Parameter(f"p{slot}", spec, False, default=array)
        for slot, (spec, array) in enumerate(pairs)
    )
    return Graph("g", parameters, (op,), tuple(Value(0, slot) for slot in range(len(op.outputs))))


def flat(op):
    """The operator on its own flat inputs, as a replay has them, and which parameter each is."""
    operands = list(op.flat_inputs())

    def place(operand):
        if isinstance(operand, Bundle):
            return Bundle(tuple(map(place, operand.items)))
        return Param(operands.index(operand)) if isinstance(operand, Param) else operand

    kernel_op = Op(
        "x", op.op_type, tuple(map(place, op.inputs)), op.attrs, op.outputs, op.input_specs
    )
    return kernel_op, {n: one.index for n, one in enumerate(operands) if isinstance(one, Param)}


def as_a_kernel(graph, device, mode):
    """The program of an operator itself, even where the framework would ask a register in its place."""
    return compile_graph(graph, target_for(device=device, precision=mode), OP_BY_OP[1:])


@pytest.mark.parametrize("name", sorted(CASES.keys() - ALONE))
def test_device_and_replay_give_the_same_bits(name):
    for (device, mode), (given, settings) in itertools.product(DEVICES, CASES[name].examples):
        model = numeric_model(device, mode)
        arrays = [np.asarray(one) for one in given]
        arrays = [one.astype(np.float32) if one.dtype == np.float64 else one for one in arrays]
        op = operator(name, arrays, settings)
        graph = graph_of(op, arrays)
        dumped = {
            one.key.slot: one.source.array()
            for one in run_program(as_a_kernel(graph, device, mode))
            if (one.key.op_name, one.key.io) == ("x", "output")
        }
        assert dumped
        kernel_op, places = flat(op)
        how = arithmetic_of(model, graph, 0, model.formats(graph)[0])
        read = {slot: arrays[place] for slot, place in places.items()}
        results = compute_kernel(Kernel((kernel_op,), graph.outputs), read, how)
        for slot, array in dumped.items():
            again = cast_like(results[slot], array, saturates=how.saturates)
            assert again.tobytes() == array.tobytes(), (device, mode, slot, again, array)


# ---------------- what a unit loads and stores, number by number

BIG, NAN, INF = 1e6, np.nan, np.inf
LARGEST = float(np.finfo(np.float32).max)
LOADED = [
    (np.float32, Arithmetic(), [0.1, INF], np.float64, [float(np.float32(0.1)), INF]),
    (np.float16, Arithmetic("float32"), [0.1], np.float32, [float(np.float16(0.1))]),
    (np.float32, Arithmetic("cube"), [0.1], np.float32, [float(np.float32(0.1))]),
    (np.float32, Arithmetic("cube", inputs="float16"), [0.1, BIG], np.float32, [float(np.float16(0.1)), INF]),
    (np.float32, Arithmetic("cube", inputs="float16", saturates=True), [BIG, -BIG, NAN],
     np.float32, [65504, -65504, 0]),
    (np.float32, Arithmetic("float32", saturates=True), [INF, -INF, NAN, 2], np.float32, [LARGEST, -LARGEST, 0, 2]),
    (np.float64, Arithmetic("float32", inputs="float16", saturates=True), [0.1, INF], np.float64, [0.1, INF]),
    (np.int32, Arithmetic("float32", inputs="float16"), [1 << 24, 7], np.int32, [1 << 24, 7]),
    (np.bool_, Arithmetic("float32", inputs="float16"), [True, False], np.bool_, [True, False]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "how", "values", "dtype", "want"), LOADED, ids=range(len(LOADED))
)
def test_an_input_is_read_in_the_precision_and_format_of_its_unit(given, how, values, dtype, want):
    found = load(np.array(values, given), how)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, want)


STORED = [
    (np.float32, "float32", False, [0.1, INF, NAN], [float(np.float32(0.1)), INF, NAN]),
    (np.float32, "float16", False, [0.1, BIG, -BIG, NAN], [float(np.float16(0.1)), INF, -INF, NAN]),
    (np.float32, "float16", True, [0.1, BIG, -INF, NAN], [float(np.float16(0.1)), 65504, -65504, 0]),
    (np.float32, "float32", True, [INF, NAN], [LARGEST, 0]),
    (np.float32, "int8", False, [2.7, -2.7, 300, -300, NAN], [2, -2, 127, -128, 0]),
    (np.int32, "int8", False, [300, -300, 5], [127, -128, 5]),
    (np.int32, "int32", False, [300, -300], [300, -300]),
    (np.bool_, "float16", True, [True, False], [1, 0]),
    (np.float32, "bool", False, [2.0, 0.0], [True, False]),
    (np.float32, "hifloat8", False, [1.03, 1.2, 1e6], [1, 1.25, INF]),
    (np.float32, "hifloat8", True, [1e6, NAN], [2.0**15, 0]),
    (np.float64, "float64", True, [0.1, INF], [0.1, float(np.finfo(np.float64).max)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "name", "saturates", "values", "want"), STORED, ids=range(len(STORED))
)
def test_a_result_is_stored_as_its_dtype_can_hold_it(given, name, saturates, values, want):
    with np.errstate(all="ignore"):
        found = store(np.array(values, given), name, saturates)
    assert found.dtype == dtype_row(name).storage
    np.testing.assert_array_equal(found.astype(float), want)


def test_rounding_leaves_what_is_no_float_and_what_no_format_asks_for():
    whole, single = np.array([1 << 24], np.int32), np.float32([0.1])
    assert round_to(whole, "float16", True) is whole
    assert round_to(single, "", False) is single
    double = round_to(np.array([0.1]), "bfloat16", False)
    assert (double.dtype, double.tolist()) == (np.float64, [0.10009765625])


NEG = Op("n", "Neg", (Param(0),), {}, (TensorSpec("float32", (3,)),))


def device_half(op):
    return replace(op, device_outputs=(TensorSpec("float16", (3,)),))


FLUSHED = [
    (NEG, Arithmetic("float32"), [1e-40, 2.0**-126, 1e-5], [-1e-40, -(2.0**-126), -1e-5]),
    (NEG, Arithmetic("float32", flushes=frozenset(("Abs",))), [1e-40], [-1e-40]),
    (NEG, Arithmetic("float32", flushes=frozenset(("Neg",))), [1e-40, 2.0**-126, -1e-40], [0, -(2.0**-126), 0]),
    (NEG, Arithmetic("float32", output="float16", flushes=frozenset(("Neg",))), [2.0**-15, 2.0**-14], [0, -(2.0**-14)]),
    (device_half(NEG), Arithmetic("float32", flushes=frozenset(("Neg",))), [2.0**-15, 2.0**-14], [0, -(2.0**-14)]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "how", "values", "want"), FLUSHED, ids=range(len(FLUSHED)))
def test_an_instruction_may_take_subnormal_numbers_for_zero(op, how, values, want):
    (found,) = compute(op, [np.float32(values)], {}, how)
    np.testing.assert_array_equal(found, np.float32(want))


def test_a_type_without_a_kernel_is_refused():
    for precision in ("float64", "float32", "cube"):
        with refused("run/no-kernel", GraphError, op="x", type="Unknown"):
            compute(Op("x", "Unknown"), [np.float32([1])], {}, Arithmetic(precision))


A, B = (np.random.default_rng(k).standard_normal((4, 300)).astype(np.float32) for k in (0, 1))
PRODUCT = Op("m", "MatMul", (Param(0), Param(1)), {}, (TensorSpec("float32", (4, 4)),))
TURNED = {"transpose_a": False, "transpose_b": True}


def test_a_product_goes_to_the_cube_where_all_is_single_or_of_8_bits():
    exact = A.astype(float) @ B.astype(float).T
    (cube,) = compute(PRODUCT, [A, B], TURNED, Arithmetic("cube"))
    assert cube.dtype == np.float32
    np.testing.assert_allclose(cube, exact, rtol=1e-4, atol=1e-4)
    assert not np.array_equal(cube, exact.astype(np.float32))
    (double,) = compute(PRODUCT, [A.astype(float), B.astype(float)], TURNED, Arithmetic("cube"))
    np.testing.assert_allclose(double, exact, rtol=1e-14)
    small = [np.arange(-6, 6, dtype=np.int8).reshape(2, 6)] * 2
    whole = replace(PRODUCT, outputs=(TensorSpec("int32", (2, 2)),))
    (sums,) = compute(whole, small, TURNED, Arithmetic("cube"))
    assert sums.tolist() == (small[0].astype(int) @ small[0].astype(int).T).tolist()


def test_the_running_sums_of_a_cube_may_be_rounded_and_watched():
    seen = []
    how = Arithmetic("cube", accumulator="float16")
    (half,) = compute(
        PRODUCT, [A, B], TURNED, how, lambda sums, name: seen.append((sums.shape, name))
    )
    assert {name for _, name in seen} == {"float16"}
    np.testing.assert_array_equal(half, half.astype(np.float16).astype(np.float32))
    (single,) = compute(
        PRODUCT, [A, B], TURNED, Arithmetic("cube"), lambda *_: seen.append("never")
    )
    assert "never" not in seen
    assert np.abs(half - single).max() > 1e-3


def test_a_measured_order_counts_for_the_plain_accumulator_alone():
    order = Order(sequential(300), "float32", "float32", "rounded", "", "MatMul", 1, 1)
    how = Arithmetic("cube", orders=Orders((order,)))
    (found,) = compute(PRODUCT, [A, B], TURNED, how)
    np.testing.assert_array_equal(found, order.matmul(A, B.T))
    (plain,) = compute(PRODUCT, [A, B], TURNED, how._replace(accumulator="float16"))
    assert not np.array_equal(plain, found)


def test_a_fast_implementation_is_for_floats():
    exp = Op("e", "Exp", (Param(0),), {}, (TensorSpec("float32", (3,)),))
    x = np.float32([0.5, 1.0, 2.0])
    (plain,) = compute(exp, [x], {}, Arithmetic("float32"))
    (fast,) = compute(exp, [x], {}, Arithmetic("float32", implementation="super_performance"))
    np.testing.assert_array_equal(plain, np.exp(x))
    np.testing.assert_allclose(fast, plain, rtol=2.0**-9)
    assert not np.array_equal(fast, plain)
