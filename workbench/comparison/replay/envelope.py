"""The envelope of a network whose dump is at hand: its operators are computed again, from what was dumped.

What no operator gives, inputs and weights, is read from the dump and disturbed; what an operator gives is computed
twice, from the undisturbed and from the disturbed. Behind an operator that cannot be computed nothing is known, and
nothing is said: values of the dump in its place would make the envelope too narrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.bind.bind import bind
from workbench.comparison.graphs.roles import ends_of
from workbench.comparison.replay.attempt import TROUBLE
from workbench.comparison.replay.inputs import DumpedInputs, is_state
from workbench.comparison.replay.kernel import compute_kernel
from workbench.comparison.replay.lowering import lower
from workbench.core.dtypes import DTYPES
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import GraphError
from workbench.graph.graph import Kernel, Param, Value
from workbench.ops import OPS, written
from workbench.run.envelope import Envelope, Place, check_runs, disturbed, epsilons, step, take

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Execution
    from workbench.dump.dump import Dump
    from workbench.graph.graph import Graph, Op, Operand
    from workbench.run.envelope import Spread

    Array = NDArray[Any]


class _Twin(NamedTuple):
    """A tensor as it is, and as it is where inputs are disturbed."""

    still: Array
    moved: Array


def envelope_of_dump(dump: Dump, *, runs: int = 1, seed: int = 0, dtype: str = "") -> Envelope:
    """Return the envelope of all iterations of a dump; raises GraphError if nothing of it can be computed again."""
    check_runs(runs, seed, dtype)
    binding = bind(dump)
    read = DumpedInputs(binding)
    spreads: dict[Place, Spread] = {}
    for number in range(runs):
        for block in binding.runs:
            graph = binding.graph(block)
            if graph is not None:
                _Rerun(graph, block, read, (seed, number), dtype).run(spreads)
    if not spreads:
        raise GraphError("run/envelope-dump", got=dump.path)
    names = {graph.name for graph in binding.graphs.values()}
    return Envelope(spreads, runs, seed, dtype, ", ".join(sorted(names)))


class _Rerun:
    """One execution of a graph while it is computed twice."""

    def __init__(
        self, graph: Graph, block: Execution, read: DumpedInputs, seed: tuple[int, int], dtype: str
    ) -> None:
        self.graph, self.block, self._read = graph, block, read
        self._seed, self._dtype = seed, dtype
        self._steps = epsilons(graph, dtype)
        self._values: dict[Value, _Twin] = {}
        self._last = {
            value: max(reader for reader, _ in readers)
            for value, readers in graph.consumers.items()
            if isinstance(value, Value) and readers
        }

    def run(self, spreads: dict[Place, Spread]) -> None:
        """Compute every operator that can be, and take in how far its tensors move."""
        skipped = ends_of(self.graph)
        for number, op in enumerate(self.graph.ops):
            if number not in skipped:
                self._operator(number, op, spreads)
            for operand in op.flat_inputs():
                if isinstance(operand, Value) and self._last.get(operand) == number:
                    self._values.pop(operand, None)

    def _operator(self, number: int, op: Op, spreads: dict[Place, Spread]) -> None:
        if op.op_type in OPS and written(op):
            return  # what it overwrites is dumped as it is afterwards
        kernel = lower(number, op, None).kernel
        inputs = self._inputs(number, op, kernel) if kernel is not None else None
        if kernel is None or inputs is None:
            return
        for slot, twin in inputs.items():
            take(spreads, self._place(op, "input", slot), twin.still, twin.moved)
        for slot, twin in self._outputs(op, kernel, inputs).items():
            self._values[Value(number, slot)] = twin
            take(spreads, self._place(op, "output", slot), twin.still, twin.moved)

    def _place(self, op: Op, io: str, slot: int) -> Place:
        block = self.block
        return Place(block.graph_id, block.iteration, op.name, io, slot, block.turn, block.rank)

    def _inputs(self, number: int, op: Op, kernel: Kernel) -> dict[int, _Twin] | None:
        """Inputs of an operator by slot; ``None``: not all are known."""
        found: dict[int, _Twin] = {}
        for slot in sorted(kernel.needed):
            operand = op.operand(slot)
            twin = self._values.get(operand) if isinstance(operand, Value) else None
            if twin is None and isinstance(operand, Value) and not is_state(operand, self.graph):
                return None
            twin = twin or self._from_dump(number, slot, operand)
            if twin is None:
                return None
            found[slot] = twin
        return found

    def _from_dump(self, number: int, slot: int, operand: Operand | None) -> _Twin | None:
        """What no operator gives, as the dump has it, disturbed alike for all its readers."""
        value = self._read.read(self.block, number, slot)
        if value is None or value.partial or value.invented or value.assumed is not None:
            return None
        still = value.array
        if isinstance(operand, Param):
            seed = (*self._seed, 0, operand.index)
            return _Twin(still, disturbed(still, self._steps[operand.index], seed))
        if isinstance(operand, Value):
            epsilon = step(self._dtype or still.dtype.name)
            return _Twin(
                still, disturbed(still, epsilon, (*self._seed, 1, operand.op, operand.slot))
            )
        return _Twin(still, still)

    def _outputs(self, op: Op, kernel: Kernel, inputs: Mapping[int, _Twin]) -> dict[int, _Twin]:
        try:
            still = compute_kernel(kernel, {slot: twin.still for slot, twin in inputs.items()})
            moved = compute_kernel(kernel, {slot: twin.moved for slot, twin in inputs.items()})
        except TROUBLE:
            return {}
        specs = op.device_outputs or op.outputs
        return {
            slot: _Twin(_stored(still[slot], spec.dtype), _stored(moved[slot], spec.dtype))
            for slot, spec in enumerate(specs[: len(still)])
        }


def _stored(array: Array, dtype: str) -> Array:
    if dtype not in DTYPES:
        return array
    with np.errstate(all="ignore"):
        return array.astype(dtype_row(dtype).storage, copy=False)
