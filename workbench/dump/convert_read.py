"""What a dump file holds, as elements to be converted: as much as can be believed, and what is wrong."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.dtypes import DATA_TYPES, OPAQUE, data_type_of
from workbench.core.errors import FormatError
from workbench.core.files import open_listed
from workbench.core.formats import c0_of, read_format, row_of
from workbench.core.packing import packed_bytes
from workbench.core.words import Message
from workbench.dump.formats.mindspore_name import parse_name
from workbench.dump.formats.msaccucmp import format_word
from workbench.dump.formats.npy import NpySource
from workbench.dump.payload.elements import Elements
from workbench.dump.payload.ordered import find_route
from workbench.dump.payload.reading import Buffer
from workbench.dump.payload.route import Layout, Route

if TYPE_CHECKING:
    from workbench.dump.formats.container_entries import Block


class Tensor(NamedTuple):
    """A tensor of a container: its elements in the order of the file, and where they go.

    ``route`` is ``None`` for one that stays as it is; ``problems`` say what is to be known.
    """

    layout: Layout
    elements: Elements
    route: Route | None
    problems: tuple[Message, ...]


def read_tensor(path: str, block: Block, target: str) -> Tensor:
    """Return what can be had of a tensor; ``target`` is a host format, or empty.

    Raises FormatError if no bytes of it can be had.
    """
    whole, problems = believed(block)
    row, route = whole.row, None
    assert row is not None  # believed gives a type to what has none
    layout = _layout(whole)
    if target and not problems:
        try:
            route = find_route(layout, block.original_shape, target)
        except FormatError as error:
            word = format_word(block.format)
            problems = (Message("dump/left-in", format=word, why=error.message),)
    if route is not None and route.doubt:
        origin = route.origin
        problems = (
            Message(
                "dump/route-doubt", shape=origin.shape, format=origin.format, other=route.doubt
            ),
        )
    elements = Elements(path, whole.start, row, math.prod(layout.shape))
    surplus = block.size - packed_bytes(row, elements.count)
    if surplus:
        problems = (*problems, Message("dump/surplus", left=surplus))
    return Tensor(layout, elements, route, problems)


def believed(block: Block) -> tuple[Block, tuple[Message, ...]]:
    """Return a block as it can be read, and what is wrong with it.

    One without a shape is flat, as msaccucmp has it; so is one with fewer bytes than its shape asks
    for. One of a type that nobody can decode becomes its bytes.
    """
    row = block.row
    if block.start < 0:
        raise block.refusal()
    if row is None or not row.packing or (row.packing == OPAQUE and row.code):
        why = block.problem or Message("dump/elements-unknown", dtype=row.word if row else "")
        bare = block._replace(data_type=0, shape=None, problem=None)
        return bare, (Message("dump/kept-as-bytes", why=why),)
    flat = block._replace(shape=(block.size * 8 // row.bits,), problem=None)
    if block.problem:
        return flat, (Message("dump/kept-flat", why=block.problem),)
    if block.shape and min(block.shape) < 0:
        why = Message("dump/shape-open", got=block.shape)
        return flat, (Message("dump/kept-flat", why=why),)
    return (block if block.shape else flat), ()


def _layout(block: Block) -> Layout:
    word = block.layout
    return Layout(word.name, block.held_shape, word.groups, word.c0)


def read_bytes(path: str, block: Block) -> Elements:
    """Return all bytes of a block of any kind; raises FormatError if they cannot be had."""
    if block.start < 0:
        raise block.refusal()
    return Elements(path, block.start, DATA_TYPES[0], block.size)


class NpyTensor(NamedTuple):
    """A tensor of an npy file on its way to a host format; ``name`` says that format."""

    name: str
    elements: Elements
    route: Route


def read_npy(path: str, target: str) -> NpyTensor:
    """Return a MindSpore npy file in a device format, if its header has the host shape.

    MindSpore's O2 dump leaves what it cannot convert as the device had it under a header with the
    host shape; O0 and O1 with ``trans_flag`` false write the device shape, and nothing says the
    original one. Raises FormatError with the reason if there is nothing to convert, or no way.
    """
    name = os.path.basename(path)
    parts = parse_name(name)
    form = parts.format if parts is not None else ""
    if not target or parts is None or not form or not row_of(form).device:
        raise FormatError("dump/npy-already")
    source = read_format(parts.format)
    header = NpySource(path).payload(Buffer(1 << 16))
    header.close()
    found = header.header
    kind = found.dtype
    if found.fortran or kind.isbuiltin != 1:
        raise FormatError("dump/npy-order")
    with open_listed(path) as file:
        count = (os.fstat(file.fileno()).st_size - found.offset) // kind.itemsize
    row = row_of(source.name)
    c0 = row.c0 or c0_of(parts.dtype or found.name)
    if found.size == count and _is_device_shape(found.shape, row.device, c0):
        raise FormatError("dump/left-in", format=row.name, why=Message("dump/npy-original"))
    layout = Layout(row.name, (count,), source.groups, None if "P" in row.device else c0)
    route = find_route(layout, found.shape, target)
    fresh = name.replace(f".{parts.format}.", f".{target}.")
    elements = Elements(path, found.offset, data_type_of(found.name), count)
    return NpyTensor(fresh, elements, route)


def _is_device_shape(shape: tuple[int, ...], dims: str, c0: int) -> bool:
    """Whether a shape can be that of a device format: as many dimensions, C0 last."""
    words = dims.split()
    leading = len(shape) - len(words)
    fits = leading >= 0 if words[0] == "C1" and "R1" in words else leading == 0
    return fits and shape[-1] == (c0 if words[-1] == "C0" else 16)
