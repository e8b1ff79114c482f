"""Fingerprints: enough of a tensor's bytes to tell whether two files hold the same data."""

from __future__ import annotations

from workbench.core.errors import FormatError

_START = 1 << 16


def fingerprint(path: str) -> tuple[int, bytes]:
    """Size and first 64 KiB of the payload of an npy file, its header left out.

    Headers are left out because a Reshape output carries its input's shape. Raises FormatError if
    the file cannot be read or is no npy file.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - called thousands of times
            head = file.read(12)
            if head[:6] != b"\x93NUMPY":
                message = f"{path}: byte 0: npy magic must be '\\x93NUMPY', got {head[:6]!r}"
                raise FormatError(message)
            wide = head[6:7] > b"\x01"
            length = int.from_bytes(head[8:12] if wide else head[8:10], "little")
            start = (12 if wide else 10) + length
            file.seek(start)
            payload = file.read(_START)
            file.seek(0, 2)
            return file.tell() - start, payload
    except OSError as error:
        message = f"{path}: tensor must be a readable file, got {error.strerror}"
        raise FormatError(message) from error
