"""Models as files: external data inside their folder alone, sizes checked before memory is taken."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from kit.build.onnx_models import model, node
from kit.words import check_said, refused
from workbench.core.errors import FormatError, GraphError
from workbench.network.onnx import read_onnx

X = np.ones((2, 3), np.float32)
WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)


def external(location="weights.bin", dims=(3, 4), kind=TensorProto.FLOAT, **entries):
    tensor = TensorProto(name="w", data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **entries}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(text)
    return tensor


def written(folder, tensor):
    made = model([node("MatMul", ["x", "w"], ["y"])], {"x": X}, ["y"])
    made.graph.initializer.append(tensor)
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def refusal(folder, tensor, error=FormatError):
    path = written(folder, tensor)
    with pytest.raises(error) as caught:
        read_onnx(path)
    return caught.value


def test_weights_beside_the_model_are_read(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "weights.bin").write_bytes(b"\0" * 16 + WEIGHT.tobytes() + b"rest")
    path = written(tmp_path, external("data/weights.bin", offset=16, length=48))
    np.testing.assert_array_equal(read_onnx(path).parameters[0].default, WEIGHT)


def test_weights_as_onnx_saves_them_are_read(tmp_path):
    made = model([node("MatMul", ["x", "w"], ["y"])], {"x": X}, ["y"], {"w": WEIGHT})
    onnx.save(made, str(tmp_path / "net.onnx"), save_as_external_data=True, size_threshold=0)
    assert len(list(tmp_path.iterdir())) == 2
    np.testing.assert_array_equal(read_onnx(tmp_path / "net.onnx").parameters[0].default, WEIGHT)


@pytest.mark.parametrize(
    "location", ["../secret.bin", "a/../../secret.bin", "", ".", "/etc/hostname"]
)
def test_no_path_leaves_the_folder_of_the_model(tmp_path, location):
    (tmp_path / "secret.bin").write_bytes(WEIGHT.tobytes())
    inner = tmp_path / "inner"
    inner.mkdir()
    error = refusal(inner, external(location))
    check_said(error, "graph/onnx-external-outside", name="w", folder=str(inner), got=location)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    (tmp_path / "secret.bin").write_bytes(WEIGHT.tobytes())
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "weights.bin").symlink_to(tmp_path / "secret.bin")
    check_said(refusal(inner, external()), "graph/onnx-external-outside", name="w")


@pytest.mark.parametrize(
    ("entries", "code", "values"),
    [
        ({"length": 47}, "external-length", {"shape": (3, 4), "expected": 48, "got": 47}),
        ({"offset": 1}, "external-short", {"needed": 49, "got": 48}),
        ({"offset": -1}, "external-size", {"key": "offset", "got": "-1"}),
        ({"offset": "1e3"}, "external-size", {"key": "offset", "got": "1e3"}),
        ({"length": 9 * "9" * 9}, "external-size", {"key": "length"}),
        ({"dims": (3, 1 << 30)}, "external-short", {"needed": 12 << 30}),
        ({"dims": (1 << 40, 1 << 40)}, "data-shape", {"got": (1 << 40, 1 << 40)}),
        ({"dims": (3, -4)}, "data-shape", {"got": (3, -4)}),
        ({"kind": TensorProto.INT4}, "external-int4", {}),
        ({"kind": 99}, "data-type", {"got": 99}),
    ],
)
def test_what_a_data_file_does_not_hold_is_refused(tmp_path, entries, code, values):
    (tmp_path / "weights.bin").write_bytes(WEIGHT.tobytes())
    check_said(refusal(tmp_path, external(**entries)), f"graph/onnx-{code}", name="w", **values)


def test_a_missing_data_file_and_one_that_is_no_file_are_refused(tmp_path):
    file = str(tmp_path / "weights.bin")
    check_said(refusal(tmp_path, external()), "graph/onnx-external-missing", name="w", got=file)
    os.mkfifo(tmp_path / "weights.bin")
    check_said(refusal(tmp_path, external()), "graph/onnx-external-missing", name="w", got=file)


def test_a_model_in_memory_has_no_folder():
    made = model([node("MatMul", ["x", "w"], ["y"])], {"x": X}, ["y"])
    made.graph.initializer.append(external())
    with refused("graph/onnx-external-none", FormatError, name="w"):
        read_onnx(made)


@pytest.mark.parametrize(
    ("change", "code", "values"),
    [
        ({"dims": [3, 5]}, "data-values", {"shape": (3, 5)}),
        ({"dims": [1 << 41]}, "data-shape", {"got": (1 << 41,)}),
        ({"data_type": 0}, "data-type", {"got": 0}),
        ({"raw_data": b"12345"}, "data-values", {"shape": (3, 4)}),
    ],
)
def test_a_weight_whose_values_do_not_fill_its_shape_is_refused(tmp_path, change, code, values):
    tensor = numpy_helper.from_array(WEIGHT, "w")
    for key, to in change.items():
        if key == "dims":
            del tensor.dims[:]
            tensor.dims.extend(to)
        else:
            setattr(tensor, key, to)
    check_said(refusal(tmp_path, tensor), f"graph/onnx-{code}", name="w", **values)


def test_text_is_no_weight(tmp_path):
    tensor = onnx.helper.make_tensor("w", TensorProto.STRING, [1], [b"text"])
    check_said(refusal(tmp_path, tensor, GraphError), "graph/onnx-dtype", name="w")


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint64", "bool"])
def test_weights_of_every_plain_dtype_are_read_from_both_places(tmp_path, dtype):
    values = np.arange(6).reshape(2, 3).astype(dtype)
    kind = onnx.helper.np_dtype_to_tensor_dtype(values.dtype)
    (tmp_path / "weights.bin").write_bytes(values.tobytes())
    for tensor in (numpy_helper.from_array(values, "w"), external(dims=(2, 3), kind=kind)):
        made = model([node("Identity", ["w"], ["y"])], {}, ["y"])
        made.graph.initializer.append(tensor)
        (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
        got = read_onnx(tmp_path / "net.onnx").parameters[0].default
        assert got.dtype == values.dtype
        np.testing.assert_array_equal(got, values)
