"""A device that saturates is asked for its float status; it tells of every overflow since it was cleared."""

import numpy as np
import pytest

from kit.build.programs import program_for, target_for
from workbench.network.symbolic import Parameter, record, recorder
from workbench.network.tracer import trace
from workbench.npu.compile.overflow_check import lower_overflow_check
from workbench.npu.compile.program import Module
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


def lowered(graph):
    target = target_for(device="910a")
    return lower_overflow_check(Module(graph, graph), target).graph


def test_a_graph_that_looks_for_no_overflow_is_kept():
    graph = network()
    assert program_for(graph).network is graph  # of a device with infinities
    assert program_for(graph, device="910a").network == lowered(graph)
    plain = trace(lambda x: record("ReLU", x), X)
    assert lowered(plain) is plain


def test_one_that_saturates_is_asked_and_cleared_where_gradients_were_looked_at():
    graph = lowered(network())
    types = [op.op_type for op in graph.ops]
    asked = ["NPUGetFloatStatusV2", "NPUClearFloatStatusV2", "Equal", "ReduceAll", "LogicalNot"]
    assert types == ["Mul", "Cast", *asked, "Assign"]
    assert graph.ops[-1].unless == "Default/LogicalNot-op0"
    assert len({op.name for op in graph.ops}) == len(graph.ops)
    flag = graph.ops[graph.outputs[0].op]
    assert flag.name == "Default/LogicalNot-op0"


@pytest.mark.parametrize(("value", "skipped"), [(1.0, False), (1e3, True)])
def test_an_overflow_shows_in_the_status_and_the_next_run_begins_clean(value, skipped):
    graph = lowered(network())
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
    graph = lowered(network())
    records = list(run_reference(graph, {"x": X * np.float32(1e3)}))
    (status,) = [
        r for r in records if r.key.op_type == "NPUGetFloatStatusV2" and r.key.io == "output"
    ]
    assert not status.source.array().any()
