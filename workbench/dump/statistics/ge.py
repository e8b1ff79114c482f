"""The graph engine's statistics: one csv an operator, a row a tensor.

Two writers: the device, with fixed columns, and adump on the host, which prints what a device kernel
("KFC") computed of chosen columns. The operator, its task and its time are in the file's name. Sources:
``dump_task.cpp``, ``dump_task.h`` and ``adx_dump_record.cpp`` of CANN's runtime.
"""

from __future__ import annotations

import csv
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from workbench.core.dtypes import DATA_TYPES, dtype_name
from workbench.core.errors import FormatError
from workbench.core.files import open_text
from workbench.core.formats import FORMATS
from workbench.dump.formats.ge_name import parse_ge_name
from workbench.dump.formats.mindspore_name import NameParts
from workbench.dump.statistics.dialects import DIALECTS, GE_IDENTITY, Dialect, columns
from workbench.dump.statistics.rows import TableReader, no_csv, note_problem, table_rows
from workbench.dump.statistics.statistic import (
    TITLES,
    StatisticRow,
    StatisticTable,
    format_value,
    parse_count,
    parse_shape,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.core.tensors import Io
    from workbench.core.words import Message
    from workbench.dump.formats.ge_name import GeName


class Writer(NamedTuple):
    """What a writer knows: its dialect, number formats it names and computes, formats it names.

    ``unknown`` stands for a data type or a format that has no name.
    """

    dialect: Dialect
    named: frozenset[int]
    computed: frozenset[str]
    formats: int
    respelled: Mapping[str, str]
    unknown: str


_WIDE = ("float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint32")
_NARROW = ("bfloat16", "float8_e5m2", "float8_e4m3fn")

WRITERS: dict[str, Writer] = {
    "ge": Writer(
        DIALECTS["ge"],
        frozenset(range(26)),
        frozenset((*_WIDE, "uint64", "bool", "float64")),
        40,
        {},
        "-",
    ),
    "ge-kfc": Writer(
        DIALECTS["ge-kfc"],
        frozenset(range(41)) - {32},
        frozenset((*_WIDE, "bool", *_NARROW)),
        49,
        {"DHWCN": "DHWCH"},
        "UNKNOW",
    ),
}
"""Dialect → its writer."""

_SPELLED = {title: name for row in DIALECTS.values() for name, title in row.titles.items()}
_BY_NAME = {row.name: row for row in DATA_TYPES.values()}
_NAMES = {f"DT_{row.word}": row.name for row in DATA_TYPES.values()}
_CHUNK = 1 << 20
_WHOLE = ("count", "nan count", "negative inf count", "positive inf count")


def ge_statistics_of(array: NDArray[Any], dialect: str = "ge") -> dict[str, float]:
    """Figures of a tensor under MindSpore's column titles, as the device computes them.

    Maximum and minimum start from the first element and pass over NaN, so a NaN that comes first
    stays. The average is the device's running mean but for the last digits; it is NaN with a NaN or
    with infinities of both signs, and the infinity if there are some of one sign, whatever else
    there is. Number formats that the writer does not compute, and no elements, give no figures.

    >>> ge_statistics_of(np.float32([1, np.nan, 3, np.inf]))["Avg Value"]
    inf
    """
    if array.dtype.name not in WRITERS[dialect].computed or not array.size:
        return {}
    flat = np.ravel(array)
    sums = _sums(flat)
    largest: float
    smallest: float
    if flat.dtype.kind in "iub":  # whole numbers of 64 bits would lose digits as floats
        largest, smallest = int(flat.max()), int(flat.min())
    elif np.isnan(flat[0]):
        largest = smallest = np.nan
    else:
        largest, smallest = sums["max"], sums["min"]
    plus, minus = sums["positive inf count"], sums["negative inf count"]
    mean = sums["avg"] / flat.size
    if bool(plus) != bool(minus):
        mean = np.inf if plus else -np.inf
    figures = sums | {"max": largest, "min": smallest, "avg": mean, "count": flat.size}
    figures["l2norm"] = float(np.sqrt(sums["l2norm"]))
    return {TITLES[name]: figures[name] for name in WRITERS[dialect].dialect.titles}


def _sums(flat: NDArray[Any]) -> dict[str, float]:
    """Add up under the names of categories; ``avg`` is the sum, ``l2norm`` the sum of squares."""
    sums: dict[str, float] = {"max": -np.inf, "min": np.inf, "avg": 0.0, "l2norm": 0.0}
    sums |= dict.fromkeys(_WHOLE[1:], 0)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, flat.size, _CHUNK):
            x = flat[start : start + _CHUNK].astype(np.float64)
            sums["max"] = float(np.fmax.reduce(x, initial=sums["max"]))
            sums["min"] = float(np.fmin.reduce(x, initial=sums["min"]))
            sums["avg"] += float(x.sum())
            sums["l2norm"] += float(np.square(x).sum())
            sums["nan count"] += int(np.isnan(x).sum())
            sums["negative inf count"] += int(np.isneginf(x).sum())
            sums["positive inf count"] += int(np.isposinf(x).sum())
    return sums


def format_ge_statistics(
    rows: Iterable[StatisticRow], categories: Iterable[str] = (), dialect: str = "ge"
) -> str:
    """Whole text of a table; a row without any figure is one that the writer could not compute.

    The device writes all its columns whatever ``categories`` say. Such a row of a KFC table with
    chosen columns lacks its count, and with it a cell.
    """
    writer = WRITERS[dialect]
    names = columns(writer.dialect, categories)
    head = (*GE_IDENTITY, *(writer.dialect.titles[name] for name in names))
    return "\n".join([",".join(head), *(_row(row, writer, names) for row in rows), ""])


def _row(row: StatisticRow, writer: Writer, names: tuple[str, ...]) -> str:
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


def _figures(row: StatisticRow, writer: Writer, names: tuple[str, ...]) -> list[str]:
    values, missing = row.statistics, writer.dialect.missing
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


def read_ge_statistics(path: Path, name: GeName | None = None) -> StatisticTable:
    """Read a table; ``name`` is what its file was meant to be called, if it is not called so.

    Raises FormatError if the name is not that of statistics, or if the first line is not theirs.
    """
    found = name or parse_ge_name(path.name)
    if found is None or found.kind != "statistics":
        raise FormatError("dump/statistics-name", place=str(path))
    with open_text(path, "table") as file:
        return parse_ge_statistics(file, found, str(path))


def parse_ge_statistics(
    lines: Iterable[str], name: GeName, place: str = "statistics"
) -> StatisticTable:
    """Read the lines of a table; a row that cannot be read becomes a problem with its line."""
    reader = TableReader(lines)
    try:
        titles = tuple(next(reader, []))
    except csv.Error as error:
        raise no_csv(error).at(f"{place}:1") from error
    if titles[: len(GE_IDENTITY)] != GE_IDENTITY:
        got, expected = ",".join(titles)[:120], ",".join(GE_IDENTITY)
        raise FormatError("dump/table-header", place=f"{place}:1", got=got, expected=expected)
    rows: list[StatisticRow] = []
    problems: list[Message] = []
    for row in table_rows(reader):
        try:
            if isinstance(row, FormatError):
                raise row
            rows.append(_parse_row(row, titles, name))
        except FormatError as error:
            note_problem(problems, place, reader.line, error)
    return StatisticTable(rows, problems)


def _parse_row(cells: list[str], titles: tuple[str, ...], name: GeName) -> StatisticRow:
    figures = cells[len(GE_IDENTITY) :]
    short = len(cells) == len(titles) - 1 and set(figures) == {"NA"}
    if len(cells) < len(titles) and not short:
        raise FormatError("dump/row-cells", got=len(cells), expected=len(titles))
    io = cells[0].lower()
    if io not in ("input", "output"):
        raise FormatError("dump/cell-io", title="Input/Output", got=cells[0][:40])
    parts = NameParts(
        name.op_type,
        name.op_name,
        name.task_id or 0,
        name.stream_id or 0,
        name.timestamp,
        cast("Io", io),
        parse_count(cells[1], "Index"),
        _format_name(cells[4]),
        _dtype_name(cells[3]),
    )
    size = parse_count(cells[2], "Data Size")
    values: dict[str, float | str] = {}
    for title, text in zip(titles[len(GE_IDENTITY) :], figures, strict=False):
        if text not in ("", "NA") and not short:
            values[TITLES.get(_SPELLED.get(title, ""), title)] = _figure(text, title)
    return StatisticRow(parts, size, parse_shape(cells[5]), values)


def _dtype_name(word: str) -> str:
    """Canonical name; ``""`` where the writer had none."""
    if word in ("-", "UNKNOW"):
        return ""
    return _NAMES.get(word) or dtype_name(word.removeprefix("DT_")) or word


def _format_name(word: str) -> str:
    if word in ("-", "UNKNOW"):
        return ""
    return "DHWCN" if word == "DHWCH" else word


def _figure(text: str, title: str) -> float:
    """Number of a cell, whole ones exactly; raises FormatError if it is none."""
    digits = text.removeprefix("-")
    if text != "-0" and digits.isascii() and digits.isdecimal() and len(digits) < 21:
        return int(text)
    try:
        return float(text)
    except ValueError:
        raise FormatError("dump/cell-number", title=title[:40], got=text[:40]) from None
