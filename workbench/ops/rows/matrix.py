"""Products and convolutions: the operators of the cube unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    Call,
    OpDef,
    foreign,
    output_like,
    reject,
    same_dtype,
)
from workbench.ops.gradient import Backward, Entries, Symbol
from workbench.ops.kernels import matrix as kernels
from workbench.ops.kernels.window import window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _product(call: Call, shape: Sequence[int]) -> tuple[TensorSpec, ...]:
    """Output of the inputs' dtype; products of int8 are summed in int32."""
    dtype = call.tensors[0].dtype
    return (TensorSpec("int32" if dtype == "int8" else dtype, tuple(shape)),)


def matmul_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Two matrices, or stacks of them whose leading axes broadcast (BatchMatMul)."""
    same_dtype(call)
    left, right = call.shape(0), call.shape(1)
    for shape in (left, right):
        if len(shape) < 2 or (call.op_type == "MatMul" and len(shape) != 2):
            reject("graph/matrices", type=call.op_type, got=(left, right))
    rows, inner = left[-2:][::-1] if call.settings["transpose_a"] else left[-2:]
    other, columns = right[-2:][::-1] if call.settings["transpose_b"] else right[-2:]
    if inner != other:
        flag = call.settings["transpose_b"]
        reject("graph/inner", left=left, right=right, transposed=flag, expected=inner, got=other)
    try:
        stack = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        reject("graph/broadcast", got=(left[:-2], right[:-2]))
    return _product(call, (*stack, rows, columns))


def _channels(shape: tuple[int, ...], weight: tuple[int, ...], group: Any) -> None:
    if len(shape) != 4 or len(weight) != 4:
        reject(
            "graph/layout", subject="input and weight", expected="NCHW, OIHW", got=(shape, weight)
        )
    _group(group)
    if shape[1] != weight[1] * group:
        reject(
            "graph/channels", weight=weight, group=group, expected=weight[1] * group, got=shape[1]
        )
    if weight[0] % group:
        reject("graph/multiple", subject="output channels", of=group, got=weight[0])


def _group(group: Any) -> None:
    if not isinstance(group, int) or group < 1:
        reject("graph/integer", subject="group", least=1, got=group)


def conv2d_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W), weight (O, C / group, kh, kw)."""
    same_dtype(call)
    shape, weight = call.shape(0), call.shape(1)
    _channels(shape, weight, call.settings["group"])
    view = window(call.settings, shape[2:], weight[2:], call.settings["stride"])
    return _product(call, (shape[0], weight[0], *view.output(*shape[2:])))


def pad_list(call: Call) -> Mapping[str, Any]:
    """Return the padding of a convolution as (top, bottom, left, right)."""
    view = window(call.settings, call.shape()[2:], call.shape(1)[2:], call.settings["stride"])
    return {"pad_list": view.pads}


def conv2d_transpose_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output of a convolution (N, O, h, w) and its weight (O, C / group, kh, kw) give its input.

    The shape of that input, ``input_size``, decides which of the possible sizes is meant.
    """
    same_dtype(call)
    shape, weight, wanted = call.shape(0), call.shape(1), call.sizes("input_size")
    if len(wanted) != 4:
        reject("graph/layout", subject="input_size", expected="NCHW", got=wanted)
    _channels(wanted, weight, call.settings["group"])
    view = window(call.settings, wanted[2:], weight[2:], call.settings["stride"])
    forward = (wanted[0], weight[0], *view.output(*wanted[2:]))
    if forward != shape:
        reject("graph/input-size", given=forward, expected=shape, got=wanted)
    return _product(call, wanted)


def transpose_pad_list(call: Call) -> Mapping[str, Any]:
    """As `pad_list`, for the convolution that is transposed."""
    size = call.sizes("input_size")
    view = window(call.settings, size[2:], call.shape(1)[2:], call.settings["stride"])
    return {"pad_list": view.pads}


def conv2d_filter_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient (N, O, h, w) and input (N, C, H, W) of a convolution give that of its weight."""
    same_dtype(call)
    dout, x, size = call.shape(0), call.shape(1), call.sizes("filter_size")
    group = call.settings["group"]
    if len(x) != 4 or len(size) != 4:
        reject(
            "graph/layout", subject="input and filter_size", expected="NCHW, OIHW", got=(x, size)
        )
    if not isinstance(group, int) or group < 1 or size[0] % group:
        reject("graph/divisor", subject="group", whole=size[0], got=group)
    if x[1] != size[1] * group:
        reject("graph/channels", weight=size, group=group, expected=size[1] * group, got=x[1])
    view = window(call.settings, x[2:], size[2:], call.settings["stride"])
    forward = (x[0], size[0], *view.output(*x[2:]))
    if dout != forward:
        reject("graph/shape", subject="dout", expected=forward, got=dout)
    return output_like(call, size)


def filter_pad_list(call: Call) -> Mapping[str, Any]:
    """Return the padding of the convolution as (top, bottom, left, right)."""
    size = call.sizes("filter_size")
    view = window(call.settings, call.shape(1)[2:], size[2:], call.settings["stride"])
    return {"pad_list": view.pads}


def matmul_gradient(b: Backward) -> Entries:
    """Matrix product, stacked or not, of inputs that may be transposed."""
    x, y = b.inputs
    flip_x, flip_y = bool(b.settings["transpose_a"]), bool(b.settings["transpose_b"])
    both = flip_x and flip_y

    def left() -> Symbol:
        pair = (y, b.dout) if flip_x else (b.dout, y)
        return b.sum_to(b.record(b.op.op_type, *pair, both, flip_x or not flip_y), x)

    def right() -> Symbol:
        pair = (b.dout, x) if flip_y else (x, b.dout)
        return b.sum_to(b.record(b.op.op_type, *pair, not flip_x or flip_y, both), y)

    return left, right


_INPUT = {"input_names": ("out_backprop", "filter", "input_sizes"), "output_names": ("output",)}


_FILTER = {"input_names": ("out_backprop", "input", "filter_sizes"), "output_names": ("output",)}
"""Names that MindSpore's classes of these operators give their arguments, not those of the table."""


def conv3d_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, D, H, W), weight (O, C / group, kd, kh, kw)."""
    x, weight, group = call.shape(0), call.shape(1), call.settings["group"]
    if len(x) != 5 or len(weight) != 5:
        reject("graph/layout", subject="input", expected="NCDHW", got=x)
    _group(group)
    if weight[1] * group != x[1] or weight[0] % group:
        expected = (weight[0], x[1] // group, *weight[2:])
        reject("graph/shape", subject="weight", expected=expected, got=weight)
    views = kernels.views3d(call.settings, x[2:], weight[2:])
    return output_like(call, (x[0], weight[0], *(view.number for view in views)))


def _settings(b: Backward) -> dict[str, Any]:
    """Attributes of a convolution as its gradients carry them."""
    attrs = dict(b.op.attrs)
    attrs["pad_mode"] = str(attrs["pad_mode"]).upper()
    return attrs | {"data_format": attrs.get("format", "NCHW")}


def _shape_operand(tensor: Symbol) -> np.ndarray[Any, Any]:
    return np.asarray(tensor.shape, np.int64)


def conv2d_gradient(b: Backward) -> Entries:
    """Convolution."""
    x, weight = b.inputs
    attrs = _settings(b)
    return (
        lambda: b.record(
            "Conv2DBackpropInput", b.dout, weight, _shape_operand(x), **attrs, **_INPUT
        ),
        lambda: b.record(
            "Conv2DBackpropFilter", b.dout, x, _shape_operand(weight), **attrs, **_FILTER
        ),
    )


def conv2d_transpose_gradient(b: Backward) -> Entries:
    """Transposed convolution: its input's gradient is a convolution."""
    x, weight = b.inputs
    attrs = _settings(b)
    plain = attrs | {"pad_mode": attrs["pad_mode"].lower()}
    plain.pop("data_format")
    return (
        lambda: b.record("Conv2D", b.dout, weight, **plain),
        lambda: b.record(
            "Conv2DBackpropFilter", x, b.dout, _shape_operand(weight), **attrs, **_FILTER
        ),
    )


_CONV = {"group": 1, "pad_mode": "valid", "pad": 0, "stride": 1, "dilation": 1, "format": "NCHW"}


_CONV3D = {**_CONV, "format": "NCDHW"}


_TRANSPOSES = {"transpose_a": False, "transpose_b": False}


ROWS: dict[str, OpDef] = {
    "Conv2D": OpDef(
        "x weight",
        conv2d_shapes,
        "cube",
        2,
        _CONV,
        pad_list,
        kernel=kernels.exact_integers(kernels.conv2d),
        gradient=conv2d_gradient,
        effect="contract",
    ),
    "Conv2DTranspose": OpDef(
        "dout weight input_size",
        conv2d_transpose_shapes,
        "cube",
        2,
        _CONV,
        transpose_pad_list,
        kernel=kernels.exact_integers(kernels.conv2d_transpose),
        gradient=conv2d_transpose_gradient,
        effect="contract",
    ),
    "Conv2DBackpropInput": OpDef(
        "dout weight input_size",
        conv2d_transpose_shapes,
        "cube",
        2,
        _CONV,
        transpose_pad_list,
        kernel=kernels.exact_integers(kernels.conv2d_transpose),
        effect="contract",
    ),
    "Conv2DBackpropFilter": OpDef(
        "dout x filter_size",
        conv2d_filter_grad_shapes,
        "cube",
        2,
        _CONV,
        filter_pad_list,
        kernel=kernels.conv2d_filter,
        effect="contract",
    ),
    "MatMul": OpDef(
        "input mat2 transpose_a transpose_b",
        matmul_shapes,
        "cube",
        2,
        _TRANSPOSES,
        kernel=kernels.exact_integers(kernels.matmul),
        gradient=matmul_gradient,
        effect="contract",
    ),
    "BatchMatMul": OpDef(
        "x y transpose_a transpose_b",
        matmul_shapes,
        "cube",
        2,
        _TRANSPOSES,
        kernel=kernels.exact_integers(kernels.matmul),
        gradient=matmul_gradient,
        effect="contract",
    ),
    "Conv3D": OpDef(
        "x weight",
        conv3d_shapes,
        "cube",
        2,
        _CONV3D,
        kernel=kernels.conv3d,
        effect="contract",
        floats=(0, 1),
    ),
    "Convolution": foreign(
        "input weight bias stride padding dilation transposed output_padding groups",
        effect="contract",
    ),
    "ConvolutionGrad": foreign(
        "dout input weight bias stride padding dilation transposed output_padding groups output_mask",
        effect="contract",
    ),
    "Dense": foreign("input weight bias", effect="contract"),
    "MatMulBiasAddFusion": foreign("x y bias", effect="contract"),
    "MatMulBiasAddReluFusion": foreign("x y bias", effect="contract"),
    "MatMulExt": foreign("input other", effect="contract"),
}
