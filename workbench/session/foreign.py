"""Results out of files: other tools' tables, opened as a comparison of ours, and our own JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.comparison.result import Anomaly, Coverage, Result, SideInfo
from workbench.comparison.results.tables.layouts import (
    LAYOUTS,
    VERDICTS,
    recognize_layout,
    unique_titles,
)
from workbench.comparison.results.tables.rows import read_row
from workbench.core.errors import FormatError
from workbench.core.files import file_content, open_file
from workbench.core.words import Message
from workbench.dump.statistics.parse import MANY
from workbench.session.comparison import Comparison
from workbench.session.sheets import MAX_BYTES, read_sheets
from workbench.show.json_result import from_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.result import Row, Verdict
    from workbench.comparison.results.tables.layouts import Layout
    from workbench.session.sheets import SheetRow

_GRAPH_FILE = re.compile(r"compare_result_(\d{1,9})_(\d{1,9})(?:_\d{14})?", re.A)
_JSON_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{")
"""An object of JSON; editors and shells of Windows put a mark of byte order in front."""

_RANK_FILE = re.compile(r"compare_result_?rank(\d{1,9})", re.A)


class ResultReader:
    """What was read so far of one result."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.layout: Layout | None = None
        self.judged_by = ""
        self.rows: list[Row] = []
        self.anomalies: list[Anomaly] = []
        self.bad = 0
        self.header = ""
        self._turns: dict[tuple[str, str, str, int], int] = {}
        self._order = -1
        self._operator: tuple[str, str] | None = None
        self.rank, self.iteration = _place(path.name)

    def sheet(self, lines: Iterator[SheetRow]) -> None:
        """Rows of a sheet, if its first line is that of a result, and not of another kind than before."""
        first = next(lines, None)
        if first is None:
            return
        titles = unique_titles(first.cells)
        layout = recognize_layout(titles)
        if layout is None or self.layout not in (None, layout):
            shown = str(list(titles[:12]))[:400]
            self.header = self.header or str(first.problem or shown)
            self._odd("unknown-sheet", Message("session/sheet-kind", place=first.place))
            return
        self.layout = layout
        self.judged_by = _judge(layout, titles)
        for line in lines:
            if line.problem or len(line.cells) > len(titles):
                expected, got = len(titles), len(line.cells)
                width = Message("session/sheet-cells", place=line.place, expected=expected, got=got)
                self._bad(line.problem or width, line.place)
                continue
            cells = dict(zip(titles, line.cells, strict=False))
            self._add(read_row(layout, dict.fromkeys(titles, "") | cells), line.place)

    def _odd(self, kind: str, detail: Message | str) -> None:
        self.anomalies.append(Anomaly("target", kind, "", str(detail)))

    def _bad(self, detail: Message | str, place: str) -> None:
        """Count a row that cannot be read; of very many the first are told."""
        self.bad += 1
        if self.bad <= MANY:
            self._odd("bad-row", detail)
        elif self.bad == MANY + 1:
            self._odd("bad-row", Message("session/sheet-rows", place=place))

    def _add(self, row: Row, place: str) -> None:
        if not (row.op_name or row.golden_op_name):
            self._bad(Message("session/sheet-operator", place=place), place)
            return
        operator = (row.op_name, row.golden_op_name)
        if operator != self._operator:
            self._order, self._operator = self._order + 1, operator
        key = (*operator, row.io, row.slot)
        turn = self._turns[key] = self._turns.get(key, -1) + 1
        self.rows.append(
            replace(row, order=self._order, turn=turn, rank=self.rank, iteration=self.iteration)
        )


def read_result(path: str | Path | Mapping[str, Any]) -> Comparison:
    """Open a result: msprobe's comparison (CSV or xlsx), msaccucmp's (CSV), or the JSON of one of ours.

    The JSON may be a file, or what `Comparison.to_json` returned.

    Verdicts are the tool's own where it states any; the sentence says whose they are. Figures keep
    the tool's titles and definitions. What a table does not tell, such as source lines or a noise
    floor, is empty. Our own JSON has no dtypes, shapes and file names.

    Raises
    ------
    FormatError
        The file is no table of a known tool and no JSON of ours; the message starts with its place.
    WorkbenchError
        It is a workbook and openpyxl, the extra ``[xlsx]``, is not installed.
    """
    if isinstance(path, Mapping):
        return Comparison(from_json(path))
    table = ResultReader(Path(path))
    try:
        if (own := _own_result(table.path)) is not None:
            return Comparison(own)
        for lines in read_sheets(table.path):
            table.sheet(lines)
    except OSError as error:
        why = error.strerror or error
        raise FormatError("core/unreadable", place=str(path), subject="file", why=why) from error
    if table.layout is None:
        known = [
            Message("session/result-header-known", tool=row.tool, kind=row.kind, columns=row.needs)
            for row in LAYOUTS
        ]
        raise FormatError("session/result-header", place=f"{path}:1", got=table.header, known=known)
    return Comparison(_result(table, table.layout))


def _own_result(path: Path) -> Result | None:
    """The result of a file of JSON; ``None`` if it holds something else."""
    with open_file(path, "result") as file:
        if not _JSON_BEGINS.match(file.read(64)):
            return None
    try:
        return from_json(
            json.loads(file_content(path, MAX_BYTES, "result"))
        )  # also behind a mark of byte order
    except FormatError as error:
        raise error.at(str(path)) from error
    except (ValueError, OverflowError, RecursionError) as error:
        raise FormatError("session/result-json", place=str(path), why=error) from error


def _place(name: str) -> tuple[int, int]:
    """Rank and iteration that the name of a file states, else 0."""
    if found := _GRAPH_FILE.match(name):
        return int(found[1]), int(found[2])
    found = _RANK_FILE.match(name)
    return (int(found[1]) if found else 0), 0


def _judge(layout: Layout, titles: tuple[str, ...]) -> str:
    stated = next((title for title in VERDICTS if title in titles), "")
    if stated:
        return str(Message("session/foreign-verdicts", column=stated))
    return layout.judge or str(Message("session/foreign-unjudged"))


def _result(table: ResultReader, layout: Layout) -> Result:
    paired = [row for row in table.rows if row.match_rule]
    lonely = [row for row in table.rows if not row.match_rule]
    bad = table.bad
    unmatched = sum(bool(row.op_name) for row in lonely)
    skipped = {"target:bad-row": bad} if bad else {}
    verdict = _verdict(paired, lonely)
    return Result(
        verdict=verdict,
        sentence=_sentence(layout, table.judged_by, paired),
        target=_side(table, layout, "target", len(paired) + unmatched + bad),
        golden=_side(table, layout, "golden", len(paired) + len(lonely) - unmatched),
        coverage=Coverage(len(paired), unmatched, len(lonely) - unmatched, skipped),
        anomalies=tuple(table.anomalies),
        rows=(*paired, *lonely),
        profile=layout.tool,
        facts=_facts(table, layout),
        tool=layout.tool,
    )


def _side(table: ResultReader, layout: Layout, side: str, tensors: int) -> SideInfo:
    return SideInfo(
        str(table.path), str(Message("session/foreign-side", side=side, tool=layout.tool)), tensors
    )


def _facts(table: ResultReader, layout: Layout) -> dict[str, str]:
    limits = ", ".join(str(limit) for limit in layout.thresholds)
    facts = {
        "result of": f"{layout.tool}, {layout.kind}",
        "figures": str(Message("session/foreign-figures", tool=layout.tool)),
        "verdicts by": table.judged_by,
    }
    return facts | ({"thresholds": limits} if table.judged_by == layout.judge and limits else {})


def _verdict(paired: list[Row], lonely: list[Row]) -> Verdict:
    found = {row.status for row in paired}
    if "fail" in found:
        return "fail"
    if not found & {"pass", "warn"}:
        return "inconclusive"
    return "warn" if "warn" in found or lonely else "pass"


def _sentence(layout: Layout, judged_by: str, paired: list[Row]) -> str:
    judged = [row for row in paired if row.status != "uncomparable"]
    failing = [row for row in judged if row.status == "fail"]
    values: dict[str, Any] = {
        "tool": layout.tool,
        "kind": layout.kind,
        "judge": judged_by,
        "open": "",
    }
    if not judged:
        return str(Message("session/foreign-none", pairs=len(paired), **values))
    if len(judged) < len(paired):
        values["open"] = Message("session/foreign-open", count=len(paired) - len(judged))
    values |= {"judged": len(judged), "failing": len(failing)}
    if not failing:
        return str(Message("session/foreign-pass", **values))
    first = failing[0]
    where = f"{first.op_name} {first.io}:{first.slot}" if first.io else first.op_name
    return str(Message("session/foreign-fail", **values, first=where))
