"""What a model is fed: files, arrays, the seed; and what does not fit."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

import workbench as wb
from kit.build.onnx_models import FLOAT, model, node
from kit.words import refused
from workbench.core.errors import FormatError, GraphError
from workbench.golden_data.feeds import inputs_of, model_feeds, shapes_of
from workbench.golden_data.model import read_model

INT64, BFLOAT16 = TensorProto.INT64, TensorProto.BFLOAT16


def inputs(**kinds):
    """A model with these inputs: type and sizes of each (``None``: any number of them)."""
    infos = {
        name: helper.make_tensor_value_info(name, kind, sizes)
        for name, (kind, sizes) in kinds.items()
    }
    nodes = [node("Identity", [name], [f"{name}_out"]) for name in infos]
    return read_model(model(nodes, infos, [f"{name}_out" for name in infos]))


IMAGE = inputs(x=(FLOAT, ["batch", 3, "size", "size"]), n=(INT64, ["batch"]))


def fed(source, given=None, shapes=None, seed=0):
    return model_feeds(source, given or {}, shapes or {}, seed)[0]


SHAPES = {
    "shapes of all": ({}, {"x": (2, 3, 4, 4), "n": (2,)}, (2, 3, 4, 4)),
    "a shape whose open sizes another input has": ({}, {"x": (2, 3, 4, 4)}, (2, 3, 4, 4)),
    "open sizes by their names": ({}, {"batch": (5,), "size": (1,)}, (5, 3, 1, 1)),
    "an array that says the rest": ({"x": np.zeros((7, 3, 2, 2), np.float32)}, {}, (7, 3, 2, 2)),
    "an array and a size": ({"n": [0, 1]}, {"size": (6,)}, (2, 3, 6, 6)),
    "no elements": ({}, {"batch": (0,), "size": (1,)}, (0, 3, 1, 1)),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_follow_from_what_is_given(case):
    given, shapes, want = SHAPES[case]
    feeds = fed(IMAGE, given, shapes)
    assert feeds["x"].shape == want
    assert feeds["n"].shape == want[:1]
    assert (feeds["x"].dtype, feeds["n"].dtype) == (np.float32, np.int64)


TEXTS = [
    (inputs_of, ["x"], "golden/input-form"),
    (inputs_of, ["x="], "golden/input-form"),
    (inputs_of, ["=a.npy"], "golden/input-form"),
    (inputs_of, ["x=a", "x=b"], "golden/given-twice"),
    (inputs_of, [".", ".."], "golden/folder-twice"),
    (shapes_of, ["x=2x4"], "golden/shape-form"),
    (shapes_of, ["=2,4"], "golden/shape-form"),
    (shapes_of, ["x=-1,4"], "golden/shape-form"),
    (shapes_of, ["x=1,4", "x=2,4"], "golden/given-twice"),
]


@pytest.mark.parametrize(("read", "texts", "code"), TEXTS)
def test_texts_that_name_no_input_or_shape_are_refused(read, texts, code):
    with refused(code, GraphError):
        read(texts)


BAD = {
    "an input that is not there": ({"y": 1}, {}, "golden/no-such-input", {"option": "--input", "got": "y"}),
    "a shape of nothing": ({}, {"y": (1,)}, "golden/no-such-input", {"option": "--shape", "got": "y"}),
    "too few dimensions": ({"x": np.zeros((3, 4), np.float32)}, {}, "golden/input-shape", {"name": "x"}),
    "another fixed size": ({"x": np.zeros((1, 4, 2, 2), np.float32)}, {}, "golden/input-shape",
                           {"expected": ("batch", 3, "size", "size"), "got": (1, 4, 2, 2)}),
    "another fixed size as a shape": ({}, {"x": (1, 4, 2, 2)}, "golden/input-shape", {"name": "x"}),
    "one name with two sizes": ({"x": np.zeros((2, 3, 2, 2), np.float32), "n": [1, 2, 3]}, {},
                                "golden/input-shape", {"name": "n", "expected": (2,), "got": (3,)}),
    "a shape and an array that differ": ({"n": [1, 2, 3]}, {"n": (2,), "size": (1,)}, "golden/input-shape",
                                         {"name": "n", "expected": (2,), "got": (3,)}),
    "a size that nothing says": ({"n": [1]}, {}, "golden/no-input",
                                 {"name": "x", "got": (1, 3, "size", "size"), "example": "1,3,1,1"}),
    "text for numbers": ({"n": np.array(["a"])}, {"size": (1,)}, "golden/input-type", {"name": "n"}),
    "objects": ({"n": np.array([{}])}, {"size": (1,)}, "golden/input-type", {"name": "n"}),
    "more than memory": ({}, {"batch": (1 << 20,), "size": (1 << 10,)}, "graph/sizes", {"subject": "x"}),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit_is_refused_with_what_was_found(case):
    given, shapes, code, values = BAD[case]
    with refused(code, GraphError, **values):
        fed(IMAGE, given, shapes)


def test_the_message_for_an_unknown_shape_names_both_options():
    with refused("golden/no-input", GraphError) as caught:
        fed(inputs(x=(FLOAT, None)))
    assert "--input x=FILE.npy" in str(caught.value)
    assert "--shape x=1,3" in str(caught.value)


def test_an_input_whose_rank_is_open_takes_any_shape():
    assert fed(inputs(x=(FLOAT, None)), {}, {"x": (2, 2)})["x"].shape == (2, 2)


WIDTHS = {
    "float64 that float32 holds": (np.array([0.5, -2.0]), FLOAT, True),
    "float64 that float32 does not hold": (np.array([0.1, 1e300]), FLOAT, False),
    "not a number": (np.array([np.nan, np.inf]), FLOAT, True),
    "int32 as int64": (np.array([1, -1], np.int32), INT64, True),
    "whole floats as int64": (np.array([1.0, 2.0]), INT64, True),
    "halves as int64": (np.array([0.5, 2.0]), INT64, False),
    "not a number as int64": (np.array([np.nan, 2.0]), INT64, False),
    "int64 beyond float32": (np.array([(1 << 24) + 1, 0]), FLOAT, False),
    "float32 that bfloat16 holds": (np.array([1.0, -0.375], np.float32), BFLOAT16, True),
    "float32 that bfloat16 does not hold": (np.array([1.001, 1], np.float32), BFLOAT16, False),
}


@pytest.mark.parametrize("case", WIDTHS)
def test_values_are_converted_where_they_stay_what_they_are(case):
    array, kind, fits = WIDTHS[case]
    source = inputs(x=(kind, [2]))
    if not fits:
        with refused("golden/input-type", GraphError, name="x", got=array.dtype.name):
            fed(source, {"x": array})
        return
    got = fed(source, {"x": array})["x"]
    assert got.dtype == {FLOAT: np.float32, INT64: np.int64, BFLOAT16: ml_dtypes.bfloat16}[kind]
    np.testing.assert_array_equal(got.astype(np.float64), array.astype(np.float64))


@given(st.integers(0, 1 << 40), st.sampled_from([FLOAT, INT64, BFLOAT16, TensorProto.BOOL]))
def test_the_seed_alone_decides(seed, kind):
    first, again = (fed(inputs(x=(kind, [4, 5])), seed=seed)["x"] for _ in range(2))
    assert first.tobytes() == again.tobytes()
    other = fed(inputs(x=(FLOAT, [4, 5])), seed=seed + 1)["x"]
    assert other.tobytes() != first.tobytes()


def test_values_of_the_seed_are_those_of_a_simulation_of_the_same_model():
    made = model([node("Relu", ["in.put/0"], ["y"])], {"in.put/0": np.zeros((3, 4), np.float32)}, ["y"])  # fmt: skip
    (parameter,) = wb.read_onnx(made, seed=5).parameters
    (got,) = fed(read_model(made), seed=5).values()
    np.testing.assert_array_equal(got, parameter.default)


def hold(content):
    return lambda path: path.write_bytes(content)


def cut_off(path):
    np.save(path, np.zeros((2, 3, 4, 4), np.float32))
    path.write_bytes(path.read_bytes()[:-4])


FILES = {
    "no file": (lambda path: None, "core/missing"),
    "a folder": (lambda path: path.mkdir(), "core/missing"),
    "an empty file": (hold(b""), "dump/npy-magic"),
    "text": (hold(b"1 2 3\n" * 10), "dump/npy-magic"),
    "objects": (lambda path: np.save(path, np.array([{}], dtype=object)), "dump/npy-descr"),
    "half of an array": (hold(b"\x93NUMPY\x01\x00v\x00{'descr'"), "dump/npy-header-cut"),
    "fewer elements than it says": (cut_off, "dump/npy-short"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_array_is_refused(tmp_path, monkeypatch, case):
    make, code = FILES[case]
    monkeypatch.chdir(tmp_path)  # a long path is shortened in sentences
    path = Path("x.npy")
    make(path)
    with pytest.raises((GraphError, FormatError)) as caught:
        fed(IMAGE, {"x": path})
    assert caught.value.code == code
    assert str(path) in str(caught.value)


def test_what_was_fed_is_saved_under_its_name(tmp_path):
    source = model(
        [node("Add", ["a/b", "a.b"], ["y"])],
        {"a/b": np.zeros(3, np.float32), "a.b": np.zeros(3, np.float32)},
        ["y"],
    )
    given = {"a/b": np.float32([1, 2, 3])}
    said = []
    wb.golden(source, given, tmp_path / "out", engine="reference", report=said.append)
    saved = {path.name: np.load(path) for path in (tmp_path / "out" / "inputs").iterdir()}
    assert saved.keys() == {"a_b.npy", "a_b_2.npy"}
    np.testing.assert_array_equal(saved["a_b.npy"], given["a/b"])
    (seeded,) = [one.values["inputs"] for one in said if one.code == "golden/seeded"]
    assert [one.values["name"] for one in seeded] == ["a.b"]
    (got,) = [np.load(path) for path in (tmp_path / "out").glob("*.npy")]
    np.testing.assert_array_equal(got, saved["a_b.npy"] + saved["a_b_2.npy"])
