"""Conversion of containers: names and bytes as msaccucmp's, formats against loops, nothing lost in silence."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import tempfile
import uuid
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.build.foreign_files import MSACCUCMP
from kit.build.small_dumps import container_bytes
from kit.cases import examples
from kit.trees import contents
from kit.words import check_said, refused
from workbench.core.device_shape import device_shape
from workbench.core.dtypes import data_type_of
from workbench.core.errors import FormatError
from workbench.core.formats import FormatWord
from workbench.core.transdata import to_device
from workbench.core.words import Message
from workbench.dump.convert import convert
from workbench.dump.formats.container import Container, TensorEntry, list_tensors
from workbench.dump.formats.container_write import tensor_block
from workbench.dump.formats.npy import npy_header
from workbench.dump.new_folder import WORK
from workbench.dump.payload import rearrange
from workbench.dump.payload.blocks import array
from workbench.dump.payload.extent import Extent, HostLayout, spec_of
from workbench.dump.payload.host_layout import with_host
from workbench.dump.reports.core_elf import Core
from workbench.dump.reports.exception import Argument, exception_container, failed_core
from workbench.dump.reports.opdebug import (
    Accelerator,
    OverflowRecord,
    overflow_container,
    parse_record,
)

FIXED = settings(derandomize=True, deadline=None, max_examples=examples(60))
NAME = "Conv2D.net_conv1.2.7.1700000000000004"
ND, NCHW, NHWC, NC1HWC0, FRACTAL_Z, HWCN, FRACTAL_NZ = 2, 0, 1, 3, 4, 16, 29


def packed(*pieces, **fields) -> bytes:
    """A container of blocks with their data."""
    container = Container(tuple(block for block, _ in pieces), **fields)
    return container_bytes(container, [data for _, data in pieces])


def piece(array, dtype="", part="output", slot=0, **fields):
    return tensor_block(part, slot, np.asarray(array), dtype, **fields)


def raw(part: str, slot: int, data: bytes, **fields):
    return TensorEntry(part, slot, len(data), **fields), np.frombuffer(data, np.uint8)


@pytest.fixture
def run(tmp_path):
    """Convert one container and return the result and its files by name."""

    def convert_one(data: bytes, name: str = NAME, **options):
        source = tmp_path / "dump"
        source.mkdir(exist_ok=True)
        (source / name).write_bytes(data)
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        result = convert(source / name, out, **options)
        return result, contents(out)

    return convert_one


def load(data: bytes):
    return np.load(io.BytesIO(data), allow_pickle=False)


def remarks(result):
    return [(remark.what, remark.text) for remark in result.remarks]


# ---------------------------------------------------------------- names


def small(array, **fields) -> bytes:
    return packed(piece(np.asarray(array), **fields), op_name="Default/net/Conv2D-op12")


MATRIX = np.arange(6, dtype=np.float16).reshape(2, 3)
IMAGE = np.arange(2 * 20 * 4 * 5, dtype=np.float16).reshape(2, 20, 4, 5)
ON_DEVICE = to_device(IMAGE, "NCHW", "NC1HWC0")
DEVICE = {"format": NC1HWC0, "original_shape": (2, 20, 4, 5)}

NAMES = [
    (small(MATRIX, format=ND), {}, f"{NAME}.output.0.npy"),
    (small(MATRIX, format=ND), {"type": "bin"}, f"{NAME}.output.0.6.float16.ND.bin"),
    (
        small(MATRIX, format=ND),
        {"type": "msnpy"},
        "Conv2D.Conv2D-op12.2.7.1700000000000004.output.0.ND.npy",
    ),
    (small(ON_DEVICE, **DEVICE), {}, f"{NAME}.output.0.npy"),
    (small(ON_DEVICE, **DEVICE), {"format": "NCHW"}, f"{NAME}.output.0.2x20x4x5.npy"),
    (small(ON_DEVICE, **DEVICE), {"format": "nhwc"}, f"{NAME}.output.0.2x4x5x20.npy"),
    (
        small(ON_DEVICE, **DEVICE),
        {"format": "NCHW", "type": "bin"},
        f"{NAME}.output.0.800.float16.NCHW.bin",
    ),
    (
        small(ON_DEVICE, **DEVICE),
        {"type": "bin"},
        f"{NAME}.output.0.1280.float16.NC1HWC0.bin",
    ),
    (
        small(ON_DEVICE, **DEVICE),
        {"format": "NCHW", "type": "msnpy"},
        "Conv2D.Conv2D-op12.2.7.1700000000000004.output.0.NCHW.npy",
    ),
    (small(IMAGE, format=NCHW), {"format": "NCHW"}, f"{NAME}.output.0.2x20x4x5.npy"),
    (small(IMAGE, format=NCHW), {"format": "NHWC"}, f"{NAME}.output.0.2x4x5x20.npy"),
    (small(MATRIX, format=45), {"type": "bin"}, f"{NAME}.output.0.6.float16.YUV.bin"),
    (small(MATRIX, format=20), {"type": "bin"}, f"{NAME}.output.0.6.float16.LOOKUP_LOOKUPS.bin"),
    (small(MATRIX, format=200), {"type": "bin"}, f"{NAME}.output.0.6.float16.200.bin"),
    (packed(raw("buffer", 0, b"abc")), {}, f"{NAME}.l1buffer.0.bin"),
    (packed(raw("space", 0, b"abc")), {}, f"{NAME}.space.0.bin"),
    (small(MATRIX, part="input", format=ND), {}, f"{NAME}.input.0.npy"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "options", "name"), NAMES)
def test_names_are_those_of_msaccucmp(run, data, options, name):
    result, found = run(data, **options)
    assert list(found) == [name] == list(result.written)
    assert not result.remarks


def test_slots_count_within_their_part(run):
    parts = [
        *(piece(MATRIX, part="input", slot=slot, format=ND) for slot in range(2)),
        *(piece(MATRIX, part="output", slot=slot, format=ND) for slot in range(3)),
        raw("buffer", 0, b"a"),
        raw("space", 0, b"b"),
        raw("space", 1, b"c"),
    ]
    _, found = run(packed(*parts))
    tails = [name.removeprefix(f"{NAME}.") for name in found]
    assert sorted(tails) == sorted(
        ["input.0.npy", "input.1.npy", "output.0.npy", "output.1.npy", "output.2.npy",
         "l1buffer.0.bin", "space.0.bin", "space.1.bin"]
    )  # fmt: skip
    assert [found[f"{NAME}.{tail}"] for tail in tails if tail.endswith("bin")] == [b"a", b"b", b"c"]


def test_msnpy_keeps_names_of_other_than_five_parts_and_operators_without_a_name(run):
    data = small(MATRIX, format=ND)
    short, longer = "Conv2D.net.2.1700000000000004", "Conv2D.net.2.7.17.4.1.0.0"
    assert list(run(data, short, type="msnpy")[1]) == [f"{short}.output.0.ND.npy"]
    assert list(run(data, longer, type="msnpy")[1]) == [f"{longer}.output.0.ND.npy"]
    anonymous = packed(piece(MATRIX, format=ND))
    assert list(run(anonymous, type="msnpy")[1]) == [f"{NAME}.output.0.ND.npy"]


@pytest.mark.parametrize(
    ("suffix", "options"), [(".npy", {}), (".6.float16.ND.bin", {"type": "bin"})]
)
@pytest.mark.parametrize("length", [254, 255, 256])
def test_a_name_of_255_bytes_or_more_becomes_a_hash_with_a_line_in_mapping(
    run, length, suffix, options
):
    tail = f".output.0{suffix}"
    name = "Conv2D." + "n" * (length - len(tail) - len("Conv2D..2.7.17")) + ".2.7.17"
    assert len(name + tail) == length
    _, found = run(small(MATRIX, format=ND), name, **options)
    if length < 255:
        assert list(found) == [name + tail]
        return
    new = uuid.uuid3(uuid.NAMESPACE_DNS, name + tail).hex + suffix[-4:]
    assert set(found) == {new, "mapping.csv"}
    assert found["mapping.csv"] == f"{new},{name}{tail}\n".encode()


def test_folders_below_the_dump_are_folders_below_the_result(tmp_path):
    dump = tmp_path / "dump"
    for step, value in enumerate((1.0, 2.0)):
        at = dump / "20240101" / str(step)
        at.mkdir(parents=True)
        (at / NAME).write_bytes(small(np.float32([value]), format=ND))
        (at / f"Conv2D.{'n' * 230}.2.7.17").write_bytes(small(MATRIX, format=ND))
        (at / "mapping.csv").write_text("1,2\n")
    result = convert(dump, tmp_path / "out")
    found = contents(tmp_path / "out")
    assert set(result.written) | {"20240101/0/mapping.csv", "20240101/1/mapping.csv"} == set(found)
    assert [load(found[f"20240101/{step}/{NAME}.output.0.npy"])[0] for step in (0, 1)] == [1, 2]
    assert not result.remarks


# ---------------------------------------------------------------- bytes and dtypes


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "int8", "int64", "bool", "complex64", "uint16"]
)
@pytest.mark.parametrize("shape", [(7,), (2, 3), (1, 1, 4, 1), (0, 3)])
def test_npy_files_are_numpys_own_byte_for_byte(run, dtype, shape):
    array = np.random.default_rng(3).integers(0, 2, shape).astype(dtype)
    expected = io.BytesIO()
    np.save(expected, array)
    _, found = run(small(array, format=ND))
    assert found[f"{NAME}.output.0.npy"] == expected.getvalue()


def by_hand(number: int, size: int, shape, data: bytes, **fields) -> bytes:
    block = TensorEntry("output", 0, size, number, ND, tuple(shape), tuple(shape), **fields)
    return packed((block, np.frombuffer(data, np.uint8)))


DECODED = [
    (27, (3,), "803f 00c0 7f7f", "float32", [1.0, -2.0, 3.3895313892515355e38]),
    (29, (2, 5), "a5c0", "uint8", [[1, 0, 1, 0, 0], [1, 0, 1, 1, 1]]),
    (28, (3,), "f109", "int8", [1, -1, -7]),
    (30, (4,), "e4", "int8", [0, 1, -2, -1]),
    (31, (4,), "e4", "uint8", [0, 1, 2, 3]),
    (33, (3,), "0888 10", "float32", [1.0, -1.0, 2.0]),
    (34, (3,), "3cbc 40", "float32", [1.0, -1.0, 2.0]),
    (35, (3,), "38b8 40", "float32", [1.0, -1.0, 2.0]),
    (36, (2,), "7f80", "float32", [1.0, 2.0]),
    (39, (3,), "a203", "float32", [1.0, -1.0, 1.5]),
    (40, (3,), "c402", "float32", [1.0, -1.0, 0.5]),
    (32, (1,), "003c00c0", "complex64", [1 - 2j]),
    (18, (2,), "01ff", "int8", [1, -1]),
    (22, (1,), "ffff", "uint16", [65535]),
    (23, (1,), "ff" * 8, "int64", [-1]),
]


@pytest.mark.parametrize(("number", "shape", "data", "dtype", "values"), DECODED)
def test_number_formats_become_what_numpy_holds(run, number, shape, data, dtype, values):
    content = bytes.fromhex(data)
    result, found = run(by_hand(number, len(content), shape, content))
    array = load(found[f"{NAME}.output.0.npy"])
    assert array.dtype == dtype
    assert array.tolist() == values
    assert not result.remarks


def test_a_bin_file_is_the_elements_alone_and_says_when_its_name_is_another_type(run):
    data = bytes.fromhex("803f00c0")
    result, found = run(by_hand(27, 4, (2,), data), type="bin")
    assert found == {f"{NAME}.output.0.2.bfloat16.ND.bin": np.float32([1, -2]).tobytes()}
    said = Message("dump/convert-bin", stated="bfloat16", held="float32")
    assert remarks(result) == [("output 0", said)]


def test_bytes_without_a_type_are_int8_and_flat(run):
    _, found = run(by_hand(0, 6, (2, 3), b"\xff\1\2\3\4\5"))
    array = load(found[f"{NAME}.output.0.npy"])
    assert array.dtype == np.int8
    assert array.tolist() == [-1, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("number", [13, 24, 37, 41, 99])
def test_types_that_cannot_be_decoded_are_kept_as_bytes(run, number):
    result, found = run(by_hand(number, 6, (4,), b"\0\1\2\3\4\5"))
    assert load(found[f"{NAME}.output.0.npy"]).tolist() == [0, 1, 2, 3, 4, 5]
    what, text = remarks(result)[0]
    check_said(text, "dump/kept-as-bytes")
    codes = {37: "core/packing", 41: "core/packing", 99: "dump/data-type"}
    check_said(text.values["why"], codes.get(number, "dump/elements-unknown"))
    assert what == "output 0"


# ---------------------------------------------------------------- sizes that lie


def test_what_follows_the_elements_is_left_out_with_a_remark(run):
    data = np.arange(8, dtype=np.float32).tobytes()
    result, found = run(by_hand(1, 32, (2, 3), data))
    assert load(found[f"{NAME}.output.0.npy"]).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert remarks(result) == [("output 0", Message("dump/surplus", left=8))]


@pytest.mark.parametrize("shape", [None, ()])
def test_without_a_shape_all_elements_are_in_a_row(run, shape):
    block = TensorEntry("output", 0, 8, 1, ND, shape)
    _, found = run(packed((block, np.float32([1, 2]).view(np.uint8))))
    assert load(found[f"{NAME}.output.0.npy"]).tolist() == [1, 2]


def test_an_open_dimension_and_too_few_bytes_leave_a_row_with_a_remark(run):
    data = np.float32([1, 2])
    opened = TensorEntry("output", 0, 8, 1, ND, (-1, 2), (2, 2))
    short = TensorEntry("output", 1, 8, 1, NCHW, (2, 3), (2, 3))
    content = packed((opened, data.view(np.uint8)), (short, data.view(np.uint8)))
    result, found = run(content, format="NCHW")
    assert [load(data).tolist() for data in found.values()] == [[1, 2], [1, 2]]
    assert list(found) == [f"{NAME}.output.0.npy", f"{NAME}.output.1.npy"]
    assert [what for what, _ in remarks(result)] == ["output 0", "output 1"]
    for (_, text), code in zip(remarks(result), ("shape-open", "block-short"), strict=True):
        check_said(text, "dump/kept-flat")
        check_said(text.values["why"], f"dump/{code}")


def test_a_file_that_is_cut_off_gives_what_is_whole_and_a_remark_for_the_rest(run):
    data = packed(
        piece(np.arange(4, dtype=np.float32), part="input", format=ND),
        piece(np.arange(4, dtype=np.float32), format=ND),
    )
    result, found = run(data[:-3])
    assert list(found) == [f"{NAME}.input.0.npy"]
    assert ("output 0", "dump/data-end") in [(what, text.code) for what, text in remarks(result)]


def test_one_bad_file_does_not_stop_the_others(tmp_path):
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / "A.bad.1.2.3").write_bytes(b"\xff" * 100)
    (dump / "B.empty.1.2.3").write_bytes(b"")
    (dump / NAME).write_bytes(small(MATRIX, format=ND))
    (dump / "Z.text.txt").write_text("hello")
    os.mkfifo(dump / "Y.pipe.1.2.3")
    result = convert(dump, tmp_path / "out")
    assert list(contents(tmp_path / "out")) == [f"{NAME}.output.0.npy"]
    assert [(Path(remark.path).name, remark.text.code) for remark in result.remarks] == [
        ("A.bad.1.2.3", "dump/header-size"),
        ("B.empty.1.2.3", "dump/container-short"),
        ("Y.pipe.1.2.3", "core/not-a-file"),
        ("Z.text.txt", "dump/convert-text"),
    ]
    assert result.files == 5


@pytest.mark.parametrize("data", [b"", b"\xff" * 100, small(MATRIX)[:20]])
def test_nothing_to_convert_is_an_error_that_names_the_file(run, data):
    with refused("dump/convert-nothing", FormatError) as caught:
        run(data)
    assert Path(caught.value.place).name == NAME


# ---------------------------------------------------------------- formats


@pytest.mark.parametrize("there", [(2, 1, 16, 16), (1, 2, 16, 16), (20,)])
def test_a_vector_in_fractal_nz_lies_as_a_row_a_column_or_as_it_was(run, there):
    vector = np.arange(1, 21, dtype=np.float16)
    array = np.zeros(there, np.float16)
    for index, value in enumerate(vector):
        place = {(2, 1, 16, 16): (index // 16, 0, 0, index % 16),
                 (1, 2, 16, 16): (0, index // 16, index % 16, 0),
                 (20,): (index,)}[there]  # fmt: skip
        array[place] = value
    result, found = run(small(array, format=FRACTAL_NZ, original_shape=(20,)), format="ND")
    assert list(found) == [f"{NAME}.output.0.20.npy"]
    assert np.array_equal(load(*found.values()), vector)
    assert not result.remarks


@pytest.mark.parametrize("host", ["CHWN", "HWCN", "NHWC", "NCHW"])
def test_conversion_and_comparison_know_the_same_host_formats(run, tmp_path, host):
    """There is one list of them, and one function that finds the one that is meant."""
    order = ["NCHW".index(axis) for axis in host]
    original = IMAGE.transpose(order)
    there = to_device(IMAGE, "NCHW", "NC1HWC0")
    data = small(there, format=NC1HWC0, original_shape=original.shape)
    for target in ("NCHW", "NHWC", "HWCN"):
        _, found = run(data, format=target)
        expected = IMAGE.transpose(["NCHW".index(axis) for axis in target])
        assert np.array_equal(load(*found.values()), expected)
    path = tmp_path / NAME
    path.write_bytes(data)
    (extent,) = list_tensors(str(path)).outputs
    assert spec_of(extent) == (IMAGE.dtype.name, original.shape, host)
    assert np.array_equal(array(extent), original)


def test_an_original_shape_that_could_be_meant_in_two_formats_has_a_remark(run):
    host = np.arange(4, dtype=np.float16).reshape(1, 2, 1, 2)
    data = small(to_device(host, "NCHW", "FRACTAL_Z"), format=FRACTAL_Z, original_shape=host.shape)
    result, found = run(data, format="NCHW")
    assert np.array_equal(load(*found.values()), host)
    said = Message("dump/route-doubt", shape=(1, 2, 1, 2), format="NCHW", other="NHWC")
    assert remarks(result) == [("output 0", said)]


CASES_4D = st.tuples(
    *(st.integers(1, 20) for _ in range(2)), *(st.integers(1, 4) for _ in range(2))
)


@FIXED
@given(
    shape=CASES_4D,
    device=st.sampled_from(["NC1HWC0", "FRACTAL_Z", "C1HWNCoC0", "FRACTAL_NZ"]),
    dtype=st.sampled_from(["float16", "float32", "int8", "bfloat16", "float8_e4m3fn", "int4"]),
    target=st.sampled_from(["NCHW", "NHWC", "HWCN"]),
    groups=st.sampled_from([1, 2, 3]),
    limit=st.sampled_from([64 << 20, 0]),
    piece_bytes=st.sampled_from([16 << 20, 2000, 1]),
    shortest=st.sampled_from([256, 0]),
)
def test_a_tensor_put_on_the_device_comes_back(
    shape, device, dtype, target, groups, limit, piece_bytes, shortest
):
    groups = groups if device == "FRACTAL_Z" else 1
    shape = (shape[0] * groups, *shape[1:])
    bits = np.random.default_rng(7).integers(0, 8, shape)
    storage = np.dtype(getattr(ml_dtypes, dtype)) if hasattr(ml_dtypes, dtype) else np.dtype(dtype)
    host = bits.astype(storage)
    there = to_device(host, "NCHW", device, groups=groups)
    fields = {"format": {"C1HWNCoC0": 25, "FRACTAL_NZ": FRACTAL_NZ}.get(device, 3)}
    if device == "FRACTAL_Z":
        fields = {"format": FRACTAL_Z, "sub_format": groups if groups > 1 else 0}
    data = small(there, dtype=dtype, original_shape=shape, **fields)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rearrange, "LIMIT", limit)
        patch.setattr(rearrange, "PIECE", piece_bytes)
        patch.setattr(rearrange, "_SHORT", shortest)
        (Path(folder) / NAME).write_bytes(data)
        result = convert(Path(folder) / NAME, Path(folder) / "out", format=target)
        (found,) = contents(Path(folder) / "out").values()
    order = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 2, 3, 1), "HWCN": (2, 3, 1, 0)}[target]
    if device == "FRACTAL_NZ":  # its original shape is taken for the target's
        order = (0, 1, 2, 3)
    if target != "NCHW" and any(text.code == "dump/route-doubt" for _, text in remarks(result)):
        assert device == "FRACTAL_Z"
        return
    assert np.array_equal(load(found).astype(np.float32), bits.transpose(order).astype(np.float32))


@pytest.mark.parametrize("dtype", ["float16", "int8", "int4"])
def test_boxes_fit_the_width_of_every_number_format(dtype):
    """An int8 tensor has 32 channels in a block: it is cut into pieces like any other."""
    shape = (1, 256, 8, 8)
    there = device_shape(shape, "NCHW", "NC1HWC0", dtype)
    size = math.prod(there)
    lies = Extent("x", 0, size, data_type_of(dtype), size, there, FormatWord("NC1HWC0"))
    extent = with_host(lies, HostLayout(shape))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rearrange, "PIECE", 8 * 8 * 64)
        assert len(list(rearrange.tiles(extent, range(4)))) >= 4


@FIXED
@given(
    shape=st.lists(st.integers(0, 5), min_size=4, max_size=4),
    dtype=st.sampled_from(["float32", "int4", "uint1"]),
    target=st.sampled_from(["NCHW", "NHWC", "HWCN", "CHWN"]),
    piece_bytes=st.sampled_from([16 << 20, 20, 1]),
    shortest=st.sampled_from([256, 0]),
)
def test_host_formats_are_permuted_whatever_the_pieces(shape, dtype, target, piece_bytes, shortest):
    host = np.random.default_rng(9).integers(0, 2, shape).astype(np.uint8)
    data = small(host, dtype=dtype, format=NHWC, original_shape=tuple(shape))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(rearrange, "PIECE", piece_bytes)
        patch.setattr(rearrange, "_SHORT", shortest)
        (Path(folder) / NAME).write_bytes(data)
        convert(Path(folder) / NAME, Path(folder) / "out", format=target)
        (found,) = contents(Path(folder) / "out").values()
    letters = dict(zip("NHWC", host.shape, strict=True))
    array = load(found)
    assert array.shape == tuple(letters[letter] for letter in target)
    for index in np.ndindex(*array.shape):
        at = dict(zip(target, index, strict=True))
        assert array[index] == host[at["N"], at["H"], at["W"], at["C"]]


KEPT = [
    ({"format": NC1HWC0, "original_shape": None}, "dump/route-original", {"got": None}),
    ({"format": NC1HWC0, "original_shape": (2, 99, 4, 5)}, "dump/route-shape", {}),
    ({"format": NC1HWC0, "original_shape": (2, -1, 4, 5)}, "dump/route-original", {}),
    ({"format": 38, "original_shape": (2, 20, 4, 5)}, "dump/route-arrangement", {"format": "FRACTAL_ZN_LSTM"}),
    ({"format": ND, "original_shape": (2, 20, 4, 5)}, "dump/route-axes", {}),
    ({"format": NHWC, "original_shape": (2, 20, 4, 5)}, "core/rank", {"got": 5, "most": 4}),
    ({"format": 99, "original_shape": (2, 20, 4, 5)}, "core/choice", {"got": "format 99"}),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "code", "values"), KEPT)
def test_what_has_no_way_to_the_format_is_kept_with_the_reason(run, fields, code, values):
    result, found = run(small(ON_DEVICE, **fields), format="NCHW")
    assert list(found) == [f"{NAME}.output.0.npy"]
    assert np.array_equal(load(*found.values()), ON_DEVICE)
    ((what, text),) = remarks(result)
    check_said(text, "dump/left-in")
    check_said(text.values["why"], code, **values)
    assert what == "output 0"


# ---------------------------------------------------------------- overflow records


def test_overflow_records_become_msaccucmps_json(run):
    record = bytearray(2048)
    core = (514, 563, 57, 0, 0x1008005B0000, 0x100800297000)
    record[256:304] = np.array(core, "<u8").tobytes()
    record[1024:1048] = np.array((0x1008005AE000, 1, 32), "<u8").tobytes()
    container, payload = overflow_container(parse_record(bytes(record)), 17)
    data = packed(*zip(container.blocks, payload, strict=True))
    name = "Opdebug.Node_OpDebug.57.563.1700000000000006"
    for options in ({}, {"format": "NCHW"}, {"type": "bin"}):
        result, found = run(data, name, **options)
        assert found == {f"{name}.output.0.json": MSACCUCMP.encode()}
        assert not result.remarks


def test_a_record_with_a_magic_number_becomes_json_too(run):
    names = (
        "model_id",
        "stream_id",
        "task_id",
        "task_type",
        "context_id",
        "cpu_id",
        "thread_id",
        "status",
    )
    one = Accelerator("AICPU", dict(zip(names, range(8), strict=True)))
    container, payload = overflow_container(OverflowRecord((one,), 1), 17)
    name = "Opdebug.Node_OpDebug.57.563.1700000000000006.4.1.0.0"
    _, found = run(packed(*zip(container.blocks, payload, strict=True)), name)
    tree = json.loads(found[f"{name}.output.0.json"])
    assert tree["magic"] == "0x5a5a5a5a"
    assert tree["acc_list"]["data"] == dict(zip(names, range(8), strict=True))


def test_a_record_that_is_none_is_kept_as_its_tensor(run):
    name = "Opdebug.Node_OpDebug.57.563.17"
    result, found = run(small(np.arange(3, dtype=np.uint8), format=ND), name)
    assert list(found) == [f"{name}.output.0.npy"]
    check_said(remarks(result)[0][1], "dump/overflow-size", got=3, expected=2048)


FAILED = [
    Argument("input", MATRIX, address=4096),
    Argument("output", MATRIX.astype(np.float32), arg_index=1, address=8192),
    Argument("workspace", np.arange(4, dtype=np.uint8), arg_index=2, address=12288),
]
FAILURES = {  # what a scene states of its tensors: their types and shapes, or their bytes alone
    "Add.net_add.5.20250102030405678": (
        container_bytes(*exception_container(FAILED, 17, op_name="net/add")), True,
    ),
    "exception_info.12.5.20250102030405678": (container_bytes(*exception_container(FAILED, 17)), False),
    "te_add.12.5.20250102030405678.core": (failed_core(FAILED, Core("te_add", 0, 5, (), (0,))), False),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_what_a_failed_operator_left_becomes_its_tensors(run, name):
    data, typed = FAILURES[name]
    result, found = run(data, name)
    assert found.pop(f"{name}.space.0.bin") == bytes(range(4))
    for tail, stated in (("input.0", MATRIX), ("output.0", MATRIX.astype(np.float32))):
        expected = stated if typed else np.frombuffer(stated.tobytes(), np.int8)
        got = load(found.pop(f"{name}.{tail}.npy"))
        assert (got.dtype, got.tolist()) == (expected.dtype, expected.tolist())
    assert (found, result.remarks) == ({}, ())


# ---------------------------------------------------------------- npy files of MindSpore


def npy(array: np.ndarray, shape) -> bytes:
    return npy_header(array.dtype.name, shape) + array.tobytes()


def test_an_npy_file_with_device_data_under_the_host_shape_is_rearranged(run):
    host = np.arange(20 * 33, dtype=np.float32).reshape(20, 33)
    there = to_device(host, "ND", "FRACTAL_NZ")
    name = "MatMul.net_MatMul-op1.3.4.17.output.0.FRACTAL_NZ.float16.npy"
    result, found = run(npy(there, (20, 33)), name, format="ND")
    assert list(found) == ["MatMul.net_MatMul-op1.3.4.17.output.0.ND.float16.npy"]
    assert np.array_equal(load(*found.values()), host)
    assert not result.remarks


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("Conv2D.net_c.0.3.17.input.1.NC1HWC0.float16.npy", {"format": "NCHW"}, "left-in"),
        ("Conv2D.net_c.0.3.17.input.1.NC1HWC0.float16.npy", {}, "npy-already"),
        ("Conv2D.net_c.0.3.17.input.1.NCHW.float16.npy", {"format": "NCHW"}, "npy-already"),
        ("something.npy", {"format": "NCHW"}, "npy-already"),
    ],
)
def test_npy_files_without_a_way_have_a_reason(run, name, options, code):
    with refused("dump/convert-nothing", FormatError) as caught:
        run(npy(ON_DEVICE, ON_DEVICE.shape), name, **options)
    check_said(caught.value.values["why"], f"dump/{code}")


def test_an_npy_file_in_another_order_stays(run):
    name = "Conv2D.net_c.0.3.17.input.1.NC1HWC0.float16.npy"
    stored = io.BytesIO()
    np.save(stored, np.asfortranarray(np.ones((2, 20, 4, 5), np.float16)))
    with refused("dump/convert-nothing", FormatError) as caught:
        run(stored.getvalue(), name, format="NCHW")
    check_said(caught.value.values["why"], "dump/npy-order")


# ---------------------------------------------------------------- the folder


def test_the_folder_must_be_new_or_empty(run, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (tmp_path / NAME).write_bytes(small(MATRIX, format=ND))
    convert(tmp_path / NAME, out)
    before = contents(out)
    with refused("dump/out-filled", FormatError, got=str(out)):
        convert(tmp_path / NAME, out)
    with refused("dump/out-file", FormatError, got=str(tmp_path / NAME)):
        convert(tmp_path / NAME, tmp_path / NAME)
    assert contents(out) == before


@pytest.mark.parametrize("options", [{"format": "NC1HWC0"}, {"format": "what"}, {"type": "pt"}])
def test_arguments_are_checked_before_anything_is_written(tmp_path, options):
    (tmp_path / NAME).write_bytes(small(MATRIX, format=ND))
    ((subject, got),) = options.items()
    with refused("core/choice", FormatError, subject=subject, got=got):
        convert(tmp_path / NAME, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("dump", "code"), [("missing", "core/missing"), ("empty", "dump/folder-empty")]
)
def test_a_dump_without_files_is_an_error(tmp_path, dump, code):
    (tmp_path / "empty").mkdir()
    with refused(code, FormatError, got=str(tmp_path / dump)):
        convert(tmp_path / dump, tmp_path / "out")


def test_remarks_of_one_text_are_summed_up_and_unfinished_files_left(tmp_path):
    dump = tmp_path / "dump"
    (dump / WORK).mkdir(parents=True)
    (dump / NAME).write_bytes(small(MATRIX, format=ND))
    for number in range(8):
        (dump / f"z{number}").symlink_to(tmp_path)
    result = convert(dump, tmp_path / "out")
    assert [remark.text.code for remark in result.remarks if remark.path.endswith(WORK)] == [
        "dump/convert-unfinished"
    ]
    summed = Message("dump/convert-more", more=3, what=Message("dump/convert-link"))
    assert str(summed) in result.remark_lines()
    assert len(result.remark_lines()) == 7
    counts = Message("dump/converted", files=1, written=1, remarks=9)
    assert repr(result) == f"<Conversion {tmp_path / 'out'}: {counts}>"


@pytest.mark.parametrize(
    "last", ["..", "a\0b", "..\\..\\x", "\\", "x" * 300, "a\nb" * 100, "\udcff"]
)
def test_operators_with_hostile_names_write_nothing_elsewhere(tmp_path, last):
    inside = tmp_path / "inside"
    inside.mkdir()
    for op_name in (last, f"../../{last}", f"/etc/{last}"):
        data = packed(piece(MATRIX, format=ND), op_name=op_name)
        (inside / NAME).write_bytes(data)
        out = inside / f"out{len(list(inside.iterdir()))}"
        with contextlib.suppress(FormatError):
            convert(inside / NAME, out, type="msnpy")
        assert {path.parent for path in out.rglob("*")} <= {out}
    assert list(tmp_path.iterdir()) == [inside]


def test_names_of_files_that_are_no_text_are_kept(tmp_path):
    name = os.fsdecode(b"Add.\xff\xfe, x.1.2.3")
    (tmp_path / name).write_bytes(small(MATRIX, format=ND))
    result = convert(tmp_path / name, tmp_path / "out")
    assert os.listdir(tmp_path / "out") == [f"{name}.output.0.npy"] == list(result.written)


def test_links_to_folders_are_not_followed(tmp_path):
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / NAME).write_bytes(small(MATRIX, format=ND))
    (dump / "again").symlink_to(dump)
    result = convert(dump, tmp_path / "out")
    assert result.files == 1
    assert remarks(result) == [("", Message("dump/convert-link"))]


def test_a_name_that_is_taken_is_not_written_twice(tmp_path):
    dump = tmp_path / "dump"
    dump.mkdir()
    for name in ("Add.a.1.2.3", "Add.b.1.2.3"):
        (dump / name).write_bytes(small(MATRIX, format=ND))
    result = convert(dump, tmp_path / "out", type="msnpy")
    assert len(result.written) == 1
    check_said(remarks(result)[0][1], "dump/name-taken")


def test_progress_counts_the_files(tmp_path):
    dump = tmp_path / "dump"
    dump.mkdir()
    for name in ("A.a.1.2.3", "B.b.1.2.3"):
        (dump / name).write_bytes(small(MATRIX, format=ND))
    seen = []
    convert(dump, tmp_path / "out", progress=lambda *step: seen.append(step))
    assert seen == [(1, 2, "A.a.1.2.3"), (2, 2, "B.b.1.2.3")]
