"""Tensors on their way into a container: how they lie on the device, and where in its memory."""

from __future__ import annotations

from functools import cache, cached_property
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.dtypes import DATA_TYPES, PACKED, PLAIN, data_type_of
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS
from workbench.core.packing import encode, packed_bytes
from workbench.dump.formats.container import Block, Container, Origin, element_count
from workbench.run.memory import ALIGNED, plan_memory, room_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.dtypes import DType
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.dump.write.sink import Content
    from workbench.graph.nodes import Graph
    from workbench.run.layout import Lie
    from workbench.run.memory import Memory

_APART = 0x12E0_0000_0000
"""Address at which tensors begin that have no place in the memory of their graph."""

_LARGEST = 1 << 60
"""Elements that no file holds; a graph that states more is broken."""

_STORED = {row.storage.name: row for row in DATA_TYPES.values() if row.packing in (PLAIN, PACKED)}
"""Number formats by the names that ml_dtypes gives them."""


class Piece(NamedTuple):
    """A tensor that is dumped; ``size`` is its bytes, ``None`` if they or its type are unknown.

    ``origin`` is the operator and slot of the network's tensor that an output is.
    """

    record: TensorRecord
    content: Content
    lie: Lie
    row: DType | None
    size: int | None
    address: int = 0
    origin: tuple[str, int] | None = None

    def laid(self) -> Content:
        """The tensor as it lies on the device."""
        return self.content.laid(self.lie)

    @property
    def dtype(self) -> str:
        """Name of the number format."""
        return self.row.name if self.row is not None else self.content.spec.dtype


class Addresses:
    """Addresses of a model's tensors, those of `workbench.run.memory`.

    A tensor that its graph does not know as large as it is gets a place apart.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._apart: dict[tuple[str, str, int], int] = {}
        self._next = _APART

    @cached_property
    def _memory(self) -> Memory:
        return plan_memory(self._graph)

    def address(self, key: TensorKey, size: int) -> int:
        """Address of a tensor of so many bytes."""
        number = self._graph.by_name.get(key.op_name, -1)
        place = self._memory.place(number, key.io, key.slot)
        if place is not None and place.size >= size:
            return place.address
        unknown = key.op_name, key.io, key.slot
        if unknown not in self._apart:
            self._apart[unknown] = self._next
            self._next += -(-room_of(size) // ALIGNED) * ALIGNED
        return self._apart[unknown]


def piece_of(record: TensorRecord, content: Content, lie: Lie, addresses: Addresses) -> Piece:
    """Say how many bytes a tensor has that lies so, and where."""
    row = _row(record.label.dtype or content.spec.dtype)
    size = None
    if row is not None and lie.shape is not None and min(lie.shape, default=0) >= 0:
        elements = element_count(lie.shape)
        size = packed_bytes(row, elements) if elements < _LARGEST else None
    address = addresses.address(record.key, size) if size else 0
    return Piece(record, content, lie, row, size, address)


@cache
def _row(dtype: str) -> DType | None:
    try:
        return data_type_of(dtype)
    except FormatError:
        return _STORED.get(dtype)


def container_of(
    pieces: Sequence[Piece], op_name: str, time: int
) -> tuple[Container | None, Iterator[NDArray[np.uint8]]]:
    """Return an operator's container and its payload, made when it is taken.

    ``None`` if a size is unknown. Tensors that are left out leave no gap: slots are counted anew, as
    the device writer does.
    """
    blocks: list[Block] = []
    slots = {"input": count(), "output": count()}
    for piece in pieces:
        if piece.size is None or piece.row is None:
            return None, iter(())
        slot = next(slots[piece.record.key.io])
        blocks.append(_block(piece, slot, piece.row.code, piece.size))
    return Container(tuple(blocks), dump_time=time, op_name=op_name), map(piece_bytes, pieces)


def _block(piece: Piece, slot: int, data_type: int, size: int) -> Block:
    lie, spec = piece.lie, piece.content.spec
    code = _code(lie.format)
    origin = None
    if piece.origin is not None:
        origin = Origin(*piece.origin, data_type, _code(lie.host_format))
    return Block(
        piece.record.key.io,
        slot,
        size,
        data_type,
        code,
        lie.shape,
        spec.shape,
        sub_format=lie.groups if lie.groups > 1 else 0,
        address=piece.address,
        origin=origin,
    )


@cache
def _code(name: str) -> int:
    """Number of a format; ND for those without one."""
    row = FORMATS.get(name)
    return row.code if row is not None and row.code >= 0 else FORMATS["ND"].code


def piece_bytes(piece: Piece) -> NDArray[np.uint8]:
    """Bytes of a tensor as it lies on the device; raises FormatError if it is not computed."""
    array = piece.laid().array
    if array is None or piece.row is None:
        key = piece.record.key
        place = f"{key.op_name}: {key.io} {key.slot}"
        raise FormatError("dump/not-computed", place=place)
    return encode(piece.row, array)
