"""npy files of MindSpore whose name says a device format.

O0 and O1 write them with ``trans_flag`` false: the header has the device's shape, and only the graph knows
the host's. O2 leaves so what it cannot convert: the header has the host's shape, and more elements may
follow than it claims. Both are given in the host's format where it can be told.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.dtypes import data_type_of
from workbench.core.errors import FormatError
from workbench.core.files import fill, open_listed
from workbench.core.formats import FORMATS, FormatWord, c0_of
from workbench.core.tensors import TensorSpec
from workbench.core.transdata import to_host
from workbench.dump.formats.npy import NpySource
from workbench.dump.payload.elements import Elements, known_pieces
from workbench.dump.payload.host_formats import host_by_count, host_by_shape
from workbench.dump.payload.ordered import rearranged
from workbench.dump.payload.reading import Buffer, FileSource
from workbench.dump.payload.route import Layout, Route

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.dump.payload.reading import Extent, Reading

    Shape = tuple[int, ...]

_FIRST = 1 << 16
_CHANNELS_FIRST = {4: "NCHW", 5: "NCDHW"}
_LANES = tuple(2**power for power in range(1, 9))


class Way(NamedTuple):
    """From the device to the host: the shape there and here, and the host's format."""

    there: Shape
    shape: Shape
    format: str


@dataclass(slots=True)
class DeviceNpySource(FileSource):
    """The tensor of such a file; ``dtype`` is that of its name.

    `settle` tells what the graph says of it; without that, a file with the device's shape stays as it is.
    """

    is_cut = True
    path: str
    device: FormatWord
    dtype: str = ""
    host: TensorSpec | None = None
    _found: tuple[Extent, int] | None = field(default=None, init=False, repr=False, compare=False)

    def settle(self, host: TensorSpec, groups: int | None = None) -> None:
        self.host = host
        if groups is not None and "G" in FORMATS[self.device.name].device:
            self.device = self.device._replace(groups=groups)

    def spec(self) -> TensorSpec:
        header, held = self._opened()
        way = self._way(header, held)
        if way is None:
            return TensorSpec(header.name, header.shape, self.device.name)
        named = way.format
        if named == "DefaultFormat":
            named = _CHANNELS_FIRST.get(len(way.shape), "ND")
        return TensorSpec(header.name, way.shape, named)

    def array(self) -> NDArray[Any]:
        header, held = self._opened()
        way = self._way(header, held)
        if way is None:
            return NpySource(self.path).array()
        with open_listed(self.path) as file:
            data = np.empty(held * header.dtype.itemsize, np.uint8)
            array = fill(file, header.offset, data, self.path).view(header.dtype)
        there = array.astype(header.dtype.newbyteorder("="), copy=False).reshape(way.there)
        groups = self.device.groups
        return to_host(there, self.device.name, way.format, way.shape, groups=groups)

    def reading(self, buffer: Buffer) -> Reading | None:
        header, held = self._opened()
        way = self._way(header, held)
        if way is None:
            return NpySource(self.path).reading(buffer)
        if not header.dtype.isnative:
            return None
        row = data_type_of(header.name)
        source = Layout(self.device.name, way.there, self.device.groups, way.there[-1])
        route = Route(source, Layout(way.format, way.shape), tuple(range(len(way.shape))))
        elements = Elements(self.path, header.offset, row, held)
        return known_pieces(rearranged(elements, route, TemporaryFile), row, way.shape)

    def _opened(self) -> tuple[Extent, int]:
        """Header, and how many elements follow it."""
        if self._found is None:
            with NpySource(self.path).payload(Buffer(_FIRST)) as payload:
                header = payload.header
            held = os.stat(self.path).st_size - header.offset
            self._found = header, held // header.dtype.itemsize
        return self._found

    def _way(self, header: Extent, held: int) -> Way | None:
        """How the elements become the host's; ``None`` if they are given as the header says."""
        dtype = self.dtype or header.name
        exact = held == header.size and not header.fortran
        if exact and self._is_there(header.shape, (self._c0(dtype),)):
            return self._stated(header.shape, dtype)
        flat = exact and len(header.shape) == 1  # a sample of its first elements, or left so
        if not flat and not header.fortran:
            found = host_by_count(self.device, held, header.shape, dtype)
            if found is not None:
                return Way(found[1], header.shape, found[0])
        if not exact:
            raise FormatError(
                "dump/npy-elements",
                place=f"{self.path}: byte {header.offset}",
                shape=header.shape,
                format=self.device.name,
                held=held,
            )
        if self._is_there(header.shape, _LANES):
            return self._stated(header.shape, dtype)
        return None

    def _stated(self, there: Shape, dtype: str) -> Way | None:
        """The way of a file with the device's shape, if the graph states the host's."""
        if self.host is None or self.host.shape is None:
            return None
        row = FORMATS.get(self.host.format)
        first = (row.name,) if row is not None and row.is_host else ()
        name = host_by_shape(self.device, there, self.host.shape, dtype, first)
        return Way(there, self.host.shape, name) if name else None

    def _c0(self, dtype: str) -> int:
        row = FORMATS[self.device.name]
        return 16 if "P" in row.device else row.c0 or c0_of(dtype)

    def _is_there(self, shape: Shape, lanes: tuple[int, ...]) -> bool:
        """Whether a shape is one of the device format: as many dimensions, one of the C0 last."""
        words = FORMATS[self.device.name].device.split()
        more = len(shape) - len(words)
        leading = FORMATS[self.device.name].axes == "RC"
        return (more == 0 or (leading and more > 0)) and shape[-1] in lanes
