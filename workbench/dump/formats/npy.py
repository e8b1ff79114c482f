"""npy files: our own header parser, payloads read block by block, and MindSpore's own header.

Contract (``tests/dump/formats/test_npy.py``): a header is believed only as far as the file holds; nothing
is allocated before that is known; nothing is unpickled; every refusal of content is a FormatError
that starts with ``path: byte N``. Headers are parsed once per distinct text, which is what makes
thousands of small files cheap. MindSpore's spelling follows its ``npy_header.cc``.
"""

from __future__ import annotations

import math
import re
import threading
from dataclasses import field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from workbench._values import dataclass
from workbench.core.dtypes import DTYPES, data_type_of, dtype, names_by
from workbench.core.errors import FormatError
from workbench.core.files import file_size, fill, open_file, unreadable
from workbench.core.formats import FORMATS, FormatWord, c0_of
from workbench.dump import payload
from workbench.dump.payload.blocks import Buffer, FileReader, FileSource, array, as_given, reading
from workbench.dump.payload.extent import Extent, HostLayout, fortran_strides, is_c_order, spec_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.core.tensors import TensorSpec
    from workbench.dump.payload.blocks import Reading

MAGIC = b"\x93NUMPY"
HEADER_LIMIT = 65_535
"""Most bytes of a header that is read."""
_PRINTED = 1 << 16
_MAX_DIMS = 32
_VERSIONS = (b"\x01\x00", b"\x02\x00", b"\x03\x00")
_ITEM = re.compile(
    r"""\s*(['"])(descr|fortran_order|shape)\1\s*:\s*(?:(['"])([^'"]*)\3|(True|False)|\(([^()]*)\))\s*(,?)"""
)
_SHAPE = re.compile(r"\s*(?:\d{1,19}L?\s*,\s*)*(?:\d{1,19}L?\s*)?")

_NAMES = names_by("npy")
"""Type letters of an npy header → number format."""


_headers: dict[bytes, Extent] = {}
"""Headers by all their bytes, so that any of the usual length is found by its first 128."""

_USUAL = 128
_CACHE_LIMIT = 4096


def parse_header(block: memoryview) -> Extent:
    """Return the header that ``block`` starts with; raises FormatError at the byte."""
    head = bytes(block[:12])
    if head[:6] != MAGIC:
        raise FormatError("dump/npy-magic", place="byte 0", got=head[:6])
    if len(head) == 12 and head[6:8] not in _VERSIONS:
        raise FormatError("dump/npy-version", place="byte 6", major=head[6], minor=head[7])
    start = 10 if head[6:7] == b"\x01" else 12
    length = int.from_bytes(head[8:start], "little")
    if len(head) == 12 and length > HEADER_LIMIT:
        raise FormatError(
            "core/too-large",
            place="byte 8",
            subject="npy header",
            got=length,
            limit=HEADER_LIMIT,
        )
    key = bytes(block[: start + length])
    if len(key) < start + max(length, 2):
        raise FormatError("dump/npy-header-cut", place=f"byte {len(block)}")
    header = _headers.get(key)
    if header is None:
        text = key[start:].decode("utf-8" if key[6] == 3 else "latin-1", "replace")
        header = _understand(text, start, start + length)
        if len(_headers) >= _CACHE_LIMIT:
            _headers.clear()
        _headers[key] = header
    return header


def _understand(text: str, start: int, offset: int) -> Extent:
    items = _items(text, start)
    order, letters = items["descr"][:1], items["descr"][1:]
    if order not in "<>|=":
        order, letters = "|", items["descr"]
    name = _NAMES.get(letters)
    if name is None:
        raise FormatError("dump/npy-descr", place=f"byte {start}", got=items["descr"])
    row = data_type_of(name)
    width, shape = row.storage.itemsize, _shape(items["shape"], start)
    count = math.prod(shape)
    if math.prod(dim or 1 for dim in shape) * width >= 2**63:
        raise FormatError("dump/npy-shape-bytes", place=f"byte {start}", got=shape)
    strides = fortran_strides(shape) if items["fortran_order"] == "True" else None
    if strides is not None and is_c_order(shape, strides):
        strides = None
    swapped = order == ">" and width > 1
    return Extent("", offset, count * width, row, count, shape, strides=strides, swapped=swapped)


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
        raise FormatError("dump/npy-header", place=f"byte {start}", got=body[:120])
    return items


def _shape(text: str, start: int) -> tuple[int, ...]:
    if not _SHAPE.fullmatch(text):
        raise FormatError("dump/npy-shape", place=f"byte {start}", got=f"({text[:80]})")
    shape = tuple(int(part.strip().rstrip("L")) for part in text.split(",") if part.strip())
    if len(shape) > _MAX_DIMS:
        raise FormatError(
            "dump/dimensions",
            place=f"byte {start}",
            subject="shape",
            got=len(shape),
            limit=_MAX_DIMS,
        )
    return shape


class _Local(threading.local):
    def __init__(self) -> None:
        self.buffer = Buffer()


_local = _Local()


def _header(block: memoryview) -> Extent:
    """Return what the header says that a file begins with; raises FormatError at the byte."""
    return _headers.get(bytes(block[:_USUAL])) or parse_header(block)


@dataclass(slots=True)
class NpySource(FileSource):
    """The tensor in one npy file; nothing is read before it is asked for.

    ``device`` is the device format that the file's name says, ``dtype`` the number format there, ``stated`` what a
    graph says of the host. O0 and O1 of MindSpore write such files with ``trans_flag`` false: the header has the
    device's shape, and only the graph knows the host's. O2 leaves so what it cannot convert: the header has the
    host's shape, and more elements may follow than it claims.
    """

    path: str
    device: FormatWord | None = None
    dtype: str = ""
    stated: HostLayout | None = None
    _found: Extent | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def is_device_format(self) -> bool:
        return self.device is not None

    def with_host(self, stated: HostLayout) -> NpySource:
        return NpySource(self.path, self.device, self.dtype, stated)

    def located(self) -> Extent:
        found = self._extent
        return found if found.path else found._replace(path=self.path)

    @property
    def _extent(self) -> Extent:
        """Where the elements lie; of a usual file without its path, which only readers of parts need."""
        if self._found is None:  # whoever has measured the file has seen its header already
            self.payload(_local.buffer).close()
        assert self._found is not None
        return self._found

    def spec(self) -> TensorSpec:
        return spec_of(self._extent)

    def payload(self, buffer: Buffer) -> FileReader:
        """Open the file behind its header; raises FormatError if it is not what it claims."""
        reader = FileReader(self.path, buffer, _header)
        try:
            self._found = self._located(reader.extent)
        except FormatError:
            reader.close()
            raise
        return reader

    def _located(self, header: Extent) -> Extent:
        """Where the elements lie; a header that tells it is the same value for all files that have it, without path."""
        if self.device is None:
            return header
        laid = _on_device(header._replace(path=self.path), self.device, self.dtype)
        return payload.with_host(laid, self.stated)

    def reading(self, buffer: Buffer) -> Reading | None:
        reader = self.payload(buffer)
        extent = self._extent if self._found is None else self._found
        if extent.strides is None and extent.host is None:
            return reader
        reader.close()
        return reading(self.located(), buffer)

    def array(self) -> NDArray[Any]:
        with self.payload(_local.buffer) as reader:
            extent = self.located()
            if extent.host is None:
                flat, at = np.empty(reader.size, reader.dtype), 0
                while count := reader.available():
                    flat[at : at + count] = reader.read(count)
                    at += count
                return as_given(flat, extent)
        return array(extent)


def _on_device(header: Extent, device: FormatWord, dtype: str) -> Extent:
    """Extent of all elements of a file in a device format; raises FormatError if their number fits nothing."""
    held = (file_size(header.path) - header.start) // header.dtype.storage.itemsize
    row, name = FORMATS[device.name], dtype or header.dtype.name
    c0 = 16 if "P" in row.device else row.c0 or c0_of(name)
    exact, laid = held == header.size, header._replace(format=device)
    if exact and (len(header.shape) == 1 or _is_device_shape(header.shape, device, c0)):
        return laid  # flat: a sample of its first elements, or left so
    if header.strides is None:
        whole = laid._replace(
            nbytes=held * header.dtype.storage.itemsize,
            size=held,
            shape=(held,),
            format=device if "P" in row.device else device._replace(c0=c0),
            originals=(HostLayout(header.shape),),
        )
        found = payload.with_host(whole)
        if found.host is not None:
            return found
    if not exact:
        raise FormatError(
            "dump/npy-elements",
            place=f"{header.path}: byte {header.start}",
            shape=header.shape,
            format=device.name,
            held=held,
        )
    return laid


def _is_device_shape(shape: tuple[int, ...], device: FormatWord, c0: int) -> bool:
    """Whether a shape is one of the device format: as many dimensions, C0 last."""
    row = FORMATS[device.name]
    more = len(shape) - len(row.device.split())
    return (more == 0 or (row.axes == "RC" and more > 0)) and shape[-1] == c0


def fingerprint(path: str) -> tuple[int, bytes]:
    """Size and first 64 KiB of the payload of an npy file.

    Headers are left out because a Reshape output carries its input's shape. Raises FormatError if
    the file cannot be read or is no npy file.
    """
    try:
        with open_file(path, "tensor") as file:
            start = _payload_start(file, path)
            payload = file.read(_PRINTED)
            return file.seek(0, 2) - start, payload
    except OSError as error:
        raise unreadable(path, error, "tensor") from error


def payload_as(path: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """All whole elements of type ``dtype`` behind the header, flat; raises FormatError as above."""
    try:
        with open_file(path, "tensor") as file:
            start = _payload_start(file, path)
            count = (file.seek(0, 2) - start) // dtype.itemsize
            flat = np.empty(count, dtype)
            fill(file, start, flat.view(np.uint8), path)
            return flat
    except OSError as error:
        raise unreadable(path, error, "tensor") from error


def _payload_start(file: BinaryIO, path: str) -> int:
    """Leave the file at its payload and return where that is."""
    head = file.read(12)
    if head[:6] != MAGIC:
        raise FormatError("dump/npy-magic", place=f"{path}: byte 0", got=head[:6])
    wide = head[6:7] > b"\x01"
    start = (12 if wide else 10) + int.from_bytes(head[8:12] if wide else head[8:10], "little")
    return file.seek(start)


def npy_header(dtype_name: str, shape: tuple[int, ...]) -> bytes:
    """Return header bytes exactly as MindSpore writes them.

    Every dimension is followed by a comma, without blanks; 1 to 64 bytes of padding end in a
    newline and make the whole a multiple of 64. Version 2.0 takes over past 65,535 bytes.
    """
    letters = DTYPES[dtype_name].npy if dtype_name in DTYPES else ""
    if not letters:
        known = sorted(_NAMES.values())
        raise FormatError("core/choice", subject="npy dtype", got=dtype_name, known=known)
    order = "|" if letters in ("b1", "i1", "u1") else "<"
    dims = "".join(f"{dim}," for dim in shape)
    text = f"{{'descr': '{order}{letters}', 'fortran_order': False, 'shape': ({dims}), }}"
    version, width = (b"\x01\x00", 2) if len(text) + 64 < 2**16 else (b"\x02\x00", 4)
    padding = 64 - (8 + width + len(text)) % 64
    length = len(text) + padding
    body = text.encode("ascii") + b" " * (padding - 1) + b"\n"
    return MAGIC + version + length.to_bytes(width, "little") + body


def save_npy(file: BinaryIO, array: NDArray[Any]) -> None:
    """Write an array in C order as `numpy.save` does, but to the end or not at all.

    `numpy.save` leaves a file's elements to a buffer of C, and on a full disk loses a small array without an error.
    """
    data = np.ascontiguousarray(array).reshape(array.shape)
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(data))
    file.write(data.reshape(-1).view(np.uint8).data)


def write_npy(
    file: BinaryIO, array: NDArray[Any], dtype_name: str, shape: tuple[int, ...] | None = None
) -> None:
    """Write ``array`` in C order as elements of ``dtype_name``, converted if it differs.

    ``shape`` is what the header says, if that is not the array's own.
    """
    header = npy_header(dtype_name, array.shape if shape is None else shape)
    data = np.ascontiguousarray(array, dtype=dtype(dtype_name).storage.newbyteorder("<"))
    file.write(header)
    file.write(data.reshape(-1).view(np.uint8).data)
