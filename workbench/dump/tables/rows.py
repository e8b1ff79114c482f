"""Rows of tables that nobody vouches for: neither a long line nor very many bad ones take much memory."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Self

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
            raise csv.Error(f"a line of {len(line)} characters where {MAX_LINE} are the most")
        return line

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[str]:
        return next(self._rows)


def table_rows(reader: TableReader) -> Iterator[tuple[list[str], str]]:
    """Rows that are not empty; a row that the csv module refuses comes as its reason."""
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield [], f"row must be text, got {error}"
            continue
        if cells is None:
            return
        if cells:
            yield cells, ""


def note_problem(problems: list[str], place: str, text: str) -> None:
    """Note a row that cannot be read; those behind the first `MANY` share one text."""
    if len(problems) > MANY:
        problems.append(problems[-1])
    elif len(problems) == MANY:
        problems.append(f"{place}: more rows that cannot be read")
    else:
        problems.append(f"{place}:{text}")
