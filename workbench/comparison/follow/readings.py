"""Values that were dumped only as what their readers read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.graphs.traverse import path_back
from workbench.comparison.measure.noise import coarsens
from workbench.graph.nodes import Value
from workbench.graph.traits import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.nodes import Graph, Operand

    Lookup = Callable[[int], Mapping[tuple[str, int], Measured]]


_SAME_ELEMENTS = IDENTITY | frozenset(
    ("Reshape", "Flatten", "ExpandDims", "Squeeze", "Transpose", "View", "ReshapeExt")
)


def values_seen_by_readers(
    graph: Graph, found: Alignment | None, measured: Lookup
) -> dict[Value, Measured]:
    """Return the values that were dumped only as the input of an operator that reads the same thing."""
    table: dict[Value, Measured] = {}
    for number, op in enumerate(graph.ops):
        mine = measured(number)
        for slot, operand in enumerate(op.flat_inputs()):
            item = mine.get(("input", slot))
            if not isinstance(operand, Value) or item is None or not item.usable:
                continue
            own = measured(operand.op).get(("output", operand.slot))
            if (own is None or not own.usable) and _reads_the_same(found, number, slot, operand):
                table.setdefault(operand, item)
    for number in reversed(range(len(graph.ops))):  # casts of casts carry one value
        op = graph.ops[number]
        item = table.get(Value(number, 0)) if op.op_type in IDENTITY else None
        source = op.operand(0)
        if item is not None and isinstance(source, Value) and not coarsens(op):
            table.setdefault(source, item)
    return table


def read_inputs(graph: Graph, number: int, measured: Lookup) -> dict[int, Measured]:
    """Pairs of an operator's inputs by slot; if none was dumped, of the outputs that it reads.

    Those may lie in another order, which is no matter for norms.
    """
    found = {slot: item for (io, slot), item in measured(number).items() if io == "input"}
    if found:
        return found
    for slot, operand in enumerate(graph.ops[number].flat_inputs()):
        item = _output(graph, operand, measured)
        if item is not None:
            found[slot] = item
    return found


def _output(graph: Graph, operand: Operand | None, measured: Lookup) -> Measured | None:
    """Pair of the output that an operand is, looked for behind casts and other shapes."""
    for one in path_back(graph, operand, _SAME_ELEMENTS):
        item = measured(one.op).get(("output", one.slot)) if isinstance(one, Value) else None
        if item is not None and item.usable:
            return item
    return None


def _reads_the_same(found: Alignment | None, number: int, slot: int, operand: Value) -> bool:
    """Whether the golden's reader gets its input from the partner of the target's producer."""
    if found is None or number not in found.partner:
        return True
    producer = found.mapped(found.target.origin(operand))
    others = found.golden.origins(found.partner[number])
    return producer is None or slot >= len(others) or others[slot] == producer
