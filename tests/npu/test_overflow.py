"""Which operators overflow: the simulated register against arithmetic in exact numbers."""

import numpy as np
import pytest

from workbench.core.events import CAUSES, DeviceEvent
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Op
from workbench.network.cell import Cell
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import Dense
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.faults import Fault, parse_fault
from workbench.npu.overflow import Status, exceeds
from workbench.npu.profiles import PROFILES
from workbench.npu.runner import run_npu
from workbench.run.reference import run_reference


def events(graph, feeds=None, **settings) -> dict[str, DeviceEvent]:
    """Events of a run by the last part of the operator's name."""
    found = {}
    for record in run_npu(graph, feeds, **settings):
        assert record.event is None or record.key.io == "output"
        if record.event is not None:
            assert record.event.op_name == record.key.op_name
            found[record.key.op_name.rpartition("/")[2]] = record.event
    return found


def causes(graph, feeds=None, **settings):
    return {name: event.causes for name, event in events(graph, feeds, **settings).items()}


class Growing(Cell):
    """Values beyond float16 from the second operator on."""

    def __init__(self) -> None:
        self.fc = Dense(4, 3, has_bias=False)

    def construct(self, x):
        y = self.fc(x)  # 40,000 each
        big = y * 2  # 80,000: beyond float16
        small = big * 0.5  # Inf where the device has it, else 32,752
        again = F.relu(small) * 4  # beyond float16 again, unless it is Inf already
        return again - y


X = np.full((2, 4), 100, np.float32)
GROWING = trace(Growing(), X)
FEEDS = {GROWING.parameters[0].name: np.full((3, 4), 100, np.float32)}

EXACT = {
    "MatMul": lambda a, b: a @ b.T,
    "Mul": np.multiply,
    "Sub": np.subtract,
    "ReLU": lambda a: np.maximum(a, 0),
}


def overflowing(records) -> list[str]:
    """Operators that must overflow in float16, by exact arithmetic on the inputs that were recorded."""
    inputs, order = {}, {}
    for record in records:
        name, kind = record.key.op_name, record.key.op_type
        if record.key.io == "input":
            value = record.source.array()
            inputs.setdefault(name, []).append(value.astype(np.float16).astype(np.float64))
        elif kind != "Parameter":
            order[name] = kind
    found = []
    for name, kind in order.items():
        tensors = inputs[name][:1] if kind == "ReLU" else inputs[name][:2]
        with np.errstate(all="ignore"):
            exact = EXACT[kind](*tensors)
            finite = all(np.isfinite(one).all() for one in tensors)
            if (finite or np.isfinite(exact).any()) and (np.abs(exact) >= 65520).any():
                found.append(name.rpartition("/")[2])
    return found


@pytest.mark.parametrize(
    ("profile", "want"),
    [("910a", ["Mul-op0", "Mul-op2"]), ("a2", ["Mul-op0"])],
)
def test_operators_that_leave_float16_are_reported_once_each_by_who_made_the_value(profile, want):
    records = list(run_npu(GROWING, FEEDS, profile=profile, precision_mode="force_fp16"))
    assert overflowing(records) == want
    found = events(GROWING, FEEDS, profile=profile, precision_mode="force_fp16")
    assert list(found) == want
    assert {event.kind for event in found.values()} == {"overflow"}
    assert {(event.causes, event.status, event.word) for event in found.values()} == {
        (("float",), 0x20, 1 << 5)
    }


def test_saturation_hides_the_value_and_not_the_report():
    records = list(run_npu(GROWING, FEEDS, profile="910a", precision_mode="force_fp16"))
    outputs = {r.key.op_name.rpartition("/")[2]: r for r in records if r.key.io == "output"}
    assert outputs["Mul-op0"].source.array().max() == 65504
    assert outputs["Mul-op0"].event is not None


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("name", sorted(MODELS))
def test_ordinary_networks_do_not_overflow(name, profile):
    assert events(load_graph(name), profile=profile) == {}


def test_the_reference_reports_nothing():
    assert all(record.event is None for record in run_reference(GROWING, FEEDS))


def one_half(value):
    return np.float16([value, 1])


@pytest.mark.parametrize(
    ("network", "inputs", "want"),
    [
        (lambda x: x + x, [one_half(32752)], {}),  # 65,504: the largest there is
        (lambda x: x + x, [one_half(32768)], {"Add-op0": ("float",)}),
        (lambda x: x * x, [one_half(-300)], {"Mul-op0": ("float",)}),
        (F.exp, [one_half(12)], {"Exp-op0": ("float",)}),
        (F.exp, [one_half(11)], {}),
        (F.log, [one_half(0)], {"Log-op0": ("float",)}),
        (F.sqrt, [one_half(-1)], {"Sqrt-op0": ("float",)}),
        (lambda x: x / (x - x), [one_half(1)], {"RealDiv-op0": ("float",)}),
        (lambda x: x.astype(np.float16), [np.float32([65519.9])], {}),
        (lambda x: x.astype(np.float16), [np.float32([-65520])], {"Cast-op0": ("conversion",)}),
        (lambda x: x.astype(np.float16), [np.int32([70000])], {"Cast-op0": ("conversion",)}),
        (lambda x: x.astype(np.uint8), [np.float32([-1, 3])], {"Cast-op0": ("unsigned",)}),
        (lambda x: x.astype(np.uint8), [np.float32([300, 3])], {}),  # it saturates silently
        (lambda x: x + x, [np.int32([2**30, 1])], {"Add-op0": ("integer",)}),
        (lambda x: x + x, [np.int32([2**30 - 1])], {}),
        (lambda x: x * x, [np.int8([12])], {"Mul-op0": ("integer",)}),
        (F.neg, [np.int16([-(2**15)])], {"Neg-op0": ("negation",)}),
        (F.neg, [np.int16([2**15 - 1])], {}),
        (lambda x: x * x, [np.int64([2**40])], {}),  # no work for the vector unit
    ],
)
@pytest.mark.parametrize("profile", ["910a", "a2"])
def test_each_cause_begins_where_its_format_ends(profile, network, inputs, want):
    graph = trace(network, *inputs)
    assert causes(graph, profile=profile) == want


def test_values_that_arrive_as_infinity_or_nan_are_no_overflow_of_the_operator():
    graph = trace(lambda x: F.relu(x * 2), np.float32([np.inf, np.nan, 1]))
    assert events(graph, profile="a2") == {}


def test_an_overflow_beside_an_infinity_is_one():
    graph = trace(lambda x: x * x, np.float16([np.inf, 300]))
    assert causes(graph, profile="a2") == {"Mul-op0": ("float",)}


def matmul(a, b, dtype=np.float32):
    return trace(F.matmul, np.asarray(a, dtype), np.asarray(b, dtype))


def test_a_matrix_product_overflows_where_it_leaves_the_cube():
    graph = matmul([[300.0, 300.0]], [[300.0], [300.0]])
    found = events(graph, profile="910a", precision_mode="allow_fp32_to_fp16")["MatMul-op0"]
    assert (found.unit, found.causes) == ("cube", ("cube output",))
    assert (found.status, found.word) == (0x100, 1 << 8)
    assert events(graph, profile="910a", precision_mode="cube_fp16in_fp32out") == {}


def test_inputs_that_the_cube_cannot_read_overflow_before_it():
    graph = matmul([[70000.0]], [[0.5]])
    assert causes(graph, profile="910a") == {"MatMul-op0": ("conversion",)}
    assert causes(graph, profile="a2", precision_mode="must_keep_origin_dtype") == {}


def test_the_accumulator_overflows_in_float32_and_earlier_in_float16():
    graph = matmul([[1e38] * 4], [[2.0]] * 4)
    assert causes(graph, profile="a2") == {"MatMul-op0": ("accumulator",)}
    sums = matmul([[200.0] * 16 + [-200.0] * 16], [[200.0]] * 32)  # 640,000, then 0
    half = [Fault("half-accumulation", "MatMul")]
    for profile in ("910a", "a2"):
        found = events(sums, profile=profile, precision_mode="force_fp16", faults=half)
        assert found["MatMul-op0"].causes == ("accumulator",)
        assert (found["MatMul-op0"].status, found["MatMul-op0"].word) == (0x400, 1 << 10)
        assert events(sums, profile=profile, precision_mode="force_fp16") == {}


def test_hf32_overflows_a_little_below_float32():
    largest = float(np.finfo(np.float32).max)
    image, weight = np.full((1, 1, 1, 1), largest, np.float32), np.ones((1, 1, 1, 1), np.float32)
    graph = trace(lambda x, w: F.conv2d(x, w), image, weight)
    assert causes(graph, profile="a2")["Conv2D-op0"][0] == "conversion"


def test_bits_of_causes_are_joined():
    both = DeviceEvent("a", "overflow", "vector", ("integer", "conversion"))
    assert (both.status, both.word) == (0x110, 1 << 5)
    assert len(CAUSES) == 7


# ---------------------------------------------------------------- operators that fail


def test_a_run_ends_with_the_operator_that_fails_and_is_the_same_before_it():
    graph = load_graph("lenet")
    fault = parse_fault("aicore-exception:*conv2*Conv2D*")
    clean, broken = (list(run_npu(graph, faults=faults)) for faults in ([], [fault]))
    last = broken[-1]
    assert (last.key.op_type, last.key.io) == ("Conv2D", "output")
    assert last.event == DeviceEvent(last.key.op_name, "failure", "cube")
    assert (last.event.status, last.event.word) == (0, 0)
    assert len(broken) < len(clean)
    for one, other in zip(clean, broken[:-1], strict=False):
        assert one.key == other.key
        np.testing.assert_array_equal(one.source.array(), other.source.array())
        assert other.event is None
    assert last.source.array().shape == clean[len(broken) - 1].source.array().shape
    assert not last.source.array().any()


def test_the_first_of_several_operators_fails():
    graph = load_graph("mlp")
    records = list(run_npu(graph, faults=[parse_fault("aicore-exception:MatMul")]))
    assert records[-1].key.op_name == next(o.name for o in graph.ops if o.op_type == "MatMul")


def test_memory_that_nobody_wrote_has_the_shape_of_its_tensor():
    graph = trace(lambda x: x.astype(np.float16), TensorSpec("float32", (2, 3)))
    feeds = {graph.parameters[0].name: np.ones((2, 3), np.float32)}
    records = list(run_npu(graph, feeds, faults=[Fault("aicore-exception", "Cast")]))
    assert records[-1].source.array().shape == (2, 3)
    assert records[-1].source.array().dtype == np.float16


INF, NAN = np.inf, np.nan
NARROW = [
    ([65519.0, INF], "float16", False),
    ([65520.0], "float16", True),
    ([-65520.0, INF], "float16", True),
    ([65519.0, NAN], "float16", False),
    ([65520.0, NAN], "float16", True),
    ([3e38], "float32", False),
    ([448.0, -463.9], "float8_e4m3fn", False),
    ([464.1], "float8_e4m3fn", True),
    ([], "float16", False),
    ([INF, -INF], "float16", False),
]


@pytest.mark.parametrize(("values", "name", "beyond"), NARROW, ids=range(len(NARROW)))
def test_a_finite_number_that_a_format_rounds_to_infinity_is_beyond_it(values, name, beyond):
    assert exceeds(np.float32(values), name) is beyond


ADD = Op("o", "Add")
COMPUTED = [
    (ADD, "vector", [[1.0], [INF]], [[INF]], ()),
    (ADD, "vector", [[3e38], [3e38]], [[INF]], ("float",)),
    (ADD, "cube", [[3e38], [3e38]], [[INF]], ("accumulator",)),
    (ADD, "vector", [[1.0], [2.0]], [[3.0]], ()),
    (ADD, "vector", [np.int32([2**31 - 1]), np.int32([1])], [np.int32([-(2**31)])], ("integer",)),
    (ADD, "vector", [np.int32([2**31 - 1]), np.int32([0])], [np.int32([2**31 - 1])], ()),
    (ADD, "vector", [np.int32([-(2**31)]), np.int32([-1])], [np.int32([0])], ("integer",)),
    (ADD, "vector", [np.int32([-(2**31)]), np.int32([0])], [np.int32([0])], ()),
    (ADD, "vector", [np.int64([2**62]), np.int64([2**62])], [np.int64([0])], ()),
    (ADD, "vector", [np.int32([2**31 - 1]), np.int8([1])], [np.int32([0])], ()),
    (Op("o", "Neg"), "vector", [np.int8([-128])], [np.int8([-128])], ("negation",)),
    (Op("o", "Maximum"), "vector", [np.int8([-128]), np.int8([1])], [np.int8([1])], ()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "unit", "inputs", "results", "found"), COMPUTED, ids=range(len(COMPUTED))
)
def test_an_overflow_is_a_result_that_is_not_finite_of_inputs_that_are(
    op, unit, inputs, results, found
):
    status = Status(op, unit)
    given, made = (
        [np.float32(x) if isinstance(x, list) else x for x in some] for some in (inputs, results)
    )
    status.computed(given, {}, made)
    assert status.causes == found


STORED = [
    (ADD, "vector", np.float32([7e4]), "float16", ("float",)),
    (Op("o", "Cast"), "vector", np.float32([7e4]), "float16", ("conversion",)),
    (ADD, "cube", np.float32([7e4]), "float16", ("cube output",)),
    (ADD, "vector", np.float32([6e4]), "float16", ()),
    (ADD, "vector", np.float32([-1.0]), "uint8", ("unsigned",)),
    (ADD, "vector", np.float32([0.0, 300.0]), "uint8", ()),
    (ADD, "vector", np.float32([-1.0]), "int8", ()),
    (ADD, "vector", np.int32([-1]), "uint8", ()),
    (ADD, "vector", np.array([True]), "float16", ()),
]


@pytest.mark.parametrize(("op", "unit", "result", "name", "found"), STORED, ids=range(len(STORED)))
def test_what_a_result_is_stored_in_may_be_too_narrow(op, unit, result, name, found):
    status = Status(op, unit)
    status.stored(result, name)
    assert status.causes == found


def test_causes_are_kept_once_in_their_order_and_handed_on():
    inner, outer = Status(ADD, "cube"), Status(ADD, "cube")
    outer.loaded(np.float32([7e4]), "float16")
    inner.summed(np.float32([7e4]), "float16")
    inner.loaded(np.float32([7e4]), "float16")
    assert inner.causes == ("accumulator", "conversion")
    outer.add(inner)
    assert outer.causes == ("conversion", "accumulator")
    outer.loaded(np.float32([7e4]), "")
    assert outer.causes == ("conversion", "accumulator")
