"""Several TensorFlow networks in one process: a model each, with its folder, its id, its graph files and its steps."""

from __future__ import annotations

import json

import numpy as np
import pytest

import workbench as wb
from kit.commands import run, status
from kit.trees import files, sizes
from kit.words import refused
from workbench.config import Context, new
from workbench.core.errors import GraphError
from workbench.graph_files.formats import read_graph
from workbench.network import nn
from workbench.network.models import MLP, TRAININGS, load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace

FORM = new("tensorflow").set("dump.dump_step", "0-5")
T = "2023111422"
X = np.ones((2, 4), np.float32)

CASES = {
    "in turn": (None, 2, "0-5", {"1320_1/2": [0, 1], "1321_11/3": [0, 1]}),
    "the second is built first": ((1, 0), 1, "0-5", {"1320_1/2": [0], "1321_11/3": [0]}),
    "each counts its own steps": (
        (0, 1, 0, 1, 1), 1, "0-5", {"1320_1/2": [0, 1], "1321_11/3": [0, 1, 2]},
    ),
    "a step that one of them has": ((0, 1, 1, 1), 1, "2", {"1321_11/3": [2]}),
    "one that never runs is built": ((0, 0), 1, "0-5", {"1320_1/2": [0, 1]}),
}  # fmt: skip
"""Schedule, iterations, ``dump_step``; end of the model's name and id → its steps."""


def two():
    return [load_graph("mlp"), load_graph("lenet")]


def simulated(out, networks=None, form=FORM, **options):
    options = {"device": "a2", "surface": "tensorflow"} | options
    return wb.simulate(networks or two(), None, form, out, **options)


def steps(tree):
    """Folders of the networks' models: end of the name and id → steps with files."""
    found = {}
    for path in sorted((tree / f"{T}1320/0").glob("*/*/*")):
        _, _, name = path.parts[-3].rpartition(T)
        found.setdefault(f"{name}/{path.parts[-2]}", []).append(int(path.name))
    return {name: numbers for name, numbers in found.items() if not name.startswith("1420_")}


@pytest.mark.parametrize(("schedule", "iterations", "asked", "expected"), CASES.values(), ids=CASES)
def test_every_network_is_a_model_with_its_own_id_and_steps(
    tmp_path, schedule, iterations, asked, expected
):
    form = FORM.set("dump.dump_step", asked)
    options = {"schedule": schedule, "iterations": iterations}
    tree = simulated(tmp_path, form=form, **options)
    assert steps(tree) == expected
    foretold = wb.preview(form, ["mlp", "lenet"], **options)
    assert {entry.path: entry.size for entry in foretold.forecast.files} == sizes(tree)
    assert foretold.exact == (schedule is not None)


def test_models_are_numbered_in_the_order_in_which_they_are_loaded(tmp_path):
    tree = simulated(tmp_path, schedule=(1, 0))
    assert list((tree / f"{T}1320/0/ge_default_{T}1320_1/2/0").glob("Conv2D.*conv1*"))
    assert {path.parent.name for path in (tree / f"{T}1320/0").glob(f"*{T}1420_21/4")} == {
        f"ge_default_{T}1420_21"
    }


@pytest.mark.parametrize("device", ["reference", "a2"])
def test_every_model_has_its_graph_files_and_its_own_stages(tmp_path, device):
    form = FORM.set("environment.DUMP_GE_GRAPH", "2")
    tree = simulated(tmp_path, form=form, device=device)
    for stage in ("PreRunBegin", "Build"):
        graphs = [read_graph(path) for path in sorted(tree.rglob(f"ge_proto_*_{stage}.txt"))]
        names = [f"{T}{end}" for end in ("1220_1", "1320_1", "1321_11", "1420_21")]
        assert [graph.name for graph in graphs] == [f"ge_default_{name}" for name in names]
        convolutions = [sum(op.op_type == "Conv2D" for op in graph.ops) for graph in graphs]
        assert convolutions == [0, 0, 2, 0]


def test_files_of_both_are_in_order_of_time(tmp_path):
    tree = simulated(tmp_path, schedule=(0, 1, 0))
    found = sorted(
        (int(path.name.rpartition(".")[2]), path.parts[-3], path.parent.name)
        for path in (tree / f"{T}1320/0").glob("*/[23]/*/*")
    )
    runs = list(dict.fromkeys((model, step) for _, model, step in found))
    assert runs == [("2", "0"), ("3", "0"), ("2", "1")]


def test_operators_of_one_name_are_numbered_through_the_process(tmp_path):
    networks = [trace(lambda x: F.relu(x), X, name="A"), trace(lambda x: F.relu(x), X, name="B")]
    tree = simulated(tmp_path, networks)
    graphs = {key[1]: graph for key, graph in wb.load(tree).graphs.items()}
    names = {op.name for graph in graphs.values() for op in graph.ops if "ReLU" in op.name}
    assert names == {"Default/ReLU-op0", "Default/ReLU-op1"}


def test_a_dump_has_the_numbers_of_both(tmp_path):
    """Weights go on from the one to the other: what is evaluated is what was trained."""
    batch = TRAININGS["mlp_train"][1]
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    check = trace(nn.WithLossCell(MLP(), loss), *batch(0, 0), name="eval")
    networks = [load_graph("mlp_train"), check]
    tree = simulated(tmp_path, networks, schedule=[1, *[0] * 5, 1], device="reference")
    found = [
        record
        for record in wb.load(tree).records
        if record.key.net_name.endswith("_1")
        and (record.key.op_type, record.key.io) == ("SparseSoftmaxCrossEntropyWithLogits", "output")
        and not record.source.array().shape
    ]
    before, after = (
        float(one.source.array()) for one in sorted(found, key=lambda one: one.key.iteration)
    )
    assert after < 0.8 * before


REFUSED = {
    "control flow in one of them": ({"networks": "flow"}, "graph/control-flow", {}),
    "quantization": ({"quantization": "w8a8"}, "simulation/several-quantized", {"names": ["MLP", "LeNet"]}),
    "a place that is none": ({"schedule": (0, 2)}, "simulation/schedule", {"got": 2, "last": 1}),
    "a fault that none has": ({"faults": ["wrong-sign:Default/Tanh-op0"]}, "run/fault-nowhere", {}),
}  # fmt: skip


@pytest.mark.parametrize(("options", "code", "values"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_go_with_several_networks_is_refused(tmp_path, options, code, values):
    networks = two()
    if options.get("networks"):
        loop = lambda x: F.while_loop(lambda v: F.less(v, 9.0), lambda v: v * 2.0, x)  # noqa: E731
        networks, options = [networks[0], trace(loop, np.float32(1))], {}
    with refused(code, GraphError, **values):
        simulated(tmp_path, networks, **options)


def test_a_fault_that_ends_the_run_ends_it_for_both(tmp_path):
    tree = simulated(tmp_path, schedule=(0, 1, 0), faults=["aicore-exception:*conv2*:iteration=0"])
    assert steps(tree) == {"1320_1/2": [0], "1321_11/3": [0]}
    assert not list(tree.glob("*/0/*1420_21"))


def test_the_graphs_of_a_dump_are_previewed_as_its_models(tmp_path):
    tree = simulated(tmp_path / "out", schedule=(0, 1, 0))
    foretold = wb.preview(FORM, str(tree), schedule=(1, 0, 1))
    models = {folder.path.split("/")[2]: folder.path.split("/")[3] for folder in foretold.folders
              if folder.path.startswith(f"{T}1320")}  # fmt: skip
    named = {name.rpartition("_")[2]: number for name, number in models.items()}
    assert (named["1"], named["11"]) == ("3", "2")  # the dump's first graph is the larger one


def test_ranks_have_a_tree_each(tmp_path):
    env = {"RANK_ID": "1"}
    tree = simulated(tmp_path, ranks=2, env=env)
    foretold = wb.preview(FORM, ["mlp", "lenet"], context=Context(env=env), ranks=2)
    assert {entry.path for entry in foretold.forecast.files} == {*files(tree)}


def test_the_command_line_runs_and_previews_both(tmp_path, capsys):
    path = tmp_path / "form.py"
    path.write_text(FORM.to_text())
    graphs = ["--graph", "mlp", "--graph", "lenet", "--schedule", "0,1,1"]
    line = ["simulate", "--config", path, "--device", "a2", "--out", tmp_path / "out", *graphs]
    assert status(*line) == 0
    capsys.readouterr()
    _, text, _ = run(capsys, "config", "preview", path, *graphs, "--json")
    names = {one["path"] for one in json.loads(text)["names"]}
    assert names == {*files(tmp_path / "out")}
