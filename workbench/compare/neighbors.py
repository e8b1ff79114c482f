"""Who could have written over an output: what lies right below it in memory, by addresses in containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.compare.cause import Difference
from workbench.core.errors import FormatError
from workbench.dump.files.block_index import BlockSource, held_container

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.compare.binding import Binding, Block, OpRun
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
    below = writer_below(flow.pairing.target, block, value, between)
    if below:
        text += f", where {below} wrote right below it"
    return Difference("overwritten", f"input.{slot}", text)


def writer_below(binding: Binding, block: Block, value: Value, numbers: Iterable[int]) -> str:
    """Return which of some operators wrote nearest below an output.

    Empty if none did, or if the dump holds no addresses.
    """
    runs = binding.runs.get(block, {})
    own = runs.get(value.op)
    start = next((first for slot, first, _ in _places(own) if slot == value.slot), 0)
    below = [
        (end, runs[number].op_name)
        for number in numbers
        for _, first, end in _places(runs.get(number))
        if 0 < first < end <= start
    ]
    return max(below, default=(0, ""))[1]


def _places(run: OpRun | None) -> Iterator[tuple[int, int, int]]:
    """Slot, first address and end of every dumped output."""
    for (io, slot), record in run.tensors.items() if run is not None else ():
        if io == "output" and isinstance(record.source, BlockSource):
            try:
                held = held_container(record.path).part("output")[slot]
            except (FormatError, IndexError):
                continue
            yield slot, held.address, held.address + held.size
