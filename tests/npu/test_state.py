"""Steps: weights and their optimizer's state go on from one run of a graph to the next."""

import numpy as np
import pytest

from kit.build.programs import program_for
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Graph, Kernel, Op, Param, Parameter, Value
from workbench.network.models import load_graph
from workbench.network.symbolic import record
from workbench.network.tracer import trace
from workbench.npu.compile.program import Program
from workbench.npu.faults import Fault
from workbench.npu.memory import plan_memory
from workbench.npu.numerics import numeric_model
from workbench.npu.profiles import PROFILES
from workbench.npu.runner import run_npu, run_program
from workbench.run.executor import has_updates
from workbench.run.reference import run_reference

START = np.array([1.0, -2.0, 4.0], np.float32)
SLOPE = np.array([0.5, 1.0, -1.0], np.float32)
APPLY = "Default/ApplyMomentum-op0"


def momentum_graph():
    """w, v ← momentum(gradient); the loss reads w before."""
    from workbench.network.symbolic import Parameter as Weight

    weight, speed = Weight(START, "w"), Weight(np.zeros(3, np.float32), "v")

    def step(gradient):
        loss = record("ReduceSum", weight, (), False, False)
        rate, share = np.float32(0.5), np.float32(0.5)
        record("ApplyMomentum", weight, speed, rate, gradient, share)
        return loss

    return trace(step, SLOPE)


def tensors(records):
    return {
        (one.key.op_type, one.key.op_name, one.key.io, one.key.slot): np.array(one.source.array())
        for one in records
    }


def parameter(found, name):
    return found["Parameter", name, "output", 0]


def runs(graph, steps, run=run_reference, **options):
    state = {}
    return [tensors(run(graph, iteration=n, state=state, **options)) for n in range(steps)]


@pytest.mark.parametrize("run", [run_reference, run_npu])
def test_every_step_goes_on_where_the_last_one_ended(run):
    first, second, third = runs(momentum_graph(), 3, run)
    speeds = [SLOPE, SLOPE * 1.5, SLOPE * 1.75]
    weights = [START - 0.5 * sum(speeds[: n + 1]) for n in range(3)]
    for found, weight, speed in zip((first, second, third), weights, speeds, strict=True):
        np.testing.assert_array_equal(parameter(found, "w"), weight)
        np.testing.assert_array_equal(parameter(found, "v"), speed)
    loss = ("ReduceSum", "Default/ReduceSum-op0", "output", 0)
    assert [float(found[loss]) for found in (first, second)] == [3.0, float(weights[0].sum())]


def test_inputs_that_are_overwritten_are_recorded_as_they_become():
    (found,) = runs(momentum_graph(), 1)
    after = START - 0.5 * SLOPE
    np.testing.assert_array_equal(found["ApplyMomentum", APPLY, "input", 0], after)
    np.testing.assert_array_equal(found["ApplyMomentum", APPLY, "input", 1], SLOPE)
    np.testing.assert_array_equal(found["ApplyMomentum", APPLY, "output", 0], after)
    before = found["ReduceSum", "Default/ReduceSum-op0", "input", 0]
    np.testing.assert_array_equal(before, START)


def test_without_a_state_every_run_begins_anew():
    graph = momentum_graph()
    one, other = tensors(run_reference(graph)), tensors(run_reference(graph, iteration=5))
    assert one.keys() == other.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(value, other[key])
    np.testing.assert_array_equal(graph.parameters[0].default, START)


def test_a_weight_that_is_given_is_where_the_first_step_begins():
    found = runs(momentum_graph(), 2, feeds={"w": START * 2})
    np.testing.assert_array_equal(parameter(found[1], "w"), START * 2 - 1.25 * SLOPE)


def test_feeds_may_follow_the_iteration():
    found = runs(momentum_graph(), 2, feeds=lambda number: {"gradient": SLOPE * (number + 1)})
    np.testing.assert_array_equal(parameter(found[1], "v"), SLOPE * 2.5)


def test_a_graph_knows_whether_it_updates_weights():
    assert has_updates(momentum_graph())
    assert not has_updates(trace(lambda x: record("ReLU", x), SLOPE))


@pytest.mark.parametrize("profile", PROFILES)
def test_every_device_leaves_the_same_weights_where_nothing_is_rounded(profile):
    for one, other in zip(
        runs(momentum_graph(), 2), runs(momentum_graph(), 2, run_npu, profile=profile), strict=True
    ):
        np.testing.assert_array_equal(parameter(one, "w"), parameter(other, "w"))


@pytest.mark.parametrize("memory", [False, True])
def test_a_fault_of_the_update_stays_in_the_weight(memory):
    """``stale-output`` needs a memory of bytes: nothing is written, the weight is what it was."""
    kind = "stale-output" if memory else "wrong-sign"
    found = runs(momentum_graph(), 2, run_npu, faults=[Fault(kind, APPLY)])
    want = START if memory else -(START - 0.5 * SLOPE)
    for key in (("ApplyMomentum", APPLY, "output", 0), ("Parameter", "w", "output", 0)):
        np.testing.assert_array_equal(found[0][key], want)
    loss = found[1]["ReduceSum", "Default/ReduceSum-op0", "output", 0]
    assert float(loss) == float(want.sum())


def test_a_kernel_of_several_operators_updates_the_weights_that_they_update():
    spec, one = TensorSpec("float32", (3,)), TensorSpec("float32", ())
    scaled = Op("m", "Mul", (Param(0), Param(1)), {}, (spec,), (spec, one))
    apply = Op(
        "a", "ApplyMomentum", (Param(2), Param(3), Param(1), Value(0), Param(1)), {}, (spec,),
        (spec, spec, one, spec, one),
    )  # fmt: skip
    fused = Kernel((scaled, apply), (Value(1),))
    kernel = Op("f", "FusedMulApplyMomentum", (Param(0), Param(1), Param(2), Param(3)), {}, (spec,),
                (spec, one, spec, spec), fused=fused)  # fmt: skip
    names = ("g", "half", "w", "v")
    values = (SLOPE, np.float32(0.5), START, np.zeros(3, np.float32))
    parameters = tuple(
        Parameter(name, TensorSpec("float32", value.shape), True, name, value)
        for name, value in zip(names, values, strict=True)
    )
    graph = Graph("net", parameters, (kernel,), (Value(0),))
    program = Program(graph, graph, numeric_model("a2"))
    state = {}
    found = tensors(run_program(program, state=state))
    want = START - 0.25 * SLOPE
    np.testing.assert_array_equal(found["FusedMulApplyMomentum", "f", "output", 0], want)
    np.testing.assert_array_equal(found["FusedMulApplyMomentum", "f", "input", 2], want)
    np.testing.assert_array_equal(state["w"], want)
    np.testing.assert_array_equal(state["v"], SLOPE * 0.5)
    assert set(state) == {"w", "v"}


def flagged_graph():
    """w ← momentum(gradient) unless the gradient has an element that is not finite."""
    from workbench.network.symbolic import Parameter as Weight
    from workbench.network.symbolic import recorder

    weight, speed = Weight(START, "w"), Weight(np.zeros(3, np.float32), "v")

    def step(gradient):
        flag = record("AllFinite", (gradient,))
        with recorder("step").unless(flag):
            scaled = record("Mul", gradient, np.float32(1.0))
            record("ApplyMomentum", weight, speed, np.float32(0.5), scaled, np.float32(0.5))
        return flag

    return trace(step, SLOPE)


@pytest.mark.parametrize("run", [run_reference, run_npu])
def test_operators_that_a_flag_leaves_out_neither_write_nor_leave_records(run):
    def feeds(number):
        return {"gradient": SLOPE * (np.inf if number == 1 else 1)}

    first, second, third = runs(flagged_graph(), 3, run, feeds=feeds)
    assert {key[0] for key in first} == {"AllFinite", "Mul", "ApplyMomentum", "Parameter"}
    assert {key[0] for key in second} == {"AllFinite", "Parameter"}
    assert bool(second["AllFinite", "Default/AllFinite-op0", "output", 0])
    np.testing.assert_array_equal(parameter(second, "w"), parameter(first, "w"))
    np.testing.assert_array_equal(parameter(third, "v"), SLOPE * 1.5)


def test_what_always_runs_may_not_read_what_may_be_left_out():
    graph = flagged_graph()
    ops = [*graph.ops, Op("r", "ReLU", (Value(1),), {}, (TensorSpec("float32", (3,)),))]
    wrong = Graph("net", graph.parameters, tuple(ops), graph.outputs)
    with refused("run/reads-skipped", GraphError, op="r", read="Default/Mul-op0", got=""):
        list(run_reference(wrong))


@pytest.mark.parametrize("name", ["mlp_train", "lenet_train"])
def test_steps_in_a_memory_of_bytes_are_the_same(name):
    graph = load_graph(name)
    program = program_for(graph)
    watch = {graph.ops[-1].name: (graph.ops[0].name,)}
    plain, bytewise = {}, {}
    for step in range(2):
        one = list(run_program(program, iteration=step, state=plain))
        other = run_program(program, iteration=step, state=bytewise, watch=watch)
        for left, right in zip(one, (r for r in other if not r.after), strict=True):
            assert left.key == right.key
            np.testing.assert_array_equal(left.source.array(), right.source.array())
    assert plain.keys() == bytewise.keys()
    for key, value in plain.items():
        np.testing.assert_array_equal(value, bytewise[key])


def test_an_output_that_is_a_weight_lies_where_the_weight_does():
    graph = momentum_graph()
    memory = plan_memory(graph)
    number = graph.by_name[APPLY]
    assert memory.place(number, "output", 0).address == memory.place(number, "input", 0).address
