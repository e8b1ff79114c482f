"""Networks with control flow: what runs, how often, and with what, as real MindSpore has it."""

import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.traced_networks import FLOWS
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import ArraySource, TensorSpec
from workbench.graph.control_flow import ControlFlow, Run
from workbench.graph.graph import Graph, Op, Param, Value
from workbench.graph.graph import Parameter as GraphParameter
from workbench.network import nn
from workbench.network.nn import functional as F
from workbench.network.symbolic import Parameter, record
from workbench.network.tracer import trace
from workbench.npu.faults import Fault
from workbench.npu.runner import run_npu
from workbench.run.control_flow import run_flow
from workbench.run.reference import run_reference

RECORD = Path(__file__).parents[1] / "data/conformance/flows_2.10.0_cpu.json"
REAL = {case["case"]: case for case in json.loads(RECORD.read_text())["cases"] if "weights" in case}
X = np.ones((2, 4), np.float32)


def traced(case):
    first = np.int32(1) if case in ("both", "loop", "first", "inside") else np.bool_(True)
    return trace(FLOWS[case](), first, X)


def feeds_of(case, flow, iteration):
    """Inputs and weights of the record, in our shapes."""
    given = dict(
        zip(("n" if "n" in names(flow) else "p", "x"), REAL[case]["inputs"][iteration], strict=True)
    )
    given |= {key: value for key, value in REAL[case]["weights"].items() if key in names(flow)}
    shapes = {parameter.name: parameter.spec.shape for parameter in flow.parameters}
    return {key: np.reshape(value, shapes[key]) for key, value in given.items()}


def names(flow):
    return [parameter.name for parameter in flow.parameters]


def outputs(records):
    """Values of outputs by graph and type, in order of time."""
    found = defaultdict(list)
    for one in records:
        if one.key.io == "output" and one.key.op_type != "Parameter":
            found[one.key.graph_id, one.key.op_type].append(one.source.array())
    return found


@pytest.mark.parametrize("case", FLOWS)
@pytest.mark.parametrize("iteration", [0, 1, 2])
def test_every_output_of_every_turn_is_that_of_real_mindspore(case, iteration):
    flow = traced(case)
    ran = outputs(run_reference(flow, feeds_of(case, flow, iteration)))
    real = defaultdict(list)
    for folder, rows in REAL[case]["tensors"].items():
        graph, number = map(int, folder.split("/"))
        for kind, io, _, values in rows:
            known = kind in {op.op_type for op in flow.graph(graph).ops}
            if number == iteration and io == "output" and known:
                real[graph, kind].append(np.array(values))
    assert {key: len(values) for key, values in ran.items()} == {
        key: len(values) for key, values in real.items()
    }
    for key, values in real.items():
        if key[1] not in ("Add", "AssignAdd"):  # two of a type run in any order; a count goes on
            for ours, theirs in zip(ran[key], values, strict=True):
                np.testing.assert_allclose(ours.ravel(), theirs, 1e-5, 1e-6, err_msg=str(key))


@given(st.integers(0, 5), st.floats(-2, 2, width=16), st.sampled_from([0.5, 1.5, 2.0]))
def test_a_loop_in_a_loop_computes_what_python_does(n, start, factor):
    def inner(value):
        return F.while_loop(
            lambda v: F.less(v[0], np.int32(2)), lambda v: (v[0] + 1, v[1] * factor), value
        )

    def network(n, x):
        return F.while_loop(
            lambda v: F.less(v[0], n), lambda v: (v[0] + 1, inner((np.int32(0), v[1]))[1] + 1.0),
            (np.int32(0), x),
        )[1]  # fmt: skip

    flow = trace(network, np.int32(0), np.float32(0))
    records = list(run_reference(flow, {"n": np.int32(n), "x": np.float32(start)}))
    value = np.float32(start)
    for _ in range(n):
        for _ in range(2):
            value = np.float32(value * np.float32(factor))
        value = np.float32(value + np.float32(1))
    adds = [one for one in records if (one.key.op_type, one.key.io) == ("Add", "output")]
    found = [one for one in adds if one.source.array().dtype == np.float32]
    assert len(found) == n
    if n:
        np.testing.assert_array_equal(found[-1].source.array(), value)


def counting(p, x):
    count = Parameter(np.int32(0), "count")
    return F.cond(p, lambda x: x + record("AssignAdd", count, np.int32(1)), lambda x: x, x)


def test_weights_that_a_side_updates_are_left_for_the_next_iteration():
    flow, state = trace(counting, np.bool_(True), np.int32(5)), {}
    for taken in (True, False, True):
        list(run_reference(flow, {"p": np.bool_(taken)}, state=state))
    assert state["count"] == 2


def test_the_entry_graph_shows_its_weights_as_they_are_at_the_end():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = Parameter(np.int32(3), "count")

        def construct(self, p, x):
            first = x + self.count
            return F.cond(p, lambda: record("AssignAdd", self.count, first), lambda: first)

    last = list(run_reference(trace(Net(), np.bool_(True), np.int32(5))))[-2:]
    assert {one.key.op_name: int(one.source.array()) for one in last} == {"count": 11, "x": 5}
    assert {one.key.graph_id for one in last} == {0}


def test_a_loop_that_does_not_end_is_named_with_its_line():
    def forever(x):
        return F.while_loop(lambda v: F.less(v, 10.0), lambda v: v * 1.0, x)

    flow = trace(forever, np.float32(1))
    runs = lambda graph: lambda feeds, **rest: run_reference(graph, feeds, **rest)  # noqa: E731
    with refused("run/endless-loop", GraphError, limit=7) as caught:
        list(run_flow(flow, runs, max_turns=7))
    assert re.fullmatch(r"while0 \(.*test_control_flow.py:\d+ .*\)", caught.value.values["loop"])
    with refused("run/max-turns", GraphError, got=0):
        list(run_flow(flow, runs, max_turns=0))


def test_unknown_feeds_are_refused():
    with refused("core/choice", GraphError, subject="feed", got="y"):
        list(run_reference(traced("loop"), {"y": X}))


def test_a_fault_strikes_its_operator_in_every_turn_and_no_other_graph():
    flow = traced("both")
    feeds = {"n": np.int32(3), "x": X}
    right = outputs(run_npu(flow, feeds))
    wrong = outputs(
        run_npu(flow, feeds, faults=[Fault("scaled-output", "*fc-Dense/MatMul-op0", 2)])
    )
    np.testing.assert_array_equal(wrong[2, "MatMul"][0], right[2, "MatMul"][0] * 2)
    assert len(wrong[2, "MatMul"]) == 3
    np.testing.assert_array_equal(wrong[0, "ReLU"][0], right[0, "ReLU"][0])
    with refused("run/fault-nowhere", GraphError, graph="Both", got="fc9"):
        run_npu(flow, feeds, faults=[Fault("scaled-output", "fc9")])


def test_an_operator_that_fails_ends_the_iteration():
    fault = Fault("aicore-exception", "Default/fc-Dense/BiasAdd-op0")
    records = list(run_npu(traced("both"), {"n": np.int32(3), "x": X}, faults=[fault]))
    assert records[-1].key.op_name == "Default/fc-Dense/BiasAdd-op0"
    assert not [one for one in records if one.key.op_type == "Parameter" and not one.key.graph_id]


ROW = TensorSpec("float32", (2,))
INNER = Graph("kernel_graph1", (GraphParameter("a:0", ROW, captured=True),), (Op("b", "Neg", (Param(0),), {}, (ROW,)),),
              (Value(0),), 1, inner=True)  # fmt: skip
FIRST = Graph(
    "kernel_graph0",
    (GraphParameter("x", ROW),),
    (Op("a", "Neg", (Param(0),), {}, (ROW,)),),
    (Value(0),),
    0,
)
TWO = ControlFlow(
    "net",
    (FIRST, INNER),
    (Run(0, ("a:0",)), Run(1, ("b:0",))),
    (GraphParameter("x", ROW),),
    ("b:0",),
)


def test_what_is_looked_at_again_is_nobodys_value():
    """A record of memory behind another operator shows what lies there by then; others read what was written."""

    def runs(graph):
        def run(feeds, *, iteration, state):
            for one in run_reference(graph, feeds, iteration=iteration, state=state):
                yield one
                if one.key.io == "output":
                    yield replace(one, source=ArraySource(np.float32([9, 9])), after="later")

        return run

    found = outputs(one for one in run_flow(TWO, runs, {"x": np.float32([1, 2])}) if not one.after)
    assert [one.tolist() for one in found[1, "Neg"]] == [[1, 2]]


def test_a_flow_takes_feeds_that_it_knows_and_loops_that_may_turn():
    with refused("core/choice", GraphError, subject="feed", got="z", known=["x"]):
        list(run_flow(TWO, lambda graph: run_reference, {"z": 1}))
    with refused("run/max-turns", GraphError, got=0):
        list(run_flow(TWO, lambda graph: run_reference, {"x": [1, 2]}, max_turns=0))
