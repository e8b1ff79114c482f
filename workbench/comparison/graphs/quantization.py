"""Operators between a quantization and its end: their tensors are integers of another scale.

Which they are tell names and dtypes, as for msaccucmp (``quant_filter``): tools that quantize networks for
TensorFlow, Caffe and ONNX each have their names, and a kernel into which such an operator was fused has them
in its own or among those that it stands for. ``AscendAntiQuant``, which those names miss, is told by its type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.comparison.graphs.ge_origins import original_names
from workbench.core.dtypes import DTYPES
from workbench.graph.nodes import Value

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec
    from workbench.graph.nodes import Graph, Op

QUANT = re.compile(r"_quant_layer|/AscendQuant|/AscendWeightQuant|\.quant|\.weight_quant")
DEQUANT = re.compile(
    r"_dequant_layer|_anti_quant_layer|/AscendDequant|/AntiQuant|\.dequant|\.anti_quant|/AscendAntiQuant"
)

_QUANT_TYPES = frozenset(("AscendQuant", "AscendWeightQuant", "AscendQuantV2"))
_DEQUANT_TYPES = frozenset(("AscendDequant", "AscendAntiQuant", "AscendAntiQuantV2"))


@dataclass(frozen=True, slots=True)
class Quantised:
    """Operators of a graph by what they have to do with integers of another scale.

    ``quant`` give int8, ``dequant`` floats again (a kernel may do both); ``inside`` lie between, whatever
    they read. ``integers`` are outputs of that scale.
    """

    quant: frozenset[int] = frozenset()
    dequant: frozenset[int] = frozenset()
    inside: frozenset[int] = frozenset()
    integers: frozenset[Value] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.quant or self.dequant)

    def hides(self, number: int, io: str, slot: int, op: Op) -> bool:
        """Whether a tensor of an operator cannot be compared with floats."""
        if io == "output":
            return Value(number, slot) in self.integers
        if number not in self.inside:
            return False
        specs = op.device_inputs or op.input_specs
        spec = specs[slot] if slot < len(specs) else None
        operand = op.operand(slot)
        return operand in self.integers or not _is_float(spec)


NOTHING = Quantised()


def find_quantised(graph: Graph) -> Quantised:
    """Return the operators of a graph that quantize, end it, and lie between."""
    quant, dequant, inside, integers = set[int](), set[int](), set[int](), set[Value]()
    for number, op in enumerate(graph.ops):
        begins, ends = _kinds(op)
        pair = any(operand in integers for operand in op.flat_inputs())
        if pair:
            inside.add(number)
        for slot, spec in enumerate(op.device_outputs or op.outputs):
            if begins and spec.dtype == "int8":
                quant.add(number)
                integers.add(Value(number, slot))
            elif ends and _is_float(spec) and (pair or op.op_type in _DEQUANT_TYPES):
                dequant.add(number)
            elif pair:
                integers.add(Value(number, slot))
    return Quantised(frozenset(quant), frozenset(dequant), frozenset(inside), frozenset(integers))


def _kinds(op: Op) -> tuple[bool, bool]:
    """Whether an operator quantizes, and whether it ends that, by its names and type."""
    names = op.name, "".join(original_names(op) or ())
    return (
        op.op_type in _QUANT_TYPES or any(QUANT.search(name) for name in names),
        op.op_type in _DEQUANT_TYPES or any(DEQUANT.search(name) for name in names),
    )


def _is_float(spec: TensorSpec | None) -> bool:
    row = DTYPES.get(spec.dtype) if spec is not None else None
    return row is not None and row.is_float
