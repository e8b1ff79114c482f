"""The binary file of an operator's tensors that GE, ACL, TensorFlow, torchair and MindSpore write.

A container is a length word, a header of that many bytes (`workbench.dump.formats.container_header`) and
the payload: inputs, outputs, buffers, workspaces, back to back. Reading believes nothing: every
block is placed inside the file before anything is allocated, and data is read when it is asked
for. Layout: device writer ``dump_task.cpp``, adump ``dump_file.cpp``; what readers accept: msaccucmp
``big_dump_data.py``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from workbench.core.dtypes import DATA_TYPES
from workbench.core.errors import FormatError
from workbench.core.files import fill, open_listed
from workbench.core.words import Message
from workbench.dump.formats.container_entries import (
    NUMBERS,
    VERSION,
    Block,
    Container,
    Origin,
    element_count,
    without_bytes,
)
from workbench.dump.formats.container_header import BLOCKS, Header, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.dump.formats.container_entries import Part

_WORD = 8
_MAX_HEADER = 64 << 20
_OTHERS = ((b"\x7fELF", "elf"), (b"\x0a\x031.0", "version-1"))
"""How files begin that are no containers of today, and the code of what they are."""

_MAX_DIMS = 32
_SLACK = 64
"""More than the device adds to a tensor: it rounds up to 32 bytes and reserves 32 more."""


def read_container(path: str | os.PathLike[str]) -> Container:
    """Read the header of a container and place every block inside the file.

    Raises FormatError (``path: byte N: …``) if the file is none, or if not one block can be placed.
    A block that cannot be had keeps its description and says why in ``problem``.
    """
    where = os.fspath(path)
    with open_listed(where) as file:
        held = os.fstat(file.fileno()).st_size
        data = _header(file, held, where)
    header = parse(data, _WORD, where)
    message = header.message
    notes: list[Message] = []
    version = _text(message.version)
    if version not in ("", "1.0", VERSION):
        notes.append(Message("dump/version-unknown", got=version, used=VERSION))
    blocks = [
        _block(cast("Part", part), slot, found, header)
        for part in BLOCKS
        for slot, found in enumerate(getattr(message, part))
    ]
    placed = _place(blocks, len(data), held, where, notes)
    return Container(
        tuple(map(_judged, placed)),
        version,
        message.dump_time,
        _text(message.op_name),
        tuple((_text(attr.name), _text(attr.value)) for attr in message.attr),
        _text(message.dfx_message),
        tuple(notes),
    )


def _header(file: BinaryIO, held: int, where: str) -> bytes:
    """Return the file's bytes up to the end of its header."""
    word = _read(file, 0, min(held, _WORD), where)
    length = int.from_bytes(word, "little")
    room = held - _WORD
    for mark, code in _OTHERS:
        if word.startswith(mark):
            raise FormatError(f"dump/{code}", place=f"{where}: byte 0")
    if room <= 0:
        raise FormatError("dump/container-short", place=f"{where}: byte {held}", held=held)
    limit = min(room, _MAX_HEADER)
    if not 0 < length <= limit:
        raise FormatError("dump/header-size", place=f"{where}: byte 0", got=length, limit=limit)
    return word + _read(file, _WORD, length, where)


def _read(file: BinaryIO, start: int, size: int, where: str) -> bytes:
    return fill(file, start, np.empty(size, np.uint8), where).tobytes()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _block(part: Part, slot: int, message: Any, header: Header) -> Block:
    """Describe one block; data inside the header count in place of the payload."""
    numbers = {name: getattr(message, source) for name, source in NUMBERS[part].items()}
    start = -1
    if message.data:
        span = header.span(part, slot)
        start, numbers["size"] = span.data_start, span.data_end - span.data_start
    more: dict[str, Any] = {}
    if part in ("input", "output"):
        for name in ("shape", "original_shape"):
            if message.HasField(name):
                more[name] = dims = _signed(getattr(message, name).dim)
                if len(dims) > _MAX_DIMS:
                    place = f"{header.where}: byte {header.span(part, slot).start}"
                    raise FormatError(
                        "dump/dimensions",
                        place=place,
                        subject=name,
                        got=len(dims),
                        limit=_MAX_DIMS,
                    )
    if part == "output":
        more["dim_range"] = tuple((one.dim_start, one.dim_end) for one in message.dim_range)
        if message.HasField("original_op"):
            name, *rest = (getattr(message.original_op, one) for one in Origin._fields)
            more["origin"] = Origin(_text(name), *rest)
    return Block(part, slot, start=start, **numbers, **more)


def _signed(dims: Sequence[int]) -> tuple[int, ...]:
    """Dimensions with their sign: open ones are stored as two's complement."""
    return tuple(dim - (1 << 64) if dim >> 63 else dim for dim in dims)


def _place(
    blocks: Sequence[Block], begin: int, held: int, where: str, notes: list[Message]
) -> Iterator[Block]:
    """Give every block its place; raises FormatError if sizes and file cannot belong together.

    Sizes that do not add up to the file may each be the wrong one. Then only those blocks are
    believed before which every size fits its own shape.
    """
    absent = without_bytes(blocks)
    whole = sum(block.size for block in blocks if block.start < 0)
    present = whole - sum(blocks[at].size for at in absent)
    left = held - begin
    if present < left < whole:
        raise FormatError(
            "dump/container-size",
            place=f"{where}: byte {held}",
            whole=begin + whole,
            present=begin + present,
            held=held,
        )
    if left >= whole:
        absent = set()
    total = whole if left >= whole else present
    if absent:
        notes.append(Message("dump/no-addresses", tensors=len(absent)))
    if left > total:
        notes.append(Message("dump/bytes-behind", bytes=left - total))
    elif left < total:
        notes.append(Message("dump/cut-off", needed=begin + total, held=held))
    placed = _walk_payload(blocks, absent, begin, held, exact=left == total)
    if left < total and not any(block.size and block.start >= 0 for block in placed):
        place = f"{where}: byte {held}"
        raise FormatError("dump/container-cut", place=place, needed=begin + total, held=held)
    return iter(placed)


def _walk_payload(
    blocks: Sequence[Block], absent: set[int], at: int, held: int, *, exact: bool
) -> list[Block]:
    placed, believed = [], True
    for number, block in enumerate(blocks):
        if block.start >= 0:
            placed.append(block)
        elif number in absent:
            placed.append(block._replace(problem=Message("dump/block-no-address")))
        elif not believed:
            placed.append(block._replace(problem=Message("dump/block-lost")))
        elif at + block.size > held:
            believed = False
            problem = Message("dump/data-end", end=at + block.size, held=held)
            placed.append(block._replace(problem=problem))
        else:
            placed.append(block._replace(start=at))
            at += block.size
            stated = block.stated_bytes
            believed = exact or (stated is not None and stated <= block.size < stated + _SLACK)
    return placed


def _judged(block: Block) -> Block:
    """Add what is wrong with a block's own claims."""
    if block.problem or block.part not in ("input", "output"):
        return block
    row, stated = block.row, block.stated_bytes
    problem = None
    if row is None:
        problem = Message("dump/data-type", got=block.data_type, last=max(DATA_TYPES))
    elif not row.packing:
        problem = Message("core/packing", dtype=row.word)
    elif stated is not None and stated > block.size:
        problem = Message(
            "dump/block-short", dtype=row.word, shape=block.shape, needed=stated, held=block.size
        )
    elif element_count([dim or 1 for dim in block.held_shape]) >= 1 << 59:
        problem = Message("dump/shape-elements", got=block.held_shape)
    return block._replace(problem=problem)
