"""One execution without a graph, operator by operator in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.follow.in_time.reading import partners_of, reading_of
from workbench.comparison.follow.in_time.rules import TIME_RULES, TimeMemory
from workbench.comparison.follow.in_time.seen import (
    given_apart,
    is_off_alone,
    seen_in_time,
    shown_by_products,
    time_facts,
)
from workbench.comparison.follow.in_time.stand_ins import StandIns
from workbench.comparison.follow.rules import decide
from workbench.comparison.follow.state import Assessment
from workbench.comparison.follow.trace import excused
from workbench.comparison.trust import Trust
from workbench.core.long_work import is_stopped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.in_time.reading import Partners
    from workbench.comparison.follow.trace import Survey
    from workbench.comparison.measure.measure import Measured


class InTime(NamedTuple):
    """What an execution without a graph comes to: assessments, the coarsest roundoff met, what they rest on."""

    made: Sequence[Assessment]
    coarsest: float
    trust: Trust


def in_time(
    known: Survey,
    block: Execution,
    base: int,
    *,
    first: bool = True,
) -> InTime:
    """Judge one execution without a graph: the order of time stands in for the data flow.

    Every number format met so far counts as met by all that follows, and where nothing tells what an operator read, it
    may have read what any before it gave. ``first``: no other execution of its rank ran before. Whoever stops this
    work (`workbench.core.long_work`) before any operator is judged has nothing, else what was judged by then.
    """
    runs, memory = known.pairing.target.runs[block], TimeMemory()
    partners = partners_of(known, block)
    usable = _usable(known, block)
    reads = {op: reading_of(known, block, op, partners, first=first) for op in usable}
    stand_ins = StandIns(known)
    trust = _trust(known, block, partners, stand_ins)
    shown = shown_by_products(known, block, reads, usable)
    found, coarsest = list[Assessment](), 0.0
    for op in sorted(usable, key=lambda n: runs[n].time):
        if is_stopped():
            break
        stand_in = stand_ins.of(runs[op], usable[op])
        coarsest = max(coarsest, stand_ins.roundoff(runs[op], stand_in))
        floor = stand_ins.floor(stand_in, coarsest)
        seen = seen_in_time(known, runs[op], stand_in.op, floor, reads[op], base, memory)
        whole = not seen.tainted and known.job is None  # two ranks are given different batches
        given = given_apart(reads[op], seen, memory) if whole else 0.0
        facts = time_facts(known, seen, reads[op], partners, shown.get(op), memory, given)
        name, concluded = decide(TIME_RULES, facts, memory, trust)
        made = seen._replace(conclusion=name, origin_op=concluded.op)
        if concluded.kind == "origin":
            excuse = excused(known, seen, concluded)
            unseen = () if reads[op].known else reads[op].unknown
            made = made._replace(is_origin=excuse is None, tolerated=excuse, open_inputs=unseen)
        if concluded.kind == "undecided":
            made = made._replace(undecided=concluded.doubt, tainted=False)
        found.append(made)
    return InTime(tuple(found), coarsest, trust)


def _usable(known: Survey, block: Execution) -> dict[int, list[Measured]]:
    """What says anything about each operator of an execution; after a stop of most nothing does."""
    runs = known.pairing.target.runs[block]
    found = (
        (op, [m for m in known.index.get((block, op), {}).values() if m.usable]) for op in runs
    )
    return {op: some for op, some in found if some}


def _trust(known: Survey, block: Execution, partners: Partners, stand_ins: StandIns) -> Trust:
    """What statements about the execution rest on; inferred edges are an order, too, and one alone needs none."""
    trust = known.pairing.trust(block)
    inferred = bool(partners.wiring.producers)
    if trust.order == "unknown" and (inferred or is_off_alone(known, block, stand_ins)):
        trust = trust._replace(order="time")
    return trust._replace(graph="inferred") if inferred else trust
