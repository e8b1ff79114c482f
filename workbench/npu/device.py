"""The units of a simulated device: how one operator is loaded, computed and stored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import name_of
from workbench.core.errors import GraphError
from workbench.core.events import DeviceEvent
from workbench.graph.constants import literal
from workbench.graph.graph import Param, Value
from workbench.npu.arithmetic import Arithmetic, compute, load
from workbench.npu.faults import FAULTS, apply_faults, in_memory
from workbench.npu.overflow import Status
from workbench.npu.rounding import ROUND
from workbench.ops import CHOOSING, op_def
from workbench.run.executor import empty

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.events import Unit
    from workbench.graph.graph import Kernel, Op
    from workbench.npu.faults import Fault, OpExecution
    from workbench.npu.numerics import NumericModel
    from workbench.run.plan import ExecutionPlan, PlannedOp

    Array = NDArray[Any]

_REGISTER = {"NPUGetFloatStatusV2": False, "NPUClearFloatStatusV2": True}
"""Operators on the float status, which says whether any operator overflowed since it was cleared, and
whether they clear it."""


class Device:
    """The units of a device, set up for one run of a planned graph; ``events`` are those of operators by name."""

    def __init__(
        self,
        model: NumericModel,
        plan: ExecutionPlan,
        executions: Mapping[str, OpExecution],
        faults: Sequence[Fault],
    ) -> None:
        self._model = model
        self._faults = tuple(faults)
        self._sites = executions
        self._settled = _settled(plan, executions, faults)
        self._raised = False
        self.failed = False
        self.events: dict[str, DeviceEvent] = {}

    def compute(
        self, planned: PlannedOp, tensors: Sequence[Array], settings: Mapping[str, Any]
    ) -> list[Array]:
        """Return the outputs of one operator as the device stores them, then what it leaves in its inputs."""
        op = planned.op
        if op.op_type in _REGISTER:
            return self._register(op)
        for tensor in tensors:
            self._check(op, tensor)
        status = Status(op, _unit(op))
        steps = (op,) if op.fused is None else (op, *op.fused.ops)
        if any(self._sites[one.name].fails for one in steps):
            return self.fail(planned, tensors)
        with np.errstate(all="ignore"):
            if op.fused is None:
                outputs = self._single(planned, tensors, settings, status)
            else:
                outputs = self._together(planned, op.fused, tensors, status)
        if status.causes:
            self._raised = True
            self.events[op.name] = DeviceEvent(op.name, "overflow", status.unit, status.causes)
        return outputs

    def fail(self, planned: PlannedOp, tensors: Sequence[Array]) -> list[Array]:
        """Report that an operator failed; return what lies where its outputs go."""
        op = planned.op
        self.failed = True
        self.events[op.name] = DeviceEvent(op.name, "failure", _unit(op))
        return [*(empty(spec) for spec in op.outputs), *(tensors[p] for p in planned.written)]

    def _register(self, op: Op) -> list[Array]:
        """Return the float status of the device, or clear it."""
        status = np.full(op.outputs[0].shape or (), self._raised, np.int32)
        if _REGISTER[op.op_type]:
            self._raised = False
            status[...] = 0
        return [status]

    def _single(
        self,
        planned: PlannedOp,
        tensors: Sequence[Array],
        settings: Mapping[str, Any],
        status: Status,
    ) -> list[Array]:
        """Compute an operator on its own."""
        op = planned.op
        execution, settled = self._sites[op.name], self._settled[op.name]
        inputs = tuple(
            self._load(tensor, execution, status, settled=slot in settled)
            for slot, tensor in enumerate(tensors)
        )
        execution, results = self._computed(replace(execution, inputs=inputs), settings, status)
        exact = op.op_type in CHOOSING and len(settled) == len(tensors)
        count = len(results) - len(planned.written)
        outputs = tuple(
            self._store(result, slot, execution, status, exact=exact)
            for slot, result in enumerate(results[:count])
        )
        outputs = _written(self._faults, replace(execution, outputs=outputs), status)
        return [*outputs, *self._left(planned, outputs, results[count:], tensors, status).values()]

    def _left(
        self,
        planned: PlannedOp,
        outputs: Sequence[Array],
        results: Sequence[Array],
        tensors: Sequence[Array],
        status: Status,
    ) -> dict[int, Array]:
        """What an operator leaves in its inputs, by their slots; faults of an output that is one show there."""
        shared = {place: outputs[slot] for slot, place in planned.shared.items()}
        found = {}
        for place, result in zip(planned.written, results, strict=True):
            name = tensors[place].dtype.name
            status.stored(result, name)
            found[place] = shared.get(place, self._model.store(result, name))
        return found

    def _together(
        self, planned: PlannedOp, fused: Kernel, tensors: Sequence[Array], status: Status
    ) -> list[Array]:
        """Compute several operators as one: what they hand to each other stays float32 in the unit."""
        done: list[tuple[Array, ...]] = []
        lying = list(tensors)  # what the inputs of the kernel hold by now
        for one in planned.parts:
            done.append(self._inside(one, done, lying, status))
        whole = self._sites[planned.op.name]
        outputs = tuple(
            self._store(done[value.op][value.slot], slot, whole, status, exact=False)
            for slot, value in enumerate(fused.results)
        )
        others = [fault for fault in self._faults if not any(map(fault.matches, fused.ops))]
        outputs = _written(others, replace(whole, outputs=outputs), status)
        for slot, place in planned.shared.items():
            lying[place] = outputs[slot]
        return [*outputs, *(lying[place] for place in planned.written)]

    def _inside(
        self,
        planned: PlannedOp,
        done: Sequence[Sequence[Array]],
        lying: list[Array],
        status: Status,
    ) -> tuple[Array, ...]:
        """Outputs of an operator inside a kernel; what it leaves in inputs of the kernel is there then."""
        execution, own = self._sites[planned.op.name], Status(planned.op, status.unit)
        given, inputs = [], []
        for operand in planned.operands:
            if isinstance(operand, Value):
                given.append(done[operand.op][operand.slot])
                inputs.append(given[-1])
                continue
            given.append(lying[operand.index] if isinstance(operand, Param) else literal(operand))
            inputs.append(self._load(given[-1], execution, own, settled=False))
        execution, results = self._computed(
            replace(execution, inputs=tuple(inputs)), planned.settings, own
        )
        count = len(results) - len(planned.written)
        outputs = tuple(self._coarse(result, execution) for result in results[:count])
        outputs = _written(self._faults, replace(execution, outputs=outputs), own)
        for place, array in self._left(planned, outputs, results[count:], given, own).items():
            operand = planned.operands[place]
            if isinstance(operand, Param):
                lying[operand.index] = array
        status.add(own)
        return outputs

    def _coarse(self, result: Array, execution: OpExecution) -> Array:
        """Round what stays in the unit; only an operator that misses a Cast is told to."""
        narrow = execution.formats.output != "" and result.dtype == np.float32
        return self._model.round(result, execution.formats.output) if narrow else result

    def _computed(
        self, execution: OpExecution, settings: Mapping[str, Any], status: Status
    ) -> tuple[OpExecution, list[Array]]:
        """Results of an operator whose inputs are in the unit, not yet rounded to their dtypes."""
        execution = apply_faults(self._faults, execution, "load")
        results = self._results(execution, settings, status)
        status.computed(execution.inputs, settings, results)
        return execution, results

    def _results(
        self, execution: OpExecution, settings: Mapping[str, Any], status: Status
    ) -> list[Array]:
        return compute(
            execution.op, execution.inputs, settings, self._arithmetic(execution), status.summed
        )

    def _arithmetic(self, execution: OpExecution) -> Arithmetic:
        model, formats = self._model, execution.formats
        return Arithmetic(
            "cube",
            formats.inputs,
            formats.output,
            execution.accumulator,
            self._implementation(execution),
            model.saturates,
            model.profile.flushes,
            model.orders,
        )

    def _implementation(self, execution: OpExecution) -> str:
        return execution.implementation or self._model.implementation(
            execution.op, execution.formats
        )

    def _check(self, op: Op, tensor: Array) -> None:
        name, profile = name_of(tensor.dtype), self._model.profile
        if name in ROUND and name not in profile.formats and name != "float32":
            raise GraphError("run/dtype", op=op.name, device=profile.title, got=name)

    def _load(
        self, array: Array, execution: OpExecution, status: Status, *, settled: bool
    ) -> Array:
        """Return an input as its unit reads it: float32, rounded to the input format."""
        if array.dtype.kind in "biu" or array.dtype == np.float64:
            return array
        if settled:
            return array.astype(np.float32, copy=False)
        status.loaded(array.astype(np.float32, copy=False), execution.formats.inputs)
        return load(array, self._arithmetic(execution))

    def _store(
        self, array: Array, slot: int, execution: OpExecution, status: Status, *, exact: bool
    ) -> Array:
        if slot >= len(execution.op.outputs):
            return array
        name = execution.op.outputs[slot].dtype
        if exact and array.dtype.name == name:
            return array
        status.stored(array, execution.formats.output or name)
        if array.dtype == np.float32:
            own = array.ndim > 0 and array.base is None
            own = own and all(array is not one for one in execution.inputs)
            array = self._model.round(array, execution.formats.output, own=own)
        return self._model.store(array, name)


def _written(faults: Sequence[Fault], execution: OpExecution, status: Status) -> tuple[Array, ...]:
    """Outputs as they are written; the status sees what is computed wrongly, not what is written wrongly."""
    right = execution.outputs
    computed = [fault for fault in faults if FAULTS[fault.kind].computed]
    execution = apply_faults(computed, execution, "store")
    status.spoiled(right, execution.outputs)
    others = [fault for fault in faults if not FAULTS[fault.kind].computed]
    return apply_faults(others, execution, "store").outputs


def _unit(op: Op) -> Unit:
    """Return the unit that computes an operator."""
    return "cube" if op_def(op.op_type).engine == "cube" else "vector"


def _settled(
    plan: ExecutionPlan, executions: Mapping[str, OpExecution], faults: Sequence[Fault]
) -> dict[str, frozenset[int]]:
    """For every operator, the tensor inputs that arrive rounded to the format it reads.

    Rounding them again would change nothing: their producer has written float32 in this format,
    and no fault has touched it since.
    """
    ops = plan.graph.ops
    if in_memory(faults):
        return dict.fromkeys((op.name for op in ops), frozenset())
    touched = {op.name for op in ops if any(fault.matches(op) for fault in faults)}
    written: dict[Value, str] = {}
    found: dict[str, frozenset[int]] = {}
    for number, planned in enumerate(plan.ops):
        op = planned.op
        if op.fused is not None:
            continue
        execution = executions[op.name]
        wanted = execution.formats.inputs or "float32"
        found[op.name] = frozenset(
            place
            for place, operand in enumerate(planned.operands)
            if isinstance(operand, Value) and written.get(operand) == wanted
        )
        if op.name not in touched:
            for slot, spec in enumerate(op.outputs):
                if spec.dtype == "float32":
                    written[Value(number, slot)] = execution.formats.output or "float32"
    return found
