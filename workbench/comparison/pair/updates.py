"""Parameters that both graphs update, by operators that are no partners, or that only one of them updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.graphs.roles import updates
from workbench.comparison.pair.pairing import Pair
from workbench.core.words import Message
from workbench.graph.nodes import Param

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.pair.pairing import Pairing
    from workbench.graph.nodes import Graph


def pair_updates(
    pairing: Pairing,
    found: Alignment,
    ours: Mapping[int, OperatorRun],
    theirs: Mapping[int, OperatorRun],
    base: int,
) -> None:
    """Pair what is left of a parameter by the last operators that update it, whatever these are.

    Two optimizers keep other state, but the weights of both are the same tensors.
    """
    mine, others = _last_updates(found.target.graph), _last_updates(found.golden.graph)
    for parameter, partner in found.params.items():
        if parameter not in mine or partner not in others:
            continue
        (number, slot), (other, there) = mine[parameter], others[partner]
        run, golden_run = ours.get(number), theirs.get(other)
        if run is None or golden_run is None or found.partner.get(number) == other:
            continue
        record, golden = run.tensors.get(("input", slot)), golden_run.tensors.get(("input", there))
        if record is not None and golden is not None:
            name, place = run.op_name, base + number
            pairing.add(
                Pair(record, golden, run, golden_run, "input", slot, "group", 0.6, name, place)
            )


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
    ours, theirs = (_updaters(binding.graphs) for binding in (pairing.target, pairing.golden))
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
