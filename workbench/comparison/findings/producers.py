"""Who stands behind a suspect of which only statistics are known: whoever gave it what it read.

Elements that are exchanged keep every statistic of a tensor, and few wrong ones hardly change it. So the first
operator that reads such a tensor is the first whose statistics differ, though it did what it had to. The
operators that gave it what it read are named as further suspects. Where the forecast can be made with lanes
exchanged in an input, and so has the statistics that were dumped, its producer comes first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from workbench.comparison.explain.hypotheses.outputs import exchanged
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.findings.next_dump import place_of
from workbench.comparison.graphs.roles import ends_of
from workbench.comparison.graphs.traverse import producer, readers
from workbench.core.dtypes import DTYPES
from workbench.core.formats import c0_of
from workbench.core.words import Message
from workbench.graph.nodes import Value
from workbench.graph.traits import CONTRACTIONS, IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.states import Assessment
    from workbench.comparison.replay.forecast import Forecast, ForecastExecution, Run
    from workbench.comparison.result import Finding
    from workbench.graph.nodes import Graph, Operand

MOST = 2
"""Producers that are named behind the first suspect; one more where it is known that it was one of them."""

_DEEPEST = 6
"""Operators without a share in the statistics that are walked through to the left."""

_TRIED = 3
"""Suspects that are looked behind."""

_EXPLAINS = 0.05
"""Share of the error that an exchange may leave over where it is the explanation."""

_PLAIN = frozenset(
    ("ReLU", "ReLU6", "GeLU", "Sigmoid", "Tanh", "Neg", "Abs", "Square", "Sqrt", "MaxPool", "AvgPool")
)  # fmt: skip
"""Types that treat every channel alike and by itself: elements exchanged before are exchanged behind them."""


@dataclass(frozen=True, slots=True)
class _Behind:
    """Producers behind a suspect.

    ``exchanged`` are slots whose lanes were exchanged, by which distance: that explains the statistics.
    """

    producers: tuple[int, ...]
    first: bool = False
    exchanged: tuple[tuple[int, int], ...] = ()


def with_producers(findings: Sequence[Finding], flow: Flow, told: Forecast) -> list[Finding]:
    """Name those who gave the first suspects what they read, where only statistics are known."""
    asked = dict(_asked(findings, flow))
    found = _exchanges([(e.block, e.op) for e in asked.values()], flow, told)
    result: list[Finding] = []
    named = {finding.op_name for finding in findings if finding.defect}
    for number, finding in enumerate(findings):
        event = asked.get(number)
        graph = flow.pairing.target.graph(event.block) if event is not None else None
        if event is None or graph is None:
            result.append(finding)
            continue
        behind = found.get((event.block, event.op)) or _Behind(())
        if not behind.producers and number == min(asked):
            behind = _readable(flow, event, graph, bool(told.errors))
        more = [
            _finding(flow, finding, event, graph, place, behind)
            for place in _places(behind, graph, named if not behind.first else set())
        ]
        result += [*more, finding] if behind.first else [finding, *more]
    return result


def _asked(findings: Sequence[Finding], flow: Flow) -> Iterator[tuple[int, Assessment]]:
    """The first own errors of which there are nothing but statistics, by their number."""
    events = {(event.block, event.blamed): event for event in flow.guilty if event.op >= 0}
    left = _TRIED
    for number, finding in enumerate(findings):
        place = place_of(flow, finding) if finding.kind == "own-error" else None
        event = events.get(place) if place is not None else None
        if event is not None and left and _only_statistics(event):
            left -= 1
            yield number, event


def _only_statistics(event: Assessment) -> bool:
    worst = event.worst
    return worst is not None and worst.pair.target.source is None and event.blamed == event.op


def _exchanges(
    places: list[tuple[Execution, int]], flow: Flow, told: Forecast
) -> dict[tuple[Execution, int], _Behind]:
    """Suspects whose statistics the forecast has once lanes of an input are exchanged."""
    found: dict[tuple[Execution, int], _Behind] = {}
    if not told.errors or not places:
        return found
    left = set(places)
    for execution, run in told.compute(lambda _: [], keep=places):
        for block, number in places:
            if block == execution.block and number in execution.kept:
                matches = [*_exchange(execution, run, number)]
                if matches:
                    found[block, number] = _producing(flow, block, execution.graph, number, matches)
        left -= {place for place in left if place[0] == execution.block}
        if not left:
            break
    return found


def _exchange(execution: ForecastExecution, run: Run, number: int) -> Iterator[tuple[int, int]]:
    """Yield input slot and distance of the lanes whose exchange explains an operator's statistics.

    In one of two terms of a sum it does what it does in the other one.
    """
    before = _largest(execution.otherwise(run, number, {}))
    if not 0 < before < math.inf:
        return
    for slot, operand in enumerate(execution.graph.ops[number].flat_inputs()):
        array = execution.kept[number].get(slot)
        if not isinstance(operand, Value) or array is None or not array.ndim:
            continue
        axis = 1 if array.ndim > 3 else array.ndim - 1
        lanes = c0_of(array.dtype.name) if array.dtype.name in DTYPES else 0
        for distance in range(1, min(lanes, 2 * array.shape[axis])):
            change = {slot: exchanged(array, axis, distance)}
            if _largest(execution.otherwise(run, number, change)) <= _EXPLAINS * before:
                yield slot, distance
                break


def _largest(errors: Mapping[int, float]) -> float:
    return max(errors.values(), default=math.inf)


def _producing(
    flow: Flow, block: Execution, graph: Graph, number: int, matches: list[tuple[int, int]]
) -> _Behind:
    """Who may have exchanged lanes of an input: its producer, and those before it that keep lanes where they are."""
    operands = [*graph.ops[number].flat_inputs()]
    likely = [one for one in matches if not _is_read_well(flow, block, graph, operands[one[0]])]
    matches = likely or matches
    chains = [_chain(flow, block, graph, operands[slot]) for slot, _ in matches]
    nearest = [one for row in zip_longest(*chains) for one in row if one is not None]
    return _Behind(tuple(dict.fromkeys(nearest)), True, tuple(matches))


def _is_read_well(flow: Flow, block: Execution, graph: Graph, operand: Operand) -> bool:
    """Whether a product of the same tensor has the right statistics, which it had not if lanes were exchanged."""
    return isinstance(operand, Value) and any(
        graph.ops[reader].op_type in CONTRACTIONS and _agrees(flow, block, reader)
        for reader, _ in readers(graph, operand, MOVEMENT)
    )


def _agrees(flow: Flow, block: Execution, number: int) -> bool:
    """Whether an operator gave what it had to, as far as its statistics tell."""
    event = flow.events.get((block, number))
    return event is not None and event.worst is not None and not (event.guilty or event.tainted)


def _chain(flow: Flow, block: Execution, graph: Graph, operand: Operand | None) -> list[int]:
    """Return an input's producer, and those before it behind which elements are exchanged as before them."""
    runs, found = flow.pairing.target.runs[block], list[int]()
    while isinstance(operand, Value) and len(found) < _DEEPEST:
        op = graph.ops[operand.op]
        renames = op.op_type in IDENTITY or (op.op_type in MOVEMENT and operand.op not in runs)
        if not renames:
            found.append(operand.op)
        if not renames and op.op_type not in _PLAIN:
            break
        operand = op.operand(0)
    return found


def _readable(flow: Flow, event: Assessment, graph: Graph, tested: bool) -> _Behind:
    """Producers of what a suspect reads; those of one that looks at every element by itself cannot be meant.

    If several suspects read the same, it is rather that.
    """
    op = graph.ops[event.op]
    if op.op_type in _PLAIN | IDENTITY:
        return _Behind(())
    guilty = {one.op for one in flow.guilty if one.block == event.block}
    found: list[int] = []
    first = False
    for operand in op.flat_inputs():
        if not isinstance(operand, Value):
            continue
        first |= len({reader for reader, _ in graph.consumers.get(operand, ())} & guilty) > 1
        source = producer(graph, operand, MOVEMENT if tested else IDENTITY)
        found += [source.op] if isinstance(source, Value) else []
    return _Behind(tuple(dict.fromkeys(found)), first)


def _places(behind: _Behind, graph: Graph, named: set[str]) -> list[int]:
    ends, most = ends_of(graph), MOST + bool(behind.exchanged)
    left = [n for n in behind.producers if n not in ends and graph.ops[n].name not in named]
    return left[:most]


def _finding(
    flow: Flow, reader: Finding, event: Assessment, graph: Graph, number: int, behind: _Behind
) -> Finding:
    """The finding about a producer."""
    op = graph.ops[number]
    shown = f"{reader.op_type} {reader.op_name}".lstrip()
    said = Message("compare/producer-hidden")
    if behind.exchanged:
        inputs = [Message("compare/input-name", slot=slot) for slot, _ in behind.exchanged]
        distance, code = behind.exchanged[0][1], "compare/producer-exchanged"
        said = Message(code, inputs=inputs, distance=distance, reader=shown)
    score = reader.score + 0.05 if behind.first else 0.5 * reader.score
    return replace(
        reader,
        op_name=op.name,
        op_type=op.op_type,
        io="output",
        slot=0,
        score=round(min(score, 0.69), 3),
        own_error=None,
        inherited_error=None,
        noise_floor=None,
        evidence=(Message("compare/producer", reader=shown), said),
        advice=KINDS["own-error"].advice,
        source=flow.pairing.frame((event.block.rank, event.block.graph_id), number),
        order=event.order - event.op + number,
        fault="wrong-layout-lanes" if behind.exchanged else "",
        probability=round(0.9 / len(behind.producers), 3) if behind.exchanged else 0.0,
    )
