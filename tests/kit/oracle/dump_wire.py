"""The dump container decoded from its field numbers alone: loops over bytes, no library, none of ours."""

from __future__ import annotations

import struct

KINDS = {
    "DumpData": {1: ("version", "text"), 2: ("dump_time", "int"), 3: ("output", "OpOutput"),
                 4: ("input", "OpInput"), 5: ("buffer", "OpBuffer"), 6: ("op_name", "text"),
                 7: ("attr", "OpAttr"), 8: ("space", "Workspace"), 9: ("dfx_message", "text")},
    "OpOutput": {1: ("data_type", "int"), 2: ("format", "int"), 3: ("shape", "Shape"),
                 4: ("original_op", "OriginalOp"), 5: ("data", "bytes"), 6: ("size", "int"),
                 7: ("original_shape", "Shape"), 8: ("sub_format", "int"), 9: ("address", "int"),
                 10: ("dim_range", "DimRange"), 11: ("offset", "int"), 12: ("arg_index", "int")},
    "OpInput": {1: ("data_type", "int"), 2: ("format", "int"), 3: ("shape", "Shape"),
                4: ("data", "bytes"), 5: ("size", "int"), 6: ("original_shape", "Shape"),
                7: ("sub_format", "int"), 8: ("address", "int"), 9: ("offset", "int"),
                10: ("arg_index", "int"), 11: ("input_type", "int")},
    "Shape": {1: ("dim", "ints")},
    "DimRange": {1: ("dim_start", "int"), 2: ("dim_end", "int")},
    "OriginalOp": {1: ("name", "text"), 2: ("output_index", "int"), 3: ("data_type", "int"),
                   4: ("format", "int")},
    "OpBuffer": {1: ("buffer_type", "int"), 2: ("data", "bytes"), 3: ("size", "int")},
    "OpAttr": {1: ("name", "text"), 2: ("value", "text")},
    "Workspace": {1: ("type", "int"), 2: ("data", "bytes"), 3: ("size", "int"),
                  4: ("arg_index", "int")},
}  # fmt: skip
LISTS = {"output", "input", "buffer", "attr", "space", "dim_range"}


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def to_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))


def message(kind: str, data: bytes) -> dict:
    """Fields by name; those that repeat are lists; ``order`` has the numbers as they came."""
    found: dict = {"order": []}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        found["order"].append(number)
        name, what = KINDS[kind][number]
        if wire == 0:
            assert what == "int"
            found[name], at = varint(data, at)
            continue
        assert wire == 2
        length, at = varint(data, at)
        content = data[at : at + length]
        assert len(content) == length
        at += length
        if what == "ints":
            value: object = []
            inner = 0
            while inner < length:
                one, inner = varint(content, inner)
                value.append(one)
        elif what in KINDS:
            value = message(what, content)
        else:
            value = content.decode() if what == "text" else content
        if name in LISTS:
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found


def container(data: bytes) -> tuple[dict, list[tuple[str, int, dict, bytes]]]:
    """Header, and every block of the payload: part, slot, message, bytes."""
    (length,) = struct.unpack_from("<Q", data)
    header = message("DumpData", data[8 : 8 + length])
    at = 8 + length
    blocks = []
    for part in ("input", "output", "buffer", "space"):
        for slot, one in enumerate(header.get(part, [])):
            size = one.get("size", 0)
            blocks.append((part, slot, one, data[at : at + size]))
            at += size
    assert at == len(data)
    return header, blocks


def field(number: int, value: int | bytes) -> bytes:
    """One field of a message, made by hand."""
    if isinstance(value, int):
        return to_varint(number << 3) + to_varint(value % (1 << 64))
    return to_varint(number << 3 | 2) + to_varint(len(value)) + value


def mutate(data: bytes, rng) -> bytes:
    """A seeded mutation: bytes changed, cut, repeated, inserted, or a number made extreme."""
    out = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        kind, at = rng.integers(0, 7), int(rng.integers(0, len(out) + 1))
        # most structure lies in front
        at = at if rng.random() < 0.3 else min(at, int(rng.integers(0, 160)))
        if kind == 0 and at < len(out):
            out[at] = int(rng.integers(0, 256))
        elif kind == 1 and at < len(out):
            out[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            del out[at : at + int(rng.integers(1, 16))]
        elif kind == 4:
            out[at:at] = rng.bytes(int(rng.integers(1, 16)))
        elif kind == 5:
            out[at:at] = out[at : at + int(rng.integers(1, 64))]
        else:
            number = (0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)[rng.integers(0, 6)]
            out[at : at + 8] = struct.pack("<Q", number)
    return bytes(out)
