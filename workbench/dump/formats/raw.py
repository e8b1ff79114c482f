"""Tensors that msprobe writes as bare bytes: number formats that npy files cannot hold.

Such a file is named like its npy neighbours, without a suffix. It states no shape, so the tensor is flat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.dtypes import DATA_TYPES, DType, data_type_of
from workbench.core.files import open_listed, size_of
from workbench.dump.formats.mindspore_name import parse_npy_name, sanitize
from workbench.dump.payload.extent import Extent

if TYPE_CHECKING:
    from workbench.dump.formats.file import FileName

UNKNOWN = "UNKNOWN"
_BY_WORD = {row.word: row for row in DATA_TYPES.values()}


def parse_raw_name(file_name: str) -> FileName | None:
    """Read ``{operator and ids}.{io}.{slot}.{FORMAT}.{DTYPE}``; ``None`` if it is no such name.

    The number format is empty if msprobe does not know it.

    >>> parse_raw_name("MatMul.mm.3.1.17.output.0.ND.HIFLOAT8").dtype
    'hifloat8'
    """
    word = file_name.rpartition(".")[2]
    row = _BY_WORD.get(word)
    found = parse_npy_name(f"{file_name}.npy") if row is not None or word == UNKNOWN else None
    return found and found._replace(kind="raw", dtype=row.name if row is not None else "")


def format_raw_name(name: FileName) -> str:
    """File name of bare bytes, as msprobe gives it.

    >>> format_raw_name(parse_raw_name("MatMul.mm.3.1.17.output.0.ND.HIFLOAT8"))
    'MatMul.mm.3.1.17.output.0.ND.HIFLOAT8'
    """
    word = data_type_of(name.dtype).word if name.dtype else UNKNOWN
    return (
        f"{name.op_type}.{sanitize(name.op_name)}.{name.task_id}.{name.stream_id}.{name.timestamp_us}"
        f".{name.io}.{name.slot}.{name.format}.{word}"
    )


def locate(path: str, row: DType) -> Extent:
    """Extent of a file that holds elements and nothing else; raises FormatError if it cannot be opened."""
    with open_listed(path) as file:
        size = size_of(file)
    count = size * 8 // row.bits
    return Extent(path, 0, size, row, count, (count,))
