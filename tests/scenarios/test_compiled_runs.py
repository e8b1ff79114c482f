"""Compiled runs against runs operator by operator: nothing is blamed that is not wrong, and what is, is."""

from __future__ import annotations

import json
import shutil
from itertools import product

import numpy as np
import pytest

import workbench as wb
from kit.cases import each_once, nightly
from kit.evidence import defects, the
from kit.words import refused
from workbench.core.errors import FormatError, GraphError
from workbench.core.plan import DumpPlan
from workbench.core.writers import COMPILED_SURFACES
from workbench.network import nn
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import functional as F
from workbench.network.symbolic import record as call
from workbench.network.symbolic import record_all
from workbench.network.tracer import trace
from workbench.npu.target import fusions_off
from workbench.run.reference import run_reference
from workbench.simulation.simulate import simulate

PLAN = DumpPlan("/d")


def target(graph, root, surface="mindspore-ge", device="a2", **more):
    return simulate(graph, None, PLAN, root, surface=surface, device=device, **more)


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """Trees of a CPU by the model's name."""
    root = tmp_path_factory.mktemp("golden")
    return {
        name: simulate(load_graph(name), None, PLAN, root / name, surface="mindspore-cpu")
        for name in MODELS
    }


def standard_files(graph, root):
    """The outputs of a run as another framework leaves them: ``op.slot.timestamp.npy``."""
    root.mkdir()
    for number, record in enumerate(run_reference(graph)):
        key = record.key
        if key.io == "output" and key.op_type != "Parameter":
            name = key.op_name.replace("/", "_").replace(".", "_")
            stamp = 1700000000000000 + number
            np.save(root / f"{name}.{key.slot}.{stamp}.npy", record.source.array())
    return root


def agrees(found):
    assert found.verdict in ("pass", "warn"), found.sentence
    assert [f.kind for f in defects(found)] == []
    assert found.coverage.unmatched_target == 0


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """Tree of a compiled run without a fault; every run is made once."""
    root, trees = tmp_path_factory.mktemp("healthy"), {}

    def run(model, surface):
        if (model, surface) not in trees:
            place = root / f"{model}-{surface}"
            trees[model, surface] = target(load_graph(model), place, surface)
        return trees[model, surface]

    return run


SURFACES = COMPILED_SURFACES
FUSED_MODELS = ["lenet", "alexnet", "mlp", "resnet", "transformer"]


def a_third(models):
    """Every model on every surface; every run takes each model and each surface in turn."""
    daily = [
        (m, s) for n, m in enumerate(models) for k, s in enumerate(SURFACES) if (n + k) % 3 == 0
    ]
    return nightly([*product(models, SURFACES)], daily)


@pytest.mark.parametrize(("model", "surface"), a_third(FUSED_MODELS))
def test_a_healthy_run_agrees_whatever_was_fused(healthy, golden, model, surface):
    found = wb.compare(healthy(model, surface), golden[model])
    agrees(found)
    parameters = len(load_graph(model).parameters)
    assert found.coverage.unmatched_golden == parameters  # the files of parameters
    assert {row.match_rule for row in found.rows if row.match_rule} <= {"name", "fusion"}
    assert any(row.match_rule == "fusion" for row in found.rows)


@pytest.mark.parametrize(("model", "surface"), a_third(sorted(MODELS)))
def test_a_healthy_run_agrees_with_the_reference_of_its_own_surface(
    tmp_path, healthy, model, surface
):
    """Both trees hold containers and the engine's graph; only the target's was compiled."""
    reference = simulate(load_graph(model), None, PLAN, tmp_path / "g", surface=surface)
    found = wb.compare(healthy(model, surface), reference)
    agrees(found)
    assert {f.kind for f in found.findings} <= {"precision", "unmatched", "info"}
    said = [one for f in found.findings for one in f.evidence if one.code == "compare/setting"]
    assert "id" not in {one.values["name"] for one in said}


@pytest.mark.parametrize("surface", ["acl", "mindspore-o2"])
def test_the_targets_graph_says_what_was_fused_where_the_golden_has_none(
    tmp_path, healthy, surface
):
    reference = simulate(load_graph("lenet"), None, PLAN, tmp_path / "g", surface=surface)
    shutil.rmtree(reference / "graphs")
    found = wb.compare(healthy("lenet", surface), reference)
    if (
        surface == "acl"
    ):  # an offline model holds other weights, and no graph says what these files are
        assert (found.verdict, defects(found)) == ("incomplete", [])
    else:
        agrees(found)
    assert any(row.match_rule == "fusion" for row in found.rows)
    assert not [a for a in found.anomalies if a.kind == "graph-mismatch"]


def by_turns(ones, others):
    """Every one with every other as parameters; each run takes each once, the nightly run all of all."""
    taken = [(one, others[number % len(others)]) for number, one in enumerate(ones)]
    return nightly([*product(ones, others)], taken)


@pytest.mark.parametrize(
    ("device", "fusion"), by_turns(("910a", "310p", "a3", "950"), ("on", "off"))
)
def test_every_device_compiles_and_agrees(tmp_path, golden, device, fusion):
    tree = target(load_graph("lenet"), tmp_path / "t", "acl", device, fusion=fusion)
    found = wb.compare(tree, golden["lenet"])
    agrees(found)
    rules = {row.match_rule for row in found.rows if row.match_rule}
    assert rules == ({"name", "fusion"} if fusion == "on" else {"name"})


FC1 = "Default/fc1-Dense"
FUSED = f"{FC1}/MatMul-op0Default/relu-ReLU/ReLU-op2"


INSIDE = {
    f"scaled-output:{FC1}/MatMul-op0:1.2": "own-error",
    f"scaled-output:{FC1}/BiasAdd-op0:1.2": "own-error",
    "scaled-output:Default/relu-ReLU/ReLU-op2:1.2": "own-error",
    "nan-output:Default/relu-ReLU/ReLU-op2": "non-finite",
    f"wrong-weight-element:{FC1}/MatMul-op0:400": "parameter",
}


@pytest.mark.parametrize(("fault", "surface"), by_turns(INSIDE, ("mindspore-ge", "acl")))
def test_a_fault_inside_is_found_at_the_kernel(tmp_path, golden, fault, surface):
    kind = INSIDE[fault]
    tree = target(load_graph("lenet"), tmp_path / "t", surface, faults=[fault])
    found = wb.compare(tree, golden["lenet"])
    assert found.verdict == "fail"
    first = found.findings[0]
    assert (first.kind, first.op_type, first.op_name) == (kind, "MatMul", FUSED)
    names = [f"{FC1}/MatMul-op0", f"{FC1}/BiasAdd-op0", "Default/relu-ReLU/ReLU-op2"]
    the(first.evidence, "stands-for", names=tuple(names))
    assert first.source.code.strip() == "x = self.fc1(x)"


def test_a_wrong_setting_inside_is_named(tmp_path, golden):
    fault = "wrong-attribute:*conv5*Conv2D*:pad_mode=pad,pad=2,dilation=2"
    found = wb.compare(
        target(load_graph("alexnet"), tmp_path / "t", faults=[fault]), golden["alexnet"]
    )
    first = found.findings[0]
    assert first.kind == "attribute"
    assert first.op_name == "Default/conv5-Conv2d/Conv2D-op0Default/relu-ReLU/ReLU-op4"
    the(first.evidence, "setting", name="pad_mode", target="'pad'", golden="'same'")


@pytest.mark.parametrize("model", ["lenet", "transformer"])
def test_golden_files_without_a_graph_are_those_of_the_original_operators(tmp_path, model):
    graph = load_graph(model)
    golden = standard_files(graph, tmp_path / "g")
    found = wb.compare(target(graph, tmp_path / "t", "tensorflow"), golden)
    # an input is compared with what its producer gave; the image that lenet is fed is in no file of the golden
    assert found.verdict == {"lenet": "incomplete", "transformer": "warn"}[model]
    assert [f.kind for f in defects(found)] == []
    assert found.coverage.unmatched_golden == 0
    assert found.coverage.skipped.keys() - {"target:inserted"} == {
        "golden:fused", "golden:no-task", "target:other-model",
    }  # fmt: skip
    if model == "lenet":
        rows = {(row.op_name, row.io): row for row in found.rows if row.match_rule}
        assert rows[FUSED, "output"].golden_op_name == "Default/relu-ReLU/ReLU-op2"
        fault = f"scaled-output:{FC1}/BiasAdd-op0:1.2"
        faulty = target(graph, tmp_path / "f", "tensorflow", faults=[fault])
        assert wb.compare(faulty, golden).findings[0].op_name == FUSED


class Norm(nn.BatchNorm2d):
    """Normalization by the moments of the batch; the stored ones follow."""

    def construct(self, x):
        moments = (self.gamma, self.beta, self.moving_mean, self.moving_variance)
        return record_all("BatchNorm", x, *moments, True, 1e-3, 0.2, 0)[0]


class Block(nn.Cell):
    """What becomes two of one (BatchNorm), two of three (with its neighbors), four of one (AddN)."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3), Norm(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 8, 3), Norm(8)

    def construct(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        z = F.relu(self.norm2(self.conv2(y)) + y)
        return call("AddN", (z,) * 130)


IMAGE = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
BLOCK = trace(Block(), IMAGE)
NORM1, NORM2 = "Default/norm1-Norm/BatchNorm-op0", "Default/norm2-Norm/BatchNorm-op0"


@pytest.fixture(scope="module")
def golden_blocks(tmp_path_factory):
    """A tree of a CPU, and the files of another framework without a graph."""
    root = tmp_path_factory.mktemp("blocks")
    tree = simulate(BLOCK, None, PLAN, root / "cpu", surface="mindspore-cpu")
    return {"tree": tree, "files": standard_files(BLOCK, root / "files")}


SEVERAL = [
    *product(
        ("must_keep_origin_dtype", "force_fp16", "allow_fp32_to_bf16"),
        ("mindspore-o2", "mindspore-ge", "tensorflow", "torchair"),
        ("tree", "files"),
    )
]
"""Each of them every run; `test_grid.py` has every precision on every surface."""


@pytest.mark.parametrize(("precision", "surface", "kind"), nightly(SEVERAL, each_once(SEVERAL)))
def test_what_was_made_several_agrees(tmp_path, golden_blocks, precision, surface, kind):
    tree = target(BLOCK, tmp_path / "t", surface, precision_mode=precision)
    found = wb.compare(tree, golden_blocks[kind])
    # files alone are outputs: what the network is fed is in none of them, and tensorflow's kernels show it inserted
    lacking = kind == "files" and surface == "tensorflow"
    assert found.verdict == ("incomplete" if lacking else "warn")
    assert [f.kind for f in defects(found)] == []
    reasons = {key.partition(":")[2] for key in found.coverage.skipped} - {"other-model"}
    assert reasons == {"fused", "part", "inserted"}
    if kind == "tree":
        assert found.coverage.unmatched_target == 0
        assert found.coverage.unmatched_golden == len(BLOCK.parameters)
    else:
        assert found.coverage.unmatched_golden == 0
    moments = [row for row in found.rows if row.golden_op_name == NORM1 and row.io == "output"]
    assert len(moments) == 4
    owners = {row.golden_op_name for row in found.rows if row.match_rule == "fusion"}
    assert {NORM1, NORM2, "Default/ReLU-op0", "Default/ReLU-op1", "Default/AddN-op0"} <= owners


GUILTY = {
    f"scaled-output:{NORM1}:1.3": (
        "Default/norm1-Norm/BatchNorm-op0_UpdateDefault/ReLU-op0", [NORM1, "Default/ReLU-op0"],
    ),
    "nan-output:Default/Add-op0": (
        "Default/norm2-Norm/BatchNorm-op0_UpdateDefault/Add-op0Default/ReLU-op1",
        [NORM2, "Default/Add-op0", "Default/ReLU-op1"],
    ),
    "wrong-sign:Default/conv2-Conv2d/Conv2D-op0": (
        "Default/conv2-Conv2d/Conv2D-op0Default/norm2-Norm/BatchNorm-op0_Reduce",
        ["Default/conv2-Conv2d/Conv2D-op0", NORM2],
    ),
    "scaled-output:Default/AddN-op0:1.3": ("Default/AddN-op0/AddNBase_node", ["Default/AddN-op0"]),
}  # fmt: skip
"""Fault → the kernel that is blamed, and what it stands for."""


@pytest.mark.parametrize(("fault", "kind"), by_turns(GUILTY, ("tree", "files")))
def test_a_fault_in_what_was_made_several_is_named(tmp_path, golden_blocks, fault, kind):
    guilty, originals = GUILTY[fault]
    tree = target(BLOCK, tmp_path / "t", precision_mode="force_fp16", faults=[fault])
    found = wb.compare(tree, golden_blocks[kind])
    assert found.verdict == "fail"
    first = found.findings[0]
    assert first.op_name == guilty
    the(first.evidence, "stands-for", names=tuple(originals))


def test_a_run_with_fusions_agrees_with_one_without(tmp_path):
    graph = load_graph("lenet")
    ours = target(graph, tmp_path / "on")
    theirs = target(graph, tmp_path / "off", fusion="off")
    for found in (wb.compare(ours, theirs), wb.compare(theirs, ours)):
        agrees(found)
        assert found.coverage.unmatched_golden == 0
        assert any(row.match_rule == "fusion" for row in found.rows)


def test_a_switch_file_turns_fusions_off_by_name(tmp_path):
    path = tmp_path / "switch.cfg"
    switch = {
        "GraphFusion": {"MatMulBiasAddFusionPass": "on", "ALL": "off", "Unheard": "off"},
        "UBFusion": {"ALL": "off"},
    }
    path.write_text(json.dumps({"Switch": switch}))
    tree = target(load_graph("mlp"), tmp_path / "t", fusion=path)
    (build,) = tree.rglob("*_Build.txt")
    text = build.read_text()
    assert text.count('type: "ReLU"') == 2
    assert 'type: "BiasAdd"' not in text
    assert "MatMulBiasAddFusionPass" not in fusions_off(path)
    assert {"LayerNormFusionPass", "TbeMatmulElemwiseFusionPass"} <= fusions_off(path)


def test_a_switch_that_is_none_is_refused(tmp_path):
    with refused("run/fusion", FormatError, got="maybe"):
        target(load_graph("mlp"), tmp_path / "t", fusion="maybe")
    with refused("run/fault-nowhere", GraphError, got="nobody"):
        target(load_graph("mlp"), tmp_path / "u", faults=["wrong-sign:nobody"])


def test_inputs_behind_one_that_is_not_there_are_compared_with_their_own(tmp_path, golden):
    """A container counts the inputs that an operator has; its graph says which of them are there."""
    found = wb.compare(target(load_graph("lstm"), tmp_path / "t", "acl"), golden["lstm"])
    slots = [
        (row.slot, row.match_rule != "")
        for row in found.rows
        if row.op_type == "DynamicRNN" and row.io == "input" and row.op_name.endswith("op0")
    ]
    assert sorted(slots) == [(slot, True) for slot in (0, 1, 2, 4, 5)]


@pytest.mark.parametrize(
    ("surface", "reference"),
    by_turns(("acl", "mindspore-ge", "mindspore-o2", "tensorflow"), ("its own", "mindspore-cpu")),
)
def test_a_wrong_weight_is_called_a_parameter(tmp_path, golden, surface, reference):
    """Constants that were folded, variables and arguments that stay are all weights of the network."""
    graph = load_graph("lenet")
    faults = ["wrong-weight-element:Default/conv2-Conv2d/Conv2D-op0"]
    tree = target(graph, tmp_path / "t", surface, faults=faults)
    other = golden["lenet"]
    if reference == "its own":
        other = simulate(graph, None, PLAN, tmp_path / "g", surface=surface)
    found = wb.compare(tree, other)
    (defect,) = defects(found)
    assert (defect.kind, defect.op_name) == (
        "parameter",
        "Default/conv2-Conv2d/Conv2D-op0Default/relu-ReLU/ReLU-op1",
    )
