"""Tensors on their way into a file: how they lie in it, and where in the device's memory.

They lie as the device has them, as a record states it, or as a vendor converts them. Which formats the device
uses says `workbench.npu.layout`.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import count
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.dtypes import DATA_TYPES, PACKED, PLAIN, data_type_of
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, read_format
from workbench.core.packing import encode, packed_bytes
from workbench.dump.formats.container import Container, Origin, TensorEntry, element_count
from workbench.npu.layout import TensorLayout, device_layout, host_layout
from workbench.npu.memory import ALIGNED, plan_memory, room_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from workbench.core.dtypes import DType
    from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
    from workbench.dump.write.figures import TensorContent
    from workbench.graph.graph import Graph, Op
    from workbench.npu.memory import Memory

_DEFAULT = "DefaultFormat"

CONVERTED = frozenset(
    ("NC1HWC0", "NC1HWC0_C04", "FRACTAL_Z", "FRACTAL_NZ", "C1HWNCoC0", "NDC1HWC0", "FRACTAL_Z_3D")
)
"""Formats that MindSpore O2 knows to convert."""

_APART = 0x12E0_0000_0000
"""Address at which tensors begin that have no place in the memory of their graph."""

_LARGEST = 1 << 60
"""Elements that no file holds; a graph that states more is broken."""

_STORED = {row.storage.name: row for row in DATA_TYPES.values() if row.packing in (PLAIN, PACKED)}
"""Number formats by the names that ml_dtypes gives them."""


def layout_of(
    key: TensorKey, label: TensorSpec, spec: TensorSpec, op: Op | None, *, host_format: bool
) -> TensorLayout:
    """Return how a tensor of ``spec`` lies in a dump.

    A ``label`` with a format says how the device holds it; if the label's shape is another one,
    ``spec`` is the graph's and the data are still to be laid. Without a label the operator decides.
    ``host_format`` asks for the graph's format wherever the data are in it.
    """
    stated = _stated(label, spec.shape)
    if host_format and (stated is None or not stated.held):
        return host_layout(spec.shape)
    return stated or device_layout(op, key.io, key.slot, spec)


def converted(layout: TensorLayout, shape: tuple[int, ...] | None) -> TensorLayout:
    """Return what MindSpore O2 makes of a tensor for an npy file: NCHW, if it has four axes there.

    All others stay as the device has them (``ascend_dump.cc``).
    """
    if layout.format in CONVERTED and not layout.held and shape is not None and len(shape) == 4:
        return host_layout(shape)
    return layout


def _stated(label: TensorSpec, shape: tuple[int, ...] | None) -> TensorLayout | None:
    """How a label says that a tensor lies; ``None`` if it does not."""
    if label.format == _DEFAULT:
        return None
    there = shape if label.shape is None else label.shape
    host = host_layout(shape).format
    try:
        word = read_format(label.format)
    except FormatError:
        return TensorLayout(label.format, there, host_format=host, held=True)
    row = FORMATS[word.name]
    if not row.device or there == shape:
        host = row.name if row.is_host else host
        return TensorLayout(row.name, there, word.groups, host, held=True)
    if row.axes != "RC":
        host = "NCDHW" if len(shape or ()) == 5 else "NCHW"
    return TensorLayout(row.name, there, word.groups, host)


class StoredTensor(NamedTuple):
    """A tensor that is dumped; ``size`` is its bytes, ``None`` if they or its type are unknown.

    ``origin`` is the operator and slot of the network's tensor that an output is.
    """

    record: TensorRecord
    content: TensorContent
    layout: TensorLayout
    row: DType | None
    size: int | None
    address: int = 0
    origin: tuple[str, int] | None = None

    def laid(self) -> TensorContent:
        """The tensor as it lies on the device."""
        return self.content.laid(self.layout)

    @property
    def dtype(self) -> str:
        """Name of the number format."""
        return self.row.name if self.row is not None else self.content.spec.dtype


class AddressMap:
    """Addresses of a model's tensors, those of `workbench.npu.memory`.

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


def stored_tensor(
    record: TensorRecord, content: TensorContent, layout: TensorLayout, addresses: AddressMap
) -> StoredTensor:
    """Say how many bytes a tensor has that lies so, and where."""
    row = _row(record.label.dtype or content.spec.dtype)
    size = None
    if row is not None and layout.shape is not None and min(layout.shape, default=0) >= 0:
        elements = element_count(layout.shape)
        size = packed_bytes(row, elements) if elements < _LARGEST else None
    address = addresses.address(record.key, size) if size else 0
    return StoredTensor(record, content, layout, row, size, address)


@cache
def _row(dtype: str) -> DType | None:
    try:
        return data_type_of(dtype)
    except FormatError:
        return _STORED.get(dtype)


def container_of(
    tensors: Sequence[StoredTensor], op_name: str, time: int
) -> tuple[Container | None, Iterator[NDArray[np.uint8]]]:
    """Return an operator's container and its payload, made when it is taken.

    ``None`` if a size is unknown. Tensors that are left out leave no gap: slots are counted anew, as
    the device writer does.
    """
    blocks: list[TensorEntry] = []
    slots = {"input": count(), "output": count()}
    for tensor in tensors:
        if tensor.size is None or tensor.row is None:
            return None, iter(())
        slot = next(slots[tensor.record.key.io])
        blocks.append(_block(tensor, slot, tensor.row.code, tensor.size))
    return Container(tuple(blocks), dump_time=time, op_name=op_name), map(device_bytes, tensors)


def _block(tensor: StoredTensor, slot: int, data_type: int, size: int) -> TensorEntry:
    layout, spec = tensor.layout, tensor.content.spec
    code = _code(layout.format)
    origin = None
    if tensor.origin is not None:
        origin = Origin(*tensor.origin, data_type, _code(layout.host_format))
    return TensorEntry(
        tensor.record.key.io,
        slot,
        size,
        data_type,
        code,
        layout.shape,
        spec.shape,
        sub_format=layout.groups if layout.groups > 1 else 0,
        address=tensor.address,
        origin=origin,
    )


@cache
def _code(name: str) -> int:
    """Number of a format; ND for those without one."""
    row = FORMATS.get(name)
    return row.code if row is not None and row.code >= 0 else FORMATS["ND"].code


def device_bytes(tensor: StoredTensor) -> NDArray[np.uint8]:
    """Bytes of a tensor as it lies on the device; raises FormatError if it is not computed."""
    array = tensor.laid().array
    if array is None or tensor.row is None:
        key = tensor.record.key
        place = f"{key.op_name}: {key.io} {key.slot}"
        raise FormatError("dump/not-computed", place=place)
    return encode(tensor.row, array)
