"""Bytes of a container's blocks, read when they are asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.files import fill, open_listed
from workbench.core.formats import format_text
from workbench.core.packing import decode, packed_bytes
from workbench.core.tensors import TensorSpec
from workbench.dump.formats.container_entries import element_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from workbench.core.dtypes import DType
    from workbench.dump.formats.container_entries import Block

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class ContainerSource:
    """The data of one block of a container; read when asked for.

    Elements are as they lie in the file, in the device's format. Formats that NumPy does not hold
    come as ml_dtypes or, decoded, as float32 (`workbench.core.packing`).
    """

    path: str
    block: Block

    def spec(self) -> TensorSpec:
        row = self.block.row
        name = row.name if row is not None else f"type {self.block.data_type}"
        return TensorSpec(name, self.block.held_shape, format_text(self.block.layout))

    def array(self) -> NDArray[Any]:
        row, shape = self.ready()
        count = element_count(shape)
        return decode(row, self._bytes(0, packed_bytes(row, count)), count).reshape(shape)

    def raw(self) -> NDArray[np.uint8]:
        """Every byte of the block, padding included, whatever its type."""
        if self.block.start < 0:
            raise self._refusal()
        return self._bytes(0, self.block.size)

    def raw_pieces(self) -> Iterator[NDArray[np.uint8]]:
        """Every byte of the block in order, some at a time; a piece is valid until the next one."""
        if self.block.start < 0:
            raise self._refusal()
        buffer = np.empty(min(_PIECE, self.block.size), np.uint8)
        with open_listed(self.path) as file:
            for first in range(0, self.block.size, _PIECE):
                piece = buffer[: self.block.size - first]
                yield fill(file, self.block.start + first, piece, self.path)

    def _name(self) -> str:
        return f"{self.block.part} {self.block.slot}"

    def ready(self) -> tuple[DType, tuple[int, ...]]:
        """Number format and shape of the elements; raises FormatError if they cannot be had."""
        row, shape = self.block.row, self.block.held_shape
        if self.block.problem or row is None:
            raise self._refusal()
        return row, shape

    def _refusal(self) -> FormatError:
        return self.block.refusal(f"{self.path}: byte {max(self.block.start, 0)}: {self._name()}")

    def _bytes(self, first: int, size: int) -> NDArray[np.uint8]:
        with open_listed(self.path) as file:
            if os.fstat(file.fileno()).st_size < self.block.start + first + size:
                place = f"{self.path}: byte {self.block.start + first}"
                raise FormatError("dump/file-changed", place=place, missing=self._name())
            return fill(file, self.block.start + first, np.empty(size, np.uint8), self.path)
