"""Oracle of every operator: loops over indices and closed forms, in plain Python.

`CASES` maps an operator to (oracle, list of (inputs, settings)). No oracle uses NumPy to compute.
"""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
from run import oracles_elementwise, oracles_layers, oracles_moving
from run.oracles_basic import (
    IMAGE,
    ONE,
    POSITIVE,
    ROW,
    TWO,
    X,
    Y,
    each,
    lines,
    numbers,
    pairs,
    two,
    whole,
)
from run.oracles_layers import reduction


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


def _pads(settings, size, kernel, stride, dilation):
    """Padding by the definition: what makes the number of windows come out right."""
    mode = str(settings["pad_mode"]).lower()
    if mode == "pad":
        pad = settings["pad"]
        top, bottom, left, right = (pad,) * 4 if isinstance(pad, int) else pad
        return (top, bottom), (left, right)
    both = []
    for n, k, s, d in zip(size, kernel, stride, dilation, strict=True):
        total = 0
        if mode == "same":
            wanted = math.ceil(n / s)
            while (n + total - ((k - 1) * d + 1)) // s + 1 < wanted:
                total += 1
        both.append((total // 2, total - total // 2))
    return both[0], both[1]


def windows(size, settings, kernel, stride):
    """For every output position, the list of input positions and window elements inside."""
    kernel, stride, dilation = two(kernel), two(stride), two(settings.get("dilation", 1))
    (top, bottom), (left, right) = _pads(settings, size, kernel, stride, dilation)
    high = range(-top, size[0] + bottom - (kernel[0] - 1) * dilation[0], stride[0])
    wide = range(-left, size[1] + right - (kernel[1] - 1) * dilation[1], stride[1])
    table = {}
    for (r, y), (c, x) in itertools.product(enumerate(high), enumerate(wide)):
        inside = []
        for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
            p, q = y + i * dilation[0], x + j * dilation[1]
            if 0 <= p < size[0] and 0 <= q < size[1]:
                inside.append((p, q, i, j))
        table[r, c] = inside
    return table, (len(high), len(wide))


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


def pool(combine):
    def oracle(inputs, settings):
        x = inputs[0]
        table, size = windows(x.shape[2:], settings, settings["kernel_size"], settings["strides"])
        out = np.empty((*x.shape[:2], *size))
        for n, k, r, c in np.ndindex(out.shape):
            out[n, k, r, c] = combine([float(x[n, k, p, q]) for p, q, _, _ in table[r, c]])
        return [out]

    return oracle


def bias_add(inputs, settings):
    x, bias = inputs
    out = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        out[index] = float(x[index]) + float(bias[index[1]])
    return [out]


def masked_fill(inputs, settings):
    x, mask, value = inputs
    full = np.broadcast_to(mask, x.shape)
    flat = [
        float(value) if m else v
        for v, m in zip(x.ravel().tolist(), full.ravel().tolist(), strict=True)
    ]
    return [np.array(flat).reshape(x.shape)]


def softmax(logarithm):
    def oracle(inputs, settings):
        x = inputs[0]
        axis = settings["axis"] if isinstance(settings["axis"], int) else settings["axis"][0]
        out = np.empty(x.shape)
        for line in lines(x, axis):
            powers = [math.exp(v) for v in x[line].tolist()]
            total = math.fsum(powers)
            out[line] = [math.log(p / total) if logarithm else p / total for p in powers]
        return [out]

    return oracle


def layer_norm(inputs, settings):
    x, gamma, beta = inputs
    begin = settings["begin_norm_axis"] % x.ndim
    lead, rest = x.shape[:begin], x.shape[begin:]
    out = np.empty(x.shape)
    mean = np.empty((*lead, *(1 for _ in rest)))
    variance = np.empty_like(mean)
    for index in np.ndindex(lead):
        values = x[index].ravel().tolist()
        centre, spread = statistics.fmean(values), statistics.pvariance(values)
        mean[index], variance[index] = centre, spread
        for inner in np.ndindex(rest):
            scaled = (float(x[index][inner]) - centre) / math.sqrt(spread + settings["epsilon"])
            out[index][inner] = scaled * float(gamma[inner]) + float(beta[inner])
    return [out, mean, variance]


def batch_norm(inputs, settings):
    x, scale, bias, mean, variance = inputs
    out = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        c = index[1]
        spread = math.sqrt(float(variance[c]) + settings["epsilon"])
        out[index] = (float(x[index]) - float(mean[c])) / spread * float(scale[c]) + float(bias[c])
    return [out, mean, variance, mean, variance]


def reshape(inputs, settings):
    shape = settings["shape"]
    shape = [0 if size == -1 and 0 in shape else size for size in shape]
    out = np.empty(inputs[0].size)
    for place, value in enumerate(inputs[0].ravel().tolist()):
        out[place] = value
    return [out.reshape(shape)]


def flatten(inputs, settings):
    rows = [np.array([float(v) for v in row.ravel()]) for row in inputs[0]]
    return [np.array(rows)]


def expand_dims(inputs, settings):
    shape = list(inputs[0].shape)
    axis = settings["axis"]
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
    return reshape(inputs, {"shape": shape})


def transpose(inputs, settings):
    x, order = inputs[0], settings["dims"]
    out = np.empty([x.shape[axis] for axis in order])
    for index in np.ndindex(x.shape):
        out[tuple(index[axis] for axis in order)] = x[index]
    return [out]


def concat(inputs, settings):
    axis = settings["axis"] % inputs[0].ndim
    shape = list(inputs[0].shape)
    shape[axis] = sum(array.shape[axis] for array in inputs)
    out, start = np.empty(shape), 0
    for array in inputs:
        for index in np.ndindex(array.shape):
            place = list(index)
            place[axis] += start
            out[tuple(place)] = array[index]
        start += array.shape[axis]
    return [out]


def gather(inputs, settings):
    x, indices = inputs
    axis = settings["axis"] % x.ndim
    out = np.zeros((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
    for index in np.ndindex(out.shape):
        before = index[:axis]
        which = int(indices[index[axis : axis + indices.ndim]])
        after = index[axis + indices.ndim :]
        if -x.shape[axis] <= which < x.shape[axis]:
            out[index] = x[(*before, which, *after)]
    return [out]


def _gelu(v):
    # 0.5 (1 + tanh z) = 1 / (1 + e^(-2z))
    z = math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)
    return v / (1 + math.exp(-2 * z))


def _conv(out, group, kernel, **settings):
    weight = numbers(out, 4 // group, *kernel, seed=3)
    return ([IMAGE, weight], {"group": group, "stride": 1, "pad_mode": "valid"} | settings)


def _transposed(size, x, group, kernel, **settings):
    weight = numbers(x[1], size[1] // group, *kernel, seed=3)
    shared = {"group": group, "stride": 1, "pad_mode": "valid", "input_size": size}
    return ([numbers(*x), weight], shared | settings)


TRANSPOSED = [
    _transposed((2, 4, 7, 6), (2, 3, 5, 4), 1, (3, 3)),
    _transposed((1, 4, 7, 6), (1, 6, 4, 3), 2, (3, 2), pad_mode="same", stride=2),
    _transposed((1, 4, 8, 6), (1, 20, 4, 3), 1, (3, 3), pad_mode="pad", pad=(1, 1, 0, 2), stride=2),
    _transposed((1, 2, 9, 9), (1, 3, 5, 5), 1, (3, 3), dilation=2),
]
EIGHT = {"dtype": np.int8, "low": -128, "high": 128}
CASES = {
    "Conv2D": (
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
    ),
    "Conv2DTranspose": (conv2d_transpose, TRANSPOSED),
    "Conv2DBackpropInput": (conv2d_transpose, TRANSPOSED[:1]),
    "MatMul": (
        matmul,
        [
            ([numbers(3, 5), numbers(5, 4)], {"transpose_a": False, "transpose_b": False}),
            ([numbers(5, 3), numbers(4, 5)], {"transpose_a": True, "transpose_b": True}),
            ([numbers(1, 40), numbers(2, 40)], {"transpose_a": False, "transpose_b": True}),
            ([whole(2, 9, **EIGHT), whole(9, 3, **EIGHT)], {}),
        ],
    ),
    "BatchMatMul": (
        matmul,
        [
            ([numbers(2, 3, 4), numbers(2, 4, 2)], {"transpose_a": False, "transpose_b": False}),
            (
                [numbers(2, 2, 4, 3), numbers(2, 1, 5, 4)],
                {"transpose_a": True, "transpose_b": True},
            ),
            ([numbers(2, 3, 4), numbers(4, 2)], {}),
        ],
    ),
    "Add": (pairs(lambda a, b: a + b), TWO),
    "Sub": (pairs(lambda a, b: a - b), TWO),
    "Mul": (pairs(lambda a, b: a * b), TWO),
    "RealDiv": (pairs(lambda a, b: a / b), [([X, POSITIVE], {})]),
    "Div": (pairs(lambda a, b: a / b), [([X, POSITIVE], {})]),
    "Maximum": (pairs(lambda a, b: a if a > b else b), TWO),
    "Minimum": (pairs(lambda a, b: a if a < b else b), TWO),
    "Pow": (pairs(math.pow), [([POSITIVE, Y], {}), ([X, np.asarray(3.0)], {})]),
    "BiasAdd": (
        bias_add,
        [([numbers(3, 4), ROW], {"data_format": 0}), ([IMAGE, ROW], {"data_format": 0})],
    ),
    "MaskedFill": (
        masked_fill,
        [([X, numbers(3, 1) > 0, np.asarray(-1e4)], {}), ([X, X > 0, np.asarray(0.5)], {})],
    ),
    "ReLU": (each(lambda v: v if v > 0 else 0.0), ONE),
    "Sigmoid": (each(lambda v: 0.5 + 0.5 * math.tanh(v / 2)), ONE),
    "Tanh": (each(lambda v: (math.exp(2 * v) - 1) / (math.exp(2 * v) + 1)), ONE),
    "GeLU": (each(_gelu), ONE),
    "Erf": (each(math.erf), ONE),
    "Sqrt": (each(lambda v: v**0.5), [([POSITIVE], {})]),
    "Rsqrt": (each(lambda v: v**-0.5), [([POSITIVE], {})]),
    "Exp": (each(math.exp), ONE),
    "Log": (each(math.log), [([POSITIVE], {})]),
    "Abs": (each(lambda v: -v if v < 0 else v), ONE),
    "Neg": (each(lambda v: 0.0 - v), ONE),
    "Square": (each(lambda v: v**2), ONE),
    "Cast": (each(float), [([X], {"dst_type": "float32"})]),
    "Softmax": (softmax(False), [([X], {"axis": (-1,)}), ([X], {"axis": (1,)})]),
    "LogSoftmax": (softmax(True), [([X], {"axis": -1}), ([X], {"axis": 0})]),
    "ReduceMean": (
        reduction(statistics.fmean),
        [
            ([X], {"axis": (), "keep_dims": False}),
            ([X], {"axis": (1,), "keep_dims": True}),
            ([X], {"axis": (0, -1), "keep_dims": False}),
        ],
    ),
    "ReduceSum": (
        reduction(math.fsum),
        [
            ([X], {"axis": (), "keep_dims": True, "skip_mode": False}),
            ([X], {"axis": (2, 0), "keep_dims": False, "skip_mode": False}),
        ],
    ),
    "LayerNorm": (
        layer_norm,
        [
            ([X, ROW, ROW], {"begin_norm_axis": -1, "begin_params_axis": -1, "epsilon": 1e-5}),
            (
                [X, numbers(3, 4), numbers(3, 4, seed=5)],
                {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 0.1},
            ),
        ],
    ),
    "BatchNorm": (
        batch_norm,
        [
            (
                [IMAGE, ROW, numbers(4, seed=4), numbers(4, seed=5), numbers(4, low=0.1, high=1)],
                {"is_training": False, "epsilon": 1e-3},
            )
        ],
    ),
    "MaxPool": (
        pool(max),
        [
            ([IMAGE], {"kernel_size": (1, 1, 3, 3), "strides": (1, 1, 2, 2), "pad_mode": "VALID"}),
            ([IMAGE], {"kernel_size": (1, 1, 2, 3), "strides": (1, 1, 2, 1), "pad_mode": "SAME"}),
        ],
    ),
    "AvgPool": (
        pool(statistics.fmean),
        [
            ([IMAGE], {"kernel_size": (2, 2), "strides": (2, 2), "pad_mode": "valid"}),
            ([IMAGE], {"kernel_size": (3, 3), "strides": (2, 1), "pad_mode": "same"}),
        ],
    ),
    "Reshape": (
        reshape,
        [([X], {"shape": (4, 6)}), ([X], {"shape": (2, -1)}), ([X[:0]], {"shape": (0, 4, -1)})],
    ),
    "Flatten": (flatten, [*ONE, ([X[:, :0]], {})]),
    "ExpandDims": (expand_dims, [([X], {"axis": 1}), ([X], {"axis": -1})]),
    "Transpose": (transpose, [([X], {"dims": (2, 0, 1)}), ([X], {"dims": (0, 2, 1)})]),
    "Concat": (concat, [([X, Y], {"axis": 1}), ([X, numbers(2, 3, 1), Y], {"axis": -1})]),
    "ConcatD": (concat, [([X, Y], {"axis": 2})]),
    "Gather": (
        gather,
        [
            ([X, np.array([2, 0, -1])], {"axis": 1, "batch_dims": 0}),
            ([X, np.array([[1, 9], [0, 1]])], {"axis": 0, "batch_dims": 0}),
        ],
    ),
    **oracles_elementwise.CASES,
    **oracles_moving.CASES,
    **oracles_layers.CASES,
}
