"""Trees of each release, asked of the writer itself, against a table made from the vendor's documents."""

import numpy as np
import pytest

from kit.build.written import write
from kit.trees import listed, rows
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.plan import DumpPlan
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.dump.reader import load
from workbench.dump.releases import check_version
from workbench.dump.write.targets import Clock
from workbench.graph.graph import Const, Graph, Op, Param, Parameter, Value

F = TensorSpec("float32", (2, 3))
OP = "Default/net-Net/ReduceMean-op4"
GRAPH = Graph(
    "Net",
    (Parameter("fc.w", F, True, "fc.w"),),
    (
        Op(
            OP, "ReduceMean",
            (Param(0), Const((0, 1), "tuple", (2,)), Const(True, "bool", ())), {}, (F,), (F, None, None),
        ),
    ),
    (Value(0),),
)  # fmt: skip
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def records():
    for op_type, name in (("ReduceMean", OP), ("Parameter", "fc.w")):
        key = TensorKey(op_type, name, "output", 0)
        yield TensorRecord(key, TensorSpec("float32", (2, 3)), ArraySource(X))


def tree(root, version, device, **plan):
    write(records(), DumpPlan("/d", **plan), root, graph=GRAPH, device=device, version=version,
          config_text="{}", clock=Clock(1))  # fmt: skip
    assert listed(root) == [f"rank_0/{name}" for name in listed(root / "rank_0")]
    return listed(root / "rank_0")


def shape_of(names):
    """Which kinds of files there are: a letter each."""
    kinds = {
        "m": ".dump_metadata/config.json" in names,
        "o": "execution_order/ms_global_execution_order_graph_0.csv" in names,
        "p": any("/Parameter.fc" in name for name in names),
        "c": any("/constants/Parameter.data-" in name for name in names),
    }
    return "".join(letter for letter, there in kinds.items() if there)


WRITTEN = {
    "2.3.0rc1": {"CPU": "mop", "GPU": "mopc", "Ascend": ""},
    "2.6.0": {"CPU": "mop", "GPU": "mopc", "Ascend": ""},
    "2.10.0": {"CPU": "mop", "GPU": "mopc", "Ascend": ""},
}


@pytest.mark.parametrize("device", ["CPU", "GPU", "Ascend"])
@pytest.mark.parametrize("version", WRITTEN)
def test_each_release_writes_what_its_tutorial_says(tmp_path, version, device):
    names = tree(tmp_path, version, device)
    assert shape_of(names) == WRITTEN[version][device]
    assert "graphs/ms_output_trace_code_graph_0.ir" in names
    assert "execution_order/ms_execution_order_graph_0.csv" in names


@pytest.mark.parametrize("version", ["0.7", "1.10", "2.2.14"])
def test_releases_that_are_not_written_are_refused_with_the_reason(tmp_path, version):
    with refused("dump/version-old", FormatError, got=version):
        check_version(version)
    with refused("dump/version-old", FormatError, got=version):
        tree(tmp_path / "tree", version, "GPU", saved="statistic")
    assert not (tmp_path / "tree").exists()


@pytest.mark.parametrize(
    ("version", "name", "title", "cells"),
    [
        ("2.3.0", "Default_net-Net_ReduceMean-op4", "Zero Count", 20),
        ("2.3.1", "Default_net-Net_ReduceMean-op4", "MD5", 12),
        (
            "2.7.0",
            "Default_net-Net_ReduceMean-op0",
            "MD5",
            12,
        ),  # the only one of its scope and type
        ("2.7.1", "Default/net-Net/ReduceMean-op0", "MD5", 12),
    ],
)
def test_tables_have_the_names_and_columns_of_the_release(tmp_path, version, name, title, cells):
    tree(tmp_path, version, "GPU", saved="full", statistics=("md5",))
    (table,) = tmp_path.glob("rank_0/Net/0/0/statistic.csv")
    header, first, second = rows(table)
    assert (first[1], header[-1], len(first)) == (name, title, cells)
    assert second[1] == "fc_w"
    dump = load(tmp_path)
    # every row is one of the tensors that have a file
    assert len([r for r in dump.records if r.key.iteration == 0]) == 2
    assert all(r.source is not None for r in dump.records)


def test_constants_are_written_once_with_their_values_and_read_back(tmp_path):
    names = tree(tmp_path, "2.10.0", "GPU")
    found = {name.rpartition("/")[2] for name in names if "constants" in name}
    assert {name.split(".")[1] for name in found} == {"data-1", "data-2"}  # data-0 is a monad
    assert all(name.startswith("Parameter.data-") for name in found)
    read = {r.key.op_name: r for r in load(tmp_path).records if r.key.iteration == -1}
    assert {name: (r.source.array().tolist(), r.label.dtype) for name, r in read.items()} == {
        "data-1": ([0, 1], "int64"),
        "data-2": (True, "bool"),
    }


def test_constants_are_outputs_that_an_operator_list_can_leave_out(tmp_path):
    assert shape_of(tree(tmp_path / "a", "2.6.0", "GPU", io=frozenset(("input",)))) == "mo"


def test_constants_have_rows_of_their_own(tmp_path):
    names = tree(tmp_path, "2.6.0", "GPU", saved="statistic", statistics=("max", "count"))
    assert not any(name.endswith(".npy") for name in names)
    header, first, second = rows(tmp_path / "rank_0/Net/0/constants/statistic.csv")
    assert header[-2:] == ["Max Value", "Count"]
    assert (first[:2], first[7:]) == (["Parameter", "data-1"], ["16", "int64", "(2)", "1", "2", ""])
    assert (second[1], second[8]) == ("data-2", "bool")
