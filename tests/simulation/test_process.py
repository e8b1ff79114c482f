"""Several networks in one process: numbers of iterations and graphs, names of operators, feeds."""

import json
from pathlib import Path

import numpy as np
import pytest

from kit.words import refused
from workbench.config.context import Context
from workbench.core.errors import GraphError
from workbench.core.plan import DumpPlan, Iterations
from workbench.graph.control_flow import graphs_of
from workbench.graph.graph import Graph
from workbench.network import nn
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu import runner
from workbench.npu.compile.program import Program
from workbench.npu.target import Target
from workbench.run import reference
from workbench.run.plan import plan_execution
from workbench.run.reference import run_reference
from workbench.simulation import process
from workbench.simulation.numbering import number_graphs, schedule_of, turns
from workbench.simulation.process import Process

RECORD = Path(__file__).parents[1] / "data/conformance/flows_2.10.0_cpu.json"
ORDERS = {
    case["case"]: case for case in json.loads(RECORD.read_text())["cases"] if "weights" not in case
}
X = np.ones((2, 4), np.float32)


@pytest.mark.parametrize("order", ORDERS)
def test_iterations_are_numbered_as_real_mindspore_does(order):
    first = dict.fromkeys(order)
    places = [[*first].index(place) for place in order]
    folders = {f"{turn.network}/{turn.iteration}" for turn in turns(places)}
    assert folders == ORDERS[order]["tensors"].keys()


def test_numbers_begin_where_the_form_says():
    assert [turn.iteration for turn in turns([0, 0, 0], 5)] == [5, 6, 7]
    assert [turn.run for turn in turns([0, 1, 0], 5)] == [5, 5, 6]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 4)

    def construct(self, x):
        return F.relu(self.fc(x))


def branching(p, x):
    return F.relu(F.cond(p, F.relu, F.tanh, F.relu(x)))


def test_graphs_are_numbered_when_they_first_run_and_operators_go_on_counting():
    networks = (trace(Net(), X), trace(branching, np.bool_(True), X), trace(Net(), X))
    first, second, third = number_graphs(networks, [1, 0, 1])
    assert [graph.graph_id for graph in second.graphs] == [0, 1, 2, 3]
    assert (first.graph_id, third.graph_id) == (4, 5)
    names = [[op.name for op in graph.ops] for one in (second, first) for graph in graphs_of(one)]
    assert names == [
        ["Default/ReLU-op0"],
        ["Default/ReLU-op1"],
        ["Default/ReLU-op2"],
        ["Default/Tanh-op0"],
        ["Default/fc-Dense/MatMul-op0", "Default/fc-Dense/BiasAdd-op0", "Default/ReLU-op3"],
    ]
    assert [op.name for op in third.ops] == [
        "Default/fc-Dense/MatMul-op1",
        "Default/fc-Dense/BiasAdd-op1",
        "Default/ReLU-op4",
    ]


def test_a_flow_that_is_numbered_anew_still_runs():
    networks = number_graphs((trace(Net(), X), trace(branching, np.bool_(True), X)), [0, 1])
    ids = [record.key.graph_id for record in run_reference(networks[1])]
    assert set(ids) == {1, 2, 3}
    assert max(ids) == 3


def test_schedules_name_networks_by_their_places():
    networks = (trace(Net(), X), trace(Net(), X))
    assert schedule_of(networks, None, 2) == [0, 1, 0, 1]
    assert schedule_of(networks, (1, 0), 9) == [1, 0]
    for wrong, got in (((0, 2), 2), ((-1,), -1)):
        with refused("simulation/schedule", GraphError, got=got, last=1):
            schedule_of(networks, wrong, 1)
    with refused("simulation/schedule-empty", GraphError):
        schedule_of(networks, (), 1)


@pytest.mark.parametrize("device", ["reference", "a2"])
@pytest.mark.parametrize(
    "network", [trace(Net(), X), trace(branching, np.bool_(True), X)], ids=["graph", "flow"]
)
def test_a_network_is_planned_once_for_all_of_its_iterations(monkeypatch, device, network):
    planned = []

    def counted(graph):
        planned.append(graph.graph_id)
        return plan_execution(graph)

    for module in (process, runner, reference):
        monkeypatch.setattr(module, "plan_execution", counted)
    ran = Process(
        number_graphs((network,), [0] * 3), [0] * 3, None, Target("mindspore-o0o1", device)
    )
    alone = isinstance(network, Graph) and device != "reference"
    assert all(isinstance(one, Program) for one in ran.compiled) == alone
    plan = DumpPlan("/dump", iterations=Iterations(None))
    records = [list(records) for records, _ in ran.iterate(plan, Context())]
    assert [len(one) for one in records] == [len(records[0])] * 3
    assert sorted(planned) == [graph.graph_id for graph in graphs_of(network)]
