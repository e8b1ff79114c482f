"""Pair the executions of two dumps: ranks, graphs, iterations and turns."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from workbench.comparison.align.align import align
from workbench.comparison.align.alignment import Alignment
from workbench.comparison.graphs.roles import ends_of
from workbench.core.words import Message
from workbench.dump.read.turns import RUN_GAP_US
from workbench.dump.tree import Note, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.comparison.map_file import Overrides
    from workbench.comparison.pair.pairing import Pairing, Selection

LIKENESS = 0.5
"""Share of operators two graphs must have in common to be compared under different ids."""

SURE = 0.95
"""Share from which on no other graph is tried: training and evaluation share half and more."""


def pair_graphs(
    target: Binding, golden: Binding, selection: Selection, pairing: Pairing
) -> dict[tuple[int, int], tuple[int, int]]:
    """Map (rank, graph) of the target to the golden's: by id, by content if the ids do not fit.

    Where nothing tells graphs but their ids, the only graph of each side is the same one.
    """
    result: dict[tuple[int, int], tuple[int, int]] = {}
    ours = _graph_ids(target)
    theirs = _graph_ids(golden)
    for rank in sorted({rank for rank, _ in ours}):
        other_rank = _other_rank(rank, selection, {r for r, _ in ours}, {r for r, _ in theirs})
        if other_rank is None:
            continue
        left = {g for r, g in theirs if r == other_rank}
        mine = sorted(g for r, g in ours if r == rank)
        unknown = not any(r in (rank, other_rank) for r, _ in (*target.graphs, *golden.graphs))
        if len(mine) == len(left) == 1 and unknown:
            result[rank, mine[0]] = (other_rank, left.pop())
            continue
        for graph in mine:
            forced = selection.overrides
            found = _best_graph(target, golden, (rank, graph), other_rank, left, pairing, forced)
            if found is not None:
                left.discard(found)
                result[rank, graph] = (other_rank, found)
    return result


def _graph_ids(binding: Binding) -> set[tuple[int, int]]:
    used = {b.graph_key for b in (*binding.runs, *binding.parameters)}
    return used | set(binding.graphs)


def _other_rank(rank: int, selection: Selection, ours: set[int], theirs: set[int]) -> int | None:
    if selection.rank is not None:
        return selection.rank[1] if rank == selection.rank[0] else None
    if rank in theirs:
        return rank
    return next(iter(theirs)) if len(ours) == len(theirs) == 1 else None


def _best_graph(
    target: Binding,
    golden: Binding,
    key: tuple[int, int],
    other_rank: int,
    left: set[int],
    pairing: Pairing,
    forced: Overrides,
) -> int | None:
    mine = target.graphs.get(key)
    if mine is None:
        return key[1] if key[1] in left else None
    candidates = sorted(left, key=lambda g: (g != key[1], g))
    best: tuple[float, int, Alignment] | None = None
    for graph_id in candidates:
        other = golden.graphs.get((other_rank, graph_id))
        if other is None:
            continue
        found = align(mine, other, forced)
        share = _likeness(found)
        if best is None or share > best[0]:
            best = (share, graph_id, found)
        if share >= SURE:
            break
    if best is None:
        return key[1] if key[1] in left else None
    if best[0] < LIKENESS and best[1] != key[1]:
        return None
    pairing.alignments[key] = best[2]
    return best[1]


def _likeness(found: Alignment) -> float:
    views = (found.target, found.golden)
    ours, theirs = (set(view.kernels) - ends_of(view.graph) for view in views)
    if not ours and not theirs:
        return 1.0
    both = [*(ours & (found.partner.keys() | found.fused.keys())), *(theirs & found.taken)]
    return len(both) / (len(ours) + len(theirs))


def pair_blocks(
    pairing: Pairing, graphs: Mapping[tuple[int, int], tuple[int, int]], selection: Selection
) -> None:
    """Pair executions: same graph, same iteration, turn by turn."""
    ours = _by_step(pairing.target)
    theirs = _by_step(pairing.golden)
    steps = pair_iterations({key[2] for key in ours}, {key[2] for key in theirs}, selection)
    for (rank, graph, step), blocks in ours.items():
        partner = graphs.get((rank, graph))
        if partner is None or step not in steps:
            continue
        others = theirs.get((*partner, steps[step]), [])
        blocks, others = same_nets(blocks, others)
        _note_runs(pairing, "target", pairing.target, blocks)
        _note_runs(pairing, "golden", pairing.golden, others)
        pairing.blocks.update(_pair_turns(pairing, blocks, others))
    start: dict[tuple[int, int, int], int] = {}
    for block in pairing.blocks:  # ranks run the same executions side by side
        place, began = (
            (block.iteration, block.graph_id, block.turn),
            _span(pairing.target, block)[0],
        )
        start[place] = min(began, start.get(place, began))
    pairing.block_order = sorted(
        pairing.blocks,
        key=lambda b: (
            b.iteration,
            start[b.iteration, b.graph_id, b.turn],
            b.graph_id,
            b.turn,
            b.rank,
        ),
    )


def same_nets(
    ours: Iterable[Execution], theirs: Iterable[Execution]
) -> tuple[list[Execution], list[Execution]]:
    """Blocks of the nets that both sides have; all of them if no name is common."""
    ours, theirs = list(ours), list(theirs)
    common = {b.net_name for b in ours} & {b.net_name for b in theirs}
    if not common:
        return ours, theirs
    return [b for b in ours if b.net_name in common], [b for b in theirs if b.net_name in common]


def _by_step(binding: Binding) -> dict[tuple[int, int, int], list[Execution]]:
    table: dict[tuple[int, int, int], list[Execution]] = {}
    for block in sorted(binding.runs):
        table.setdefault((block.rank, block.graph_id, block.iteration), []).append(block)
    return table


def pair_iterations(ours: set[int], theirs: set[int], selection: Selection) -> dict[int, int]:
    """Target iteration → golden iteration: as selected, else those both have, else the only two."""
    if selection.iteration is not None:
        return {selection.iteration[0]: selection.iteration[1]}
    common = ours & theirs
    if not common and len(ours) == len(theirs) == 1:
        return {next(iter(ours)): next(iter(theirs))}
    return {step: step for step in common}


def _span(binding: Binding, block: Execution) -> tuple[int, int]:
    times = [
        record.timestamp_us
        for run in binding.runs.get(block, {}).values()
        for record in run.tensors.values()
    ]
    return (min(times), max(times)) if times else (0, 0)


def _are_runs(binding: Binding, blocks: list[Execution]) -> bool:
    """Whether repetitions are separate runs of the program: at least a second apart."""
    spans = [_span(binding, block) for block in blocks]
    return len(spans) > 1 and any(
        later[0] - earlier[1] > RUN_GAP_US for earlier, later in pairwise(spans)
    )


def _note_runs(pairing: Pairing, side: str, binding: Binding, blocks: list[Execution]) -> None:
    if _are_runs(binding, blocks):
        first = blocks[0]
        place = Message(
            "compare/several-runs-place", graph=first.graph_id, iteration=first.iteration
        )
        said = Message("compare/several-runs", where=place, count=len(blocks))
        pairing.notes.append((side, Note("several-runs", str(place), said)))


def _pair_turns(
    pairing: Pairing, ours: list[Execution], theirs: list[Execution]
) -> Iterator[tuple[Execution, Execution]]:
    """Turn by turn; if one side's folder holds older runs too, its newest executions count."""
    extra_t = len(ours) - len(theirs)
    if extra_t > 0 and theirs and _are_runs(pairing.target, ours):
        _skip_blocks(pairing.target, ours[:extra_t], pairing.skipped_target)
        ours = ours[extra_t:]
    elif extra_t < 0 and ours and _are_runs(pairing.golden, theirs):
        _skip_blocks(pairing.golden, theirs[:-extra_t], pairing.skipped_golden)
        theirs = theirs[-extra_t:]
    yield from zip(ours, theirs, strict=False)


def _skip_blocks(binding: Binding, blocks: list[Execution], skipped: list[Skipped]) -> None:
    for block in blocks:
        for run in binding.runs.pop(block, {}).values():
            skipped += [Skipped(run.op_name, "older-run") for _ in run.tensors]
        skipped += [Skipped(name, "older-run") for name in binding.parameters.pop(block, {})]
