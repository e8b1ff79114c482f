"""Rules of matrix products and convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.graph.infer import Call, one_dtype, refuse
from workbench.graph.windows import window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _product(call: Call, shape: Sequence[int]) -> tuple[TensorSpec, ...]:
    """Output of the inputs' dtype; products of int8 are summed in int32."""
    dtype = call.tensors[0].dtype
    return (TensorSpec("int32" if dtype == "int8" else dtype, tuple(shape)),)


def matmul(call: Call) -> tuple[TensorSpec, ...]:
    """Two matrices, or stacks of them whose leading axes broadcast (BatchMatMul)."""
    one_dtype(call)
    left, right = call.shape(0), call.shape(1)
    for shape in (left, right):
        if len(shape) < 2 or (call.op_type == "MatMul" and len(shape) != 2):
            refuse("graph/matrices", type=call.op_type, got=(left, right))
    rows, inner = left[-2:][::-1] if call.settings["transpose_a"] else left[-2:]
    other, columns = right[-2:][::-1] if call.settings["transpose_b"] else right[-2:]
    if inner != other:
        flag = call.settings["transpose_b"]
        refuse("graph/inner", left=left, right=right, transposed=flag, expected=inner, got=other)
    try:
        stack = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        refuse("graph/broadcast", got=(left[:-2], right[:-2]))
    return _product(call, (*stack, rows, columns))


def _channels(shape: tuple[int, ...], weight: tuple[int, ...], group: Any) -> None:
    if len(shape) != 4 or len(weight) != 4:
        refuse(
            "graph/layout", subject="input and weight", expected="NCHW, OIHW", got=(shape, weight)
        )
    if not isinstance(group, int) or group < 1:
        refuse("graph/integer", subject="group", least=1, got=group)
    if shape[1] != weight[1] * group:
        refuse(
            "graph/channels", weight=weight, group=group, expected=weight[1] * group, got=shape[1]
        )
    if weight[0] % group:
        refuse("graph/multiple", subject="output channels", of=group, got=weight[0])


def conv2d(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W), weight (O, C / group, kh, kw)."""
    one_dtype(call)
    shape, weight = call.shape(0), call.shape(1)
    _channels(shape, weight, call.settings["group"])
    view = window(call.settings, shape[2:], weight[2:], call.settings["stride"])
    return _product(call, (shape[0], weight[0], *view.output(*shape[2:])))


def pad_list(call: Call) -> Mapping[str, Any]:
    """Return the padding of a convolution as (top, bottom, left, right)."""
    view = window(call.settings, call.shape()[2:], call.shape(1)[2:], call.settings["stride"])
    return {"pad_list": view.pads}


def conv2d_transpose(call: Call) -> tuple[TensorSpec, ...]:
    """Output of a convolution (N, O, h, w) and its weight (O, C / group, kh, kw) give its input.

    The shape of that input, ``input_size``, decides which of the possible sizes is meant.
    """
    one_dtype(call)
    shape, weight, wanted = call.shape(0), call.shape(1), call.sizes("input_size")
    if len(wanted) != 4:
        refuse("graph/layout", subject="input_size", expected="NCHW", got=wanted)
    _channels(wanted, weight, call.settings["group"])
    view = window(call.settings, wanted[2:], weight[2:], call.settings["stride"])
    forward = (wanted[0], weight[0], *view.output(*wanted[2:]))
    if forward != shape:
        refuse("graph/input-size", given=forward, expected=shape, got=wanted)
    return _product(call, wanted)


def transpose_pad_list(call: Call) -> Mapping[str, Any]:
    """As `pad_list`, for the convolution that is transposed."""
    size = call.sizes("input_size")
    view = window(call.settings, size[2:], call.shape(1)[2:], call.settings["stride"])
    return {"pad_list": view.pads}
