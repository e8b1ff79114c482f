"""Device formats of compiled operators, in three steps as the fusion engine takes them.

Heavy operators (`workbench.npu.ops_info.OPS_INFO`) choose theirs; those that work on any layout take over
what reaches them; and where an operator reads another format than its producer wrote, a TransData is
inserted. Between two device formats it takes two, by way of the host's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.formats import c0_of
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Op, Param, Value
from workbench.npu.compile.casts import TransBuilder
from workbench.npu.layout import TensorLayout, device_layout, host_layout, layout_spec
from workbench.npu.ops_info import op_info

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.graph import Graph, Operand
    from workbench.npu.compile.program import Module
    from workbench.npu.target import Target


def choose_formats(module: Module, target: Target) -> Module:
    """Return the graph with every operator's own formats."""
    graph = module.graph
    ops = tuple(_chosen(graph, op) for op in graph.ops)
    return replace(module, graph=replace(graph, ops=ops))


def _chosen(graph: Graph, op: Op) -> Op:
    """Return an operator with the formats that its kernel asks for; any that it can take are the host's."""
    kind = None if op_info(op.op_type).format_agnostic else op
    inputs = [device_layout(kind, "input", n, spec) for n, spec in enumerate(_read(graph, op))]
    outputs = [device_layout(kind, "output", n, spec) for n, spec in enumerate(op.outputs)]
    return _laid(graph, op, inputs, outputs)


def _laid(graph: Graph, op: Op, inputs: list[TensorLayout], outputs: list[TensorLayout]) -> Op:
    return replace(
        op,
        device_inputs=tuple(
            layout_spec(spec, layout) for spec, layout in zip(_read(graph, op), inputs, strict=True)
        ),
        device_outputs=tuple(
            layout_spec(spec, layout) for spec, layout in zip(op.outputs, outputs, strict=True)
        ),
    )


def _read(graph: Graph, op: Op) -> Iterator[TensorSpec]:
    """Specs of everything that an operator reads."""
    return (_spec(graph, operand) for operand in op.flat_inputs())


def _spec(graph: Graph, operand: Operand) -> TensorSpec:
    return graph.spec(operand) or TensorSpec("", None)


def propagate_formats(module: Module, target: Target) -> Module:
    """Return the graph with the formats of heavy operators handed on to those that take any."""
    graph = module.graph
    ops: list[Op] = []
    for op in graph.ops:
        ops.append(_spread(graph, ops, op))
    return replace(module, graph=replace(graph, ops=tuple(ops)))


def _spread(graph: Graph, done: list[Op], op: Op) -> Op:
    if not op_info(op.op_type).format_agnostic or len(op.outputs) != 1:
        return op
    shape, lanes = op.outputs[0].shape, c0_of(op.outputs[0].dtype)
    layouts, alike = [], []
    for slot, operand in enumerate(op.flat_inputs()):
        layout = device_layout(op, "input", slot, _spec(graph, operand))
        spec = _spec(graph, operand)
        if c0_of(spec.dtype) != lanes:
            return op
        if shape is not None and spec.shape == shape:
            layout = _written(done, operand) or layout
            alike.append(layout)
        elif spec.size != 1 and not op_info(op.op_type).per_channel:
            return op
        layouts.append(layout)
    if not alike or not alike[0].is_device_format or any(layout != alike[0] for layout in alike):
        return op
    return _laid(graph, op, layouts, [alike[0]])


def _written(done: list[Op], operand: Operand) -> TensorLayout | None:
    """How a value lies that an earlier operator has written."""
    if not isinstance(operand, Value):
        return None
    op = done[operand.op]
    return device_layout(op, "output", operand.slot, op.outputs[operand.slot])


def insert_transdata(module: Module, target: Target) -> Module:
    """Return the graph with a TransData wherever formats differ; its results have the host's."""
    graph = module.graph
    builder = TransBuilder(graph)
    for number, op in enumerate(graph.ops):
        asked = [device_layout(op, "input", n, spec) for n, spec in enumerate(_read(graph, op))]
        wanted = iter(asked)
        inputs = tuple(_input(builder, operand, wanted) for operand in op.inputs)
        builder.replace(number, replace(op, inputs=inputs))
    outputs = []
    for operand in graph.outputs:
        spec = _spec(graph, operand)
        outputs.append(_as(builder, builder.operand(operand), spec, host_layout(spec.shape)))
    return replace(module, graph=builder.build(outputs))


def _input(builder: TransBuilder, operand: Operand, wanted: Iterator[TensorLayout]) -> Operand:
    """Return an operand as the kernel reads it."""
    if isinstance(operand, Bundle) and operand.flatten:
        items = tuple(_input(builder, item, wanted) for item in operand.items)
        return replace(operand, items=items)
    if isinstance(operand, Const) and operand.dtype == "monad":
        return operand
    layout, spec = next(wanted), _spec(builder.old, operand)
    now = builder.operand(operand)
    return _as(builder, now, spec, layout) if isinstance(now, Value | Param) else now


def _as(builder: TransBuilder, operand: Operand, spec: TensorSpec, wanted: TensorLayout) -> Operand:
    """Return an operand of the new graph as it is wanted; between device formats by way of the host's."""
    there = host_layout(spec.shape)
    if isinstance(operand, Value):
        there = device_layout(builder.ops[operand.op], "output", operand.slot, spec)
    if spec.shape is None or there[:3] == wanted[:3]:
        return operand
    if there.is_device_format and wanted.is_device_format:
        operand = _moved(builder, operand, spec, there, host_layout(spec.shape))
        there = host_layout(spec.shape)
    return _moved(builder, operand, spec, there, wanted)


def _moved(
    builder: TransBuilder,
    operand: Operand,
    spec: TensorSpec,
    there: TensorLayout,
    wanted: TensorLayout,
) -> Value:
    host = wanted.host_format if wanted.is_device_format else there.host_format
    given, taken = (
        layout_spec(spec, layout if layout.is_device_format else layout._replace(format=host))
        for layout in (wanted, there)
    )
    attrs: dict[str, Any] = {"src_format": taken.format, "dst_format": given.format}
    if max(there.groups, wanted.groups) > 1:
        attrs["groups"] = max(there.groups, wanted.groups)
    return builder.convert(
        "TransData", operand, spec, input_specs=(spec,), device_inputs=(taken,),
        device_outputs=(given,), attrs=attrs,
    )  # fmt: skip
