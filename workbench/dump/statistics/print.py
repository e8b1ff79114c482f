"""Tables of statistics, written: MindSpore's, the graph engine's and msprobe's.

The graph engine has two writers: the device, with fixed columns, and adump on the host, which prints what a device
kernel ("KFC") computed of chosen columns. msprobe copies the figures that the device computed, cell by cell, out of
the graph engine's tables; an MD5 it computes itself, and then nothing else.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from workbench.core.dtypes import DATA_TYPES
from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS
from workbench.core.writers import MINDSPORE_RELEASE
from workbench.dump.formats.file import FileName
from workbench.dump.formats.mindspore_name import dtype_word, sanitize
from workbench.dump.releases import LAST_WITHOUT_HASHES, release
from workbench.dump.statistics.dialects import (
    DIALECTS,
    GE_IDENTITY,
    IDENTITY,
    L2_IDENTITY,
    LAST_FIXED,
    NAMED_TYPES,
    TITLES,
    columns,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.core.tensors import TensorSpec
    from workbench.dump.statistics.dialects import Dialect
    from workbench.dump.statistics.parse import StatisticRow

_BY_NAME = {row.name: row for row in DATA_TYPES.values()}
_WHOLE = ("count", "nan count", "negative inf count", "positive inf count")
_L2, _KFC = DIALECTS["msprobe-l2"], DIALECTS["ge-kfc"]
_MD5 = "md5"


def name_in_table(parts: FileName, version: str) -> str:
    """Name of an operator or parameter in the tables of MindSpore ``version``.

    >>> add = FileName("npy", "Add", "Default/net/Add-op1", 17, 0, 0, "output", 0)
    >>> [name_in_table(add, version) for version in ("2.6.0", "2.10.0")]
    ['Default_net_Add-op1', 'Default/net/Add-op1']
    """
    whole = release(version) > LAST_WITHOUT_HASHES and parts.op_type != "Parameter"
    return parts.op_name if whole else sanitize(parts.op_name)


def format_header(categories: Iterable[str]) -> str:
    """First line, line feed included."""
    return ",".join((*IDENTITY, *(TITLES[name] for name in categories))) + "\n"


def format_row(
    parts: FileName,
    spec: TensorSpec,
    data_size: int,
    values: Mapping[str, float | int | str],
    categories: Iterable[str],
    *,
    version: str = MINDSPORE_RELEASE,
) -> str:
    """One row, line feed included; it ends in a comma from 2.3.1 on.

    Parameters
    ----------
    parts : FileName
        Identity of the tensor; ``op_name`` as the table shall have it (`name_in_table`).
    spec : TensorSpec
        Dtype and shape as stated in the row.
    data_size : int
        Bytes of the tensor.
    values : mapping
        Figures under their column titles; a missing one is written as ``null``.
    """
    shape = ",".join(str(dim) for dim in spec.shape or ())
    cells = [
        parts.op_type,
        parts.op_name,
        *_numbers(parts),
        parts.io,
        str(parts.slot),
        str(data_size),
        dtype_word(spec.dtype, "Ascend"),
        f'"({shape})"',
        *(format_value(values.get(TITLES[name])) for name in categories),
    ]
    return ",".join(cells) + ("\n" if release(version) <= LAST_FIXED else ",\n")


def _numbers(parts: FileName) -> list[str]:
    """Task, stream and time of an operator."""
    return list(map(str, (parts.task_id or 0, parts.stream_id or 0, parts.timestamp_us)))


def format_value(value: float | str | None, missing: str = "null") -> str:
    """Format as a C++ stream does: six significant digits for floats, all digits for counts."""
    if value is None:
        return missing
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def format_ge_statistics(
    rows: Iterable[StatisticRow], categories: Iterable[str] = (), dialect: str = "ge"
) -> str:
    """Whole text of a table; a row without any figure is one that the writer could not compute.

    The device writes all its columns whatever ``categories`` say. Such a row of a KFC table with
    chosen columns lacks its count, and with it a cell.
    """
    writer = DIALECTS[dialect]
    names = columns(writer, categories)
    head = (*GE_IDENTITY, *(writer.titles[name] for name in names))
    return "\n".join([",".join(head), *(_ge_row(row, writer, names) for row in rows), ""])


def _ge_row(row: StatisticRow, writer: Dialect, names: tuple[str, ...]) -> str:
    dtype = _BY_NAME.get(row.parts.dtype)
    known = dtype is not None and dtype.code in writer.named
    form = FORMATS.get(row.parts.format)
    shown = form is not None and 0 <= form.code <= writer.formats
    cells = [
        row.parts.io.capitalize(),
        str(row.parts.slot),
        str(row.data_size),
        f"DT_{dtype.word}" if dtype and known else writer.unknown,
        writer.respelled.get(form.name, form.name) if form and shown else writer.unknown,
        "x".join(map(str, row.shape)) or "-",
        *_figures(row, writer, names),
    ]
    return ",".join(cells)


def _figures(row: StatisticRow, writer: Dialect, names: tuple[str, ...]) -> list[str]:
    values, missing = row.statistics, writer.missing
    if missing and values.keys() <= {TITLES["count"]}:
        # nothing was computed: adump then counts in the middle of a row, but not at its beginning
        names = names[1:] if names[:1] == ("count",) else names
        return [str(prod(row.shape)) if name == "count" else missing for name in names]
    kind = _BY_NAME[row.parts.dtype].storage.kind if row.parts.dtype in _BY_NAME else "f"
    return [_cell(values.get(TITLES[name]), name, kind, missing) for name in names]


def _cell(value: float | str | None, name: str, kind: str, missing: str) -> str:
    """Whole numbers in full, all else with six digits."""
    whole = name in _WHOLE or (kind in "iub" and name in ("max", "min"))
    if whole and isinstance(value, float) and value.is_integer():
        value = int(value)
    return format_value(value, missing)


def format_l2_statistics(rows: Iterable[StatisticRow], categories: Iterable[str]) -> str:
    """Whole text of a table.

    With ``md5`` rows are those of the host: ``input``, ``FLOAT``, and a shape whose commas cut it in
    pieces, ``(2,3)``, as it stands without quotes. Else they are the device's: ``Input``,
    ``DT_FLOAT``, ``2x3``; msprobe drops a row for which the device computed nothing, unless it asked
    for the default categories. No category, no table.
    """
    names = columns(_L2, categories)
    if _MD5 in names and len(names) > 1:
        raise FormatError("dump/statistics-md5", got=list(names))
    if not names:
        return ""
    head = (*L2_IDENTITY, *(_L2.titles[name] for name in names))
    body = _host_row if names == (_MD5,) else _device_row
    lines = (body(row, names) for row in rows)
    return "\n".join([",".join(head), *filter(None, lines), ""])


def _identity(row: StatisticRow) -> list[str]:
    parts = row.parts
    return [parts.op_type, sanitize(parts.op_name), *_numbers(parts)]


def _host_row(row: StatisticRow, names: tuple[str, ...]) -> str:
    parts = row.parts
    shape = ",".join(str(dim) for dim in row.shape)
    word = NAMED_TYPES.get(parts.dtype, "UNKNOWN")
    cells = [parts.io, str(parts.slot), str(row.data_size), word, parts.format, f"({shape})"]
    values = [str(row.statistics.get(TITLES[name], _L2.missing)) for name in names]
    return ",".join([*_identity(row), *cells, *values])


def _device_row(row: StatisticRow, names: tuple[str, ...]) -> str:
    """Cells of the KFC table that they are copied from; ``""`` if its row is a cell short."""
    titles, cells = (
        line.split(",") for line in format_ge_statistics([row], names, _KFC.name).splitlines()
    )
    if len(cells) < len(titles):
        return ""
    copied = dict(zip(titles, cells, strict=True))
    return ",".join([*_identity(row), *cells[:6], *(copied[_KFC.titles[name]] for name in names)])
