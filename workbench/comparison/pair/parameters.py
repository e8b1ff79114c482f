"""Pair Parameter and constant files of two dumps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.pair.executions import pair_iterations, same_nets
from workbench.comparison.pair.pairing import Pair
from workbench.core.errors import FormatError
from workbench.dump.files.payload import fingerprint
from workbench.dump.names.mindspore import sanitize
from workbench.dump.tree import CONSTANT_ITERATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.pairing import Pairing, Selection
    from workbench.core.tensors import TensorRecord

LAST = 1 << 60
"""Order of Parameter files: they hold values at the end of a step."""


def pair_parameters(
    pairing: Pairing, graphs: Mapping[tuple[int, int], tuple[int, int]], selection: Selection
) -> None:
    """Pair Parameter files of the same execution: by name, else by the IR's matched parameters."""
    theirs = pairing.golden.parameters
    ours = {b.iteration for b in pairing.target.parameters} - {CONSTANT_ITERATION}
    steps = pair_iterations(ours, {b.iteration for b in theirs} - {CONSTANT_ITERATION}, selection)
    for block in same_nets(pairing.target.parameters, theirs)[0]:
        mine = pairing.target.parameters[block]
        partner = graphs.get(block.graph_key)
        step = block.iteration if block.iteration < 0 else steps.get(block.iteration)
        if partner is None or step is None:
            continue
        known = _parameter_names(pairing.alignments.get(block.graph_key))
        others = _parameter_block(theirs, partner, step, block, pairing.target.parameters)
        constant = step == CONSTANT_ITERATION
        same = _same_constants(mine, others) if constant else _same_names(mine, others, known)
        for name, record, found in same:
            pairing.add(Pair(record, found, None, None, "output", 0, "name", 1.0, name, LAST))


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
    theirs: Mapping[Execution, dict[str, TensorRecord]],
    partner: tuple[int, int],
    step: int,
    block: Execution,
    ours: Iterable[Execution],
) -> dict[str, TensorRecord]:
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
