"""Number formats of compiled operators: what each reads and writes, and a Cast wherever they differ.

The precision mode decides as it does for operators that run one by one (`workbench.npu.precision`), but here
tensors really change their dtypes. Casts are called ``trans_Cast_{n}`` as in GE, and one serves all readers
of a value. HF32, which no tensor can have, stays a rounding inside the unit.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.dtypes import DTYPES
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Kernel, Op, SourceTensor, Value
from workbench.graph.rewrite import GraphBuilder
from workbench.npu.compile.provenance import INSERTED
from workbench.npu.numerics import UNTOUCHED, Formats
from workbench.npu.ops_info import op_info
from workbench.ops import OPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.graph.graph import Graph, Operand
    from workbench.npu.compile.program import Module
    from workbench.npu.target import Target

STORED = frozenset(("float16", "bfloat16", "float32", "hifloat8"))
"""Formats of the precision modes that tensors can have."""

NUMBERS: dict[str, int] = {
    row.name: row.acl
    for row in DTYPES.values()
    if row.is_float and not row.is_complex and row.acl is not None
}
"""Float → its number in ``ge::DataType``, which is not that of ``ge.proto``."""

_TRANS = re.compile(r"trans_\w+?_(\d{1,9})", re.ASCII)


class TransBuilder(GraphBuilder):
    """A graph into which ``trans_`` operators are inserted; their numbers go on from those that it has."""

    def __init__(self, old: Graph) -> None:
        super().__init__(old)
        known = (found for op in old.ops if (found := _TRANS.fullmatch(op.name)))
        self._next = max((int(found[1]) + 1 for found in known), default=0)
        self._made: dict[tuple[object, ...], Value] = {}

    def convert(self, kind: str, source: Operand, given: TensorSpec, **fields: Any) -> Value:
        """Return the output of an inserted operator; the same one for the same source and fields."""
        attrs = fields.pop("attrs", {})
        key = (kind, source, given, tuple(sorted(fields.items())), tuple(sorted(attrs.items())))
        if key not in self._made:
            name = f"trans_{kind}_{self._next}"
            self._next += 1
            op = Op(name, kind, (source,), {**attrs, **INSERTED}, (given,), **fields)
            self._made[key] = Value(self.insert(op))
        return self._made[key]


def insert_casts(module: Module, target: Target) -> Module:
    """Return the graph in the dtypes that the precision mode gives it, with the Casts that this takes.

    Its results have the dtypes of the network.
    """
    graph, model = module.graph, target.model
    builder = TransBuilder(graph)
    for number, formats in enumerate(model.formats(graph)):
        builder.replace(number, _lowered(builder, graph.ops[number], formats))
    outputs = (builder.operand(one) for one in graph.outputs)
    wanted = (_dtype(graph, one) for one in graph.outputs)
    results = [_cast(builder, *one) for one in zip(outputs, wanted, strict=True)]
    return replace(module, graph=builder.build(results))


def _lowered(builder: TransBuilder, op: Op, formats: Formats) -> Op:
    """Return an operator in the formats of the mode."""
    if op.op_type not in OPS or op.op_type == "Cast":
        formats = UNTOUCHED
    lowered = bool({formats.inputs, formats.output} & STORED) and _is_float(op)
    reads = formats.inputs if lowered and formats.inputs in STORED else ""
    writes = formats.output if lowered and formats.output in STORED else ""
    inputs = _inputs(builder, op, reads, writes)
    info = op_info(op.op_type)
    outputs = tuple(
        spec._replace(dtype=writes)
        if writes and spec.dtype in _FLOATS and slot not in info.keeps_outputs
        else spec
        for slot, spec in enumerate(op.outputs)
    )
    name = info.dtype_attribute
    told = {name: NUMBERS[outputs[0].dtype]} if name else {}
    return replace(
        op, inputs=inputs, attrs={**op.attrs, **told}, outputs=outputs,
        input_specs=tuple(_spec(builder, operand) for operand in inputs),
        provenance=_origins(op, outputs), fused=_fused(op.fused, writes),
    )  # fmt: skip


def _inputs(builder: TransBuilder, op: Op, reads: str, writes: str) -> tuple[Operand, ...]:
    """Operands in the dtypes that the kernel reads; the bias of a product is added to its sums."""
    count = 2 if OPS.get(op.op_type) and OPS[op.op_type].engine == "cube" else len(op.inputs)
    info = op_info(op.op_type)
    found = []
    for slot, operand in enumerate(op.inputs):
        spec = _spec(builder, builder.operand(operand))
        if spec is not None and spec.dtype in info.reads_as_is:
            found.append(builder.operand(operand))
        else:
            wanted = reads if slot < count else writes
            found.append(_input(builder, operand, "" if slot in info.keeps_inputs else wanted))
    return tuple(found)


def _input(builder: TransBuilder, operand: Operand, wanted: str) -> Operand:
    """Return an operand in a dtype, or in the network's if it is empty."""
    if isinstance(operand, Bundle):
        items = tuple(_input(builder, item, wanted) for item in operand.items)
        return replace(operand, items=items)
    was = _dtype(builder.old, operand)
    return _cast(builder, builder.operand(operand), wanted if wanted and was in _FLOATS else was)


def _dtype(graph: Graph, operand: Operand) -> str:
    """Dtype of an operand in the network."""
    if isinstance(operand, Const):
        return operand.dtype
    spec = graph.spec(operand)
    return "" if spec is None else spec.dtype


def _spec(builder: TransBuilder, operand: Operand) -> TensorSpec | None:
    """Spec of a tensor in the new graph; constants have any dtype that their kernel reads."""
    return None if isinstance(operand, Const) else builder.spec(operand)


def _cast(builder: TransBuilder, operand: Operand, wanted: str) -> Operand:
    """Return an operand of the new graph in a dtype, by way of a Cast if it has another."""
    if isinstance(operand, Const):
        lowered = operand.dtype in _FLOATS and wanted in _FLOATS
        return replace(operand, dtype=wanted) if lowered else operand
    spec = builder.spec(operand)
    if spec is None or not wanted or spec.dtype == wanted:
        return operand
    attrs = {"dst_type": NUMBERS[wanted]} if wanted in NUMBERS else {}
    given = spec._replace(dtype=wanted)
    return builder.convert("Cast", operand, given, input_specs=(spec,), attrs=attrs)


_FLOATS = STORED | {"float64"}


def _is_float(op: Op) -> bool:
    return bool(op.outputs) and op.outputs[0].dtype in _FLOATS


def _origins(op: Op, outputs: tuple[TensorSpec, ...]) -> tuple[SourceTensor | None, ...]:
    """Tensors of the network that the outputs are, if they are no longer of its dtype."""
    if op.provenance or outputs == op.outputs:
        return op.provenance
    return tuple(SourceTensor(op.name, slot, spec) for slot, spec in enumerate(op.outputs))


def _fused(fused: Kernel | None, dtype: str) -> Kernel | None:
    """Return what a kernel computes, its operators in the dtype of its results."""
    if fused is None or not dtype:
        return fused
    ops = tuple(
        replace(
            op,
            outputs=tuple(
                spec._replace(dtype=dtype) if spec.dtype in _FLOATS else spec for spec in op.outputs
            ),
        )
        for op in fused.ops
    )
    return replace(fused, ops=ops)


def roundings(graph: Graph, before: Mapping[str, Formats]) -> dict[str, Formats]:
    """Return what operators of a lowered graph round to beyond their dtypes, by name.

    ``before`` are the formats that the mode gives the operators of the network.
    """
    found: dict[str, Formats] = {}
    for op in graph.ops:
        for one in (op,) if op.fused is None else op.fused.ops:
            mode = before.get(one.name, UNTOUCHED)
            inputs = "" if mode.inputs in STORED else mode.inputs
            output = "" if mode.output in STORED else mode.output
            if (inputs, output) != ("", ""):
                found[one.name] = Formats(inputs, output)
    return found


def annotate_kernel_dtypes(module: Module, target: Target) -> Module:
    """Return the graph whose operators say what their kernels read and write, where they run one by one.

    Its tensors keep the dtypes of the network; these are the device types of its operators, where they are others.
    """
    graph = module.graph
    formats = target.model.formats(graph)
    ops = tuple(_stated(op, own) for op, own in zip(graph.ops, formats, strict=True))
    return replace(module, graph=replace(graph, ops=ops))


def _stated(op: Op, formats: Formats) -> Op:
    """Return an operator with its device types; a unit's own format such as HF32 is none."""
    changed = {formats.inputs, formats.output} & DTYPES.keys()
    if not changed or any(isinstance(operand, Bundle) for operand in op.inputs):
        return op
    taken = tuple(spec for spec in op.input_specs if spec is not None)
    return replace(
        op,
        device_inputs=tuple(_with_dtype(spec, formats.inputs) for spec in taken),
        device_outputs=tuple(_with_dtype(spec, formats.output) for spec in op.outputs),
    )


def _with_dtype(spec: TensorSpec, name: str) -> TensorSpec:
    known = name in DTYPES and spec.dtype in DTYPES and DTYPES[spec.dtype].is_float
    return spec._replace(dtype=name) if known else spec
