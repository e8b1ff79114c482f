"""Who could have written over an output: what lies right below it in memory, by addresses in containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.compare.cause import Difference
from workbench.core.errors import FormatError
from workbench.dump.block_index import BlockSource, held_container

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.compare.binding import Binding, Block, OpRun
    from workbench.graph.nodes import Value


def overwritten(binding: Binding, block: Block, value: Value, reader: int, slot: int) -> Difference:
    """Say that operator ``reader`` found something else in an input than its producer wrote."""
    text = f"input.{slot} is not what its producer wrote: overwritten between the two operators"
    below = writer_below(binding, block, value, reader)
    if below:
        text += f", where {below} wrote right below it"
    return Difference("overwritten", f"input.{slot}", text)


def writer_below(binding: Binding, block: Block, value: Value, reader: int) -> str:
    """Return who wrote right below an output, between its operator and operator ``reader``.

    Empty if nobody did, or if the dump holds no addresses.
    """
    runs = binding.runs.get(block, {})
    own = runs.get(value.op)
    start = next((first for slot, first, _ in _places(own) if slot == value.slot), 0)
    below = [
        (end, runs[number].op_name)
        for number in range(value.op + 1, reader)
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
