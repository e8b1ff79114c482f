"""The network's source as a heat map: every line with the operators that it made, and what is wrong with them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from workbench.core.text import plural
from workbench.core.words import Message
from workbench.show.columns import shown_status
from workbench.views.index import SEVERITY
from workbench.views.render import DECADES, source_html
from workbench.views.source_lines import find_source, says_so

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from workbench.comparison.result import Finding, Row
    from workbench.graph.graph import SourceFrame
    from workbench.views.index import Compared, RowIndex
    from workbench.views.source_lines import Origin

AROUND = 2
WHOLE = 80
"""Files of at most so many lines are shown whole; of longer ones so many lines around each that made operators."""


@dataclass(frozen=True, slots=True)
class LineOperator:
    """An operator that a line made, over all its executions.

    ``index`` is its worst row, ``own`` its largest own error (``None``: it could not be computed again),
    ``explained`` what number formats explain of that; ``originates`` says that an error begins here.
    """

    name: str
    op_type: str
    index: int
    status: str
    error: float | None
    own: float | None
    explained: float | None
    originates: bool

    @property
    def log_ratio(self) -> float:
        """How many times the own error is what is explained, as a power of ten, from 0 to DECADES."""
        if not self.own or not self.explained or math.isnan(self.own):
            return 0.0 if not self.originates else DECADES
        if math.isinf(self.own):
            return DECADES
        return min(DECADES, max(0.0, math.log10(self.own / self.explained)))


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of source; without operators it is there to make the others readable.

    ``gap`` lines are left out before it.
    """

    number: int
    text: str
    operators: tuple[LineOperator, ...] = ()
    gap: int = 0

    @property
    def worst(self) -> LineOperator | None:
        """The operator that stands for the line: one that an error originates at, else the worst."""
        return min(self.operators, key=_badness, default=None)

    @property
    def own(self) -> float | None:
        """Largest own error of its operators."""
        known = [one.own for one in self.operators if one.own is not None]
        return max(known, default=None)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file: ``lines`` in order, where their text is from, and why it is no more than the dump knows."""

    name: str
    lines: tuple[SourceLine, ...]
    origin: Origin
    note: Message | None
    library: bool
    gap: int = 0

    @property
    def made(self) -> tuple[SourceLine, ...]:
        """Lines that made operators."""
        return tuple(line for line in self.lines if line.operators)

    def cut(self, most: int) -> SourceFile:
        """Return the file with its worst lines only, if it has more than so many; gaps count the others."""
        if len(self.lines) <= most:
            return self
        made = sorted((line for line in self.made if line.worst), key=_line_badness)[:most]
        kept = sorted(made, key=lambda line: line.number)
        numbers = [0, *(line.number for line in kept)]
        gaps = (after - before - 1 for before, after in pairwise(numbers))
        last = self.lines[-1].number + self.gap
        shown = (replace(line, gap=gap) for line, gap in zip(kept, gaps, strict=True))
        return replace(self, lines=tuple(shown), gap=last - numbers[-1])


@dataclass(frozen=True, repr=False)
class SourceMap:
    """All files that operators of a comparison come from, the user's own first, in the order of execution."""

    compared: Compared

    @cached_property
    def files(self) -> tuple[SourceFile, ...]:
        """Every file with its lines."""
        lines = _operators_by_line(self.compared)
        files: dict[str, dict[int, list[tuple[SourceFrame, LineOperator]]]] = {}
        for frame, made in lines:
            files.setdefault(frame.file, defaultdict(list))[frame.line].append((frame, made))
        found = [_file(name, known) for name, known in files.items()]
        return tuple(sorted(found, key=lambda file: file.library))

    @property
    def without_line(self) -> int:
        """Number of operators of the target whose line nobody knows."""
        rows, row_index = self.compared.rows, self.compared.row_index
        known = {row.op_name for row in rows if row.source is not None}
        named = (row for row in rows if row.op_name and row.op_name not in known)
        made = {row.op_name for row in named if row_index.flow is None or row_index.find(row).run}
        return len(made)

    def operators(self, file: str, line: int) -> tuple[LineOperator, ...]:
        """Return what a line made; ``file`` is a name or its end."""
        return tuple(
            one
            for found in self.files
            if found.name == file or found.name.endswith(f"/{file}")
            for row in found.made
            if row.number == line
            for one in row.operators
        )

    def frame(self) -> pd.DataFrame:
        """Return one row for each operator and its line as a DataFrame."""
        from workbench.show.tables import data_frame

        columns = (
            "File",
            "Line",
            "Code",
            "NPUDump",
            "OpType",
            "Status",
            "Error",
            "OwnError",
            "Born",
        )
        table = [
            (
                file.name, line.number, line.text.strip(), one.name, one.op_type, one.status, one.error, one.own,
                one.originates,
            )
            for file in self.files
            for line in file.made
            for one in line.operators
        ]  # fmt: skip
        return data_frame(table, columns)

    def _repr_html_(self) -> str:
        return source_html(self, standalone=True)

    def __repr__(self) -> str:
        lines = sum(len(file.made) for file in self.files)
        return f"<SourceMap of {plural(len(self.files), 'file')}, {plural(lines, 'line')}>"


def _badness(one: LineOperator) -> tuple[object, ...]:
    return not one.originates, SEVERITY.get(one.status, 9), -one.log_ratio, one.index


def _line_badness(line: SourceLine) -> tuple[object, ...]:
    return _badness(line.worst) if line.worst is not None else (True,)


def _operators_by_line(compared: Compared) -> Iterable[tuple[SourceFrame, LineOperator]]:
    """Every operator once, with its line, in the order of execution."""
    rows = compared.rows
    groups: dict[tuple[str, str, int], list[int]] = {}
    for index, row in enumerate(rows):
        if row.source is not None:
            key = (row.op_name or row.golden_op_name, row.source.file, row.source.line)
            groups.setdefault(key, []).append(index)
    origins = _origins(compared.findings)
    for (name, _, _), indices in groups.items():
        frame = rows[indices[0]].source
        if frame is not None:
            yield frame, _made(name, indices, rows, compared.row_index, origins)


def _origins(findings: Iterable[Finding]) -> Mapping[str, float]:
    """Names of operators that a defect was found at, with their own error (0: not known)."""
    found: dict[str, float] = {}
    for one in findings:
        if one.defect and one.op_name:
            found[one.op_name] = max(one.own_error or 0.0, found.get(one.op_name, 0.0))
    return found


def _made(
    name: str,
    indices: Sequence[int],
    rows: Sequence[Row],
    row_index: RowIndex,
    origins: Mapping[str, float],
) -> LineOperator:
    worst = row_index.worst(indices)
    own, explained, suspect = None, None, False
    runs = {
        (run.block, run.op): run
        for n in indices
        if (run := row_index.find(rows[n]).run) is not None and run.op >= 0
    }
    for place in runs:
        found = row_index.flow.own_error(*place) if row_index.flow is not None else None
        if found is not None:
            suspect = suspect or bool(found.suspect)
            if own is None or found.error > own:
                own, explained = found.error, found.explained
    if name in origins and origins[name] > (own or 0.0):
        own = origins[name]
        explained = explained or rows[worst].noise_floor
    row = rows[worst]
    return LineOperator(
        name, row.op_type, worst, shown_status(row), row.error, own, explained,
        name in origins or suspect,
    )  # fmt: skip


def _file(name: str, known: Mapping[int, Sequence[tuple[SourceFrame, LineOperator]]]) -> SourceFile:
    frames = {number: entries[0][0] for number, entries in known.items()}
    operators = {number: tuple(made for _, made in entries) for number, entries in known.items()}
    library = next(iter(frames.values())).library
    text, origin, why = find_source(name)
    wrong = [n for n, frame in sorted(frames.items()) if not says_so(text, n, frame.code)]
    if text and wrong:
        why = Message("views/lines-differ", line=wrong[0])
    if not text or wrong:
        lines = tuple(SourceLine(n, frames[n].code.rstrip(), operators[n]) for n in sorted(frames))
        return SourceFile(name, lines, "dump", why, library)
    shown = _shown(len(text), frames)
    return SourceFile(
        name,
        tuple(
            SourceLine(n, text[n - 1], operators.get(n, ()), n - before - 1)
            for before, n in zip((0, *shown), shown, strict=False)
        ),
        origin,
        None,
        library,
        len(text) - shown[-1],
    )


def _shown(length: int, made: Iterable[int]) -> list[int]:
    """Numbers of the lines to show: all of a short file, else those around lines that made operators."""
    if length <= WHOLE:
        return list(range(1, length + 1))
    near = {n for line in made for n in range(line - AROUND, line + AROUND + 1)}
    return sorted(n for n in near if 1 <= n <= length)
