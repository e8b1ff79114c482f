"""Who stands behind a suspect of which only statistics are known: whoever gave it what it read.

Elements that are exchanged keep every statistic of a tensor, and few wrong ones hardly change it. So the first
operator that reads such a tensor is the first whose statistics differ, though it did what it had to. The
operators that gave it what it read are named as further suspects. Where the forecast can be made with lanes
exchanged in an input, and so has the statistics that were dumped, its producer comes first.
"""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.findings.material import finding, place_in
from workbench.comparison.graphs.roles import ends_of
from workbench.comparison.graphs.traverse import producer, readers
from workbench.comparison.limits import limits
from workbench.comparison.result import Cause
from workbench.core.dtypes import DTYPES
from workbench.core.formats import c0_of
from workbench.core.words import Message
from workbench.graph.graph import Value
from workbench.ops import CONTRACTIONS, IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.findings.material import Found, Material
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.replay.forecast import Forecast, ForecastOperator
    from workbench.graph.graph import Graph, Operand

MOST = 2
"""Producers that are named behind the first suspect; one more where it is known that it was one of them."""

_DEEPEST = 6
"""Operators without a share in the statistics that are walked through to the left."""

_TRIED = 3
"""Suspects that are looked behind."""


_PLAIN = frozenset(
    ("ReLU", "ReLU6", "GeLU", "Sigmoid", "Tanh", "Neg", "Abs", "Square", "Sqrt", "MaxPool", "AvgPool")
)  # fmt: skip
"""Types that treat every channel alike and by itself: elements exchanged before are exchanged behind them."""


class _Behind(NamedTuple):
    """Producers behind a suspect.

    ``exchanged`` are slots whose lanes were exchanged, by which distance: that explains the statistics.
    """

    producers: tuple[int, ...]
    first: bool = False
    exchanged: tuple[tuple[int, int], ...] = ()


def with_producers(found: Sequence[Found], material: Material) -> list[Found]:
    """Name those who gave the first suspects what they read, where only statistics are known."""
    flow = material.flow
    events = [one.event for one in material.origins.origins]
    asked = dict(_asked(found, events))
    known = _exchanges([(e.block, e.op) for e in asked.values()], flow, material.forecast)
    named = {one.finding.op_name for one in found if one.defect}
    result = list(found)
    for number, event in asked.items():
        graph = flow.pairing.target.graph(event.block)
        if graph is None:
            continue
        behind = known.get((event.block, event.op)) or _Behind(())
        if not behind.producers and number == min(asked):
            behind = _readable(events, event, graph, bool(material.forecast.errors))
        places = _places(behind, graph, named if not behind.first else set())
        result += [_found(flow, found[number], event, place, behind) for place in places]
    return result


def _asked(
    found: Sequence[Found], events: Sequence[Assessment]
) -> Iterator[tuple[int, Assessment]]:
    """The first own errors of which there are nothing but statistics, by their number."""
    left = _TRIED
    for number, one in enumerate(found):
        event = one.event if one.finding.kind == "own-error" else None
        if event is None or not left or event.op < 0:
            continue
        if any(event is origin for origin in events) and _only_statistics(event):
            left -= 1
            yield number, event


def _only_statistics(event: Assessment) -> bool:
    worst = event.worst
    return worst is not None and worst.pair.target.source is None and event.origin_op == event.op


def _exchanges(
    places: list[tuple[Execution, int]], flow: Trace, told: Forecast
) -> dict[tuple[Execution, int], _Behind]:
    """Suspects whose statistics the forecast has once lanes of an input are exchanged."""
    found: dict[tuple[Execution, int], _Behind] = {}
    if not told.errors or not places:
        return found
    for one in told.rerun(places):
        matches = [*_exchange(one)]
        if matches:
            place = one.execution, one.number
            found[place] = _producing(flow, one.execution, one.graph, one.number, matches)
    return found


def _exchange(one: ForecastOperator) -> Iterator[tuple[int, int]]:
    """Yield input slot and distance of the lanes whose exchange explains an operator's statistics.

    In one of two terms of a sum it does what it does in the other one.
    """
    from workbench.comparison.explain.hypotheses.outputs import exchanged

    before = _largest(one.errors_with({}))
    if not 0 < before < math.inf:
        return
    for slot, operand in enumerate(one.graph.ops[one.number].flat_inputs()):
        array = one.inputs.get(slot)
        if not isinstance(operand, Value) or array is None or not array.ndim:
            continue
        axis = 1 if array.ndim > 3 else array.ndim - 1
        lanes = c0_of(array.dtype.name) if array.dtype.name in DTYPES else 0
        for distance in range(1, min(lanes, 2 * array.shape[axis])):
            change = {slot: exchanged(array, axis, distance)}
            if _largest(one.errors_with(change)) <= limits().exchange_leaves * before:
                yield slot, distance
                break


def _largest(errors: Mapping[int, float]) -> float:
    return max(errors.values(), default=math.inf)


def _producing(
    flow: Trace, block: Execution, graph: Graph, number: int, matches: list[tuple[int, int]]
) -> _Behind:
    """Who may have exchanged lanes of an input: its producer, and those before it that keep lanes where they are."""
    operands = [*graph.ops[number].flat_inputs()]
    likely = [one for one in matches if not _is_read_well(flow, block, graph, operands[one[0]])]
    matches = likely or matches
    chains = [_chain(flow, block, graph, operands[slot]) for slot, _ in matches]
    nearest = [one for row in zip_longest(*chains) for one in row if one is not None]
    return _Behind(tuple(dict.fromkeys(nearest)), True, tuple(matches))


def _is_read_well(flow: Trace, block: Execution, graph: Graph, operand: Operand) -> bool:
    """Whether a product of the same tensor has the right statistics, which it had not if lanes were exchanged."""
    return isinstance(operand, Value) and any(
        graph.ops[reader].op_type in CONTRACTIONS and _agrees(flow, block, reader)
        for reader, _ in readers(graph, operand, MOVEMENT)
    )


def _agrees(flow: Trace, block: Execution, number: int) -> bool:
    """Whether an operator gave what it had to, as far as its statistics tell."""
    event = flow.events.get((block, number))
    return event is not None and event.worst is not None and not (event.is_origin or event.tainted)


def _chain(flow: Trace, block: Execution, graph: Graph, operand: Operand | None) -> list[int]:
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


def _readable(
    events: Sequence[Assessment], event: Assessment, graph: Graph, tested: bool
) -> _Behind:
    """Producers of what a suspect reads; those of one that looks at every element by itself cannot be meant.

    If several suspects read the same, it is rather that.
    """
    op = graph.ops[event.op]
    if op.op_type in _PLAIN | IDENTITY:
        return _Behind(())
    guilty = {one.op for one in events if one.block == event.block}
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


def _found(flow: Trace, reader: Found, event: Assessment, number: int, behind: _Behind) -> Found:
    """The finding about a producer; it stands next to that of its reader."""
    known = reader.finding
    shown = f"{known.op_type} {known.op_name}".lstrip()
    said, causes = Message("compare/producer-hidden"), list[Cause]()
    if behind.exchanged:
        inputs = [Message("compare/input-name", slot=slot) for slot, _ in behind.exchanged]
        distance, code = behind.exchanged[0][1], "compare/producer-exchanged"
        said = Message(code, inputs=inputs, distance=distance, reader=shown)
        chance = round(0.9 / len(behind.producers), 3)
        causes = [Cause("wrong-layout-lanes", chance, (said,))]
    score = known.score + 0.05 if behind.first else 0.5 * known.score
    made = finding(
        "own-error", place_in(flow.pairing, event.block, number)._replace(rank=known.rank),
        (Message("compare/producer", reader=shown), said), score=round(min(score, 0.69), 3), causes=causes,
    )  # fmt: skip
    return made._replace(group=reader.group, behind=known, first=behind.first)
