"""What the walk through the data flow concluded of an operator, and by which figures, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.findings.evidence import own_words
from workbench.core.errors import WorkbenchError
from workbench.core.words import Message
from workbench.graph.source_lines import told
from workbench.session.names import full_name
from workbench.views.origin import conclusion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.state import Assessment, ValueState
    from workbench.comparison.follow.trace import Trace
    from workbench.session.comparison import Comparison

MOST = 20
"""Executions that are told of; an operator may run thousands of times."""


def explain(comparison: Comparison, wanted: str) -> list[Message | str]:
    """Return lines that say what was concluded of an operator in every execution, by which figures, and why.

    ``wanted`` is its name or the end of it. Raises WorkbenchError if it fits several or none, or for a comparison
    that was not made of two dumps.
    """
    flow = comparison.row_index.flow
    if flow is None:
        raise WorkbenchError("views/result-alone")
    names = {place: _name(flow, *place) for place in flow.events}
    name = full_name(names.values(), wanted)
    places = [place for place, one in names.items() if one == name]
    lines: list[Message | str] = []
    for place in places[:MOST]:
        lines += _lines(flow, name, *place)
    return [
        *lines,
        *([Message("cli/more", count=len(places) - MOST)] if len(places) > MOST else ()),
    ]


def _name(flow: Trace, block: Execution, number: int) -> str:
    """Name of an operator as rows have it; of the graph where nothing of it was dumped."""
    run = flow.pairing.target.runs[block].get(number)
    if run is not None:
        return run.op_name
    graph = flow.pairing.target.graph(block)
    return graph.ops[number].name if graph is not None else ""


def _lines(flow: Trace, name: str, block: Execution, number: int) -> Iterator[Message | str]:
    event = flow.events[block, number]
    when = {"iteration": block.iteration, "rank": block.rank}
    code = "cli/explained-rank" if block.rank else "cli/explained"
    yield Message(code, name=name, rule=event.conclusion, said=conclusion(event), **when)
    yield from (f"  {told(one)}" for one in flow.pairing.frames(block.graph_key, number))
    for said in _reasons(flow, event):
        yield f"  {said}"


def _reasons(flow: Trace, event: Assessment) -> Iterator[Message]:
    graph = flow.pairing.target.graph(event.block)
    if graph is not None and event.origin_op not in (-1, event.op):
        yield Message("compare/conclusion-at", name=graph.ops[event.origin_op].name)
    yield from (difference.said for difference in event.differences)
    yield figures(event)
    if event.replayed is not None:
        yield from own_words(event.replayed)
    yield Message("compare/input-difference", error=event.inherited)
    states = flow.input_states.get((event.block, event.op), {})
    yield from (carries(slot, state) for slot, state in states.items())


def figures(event: Assessment) -> Message:
    """The error of the worst output, and what it was held against."""
    known = {"explained": event.expected_error, "floor": event.rounding_floor}
    if event.worst is None:
        return Message("compare/figures-none", **known)
    return Message("compare/figures", error=event.worst.error, limit=event.limit, **known)


def carries(slot: int, state: ValueState) -> Message:
    """What an input carries."""
    code = "compare/carries" if state.measured else "compare/carries-unmeasured"
    said = Message(code, slot=slot, error=state.error)
    if state.tainted:
        said = Message("compare/carries-wrong", said=said)
    if state.rank_local:
        said = Message("compare/carries-own", said=said)
    if state.from_earlier_step:
        said = Message("compare/carries-earlier", said=said)
    if state.unobserved:
        said = Message("compare/carries-unseen", said=said, count=len(state.unobserved))
    if state.causes:
        causes = tuple(cause.said for cause in state.causes)
        said = Message("compare/carries-cause", said=said, causes=causes)
    return said
