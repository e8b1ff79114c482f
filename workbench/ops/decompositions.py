"""Operators that do the work of several of the table: what they are made of.

Each is a function of the operator that gives `workbench.graph.graph.Kernel`: in its operands ``Param(i)`` is
flat input ``i`` of the operator. Argument names and defaults are MindSpore's (its operator definitions, 2.10),
for types that only CANN has those of its documents. What a document leaves open is refused.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph.graph import Const, Kernel, Op, Param, Value
from workbench.ops.aliases import renamed
from workbench.ops.table import KNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.graph.graph import Operand

OF_LOGARITHM = -100.0
"""Least logarithm that a cross entropy counts."""


def is_absent(operand: Operand | None) -> bool:
    """Whether an optional argument is not given."""
    return operand is None or (isinstance(operand, Const) and operand.dtype == "None")


def number(value: float) -> Const:
    """Constant scalar, as precise as the arithmetic that reads it."""
    return Const(float(value), "float64", ())


class Parts:
    """An operator while it is taken apart."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.ops: list[Op] = []
        self._given = list(op.flat_inputs())
        self._names = KNOWN[op.op_type].arguments if op.op_type in KNOWN else ()

    def add(self, kind: str, *inputs: Operand, **attrs: Any) -> Value:
        """Append an operator of the table; return its first output."""
        self.ops.append(Op(self.op.name, kind, inputs, attrs, self.op.outputs[:1], ()))
        return Value(len(self.ops) - 1)

    def done(self, *results: Value) -> Kernel:
        """Return the parts; without results, the last one gives the only one."""
        return Kernel(tuple(self.ops), results or (Value(len(self.ops) - 1),))

    def tensor(self, name: str | int) -> Operand | None:
        """Tensor argument by name or place, a constant as it is; ``None`` if it is not given."""
        place = self._place(name)
        if place is None or is_absent(self._given[place]):
            return None
        given = self._given[place]
        return given if isinstance(given, Const) else Param(place)

    def needed(self, name: str | int) -> Operand:
        """Tensor argument that must be given; raises GraphError."""
        found = self.tensor(name)
        if found is None:
            raise GraphError("compare/input-missing", slot=self._place(name) or 0)
        return found

    def setting(self, name: str, default: Any = None) -> Any:
        """Constant argument or attribute; raises GraphError if it is computed."""
        place = self._place(name)
        if place is None:
            value = self.op.attrs.get(name, default)
        else:
            given = self._given[place]
            if not isinstance(given, Const):
                raise GraphError("graph/sizes-unknown", subject=name, got=given)
            value = given.value
        return default if value in (None, "None") else value

    def sizes(self, name: str, default: Any, count: int) -> tuple[int, ...]:
        """Return a setting of ``count`` numbers; one stands for all."""
        value = self.setting(name, default)
        found = (value,) * count if isinstance(value, int) else tuple(value)
        found = found * count if len(found) == 1 else found
        if len(found) != count or not all(isinstance(one, int) for one in found):
            raise GraphError("graph/sizes-unknown", subject=name, got=value)
        return found

    def shape(self, name: str | int) -> tuple[int, ...]:
        """Shape of a tensor argument, as the graph states it; raises GraphError if it does not."""
        place = self._place(name)
        specs = self.op.input_specs
        spec = specs[place] if place is not None and place < len(specs) else None
        if spec is None or spec.shape is None:
            raise GraphError("graph/open-shape", subject=str(name))
        return spec.shape

    def refuse(self, name: str, known: Any, *allowed: Any) -> None:
        """Refuse a setting with another value than those that can be computed."""
        value = self.setting(name, known)
        if value != known and value not in allowed:
            raise GraphError("core/choice", subject=name, got=value, known=[known, *allowed])

    def _place(self, name: str | int) -> int | None:
        place = name if isinstance(name, int) else -1
        if isinstance(name, str) and name in self._names:
            place = self._names.index(name)
        return place if 0 <= place < len(self._given) else None


# --- elementwise -------------------------------------------------------------------------------


def _scaled(kind: str) -> Callable[[Op], Kernel]:
    """X ± alpha·y."""

    def decompose(op: Op) -> Kernel:
        parts = Parts(op)
        x, y, alpha = parts.needed(0), parts.needed(1), parts.tensor(2)
        if alpha is None and "alpha" in op.attrs:
            alpha = number(op.attrs["alpha"])
        if alpha is not None and not (isinstance(alpha, Const) and alpha.value == 1):
            y = parts.add("Mul", y, alpha)
        parts.add(kind, x, y)
        return parts.done()

    return decompose


def _with_number(kind: str) -> Callable[[Op], Kernel]:
    """X and a number, which GE holds in the attribute ``value``."""

    def decompose(op: Op) -> Kernel:
        parts = Parts(op)
        other = parts.tensor(1)
        parts.add(kind, parts.needed(0), number(op.attrs["value"]) if other is None else other)
        return parts.done()

    return decompose


def _clamp(op: Op) -> Kernel:
    """Between two tensors, either of which may be missing."""
    parts = Parts(op)
    value = parts.needed("input")
    for name, kind in (("min", "Maximum"), ("max", "Minimum")):
        bound = parts.tensor(name)
        if bound is not None:
            value = parts.add(kind, value, bound)
    return parts.done() if parts.ops else _only(parts, value)


def _only(parts: Parts, value: Operand) -> Kernel:
    parts.add("Mul", value, number(1))
    return parts.done()


def _softplus(op: Op) -> Kernel:
    """log(1 + exp(beta·x)) / beta, and x itself beyond a threshold."""
    parts = Parts(op)
    x, beta = parts.needed("input"), parts.setting("beta", 1)
    scaled = parts.add("Mul", x, number(beta))
    soft = parts.add("RealDiv", parts.add("Softplus", scaled), number(beta))
    beyond = parts.add("Greater", scaled, number(parts.setting("threshold", 20)))
    parts.add("Select", beyond, x, soft)
    return parts.done()


def _swiglu(op: Op) -> Kernel:
    """SiLU of the first half times the second half."""
    parts = Parts(op)
    parts.add("Split", parts.needed(0), axis=int(_dim(parts)), output_num=2)
    parts.add("Mul", parts.add("SiLU", Value(0, 0)), Value(0, 1))
    return parts.done()


def _dim(parts: Parts) -> Any:
    given = list(parts.op.flat_inputs())[1:2]
    if given and isinstance(given[0], Const) and isinstance(given[0].value, int):
        return given[0].value
    return parts.op.attrs.get("dim", -1)


# --- losses ------------------------------------------------------------------------------------


def _reduced(parts: Parts, loss: Value, default: str = "mean") -> Kernel:
    """Loss of each element, their sum or their mean."""
    from workbench.ops.kernels.loss import reduction_of

    reduction = reduction_of(parts.setting("reduction", default))
    if reduction != "none":
        kind = "ReduceSum" if reduction == "sum" else "ReduceMean"
        parts.add(kind, loss, axis=(), keep_dims=False)
    return parts.done()


def _weighted(parts: Parts, loss: Value) -> Value:
    weight = parts.tensor("weight")
    return loss if weight is None else parts.add("Mul", loss, weight)


def _difference(kind: str) -> Callable[[Op], Kernel]:
    """Square or magnitude of the difference."""

    def decompose(op: Op) -> Kernel:
        parts = Parts(op)
        loss = parts.add(kind, parts.add("Sub", parts.needed("input"), parts.needed("target")))
        return _reduced(parts, loss)

    return decompose


def _half_square(op: Op) -> Kernel:
    """Half the sum of all squares."""
    parts = Parts(op)
    total = parts.add("ReduceSum", parts.add("Square", parts.needed(0)), axis=(), keep_dims=False)
    parts.add("Mul", total, number(0.5))
    return parts.done()


def _softmax_grad(op: Op) -> Kernel:
    """y·(g - Σ y·g), y what the softmax gave."""
    parts = Parts(op)
    out, grad = parts.needed(0), parts.needed(1)
    axes = op.attrs.get("axes", -1)
    total = parts.add("ReduceSum", parts.add("Mul", out, grad), axis=axes, keep_dims=True)
    parts.add("Mul", out, parts.add("Sub", grad, total))
    return parts.done()


def _smooth_l1(op: Op) -> Kernel:
    """d²/(2·beta) below beta, |d| - beta/2 beyond: m·(|d| - m/2)/beta with m = min(|d|, beta)."""
    parts = Parts(op)
    difference = parts.add("Sub", parts.needed("prediction"), parts.needed("target"))
    distance = parts.add("Abs", difference)
    beta = float(parts.setting("beta", 1.0))
    if beta == 0.0:
        return _reduced(parts, distance, "none")
    bent = parts.add("Minimum", distance, number(beta))
    rest = parts.add("Sub", distance, parts.add("Mul", bent, number(0.5)))
    loss = parts.add("RealDiv", parts.add("Mul", bent, rest), number(beta))
    return _reduced(parts, loss, "none")


def _cross_entropy(op: Op) -> Kernel:
    """-(t·log x + (1 - t)·log(1 - x)), logarithms at least -100."""
    parts = Parts(op)
    x, target = parts.needed("input"), parts.needed("target")
    terms = []
    for value, share in (
        (x, target),
        (parts.add("Sub", number(1), x), parts.add("Sub", number(1), target)),
    ):
        logarithm = parts.add("Maximum", parts.add("Log", value), number(OF_LOGARITHM))
        terms.append(parts.add("Mul", logarithm, share))
    loss = parts.add("Neg", parts.add("Add", *terms))
    return _reduced(parts, _weighted(parts, loss))


def _logits_cross_entropy(op: Op) -> Kernel:
    """(1 - t)·x + (1 + (p - 1)·t)·log(1 + exp(-x)), p the weight of the positive class."""
    parts = Parts(op)
    x, target, positive = parts.needed("input"), parts.needed("target"), parts.tensor("posWeight")
    soft = parts.add("Softplus", parts.add("Neg", x))
    if positive is not None:
        more = parts.add("Mul", parts.add("Sub", positive, number(1)), target)
        soft = parts.add("Mul", parts.add("Add", more, number(1)), soft)
    rest = parts.add("Mul", parts.add("Sub", number(1), target), x)
    loss = parts.add("Add", rest, soft)
    return _reduced(parts, _weighted(parts, loss))


# --- products and convolutions -----------------------------------------------------------------


def _biased(*after: str) -> Callable[[Op], Kernel]:
    """MatMul and BiasAdd in one, and what follows."""

    def decompose(op: Op) -> Kernel:
        parts, own = Parts(op), renamed(op.attrs)
        turned = {name: own.get(name, False) for name in ("transpose_a", "transpose_b")}
        value = parts.add("MatMul", parts.needed(0), parts.needed(1), **turned)
        value = parts.add("BiasAdd", value, parts.needed(2))
        for kind in after:
            value = parts.add(kind, value)
        return parts.done()

    return decompose


def _dense(op: Op) -> Kernel:
    """x·wᵀ + b, b may be missing."""
    parts = Parts(op)
    turned = {"transpose_a": False, "transpose_b": True}
    value = parts.add("BatchMatMul", parts.needed(0), parts.needed(1), **turned)
    bias = parts.tensor(2)
    if bias is not None:
        parts.add("Add", value, bias)
    return parts.done()


def _product(op: Op) -> Kernel:
    """Matrix product of any ranks."""
    parts = Parts(op)
    plain = {"transpose_a": False, "transpose_b": False}
    parts.add("BatchMatMul", parts.needed(0), parts.needed(1), **plain)
    return parts.done()


def _convolution_settings(parts: Parts, rank: int) -> dict[str, Any]:
    """Settings of a convolution over ``rank`` axes, as the table spells them."""
    pads = parts.sizes("padding", 0, rank)
    return {
        "group": int(parts.setting("groups", 1)),
        "pad_mode": "pad",
        "pad": tuple(pad for pad in pads for _ in range(2)),
        "stride": (1, 1, *parts.sizes("stride", 1, rank)),
        "dilation": (1, 1, *parts.sizes("dilation", 1, rank)),
    }


def _convolution(op: Op) -> Kernel:
    """Convolution over two or three axes, or a transposed one over two, and its bias."""
    parts = Parts(op)
    rank = len(parts.shape("weight")) - 2
    transposed = bool(parts.setting("transposed", False))
    kinds = {(2, False): "Conv2D", (3, False): "Conv3D", (2, True): "Conv2DTranspose"}
    if (rank, transposed) not in kinds:
        raise GraphError("graph/layout", subject="weight", expected="OIHW", got=parts.shape(1))
    chosen = _convolution_settings(parts, rank)
    if transposed:
        chosen["input_size"] = op.outputs[0].shape
    value = parts.add(
        kinds[rank, transposed], parts.needed("input"), parts.needed("weight"), **chosen
    )
    bias = parts.tensor("bias")
    if bias is not None:
        column = parts.add("Reshape", bias, shape=(1, -1, *(1,) * rank))
        parts.add("Add", value, column)
    return parts.done()


def _convolution_grad(op: Op) -> Kernel:
    """Gradients of input, weight and bias of a convolution over two axes."""
    parts = Parts(op)
    if len(parts.shape("weight")) != 4:
        raise GraphError("graph/layout", subject="weight", expected="OIHW", got=parts.shape(2))
    parts.refuse("transposed", False)
    dout, chosen = parts.needed("dout"), _convolution_settings(parts, 2)
    x, weight = parts.needed("input"), parts.needed("weight")
    return parts.done(
        parts.add("Conv2DBackpropInput", dout, weight, input_size=parts.shape("input"), **chosen),
        parts.add("Conv2DBackpropFilter", dout, x, filter_size=parts.shape("weight"), **chosen),
        parts.add("ReduceSum", dout, axis=(0, 2, 3), keep_dims=False),
    )


# --- normalizations ----------------------------------------------------------------------------


def _add_rms_norm(op: Op) -> Kernel:
    """RmsNorm of a sum: its result, the factor of every row, and the sum."""
    parts = Parts(op)
    total = parts.add("Add", parts.needed(0), parts.needed(1))
    epsilon = parts.op.attrs.get("epsilon", parts.setting("epsilon", 1e-6))
    normal = parts.add("RmsNorm", total, parts.needed(2), epsilon=epsilon)
    return parts.done(normal, Value(normal.op, 1), total)


def _inverse_deviation(parts: Parts, variance: Value, epsilon: float) -> Value:
    return parts.add("Rsqrt", parts.add("Add", variance, number(epsilon)))


def _batch_norm(op: Op) -> Kernel:
    """BatchNorm; in training with the mean of the batch and 1 / its deviation."""
    parts = Parts(op)
    channels = parts.shape("input")[1]
    operands = [parts.needed("input")]
    for name, usual in (
        ("weight", 1.0),
        ("bias", 0.0),
        ("running_mean", 0.0),
        ("running_var", 1.0),
    ):
        plain = Const((usual,) * channels, "float32", (channels,))
        operands.append(parts.tensor(name) or plain)
    epsilon, training = parts.setting("epsilon", 1e-5), bool(parts.setting("training", False))
    value = parts.add(
        "BatchNorm", *operands, is_training=training, epsilon=epsilon,
        momentum=parts.setting("momentum", 0.1),
    )  # fmt: skip
    if not training:
        return parts.done()
    inverse = _inverse_deviation(parts, Value(value.op, 4), epsilon)
    return parts.done(value, Value(value.op, 3), inverse)


def _layer_norm(op: Op) -> Kernel:
    """LayerNorm over axes of given sizes: with the mean and 1 / the deviation of every row."""
    parts = Parts(op)
    begin = -len(tuple(parts.setting("normalized_shape")))
    gamma, beta = parts.tensor("weight") or number(1), parts.tensor("bias") or number(0)
    return _normalized(parts, gamma, beta, begin, parts.setting("eps", 1e-5))


def _layer_norm_v3(op: Op) -> Kernel:
    """LayerNorm that gives 1 / the deviation in place of the variance."""
    parts = Parts(op)
    begin, epsilon = op.attrs.get("begin_norm_axis", 0), op.attrs.get("epsilon", 1e-5)
    return _normalized(parts, parts.needed(1), parts.needed(2), begin, epsilon)


def _normalized(parts: Parts, gamma: Operand, beta: Operand, begin: int, epsilon: float) -> Kernel:
    axes = {"begin_norm_axis": begin, "begin_params_axis": begin}
    value = parts.add("LayerNorm", parts.needed(0), gamma, beta, epsilon=epsilon, **axes)
    inverse = _inverse_deviation(parts, Value(value.op, 2), epsilon)
    return parts.done(value, Value(value.op, 1), inverse)


# --- windows, places and shapes ----------------------------------------------------------------


def _pool(parts: Parts, strides: str, pads: str) -> dict[str, Any]:
    """Settings of a pooling over the last two axes, as GE spells them."""
    size = parts.sizes("kernel_size", 1, 2)
    top, left = parts.sizes(pads, 0, 2)
    return {
        "ksize": (1, 1, *size),
        "strides": (1, 1, *parts.sizes(strides, None, 2)) if parts.setting(strides) else (1, 1, *size),
        "padding_mode": "CALCULATED",
        "pads": (top, top, left, left),
        "ceil_mode": bool(parts.setting("ceil_mode", False)),
    }  # fmt: skip


def _mean_pool(op: Op) -> Kernel:
    """Mean of windows; padding counts unless the setting says otherwise."""
    parts = Parts(op)
    parts.refuse("divisor_override", 0)
    exclusive = not parts.setting("count_include_pad", True)
    chosen = _pool(parts, "stride", "padding")
    parts.add("AvgPoolV2", parts.needed("input"), exclusive=exclusive, **chosen)
    return parts.done()


def _max_pool(op: Op) -> Kernel:
    """Largest value of windows; the mask that it gives for its gradient is not computed."""
    parts = Parts(op)
    if parts.sizes("dilation", 1, 2) != (1, 1):
        parts.refuse("dilation", 1)
    parts.add("MaxPoolV3", parts.needed("x"), **_pool(parts, "strides", "pads"))
    return parts.done()


def _nearest(op: Op) -> Kernel:
    """Nearest neighbors of a larger or smaller image, by its size, or by whole factors."""
    parts = Parts(op)
    size = parts.setting("output_size")
    if size is None:
        scales = parts.setting("scales")
        if not scales or any(scale != int(scale) for scale in scales):
            raise GraphError("graph/sizes-unknown", subject="scales", got=scales)
        image = parts.shape("x")[2:]
        size = [n * int(scale) for n, scale in zip(image, scales, strict=True)]
    parts.add("ResizeNearestNeighborV2", parts.needed("x"), size=tuple(size))
    return parts.done()


def _place_of_largest(op: Op) -> Kernel:
    """Place of the largest value, of all elements or along an axis."""
    parts = Parts(op)
    x, axis = parts.needed("input"), parts.setting("dim")
    if axis is None:
        parts.add("Argmax", parts.add("Reshape", x, shape=(-1,)), axis=0, output_type=35)
        return parts.done()
    place = parts.add("Argmax", x, axis=int(axis), output_type=35)
    if parts.setting("keepdim", False):
        parts.add("ExpandDims", place, axis=int(axis))
    return parts.done()


def _embedding(op: Op) -> Kernel:
    """Rows of a table; a largest norm would rewrite the table first."""
    parts = Parts(op)
    parts.refuse("max_norm", None)
    parts.add("Gather", parts.needed("weight"), parts.needed("input"), axis=0, batch_dims=0)
    return parts.done()


def _pad(op: Op) -> Kernel:
    """Zeros around a tensor: widths before and behind of every axis, the first axis first."""
    parts = Parts(op)
    widths = parts.setting("paddings")
    if widths is None:
        raise GraphError("graph/sizes-unknown", subject="paddings", got=None)
    flat = tuple(int(one) for pair in reversed(tuple(widths)) for one in pair)
    parts.add("PadV3", parts.needed("x"), paddings=flat, mode="constant", constant_value=0)
    return parts.done()


def gelu_by_erf(op: Op) -> Kernel:
    """x/2 · (1 + erf(x/√2)), the formula of ONNX's `Gelu` that is not asked to approximate."""
    parts = Parts(op)
    x = parts.needed(0)
    inner = parts.add("Erf", parts.add("RealDiv", x, number(math.sqrt(2))))
    half = parts.add("Mul", x, number(0.5))
    parts.add("Mul", half, parts.add("Add", inner, number(1.0)))
    return parts.done()


DECOMPOSITIONS: dict[str, Callable[[Op], Kernel]] = {
    "AddExt": _scaled("Add"),
    "AddRmsNorm": _add_rms_norm,
    "Adds": _with_number("Add"),
    "ArgMaxExt": _place_of_largest,
    "AvgPool2D": _mean_pool,
    "BCEWithLogitsLoss": _logits_cross_entropy,
    "BatchNormExt": _batch_norm,
    "BinaryCrossEntropy": _cross_entropy,
    "ClampTensor": _clamp,
    "Convolution": _convolution,
    "ConvolutionGrad": _convolution_grad,
    "Dense": _dense,
    "Embedding": _embedding,
    "InplaceAddExt": _scaled("Add"),
    "L2Loss": _half_square,
    "L1LossExt": _difference("Abs"),
    "LayerNormExt": _layer_norm,
    "LayerNormV3": _layer_norm_v3,
    "MSELossExt": _difference("Square"),
    "MatMulBiasAddFusion": _biased(),
    "MatMulBiasAddReluFusion": _biased("ReLU"),
    "MatMulExt": _product,
    "MaxPoolWithMask": _max_pool,
    "Muls": _with_number("Mul"),
    "Pad": _pad,
    "SmoothL1Loss": _smooth_l1,
    "SoftmaxGrad": _softmax_grad,
    "SoftplusExt": _softplus,
    "SubExt": _scaled("Sub"),
    "SwiGlu": _swiglu,
    "Swiglu": _swiglu,
    "UpsampleNearest2D": _nearest,
}
"""Operator type → what it does in operators of the table; none of them has another name there."""
