"""Core files of failed kernels, ``.core``: device memory as sections of an ELF file.

``aic_err_detail_dump`` writes them. As adump's ``dump_ELF.cpp`` and ``dump_core.cpp`` do, a file has no
program headers: every piece of global memory is a section ``.ascend.global``, and one section
``.ascend.auxinfo.global`` says what each of them was. A real device adds the memories and the registers of
its cores and the kernel itself, which are listed here and not taken apart. `core_bytes` writes none
of these, since nothing simulates them.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.errors import FormatError
from workbench.core.files import fill, open_listed, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MACHINE = 0x1029
"""ELF's number of the machine: Ascend."""

CHIPS = {1: "910A", 4: "310P", 5: "A2, A3", 14: "950"}
"""Kind of chip by the driver's number, as far as this package knows the device."""

_CORE, _STRINGS, _USER = 4, 3, 0x80000000
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_DEVICE = struct.Struct("<4Q2I")
_MEMORY = struct.Struct("<QQIHH")
_SHAPE = struct.Struct("<2I25Q")
_AUX = _MEMORY.size + _SHAPE.size
_MAX_DIMS = 25
_MAX_TEXT, _LONGEST = 1 << 20, 255
_INVALID = 1 << 63
_ALIGNED = 16

GLOBAL, DEVICE, AUXILIARY, KERNEL = (
    ".ascend.global",
    ".ascend.devtbl",
    ".ascend.auxinfo.global",
    ".ascend.kernel_info",
)
_TYPES = {GLOBAL: 1, DEVICE: 4, AUXILIARY: 5, KERNEL: 10}
"""Section → its type, counted from the first one that ELF leaves to users."""


class Memory(NamedTuple):
    """A piece of a device's global memory.

    ``kind`` is a key of `workbench.dump.reports.exception.ROLES`; ``start`` is the byte of the file where its
    ``size`` bytes begin. Of what is not ``valid`` the device could not read the bytes: they are zeros.
    """

    kind: int
    address: int
    size: int
    shape: tuple[int, ...] = ()
    valid: bool = True
    start: int = -1


class Section(NamedTuple):
    """A section of a core file by its name: where it lies, and what it points to."""

    name: str
    start: int
    size: int
    info: int = 0
    address: int = 0


@dataclass(frozen=True, slots=True)
class Core:
    """What a core file holds.

    ``cubes`` and ``vectors`` are the cores that stood still, by number. ``memories`` are the pieces of
    global memory; ``sections`` are all there are.
    """

    kernel: str = ""
    device: int = 0
    chip: int = 0
    cubes: tuple[int, ...] = ()
    vectors: tuple[int, ...] = ()
    memories: tuple[Memory, ...] = ()
    sections: tuple[Section, ...] = ()


# ---------------------------------------------------------------- writing


def core_bytes(core: Core, contents: Sequence[bytes]) -> bytes:
    """Return the file of a core; ``contents`` are the bytes of its memories, in their order."""
    sections: list[tuple[str, bytes, int, int, int]] = [("", b"", 0, 0, 0)]
    sections.append((DEVICE, _device(core), 0, 0, 0))
    aux = len(sections) + len(core.memories)
    described = b""
    for at, (memory, data) in enumerate(zip(core.memories, contents, strict=True)):
        described += _described(memory, len(sections))
        sections.append((GLOBAL, data, memory.address, aux, at))
    sections.append((AUXILIARY, described, 0, 0, 0))
    name = core.kernel.encode("utf-8", "surrogateescape")
    sections.append((KERNEL, struct.pack("<I", len(name)) + name, 0, 0, 0))
    return _file(sections)


def _device(core: Core) -> bytes:
    words = [0, 0, 0, 0]
    for at, numbers in ((0, core.cubes), (2, core.vectors)):
        for number in numbers:
            words[at + number // 64] |= 1 << number % 64
    return _DEVICE.pack(*words, core.device, core.chip)


def _described(memory: Memory, section: int) -> bytes:
    size = memory.size | (0 if memory.valid else _INVALID)
    dims = [*memory.shape, *[0] * (_MAX_DIMS - len(memory.shape))]
    head = _MEMORY.pack(memory.address, size, section, memory.kind, 0)
    return head + _SHAPE.pack(len(memory.shape), 0, *dims)


def _file(sections: Sequence[tuple[str, bytes, int, int, int]]) -> bytes:
    """Lay sections out: header, contents one after the other, names, then the table."""
    names, text = {"": 0}, b"\0"
    for name in (*(section[0] for section in sections), ".shstrtab"):
        if name not in names:
            names[name] = len(text)
            text += name.encode() + b"\0"
    body, table, at = [], [], _HEADER.size
    for name, data, address, link, info in (*sections, (".shstrtab", text, 0, 0, 0)):
        kind = _USER + _TYPES[name] if name in _TYPES else _STRINGS if name else 0
        entry = _AUX if name == AUXILIARY else 0
        row = (names[name], kind, 0, address, at, len(data), link, info, 0, entry)
        table.append(_SECTION.pack(*row))
        body.append(data)
        at += len(data)
    padding = -at % _ALIGNED
    header = _HEADER.pack(
        b"\x7fELF\2\1\1".ljust(16, b"\0"), _CORE, MACHINE, 1, 0, 0, at + padding, 0,
        _HEADER.size, 0, 0, _SECTION.size, len(table), len(table) - 1,
    )  # fmt: skip
    return b"".join((header, *body, bytes(padding), *table))


# ---------------------------------------------------------------- reading


def read_core(path: str | os.PathLike[str]) -> Core:
    """Read what a core file holds, without the memory itself.

    Raises FormatError (``path: byte N: …``) if it is no ELF core of an Ascend, or is not whole.
    """
    where = os.fspath(path)
    with open_listed(where) as file:
        return _Reader(file, size_of(file), where).core()


class _Reader:
    """One file; nothing outside of it is believed."""

    def __init__(self, file: BinaryIO, held: int, where: str) -> None:
        self._file, self._held, self._where = file, held, where

    def core(self) -> Core:
        sections = self._sections()
        cubes, vectors, device, chip = self._device(sections)
        return Core(
            self._kernel(sections), device, chip, cubes, vectors,
            tuple(self._memories(sections)), tuple(sections),
        )  # fmt: skip

    def _wrong(self, at: int, code: str, **values: object) -> FormatError:
        return FormatError(code, place=f"{self._where}: byte {at}", **values)

    def _bytes(self, start: int, size: int, what: str) -> bytes:
        if start + size > self._held:
            raise self._wrong(start, "dump/core-cut", subject=what, held=self._held)
        return fill(self._file, start, np.empty(size, np.uint8), self._where).tobytes()

    def _too_large(self, at: int, subject: str, got: int, limit: int) -> FormatError:
        return self._wrong(at, "core/too-large", subject=subject, got=got, limit=limit)

    def _sections(self) -> list[Section]:
        head = self._bytes(0, _HEADER.size, "ELF header")
        magic, kind, machine, *_, table, _, _, _, _, entry, count, text = _HEADER.unpack(head)
        if magic[:7] != b"\x7fELF\2\1\1" or kind != _CORE:
            raise self._wrong(0, "dump/core-kind")
        if machine != MACHINE:
            raise self._wrong(18, "dump/core-machine", got=machine, expected=MACHINE)
        if entry != _SECTION.size or not 0 < text < count:
            raise self._wrong(58, "dump/core-table", rows=count, size=entry)
        data = self._bytes(table, entry * count, "section table")
        rows = [_SECTION.unpack_from(data, entry * at) for at in range(count)]
        for at, row in enumerate(rows):
            if row[4] + row[5] > self._held:
                place, subject = table + entry * at, f"section {at}"
                raise self._wrong(place, "dump/core-cut", subject=subject, held=self._held)
        return self._named(rows, rows[text])

    def _named(self, rows: Iterable[tuple[int, ...]], text: tuple[int, ...]) -> list[Section]:
        if text[5] > _MAX_TEXT:
            raise self._too_large(text[4], "list of section names", text[5], _MAX_TEXT)
        names = self._bytes(text[4], text[5], "list of section names")
        found = []
        for row in rows:
            if row[0] >= len(names):
                raise self._wrong(text[4], "dump/core-name", got=row[0], held=len(names))
            name = names[row[0] : row[0] + _LONGEST].partition(b"\0")[0]
            found.append(Section(name.decode("utf-8", "replace"), row[4], row[5], row[7], row[3]))
        return found

    def _device(
        self, sections: Iterable[Section]
    ) -> tuple[tuple[int, ...], tuple[int, ...], int, int]:
        for section in sections:
            if section.name == DEVICE:
                data = self._bytes(section.start, _DEVICE.size, "device table")
                *words, device, chip = _DEVICE.unpack(data)
                cubes, vectors = (words[0] | words[1] << 64), (words[2] | words[3] << 64)
                return _bits(cubes), _bits(vectors), device, chip
        return (), (), 0, 0

    def _kernel(self, sections: Iterable[Section]) -> str:
        for section in sections:
            if section.name == KERNEL and section.size >= 4:
                (length,) = struct.unpack("<I", self._bytes(section.start, 4, "kernel name"))
                if length > (limit := min(section.size - 4, _MAX_TEXT)):
                    raise self._too_large(section.start, "kernel name", length, limit)
                return self._bytes(section.start + 4, length, "kernel name").decode(
                    "utf-8", "replace"
                )
        return ""

    def _memories(self, sections: Sequence[Section]) -> Iterator[Memory]:
        for section in [one for one in sections if one.name == AUXILIARY][:1]:
            if section.size % _AUX or section.size // _AUX > len(sections):
                at, got = section.start, section.size
                raise self._wrong(at, "dump/core-descriptions", got=got, size=_AUX)
            data = self._bytes(section.start, section.size, "list of memory descriptions")
            for at in range(0, len(data), _AUX):
                yield self._memory(data[at : at + _AUX], section.start + at, sections)

    def _memory(self, data: bytes, at: int, sections: Sequence[Section]) -> Memory:
        address, size, number, kind, _ = _MEMORY.unpack_from(data)
        count, _, *dims = _SHAPE.unpack_from(data, _MEMORY.size)
        if number >= len(sections) or sections[number].name != GLOBAL:
            raise self._wrong(at + 16, "dump/core-section", got=number, expected=GLOBAL)
        valid, size = not size & _INVALID, size & ~_INVALID
        if size > sections[number].size:
            held = sections[number].size
            raise self._wrong(at + 8, "dump/core-memory", needed=size, held=held)
        shape = tuple(dims[:count]) if kind in _SHAPED and count <= _MAX_DIMS else ()
        return Memory(kind, address, size, shape, valid, sections[number].start)


_SHAPED = frozenset((0, 1, 2, 3, 7, 12))
"""Kinds of memory that are described by a shape; others share its place with the number of a core."""


def _bits(word: int) -> tuple[int, ...]:
    return tuple(at for at in range(word.bit_length()) if word >> at & 1)
