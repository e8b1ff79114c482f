"""Files that nobody vouches for: only regular ones are opened, and no more is read than is there."""

from __future__ import annotations

import io
import os
import stat
from typing import TYPE_CHECKING, BinaryIO, TextIO

from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""A pipe in the place of a file must not block."""


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | _FLAGS)


def open_file(path: str | Path, what: str = "file") -> BinaryIO:
    """Open a regular file; raises FormatError for anything else. ``what`` is what it is to be."""
    try:
        file = open(path, "rb", opener=_open)  # noqa: SIM115 (the caller's with)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"{path}: {what} must be a readable file, got {reason}") from error
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise FormatError(f"{path}: {what} must be a regular file, got another kind")


def open_text(path: str | Path, what: str = "file", encoding: str = "utf-8") -> TextIO:
    """Open a text as `open_file`; line ends stay as they are, what is no text is replaced."""
    return io.TextIOWrapper(open_file(path, what), encoding, "replace", newline="")


def file_content(path: str | Path, limit: int, what: str = "file") -> bytes:
    """All bytes of a file; raises FormatError if it cannot be read or has more than ``limit``."""
    with open_file(path, what) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise FormatError(f"{path}: {what} must have at most {limit} bytes, got {size}")
        try:
            return file.read(size)
        except OSError as error:
            message = f"{path}: {what} must be a readable file, got {error.strerror}"
            raise FormatError(message) from error
