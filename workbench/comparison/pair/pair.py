"""Pair the tensors of two bound dumps: graphs, iterations and turns first, then slots.

Nothing is dropped: every record ends as half of a pair, as unmatched, or as skipped with a reason.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.comparison.align.rules import MAP, MATCH_RULES
from workbench.comparison.pair.exclusions import leave_out, tell_unknown
from workbench.comparison.pair.executions import pair_blocks, pair_graphs
from workbench.comparison.pair.kernels import pair_fusions, pair_places, skip_left, skip_unequalled
from workbench.comparison.pair.origins import pair_origins
from workbench.comparison.pair.pairing import EVERYTHING, Pair, Pairing, Selection, Unmatched
from workbench.comparison.pair.parameters import pair_parameters
from workbench.comparison.pair.quantized import pair_quantised, skip_floats
from workbench.comparison.pair.updates import pair_updates
from workbench.core.stopping import checkpoint
from workbench.dump.names.mindspore import sanitize
from workbench.dump.tree import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.graphs.view import Origin
    from workbench.core.tensors import TensorRecord


_CUT_OUT = re.compile(r".*sgt_graph_\d+_(?=.)", re.ASCII)
"""What GE puts before the names of operators that it schedules as one (FFTS+), as msaccucmp takes it away."""


def pair_tensors(target: Binding, golden: Binding, selection: Selection = EVERYTHING) -> Pairing:
    """Pair two bound dumps."""
    pairing = Pairing(target, golden, overrides=selection.overrides)
    tell_unknown(pairing)
    leave_out(pairing)
    graphs = pair_graphs(target, golden, selection, pairing)
    pair_blocks(pairing, graphs, selection)
    for number, block in enumerate(pairing.block_order):
        _pair_runs(pairing, block, number)
    pair_parameters(pairing, graphs, selection)
    _leftovers(pairing, selection)
    checkpoint()
    return pairing


def _pair_runs(pairing: Pairing, block: Execution, number: int) -> None:
    """Pair the tensors of one execution of one graph."""
    ours = pairing.target.runs[block]
    theirs = pairing.golden.runs[pairing.blocks[block]]
    found = pairing.alignments.get(block.graph_key)
    base = number << 24  # an execution has far fewer operators than this
    if found is not None and found.quantised:
        pair_quantised(pairing, found, ours, theirs, base)
    forced = pairing.overrides.pairs
    if found is None:
        _pair_named_groups(pairing, ours, theirs, base)
        pair_origins(pairing, ours, theirs, base, forced)
    for op, run, other, rule, score in _matched_runs(ours, theirs, found, forced):
        checkpoint()
        order = found.input_order(op) if found is not None and op in found.partner else {}
        for (io, slot), record in run.tensors.items():
            partner = other.tensors.get((io, order.get(slot, slot) if io == "input" else slot))
            if partner is not None:
                place = base + (op if op >= 0 else -op)
                pairing.add(
                    Pair(record, partner, run, other, io, slot, rule, score, run.op_name, place)
                )
    if found is not None:
        pair_fusions(pairing, found, ours, theirs, base)
        if found.quantised:
            skip_floats(pairing, found, ours, theirs)
        pair_updates(pairing, found, ours, theirs, base)
        _pair_groups(pairing, found, ours, theirs, base)
        skip_unequalled(pairing, found, ours, theirs)


def _pair_named_groups(
    pairing: Pairing, ours: Mapping[int, OperatorRun], theirs: Mapping[int, OperatorRun], base: int
) -> None:
    """Pair the user's groups without a graph: inputs of the first operator, outputs of the last.

    First and last are as the map file lists them; what else the members have lies inside.
    """
    sides = [{run.op_name: run for run in runs.values()} for runs in (ours, theirs)]
    for match in pairing.overrides.groups:
        members = [
            [known[name] for name in names if name in known]
            for names, known in zip((match.target, match.golden), sides, strict=True)
        ]
        if [len(one) for one in members] != [len(match.target), len(match.golden)]:
            continue
        for io, place in (("input", 0), ("output", -1)):
            run, other = members[0][place], members[1][place]
            for where in [at for at in run.tensors if at[0] == io]:
                pair_places(pairing, run, other, where, where, base, MAP)
        for side, runs in zip(("target", "golden"), members, strict=True):
            skip_left(pairing, side, runs, "inside-group")


def _matched_runs(
    ours: Mapping[int, OperatorRun],
    theirs: Mapping[int, OperatorRun],
    found: Alignment | None,
    forced: Mapping[str, str],
) -> Iterator[tuple[int, OperatorRun, OperatorRun, str, float]]:
    """Executions that belong together: operator number, both runs, rule and score."""
    if found is None:
        yield from _by_file_name(ours, theirs, forced)
        return
    for match in found.matches:
        if (
            len(match.target) != 1
            or len(match.golden) != 1
            or MATCH_RULES[match.rule].tier == "loose"
        ):
            continue
        run, other = ours.get(match.target[0]), theirs.get(match.golden[0])
        if run is not None and other is not None:
            yield match.target[0], run, other, match.rule, match.score


def _by_file_name(
    ours: Mapping[int, OperatorRun], theirs: Mapping[int, OperatorRun], forced: Mapping[str, str]
) -> Iterator[tuple[int, OperatorRun, OperatorRun, str, float]]:
    """Match where a side has no graph: the user's pairs, equal names, equal last parts of names."""
    by_name = {run.op_name: run for run in theirs.values()}
    typed = all(run.op_type for runs in (ours, theirs) for run in runs.values())
    left = {_file_key(run, typed): run for run in theirs.values()}
    waiting = []
    for number, run in ours.items():
        by_hand = by_name.get(forced.get(run.op_name, ""))
        if by_hand is not None and left.pop(_file_key(by_hand, typed), None) is not None:
            yield number, run, by_hand, MAP, MATCH_RULES[MAP].score
        else:
            waiting.append((number, run))
    lasts, mine = _unique_lasts(left.values()), _unique_lasts(run for _, run in waiting)
    for number, run in waiting:
        exact = left.get(_file_key(run, typed))
        last = (run.op_type, _last(run.op_name))
        if exact is not None:
            yield number, run, exact, "file-name", MATCH_RULES["file-name"].score
        elif last in lasts and last in mine:
            yield number, run, lasts[last], "short-name", MATCH_RULES["short-name"].score


def _file_key(run: OperatorRun, typed: bool) -> tuple[str, str]:
    """What files call an operator; golden data know neither its type nor graphs that GE cuts out."""
    name = sanitize(run.op_name)
    return (run.op_type, name) if typed else ("", _CUT_OUT.sub("", name))


def _last(name: str) -> str:
    return sanitize(name).rpartition("_")[2]


def _unique_lasts(runs: Iterable[OperatorRun]) -> dict[tuple[str, str], OperatorRun]:
    """Runs by type and last part of their name, where that is unique."""
    table: dict[tuple[str, str], list[OperatorRun]] = {}
    for run in runs:
        table.setdefault((run.op_type, _last(run.op_name)), []).append(run)
    return {key: found[0] for key, found in table.items() if len(found) == 1}


def _pair_groups(
    pairing: Pairing,
    found: Alignment,
    ours: Mapping[int, OperatorRun],
    theirs: Mapping[int, OperatorRun],
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
        for side, members, runs in (
            ("target", group.target, ours),
            ("golden", group.golden, theirs),
        ):
            skip_left(pairing, side, (runs[n] for n in members if n in runs), "inside-group")


def _pair_edge(
    pairing: Pairing, run: OperatorRun, other: OperatorRun, a: Origin, b: Origin, base: int
) -> None:
    record, partner = run.tensors.get(("output", a.slot)), other.tensors.get(("output", b.slot))
    if record is not None and partner is not None:
        place = base + a.number
        pairing.add(
            Pair(record, partner, run, other, "output", a.slot, "group", 0.6, run.op_name, place)
        )


def _leftovers(pairing: Pairing, selection: Selection) -> None:
    """Put every record that no rule claimed where the ledger can see it."""
    for side in ("target", "golden"):
        binding: Binding = getattr(pairing, side)
        skipped: list[Skipped] = getattr(pairing, f"skipped_{side}")
        lone: list[Unmatched] = getattr(pairing, f"only_{side}")
        for record, run, name in _all_records(binding):
            if id(record) in pairing.claimed[side]:
                continue
            if not selection.takes(record.key, side):
                skipped.append(Skipped(name, "not-selected"))
            else:
                lone.append(Unmatched(record, run, name))
        skipped += [*binding.skipped, *binding.dump.skipped]


def _all_records(binding: Binding) -> Iterator[tuple[TensorRecord, OperatorRun | None, str]]:
    for runs in binding.runs.values():
        for run in runs.values():
            for record in run.tensors.values():
                yield record, run, run.op_name
    for parameters in binding.parameters.values():
        for name, record in parameters.items():
            yield record, None, name
