"""Networks with control flow, and several in one process: their trees, and comparisons of them."""

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.build.runs import rehearse
from kit.build.traced_networks import FLOWS
from kit.cases import each_once, nightly
from kit.commands import status
from kit.evidence import the
from kit.words import refused
from workbench.config import new
from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.forecast.preview import preview
from workbench.network import nn
from workbench.network.models import MLP, TRAININGS, load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace

RECORD = Path(__file__).parents[1] / "data/conformance/flows_2.10.0_cpu.json"
RECORDED = json.loads(RECORD.read_text())["cases"]
REAL = {case["case"]: case for case in RECORDED if "weights" in case}
ORDERS = {case["case"]: case for case in RECORDED if "weights" not in case}
X = np.ones((2, 4), np.float32)
SURFACES = (("mindspore-cpu", "reference"), ("mindspore-gpu", "reference"))
SURFACES += (("mindspore-o0o1", "a2"), ("mindspore-o0o1", "910a"))


def form_of(surface):
    return new(surface).set("common_dump_settings.iteration", "all")


def flow_of(case):
    first = np.int32(1) if case in ("both", "loop", "first", "inside") else np.bool_(True)
    return trace(FLOWS[case](), first, X)


def recorded_feeds(case):
    """Inputs and weights of the record, by iteration."""
    shapes = {one.name: one.spec.shape for one in flow_of(case).parameters}
    weights = {name: value for name, value in REAL[case]["weights"].items() if name in shapes}

    def feeds(iteration):
        first = "n" if "n" in shapes else "p"
        given = dict(zip((first, "x"), REAL[case]["inputs"][iteration], strict=True))
        return {name: np.reshape(value, shapes[name]) for name, value in (weights | given).items()}

    return feeds


def dumped(out, case, surface="mindspore-cpu", device="reference", feeds=None, **options):
    options = {"iterations": 3, "device": device, "surface": surface} | options
    feeds = feeds or recorded_feeds(case)
    return wb.simulate(flow_of(case), feeds, form_of(surface), out, **options)


def tensors_of(tree, iteration, graph):
    """Values by kind, input or output, and slot; several where a graph ran several times."""
    found = defaultdict(list)
    for record in wb.load(tree).records:
        key = record.key
        if (key.iteration, key.graph_id) == (iteration, graph):
            kind = key.op_name.replace(".", "_") if key.op_type == "Parameter" else key.op_type
            found[kind, key.io, key.slot].append(record)
    return found


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """Trees of a CPU by flow, with the feeds of the record; each is made once."""
    root = tmp_path_factory.mktemp("golden")
    return cache(lambda case: dumped(root / case, case))


@pytest.mark.parametrize("case", FLOWS)
def test_a_cpu_tree_has_the_tensors_of_real_mindspore(golden, case):
    tree = golden(case)
    folders = {
        "/".join(path.parts[-2:])
        for path in (tree / "rank_0/Net").glob("*/*")
        if any(path.iterdir())
    }
    assert folders == REAL[case]["tensors"].keys()
    for folder, rows in REAL[case]["tensors"].items():
        graph, iteration = map(int, folder.split("/"))
        ours = tensors_of(tree, iteration, graph)
        theirs = Counter((kind, io, slot) for kind, io, slot, _ in rows)
        assert {key: len(found) for key, found in ours.items()} == theirs, folder
        arrays = {key: [one.source.array().ravel() for one in found] for key, found in ours.items()}
        for kind, io, slot, values in rows:
            near = (np.allclose(one, values, 1e-5, 1e-6) for one in arrays[kind, io, slot])
            assert any(near), (folder, kind, io, slot)


@pytest.mark.parametrize("case", FLOWS)
def test_execution_orders_are_those_of_real_mindspore(golden, case):
    orders = (golden(case) / "rank_0/execution_order").glob("*_global_*.csv")
    found = {path.stem.rpartition("_")[2]: [*map(int, path.read_text().split())] for path in orders}
    assert found == REAL[case]["order"]


def test_devices_have_what_comes_from_other_graphs_and_a_cpu_has_not(golden, tmp_path):
    cpu, npu = golden("both"), dumped(tmp_path / "b", "both", "mindspore-o0o1", "a2")
    assert ("MatMul", "input", 0) not in tensors_of(cpu, 0, 2)
    assert len(tensors_of(npu, 0, 2)["MatMul", "input", 0]) == 3


CLEAN = [(case, *place) for place in SURFACES for case in FLOWS]


@pytest.mark.parametrize(("case", "surface", "device"), nightly(CLEAN, each_once(CLEAN)))
def test_clean_runs_do_not_fail(golden, tmp_path, case, surface, device):
    target = dumped(tmp_path / "target", case, surface, device)
    comparison = wb.compare(target, golden(case))
    assert comparison.verdict in ("pass", "warn"), comparison.sentence
    outputs = [row for row in comparison.rows if row.io == "output" and not row.match_rule]
    assert not [row for row in outputs if row.op_type != "Parameter"]


@pytest.mark.parametrize(
    ("case", "fault", "graph", "iteration"),
    [
        ("both", "wrong-sign:Default/fc-Dense/BiasAdd-op0", 2, 0),
        ("both", "scaled-output:Default/out-Dense/MatMul-op1:1.5", 7, 1),
        ("loop", "scaled-output:Default/out-Dense/MatMul-op0:1.5", 5, 0),
        ("choice", "wrong-sign:Default/relu-ReLU/ReLU-op0", 2, 0),
        ("inside", "scaled-output:Default/Mul-op0:3", 6, 0),
    ],
)
def test_a_fault_is_found_in_its_graph(tmp_path, case, fault, graph, iteration):
    feeds = recorded_feeds(case)
    if case == "both":  # its last choice depends on the sign of h: let both sides run
        base = recorded_feeds(case)
        feeds = lambda k: base(k) | {"x": X * (-3.0 if k == 1 else 1.0)}  # noqa: E731
    golden = dumped(tmp_path / "golden", case, feeds=feeds)
    target = dumped(tmp_path / "target", case, "mindspore-o0o1", "a2", feeds, faults=[fault])
    comparison = wb.compare(target, golden)
    first = comparison.first_divergence
    assert (first.op_name, first.graph_id) == (fault.split(":")[1], graph)
    assert first.iteration == iteration
    assert comparison.findings[0].op_name == fault.split(":")[1]


def growing(n, x):
    def body(value):
        return value[0] + 1, F.relu(value[1] * 10.0)

    return F.while_loop(lambda value: F.less(value[0], n), body, (np.int32(0), F.relu(x)))[1]


def test_a_fault_that_shows_in_a_late_turn_is_found_in_that_turn():
    flow = trace(growing, np.int32(5), X)
    fault = "saturated:Default/ReLU-op1:5000"  # 10, 100, 1000, then 10000
    comparison = rehearse(flow, form_of("mindspore-o0o1"), faults=[fault])
    first = comparison.first_divergence
    assert (first.op_name, first.graph_id, first.turn) == ("Default/ReLU-op1", 2, 3)
    (finding,) = (one for one in comparison.findings if one.defect)
    the(finding.evidence, "turn", turn=3)


def test_runs_whose_choices_differ_are_compared_as_far_as_both_went(golden, tmp_path):
    fault = "scaled-output:Default/ReduceSum-op0:-1"
    target = dumped(tmp_path / "target", "both", "mindspore-o0o1", "a2", faults=[fault])
    comparison = wb.compare(target, golden("both"))
    assert comparison.verdict == "fail"
    assert comparison.findings[0].op_name == "Default/ReduceSum-op0"


def test_a_failure_in_a_turn_ends_the_run(tmp_path):
    said = []
    dumped(tmp_path / "out", "loop", "mindspore-o0o1", "a2", say=said.append,
           faults=["aicore-exception:Default/fc-Dense/MatMul-op0"])  # fmt: skip
    assert said == [str(Message("simulation/run-failed", op="Default/fc-Dense/MatMul-op0"))]


def test_statistics_of_turns_are_rows_of_one_table(tmp_path):
    form = form_of("mindspore-o0o1").set("common_dump_settings.saved_data", "statistic")
    tree = wb.simulate(flow_of("both"), {"n": np.int32(3)}, form, tmp_path / "out",
                       surface="mindspore-o0o1", device="a2")  # fmt: skip
    rows = (tree / "rank_0/Net/2/0/statistic.csv").read_text().splitlines()
    assert sum(row.startswith("MatMul,") and ",output,0," in row for row in rows) == 3


@pytest.mark.parametrize("surface", ["mindspore-o2", "acl", "tensorflow", "torchair"])
def test_the_graph_engine_refuses_control_flow(tmp_path, surface):
    with refused("graph/control-flow", GraphError, user=surface):
        wb.simulate(
            flow_of("both"), None, new(surface), tmp_path / "out", surface=surface, device="a2"
        )


@pytest.mark.parametrize("surface", ["mindspore-o2", "acl", "torchair"])
def test_the_graph_engine_refuses_several_networks_but_for_tensorflow(tmp_path, surface):
    two = [load_graph("mlp"), load_graph("lenet")]
    with refused("simulation/several-networks", surface=surface, names=["MLP", "LeNet"]):
        wb.simulate(two, None, new(surface), tmp_path / "out", surface=surface, device="a2")


def test_a_preview_has_every_graph_once_and_says_so(tmp_path):
    foretold = preview(form_of("mindspore-cpu"), flow_of("both"))
    assert any(doubt.code == "dump/branches" for doubt in foretold.inexact_because)
    tree = dumped(tmp_path / "out", "both", iterations=1)
    names = lambda paths: {".".join(path.split(".")[:4]) for path in paths}  # noqa: E731
    files = {path.relative_to(tree).as_posix() for path in tree.rglob("*.npy")}
    told = {entry.path for entry in foretold.forecast.files if entry.path.endswith(".npy")}
    other_side = {path for path in told if "/7/" in path}
    assert names(told - other_side) == names(files)


def train_and_eval():
    batch = TRAININGS["mlp_train"][1]
    backbone = MLP()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    step = load_graph("mlp_train")
    return step, trace(nn.WithLossCell(backbone, loss), *batch(0, 0), name="eval")


@pytest.mark.parametrize("order", [order for order in ORDERS if order[0] == "0"])
def test_two_networks_share_a_counter_as_in_real_mindspore(tmp_path, order):
    places = [int(place) for place in order]
    tree = wb.simulate(
        train_and_eval(), None, form_of("mindspore-cpu"), tmp_path / "out", schedule=places
    )
    folders = {"/".join(path.parts[-2:]) for path in (tree / "rank_0/Net").glob("*/*")}
    assert folders == ORDERS[order]["tensors"].keys()
    orders = (tree / "rank_0/execution_order").glob("*_global_*.csv")
    found = {path.stem.rpartition("_")[2]: [*map(int, path.read_text().split())] for path in orders}
    assert found == ORDERS[order]["order"]


def losses(tree, graph):
    """Losses of the runs of a graph in order of time."""
    kind = "SparseSoftmaxCrossEntropyWithLogits"
    found = [
        (record.timestamp_us, record.source.array())
        for record in wb.load(tree).records
        if (record.key.op_type, record.key.io, record.key.graph_id) == (kind, "output", graph)
        and not record.source.array().shape
    ]
    return [float(loss) for _, loss in sorted(found, key=lambda pair: pair[0])]


def test_the_evaluation_reads_the_weights_that_training_left(tmp_path):
    schedule = [1, *[0] * 8, 1]
    tree = wb.simulate(
        train_and_eval(), None, form_of("mindspore-cpu"), tmp_path / "out", schedule=schedule
    )
    before, after = losses(tree, 0)  # the evaluation runs first, so that its graph is 0
    assert after < 0.8 * before


def test_a_fault_in_training_shows_in_training_and_not_in_the_evaluation_before(tmp_path):
    networks, schedule = train_and_eval(), [1, 0, 1, 0]
    golden = wb.simulate(
        networks, None, form_of("mindspore-cpu"), tmp_path / "golden", schedule=schedule
    )
    name = next(
        op.name for op in networks[0].ops if op.op_type == "MatMul" and "Gradients" in op.name
    )
    target = wb.simulate(networks, None, form_of("mindspore-o0o1"), tmp_path / "target", schedule=schedule,
                         device="a2", faults=[f"scaled-output:{name}:3"])  # fmt: skip
    comparison = wb.compare(target, golden)
    assert comparison.first_divergence.op_name == name
    assert comparison.first_divergence.graph_id == 1
    early = [row for row in comparison.rows if (row.graph_id, row.iteration) == (0, 0)]
    assert early
    assert not [row for row in early if row.status == "fail"]


MODELS_OF_TENSORFLOW = {
    "the second network": (["mlp", "lenet"], (0, 1, 0, 1), (0, 1, 0, 1), "conv2-Conv2d/Conv2D", 1),
    "the second, which has the smaller graph": (
        ["lenet", "mlp"], (0, 1, 0, 1), (0, 1, 0, 1), "head-Dense/MatMul", 0,
    ),
    "the second, which the golden built first": (
        ["mlp", "lenet"], (0, 1, 0, 1), (1, 0, 1, 0), "conv2-Conv2d/Conv2D", 0,
    ),
    "the first": (["mlp", "lenet"], (0, 0, 1), (0, 0, 1), "head-Dense/MatMul", 1),
}  # fmt: skip
"""Networks, schedules of target and golden, the operator with the fault, the iteration from which on it has it.

The first is for the nightly run: the third has its target, against another golden.
"""


@pytest.mark.parametrize("case", nightly(MODELS_OF_TENSORFLOW, [*MODELS_OF_TENSORFLOW][1:]))
def test_models_of_one_tensorflow_process_are_compared_each_with_its_own(tmp_path, case):
    names, schedule, other, operator, iteration = MODELS_OF_TENSORFLOW[case]
    networks = [load_graph(name) for name in names]
    form = new("tensorflow").set("dump.dump_step", "0-3")
    options = {"surface": "tensorflow"}
    golden = wb.simulate(networks, None, form, tmp_path / "golden", schedule=other, **options)
    options |= {"schedule": schedule, "device": "a2"}
    clean = wb.compare(wb.simulate(networks, None, form, tmp_path / "clean", **options), golden)
    assert clean.verdict in ("pass", "warn"), clean.sentence
    compared = [row for row in clean.rows if row.status != "uncomparable"]
    assert {(row.graph_id, row.iteration) for row in compared} == {
        (graph, number) for graph, runs in _runs(names, schedule).items() for number in range(runs)
    }
    fault = f"scaled-output:*{operator}*:strength=1.5,iteration={iteration}"
    target = wb.simulate(networks, None, form, tmp_path / "target", faults=[fault], **options)
    comparison = wb.compare(target, golden)
    place = names.index("lenet" if "conv2" in operator else "mlp")
    graph = 0 if names[place] == "lenet" else 1
    first = comparison.first_divergence
    assert (operator in first.op_name, first.graph_id) == (True, graph)
    assert first.iteration == iteration
    failing = {row.graph_id for row in comparison.rows if row.status == "fail"}
    assert failing == {graph}


def _runs(names, schedule):
    """Number of runs by graph; the network with the larger graph is graph 0."""
    return {0: schedule.count(names.index("lenet")), 1: schedule.count(names.index("mlp"))}


def test_feeds_go_to_the_networks_that_know_them(tmp_path):
    networks = [trace(lambda a: F.relu(a), X, name="A"), trace(lambda b: F.exp(b), X, name="B")]
    tree = wb.simulate(networks, {"b": X * 0}, form_of("mindspore-cpu"), tmp_path / "out")
    (record,) = tensors_of(tree, 1, 1)["Exp", "output", 0]
    np.testing.assert_array_equal(record.source.array(), X)
    with refused("simulation/feed", GraphError, known=["a", "b"], got="c"):
        wb.simulate(networks, {"c": X}, form_of("mindspore-cpu"), tmp_path / "other")
    with refused("run/fault-nowhere", GraphError, graph="A, B"):
        wb.simulate(networks, None, form_of("mindspore-o0o1"), tmp_path / "third", device="a2",
                    faults=["wrong-sign:Default/Tanh-op0"])  # fmt: skip


def test_a_loop_that_does_not_end_is_told(tmp_path):
    flow = trace(
        lambda x: F.while_loop(lambda v: F.less(v, 9.0), lambda v: v * 1.0, x), np.float32(1)
    )
    with refused("run/endless-loop", GraphError, limit=5):
        wb.simulate(flow, None, form_of("mindspore-cpu"), tmp_path / "out", max_turns=5)


def test_the_command_line_runs_several_networks_in_their_order(tmp_path, capsys):
    form = tmp_path / "form.json"
    form.write_text(form_of("mindspore-cpu").to_text())
    line = ["simulate", "--graph", "mlp_train", "--graph", "mlp", "--config", str(form)]
    assert status(*line, "--schedule", "0,1,0", "--out", tmp_path / "out") == 0
    found = {"/".join(path.parts[-2:]) for path in (tmp_path / "out/rank_0/Net").glob("*/*")}
    assert found == {"0/0", "1/1", "0/1"}
    wrong = {
        ("--schedule", "0;1"): Message("cli/schedule", got="0;1"),
        ("--schedule", "2"): Message("simulation/schedule", got=2, last=1),
        ("--max-turns", "0"): Message("simulation/count", name="max_turns", got=0),
    }
    for option, message in wrong.items():
        assert status(*line, *option, "--out", tmp_path / "other") == 2
        assert str(message) in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
