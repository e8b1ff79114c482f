"""An input that is not what its producer wrote, where nothing but the readers' errors tells so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.compare.cause import Difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.compare.binding import Block, OpRun
    from workbench.compare.flow import Flow
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
    text = f"input.{slot} is not what its producer wrote: overwritten between the two operators"
    ran = _ran(flow.pairing.target.runs.get(block, {}), between)
    return Difference("overwritten", f"input.{slot}", text + ran)


def _ran(runs: Mapping[int, OpRun], numbers: Iterable[int]) -> str:
    """Who may have written."""
    names = [runs[number].op_name for number in numbers if number in runs]
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"; what ran between is {', '.join(names[:3])}{rest}" if names else ""
