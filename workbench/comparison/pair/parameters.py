"""Pair Parameter and constant files of two dumps, and weights that both graphs update, each in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.graphs.roles import updates
from workbench.comparison.pair.executions import pair_iterations, same_nets
from workbench.comparison.pair.pairing import Pair
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.dump.dump import CONSTANT_ITERATION
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.formats.npy import fingerprint
from workbench.graph.graph import Param

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.claims import Claims, ExecutionPair
    from workbench.comparison.pair.executions import Aligned
    from workbench.comparison.pair.pairing import Pairing, Selection
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph

LAST = 1 << 60
"""Order of Parameter files: they hold values at the end of a step."""


def pair_parameters(claims: Claims, aligned: Aligned, selection: Selection) -> None:
    """Pair Parameter files of the same execution: by name, else by the IR's matched parameters."""
    target, theirs = (side.parameters for side in claims.sides)
    ours = {b.iteration for b in target} - {CONSTANT_ITERATION}
    steps = pair_iterations(ours, {b.iteration for b in theirs} - {CONSTANT_ITERATION}, selection)
    for block in same_nets(target, theirs)[0]:
        mine = target[block]
        partner = aligned.graphs.get(block.graph_key)
        step = block.iteration if block.iteration < 0 else steps.get(block.iteration)
        if partner is None or step is None:
            continue
        known = _parameter_names(aligned.alignments.get(block.graph_key))
        others = _parameter_block(theirs, partner, step, block, target)
        constant = step == CONSTANT_ITERATION
        same = _same_constants(mine, others) if constant else _same_names(mine, others, known)
        for name, record, found in same:
            claims.add(Pair(record, found, None, None, "output", 0, "name", 1.0, name, LAST))


def _same_names(
    mine: Mapping[str, TensorRecord], others: Mapping[str, TensorRecord], known: Mapping[str, str]
) -> Iterator[tuple[str, TensorRecord, TensorRecord]]:
    written = {sanitize(name): record for name, record in others.items()}
    for name, record in mine.items():
        found = others.get(name) or others.get(known.get(name, ""))
        # up to 2.2 files keep the dots of a name
        found = found or written.get(sanitize(known.get(name, name)))
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
    if record.source is None:
        return record.label, frozenset((record.statistics or {}).items())
    try:
        return fingerprint(record.path) if record.path else id(record)
    except FormatError:
        return id(record)


def _parameter_block(
    theirs: Mapping[Execution, Mapping[str, TensorRecord]],
    partner: tuple[int, int],
    step: int,
    block: Execution,
    ours: Iterable[Execution],
) -> Mapping[str, TensorRecord]:
    """Parameter files of the golden, counted from its newest execution backwards."""
    same = sorted(b for b in theirs if (b.rank, b.graph_id, b.iteration) == (*partner, step))
    same = same_nets([block], same)[1]
    newer = sum(1 for b in ours if b[:4] == block[:4] and b.turn > block.turn)
    return theirs[same[-1 - newer]] if newer < len(same) else {}


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


def pair_updates(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair what is left of a parameter by the last operators that update it, whatever these are.

    Two optimizers keep other state, but the weights of both are the same tensors.
    """
    found = at.alignment
    mine, others = _last_updates(found.target.graph), _last_updates(found.golden.graph)
    for parameter, partner in found.params.items():
        if parameter not in mine or partner not in others:
            continue
        (number, slot), (other, there) = mine[parameter], others[partner]
        run, golden_run = at.target.get(number), at.golden.get(other)
        if run is None or golden_run is None or found.match_of.get(number) == other:
            continue
        claims.pair(at, (run, golden_run), (("input", slot), ("input", there)), "group", score)


def _last_updates(graph: Graph) -> dict[int, tuple[int, int]]:
    """Parameter → last operator that overwrites it, and the input slot."""
    return {
        operand.index: (number, slot)
        for number, op in enumerate(graph.ops)
        for slot, _ in updates(graph, op)
        for operand in [list(op.flat_inputs())[slot]]
        if isinstance(operand, Param)
    }


def updated_by_one(pairing: Pairing) -> dict[tuple[int, str], Message]:
    """(rank, name in the target) of parameters that one of the runs never updates → what to say of it."""
    ours, theirs = (_updaters(binding.graphs) for binding in pairing.sides)
    result = {}
    for (rank, _), found in pairing.alignments.items():
        for t, g in found.params.items():
            name = found.target.graph.parameters[t].name
            mine = ours.get((rank, name), "")
            other = theirs.get((rank, found.golden.graph.parameters[g].name), "")
            if mine and not other:
                result[rank, name] = Message("compare/updated-by-target", name=name, op_name=mine)
            elif other and not mine:
                result[rank, name] = Message("compare/updated-by-golden", name=name, op_name=other)
    return result


def _updaters(graphs: Mapping[tuple[int, int], Graph]) -> dict[tuple[int, str], str]:
    """(rank, parameter) → an operator that updates it."""
    return {
        (rank, name): op.name
        for (rank, _), graph in graphs.items()
        for op in graph.ops
        for _, name in updates(graph, op)
    }
