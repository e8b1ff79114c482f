"""What the network gives, and whether it was compared, under whatever name it was dumped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.graphs.roles import LEAVES
from workbench.comparison.graphs.traverse import ALIAS, path_back
from workbench.graph.graph import Bundle, Value
from workbench.ops import IDENTITY, RESHAPING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.results.coverage import Judged, Stored
    from workbench.graph.graph import Graph, Op, Operand

_END = frozenset(("NetOutput", "MakeTuple", "Return"))
"""Types that only gather what a network gives."""

_HANDS_ON = IDENTITY | ALIAS | RESHAPING
"""Types whose result is what they read, under another name."""


def missing_outputs(
    judged: Judged, excused: Collection[Stored] = ()
) -> Iterator[tuple[Execution, Op]]:
    """Operators whose values the network gives, and that were not compared. Without a graph nobody knows."""
    for block in judged.pairing.block_order:
        graph = judged.pairing.target.graph(block)
        if graph is None or graph.inner:
            continue
        for operand in dict.fromkeys(_results(graph)):
            if _shows_none(graph, operand) or _is_judged(judged, block, operand, excused):
                continue
            op = graph.ops[operand.op]
            if not op.unless and not judged.pairing.overrides.may_miss(op.name):
                yield block, op


def _results(graph: Graph) -> Iterator[Value]:
    """Values that a graph gives, what only gathers them looked through."""
    waiting: list[Operand | None] = list(graph.outputs)
    for operand in waiting:
        if isinstance(operand, Bundle):
            waiting += operand.items
        elif isinstance(operand, Value) and graph.ops[operand.op].op_type in _END:
            waiting += graph.ops[operand.op].flat_inputs()
        elif isinstance(operand, Value):
            yield operand


def _shows_none(graph: Graph, value: Value) -> bool:
    """Whether an operator gives no tensor there, as one that only has an effect."""
    outputs = graph.ops[value.op].outputs
    return value.slot >= len(outputs) or outputs[value.slot] is None


def _is_judged(judged: Judged, block: Execution, value: Value, excused: Collection[Stored]) -> bool:
    """Whether a value was compared, under the name of an operator that hands it on or of who computes it."""
    graph = judged.pairing.target.graphs[block.graph_key]
    for one in path_back(graph, value, _HANDS_ON):
        if not isinstance(one, Value) or graph.ops[one.op].op_type in LEAVES:
            return True  # a parameter or constant: the network hands it through
        stored = judged.value_of("target", block, one)
        if stored in judged.compared.target or stored in excused:
            return True
    return False
