"""What a dump container describes: its blocks, and how many bytes their types and shapes ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from workbench.core.dtypes import DATA_TYPES, OPAQUE, DType
from workbench.core.errors import FormatError
from workbench.core.formats import FormatWord, read_format
from workbench.core.packing import packed_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.core.words import Message

Part = Literal["input", "output", "buffer", "space"]

VERSION = "2.0"

_TENSOR = ("data_type", "format", "size", "sub_format", "address", "offset", "arg_index")
NUMBERS: dict[Part, dict[str, str]] = {
    "input": {name: name for name in (*_TENSOR, "input_type")},
    "output": {name: name for name in _TENSOR},
    "buffer": {"type": "buffer_type", "size": "size"},
    "space": {"type": "type", "size": "size", "arg_index": "arg_index"},
}
"""Part → number of a `Block` → field of its message that holds it."""

ALL_NUMBERS = frozenset(name for numbers in NUMBERS.values() for name in numbers)


class Origin(NamedTuple):
    """The output of the original graph that a fused operator's output stands for."""

    name: str
    output_index: int = 0
    data_type: int = 0
    format: int = 0


class Block(NamedTuple):
    """One piece of a container's payload: a tensor, a buffer or a workspace.

    ``size`` is bytes. ``shape`` is that of the data as they lie there, in the device's format;
    ``None`` where the header has none; -1 is an open dimension. ``format`` and ``data_type`` are GE's
    numbers, ``sub_format`` is the number of groups. ``type`` is the kind of a buffer or workspace.
    ``start`` is the byte where the data begin; ``problem`` says why they cannot be had.
    """

    part: Part
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
    def held_shape(self) -> tuple[int, ...]:
        """Shape of what `ContainerSource` gives: flat where the header states none."""
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


@dataclass(frozen=True, slots=True)
class Container:
    """A dump file of one operator: its header, and where its payload lies.

    ``blocks`` are in the order of the payload. ``dump_time`` is microseconds since the epoch,
    ``attrs`` are pairs of name and value, ``dfx_message`` is the log of a failed task, ``notes``
    say what is unusual in the file.
    """

    blocks: tuple[Block, ...] = ()
    version: str = VERSION
    dump_time: int = 0
    op_name: str = ""
    attrs: tuple[tuple[str, str], ...] = ()
    dfx_message: str = field(default="", repr=False)
    notes: tuple[Message, ...] = ()

    def part(self, part: Part) -> tuple[Block, ...]:
        """Blocks of one part by slot."""
        return tuple(block for block in self.blocks if block.part == part)


def element_count(shape: Sequence[int]) -> int:
    """Product of the dimensions."""
    count = 1
    for dim in shape:
        count *= dim
    return count


def without_bytes(blocks: Sequence[Block]) -> set[int]:
    """Places of the tensors without an address, whose bytes the device writer leaves out.

    Files that state no address at all are older, or were written by the host.
    """
    tensors = [(at, block) for at, block in enumerate(blocks) if block.part in ("input", "output")]
    if not any(block.address for _, block in tensors):
        return set()
    return {at for at, block in tensors if block.size and not block.address and block.start < 0}
