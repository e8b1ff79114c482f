"""Memory of bytes: clean runs are the same in it, and faults do to it what they say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from kit.build.programs import program_for
from kit.build.traced_networks import graphs
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Value
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import functional as F
from workbench.network.symbolic import Parameter, record
from workbench.network.tracer import trace
from workbench.npu.arena import Arena
from workbench.npu.faults import Fault
from workbench.npu.memory import plan_memory
from workbench.npu.runner import run_npu, run_program
from workbench.run.executor import execute
from workbench.run.plan import plan_execution
from workbench.run.reference import compute

X = np.linspace(-2, 2, 300, dtype=np.float32).reshape(3, 100)


def branches(x):
    """`exp` makes room, `relu` takes it below `tanh`, which `add` reads."""
    side = F.tanh(F.exp(x))
    return F.neg(F.relu(side)) + side


def kept(x):
    """`assign` writes a weight, which lies behind no output."""
    weight = Parameter(np.zeros_like(X), "w")
    return record("Assign", weight, F.relu(x)) + x


def records(graph, *faults, **settings):
    """Arrays of a run by operator, io and slot."""
    found = run_npu(graph, faults=faults, **settings)
    return {(r.key.op_type, r.key.io, r.key.slot): r.source.array() for r in found}


def execute_exactly(graph, storage=None):
    """Records of a run on the reference whose outputs lie in a storage."""

    def computed(planned, tensors, settings):
        return compute(planned.op, tensors, settings)

    return execute(plan_execution(graph), {}, computed, storage=storage)


def same_bytes(graph):
    kept, lying = execute_exactly(graph), execute_exactly(graph, Arena(graph))
    for one, other in zip(kept, lying, strict=True):
        assert (one.key, one.label) == (other.key, other.label)
        assert one.source.array().tobytes() == other.source.array().tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_clean_run_is_the_same_in_memory(name):
    same_bytes(load_graph(name))


@given(graphs())
def test_a_clean_run_of_any_operators_is_the_same_in_memory(graph):
    same_bytes(graph)


def test_what_lies_there_is_the_device_format_with_its_padding():
    graph = load_graph("lenet")
    conv = next(
        r
        for r in execute_exactly(graph, Arena(graph))
        if (r.key.op_type, r.key.io) == ("Conv2D", "output")
    )
    host, there = conv.source.array(), conv.source.there
    assert (host.shape[1], there.shape[-1]) == (6, 16)
    np.testing.assert_array_equal(there[:, 0, :, :, :6], host.transpose(0, 2, 3, 1))
    assert not there[..., 6:].any()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_overrun_writes_its_output_again_over_whatever_lies_behind_it(dtype):
    graph = trace(branches, X.astype(dtype))
    clean, faulty = records(graph), records(graph, Fault("overrun", "ReLU"))
    memory = plan_memory(graph)
    below, above = memory.outputs[Value(2)], memory.outputs[Value(1)]
    gap = above.address - below.end
    assert gap > 0
    behind = clean["ReLU", "output", 0].tobytes() * 3
    damaged = behind[gap : gap + 256] + clean["Tanh", "output", 0].tobytes()[256:]
    assert faulty["Tanh", "output", 0].tobytes() == clean["Tanh", "output", 0].tobytes()
    assert faulty["ReLU", "output", 0].tobytes() == clean["ReLU", "output", 0].tobytes()
    assert faulty["ReLU", "input", 0].tobytes() == damaged  # dumped when it is done
    assert faulty["Neg", "input", 0].tobytes() == clean["Neg", "input", 0].tobytes()
    assert faulty["Add", "input", 1].tobytes() == damaged
    read = [faulty["Add", "input", slot] for slot in (0, 1)]
    np.testing.assert_array_equal(faulty["Add", "output", 0], read[0] + read[1])


def test_strength_and_value_say_how_much_and_what():
    graph = trace(branches, X)
    memory = plan_memory(graph)
    gap = memory.outputs[Value(1)].address - memory.outputs[Value(2)].end
    clean = records(graph)["Tanh", "output", 0].ravel()
    for strength, damaged in ((gap + 1, 1), (gap + 8, 2), (1e12, 300)):
        fault = Fault("overrun", "ReLU", strength, value=-7.5)
        found = records(graph, fault)["Add", "input", 1].ravel()
        np.testing.assert_array_equal(found[damaged:], clean[damaged:])
        assert np.count_nonzero(found[:damaged] != clean[:damaged]) == damaged
        assert (found[: damaged if strength != gap + 1 else 0] == -7.5).all()


def test_a_neighbor_in_a_device_format_is_damaged_where_its_bytes_lie():
    def network(x):
        side = F.relu(F.relu(x))
        return F.max_pool2d(F.relu(side), 1, 1) + F.max_pool2d(side, 1, 1)

    x = np.arange(2 * 20 * 3 * 3, dtype=np.float32).reshape(2, 20, 3, 3) + 1
    graph = trace(network, x)
    plan = plan_memory(graph)
    names = [op.op_type for op in graph.ops]
    assert names[:3] == ["ReLU", "ReLU", "ReLU"]
    below, above = plan.outputs[Value(2)], plan.outputs[Value(1)]
    assert above.layout.format == "NC1HWC0"
    strength = above.address - below.end + 24 * 4  # a row of C0 and half of the next
    found = run_npu(graph, faults=[Fault("overrun", graph.ops[2].name, strength, value=-1)])
    last = [r.source.array() for r in found if r.key.op_name == graph.ops[4].name]
    want = x.copy()
    want[0, :16, 0, 0] = -1
    want[0, :8, 0, 1] = -1
    np.testing.assert_array_equal(last[0], want)


def test_an_operator_that_does_not_write_shows_the_earlier_tensor():
    graph = trace(branches, X)
    clean, faulty = records(graph), records(graph, Fault("stale-output", "ReLU"))
    for shown in (("ReLU", "output", 0), ("Neg", "input", 0)):
        assert faulty[shown].tobytes() == clean["Exp", "output", 0].tobytes()
    first = records(graph, Fault("stale-output", "Exp"))  # nobody was there before
    assert not first["Exp", "output", 0].any()


def test_an_unwritten_tail_shows_the_earlier_tensor():
    graph = trace(branches, X)
    clean, faulty = records(graph), records(graph, Fault("unwritten-tail-tile", "ReLU"))
    want = clean["ReLU", "output", 0].copy().ravel()
    want[256:] = clean["Exp", "output", 0].ravel()[256:]  # 300 numbers, 64 at a time
    np.testing.assert_array_equal(faulty["ReLU", "output", 0].ravel(), want)


def test_damage_reaches_data_under_another_name():
    def network(x):
        side = F.tanh(F.exp(x))
        flat = side.reshape(-1)
        return F.neg(F.relu(side)).reshape(-1) + flat

    graph = trace(network, X)
    found = records(graph, Fault("overrun", "ReLU", value=-7.5))
    assert (found["Add", "input", 1][:64] == -7.5).all()
    assert not (found["Add", "input", 1][64:] == -7.5).any()


def test_an_operator_inside_a_fused_one_can_be_named():
    graph = load_graph("lenet")
    program = program_for(graph, "acl")
    number = next(n for n, op in enumerate(program.graph.ops) if op.fused is not None)
    inner = program.graph.ops[number].fused.ops[-1]
    fused = program.graph.ops[number].name
    (first,) = (
        r.source.array()
        for r in run_program(program, faults=[Fault("stale-output", inner.name)])
        if (r.key.op_name, r.key.io) == (fused, "output")
    )
    assert not first.any()


@pytest.mark.parametrize(
    ("function", "fault", "code", "values"),
    [
        (branches, Fault("overrun", "Neg"), "overrun-harmless", {"op": "Neg", "others": ["Default/ReLU-op0"]}),
        (F.relu, Fault("overrun", "ReLU"), "overrun-nowhere", {"op": "ReLU"}),
        (kept, Fault("overrun", "Assign"), "overrun-nowhere", {"op": "Assign"}),
        (branches, Fault("overrun", "ReLU", 8), "overrun-short", {"op": "ReLU", "gap": 336, "got": 8}),
        (branches, Fault("overrun", "ReLU", 0), "fault-least", {"name": "strength", "fault": "overrun", "least": 1}),
        (lambda x: x.reshape(-1), Fault("stale-output", "Reshape"), "fault-renames", {"op": "Default/Reshape-op0"}),
        (branches, Fault("overrun", "ReLU", value="much"), "fault-number", {"name": "value", "got": "much"}),
    ],
)  # fmt: skip
def test_faults_that_cannot_be_are_refused(function, fault, code, values):
    with refused(f"run/{code}", GraphError, **values):
        list(run_npu(trace(function, X), faults=[fault]))


def test_a_pattern_needs_one_operator_that_can_damage_something():
    clean = records(trace(branches, X))
    found = records(trace(branches, X), Fault("overrun", "Default/*"))
    assert found["Add", "output", 0].tobytes() != clean["Add", "output", 0].tobytes()


def test_open_shapes_have_no_memory():
    graph = trace(F.relu, TensorSpec("float32", (2, 3)))
    op = replace(graph.ops[0], outputs=(TensorSpec("float32", None),))
    with refused("run/open-shape", GraphError, op="Default/ReLU-op0", got=None):
        Arena(replace(graph, ops=(op,)))


@pytest.mark.parametrize("name", MODELS)
def test_watching_changes_nothing_but_what_is_watched_is_seen_again(name):
    program = program_for(load_graph(name), "acl")
    first, *_, last = (op.name for op in program.graph.ops if op.outputs)
    plain = list(run_program(program))
    found = list(run_program(program, watch={last: (first,)}))
    own = [record for record in found if not record.after]
    assert [r.key for r in own] == [r.key for r in plain]
    for one, other in zip(own, plain, strict=True):
        assert one.source.array().tobytes() == other.source.array().tobytes()
    (again, *_) = [record for record in found if record.after]
    assert (again.after, again.key.op_name) == (last, first)
    place = plan_memory(program.graph).outputs[Value(0)]
    lying = again.source.data if again.source.there is None else again.source.there
    assert lying.nbytes == place.size
