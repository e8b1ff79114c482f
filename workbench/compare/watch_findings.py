"""What changes of watched memory mean: findings and anomalies, each cause told once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.compare.finding_kinds import ADVICE, CERTAINTY
from workbench.compare.result import Finding
from workbench.compare.watching import RESULT, Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.compare.pairs import Pairing
    from workbench.compare.result import Row

OVERWRITTEN, CHANGED, INFO = "overwritten", "changed-memory", "info"

_SHOWN = 3
_FIRST = 32  # bytes; of those that are written some may be what was there before


def kind_of(change: Change) -> str:
    """Kind of finding: damage if someone still reads it, worth knowing if nobody does."""
    if change.readers is None:
        return CHANGED
    return OVERWRITTEN if change.readers else INFO


def watch_findings(
    changes: Iterable[Change], pairing: Pairing, rows: Sequence[Row]
) -> list[Finding]:
    """Return a finding for every pair of an output and the operator after which it is another."""
    groups: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        key = change.key
        cause = key.rank, key.graph_id, change.owner.name, change.after.name, kind_of(change)
        groups.setdefault(cause, []).append(change)
    orders = {(r.rank, r.graph_id, r.iteration, r.op_name): r.order for r in rows}
    found = [_finding(group, pairing, orders) for group in groups.values()]
    return sorted(found, key=lambda one: (not one.defect, one.order))


def _finding(
    group: Sequence[Change], pairing: Pairing, orders: dict[tuple[int, int, int, str], int]
) -> Finding:
    first = group[0]
    key, after, kind = first.key, first.after, kind_of(first)
    return Finding(
        kind=kind,
        op_name=after.name,
        op_type=after.op_type,
        graph_id=key.graph_id,
        iteration=key.iteration,
        io="output",
        slot=0,
        score=CERTAINTY[kind],
        own_error=None,
        inherited_error=None,
        noise_floor=None,
        evidence=tuple(evidence(first, len(group) - 1)),
        advice=ADVICE[kind],
        source=pairing.frame((key.rank, key.graph_id), after.number),
        order=orders.get((key.rank, key.graph_id, key.iteration, first.owner.name), 0),
        rank=key.rank,
    )


def evidence(change: Change, others: int = 0) -> Iterator[str]:
    """Say what was written over, what was not looked at, and who is left to read it."""
    owner, span, readers = change.owner, change.span, change.readers
    output = f"output {change.key.slot} of {owner.op_type} {owner.name}"
    if readers is None:
        yield f"after {change.after.name} {output} is not what was written, and no graph tells who needs it"
    elif readers:
        whose = "is a result" if readers[0] == RESULT else f"{readers[0]} reads"
        yield f"writes over {output}, which {whose} later"
    else:
        last = (
            f"{change.last_reader} was the last to read it"
            if change.last_reader
            else "nobody reads it"
        )
        yield f"after {change.after.name} {output} is not what was written, but {last}"
    yield f"{span} are not what was written; after {change.since} they still were"
    if readers and span.first < _FIRST <= span.size - span.last:
        yield "they lie at its beginning, as if something below had been written past its end"
    if readers and change.between:
        shown = ", ".join(change.between[:_SHOWN]) + (" …" if len(change.between) > _SHOWN else "")
        yield f"nobody looked after {shown}, which ran between the two and may have done it instead"
    if others:
        yield f"the same in {others} further outputs or iterations"
