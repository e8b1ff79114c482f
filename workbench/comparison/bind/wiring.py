"""Wiring by bytes: which output an input holds, where no graph of the run's own says what feeds what.

A tensor that an operator reads has the bytes of the output that feeds it. Tensors that are one number everywhere, and
single numbers, have the bytes of many: they tell nothing.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.errors import WorkbenchError
from workbench.core.long_work import checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Value

_LARGEST = 1 << 24
"""Elements of a tensor that is looked at at all."""

_MOST = 1 << 31
"""Bytes that are read to wire one execution."""


class Wiring(NamedTuple):
    """What feeds what in one execution, as equal bytes tell.

    ``producers`` maps an input, by operator and slot, to the output that it holds; ``leaves`` are inputs that were
    dumped and that no output before them has: weights, feeds, and what operators gave that were not dumped.
    ``alike`` are all slots of an operator whose outputs are equal, by any one that ``producers`` names: which of them
    was read nobody knows.
    """

    producers: Mapping[tuple[int, int], tuple[int, int]] = MappingProxyType({})
    leaves: frozenset[tuple[int, int]] = frozenset()
    alike: Mapping[tuple[int, int], tuple[int, ...]] = MappingProxyType({})

    def readers(self) -> dict[int, set[int]]:
        """Operators that read what an operator gave, by its number."""
        found: dict[int, set[int]] = {}
        for (reader, _), (producer, _) in self.producers.items():
            found.setdefault(producer, set()).add(reader)
        return found


def infer_wiring(binding: Binding, block: Execution) -> Wiring:
    """Wire an execution by bytes: an input is fed by the last output before it, in order of time, that it equals."""
    runs, left = binding.runs.get(block, {}), _MOST
    if not any(io == "input" for run in runs.values() for io, _ in run.tensors):
        return Wiring()
    producers: dict[tuple[int, int], tuple[int, int]] = {}
    leaves: set[tuple[int, int]] = set()
    held: dict[bytes, tuple[int, int]] = {}
    alike: dict[tuple[int, int], tuple[int, ...]] = {}
    for number in sorted(runs, key=lambda n: (runs[n].time, -n if n < 0 else n)):
        checkpoint()
        given = dict[bytes, tuple[int, ...]]()
        for (io, slot), record in sorted(runs[number].tensors.items()):
            array = array_of(record) if left > 0 else None
            if array is None:
                continue
            left -= array.nbytes
            mark = _mark(array)
            if io == "output":
                given[mark] = (*given.get(mark, ()), slot)
            elif mark in held:
                producers[number, slot] = held[mark]
            else:
                leaves.add((number, slot))
        held.update({mark: (number, slots[0]) for mark, slots in given.items()})
        alike.update({(number, slots[0]): slots for slots in given.values() if len(slots) > 1})
    return Wiring(MappingProxyType(producers), frozenset(leaves), MappingProxyType(alike))


def _mark(array: NDArray[Any]) -> bytes:
    """What tells the elements of a tensor from others, whatever its shape."""
    from hashlib import blake2b

    found = blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16)
    found.update(array.dtype.str.encode())
    return found.digest()


class Edge(NamedTuple):
    """An edge that bytes contradict: its producer, and the operator whose output the input holds instead, if any."""

    producer: str
    instead: str = ""


def contradicting_edge(
    binding: Binding, block: Execution, reader: tuple[int, int], value: Value
) -> Edge | None:
    """Say what a run's bytes have against an edge from ``value`` to a reader's input; ``None`` if nothing.

    ``reader`` is the number of the operator and the slot of its input.
    """
    number, slot = reader
    read = array_of(_record(binding, block, number, "input", slot))
    given = array_of(_record(binding, block, value.op, "output", value.slot))
    if read is None or given is None or _same(read, given):
        return None
    instead = next(_holding(binding, block, number, read), "")
    return Edge(binding.runs[block][value.op].op_name, instead)


def array_of(record: TensorRecord | None) -> NDArray[Any] | None:
    """Return the elements of a record; ``None`` if it has none, or none that tell tensors apart."""
    array = elements_of(record)
    if array is None:
        return None
    flat = array.reshape(-1)
    return array if flat.size > 1 and (flat[1:] != flat[0]).any() else None


def elements_of(record: TensorRecord | None) -> NDArray[Any] | None:
    """Return the elements of a record; ``None`` if it has none, they cannot be read, or there are very many."""
    if record is None or record.source is None:
        return None
    try:
        if (record.source.spec().size or 0) > _LARGEST:
            return None
        return record.source.array()
    except (WorkbenchError, ValueError, OSError, MemoryError):
        return None


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two tensors hold the same elements, whatever their shapes; formats may differ by a cast."""
    if one.size != other.size:
        return False
    flat, others = one.reshape(-1), other.reshape(-1)
    if one.dtype != other.dtype:
        coarser = min((one.dtype, other.dtype), key=lambda dtype: dtype.itemsize)
        with np.errstate(all="ignore"):
            flat, others = flat.astype(coarser), others.astype(coarser)
    return bool(np.array_equal(flat, others, equal_nan=flat.dtype.kind in "fc"))


def _record(
    binding: Binding, block: Execution, number: int, io: str, slot: int
) -> TensorRecord | None:
    run = binding.runs.get(block, {}).get(number)
    return run.tensors.get((io, slot)) if run is not None else None


def _holding(binding: Binding, block: Execution, reader: int, read: NDArray[Any]) -> Iterator[str]:
    """Names of operators whose outputs an input holds."""
    for number, run in binding.runs[block].items():
        for (io, _), record in run.tensors.items():
            given = array_of(record) if io == "output" and number != reader else None
            if given is not None and _same(read, given):
                yield run.op_name
