"""Operators that become one kernel: their operands, and what they read from outside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.graph.graph import IS_PART, Bundle, Const, Kernel, Op, Param, Value
from workbench.graph.rewrite import map_operands
from workbench.npu.compile.patterns import Matcher
from workbench.npu.compile.provenance import origin_of, originals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Operand
    from workbench.graph.rewrite import GraphBuilder
    from workbench.npu.compile.patterns import Match


@dataclass(frozen=True, slots=True)
class FusedKernel:
    """Operators in one kernel, what it reads of the graph, and how that lies on the device if all of them say it."""

    kernel: Kernel
    inputs: tuple[Operand, ...]
    specs: tuple[TensorSpec | None, ...]
    device_inputs: tuple[TensorSpec, ...]


def fuse_ops(
    graph: Graph, members: Iterable[int], results: Iterable[Value], first: Iterable[Operand] = ()
) -> FusedKernel:
    """Return operators as one kernel; operands in ``first`` are its first inputs, ``results`` its outputs."""
    builder = _KernelBuilder(first)
    for number in members:
        builder.add(number, graph.ops[number])
    return FusedKernel(
        Kernel(tuple(builder.ops), tuple(builder.inner(value) for value in results)),
        tuple(builder.inputs),
        tuple(graph.spec(operand) for operand in builder.inputs),
        builder.device_inputs,
    )


class _KernelBuilder:
    """Operators of a kernel in the making, with operands as `Kernel` wants them."""

    def __init__(self, first: Iterable[Operand]) -> None:
        self.ops: list[Op] = []
        self.inputs: list[Operand] = list(dict.fromkeys(first))
        self._there: dict[int, TensorSpec] = {}
        self._inner: dict[Value, Value] = {}

    @property
    def device_inputs(self) -> tuple[TensorSpec, ...]:
        """How the inputs lie on the device, if all operators say it."""
        count = len(self.inputs)
        return tuple(self._there[n] for n in range(count)) if len(self._there) == count else ()

    def inner(self, value: Value) -> Value:
        """Return where a value of the graph is computed inside."""
        return self._inner[value]

    def add(self, number: int, op: Op) -> None:
        """Append an operator of the graph, or those that it was fused of."""
        start = len(self.ops)
        for operand, there in zip(op.flat_inputs(), op.device_inputs, strict=False):
            known = self._operand(operand)
            if isinstance(known, Param):
                self._there.setdefault(known.index, there)
        if op.fused is None:
            self.ops.append(replace(op, inputs=tuple(self._operand(one) for one in op.inputs)))
            for slot in range(len(op.outputs)):
                self._inner[Value(number, slot)] = Value(start, slot)
            return
        given = [self._operand(one) for one in op.flat_inputs()]

        def moved(one: Param | Value) -> Operand:
            """Return an operand of a fused operator inside a larger one."""
            if isinstance(one, Param):
                return given[one.index]
            return Value(start + one.op, one.slot)

        for one in op.fused.ops:
            inputs = tuple(map_operands(operand, moved) for operand in one.inputs)
            self.ops.append(replace(one, inputs=inputs))
        for slot, value in enumerate(op.fused.results):
            self._inner[Value(number, slot)] = Value(start + value.op, value.slot)

    def _operand(self, operand: Operand) -> Operand:
        """Return an operand as the kernel sees it; scalars and settings become part of it."""
        if isinstance(operand, Bundle):
            return replace(operand, items=tuple(self._operand(one) for one in operand.items))
        if isinstance(operand, Value) and operand in self._inner:
            return self._inner[operand]
        if not isinstance(operand, Value | Param) and not _is_array(operand):
            return operand
        if operand not in self.inputs:
            self.inputs.append(operand)
        return Param(self.inputs.index(operand))


def fuse_visible(builder: GraphBuilder, matcher: Matcher, root: int, part: Match) -> None:
    """Write a kernel that gives all results of its operators which others may read."""
    graph = matcher.graph
    members = sorted(part.members)
    results = [
        value
        for number in members
        for slot in range(len(graph.ops[number].outputs))
        if not _is_inner(graph, value := Value(number, slot), part)
    ]
    joined = fuse_ops(graph, members, results)
    ops = [graph.ops[number] for number in members]
    main, last = graph.ops[part.roles["main"]], graph.ops[root]
    part_of = {IS_PART: True} if any(op.attrs.get(IS_PART) for op in ops) else {}
    there = [graph.ops[value.op].device_outputs for value in results]
    kernel = Op(
        "".join(op.name for op in ops), main.op_type, joined.inputs,
        {**main.attrs, **originals(ops), **part_of},
        tuple(graph.ops[value.op].outputs[value.slot] for value in results), joined.specs,
        joined.device_inputs,
        tuple(specs[value.slot] for specs, value in zip(there, results, strict=True) if specs),
        frames=last.frames,
        fused=joined.kernel,
        provenance=tuple(origin_of(graph.ops[value.op], value.slot) for value in results),
    )  # fmt: skip
    number = builder.insert(replace(kernel, inputs=builder.inputs(kernel)))
    for slot, value in enumerate(results):
        builder.put(value, Value(number, slot))


def _is_inner(graph: Graph, value: Value, part: Match) -> bool:
    """Whether a result is for other operators of the part alone."""
    readers = {number for number, _ in graph.consumers.get(value, ())}
    return bool(readers) and readers <= part.members and value not in graph.outputs


def _is_array(operand: Operand) -> bool:
    """Whether a constant is a tensor that a kernel reads: neither a number nor a setting."""
    return (
        isinstance(operand, Const)
        and operand.shape not in (None, (), (1,))
        and operand.dtype != "tuple"
    )
