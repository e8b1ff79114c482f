"""Findings that are no defects: number formats, settings without effect, tensors without a partner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.compare.cause import format_differences, setting_differences
from workbench.compare.finding_kinds import ADVICE, CERTAINTY
from workbench.compare.noise import PASS_FACTOR
from workbench.compare.result import Finding
from workbench.core.text import plural
from workbench.dump.tree import CONSTANT_ITERATION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from workbench.compare.align import Alignment
    from workbench.compare.flow import Flow
    from workbench.compare.pairs import Pairing
    from workbench.compare.result import Row
    from workbench.compare.states import Event
    from workbench.graph.nodes import Op


def blamed_name(flow: Flow, event: Event) -> str:
    """Name of the operator that an event blames, by its graph or else its files."""
    op = blamed_operator(flow, event)
    if op is not None:
        return op.name
    run = flow.pairing.target.runs[event.block].get(event.op)
    return run.op_name if run is not None else ""


def blamed_operator(flow: Flow, event: Event) -> Op | None:
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
            texts = list(format_differences(op, golden))
            if texts:
                count += 1
                first = first or (rank, graph_id, t, texts[0])
    if first is None:
        return
    rank, graph_id, t, text = first
    op = flow.pairing.alignments[rank, graph_id].target.graph.ops[t]
    errors = [r.error for r in rows if r.error is not None and math.isfinite(r.error)]
    evidence = (text, f"computing in another number format: {plural(count, 'operator')}",
                f"largest relative error of a compared tensor {max(errors, default=0.0):.2g}",
                *_steps(flow))  # fmt: skip
    yield Finding(
        "precision", op.name, op.op_type, graph_id, 0, "output", 0, CERTAINTY["precision"], None,
        None, None, evidence, ADVICE["precision"], flow.pairing.frame((rank, graph_id), t), rank=rank,
    )  # fmt: skip


def _steps(flow: Flow) -> Iterator[str]:
    """What rounding to int8 explains, by the layer that it costs most."""
    events = [event for event in flow.events.values() if event.steps is not None]
    worst = max(events, key=lambda e: e.steps.error if e.steps is not None else 0.0, default=None)
    if worst is not None:
        yield f"layers in int8: {len(events)}; in {blamed_name(flow, worst)} {worst.steps}"


def unblamed_settings(flow: Flow) -> Iterator[Finding]:
    """Settings that differ at operators nobody blames: worth knowing, once a setting."""
    blamed = {(e.block.rank, e.block.graph_id, e.blamed) for e in flow.guilty}
    alike: dict[tuple[object, ...], list[tuple[int, int, int]]] = {}
    for (rank, graph_id), found in flow.pairing.alignments.items():
        for t, g in sorted(_counterparts(found)):
            if (rank, graph_id, t) in blamed:
                continue
            op = found.target.graph.ops[t]
            tolerance = PASS_FACTOR * flow.coarsest.get((rank, graph_id), 1e-6)
            differences = setting_differences(op, found.golden.graph.ops[g], tolerance)
            if differences:
                texts = (*(d.text for d in differences), _seen(flow, rank, graph_id, t))
                alike.setdefault((op.op_type, rank, *texts), []).append((rank, graph_id, t))
    for (_, _, *lines), places in alike.items():
        rank, graph_id, number = places[0]
        ops = [flow.pairing.alignments[r, n].target.graph.ops[t] for r, n, t in places]
        evidence = (*map(str, lines), *further({op.name for op in ops[1:]} - {ops[0].name}))
        yield Finding(
            "info", ops[0].name, ops[0].op_type, graph_id, 0, "output", 0, CERTAINTY["info"], None,
            None, None, evidence, ADVICE["info"], flow.pairing.frame((rank, graph_id), number),
            rank=rank,
        )  # fmt: skip


def further(names: Collection[str]) -> Iterator[str]:
    """The other operators that one cause or setting reaches."""
    if names:
        shown = ", ".join(sorted(names)[:3])
        yield f"the same at {len(names)} further operators: {shown}{' …' if len(names) > 3 else ''}"


def _seen(flow: Flow, rank: int, graph_id: int, op: int) -> str:
    events = [
        e for (b, n), e in flow.events.items() if (b.rank, b.graph_id, n) == (rank, graph_id, op)
    ]
    if not any(event.worst is not None for event in events):
        return "its outputs are not in both dumps"
    if any(event.tainted for event in events):
        return "its inputs already carry a defect, so its own share is not known"
    if any(event.healed for event in events):
        return "its outputs differ, but all that reads them agrees again"
    return "its outputs agree"


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
    sides = (("target", ours), ("golden", theirs))
    counted = [f"{plural(count, 'tensor')} only in the {side}" for side, count in sides if count]
    evidence = [", ".join(counted)]
    advice = ADVICE["unmatched"]
    if all(one.record.key.op_type == "Parameter" for one in everyone):
        constants = [one.record.key.iteration == CONSTANT_ITERATION for one in everyone]
        kinds = (
            "constants" if all(constants) else "Parameter files" + " and constants" * any(constants)
        )
        evidence.append(f"all are {kinds}, which not every device and release writes")
        advice = "expected when the two runs differ in device or MindSpore release; no action"
    yield Finding(
        "unmatched", lone.op_name, key.op_type, key.graph_id, key.iteration, key.io, key.slot,
        CERTAINTY["unmatched"], None, None, None, tuple(evidence), advice,
        op.frame if op is not None else None, rank=key.rank,
    )  # fmt: skip
