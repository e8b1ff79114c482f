"""An input that is not what its producer wrote, where nothing but the readers' errors tells so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.differences import Difference
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.comparison.bind.binding import Block
    from workbench.comparison.follow.flow import Flow
    from workbench.graph.nodes import Graph, Value


def overwritten(
    flow: Flow, graph: Graph, block: Block, value: Value, reader: int, slot: int, limit: float
) -> Difference:
    """Say that operator ``reader`` found something else in an input than its producer wrote.

    Other readers show when it happened: an input whose error is within ``limit`` was still as
    written. Inputs are dumped when an operator is done, so it may itself be the one.
    """
    reads = [
        (n, flow.index.get((block, n), {}).get(("input", s))) for n, s in graph.consumers[value]
    ]
    looks = {n: item.error <= limit for n, item in reads if item is not None and item.usable}
    first = min((n for n, intact in looks.items() if not intact), default=reader)
    last = max((n for n, intact in looks.items() if intact and n < first), default=value.op)
    between = range(last + 1, min(first + 1, reader))
    runs = flow.pairing.target.runs.get(block, {})
    names = [runs[number].op_name for number in between if number in runs]
    said = Message("compare/overwritten", slot=slot)
    if names:
        said = Message("compare/overwritten-by", slot=slot, names=names)
    return Difference("overwritten", f"input.{slot}", said)
