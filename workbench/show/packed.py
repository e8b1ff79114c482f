"""The rows of a result as bytes for a widget: JSON, and figures as numbers of four or eight bytes behind it.

Writing figures as text takes the kernel longer than all else between asking for an explorer and sending it.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.show.payload import SHOWN_DIGITS, as_list, digits, explorer_data, json_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.comparison.result import Result
    from workbench.core.words.translate import Language
    from workbench.show.payload import ColumnFigures


def compressed(result: Result, language: Language = "en") -> bytes:
    """Return `explorer_data` with exact errors as gzip, for a widget.

    Four bytes say how long the JSON is (little-endian), the JSON follows, then the figures. In place of the figures
    of a column stand their number format, their first byte behind the JSON and whether some are unknown. Bytes of
    equal weight stand together, which compresses best; behind them a bit for each row, 1 for a known figure. Results
    whose figures have more digits than tables show are small, and JSON as they are.
    """
    packed = _Packed()
    write = packed.add if digits(result) == SHOWN_DIGITS else as_list
    data = explorer_data(result, language=language, exact=True, write=write)
    head = json_bytes(data)
    size = len(head).to_bytes(4, "little")
    return gzip.compress(b"".join((size, head, *packed.parts)), 3, mtime=0)


class _Packed:
    """Figures one column behind the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._size = 0

    def add(self, figures: ColumnFigures) -> dict[str, Any]:
        """Add a column; return what stands in its place."""
        found = figures.values + 0.0  # a browser would spell -0.0 with its sign
        values = _short(found, figures) if figures.places == SHOWN_DIGITS else None
        if values is None:
            values = found.astype("<f8")
        start, unknown = self._size, not figures.known.all()
        self._append(np.frombuffer(values, np.uint8).reshape(-1, values.itemsize).T.tobytes())
        if unknown:
            self._append(np.packbits(figures.known).tobytes())
        return {"format": f"f{values.itemsize}", "start": start, "unknown": unknown}

    def _append(self, part: bytes) -> None:
        self.parts.append(part)
        self._size += len(part)


_LOWEST_BYTE = 0xFF
"""What float32 can do without where three digits are shown: the rest, rounded, is off by 2^-16 and compresses well."""


def _short(found: NDArray[np.float64], figures: ColumnFigures) -> NDArray[Any] | None:
    """Figures as float32, if all say the same on screen; those that are shares keep all bits."""
    with np.errstate(over="ignore"):
        values = np.where(np.isnan(found), np.nan, found).astype("<f4")
    if figures.kind != "share":
        bits = values.view("<u4") + np.uint32(_LOWEST_BYTE // 2 + 1)
        values = (bits & np.uint32(~_LOWEST_BYTE & 0xFFFFFFFF)).view("<f4")
    in_full = (found == np.rint(found)) & (np.abs(found) < _IN_FULL)
    near = np.where(in_full, 0.0, np.abs(found) * 2.0**-15)
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(values.astype(np.float64) - found) <= near
    return values if bool(np.all(close | ~np.isfinite(found))) else None


_IN_FULL = 1e7
"""Whole numbers below this one are spelled with all their digits."""
