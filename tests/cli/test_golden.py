"""``workbench golden``: what it prints where, its exit status, and that the folder is a golden dump."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from kit.build.onnx_models import FLOAT, model, node
from kit.commands import run
from workbench.cli.golden import golden
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
MINE = helper.make_opsetid("my.ops", 1)
REFERENCE = ("--engine", "reference")


@pytest.fixture
def net(tmp_path):
    """A model whose input has an open size."""
    info = helper.make_tensor_value_info("x", FLOAT, ["n", 4])
    nodes = [node("Relu", ["x"], ["a"], "act"), node("Exp", ["a"], ["y"], "grow")]
    path = tmp_path / "net.onnx"
    onnx.save(model(nodes, {"x": info}, ["y"]), path)
    return path


@pytest.fixture
def image(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return tmp_path / "x.npy"


def test_the_folder_is_printed_and_the_rest_goes_to_stderr(capsys, net, image, tmp_path):
    out = tmp_path / "out"
    status, shown, errors = run(
        capsys, "golden", net, "--out", out, "--input", f"x={image}", *REFERENCE
    )
    assert (status, shown) == (0, f"{out}\n")
    values = {"tensors": 2, "bytes": 2 * X.nbytes, "engine": "reference", "out": out, "model": net}
    assert errors == f"{Message('cli/golden', **values)}\n"
    got = {path.name.split(".")[0]: np.load(path) for path in out.glob("*.npy")}
    np.testing.assert_array_equal(got["act"], np.maximum(X, 0))
    np.testing.assert_allclose(got["grow"], np.exp(np.maximum(X, 0)), rtol=1e-6)


def test_what_was_written_is_a_golden_dump_of_the_model(capsys, net, tmp_path):
    """Two engines, or one twice, on inputs from one seed agree; from another seed they do not."""
    for out, seed in (("one", 0), ("again", 0), ("other", 1)):
        arguments = ("--shape", "n=3", "--seed", seed, *REFERENCE)
        assert run(capsys, "golden", net, "--out", tmp_path / out, *arguments).status == 0
    graphs = ("--golden-graph", net, "--target-graph", net)
    assert run(capsys, "compare", tmp_path / "again", tmp_path / "one", *graphs).status == 0
    assert run(capsys, "compare", tmp_path / "other", tmp_path / "one", *graphs).status == 1


def test_a_shape_makes_inputs_from_the_seed_and_says_so(capsys, net, tmp_path):
    arguments = ("--shape", "x=5,4", "--seed", "3", *REFERENCE)
    status, _, errors = run(capsys, "golden", net, "--out", tmp_path / "out", *arguments)
    fed = [Message("golden/seeded-input", name="x", shape=(5, 4))]
    assert status == 0
    assert errors.splitlines()[0] == str(Message("golden/seeded", seed=3, inputs=fed, folder="inputs"))  # fmt: skip
    assert np.load(tmp_path / "out" / "inputs" / "x.npy").shape == (5, 4)


def test_custom_operators_are_named_in_one_line_and_the_rest_is_written(capsys, tmp_path):
    nodes = [
        node("Relu", ["x"], ["a"], "act"),
        node("Strange", ["a"], ["b"], "odd", domain="my.ops"),
        node("Neg", ["b"], ["y"], "after"),
    ]
    onnx.save(model(nodes, {"x": X}, ["y"], imports=[MINE]), tmp_path / "net.onnx")
    out = tmp_path / "out"
    status, shown, errors = run(capsys, "golden", tmp_path / "net.onnx", "--out", out, *REFERENCE)
    assert (status, shown) == (2, f"{out}\n")
    assert [path.name.split(".")[0] for path in out.glob("*.npy")] == ["act"]
    last = errors.splitlines()[-1]
    assert last.startswith("error: 2 operators not computed: odd (my.ops.Strange): ")
    assert last.endswith("after (Neg): reads the output of odd")


def broken(path):
    path.write_bytes(path.read_bytes()[:-9])


def text(path):
    path.write_text("graph { }")


def empty(path):
    path.write_bytes(b"")


def gone(path):
    path.unlink()


def folder(path):
    path.unlink()
    path.mkdir()


def huge(path):
    with path.open("r+b") as file:
        file.truncate(1 << 31)


def cyclic(path):
    nodes = [node("Add", ["x", "b"], ["a"], "one"), node("Neg", ["a"], ["b"], "two")]
    path.write_bytes(model(nodes, {"x": X}, ["b"]).SerializeToString())


def linked_in_a_circle(path):
    (path.parent / "w.bin").symlink_to("w.bin")
    weighted(path, "w.bin")


def escaping(path):
    weighted(path, "../../../../etc/passwd")


def weighted(path, location):
    weight = TensorProto(name="w", data_type=FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=location)
    made = model([node("Add", ["x", "w"], ["y"])], {"x": X}, ["y"])
    made.graph.initializer.append(weight)
    path.write_bytes(made.SerializeToString())


def later_opset(path):
    made = model([node("Strange", ["x"], ["y"])], {"x": X}, ["y"], opset=9999)
    path.write_bytes(made.SerializeToString())


def whole(_path):
    """Nothing is wrong with the model."""


GIVEN = ("--input", "x={image}")
BAD = {
    "no shape": (whole, (), "golden/no-input"),
    "a wrong shape": (whole, ("--shape", "x=2,5"), "golden/input-shape"),
    "a shape that is none": (whole, ("--shape", "x=2x4"), "golden/shape-form"),
    "a shape of no name": (whole, ("--shape", "=2,4"), "golden/shape-form"),
    "a negative size": (whole, ("--shape", "x=-1,4"), "golden/shape-form"),
    "two shapes of one name": (
        whole,
        ("--shape", "x=1,4", "--shape", "x=2,4"),
        "golden/given-twice",
    ),
    "an input that is none": (whole, ("--input", "x"), "golden/input-form"),
    "an unknown input": (whole, ("--input", "z={image}"), "golden/no-such-input"),
    "a file that is not there": (whole, ("--input", "x=nowhere.npy"), "core/missing"),
    "a file that is no array": (whole, ("--input", "x={net}"), "dump/npy-magic"),
    "an unknown engine": (whole, (*GIVEN, "--engine", "tvm"), "core/choice"),
    "a negative seed": (whole, (*GIVEN, "--seed", "-1"), "core/seed"),
    "a model that ends early": (broken, GIVEN, ""),
    "a text": (text, GIVEN, ""),
    "an empty file": (empty, GIVEN, ""),
    "no model": (gone, GIVEN, "core/missing"),
    "a folder": (folder, GIVEN, "core/missing"),
    "two gibibytes": (huge, GIVEN, "graph/onnx-large"),
    "a circle of nodes": (cyclic, GIVEN, "graph/onnx-input-later"),
    "a circle of links": (linked_in_a_circle, GIVEN, "graph/onnx-external-circle"),
    "data outside the folder": (escaping, GIVEN, "graph/onnx-external-outside"),
    "an opset of the future": (later_opset, GIVEN, "golden/nothing"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_status_two(capsys, net, image, tmp_path, case):
    damage, arguments, code = BAD[case]
    damage(net)
    filled = [one.format(image=image, net=net) for one in arguments]
    engine = () if "--engine" in filled else REFERENCE
    status, shown, errors = run(capsys, "golden", net, "--out", tmp_path / "out", *filled, *engine)
    assert (status, shown) == (2, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1, errors
    assert code in ("", raised(net, tmp_path / "again", [*filled, *engine]))


def raised(net, out, words):
    """Code of the error that the command ends in."""
    given = {"--input": [], "--shape": [], "--engine": [], "--seed": ["0"]}
    for option, value in zip(words[::2], words[1::2], strict=True):
        given[option].append(value)
    with pytest.raises(WorkbenchError) as caught:
        golden(
            str(net),
            str(out),
            given["--input"],
            given["--shape"],
            *given["--engine"],
            int(given["--seed"][-1]),
        )
    return caught.value.code


def test_a_folder_that_is_not_empty_is_refused(capsys, net, image, tmp_path):
    arguments = ("--out", tmp_path, "--input", f"x={image}", *REFERENCE)
    status, _, errors = run(capsys, "golden", net, *arguments)
    assert (status, errors) == (2, f"error: {Message('dump/out-filled', got=str(tmp_path))}\n")
