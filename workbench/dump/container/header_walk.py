"""The quick way through a container's header: which tensors it lists, and how many bytes they ask for.

An index needs of every tensor its number format, its format and its size, which C++ writes first and in this
order. So a message is read up to its size and left by its length, which takes less time than decoding it.
What looks otherwise is not read here: `workbench.dump.container.file` says what it is, with its byte.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Listed(NamedTuple):
    """Kind of every input and output that a header lists, and the bytes of all blocks.

    A kind is the number of the number format, times 256, plus that of the format. Buffers and workspaces
    count among the blocks.
    """

    inputs: list[int]
    outputs: list[int]
    payload: int


_START = re.compile(rb"\x0a\x03[12]\.0(?:\x10[\x80-\xff]{0,9}[\x00-\x7f])?")
"""Version and time."""

_INPUT, _OUTPUT = 0x22, 0x1A
_SIZE = {_INPUT: 0x28, _OUTPUT: 0x30, 0x2A: 0x18, 0x42: 0x18}
"""Tag of a block of any kind → tag of its size; both are a field's number times 8 plus its wire type."""

_DATA_TYPE, _FORMAT, _SHAPE, _ORIGIN = 0x08, 0x10, 0x1A, 0x22


def walk(data: bytes, end: int) -> Listed | None:
    """List the tensors of the header from byte 8 to ``end``; ``None`` if it looks unusual."""
    start = _START.match(data, 8, end)
    if start is None:
        return None
    at, payload = start.end(), 0
    inputs: list[int] = []
    outputs: list[int] = []
    try:
        while at < end:
            tag, length = data[at], data[at + 1]
            at += 2
            if length > 127:  # no message of a tensor has more than two bytes of length
                length = length & 127 | data[at] << 7
                at += 1
            stop = at + length
            if tag in _SIZE:
                kind, size = _block(data, at, stop, tag)
                payload += size
                if tag == _INPUT:
                    inputs.append(kind)
                elif tag == _OUTPUT:
                    outputs.append(kind)
            elif tag & 0x87 != 2:
                return None
            at = stop
    except (IndexError, _Unusual):
        return None
    return Listed(inputs, outputs, payload) if at == end else None


class _Unusual(Exception):
    """A message that does not begin as those of a device do."""


def _block(data: bytes, at: int, stop: int, tag: int) -> tuple[int, int]:
    """Kind and size of the block whose message lies from ``at`` to ``stop``."""
    kind = 0
    if data[at] == _DATA_TYPE:
        kind = data[at + 1] << 8
        at += 2
    if data[at] == _FORMAT:
        kind |= data[at + 1]
        at += 2
    if data[at] == _SHAPE:
        kind |= data[at + 1] & 128
        at += 2 + data[at + 1]
    if data[at] == _ORIGIN and tag == _OUTPUT:
        length = data[at + 1]
        at += 2 + length if length < 128 else 3 + (length & 127 | data[at + 2] << 7)
    if data[at] != _SIZE[tag] or kind & 0x8080 or at >= stop:
        raise _Unusual  # the order is another one, or a number has several bytes
    byte = data[at + 1]
    size, shift = byte & 127, 0
    while byte > 127:
        at, shift = at + 1, shift + 7
        byte = data[at + 1]
        size |= (byte & 127) << shift
    if at + 2 < stop and data[at + 2] <= _SIZE[tag]:
        raise _Unusual
    return kind, size
