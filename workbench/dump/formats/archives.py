"""Archives of tensors, found without unpickling and without unpacking: files of torch and of NumPy.

Both are zip archives. Of ``torch.save`` and ``torch_npu.save_npugraph_tensor`` the entries lie uncompressed:
``{name}/data.pkl`` describes the tensors (`workbench.dump.formats.torch_pickle`), ``{name}/data/{key}`` are bytes of
storages. ``numpy.savez`` writes an npy file an entry, ``savez_compressed`` deflates it. Sizes are checked against the
file before anything is allocated, and no entry is ever written to disk. Layout: torch ``inline_container.cc``,
NumPy's ``_npyio_impl.py``, zip by PKWARE's note.
"""

from __future__ import annotations

import math
import struct
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.dtypes import data_type_of
from workbench.core.errors import FormatError
from workbench.core.files import fill, open_listed, size_of
from workbench.dump.formats.npy import HEADER_LIMIT, parse_header
from workbench.dump.formats.torch_pickle import MAX_PICKLE, PickleError, read_pickle
from workbench.dump.payload.blocks import ExtentSource, as_given, native
from workbench.dump.payload.extent import Extent, is_c_order, spec_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.core.tensors import Source, TensorSpec
    from workbench.dump.formats.torch_pickle import Saved


_LOCAL = b"PK\3\4"
_TAIL = 1 << 17
"""More than the end of an archive can have, with the longest remark."""

_USUAL_HEADER = 256
"""Bytes that hold the header of nearly every npy file."""

_DEFLATED = 8
_MOST_TIMES = 1032
"""How many times its own bytes a deflated entry can be (zlib's ``Technical details``)."""

MAX_PACKED = 1 << 31
"""Most bytes of a deflated tensor, which is unpacked in memory."""

_MAX_LIST = 1 << 18
"""Bytes of a list of entries that is read: more than the tensors of `MAX_PICKLE` need, and 3 MiB of memory."""

_MAX_NPZ_LIST = 1 << 24
"""The same of NumPy's archives, where every tensor is an entry: some hundred thousand, and 200 MiB of memory."""


class Entry(NamedTuple):
    """An entry of the archive: its own header's place, its bytes and their checksum, and as how many bytes they lie."""

    local: int
    size: int
    checksum: int
    packed: int = -1

    @property
    def is_packed(self) -> bool:
        """Whether its bytes are deflated."""
        return self.packed >= 0


def locate(path: str) -> tuple[Extent, ...]:
    """Extents of the tensors of a file, in the order of its list.

    Raises FormatError if it is no such file, or holds anything but a tensor or a list of tensors.
    """
    with open_listed(path) as file:
        archive = _Archive(file, path)
        packed = next((one for one in archive.entries.values() if one.is_packed), None)
        if packed is not None:
            raise archive.refused(packed.local, "dump/pt-compressed")
        found = [
            name for name in archive.entries if name.count("/") == 1 and name.endswith("/data.pkl")
        ]
        if len(found) != 1:
            raise archive.refused(0, "dump/pt-pickles", got=len(found))
        (name,) = found
        root = name.removesuffix("data.pkl")
        order = (
            archive.content(f"{root}byteorder", 16)
            if f"{root}byteorder" in archive.entries
            else b"little"
        )
        if order != b"little":
            raise archive.refused(0, "dump/pt-byteorder", got=order[:16])
        data = archive.content(name, MAX_PICKLE)
        try:
            saved = read_pickle(data)
        except PickleError as error:
            byte = archive.place(name) + error.byte
            raise archive.refused(byte, error.code, **error.values) from error
        return tuple(archive.extent(one, f"{root}data/{one.key}") for one in saved)


def locate_npz(path: str) -> Iterator[tuple[str, Source | FormatError]]:
    """Yield the tensors of an archive of NumPy by their names, or why one cannot be had.

    Raises FormatError if it is no archive. Nothing is unpickled; of entries no more than headers is read.
    """
    with open_listed(path) as file:
        archive = _Archive(file, path, _MAX_NPZ_LIST)
        for name, entry in archive.entries.items():
            if not name.endswith(".npy"):
                continue
            try:
                yield name.removesuffix(".npy"), archive.tensor(name, entry)
            except FormatError as error:
                yield name.removesuffix(".npy"), error


@dataclass(frozen=True, slots=True)
class PackedSource:
    """A deflated tensor: ``extent`` is its place in the entry, ``packed`` bytes of the file from ``start`` on."""

    extent: Extent
    start: int
    packed: int

    @property
    def place(self) -> None:
        """Its bytes lie nowhere as they are."""

    def spec(self) -> TensorSpec:
        return spec_of(self.extent)

    def array(self) -> NDArray[Any]:
        one = self.extent
        with open_listed(one.path) as file:
            data = fill(file, self.start, np.empty(self.packed, np.uint8), one.path)
        flat = np.frombuffer(_inflated(data, one.start + one.nbytes, one.path), np.uint8)
        elements = flat[one.start : one.start + one.nbytes].view(one.stored_type)
        return as_given(native(elements, one.dtype.storage) if one.swapped else elements, one)


def _inflated(data: NDArray[np.uint8], size: int, path: str) -> bytes:
    """The first ``size`` bytes of a deflated stream; raises FormatError if it is damaged or has fewer."""
    try:
        found = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data.data, size)
    except zlib.error as error:
        raise FormatError("dump/npz-damaged", place=path, why=error) from error
    except MemoryError as error:
        raise FormatError("dump/file-memory", place=path, got=size) from error
    if len(found) < size:
        raise FormatError("dump/data-end", place=path, end=size, held=len(found))
    return found


class _Sparing:
    """A file as `zipfile` reads it: its list of entries is read at once, and costs ten times its bytes."""

    def __init__(self, file: BinaryIO, path: str, most: int) -> None:
        self._file, self._path, self._most = file, path, most
        self.seek, self.tell = file.seek, file.tell

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return bytes as a file does; all that are left is the end of the file, which is short."""
        if size > self._most:
            values = {"subject": "list of entries", "got": size, "limit": self._most}
            raise FormatError("core/too-large", place=f"{self._path}: byte {self.tell()}", **values)
        return self._file.read(size if size >= 0 else _TAIL)


class _Archive:
    """An open file's list of entries."""

    def __init__(self, file: BinaryIO, path: str, most: int = _MAX_LIST) -> None:
        self._file, self._path, self._most = file, path, most
        self._held = size_of(file)
        self.entries = dict(self._entries())

    def refused(self, byte: int, code: str, **values: Any) -> FormatError:
        return FormatError(code, place=f"{self._path}: byte {byte}", **values)

    def _read(self, start: int, size: int) -> bytes:
        if start < 0 or size < 0 or start + size > self._held:
            raise self.refused(self._held, "dump/data-end", end=start + size, held=self._held)
        return fill(self._file, start, np.empty(size, np.uint8), self._path).tobytes()

    def _entries(self) -> Iterator[tuple[str, Entry]]:
        import zipfile

        wrong = (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error)
        try:
            with zipfile.ZipFile(
                cast("BinaryIO", _Sparing(self._file, self._path, self._most))
            ) as found:
                listed = found.infolist()
        except FormatError:
            raise
        except wrong as error:
            raise self.refused(0, "dump/pt-zip") from error
        for one in listed:
            if (
                one.header_offset < 0
            ):  # zipfile moves all offsets where the list is not where its end says
                raise self.refused(0, "dump/pt-zip")
            stored = not one.compress_type and one.compress_size == one.file_size
            if one.flag_bits & 1 or not (stored or one.compress_type == _DEFLATED):
                raise self.refused(one.header_offset, "dump/pt-compressed")
            packed = -1 if stored else one.compress_size
            yield one.filename, Entry(one.header_offset, one.file_size, one.CRC, packed)

    def place(self, name: str) -> int:
        """Where the content of an entry begins; checked against the file."""
        entry = self.entries[name]
        head = self._read(entry.local, 30)
        if head[:4] != _LOCAL:
            raise self.refused(entry.local, "dump/pt-magic", got=head[:4], expected=_LOCAL)
        name_size, more_size = struct.unpack_from("<HH", head, 26)
        start = entry.local + 30 + name_size + more_size
        size = entry.packed if entry.is_packed else entry.size
        if start + size > self._held:
            end = start + size
            raise self.refused(self._held, "dump/data-end", end=end, held=self._held)
        return int(start)

    def content(self, name: str, most: int) -> bytes:
        """All bytes of a small entry."""
        entry = self.entries[name]
        start = self.place(name)
        if entry.size > most:
            values = {"subject": f"entry {name}", "got": entry.size, "limit": most}
            raise self.refused(start, "core/too-large", **values)
        data = self._read(start, entry.size)
        if zlib.crc32(data) != entry.checksum:
            raise self.refused(start, "dump/pt-checksum", entry=name)
        return data

    def tensor(self, name: str, entry: Entry) -> Source:
        """Find the elements of an entry that is an npy file."""
        start = self.place(name)
        if entry.is_packed and (
            entry.size > MAX_PACKED or entry.size > _MOST_TIMES * (entry.packed + 1)
        ):
            most = min(MAX_PACKED, _MOST_TIMES * (entry.packed + 1))
            values = {"subject": f"entry {name}", "got": entry.size, "limit": most}
            raise self.refused(start, "core/too-large", **values)
        try:
            extent = self._header(start, entry)._replace(path=self._path)
        except FormatError as error:
            raise error.at(f"{self._path}: {name}") from error
        if extent.start + extent.nbytes != entry.size:
            held, needed = entry.size - extent.start, extent.nbytes
            raise self.refused(start, "dump/npz-size", entry=name, needed=needed, held=held)
        if entry.is_packed:
            return PackedSource(extent, start, entry.packed)
        return ExtentSource(extent._replace(start=start + extent.start))

    def _header(self, start: int, entry: Entry) -> Extent:
        """What the header of an entry says, nearly all of which are short."""
        try:
            return parse_header(self._head(start, entry, _USUAL_HEADER).data)
        except FormatError:
            return parse_header(self._head(start, entry, HEADER_LIMIT + 12).data)

    def _head(self, start: int, entry: Entry, most: int) -> NDArray[np.uint8]:
        """The first bytes of an entry."""
        if not entry.is_packed:
            return np.frombuffer(self._read(start, min(entry.size, most)), np.uint8)
        data = self._read(start, min(entry.packed, HEADER_LIMIT + 12))
        try:
            found = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, most)
        except zlib.error as error:
            raise FormatError("dump/npz-damaged", place=self._path, why=error) from error
        return np.frombuffer(found, np.uint8)

    def extent(self, saved: Saved, name: str) -> Extent:
        """Find the elements of a tensor."""
        if name not in self.entries:
            raise self.refused(0, "dump/pt-missing", entry=name)
        start, row = self.place(name), data_type_of(saved.dtype)
        held = self.entries[name].size * 8 // row.bits
        count, offset = math.prod(saved.shape), saved.offset
        pairs = zip(saved.shape, saved.strides, strict=True)
        span = 1 + sum((dim - 1) * stride for dim, stride in pairs) if count else 0
        if count and offset + span > held:
            raise self.refused(start, "dump/pt-storage", needed=offset + span, held=held)
        strides = None if is_c_order(saved.shape, saved.strides) else saved.strides
        if count > held and strides is not None:
            raise self.refused(start, "dump/pt-elements", got=count, held=held)
        first = start + offset * row.bits // 8 if count else start
        size = span * row.bits // 8
        return Extent(self._path, first, size, row, span, saved.shape, strides=strides)
