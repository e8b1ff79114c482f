"""Every kind of fault: what it changes, that nothing before it changes, and that seeds repeat."""

from dataclasses import replace

import numpy as np
import pytest

from kit.arrays import by_operator
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Graph, Op, Param, Parameter, Value
from workbench.network.models import load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.faults import (
    FAULTS,
    Fault,
    OpExecution,
    apply_faults,
    ends_run,
    faults_in,
    in_memory,
    parse_fault,
    uploaded,
)
from workbench.npu.numerics import Formats
from workbench.npu.rounding import ROUND
from workbench.npu.runner import run_npu
from workbench.ops import infer_outputs

LENET = load_graph("lenet")
CONV, FC = "Default/conv2-Conv2d/Conv2D-op0", "Default/fc1-Dense/MatMul-op0"
GELU = trace(lambda x: F.gelu(F.exp(x)), np.float32([-1.0, 0.5, 2.0]))


def _branches(x):
    """`exp` makes room, `relu` takes it below `tanh`, which `add` reads."""
    side = F.tanh(F.exp(x))
    return F.neg(F.relu(side)) + side


BRANCHES = trace(_branches, np.linspace(-2, 2, 300, dtype=np.float32).reshape(3, 100))


def outputs(graph, *faults, **settings):
    return by_operator(run_npu(graph, faults=faults, **settings))


def same(one, two):
    return one.tobytes() == two.tobytes()


EXAMPLES = {
    "wrong-attribute": (
        load_graph("alexnet"),
        parse_fault("wrong-attribute:*conv3*:pad_mode=pad,pad=1"),
    ),
    "half-accumulation": (LENET, Fault("half-accumulation", CONV)),
    "missing-cast": (LENET, Fault("missing-cast", CONV)),
    "fast-approximation": (GELU, Fault("fast-approximation", "GeLU")),
    "aicore-exception": (LENET, Fault("aicore-exception", CONV)),
    "wrong-weight-element": (LENET, Fault("wrong-weight-element", CONV)),
    "transposed-weight": (LENET, Fault("transposed-weight", CONV)),
    "dropped-k-tail": (LENET, Fault("dropped-k-tail", CONV)),
    "scaled-output": (LENET, Fault("scaled-output", CONV, 1.5)),
    "wrong-sign": (LENET, Fault("wrong-sign", CONV)),
    "flush-to-zero": (LENET, Fault("flush-to-zero", CONV, 0.01)),
    "saturated": (LENET, Fault("saturated", CONV, 0.01)),
    "nan-output": (LENET, Fault("nan-output", CONV)),
    "overwritten-element": (LENET, Fault("overwritten-element", CONV, seed=1)),
    "bit-flip": (LENET, Fault("bit-flip", CONV)),
    "unwritten-tail-tile": (LENET, Fault("unwritten-tail-tile", CONV)),
    "wrong-layout-lanes": (LENET, Fault("wrong-layout-lanes", CONV)),
    "stale-output": (LENET, Fault("stale-output", CONV)),
    "overrun": (BRANCHES, Fault("overrun", "ReLU")),
}
DAMAGES = {"overrun": "Add"}
"""Operators at which faults show that do not show in their own results."""
SEEDED = ("wrong-weight-element", "nan-output", "overwritten-element", "bit-flip")


def test_every_kind_has_an_example_here():
    assert EXAMPLES.keys() == FAULTS.keys()


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("profile", ["910a", "a2"])
def test_a_fault_changes_its_operator_and_none_before_it(kind, profile):
    graph, fault = EXAMPLES[kind]
    clean, faulty = outputs(graph, profile=profile), outputs(graph, fault, profile=profile)
    names = [op.name for op in graph.ops]
    met = DAMAGES.get(kind, fault.op_name)
    place = next(i for i, op in enumerate(graph.ops) if replace(fault, op_name=met).matches(op))
    assert not same(clean[names[place]], faulty[names[place]])
    for name in names[:place]:
        assert same(clean[name], faulty[name])


@pytest.mark.parametrize("kind", FAULTS)
def test_a_seed_repeats_its_bytes(kind):
    graph, fault = EXAMPLES[kind]
    one, two = outputs(graph, fault, seed=3), outputs(graph, fault, seed=3)
    assert all(same(one[name], two[name]) for name in one)


@pytest.mark.parametrize("kind", SEEDED)
def test_another_seed_is_another_place(kind):
    graph, fault = EXAMPLES[kind]
    found = {outputs(graph, fault, seed=seed)[CONV].tobytes() for seed in range(4)}
    assert len(found) > 1


@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind_can_be_written_as_text(kind):
    assert parse_fault(f"{kind}:Conv2D") == Fault(kind, "Conv2D")


def test_a_missing_cast_computes_in_the_format_that_it_names():
    clean = outputs(LENET, profile="910a", precision_mode="allow_fp32_to_fp16")[CONV]
    for fault, name in ((Fault("missing-cast", CONV), "bfloat16"),
                        (Fault("missing-cast", CONV, value="float8_e5m2"), "float8_e5m2")):  # fmt: skip
        got = outputs(LENET, fault, profile="910a", precision_mode="allow_fp32_to_fp16")[CONV]
        np.testing.assert_array_equal(ROUND[name](got), got)
        assert not same(clean, got)
    wide = outputs(LENET, Fault("missing-cast", FC))[FC]  # float32 on A2
    np.testing.assert_array_equal(ROUND["float16"](wide), wide)


def test_a_fast_approximation_is_far_off_even_where_precision_was_asked_for():
    x = np.linspace(-2, 2, 101, dtype=np.float32)
    graph = trace(F.gelu, x)
    clean, fast = outputs(graph), outputs(graph, Fault("fast-approximation", "GeLU"))
    error = np.abs(fast["Default/GeLU-op0"] - clean["Default/GeLU-op0"])
    np.testing.assert_allclose(fast["Default/GeLU-op0"], x / (1 + np.exp(-1.702 * x)), rtol=1e-6)
    assert 0.01 < error.max() < 0.0207
    little = Fault("fast-approximation", "GeLU", value="high_performance")
    error = np.abs(outputs(graph, little)["Default/GeLU-op0"] - clean["Default/GeLU-op0"])
    assert 0 < error.max() < 2.0**-11


def records(graph, *faults):
    return {str(r.key): r.source.array() for r in run_npu(graph, faults=faults)}


def test_a_wrong_weight_is_wrong_wherever_the_device_shows_it():
    fault = Fault("wrong-weight-element", CONV, 3, value=-7.5)
    clean, faulty = records(LENET), records(LENET, fault)
    weight = LENET.parameters[1].default
    shown = [key for key in clean if clean[key].shape == weight.shape]
    assert len(shown) == 2  # the operator's input, and the parameter at the end
    for key in shown:
        (places,) = np.nonzero(clean[key].ravel() != faulty[key].ravel())
        assert places.size == 3
        assert places[-1] - places[0] == 2
        assert set(faulty[key].ravel()[places].tolist()) == {-7.5}
    assert same(weight, np.asarray(load_graph("lenet").parameters[1].default))  # ours is untouched


def test_a_fed_weight_is_changed_and_not_the_array_that_was_fed():
    name = LENET.parameters[1].name
    fed = np.ones(LENET.parameters[1].spec.shape)
    fault = Fault("wrong-weight-element", CONV, value=2)
    found = {str(r.key): r.source.array() for r in run_npu(LENET, {name: fed}, faults=[fault])}
    shown = [array for array in found.values() if array.shape == fed.shape]
    assert [np.count_nonzero(array == 2) for array in shown] == [1, 1]
    assert (fed == 1).all()


def product(rows=5, inner=40, columns=40, **transposes):
    left, right = (rows, inner), (inner, columns)
    if transposes.get("transpose_a"):
        left = left[::-1]
    if transposes.get("transpose_b"):
        right = right[::-1]
    spec = [TensorSpec("float32", shape) for shape in (left, right)]
    graph = trace(lambda a, b: F.matmul(a, b, **transposes), *spec)
    rng = np.random.default_rng(0)
    feeds = {p.name: rng.uniform(0.5, 1, p.spec.shape).astype("f") for p in graph.parameters}
    return graph, feeds, [feeds[p.name] for p in graph.parameters]


def result(graph, feeds, *faults):
    (got,) = (r.source.array() for r in run_npu(graph, feeds, faults=faults) if r.key.io == "output"
              and r.key.op_type == "MatMul")  # fmt: skip
    return got


@pytest.mark.parametrize("columns", [40, 24])
def test_a_transposed_weight_is_read_in_the_other_order(columns):
    graph, feeds, (a, b) = product(columns=columns)
    got = result(graph, feeds, Fault("transposed-weight", "MatMul"))
    np.testing.assert_allclose(got, a @ b.reshape(columns, 40).T, rtol=1e-6)


def test_a_transposed_kernel_exchanges_its_axes_or_those_that_are_named():
    x = np.random.default_rng(1).random((1, 16, 5, 5), dtype=np.float32)
    w = np.random.default_rng(2).random((16, 16, 3, 3), dtype=np.float32)
    graph = trace(F.conv2d, x, w)
    for fault, turned in (
        (Fault("transposed-weight", "Conv2D"), w.swapaxes(2, 3)),
        (Fault("transposed-weight", "Conv2D", value=(0, 1)), w.swapaxes(0, 1)),
    ):
        want = outputs(trace(F.conv2d, x, np.ascontiguousarray(turned)))
        got = outputs(graph, fault)
        np.testing.assert_array_equal(got["Default/Conv2D-op0"], want["Default/Conv2D-op0"])


@pytest.mark.parametrize("transposes", [{}, {"transpose_a": True, "transpose_b": True}])
@pytest.mark.parametrize(
    ("inner", "strength", "kept"), [(40, None, 32), (48, None, 32), (48, 2, 16), (8, None, 0)]
)
def test_a_dropped_tail_is_what_the_last_blocks_would_have_added(transposes, inner, strength, kept):
    graph, feeds, (a, b) = product(inner=inner, **transposes)
    if transposes:
        a, b = a.T, b.T
    got = result(graph, feeds, Fault("dropped-k-tail", "MatMul", strength))
    np.testing.assert_allclose(got, a[:, :kept] @ b[:kept], rtol=1e-5)


def test_the_tail_of_a_convolution_is_its_last_channels_at_the_last_kernel_element():
    x, w = np.ones((1, 20, 3, 3), np.float32), np.ones((2, 20, 3, 3), np.float32)
    graph = trace(F.conv2d, x, w)
    one = outputs(graph, Fault("dropped-k-tail", "Conv2D"))["Default/Conv2D-op0"]
    assert set(one.ravel().tolist()) == {180.0 - 4}
    more = outputs(graph, Fault("dropped-k-tail", "Conv2D", 10))["Default/Conv2D-op0"]
    assert set(more.ravel().tolist()) == {180.0 - 9 * 4 - 16}


def test_a_dropped_infinity_leaves_no_nan_behind():
    graph, feeds, (_, b) = product(inner=20)
    feeds = dict(feeds)
    b[19] = np.inf
    assert np.isfinite(result(graph, feeds, Fault("dropped-k-tail", "MatMul"))).all()


def test_signs_zeros_and_limits_are_exact():
    clean = outputs(LENET)[CONV]
    np.testing.assert_array_equal(outputs(LENET, Fault("wrong-sign", CONV))[CONV], -clean)
    flushed = outputs(LENET, Fault("flush-to-zero", CONV, 0.25))[CONV]
    np.testing.assert_array_equal(flushed, np.where(np.abs(clean) < 0.25, 0, clean))
    cut = outputs(LENET, Fault("saturated", CONV, 0.25))[CONV]
    np.testing.assert_array_equal(cut, np.clip(clean, -0.25, 0.25))


def changed(clean, faulty):
    """Places whose bits differ."""
    kind = f"u{clean.dtype.itemsize}"
    one, two = (np.ascontiguousarray(array).view(kind).ravel() for array in (clean, faulty))
    return np.nonzero(one != two)[0], one, two


@pytest.mark.parametrize("count", [1, 4])
def test_nan_and_bits_are_at_neighboring_places(count):
    clean = outputs(LENET)[CONV]
    places, _, _ = changed(clean, outputs(LENET, Fault("nan-output", CONV, count))[CONV])
    assert places.size == count
    assert places[-1] - places[0] == count - 1
    for bit in (0, 31, None):
        flipped = outputs(LENET, Fault("bit-flip", CONV, count, value=bit))[CONV]
        places, one, two = changed(clean, flipped)
        assert places.size == count
        assert set((one[places] ^ two[places]).tolist()) == {1 << (30 if bit is None else bit)}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "bool"])
def test_bits_of_every_dtype_can_flip(dtype):
    graph = trace(lambda a: a.reshape(-1), TensorSpec(dtype, (4, 4)))
    feeds = {graph.parameters[0].name: np.ones((4, 4))}
    fault = Fault("bit-flip", "Reshape")
    places, _, _ = changed(
        outputs(graph, feeds=feeds)["Default/Reshape-op0"],
        outputs(graph, fault, feeds=feeds)["Default/Reshape-op0"],
    )
    assert places.size == 1


@pytest.mark.parametrize(("columns", "tail"), [(40, 8), (48, 16), (5, 5)])
def test_the_last_tile_of_a_product_stays_unwritten(columns, tail):
    graph, feeds, _ = product(rows=20, columns=columns)
    clean, got = result(graph, feeds), result(graph, feeds, Fault("unwritten-tail-tile", "MatMul"))
    want = clean.copy()
    want[16:, columns - tail :] = 0
    np.testing.assert_array_equal(got, want)


def test_the_last_tile_of_a_convolution_is_its_last_channels_and_places():
    fault = Fault("unwritten-tail-tile", CONV, value=0)
    clean, got = outputs(LENET)[CONV], outputs(LENET, fault)[CONV]
    count, channels, height, width = clean.shape
    want = clean.reshape(count, channels, -1).copy()
    want[-1, (channels - 1) // 16 * 16 :, (height * width - 1) // 16 * 16 :] = 0
    np.testing.assert_array_equal(got.reshape(want.shape), want)


@pytest.mark.parametrize(("dtype", "step"), [("float32", 64), ("float16", 128)])
def test_the_vector_unit_writes_256_bytes_at_a_time(dtype, step):
    graph = trace(F.neg, TensorSpec(dtype, (3, 50)))
    feeds = {graph.parameters[0].name: np.ones((3, 50))}
    got = outputs(graph, Fault("unwritten-tail-tile", "Neg", value=9), feeds=feeds)[
        "Default/Neg-op0"
    ]
    kept = 149 // step * step
    assert set(got.ravel()[:kept].tolist()) == {-1.0}
    assert set(got.ravel()[kept:].tolist()) == {9.0}


def test_lanes_are_exchanged_within_their_block_of_c0():
    graph = trace(F.neg, TensorSpec("float32", (1, 20, 2, 2)))
    x = np.arange(80, dtype=np.float32).reshape(1, 20, 2, 2)
    feeds = {graph.parameters[0].name: x}
    one = outputs(graph, Fault("wrong-layout-lanes", "Neg"), feeds=feeds)["Default/Neg-op0"]
    order = [channel ^ 1 for channel in range(20)]
    np.testing.assert_array_equal(one, -x[:, order])
    eight = outputs(graph, Fault("wrong-layout-lanes", "Neg", 8), feeds=feeds)["Default/Neg-op0"]
    np.testing.assert_array_equal(eight[:, :16], -x[:, [*range(8, 16), *range(8)]])
    assert not eight[:, 16:].any()  # from the padding of the second block


@pytest.mark.parametrize(
    ("fault", "code", "values"),
    [
        (Fault("transposed-weight", "ReLU"), "fault-type", {"type": "ReLU"}),
        (Fault("dropped-k-tail", "ReLU"), "fault-type", {"type": "ReLU"}),
        (Fault("fast-approximation", CONV), "fault-type", {"op": CONV, "type": "Conv2D"}),
        (Fault("wrong-weight-element", "ReLU"), "fault-no-weight", {}),
        (Fault("missing-cast", CONV, value="float13"), "fault-choice", {"name": "value", "got": "float13"}),
        (Fault("missing-cast", CONV, value={"format": "float16"}), "fault-choice",
         {"name": "setting", "got": "format", "known": ["value", "seed", "iteration"]}),
        (Fault("transposed-weight", CONV, value=(0, 7)), "fault-axes", {"shape": (16, 6, 5, 5), "got": (0, 7)}),
        (Fault("transposed-weight", CONV, value=2), "fault-axes", {"shape": (16, 6, 5, 5), "got": 2}),
        (Fault("transposed-weight", CONV, value=(1, -3)), "fault-axes", {"got": (1, -3)}),
        (Fault("saturated", CONV, -1.0), "fault-least", {"name": "strength", "least": 0, "got": -1}),
        (Fault("flush-to-zero", CONV, -1.0), "fault-least", {"name": "strength", "least": 0, "got": -1}),
        (Fault("bit-flip", CONV, value=32), "fault-bit", {"dtype": "float32", "last": 31, "got": 32}),
        (Fault("bit-flip", CONV, value="top"), "fault-bit", {"last": 31, "got": "top"}),
        (Fault("nan-output", CONV, 0), "fault-least", {"name": "strength", "least": 1, "got": 0}),
        (Fault("nan-output", CONV, float("nan")), "fault-finite", {}),
        (Fault("overwritten-element", CONV, value="much"), "fault-number", {"name": "value", "got": "much"}),
        (Fault("unwritten-tail-tile", CONV, value=(1,)), "fault-number", {"name": "value", "got": (1,)}),
    ],
)  # fmt: skip
def test_faults_that_cannot_be_are_refused(fault, code, values):
    with refused(f"run/{code}", GraphError, fault=fault.kind, **values):
        list(run_npu(LENET, faults=[fault]))


def test_an_implementation_must_be_named():
    for value, name in (("fast", "value"), ({"mode": "fast"}, "setting")):
        with refused("run/fault-choice", GraphError, name=name, fault="fast-approximation"):
            run_npu(GELU, faults=[Fault("fast-approximation", "GeLU", value=value)])


@pytest.mark.parametrize("kind", ["nan-output", "missing-cast"])
def test_faults_of_floats_are_refused_for_integers(kind):
    graph = trace(lambda a: a.reshape(-1), TensorSpec("int32", (2, 2)))
    with refused("run/fault-floats", GraphError, fault=kind, type="Reshape", dtype="int32"):
        run_npu(graph, {"a": np.ones((2, 2))}, faults=[Fault(kind, "Reshape")])


def test_a_number_that_an_integer_cannot_hold_is_written_without_a_crash():
    graph = trace(lambda a: a.reshape(-1), TensorSpec("int8", (2, 2)))
    feeds = {graph.parameters[0].name: np.full((2, 2), 100)}
    for value in (None, float("nan"), float("inf")):
        fault = Fault("overwritten-element", "Reshape", value=value)
        assert outputs(graph, fault, feeds=feeds)["Default/Reshape-op0"].dtype == np.int8


# ---------------- what each kind makes of numbers, one operator at a time

EYE = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
OP = Op("o", "Neg", (Param(0),), {}, (TensorSpec("float32", (3, 4)),))
PRODUCT = Op(
    "m",
    "MatMul",
    (Param(0), Param(1)),
    {"transpose_a": False, "transpose_b": False},
    (TensorSpec("float32", (3, 4)),),
)


def struck(kind, strength=None, value=None, *, op=OP, step="store", **execution):
    """One operator behind a fault."""
    fault = Fault(kind, op.name, strength, value=value)
    return apply_faults((fault,), OpExecution(op, **execution), step)


def first(kind, array, strength=None, value=None, **more):
    """Its first output; the second one is never touched."""
    other = np.float32([7])
    found = struck(kind, strength, value, outputs=(array, other), **more).outputs
    assert found[1] is other
    return found[0]


CHANNELS = np.arange(6, dtype=np.float32).reshape(1, 3, 2, 1)
SEVENTEEN = np.arange(17, dtype=np.float16)
VALUES = [
    ("scaled-output", EYE, None, None, (EYE.astype(float) * 1.01).astype(np.float32)),
    ("scaled-output", EYE, -2.0, None, -2 * EYE),
    ("wrong-sign", EYE, None, None, -EYE),
    ("flush-to-zero", np.float32([2.0**-15, -(2.0**-14), 1]), None, None, [0, -(2.0**-14), 1]),
    ("flush-to-zero", np.float32([0.5, -0.4, 1]), 0.5, None, [0.5, 0, 1]),
    ("saturated", np.float32([1e6, -1e6, 3]), None, None, [65504, -65504, 3]),
    ("saturated", np.float32([5, -5, 3]), 4.0, None, [4, -4, 3]),
    ("wrong-layout-lanes", np.arange(4, dtype=np.float32), None, None, [1, 0, 3, 2]),
    ("wrong-layout-lanes", np.arange(4, dtype=np.float32), 2.0, None, [2, 3, 0, 1]),
    ("wrong-layout-lanes", SEVENTEEN, None, None, [*(k ^ 1 for k in range(16)), 0]),
    ("wrong-layout-lanes", np.float32(3), None, None, 3),
    ("wrong-layout-lanes", CHANNELS, None, None, [[[[2], [3]], [[0], [1]], [[0], [0]]]]),
    ("overwritten-element", np.float32([2]), None, None, [20]),
    ("overwritten-element", np.float32([0]), None, None, [1]),
    ("overwritten-element", np.float32([2, 2]), 2.0, 9, [9, 9]),
    ("nan-output", np.float32([2]), None, None, [np.nan]),
    ("bit-flip", np.float32([1]), None, None, [np.inf]),
    ("bit-flip", np.float32([1]), None, 31, [-1]),
    ("bit-flip", np.float16([1]), None, 15, [-1]),
    ("bit-flip", np.int8([1]), None, 0, [0]),
    ("bit-flip", np.array([True]), None, None, [False]),
    ("bit-flip", np.float32([1, 1]), 2.0, 31, [-1, -1]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "array", "strength", "value", "want"), VALUES, ids=range(len(VALUES))
)
def test_a_fault_of_results_makes_these_of_them(kind, array, strength, value, want):
    before = array.copy()
    found = first(kind, array, strength, value)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(array, before)


WEIGHTS = [
    (EYE, None, EYE.reshape(4, 3).T),
    (EYE[None], None, EYE.reshape(1, 4, 3).swapaxes(1, 2)),
    (EYE.reshape(3, 1, 4), None, EYE.reshape(4, 1, 3).swapaxes(0, 2)),
    (EYE.reshape(1, 1, 12), None, EYE.reshape(1, 12, 1).swapaxes(1, 2)),
    (EYE.reshape(2, 3, 2), (0, 1), EYE.reshape(3, 2, 2).swapaxes(0, 1)),
    (EYE.reshape(2, 3, 2), (-1, 0), EYE.reshape(2, 3, 2).swapaxes(-1, 0)),
]


@pytest.mark.parametrize(("weight", "axes", "want"), WEIGHTS, ids=range(len(WEIGHTS)))
def test_a_transposed_weight_is_read_as_if_two_axes_lay_otherwise(weight, axes, want):
    left = np.zeros(1, np.float32)
    found = struck(
        "transposed-weight", None, axes, op=PRODUCT, step="load", inputs=(left, weight)
    ).inputs
    assert found[0] is left
    np.testing.assert_array_equal(found[1], want)


@pytest.mark.parametrize("axes", [(0, 0), (0, -2), (0, 2), (0,), 1, "ab"])
def test_axes_that_are_no_pair_are_refused(axes):
    with refused("run/fault-axes", GraphError, shape=(3, 4), got=axes):
        struck("transposed-weight", None, axes, op=PRODUCT, step="load", inputs=(EYE, EYE))


REACHES = [(-1, None, 256), (0, None, 256), (100, None, 356), (100, 10.0, 10), (-1, 2000.0, 2000)]


@pytest.mark.parametrize(("gap", "strength", "count"), REACHES)
def test_an_overrun_reaches_the_next_tensor_unless_it_is_told_how_far(gap, strength, count):
    wide = struck("overrun", strength, op=OP, step="memory", outputs=(EYE,), gap=gap, room=1 << 20)
    data = EYE.tobytes()
    assert wide.past == (data * (count // len(data) + 1))[:count]
    short = struck("overrun", strength, op=OP, step="memory", outputs=(EYE,), gap=gap, room=7)
    assert short.past == data[:7]
    value = struck("overrun", 8.0, 2.0, op=OP, step="memory", outputs=(EYE,), room=99)
    assert value.past == np.float32([2, 2]).tobytes()
    empty = struck("overrun", 3.0, op=OP, step="memory", outputs=(EYE[:0],), room=99)
    assert empty.past == b"\0\0\0"


def test_a_stale_output_is_what_lay_there():
    before = (np.float32([9]),)
    found = struck("stale-output", op=OP, step="memory", outputs=(EYE,), before=before)
    assert (found.outputs, found.writes) == (before, False)


TAILS = [
    (OP, (3, 4), lambda x: x),
    (OP, (3, 50), lambda x: x.reshape(-1)[128:]),  # 64 numbers at a time
    (PRODUCT, (20, 33), lambda x: x[16:, 32:]),
    (PRODUCT, (16, 16), lambda x: x),
    (PRODUCT, (2, 20, 16), lambda x: x[1:, 16:]),
    (PRODUCT, (20,), lambda x: x),
]


@pytest.mark.parametrize(("op", "shape", "tail"), TAILS, ids=range(len(TAILS)))
def test_the_last_tile_stays_as_memory_was(op, shape, tail):
    written, left = np.ones(shape, np.float32), np.full(shape, 5, np.float32)
    for value, number in ((None, 5), (8, 8)):
        want = written.copy()
        tail(want)[...] = number
        memory = {"step": "memory", "outputs": (written,), "before": (left,)}
        found = struck("unwritten-tail-tile", None, value, op=op, **memory).outputs[0]
        np.testing.assert_array_equal(found, want)


UNITS = [
    (OP, Formats("", ""), None, "float16"),
    (OP, Formats("float16", ""), None, "bfloat16"),
    (OP, Formats("", "bfloat16"), None, "float8_e4m3fn"),
    (OP, Formats("float16", "bfloat16"), None, "float8_e4m3fn"),
    (replace(OP, outputs=(TensorSpec("float16", (3,)),)), Formats("", ""), None, "bfloat16"),
    (replace(OP, outputs=()), Formats("", ""), None, "float16"),
    (OP, Formats("", ""), "hifloat8", "hifloat8"),
]


@pytest.mark.parametrize(("op", "formats", "value", "coarse"), UNITS, ids=range(len(UNITS)))
def test_a_missing_cast_takes_the_next_coarser_format(op, formats, value, coarse):
    found = apply_faults(
        (Fault("missing-cast", "*", value=value),), OpExecution(op, formats), "compile"
    )
    if op.outputs:
        assert found.formats == Formats(coarse, coarse)
    else:
        assert found.formats == formats  # it has no floats to round


def test_faults_of_units_say_how_the_unit_computes():
    assert struck("half-accumulation", op=PRODUCT, step="compile").accumulator == "float16"
    assert struck("aicore-exception", step="compile").fails
    gelu = replace(OP, op_type="GeLU")
    assert (
        struck("fast-approximation", op=gelu, step="compile").implementation == "super_performance"
    )
    fast = struck("fast-approximation", None, "high_performance", op=gelu, step="compile")
    assert fast.implementation == "high_performance"


def test_a_fault_strikes_at_its_own_step_and_in_its_own_operators():
    execution = OpExecution(OP, outputs=(EYE,))
    for fault, step in (
        (Fault("wrong-sign", "o"), "load"),
        (Fault("wrong-sign", "other"), "store"),
    ):
        assert apply_faults((fault,), execution, step) is execution


@pytest.mark.parametrize(
    ("strength", "default", "most", "count"),
    [(None, 3, 9, 3), (None, 3, 2, 2), (2.9, 3, 9, 2), (1, 3, 9, 1)],
)
def test_a_strength_is_a_number_of_things(strength, default, most, count):
    assert Fault("nan-output", "o", strength).count(default, most) == count


def test_a_strength_that_is_none_is_refused():
    for strength in (0, 0.5, -1, np.inf, np.nan):
        with refused("run/fault-least", GraphError, least=1):
            Fault("nan-output", "o", strength).count(1, 9)
    for strength in (-1, np.nan):
        with refused("run/fault-least", GraphError, least=0):
            Fault("saturated", "o", strength).magnitude(1.0)
    assert Fault("saturated", "o", 0.0).magnitude(1.0) == 0
    assert Fault("saturated", "o").magnitude(1.5) == 1.5


GRAPH = Graph("g", (Parameter("x", TensorSpec("float32", (3, 4))), Parameter("w", TensorSpec("float32", (4, 4)), True)),
              (OP, PRODUCT, replace(PRODUCT, name="n", inputs=(Param(0), Value(0)))))  # fmt: skip
INSIDE = [
    (Fault("wrong-sign", "o"), True), (Fault("wrong-sign", "z"), False), (Fault("wrong-sign", "*"), True),
    (Fault("dropped-k-tail", "o*"), False), (Fault("dropped-k-tail", "m*"), True),
    (Fault("wrong-weight-element", "m*"), True), (Fault("wrong-weight-element", "n*"), False),
    (Fault("wrong-weight-element", "n"), True),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "inside"), INSIDE, ids=range(len(INSIDE)))
def test_a_fault_is_in_a_graph_whose_operators_can_have_it(fault, inside):
    assert faults_in(GRAPH, [fault]) == [fault] * inside


def test_some_faults_end_a_run_and_some_need_a_memory():
    faults = {kind: [Fault(kind, "o")] for kind in FAULTS}
    assert [kind for kind, some in faults.items() if ends_run(some)] == ["aicore-exception"]
    assert {kind for kind, some in faults.items() if in_memory(some)} == {
        "overrun",
        "stale-output",
        "unwritten-tail-tile",
    }
    assert not ends_run([Fault("unknown", "o")])
    assert not in_memory([Fault("unknown", "o")])


def test_a_weight_is_uploaded_wrong_to_those_operators_of_a_pattern_that_read_one():
    weight = np.zeros((4, 4), np.float32)
    fault = Fault("wrong-weight-element", "*", value=7)
    graph = replace(GRAPH, ops=(GRAPH.ops[0], GRAPH.ops[2], replace(PRODUCT, name="q")))
    found = uploaded(graph, {"w": weight}, [fault])
    assert sorted(found["w"].ravel().tolist()) == [0] * 15 + [7]
    assert not weight.any()
    for pattern in ("n*", "n"):
        with refused("run/fault-no-weight", GraphError, fault=fault.kind, op="n"):
            uploaded(graph, {"w": weight}, [replace(fault, op_name=pattern)])
    assert uploaded(graph, {"w": weight}, [Fault("wrong-sign", "*")]) == {"w": weight}
    assert uploaded(graph, {}, [fault]) == {}  # nobody has given it a value


ASKED = [
    ({"stride": 2}, {"stride": (1, 1, 4, 4)}, {"stride": (1, 1, 2, 2)}),
    ({"stride": (1, 1, 3, 2)}, {"stride": (1, 1, 4, 4)}, {"stride": (1, 1, 3, 2)}),
    (
        {"pad": 2, "pad_mode": "pad"},
        {"pad": (0, 0, 0, 0)},
        {"pad": (2, 2, 2, 2), "pad_mode": "pad"},
    ),
    ({"dilation": 2}, {"dilation": (1, 1)}, {"dilation": (2, 2)}),
]


@pytest.mark.parametrize(("value", "before", "after"), ASKED, ids=range(len(ASKED)))
def test_a_wrong_setting_is_written_like_the_old_one(value, before, after):
    image, weight = (TensorSpec("float32", shape) for shape in ((1, 2, 20, 20), (3, 2, 3, 3)))
    usual = {
        "stride": (1, 1, 1, 1),
        "dilation": (1, 1, 1, 1),
        "pad_mode": "same",
        "pad": (0, 0, 0, 0),
        "group": 1,
    }
    attrs = {**usual, **before}
    shapes = infer_outputs("Conv2D", (image, weight), {**attrs, **after})
    op = Op("c", "Conv2D", (Param(0), Param(1)), attrs, shapes, (image, weight))
    found = struck("wrong-attribute", None, value, op=op, step="compile").op
    assert {name: found.attrs[name] for name in after} == after
