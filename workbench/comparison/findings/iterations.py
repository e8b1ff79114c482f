"""What a comparison found in every part of every iteration, as rows, and the words for it.

An iteration begins with the parameters that it reads; then come its forward and backward parts and its
optimizer. Of each the worst tensor stands for all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison import findings as shown
from workbench.comparison.graphs.phases import PHASES, is_backward, phase_by_name, phases
from workbench.comparison.graphs.roles import state_name, updates
from workbench.comparison.graphs.traverse import producer
from workbench.comparison.result import IterationRow
from workbench.core.words import Message
from workbench.ops import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.comparison.findings.material import Found, Material, Place
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.result import Row

START = "parameters"
"""What an iteration begins with: the parameters that its forward and backward parts read."""

DIVERGENCE = "compare/divergence-at"
"""Code of where runs diverge first."""

_ORDER = {part: place for place, part in enumerate((START, *PHASES))}
_SEVERITY = ("equal", "pass", "warn", "fail")


class Parts:
    """The parts of the target's graphs, each looked at once."""

    def __init__(self, flow: Trace) -> None:
        self.flow = flow
        self._known: dict[tuple[int, int], list[str]] = {}

    def of(self, item: Measured) -> str:
        """Part that a measured tensor counts for; empty if for none."""
        run = item.pair.run
        if run is None:
            return ""
        graph = self.flow.pairing.target.graph(run.block)
        if graph is None or run.op < 0:
            written = item.pair.io == "output"
            return phase_by_name(run.op_name, run.op_type) if written else ""
        part = self.parts(run.block.rank, run.block.graph_id)[run.op]
        if item.pair.io == "output":
            return part
        op = graph.ops[run.op]
        if item.pair.slot in (slot for slot, _ in updates(graph, op)):
            return part
        operand = producer(graph, op.operand(item.pair.slot), IDENTITY)
        name = state_name(graph, operand) if operand is not None else ""
        state = name in self.flow.updated or (run.block.rank, name) in self.flow.updated_by_one
        return START if part != "optimizer" and state else ""

    def parts(self, rank: int, graph_id: int) -> list[str]:
        """Part of every operator of a graph."""
        key = (rank, graph_id)
        if key not in self._known:
            self._known[key] = list(phases(self.flow.pairing.target.graphs[key]))
        return self._known[key]


def summarize(
    flow: Trace, measured: Iterable[Measured], rows: Iterable[Row]
) -> tuple[IterationRow, ...]:
    """Return a row for every part of every iteration of a training run, or of several iterations.

    ``rows`` are those of ``measured``, in the same order, and of lone tensors. One iteration of one part has none.
    """
    rows = [*rows]
    steps = {(row.rank, row.iteration) for row in rows if row.iteration >= 0}
    if len(steps) < 2 and not _has_backward(flow):
        return ()
    parts = Parts(flow)
    groups: dict[tuple[int, int, int], list[Row]] = {}
    for item, row in zip(measured, rows, strict=False):
        counts = row.iteration >= 0 and row.status != "uncomparable"
        part = parts.of(item) if counts else ""
        if part:
            groups.setdefault((row.rank, row.iteration, _ORDER[part]), []).append(row)
    steps = {key[:2] for key in groups}
    if len(steps) < 2 and not any(key[2] == _ORDER["backward"] for key in groups):
        return ()
    names = {place: part for part, place in _ORDER.items()}
    return tuple(
        _row(key[0], key[1], names[key[2]], group) for key, group in sorted(groups.items())
    )


def _has_backward(flow: Trace) -> bool:
    """Whether any operator of the target may compute a gradient."""
    target = flow.pairing.target
    named = (run for runs in target.runs.values() for run in runs.values())
    return any(is_backward(op) for graph in target.graphs.values() for op in graph.ops) or any(
        phase_by_name(run.op_name, run.op_type) == "backward" for run in named
    )


def _row(rank: int, iteration: int, part: str, rows: Sequence[Row]) -> IterationRow:
    worst = max(rows, key=_badness)
    inherited = None if part == START else worst.inherited_error
    counts = {status: sum(row.status == status for row in rows) for status in _SEVERITY}
    return IterationRow(
        rank, iteration, part, len(rows), counts["equal"], counts["warn"], counts["fail"],
        worst.op_name, worst.status, worst.error, inherited, worst.noise_floor,
    )  # fmt: skip


def _badness(row: Row) -> tuple[int, float]:
    error = row.error if row.error is not None else 0.0
    return _SEVERITY.index(row.status), math.inf if math.isnan(error) else error


def divergence_onset(found: Iterable[Found], material: Material) -> list[Found]:
    """Add to every defect in which iteration and part of it the runs part, and what the others say."""
    parts = Parts(material.flow)
    return [
        one.told(*_when(one.place, parts, material.steps)) if one.defect and material.steps else one
        for one in found
    ]


def _when(place: Place, parts: Parts, steps: Sequence[IterationRow]) -> Iterator[Message]:
    own = [step for step in steps if step.rank == place.rank]
    part = _part(place, parts)
    if part is None:
        return
    iteration = place.iteration
    before = sorted({step.iteration for step in own if step.iteration < iteration})
    failed = {step.iteration for step in own if step.failed}
    clauses: list[Message] = []
    if before and not failed & set(before):
        clauses.append(Message("compare/agree-before", iterations=shown.named_iterations(before)))
    clauses.append(Message(DIVERGENCE, iteration=iteration, part=part))
    yield Message("compare/divergence", parts=(*clauses, *_start(own, iteration)))
    yield from _afterwards(own, iteration)


def _part(place: Place, parts: Parts) -> str | None:
    """Part that an operator belongs to; ``None`` where there is a graph that does not have it."""
    graph = parts.flow.pairing.target.graphs.get((place.rank, place.graph_id))
    if graph is None:
        return phase_by_name(place.op_name, place.op_type)
    number = place.op if place.op >= 0 else graph.by_name.get(place.op_name)
    return None if number is None else parts.parts(place.rank, place.graph_id)[number]


def _start(own: Iterable[IterationRow], iteration: int) -> Iterator[Message]:
    """Whether the parameters that an iteration begins with still agree."""
    start = next((s for s in own if (s.iteration, s.part) == (iteration, START)), None)
    if start is None:
        return
    if start.failed:
        yield Message("compare/start-differs", failed=start.failed, tensors=start.tensors)
    elif start.equal == start.tensors:
        yield Message("compare/start-equal")
    else:
        yield Message("compare/start-agrees", error=start.error)


def _afterwards(own: Iterable[IterationRow], iteration: int) -> Iterator[Message]:
    """What becomes of it in later iterations."""
    later: dict[int, list[IterationRow]] = {}
    for step in own:
        if step.iteration > iteration:
            later.setdefault(step.iteration, []).append(step)
    if not later:
        return
    first = next((n for n, steps in later.items() if any(s.failed for s in steps)), None)
    if first is None:
        yield Message("compare/agree-after", iterations=shown.named_iterations(later))
        return
    start = next((s for s in later[first] if s.part == START), None)
    if start is not None and start.failed:
        failed, tensors = start.failed, start.tensors
        yield Message("compare/parameters-later", iteration=first, failed=failed, tensors=tensors)
    else:
        failed, tensors = (sum(getattr(s, n) for s in later[first]) for n in ("failed", "tensors"))
        yield Message("compare/tensors-later", iteration=first, failed=failed, tensors=tensors)
