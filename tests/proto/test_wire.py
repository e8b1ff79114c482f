"""Bytes of messages: walked, decoded within bounds, refused with their byte. The oracle is protobuf's own library."""

from __future__ import annotations

from collections import deque

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from kit.memory import peak_below
from kit.wire import f32, f64, msg, num, varint
from kit.words import refused
from workbench.core.errors import FormatError
from workbench.proto.schema import Schema, fields
from workbench.proto.wire import (
    MAX_DEPTH,
    MAX_FIELDS,
    STRAIGHT,
    WireField,
    decode,
    walk,
    walk_declared,
)

TOY = Schema(
    "wire toy",
    {
        "Net": fields("1 name bytes, 2 size int64*, 3 part Part*, 4 real float, 5 sums double*, 6 by Part@"),
        "Part": fields("1 id uint32, 2 part Part, 3 opaque Opaque"),
        "Opaque": (),
    },
)  # fmt: skip
WHOLE = b"".join(
    (
        msg(1, "net"),
        num(2, -1),
        msg(2, varint(5) + varint(6)),
        msg(3, num(1, 7), msg(2, num(1, 8))),
        f32(4, 1.5),
        f64(5, 2.5),
        msg(6, msg(1, "key"), msg(2, num(1, 9))),
    )
)


def test_a_walk_says_where_fields_lie():
    assert list(walk(WHOLE, "m", 0, len(WHOLE)))[:3] == [
        WireField(1, 2, 2, 5),
        WireField(2, 0, 6, 16),
        WireField(2, 2, 18, 20),
    ]


@pytest.mark.parametrize("value", [0, 127, 128, 1 << 62, (1 << 64) - 1])
def test_a_number_ends_where_its_bytes_do(value):
    data = num(2, value)
    assert list(walk(data, "m", 0, len(data))) == [WireField(2, 0, 1, len(data))]
    for end in range(1, len(data)):
        with refused("proto/varint", FormatError, place="m: byte 1", end=end):
            list(walk(data, "m", 0, end))


def test_declared_fields_come_before_those_inside_them():
    found = [
        (message, row.name)
        for message, row, _ in walk_declared(TOY, "Net", WHOLE, "m", 0, len(WHOLE))
    ]
    assert found == [
        ("Net", "name"), ("Net", "size"), ("Net", "size"), ("Net", "part"), ("Part", "id"), ("Part", "part"),
        ("Part", "id"), ("Net", "real"), ("Net", "sums"), ("Net", "by"), ("Net.by", "key"), ("Net.by", "value"),
        ("Part", "id"),
    ]  # fmt: skip


@pytest.mark.parametrize("before", [b"", b"xyz"], ids=["alone", "behind others"])
def test_a_message_is_decoded_wherever_it_lies(before):
    read = decode(TOY, "Net", before + WHOLE + b"\xff", "m", len(before), len(before + WHOLE))
    assert (read.name, list(read.size), read.part[0].part.id) == (b"net", [-1, 5, 6], 8)
    assert (read.real, list(read.sums), read.by["key"].id) == (1.5, [2.5], 9)


REFUSED = {
    "a cut off name": (b"\x0a\x05ab", "proto/cut-off", 0),
    "a cut off inner message": (WHOLE + msg(3, b"\x12\x04\x08"), "proto/cut-off", len(WHOLE) + 2),
    "a number without end": (WHOLE + b"\x10\xff", "proto/varint", len(WHOLE) + 1),
    "a number of eleven bytes": (
        WHOLE + b"\x10" + b"\x80" * 10 + b"\x01",
        "proto/varint",
        len(WHOLE) + 1,
    ),
    "a group": (b"\x0b\x0c", "proto/tag", 0),
    "field 0": (b"\x02\x01a", "proto/tag", 0),
    "a number for a name": (num(1, 3), "proto/field-type", 1),
    "a text for a number deep inside": (msg(3, msg(2, msg(1, "x"))), "proto/field-type", 6),
    "a float for a double": (f32(5, 1), "proto/field-type", 1),
    "a number for a map": (num(6, 3), "proto/field-type", 1),
    "a number for an entry's value": (msg(6, num(2, 3)), "proto/field-type", 3),
    "half a packed number": (WHOLE + msg(2, b"\xff"), "proto/message", 0),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
def test_what_is_no_message_is_refused_with_its_byte(case, long):
    data, code, byte = REFUSED[case]
    front = msg(1, bytes(STRAIGHT)) if long else b""
    byte += len(front) if code != "proto/message" else 0
    with refused(code, FormatError, place=f"m: byte {byte}"):
        decode(TOY, "Net", front + data, "m")


@pytest.mark.parametrize(
    "extra", [num(9, 1), msg(3, num(1, 7), msg(9, "new")), msg(3, msg(3, num(1, 2)))]
)
def test_what_nobody_declares_is_left_out(extra):
    read = decode(TOY, "Net", WHOLE + extra, "m")
    assert read.name == b"net"
    assert b"new" not in read.SerializeToString()


def test_a_hostile_message_takes_no_more_memory_than_a_short_one():
    """Google's library alone takes 100 MB for 2 MB of empty messages."""
    hostile, place = msg(3) * (1 << 20), f"m: byte {2 * MAX_FIELDS + 2}"
    decode(TOY, "Net", WHOLE, "m")
    with peak_below(1 << 20), refused("proto/fields", FormatError, limit=MAX_FIELDS, place=place):
        decode(TOY, "Net", hostile, "m")


def nested(depth: int) -> bytes:
    """Messages inside each other, of which the innermost has a number."""
    data = num(1, 7)
    for _ in range(depth):
        data = msg(2, data)
    return data


def test_messages_may_be_nested_as_deep_as_the_library_reads_them():
    part = TOY.message_class("Part")
    depth = next(depth for depth in range(1, 1000) if not reads(part, nested(depth + 1)))
    found = [*walk_declared(TOY, "Part", data := nested(depth), "m", 0, len(data))]
    assert len(found) == depth + 1
    data = nested(20_000)
    with peak_below(1 << 20), refused("proto/deep", FormatError, limit=MAX_DEPTH):
        deque(walk_declared(TOY, "Part", data, "m", 0, len(data)), 0)


def reads(message, data) -> bool:
    try:
        message.FromString(data)
    except DecodeError:
        return False
    return True


@given(st.binary(max_size=40))
def test_any_bytes_are_decoded_as_google_does_or_refused(data):
    """What is let pass is what the library makes of it; what the library refuses is refused."""
    try:
        theirs = TOY.message_class("Net").FromString(data)
    except DecodeError:
        theirs = None
    try:
        mine = decode(TOY, "Net", data, "m")
    except FormatError as error:
        assert theirs is None or error.code in ("proto/field-type", "proto/tag")  # noqa: PT017
        return
    assert theirs is not None
    theirs.DiscardUnknownFields()
    assert mine.SerializeToString(deterministic=True) == theirs.SerializeToString(
        deterministic=True
    )
