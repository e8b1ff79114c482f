"""Two dumps of the graph engine, compared: the operator that is wrong is named."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from kit.build.small_dumps import LEAF, TIME, Call, ge_dump, ge_network, ge_text
from kit.evidence import defects
from workbench.dump.reader import load
from workbench.session.compare import compare

WRONG = "layer1/Relu"


@pytest.fixture
def pair(tmp_path):
    """Write a network whose ReLU is wrong, and as it is; leaves are those of target and golden."""

    def write(leaf=LEAF, golden_leaf=None, fault=WRONG):
        target = ge_dump(tmp_path / "a", ge_network(fault=fault), leaf)
        return target, ge_dump(tmp_path / "b", ge_network(), golden_leaf or leaf)

    return write


def test_equal_trees_agree(pair):
    result = compare(*pair(fault=""))
    assert result.verdict == "pass"
    assert result.coverage.matched == 10
    assert {row.status for row in result.rows} == {"equal"}


BY_TIME = ("20240101000000/0/ge_1_1/7/0", "20240202000000/0/ge_2_1/9/0")
"""Folders of models that are called by the time of their run."""


@pytest.mark.parametrize(
    ("leaves", "inside"),
    [
        ((LEAF,), ""),
        ((f"4/{LEAF}",), ""),
        ((f"worldsize2_global_rank1/{LEAF}",), ""),
        ((f"{TIME}/0",), ""),
        (BY_TIME, ""),
        ((LEAF,), LEAF),  # the folder of the files itself
    ],
)
def test_the_wrong_operator_is_named_without_a_graph(pair, leaves, inside):
    result = compare(*(side / inside for side in pair(*leaves)))
    assert result.verdict == "fail"
    row = result.first_divergence
    assert (row.op_name, row.op_type, row.io, row.slot) == ("layer1_Relu", "Relu", "output", 0)
    assert result.coverage.matched == 10


def test_a_graph_in_the_tree_names_the_operator_as_it_is_called(pair):
    target, golden = pair()
    (target / "ge_proto_00292_Build.txt").write_text(ge_text())
    result = compare(target, golden)
    (finding,) = defects(result)
    assert (finding.op_name, finding.io, finding.slot) == (WRONG, "output", 0)
    later = [row for row in result.rows if row.op_name == "layer2/MatMul" and row.io == "output"]
    assert [row.status for row in later] == ["fail"]


def test_a_given_graph_counts_for_the_tree(pair, tmp_path):
    target, golden = pair()
    (tmp_path / "mine.txt").write_text(ge_text("other_name"))
    result = compare(target, golden, target_graph=tmp_path / "mine.txt")
    assert [finding.op_name for finding in defects(result)] == [WRONG]


def test_device_formats_are_compared_as_the_host_has_them(tmp_path):
    """One side lies in NC1HWC0, the other in NCHW; both hold the same values."""
    host = np.arange(2 * 3 * 4 * 5, dtype=np.float16).reshape(2, 3, 4, 5)
    device = np.zeros((2, 1, 4, 5, 16), np.float16)
    device[..., :3] = host.transpose(0, 2, 3, 1)[:, None]
    cut = (device, {"format": 3, "original_shape": host.shape})
    plain = (host, {"format": 0})
    target = ge_dump(tmp_path / "a", [Call("conv", "Conv2D", (cut,), (cut,))], LEAF)
    golden = ge_dump(tmp_path / "b", [Call("conv", "Conv2D", (plain,), (plain,))], LEAF)
    result = compare(target, golden)
    assert [row.status for row in result.rows] == ["equal", "equal"]
    assert {row.target_spec for row in result.rows} == {("float16", (2, 3, 4, 5), "NCHW")}


def test_golden_data_of_another_framework_are_matched_by_name(tmp_path):
    calls = ge_network(fault=WRONG)
    target = ge_dump(tmp_path / "a", calls, LEAF)
    for number, call in enumerate(ge_network()):
        name = call.name.replace("/", "_")
        (tmp_path / "b").mkdir(exist_ok=True)
        np.save(tmp_path / f"b/{name}.0.{1_700_000_000_000_000 + number}.npy", call.outputs[0])
    result = compare(target, tmp_path / "b")
    # and three inputs, which have the bytes of what was given before them
    assert (result.coverage.matched_of("golden"), result.coverage.shared) == (4, 3)
    assert result.first_divergence.op_name == "layer1_Relu"


def test_a_cut_file_takes_part_as_what_cannot_be_compared(pair):
    target, golden = pair(fault="")
    broken = sorted((target / LEAF).iterdir())[0]
    broken.write_bytes(broken.read_bytes()[:-16])
    result = compare(target, golden)
    rows = [row for row in result.rows if row.status == "uncomparable"]
    assert [(row.op_name, row.io) for row in rows] == [("layer1_MatMul", "output")]
    assert rows[0].reason_code == "compare/unreadable"
    assert result.verdict == "incomplete"


def test_the_other_models_are_in_the_ledger(pair):
    target, golden = pair(fault="")
    ge_dump(target, ge_network()[:1], f"{TIME}/0/init/2/0")
    result = compare(target, golden)
    assert (result.verdict, result.coverage.skipped) == ("pass", {"target:other-model": 1})


def test_a_model_is_compared_alone_by_its_folder(tmp_path):
    target = ge_dump(tmp_path / "a", ge_network(), LEAF)
    ge_dump(target, ge_network(fault="layer1/MatMul")[:1], f"{TIME}/0/init/2/0")
    golden = ge_dump(tmp_path / "b", ge_network()[:1], LEAF)
    result = compare(target / TIME / "0/init", golden)
    assert result.first_divergence.op_name == "layer1_MatMul"


def test_the_newest_of_two_runs_counts(pair):
    target, golden = pair()
    ge_dump(target, ge_network(), LEAF.replace("20240613", "20240614"), start=1_700_000_100_000_000)
    result = compare(target, golden)
    assert "older-run" in " ".join(result.coverage.skipped)
    assert result.first_divergence is None


def test_reading_is_not_disturbed_by_a_tree_that_changes(tmp_path):
    """Headers are kept for a while, but not those of a file that was written anew."""
    path = ge_dump(tmp_path, [Call("a", "Relu", (), (np.float32([1, 2]),))], LEAF)
    (first,) = load(path).records
    assert first.source.array().tolist() == [1, 2]
    shutil.rmtree(tmp_path / TIME)
    ge_dump(tmp_path, [Call("a", "Relu", (), (np.float32([3, 4, 5]),))], LEAF)
    (again,) = load(path).records
    assert again.source.array().tolist() == [3, 4, 5]
