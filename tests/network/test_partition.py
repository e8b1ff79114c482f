"""How a trace with control flow becomes graphs and steps, as real MindSpore cuts it; what a flag leaves out."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kit.build.traced_networks import FLOWS
from workbench.graph.control_flow import Bind, ControlFlow, If, Run, While
from workbench.graph.graph import Const, Param
from workbench.network.nn import functional as F
from workbench.network.partition import parted
from workbench.network.symbolic import Parameter, record, recorder
from workbench.network.tracer import trace
from workbench.run.reference import run_reference

RECORD = Path(__file__).parents[1] / "data/conformance/flows_2.10.0_cpu.json"
REAL = {case["case"]: case for case in json.loads(RECORD.read_text())["cases"] if "weights" in case}
X = np.ones((2, 4), np.float32)


def traced(case):
    first = np.int32(1) if case in ("both", "loop", "first", "inside") else np.bool_(True)
    return trace(FLOWS[case](), first, X)


@pytest.mark.parametrize("case", FLOWS)
def test_graphs_are_cut_and_numbered_as_real_mindspore_does(case):
    graphs = traced(case).graphs
    ours = {str(graph.graph_id): sorted(op.op_type for op in graph.ops) for graph in graphs}
    assert ours == REAL[case]["kernels"]
    assert [graph.graph_id for graph in graphs] == [*range(len(graphs))]
    assert [graph.name for graph in graphs] == [
        f"kernel_graph{number}" for number in range(len(graphs))
    ]


@pytest.mark.parametrize("case", FLOWS)
def test_operators_of_one_scope_and_type_are_counted_through_all_graphs(case):
    counts = {}
    for graph in traced(case).graphs:
        for op in graph.ops:
            stem, _, number = op.name.rpartition("-op")
            assert int(number) == counts.setdefault(stem, 0)
            counts[stem] += 1


@pytest.mark.parametrize("case", FLOWS)
def test_what_a_graph_reads_of_others_is_a_parameter_that_they_hand_over(case):
    flow = traced(case)
    handed = set()

    def through(steps):
        for step in steps:
            if isinstance(step, Run):
                graph = flow.graph(step.graph_id)
                assert len(step.results) == len(graph.outputs)
                handed.update(step.results)
            elif isinstance(step, Bind):
                assert len(step.names) == len(step.values)
                handed.update(step.names)
            elif isinstance(step, If):
                through((*step.then, *step.orelse))
            else:
                through((*step.condition, *step.body))

    through(flow.steps)
    fed = {one.name for one in flow.parameters if not one.is_weight}
    for graph in flow.graphs:
        for one in graph.parameters:
            assert (
                one.name in (handed if one.captured and graph.ops else handed | fed | {"result"})
                or one.is_weight
            )
        weights = [one.is_weight for one in graph.parameters]
        assert weights == sorted(weights, reverse=True)
        read = {
            operand
            for op in graph.ops
            for operand in op.flat_inputs()
            if isinstance(operand, Param)
        }
        assert not graph.ops or read == {Param(k) for k in range(len(graph.parameters))}


def test_a_choice_runs_one_side_and_binds_what_it_results_in():
    flow = trace(
        lambda p, x: F.cond(p, lambda x: F.relu(x), lambda x: F.tanh(x), x) + 1.0, np.bool_(True), X
    )
    choice = next(step for step in flow.steps if isinstance(step, If))
    assert choice.predicate == "p"
    for side, kind in ((choice.then, "ReLU"), (choice.orelse, "Tanh")):
        run, bind = side
        assert [op.op_type for op in flow.graph(run.graph_id).ops] == [kind]
        assert bind.values == run.results
        assert bind.names == choice.then[1].names
    last = flow.steps[-1]
    assert [op.op_type for op in flow.graph(last.graph_id).ops] == ["Add"]
    assert flow.graph(last.graph_id).parameters[0].name == choice.then[1].names[0]
    assert flow.results == last.results


def test_a_side_that_computes_nothing_hands_a_value_on():
    flow = trace(lambda p, x: F.cond(p, lambda x: F.relu(x), lambda x: x, x), np.bool_(True), X)
    for taken, want in ((True, 0.0), (False, -1.0)):
        values = {}
        for one in run_reference(flow, {"p": np.bool_(taken), "x": -X}):
            if one.key.io == "output":
                values[one.key.op_type] = one.source.array()
        assert ("ReLU" in values) is taken
        assert float(values.get("ReLU", -X).max()) == want


def test_a_loop_has_its_condition_and_body_and_what_it_carries():
    network = lambda n, x: F.while_loop(  # noqa: E731
        lambda v: F.less(v[0], n), lambda v: (v[0] + 1, v[1] * 2.0), (np.int32(0), x)
    )
    flow = trace(network, np.int32(3), X)
    start = next(step for step in flow.steps if isinstance(step, Bind))
    loop = next(step for step in flow.steps if isinstance(step, While))
    assert start.values == (Const(0, "int32", ()), "x")
    assert flow.results == start.names
    (condition,) = loop.condition
    assert loop.predicate == condition.results[0]
    assert [op.op_type for op in flow.graph(condition.graph_id).ops] == ["Less"]
    run, again = loop.body
    assert sorted(op.op_type for op in flow.graph(run.graph_id).ops) == ["Add", "Mul"]
    assert (again.names, again.values) == (start.names, run.results)


def unfinished(x):
    """w is counted up unless x has an element that is not finite; then what is left is looked at."""
    weight = Parameter(np.float32([1, 2]), "w")
    flag = record("AllFinite", (x,))
    with recorder("step").unless(flag):
        record("AssignAdd", weight, x * 2.0)
    return flag, x + 1.0


def test_what_a_flag_leaves_out_is_the_side_of_a_choice():
    graph = trace(unfinished, np.float32([1, 1]))
    flow = parted(graph)
    assert isinstance(flow, ControlFlow)
    assert [type(step) for step in flow.steps] == [Run, If, Run]
    choice = flow.steps[1]
    assert choice.then == ()
    (run,) = choice.orelse
    assert [op.op_type for op in flow.graph(run.graph_id).ops] == ["Mul", "AssignAdd"]
    assert choice.predicate == f"{graph.ops[0].name}:0"
    assert all(op.unless == "" for one in flow.graphs for op in one.ops)
    state = {}
    for x, want in (([1, 1], [3, 4]), ([np.inf, 1], [3, 4]), ([0, 1], [3, 6])):
        list(run_reference(flow, {"x": np.float32(x)}, state=state))
        assert state["w"].tolist() == want


def test_a_network_without_flags_is_not_parted():
    graph = trace(lambda x: F.relu(x), X)
    assert parted(graph) is graph
    flow = traced("both")
    assert parted(flow) is flow


def test_batches_stay_with_a_network_that_is_parted():
    batches = lambda step: {"x": np.float32([step, step])}  # noqa: E731
    flow = parted(replace(trace(unfinished, np.float32([1, 1])), batches=batches))
    assert flow.batches is batches


def test_operators_that_nothing_needs_are_dropped():
    def network(p, x):
        F.exp(x)
        return F.cond(p, lambda x: (F.neg(x), F.relu(x))[1], lambda x: F.tanh(x), x)

    kinds = {op.op_type for graph in trace(network, np.bool_(True), X).graphs for op in graph.ops}
    assert kinds == {"ReLU", "Tanh"}
