"""Products and convolutions, by loops over every element, and their gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kit.oracle.differences import blamed_linearly
from kit.oracle.loops import IMAGE, numbers, whole, windows
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere
from workbench.network.nn import functional as F
from workbench.network.symbolic import record


def matmul(inputs, settings):
    left, right = inputs
    if settings.get("transpose_a"):
        left = np.moveaxis(left, -1, -2)
    if settings.get("transpose_b"):
        right = np.moveaxis(right, -1, -2)
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    out = np.empty((*stack, left.shape[-2], right.shape[-1]))
    for index in np.ndindex(out.shape):
        lead, i, j = index[:-2], index[-2], index[-1]
        a = left[
            tuple(
                k % n for k, n in zip(lead[len(lead) - left.ndim + 2 :], left.shape, strict=False)
            )
        ]
        b = right[
            tuple(
                k % n for k, n in zip(lead[len(lead) - right.ndim + 2 :], right.shape, strict=False)
            )
        ]
        out[index] = math.fsum(float(a[i, k]) * float(b[k, j]) for k in range(left.shape[-1]))
    return [out]


def conv2d(inputs, settings):
    x, w = inputs
    group = settings.get("group", 1)
    table, size = windows(x.shape[2:], settings, w.shape[2:], settings["stride"])
    out = np.empty((x.shape[0], w.shape[0], *size))
    per_in, per_out = x.shape[1] // group, w.shape[0] // group
    for n, o, r, c in np.ndindex(out.shape):
        first = o // per_out * per_in
        out[n, o, r, c] = math.fsum(
            float(x[n, first + k, p, q]) * float(w[o, k, i, j])
            for p, q, i, j in table[r, c]
            for k in range(per_in)
        )
    return [out]


def conv3d(inputs, settings):
    """Every place of the kernel, at every position that lies inside of the input."""
    x, w = inputs
    group, mode = settings["group"], settings["pad_mode"]
    strides, dilations = (
        (one,) * 3 if isinstance(one, int) else one[-3:]
        for one in (settings["stride"], settings.get("dilation", 1))
    )
    before, size = [], []
    for axis in range(3):
        length, span = x.shape[2 + axis], (w.shape[2 + axis] - 1) * dilations[axis] + 1
        low, high = settings["pad"][2 * axis : 2 * axis + 2] if mode == "pad" else (0, 0)
        if mode == "same":
            missing = (math.ceil(length / strides[axis]) - 1) * strides[axis] + span - length
            low, high = max(missing, 0) // 2, math.ceil(max(missing, 0) / 2)
        before.append(low)
        size.append((length + low + high - span) // strides[axis] + 1)
    out = np.zeros((x.shape[0], w.shape[0], *size))
    per_out = w.shape[0] // group
    for n, o, *at in np.ndindex(out.shape):
        for k, *place in np.ndindex(w.shape[1:]):
            axes = zip(at, strides, place, dilations, before, strict=True)
            point = tuple(p * s + q * d - low for p, s, q, d, low in axes)
            if all(0 <= p < length for p, length in zip(point, x.shape[2:], strict=True)):
                value = float(x[(n, o // per_out * w.shape[1] + k, *point)])
                out[(n, o, *at)] += value * float(w[(o, k, *place)])
    return [out]


def conv2d_transpose(inputs, settings):
    """Every output of the convolution, spread over what it came from."""
    x, w = inputs
    group, size = settings.get("group", 1), settings["input_size"]
    table, _ = windows(size[2:], settings, w.shape[2:], settings["stride"])
    out = np.zeros(size)
    per_out = w.shape[0] // group
    for n, o, r, c in np.ndindex(x.shape):
        first = o // per_out * w.shape[1]
        for p, q, i, j in table[r, c]:
            for k in range(w.shape[1]):
                out[n, first + k, p, q] += float(x[n, o, r, c]) * float(w[o, k, i, j])
    return [out]


def _conv(out, group, kernel, **settings):
    weight = numbers(out, 4 // group, *kernel, seed=3)
    return ([IMAGE, weight], {"group": group, "stride": 1, "pad_mode": "valid"} | settings)


def _solid(out, group, kernel, **settings):
    inputs = [numbers(2, 4, 3, 4, 3), numbers(out, 4 // group, *kernel, seed=3)]
    return (inputs, {"group": group, "stride": 1, "pad_mode": "valid"} | settings)


def _transposed_conv(size, x, group, kernel, **settings):
    weight = numbers(x[1], size[1] // group, *kernel, seed=3)
    shared = {"group": group, "stride": 1, "pad_mode": "valid", "input_size": size}
    return ([numbers(*x), weight], shared | settings)


def conv2d_filter(inputs, settings):
    dout, x = inputs
    rest = {key: value for key, value in settings.items() if key != "filter_size"}
    return [blamed_linearly(lambda w: conv2d([x, w], rest), settings["filter_size"], [dout])]


def _filter(x, weight, group=1, **settings):
    """Gradient of a convolution's weight: the output's size is that of the loops."""
    rest = {"group": group, "stride": 1, "pad_mode": "valid"} | settings
    image = numbers(*x)
    dout = numbers(*conv2d([image, np.zeros(weight)], rest)[0].shape, seed=4)
    return ([dout, image], rest | {"filter_size": weight})


def product_slopes(op_type: str, *stack: int) -> list[GradientCase]:
    """Matrix products with all ways to transpose."""
    cases = []
    for flip_x in (False, True):
        for flip_y in (False, True):
            x = anywhere(*stack, *((4, 2) if flip_x else (2, 4)))
            y = anywhere(*stack, *((3, 4) if flip_y else (4, 3)))
            cases.append(
                GradientCase(lambda x, y, a=flip_x, b=flip_y: record(op_type, x, y, a, b), (x, y))
            )
    return cases


def conv2d_slope(**settings: Any) -> GradientCase:
    weight = anywhere(4, 2 // settings.get("group", 1), 3, 2)
    return GradientCase(lambda x, w: F.conv2d(x, w, **settings), (anywhere(1, 2, 5, 6), weight))


def conv2d_transpose_slope(**settings: Any) -> GradientCase:
    return GradientCase(
        lambda x, w: F.conv2d_transpose(x, w, **settings),
        (anywhere(1, 3, 3, 4), anywhere(3, 2, 2, 3)),
    )


TRANSPOSED = [
    _transposed_conv((2, 4, 7, 6), (2, 3, 5, 4), 1, (3, 3)),
    _transposed_conv((1, 4, 7, 6), (1, 6, 4, 3), 2, (3, 2), pad_mode="same", stride=2),
    _transposed_conv(
        (1, 4, 8, 6), (1, 20, 4, 3), 1, (3, 3), pad_mode="pad", pad=(1, 1, 0, 2), stride=2
    ),
    _transposed_conv((1, 2, 9, 9), (1, 3, 5, 5), 1, (3, 3), dilation=2),
]

EIGHT = {"dtype": np.int8, "low": -128, "high": 128}


CASES = {
    "Conv2D": OperatorCase(
        conv2d,
        [
            _conv(3, 1, (3, 3)),
            _conv(3, 1, (3, 2), pad_mode="same", stride=(1, 1, 2, 2)),
            _conv(5, 1, (1, 1)),
            _conv(5, 1, (1, 1), stride=(1, 1, 2, 3)),
            _conv(4, 2, (3, 3), pad_mode="pad", pad=(1, 2, 0, 1)),
            _conv(4, 4, (3, 3), pad_mode="same"),
            _conv(8, 4, (2, 2), pad_mode="pad", pad=1),
            _conv(2, 1, (3, 3), dilation=(1, 1, 2, 1), pad_mode="SAME", stride=(1, 1, 2, 2)),
            _conv(2, 1, (2, 2), dilation=3),
            _conv(4, 2, (3, 2), pad_mode="pad", pad=(2, 0, 0, 1)),
            _conv(3, 1, (5, 5), pad_mode="pad", pad=(4, 0, 0, 4)),
            _conv(2, 1, (3, 3), pad_mode="same", dilation=9),
            (
                [whole(1, 2, 4, 4, **EIGHT), whole(3, 2, 3, 3, **EIGHT)],
                {"stride": 1, "pad_mode": "same"},
            ),
        ],
        gradient=[
            conv2d_slope(),
            conv2d_slope(pad_mode="same", stride=2),
            conv2d_slope(pad_mode="pad", padding=1, dilation=2),
            conv2d_slope(group=2, stride=(2, 1)),
        ],
        onnx="Conv",
    ),
    "Conv2DTranspose": OperatorCase(
        conv2d_transpose,
        TRANSPOSED,
        gradient=[
            conv2d_transpose_slope(),
            conv2d_transpose_slope(stride=2),
            conv2d_transpose_slope(pad_mode="same", stride=2),
            conv2d_transpose_slope(pad_mode="pad", padding=1),
        ],
        onnx="ConvTranspose",
    ),
    "Conv2DBackpropInput": OperatorCase(conv2d_transpose, TRANSPOSED),
    "Conv2DBackpropFilter": OperatorCase(
        conv2d_filter,
        [
            _filter((2, 4, 7, 6), (3, 4, 3, 3)),
            _filter((2, 4, 7, 6), (5, 4, 1, 1)),
            _filter((1, 4, 7, 6), (6, 2, 3, 2), 2, pad_mode="same", stride=2),
            _filter((2, 3, 6, 6), (3, 1, 3, 3), 3, pad_mode="pad", pad=(1, 1, 0, 2)),
            _filter((1, 2, 9, 9), (2, 2, 3, 3), dilation=2),
        ],
        by_differences=True,
    ),
    "MatMul": OperatorCase(
        matmul,
        [
            ([numbers(3, 5), numbers(5, 4)], {"transpose_a": False, "transpose_b": False}),
            ([numbers(5, 3), numbers(4, 5)], {"transpose_a": True, "transpose_b": True}),
            ([numbers(1, 40), numbers(2, 40)], {"transpose_a": False, "transpose_b": True}),
            ([whole(2, 9, **EIGHT), whole(9, 3, **EIGHT)], {}),
        ],
        gradient=product_slopes("MatMul"),
        onnx="Gemm MatMul",
    ),
    "BatchMatMul": OperatorCase(
        matmul,
        [
            ([numbers(2, 3, 4), numbers(2, 4, 2)], {"transpose_a": False, "transpose_b": False}),
            (
                [numbers(2, 2, 4, 3), numbers(2, 1, 5, 4)],
                {"transpose_a": True, "transpose_b": True},
            ),
            ([numbers(2, 3, 4), numbers(4, 2)], {}),
        ],
        gradient=[
            *product_slopes("BatchMatMul", 2),
            GradientCase(
                lambda x, y: record("BatchMatMul", x, y, False, False),
                (anywhere(2, 2, 3), anywhere(3, 2)),
            ),
            GradientCase(
                lambda x, y: record("BatchMatMul", x, y, False, True),
                (anywhere(2, 1, 2, 3), anywhere(1, 3, 4, 3)),
            ),
        ],
        onnx="MatMul",
    ),
    "Conv3D": OperatorCase(
        conv3d,
        [
            _solid(4, 1, (2, 3, 2)),
            _solid(2, 2, (2, 1, 2), pad_mode="pad", pad=(1, 0, 2, 1, 0, 1), stride=(1, 1, 1, 2, 1)),
            _solid(2, 1, (2, 2, 2), pad_mode="same", stride=2),
            _solid(4, 4, (1, 2, 2), dilation=(1, 1, 1, 2, 1)),
        ],
    ),
}
