"""Oracle of every operator: loops over indices and closed forms, in plain Python.

`CASES` maps an operator to (oracle, list of (inputs, settings)). No oracle uses NumPy to compute.
"""

from __future__ import annotations

import math
import statistics

import numpy as np

from kit.oracle import (
    oracles_backward,
    oracles_elementwise,
    oracles_layers,
    oracles_moving,
)
from kit.oracle.oracles_elementwise import (
    IMAGE,
    ONE,
    POSITIVE,
    ROW,
    TWO,
    X,
    Y,
    each,
    numbers,
    pairs,
    whole,
)
from kit.oracle.oracles_forward import (
    batch_norm,
    bias_add,
    channel_sums,
    concat,
    conv2d,
    conv2d_transpose,
    conv3d,
    expand_dims,
    flatten,
    folded_bias,
    folded_filter,
    gather,
    gelu,
    layer_norm,
    masked_fill,
    matmul,
    pool,
    reshape,
    softmax,
    transpose,
    update_by_sums,
)
from kit.oracle.oracles_layers import reduction


def _conv(out, group, kernel, **settings):
    weight = numbers(out, 4 // group, *kernel, seed=3)
    return ([IMAGE, weight], {"group": group, "stride": 1, "pad_mode": "valid"} | settings)


def _solid(out, group, kernel, **settings):
    inputs = [numbers(2, 4, 3, 4, 3), numbers(out, 4 // group, *kernel, seed=3)]
    return (inputs, {"group": group, "stride": 1, "pad_mode": "valid"} | settings)


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
MOMENTS = [ROW, numbers(4, seed=4), numbers(4, seed=5), numbers(4, low=0.1, high=1)]
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
    "Conv3D": (
        conv3d,
        [
            _solid(4, 1, (2, 3, 2)),
            _solid(2, 2, (2, 1, 2), pad_mode="pad", pad=(1, 0, 2, 1, 0, 1), stride=(1, 1, 1, 2, 1)),
            _solid(2, 1, (2, 2, 2), pad_mode="same", stride=2),
            _solid(4, 4, (1, 2, 2), dilation=(1, 1, 1, 2, 1)),
        ],
    ),
    "Conv2DTranspose": (conv2d_transpose, TRANSPOSED),
    "Conv2DBackpropInput": (conv2d_transpose, TRANSPOSED),
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
    "GeLU": (each(gelu), ONE),
    "Erf": (each(math.erf), ONE),
    "Sqrt": (each(lambda v: v**0.5), [([POSITIVE], {})]),
    "Rsqrt": (each(lambda v: v**-0.5), [([POSITIVE], {})]),
    "Exp": (each(math.exp), ONE),
    "Log": (each(math.log), [([POSITIVE], {})]),
    "Abs": (each(lambda v: -v if v < 0 else v), ONE),
    "Neg": (each(lambda v: 0.0 - v), ONE),
    "Square": (each(lambda v: v**2), ONE),
    "Cast": (each(float), [([X], {"dst_type": "float32"})]),
    "TransData": (each(float), [([X], {})]),
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
    "BNTrainingReduce": (channel_sums, [([IMAGE], {}), ([X], {})]),
    "BNTrainingUpdate": (
        update_by_sums,
        [([IMAGE, *channel_sums([IMAGE], {}), *MOMENTS], {"factor": 0.3, "epsilon": 1e-3})],
    ),
    "ConvBnFilterHost": (
        folded_filter,
        [([numbers(4, 2, 3, 1), *MOMENTS], {"epsilon": 1e-3})],
    ),
    "ConvBnBiasHost": (folded_bias, [([ROW, *MOMENTS], {"epsilon": 1e-3})]),
    "BatchNorm": (
        batch_norm,
        [
            (
                [IMAGE, *MOMENTS],
                {"is_training": False, "epsilon": 1e-3},
            ),
            (
                [IMAGE, ROW, numbers(4, seed=4), numbers(4, seed=5), numbers(4, low=0.1, high=1)],
                {"is_training": True, "epsilon": 1e-3, "momentum": 0.2},
            ),
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
    **oracles_backward.CASES,
}

OF_PYTORCH = {
    "ApplyAdagrad",
    "ApplyRMSProp",
    "FlashAttentionScore",
    "IncreFlashAttention",
    "LinSpace",
    "MoeGatingTopK",
    "MoeGatingTopKSoftmax",
    "NLLLoss",
    "PromptFlashAttention",
    "Range",
    "RotaryPositionEmbedding",
}
"""Operators whose oracle is PyTorch's record (`tests/ops/test_torch_operators.py`); graphs of ours do not have them."""
