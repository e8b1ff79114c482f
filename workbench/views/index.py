"""Where the rows of a comparison stand in its dumps: records, executions, operators of both graphs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.comparison.rows import Rows
from workbench.dump.formats.mindspore_name import sanitize
from workbench.show.columns import shown_status
from workbench.show.words import STATUSES
from workbench.views.partners import MatchGroup, find_partners, merge_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.pair.pairing import Pair, Unmatched
    from workbench.comparison.result import Finding, Row, Side
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph, Op
    from workbench.views.partners import MatchGroups

    Key = tuple[object, ...]

SIDES: tuple[Side, Side] = ("target", "golden")

SEVERITY = {status: number for number, status in enumerate(STATUSES)}
"""Status → how late it stands in a list of the worst first."""


@dataclass(frozen=True, slots=True)
class RowRecords:
    """The records of a row and the executions they belong to; ``None`` where there is none."""

    target: TensorRecord | None = None
    golden: TensorRecord | None = None
    run: OperatorRun | None = None
    golden_run: OperatorRun | None = None

    def record(self, side: Side) -> TensorRecord | None:
        """Return the record of one side."""
        return self.target if side == "target" else self.golden

    def run_of(self, side: Side) -> OperatorRun | None:
        """Return the execution on one side."""
        return self.run if side == "target" else self.golden_run


_NO_RECORDS = RowRecords()


@dataclass(frozen=True, eq=False)
class Compared:
    """What views read of a comparison, and all that they know of it.

    Attributes
    ----------
    rows, original_rows : sequence of Row
        As they are shown, and with the statuses that findings rest on; the same number for the same tensor.
    findings : sequence of Finding
    trace : callable
        Gives what the walk through the data flow learned; ``None`` for a result that was read from a file.
    """

    rows: Sequence[Row]
    original_rows: Sequence[Row]
    findings: Sequence[Finding]
    trace: Callable[[], Trace | None]

    @cached_property
    def row_index(self) -> RowIndex:
        """Where the rows stand in the dumps."""
        return RowIndex(self.rows, self.trace())


class RowIndex:
    """Index over the rows of a comparison; without ``flow`` it knows what the rows say and no more."""

    def __init__(self, rows: Sequence[Row], flow: Trace | None) -> None:
        self.rows, self.flow = Rows.of(rows).views(), flow
        self._found: dict[Key, RowRecords] = {}
        self._executions: dict[Key, list[int]] = defaultdict(list)
        self._lasting: dict[Key, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            self._executions[_execution(row)].append(number)
            self._lasting[_lasting(row)].append(number)
        if flow is not None:
            for pair in flow.pairing.pairs:
                self._found.setdefault(*_of_pair(pair))
            for one in flow.pairing.only_target:
                self._found.setdefault(*_of_lone(one, ours=True))
            for one in flow.pairing.only_golden:
                self._found.setdefault(*_of_lone(one, ours=False))
        self._partners: tuple[Execution, MatchGroups] | None = None
        self._by_op: dict[tuple[Side, Execution, int], list[int]] | None = None

    def find(self, row: Row) -> RowRecords:
        """Return records and executions of a row."""
        return self._found.get(_row_key(row), _NO_RECORDS)

    def same_execution(self, row: Row) -> list[int]:
        """Indices of all rows of the same execution of the same operator."""
        return self._executions.get(_execution(row), [])

    def same_tensor(self, row: Row) -> list[int]:
        """Indices of the rows of the same tensor in every iteration and rank."""
        return self._lasting.get(_lasting(row), [])

    def of_operator(self, side: Side, block: Execution, number: int) -> list[int]:
        """Indices of the rows of an operator of a graph, in one execution of it."""
        if self._by_op is None:
            self._by_op = defaultdict(list)
            for index, row in enumerate(self.rows):
                found = self.find(row)
                for one in SIDES:
                    run = found.run_of(one)
                    if run is not None:
                        self._by_op[one, run.block, run.op].append(index)
        return self._by_op.get((side, block, number), [])

    def worst(self, indices: Iterable[int]) -> int:
        """Index of the worst row, results before what was read; -1 if there is none."""
        return min(indices, key=self.badness, default=-1)

    def badness(self, index: int) -> tuple[object, ...]:
        """Return a key that sorts the worst row first."""
        row = self.rows[index]
        error = row.error if row.error is not None else -1.0
        return row.io != "output", SEVERITY.get(row.status, 9), -error, index

    def failing(self, start: int, step: int) -> int:
        """Index of the next failing row of another execution from a row on (``step`` 1) or before it (-1); -1: none."""
        own = _execution(self.rows[start]) if 0 <= start < len(self.rows) else None
        last = len(self.rows) if step > 0 else -1
        for index in range(start + step, last, step):
            row = self.rows[index]
            if shown_status(row) == "fail" and _execution(row) != own:
                return self.worst(self.same_execution(row))
        return -1

    def alignment(self, block: Execution | None) -> Alignment | None:
        """Return how the graphs of an execution of the target are aligned."""
        if self.flow is None or block is None:
            return None
        return self.flow.pairing.alignments.get(block.graph_key)

    def partners(self, block: Execution) -> MatchGroups:
        """Return which operators of both graphs of an execution of the target stand for each other."""
        if self._partners is None or self._partners[0] != block:
            found = self.alignment(block)
            said = merge_groups(self._paired(block)) if found is None else find_partners(found)
            self._partners = (block, said)
        return self._partners[1]

    def _paired(self, block: Execution) -> Iterable[MatchGroup]:
        """Operators of an execution that rows pair."""
        for row in self.rows:
            found = self.find(row)
            ours, theirs = found.run, found.golden_run
            if ours is None or theirs is None or ours.block != block:
                continue
            if min(ours.op, theirs.op) >= 0:
                yield MatchGroup((ours.op,), (theirs.op,), row.match_rule, row.match_score)

    def blocks(self, found: RowRecords) -> dict[Side, Execution]:
        """Return the executions of both graphs that a row belongs to, as far as they are known."""
        if self.flow is None:
            return {}
        ours, theirs = self._block("target", found), self._block("golden", found)
        pairs = self.flow.pairing.blocks
        if ours is None and theirs is not None:
            ours = next((block for block, other in pairs.items() if other == theirs), None)
        if theirs is None and ours is not None:
            theirs = pairs.get(ours)
        known: dict[Side, Execution | None] = {"target": ours, "golden": theirs}
        return {side: block for side, block in known.items() if block is not None}

    def _block(self, side: Side, found: RowRecords) -> Execution | None:
        """The execution that a record of one side belongs to; Parameter files are of one, too."""
        run, record = found.run_of(side), found.record(side)
        if run is not None or record is None:
            return run.block if run is not None else None
        files = self._binding(side).parameters.items()
        return next(
            (block for block, named in files if any(one is record for one in named.values())), None
        )

    def _binding(self, side: Side) -> Binding:
        assert self.flow is not None
        return self.flow.pairing.target if side == "target" else self.flow.pairing.golden

    def node(self, side: Side, found: RowRecords, blocks: Mapping[Side, Execution]) -> str:
        """Return the key of the operator or parameter of a row in one side's graph; empty if no graph knows it."""
        run, record = found.run_of(side), found.record(side)
        if run is not None:
            return f"op {run.op}" if run.op >= 0 else ""
        graph = self.graph_of(side, blocks[side]) if side in blocks else None
        if record is None or graph is None:
            return ""
        name = record.key.op_name
        numbers = (
            n for n, one in enumerate(graph.parameters) if name in (one.name, sanitize(one.name))
        )
        return next((f"param {number}" for number in numbers), "")

    def graph(self, side: Side, run: OperatorRun | None) -> Graph | None:
        """Return the graph of an execution of an operator, if it knows it."""
        return self.graph_of(side, run.block) if run is not None and run.op >= 0 else None

    def graph_of(self, side: Side, block: Execution) -> Graph | None:
        """Return the graph of an execution."""
        if self.flow is None:
            return None
        return self._binding(side).graph(block)

    def operator(self, side: Side, run: OperatorRun | None) -> Op | None:
        """Return the operator of an execution, if a graph knows it."""
        graph = self.graph(side, run)
        return graph.ops[run.op] if graph is not None and run is not None else None


def _of_pair(pair: Pair) -> tuple[Key, RowRecords]:
    key = pair.target.key
    golden = pair.golden_run.op_name if pair.golden_run else pair.golden.key.op_name
    turn = pair.run.block.turn if pair.run is not None else key.turn
    names = (pair.op_name, golden, pair.io, pair.slot)
    found = RowRecords(pair.target, pair.golden, pair.run, pair.golden_run)
    return (key.rank, key.graph_id, key.iteration, turn, *names), found


def _of_lone(one: Unmatched, *, ours: bool) -> tuple[Key, RowRecords]:
    key = one.record.key
    names = (one.op_name, "") if ours else ("", one.op_name)
    found = (
        RowRecords(one.record, None, one.run)
        if ours
        else RowRecords(None, one.record, None, one.run)
    )
    place = (key.rank, key.graph_id, key.iteration, key.turn)
    return (*place, *names, key.io, key.slot), found


def _row_key(row: Row) -> Key:
    place = (row.rank, row.graph_id, row.iteration, row.turn)
    return (*place, row.op_name, row.golden_op_name, row.io, row.slot)


def _execution(row: Row) -> Key:
    name = row.op_name or f"golden {row.golden_op_name}"
    return row.rank, row.graph_id, row.iteration, row.turn, name


def _lasting(row: Row) -> Key:
    return row.graph_id, row.op_name, row.golden_op_name, row.io, row.slot
