"""What a widget is sent, read byte by byte."""

from __future__ import annotations

import gzip
import json
import struct
from typing import Any


def unpacked(data: bytes) -> dict[str, Any]:
    """The JSON, with figures read byte by byte in place of what tells where they stand."""
    plain = gzip.decompress(data)
    (size,) = struct.unpack_from("<I", plain)
    found, figures = json.loads(plain[4 : 4 + size]), plain[4 + size :]
    for column in found["columns"]:
        if isinstance(column["values"], dict):
            told, rows = column["values"], found["rows"]
            column["values"] = [figure(figures, rows, number, **told) for number in range(rows)]
    return found


def figure(
    figures: bytes, rows: int, number: int, *, format: str, start: int, unknown: bool
) -> float | None:
    """The figure of a row; `None` where a bit says that nobody knows it."""
    size = int(format[1:])
    own = bytes(figures[start + weight * rows + number] for weight in range(size))
    if unknown and not figures[start + size * rows + number // 8] >> (7 - number % 8) & 1:
        return None
    return struct.unpack("<f" if size == 4 else "<d", own)[0]
