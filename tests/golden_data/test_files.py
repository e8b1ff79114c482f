"""Names of golden files, and that a comparison takes each for the operator that it is of."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

import workbench as wb
from kit.build.onnx_models import model, node
from kit.words import refused
from workbench.comparison.bind.bind import bind
from workbench.core.errors import FormatError
from workbench.dump.formats.renamed import parse_mapping
from workbench.golden_data.engines import ENGINES, choose_engine

X = np.float32([1, 2, 3])
STANDARD = re.compile(r"([A-Za-z0-9_-]+)\.(\d+)\.(\d{16})\.npy")


def chain(names):
    """A node after the other, each of which adds one; so the k-th gives ``X + k``."""
    nodes = [node("Add", [f"v{k}", "one"], [f"v{k + 1}"], name) for k, name in enumerate(names)]
    return model(nodes, {"v0": X}, [f"v{len(names)}"], {"one": np.float32([1])})


def golden(root, made, **more):
    """Golden data of a model, read as a dump with the model as its graph."""
    path = root / "net.onnx"
    onnx.save(made, path)
    feeds = {one.name: X for one in made.graph.input}
    wb.golden(path, feeds, root / "out", engine="reference", **more)
    return wb.load(root / "out", graph=path)


def test_names_are_msaccucmps(tmp_path):
    golden(tmp_path, chain(["/layer1/conv.0", "a b:c(1)", "", "-x_"]))
    names = sorted(path.name for path in (tmp_path / "out").glob("*.npy"))
    found = [STANDARD.fullmatch(name) for name in names]
    assert all(found)
    assert {one[1] for one in found} == {"_layer1_conv_0", "a_b_c_1_", "Add_0", "-x_"}
    assert {one[2] for one in found} == {"0"}
    assert len({one[3] for one in found}) == 4


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=90)
ALIKE = st.sampled_from(["a.b", "a/b", "a_b", "a:b", "a b", ""])


@given(st.lists(TEXTS | ALIKE, min_size=1, max_size=6))
def test_whatever_nodes_are_called_a_comparison_finds_the_tensor_of_each(tmp_path_factory, names):
    dump = golden(tmp_path_factory.mktemp("names"), chain(names))
    assert (dump.skipped, dump.layout) == ((), "golden")
    bound = bind(dump)
    assert bound.skipped == ()
    (runs,) = bound.runs.values()
    got = {number: run.tensors["output", 0].source.array().tolist() for number, run in runs.items()}
    assert got == {k: (X + k + 1).tolist() for k in range(len(names))}


def test_operators_that_share_a_name_are_said(tmp_path):
    said = []
    golden(tmp_path, chain(["a.b", "other", "a/b"]), report=said.append)
    (found,) = [one.values for one in said if one.code == "golden/one-name"]
    assert (found["name"], found["operators"]) == ("a_b", ["a.b", "a/b"])


def test_a_file_never_passes_for_that_of_an_operator_that_was_not_computed(tmp_path):
    nodes = [
        node("Strange", ["x"], ["a"], "a.b", domain="my.ops"),
        node("Neg", ["x"], ["b"], "a/b"),
        node("Abs", ["x"], ["c"], "c"),
    ]
    made = model(nodes, {"x": X}, ["a", "b", "c"], imports=[helper.make_opsetid("my.ops", 1)])
    bound = bind(golden(tmp_path, made))
    assert [(one.name, one.reason) for one in bound.skipped] == [("a_b_2", "not-in-graph")]
    (runs,) = bound.runs.values()
    assert {number: run.op_name for number, run in runs.items()} == {2: "c"}


def test_a_name_that_is_too_long_stands_in_the_table_beside_the_files(tmp_path):
    long = "module/" * 60
    golden(tmp_path, chain([long]))
    (path,) = (tmp_path / "out").glob("*.npy")
    table, wrong = parse_mapping((tmp_path / "out" / "mapping.csv").read_text().splitlines())
    assert wrong == []
    assert STANDARD.fullmatch(table[path.name])[1] == long.replace("/", "_")


@pytest.mark.parametrize("name", [row.name for row in ENGINES if not row.package])
def test_the_same_seed_gives_the_same_bytes(tmp_path, name):
    made = chain(["a", "b"])
    trees = []
    for root in ("one", "two"):
        wb.golden(made, None, tmp_path / root, engine=name, seed=7)
        files = (tmp_path / root).rglob("*.npy")
        trees.append({str(p.relative_to(tmp_path / root)): p.read_bytes() for p in files})
    assert trees[0] == trees[1]
    assert len(trees[0]) == 3


def test_a_folder_that_holds_anything_is_refused(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with refused("dump/out-filled", FormatError, got=str(tmp_path)):
        wb.golden(chain(["a"]), None, tmp_path, engine="reference")
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_a_disk_that_is_full_leaves_whole_files(tmp_path, monkeypatch):
    from workbench.golden_data import files

    def write(file, array, count=[]):  # noqa: B006 - counts
        count.append(array)
        if len(count) > 2:
            raise OSError(28, "No space left on device")
        np.save(file, array)

    monkeypatch.setattr(files, "save_npy", write)
    with refused("core/unwritable", wb.OutputError):
        wb.golden(chain(["a", "b", "c"]), None, tmp_path / "out", engine="reference")
    assert [path.name.split(".")[0] for path in (tmp_path / "out").glob("*.npy")] == ["a"]
    assert not (tmp_path / "out" / ".partial").exists()


# ---------------------------------------------------------------- engines


def test_the_first_engine_that_is_installed_is_the_default(monkeypatch):
    monkeypatch.setattr("workbench.golden_data.engines.find_spec", lambda name: None)
    name, _, said = choose_engine(None, 0)
    assert name == "reference"
    assert [(one.code, one.values["package"]) for one in said] == [
        ("golden/engine-fallback", "onnxruntime")
    ]


def test_an_engine_that_is_asked_for_and_not_installed_is_refused(monkeypatch):
    monkeypatch.setattr("workbench.golden_data.engines.find_spec", lambda name: None)
    with refused("golden/engine-missing", wb.GraphError, package="onnxruntime"):
        choose_engine("onnxruntime", 0)


def test_an_unknown_engine_is_refused():
    with refused("core/choice", wb.GraphError, got="tvm", known=[row.name for row in ENGINES]):
        choose_engine("tvm", 0)


def test_what_was_fed_is_found_whatever_inputs_are_called(tmp_path):
    """Also where files would share a name, and where a node is called like an input."""
    names = ["a.b", "a/b", "a_b", "x", "y" * 230]
    nodes = [node("Neg", [name], [f"out{k}"], "x" * (k == 3)) for k, name in enumerate(names)]
    feeds = {name: np.float32([k, 1]) for k, name in enumerate(names)}
    path = tmp_path / "net.onnx"
    onnx.save(model(nodes, feeds, [f"out{k}" for k in range(len(names))]), path)
    wb.golden(path, feeds, tmp_path / "out", engine="reference")
    bound = bind(wb.load(tmp_path / "out", graph=path))
    (held,) = bound.parameters.values()
    assert {name: one.source.array().tolist() for name, one in held.items()} == {
        name: array.tolist() for name, array in feeds.items()
    }
    assert bound.skipped == ()
