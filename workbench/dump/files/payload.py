"""The bytes behind an npy header, taken without believing what the header says about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.files import open_file, unreadable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_START = 1 << 16


def fingerprint(path: str) -> tuple[int, bytes]:
    """Size and first 64 KiB of the payload of an npy file.

    Headers are left out because a Reshape output carries its input's shape. Raises FormatError if
    the file cannot be read or is no npy file.
    """
    try:
        with open_file(path, "tensor") as file:
            start = _payload_start(file, path)
            payload = file.read(_START)
            return file.seek(0, 2) - start, payload
    except OSError as error:
        raise unreadable(path, error, "tensor") from error


def payload_as(path: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """All whole elements of type ``dtype`` behind the header, flat; raises FormatError as above."""
    try:
        with open_file(path, "tensor") as file:
            start = _payload_start(file, path)
            count = (file.seek(0, 2) - start) // dtype.itemsize
            file.seek(start)
            return np.fromfile(file, dtype, count)
    except OSError as error:
        raise unreadable(path, error, "tensor") from error


def _payload_start(file: BinaryIO, path: str) -> int:
    """Leave the file at its payload and return where that is."""
    head = file.read(12)
    if head[:6] != b"\x93NUMPY":
        raise FormatError("dump/npy-magic", place=f"{path}: byte 0", got=head[:6])
    wide = head[6:7] > b"\x01"
    start = (12 if wide else 10) + int.from_bytes(head[8:12] if wide else head[8:10], "little")
    return file.seek(start)
