"""What changes of watched memory mean: findings and anomalies, each cause told once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.bind.memory import RESULT, WatchedChange
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.result import Finding
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.result import Row

OVERWRITTEN, CHANGED, INFO = "overwritten", "changed-memory", "info"

_FIRST = 32  # bytes; of those that are written some may be what was there before


def kind_of(change: WatchedChange) -> str:
    """Kind of finding: damage if someone still reads it, worth knowing if nobody does."""
    if change.readers is None:
        return CHANGED
    return OVERWRITTEN if change.readers else INFO


def watch_findings(
    changes: Iterable[WatchedChange], pairing: Pairing, rows: Sequence[Row]
) -> list[Finding]:
    """Return a finding for every pair of an output and the operator after which it is another."""
    groups: dict[tuple[object, ...], list[WatchedChange]] = {}
    for change in changes:
        key = change.key
        cause = key.rank, key.graph_id, change.owner.name, change.after.name, kind_of(change)
        groups.setdefault(cause, []).append(change)
    orders = {(r.rank, r.graph_id, r.iteration, r.op_name): r.order for r in rows}
    found = [_finding(group, pairing, orders) for group in groups.values()]
    return sorted(found, key=lambda one: (not one.defect, one.order))


def _finding(
    group: Sequence[WatchedChange], pairing: Pairing, orders: dict[tuple[int, int, int, str], int]
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
        score=KINDS[kind].score,
        own_error=None,
        inherited_error=None,
        noise_floor=None,
        evidence=tuple(evidence(first, len(group) - 1)),
        advice=KINDS[kind].advice,
        source=pairing.frame(key.graph_key, after.number),
        order=orders.get((key.rank, key.graph_id, key.iteration, first.owner.name), 0),
        rank=key.rank,
    )


def evidence(change: WatchedChange, others: int = 0) -> Iterator[Message]:
    """Say what was written over, what was not looked at, and who is left to read it."""
    span, readers = change.span, change.readers
    yield _changed(change)
    yield Message("compare/span", span=span.said, since=change.since)
    if readers and span.first < _FIRST <= span.size - span.last:
        yield Message("compare/at-beginning")
    if readers and change.between:
        yield Message("compare/not-checked", names=change.between)
    if others:
        yield Message("compare/same-again", count=others)


def _changed(change: WatchedChange) -> Message:
    """Which output, and who needs it."""
    owner, readers, after = change.owner, change.readers, change.after.name
    output = {"slot": change.key.slot, "op_type": owner.op_type, "op_name": owner.name}
    if readers is None:
        return Message("compare/changed", after=after, **output)
    if readers and readers[0] == RESULT:
        return Message("compare/writes-result", **output)
    if readers:
        return Message("compare/writes-later", reader=readers[0], **output)
    if change.last_reader:
        return Message("compare/changed-last", after=after, reader=change.last_reader, **output)
    return Message("compare/changed-unread", after=after, **output)
