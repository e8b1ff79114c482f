"""Findings that are no defects: number formats, settings without effect, tensors without a partner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison.align.differences import format_differences, setting_differences
from workbench.comparison.findings.evidence import counted, further
from workbench.comparison.findings.material import Place, finding, place_blamed, place_in_graph
from workbench.comparison.limits import limits
from workbench.core.words import Message
from workbench.dump.dump import CONSTANT_ITERATION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.comparison.findings.material import Found, Material
    from workbench.comparison.follow.trace import Trace
    from workbench.comparison.pair.pairing import Pairing, Unmatched
    from workbench.graph.graph import Op


def _aligned(pairing: Pairing) -> Iterator[tuple[tuple[int, int], int, Op, Op]]:
    """Operators of the target by graph and number, and the golden ones that do their work."""
    for key, found in pairing.alignments.items():
        for number in sorted((*found.match_of, *found.fused)):
            other = found.counterpart(number)
            if other is not None:
                yield key, number, found.target.graph.ops[number], found.golden.graph.ops[other]


def precision(material: Material) -> Iterator[Found]:
    """The two runs compute in different number formats: said once, at the first such operator."""
    pairing = material.pairing
    differing = [
        (key, number, said)
        for key, number, op, golden in _aligned(pairing)
        if (said := next(format_differences(op, golden), None)) is not None
    ]
    if not differing:
        return
    key, number, said = differing[0]
    errors = (row.error for row in material.pairs if row.error is not None)
    largest = max(filter(math.isfinite, errors), default=0.0)
    evidence = (
        said,
        Message("compare/formats-differ", count=len(differing)),
        Message("compare/largest-error", error=largest),
        *_steps(material.flow),
    )
    yield finding("precision", place_in_graph(pairing, key, number), evidence)


def _steps(flow: Trace) -> Iterator[Message]:
    """What rounding to int8 explains, by the layer that it costs most."""
    known = [(event.steps, event) for event in flow.events.values() if event.steps is not None]
    if known:
        steps, event = max(known, key=lambda one: one[0].error)
        name = place_blamed(flow.pairing, event).op_name
        yield Message("compare/int8-layers", count=len(known), op_name=name, steps=steps.said)


def unblamed_settings(material: Material) -> Iterator[Found]:
    """Settings that differ at operators nobody blames: worth knowing, once a setting."""
    flow, pairing = material.flow, material.pairing
    events = [one.event for one in material.origins.origins]
    blamed = {(event.block.graph_key, event.origin_op) for event in events}
    alike: dict[tuple[str, int, tuple[Message, ...]], list[tuple[tuple[int, int], int]]] = {}
    for key, number, op, golden in _aligned(pairing):
        if (key, number) in blamed:
            continue
        tolerance = limits().pass_factor * flow.coarsest.get(key, 1e-6)
        differences = setting_differences(op, golden, tolerance)
        if differences:
            said = (*(one.said for one in differences), _seen(flow, key, number))
            alike.setdefault((op.op_type, key[0], said), []).append((key, number))
    for (_, _, said), found in alike.items():
        place, *others = (place_in_graph(pairing, *one) for one in found)
        names = {other.op_name for other in others} - {place.op_name}
        yield finding("info", place, (*said, *further(names)))


def _seen(flow: Trace, graph_key: tuple[int, int], op: int) -> Message:
    """What is known of the outputs of an operator in all its executions."""
    events = [e for (block, n), e in flow.events.items() if (block.graph_key, n) == (graph_key, op)]
    if not any(event.worst is not None for event in events):
        return Message("compare/outputs-unknown")
    if any(event.tainted for event in events):
        return Message("compare/inputs-differ")
    if any(event.masked for event in events):
        return Message("compare/outputs-differ")
    return Message("compare/outputs-agree")


def unmatched(material: Material) -> Iterator[Found]:
    """Tensors without a partner, told once, operators before Parameter files."""
    pairing = material.pairing
    ours, theirs = pairing.only_target, pairing.only_golden
    everyone = [*ours, *theirs]
    if not everyone:
        return
    number, lone = next(
        ((n, one) for n, one in enumerate(everyone) if one.run is not None), (0, everyone[0])
    )
    binding = pairing.target if number < len(ours) else pairing.golden
    key = lone.record.key
    place = Place(
        lone.op_name, key.op_type, key.graph_id, key.iteration, key.rank, key.io, key.slot,
        binding.frames(lone.run),
    )  # fmt: skip
    said = counted(len(ours), len(theirs))
    if all(one.record.key.op_type == "Parameter" for one in everyone):
        release = Message("compare/advice-release")
        yield finding("unmatched", place, (said, _parameters_alone(everyone)), advice=release)
    else:
        yield finding("unmatched", place, (said,))


def _parameters_alone(everyone: Sequence[Unmatched]) -> Message:
    """Which kinds of Parameter files these are."""
    constants = [one.record.key.iteration == CONSTANT_ITERATION for one in everyone]
    some = "all-both" if any(constants) else "all-parameters"
    return Message(f"compare/{'all-constants' if all(constants) else some}")
