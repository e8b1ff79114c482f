"""``workbench simulate --input --shape``: what an ONNX model is fed from the command line."""

import numpy as np
import pytest
from onnx import helper

from kit.build.onnx_models import FLOAT, model, node
from kit.commands import run
from workbench.dump.reader import load

OPEN = helper.make_tensor_value_info("a b", FLOAT, ["batch", 3])
FED = np.float32([[1, -2, 3], [-4, 5, -6]])


@pytest.fixture
def place(tmp_path, capsys):
    """Model with an open size, the form of a run that dumps it, and files to be fed."""
    made = model([node("Relu", ["a b"], ["y"], "act")], {"a b": OPEN}, ["y"])
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    text = run(capsys, "config", "new", "acl")[1]
    (tmp_path / "acl.json").write_text(text, encoding="utf-8")
    np.save(tmp_path / "fed.npy", FED)
    np.save(tmp_path / "flat.npy", FED[0])
    np.save(tmp_path / "fine.npy", FED.astype(np.float64) / 3)
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    (tmp_path / "empty.npy").write_bytes(b"")
    return tmp_path


def simulated(capsys, place, *options, graph="net.onnx"):
    graph = place / graph if "." in graph else graph
    asked = ("simulate", "--graph", graph, "--config", place / "acl.json", "--out", place / "tree")
    return run(capsys, *asked, *options)


def outputs(place):
    return [one.source.array() for one in load(place / "tree").records if one.key.io == "output"]


def test_a_file_is_fed_and_gives_the_open_sizes(capsys, place):
    assert simulated(capsys, place, "--input", f"a b={place}/fed.npy")[0] == 0
    (found,) = outputs(place)
    np.testing.assert_array_equal(found, np.maximum(FED, 0))


@pytest.mark.parametrize("shape", ["batch=4", "a b=4,3"])
def test_sizes_are_given_and_values_come_from_the_seed(capsys, place, shape):
    assert simulated(capsys, place, "--shape", shape)[0] == 0
    (found,) = outputs(place)
    assert found.shape == (4, 3)


def test_a_traced_network_is_fed_by_the_names_of_its_inputs(capsys, place):
    np.save(place / "image.npy", np.ones((3, 3), np.float32))
    status, _, err = simulated(capsys, place, "--input", f"no={place}/image.npy", graph="mlp")
    assert status == 2
    assert "unknown input 'no'" in err


REFUSED = {
    "nothing of a size that must be known": ((), "--shape or --input"),
    "an unknown name": (("--input", "b={}/fed.npy"), "unknown input 'b'"),
    "another rank": (("--input", "a b={}/flat.npy"), "expected shape"),
    "values that the type does not hold": (("--input", "a b={}/fine.npy"), "float32"),
    "no file": (("--input", "a b=nowhere.npy"), "does not exist"),
    "an empty file": (("--input", "a b={}/empty.npy"), "empty.npy"),
    "objects": (("--input", "a b={}/objects.npy"), "objects.npy"),
    "a shape against the file": (("--input", "a b={}/fed.npy", "--shape", "batch=5"), "expected shape"),
    "no sizes": (("--shape", "batch=x"), "SIZE"),
    "twice": (("--shape", "batch=1", "--shape", "batch=2"), "batch"),
    "an option without its name": (("--input", "{}/fed.npy"), "NAME=FILE.npy"),
}  # fmt: skip
"""What is wrong → options, and what the one line names."""


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_in_one_line(capsys, monkeypatch, place, case):
    monkeypatch.chdir(place)
    options, named = REFUSED[case]
    status, out, err = simulated(capsys, place, *(one.format(".") for one in options))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert named in err
    assert not (place / "tree").exists()


def test_several_networks_and_shapes_of_traced_ones_are_refused(capsys, place):
    status, _, err = simulated(capsys, place, "--graph", "mlp", "--shape", "batch=2")
    assert (status, "one network" in err) == (2, True)
    status, _, err = simulated(capsys, place, "--shape", "x=2", graph="mlp")
    assert (status, "ONNX" in err) == (2, True)
