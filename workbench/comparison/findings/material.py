"""The values of finding: what finders read, the place that a finding is about, and a finding while others are sought.

A `Found` keeps beside its finding where that is and what the walk knows of it, so that whoever
looks at it again (loss scale, producers, next dump) need not search for it by name or order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from workbench._values import NamedTuple
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.result import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.explain.origins import Origins
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.measure.profiles import Profile
    from workbench.comparison.pair.pairing import Pairing, Selection
    from workbench.comparison.replay.forecast import Forecast
    from workbench.comparison.result import Cause, IterationRow, Row, Symptom
    from workbench.core.words import Message
    from workbench.graph.graph import Op, SourceFrame


class Material(NamedTuple):
    """What a comparison knows before it says what is wrong.

    ``rows`` are those of ``measured``, in the same order, then those of unmatched tensors; ``steps``
    sum them up by part of an iteration.
    """

    flow: Trace
    origins: Origins
    measured: Sequence[Measured]
    rows: Sequence[Row]
    steps: Sequence[IterationRow]
    forecast: Forecast
    selection: Selection
    profile: Profile

    @property
    def pairing(self) -> Pairing:
        """What is matched and what is not."""
        return self.flow.pairing

    @property
    def pairs(self) -> list[Row]:
        """Rows of matched pairs."""
        return [row for row in self.rows if row.match_rule]


class Place(NamedTuple):
    """What a finding is about: a tensor of an operator.

    ``execution`` is ``None`` where it is about every execution or about no operator; ``op`` is the
    operator's number in the target's graph, below 0 where none has it. ``order`` is the position in
    data-flow order over the whole run.
    """

    op_name: str
    op_type: str
    graph_id: int
    iteration: int
    rank: int
    io: str = "output"
    slot: int = 0
    frames: tuple[SourceFrame, ...] = ()
    order: int = 0
    execution: Execution | None = None
    op: int = -1


def order_of(pairing: Pairing, execution: Execution, op: int) -> int:
    """Position of an operator over the whole run, as `Pair.order` counts it."""
    return (pairing.block_order.index(execution) << 24) + abs(op)


def place_in(pairing: Pairing, execution: Execution, op: int) -> Place:
    """Place of an operator of the target's graph in one of its executions."""
    known = pairing.target.graphs[execution.graph_key].ops[op]
    return Place(
        known.name, known.op_type, execution.graph_id, execution.iteration, execution.rank,
        frames=pairing.frames(execution.graph_key, op), order=order_of(pairing, execution, op),
        execution=execution, op=op,
    )  # fmt: skip


def place_in_graph(pairing: Pairing, graph_key: tuple[int, int], op: int) -> Place:
    """Place of an operator of the target's graph in all its executions."""
    known, (rank, graph_id) = pairing.target.graphs[graph_key].ops[op], graph_key
    frames = pairing.frames(graph_key, op)
    return Place(known.name, known.op_type, graph_id, 0, rank, frames=frames, op=op)


def place_of_row(row: Row) -> Place:
    """Place of a row, of no execution and no operator, with the one line that the row has."""
    frames = () if row.source is None else (row.source,)
    return Place(
        row.op_name, row.op_type, row.graph_id, row.iteration, row.rank, row.io, row.slot, frames,
        row.order,
    )  # fmt: skip


def blamed_operator(pairing: Pairing, event: Assessment) -> Op | None:
    """Return the operator that an assessment blames; ``None`` without a graph."""
    graph = pairing.target.graph(event.block)
    return graph.ops[event.origin_op] if graph is not None and event.origin_op >= 0 else None


def place_blamed(pairing: Pairing, event: Assessment, *, writer: bool = False) -> Place:
    """Place of the operator that an assessment blames, by its graph or else its files.

    It stands where the assessed operator does, and is about the tensor that shows it; that is none of a ``writer``.
    """
    block, run = event.block, pairing.target.runs[event.block].get(event.op)
    op = blamed_operator(pairing, event)
    name, kind = (run.op_name, run.op_type) if run is not None else ("", "")
    if op is not None:
        name, kind = op.name, op.op_type
    shown = event.worst.pair if event.worst is not None and not writer else None
    io, slot = (shown.io, shown.slot) if shown is not None else ("output", 0)
    frames = pairing.frames(block.graph_key, event.origin_op)
    return Place(
        name, kind, block.graph_id, block.iteration, block.rank, io, slot, frames, event.order,
        block, event.origin_op,
    )  # fmt: skip


class Figures(NamedTuple):
    """Errors of a finding, as a `Row` has them; ``None`` where none are known or they are another's."""

    own_error: float | None = None
    inherited_error: float | None = None
    noise_floor: float | None = None


NO_FIGURES = Figures()
"""Of a finding that no single tensor shows, or another operator's."""


class Found(NamedTuple):
    """A finding, its place, and what the walk knows there; ``group`` is a row of GROUPS.

    ``behind`` is the finding that it stands next to, before it if ``first``.
    """

    finding: Finding
    place: Place
    event: Assessment | None = None
    group: str = "runs"
    behind: Finding | None = None
    first: bool = False

    @property
    def defect(self) -> bool:
        """Whether it makes the comparison fail."""
        return self.finding.defect

    def changed(self, **fields: Any) -> Self:
        """Return the same with other fields of the finding."""
        return self._replace(finding=replace(self.finding, **fields))

    def told(self, *said: Message) -> Self:
        """Return the same with more evidence."""
        return self.changed(evidence=(*self.finding.evidence, *said))

    def renamed(self, kind: str, evidence: tuple[str | Message, ...]) -> Self:
        """Return the same as one of another kind."""
        row = KINDS[kind]
        return self.changed(kind=kind, score=row.score, advice=row.advice, evidence=evidence)


def finding(
    kind: str,
    place: Place,
    evidence: Iterable[str | Message],
    figures: Figures = NO_FIGURES,
    *,
    score: float | None = None,
    advice: str | Message | None = None,
    symptom: Symptom | None = None,
    causes: Iterable[Cause] = (),
    event: Assessment | None = None,
    group: str = "runs",
) -> Found:
    """Return a finding of a kind at a place; score and advice are the kind's unless given.

    ``symptom`` and ``causes`` are those of the finding.
    """
    row = KINDS[kind]
    made = Finding(
        kind, place.op_name, place.op_type, place.graph_id, place.iteration, place.io, place.slot,
        row.score if score is None else score, *figures, tuple(evidence), advice or row.advice, place.frames,
        place.order, place.rank, symptom, tuple(causes),
    )  # fmt: skip
    return Found(made, place, event, group)
