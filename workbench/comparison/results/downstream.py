"""Operators that an error reaches: what stands behind an origin and was found to read something wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.findings.next_dump import place_of
from workbench.comparison.graphs.roles import state_name, updates
from workbench.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.result import Finding
    from workbench.graph.graph import Graph

    Place = tuple[Execution, int]


def reached_by(trace: Trace, findings: Sequence[Finding]) -> frozenset[tuple[int, int, str]]:
    """Operators that the first defect reaches: rank, graph id and name."""
    first = next((one for one in findings if one.defect), None)
    place = place_of(trace, first) if first is not None else None
    if place is None:
        return frozenset()
    runs = trace.pairing.target.runs
    found = ((block, runs[block].get(op)) for block, op in downstream_of(trace, place))
    return frozenset((*block.graph_key, run.op_name) for block, run in found if run is not None)


def downstream_of(trace: Trace, start: Place) -> frozenset[Place]:
    """Return every operator whose inputs are wrong because of the one at ``start``, by execution and number.

    Where errors begin at one operator alone, those are all that inherit one. Otherwise the data flow decides, within
    an execution and through the parameters that it updates; where no graph tells it, nobody can say.
    """
    inheriting = [one for one in trace.events.values() if one.tainted and not one.is_origin]
    if len({(one.block, one.origin_op) for one in trace.origins}) < 2:
        return frozenset((one.block, one.op) for one in inheriting)
    reached, updated = {start}, set[tuple[int, str]]()
    for event in (trace.events.get(start), *inheriting):
        graph = trace.pairing.target.graph(event.block) if event is not None else None
        if event is None or graph is None or event.op < 0:
            continue
        place = (event.block, event.op)
        if place == start or _reads(graph, event, reached, updated):
            reached.add(place)
            updated |= {(event.block.rank, name) for _, name in updates(graph, graph.ops[event.op])}
    return frozenset(reached - {start})


def _reads(
    graph: Graph, event: Assessment, reached: set[Place], updated: set[tuple[int, str]]
) -> bool:
    """Whether an operator reads what a reached one gave, or a parameter that one of those has updated."""
    for operand in graph.ops[event.op].flat_inputs():
        if isinstance(operand, Value) and (event.block, operand.op) in reached:
            return True
        if (event.block.rank, state_name(graph, operand)) in updated:
            return True
    return False
