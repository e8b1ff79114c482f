"""The comparison that users hold: one object, everything else on request."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench._faces import make_face
from workbench.comparison.result import Row
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.files import file_content, write_bytes, write_pieces, write_text
from workbench.core.text import one_line
from workbench.session.provenance import PYTHON, after_method

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.result import (
        Anomaly,
        Coverage,
        Finding,
        Result,
        Rows,
        Side,
        Verdict,
    )
    from workbench.core.words.translate import Language
    from workbench.session.redump import RedumpConfig
    from workbench.show.look.look import Look
    from workbench.show.tables import Order
    from workbench.views.extract import Extracted
    from workbench.views.index import Compared, RowIndex
    from workbench.views.match import MatchView
    from workbench.views.operator import OperatorView
    from workbench.views.source_map import SourceMap

    Progress = Callable[[int, int, str], None]
    Cancelled = Callable[[], bool]


class Comparison:
    """Two dumps, compared. A plain object: it shows itself in a notebook and is written as files.

    ``selected`` is the row a user looks at; it starts at the first divergence. ``look`` is that and all else of
    the view (see `workbench.show.look.look.Look`); every panel and explorer follows it. ``provenance`` are texts
    by title that make the comparison again.
    """

    def __init__(
        self,
        result: Result,
        flow: Trace | Callable[[], Trace] | None = None,
        provenance: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.result = result
        self.provenance = provenance
        self._flow = flow
        self._original_rows: Sequence[Row] | None = None
        self._graded: tuple[tuple[float | None, float | None], Comparison] | None = None

    def __reduce__(self) -> tuple[Callable[..., Comparison], tuple[Any, ...]]:
        """Travel with what was found, packed, and without the look: whoever gets it looks for himself."""
        return _arrived, (self.result, self._flow, dict(self.provenance), self._original_rows)

    @cached_property
    def look(self) -> Look:
        """What is looked at: the selected row, filters, order."""
        from workbench.show.columns import columns
        from workbench.show.look.look import Look

        first = self.first_divergence
        keys = [column.key for column in columns(self.result)]
        return Look(len(self.rows), keys, selected=-1 if first is None else self.index_of(first))

    @property
    def selected(self) -> Row | None:
        """The row that is looked at; set it to a row, an index or the name of an operator."""
        number = self.look.selected
        return self.rows[number] if 0 <= number < len(self.rows) else None

    @selected.setter
    def selected(self, wanted: Row | int | str | None) -> None:
        self.look.selected = -1 if wanted is None else self.index_of(wanted)

    def index_of(self, wanted: Row | int | str) -> int:
        """Index of a row: itself, or the worst of the operator of a name."""
        if isinstance(wanted, int) and 0 <= wanted < len(self.rows):
            return wanted
        columns, found = self.result.columns, -1
        if isinstance(wanted, str):
            from workbench.show.columns import worst_first

            named = [row for row in columns if wanted in (row.op_name, row.golden_op_name)]
            found = next(map(columns.number_of, worst_first(named)), -1)
        elif isinstance(wanted, Row):
            found = columns.number_of(wanted)
        if found < 0:
            raise WorkbenchError("session/selected", got=wanted, last=len(self.rows) - 1)
        return found

    @property
    def verdict(self) -> Verdict:
        """``pass``, ``warn``, ``fail``, ``incomplete`` or ``inconclusive``."""
        return self.result.verdict

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        return str(self.result.sentence)

    @property
    def coverage(self) -> Coverage:
        """The ledger: where every tensor of both sides went."""
        return self.result.coverage

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Causes, best first; the informative ones last."""
        return self.result.findings

    @property
    def anomalies(self) -> tuple[Anomaly, ...]:
        """What the dumps are not although they say so."""
        return self.result.anomalies

    @property
    def rows(self) -> Sequence[Row]:
        """Every pair in data-flow order, then every tensor without a partner."""
        return self.result.rows

    @property
    def first_divergence(self) -> Row | None:
        """Row of the operator that the sentence names, else the first failing row; ``None`` if nothing fails.

        Its error may lie within the noise floor, if computing the operator again showed that it is its own.
        """
        from workbench import show

        return show.first_divergence(self.rows, self.findings)

    @property
    def largest_jump(self) -> Row | None:
        """Row of the result that is farthest beyond what its operator read and what number formats explain.

        What is not finite comes before any number; ``None`` if no result is beyond that.
        """
        from workbench import show

        return show.largest_jump(self.rows)

    def filter(
        self,
        *,
        status: str | tuple[str, ...] | None = None,
        op_type: str | None = None,
        dtype: str | None = None,
        name: str | None = None,
        source: str | None = None,
        iteration: int | None = None,
        rank: int | None = None,
        io: str | None = None,
        rule: str | None = None,
        scope: str | None = None,
        file: str | None = None,
        query: str = "",
        positions: tuple[int, int] | None = None,
        keep: Callable[[Row], bool] | None = None,
    ) -> Comparison:
        """Return a comparison with only the rows that fit every given condition.

        Parameters
        ----------
        status : str or tuple of str
            One of several; tensors without a partner are ``unmatched``.
        name, source : str
            Part of the operator's name on either side, of ``file:line``.
        scope : str
            Beginning of the operator's name.
        dtype : str
            What the target's tensor holds; empty for tensors that it does not have.
        file : str
            Source file, whole.
        rule : str
            What matched the pair; empty for tensors without a partner.
        query : str
            Words that must occur anywhere in the row, in any case.
        positions : (int, int)
            First and last place in execution order, as the plot counts them.
        keep : callable (row) → bool
        """
        from workbench.show.look.narrow import narrowed

        given: dict[str, Any] = {"op_type": op_type, "iteration": iteration, "rank": rank}
        given |= {"io": io, "rule": rule, "scope": scope, "file": file, "dtype": dtype}
        left = narrowed(
            self.rows,
            query=query,
            statuses=(status,) if isinstance(status, str) else status or (),
            choices={key: value for key, value in given.items() if value is not None},
            positions=positions,
        )
        given |= {"status": status, "name": name, "source": source, "positions": positions}
        given |= {"query": query or None, "keep": keep}

        views = self.result.columns.views()

        def fits(number: int) -> bool:
            row = views[number]
            place = f"{row.source.file}:{row.source.line}" if row.source is not None else ""
            return (
                (name is None or name in row.op_name or name in row.golden_op_name)
                and (source is None or source in place)
                and (keep is None or keep(row))
            )

        rows = self.result.columns.take([*filter(fits, left)])
        return self._with(rows, "filter", given)

    def regrade(self, factor: float | None = None, limit: float | None = None) -> Comparison:
        """Return the comparison with statuses by thresholds of one's own; nothing is computed again.

        A row fails above ``factor`` times its noise floor, or above an error of ``limit``. Sentence, findings and
        verdict stay those of the comparison: they rest on more than one threshold.
        """
        from workbench.comparison.results.regrade import grade_words, regrade

        rows = regrade(self.rows, factor, limit)
        made = self._with(rows, "regrade", {"factor": factor, "limit": limit})
        facts = {**self.result.facts, "re-graded": grade_words(factor, limit) or ""}
        made.result = replace(made.result, facts=facts)
        made._original_rows = self.original_rows
        return made

    def graded(self) -> Comparison:
        """Return the comparison re-graded by the thresholds of its look, which both share; itself without any.

        It is the same object until a threshold changes.
        """
        wanted = (self.look.factor, self.look.limit)
        if wanted == (None, None):
            return self
        if self._graded is None or self._graded[0] != wanted:
            made = self.regrade(*wanted)
            made.look = self.look
            self._graded = wanted, made
        return self._graded[1]

    @property
    def original_rows(self) -> Sequence[Row]:
        """The rows with the statuses that sentence, findings and blame rest on, whatever they are re-graded to."""
        return self.rows if self._original_rows is None else self._original_rows

    def sort(self, key: str, *, falling: bool = False) -> Comparison:
        """Return the comparison with its rows in the order of a column, given by its key (``error``, …).

        Infinities and NaN are worse than any number, and what was not measured comes last.
        """
        from workbench.show.look.narrow import ordered

        rows = ordered(self.result, key, falling=falling)
        return self._with(rows, "sort", {"key": key, "falling": falling or None})

    def _with(self, rows: Rows, method: str, given: Mapping[str, object]) -> Comparison:
        """Return the comparison with other rows, and how a method made it."""
        result = replace(self.result, rows=rows)
        return Comparison(result, self._flow, after_method(self.provenance, method, given))

    def explore(self, *, fallback: bool = False, language: Language = "en") -> Any:
        """Return the widget that shows plot, table and details, and follows ``look``.

        Without anywidget, or with ``fallback``, it is a frame: only operators chosen by name reach Python.
        """
        return make_face("explorer", self, fallback=fallback, language=language)

    @property
    def iterations(self) -> pd.DataFrame:
        """What was found in every part of every iteration, as a DataFrame.

        Parts are ``parameters`` (as the iteration reads them), ``forward``, ``backward`` and ``optimizer``;
        error, operator and noise floor are those of the worst tensor. Empty if there is one
        iteration of no training.
        """
        from workbench.show.tables import iteration_frame

        return iteration_frame(self.result)

    def frame(self, *, order: Order = "execution") -> pd.DataFrame:
        """Return the rows as a DataFrame with the field's column titles.

        ``order="worst"`` puts what fails first, NaN and Inf before any number.
        """
        from workbench.show.tables import frame

        return frame(self.result, order=order)

    def next_config(self, surface: str | None = None, *, side: Side = "target") -> RedumpConfig:
        """Return the form that dumps the suspects in full: they, what they read and what reads them.

        ``surface`` is guessed from the tree of the ``side`` if left out. Raises WorkbenchError if there is no
        defect, if nothing tells the surface, or for a comparison that was not made of two dumps.
        """
        from workbench.session.redump import redump_config

        flow = self._trace()
        if flow is None:
            raise WorkbenchError("views/result-alone")
        return redump_config(flow, self.findings, surface, side)

    def extract(self, folder: str | Path, finding: Finding | None = None) -> Extracted:
        """Write the operator of a finding (of the first defect, if left out) alone into a new folder.

        Its inputs and outputs, its settings, and a script that computes it again and prints how far off it is. Raises
        WorkbenchError if there is no defect, or if the dump lacks what is needed.
        """
        from workbench.views.extract import extract_operator

        finding = finding or next((one for one in self.findings if one.defect), None)
        if finding is None:
            raise WorkbenchError("session/no-defect")
        return extract_operator(self._trace(), finding, folder)

    def _trace(self) -> Trace | None:
        """Return what the walk found; where nothing differs it is made when first asked for."""
        return self._flow() if callable(self._flow) else self._flow

    @cached_property
    def compared(self) -> Compared:
        """What views of it read."""
        from workbench.views.index import Compared

        return Compared(self.rows, self.original_rows, self.findings, self._trace)

    @property
    def row_index(self) -> RowIndex:
        """Where its rows stand in the dumps."""
        return self.compared.row_index

    def operator(self, wanted: Row | int | str | None = None) -> OperatorView:
        """Look closely at an operator: of a row, its index, or a name or the end of one; else at the selected one.

        Raises WorkbenchError naming what fits if a name fits several operators or none.
        """
        from workbench.views.operator import OperatorView

        return OperatorView(self.compared, self._place(wanted))

    def _place(self, wanted: Row | int | str | None) -> int:
        """Index of a row: itself, or the worst of the operator of a name or the end of one; the selected one."""
        if wanted is None:
            wanted = self.selected
            if wanted is None:
                raise WorkbenchError("session/no-row")
        if isinstance(wanted, str):
            return self.row_index.worst(self._named(wanted))
        if isinstance(wanted, int):
            found = wanted if 0 <= wanted < len(self.rows) else -1
        else:
            found = self.result.columns.number_of(wanted)
        if found < 0:
            raise WorkbenchError("session/row", got=wanted, last=len(self.rows) - 1)
        return found

    def _named(self, wanted: str) -> list[int]:
        """Indices of the rows of the operator that is called so, or whose name ends so."""
        from workbench.session.names import full_name

        name = full_name(
            (n for row in self.rows for n in (row.op_name, row.golden_op_name)), wanted
        )
        pairs = enumerate(self.rows)
        return [number for number, row in pairs if name in (row.op_name, row.golden_op_name)]

    def context(self, wanted: Row | int | str | None = None) -> MatchView:
        """Return what stands around a match in both graphs, up to three operators before and behind it.

        ``wanted`` is a row, its index, or an operator's name or the end of one; the selected row if left out. Also of
        operators without a partner: then the other side shows what the neighbours are matched with.
        """
        from workbench.views.match import MatchView

        return MatchView(self.compared, self._place(wanted))

    def source_map(self) -> SourceMap:
        """Return the network's source lines with the operators that each of them made, and their own errors."""
        from workbench.views.source_map import SourceMap

        return SourceMap(self.compared)

    def plot(self) -> Figure:
        """Return the divergence of every operator in execution order as a matplotlib Figure."""
        from workbench.show.plots.divergence import divergence_figure

        return divergence_figure(self.result)

    def to_json(self, path: str | Path | None = None) -> dict[str, Any]:
        """Return schema ``workbench.comparison/2``; write it too if ``path`` is given."""
        from workbench import show

        if path is None:
            return show.to_json(self.result)
        pieces = [*show.json_pieces(self.result)]
        write_pieces(path, pieces)
        return dict(json.loads("".join(pieces)))

    def write_json(self, path: str | Path) -> Path:
        """Write the text of `to_json` piece by piece, without all of it in memory.

        Raises OutputError if the file cannot be written.
        """
        from workbench import show

        return write_pieces(path, show.json_pieces(self.result))

    def to_parquet(self, path: str | Path) -> Path:
        """Write all that `to_json` gives, and every row with dtypes, shapes and files, as parquet.

        Title, unit and meaning of each column stand in its metadata. Needs pyarrow, the extra ``[scale]``; raises
        WorkbenchError without it.
        """
        from workbench.session.parquet import to_parquet

        return write_bytes(path, to_parquet(self.result))

    @classmethod
    def from_parquet(cls, path: str | Path) -> Comparison:
        """Read what `to_parquet` wrote.

        Raises FormatError for another or a damaged file, and WorkbenchError without pyarrow.
        """
        from workbench.session.parquet import MAX_BYTES, from_parquet

        content = file_content(Path(path), MAX_BYTES, "result")
        try:
            return cls(from_parquet(content))
        except FormatError as error:
            raise error.at(str(path)) from error

    def to_csv(self, path: str | Path) -> Path:
        """Write every row as CSV."""
        from workbench.show.tables import csv_pieces

        return write_pieces(path, csv_pieces(self.result))

    def to_html(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        notes: str = "",
        sections: Iterable[str] | None = None,
        pins: Iterable[str] = (),
    ) -> Path:
        """Write the report: one file, offline, the same bytes for the same comparison.

        ``sections`` are keys of `workbench.show.report.SECTIONS`, all if left out; ``notes`` plain text; ``pins``
        names of operators that are told in full, beside the first to blame.
        """
        from workbench.session.report import report_text

        text = report_text(self, title=title, notes=notes, sections=sections, pins=pins)
        return write_text(path, text)

    def to_code(self) -> str:
        """Python that makes this comparison again and looks at it alike; empty for a result that was read."""
        from workbench.show.look.look import look_lines

        made = self.provenance.get(PYTHON)
        return "" if made is None else "\n".join((made.rstrip(), *look_lines(self.look), ""))

    def _repr_html_(self) -> str:
        from workbench.show.html import repr_html

        return repr_html(self.result)

    def __repr__(self) -> str:
        return one_line(f"<Comparison {self.verdict}: {self.sentence}>")


def _arrived(
    result: Result,
    flow: Trace | Callable[[], Trace] | None,
    provenance: Mapping[str, str],
    original_rows: Sequence[Row] | None,
) -> Comparison:
    made = Comparison(result, flow, provenance)
    made._original_rows = original_rows
    return made
