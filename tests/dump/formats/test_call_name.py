"""File names of PyTorch's dumps, and where in a run their tensors stand."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from kit.build.foreign_files import DATA, saved_by_torch
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorKey
from workbench.dump.formats.call_name import parse_call_name, parse_node_name
from workbench.dump.reader import load
from workbench.pipeline.compare import compare

ONE = np.float32([1, 2])


@pytest.mark.parametrize(
    ("name", "op_name", "run"),
    [
        ("add_device_0_0.pt", "add", 0),
        ("arg0_1_device_12_0.pt", "arg0_1", 0),
        ("getitem_3_device_0_41.pt", "getitem_3", 41),
        ("test1_device_0.pt", "test1", 0),
        ("tensor_20260101000000000_device_0_1.bin", "tensor_20260101000000000", 1),
        ("x_device_0_1_device_2_3.pth", "x_device_0_1", 3),
    ],
)
def test_names_of_nodes(name, op_name, run):
    assert parse_node_name(name) == ("", op_name, "output", 0, run)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Functional.linear.0.forward.input.0.pt", ("linear", "Functional.linear.0.forward", "input", 0)),
        ("Tensor.permute.1.forward.output.0.pt", ("permute", "Tensor.permute.1.forward", "output", 0)),
        ("Module.conv1.Conv2d.forward.0.input.0.pt", ("Conv2d", "Module.conv1.Conv2d.forward.0", "input", 0)),
        ("Module.a.b.Net.backward.2.output.1.pt", ("Net", "Module.a.b.Net.backward.2", "output", 1)),
        ("Cell.fc.Dense.forward.0.output.npy", ("Dense", "Cell.fc.Dense.forward.0", "output", 0)),
        ("Torch.cat.0.forward.input.0.1.pt", ("cat", "Torch.cat.0.forward.input.0", "input", 1)),
        ("Torch.add.0.forward.kwargs.alpha.pt", ("add", "Torch.add.0.forward.kwargs.alpha", "input", 0)),
        ("Torch.cat.0.forward.kwargs.out.2.pt", ("cat", "Torch.cat.0.forward.kwargs.out", "input", 2)),
        ("Module.fc.Linear.forward.0.parameters.weight.pt",
         ("Linear", "Module.fc.Linear.forward.0.parameters.weight", "input", 0)),
        ("Module.fc.Linear.parameters_grad.bias.pt", ("Linear", "Module.fc.Linear.parameters_grad.bias", "output", 0)),
    ],
)  # fmt: skip
def test_names_of_calls(name, expected):
    assert parse_call_name(name)[:4] == expected


@pytest.mark.parametrize(
    "name",
    ["conv1.0.1700000000000008.npy", "x.pt", "x_device_0_0.npy", "a/x_device_0_0.pt", "x_device_.pt",
     "Add.Default_Add-op1.0.0.17.output.0.DefaultFormat.float32.npy", "x" * 5000 + "_device_0_0.pt",
     "a.forward.input." + "1." * 3000 + "pt", "dump.json"],
)  # fmt: skip
def test_other_names_are_none_of_them(name):
    assert (parse_node_name(name), parse_call_name(name)) == (None, None)


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
