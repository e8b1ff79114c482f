"""A device that saturates is asked for its float status; it tells of every overflow since it was cleared."""

import numpy as np
import pytest

from workbench.network.symbolic import Parameter, record, recorder
from workbench.network.tracer import trace
from workbench.npu.compile.overflow_check import by_register
from workbench.npu.numerics import numeric_model
from workbench.npu.runner import run_npu
from workbench.run.reference import run_reference

X = np.float32([1.0, 2.0])


def network():
    weight = Parameter(np.zeros(2, np.float32), "w")

    def step(x):
        large = record("Mul", x, x).astype("float16")
        flag = record("AllFinite", (large,))
        with recorder("step").unless(flag):
            record("Assign", weight, x)
        return flag

    return trace(step, X)


def test_a_device_with_infinities_keeps_the_graph():
    graph = network()
    assert by_register(graph, numeric_model("a2")) is graph
    plain = trace(lambda x: record("ReLU", x), X)
    assert by_register(plain, numeric_model("910a")) is plain


def test_one_that_saturates_is_asked_and_cleared_where_gradients_were_looked_at():
    graph = by_register(network(), numeric_model("910a"))
    types = [op.op_type for op in graph.ops]
    asked = ["NPUGetFloatStatusV2", "NPUClearFloatStatusV2", "Equal", "ReduceAll", "LogicalNot"]
    assert types == ["Mul", "Cast", *asked, "Assign"]
    assert graph.ops[-1].unless == "Default/LogicalNot-op0"
    assert len({op.name for op in graph.ops}) == len(graph.ops)
    flag = graph.ops[graph.outputs[0].op]
    assert flag.name == "Default/LogicalNot-op0"


@pytest.mark.parametrize(("value", "skipped"), [(1.0, False), (1e3, True)])
def test_an_overflow_shows_in_the_status_and_the_next_run_begins_clean(value, skipped):
    graph = by_register(network(), numeric_model("910a"))
    state = {}
    for feed, want in ((value, skipped), (1.0, False)):
        records = run_npu(graph, {"x": X * np.float32(feed)}, profile="910a", state=state)
        found = {(r.key.op_type, r.key.io, r.key.slot): r.source.array() for r in records}
        np.testing.assert_array_equal(found["NPUGetFloatStatusV2", "output", 0], [int(want)] * 8)
        assert not found["NPUClearFloatStatusV2", "output", 0].any()
        assert bool(found["LogicalNot", "output", 0]) is want
        assert (("Assign", "output", 0) in found) is not want
    np.testing.assert_array_equal(state["w"], X)


def test_the_reference_never_raises_the_status():
    graph = by_register(network(), numeric_model("910a"))
    records = list(run_reference(graph, {"x": X * np.float32(1e3)}))
    (status,) = [
        r for r in records if r.key.op_type == "NPUGetFloatStatusV2" and r.key.io == "output"
    ]
    assert not status.source.array().any()
