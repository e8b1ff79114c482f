"""npy files that hold a device format: what the graph or the header says of the host decides how they are given."""

from __future__ import annotations

import numpy as np
import pytest

from kit.oracle.dump_files import counted, device_by_loops, grouped_by_loops, matrix_by_loops
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.formats import read_format
from workbench.core.tensors import TensorSpec
from workbench.dump.formats.npy import NpySource, npy_header
from workbench.dump.payload.blocks import Buffer
from workbench.dump.payload.extent import HostLayout

HALF = np.float16


def saved(path, array, shape=None):
    """An npy file of an array whose header says another shape."""
    header = npy_header(array.dtype.name, array.shape if shape is None else shape)
    path.write_bytes(header + array.tobytes())
    return str(path)


def source(path, form, dtype=""):
    return NpySource(path, read_format(form), dtype)


def same(found, expected):
    """At once and piece by piece, a source gives the elements that are expected."""
    array = found.array()
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)
    reading = found.reading(Buffer())
    if reading is None:
        return
    assert (reading.shape, reading.size, reading.dtype) == (
        expected.shape,
        expected.size,
        expected.dtype,
    )
    flat = []
    while count := reading.available():
        flat += reading.read(count).tolist()
    reading.close()
    assert flat == expected.ravel().tolist()


@pytest.mark.parametrize(
    ("form", "host", "dtype", "there"),
    [
        ("FRACTAL_NZ", counted((8, 16), HALF), "float16", lambda a: matrix_by_loops(a, 16)),
        ("FRACTAL_NZ", counted((16, 16), HALF), "float16", lambda a: matrix_by_loops(a, 16)),
        ("FRACTAL_NZ", counted((2, 3, 17), HALF), "float16", lambda a: matrix_by_loops(a, 16)),
        ("FRACTAL_NZ", counted((2, 1, 2, 3, 20)), "int32", lambda a: matrix_by_loops(a, 16)),
        ("FRACTAL_NZ", counted((2, 40), np.int8), "int8", lambda a: matrix_by_loops(a, 32)),
        ("FRACTAL_NZ", counted((2, 40), np.int8), "int4", lambda a: matrix_by_loops(a, 64)),
        ("FRACTAL_NZ", counted((3, 20), np.float32), "bfloat16", lambda a: matrix_by_loops(a, 16)),
        ("NDC1HWC0", counted((2, 17, 2, 1, 3)), "int32",
         lambda a: device_by_loops(a, "NCDHW", "NDC1HWC0", 16)),
        ("FRACTAL_Z_3D", counted((17, 3, 2, 1, 3)), "int32",
         lambda a: device_by_loops(a, "NCDHW", "FRACTAL_Z_3D", 16)),
        ("FRACTAL_Z_C04", counted((17, 3, 2, 3)), "int32",
         lambda a: device_by_loops(a, "NCHW", "FRACTAL_Z_C04", 16)),
    ],
)  # fmt: skip
def test_what_o2_leaves_as_it_was_becomes_the_shape_of_the_header(
    tmp_path, form, host, dtype, there
):
    found = source(saved(tmp_path / "x.npy", there(host), host.shape), form, dtype)
    same(found, host)
    spec = found.spec()
    assert (spec.dtype, spec.shape) == (host.dtype.name, host.shape)
    assert spec.format in ("ND", "NCHW", "NCDHW")


IMAGE, WEIGHT = counted((2, 17, 3, 2)), counted((17, 5, 2, 3))
LAID = {
    "NC1HWC0": (IMAGE, device_by_loops(IMAGE, "NCHW", "NC1HWC0", 16)),
    "FRACTAL_Z": (WEIGHT, device_by_loops(WEIGHT, "NCHW", "FRACTAL_Z", 16)),
    "FRACTAL_NZ": (IMAGE, matrix_by_loops(IMAGE, 16)),
    "C1HWNCoC0": (WEIGHT, device_by_loops(WEIGHT, "NCHW", "C1HWNCoC0", 16)),
    "NC1HWC0_C04": (IMAGE, device_by_loops(IMAGE, "NCHW", "NC1HWC0_C04", 4)),
}


@pytest.mark.parametrize("form", LAID)
@pytest.mark.parametrize("stated", ["DefaultFormat", "NCHW"])
def test_a_file_with_the_devices_shape_takes_the_hosts_from_the_graph(tmp_path, form, stated):
    host, there = LAID[form]
    found = source(saved(tmp_path / "x.npy", there), form, "int32")
    same(found, there)
    assert found.spec() == TensorSpec("int32", there.shape, form)
    found = found.with_host(HostLayout(host.shape, stated))
    same(found, host)
    assert found.spec().shape == host.shape


def test_a_graphs_host_format_is_tried_first(tmp_path):
    host = counted((2, 2, 2, 20))
    there = device_by_loops(host, "NHWC", "NC1HWC0", 16)
    found = source(saved(tmp_path / "x.npy", there), "NC1HWC0")
    found = found.with_host(HostLayout(host.shape, "NHWC"))
    same(found, host)
    assert found.spec().format == "NHWC"


def test_a_c0_that_is_not_the_dtypes_is_that_of_the_shape(tmp_path):
    there = device_by_loops(IMAGE, "NCHW", "NC1HWC0", 8)
    found = source(saved(tmp_path / "x.npy", there), "NC1HWC0")
    found = found.with_host(HostLayout(IMAGE.shape))
    same(found, IMAGE)


def test_groups_come_from_the_operator(tmp_path):
    host = counted((6, 3, 2, 2))
    there = grouped_by_loops(host[:, :, None], 3, 16)
    found = source(saved(tmp_path / "x.npy", there), "FRACTAL_Z")
    found = found.with_host(HostLayout(host.shape, groups=3))
    same(found, host)


def test_a_graph_that_says_something_else_changes_nothing(tmp_path):
    _, there = LAID["NC1HWC0"]
    found = source(saved(tmp_path / "x.npy", there), "NC1HWC0")
    found = found.with_host(HostLayout((2, 99, 3, 2)))
    same(found, there)
    found = found.with_host(HostLayout(None))
    same(found, there)


@pytest.mark.parametrize("form", ["NC1HWC0", "FRACTAL_NZ", "FRACTAL_Z"])
def test_a_sample_is_as_it_is(tmp_path, form):
    sample = counted((32,))
    found = source(saved(tmp_path / "x.npy", sample), form)
    same(found, sample)
    assert found.spec() == TensorSpec("int32", (32,), form)


@pytest.mark.parametrize("left", [130, 255])
def test_a_file_that_holds_neither_is_refused_with_its_place(tmp_path, left):
    there = matrix_by_loops(counted((8, 16)), 16)
    path = saved(tmp_path / "x.npy", there.ravel()[:left], (8, 16))
    found = source(path, "FRACTAL_NZ")
    for call in (found.spec, found.array):
        with refused("dump/npy-elements", FormatError, place=f"{path}: byte 128", held=left):
            call()


def test_a_file_that_shrinks_meanwhile_is_refused(tmp_path):
    there = matrix_by_loops(counted((8, 16)), 16)
    path = saved(tmp_path / "x.npy", there, (8, 16))
    found = source(path, "FRACTAL_NZ")
    assert found.spec().shape == (8, 16)
    saved(tmp_path / "x.npy", there.ravel()[:10], (8, 16))
    with refused("dump/npy-short", FormatError, place=f"{path}: byte 168", held=168):
        found.array()


def test_other_byte_orders_are_read(tmp_path):
    there = matrix_by_loops(counted((8, 16)), 16)
    header = npy_header("int32", (8, 16)).replace(b"<i4", b">i4")
    (tmp_path / "x.npy").write_bytes(header + there.astype(">i4").tobytes())
    same(source(str(tmp_path / "x.npy"), "FRACTAL_NZ"), counted((8, 16)))
