"""Tensors that msprobe writes as bare bytes: number formats that npy files cannot hold.

Such a file is named like its npy neighbours, without a suffix. It states no shape, so the tensor is flat.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.dtypes import DATA_TYPES, DType
from workbench.core.errors import FormatError
from workbench.core.files import fill, open_listed
from workbench.core.packing import decode
from workbench.core.tensors import TensorSpec
from workbench.dump.formats.mindspore_name import NameParts, parse_name
from workbench.dump.payload.elements import Elements, known_elements
from workbench.dump.payload.reading import FileSource

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.dump.payload.reading import Buffer, Reading

_UNKNOWN = "UNKNOWN"
_BY_WORD = {row.word: row for row in DATA_TYPES.values()}


class RawName(NamedTuple):
    """What the name of such a file says, and its number format; ``None`` if msprobe does not know it."""

    parts: NameParts
    row: DType | None


def parse_raw_name(file_name: str) -> RawName | None:
    """Read ``{operator and ids}.{io}.{slot}.{FORMAT}.{DTYPE}``; ``None`` if it is no such name.

    >>> parse_raw_name("MatMul.mm.3.1.17.output.0.ND.HIFLOAT8").row.name
    'hifloat8'
    """
    word = file_name.rpartition(".")[2]
    row = _BY_WORD.get(word)
    parts = parse_name(f"{file_name}.npy") if row is not None or word == _UNKNOWN else None
    if parts is None:
        return None
    return RawName(parts._replace(dtype=row.name if row is not None else ""), row)


@dataclass(frozen=True, slots=True)
class RawSource(FileSource):
    """Elements of a file that holds nothing else."""

    path: str
    row: DType

    def spec(self) -> TensorSpec:
        return TensorSpec(self.row.name, (self._elements().count,))

    def reading(self, buffer: Buffer) -> Reading:
        elements = self._elements()
        return elements.reading(buffer, (elements.count,))

    def _elements(self) -> Elements:
        with open_listed(self.path) as file:
            size = os.fstat(file.fileno()).st_size
        return Elements(self.path, 0, self.row, size * 8 // self.row.bits)

    def array(self) -> NDArray[Any]:
        with open_listed(self.path) as file:
            size = os.fstat(file.fileno()).st_size
            try:
                data = fill(file, 0, np.empty(size, np.uint8), self.path)
            except MemoryError as error:
                raise FormatError("dump/file-memory", place=self.path, got=size) from error
        return known_elements(decode(self.row, data, size * 8 // self.row.bits))
