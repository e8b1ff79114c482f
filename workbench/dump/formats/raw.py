"""Tensors that msprobe writes as bare bytes: number formats that npy files cannot hold.

Such a file is named like its npy neighbours, without a suffix. It states no shape, so the tensor is flat.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from workbench.core.dtypes import DATA_TYPES, DType
from workbench.core.files import open_listed
from workbench.dump.formats.mindspore_name import NameParts, parse_name
from workbench.dump.payload.extent import Extent

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


def locate(path: str, row: DType) -> Extent:
    """Extent of a file that holds elements and nothing else; raises FormatError if it cannot be opened."""
    with open_listed(path) as file:
        size = os.fstat(file.fileno()).st_size
    count = size * 8 // row.bits
    return Extent(path, 0, size, row, count, (count,))
