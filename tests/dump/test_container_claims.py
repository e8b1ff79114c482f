"""Containers that are truncated, oversized, lying or old: one table, and every way in says the same.

A tensor is had as it was or refused with the byte; none is ever the bytes of another.
"""

import re
import struct
from typing import NamedTuple

import dump_wire as wire
import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.dump.container import read_container
from workbench.dump.container_source import ContainerSource

PLACE = "20231114221320/0/net/1/0/Add.x.1.2.1700000000000000"
DATA = np.arange(1, 100, dtype="<f4").tobytes()
NUMBERS = {"output": (3, 5, 6, 9), "input": (4, 4, 5, 8)}
HUGE = 2**64 - 1


def tensor(part: str, size: int, dims=(), *, dtype=1, address=0, data=b"") -> bytes:
    """One tensor's message from the field numbers alone; its format is ND."""
    number, inside, at_size, at_address = NUMBERS[part]
    body = wire.field(1, dtype) + wire.field(2, 2)
    body += wire.field(3, wire.field(1, b"".join(wire.to_varint(dim % 2**64) for dim in dims)))
    body += wire.field(inside, data) if data else b""
    body += wire.field(at_size, size)
    return wire.field(number, body + (wire.field(at_address, address) if address else b""))


def file_of(*messages: bytes, payload=24, length=0) -> bytes:
    """A file of some messages, so many bytes of payload, and what it says of its header's length."""
    header = b"".join(messages)
    return struct.pack("<Q", length or len(header)) + header + DATA[:payload]


class Case(NamedTuple):
    """A file and what becomes of it: refused as a whole, or its tensors, each its values or why not."""

    data: bytes
    tensors: tuple = ()
    refused: str = ""
    note: str = ""


A, B, C = tensor("input", 8, [2]), tensor("input", 4, [1]), tensor("output", 12, [3])
GOOD = file_of(A, B, C)
WHOLE = ([1, 2], [3], [4, 5, 6])
LOST = "sizes do not add up to the file, so its place is not known"
END = len(GOOD)
START = END - 24
OLD = wire.field(1, b"1.0") + tensor("input", 8, [2], data=DATA[:8])
OLD += tensor("output", 4, [1], data=DATA[8:12])

CASES = {
    "nothing wrong": Case(GOOD, WHOLE),
    # truncated
    "an empty file": Case(b"", refused="byte 0: container must be longer than 8 bytes"),
    "half a length": Case(GOOD[:4], refused="byte 4: container must be longer than 8 bytes"),
    "a length alone": Case(GOOD[:8], refused="byte 8: container must be longer than 8 bytes"),
    "half a header": Case(GOOD[:20], refused="byte 0: header must have 1 to 12 bytes, got"),
    "a header alone": Case(GOOD[:START], refused=rf"byte {START}: file must hold the {END} bytes"),
    "half the first tensor": Case(GOOD[: START + 7], refused=rf"byte {START + 7}: file must hold"),
    "half the second tensor": Case(
        GOOD[: START + 9],
        ([1, 2], f"byte 8: input 1: data must end by byte {START + 9}, got {START + 12}", LOST),
        note=f"the file is cut off: it holds {START + 9} of {END} bytes",
    ),
    "all but one byte": Case(
        GOOD[:-1],
        ([1, 2], [3], f"byte 8: output 0: data must end by byte {END - 1}, got {END}"),
        note="cut off",
    ),
    # oversized
    "a byte too many": Case(GOOD + b"\0", WHOLE, note="1 bytes follow the last block"),
    "a megabyte too many": Case(GOOD + bytes(1 << 20), WHOLE, note="1048576 bytes follow"),
    # a length that lies
    "a header of no bytes": Case(bytes(8) + GOOD[8:], refused="byte 0: header must have 1 to"),
    "a header of all bits": Case(b"\xff" * 8 + GOOD[8:], refused="byte 0: header must have 1 to"),
    "a header that ends in a field": Case(
        file_of(A, B, C, length=len(A) + 3), refused=r"byte \d+: field 4"
    ),
    "a header that takes the payload in": Case(
        file_of(A, B, C, length=START - 8 + 24), refused=r"byte \d+: field must have a number"
    ),
    # sizes that lie
    "too small a first size": Case(
        file_of(tensor("input", 4, [2]), B, C),
        (f"byte {START}: input 0: FLOAT of shape (2,) must have 8 bytes, got 4", LOST, LOST),
        note="4 bytes follow the last block",
    ),
    "too small a last size": Case(
        file_of(A, B, tensor("output", 8, [3])),
        ([1, 2], [3], f"byte {START + 12}: output 0: FLOAT of shape (3,) must have 12 bytes, got 8"),
        note="4 bytes follow",
    ),
    "a size of nothing": Case(
        file_of(tensor("input", 0, [2]), B, C), ("must have 8 bytes, got 0", LOST, LOST), note="8 bytes"
    ),
    "a first size that is a byte too large": Case(
        file_of(tensor("input", 9, [2]), B, C), ([1, 2], LOST, LOST), note="cut off"
    ),
    "a first size that takes the second in": Case(
        file_of(tensor("input", 12, [2]), B, C), ([1, 2], LOST, LOST), note="cut off"
    ),
    "a first size that pretends to be padded": Case(
        file_of(tensor("input", 32, [2]), B, C, payload=40), ([1, 2], LOST, LOST), note="cut off"
    ),
    "a last size that is too large": Case(
        file_of(A, B, tensor("output", 16, [3])), ([1, 2], [3], f"data must end by byte {END}"), note="cut off"
    ),
    "a first size of all bits": Case(
        file_of(tensor("input", HUGE, [2]), B, C), refused=r"byte \d+: file must hold the \d{20} bytes"
    ),
    "a last size of all bits": Case(
        file_of(A, B, tensor("output", HUGE, [3])), ([1, 2], [3], "data must end by byte"), note="cut off"
    ),
    "sizes whose sum is none in 64 bits": Case(
        file_of(A, tensor("input", 2**63, [1]), tensor("output", 2**63, [3])),
        ([1, 2], "data must end by byte", LOST), note="cut off",
    ),
    # padding
    "padding as the device adds it": Case(
        file_of(tensor("input", 32, [2]), B, payload=36), ([1, 2], [9])
    ),
    "padding, and far more is missing than that": Case(
        file_of(tensor("input", 32, [2]), B, tensor("output", 200, [50]), payload=36),
        ([1, 2], [9], "data must end by byte"), note="cut off",
    ),
    # addresses that lie
    "no address for one": Case(
        file_of(A, tensor("input", 4, [1], address=9), payload=4),
        ("tensor has no address, so no bytes were written", [1]), note="1 tensors have no address",
    ),
    "no address for one, and its bytes are there": Case(
        file_of(A, tensor("input", 4, [1], address=9), payload=12), ([1, 2], [3])
    ),
    "no address for one, and half of its bytes are there": Case(
        file_of(A, tensor("input", 4, [1], address=9), payload=8),
        refused=r"byte \d+: file must hold \d+ bytes, or \d+ if tensors without an address have none, got \d+",
    ),
    "addresses of all bits": Case(
        file_of(*[tensor("input", 4, [1], address=HUGE)] * 2, payload=8), ([1], [2])
    ),
    "no address at all, as older writers have it": Case(file_of(A, B, payload=12), ([1, 2], [3])),
    # shapes and types that lie
    "a shape beyond 64 bits": Case(
        file_of(tensor("input", 8, [2**62, 2**62])), (r"must have \d+ bytes, got 8",), note="16 bytes follow"
    ),
    "a shape of nothing by all": Case(
        file_of(tensor("input", 0, [0, 2**62, 2**62]), payload=0), ("shape must have fewer than",)
    ),
    "an open dimension": Case(file_of(tensor("input", 8, [-1, 2]), payload=8), ([1, 2],)),
    "33 dimensions": Case(
        file_of(tensor("input", 4, [1] * 33), payload=4), refused="byte 10: shape must have at most 32 dim"
    ),
    "a type that nobody knows": Case(
        file_of(tensor("input", 8, [2], dtype=99), payload=8), ("data type must be 0 to 42, got 99",)
    ),
    "half a number in a shape": Case(
        file_of(wire.field(4, wire.field(3, wire.field(1, b"\xff")))), refused="byte 8: DumpData must be valid"
    ),
    # old versions
    "version 1": Case(OLD, ([1, 2], [3]), note="version 1: the file is one message"),
    "version 1, cut off": Case(OLD[:-2], refused=r"byte \d+: field 3"),
    "version 1 with bytes behind": Case(OLD + b"\xff", refused=r"byte \d+: number must end"),
    "version 1 in the layout of version 2": Case(
        file_of(wire.field(1, b"1.0"), A, B, C), WHOLE
    ),
    "a version to come": Case(
        file_of(wire.field(1, b"3.0"), A, B, C), WHOLE, note="version must be 1.0 or 2.0, got '3.0'"
    ),
    "no version": Case(file_of(A, B, C), WHOLE),
}  # fmt: skip


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    """A case and the path of its file in a tree."""
    found = CASES[request.param]
    path = tmp_path / "dump" / PLACE
    path.parent.mkdir(parents=True)
    path.write_bytes(found.data)
    return found, path


def judge(path, expected, arrays) -> None:
    """Each tensor is what the table says; ``arrays`` are functions that give them."""
    for want, give in zip(expected, arrays, strict=True):
        if isinstance(want, list):
            assert give().reshape(-1).tolist() == want
            continue
        with pytest.raises(FormatError) as caught:
            give()
        assert re.match(rf"{re.escape(str(path))}: byte \d+: (in|out)put \d: ", str(caught.value))
        assert want in str(caught.value) or re.search(want, str(caught.value))


def test_the_header_says_so(case):
    expected, path = case
    if expected.refused:
        with pytest.raises(FormatError, match=rf"^{re.escape(str(path))}: {expected.refused}"):
            read_container(path)
        return
    container = read_container(path)
    assert expected.note in "; ".join(container.notes)
    assert bool(expected.note) == bool(container.notes)
    sources = [ContainerSource(str(path), block) for block in container.blocks]
    judge(path, expected.tensors, [source.array for source in sources])


def test_the_tree_says_so(case):
    expected, path = case
    dump = wb.load(path.parents[5])
    assert [skipped.reason for skipped in dump.skipped] == ["unreadable"] * bool(expected.refused)
    for skipped in dump.skipped:
        assert re.match(rf"{re.escape(str(path))}: {expected.refused}", skipped.detail)
    assert expected.note in "; ".join(note.detail for note in dump.notes)
    judge(path, expected.tensors, [record.source.array for record in dump.records])


def test_the_conversion_says_so(case, tmp_path):
    expected, path = case
    if expected.refused:
        with pytest.raises(FormatError, match=rf"^{re.escape(str(path))}: {expected.refused}"):
            wb.convert(path, tmp_path / "out")
        return
    result = wb.convert(path, tmp_path / "out")
    said = "\n".join(result.remark_lines())
    assert expected.note in said
    for block, want in zip(read_container(path).blocks, expected.tensors, strict=True):
        file = tmp_path / "out" / f"{path.name}.{block.part}.{block.slot}.npy"
        if isinstance(want, list):
            assert np.load(file).reshape(-1).tolist() == want
        else:
            assert f"{block.part} {block.slot}: " in said


CUT = {"version 2": GOOD, "version 1": OLD, "padded": CASES["padding as the device adds it"].data}


@pytest.mark.parametrize("data", CUT.values(), ids=CUT)
def test_no_cut_ever_makes_other_numbers(tmp_path, data):
    """At every byte of the file."""
    path = tmp_path / "Add.x.1.2.17"
    path.write_bytes(data)
    whole = [ContainerSource(str(path), b).array().tolist() for b in read_container(path).blocks]
    had = set()
    for end in range(len(data)):
        path.write_bytes(data[:end])
        container = refusable(path, lambda: read_container(path))
        for number, block in enumerate(container.blocks if container else ()):
            found = refusable(path, ContainerSource(str(path), block).array)
            if found is not None:
                assert found.tolist() == whole[number]
                had.add(number)
    assert had == set(range(len(whole) - 1))


def refusable(path, act):
    """What an act gives, ``None`` if it is refused with the byte."""
    said = ""
    try:
        return act()
    except FormatError as error:
        said = str(error)
    assert re.match(rf"{re.escape(str(path))}: byte \d+: ", said)
    return None
