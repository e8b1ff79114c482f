"""Overruns: blame whoever wrote over a tensor, not who read it or whose it was.

Where guilty operators read or gave a tensor of which the dump holds two different looks
(`workbench.comparison.bind.memory`), that is the cause, and the likeliest writers
(`workbench.comparison.explain.writers`)
take their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.align.differences import Difference
from workbench.comparison.bind.memory import Overwrite, data, find_overwrites
from workbench.comparison.explain.exchanged import is_exchanged
from workbench.comparison.explain.inferred import infer_damage
from workbench.comparison.explain.origins import Origin, Writer
from workbench.comparison.explain.writers import find_writers
from workbench.comparison.graphs.traverse import ALIAS, readers, storage_of
from workbench.comparison.limits import limits
from workbench.core.words import Message
from workbench.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.explain.writers import WriterCandidate
    from workbench.comparison.follow.state import Assessment
    from workbench.comparison.follow.trace import Trace

NAMED = 3
"""Writers that are named at most, where it may have been several."""


def blame_writers(
    flow: Trace, origins: tuple[Origin, ...], asked: Sequence[int]
) -> tuple[Origin, ...]:
    """Put writers in the place of the origins that two looks at a tensor explain."""
    touched: dict[Execution, set[int]] = {}
    for event in (origins[n].event for n in asked):
        touched.setdefault(event.block, set()).add(event.op)
    binding = flow.pairing.target
    found = (
        damage for block in touched for damage in find_overwrites(binding, block, touched[block])
    )
    return _put_writers(flow, origins, found)


def infer_writers(
    flow: Trace, origins: tuple[Origin, ...], asked: Sequence[int]
) -> tuple[Origin, ...]:
    """Put writers in the place of origins whose results show that an input was written over."""
    found: dict[tuple[Execution, Value], Overwrite] = {}
    for event in (origins[n].event for n in asked):
        damage = infer_damage(flow, event)
        if damage is not None:
            found.setdefault((damage.block, damage.value), damage)
    return _put_writers(flow, origins, found.values())


def _put_writers(
    flow: Trace, origins: tuple[Origin, ...], some: Iterable[Overwrite]
) -> tuple[Origin, ...]:
    """Blame the writers, graph by graph: an operator does the same in every execution."""
    graphs: dict[tuple[int, int], list[Overwrite]] = {}
    for one in some:
        graphs.setdefault(one.block.graph_key, []).append(one)
    for rest in graphs.values():
        while rest:
            group = _of_one_writer(rest)
            rest = [one for one in rest if one not in group]
            origins = _put_group(flow, origins, group)
    return origins


def _of_one_writer(some: Sequence[Overwrite]) -> list[Overwrite]:
    """The first damage, and what may be the work of the same operator."""
    group, common = [some[0]], set(some[0].suspects)
    for damage in some[1:]:
        if common & set(damage.suspects):
            group.append(damage)
            common &= set(damage.suspects)
    return group


def _put_group(
    flow: Trace, origins: tuple[Origin, ...], some: Sequence[Overwrite]
) -> tuple[Origin, ...]:
    """Blame the writers of some damages in the place of the origins that these explain."""
    explained = [
        n
        for n, one in enumerate(origins)
        if not is_exchanged(one) and any(_explains(flow, x, one.event) for x in some)
    ]
    suspects = find_writers(flow.pairing.target, some, _prior(flow, some))
    if not explained or not suspects:
        return origins
    least = max(limits().writer_unlikely * suspects[0].chance, limits().chance_least)
    suspects = [suspects[0], *(one for one in suspects[1:NAMED] if one.chance > least)]
    at = explained[0]
    writers = [_by_writer(flow, origins[at].event, one, some, suspects) for one in suspects]
    after = [one for n, one in enumerate(origins) if n > at and n not in explained]
    return (*origins[:at], *writers, *after)


def _explains(flow: Trace, damage: Overwrite, event: Assessment) -> bool:
    """Whether a damage explains that an operator was found guilty.

    It reads the tensor; or it gave it, and only its readers' files were compared.
    """
    graph = flow.pairing.target.graph(damage.block)
    if graph is None or event.block != damage.block:
        return False
    if event.op == damage.value.op:
        return event.worst is None or event.worst.pair.io == "input"
    return any(
        isinstance(one, Value) and storage_of(graph, one) == damage.value
        for one in graph.ops[event.op].flat_inputs()
    )


def _prior(flow: Trace, some: Iterable[Overwrite]) -> dict[int, float]:
    """What replay says of the operators that first show damage in their inputs.

    Whoever computed with what its file holds found it so; whoever did not, ran before it was there.
    """
    found = {}
    for damage in some:
        place = damage.block, damage.reader.op
        own = flow.own_error(*place)
        if damage.inferred:
            found[damage.reader.op] = limits().reader_cleared
        elif damage.reader.io == "input" and own is not None and flow.replayed is not None:
            if own.suspect:
                found[damage.reader.op] = limits().reader_convicted
            elif flow.replayed.reproduces(*place):
                found[damage.reader.op] = limits().reader_cleared
    return found


def _by_writer(
    flow: Trace,
    event: Assessment,
    suspect: WriterCandidate,
    some: Sequence[Overwrite],
    suspects: Sequence[WriterCandidate],
) -> Origin:
    """The origin at a writer: a copy of the reader's assessment that blames it."""
    subject = str(some[0].value)
    said = _told(flow, suspect, some, suspects)
    differences = tuple(Difference("overwritten", subject, one) for one in said)
    copy = event._replace(origin_op=suspect.op, replayed=None, differences=differences)
    return Origin(copy, writer=Writer(suspect.chance))


def _told(
    flow: Trace,
    suspect: WriterCandidate,
    some: Sequence[Overwrite],
    suspects: Sequence[WriterCandidate],
) -> Iterator[Message]:
    """What was written over, when, and why it was this operator."""
    damage = some[0]
    graph = flow.pairing.target.graph(damage.block)
    assert graph is not None
    ops, since = graph.ops, damage.since
    owner = ops[damage.value.op]
    reading = (n for n, _ in readers(graph, damage.value, ALIAS) if n > suspect.op)
    later = min(reading, default=damage.reader.op)
    output = {"slot": damage.value.slot, "op_type": owner.op_type, "op_name": owner.name}
    code = "compare/writes-later" if later > suspect.op else "compare/writes"
    yield Message(code, reader=ops[later].name, **output)
    yield _where(damage, ops[since].name)
    if suspect.why is not None:
        yield suspect.why
    elif len(damage.suspects) > 1:
        count, reader = len(damage.suspects), ops[damage.reader.op].name
        stated = suspect.chance >= limits().chance_least
        code = "compare/one-of-writers" if stated else "compare/one-of-many-writers"
        yield Message(code, count=count, reader=reader, chance=suspect.chance)
    others = [
        Message("compare/writer", op_name=ops[one.op].name, chance=one.chance)
        for one in suspects
        if one.op != suspect.op
    ]
    if others and suspect is suspects[0]:
        yield Message("compare/other-writers", others=others)
    more = [ops[one.value.op].name for one in some[1:] if one.block == damage.block]
    if more:
        yield Message("compare/writes-more", count=len(more), names=more)


def _where(damage: Overwrite, since: str) -> Message:
    """Which elements are others."""
    before, after = data(damage.written.record), data(damage.reader.record)
    if before is None or after is None:
        return Message("compare/damaged", since=since)
    bits = f"V{after.itemsize}"
    places = np.flatnonzero(before.reshape(-1).view(bits) != after.reshape(-1).view(bits))
    if not places.size:
        return Message("compare/damaged", since=since)
    first, last = int(places[0]), int(places[-1])
    code = "compare/damaged-inferred" if damage.inferred else "compare/damaged-places"
    return Message(code, count=places.size, size=after.size, first=first, last=last, since=since)
