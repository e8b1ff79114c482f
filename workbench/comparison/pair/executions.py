"""Pair the executions of two dumps: ranks, graphs, iterations and turns."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.align.align import align
from workbench.comparison.align.alignment import Alignment
from workbench.comparison.graphs.roles import ends_of
from workbench.comparison.limits import limits
from workbench.comparison.pair.pairing import Sides
from workbench.core.words import Message
from workbench.dump.dump import Note
from workbench.dump.runs import RUN_GAP_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.comparison.map_file import Overrides
    from workbench.comparison.pair.claims import Claims
    from workbench.comparison.pair.pairing import Selection
    from workbench.comparison.result import Side


Key = tuple[int, int]
"""Rank and graph id."""


class Aligned(NamedTuple):
    """Which graph of the golden a graph of the target is, and how those match that both sides have."""

    graphs: dict[Key, Key]
    alignments: dict[Key, Alignment]


def align_graphs(sides: Sides[Binding], selection: Selection) -> Aligned:
    """Map the target's graphs to the golden's: by id, by content if the ids do not fit.

    Where nothing tells graphs but their ids, the only graph of each side is the same one.
    """
    graphs: dict[Key, Key] = {}
    alignments: dict[Key, Alignment] = {}
    ours, theirs = map(_graph_ids, sides)
    for rank in sorted({rank for rank, _ in ours}):
        other_rank = _other_rank(rank, selection, {r for r, _ in ours}, {r for r, _ in theirs})
        if other_rank is None:
            continue
        left = {g for r, g in theirs if r == other_rank}
        mine = sorted(g for r, g in ours if r == rank)
        known = (*sides.target.graphs, *sides.golden.graphs)
        if len(mine) == len(left) == 1 and not any(r in (rank, other_rank) for r, _ in known):
            graphs[rank, mine[0]] = (other_rank, left.pop())
            continue
        for graph in mine:
            key = rank, graph
            found, alignment = _best_graph(sides, key, other_rank, left, selection.overrides)
            if alignment is not None:
                alignments[key] = alignment
            if found is not None:
                left.discard(found)
                graphs[key] = (other_rank, found)
    return Aligned(graphs, alignments)


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
    sides: Sides[Binding], key: Key, other_rank: int, left: set[int], forced: Overrides
) -> tuple[int | None, Alignment | None]:
    """Return which graph of those left is most like one of the target, and how they match."""
    mine = sides.target.graphs.get(key)
    best: tuple[float, int, Alignment] | None = None
    for graph_id in sorted(left, key=lambda g: (g != key[1], g)) if mine is not None else ():
        other = sides.golden.graphs.get((other_rank, graph_id))
        if mine is None or other is None:
            continue
        found = align(mine, other, forced)
        share = _likeness(found)
        if best is None or share > best[0]:
            best = (share, graph_id, found)
        if share >= limits().graph_sure:
            break
    if best is None:
        return (key[1] if key[1] in left else None), None
    if best[0] < limits().graph_likeness and best[1] != key[1]:
        return None, None
    return best[1], best[2]


def _likeness(found: Alignment) -> float:
    views = (found.target, found.golden)
    ours, theirs = (set(view.kernels) - ends_of(view.graph) for view in views)
    if not ours and not theirs:
        return 1.0
    both = [
        *(ours & (found.match_of.keys() | found.fused.keys())),
        *(theirs & found.matched_golden),
    ]
    return len(both) / (len(ours) + len(theirs))


def pair_executions(
    claims: Claims, graphs: Mapping[Key, Key], selection: Selection
) -> dict[Execution, Execution]:
    """Pair executions of the same graph and iteration turn by turn; target → golden, in order of time."""
    ours, theirs = map(_by_step, claims.sides)
    steps = pair_iterations({key[2] for key in ours}, {key[2] for key in theirs}, selection)
    found: dict[Execution, Execution] = {}
    for (rank, graph, step), blocks in ours.items():
        partner = graphs.get((rank, graph))
        if partner is None or step not in steps:
            continue
        others = theirs.get((*partner, steps[step]), [])
        found.update(_pair_turns(claims, Sides(*same_nets(blocks, others))))
    return _in_time(claims.sides.target, found)


def _in_time(target: Binding, pairs: Mapping[Execution, Execution]) -> dict[Execution, Execution]:
    """Return paired executions in order of time; ranks run the same ones side by side."""
    start: dict[tuple[int, int, int], int] = {}
    for block in pairs:
        place, began = (block.iteration, block.graph_id, block.turn), _span(target, block)[0]
        start[place] = min(began, start.get(place, began))

    def key(block: Execution) -> tuple[int, int, int, int, int]:
        iteration, graph, turn = block.iteration, block.graph_id, block.turn
        return iteration, start[iteration, graph, turn], graph, turn, block.rank

    return {block: pairs[block] for block in sorted(pairs, key=key)}


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


def _note_runs(claims: Claims, side: Side, blocks: Sequence[Execution]) -> None:
    """Tell of repetitions that are runs of their own."""
    first = blocks[0]
    place = Message("compare/several-runs-place", graph=first.graph_id, iteration=first.iteration)
    said = Message("compare/several-runs", where=place, count=len(blocks))
    claims.notes.append((side, Note("several-runs", str(place), said)))


def _pair_turns(
    claims: Claims, blocks: Sides[list[Execution]]
) -> Iterator[tuple[Execution, Execution]]:
    """Turn by turn; if one side's folder holds older runs too, its newest executions count."""
    least = min(map(len, blocks))
    newest = dict(blocks.named)
    for side, some in blocks.named:
        if not _are_runs(claims.sides.of(side), some):
            continue
        _note_runs(claims, side, some)
        if least:
            older = len(some) - least
            claims.skip_executions(side, some[:older], "older-run")
            newest[side] = some[older:]
    yield from zip(newest["target"], newest["golden"], strict=False)
