"""The binary file of an operator's tensors that GE, ACL, TensorFlow, torchair and MindSpore write.

A container is a length word, a header of that many bytes (`workbench.dump.formats.container_header`) and
the payload: inputs, outputs, buffers, workspaces, back to back. Reading believes nothing: every
block is placed inside the file before anything is allocated, and data is read when it is asked
for. A sound header gives the extents of its tensors with one call (`list_tensors`); whatever else a file is,
`read_container` says with its byte. Layout: device writer ``dump_task.cpp``, adump ``dump_file.cpp``; what readers
accept: msaccucmp ``big_dump_data.py``.
"""

from __future__ import annotations

import os
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.core.dtypes import DATA_TYPES, OPAQUE, UNKNOWN, DType
from workbench.core.errors import FormatError
from workbench.core.files import fill, is_remote, open_descriptor, open_listed, size_of, unreadable
from workbench.core.formats import FormatWord, read_format
from workbench.core.packing import packed_bytes
from workbench.core.words import Message
from workbench.dump import payload
from workbench.dump.formats.container_header import (
    BLOCKS,
    MAX_DIMS,
    MESSAGES,
    FormCache,
    decode_numbers,
    find_places,
    message_class,
    parse_short,
    read_fields,
)
from workbench.dump.formats.file import MAX_TENSORS
from workbench.dump.payload.blocks import raw_chunks
from workbench.dump.payload.extent import Extent, HostLayout

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.dump.formats.container_header import Span

Section = Literal["input", "output", "buffer", "space"]

VERSION = "2.0"

_TENSOR = ("data_type", "format", "size", "sub_format", "address", "offset", "arg_index")
NUMBERS: dict[Section, dict[str, str]] = {
    "input": {name: name for name in (*_TENSOR, "input_type")},
    "output": {name: name for name in _TENSOR},
    "buffer": {"type": "buffer_type", "size": "size"},
    "space": {"type": "type", "size": "size", "arg_index": "arg_index"},
}
"""Section → number of a `TensorEntry` → field of its message that holds it."""

ALL_NUMBERS = frozenset(name for numbers in NUMBERS.values() for name in numbers)


class Origin(NamedTuple):
    """The output of the original graph that a fused operator's output stands for."""

    name: str
    output_index: int = 0
    data_type: int = 0
    format: int = 0


class TensorEntry(NamedTuple):
    """One piece of a container's payload: a tensor, a buffer or a workspace.

    ``size`` is bytes. ``shape`` is that of the data as they lie there, in the device's format;
    ``None`` where the header has none; -1 is an open dimension. ``format`` and ``data_type`` are GE's
    numbers, ``sub_format`` is the number of groups. ``type`` is the kind of a buffer or workspace.
    ``start`` is the byte where the data begin; ``problem`` says why they cannot be had.
    """

    part: Section
    slot: int
    size: int
    data_type: int = 0
    format: int = 0
    shape: tuple[int, ...] | None = None
    original_shape: tuple[int, ...] | None = None
    sub_format: int = 0
    address: int = 0
    offset: int = 0
    arg_index: int = 0
    input_type: int = 0
    type: int = 0
    origin: Origin | None = None
    dim_range: tuple[tuple[int, int], ...] = ()
    start: int = -1
    problem: Message | None = None

    @property
    def row(self) -> DType | None:
        """Number format of a tensor; bytes without a type for buffers and workspaces."""
        return DATA_TYPES.get(self.data_type)

    @property
    def layout(self) -> FormatWord:
        """Format and groups by name; ``format 99`` for a number that is none."""
        try:
            word = read_format(self.format)
        except FormatError:
            return FormatWord(f"format {self.format}")
        return word._replace(groups=self.sub_format) if self.sub_format > 1 else word

    def refusal(self, place: str = "") -> FormatError:
        """Return the problem of a block that has one, as an error."""
        assert self.problem is not None
        return FormatError(self.problem.code, place=place, **self.problem.values)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """Shape of what an extent of it gives: flat where the header states none."""
        row = self.row
        if row is None or row.packing == OPAQUE:
            return (self.size,)
        if self.shape is None or min(self.shape, default=0) < 0:
            return (self.size * 8 // row.bits,)
        return self.shape

    @property
    def stated_bytes(self) -> int | None:
        """Bytes that type and shape ask for; ``None`` if the header does not say both."""
        row = self.row
        if (
            row is None
            or row.packing == OPAQUE
            or self.shape is None
            or min(self.shape, default=0) < 0
        ):
            return None
        return packed_bytes(row, element_count(self.shape))


_WORD = 8
_MAX_HEADER = 64 << 20
_OTHERS = ((b"\x7fELF", "elf"), (b"\x0a\x031.0", "version-1"))
"""How files begin that are no containers of today, and the code of what they are."""

_SLACK = 64
"""More than the device adds to a tensor: it rounds up to 32 bytes and reserves 32 more."""


_VERSIONS = (b"1.0", b"2.0")
_FIRST = 4096
_LONGEST = 1 << 16
_FLAGS = getattr(os, "O_NOFOLLOW", 0)

_NAMED = b"x"


@dataclass(frozen=True, slots=True)
class Container:
    """A dump file of one operator: its header, and where its payload lies.

    ``blocks`` are in the order of the payload. ``dump_time`` is microseconds since the epoch,
    ``attrs`` are pairs of name and value, ``dfx_message`` is the log of a failed task, ``notes``
    say what is unusual in the file.
    """

    blocks: tuple[TensorEntry, ...] = ()
    version: str = VERSION
    dump_time: int = 0
    op_name: str = ""
    attrs: tuple[tuple[str, str], ...] = ()
    dfx_message: str = field(default="", repr=False)
    notes: tuple[Message, ...] = ()

    def part(self, part: Section) -> tuple[TensorEntry, ...]:
        """Blocks of one part by slot."""
        return tuple(block for block in self.blocks if block.part == part)


def element_count(shape: Sequence[int]) -> int:
    """Product of the dimensions."""
    count = 1
    for dim in shape:
        count *= dim
    return count


def unaddressed(blocks: Sequence[TensorEntry]) -> set[int]:
    """Places of the tensors without an address, whose bytes the device writer leaves out.

    Files that state no address at all are older, or were written by the host.
    """
    tensors = [(at, block) for at, block in enumerate(blocks) if block.part in ("input", "output")]
    if not any(block.address for _, block in tensors):
        return set()
    return {at for at, block in tensors if block.size and not block.address and block.start < 0}


def read_container(path: str | os.PathLike[str]) -> Container:
    """Read the header of a container and place every block inside the file.

    Raises FormatError (``path: byte N: …``) if the file is none, or if not one block can be placed.
    A block that cannot be had keeps its description and says why in ``problem``.
    """
    where = os.fspath(path)
    blocks: list[TensorEntry] = []
    attrs: list[tuple[str, str]] = []
    said: dict[str, Any] = {"version": b"", "dump_time": 0, "op_name": b"", "dfx_message": b""}
    slots = dict.fromkeys(BLOCKS, 0)
    with open_listed(where) as file:
        held = size_of(file)
        size = _header_size(file, held, where)
        for name, value, span in read_fields(file, size, where):
            if name in slots:
                blocks.append(_block(cast("Section", name), slots[name], value, span, where))
                slots[name] += 1
            elif name == "attr":
                attrs.append((text_of(value.name), text_of(value.value)))
            else:
                said[name] = value
    blocks.sort(key=lambda block: BLOCKS.index(block.part))
    notes: list[Message] = []
    version = text_of(said["version"])
    if version not in ("", "1.0", VERSION):
        notes.append(Message("dump/version-unknown", got=version, used=VERSION))
    placed = _place(blocks, _WORD + size, held, where, notes)
    return Container(
        tuple(map(with_problem, placed)),
        version,
        said["dump_time"],
        text_of(said["op_name"]),
        tuple(attrs),
        text_of(said["dfx_message"]),
        tuple(notes),
    )


def _header_size(file: BinaryIO, held: int, where: str) -> int:
    """Return the bytes of a file's header; raises FormatError if it can have none."""
    word = fill(file, 0, np.empty(min(held, _WORD), np.uint8), where).tobytes()
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
    return length


def text_of(data: bytes) -> str:
    """Text of a header; bytes that are none are kept."""
    return data.decode("utf-8", "surrogateescape")


def _block(
    part: Section, slot: int, message: Any, span: Span | None = None, where: str = ""
) -> TensorEntry:
    """Describe one block; data inside the header, which ``span`` places, count in place of the payload."""
    numbers = {name: getattr(message, source) for name, source in NUMBERS[part].items()}
    start = -1
    if span is not None and span.data_end > span.data_start:
        start, numbers["size"] = span.data_start, span.data_end - span.data_start
    more: dict[str, Any] = {}
    if part in ("input", "output"):
        for name in ("shape", "original_shape"):
            if message.HasField(name):
                more[name] = dims = _signed(getattr(message, name).dim)
                if len(dims) > MAX_DIMS:
                    place = f"{where}: byte {span.start if span is not None else _WORD}"
                    values = {"subject": name, "got": len(dims), "limit": MAX_DIMS}
                    raise FormatError("dump/dimensions", place=place, **values)
    if part == "output":
        more["dim_range"] = tuple((one.dim_start, one.dim_end) for one in message.dim_range)
        if message.HasField("original_op"):
            name, *rest = (getattr(message.original_op, one) for one in Origin._fields)
            more["origin"] = Origin(text_of(name), *rest)
    return TensorEntry(part, slot, start=start, **numbers, **more)


def _signed(dims: Sequence[int]) -> tuple[int, ...]:
    """Dimensions with their sign: open ones are stored as two's complement."""
    return tuple(dim - (1 << 64) if dim >> 63 else dim for dim in dims)


def _place(
    blocks: Sequence[TensorEntry], begin: int, held: int, where: str, notes: list[Message]
) -> Iterator[TensorEntry]:
    """Give every block its place; raises FormatError if sizes and file cannot belong together.

    Sizes that do not add up to the file may each be the wrong one. Then only those blocks are
    believed before which every size fits its own shape.
    """
    absent = unaddressed(blocks)
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
    blocks: Sequence[TensorEntry], absent: set[int], at: int, held: int, *, exact: bool
) -> list[TensorEntry]:
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


def with_problem(block: TensorEntry) -> TensorEntry:
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
    elif element_count([dim or 1 for dim in block.stored_shape]) >= 1 << 59:
        problem = Message("dump/shape-elements", got=block.stored_shape)
    return block._replace(problem=problem)


class Tensors(NamedTuple):
    """Tensors of a container by slot, and what is unusual about the file."""

    inputs: tuple[Extent, ...]
    outputs: tuple[Extent, ...]
    notes: tuple[Message, ...] = ()


def list_tensors(path: str) -> Tensors:
    """Locate all tensors of a container, in one pass over its header.

    Raises FormatError if it is none, or if not one of its blocks can be placed.
    """
    found = read_form(path)
    if found is not None:
        form, data = found
        extents = (*form.extents(path, data),)
        count = sum(not one.is_output for one in form.tensors)
        return Tensors(extents[:count], extents[count:])
    container = read_container(path)
    sides = container.part("input"), container.part("output")
    if (count := sum(map(len, sides))) > MAX_TENSORS:
        place = f"{path}: byte 8"
        raise FormatError("dump/tensors", place=place, got=count, limit=MAX_TENSORS)
    inputs, outputs = (tuple(locate(path, block) for block in side) for side in sides)
    return Tensors(inputs, outputs, container.notes)


def locate(path: str, block: TensorEntry) -> Extent:
    """Extent of a container's tensor, in the host layout that the file states."""
    shape, origin = block.stored_shape, block.origin
    if origin is not None and not origin.name:
        origin = None
    stated = _format_name(origin.format) if origin is not None else ""
    original, problem = block.original_shape, block.problem
    if problem is not None:
        place = f"{path}: byte {max(block.start, 0)}: {block.part} {block.slot}"
        problem = Message(problem.code, place=place, **problem.values)
    extent = Extent(
        path,
        block.start,
        block.size,
        block.row or _unknown_type(block.data_type),
        element_count(shape),
        shape,
        block.layout,
        (HostLayout(original, stated),) if original else (),
        address=block.address,
        origin=(origin.name, origin.output_index) if origin is not None else None,
        problem=problem,
    )
    return payload.with_host(extent)


def block_bytes(path: str, block: TensorEntry) -> bytes:
    """Every byte of a block, padding included, whatever it is; raises FormatError if they cannot be had."""
    if block.start < 0:
        raise block.refusal(f"{path}: byte 0: {block.part} {block.slot}")
    return b"".join(piece.tobytes() for piece in raw_chunks(path, block.start, block.size))


def _format_name(number: int) -> str:
    """Name of a format that is stated; empty for 0, which nobody has to set, and for what is none."""
    try:
        return read_format(number).name if number else ""
    except FormatError:
        return ""


@lru_cache(maxsize=256)
def _unknown_type(number: int) -> DType:
    return replace(DATA_TYPES[0], code=number, word="", name=f"type {number}", packing=UNKNOWN)


class FormTensor(NamedTuple):
    """A tensor of all files whose headers are of one form; what differs lies at the last four places of a header.

    ``alike`` is its extent without file, place, address and origin. ``output`` is the number of its origin's output.
    """

    alike: Extent
    is_output: bool
    slot: int
    start: int
    output: int
    address: int
    address_end: int
    name: int
    name_end: int


@dataclass(frozen=True, slots=True, eq=False)
class HeaderForm:
    """What headers say that differ in times, addresses and names alone: tensors, inputs first, and the file's size."""

    tensors: tuple[FormTensor, ...]
    size: int

    def extents(self, path: str, data: bytes) -> Iterator[Extent]:
        """Extents of the tensors of a file, whose header ``data`` ends with."""
        spans = np.array([(one.address, one.address_end) for one in self.tensors]).reshape(-1, 2)
        addresses = decode_numbers(data, *spans.T).tolist()
        for one, address in zip(self.tensors, addresses, strict=True):
            name = text_of(data[one.name : one.name_end])
            origin = (name, one.output) if name else None
            yield one.alike._replace(path=path, start=one.start, address=address, origin=origin)


def read_form(path: str) -> tuple[HeaderForm, bytes] | None:
    """Form of a header whose sizes add up to its file, and the file up to its end; ``None`` if anything is unusual.

    Raises FormatError if the file cannot be opened.
    """
    data, held = _beginning(path)
    end = _WORD + int.from_bytes(data[:_WORD], "little")
    if end > len(data):
        return None
    data = data[:end]
    form = _FORMS.get(data) or _learn_form(data)
    return (form, data) if form is not None and form.size == held else None


def _learn_form(data: bytes) -> HeaderForm | None:
    """Read a header whose like was not met yet; ``None`` if anything in it is unusual."""
    header = parse_short(data[_WORD:])
    if header is None or header.version not in _VERSIONS:
        return None
    described = [(part, *one) for part in MESSAGES for one in enumerate(getattr(header, part))]
    rest = [*header.buffer, *header.space]
    if len(described) > MAX_TENSORS or any(one.data for *_, one in (*described, *zip(rest))):
        return None
    try:
        places, mask = find_places(data)
    except FormatError:
        return None
    tensors, at = [], len(data)
    for (part, slot, message), place in zip(described, places, strict=True):
        output = message.original_op.output_index if place.name else 0
        alike = _kind(part, _without_differences(message))
        if alike is None:
            return None
        tensors.append(FormTensor(alike, part == "output", slot, at, output, *place))
        at += alike.nbytes
    form = HeaderForm(tuple(tensors), at + sum(one.size for one in rest))
    _FORMS.put(data, mask, form)
    return form


def _without_differences(message: Any) -> bytes:
    """Message of a tensor with no address, and a name that stands for any."""
    message.ClearField("address")
    if hasattr(message, "original_op") and message.original_op.name:
        message.original_op.name = _NAMED
    data: bytes = message.SerializeToString()
    return data


_FORMS = FormCache[HeaderForm]()


@lru_cache(maxsize=4096)  # a network has few kinds of tensors
def _kind(part: Section, data: bytes) -> Extent | None:
    """Extent of the tensors that a message describes; ``None`` if its claims do not fit."""
    message = message_class(MESSAGES[part]).FromString(data)
    if max(len(message.shape.dim), len(message.original_shape.dim)) > MAX_DIMS:
        return None
    block = with_problem(_block(part, 0, message))
    if block.problem is not None:
        return None
    return locate("", block)._replace(start=0, address=0, origin=None)


def _beginning(path: str) -> tuple[bytes, int]:
    """First bytes of a file, with its header unless that is long, and how many it has."""
    try:
        if is_remote(path):
            return _beginning_elsewhere(path)
        file = open_descriptor(path, _FLAGS)
        try:
            data = os.read(file, _FIRST)
            if len(data) < _FIRST:
                return data, len(data)
            end = _WORD + int.from_bytes(data[:_WORD], "little")
            if _FIRST < end <= _LONGEST:
                data += os.read(file, end - len(data))
            return data, os.fstat(file).st_size
        finally:
            os.close(file)
    except OSError as error:
        raise unreadable(path, error) from error


def _beginning_elsewhere(path: str) -> tuple[bytes, int]:
    """The same of a file that a storage has."""
    from workbench.core.storage.remote import RemoteFile

    with RemoteFile(path) as file:
        data = file.read(_FIRST)
        if len(data) == _FIRST:
            end = _WORD + int.from_bytes(data[:_WORD], "little")
            data += file.read(end - len(data)) if _FIRST < end <= _LONGEST else b""
        return data, file.size
