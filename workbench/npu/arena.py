"""An arena: the memory of outputs as bytes, at the places that a plan gives them.

What an operator writes goes to its place and what a later one reads is what lies there then, whoever
wrote it. Only faults of memory and dumps that watch it need one; it costs every output a copy each way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import dtype
from workbench.core.errors import GraphError
from workbench.core.tensors import ArraySource
from workbench.core.transdata import to_host
from workbench.graph.graph import Value
from workbench.npu.compile.no_task import has_no_task
from workbench.npu.faults import FAULTS, OpExecution
from workbench.npu.faults.memory import reach
from workbench.npu.memory import BASE, WEIGHTS, plan_memory
from workbench.run.executor import empty

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.graph.graph import Graph, Op
    from workbench.npu.faults import Fault
    from workbench.npu.memory import Memory, Place

    Array = NDArray[Any]


class Arena:
    """Memory of one run of a graph, empty (zeros) at its beginning.

    Raises GraphError if a shape of the graph is open, or if no operator of an overrun has a tensor
    behind it that it could damage.
    """

    def __init__(self, graph: Graph, faults: Sequence[Fault] = ()) -> None:
        self._graph, self._faults = graph, faults
        self.memory: Memory = plan_memory(graph)
        self._bytes = np.zeros(self.memory.size, np.uint8)
        self._apart: dict[Value, Array] = {}
        for op in graph.ops:
            for spec in op.outputs:
                if spec.size is None:
                    raise GraphError("run/open-shape", op=op.name, got=spec.shape)
        for fault in faults:
            if fault.kind == "overrun":
                self._check_overrun(fault)

    def read(self, value: Value) -> Array:
        """Return an output as whoever reads it now gets it."""
        return self.peek(value).data

    def peek(self, value: Value) -> ArraySource:
        """Return what lies where an output belongs."""
        if value in self._apart:
            return ArraySource(self._apart[value])
        if self._place(value) is None:
            return ArraySource(empty(self._graph.ops[value.op].outputs[value.slot]))
        there = self._there(value)
        return ArraySource(self._host(value, there), there=there)

    def write(
        self, number: int, outputs: Sequence[Array], weights: Mapping[int, Array]
    ) -> list[ArraySource]:
        """Write the outputs of an operator, or what its faults make of that."""
        op = self._graph.ops[number]
        values = [Value(number, slot) for slot in range(len(outputs))]
        execution = OpExecution(op, outputs=tuple(outputs))
        striking = [fault for fault in self._faults if matches(fault, op)]
        if striking:
            before = (weights.get(slot, self.read(value)) for slot, value in enumerate(values))
            execution = replace(
                execution, before=tuple(before), gap=self._gap(number), room=self._room(number)
            )
        for fault in striking:
            execution = FAULTS[fault.kind].apply(fault, execution)
        for slot, output in enumerate(execution.outputs):
            if slot in weights:
                self._apart[values[slot]] = output
            elif execution.writes:
                self._put(values[slot], output)
        if execution.past:
            start = self.memory.outputs[values[0]].end - BASE
            room = self._bytes[start : start + len(execution.past)]
            room[:] = np.frombuffer(execution.past, np.uint8, room.size)
        return [self.peek(value) for value in values]

    def release(self, value: Value) -> None:
        """Nothing: memory keeps what it holds until someone else writes there."""

    def _place(self, value: Value) -> Place | None:
        """Place in the memory that is given away again; weights lie elsewhere."""
        place = self.memory.outputs.get(value)
        return place if place is not None and place.address < WEIGHTS else None

    def _put(self, value: Value, output: Array) -> None:
        place = self._place(value)
        spec = self._graph.ops[value.op].outputs[value.slot]
        stated = dtype(spec.dtype).storage, spec.shape
        if place is None or (output.dtype, output.shape) != stated:
            self._apart[value] = output
            return
        if place.first < value.op and has_no_task(self._graph.ops[value.op]):
            return  # the same bytes under another name
        laid = place.layout.laid(output) if place.layout.is_device_format else output
        start = place.address - BASE
        flat = np.ascontiguousarray(laid).reshape(-1).view(np.uint8)
        self._bytes[start : start + place.size] = flat

    def _there(self, value: Value) -> Array:
        """Copy of an output as it lies, or of whatever lies in its place."""
        place = self.memory.outputs[value]
        storage = dtype(self._graph.ops[value.op].outputs[value.slot].dtype).storage
        start = place.address - BASE
        data = self._bytes[start : start + place.size].copy()
        flat = data.astype(np.bool_) if storage == np.bool_ else data.view(storage)
        return flat.reshape(place.layout.shape or ())

    def _host(self, value: Value, there: Array) -> Array:
        layout = self.memory.outputs[value].layout
        if not layout.is_device_format:
            return there
        shape = self._graph.ops[value.op].outputs[value.slot].shape or ()
        return to_host(there, layout.format, layout.host_format, shape, groups=layout.groups)

    def _gap(self, number: int) -> int:
        """Bytes between the end of an operator's first output and the next that is needed after it."""
        place = self._place(Value(number))
        if place is None:
            return -1
        gaps = (
            one.address - place.end
            for one in self.memory.outputs.values()
            if place.behind <= one.address < WEIGHTS and one.first <= number < one.last
        )
        return min(gaps, default=-1)

    def _room(self, number: int) -> int:
        """Bytes of memory behind the end of an operator's first output."""
        place = self._place(Value(number))
        return 0 if place is None else self.memory.size - (place.end - BASE)

    def _check_overrun(self, fault: Fault) -> None:
        gaps = {number: self._gap(number) for number in range(len(self._graph.ops))}
        met = [number for number, op in enumerate(self._graph.ops) if matches(fault, op)]
        if any(0 <= gaps[number] < reach(fault, gaps[number]) for number in met):
            return
        near = [gaps[number] for number in met if gaps[number] >= 0]
        if near:
            raise GraphError(
                "run/overrun-short", op=fault.op_name, gap=min(near), got=fault.strength
            )
        able = [self._graph.ops[number] for number, gap in gaps.items() if gap >= 0]
        names = [op.name for op in able if not has_no_task(op)]
        code = "run/overrun-harmless" if names else "run/overrun-nowhere"
        raise GraphError(code, op=fault.op_name, others=names[:3])


def matches(fault: Fault, op: Op) -> bool:
    """Whether a fault of memory is in an operator, or in one that has been fused into it."""
    steps = (op,) if op.fused is None else (op, *op.fused.ops)
    return FAULTS[fault.kind].step == "memory" and any(map(fault.matches, steps))
