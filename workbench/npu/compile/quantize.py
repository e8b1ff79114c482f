"""Quantize a network to 8 bits before it is compiled, as CANN's tools do (AMCT, msmodelslim).

``w8a8``: a layer's input and weight become int8, their sums are exact int32, and a word for every output
channel (`TransQuantParamV2`) makes floats of them::

    AscendQuant ─ Conv2D or MatMul [─ bias, int32] ─ AscendDequant

``w8a16``: weights alone are int8, and AscendAntiQuant makes floats of them before the layer reads them.

Both are symmetric, without offset. The scale of an input comes from calibration data, that of a weight from
the weight: one for every output channel in w8a8, one for all in w8a16. Names of operators are those that
AMCT gives; the network's own operators stay what they were.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import IS_PART, Const, Kernel, Op, Param, Parameter, Value
from workbench.graph.rewrite import GraphBuilder
from workbench.npu.compile.calibration import find_layers, input_scales, weight_scales
from workbench.npu.compile.folding import chain, drop_unused_constants
from workbench.npu.compile.provenance import INSERTED, origin_of, originals
from workbench.ops import OPS, run_kernel
from workbench.run.executor import feeds_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.graph.graph import Graph, Operand
    from workbench.npu.compile.calibration import Layer
    from workbench.npu.compile.program import Module
    from workbench.npu.target import Target

    Array = NDArray[Any]

MODES = ("w8a8", "w8a16")
"""Bits of weights and of activations, as msmodelslim calls it."""

GE_FLOAT, GE_INT8 = 0, 2
"""GE's numbers of float32 and int8."""

WEIGHT, BIAS = ".weight_quant", ".quant"
"""What is appended to the name of a weight for what has become of it."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """How a network is quantized: one of `MODES`, and feeds to calibrate with.

    What ``calibration`` lacks comes from the traced graph.
    """

    mode: str
    calibration: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise GraphError("core/choice", subject="quantization", got=self.mode, known=[*MODES])


def quantize(graph: Graph, asked: Quantization) -> tuple[Graph, Mapping[str, Kernel]]:
    """Return the quantized network, and how to compute its weights from those it was given.

    Raises GraphError if there is nothing to quantize, or nothing to calibrate with.
    """
    layers = find_layers(graph)
    if not layers:
        raise GraphError("run/nothing-to-quantize", graph=graph.name)
    feeds = feeds_at(graph, asked.calibration, 0)
    scales = weight_scales(graph, layers, feeds, channels=asked.mode == "w8a8")
    builder = _QuantizingBuilder(graph, scales)
    if asked.mode == "w8a16":
        quantize_w8a16(builder, layers)
    else:
        quantize_w8a8(builder, layers, input_scales(graph, layers, feeds))
    return drop_unused_constants(builder.build()), builder.constants


def quantize_network(module: Module, target: Target) -> Module:
    """Return the module with a quantized network; weights are computed from those that it was given."""
    assert target.quantization is not None
    graph, constants = quantize(module.graph, target.quantization)
    return replace(module, graph=graph, constants=constants)


def quantize_w8a16(builder: _QuantizingBuilder, layers: list[Layer]) -> None:
    """Write a network with weights that become floats again."""
    found = {layer.op: layer for layer in layers}
    for number in range(len(builder.old.ops)):
        if number in found:
            builder.restore_weight(found[number])
        else:
            builder.keep(number)


def quantize_w8a8(
    builder: _QuantizingBuilder, layers: list[Layer], inputs: Mapping[int, np.float32]
) -> None:
    """Write a network with layers that sum int8 products in int32; ``inputs`` are the scales of their inputs."""
    found = {layer.op: layer for layer in layers}
    inside = {layer.adder for layer in layers}
    for number in range(len(builder.old.ops)):
        if number in found:
            builder.sum_integers(found[number], inputs[number])
        elif number not in inside:
            builder.keep(number)


class _QuantizingBuilder(GraphBuilder):
    """A network while its layers are quantized; ``constants`` says how its new weights are computed."""

    def __init__(self, old: Graph, scales: Mapping[int, Array]) -> None:
        super().__init__(old)
        self.constants: dict[str, Kernel] = {}
        self._scales = scales
        self._names: set[str] = {op.name for op in old.ops}
        self._made: dict[tuple[object, ...], Param] = {}
        self._quantized: dict[tuple[Operand, np.float32], Value] = {}

    def restore_weight(self, layer: Layer) -> None:
        """Write a layer that reads its weight as floats made of int8."""
        op, number = self.old.ops[layer.op], layer.op
        attrs = {"scale": float(self._scales[number]), "offset": 0.0, "dtype": GE_FLOAT}
        weight = self._int8(layer)
        dtype = self.old.parameters[layer.weight.index].spec.dtype
        again = self._beside(op, "anti_quant", "AscendAntiQuant", (weight,), attrs, dtype)
        self.replace(number, self._with(op, {1: again}))

    def sum_integers(self, layer: Layer, of_input: np.float32) -> None:
        """Write a layer that multiplies int8; ``of_input`` is the scale of its input."""
        op, last = self.old.ops[layer.op], self.old.ops[layer.last]
        scale = of_input * self._scales[layer.op]
        words = run_kernel("TransQuantParamV2", [scale], OPS["TransQuantParamV2"].defaults)[0]
        used = (words & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)
        operands: dict[int, Operand] = {0: self._int8_input(op, of_input), 1: self._int8(layer)}
        sums = Value(self.insert(_part(self._with(op, operands))))
        if layer.adder is not None and layer.bias is not None:
            bias = self._constant(layer.bias, BIAS, used, "int32")
            self.put(Value(layer.op), sums)
            place = last.inputs.index(layer.bias)
            sums = Value(self.insert(_part(self._with(last, {place: bias}))))
        attrs = {"dtype": GE_FLOAT, IS_PART: True, **originals((op, last)[: 1 + (op is not last)])}
        dtype = last.outputs[0].dtype
        result = self._beside(
            op, "dequant", "AscendDequant", (sums, _constant(words)), attrs, dtype
        )
        self.ops[result.op] = replace(self.ops[result.op], provenance=(origin_of(last, 0),))
        self.put(Value(layer.last), result)

    def _int8_input(self, op: Op, scale: np.float32) -> Value:
        """Return a layer's input in int8; one operator serves all that read it with the same scale."""
        key = (op.inputs[0], scale)
        if key not in self._quantized:
            attrs = {"scale": float(np.float32(1) / scale), "offset": 0.0, "dst_type": GE_INT8}
            x = self.operand(op.inputs[0])
            self._quantized[key] = self._beside(op, "act_quant", "AscendQuant", (x,), attrs, "int8")
        return self._quantized[key]

    def _int8(self, layer: Layer) -> Param:
        """Return the layer's weight in int8, a constant of its own."""
        scale = self._scales[layer.op]
        spec = self.old.parameters[layer.weight.index].spec
        shape = [-1 if axis == layer.axis else 1 for axis in range(len(spec.shape or ()))]
        return self._constant(
            layer.weight, WEIGHT, scale.reshape(shape if scale.ndim else []), "int8"
        )

    def _constant(self, weight: Param, word: str, scale: Array, dtype: str) -> Param:
        """Return what becomes of a weight that is divided by scales and rounded to integers."""
        key = (weight, word, scale.tobytes())
        if key not in self._made:
            old = self.old.parameters[weight.index]
            name = _own(old.name + word, {one.name for one in self.parameters})
            whole = old.spec._replace(dtype="float32")
            spec = TensorSpec(dtype, old.spec.shape)
            divisor = _constant(scale)
            self.constants[name] = chain(
                (
                    Op("", "RealDiv", (weight, divisor), outputs=(whole,)),
                    Op("", "Rint", (Value(0),), outputs=(whole,)),
                    Op("", "Cast", (Value(1),), {"dst_type": dtype}, (spec,)),
                )
            )
            self._made[key] = self.add_parameter(Parameter(name, spec, is_weight=True, folded=True))
        return self._made[key]

    def _beside(
        self,
        op: Op,
        word: str,
        kind: str,
        inputs: tuple[Operand, ...],
        attrs: Mapping[str, Any],
        dtype: str,
    ) -> Value:
        """Append an operator of quantization, called as AMCT would, next to ``op``."""
        row = OPS[kind]
        name = _own("/".join(filter(None, (op.scope, word))), self._names, f"/{kind}")
        specs = tuple(self.spec(operand) for operand in inputs)
        given = TensorSpec(dtype, specs[0].shape if specs[0] is not None else None)
        settings = {**row.defaults, **INSERTED, **attrs}
        return Value(
            self.insert(Op(name, kind, inputs, settings, (given,), specs, frames=op.frames))
        )

    def _with(self, op: Op, operands: Mapping[int, Operand]) -> Op:
        """Return an old operator with new operands in some places."""
        inputs = tuple(
            operands.get(slot, self.operand(operand)) for slot, operand in enumerate(op.inputs)
        )
        return replace(op, inputs=inputs, input_specs=tuple(self.spec(one) for one in inputs))


def _part(op: Op) -> Op:
    """Return an operator of a layer whose result is int32 and no tensor of the network."""
    attrs = {**op.attrs, **originals((op,)), IS_PART: True}
    outputs = (op.outputs[0]._replace(dtype="int32"),)
    return replace(op, attrs=attrs, outputs=outputs, provenance=(None,))


def _constant(array: Array) -> Const:
    value = tuple(array.ravel().tolist()) if array.ndim else array.item()
    return Const(value, array.dtype.name, array.shape)


def _own(name: str, taken: set[str], behind: str = "") -> str:
    """Return a name that is not taken yet, and take it."""
    own, number = name + behind, 0
    while own in taken:
        number += 1
        own = f"{name}_{number}{behind}"
    taken.add(own)
    return own
