"""Rows of tables that nobody vouches for: neither a long line nor very many bad ones take much memory."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Self

from workbench.core.errors import FormatError
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_LINE = 1 << 16
"""Most characters of one line; names have a few hundred, shapes and figures less."""

MANY = 1000
"""Rows of one table that cannot be read and are told one by one."""


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
