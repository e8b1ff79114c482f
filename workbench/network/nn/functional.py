"""Operators as functions, named like ``mindspore.ops``: ``relu(x)``, ``matmul(a, b)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.network.control import cond, while_loop
from workbench.network.nn.array_functions import (
    amax,
    amin,
    argmax,
    broadcast_to,
    cumsum,
    equal,
    flip,
    gather_elements,
    gather_nd,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    one_hot,
    pad,
    select,
    split,
    squeeze,
    stack,
    tile,
    topk,
)
from workbench.network.nn.math_functions import (
    ascend_anti_quant,
    ascend_dequant,
    ascend_quant,
    ceil,
    clamp,
    cos,
    elu,
    floor,
    hardsigmoid,
    hardswish,
    leaky_relu,
    mish,
    prelu,
    reciprocal,
    relu6,
    round,
    selu,
    sign,
    silu,
    sin,
    softplus,
    softsign,
)
from workbench.network.nn.parallel import all_gather, all_reduce, broadcast, reduce_scatter
from workbench.network.symbolic import Operators, Tensor, binary, record, record_all
from workbench.ops.kernels.window import PAD_MODES, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "abs",
    "add",
    "all_gather",
    "all_reduce",
    "amax",
    "amin",
    "argmax",
    "ascend_anti_quant",
    "ascend_dequant",
    "ascend_quant",
    "avg_pool2d",
    "batch_norm",
    "bias_add",
    "broadcast",
    "broadcast_to",
    "cast",
    "ceil",
    "clamp",
    "concat",
    "cond",
    "conv2d",
    "conv2d_transpose",
    "cos",
    "cumsum",
    "div",
    "elu",
    "equal",
    "erf",
    "exp",
    "expand_dims",
    "flatten",
    "flip",
    "floor",
    "gather",
    "gather_elements",
    "gather_nd",
    "gelu",
    "greater",
    "greater_equal",
    "hardsigmoid",
    "hardswish",
    "layer_norm",
    "leaky_relu",
    "less",
    "less_equal",
    "log",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "masked_fill",
    "matmul",
    "max_pool2d",
    "maximum",
    "mean",
    "minimum",
    "mish",
    "mul",
    "neg",
    "not_equal",
    "one_hot",
    "pad",
    "pow",
    "prelu",
    "reciprocal",
    "reduce_scatter",
    "relu",
    "relu6",
    "reshape",
    "round",
    "rsqrt",
    "select",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "softplus",
    "softsign",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "sub",
    "sum",
    "tanh",
    "tile",
    "topk",
    "transpose",
    "while_loop",
]

_PAD_NUMBERS = {word: number for number, word in PAD_MODES.items()}


def relu(x: Operators) -> Tensor:
    """max(x, 0)."""
    return record("ReLU", x)


def sigmoid(x: Operators) -> Tensor:
    """1 / (1 + exp(-x))."""
    return record("Sigmoid", x)


def tanh(x: Operators) -> Tensor:
    """Hyperbolic tangent."""
    return record("Tanh", x)


def gelu(x: Operators) -> Tensor:
    """GELU by the tanh formula."""
    return record("GeLU", x)


def erf(x: Operators) -> Tensor:
    """Error function."""
    return record("Erf", x)


def exp(x: Operators) -> Tensor:
    """Exponential."""
    return record("Exp", x)


def log(x: Operators) -> Tensor:
    """Natural logarithm."""
    return record("Log", x)


def sqrt(x: Operators) -> Tensor:
    """Square root."""
    return record("Sqrt", x)


def rsqrt(x: Operators) -> Tensor:
    """1 / sqrt(x)."""
    return record("Rsqrt", x)


def square(x: Operators) -> Tensor:
    """Multiply x by itself."""
    return record("Square", x)


def abs(x: Operators) -> Tensor:
    """Absolute value."""
    return record("Abs", x)


def neg(x: Operators) -> Tensor:
    """-x."""
    return record("Neg", x)


def add(x: Any, y: Any) -> Tensor:
    """Sum of two."""
    return binary("Add", x, y)


def sub(x: Any, y: Any) -> Tensor:
    """Difference of two."""
    return binary("Sub", x, y)


def mul(x: Any, y: Any) -> Tensor:
    """Product of two."""
    return binary("Mul", x, y)


def div(x: Any, y: Any) -> Tensor:
    """Quotient of two."""
    return binary("RealDiv", x, y)


def maximum(x: Any, y: Any) -> Tensor:
    """Elementwise larger."""
    return binary("Maximum", x, y)


def minimum(x: Any, y: Any) -> Tensor:
    """Elementwise smaller."""
    return binary("Minimum", x, y)


def pow(x: Any, exponent: Any) -> Tensor:
    """X to the power of the exponent."""
    return binary("Pow", x, exponent)


def matmul(
    x: Operators, y: Operators, transpose_a: bool = False, transpose_b: bool = False
) -> Tensor:
    """Matrix product; stacks of matrices (rank over 2) become a `BatchMatMul`."""
    stacked = x.ndim > 2 or y.ndim > 2
    return record("BatchMatMul" if stacked else "MatMul", x, y, transpose_a, transpose_b)


def bias_add(x: Operators, bias: Operators) -> Tensor:
    """Add a vector along axis 1."""
    return record("BiasAdd", x, bias, 0)


def conv2d(
    x: Operators,
    weight: Operators,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    group: int = 1,
) -> Tensor:
    """Convolve (N, C, H, W) with a weight (O, C / group, kh, kw)."""
    return record(
        "Conv2D",
        x,
        weight,
        kernel_size=tuple(weight.shape[2:]),
        mode=1,
        out_channel=weight.shape[0] if weight.shape else 0,
        pad=(padding,) * 4 if isinstance(padding, int) else tuple(padding),
        pad_mode=pad_mode,
        format="NCHW",
        groups=group,
        stride=(1, 1, *pair(stride)),
        group=group,
        dilation=(1, 1, *pair(dilation)),
    )


def conv2d_transpose(
    x: Operators, weight: Operators, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0
) -> Tensor:
    """Spread (N, O, h, w) by a weight (O, C, kh, kw): what the input of a convolution is given."""
    (high, wide), (down, right) = tuple(weight.shape[2:]), pair(stride)
    pads = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
    sizes = (x.shape[2] * down, x.shape[3] * right)
    if pad_mode != "same":
        top, bottom, left, right_pad = pads if pad_mode == "pad" else (0, 0, 0, 0)
        sizes = (
            (x.shape[2] - 1) * down + high - top - bottom,
            (x.shape[3] - 1) * right + wide - left - right_pad,
        )
    return record(
        "Conv2DTranspose",
        x,
        weight,
        (x.shape[0], weight.shape[1], *sizes),
        kernel_size=(high, wide),
        mode=1,
        out_channel=weight.shape[0],
        pad=pads,
        pad_mode=pad_mode,
        format="NCHW",
        groups=1,
        stride=(1, 1, down, right),
        group=1,
        dilation=(1, 1, 1, 1),
    )


def max_pool2d(
    x: Operators, kernel_size: Any, stride: Any = None, pad_mode: str = "valid"
) -> Tensor:
    """Largest value of each window."""
    return record(
        "MaxPool",
        x,
        kernel_size=(1, 1, *pair(kernel_size)),
        strides=(1, 1, *pair(kernel_size if stride is None else stride)),
        pad_mode=pad_mode.upper(),
        format="NCHW",
    )


def avg_pool2d(
    x: Operators, kernel_size: Any, stride: Any = None, pad_mode: str = "valid"
) -> Tensor:
    """Mean of each window, padding not counted."""
    strides = pair(kernel_size if stride is None else stride)
    return record("AvgPool", x, pair(kernel_size), strides, _PAD_NUMBERS.get(pad_mode, pad_mode), 0)


def reshape(x: Operators, shape: tuple[int, ...]) -> Tensor:
    """Return the same elements in another shape; at most one size may be -1."""
    return record("Reshape", x, tuple(shape))


def flatten(x: Operators) -> Tensor:
    """Join every axis but the first."""
    return record("Flatten", x)


def transpose(x: Operators, axes: tuple[int, ...]) -> Tensor:
    """Return the axes in another order."""
    return record("Transpose", x, tuple(axes))


def expand_dims(x: Operators, axis: int) -> Tensor:
    """Insert an axis of size 1."""
    return record("ExpandDims", x, axis)


def concat(tensors: Sequence[Operators], axis: int = 0) -> Tensor:
    """Join tensors along an axis."""
    return record("Concat", tuple(tensors), axis)


def gather(x: Operators, indices: Any, axis: int = 0) -> Tensor:
    """Take slices of ``x`` along an axis."""
    return record("Gather", x, indices, axis, 0)


def masked_fill(x: Operators, mask: Any, value: float) -> Tensor:
    """Return ``value`` where the mask is true, else ``x``."""
    return record("MaskedFill", x, mask, value)


def softmax(x: Operators, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis."""
    return record("Softmax", x, (axis,))


def log_softmax(x: Operators, axis: int = -1) -> Tensor:
    """Logarithm of the softmax along an axis."""
    return record("LogSoftmax", x, axis)


def mean(x: Operators, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Mean over the axes (none: all)."""
    return x.mean(axis, keep_dims)


def sum(x: Operators, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Sum over the axes (none: all)."""
    return x.sum(axis, keep_dims)


def cast(x: Operators, dtype: Any) -> Tensor:
    """Round to another dtype."""
    return x.astype(dtype)


def layer_norm(
    x: Operators, gamma: Operators, beta: Operators, begin_axis: int = -1, epsilon: float = 1e-5
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta over the axes from ``begin_axis`` on."""
    return record_all("LayerNorm", x, gamma, beta, begin_axis, begin_axis, float(epsilon))[0]


def batch_norm(
    x: Operators,
    scale: Operators,
    bias: Operators,
    mean: Operators,
    variance: Operators,
    epsilon: float = 1e-5,
    momentum: float = 0.1,
    *,
    training: bool = False,
) -> Tensor:
    """Normalize with given moments; in training with those of the batch, which the given ones follow."""
    settings = (training, float(epsilon), float(momentum), 0)
    return record_all("BatchNorm", x, scale, bias, mean, variance, *settings)[0]
