"""Files of ``torch.save`` and ``torch_npu.save_npugraph_tensor``: tensors, found without torch.

Such a file is a zip archive of uncompressed entries: ``{name}/data.pkl`` describes the tensors
(`workbench.dump.formats.torch_pickle`), ``{name}/data/{key}`` are bytes of storages. Sizes are checked against the
file before anything is allocated. Layout: torch ``inline_container.cc``, zip by PKWARE's note.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import numpy as np

from workbench.core.dtypes import data_type_of
from workbench.core.errors import FormatError
from workbench.core.files import fill, open_listed
from workbench.dump.formats.torch_pickle import MAX_PICKLE, PickleError, read_pickle
from workbench.dump.payload.extent import Extent, is_c_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.dump.formats.torch_pickle import Saved

SUFFIXES = (".pt", ".pth", ".bin")

_LOCAL = b"PK\3\4"
_TAIL = 1 << 17
"""More than the end of an archive can have, with the longest remark."""

_MAX_LIST = 1 << 18
"""Bytes of a list of entries that is read: more than the tensors of `MAX_PICKLE` need, and 3 MiB of memory."""


class Entry(NamedTuple):
    """An entry of the archive: where its own header lies, its bytes, and the checksum of them."""

    local: int
    size: int
    checksum: int


def locate(path: str) -> tuple[Extent, ...]:
    """Extents of the tensors of a file, in the order of its list.

    Raises FormatError if it is no such file, or holds anything but a tensor or a list of tensors.
    """
    with open_listed(path) as file:
        archive = _Archive(file, path)
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


class _Sparing:
    """A file as `zipfile` reads it: its list of entries is read at once, and costs ten times its bytes."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file, self._path = file, path
        self.seek, self.tell = file.seek, file.tell

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return bytes as a file does; all that are left is the end of the file, which is short."""
        if size > _MAX_LIST:
            values = {"subject": "list of entries", "got": size, "limit": _MAX_LIST}
            raise FormatError("core/too-large", place=f"{self._path}: byte {self.tell()}", **values)
        return self._file.read(size if size >= 0 else _TAIL)


class _Archive:
    """An open file's list of entries."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file, self._path = file, path
        self._held = os.fstat(file.fileno()).st_size
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
            with zipfile.ZipFile(cast("BinaryIO", _Sparing(self._file, self._path))) as found:
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
            if one.flag_bits & 1 or one.compress_type or one.compress_size != one.file_size:
                raise self.refused(one.header_offset, "dump/pt-compressed")
            yield one.filename, Entry(one.header_offset, one.file_size, one.CRC)

    def place(self, name: str) -> int:
        """Where the content of an entry begins; checked against the file."""
        entry = self.entries[name]
        head = self._read(entry.local, 30)
        if head[:4] != _LOCAL:
            raise self.refused(entry.local, "dump/pt-magic", got=head[:4], expected=_LOCAL)
        name_size, more_size = struct.unpack_from("<HH", head, 26)
        start = entry.local + 30 + name_size + more_size
        if start + entry.size > self._held:
            end = start + entry.size
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
