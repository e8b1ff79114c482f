"""Bytes behind an npy header, whatever the header says."""

from __future__ import annotations

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.dump.formats.npy import fingerprint, payload_as


def saved(path, array):
    np.save(path, array)
    return str(path)


def test_the_fingerprint_ignores_shape_and_dtype_of_the_header(tmp_path):
    x = np.arange(12, dtype=np.float32)
    flat = saved(tmp_path / "a.npy", x)
    square = saved(tmp_path / "b.npy", x.reshape(3, 4))
    other = saved(tmp_path / "c.npy", x.view(np.int32).reshape(2, 6))
    assert fingerprint(flat) == fingerprint(square) == fingerprint(other) == (48, x.tobytes())


def test_the_fingerprint_tells_sizes_apart_when_the_first_64_kib_agree(tmp_path):
    short = saved(tmp_path / "a.npy", np.zeros(70_000, np.uint8))
    long = saved(tmp_path / "b.npy", np.zeros(70_001, np.uint8))
    assert fingerprint(short)[1] == fingerprint(long)[1] == bytes(65_536)
    assert fingerprint(short) != fingerprint(long)


def test_a_header_of_version_two_is_skipped_too(tmp_path):
    path = tmp_path / "a.npy"
    with open(path, "wb") as file:
        np.lib.format.write_array(file, np.uint8([1, 2, 3]), version=(2, 0))
    assert fingerprint(str(path)) == (3, b"\x01\x02\x03")


def test_a_wider_buffer_is_read_as_what_the_kernel_wrote(tmp_path):
    """MindSpore 2.0.0 and 2.10.0: the header says float16, the bytes are a float32 buffer."""
    real = np.float32([1.5, -2.25, 1e-3, 1e30])
    path = saved(tmp_path / "a.npy", real.view(np.float16))
    assert payload_as(path, np.dtype(np.float32)).tolist() == real.tolist()


def test_bytes_that_make_no_whole_element_are_left_out(tmp_path):
    path = saved(tmp_path / "a.npy", np.float16([1, 2, 3]))
    assert payload_as(path, np.dtype(np.float32)).size == 1


@pytest.mark.parametrize("read", [fingerprint, lambda path: payload_as(path, np.dtype("f4"))])
def test_what_is_no_npy_file_is_refused_with_its_place(tmp_path, read):
    text = tmp_path / "a.npy"
    text.write_bytes(b"not an array")
    with refused("dump/npy-magic", FormatError, place=f"{text}: byte 0", got=b"not an"):
        read(str(text))
    with refused("core/missing", FormatError, got=str(tmp_path / "missing.npy")):
        read(str(tmp_path / "missing.npy"))
