"""A compiled model against the golden of its source framework: names of all kinds, with and without graphs.

The golden is onnx's own evaluation; what the compiled run dumps is that in float16, as ATC names and lays it out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import workbench as wb
from kit.build import golden_pairs as pairs
from kit.commands import run

GOLDENS = ("nodes by place", "nodes by ATC", "tensors", "archive", "deflated archive")
GRAPHS = ("none", "target", "golden", "both")
VALUES_IN_KERNELS = 2
"""Tensors of the model that no kernel gives: those inside the two fused ones."""


class Trees(NamedTuple):
    """Where everything lies."""

    root: Path

    def arguments(self, target, golden, graphs):
        given = {"target": ("target",), "golden": ("golden",), "both": ("target", "golden")}
        files = {"target": "ge_proto_00001_Build.txt", "golden": "net.onnx"}
        for side in given.get(graphs, ()):
            yield from (f"--{side}-graph", str(self.root / files[side]))
        yield from (str(self.root / target), str(self.root / golden))


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    root = tmp_path_factory.mktemp("golden")
    net = pairs.network()
    found = pairs.values(net)
    (root / "net.onnx").write_bytes(net.model.SerializeToString())
    (root / "ge_proto_00001_Build.txt").write_text(pairs.ge_text_of(net, found))
    pairs.save_target(root / "clean", net, found)
    pairs.save_target(root / "faulty", net, pairs.spoilt(net))
    pairs.save_golden(root / "nodes by place", pairs.standard_names(net), found)
    pairs.save_golden(root / "nodes by ATC", pairs.standard_names(net, unnamed="number"), found)
    pairs.save_golden(root / "tensors", pairs.tensor_names(net), found)
    pairs.save_npz(root / "archive", net, found)
    pairs.save_npz(root / "deflated archive", net, found, deflated=True)
    return Trees(root)


def compared(capsys, trees, target, golden, graphs):
    arguments = trees.arguments(target, golden, graphs)
    status, text, _ = run(capsys, "compare", *arguments, "--json", "-")
    return status, json.loads(text)


def golden_found(result):
    """Tensors of the golden that are compared, or lie inside of a kernel."""
    cover = result["coverage"]
    return cover["matched"] - cover.get("shared", 0) + cover["skipped"].get("golden:fused", 0)


@pytest.mark.parametrize("golden", GOLDENS)
@pytest.mark.parametrize("graphs", ["golden", "both"])
def test_with_the_golden_s_model_every_golden_is_found(capsys, trees, golden, graphs):
    status, result = compared(capsys, trees, "clean", golden, graphs)
    assert (status, result["verdict"]) == (0, "warn")
    assert golden_found(result) == result["golden"]["tensors"] == 9
    assert result["coverage"]["gaps"] == {}
    assert {one["kind"] for one in result["findings"]} <= {"precision", "unmatched"}


@pytest.mark.parametrize("golden", GOLDENS)
@pytest.mark.parametrize("graphs", ["golden", "both"])
def test_with_the_golden_s_model_the_fault_is_found_where_it_is(capsys, trees, golden, graphs):
    status, result = compared(capsys, trees, "faulty", golden, graphs)
    assert (status, result["verdict"]) == (1, "fail")
    wrong = [one["op_name"] for one in result["findings"] if one["kind"] == "own-error"]
    assert wrong == ["conv2"]


@pytest.mark.parametrize("golden", GOLDENS)
@pytest.mark.parametrize("graphs", ["none", "target"])
def test_without_it_what_is_found_is_right_and_nobody_is_accused(capsys, trees, golden, graphs):
    status, result = compared(capsys, trees, "clean", golden, graphs)
    assert status in (0, 3)
    assert not {one["kind"] for one in result["findings"]} & {"own-error", "undecided"}
    assert golden_found(result) >= result["golden"]["tensors"] - VALUES_IN_KERNELS
    status, result = compared(capsys, trees, "faulty", golden, graphs)
    assert {one["op_name"] for one in result["findings"] if one["kind"] == "own-error"} <= {"conv2"}


PARTNERS = {
    "_features_0_Conv_features_1_Relu": "_features_1_Relu",
    "MaxPool_0": "MaxPool_2",
    "conv2": "conv2",
    "block_addblock_relu": "block_relu",
    "gap": "gap",
    "fc": "fc",
    "trans_Cast_6": "fc",
    "trans_TransData_4": "gap",
}
"""Kernel → the file of the golden that is what it gives."""
READS = {
    ("MaxPool_0", 0): "_features_1_Relu",
    ("conv2", 0): "MaxPool_2",
    ("block_addblock_relu", 0): "conv2",
    ("block_addblock_relu", 1): "MaxPool_2",
    ("gap", 0): "block_relu",
    ("trans_TransData_4", 0): "gap",
    ("fc", 0): "flat",
    ("trans_Cast_6", 0): "fc",
}
"""Input of a kernel → the file of the golden that is what it reads."""


@pytest.mark.parametrize("graphs", GRAPHS)
def test_every_pair_is_the_right_one(trees, graphs):
    """Whoever pairs a tensor pairs it with the file that truth says, or with the same elements in another shape."""
    given = {"target": graphs in ("target", "both"), "golden": graphs in ("golden", "both")}
    paths = {"target": "ge_proto_00001_Build.txt", "golden": "net.onnx"}
    more = {f"{side}_graph": trees.root / paths[side] for side, has in given.items() if has}
    found = wb.compare(trees.root / "clean", trees.root / "nodes by place", **more)
    rows = [row for row in found.result.rows if row.match_rule]
    assert len(rows) >= {"none": 14, "target": 13, "golden": 12, "both": 16}[graphs]
    for row in rows:
        kernel, golden = Path(row.target_path).name.split(".")[1], Path(row.golden_path).name
        truth = PARTNERS[kernel] if row.io == "output" else READS[kernel, row.slot]
        name = golden.partition(".")[0]
        assert name == truth or {name, truth} == {"flat", "gap"}


def test_a_fed_input_is_the_golden_of_whoever_reads_it(tmp_path, trees):
    net = pairs.network()
    found = pairs.values(net)
    golden = pairs.save_golden(tmp_path / "golden", pairs.tensor_names(net) | {"x.npy": "x"}, found)
    more = {
        "target_graph": trees.root / "ge_proto_00001_Build.txt",
        "golden_graph": trees.root / "net.onnx",
    }
    rows = wb.compare(trees.root / "clean", golden, **more).result.rows
    fed = {
        (row.op_name, row.io)
        for row in rows
        if row.match_rule and Path(row.golden_path).name == "x.npy"
    }
    assert fed == {
        ("trans_Cast_0", "input"), ("trans_Cast_0", "output"), ("trans_TransData_1", "input"),
        ("trans_TransData_1", "output"), ("/features/0/Conv/features/1/Relu", "input"),
    }  # fmt: skip


@pytest.mark.parametrize("with_feed", [False, True])
def test_a_golden_of_other_data_never_agrees(tmp_path, trees, with_feed):
    """Kernels that compute rightly are no reason to agree, if nobody knows what the golden was fed."""
    net = pairs.network()
    other = pairs.values(net._replace(feeds={"x": net.feeds["x"][:, :, ::-1].copy()}))
    names = pairs.tensor_names(net) | ({"x.npy": "x"} if with_feed else {})
    golden = pairs.save_golden(tmp_path / "golden", names, other)
    more = {
        "target_graph": trees.root / "ge_proto_00001_Build.txt",
        "golden_graph": trees.root / "net.onnx",
    }
    found = wb.compare(trees.root / "clean", golden, **more)
    assert found.verdict in (("fail",) if with_feed else ("incomplete", "fail"))
    if with_feed:
        assert "x differs" in str(found.findings[0].evidence[0])


def test_a_model_of_another_network_is_said_and_accuses_nobody(tmp_path, capsys, trees):
    other = pairs.network("/other/")
    for node in other.model.graph.node:
        node.name = f"z{node.name}"
        node.output[:] = [f"q{name}" for name in node.output]
        node.input[:] = [
            name if name in ("x", "w1", "b1", "w2", "b2", "fw", "fb") else f"q{name}"
            for name in node.input
        ]
    other.model.graph.output[0].name = "qlogits"
    path = tmp_path / "other.onnx"
    path.write_bytes(other.model.SerializeToString())
    clean, golden = trees.root / "clean", trees.root / "tensors"
    status, text, _ = run(capsys, "compare", clean, golden, "--golden-graph", path, "--json", "-")
    result = json.loads(text)
    assert status == 3
    assert [one["kind"] for one in result["anomalies"]] == ["graph-mismatch"]
    assert {one["kind"] for one in result["findings"]} == {"incomplete"}


def test_values_that_two_goldens_share_stay_undecided(tmp_path, capsys, trees):
    """Without a name in common: of two equal goldens nobody knows which one a tensor is."""
    logits = np.load(trees.root / "tensors" / "logits.npy")
    for number in range(2):
        np.save(tmp_path / f"twin{number}.npy", logits)
    status, text, _ = run(capsys, "compare", trees.root / "clean", tmp_path, "--json", "-")
    result = json.loads(text)
    assert (status, result["coverage"]["matched"]) == (3, 0)
