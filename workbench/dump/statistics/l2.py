"""msprobe's ``statistic.csv`` of an acl dump, written; `workbench.dump.statistics.statistic` reads it.

msprobe copies the figures that the device computed, cell by cell, out of the graph engine's tables;
an MD5 it computes itself, and then nothing else. Source: msprobe ``AclDumpDataProcessor.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.dtypes import DATA_TYPES
from workbench.core.errors import FormatError
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.statistics.dialects import DIALECTS, L2_IDENTITY, columns
from workbench.dump.statistics.ge import format_ge_statistics
from workbench.dump.statistics.statistic import TITLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.dump.statistics.statistic import StatisticRow

_DIALECT, _KFC = DIALECTS["msprobe-l2"], DIALECTS["ge-kfc"]
_LAST_NAMED = 31
NAMED_TYPES = {row.name: row.word for row in DATA_TYPES.values() if row.code <= _LAST_NAMED}
"""Number formats that msprobe has names for; all others are ``UNKNOWN``."""

_MD5 = "md5"


def format_l2_statistics(rows: Iterable[StatisticRow], categories: Iterable[str]) -> str:
    """Whole text of a table.

    With ``md5`` rows are those of the host: ``input``, ``FLOAT``, and a shape whose commas cut it in
    pieces, ``(2,3)``, as it stands without quotes. Else they are the device's: ``Input``,
    ``DT_FLOAT``, ``2x3``; msprobe drops a row for which the device computed nothing, unless it asked
    for the default categories. No category, no table.
    """
    names = columns(_DIALECT, categories)
    if _MD5 in names and len(names) > 1:
        raise FormatError("dump/statistics-md5", got=list(names))
    if not names:
        return ""
    head = (*L2_IDENTITY, *(_DIALECT.titles[name] for name in names))
    body = _host_row if names == (_MD5,) else _device_row
    lines = (body(row, names) for row in rows)
    return "\n".join([",".join(head), *filter(None, lines), ""])


def _identity(row: StatisticRow) -> list[str]:
    parts = row.parts
    return [parts.op_type, sanitize(parts.op_name), *(str(number) for number in parts[2:5])]


def _host_row(row: StatisticRow, names: tuple[str, ...]) -> str:
    parts = row.parts
    shape = ",".join(str(dim) for dim in row.shape)
    word = NAMED_TYPES.get(parts.dtype, "UNKNOWN")
    cells = [parts.io, str(parts.slot), str(row.data_size), word, parts.format, f"({shape})"]
    values = [str(row.statistics.get(TITLES[name], _DIALECT.missing)) for name in names]
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
