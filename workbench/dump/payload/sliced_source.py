"""A tensor whose slices lie in files of their own: put together when it is asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.formats import FORMATS, FormatWord, format_text
from workbench.core.tensors import TensorSpec
from workbench.core.transdata import to_host
from workbench.dump.payload.elements import STEP, Elements, known_elements, known_pieces
from workbench.dump.payload.host_formats import host_by_shape
from workbench.dump.payload.reading import FileSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.core.dtypes import DType
    from workbench.dump.payload.reading import Buffer, Reading

    Shape = tuple[int, ...]


class Slice(NamedTuple):
    """One slice: where its elements begin in its file, and its shape.

    The first ``overlap`` places along the cut axis are those that the slice before ends with. ``original`` is the
    shape that the file states for the host.
    """

    path: str
    start: int
    shape: Shape
    overlap: int = 0
    original: Shape = ()


@dataclass(slots=True)
class SlicedSource(FileSource):
    """Slices of one tensor in the order of the cut axis, in the host's format where it can be had."""

    is_cut = True
    slices: tuple[Slice, ...]
    axis: int
    row: DType
    layout: FormatWord
    host: TensorSpec | None = None

    def settle(self, host: TensorSpec, groups: int | None = None) -> None:
        self.host = host

    def spec(self) -> TensorSpec:
        shape, host = self._host()
        if host:
            return TensorSpec(self.row.name, shape, host)
        return TensorSpec(self.row.name, self._shape(), format_text(self.layout))

    def array(self) -> NDArray[Any]:
        pieces = [piece.reshape(-1) for piece in self._pieces()]
        there = known_elements(np.concatenate(pieces)).reshape(self._shape())
        shape, host = self._host()
        if not host:
            return there
        return to_host(there, self.layout.name, host, shape, groups=self.layout.groups)

    def reading(self, buffer: Buffer) -> Reading | None:
        if self._host()[1]:
            return None  # slices are cut to fit into the device's cache: they are not large
        return known_pieces(self._pieces(), self.row, self._shape())

    def _shape(self) -> Shape:
        """Shape of the whole as it lies on the device."""
        shape = self.slices[0].shape
        if not shape:
            return ()
        extent = sum(one.shape[self.axis] - one.overlap for one in self.slices)
        return (*shape[: self.axis], extent, *shape[self.axis + 1 :])

    def _host(self) -> tuple[Shape, str]:
        """Shape and format of the host; an empty format if the data stay as they lie."""
        row = FORMATS.get(self.layout.name)
        if row is None or not row.device:
            return (), ""
        there = self._shape()
        first: tuple[str, ...] = ()
        if self.host is not None and self.host.format in FORMATS:
            first = (self.host.format,) if FORMATS[self.host.format].is_host else ()
        for shape in self._candidates():
            name = host_by_shape(self.layout, there, shape, self.row.name, first)
            if name:
                return shape, name
        return (), ""

    def _candidates(self) -> Iterator[Shape]:
        """Shapes that the host's may be: as a graph or all slices state it, or the sum of theirs."""
        if self.host is not None and self.host.shape:
            yield self.host.shape
        stated = [one.original for one in self.slices]
        if not all(stated) or len({len(one) for one in stated}) > 1:
            return
        if len(set(stated)) == 1:
            yield stated[0]
        for axis in range(len(stated[0])):
            rest = {(*one[:axis], *one[axis + 1 :]) for one in stated}
            if len(rest) == 1:
                whole = sum(one[axis] for one in stated)
                yield (*stated[0][:axis], whole, *stated[0][axis + 1 :])

    def _pieces(self) -> Iterator[NDArray[Any]]:
        """All elements of the whole in order, about `STEP` bytes at a time."""
        shape = self._shape()
        outer, inner = math.prod(shape[: self.axis]), math.prod(shape[self.axis + 1 :])
        row_bytes = math.prod(shape[self.axis :]) * self.row.storage.itemsize
        step = max(1, STEP // max(1, row_bytes))
        for first in range(0, outer, step):
            rows = range(first, min(first + step, outer))
            if len(rows) > 1:
                columns = [self._rows(one, rows, inner) for one in self.slices]
                yield np.concatenate(columns, axis=1)
            else:
                for one in self.slices:
                    yield from self._row(one, first, inner)

    def _rows(self, one: Slice, rows: range, inner: int) -> NDArray[Any]:
        """What a slice holds of some rows of the whole."""
        width = math.prod(one.shape[self.axis :])
        array = self._elements(one).part(rows.start * width, len(rows) * width)
        return array.reshape(len(rows), width)[:, one.overlap * inner :]

    def _row(self, one: Slice, row: int, inner: int) -> Iterator[NDArray[Any]]:
        """What a slice holds of one row, piece by piece."""
        width = math.prod(one.shape[self.axis :])
        first, end = row * width + one.overlap * inner, (row + 1) * width
        step = max(8, STEP // self.row.storage.itemsize)
        for start in range(first, end, step):
            yield self._elements(one).part(start, min(step, end - start))

    def _elements(self, one: Slice) -> Elements:
        return Elements(one.path, one.start, self.row, math.prod(one.shape))
