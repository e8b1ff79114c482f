"""File names of PyTorch's dumps, and where in a run their tensors stand."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from kit.build.foreign_files import DATA, saved_by_torch
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorKey
from workbench.dump.reader import load
from workbench.session.compare import compare

ONE = np.float32([1, 2])


def graph_dump(folder, arrays, run=0):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        (folder / f"{name}_device_0_{run}.pt").write_bytes(saved_by_torch(np.asarray(array)))
    return folder


@pytest.mark.parametrize(("below", "rank"), [("worldsize8_global_rank3", 3), ("anywhere", 0)])
def test_a_captured_graph_is_read(tmp_path, below, rank):
    for run in range(2):
        graph_dump(tmp_path / below, {"arg0_1": ONE, "add": ONE * (2 + run)}, run)
    dump = load(tmp_path)
    assert dump.layout == "torchair-graph"
    assert [record.key for record in dump.records] == [
        TensorKey("", name, "output", 0, 0, run, rank)
        for name in ("add", "arg0_1")
        for run in (0, 1)
    ]
    assert [record.source.array().tolist() for record in dump.records] == [
        [2, 4],
        [3, 6],
        [1, 2],
        [1, 2],
    ]
    assert (dump.skipped, dump.notes) == ((), ())


def test_a_list_is_several_tensors(tmp_path):
    shutil.copy(DATA / "torch/pair_device_0_0.pt", tmp_path)
    assert [(r.key.slot, r.source.spec().dtype) for r in load(tmp_path).records] == [
        (0, "float32"),
        (1, "float16"),
    ]


def test_a_file_that_is_none_is_skipped_and_the_others_stay(tmp_path):
    graph_dump(tmp_path, {"add": ONE, "sub": ONE})
    (tmp_path / "add_device_0_0.pt").write_bytes(b"PK")
    shutil.copy(DATA / "torch/dictionary.pt", tmp_path / "w_device_0_0.pt")
    dump = load(tmp_path)
    assert [record.key.op_name for record in dump.records] == ["sub"]
    assert [s.reason for s in dump.skipped] == ["unreadable"] * 2
    assert [s.detail.code for s in dump.skipped] == ["dump/pt-zip", "dump/pickle-dictionary"]


@pytest.mark.parametrize("suffix", ["pt", "npy"])
def test_calls_of_interfaces_and_modules_are_read(tmp_path, suffix):
    folder = tmp_path / "step2/rank1/dump_tensor_data"
    folder.mkdir(parents=True)
    (tmp_path / "step2/rank1/dump.json").write_text("{}")
    for name in ("Functional.relu.0.forward.input.0", "Functional.relu.0.forward.output.0"):
        if suffix == "npy":
            np.save(folder / f"{name}.npy", ONE)
        else:
            (folder / f"{name}.pt").write_bytes(saved_by_torch(ONE))
    for root in (tmp_path, folder):
        dump = load(root)
        assert dump.layout == "msprobe-api"
        assert [record.key[:7] for record in dump.records] == [
            ("relu", "Functional.relu.0.forward", io, 0, 0, 2, 1) for io in ("input", "output")
        ]
        assert all(record.source.array().tolist() == [1, 2] for record in dump.records)


def test_golden_data_may_be_of_pytorch(tmp_path):
    (tmp_path / "conv1.0.1700000000000008.pt").write_bytes(saved_by_torch(ONE))
    (record,) = load(tmp_path).records
    assert (record.key.op_name, record.timestamp_us) == ("conv1", 1700000000000008)
    assert record.source.array().tolist() == [1, 2]


def test_two_folders_of_nodes_are_two_dumps(tmp_path):
    for name in ("a", "b"):
        graph_dump(tmp_path / name, {"add": ONE})
    with refused("dump/dumps-several", FormatError, got=str(tmp_path)):
        load(tmp_path)


def test_the_node_where_two_dumps_part_is_named(tmp_path):
    """Before and after torchair's optimization: nodes are called alike."""
    x = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
    nodes = {"arg0_1": x, "mm": x @ x.T, "relu": np.maximum(x @ x.T, 0)}
    golden = graph_dump(tmp_path / "original/worldsize1_global_rank0", nodes)
    nodes["relu"] = nodes["relu"] * np.float32(1.5)
    target = graph_dump(tmp_path / "optimized/worldsize1_global_rank0", nodes)
    result = compare(target, golden)
    assert (result.verdict, result.coverage.matched) == ("fail", 3)
    assert result.first_divergence.op_name == "relu"
