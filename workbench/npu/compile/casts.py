"""Number formats of compiled operators: what each reads and writes, and a Cast wherever they differ.

The precision mode decides as it does for operators that run one by one (`workbench.npu.modes`), but here
tensors really change their dtypes. Casts are called ``trans_Cast_{n}`` as in GE, and one serves all readers
of a value. HF32, which no tensor can have, stays a rounding inside the unit.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.dtypes import DTYPES
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Fused, Op, Original, Param, Value
from workbench.graph.rewrite import Rewrite
from workbench.npu.compile.provenance import INSERTED
from workbench.npu.numerics import UNTOUCHED, Formats
from workbench.npu.ops_info import op_info
from workbench.ops import OPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.graph.graph import Graph, Operand
    from workbench.npu.ops_info import op_info
from workbench.npu.numerics import NumericModel

STORED = frozenset(("float16", "bfloat16", "float32", "hifloat8"))
"""Formats of the precision modes that tensors can have."""

NUMBERS: dict[str, int] = {
    row.name: row.acl
    for row in DTYPES.values()
    if row.is_float and not row.is_complex and row.acl is not None
}
"""Float → its number in ``ge::DataType``, which is not that of ``ge.proto``."""

_TRANS = re.compile(r"trans_\w+?_(\d{1,9})", re.ASCII)


class Inserting(Rewrite):
    """A graph into which operators are inserted; their numbers go on from those that it has."""

    def __init__(self, old: Graph) -> None:
        super().__init__(old)
        known = (found for op in old.ops if (found := _TRANS.fullmatch(op.name)))
        self._next = max((int(found[1]) + 1 for found in known), default=0)
        self._made: dict[tuple[object, ...], Value] = {}

    def insert(self, kind: str, source: Operand, given: TensorSpec, **fields: Any) -> Value:
        """Return the output of an inserted operator; the same one for the same source and fields."""
        attrs = fields.pop("attrs", {})
        key = (kind, source, given, tuple(sorted(fields.items())), tuple(sorted(attrs.items())))
        if key not in self._made:
            name = f"trans_{kind}_{self._next}"
            self._next += 1
            op = Op(name, kind, (source,), {**attrs, **INSERTED}, (given,), **fields)
            self._made[key] = Value(self.add(op))
        return self._made[key]


def lower(graph: Graph, model: NumericModel) -> Graph:
    """Return the graph in the dtypes that a precision mode gives it, with the Casts that this takes."""
    return _Lowering(graph, model).graph()


class _Lowering(Inserting):
    def __init__(self, old: Graph, model: NumericModel) -> None:
        super().__init__(old)
        for number, formats in enumerate(model.formats(old)):
            self._lower(number, formats)

    def graph(self) -> Graph:
        """Return the new graph; its results have the dtypes of the network."""
        outputs = tuple(
            self._as(self.operand(operand), self._was(operand)) for operand in self.old.outputs
        )
        return replace(super().graph(), ops=tuple(self.ops), outputs=outputs)

    def _lower(self, number: int, formats: Formats) -> None:
        op = self.old.ops[number]
        if op.op_type not in OPS or op.op_type == "Cast":
            formats = UNTOUCHED
        reads = formats.inputs if formats.inputs in STORED else ""
        writes = formats.output if formats.output in STORED else ""
        lowered = bool(reads or writes) and _is_float(op)
        count = 2 if OPS.get(op.op_type) and OPS[op.op_type].engine == "cube" else len(op.inputs)
        info = op_info(op.op_type)
        inputs = []
        for slot, operand in enumerate(op.inputs):
            wanted = reads if slot < count else writes  # the bias is added to the sums
            kept = slot in info.keeps_inputs or not lowered
            spec = self._spec(self.operand(operand))
            if spec is not None and spec.dtype in info.reads_as_is:
                inputs.append(self.operand(operand))
            else:
                inputs.append(self._input(operand, "" if kept else wanted))
        outputs = tuple(
            spec._replace(dtype=writes)
            if lowered and writes and spec.dtype in _FLOATS and slot not in info.keeps_outputs
            else spec
            for slot, spec in enumerate(op.outputs)
        )
        name = info.dtype_attribute
        told = {name: NUMBERS[outputs[0].dtype]} if name else {}
        new = replace(
            op, inputs=tuple(inputs), attrs={**op.attrs, **told}, outputs=outputs, input_specs=self._specs(inputs),
            origins=_origins(op, outputs), fused=_fused(op.fused, writes if lowered else ""),
        )  # fmt: skip
        self.stand(number, new)

    def _input(self, operand: Operand, wanted: str) -> Operand:
        """Return an operand in a dtype, or in the network's if it is empty."""
        if isinstance(operand, Bundle):
            items = tuple(self._input(item, wanted) for item in operand.items)
            return replace(operand, items=items)
        was = self._was(operand)
        return self._as(self.operand(operand), wanted if wanted and was in _FLOATS else was)

    def _was(self, operand: Operand) -> str:
        """Dtype of an operand in the network."""
        if isinstance(operand, Value):
            specs = self.old.ops[operand.op].outputs
            return specs[operand.slot].dtype if operand.slot < len(specs) else ""
        if isinstance(operand, Param):
            return self.old.parameters[operand.index].spec.dtype
        return operand.dtype if isinstance(operand, Const) else ""

    def _spec(self, operand: Operand) -> TensorSpec | None:
        if isinstance(operand, Value):
            specs = self.ops[operand.op].outputs
            return specs[operand.slot] if operand.slot < len(specs) else None
        return self.parameters[operand.index].spec if isinstance(operand, Param) else None

    def _as(self, operand: Operand, wanted: str) -> Operand:
        """Return an operand of the new graph in a dtype, by way of a Cast if it has another."""
        if isinstance(operand, Const):
            lowered = operand.dtype in _FLOATS and wanted in _FLOATS
            return replace(operand, dtype=wanted) if lowered else operand
        spec = self._spec(operand)
        if spec is None or not wanted or spec.dtype == wanted:
            return operand
        attrs = {"dst_type": NUMBERS[wanted]} if wanted in NUMBERS else {}
        return self.insert(
            "Cast", operand, spec._replace(dtype=wanted), input_specs=(spec,), attrs=attrs
        )

    def _specs(self, inputs: list[Operand]) -> tuple[TensorSpec | None, ...]:
        return tuple(self._spec(operand) for operand in inputs)


_FLOATS = STORED | {"float64"}


def _is_float(op: Op) -> bool:
    return bool(op.outputs) and op.outputs[0].dtype in _FLOATS


def _origins(op: Op, outputs: tuple[TensorSpec, ...]) -> tuple[Original | None, ...]:
    """Tensors of the network that the outputs are, if they are no longer of its dtype."""
    if op.origins or outputs == op.outputs:
        return op.origins
    return tuple(Original(op.name, slot, spec) for slot, spec in enumerate(op.outputs))


def _fused(fused: Fused | None, dtype: str) -> Fused | None:
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
