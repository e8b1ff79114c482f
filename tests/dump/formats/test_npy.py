"""The npy reader believes a header only as far as the file holds; the writer copies MindSpore's."""

from __future__ import annotations

import gc
import io
import os
import struct
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import settings

from kit.memory import peak_below
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec
from workbench.dump.formats.npy import NpySource, fingerprint, npy_header, payload_as, write_npy
from workbench.dump.payload.blocks import BLOCK, Buffer

FIXED = settings(derandomize=True, deadline=None)

NUMPY_TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def header_bytes(text: str, version: tuple[int, int] = (1, 0)) -> bytes:
    """A header made by hand; the npy format's own description is the source."""
    body = text.encode("latin-1") + b"\n"
    width = "<H" if version == (1, 0) else "<I"
    return b"\x93NUMPY" + bytes(version) + struct.pack(width, len(body)) + body


def save(tmp_path, content: bytes, name: str = "x.npy") -> NpySource:
    path = tmp_path / name
    path.write_bytes(content)
    return NpySource(str(path))


def plain(descr: str, shape: str, order: str = "False") -> bytes:
    return header_bytes(f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}")


# ---------------------------------------------------------------- reading what is right


@pytest.mark.parametrize("code", NUMPY_TYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4), (2, 0, 3), (2, 3, 4, 5)])
def test_what_numpy_saves_is_read_back(tmp_path, code, shape):
    rng = np.random.default_rng(7)
    array = rng.integers(0, 100, shape).astype(code)
    np.save(tmp_path / "x.npy", array)
    source = NpySource(str(tmp_path / "x.npy"))
    got = source.array()
    assert got.dtype == array.dtype
    assert got.shape == shape
    assert got.tobytes() == array.tobytes()
    assert source.spec() == TensorSpec(array.dtype.name, shape)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(tmp_path, version):
    text = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }"
    source = save(tmp_path, header_bytes(text, version) + b"\x01\x00\x02\x00")
    assert source.array().tolist() == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2,3,), }",  # MindSpore
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }",  # numpy
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3)}",
        "{'shape': (2L, 3L), 'fortran_order': False, 'descr': '<i2'}",  # Python 2, other order
        '  { "descr" : "<i2" ,"fortran_order":False,"shape":( 2,3 ) }   ',
    ],
)
def test_spellings_of_one_header_mean_the_same(tmp_path, text):
    source = save(tmp_path, header_bytes(text) + bytes(range(12)))
    assert source.spec() == TensorSpec("int16", (2, 3))
    assert source.array().tolist() == [[256, 770, 1284], [1798, 2312, 2826]]


def test_minds_pores_bfloat16_letter_is_read(tmp_path):
    source = save(tmp_path, plain("<E2", "(3,)") + bytes.fromhex("803f 0040 c0ff"))
    assert source.spec().dtype == "bfloat16"
    got = source.array()
    assert got.dtype == ml_dtypes.bfloat16
    assert got[:2].astype(float).tolist() == [1.0, 2.0]
    assert np.isnan(got[2].astype(float))


def test_big_endian_is_turned_to_native(tmp_path):
    array = np.array([[1.5, -2.0], [3.0, 1e-3]], ">f4")
    np.save(tmp_path / "x.npy", array)
    got = NpySource(str(tmp_path / "x.npy")).array()
    assert got.dtype.isnative
    assert got.tolist() == array.tolist()
    brain = save(tmp_path, plain(">E2", "(2,)") + bytes.fromhex("3f80 c000"), "b.npy")
    assert brain.array().astype(float).tolist() == [1.0, -2.0]


def test_fortran_order_keeps_every_element_in_its_place(tmp_path):
    array = np.asfortranarray(np.arange(24).reshape(2, 3, 4))
    np.save(tmp_path / "x.npy", array)
    assert np.array_equal(NpySource(str(tmp_path / "x.npy")).array(), array)


@pytest.mark.parametrize("code", ["i1", "f4", "c16"])
def test_files_longer_than_a_block_are_read_whole(tmp_path, code):
    size = 2 * BLOCK // np.dtype(code).itemsize + 12345
    array = np.random.default_rng(3).integers(-100, 100, size).astype(code)
    np.save(tmp_path / "x.npy", array)
    assert np.array_equal(NpySource(str(tmp_path / "x.npy")).array(), array)


def test_an_odd_header_length_misaligns_nothing(tmp_path):
    array = np.random.default_rng(4).standard_normal(BLOCK // 8 + 1000)
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({array.size},), }}  "
    for blanks in range(8):
        content = header_bytes(text + " " * blanks) + array.tobytes()
        assert np.array_equal(save(tmp_path, content, f"{blanks}.npy").array(), array)


def test_files_of_one_header_share_what_it_says(tmp_path):
    content = plain("<f4", "(2, 3)") + bytes(24)
    sources = [save(tmp_path, content, f"{number}.npy") for number in range(200)]
    save(tmp_path, content).located()
    tracemalloc.start()
    try:
        for one in sources:
            one.located()
        gc.collect()  # Python keeps freed tuples for the next ones
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held / len(sources) < 50
    assert [one.located().path for one in sources] == [one.path for one in sources]
    assert {one.located().shape for one in sources} == {(2, 3)}


def test_bytes_after_the_data_are_ignored(tmp_path):
    source = save(tmp_path, plain("<f4", "(1,)") + struct.pack("<f", 2.5) + b"rest")
    assert source.array().tolist() == [2.5]


def test_a_payload_hands_out_each_element_once_and_in_order(tmp_path):
    array = np.arange(200_000, dtype=np.int32)
    np.save(tmp_path / "x.npy", array)
    parts = []
    with NpySource(str(tmp_path / "x.npy")).payload(Buffer()) as payload:
        while ready := payload.available():
            parts.append(payload.read(min(ready, 999)).copy())
    assert np.array_equal(np.concatenate(parts), array)


# ---------------------------------------------------------------- refusing what is wrong

WRONG = {
    "no npy at all": (b"PK\x03\x04 something else", ("npy-magic", 0)),
    "nothing": (b"", ("npy-magic", 0)),
    "only the magic": (b"\x93NUMPY", ("npy-header-cut", 6)),
    "a header that stops": (plain("<f4", "(2,)")[:40], ("npy-header-cut", 40)),
    "version 9": (b"\x93NUMPY\x09\x00" + bytes(64), ("npy-version", 6)),
    "objects": (plain("|O", "(1,)") + b"\x80\x04cos\nsystem", ("npy-descr", 10)),
    "structures": (
        header_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"),
        ("npy-header", 10),
    ),
    "text": (plain("<U4", "(1,)") + bytes(16), ("npy-descr", 10)),
    "raw bytes": (plain("|V2", "(1,)") + bytes(2), ("npy-descr", 10)),
    "a date": (plain("<M8", "(1,)") + bytes(8), ("npy-descr", 10)),
    "a negative size": (plain("<f4", "(-1,)"), ("npy-shape", 10)),
    "a size with a point": (plain("<f4", "(2.0,)"), ("npy-shape", 10)),
    "a call as shape": (plain("<f4", "(len,)"), ("npy-shape", 10)),
    "an expression": (header_bytes("__import__('os').system('true')"), ("npy-header", 10)),
    "a missing key": (header_bytes("{'descr': '<f4', 'shape': (1,), }"), ("npy-header", 10)),
    "another key": (
        header_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1, }"),
        ("npy-header", 10),
    ),
    "a word for the order": (plain("<f4", "(1,)", "maybe"), ("npy-header", 10)),
    "33 dimensions": (plain("<f4", f"({'1,' * 33})"), ("dimensions", 10)),
    "sizes whose product overflows": (
        plain("<f4", f"({'4294967296,' * 2})"),
        ("npy-shape-bytes", 10),
    ),
    "an overflow hidden by a zero": (
        plain("<f4", f"(0,{'4294967296,' * 2})"),
        ("npy-shape-bytes", 10),
    ),
    "a size of thousands of digits": (plain("<f4", f"({'9' * 5000},)"), ("npy-shape", 10)),
    "more than the file holds": (plain("<f4", "(1000000000000,)") + bytes(8), ("npy-short", 88)),
    "one byte too few": (plain("<f4", "(2,)") + bytes(7), ("npy-short", 75)),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_refused_with_its_place(tmp_path, case):
    content, (code, byte) = WRONG[case]
    source = save(tmp_path, content)
    for ask in (source.spec, source.array):
        with refused(f"dump/{code}", FormatError, place=f"{source.path}: byte {byte}"):
            ask()


def test_a_header_of_gigabytes_is_refused(tmp_path):
    source = save(tmp_path, b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + bytes(9))
    with refused("core/too-large", FormatError, place=f"{source.path}: byte 8", got=0x7FFFFFFF):
        source.spec()


def test_a_claim_beyond_the_file_is_refused_before_memory_is_taken(tmp_path):
    source = save(tmp_path, plain("<f8", "(100000000000,)") + bytes(64))
    with pytest.raises(FormatError):
        source.spec()  # fills the per-thread buffer
    with peak_below(1_000_000), pytest.raises(FormatError):
        source.array()


def test_a_file_cut_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(BLOCK))
    with NpySource(str(path)).payload(Buffer()) as payload:
        payload.read(payload.available())
        os.truncate(path, BLOCK)
        with refused("dump/npy-short", FormatError, needed=128 + 8 * BLOCK, held=BLOCK):
            payload.available()


def test_files_are_closed_even_when_refused(tmp_path):
    source = save(tmp_path, b"not npy")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(20):
        with pytest.raises(FormatError):
            source.array()
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


# ---------------------------------------------------------------- bytes behind a header, whatever it says


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


# ---------------------------------------------------------------- writing as MindSpore does

VECTORS = [
    ("float32", (2, 3), b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,3,), }", 58),
    ("float16", (), b"{'descr': '<f2', 'fortran_order': False, 'shape': (), }", 62),
]


@pytest.mark.parametrize(("name", "shape", "text", "blanks"), VECTORS)
def test_headers_are_mind_spores_to_the_byte(name, shape, text, blanks):
    expected = b"\x93NUMPY\x01\x00\x76\x00" + text + b" " * blanks + b"\n"
    assert len(expected) == 128
    assert npy_header(name, shape) == expected


def test_a_text_that_fills_its_line_gets_a_whole_line_of_padding():
    text = "{'descr': '<c16', 'fortran_order': False, 'shape': (), }"
    assert len(text) + 2 * 31 == 2 * 64 - 10  # "1," for each of 31 dimensions fills two lines
    assert len(npy_header("complex128", (1,) * 30)) == 128
    assert len(npy_header("complex128", (1,) * 31)) == 192
    assert npy_header("complex128", (1,) * 31).endswith(b"}" + b" " * 63 + b"\n")


def test_a_header_too_long_for_version_1_becomes_version_2():
    header = npy_header("float32", (7,) * 40_000)
    assert header[6:8] == b"\x02\x00"
    assert int.from_bytes(header[8:12], "little") == len(header) - 12
    assert len(header) % 64 == 0


DESCR = {
    "bool": "|b1", "int8": "|i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint8": "|u1",
    "uint16": "<u2", "uint32": "<u4", "uint64": "<u8", "float16": "<f2", "float32": "<f4",
    "float64": "<f8", "complex64": "<c8", "complex128": "<c16", "bfloat16": "<E2",
}  # fmt: skip


@pytest.mark.parametrize("name", DESCR)
def test_every_type_is_written_with_mind_spores_letters(name):
    assert f"'descr': '{DESCR[name]}'".encode() in npy_header(name, (1,))


@pytest.mark.parametrize("name", sorted(DESCR.keys() - {"bfloat16"}))
def test_numpy_reads_what_is_written(name):
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(name)
    file = io.BytesIO()
    write_npy(file, array, name)
    file.seek(0)
    got = np.load(file, allow_pickle=False)
    assert got.dtype == array.dtype
    assert np.array_equal(got, array)


@pytest.mark.parametrize("name", ["string", "int4", "float8_e5m2", ""])
def test_types_that_mind_spore_cannot_write_are_refused(name):
    with refused("core/choice", FormatError, subject="npy dtype", got=name):
        npy_header(name, (1,))


def test_arrays_in_any_memory_order_are_written_in_c_order(tmp_path):
    array = np.arange(12, dtype=">i4").reshape(3, 4).T[::-1]
    path = tmp_path / "x.npy"
    with path.open("wb") as file:
        write_npy(file, array, "int32")
    assert np.array_equal(np.load(path), array)


def test_values_are_converted_to_the_stated_type(tmp_path):
    path = tmp_path / "x.npy"
    with path.open("wb") as file:
        write_npy(file, np.array([1.0, 1.01], np.float32), "bfloat16")
    assert NpySource(str(path)).array().astype(float).tolist() == [1.0, 1.0078125]
