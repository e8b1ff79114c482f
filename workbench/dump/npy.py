"""npy files: our own header parser, payloads read block by block, and MindSpore's own header.

Contract (``tests/dump/test_npy.py``): a header is believed only as far as the file holds; nothing
is allocated before that is known; nothing is unpickled; every refusal of content is a FormatError
that starts with ``path: byte N``. Headers are parsed once per distinct text, which is what makes
thousands of small files cheap. MindSpore's spelling follows its ``npy_header.cc``.
"""

from __future__ import annotations

import math
import os
import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

import ml_dtypes
import numpy as np

from workbench.core.dtypes import DTYPES, dtype
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"
BLOCK = 1024 * 1024
"""Bytes read at once: enough for the page cache's full speed, few enough for the L2 cache."""

_HEADER_LIMIT = 65_535
_MAX_DIMS = 32
_VERSIONS = (b"\x01\x00", b"\x02\x00", b"\x03\x00")
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO with an npy name must not block the comparison
)
_ITEM = re.compile(
    r"""\s*(['"])(descr|fortran_order|shape)\1\s*:\s*(?:(['"])([^'"]*)\3|(True|False)|\(([^()]*)\))\s*(,?)"""
)
_SHAPE = re.compile(r"\s*(?:\d{1,19}L?\s*,\s*)*(?:\d{1,19}L?\s*)?")

_DESCR: dict[str, str] = {
    "b1": "bool",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
    "c8": "complex64",
    "c16": "complex128",
    "E2": "bfloat16",
}
"""Type letters of an npy header; ``E2`` is MindSpore's own for bfloat16."""

_LETTERS = {name: letters for letters, name in _DESCR.items()}


class Header(NamedTuple):
    """What an npy header states: element type, shape, memory order, where the elements lie."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    size: int
    offset: int
    end: int


class _Refused(Exception):
    """Why a header is refused, and the byte it was found at."""

    def __init__(self, byte: int, why: str) -> None:
        super().__init__(why)
        self.byte = byte


_headers: dict[bytes, Header] = {}
"""Headers by all their bytes, so that any of the usual length is found by its first 128."""

_USUAL = 128
_CACHE_LIMIT = 4096


def _parse(block: memoryview) -> Header:
    """Return the header that ``block`` starts with; raises _Refused."""
    head = bytes(block[:12])
    if head[:6] != MAGIC:
        raise _Refused(0, f"npy file must begin with {MAGIC!r}, got {head[:6]!r}")
    if len(head) == 12 and head[6:8] not in _VERSIONS:
        raise _Refused(6, f"npy version must be 1.0, 2.0 or 3.0, got {head[6]}.{head[7]}")
    start = 10 if head[6:7] == b"\x01" else 12
    length = int.from_bytes(head[8:start], "little")
    if len(head) == 12 and length > _HEADER_LIMIT:
        raise _Refused(8, f"npy header must be at most {_HEADER_LIMIT} bytes, got {length}")
    key = bytes(block[: start + length])
    if len(key) < start + max(length, 2):
        raise _Refused(len(block), "npy header must be complete, got the end of the file")
    header = _headers.get(key)
    if header is None:
        text = key[start:].decode("utf-8" if key[6] == 3 else "latin-1", "replace")
        header = _understand(text, start, start + length)
        if len(_headers) >= _CACHE_LIMIT:
            _headers.clear()
        _headers[key] = header
    return header


def _understand(text: str, start: int, offset: int) -> Header:
    items = _items(text, start)
    order, letters = items["descr"][:1], items["descr"][1:]
    if order not in "<>|=":
        order, letters = "|", items["descr"]
    name = _DESCR.get(letters)
    if name is None:
        why = f"npy descr must be a number type such as '<f4', got {items['descr']!r}"
        raise _Refused(start, why)
    storage = DTYPES[name].storage
    if order == ">":
        storage = storage.newbyteorder(">") if name != "bfloat16" else np.dtype(">u2")
    shape = _shape(items["shape"], start)
    size = math.prod(shape)
    if math.prod(dim or 1 for dim in shape) * storage.itemsize >= 2**63:
        raise _Refused(start, f"npy shape must fit 63 bits of bytes, got {shape}")
    end = offset + size * storage.itemsize
    return Header(name, storage, shape, items["fortran_order"] == "True", size, offset, end)


def _items(text: str, start: int) -> dict[str, str]:
    """Take the dict literal of a header apart, without evaluating it."""
    body = text.strip()
    items: dict[str, str] = {}
    at, more = 1, True
    if body[:1] == "{" and body[-1:] == "}":
        while more and (match := _ITEM.match(body, at)):
            items[match[2]] = next(v for v in (match[4], match[5], match[6]) if v is not None)
            at, more = match.end(), bool(match[7])
    rest = body[at:-1].strip()
    kinds_right = items.get("fortran_order") in ("True", "False") and "descr" in items
    if rest or not kinds_right or "shape" not in items:
        why = f"npy header must state descr, fortran_order and shape, got {body[:120]!r}"
        raise _Refused(start, why)
    return items


def _shape(text: str, start: int) -> tuple[int, ...]:
    if not _SHAPE.fullmatch(text):
        raise _Refused(start, f"npy shape must be a tuple of sizes, got ({text[:80]})")
    shape = tuple(int(part.strip().rstrip("L")) for part in text.split(",") if part.strip())
    if len(shape) > _MAX_DIMS:
        raise _Refused(
            start, f"npy shape must have at most {_MAX_DIMS} dimensions, got {len(shape)}"
        )
    return shape


def _read_os(fd: int, buffers: list[memoryview]) -> int:
    """Stand in for os.readv where the platform has none."""
    (buffer,) = buffers
    data = os.read(fd, len(buffer))
    buffer[: len(data)] = data
    return len(data)


_readv = getattr(os, "readv", _read_os)


class Buffer:
    """Reusable bytes for one open payload at a time."""

    __slots__ = ("data", "view")

    def __init__(self, size: int = BLOCK) -> None:
        self.data = np.empty(size, np.uint8)
        self.view = self.data.data


class Payload:
    """The elements of an open npy file, front to back in file order.

    ``ready`` reads when its block is used up and says how many elements can be taken;
    ``take`` returns a view of them, valid until the next ``ready``.
    """

    __slots__ = (
        "_buffer",
        "_fd",
        "_high",
        "_left",
        "_low",
        "_path",
        "dtype",
        "fortran",
        "header",
        "shape",
        "size",
    )

    def __init__(self, path: str, buffer: Buffer) -> None:
        self._path, self._buffer = path, buffer
        self._fd = -1
        try:
            self._fd = os.open(path, _FLAGS)
            self._high = _readv(self._fd, [buffer.view])
            self.header = self._check()
        except OSError as error:
            self.close()
            raise FormatError(f"{path}: file must be readable, got {error.strerror}") from error
        except _Refused as error:
            self.close()
            raise FormatError(f"{path}: byte {error.byte}: {error}") from None
        _, self.dtype, self.shape, self.fortran, self.size, self._low, _ = self.header
        self._left = self.size

    def _check(self) -> Header:
        """Parse the header and compare its claim with the file, before anything is allocated."""
        block = self._buffer.view[: self._high]
        header = _headers.get(bytes(block[:_USUAL])) or _parse(block)
        held = self._high
        if header.end > held:
            held = os.fstat(self._fd).st_size
        if header.end > held:
            why = f"file must hold the {header.end} bytes that its header claims, got {held}"
            raise _Refused(held, why)
        return header

    def ready(self) -> int:
        """Return how many elements can be taken now; 0 only at the end."""
        width = self.header.dtype.itemsize
        count = (self._high - self._low) // width
        if count == 0 and self._left:
            self._refill()
            count = (self._high - self._low) // width
        return min(count, self._left)

    def seek(self, first: int, count: int) -> None:
        """Go to element ``first``; only ``count`` elements from there on are handed out."""
        os.lseek(self._fd, self.header.offset + first * self.dtype.itemsize, os.SEEK_SET)
        self._low = self._high = 0
        self._left = count

    def _refill(self) -> None:
        width = self.header.dtype.itemsize
        view = self._buffer.view
        kept = self._high - self._low
        view[:kept] = bytes(view[self._low : self._high])
        want = min(len(view) // width, self._left) * width
        self._low, self._high = 0, kept
        while self._high < want:
            try:
                got = _readv(self._fd, [view[self._high : want]])
            except OSError as error:
                raise FormatError(
                    f"{self._path}: file must be readable, got {error.strerror}"
                ) from error
            if got == 0:
                byte = os.lseek(self._fd, 0, os.SEEK_CUR)
                raise FormatError(
                    f"{self._path}: byte {byte}: file must hold the {self.header.end} bytes that"
                    " its header claims, got the end of the file; is it still being written?"
                )
            self._high += got

    def take(self, count: int) -> NDArray[Any]:
        """Return the next ``count`` elements, at most what `ready` announced."""
        array = np.frombuffer(self._buffer.data, self.header.dtype, count, self._low)
        self._low += count * self.header.dtype.itemsize
        self._left -= count
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
            if self.header.name == "bfloat16":
                array = array.view(ml_dtypes.bfloat16)
        elif not array.flags.aligned:
            array = array.copy()
        return array

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Local(threading.local):
    def __init__(self) -> None:
        self.buffer = Buffer()


_local = _Local()


@dataclass(slots=True)
class NpySource:
    """The tensor in one npy file; nothing is read before it is asked for."""

    path: str
    _header: Header | None = field(default=None, init=False, repr=False, compare=False)

    def payload(self, buffer: Buffer) -> Payload:
        """Open the file for reading in blocks; raises FormatError if it is not what it claims."""
        payload = Payload(self.path, buffer)
        self._header = payload.header
        return payload

    def spec(self) -> TensorSpec:
        if self._header is None:  # whoever has measured the file has seen its header already
            self.payload(_local.buffer).close()
        assert self._header is not None
        return TensorSpec(self._header.name, self._header.shape)

    def array(self) -> NDArray[Any]:
        with self.payload(_local.buffer) as payload:
            header = payload.header
            flat = np.empty(header.size, DTYPES[header.name].storage)
            at = 0
            while count := payload.ready():
                flat[at : at + count] = payload.take(count)
                at += count
        return flat.reshape(header.shape, order="F" if header.fortran else "C")


def npy_header(dtype_name: str, shape: tuple[int, ...]) -> bytes:
    """Return header bytes exactly as MindSpore writes them.

    Every dimension is followed by a comma, without blanks; 1 to 64 bytes of padding end in a
    newline and make the whole a multiple of 64. Version 2.0 takes over past 65,535 bytes.
    """
    if dtype_name not in _LETTERS:
        message = f"dtype of an npy file must be one of {sorted(_LETTERS)}, got {dtype_name!r}"
        raise FormatError(message)
    letters = _LETTERS[dtype_name]
    order = "|" if letters in ("b1", "i1", "u1") else "<"
    dims = "".join(f"{dim}," for dim in shape)
    text = f"{{'descr': '{order}{letters}', 'fortran_order': False, 'shape': ({dims}), }}"
    version, width = (b"\x01\x00", 2) if len(text) + 64 < 2**16 else (b"\x02\x00", 4)
    padding = 64 - (8 + width + len(text)) % 64
    length = len(text) + padding
    body = text.encode("ascii") + b" " * (padding - 1) + b"\n"
    return MAGIC + version + length.to_bytes(width, "little") + body


def write_npy(file: BinaryIO, array: NDArray[Any], dtype_name: str) -> None:
    """Write ``array`` in C order as elements of ``dtype_name``, converted if it differs."""
    header = npy_header(dtype_name, array.shape)
    data = np.ascontiguousarray(array, dtype=dtype(dtype_name).storage.newbyteorder("<"))
    file.write(header)
    file.write(data.reshape(-1).view(np.uint8).data)
