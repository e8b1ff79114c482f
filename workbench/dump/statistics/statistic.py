"""``statistic.csv``: tensors summed up in one row each, written and read.

Three writers are read: MindSpore since 2.3.1 (columns as asked for, every row ends in a comma),
MindSpore 1.6 to 2.3.0 (fixed columns), and msprobe's acl dump (``Input/Output``, a format column,
and shapes that may stand without quotes). Source: MindSpore ``tensor_stat_dump.cc`` and
``csv_writer.h``. A row that cannot be read becomes a problem with its line; the others are still
returned.
"""

from __future__ import annotations

import csv
import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from workbench.core.dtypes import dtype_name
from workbench.core.errors import FormatError
from workbench.core.files import open_text
from workbench.core.plan import CATEGORIES
from workbench.dump.formats.file import FileName
from workbench.dump.formats.mindspore_name import dtype_word, sanitize, short_name
from workbench.dump.releases import FULL_NAMES, LAST_WITHOUT_HASHES, release
from workbench.dump.statistics.rows import TableReader, no_csv, note_problem, table_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from workbench.core.tensors import Io, TensorSpec
    from workbench.core.words import Message

IDENTITY = (
    "Op Type",
    "Op Name",
    "Task ID",
    "Stream ID",
    "Timestamp",
    "IO",
    "Slot",
    "Data Size",
    "Data Type",
    "Shape",
)
"""Titles of the columns that every statistic.csv of MindSpore begins with."""

FIXED_CATEGORIES = CATEGORIES[:10]
"""What MindSpore up to 2.3.0 writes, whatever was asked for."""

LAST_FIXED = (2, 3, 0)
"""Last release with these columns; its rows end without a comma."""

_MAX_DIMS = 32
_CHUNK = 1 << 20
_HASHED_AT_ONCE = 20_480
"""Elements of one slice when MindSpore computes a SHA-1."""

_SYNONYMS = {"Input/Output": "IO", "MD5 Value": "MD5"}
_TEXT = frozenset(("MD5", "SHA1"))
_WORDS = {"True": 1.0, "False": 0.0}
_BRACKETS, _CLOSING = ("(", "["), (")", "]")


@dataclass(slots=True)
class _Sums:
    """Running sums over a tensor; ``total`` and ``squares`` in float64."""

    count: int = 0
    largest: float = float("-inf")
    smallest: float = float("inf")
    total: float = 0.0
    squares: float = 0.0
    below: int = 0
    above: int = 0
    zero: int = 0
    nan: int = 0
    negative_inf: int = 0
    positive_inf: int = 0

    def add(self, x: NDArray[np.float64]) -> None:
        """Take in a chunk of at least one element."""
        self.count += x.size
        self.largest = float(np.maximum(self.largest, x.max()))
        self.smallest = float(np.minimum(self.smallest, x.min()))
        total = float(x.sum())
        self.total += total
        self.squares += float(np.square(x).sum())
        self.below += int(np.count_nonzero(x < 0))
        self.above += int(np.count_nonzero(x > 0))
        self.zero += int(np.count_nonzero(x == 0))
        if not math.isfinite(total):
            self.nan += int(np.count_nonzero(np.isnan(x)))
            self.negative_inf += int(np.count_nonzero(np.isneginf(x)))
            self.positive_inf += int(np.count_nonzero(np.isposinf(x)))


_NUMBERS: dict[str, tuple[str, Callable[[_Sums], float]]] = {
    "max": ("Max Value", lambda s: s.largest if s.count else float("nan")),
    "min": ("Min Value", lambda s: s.smallest if s.count else float("nan")),
    "avg": ("Avg Value", lambda s: s.total / s.count if s.count else float("nan")),
    "count": ("Count", lambda s: s.count),
    "negative zero count": ("Negative Zero Count", lambda s: s.below),
    "positive zero count": ("Positive Zero Count", lambda s: s.above),
    "nan count": ("NaN Count", lambda s: s.nan),
    "negative inf count": ("Negative Inf Count", lambda s: s.negative_inf),
    "positive inf count": ("Positive Inf Count", lambda s: s.positive_inf),
    "zero count": ("Zero Count", lambda s: s.zero),
    "l2norm": ("L2Norm Value", lambda s: s.squares**0.5),
}


def _md5(flat: NDArray[Any]) -> str:
    return hashlib.md5(flat.view(np.uint8).data, usedforsecurity=False).hexdigest()


def _sha1(flat: NDArray[Any]) -> str:
    """SHA-1 as MindSpore's ``tensor_summary.cc`` computes it, several slices at a time."""
    if flat.size <= _HASHED_AT_ONCE:
        return hashlib.sha1(flat.view(np.uint8).data, usedforsecurity=False).hexdigest()
    slices = range(0, flat.size, _HASHED_AT_ONCE)
    digests = "".join(_sha1(flat[start : start + _HASHED_AT_ONCE]) for start in slices)
    return hashlib.sha1(digests.encode(), usedforsecurity=False).hexdigest()


class _Digest(NamedTuple):
    """A hash: its column's title, and what computes it of the elements in a row."""

    title: str
    digest: Callable[[NDArray[Any]], str]


_DIGESTS = {"md5": _Digest("MD5", _md5), "sha1": _Digest("SHA1", _sha1)}

TITLES: dict[str, str] = {name: row[0] for name, row in (*_NUMBERS.items(), *_DIGESTS.items())}
"""Category → column title. "Negative zero" counts elements below 0, "positive zero" above 0."""


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


def statistics_of(array: NDArray[Any], categories: Iterable[str]) -> dict[str, float | int | str]:
    """Figures of a tensor under their column titles, as MindSpore's host computes them.

    Sums run in float64. One NaN makes maximum, minimum and average NaN. An MD5 is that of the raw bytes;
    so is a SHA-1 of up to 20,480 elements, and of more it is that of the slices' digests, written one
    behind the other. Complex tensors have a count and hashes only.

    >>> statistics_of(np.float32([3, -4, 0]), ("max", "l2norm", "negative zero count"))
    {'Max Value': 3.0, 'L2Norm Value': 5.0, 'Negative Zero Count': 1}
    """
    wanted = tuple(categories)
    result: dict[str, float | int | str] = {}
    is_complex = array.dtype.kind == "c"
    sums = _Sums(count=array.size) if is_complex else _sums(array)
    for name in wanted:
        if name in _DIGESTS:
            result[TITLES[name]] = _DIGESTS[name].digest(np.ascontiguousarray(array).reshape(-1))
        elif not is_complex or name == "count":
            result[TITLES[name]] = _NUMBERS[name][1](sums)
    return result


def _sums(array: NDArray[Any]) -> _Sums:
    flat = np.ravel(array)
    sums = _Sums()
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, flat.size, _CHUNK):
            sums.add(flat[start : start + _CHUNK].astype(np.float64))
    return sums


def categories_of(version: str, categories: Sequence[str]) -> tuple[str, ...]:
    """Categories that MindSpore ``version`` really writes."""
    return FIXED_CATEGORIES if release(version) <= LAST_FIXED else tuple(categories)


def name_in_table(parts: FileName, version: str) -> str:
    """Name of an operator or parameter in the tables of MindSpore ``version``.

    >>> add = FileName("npy", "Add", "Default/net/Add-op1", 17, 0, 0, "output", 0)
    >>> [name_in_table(add, version) for version in ("2.2.0", "2.6.0", "2.10.0")]
    ['Add-op1', 'Default_net_Add-op1', 'Default/net/Add-op1']
    """
    number, name = release(version), parts.op_name
    if number < FULL_NAMES:
        return short_name(name)
    whole = number > LAST_WITHOUT_HASHES and parts.op_type != "Parameter"
    return name if whole else sanitize(name)


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
    version: str = "2.6.0",
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
        *map(str, (parts.task_id or 0, parts.stream_id or 0, parts.timestamp_us)),
        parts.io,
        str(parts.slot),
        str(data_size),
        dtype_word(spec.dtype, "Ascend"),
        f'"({shape})"',
        *(format_value(values.get(TITLES[name])) for name in categories),
    ]
    return ",".join(cells) + ("\n" if release(version) <= LAST_FIXED else ",\n")


def format_value(value: float | str | None, missing: str = "null") -> str:
    """Format as a C++ stream does: six significant digits for floats, all digits for counts."""
    if value is None:
        return missing
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class StatisticTable(NamedTuple):
    """Rows of a statistic.csv, and the rows that could not be read: ``place:line: reason``."""

    rows: list[StatisticRow]
    problems: list[Message]


def read_statistics(path: Path) -> StatisticTable:
    """Read a statistic.csv; see `parse_statistics`."""
    with open_text(path, "table") as file:
        return parse_statistics(file, str(path))


def parse_statistics(lines: Iterable[str], place: str = "statistic.csv") -> StatisticTable:
    """Read the lines of a statistic.csv; raises FormatError if the first is no known header."""
    reader = TableReader(lines)
    try:
        titles = tuple(_SYNONYMS.get(cell, cell) for cell in next(reader, []))
    except csv.Error as error:
        raise no_csv(error).at(f"{place}:1") from error
    column = {
        title: at for at, title in reversed(list(enumerate(titles)))
    }  # the first of equal ones
    missing = [title for title in IDENTITY if title not in column]
    if missing:
        raise FormatError("dump/table-columns", place=f"{place}:1", missing=missing)
    rows: list[StatisticRow] = []
    problems: list[Message] = []
    for row in table_rows(reader):
        try:
            if isinstance(row, FormatError):
                raise row
            rows.append(_parse_row(row, titles, column))
        except FormatError as error:
            note_problem(problems, place, reader.line, error)
    return StatisticTable(rows, problems)


def _parse_row(cells: list[str], titles: tuple[str, ...], column: dict[str, int]) -> StatisticRow:
    at = column["Shape"]
    if len(cells) > at and cells[at][:1] in _BRACKETS and not cells[at].endswith(_CLOSING):
        cells = _join_shape(cells, at)
    if len(cells) < len(titles):
        raise FormatError("dump/row-cells", got=len(cells), expected=len(titles))
    io = cells[column["IO"]].lower()
    if io not in ("input", "output"):
        raise FormatError("dump/cell-io", title="IO", got=io[:40])
    word = cells[column["Data Type"]].removeprefix("DT_")
    name = cells[column["Op Name"]]
    parts = FileName(
        "npy",
        cells[column["Op Type"]],
        sanitize(name) if "/" in name else name,  # releases after 2.7 write the name of the graph
        parse_count(cells[column["Timestamp"]], "Timestamp"),
        parse_count(cells[column["Task ID"]], "Task ID"),
        parse_count(cells[column["Stream ID"]], "Stream ID"),
        cast("Io", io),
        parse_count(cells[column["Slot"]], "Slot"),
        cells[column["Format"]] if "Format" in column else "",
        dtype_name(word) or word,
    )
    size = parse_count(cells[column["Data Size"]], "Data Size")
    return StatisticRow(parts, size, parse_shape(cells[at]), _parse_values(cells, titles, column))


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


def _parse_values(
    cells: list[str], titles: tuple[str, ...], column: dict[str, int]
) -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    for title, text in zip(titles, cells, strict=False):
        if title in _IDENTITY_SET or text in ("", "null", "NA"):
            continue
        values[title] = text if title in _TEXT else _figure(text)
    return values


def _figure(text: str) -> float | str:
    """Number of a cell; the device prints the largest of a bool tensor as a word."""
    if text in _WORDS:
        return _WORDS[text]
    try:
        return float(text)
    except ValueError:
        return text


_IDENTITY_SET = frozenset((*IDENTITY, "Format"))
