"""Containers: exact bytes, read back by a decoder of their own, believed only as far as the file holds."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from kit.arrays import stored
from kit.build.small_dumps import LEAF
from kit.build.small_dumps import container_bytes as written
from kit.cases import examples
from kit.memory import peak_below
from kit.oracle import dump_files as wire
from kit.wire import varint
from kit.words import check_said, refused
from workbench.core.dtypes import DATA_TYPES
from workbench.core.errors import FormatError
from workbench.core.packing import decode, packed_bytes
from workbench.core.words import Message
from workbench.dump.formats.container import (
    Container,
    Origin,
    TensorEntry,
    block_bytes,
    locate,
    read_container,
)
from workbench.dump.formats.container_write import header_bytes, tensor_block, write_container
from workbench.dump.payload.extent import spec_of

FIXED = settings(derandomize=True, deadline=None, max_examples=examples(150))

ADD = bytes.fromhex(
    "3300000000000000"
    "0a03322e30"
    "108080f9c0c1c48203"
    "1a12 0802 1002 1a04 0a020202 3008 3a04 0a020202"
    "320f 44656661756c742f4164642d6f7031"
    "003c 0040 0042 0044"
)
"""The float16 matrix 1, 2, 3, 4 of ``Default/Add-op1``, byte by byte from the field numbers."""


def save(tmp_path, data: bytes) -> str:
    path = tmp_path / "Add.Default_Add-op1.0.0.1700000000000000"
    path.write_bytes(data)
    return str(path)


def arrays(path: str, container: Container):
    return [stored(path, block) for block in container.blocks]


def tensor(number: int, *, size: int, dims=(), dtype: int = 1, address: int = 0, data=b"") -> bytes:
    """A message of an input (4) or output (3) made by hand, with what is asked for alone."""
    at = {3: (5, 6, 9), 4: (4, 5, 8)}[number]
    body = wire.field(1, dtype) + wire.field(3, wire.field(1, b"".join(map(varint, dims))))
    body += wire.field(at[0], data) if data else b""
    body += wire.field(at[1], size) + (wire.field(at[2], address) if address else b"")
    return wire.field(number, body)


def file_of(header: bytes, payload: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + payload


F32 = np.arange(1, 25, dtype="<f4").tobytes()

# ---------------------------------------------------------------- writing


def test_a_container_is_written_byte_for_byte():
    array = np.array([[1, 2], [3, 4]], np.float16)
    block, data = tensor_block("output", 0, array)
    made = Container((block,), dump_time=1700000000000000, op_name="Default/Add-op1")
    assert len(ADD) == 67
    assert written(made, [data]) == ADD


def test_a_container_is_read_back(tmp_path):
    path = save(tmp_path, ADD)
    container = read_container(path)
    (block,) = container.part("output")
    assert (container.version, container.dump_time) == ("2.0", 1700000000000000)
    assert (container.op_name, container.notes) == ("Default/Add-op1", ())
    assert (block.start, block.size, block.problem) == (59, 8, None)
    assert spec_of(locate(path, block)) == ("float16", (2, 2), "ND")
    assert stored(path, block).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("name", "number", "groups", "again"),
    [
        ("NCHW", 0, 0, "NCHW"),
        ("NC1HWC0", 3, 0, "NC1HWC0"),
        ("FRACTAL_Z:32", 4, 32, "FRACTAL_Z:32"),
        ("FracNZ", 29, 0, "FRACTAL_NZ"),
        (77, 77, 0, "format 77"),
        (0x05000003, 0x05000003, 0, "NC1HWC0"),  # adump writes the whole word of exceptions
    ],
)
def test_formats_are_numbers_in_files_and_names_elsewhere(tmp_path, name, number, groups, again):
    block, data = tensor_block("input", 0, np.zeros(2, np.float32), format=name)
    made = written(Container((block,)), [data])
    stated = wire.container(made)[1][0][2]
    assert (stated.get("format", 0), stated.get("sub_format", 0)) == (number, groups)
    path = save(tmp_path, made)
    extent = locate(path, read_container(path).blocks[0])
    assert spec_of(extent._replace(host=None)).format == again


DECODED = [row for row in DATA_TYPES.values() if row.packing]
NUMBER = st.integers(0, 2**64 - 1)


@st.composite
def blocks(draw):
    """Tensors of any type, shape and format with their bytes, buffers and workspaces behind them."""
    found, at = [], {"input": 0, "output": 0}
    parts = draw(st.lists(st.sampled_from(["input", "output"]), max_size=4))
    for part in sorted(parts):
        row = draw(st.sampled_from(DECODED))
        shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
        data = draw(st.randoms(use_true_random=False)).randbytes(
            packed_bytes(row, int(np.prod(shape, dtype=int)))
        )
        if row.name == "bool":
            data = bytes(byte & 1 for byte in data)
        padding = draw(st.sampled_from([0, 0, 3, 32]))
        more = {"input_type": draw(st.integers(0, 104))} if part == "input" else {}
        if part == "output":
            more["origin"] = draw(st.sampled_from([None, Origin("a/b", 1, 2, 3), Origin("ü")]))
            more["dim_range"] = tuple(draw(st.lists(st.tuples(NUMBER, NUMBER), max_size=2)))
        block = TensorEntry(
            part, at[part], len(data) + padding, row.code, draw(st.integers(0, 49)), shape,
            draw(st.sampled_from([None, (), shape, (-1, 3)])), draw(st.integers(0, 2**16)),
            draw(st.integers(1, 2**64 - 1)), draw(NUMBER), draw(st.integers(0, 2**32 - 1)), **more,
        )  # fmt: skip
        at[part] += 1
        found.append((block, data + bytes(padding)))
    for part in ("buffer", "space"):
        for slot, data in enumerate(draw(st.lists(st.binary(max_size=9), max_size=2))):
            found.append((TensorEntry(part, slot, len(data), type=draw(st.integers(0, 3))), data))
    return found


@given(
    made=blocks(),
    name=st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    attrs=st.lists(st.tuples(st.text("abc{}"), st.text("xyz"))),
)
@FIXED
def test_another_decoder_finds_all_that_was_written(made, name, attrs):
    container = Container(
        tuple(block for block, _ in made), dump_time=7, op_name=name, attrs=tuple(attrs)
    )
    header, found = wire.container(written(container, [data for _, data in made]))
    assert header["order"] == sorted(header["order"])
    assert header.get("op_name", "") == name
    assert [(one.get("name", ""), one.get("value", "")) for one in header.get("attr", [])] == attrs
    assert [(part, slot, data) for part, slot, _, data in found] == [
        (block.part, block.slot, data) for block, data in made
    ]
    for (block, _), (_, _, stated, _) in zip(made, found, strict=True):
        assert stated["order"] == sorted(stated["order"])
        for key in ("data_type", "format", "sub_format", "address", "offset", "arg_index"):
            assert stated.get(key, 0) == getattr(block, key)
        for key in ("shape", "original_shape"):
            dims = getattr(block, key)
            assert (key in stated) == (dims is not None)
            assert dims is None or stated[key].get("dim", []) == [dim % 2**64 for dim in dims]


@given(made=blocks())
@settings(FIXED, max_examples=examples(100))
def test_all_that_was_written_is_read(tmp_path_factory, made):
    path = save(tmp_path_factory.mktemp("c"), b"")
    container = Container(tuple(block for block, _ in made), op_name="x")
    with open(path, "wb") as file:
        write_container(file, container, [data for _, data in made])
    got = read_container(path)
    assert got.notes == ()
    for (block, data), read in zip(made, got.blocks, strict=True):
        assert read.problem is None
        assert read._replace(start=-1) == block
        assert block_bytes(path, read) == data
        array = stored(path, read)
        if block.row.packing != "opaque":
            count = int(np.prod(block.shape, dtype=int))
            want = decode(block.row, np.frombuffer(data, np.uint8), count)
            assert array.shape == block.shape
            assert array.tobytes() == want.tobytes()


def test_an_open_dimension_is_written_as_its_complement():
    block = TensorEntry("input", 0, 8, 1, 2, (-1, 2))
    assert b"\x0a\x0b" + b"\xff" * 9 + b"\x01\x02" in header_bytes(Container((block,)))


@pytest.mark.parametrize(
    ("block", "data", "code", "values"),
    [
        (TensorEntry("input", 0, 8), bytes(7), "payload-size", {"needed": 8, "got": 7}),
        (
            TensorEntry("buffer", 0, 1, format=3),
            bytes(1),
            "field-unused",
            {"name": "format", "got": 3},
        ),
        (
            TensorEntry("output", 0, 1, input_type=2),
            bytes(1),
            "field-unused",
            {"name": "input_type"},
        ),
        (TensorEntry("space", 0, -1), b"", "field-range", {"name": "size"}),
    ],
)
def test_what_cannot_be_written_is_refused(block, data, code, values):
    with refused(f"dump/{code}", FormatError, place=f"{block.part} 0", **values):
        written(Container((block,)), [data])


# ---------------------------------------------------------------- reading what is unusual


def test_the_payload_has_inputs_first_though_the_header_has_outputs_first(tmp_path):
    header = tensor(3, size=8, dims=[2]) + tensor(4, size=4, dims=[1])
    path = save(tmp_path, file_of(header, F32[:12]))
    assert [a.tolist() for a in arrays(path, read_container(path))] == [[1.0], [2.0, 3.0]]


def test_an_empty_shape_is_a_scalar_and_no_shape_is_flat(tmp_path):
    bare = wire.field(4, wire.field(1, 1) + wire.field(5, 8))
    path = save(tmp_path, file_of(tensor(4, size=4) + bare, F32[:12]))
    scalar, flat = arrays(path, read_container(path))
    assert (scalar.shape, flat.tolist()) == ((), [2.0, 3.0])


def test_an_open_dimension_makes_the_data_flat(tmp_path):
    path = save(tmp_path, file_of(tensor(4, size=8, dims=[2**64 - 1, 2]), F32[:8]))
    (block,) = read_container(path).blocks
    assert block.shape == (-1, 2)
    assert spec_of(locate(path, block))[:2] == ("float32", (2,))


def test_padding_behind_a_tensor_is_left_out(tmp_path):
    header = tensor(4, size=32, dims=[3]) + tensor(3, size=4, dims=[1])
    path = save(tmp_path, file_of(header, F32[:12] + bytes(20) + F32[12:16]))
    assert [a.tolist() for a in arrays(path, read_container(path))] == [[1, 2, 3], [4]]


def test_data_inside_the_header_count_in_place_of_the_payload(tmp_path):
    header = tensor(4, size=0, dims=[2], data=F32[:8]) + tensor(3, size=4, dims=[1])
    path = save(tmp_path, file_of(header, F32[8:12]))
    assert [a.tolist() for a in arrays(path, read_container(path))] == [[1, 2], [3]]


def test_fields_that_nobody_declares_are_skipped(tmp_path):
    header = wire.field(99, b"new") + tensor(4, size=4, dims=[1]) + wire.field(1000, 5)
    path = save(tmp_path, file_of(header, F32[:4]))
    assert arrays(path, read_container(path))[0].tolist() == [1]


def test_tensors_without_an_address_have_no_bytes_if_others_have_one(tmp_path):
    header = tensor(4, size=8, dims=[2]) + tensor(4, size=4, dims=[1], address=99)
    path = save(tmp_path, file_of(header, F32[:4]))
    container = read_container(path)
    lost, kept = container.blocks
    check_said(lost.problem, "dump/block-no-address")
    assert container.notes == (Message("dump/no-addresses", tensors=1),)
    assert stored(path, kept).tolist() == [1]
    for ask in (lambda: stored(path, lost), lambda: block_bytes(path, lost)):
        with refused("dump/block-no-address", FormatError, place=f"{path}: byte 0: input 0"):
            ask()


def test_no_address_at_all_means_an_older_writer(tmp_path):
    header = tensor(4, size=8, dims=[2]) + tensor(4, size=4, dims=[1])
    path = save(tmp_path, file_of(header, F32[:12]))
    assert [a.tolist() for a in arrays(path, read_container(path))] == [[1, 2], [3]]


def test_a_file_long_enough_for_all_has_bytes_for_all(tmp_path):
    header = tensor(4, size=8, dims=[2]) + tensor(4, size=4, dims=[1], address=99)
    path = save(tmp_path, file_of(header, F32[:12]))
    container = read_container(path)
    assert container.notes == ()
    assert [a.tolist() for a in arrays(path, container)] == [[1, 2], [3]]


def test_the_writer_leaves_out_the_bytes_of_tensors_without_an_address(tmp_path):
    made = Container(
        (TensorEntry("input", 0, 8, 1, 2, (2,)), TensorEntry("input", 1, 4, 1, 2, (1,), address=9))
    )
    path = save(tmp_path, written(made, [b"", F32[:4]]))
    assert stored(path, read_container(path).blocks[1]).tolist() == [1]


def test_a_size_that_fits_neither_way_is_refused(tmp_path):
    header = tensor(4, size=8, dims=[2]) + tensor(4, size=4, dims=[1], address=99)
    path = save(tmp_path, file_of(header, F32[:8]))
    held = os.path.getsize(path)
    values = {"whole": held + 4, "present": held - 4, "held": held}
    with refused("dump/container-size", FormatError, place=f"{path}: byte {held}", **values):
        read_container(path)


def test_a_file_cut_off_gives_the_tensors_before_the_cut(tmp_path):
    header = tensor(4, size=8, dims=[2]) + tensor(3, size=8, dims=[2]) + tensor(3, size=4, dims=[1])
    path = save(tmp_path, file_of(header, F32[:13]))
    container = read_container(path)
    held = os.path.getsize(path)
    assert container.notes == (Message("dump/cut-off", needed=held + 7, held=held),)
    first, second, third = container.blocks
    assert stored(path, first).tolist() == [1, 2]
    check_said(second.problem, "dump/data-end", end=held + 3, held=held)
    check_said(third.problem, "dump/block-lost")


def test_a_lie_about_a_size_never_shifts_the_tensors_behind_it(tmp_path):
    """Too small a first size leaves bytes over at the end: the second tensor would be another."""
    header = tensor(4, size=4, dims=[2]) + tensor(3, size=4, dims=[1])
    path = save(tmp_path, file_of(header, F32[:12]))
    container = read_container(path)
    assert container.notes == (Message("dump/bytes-behind", bytes=4),)
    liar, behind = container.blocks
    check_said(liar.problem, "dump/block-short", needed=8, held=4, dtype="FLOAT", shape=(2,))
    check_said(behind.problem, "dump/block-lost")


def test_bytes_behind_the_last_block_are_noted(tmp_path):
    path = save(tmp_path, ADD + b"rest")
    container = read_container(path)
    assert container.notes == (Message("dump/bytes-behind", bytes=4),)
    assert arrays(path, container)[0].tolist() == [[1, 2], [3, 4]]


def test_an_unknown_type_keeps_its_bytes(tmp_path):
    path = save(tmp_path, file_of(tensor(4, size=8, dims=[2], dtype=77), F32[:8]))
    (block,) = read_container(path).blocks
    assert spec_of(locate(path, block)).dtype == "type 77"
    assert block_bytes(path, block) == F32[:8]
    place = f"{path}: byte {block.start}: input 0"
    with refused("dump/data-type", FormatError, place=place, got=77, last=42):
        stored(path, block)


def test_a_file_that_shrinks_after_it_was_opened_is_refused(tmp_path):
    path = save(tmp_path, ADD)
    block = read_container(path).blocks[0]
    os.truncate(path, 60)
    with refused("dump/file-end", FormatError, place=f"{path}: byte 60", start=59, needed=8):
        stored(path, block)


# ---------------------------------------------------------------- refusing what is wrong

HUGE = (1 << 64) - 1
WRONG = {
    "nothing": (b"", 0, "container-short", {"held": 0}),
    "a length alone": (bytes(8), 8, "container-short", {"held": 8}),
    "an empty header": (bytes(9), 0, "header-size", {"got": 0, "limit": 1}),
    "a header behind the end": (struct.pack("<Q", 99) + bytes(9), 0, "header-size", {"got": 99}),
    "a length of all bits": (b"\xff" * 20, 0, "header-size", {"limit": 12}),
    "an ELF core": (b"\x7fELF\x02\x01\x01" + bytes(40), 0, "elf", {}),
    "an npy file": (b"\x93NUMPY\x01\x00" + bytes(120), 0, "header-size", {"limit": 120}),
    "a text in place of a time": (
        file_of(wire.field(2, b"now")), 10, "proto/field-type", {"number": 2, "name": "dump_time"},
    ),
    "a number in place of a tensor": (
        file_of(wire.field(4, 3)), 9, "proto/field-type", {"number": 4, "name": "input"},
    ),
    "33 dimensions": (
        file_of(tensor(4, size=4, dims=[1] * 33), F32), 10, "dimensions",
        {"subject": "shape", "got": 33, "limit": 32},
    ),
    "a shape of kilobytes": (
        file_of(tensor(4, size=4, dims=[1] * 999), F32), 19, "shape-bytes", {"got": 999},
    ),
    "half a number in a shape": (
        file_of(wire.field(4, wire.field(3, wire.field(1, b"\xff")))), 8, "proto/message", {},
    ),
    "version 1": (
        wire.field(1, b"1.0") + tensor(4, size=8, dims=[2], data=F32[:8]), 0, "version-1", {},
    ),
    "a size of all bits": (
        file_of(tensor(4, size=HUGE, dims=[1]), F32[:4]), 32, "container-cut", {"held": 32},
    ),
    "half of the first tensor": (
        file_of(tensor(4, size=8, dims=[2]), F32[:4]), 23, "container-cut", {"needed": 27},
    ),
    "more fields than memory": (
        file_of(wire.field(99, b"") * 200_001), 600_011, "proto/fields", {"limit": 200_000},
    ),
    "more entries than memory": (
        file_of(wire.field(7, b"") * 20_000), 32_778, "core/too-large", {"limit": 1 << 20},
    ),
    "more text than memory": (
        file_of(wire.field(6, bytes(2 << 20))), 13, "core/too-large", {"got": 2 << 20},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_refused_with_its_byte(tmp_path, case):
    data, byte, code, values = WRONG[case]
    path = save(tmp_path, data)
    code = code if "/" in code else f"dump/{code}"
    with refused(code, FormatError, place=f"{path}: byte {byte}", **values):
        read_container(path)


BROKEN_WIRE = {
    "a field that has no end": (file_of(b"\x22\xff\xff\xff\x7f"), 8),
    "a number that has no end": (file_of(b"\x10" + b"\xff" * 12), 9),
    "a group": (file_of(b"\x23\x24"), 8),
}


@pytest.mark.parametrize("case", BROKEN_WIRE)
def test_a_header_that_is_no_protobuf_is_refused_with_its_byte(tmp_path, case):
    """`workbench.proto.wire` says what is wrong."""
    data, byte = BROKEN_WIRE[case]
    path = save(tmp_path, data)
    with pytest.raises(FormatError) as caught:
        read_container(path)
    assert str(caught.value).startswith(f"{path}: byte {byte}: ")


def test_a_shape_beyond_memory_is_refused_before_memory_is_taken(tmp_path):
    dims = [2**62, 2**62]
    cases = [
        tensor(4, size=4, dims=dims),
        tensor(4, size=0, dims=[0, *dims]),
        tensor(4, size=2**40, dims=[2**38]),
    ]
    for case in cases:
        path = save(tmp_path, file_of(case, F32[:4]))
        with peak_below(1_000_000), pytest.raises(FormatError):
            stored(path, read_container(path).blocks[0])


LINE_FEEDS = {
    "a container of version 1": b"\x0a\x031.0" + tensor(4, size=8, dims=[2], data=F32[:8]),
    "a line of text": b"\nMatMul has no dump\n",
    "a header of ten bytes": b"\n",
    "line feeds": b"\n" * 70_000,
}


@pytest.mark.parametrize("begin", LINE_FEEDS.values(), ids=LINE_FEEDS)
def test_a_large_file_that_begins_with_a_line_feed_takes_no_memory(tmp_path, begin):
    """Version 1 began so, and had no length: it was read whole to see whether it is one."""
    path = tmp_path / LEAF / "MatMul.net_mm.3.1.1700000000000000"
    path.parent.mkdir(parents=True)
    path.write_bytes(begin)
    os.truncate(path, 512 << 20)  # a hole: it takes no room on the disk
    wb.load(tmp_path)  # modules are not counted
    for read in (lambda: read_container(path), lambda: wb.convert(path, tmp_path / "out")):
        with peak_below(4 << 20), pytest.raises(FormatError):
            read()
    with peak_below(4 << 20):
        assert [one.reason for one in wb.load(tmp_path).skipped] == ["unreadable"]


def test_what_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, code in ((".", "core/unreadable"), ("pipe", "core/not-a-file")):
        with refused(code, FormatError, place=str(tmp_path / path)):
            read_container(tmp_path / path)
    with refused("core/unreadable", FormatError, place=str(tmp_path / "missing")):
        read_container(tmp_path / "missing")
