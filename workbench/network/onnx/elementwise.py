"""Converters of operators that treat every element alone."""

from __future__ import annotations

from functools import reduce
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.graph_files.onnx.tensors import library
from workbench.network.onnx.node import UnsupportedNodeError, values_of
from workbench.network.symbolic import Operators, record

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.network.onnx.node import Node

    Converter = Callable[[Node], Any]

_SELU = (1.67326319217681884765625, 1.05070102214813232421875)


def renamed(op_type: str, count: int = 1) -> Converter:
    """Return the converter of an operator that has another name."""
    return lambda node: record(op_type, *(node.tensor(index) for index in range(count)))


def joined(op_type: str) -> Converter:
    """Return the converter of any number of inputs, combined from the left."""

    def convert(node: Node) -> Any:
        items = [node.tensor(index) for index in range(len(node.inputs))]
        return reduce(lambda left, right: record(op_type, left, right), items)

    return convert


def number(value: float, dtype: str) -> Any:
    """Return a constant of a dtype, as an operand."""
    return np.asarray(value, DTYPES[dtype].storage)


def cast(item: Any, dtype: str) -> Any:
    """Return an operand in a dtype."""
    if str(item.dtype) == dtype:
        return item
    return record("Cast", item, dst_type=dtype)


def is_float(dtype: str) -> bool:
    """Whether a dtype is one of floats."""
    return DTYPES[dtype].is_float


def dtype_of(code: int) -> str:
    """Dtype of ONNX's number; raises Lacking for one that we do not have."""
    try:
        name: str = np.dtype(library().helper.tensor_dtype_to_np_dtype(code)).name
    except (KeyError, ValueError, TypeError):
        name = str(code)
    if name not in DTYPES:
        raise UnsupportedNodeError("core/choice", subject="dtype", got=name, known=sorted(DTYPES))
    return name


def mean(node: Node) -> Any:
    """Sum, divided by the number of inputs."""
    total = joined("Add")(node)
    return record("RealDiv", total, number(len(node.inputs), node.dtype()))


def divide(node: Node) -> Any:
    """Quotient; integers without the fraction."""
    return renamed("RealDiv" if is_float(node.dtype()) else "TruncateDiv", 2)(node)


def modulo(node: Node) -> Any:
    """Remainder, with the sign of the divisor or of the dividend."""
    return renamed("TruncateMod" if node.attr("fmod", 0) else "FloorMod", 2)(node)


def shift(node: Node) -> Any:
    """Bits to the left or to the right."""
    return renamed("LeftShift" if node.attr("direction") == "LEFT" else "RightShift", 2)(node)


def power(node: Node) -> Any:
    """The exponent may be of another dtype."""
    base, exponent = node.tensor(0), node.tensor(1)
    dtype = node.dtype()
    if is_float(node.dtype(1)) and not is_float(dtype):
        found = record("Pow", cast(base, node.dtype(1)), exponent)
        return cast(found, dtype)
    return record("Pow", base, cast(exponent, dtype))


def clip(node: Node) -> Any:
    """Bounds are attributes before opset 11, and may be computed from then on."""
    bounds: list[Any] = [node.attr("min"), node.attr("max")]
    if node.opset >= 11:
        bounds = [node.tensor(index) if node.has(index) else None for index in (1, 2)]
    x, dtype = node.tensor(), node.dtype()
    limits = [values_of(b) if isinstance(b, Operators | np.ndarray) else b for b in bounds]
    if dtype != "float64" and all(
        b is None or k is not None for b, k in zip(bounds, limits, strict=True)
    ):
        return record(
            "ClampScalar", x, *(None if k is None else np.asarray(k).item() for k in limits)
        )
    for op_type, bound in zip(("Maximum", "Minimum"), bounds, strict=True):
        if bound is not None:
            x = record(op_type, x, number(bound, dtype) if isinstance(bound, float) else bound)
    return x


def convert_cast(node: Node) -> Any:
    """Another dtype."""
    return _cast_node(node, dtype_of(node.attr("to")))


def cast_like(node: Node) -> Any:
    """The dtype of another tensor."""
    return _cast_node(node, node.dtype(1))


def _cast_node(node: Node, dtype: str) -> Any:
    """Eight-bit floats saturate unless told not to."""
    x = node.tensor()
    if dtype.startswith("float8") and node.attr("saturate", 1):
        largest = DTYPES[dtype].largest
        x = record("ClampScalar", x, -largest, largest)
    return record("Cast", x, dst_type=dtype)


def dropout(node: Node) -> Any:
    """Nothing, in inference; the mask is all true."""
    training = node.opset >= 12 and node.has(2) and bool(node.known(2).item())
    if training and (not node.has(1) or node.known(1).item() != 0):
        raise UnsupportedNodeError(
            "graph/onnx-attribute", name="training_mode", expected=[False], got=True
        )
    x = node.tensor()
    return (x, cast(record("OnesLike", x), "bool")) if node.wants(1) else x


def identity(node: Node) -> Any:
    """The input itself."""
    return node.tensor()


def elu(node: Node) -> Any:
    """ELU with alpha."""
    return record("Elu", node.tensor(), float(node.attr("alpha", 1.0)))


def celu(node: Node) -> Any:
    """CELU with alpha."""
    return record("CeLU", node.tensor(), float(node.attr("alpha", 1.0)))


def selu(node: Node) -> Any:
    """SELU; other factors become an ELU and a product."""
    alpha, gamma = node.attr("alpha", _SELU[0]), node.attr("gamma", _SELU[1])
    if np.allclose((alpha, gamma), _SELU, rtol=1e-6):
        return record("SeLU", node.tensor())
    return record("Elu", node.tensor(), float(alpha)) * float(gamma)


def leaky_relu(node: Node) -> Any:
    """max(alpha · x, x), as MindSpore writes it."""
    alpha = float(node.attr("alpha", 0.01))
    x = node.tensor()
    scaled = record("Mul", x, number(alpha, node.dtype()))
    return record("Maximum" if alpha <= 1 else "Minimum", scaled, x)


def prelu(node: Node) -> Any:
    """MindSpore's, with one slope or one for each channel; others broadcast."""
    x, slope = node.tensor(0), node.tensor(1)
    values = values_of(slope)
    channels = (*node.shape()[1:2], *(1,) * (node.rank() - 2))
    fits = slope.shape in (channels, (1, *channels)) and node.rank() > 1
    if values is not None and is_float(node.dtype()) and (values.size == 1 or fits):
        return record("PReLU", x, values.reshape(-1))
    zero = number(0, node.dtype())
    return record(
        "Add", record("Maximum", x, zero), record("Mul", record("Minimum", x, zero), slope)
    )


def hard_sigmoid(node: Node) -> Any:
    """MindSpore's where the line is its own."""
    alpha, beta = node.attr("alpha", 0.2), node.attr("beta", 0.5)
    if np.allclose((alpha, beta), (1 / 6, 0.5), rtol=1e-6):
        return record("HSigmoid", node.tensor())
    dtype = node.dtype()
    line = record("Add", record("Mul", node.tensor(), number(alpha, dtype)), number(beta, dtype))
    return record("ClampScalar", line, 0.0, 1.0)


def thresholded_relu(node: Node) -> Any:
    """Zero up to alpha."""
    return record("Threshold", node.tensor(), float(node.attr("alpha", 1.0)), 0.0)


def shrink(node: Node) -> Any:
    """MindSpore's two kinds, or a choice of three."""
    lambd, bias = float(node.attr("lambd", 0.5)), float(node.attr("bias", 0.0))
    x, dtype = node.tensor(), node.dtype()
    if bias == 0 and is_float(dtype):
        return record("HShrink", x, lambd)
    if bias == lambd and is_float(dtype):
        return record("SoftShrink", x, lambd)
    low, high = record("Less", x, number(-lambd, dtype)), record("Greater", x, number(lambd, dtype))
    rest = record("Select", high, record("Sub", x, number(bias, dtype)), number(0, dtype))
    return record("Select", low, record("Add", x, number(bias, dtype)), rest)


def gelu(node: Node) -> Any:
    """By tanh or by the error function."""
    x, dtype = node.tensor(), node.dtype()
    if node.attr("approximate", "none") == "tanh":
        return record("GeLU", x)
    inner = record("Erf", record("RealDiv", x, number(sqrt(2), dtype)))
    half = record("Mul", x, number(0.5, dtype))
    return record("Mul", half, record("Add", inner, number(1, dtype)))


def swish(node: Node) -> Any:
    """X · sigmoid(alpha · x)."""
    alpha = float(node.attr("alpha", 1.0))
    x = node.tensor()
    if alpha == 1:
        return record("SiLU", x)
    scaled = record("Mul", x, number(alpha, node.dtype()))
    return record("Mul", x, record("Sigmoid", scaled))


def is_inf(node: Node) -> Any:
    """Infinity of both signs or of one."""
    x, dtype = node.tensor(), node.dtype()
    below, above = node.attr("detect_negative", 1), node.attr("detect_positive", 1)
    if below and above:
        return record("IsInf", x)
    if not below and not above:
        return cast(record("ZerosLike", x), "bool")
    return record("Equal", x, number(float("inf") if above else float("-inf"), dtype))


def round_even(node: Node) -> Any:
    """Nearest integer, ties to even."""
    return record("Round", node.tensor(), 0)
