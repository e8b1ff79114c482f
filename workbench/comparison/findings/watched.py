"""What changes of watched memory mean: findings and anomalies, each cause told once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.bind.memory import RESULT, WatchedChange, find_changes
from workbench.comparison.findings.material import Place, finding
from workbench.comparison.result import CHANGED
from workbench.core.words import Message
from workbench.dump.dump import Note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.comparison.bind.binding import Binding
    from workbench.comparison.findings.material import Found, Material
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.result import Side

OVERWRITTEN, INFO = "overwritten", "info"

_FIRST = 32  # bytes; of those that are written some may be what was there before


def kind_of(change: WatchedChange) -> str:
    """Kind of finding: damage if someone still reads it, worth knowing if nobody does."""
    if change.readers is None:
        return CHANGED
    return OVERWRITTEN if change.readers else INFO


def watched(material: Material) -> list[Found]:
    """Return a finding for every pair of an output and the operator after which it is another."""
    pairing, selection = material.pairing, material.selection
    groups: dict[tuple[object, ...], list[WatchedChange]] = {}
    changes, _ = find_changes(pairing.target)
    for change in changes:
        if selection.takes(change.key, "target"):
            cause = change.key.graph_key, change.owner.name, change.after.name, kind_of(change)
            groups.setdefault(cause, []).append(change)
    orders = {(r.rank, r.graph_id, r.iteration, r.op_name): r.order for r in material.rows}
    found = [_found(group, pairing, orders) for group in groups.values()]
    return sorted(found, key=lambda one: one.place.order)


def _found(
    group: Sequence[WatchedChange], pairing: Pairing, orders: dict[tuple[int, int, int, str], int]
) -> Found:
    first = group[0]
    key, after = first.key, first.after
    place = Place(
        after.name, after.op_type, key.graph_id, key.iteration, key.rank,
        frames=pairing.frames(key.graph_key, after.number),
        order=orders.get((key.rank, key.graph_id, key.iteration, first.owner.name), 0), op=after.number,
    )  # fmt: skip
    return finding(kind_of(first), place, evidence(first, len(group) - 1), group="memory")


def golden_damage(material: Material) -> Iterator[Note]:
    """Overwrite on the golden side, which is an anomaly of it."""
    changes, _ = find_changes(material.pairing.golden)
    for change in changes:
        if material.selection.takes(change.key, "golden") and kind_of(change) == OVERWRITTEN:
            name, said = change.after.name, tuple(evidence(change))
            detail = Message("compare/watched", op_name=name, evidence=said)
            yield Note(OVERWRITTEN, change.owner.name, detail)


def unread_memory(material: Material) -> Iterator[tuple[Side, Note]]:
    """What was watched and could not be read, by side."""
    sides: tuple[tuple[Side, Binding], ...] = (
        ("target", material.pairing.target),
        ("golden", material.pairing.golden),
    )
    for side, binding in sides:
        _, unread = find_changes(binding)
        yield from ((side, note) for note in unread)


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
