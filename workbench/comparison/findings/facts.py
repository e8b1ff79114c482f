"""Findings that are no defects: number formats, settings without effect, tensors without a partner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.comparison.align.differences import format_differences, setting_differences
from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.measure.noise import PASS_FACTOR
from workbench.comparison.result import Finding
from workbench.core.words import Message
from workbench.dump.tree import CONSTANT_ITERATION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.follow.flow import Flow
    from workbench.comparison.follow.states import Assessment
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.result import Row
    from workbench.graph.nodes import Op


def blamed_name(flow: Flow, event: Assessment) -> str:
    """Name of the operator that an event blames, by its graph or else its files."""
    op = blamed_operator(flow, event)
    if op is not None:
        return op.name
    run = flow.pairing.target.runs[event.block].get(event.op)
    return run.op_name if run is not None else ""


def blamed_operator(flow: Flow, event: Assessment) -> Op | None:
    """Return the operator that an event blames; ``None`` without a graph."""
    graph = flow.pairing.target.graph(event.block)
    return graph.ops[event.blamed] if graph is not None and event.blamed >= 0 else None


def _counterparts(found: Alignment) -> Iterator[tuple[int, int]]:
    """Operators of the target, and the golden ones that do their work."""
    for number in (*found.partner, *found.fused):
        other = found.counterpart(number)
        if other is not None:
            yield number, other


def precision(flow: Flow, rows: Sequence[Row]) -> Iterator[Finding]:
    """The two runs compute in different number formats: said once, at the first such operator."""
    count, first = 0, None
    for (rank, graph_id), found in flow.pairing.alignments.items():
        for t, g in sorted(_counterparts(found)):
            op, golden = found.target.graph.ops[t], found.golden.graph.ops[g]
            differing = next(format_differences(op, golden), None)
            if differing is not None:
                count += 1
                first = first or (rank, graph_id, t, differing)
    if first is None:
        return
    rank, graph_id, t, differing = first
    op = flow.pairing.alignments[rank, graph_id].target.graph.ops[t]
    errors = [r.error for r in rows if r.error is not None and math.isfinite(r.error)]
    largest = Message("compare/largest-error", error=max(errors, default=0.0))
    evidence = (differing, Message("compare/formats-differ", count=count), largest, *_steps(flow))
    yield Finding(
        "precision", op.name, op.op_type, graph_id, 0, "output", 0, KINDS["precision"].score, None,
        None, None, evidence, KINDS["precision"].advice, flow.pairing.frame((rank, graph_id), t), rank=rank,
    )  # fmt: skip


def _steps(flow: Flow) -> Iterator[Message]:
    """What rounding to int8 explains, by the layer that it costs most."""
    events = [event for event in flow.events.values() if event.steps is not None]
    worst = max(events, key=lambda e: e.steps.error if e.steps is not None else 0.0, default=None)
    if worst is not None and worst.steps is not None:
        name, steps = blamed_name(flow, worst), worst.steps.said
        yield Message("compare/int8-layers", count=len(events), op_name=name, steps=steps)


def unblamed_settings(flow: Flow) -> Iterator[Finding]:
    """Settings that differ at operators nobody blames: worth knowing, once a setting."""
    blamed = {(e.block.rank, e.block.graph_id, e.blamed) for e in flow.guilty}
    alike: dict[tuple[str, int, tuple[Message, ...]], list[tuple[int, int, int]]] = {}
    for (rank, graph_id), found in flow.pairing.alignments.items():
        for t, g in sorted(_counterparts(found)):
            if (rank, graph_id, t) in blamed:
                continue
            op = found.target.graph.ops[t]
            tolerance = PASS_FACTOR * flow.coarsest.get((rank, graph_id), 1e-6)
            differences = setting_differences(op, found.golden.graph.ops[g], tolerance)
            if differences:
                said = (*(d.said for d in differences), _seen(flow, rank, graph_id, t))
                alike.setdefault((op.op_type, rank, said), []).append((rank, graph_id, t))
    for (_, _, said), places in alike.items():
        rank, graph_id, number = places[0]
        ops = [flow.pairing.alignments[r, n].target.graph.ops[t] for r, n, t in places]
        evidence = (*said, *further({op.name for op in ops[1:]} - {ops[0].name}))
        yield Finding(
            "info", ops[0].name, ops[0].op_type, graph_id, 0, "output", 0, KINDS["info"].score, None,
            None, None, evidence, KINDS["info"].advice, flow.pairing.frame((rank, graph_id), number),
            rank=rank,
        )  # fmt: skip


def further(names: Collection[str]) -> Iterator[Message]:
    """The other operators that one cause or setting reaches."""
    if names:
        yield Message("compare/further", count=len(names), names=sorted(names))


def _seen(flow: Flow, rank: int, graph_id: int, op: int) -> Message:
    events = [
        e for (b, n), e in flow.events.items() if (b.rank, b.graph_id, n) == (rank, graph_id, op)
    ]
    if not any(event.worst is not None for event in events):
        return Message("compare/outputs-unknown")
    if any(event.tainted for event in events):
        return Message("compare/inputs-differ")
    if any(event.healed for event in events):
        return Message("compare/outputs-differ")
    return Message("compare/outputs-agree")


def counted(target: int, golden: int) -> Message:
    """Say how many tensors are unmatched; there is at least one."""
    if target and golden:
        return Message("compare/unmatched", target=target, golden=golden)
    if target:
        return Message("compare/unmatched-target", count=target)
    return Message("compare/unmatched-golden", count=golden)


def unmatched(pairing: Pairing) -> Iterator[Finding]:
    """Tensors without a partner, told once, operators before Parameter files."""
    everyone = [*pairing.only_target, *pairing.only_golden]
    if not everyone:
        return
    ours, theirs = len(pairing.only_target), len(pairing.only_golden)
    lone = next((one for one in everyone if one.run is not None), everyone[0])
    key = lone.record.key
    mine = any(one is lone for one in pairing.only_target)
    op = (pairing.target if mine else pairing.golden).operator(lone.run) if lone.run else None
    evidence = [counted(ours, theirs)]
    advice: str | Message = KINDS["unmatched"].advice
    if all(one.record.key.op_type == "Parameter" for one in everyone):
        constants = [one.record.key.iteration == CONSTANT_ITERATION for one in everyone]
        some = "all-both" if any(constants) else "all-parameters"
        evidence.append(Message(f"compare/{'all-constants' if all(constants) else some}"))
        advice = Message("compare/advice-release")
    yield Finding(
        "unmatched", lone.op_name, key.op_type, key.graph_id, key.iteration, key.io, key.slot,
        KINDS["unmatched"].score, None, None, None, tuple(evidence), advice,
        op.frame if op is not None else None, rank=key.rank,
    )  # fmt: skip
