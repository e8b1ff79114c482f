"""Tables of statistics, read: those of MindSpore, msprobe and the graph engine.

Of MindSpore's and msprobe's ``statistic.csv`` three writers are read: MindSpore since 2.3.1 (columns as asked for,
every row ends in a comma), MindSpore 1.6 to 2.3.0 (fixed columns), and msprobe's acl dump (``Input/Output``, a format
column, and shapes that may stand without quotes). The graph engine has a table an operator, whose name says of which.
A row that cannot be read becomes a problem with its line; the others are still returned. Nobody vouches for a table:
neither a long line nor very many bad ones take much memory.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Self, cast

from workbench._values import NamedTuple
from workbench.core.dtypes import DATA_TYPES, dtype_name
from workbench.core.errors import FormatError
from workbench.core.files import open_text
from workbench.core.words import Message
from workbench.dump.formats.file import FileName
from workbench.dump.formats.ge_name import grammar
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.statistics.dialects import DIALECTS, GE_IDENTITY, IDENTITY, TITLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from workbench.core.tensors import Io

MAX_LINE = 1 << 16
"""Most characters of one line; names have a few hundred, shapes and figures less."""

MANY = 1000
"""Rows of one table that cannot be read and are told one by one."""
_MAX_DIMS = 32
_SYNONYMS = {"Input/Output": "IO", "Index": "Slot"}
_TITLES = {title: TITLES[name] for row in DIALECTS.values() for name, title in row.titles.items()}
"""Title of a figure in any dialect → MindSpore's."""

_WORDS_OF_TYPES = {f"DT_{row.word}": row.name for row in DATA_TYPES.values()}
_UNNAMED = frozenset(DIALECTS[name].unknown for name in ("ge", "ge-kfc"))
"""What the device writes of types and formats that it has no name for; msprobe copies it."""

_RESPELLED = {word: name for row in DIALECTS.values() for name, word in row.respelled.items()}
_OF_TENSOR = frozenset((*IDENTITY, "Format"))
_TEXT = frozenset((TITLES["md5"], TITLES["sha1"]))
_WORDS = {"True": 1.0, "False": 0.0}
_BRACKETS, _CLOSING = ("(", "["), (")", "]")


class StatisticRow(NamedTuple):
    """One tensor of a statistic.csv.

    ``parts`` is what a file name would say (``format`` is ``""`` where no column states it);
    ``data_size`` is in bytes; ``statistics`` maps column titles to numbers, or text for hashes and
    for anything that is no number. Missing values (empty or ``null``) have no entry.
    """

    parts: FileName
    data_size: int
    shape: tuple[int, ...]
    statistics: dict[str, float | str]


class StatisticTable(NamedTuple):
    """Rows of a statistic.csv, and the rows that could not be read: ``place:line: reason``."""

    rows: list[StatisticRow]
    problems: list[Message]


_parse_table_name = grammar("statistics")


class _Columns(NamedTuple):
    """Columns of a table: titles under one name in all dialects, and where each stands.

    ``name`` is that of the file where it tells whose tensors they are.
    """

    titles: tuple[str, ...]
    at: Mapping[str, int]
    name: FileName | None


def read_statistics(path: Path) -> StatisticTable:
    """Read a statistic.csv; see `parse_statistics`."""
    with open_text(path, "table") as file:
        return parse_statistics(file, str(path))


def read_ge_statistics(path: Path, name: FileName | None = None) -> StatisticTable:
    """Read a table; ``name`` is what its file was meant to be called, if it is not called so.

    Raises FormatError if the name is not that of statistics, or if the first line is not theirs.
    """
    found = name or _parse_table_name(path.name)
    if found is None:
        raise FormatError("dump/statistics-name", place=str(path))
    with open_text(path, "table") as file:
        return parse_statistics(file, str(path), found)


def parse_statistics(
    lines: Iterable[str], place: str = "statistic.csv", name: FileName | None = None
) -> StatisticTable:
    """Read the lines of a table; raises FormatError if the first is no known header.

    ``name`` is that of the file of the graph engine's tables, which tells the operator.
    """
    reader = TableReader(lines)
    try:
        titles = tuple(next(reader, []))
    except csv.Error as error:
        raise no_csv(error).at(f"{place}:1") from error
    columns = _columns(titles, f"{place}:1", name)
    rows: list[StatisticRow] = []
    problems: list[Message] = []
    for row in table_rows(reader):
        try:
            if isinstance(row, FormatError):
                raise row
            rows.append(_parse_row(row, columns))
        except FormatError as error:
            note_problem(problems, place, reader.line, error)
    return StatisticTable(rows, problems)


def _columns(titles: tuple[str, ...], place: str, name: FileName | None) -> _Columns:
    """Say where columns stand; raises FormatError for a header that is none of a table's."""
    if name is not None and titles[: len(GE_IDENTITY)] != GE_IDENTITY:
        got, expected = ",".join(titles)[:120], ",".join(GE_IDENTITY)
        raise FormatError("dump/table-header", place=place, got=got, expected=expected)
    known = tuple(_TITLES.get(title, _SYNONYMS.get(title, title)) for title in titles)
    at = {title: at for at, title in reversed(list(enumerate(known)))}  # the first of equal ones
    missing = [title for title in IDENTITY if title not in at]
    if name is None and missing:
        raise FormatError("dump/table-columns", place=place, missing=missing)
    return _Columns(known, at, name)


def _parse_row(cells: list[str], columns: _Columns) -> StatisticRow:
    at, name = columns.at, columns.name
    shape = at["Shape"]
    if len(cells) > shape and cells[shape][:1] in _BRACKETS and not cells[shape].endswith(_CLOSING):
        cells = _join_shape(cells, shape)
    # adump leaves the count out where it has computed nothing
    short = name is not None and len(cells) == len(columns.titles) - 1 and set(cells[6:]) == {"NA"}
    if len(cells) < len(columns.titles) and not short:
        raise FormatError("dump/row-cells", got=len(cells), expected=len(columns.titles))
    io = cells[at["IO"]].lower()
    if io not in ("input", "output"):
        title = "IO" if name is None else "Input/Output"
        raise FormatError("dump/cell-io", title=title, got=cells[at["IO"]][:40])
    parts = FileName(
        "npy",
        *_operator(cells, columns),
        cast("Io", io),
        parse_count(cells[at["Slot"]], "Slot" if name is None else "Index"),
        _format_name(cells[at["Format"]]) if "Format" in at else "",
        _dtype_name(cells[at["Data Type"]]),
    )
    size = parse_count(cells[at["Data Size"]], "Data Size")
    values = {} if short else _parse_values(cells, columns)
    return StatisticRow(parts, size, parse_shape(cells[shape]), values)


def _operator(cells: list[str], columns: _Columns) -> tuple[str, str, int, int, int]:
    """Type, name, time, task and stream of the operator, from the row or from the file's name."""
    name, at = columns.name, columns.at
    if name is not None:
        return name.op_type, name.op_name, name.timestamp_us, name.task_id or 0, name.stream_id or 0
    text = cells[at["Op Name"]]
    task, stream, time = (
        parse_count(cells[at[title]], title) for title in ("Task ID", "Stream ID", "Timestamp")
    )
    # releases after 2.7 write the name of the graph
    return cells[at["Op Type"]], sanitize(text) if "/" in text else text, time, task, stream


def _dtype_name(word: str) -> str:
    """Canonical name; ``""`` where the writer had none."""
    if word in _UNNAMED:
        return ""
    plain = word.removeprefix("DT_")
    return _WORDS_OF_TYPES.get(word) or dtype_name(plain) or plain


def _format_name(word: str) -> str:
    return "" if word in _UNNAMED else _RESPELLED.get(word, word)


def _join_shape(cells: list[str], at: int) -> list[str]:
    """Put a shape without quotes, which its commas cut in pieces, together again."""
    end = next((i for i in range(at, len(cells)) if cells[i].endswith(_CLOSING)), at)
    return [*cells[:at], ",".join(cells[at : end + 1]), *cells[end + 1 :]]


def parse_count(text: str, title: str) -> int:
    """Read a cell of digits; raises FormatError naming its column."""
    if text.isascii() and text.isdecimal() and len(text) < 20:
        return int(text)
    raise FormatError("dump/cell-number", title=title, got=text[:40])


def parse_shape(text: str) -> tuple[int, ...]:
    """Read ``(2,3)``, ``[2, 3]`` or ``2x3``; ``-``, ``NA`` and nothing at all are ``()``."""
    inner = text.strip().strip("()[]").strip()
    if inner in ("", "-", "NA"):
        return ()
    pieces = inner.rstrip(",").replace("x", ",").split(",")
    shape = tuple(parse_count(piece.strip(), "Shape") for piece in pieces)
    if len(shape) > _MAX_DIMS:
        raise FormatError("dump/dimensions", subject="Shape", got=len(shape), limit=_MAX_DIMS)
    return shape


def _parse_values(cells: list[str], columns: _Columns) -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    read = _figure if columns.name is None else _whole_figure
    for title, text in zip(columns.titles, cells, strict=False):
        if title in _OF_TENSOR or text in ("", "null", "NA"):
            continue
        values[title] = text if title in _TEXT else read(text, title)
    return values


def _figure(text: str, _title: str) -> float | str:
    """Number of a cell; the device prints the largest of a bool tensor as a word."""
    if text in _WORDS:
        return _WORDS[text]
    try:
        return float(text)
    except ValueError:
        return text


def _whole_figure(text: str, title: str) -> float:
    """Number of a cell, whole ones exactly; raises FormatError if it is none."""
    digits = text.removeprefix("-")
    if text != "-0" and digits.isascii() and digits.isdecimal() and len(digits) < 21:
        return int(text)
    try:
        return float(text)
    except ValueError:
        raise FormatError("dump/cell-number", title=title[:40], got=text[:40]) from None


class TableReader:
    """Cells of every row, as the csv module reads them; ``line`` is the number of the last one's last line.

    A line that is too long raises csv.Error, as others do that are no CSV; the next one can be read.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self.line = 0
        self._rows = csv.reader(iter(self._line, None))  # which goes on after an error

    def _line(self) -> str:
        line = next(self._lines)
        self.line += 1
        if len(line) > MAX_LINE:
            raise csv.Error(Message("dump/table-line", got=len(line), limit=MAX_LINE))
        return line

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[str]:
        return next(self._rows)


def table_rows(reader: TableReader) -> Iterator[list[str] | FormatError]:
    """Rows that are not empty; a row that the csv module refuses comes as an error."""
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield no_csv(error)
            continue
        if cells is None:
            return
        if cells:
            yield cells


def no_csv(error: csv.Error) -> FormatError:
    """Return what the csv module says of a line."""
    return FormatError("dump/table-text", why=error.args[0])


def note_problem(problems: list[Message], place: str, line: int, error: FormatError) -> None:
    """Note a row that cannot be read; those behind the first `MANY` share one message."""
    if len(problems) > MANY:
        problems.append(problems[-1])
    elif len(problems) == MANY:
        problems.append(Message("dump/rows-more", place=place))
    else:
        problems.append(error.at(f"{place}:{line}").message)
