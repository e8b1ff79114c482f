"""``workbench golden``: what it prints where, its exit status, and that the folder is a golden dump."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from kit.build.onnx_models import FLOAT, model, node
from kit.commands import run
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


def gone(path):
    path.unlink()


def later_opset(path):
    made = model([node("Strange", ["x"], ["y"])], {"x": X}, ["y"], opset=9999)
    path.write_bytes(made.SerializeToString())


def whole(_path):
    """Nothing is wrong with the model."""


GIVEN = ("--input", "x={image}")
BAD = {
    "no shape": (whole, (), Message("golden/no-input", name="x", got=("n", 4), example="1,4")),
    "no text of a shape": (whole, ("--shape", "x=2x4"), Message("golden/shape-form", got="x=2x4")),
    "an unknown engine": (
        whole,
        (*GIVEN, "--engine", "tvm"),
        Message("core/choice", subject="engine", got="tvm", known=["onnxruntime", "reference"]),
    ),
    "a model that ends early": (broken, GIVEN, None),
    "no model": (gone, GIVEN, Message("core/missing", got="net.onnx")),
    "an opset of the future": (later_opset, GIVEN, None),
}
"""What is wrong → what is done to the model, options, and what is said, if that is short."""


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_status_two(capsys, monkeypatch, net, image, tmp_path, case):
    monkeypatch.chdir(net.parent)
    damage, arguments, said = BAD[case]
    damage(net)
    filled = [one.format(image=image) for one in arguments]
    engine = () if "--engine" in filled else REFERENCE
    status, shown, errors = run(capsys, "golden", net.name, "--out", "out", *filled, *engine)
    assert (status, shown) == (2, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1, errors
    assert said is None or errors == f"error: {said}\n"


def test_a_folder_that_is_not_empty_is_refused(capsys, net, image, tmp_path):
    arguments = ("--out", tmp_path, "--input", f"x={image}", *REFERENCE)
    status, _, errors = run(capsys, "golden", net, *arguments)
    assert (status, errors) == (2, f"error: {Message('dump/out-filled', got=str(tmp_path))}\n")
