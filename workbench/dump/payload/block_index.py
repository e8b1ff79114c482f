"""Which tensors a container holds, found quickly; their data as a comparison wants them.

A header that is sound and belongs to its file is read with one call, as far as an index needs it; whatever
else a file is, `workbench.dump.formats.container` says with its byte. Data in a device format are converted where
the container states the host's shape: of the host formats that give just this device shape the one
that is meant is the graph's, else the first that `workbench.dump.payload.host_formats` has.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, cast

from workbench.core.dtypes import DATA_TYPES
from workbench.core.errors import FormatError
from workbench.core.files import open_descriptor, unreadable
from workbench.core.formats import FORMATS, format_text, read_format
from workbench.core.tensors import TensorSpec
from workbench.core.transdata import to_host
from workbench.dump.formats.container import read_container
from workbench.dump.formats.container_entries import Block, Container, element_count
from workbench.dump.formats.container_header import BLOCKS, parse_short
from workbench.dump.payload.container_source import ContainerSource
from workbench.dump.payload.elements import Elements, known_elements, known_pieces
from workbench.dump.payload.host_formats import host_by_shape
from workbench.dump.payload.ordered import rearranged
from workbench.dump.payload.reading import FileSource
from workbench.dump.payload.route import Layout, Route

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from workbench.core.tensors import Io
    from workbench.core.words import Message
    from workbench.dump.payload.reading import Buffer, Reading

MAX_TENSORS = 1 << 12
"""Most tensors of one operator; a header that claims more is refused."""

_VERSIONS = (b"1.0", b"2.0")
_FIRST = 4096
_LONGEST = 1 << 16
_FLAGS = getattr(os, "O_NOFOLLOW", 0)

Held = tuple[TensorSpec, bool]
"""A tensor of a container: its number format and its format there, and whether axes are cut in blocks."""

Side = tuple[Held, ...]
"""Tensors of a container by slot."""


@dataclass(slots=True)
class BlockSource(FileSource):
    """The data of one tensor of a container, in the host's format where it can be had.

    ``label`` is what is known without decoding the header: a shape of ``None`` is asked for when needed,
    and with it the format that the data come in. ``is_cut`` says that the file holds a device format,
    ``host`` is what the graph states of the tensor there.
    """

    path: str
    io: Io
    slot: int
    label: TensorSpec
    is_cut: bool = False
    host: TensorSpec | None = None

    def spec(self) -> TensorSpec:
        if self.label.shape is None:
            self.label = _spec(self._block(), self._preferred())
        return self.label

    def array(self) -> NDArray[Any]:
        block = self._block()
        array = known_elements(ContainerSource(self.path, block).array())
        host = host_format(block, self._preferred())
        if not host:
            return array
        groups = max(1, block.sub_format)
        shape = cast("tuple[int, ...]", block.original_shape)
        return to_host(array, block.layout.name, host, shape, groups=groups)

    def reading(self, buffer: Buffer) -> Reading:
        block = self._block()
        self.label = _spec(block, self._preferred())  # whoever compares asks for it, too
        row, shape = ContainerSource(self.path, block).ready()
        elements = Elements(self.path, block.start, row, element_count(shape))
        host = host_format(block, self._preferred())
        if not host:
            return elements.reading(buffer, shape)
        origin = Layout(host, cast("tuple[int, ...]", block.original_shape))
        c0 = shape[-1] if len(shape) > 1 else None
        source = Layout(block.layout.name, shape, max(1, block.sub_format), c0)
        route = Route(source, origin, tuple(range(len(origin.shape))))
        return known_pieces(rearranged(elements, route, TemporaryFile), row, origin.shape)

    def origin(self) -> tuple[str, int] | None:
        """Operator and slot of the network's tensor that an output is, as far as the file says."""
        origin = self._block().origin
        return (origin.name, origin.output_index) if origin is not None and origin.name else None

    def settle(self, host: TensorSpec, groups: int | None = None) -> None:
        if self.is_cut and host != self.host:
            self.host = host
            self.label = self.label._replace(shape=None)

    def _block(self) -> Block:
        """Header of the tensor; with the host's shape as it was told, if it states none that fits."""
        blocks = held_container(self.path).part(self.io)
        if self.slot >= len(blocks):
            place, missing = f"{self.path}: byte 8", f"{self.io} {self.slot}"
            raise FormatError("dump/file-changed", place=place, missing=missing)
        block, told = blocks[self.slot], self.host.shape if self.host is not None else None
        if told is None or host_format(block, self._preferred()):
            return block
        return block._replace(original_shape=told)

    def _preferred(self) -> str:
        return self.host.format if self.host is not None else ""


def block_source(path: str, block: Block) -> BlockSource:
    """Return the source of a container's tensor."""
    held = _held(block.data_type, block.format)
    return BlockSource(path, cast("Io", block.part), block.slot, *held)


def held_container(path: str) -> Container:
    """Header of a container; that of one and the same file is kept for a while."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise unreadable(path, error) from error
    return _container(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=64)
def _container(path: str, _time: int, _size: int) -> Container:
    return read_container(path)


def held_tensors(path: str) -> tuple[Side, Side, tuple[Message, ...]]:
    """Inputs of a container by slot, its outputs, and what is unusual about the file.

    Raises FormatError if it is none, or if not one of its blocks can be placed.
    """
    found = _quick(*_beginning(path))
    if found is not None:
        return *found, ()
    container = read_container(path)
    sides: tuple[list[Held], list[Held]] = [], []
    for block in container.blocks:
        if block.part in ("input", "output"):
            sides[block.part == "output"].append(_held(block.data_type, block.format))
    if (count := sum(map(len, sides))) > MAX_TENSORS:
        place = f"{path}: byte 8"
        raise FormatError("dump/tensors", place=place, got=count, limit=MAX_TENSORS)
    return tuple(sides[0]), tuple(sides[1]), container.notes


def _quick(data: bytes, held: int) -> tuple[Side, Side] | None:
    """Inputs and outputs of a header whose sizes add up to its file; ``None`` if anything is unusual."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = parse_short(data[8:end]) if end <= len(data) else None
    if header is None or header.version not in _VERSIONS:
        return None
    blocks = [block for part in BLOCKS for block in getattr(header, part)]
    if end + sum(block.size for block in blocks) != held or any(block.data for block in blocks):
        return None
    if len(header.input) + len(header.output) > MAX_TENSORS:
        return None
    return _side(header.input), _side(header.output)


def _side(blocks: Iterable[Any]) -> Side:
    return tuple(_held(block.data_type, block.format) for block in blocks)


def _beginning(path: str) -> tuple[bytes, int]:
    """First bytes of a file, with its header unless that is long, and how many it has."""
    try:
        file = open_descriptor(path, _FLAGS)
        try:
            data = os.read(file, _FIRST)
            if len(data) < _FIRST:
                return data, len(data)
            end = 8 + int.from_bytes(data[:8], "little")
            if _FIRST < end <= _LONGEST:
                data += os.read(file, end - len(data))
            return data, os.fstat(file).st_size
        finally:
            os.close(file)
    except OSError as error:
        raise unreadable(path, error) from error


@lru_cache(maxsize=4096)
def _held(data_type: int, number: int) -> Held:
    layout = format_text(Block("input", 0, 0, format=number).layout)
    return TensorSpec(_dtype_word(data_type), None, layout), _is_cut(number)


def _dtype_word(data_type: int) -> str:
    row = DATA_TYPES.get(data_type)
    return row.name if row is not None else f"type {data_type}"


@lru_cache(maxsize=256)
def _is_cut(number: int) -> bool:
    try:
        return bool(FORMATS[read_format(number).name].device)
    except FormatError:
        return False


def _spec(block: Block, preferred: str = "") -> TensorSpec:
    """Spec of a block's data as `BlockSource` gives them."""
    host = host_format(block, preferred)
    if host:
        return TensorSpec(_dtype_word(block.data_type), block.original_shape, host)
    return TensorSpec(_dtype_word(block.data_type), block.held_shape, format_text(block.layout))


def host_format(block: Block, preferred: str = "") -> str:
    """Host format that a block's data can be converted to; ``""`` if they stay as they lie."""
    if not block.original_shape or not block.shape or not _is_cut(block.format):
        return ""
    first = (preferred,) if preferred in FORMATS and FORMATS[preferred].is_host else ()
    stated = block.origin.format if block.origin is not None and block.origin.name else 0
    if stated and not _is_cut(stated):
        first = (*first, read_format(stated).name)
    dtype = _dtype_word(block.data_type)
    return host_by_shape(block.layout, block.shape, block.original_shape, dtype, first)
