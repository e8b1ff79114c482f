"""What of a network a compiler for inference knows, or takes away, before the network runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.graph.graph import Param, Value
from workbench.ops.facts import IN_PLACE

if TYPE_CHECKING:
    from workbench.graph.graph import Graph, Op

_DRAWS = re.compile(
    r"Random|Dropout|Uniform|Normal|Hcom|All(Reduce|Gather)|Receive|Send|Barrier|Queue|Assign|Print"
)
"""Types that give something else every time, or do something besides."""

_OF_SIZES = frozenset(("Shape", "Size"))
"""Types that look at no value of what they read."""


_FED = frozenset(
    ("AippData", "Data", "GetNext", "IteratorV2", "IteratorGetNext", "Placeholder", "RefData", "UnfedData", "Variable")
)  # fmt: skip
"""Types that read nothing and hold what is fed, or weights that the framework may change."""


def gives_other_each_time(op: Op) -> bool:
    """Whether an operator draws, writes over what it reads, or does something besides, by its type."""
    return bool(op.unless) or op.op_type in IN_PLACE or _DRAWS.search(op.op_type) is not None


def computed_before_the_run(graph: Graph) -> set[int]:
    """Operators of a model that no input's values reach: a compiler computes them, unless they draw at random.

    Sizes are known to it: those of inputs are fixed when a model is compiled. Weights are, too; in a graph of the
    graph engine those that are constants.
    """
    known: set[int] = set()
    for number, op in enumerate(graph.ops):
        reads_inputs = op.op_type not in _OF_SIZES and any(
            operand.op not in known
            if isinstance(operand, Value)
            else isinstance(operand, Param) and not graph.parameters[operand.index].is_weight
            for operand in op.flat_inputs()
        )
        if not reads_inputs and op.op_type not in _FED and not gives_other_each_time(op):
            known.add(number)
    return known


def taken_away(graph: Graph) -> set[int]:
    """Nodes of a model that a compiler for inference takes away: they hand their input on.

    Dropout with a third input may be told to drop.
    """
    return {
        number
        for number, op in enumerate(graph.ops)
        if op.op_type == "Identity" or (op.op_type == "Dropout" and len(op.inputs) < 3)
    }


def never_read(graph: Graph) -> set[int]:
    """Nodes of a model whose values nobody needs when it runs: what reads them looks at sizes alone, or is such itself.

    None of a graph that does not say what it gives.
    """
    known, found = computed_before_the_run(graph), set[int]()
    results = {one.op for one in graph.outputs if isinstance(one, Value)}
    if not results:
        return found
    for number in range(len(graph.ops) - 1, -1, -1):
        op = graph.ops[number]
        readers = {
            reader
            for slot in range(max(1, len(op.outputs)))
            for reader, _ in graph.consumers.get(Value(number, slot), ())
        }
        if number not in results and readers <= known | found and not gives_other_each_time(op):
            found.add(number)
    return found - known
