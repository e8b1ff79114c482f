"""Pair the tensors of two bound dumps: graphs, iterations and turns first, then slots.

Nothing is dropped: every record ends as half of a pair, as unmatched, or as skipped with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.compare.align import Alignment, align
from workbench.compare.overrides import Overrides
from workbench.core.errors import FormatError
from workbench.dump.fingerprint import fingerprint
from workbench.dump.names import sanitize
from workbench.dump.tree import CONSTANT_ITERATION, Note, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.compare.bind import Binding, Block, OpRun
    from workbench.compare.graph_view import Origin
    from workbench.core.tensors import TensorRecord

RUN_GAP_US = 1_000_000
"""Repetitions further apart than this are separate runs of the program, not turns of a loop."""

LIKENESS = 0.5
"""Share of operators two graphs must have in common to be compared under different ids."""


@dataclass(slots=True)
class Pair:
    """Two records that stand for the same tensor.

    ``run`` and ``golden_run`` are the executions they belong to (``None`` for Parameter files).
    """

    target: TensorRecord
    golden: TensorRecord
    run: OpRun | None
    golden_run: OpRun | None
    io: str
    slot: int
    rule: str
    score: float
    op_name: str
    order: int = 0


@dataclass(slots=True)
class Lone:
    """A record without a partner."""

    record: TensorRecord
    run: OpRun | None
    op_name: str


@dataclass
class Pairing:
    """Everything about two dumps that is matched, and everything that is not."""

    target: Binding
    golden: Binding
    pairs: list[Pair] = field(default_factory=list)
    only_target: list[Lone] = field(default_factory=list)
    only_golden: list[Lone] = field(default_factory=list)
    skipped_target: list[Skipped] = field(default_factory=list)
    skipped_golden: list[Skipped] = field(default_factory=list)
    notes: list[tuple[str, Note]] = field(default_factory=list)
    alignments: dict[tuple[int, int], Alignment] = field(default_factory=dict)
    blocks: dict[Block, Block] = field(default_factory=dict)
    block_order: list[Block] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Selection:
    """What the user chose: rank and iteration of each side (``None``: what both have), map file."""

    rank: tuple[int, int] | None = None
    iteration: tuple[int, int] | None = None
    overrides: Overrides = Overrides()


def pair_tensors(target: Binding, golden: Binding, selection: Selection = Selection()) -> Pairing:
    """Pair two bound dumps."""
    pairing = Pairing(target, golden)
    _ignore(pairing, selection.overrides)
    graphs = _pair_graphs(target, golden, selection, pairing)
    _pair_blocks(pairing, graphs, selection)
    for number, block in enumerate(pairing.block_order):
        _pair_runs(pairing, block, number, selection.overrides.pairs)
    _pair_parameters(pairing, graphs, selection)
    _leftovers(pairing, selection)
    return pairing


def _ignore(pairing: Pairing, overrides: Overrides) -> None:
    """Leave out the operators that the map file names, on both sides."""
    for side in ("target", "golden") if overrides.ignore else ():
        binding: Binding = getattr(pairing, side)
        skipped: list[Skipped] = getattr(pairing, f"skipped_{side}")
        for runs in binding.runs.values():
            for number in [n for n, run in runs.items() if run.op_name in overrides.ignore]:
                run = runs.pop(number)
                skipped += [Skipped(run.op_name, "ignored", "by the map file") for _ in run.tensors]


def _pair_graphs(
    target: Binding, golden: Binding, selection: Selection, pairing: Pairing
) -> dict[tuple[int, int], tuple[int, int]]:
    """Map (rank, graph) of the target to the golden's: by id, by content if the ids do not fit."""
    result: dict[tuple[int, int], tuple[int, int]] = {}
    ours = _graph_ids(target)
    theirs = _graph_ids(golden)
    for rank in sorted({rank for rank, _ in ours}):
        other_rank = _other_rank(rank, selection, {r for r, _ in ours}, {r for r, _ in theirs})
        if other_rank is None:
            continue
        left = {g for r, g in theirs if r == other_rank}
        for graph in sorted(g for r, g in ours if r == rank):
            forced = selection.overrides.pairs
            found = _best_graph(target, golden, (rank, graph), other_rank, left, pairing, forced)
            if found is not None:
                left.discard(found)
                result[rank, graph] = (other_rank, found)
    return result


def _graph_ids(binding: Binding) -> set[tuple[int, int]]:
    used = {(b.rank, b.graph_id) for b in (*binding.runs, *binding.parameters)}
    return used | set(binding.graphs)


def _other_rank(
    rank: int, selection: Selection, ours: set[int], theirs: set[int]
) -> int | None:
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
    forced: Mapping[str, str],
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
        if share >= LIKENESS and graph_id == key[1]:
            break
    if best is None:
        return key[1] if key[1] in left else None
    if best[0] < LIKENESS and best[1] != key[1]:
        return None
    pairing.alignments[key] = best[2]
    return best[1]


def _likeness(found: Alignment) -> float:
    ours, theirs = found.target.kernels, found.golden.kernels
    if not ours and not theirs:
        return 1.0
    both = sum(1 for n in ours if n in found.partner)
    return 2 * both / (len(ours) + len(theirs))


def _pair_blocks(
    pairing: Pairing, graphs: Mapping[tuple[int, int], tuple[int, int]], selection: Selection
) -> None:
    """Pair executions: same graph, same iteration, turn by turn."""
    ours = _by_step(pairing.target)
    theirs = _by_step(pairing.golden)
    steps = _pair_iterations({key[2] for key in ours}, {key[2] for key in theirs}, selection)
    for (rank, graph, step), blocks in ours.items():
        partner = graphs.get((rank, graph))
        if partner is None or step not in steps:
            continue
        others = theirs.get((*partner, steps[step]), [])
        _note_runs(pairing, "target", pairing.target, blocks)
        _note_runs(pairing, "golden", pairing.golden, others)
        pairing.blocks.update(_pair_turns(pairing, blocks, others))
    start = {block: _span(pairing.target, block)[0] for block in pairing.blocks}
    pairing.block_order = sorted(
        pairing.blocks, key=lambda b: (b.iteration, start[b], b.rank, b.graph_id, b.turn)
    )


def _by_step(binding: Binding) -> dict[tuple[int, int, int], list[Block]]:
    table: dict[tuple[int, int, int], list[Block]] = {}
    for block in sorted(binding.runs):
        table.setdefault((block.rank, block.graph_id, block.iteration), []).append(block)
    return table


def _pair_iterations(
    ours: set[int], theirs: set[int], selection: Selection
) -> dict[int, int]:
    if selection.iteration is not None:
        return {selection.iteration[0]: selection.iteration[1]}
    common = ours & theirs
    if not common and len(ours) == len(theirs) == 1:
        return {next(iter(ours)): next(iter(theirs))}
    return {step: step for step in common}


def _span(binding: Binding, block: Block) -> tuple[int, int]:
    times = [
        record.timestamp_us
        for run in binding.runs.get(block, {}).values()
        for record in run.tensors.values()
    ]
    return (min(times), max(times)) if times else (0, 0)


def _are_runs(binding: Binding, blocks: list[Block]) -> bool:
    """Whether repetitions are separate runs of the program: at least a second apart."""
    spans = [_span(binding, block) for block in blocks]
    return len(spans) > 1 and any(
        later[0] - earlier[1] > RUN_GAP_US for earlier, later in zip(spans, spans[1:], strict=False)
    )


def _note_runs(pairing: Pairing, side: str, binding: Binding, blocks: list[Block]) -> None:
    if _are_runs(binding, blocks):
        first = blocks[0]
        where = f"graph {first.graph_id}, iteration {first.iteration}"
        detail = f"{where}: the folder holds {len(blocks)} executions more than a second apart"
        pairing.notes.append((side, Note("several-runs", where, detail)))


def _pair_turns(
    pairing: Pairing, ours: list[Block], theirs: list[Block]
) -> Iterator[tuple[Block, Block]]:
    """Turn by turn; if one side's folder holds older runs too, its newest executions count."""
    extra_t = len(ours) - len(theirs)
    if extra_t > 0 and theirs and _are_runs(pairing.target, ours):
        _skip_blocks(pairing.target, ours[:extra_t], pairing.skipped_target)
        ours = ours[extra_t:]
    elif extra_t < 0 and ours and _are_runs(pairing.golden, theirs):
        _skip_blocks(pairing.golden, theirs[:-extra_t], pairing.skipped_golden)
        theirs = theirs[-extra_t:]
    yield from zip(ours, theirs, strict=False)


def _skip_blocks(binding: Binding, blocks: list[Block], skipped: list[Skipped]) -> None:
    for block in blocks:
        for run in binding.runs.pop(block, {}).values():
            skipped += [Skipped(run.op_name, "older-run") for _ in run.tensors]


def _pair_runs(pairing: Pairing, block: Block, number: int, forced: Mapping[str, str]) -> None:
    """Pair the tensors of one execution of one graph."""
    ours = pairing.target.runs[block]
    theirs = pairing.golden.runs[pairing.blocks[block]]
    found = pairing.alignments.get((block.rank, block.graph_id))
    base = number << 24  # an execution has far fewer operators than this
    for op, run, other, rule, score in _matched_runs(ours, theirs, found, forced):
        for (io, slot), record in run.tensors.items():
            partner = other.tensors.get((io, slot))
            if partner is not None:
                order = base + (op if op >= 0 else -op)
                pairing.pairs.append(
                    Pair(record, partner, run, other, io, slot, rule, score, run.op_name, order)
                )
    if found is not None:
        _pair_groups(pairing, found, ours, theirs, base)


def _matched_runs(
    ours: Mapping[int, OpRun],
    theirs: Mapping[int, OpRun],
    found: Alignment | None,
    forced: Mapping[str, str],
) -> Iterator[tuple[int, OpRun, OpRun, str, float]]:
    if found is not None:
        for match in found.matches:
            if match.rule == "group":
                continue
            run, other = ours.get(match.target[0]), theirs.get(match.golden[0])
            if run is not None and other is not None:
                yield match.target[0], run, other, match.rule, match.score
        return
    names = {(run.op_type, run.op_name): run for run in theirs.values()}
    by_name = {run.op_name: run for run in theirs.values()}
    lasts = _unique_lasts(theirs.values())
    mine = _unique_lasts(ours.values())
    for number, run in ours.items():
        by_hand = by_name.get(forced.get(run.op_name, ""))
        if by_hand is not None:
            yield number, run, by_hand, "map", 1.0
            continue
        exact = names.get((run.op_type, run.op_name))
        if exact is not None:
            yield number, run, exact, "file-name", 1.0
            continue
        last = (run.op_type, _last(run.op_name))
        if last in lasts and last in mine:
            yield number, run, lasts[last], "short-name", 0.7


def _last(name: str) -> str:
    return name.replace("/", "_").rpartition("_")[2]


def _unique_lasts(runs: Iterable[OpRun]) -> dict[tuple[str, str], OpRun]:
    """Runs by type and last part of their name, where that is unique."""
    table: dict[tuple[str, str], list[OpRun]] = {}
    for run in runs:
        table.setdefault((run.op_type, _last(run.op_name)), []).append(run)
    return {key: found[0] for key, found in table.items() if len(found) == 1}


def _pair_groups(
    pairing: Pairing,
    found: Alignment,
    ours: Mapping[int, OpRun],
    theirs: Mapping[int, OpRun],
    base: int,
) -> None:
    """Pair the values at the edges of N↔M groups; what lies inside has no counterpart."""
    for group in found.groups:
        if not group.target or not group.golden:
            continue
        for a, b in group.edges:
            run, other = ours.get(a.number), theirs.get(b.number)
            if a.kind == b.kind == "op" and run is not None and other is not None:
                _pair_edge(pairing, run, other, a, b, base)
        _skip_inside(pairing, found, group.target, ours, pairing.skipped_target, "target")
        _skip_inside(pairing, found, group.golden, theirs, pairing.skipped_golden, "golden")


def _pair_edge(
    pairing: Pairing, run: OpRun, other: OpRun, a: Origin, b: Origin, base: int
) -> None:
    record, partner = run.tensors.get(("output", a.slot)), other.tensors.get(("output", b.slot))
    taken = any(p.target is record or p.golden is partner for p in pairing.pairs[-4096:])
    if record is not None and partner is not None and not taken:
        pair = Pair(
            record, partner, run, other, "output", a.slot, "group", 0.6, run.op_name, base + a.number
        )
        pairing.pairs.append(pair)


def _skip_inside(
    pairing: Pairing,
    found: Alignment,
    members: tuple[int, ...],
    runs: Mapping[int, OpRun],
    skipped: list[Skipped],
    side: str,
) -> None:
    matched = {id(getattr(pair, side)) for pair in pairing.pairs}
    for number in members:
        run = runs.get(number)
        for record in run.tensors.values() if run is not None else ():
            if id(record) not in matched:
                _claim(record, skipped, run.op_name if run else "", "inside-group")


def _claim(record: TensorRecord, skipped: list[Skipped], name: str, reason: str) -> None:
    skipped.append(Skipped(name, reason, str(id(record))))


def _pair_parameters(
    pairing: Pairing, graphs: Mapping[tuple[int, int], tuple[int, int]], selection: Selection
) -> None:
    """Pair Parameter files of the same execution: by name, else by the IR's matched parameters."""
    theirs = pairing.golden.parameters
    ours = {b.iteration for b in pairing.target.parameters} - {CONSTANT_ITERATION}
    steps = _pair_iterations(ours, {b.iteration for b in theirs} - {CONSTANT_ITERATION}, selection)
    for block, mine in pairing.target.parameters.items():
        partner = graphs.get((block.rank, block.graph_id))
        step = block.iteration if block.iteration < 0 else steps.get(block.iteration)
        if partner is None or step is None:
            continue
        known = _parameter_names(pairing.alignments.get((block.rank, block.graph_id)))
        others = _parameter_block(theirs, partner, step, block)
        constant = step == CONSTANT_ITERATION
        same = _same_constants(mine, others) if constant else _same_names(mine, others, known)
        for name, record, found in same:
            pairing.pairs.append(
                Pair(record, found, None, None, "output", 0, "name", 1.0, name, 1 << 60)
            )


def _same_names(
    mine: Mapping[str, TensorRecord], others: Mapping[str, TensorRecord], known: Mapping[str, str]
) -> Iterator[tuple[str, TensorRecord, TensorRecord]]:
    for name, record in mine.items():
        found = others.get(name) or others.get(known.get(name, ""))
        if found is not None:
            yield name, record, found


def _same_constants(
    mine: Mapping[str, TensorRecord], others: Mapping[str, TensorRecord]
) -> Iterator[tuple[str, TensorRecord, TensorRecord]]:
    """Constants are numbered anew in every process, so only their values can tell them apart."""
    left: dict[object, list[TensorRecord]] = {}
    for record in others.values():
        left.setdefault(_content(record), []).append(record)
    for name, record in mine.items():
        found = left.get(_content(record))
        if found:
            yield name, record, found.pop(0)


def _content(record: TensorRecord) -> object:
    try:
        return fingerprint(record.path) if record.path else id(record)
    except FormatError:
        return id(record)


def _parameter_block(
    theirs: Mapping[Block, dict[str, TensorRecord]], partner: tuple[int, int], step: int, block: Block
) -> dict[str, TensorRecord]:
    same = [b for b in theirs if (b.rank, b.graph_id, b.iteration) == (*partner, step)]
    exact = [b for b in same if b.turn == block.turn]
    return theirs[exact[0]] if exact else {}


def _parameter_names(found: Alignment | None) -> dict[str, str]:
    """File-side name of a target parameter → the golden's, both as written and sanitised."""
    if found is None:
        return {}
    table: dict[str, str] = {}
    for t, g in found.params.items():
        ours, theirs = found.target.graph.parameters[t].name, found.golden.graph.parameters[g].name
        table[ours] = theirs
        table[sanitize(ours)] = sanitize(theirs)
    return table


def _leftovers(pairing: Pairing, selection: Selection) -> None:
    """Put every record that no rule claimed where the ledger can see it."""
    for side in ("target", "golden"):
        binding: Binding = getattr(pairing, side)
        skipped: list[Skipped] = getattr(pairing, f"skipped_{side}")
        lone: list[Lone] = getattr(pairing, f"only_{side}")
        matched = {id(getattr(pair, side)) for pair in pairing.pairs}
        matched |= {int(s.detail) for s in skipped if s.reason == "inside-group"}
        for record, run, name in _all_records(binding):
            if id(record) in matched:
                continue
            if _left_out(record, side, selection):
                skipped.append(Skipped(name, "not-selected"))
            else:
                lone.append(Lone(record, run, name))
        skipped += [*binding.skipped, *binding.dump.skipped]


def _left_out(record: TensorRecord, side: str, selection: Selection) -> bool:
    index = 0 if side == "target" else 1
    key = record.key
    wrong_rank = selection.rank is not None and key.rank != selection.rank[index]
    wrong_step = (
        selection.iteration is not None
        and key.iteration >= 0
        and key.iteration != selection.iteration[index]
    )
    return wrong_rank or wrong_step


def _all_records(binding: Binding) -> Iterator[tuple[TensorRecord, OpRun | None, str]]:
    for runs in binding.runs.values():
        for run in runs.values():
            for record in run.tensors.values():
                yield record, run, run.op_name
    for parameters in binding.parameters.values():
        for name, record in parameters.items():
            yield record, None, name
