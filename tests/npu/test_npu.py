"""The simulated NPU against the reference: rounding alone, and nothing but rounding."""

import numpy as np
import pytest

from kit.arrays import by_operator
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.network import nn
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import functional as F
from workbench.network.symbolic import record as call
from workbench.network.tracer import trace
from workbench.npu.faults import Fault, parse_fault
from workbench.npu.precision import modes_of, rule_of
from workbench.npu.profiles import HF32, PROFILES
from workbench.npu.rounding import ROUND
from workbench.npu.runner import run_npu
from workbench.run.reference import run_reference


def errors(graph, **settings):
    """Relative Euclidean error of every operator's output against the reference, in order."""
    golden, target = by_operator(run_reference(graph)), by_operator(run_npu(graph, **settings))
    return {
        op.name: float(
            np.linalg.norm(target[op.name].astype(float) - golden[op.name].astype(float))
            / np.linalg.norm(golden[op.name].astype(float))
        )
        for op in graph.ops
    }


UNIT = {"": 2**-24, "hf32": 2**-12, "float16": 2**-11, "bfloat16": 2**-8, "hifloat8": 2**-4}


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize(
    ("profile", "unit"), [("910a", "float16"), ("a2", "hf32"), ("950", "hf32")]
)
def test_a_clean_run_differs_by_rounding_alone(name, profile, unit):
    graph = load_graph(name)
    found = errors(graph, profile=profile)
    assert max(found.values()) < 4 * UNIT[unit]
    convolves = any(op.op_type == "Conv2D" for op in graph.ops)
    if convolves or profile == "910a":  # A2 multiplies matrices in float32
        assert max(found.values()) > UNIT[unit] / 30


@pytest.mark.parametrize("mode", modes_of(PROFILES["950"]))
def test_the_error_of_a_mode_is_that_of_its_format(mode):
    rule = rule_of(mode, PROFILES["950"])
    worst = max(errors(load_graph("lenet"), profile="950", precision_mode=mode).values())
    unit = UNIT[rule.cube_in or "hf32"]
    assert unit / 30 < worst < 6 * unit


@pytest.mark.parametrize(
    "text",
    [
        "scaled-output:Default/fc1-Dense/MatMul-op0:1.5",
        "overwritten-element:Default/fc1-Dense/MatMul-op0",
        "wrong-attribute:Default/fc1-Dense/MatMul-op0:transpose_a=False,transpose_b=True",
        "half-accumulation:Default/fc1-Dense/MatMul-op0",
    ],
)
def test_a_fault_is_strong_at_its_operator_and_absent_before_it(text):
    graph = load_graph("lenet")
    clean, faulty = errors(graph), errors(graph, faults=[parse_fault(text)])
    names = [op.name for op in graph.ops]
    place = names.index("Default/fc1-Dense/MatMul-op0")
    assert [faulty[name] for name in names[:place]] == [clean[name] for name in names[:place]]
    if "wrong" in text:  # the same attributes as before: no fault at all
        assert faulty == clean
    else:
        assert faulty[names[place]] > 3 * clean[names[place]]


def test_a_convolution_of_a2_is_that_of_inputs_rounded_to_hf32():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 20, 6, 6)).astype(np.float32)
    layer = nn.Conv2d(20, 4, 3)
    graph = trace(layer, x)
    weight = graph.parameters[0].default
    rounded = {"x": ROUND[HF32](x), "weight": ROUND[HF32](weight)}
    want = by_operator(run_reference(graph, rounded))["Default/Conv2D-op0"]
    got = by_operator(run_npu(graph))["Default/Conv2D-op0"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    plain = by_operator(run_reference(graph))["Default/Conv2D-op0"]
    assert np.abs(got - plain).max() > 100 * np.abs(got - want).max()


def test_the_matrix_product_of_a2_keeps_float32():
    found = errors(load_graph("mlp"), profile="a2")
    assert max(found.values()) < 4 * 2**-24 * 10


def test_forced_half_precision_leaves_half_precision_values_everywhere():
    graph = load_graph("lenet")
    got = by_operator(run_npu(graph, precision_mode="force_fp16"))
    for op in graph.ops:
        assert got[op.name].dtype == np.float32
        np.testing.assert_array_equal(ROUND["float16"](got[op.name]), got[op.name])


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_run_repeats_itself(profile):
    graph = load_graph("alexnet")
    one, two = (
        by_operator(run_npu(graph, profile=profile)),
        by_operator(run_npu(graph, profile=profile)),
    )
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_overflow_gives_infinity_on_a2_and_the_largest_value_on_910a():
    graph = trace(lambda a: F.exp(a) - F.exp(a), np.float32([1.0, 200.0]))
    new, old = by_operator(run_npu(graph)), by_operator(run_npu(graph, profile="910a"))
    largest = float(np.finfo(np.float32).max)
    assert new["Default/Exp-op0"][1] == np.inf
    assert np.isnan(new["Default/Sub-op0"][1])
    assert old["Default/Exp-op0"][1] == largest
    assert old["Default/Sub-op0"][1] == 0


def test_half_precision_overflows_at_its_own_limit():
    """The vendor's table: exp(12) in float16 is 65504 when saturating and Inf otherwise."""
    half = TensorSpec("float16", (1,))
    graph = trace(F.exp, half)
    feed = {graph.parameters[0].name: np.float16([12])}
    old, new = run_npu(graph, feed, profile="910a"), run_npu(graph, feed, profile="a2")
    assert by_operator(old)["Default/Exp-op0"].tolist() == [65504.0]
    assert by_operator(new)["Default/Exp-op0"].tolist() == [np.inf]


def test_not_a_number_becomes_zero_where_the_device_saturates():
    graph = trace(F.sqrt, np.float32([-1.0, 4.0]))
    assert by_operator(run_npu(graph, profile="910a"))["Default/Sqrt-op0"].tolist() == [0.0, 2.0]
    assert np.isnan(by_operator(run_npu(graph))["Default/Sqrt-op0"][0])


def test_the_fed_tensor_itself_is_recorded_as_it_was_fed():
    graph = trace(F.neg, np.float32([1.1, -2.3]))
    records = list(run_npu(graph, precision_mode="force_fp16"))
    np.testing.assert_array_equal(records[0].source.array(), np.float32([1.1, -2.3]))


def test_other_dtypes_run_in_their_own_precision():
    graph = trace(lambda a: F.matmul(a, a), TensorSpec("int32", (2, 2)))
    feeds = {"a": np.array([[1, 2], [3, 4]])}
    assert by_operator(run_npu(graph, feeds))["Default/MatMul-op0"].tolist() == [[7, 10], [15, 22]]
    double = trace(lambda a: a / 3, np.float64([1.0]))
    assert by_operator(run_npu(double))["Default/RealDiv-op0"].tolist() == [1 / 3]
    cast = trace(lambda a: a.astype(np.int8), np.float32([300.0, -2.7]))
    assert by_operator(run_npu(cast))["Default/Cast-op0"].tolist() == [127, -2]


def test_a_brain_float_graph_needs_a_device_that_has_it():
    graph = trace(F.relu, TensorSpec("bfloat16", (2,)))
    feeds = {graph.parameters[0].name: np.float32([-1, 2.01])}
    assert by_operator(run_npu(graph, feeds))["Default/ReLU-op0"].astype(float).tolist() == [
        0,
        2.015625,
    ]
    with refused("run/dtype", GraphError, device="Ascend 910A", got="bfloat16"):
        list(run_npu(graph, feeds, profile="910a"))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_a_float8_graph_needs_the_950(dtype):
    graph = trace(lambda a: F.matmul(a, a), TensorSpec(dtype, (2, 2)))
    feeds = {graph.parameters[0].name: np.float32([[1, 2], [3, 4.4]])}  # 4.4 is stored as 4.5 or 4
    got = by_operator(run_npu(graph, feeds, profile="950"))["Default/MatMul-op0"].astype(float)
    want = [[7, 11], [16, 26]] if dtype == "float8_e4m3fn" else [[7, 10], [16, 24]]
    assert got.tolist() == want
    with refused("run/dtype", GraphError, device=PROFILES["a2"].title, got=dtype):
        list(run_npu(graph, feeds, profile="a2"))


def test_8_bit_integers_go_through_the_cube_unit_and_saturate_where_they_are_stored():
    spec = TensorSpec("int8", (2, 300))
    graph = trace(lambda a: F.matmul(a, a, transpose_b=True).astype(np.int8), spec)
    feeds = {graph.parameters[0].name: np.stack([np.ones(300), -np.ones(300)])}
    got = by_operator(run_npu(graph, feeds))
    assert got["Default/MatMul-op0"].tolist() == [[300, -300], [-300, 300]]
    assert got["Default/Cast-op0"].tolist() == [[127, -128], [-128, 127]]


def test_instructions_of_the_950_take_subnormal_numbers_for_zero():
    tiny = np.float32([1e-39, -1e-39, 4.0])
    graph = trace(F.sqrt, tiny)
    assert by_operator(run_npu(graph, profile="a2"))["Default/Sqrt-op0"][0] > 0
    assert by_operator(run_npu(graph, profile="950"))["Default/Sqrt-op0"].tolist() == [
        0.0,
        0.0,
        2.0,
    ]
    down = trace(F.exp, np.float32([-90.0, 0.0]))  # the result is subnormal
    assert by_operator(run_npu(down, profile="a2"))["Default/Exp-op0"][0] > 0
    assert by_operator(run_npu(down, profile="950"))["Default/Exp-op0"].tolist() == [0.0, 1.0]
    half = trace(F.exp, TensorSpec("float16", (2,)))
    feeds = {half.parameters[0].name: np.float16([-10, 0])}
    assert by_operator(run_npu(half, feeds, profile="950"))["Default/Exp-op0"].tolist() == [
        0.0,
        1.0,
    ]
    kept = trace(F.neg, tiny)
    assert by_operator(run_npu(kept, profile="950"))["Default/Neg-op0"][0] == -tiny[0]


@pytest.mark.parametrize("mode", ["force_fp16", "allow_mix_precision", "origin"])
@pytest.mark.parametrize("profile", ["910a", "a2"])
def test_what_is_rounded_already_is_not_rounded_again_and_nothing_changes(
    mode, profile, monkeypatch
):
    """The same bytes when every operator rounds its inputs and outputs anew."""
    graph = load_graph("lenet")
    quick = by_operator(run_npu(graph, profile=profile, precision_mode=mode))
    nothing = {op.name: frozenset() for op in graph.ops}
    monkeypatch.setattr("workbench.npu.device._settled", lambda *_: nothing)
    slow = by_operator(run_npu(graph, profile=profile, precision_mode=mode))
    for name, array in slow.items():
        np.testing.assert_array_equal(quick[name], array)


def test_a_fault_between_two_operators_is_rounded_and_saturated_like_any_input():
    graph = trace(lambda a: F.neg(F.neg(a)), np.float32([1.0, 2.0]))
    broken = parse_fault("overwritten-element:Default/Neg-op0:value=nan")
    got = by_operator(run_npu(graph, profile="910a", precision_mode="force_fp16", faults=[broken]))
    assert np.isnan(got["Default/Neg-op0"]).sum() == 1
    assert sorted(got["Default/Neg-op1"].tolist()) in ([0.0, 1.0], [0.0, 2.0])


CLEAN = np.zeros(8, np.int32)


def asked(x):
    """The register before anything, behind an overflow, behind its clearing, and behind nothing new."""
    kinds = (
        "NPUGetFloatStatusV2",
        "NPUGetFloatStatusV2",
        "NPUClearFloatStatusV2",
        "NPUGetFloatStatusV2",
    )
    before = call(kinds[0], CLEAN)
    large = x * 1e30
    found = [call(kind, CLEAN) for kind in kinds[1:]]
    return before, large, *found


@pytest.mark.parametrize(("value", "flag"), [(1e30, 1), (1.0, 0)])
def test_the_float_status_stays_until_it_is_cleared(value, flag):
    graph = trace(asked, np.float32([value]))
    values = [
        one.source.array() for one in run_npu(graph, profile="910a")
        if one.key.io == "output" and "FloatStatus" in one.key.op_type
    ]  # fmt: skip
    assert [one.tolist() for one in values] == [[0] * 8, [flag] * 8, [0] * 8, [0] * 8]
    assert {one.dtype for one in values} == {np.dtype(np.int32)}


def test_what_overflows_is_told_with_its_unit_and_what_fails_with_its_operator():
    x = np.full((2, 4), 1e20, np.float32)
    graph = trace(lambda a: F.relu(F.matmul(a, a, False, True)) * 1e30, x)
    found = {one.key.op_type: one.event for one in run_npu(graph) if one.event is not None}
    assert {kind: (event.unit, event.kind) for kind, event in found.items()} == {
        "MatMul": ("cube", "overflow")
    }
    small = {graph.parameters[0].name: x / 1e15}
    found = {one.key.op_type: one.event for one in run_npu(graph, small) if one.event is not None}
    assert {kind: event.unit for kind, event in found.items()} == {"Mul": "vector"}
    for kind, unit in (("MatMul", "cube"), ("ReLU", "vector")):
        fault = Fault("aicore-exception", kind)
        *_, last = run_npu(graph, small, faults=[fault])
        assert (last.key.op_type, last.event.kind, last.event.unit) == (kind, "failure", unit)
        assert not last.source.array().any()
