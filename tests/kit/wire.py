"""Fields of a protobuf message, written by the rules of the wire format: tag = number * 8 + type."""

from __future__ import annotations

import struct


def varint(value: int) -> bytes:
    """A number, seven bits a byte from the lowest on; a negative one as its 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def num(number: int, value: int) -> bytes:
    """A field that is a varint."""
    return varint(number << 3) + varint(value)


def msg(number: int, *parts: bytes | str) -> bytes:
    """A field of bytes, a text or an inner message."""
    content = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(number << 3 | 2) + varint(len(content)) + content


def f32(number: int, value: float) -> bytes:
    """A field of four bytes."""
    return varint(number << 3 | 5) + struct.pack("<f", value)


def f64(number: int, value: float) -> bytes:
    """A field of eight bytes."""
    return varint(number << 3 | 1) + struct.pack("<d", value)
