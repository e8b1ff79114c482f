"""Where the elements of a tensor lie, as a value: what every format of a dump finds out, and all that a reader needs.

A format's `locate` says of each tensor its file, its first byte, its number format and how it lies there.
`workbench.dump.payload.host_layout.with_host` adds how the host has it, `workbench.dump.payload.blocks` reads it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, FormatWord, format_text
from workbench.core.packing import packed_bytes
from workbench.core.tensors import TensorSpec

if TYPE_CHECKING:
    from typing import Any

    from workbench.core.dtypes import DType
    from workbench.core.words import Message

Shape = tuple[int, ...]

AS_IT_IS = FormatWord("DefaultFormat")
"""Format of a tensor of which nothing says that it lies otherwise than its shape."""

_CHANNELS_FIRST = {4: "NCHW", 5: "NCDHW"}
"""What MindSpore's default format is, by rank."""


class HostLayout(NamedTuple):
    """Shape and format of a tensor on the host, as far as somebody states them.

    ``shape`` is ``None`` and ``format`` empty where they are not stated; ``groups`` are those of the operator whose
    weight it is (0: not stated).
    """

    shape: Shape | None
    format: str = ""
    groups: int = 0


class Slice(NamedTuple):
    """One slice of a tensor: its file, the byte where its elements begin, and its shape.

    The first ``overlap`` places along the cut axis are those that the slice before ends with.
    """

    path: str
    start: int
    shape: Shape
    overlap: int = 0


class Extent(NamedTuple):
    """``size`` elements side by side in a file from byte ``start`` on; all that is known of the tensor they are.

    Attributes
    ----------
    path : str
        The file; of a tensor in slices the first one's.
    start : int
        Byte of the first element.
    nbytes : int
        Bytes of its place in the file, padding behind the elements included.
    dtype : DType
        Number format of an element.
    size : int
        Elements that lie there; more than the shape has, if ``strides`` leave some out.
    shape : tuple of int
        Shape as the elements lie: the device's, or flat where nothing states it.
    format : FormatWord
        Format, groups and C0 as the elements lie.
    originals : tuple of HostLayout
        What the file states of the tensor on the host, most likely first.
    host : HostLayout, optional
        Shape and format in which the elements are given; ``None``: as they lie. Only
        `workbench.dump.payload.host_layout` finds it.
    address : int
        Where the device had the tensor; 0 if the file does not say.
    origin : tuple of str and int, optional
        Operator and slot of the network's tensor that an output is.
    strides : tuple of int, optional
        Steps of every axis in elements, where they do not lie in C order.
    swapped : bool
        Whether the bytes of an element are in big-endian order.
    slices : tuple of Slice
        Slices in the order of ``axis``, where the tensor is cut in several.
    problem : Message, optional
        Why the elements cannot be had; it has its place.
    """

    path: str
    start: int
    nbytes: int
    dtype: DType
    size: int
    shape: Shape
    format: FormatWord = AS_IT_IS
    originals: tuple[HostLayout, ...] = ()
    host: HostLayout | None = None
    address: int = 0
    origin: tuple[str, int] | None = None
    strides: Shape | None = None
    swapped: bool = False
    slices: tuple[Slice, ...] = ()
    axis: int = 0
    problem: Message | None = None

    @property
    def end(self) -> int:
        """Byte behind the last element."""
        return self.start + packed_bytes(self.dtype, self.size)

    @property
    def given_shape(self) -> Shape:
        """Shape in which the elements are given, an array of which is what a reader returns."""
        if self.host is None or self.host.shape is None:
            return self.shape
        return self.host.shape

    @property
    def stored_type(self) -> np.dtype[Any]:
        """NumPy type of an element as its bytes lie; bfloat16 of the other order has only its width."""
        storage = self.dtype.storage
        if not self.swapped:
            return storage
        return (
            np.dtype(f">u{storage.itemsize}") if storage.kind == "V" else storage.newbyteorder(">")
        )

    def refuse(self) -> None:
        """Raise FormatError if the elements cannot be had."""
        if self.problem is not None:
            raise FormatError(self.problem.code, place=self.problem.place, **self.problem.values)


def is_device_format(word: FormatWord) -> bool:
    """Whether a format cuts axes in blocks, so that the host's layout is another."""
    row = FORMATS.get(word.name)
    return row is not None and bool(row.device)


def spec_of(extent: Extent) -> TensorSpec:
    """Number format, shape and format in which a tensor is given."""
    name, host = extent.dtype.name, extent.host
    if host is None:
        return TensorSpec(name, extent.shape, format_text(extent.format))
    shown = host.format
    if shown == AS_IT_IS.name:
        shown = _CHANNELS_FIRST.get(len(extent.given_shape), "ND")
    return TensorSpec(name, host.shape, shown)


def is_c_order(shape: Shape, strides: Shape) -> bool:
    """Whether the elements of an array lie side by side in C order.

    >>> is_c_order((2, 1, 3), (3, 9, 1)), is_c_order((2, 3), (1, 2))
    (True, False)
    """
    if 0 in shape:
        return True
    step = 1
    for dim, stride in zip(reversed(shape), reversed(strides), strict=True):
        if dim != 1 and stride != step:
            return False
        step *= dim
    return True


def fortran_strides(shape: Shape) -> Shape:
    """Strides of an array in Fortran order.

    >>> fortran_strides((2, 3, 4))
    (1, 2, 6)
    """
    return tuple(math.prod(shape[:axis]) for axis in range(len(shape)))
