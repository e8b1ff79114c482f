"""Concatenations and splits that run nothing: their tensors lie in one piece of memory already.

GE's ``ConcatNotaskPass`` marks a concatenation whose inputs can be written one behind the other, the fusion
engine a split whose outputs can be read so. ``FusionVirtualOpSetSwitch`` turns both off.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.graph.graph import Value
from workbench.npu.layout import bytes_of, device_layout, host_layout
from workbench.ops import IN_PLACE, OPS, bind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.core.tensors import Io, TensorSpec
    from workbench.graph.graph import Graph, Op, Operand
    from workbench.npu.compile.program import Module
    from workbench.npu.target import Target

NO_TASK = "_no_task"
_SHARED: Mapping[str, Any] = {
    NO_TASK: True,
    "_output_reuse_input": True,
    "_reuse_input_on_dim_index": 0,
}
_JOINED, _DIVIDED = "_nopadding_continuous_input", "_nopadding_continuous_output"
_ALIGNED = 32
"""Bytes of which every piece must be a multiple."""


def mark_no_task(module: Module, target: Target) -> Module:
    """Return the graph with everything marked that needs no task."""
    graph = module.graph
    marks = _Marks(graph)
    for number, op in enumerate(graph.ops):
        if op.op_type == "ConcatD":
            marks.join(number, op)
        elif op.op_type == "SplitD":
            marks.divide(number, op)
    return replace(module, graph=replace(graph, ops=tuple(marks.ops)))


def has_no_task(op: Op) -> bool:
    """Whether an operator is none for the device: it renames data, or is marked."""
    row = OPS.get(op.op_type)
    return (row is not None and row.engine == "none") or op.attrs.get(NO_TASK) is True


class _Marks:
    """Operators of a graph while they are marked. A tensor lies in one other tensor at most."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self.ops = graph, list(graph.ops)
        self._inside: set[Value] = set()

    def join(self, number: int, op: Op) -> None:
        """Mark a concatenation, if its inputs can be written one behind the other."""
        pieces = list(op.flat_inputs())
        values = [one for one in pieces if isinstance(one, Value) and self._is_own(one)]
        specs = [self._graph.ops[one.op].outputs[one.slot] for one in values]
        alone = len(values) == len(pieces) == len(set(values)) > 1
        if alone and self._fits(op, "input", specs, op.outputs[0].shape):
            self._mark(number, _JOINED, values)

    def divide(self, number: int, op: Op) -> None:
        """Mark a split, if its outputs can be read where they lie."""
        source = next(op.flat_inputs())
        values = [Value(number, slot) for slot in range(len(op.outputs))]
        if not isinstance(source, Value) or not self._is_own(source):
            return
        free = all(self._graph.consumers.get(one) and not self._leaves(one) for one in values)
        shape = self._graph.ops[source.op].outputs[source.slot].shape
        if free and self._fits(op, "output", op.outputs, shape):
            self._mark(number, _DIVIDED, [source, *values])

    def _mark(self, number: int, word: str, values: Sequence[Value]) -> None:
        op = self.ops[number]
        self.ops[number] = replace(op, attrs={**op.attrs, **_SHARED, word: True})
        self._inside.update(values)

    def _is_own(self, value: Value) -> bool:
        """Whether a kernel writes a tensor to memory that is its alone, and no result of the graph."""
        op = self.ops[value.op]
        known = op.op_type in OPS and value.slot < len(op.outputs)
        free = value not in self._inside and not self._leaves(value)
        return known and free and not has_no_task(op) and op.op_type not in IN_PLACE

    def _leaves(self, value: Value) -> bool:
        """Whether a tensor is a result, or one that an operator overwrites."""
        readers = self._graph.consumers.get(value, ())
        return value in self._graph.outputs or any(
            self._graph.ops[number].op_type in IN_PLACE for number, _ in readers
        )

    def _fits(
        self, op: Op, io: Io, specs: Sequence[TensorSpec], whole: tuple[int, ...] | None
    ) -> bool:
        """Whether pieces lie one behind the other in the whole, without padding."""
        axis = bind(op).settings["axis"]
        if whole is None or not whole or any(size != 1 for size in whole[: axis % len(whole)]):
            return False
        other: Io = "output" if io == "input" else "input"
        layouts = [device_layout(op, io, slot, spec) for slot, spec in enumerate(specs)]
        layouts.append(device_layout(op, other, 0, specs[0]._replace(shape=whole)))
        return all(not layout.is_device_format for layout in layouts) and all(
            spec.size and _bytes(spec) % _ALIGNED == 0 for spec in specs
        )


def _bytes(spec: TensorSpec) -> int:
    return bytes_of(spec, host_layout(spec.shape))


def pieces_of(graph: Graph) -> Iterator[tuple[Value, Operand, int]]:
    """Tensors that lie inside another one: piece, whole, and bytes before it."""
    for number, op in enumerate(graph.ops):
        if op.attrs.get(NO_TASK) is not True:
            continue
        start = 0
        if op.attrs.get(_JOINED):
            for one in op.flat_inputs():
                if isinstance(one, Value):
                    yield one, Value(number), start
                    start += _bytes(graph.ops[one.op].outputs[one.slot])
        elif op.attrs.get(_DIVIDED):
            for slot, spec in enumerate(op.outputs):
                yield Value(number, slot), next(op.flat_inputs()), start
                start += _bytes(spec)
