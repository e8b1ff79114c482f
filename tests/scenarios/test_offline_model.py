"""An offline model on the simulated NPU against onnxruntime: golden, dump, comparison, as a user does it."""

import json
import shutil

import pytest

from kit.build.onnx_models import offline_model
from kit.commands import run

pytest.importorskip("onnxruntime")

DEVICES = ("310p", "a2", "a3")
FAULTS = {
    "scaled-output:conv1_Conv:1.05": "conv1_Convrelu_Relu",
    "scaled-output:fc:1.05": "fc",
    "wrong-sign:gap": "gap",
    "nan-output:/pool/MaxPool": "/pool/MaxPool",
}
"""Fault in a node → the kernel that is to blame."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The model's file, the form of a dump, and the golden data beside them."""
    place = tmp_path_factory.mktemp("offline")
    (place / "net.onnx").write_bytes(offline_model().SerializeToString())
    return place


@pytest.fixture
def golden(model, capsys):
    if not (model / "golden").exists():
        (model / "acl.json").write_text(run(capsys, "config", "new", "acl")[1], encoding="utf-8")
        asked = ("golden", model / "net.onnx", "--out", model / "golden", "--engine", "onnxruntime")
        assert run(capsys, *asked)[0] == 0
    return model / "golden"


def compared(capsys, golden, tree, *options, device="a2", graphs=True):
    """Simulate the model and compare; return exit status and result."""
    model = golden.parent / "net.onnx"
    form, fed = golden.parent / "acl.json", f"x={golden}/inputs/x.npy"
    asked = ("simulate", "--graph", model, "--config", form, "--out", tree, "--input", fed)
    status, _, err = run(capsys, *asked, "--device", device, *options)
    assert status == 0, err
    if not graphs:
        shutil.rmtree(tree / "graphs")
    named = ("--golden-graph", model) if graphs else ()
    status, text, _ = run(capsys, "compare", tree, golden, *named, "--json", "-")
    return status, json.loads(text)


@pytest.mark.parametrize("device", DEVICES)
def test_every_golden_of_a_clean_run_is_found_or_has_a_reason(capsys, tmp_path, golden, device):
    status, result = compared(capsys, golden, tmp_path / "tree", device=device)
    assert (status, result["verdict"]) == (0, "warn")
    coverage = result["coverage"]
    assert coverage["unmatched_golden"] == 0
    reasons = {key: count for key, count in coverage["skipped"].items() if key[:6] == "golden"}
    # conv1, conv2 and bn.2 lie inside of kernels; Reshape and Dropout run nothing; zeros and three sizes are constants
    assert reasons == {"golden:fused": 3, "golden:no-task": 2, "golden:folded": 4}


@pytest.mark.parametrize("device", DEVICES)
def test_without_graphs_a_clean_run_accuses_nobody(capsys, tmp_path, golden, device):
    status, result = compared(capsys, golden, tmp_path / "tree", device=device, graphs=False)
    assert (status, result["verdict"]) == (3, "incomplete")
    assert {one["kind"] for one in result["findings"]} <= {"incomplete", "precision", "unmatched"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_kernel_is_named_first(capsys, tmp_path, golden, fault):
    status, result = compared(capsys, golden, tmp_path / "tree", "--fault", fault)
    assert (status, result["findings"][0]["op_name"]) == (1, FAULTS[fault])
