"""Tables of text out of CSV files and Excel workbooks that nobody vouches for.

A workbook is a zip of XML. Before it is parsed, every part is unpacked once without being kept: what
grows beyond the bounds, declares entities or is no UTF-8 is refused. Formulas are never evaluated;
a cell has the value that its writer stored.
"""

from __future__ import annotations

import csv
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.files import open_file, open_text
from workbench.core.words import Message
from workbench.dump.statistics.parse import TableReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = 1 << 30
"""Most bytes of a CSV file, and of all parts of a workbook unpacked."""

MAX_RATIO = 100
"""Most bytes that one byte of a workbook may unpack to; tables of equal rows unpack to 20."""

MAX_ROWS, MAX_COLUMNS, MAX_PARTS = 1_048_576, 256, 10_000
"""Most rows (Excel's own bound) and columns of a sheet, and most parts of a workbook."""

MAX_GAP = 1_000
"""Most blank rows between two others: a row may claim any number."""

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_BLOCK = 1 << 20


class SheetRow(NamedTuple):
    """One row that is not blank: where it stands, its cells, or why it cannot be read."""

    place: str
    cells: list[str]
    problem: Message | None = None


def read_sheets(path: Path) -> Iterator[Iterator[SheetRow]]:
    """Yield the tables of a file, a workbook's sheet by sheet; each is to be read before the next.

    Raises FormatError if the file is neither, or beyond the bounds, and WorkbenchError if a workbook
    is to be read without openpyxl.
    """
    with open_file(path, "result") as file:
        start = file.read(len(_ZIP))
    if start == _OLE:
        raise FormatError("session/sheet-old", place=str(path))
    if start == _ZIP:
        yield from _workbook(path)
    else:
        yield _csv(path)


def _csv(path: Path) -> Iterator[SheetRow]:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise FormatError(
            "core/too-large", place=str(path), subject="file", got=size, limit=MAX_BYTES
        )
    with open_text(path, "result", "utf-8-sig") as file:
        reader = TableReader(file)
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                place = f"{path}:{reader.line}"
                yield SheetRow(place, [], Message("session/sheet-line", place=place, why=error))
                continue
            if cells is None:
                return
            if not cells:  # a blank line; of these a file may have a million
                continue
            place = f"{path}:{reader.line}"
            if len(cells) > MAX_COLUMNS:
                values = {"got": len(cells), "limit": MAX_COLUMNS}
                yield SheetRow(place, [], Message("session/sheet-wide", place=place, **values))
            elif any(cell.strip() for cell in cells):
                yield SheetRow(place, cells)


def _workbook(path: Path) -> Iterator[Iterator[SheetRow]]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise WorkbenchError("session/openpyxl", path=str(path)) from None
    _check(path)
    with path.open("rb") as file:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of styles and extensions that hold no figures
                book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
        except Exception as error:  # openpyxl raises whatever a broken part leads it to
            raise _unreadable(path, error) from error
        for sheet in book.worksheets:
            yield _sheet(path, sheet)


def _sheet(path: Path, sheet: Any) -> Iterator[SheetRow]:
    rows = sheet.iter_rows(max_row=MAX_ROWS, max_col=MAX_COLUMNS, values_only=True)
    number = last = 0
    while True:
        number += 1
        place = f"{path}:{sheet.title}!{number}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                values = next(rows, None)
        except Exception as error:  # as above; the sheet is parsed while it is read
            raise _unreadable(place, error) from error
        if values is None:
            return
        cells = [_text(value) for value in values]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            last = number
            yield SheetRow(place, cells)
        elif number - last > MAX_GAP:
            raise FormatError("session/sheet-blank", place=str(place), limit=MAX_GAP)


def _text(value: object) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _unreadable(place: object, error: Exception) -> FormatError:
    kind = type(error).__name__
    return FormatError("session/sheet-unreadable", place=str(place), kind=kind, why=error)


def _check(path: Path) -> None:
    """Unpack every part once and keep nothing; raises FormatError at the first that is no good."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_parts(archive, path)
    except FormatError:
        raise
    except Exception as error:  # zipfile raises as freely as openpyxl does
        raise _unreadable(path, error) from error


def _check_parts(archive: zipfile.ZipFile, path: Path) -> None:
    parts = archive.infolist()
    if len(parts) > MAX_PARTS:
        raise FormatError("session/sheet-parts", place=str(path), got=len(parts), limit=MAX_PARTS)
    left = MAX_BYTES
    for part in parts:
        left -= _check_part(archive, part, left, path)


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo, left: int, path: Path) -> int:
    """Bytes of a part, counted while it is unpacked: what a zip states of itself proves nothing."""
    most = min(left, max(_BLOCK, part.compress_size * MAX_RATIO))
    is_xml = part.filename.lower().endswith((".xml", ".rels", ".vml"))
    size, tail = 0, b""
    with archive.open(part) as file:
        while block := file.read(_BLOCK):
            size += len(block)
            if size > most:
                raise FormatError(
                    "session/sheet-size", place=str(path), part=part.filename, limit=most
                )
            if is_xml and _suspect(tail + block):
                raise FormatError("session/sheet-xml", place=str(path), part=part.filename)
            tail = block[-8:]
    return size


def _suspect(data: bytes) -> bool:
    """Whether XML declares entities (of a document type), or hides them in another encoding."""
    return b"\0" in data or b"<!DOCTYPE" in data or b"<!ENTITY" in data
