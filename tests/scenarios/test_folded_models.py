"""An offline model whose filter is computed from constants: the compiler folds it, and no kernel is left of it."""

import shutil

import numpy as np
import pytest

import workbench as wb
from kit.build.onnx_models import model as model_of
from kit.build.onnx_models import node
from workbench.simulation.inputs import networks_with_inputs

pytest.importorskip("onnxruntime")

FOLDED = ("sine", "ratio", "window", "filter")
NODES = [
    node("Sin", ["t"], ["s"], "sine"),
    node("Div", ["s", "t"], ["sinc"], "ratio"),
    node("Cos", ["t"], ["c"], "window"),
    node("Mul", ["sinc", "c"], ["f"], "filter"),
    node("Unsqueeze", ["f", "axis"], ["kernel"], "shaped"),
    node("Conv", ["x", "kernel"], ["conv"], "conv"),
    node("Less", ["conv", "edge"], ["mask"], "below"),
    node("Where", ["mask", "conv", "edge"], ["kept"], "choice"),
    node("Neg", ["kept"], ["y"], "turned"),
]
TIMES = np.linspace(0.05, 40, 24 * 33).reshape(24, 33).astype(np.float32)
WEIGHTS = {"t": TIMES, "axis": np.array([1]), "edge": np.array(2.5, np.float32)}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the model, and its golden data of onnxruntime, once with all that other tools would have."""
    root = tmp_path_factory.mktemp("folded")
    x = np.random.default_rng(3).standard_normal((2, 1, 160)).astype(np.float32)
    (root / "net.onnx").write_bytes(model_of(NODES, {"x": x}, ["y"], WEIGHTS).SerializeToString())
    wb.golden(root / "net.onnx", {"x": x}, root / "golden", engine="onnxruntime")
    shutil.copytree(root / "golden", root / "whole")
    for path in (root / "whole/constants").iterdir():
        path.rename(root / "whole" / path.name)
    return root


def simulated(place, tree, mode="all", **options):
    fed = {"x": place / "golden/inputs/x.npy"}
    networks, feeds = networks_with_inputs([str(place / "net.onnx")], fed, {}, 0, 1)
    form = tree.with_suffix(".json")
    form.write_text(
        f'{{"dump": {{"dump_list": [{{}}], "dump_path": "/dump", "dump_mode": "{mode}"}}}}'
    )
    options = {"device": "a2", "precision_mode": "force_fp16", **options}
    return wb.simulate(networks, feeds, form, tree, surface="acl", **options)


def compared(place, tree, golden="golden", *, graphs=True):
    if graphs:
        return wb.compare(tree, place / golden, golden_graph=place / "net.onnx")
    shutil.rmtree(tree / "graphs", ignore_errors=True)
    return wb.compare(tree, place / golden)


def defects(found):
    return [one.op_name for one in found.findings if one.defect]


@pytest.mark.parametrize("device", ["310p", "a2"])
@pytest.mark.parametrize("mode", ["all", "output"])
def test_what_the_compiler_folds_leaves_no_file_and_nobody_is_accused(
    place, tmp_path, mode, device
):
    tree = simulated(place, tmp_path / "tree", mode, device=device)
    names = {one.key.op_name for one in wb.load(tree).records}
    assert names.isdisjoint(FOLDED)
    assert any(name.startswith("conv") for name in names)
    found = compared(place, tree, "whole")
    assert (found.verdict in ("pass", "warn"), defects(found)) == (True, [])
    assert found.coverage.gaps_of("golden") == 0
    assert found.coverage.skipped["golden:folded"] >= len(FOLDED)
    kept = compared(place, tree)  # which golden data of our own leave out
    assert (kept.coverage.gaps_of("golden"), kept.verdict) == (0, found.verdict)


@pytest.mark.parametrize("mode", ["all", "output"])
def test_without_graphs_a_clean_run_accuses_nobody(place, tmp_path, mode):
    tree = simulated(place, tmp_path / "tree", mode)
    assert defects(compared(place, tree, "whole", graphs=False)) == []


def test_the_device_reads_what_the_host_computed(place, tmp_path):
    """Rounded to float16 once, and not after every step."""
    tree = simulated(place, tmp_path / "tree")
    reads = [one for one in wb.load(tree).records if one.key.op_name == "conv"]
    filters = next(one for one in reads if (one.key.io, one.key.slot) == ("input", 1))
    t = TIMES.astype(np.float64)
    exact = np.sin(t) / t * np.cos(t)
    found = filters.source.array().astype(np.float64)
    assert np.linalg.norm(np.sort(found[found != 0]) - np.sort(exact.ravel())) < 2**-11 * (
        np.linalg.norm(exact)
    )


PLANTED = {
    "scaled-output:conv:1.05": "conv",
    "wrong-sign:turned": "turned",
    "nan-output:choice": "choice",
    "overwritten-element:conv": "conv",
}


@pytest.mark.parametrize("fault", PLANTED)
@pytest.mark.parametrize("mode", ["all", "output"])
def test_a_fault_behind_what_was_folded_is_named(place, tmp_path, mode, fault):
    tree = simulated(place, tmp_path / "tree", mode, faults=(fault,))
    assert defects(compared(place, tree))[0] == PLANTED[fault]
    assert set(defects(compared(place, tree, graphs=False))) <= {PLANTED[fault]}


def test_a_choice_that_gives_what_nobody_gave_it_needs_no_graph(place, tmp_path):
    """Noise may let it choose another element, but none of those that it reads is NaN."""
    tree = simulated(place, tmp_path / "tree", faults=("nan-output:choice",))
    assert defects(compared(place, tree, graphs=False)) == ["choice"]
