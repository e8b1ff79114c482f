"""What of a network can be quantized, and with which scales: largest magnitudes over 127."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.graph import Param, Value
from workbench.npu.compile.patterns import Matcher
from workbench.ops import IN_PLACE, bind
from workbench.run.executor import parameter_values
from workbench.run.reference import run_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Op, Operand

    F32 = NDArray[np.float32]

_LARGEST = 127
_LONGEST = 131_071
"""Most products of int8 whose sum surely fits in int32."""

_FLOATS = frozenset(("float32", "float16", "bfloat16"))


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution or product with a weight; ``axis`` of the weight are its output channels.

    ``adder`` adds a bias to its result, which nothing else reads.
    """

    op: int
    weight: Param
    axis: int
    adder: int | None = None
    bias: Param | None = None

    @property
    def last(self) -> int:
        """The operator whose result is the layer's."""
        return self.op if self.adder is None else self.adder


def find_layers(graph: Graph) -> list[Layer]:
    """Return what can be quantized: Conv2D, and products with a weight of rank 2 that stays as it is."""
    matcher, updated = Matcher(graph), _updated(graph)
    found = (_layer(matcher, number, op) for number, op in enumerate(graph.ops))
    return [one for one in found if one is not None and not {one.weight, one.bias} & updated]


def _updated(graph: Graph) -> set[Operand | None]:
    """Weights that the graph itself changes: they have no scale that holds."""
    return {
        operand
        for op in graph.ops
        for slot, operand in enumerate(op.flat_inputs())
        if isinstance(operand, Param) and slot in IN_PLACE.get(op.op_type, ())
    }


def _layer(matcher: Matcher, number: int, op: Op) -> Layer | None:
    if op.op_type not in ("Conv2D", "MatMul", "BatchMatMul"):
        return None
    bound = bind(op)
    x, weight = bound.tensors
    spec = _weight(matcher, weight)
    given = matcher.graph.spec(x)
    if not isinstance(weight, Param) or spec is None or given is None:
        return None
    convolution = op.op_type == "Conv2D"
    shape = spec.shape or ()
    if given.dtype not in _FLOATS or len(shape) != (4 if convolution else 2):
        return None
    axis = 0 if convolution or bound.settings["transpose_b"] is True else 1
    if 0 in shape or int(np.prod(shape)) // shape[axis] > _LONGEST:
        return None
    return _with_bias(matcher, Layer(number, weight, axis), shape[axis])


def _weight(matcher: Matcher, operand: Operand) -> TensorSpec | None:
    """Spec of an operand that is a weight of floats."""
    spec = matcher.graph.spec(operand) if matcher.is_weight(operand) else None
    return spec if spec is not None and spec.dtype in _FLOATS else None


def _with_bias(matcher: Matcher, layer: Layer, channels: int) -> Layer:
    """Add the bias of a layer whose sums go nowhere else."""
    readers, ops = matcher.readers(layer.op), matcher.graph.ops
    number = next(iter(readers), -1)
    if len(readers) != 1 or number < 0:
        return layer
    added = ("BiasAdd",) if ops[layer.op].op_type == "Conv2D" else ("BiasAdd", "Add")
    if ops[number].op_type not in added:
        return layer
    operands = bind(ops[number]).tensors
    bias = operands[operands[0] == Value(layer.op)]
    spec = _weight(matcher, bias)
    if not isinstance(bias, Param) or spec is None or spec.shape != (channels,):
        return layer
    return replace(layer, adder=number, bias=bias)


def weight_scales(
    graph: Graph, layers: Iterable[Layer], feeds: Mapping[str, Any], *, channels: bool
) -> dict[int, F32]:
    """Return the scales of weights by the number of their operator: one, or one for every channel."""
    values = parameter_values(graph, feeds)
    found = {}
    for layer in layers:
        weight = np.abs(values[layer.weight.index].astype(np.float32))
        others = tuple(n for n in range(weight.ndim) if n != layer.axis)
        found[layer.op] = _scale(weight.max(axis=others) if channels else weight.max())
    return found


def input_scales(
    graph: Graph, layers: Iterable[Layer], feeds: Mapping[str, Any]
) -> dict[int, np.float32]:
    """Return the scale of every layer's input, from one run of the network on the reference."""
    wanted = {graph.ops[layer.op].name: layer.op for layer in layers}
    found = {}
    for record in run_reference(graph, feeds, dtype="float32") if wanted else ():
        key = record.key
        if (
            (key.io, key.slot) == ("input", 0)
            and key.op_name in wanted
            and record.source is not None
        ):
            largest = np.abs(record.source.array().astype(np.float32)).max(initial=0)
            found[wanted[key.op_name]] = np.float32(_scale(largest))
    return found


def _scale(largest: Any) -> F32:
    """Scale for a largest magnitude; 1 where there is nothing, or nothing finite."""
    usable = np.isfinite(largest) & (largest > 0)
    return np.asarray(np.where(usable, largest / np.float32(_LARGEST), 1), np.float32)
