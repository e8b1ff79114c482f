"""``workbench simulate --input --shape``: what an ONNX model is fed from the command line."""

import numpy as np
import pytest
from onnx import helper

from kit.build.onnx_models import FLOAT, model, node
from kit.commands import run
from workbench.dump.reader import load
from workbench.network.models import load_graph

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


@pytest.fixture
def traced(place, capsys):
    """Tree of a traced network, on MindSpore's own surface, with its graph file."""
    text = run(capsys, "config", "new", "mindspore-cpu")[1]
    (place / "acl.json").write_text(text, encoding="utf-8")
    assert simulated(capsys, place, graph="mlp")[0] == 0
    return (place / "tree").rename(place / "traced")


def named(tree):
    return {
        one.key: one.source.array() for one in load(tree).records if one.key.op_type != "Parameter"
    }


def test_a_graph_file_with_the_values_of_its_network_runs_as_the_network_did(capsys, place, traced):
    (graph,) = traced.rglob("*.ir")
    values = []
    for number, parameter in enumerate(load_graph("mlp").parameters):
        np.save(place / f"{number}.npy", parameter.default)
        values += ["--input", f"{parameter.name}={place}/{number}.npy"]
    assert simulated(capsys, place, *values, graph=str(graph))[0] == 0
    found, expected = named(place / "tree"), named(traced)
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_array_equal(found[key], array, err_msg=str(key))


def test_values_of_a_graph_file_come_from_the_seed_and_stay_in_range(capsys, place, traced):
    (graph,) = traced.rglob("*.ir")
    seen = []
    for seed in (1, 1, 2):
        assert simulated(capsys, place, "--seed", seed, graph=str(graph))[0] == 0
        seen.append(named(place / "tree"))
        (place / "tree").rename(place / f"seed{len(seen)}")
    first, again, other = ([one[key] for key in seen[0]] for one in seen)
    assert all(map(np.array_equal, first, again))
    assert not all(map(np.array_equal, first, other))
    assert all(np.abs(one).max() < 100 for one in first)


def test_a_graph_file_has_no_open_sizes(capsys, place, traced):
    (graph,) = traced.rglob("*.ir")
    status, _, err = simulated(capsys, place, graph=f"{graph}:batch=2")
    assert (status, "batch=2" in err, err.count("\n")) == (2, True, 1)
    (place / "notes.txt").write_text("no graph")
    status, _, err = simulated(capsys, place, graph="notes.txt")
    assert (status, "unknown graph format" in err, err.count("\n")) == (2, True, 1)


OPEN_GRAPH = """# IR entry: @main
# Total params: 1
# Params:
%para1_x: <Tensor[Float32], (-1, 3)>

subgraph @main() {
  %0(y) = ReLU(%para1_x)
      : (<Tensor[Float32], (-1, 3)>) -> (<Tensor[Float32], (-1, 3)>)
      # Fullname with scope: (Default/ReLU-op0)
  Return(%0)
      : (<Tensor[Float32], (-1, 3)>)
}
"""


def test_an_input_of_a_graph_file_whose_shape_is_open_needs_a_file(capsys, place, traced):
    (place / "open.ir").write_text(OPEN_GRAPH)
    status, _, err = simulated(capsys, place, graph="open.ir")
    assert (status, "'x' has no value" in err, err.count("\n")) == (2, True, 1)


ODD = ["a b", "in:0", "in/put", "in.put", "übung", "../up", "k=v"]


@pytest.fixture
def odd(place, capsys):
    """A model whose inputs are called oddly, and what `workbench golden` has fed it."""
    nodes = [node("Relu", [name], [f"y{k}"], f"act{k}") for k, name in enumerate(ODD)]
    fed = {name: np.zeros(3, np.float32) for name in ODD}
    made = model(nodes, fed, [f"y{k}" for k in range(len(ODD))])
    (place / "odd.onnx").write_bytes(made.SerializeToString())
    asked = ("golden", place / "odd.onnx", "--out", place / "golden", "--seed", 7)
    assert run(capsys, *asked, "--engine", "reference")[0] == 0
    return place


def given(place):
    """Every output of the model in the golden data, and in the dump of the simulation."""
    golden = sorted((place / "golden").glob("act*.npy"))
    records = [one for one in load(place / "tree").records if one.key.io == "output"]
    dumped = {one.key.op_name: one.source.array() for one in records}
    return [np.load(path) for path in golden], [dumped[f"act{k}"] for k in range(len(ODD))]


def test_the_folder_of_what_golden_data_were_made_of_is_fed(capsys, odd):
    assert simulated(capsys, odd, "--input", odd / "golden/inputs", graph="odd.onnx")[0] == 0
    np.testing.assert_array_equal(*given(odd))


def test_a_file_counts_before_the_folder_s(capsys, odd):
    np.save(odd / "other.npy", np.float32([1, 2, 3]))
    options = ("--input", odd / "golden/inputs", "--input", f"in/put={odd}/other.npy")
    assert simulated(capsys, odd, *options, graph="odd.onnx")[0] == 0
    golden, dumped = given(odd)
    assert dumped[2].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(dumped[:2], golden[:2])


def test_files_of_inputs_are_given_one_by_one_whatever_inputs_are_called(capsys, odd):
    files = ["a_b", "in_0", "in_put", "in_put_2", "_bung", "___up"]
    named = zip(ODD, files, strict=False)
    texts = [f"{name}={odd}/golden/inputs/{file}.npy" for name, file in named]
    options = [part for text in texts for part in ("--input", text)]
    assert simulated(capsys, odd, *options, "--seed", 7, graph="odd.onnx")[0] == 0
    np.testing.assert_array_equal(*given(odd))


def test_golden_data_are_made_again_of_the_same(capsys, odd):
    again = ("golden", odd / "odd.onnx", "--out", odd / "again", "--input", odd / "golden/inputs")
    assert run(capsys, *again, "--engine", "reference")[0] == 0
    made, remade = (sorted((odd / name).glob("act*.npy")) for name in ("golden", "again"))
    assert [np.load(one).tolist() for one in remade] == [np.load(one).tolist() for one in made]


REFUSED = {
    "nothing of a size that must be known": ((), "--shape or --input"),
    "an unknown name": (("--input", "b={}/fed.npy"), "unknown input 'b'"),
    "another rank": (("--input", "a b={}/flat.npy"), "expected shape"),
    "a folder with files of nothing": (("--input", "{}"), "no file of an input"),
    "no folder": (("--input", "nowhere"), "NAME=FILE.npy"),
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
