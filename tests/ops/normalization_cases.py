"""Normalizations, by loops and Python's statistics, and their gradients."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np

from kit.oracle.differences import blamed
from kit.oracle.loops import IMAGE, ROW, X, Y, numbers
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere, positive
from workbench.network.symbolic import record_all


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
    x, scale, bias, *moving = inputs
    mean, variance = moving
    if settings["is_training"]:
        columns = [x[:, c].ravel().tolist() for c in range(x.shape[1])]
        mean = np.array([statistics.fmean(column) for column in columns])
        variance = np.array([statistics.pvariance(column) for column in columns])
        spreads = [statistics.variance(column) for column in columns]
        share = settings.get("momentum", 0.1)
        moving = [
            np.array([(1 - share) * old + share * new for old, new in zip(*pair, strict=True)])
            for pair in zip(moving, (mean, spreads), strict=True)
        ]
    out = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        c = index[1]
        spread = math.sqrt(float(variance[c]) + settings["epsilon"])
        out[index] = (float(x[index]) - float(mean[c])) / spread * float(scale[c]) + float(bias[c])
    left = moving if settings["is_training"] else []
    return [out, *moving, mean, variance, *left]


def channel_sums(inputs, settings):
    (x,) = inputs
    columns = [[float(v) for v in x[:, c].ravel()] for c in range(x.shape[1])]
    return [np.array([math.fsum(column) for column in columns]),
            np.array([math.fsum(v * v for v in column) for column in columns])]  # fmt: skip


def update_by_sums(inputs, settings):
    """What `batch_norm` gives in training; the sums follow from the input."""
    x, _, _, scale, offset, *moving = inputs
    told = {"is_training": True, "momentum": settings["factor"], "epsilon": settings["epsilon"]}
    return batch_norm([x, scale, offset, *moving], told)


def _factors(scale, variance, epsilon):
    return [float(s) / math.sqrt(float(v) + epsilon) for s, v in zip(scale, variance, strict=True)]


def folded_filter(inputs, settings):
    filters, scale, _, _, variance = inputs
    factors = _factors(scale, variance, settings["epsilon"])
    out = np.empty(filters.shape)
    for index in np.ndindex(filters.shape):
        out[index] = float(filters[index]) * factors[index[0]]
    return [out]


def folded_bias(inputs, settings):
    bias, scale, offset, mean, variance = inputs
    factors = _factors(scale, variance, settings["epsilon"])
    rows = zip(bias, offset, mean, factors, strict=True)
    return [np.array([(float(b) - float(m)) * f + float(o) for b, o, m, f in rows])]


def rms_norm(inputs, settings):
    x, gamma = inputs
    lead = x.shape[: x.ndim - gamma.ndim]
    out, factors = np.empty(x.shape), np.empty((*lead, *(1 for _ in gamma.shape)))
    for index in np.ndindex(lead):
        values = x[index].ravel().tolist()
        factor = 1 / math.hypot(math.hypot(*values) / math.sqrt(len(values)),
                                math.sqrt(settings["epsilon"]))  # fmt: skip
        factors[index] = factor
        for inner in np.ndindex(gamma.shape):
            out[index][inner] = float(x[index][inner]) * factor * float(gamma[inner])
    return [out, factors]


def group_norm(inputs, settings):
    x, weight, bias = inputs
    groups = settings["num_groups"]
    width = x.shape[1] // groups
    out = np.empty(x.shape)
    means, factors = np.empty((x.shape[0], groups)), np.empty((x.shape[0], groups))
    for n, g in np.ndindex(x.shape[0], groups):
        members = range(g * width, (g + 1) * width)
        values = [v for c in members for v in x[n, c].ravel().tolist()]
        means[n, g] = statistics.fmean(values)
        factors[n, g] = 1 / math.sqrt(statistics.pvariance(values) + settings["eps"])
        for c in members:
            for index in np.ndindex(x.shape[2:]):
                scaled = (float(x[n, c][index]) - means[n, g]) * factors[n, g]
                out[n, c][index] = scaled * float(weight[c]) + float(bias[c])
    return [out, means, factors]


def lrn(inputs, settings):
    x, radius = inputs[0], settings["depth_radius"]
    out = np.empty(x.shape)
    for n, c, h, w in np.ndindex(x.shape):
        near = range(max(c - radius, 0), min(c + radius + 1, x.shape[1]))
        total = math.fsum(float(x[n, k, h, w]) ** 2 for k in near)
        base = settings["bias"] + settings["alpha"] * total
        out[n, c, h, w] = float(x[n, c, h, w]) * math.exp(-settings["beta"] * math.log(base))
    return [out]


def _normalized(function, x, gamma, dout):
    """Gradients of what normalizes and then scales and shifts."""
    tensors = [x, gamma, np.zeros(gamma.shape)]
    return [blamed(function, tensors, slot, [dout]) for slot in range(3)]


def layer_norm_gradient(inputs, settings):
    x, dout, _, _, gamma = inputs
    return _normalized(lambda *a: layer_norm(a, settings)[:1], x, gamma, dout)


def group_norm_gradient(inputs, settings):
    dout, x, _, _, gamma = inputs
    known = {"eps": EPSILON} | settings
    return _normalized(lambda *a: group_norm(a, known)[:1], x, gamma, dout)


def rms_norm_gradient(inputs, settings):
    dout, x, _, gamma = inputs
    known = {"epsilon": EPSILON}
    return _normalized(lambda a, b, _: rms_norm([a, b], known)[:1], x, gamma, dout)[:2]


def batch_norm_gradient(inputs, settings):
    dout, x, scale, mean, variance, _ = inputs

    def function(a, gamma, beta):
        moments = [mean, variance]
        if settings["is_training"]:
            rows = [a[:, c].ravel().tolist() for c in range(a.shape[1])]
            moments = [np.array(list(map(f, rows))) for f in MEASURES]
        return batch_norm([a, gamma, beta, *moments], settings)[:1]

    return _normalized(function, x, scale, dout)


def _layer(x, gamma, settings):
    _, mean, variance = layer_norm([x, gamma, gamma], settings)
    return ([x, numbers(*x.shape, seed=2), variance, mean, gamma], settings)


def _group(x, gamma, groups):
    known = {"num_groups": groups, "eps": EPSILON}
    _, mean, rstd = group_norm([x, gamma, gamma], known)
    return ([numbers(*x.shape, seed=2), x, mean, rstd, gamma], {"num_groups": groups})


def _rms(x, gamma):
    _, rstd = rms_norm([x, gamma], {"epsilon": EPSILON})
    return ([numbers(*x.shape, seed=2), x, rstd, gamma], {})


def _batch(x, training):
    rows = [x[:, c].ravel().tolist() for c in range(x.shape[1])]
    mean, variance = (np.array(list(map(f, rows))) for f in MEASURES)
    if not training:
        mean, variance = mean + 0.5, variance * 2
    scale = numbers(x.shape[1], seed=3)
    settings = {"is_training": training, "epsilon": 1e-3}
    return ([numbers(*x.shape, seed=2), x, scale, mean, variance, variance], settings)


def batch_norm_slope(training: bool) -> GradientCase:
    mean, variance = anywhere(3), positive(3) + 0.5

    def norm(x: Any, scale: Any, bias: Any) -> Any:
        settings = (training, 1e-3, 0.1, 0)
        return record_all("BatchNorm", x, scale, bias, mean, variance, *settings)[0]

    return GradientCase(norm, (anywhere(2, 3, 2, 2), anywhere(3), anywhere(3)))


MOMENTS = [ROW, numbers(4, seed=4), numbers(4, seed=5), numbers(4, low=0.1, high=1)]

EPSILON = 1e-5

MEASURES = (statistics.fmean, statistics.pvariance)


CASES = {
    "LayerNorm": OperatorCase(
        layer_norm,
        [
            ([X, ROW, ROW], {"begin_norm_axis": -1, "begin_params_axis": -1, "epsilon": 1e-5}),
            (
                [X, numbers(3, 4), numbers(3, 4, seed=5)],
                {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 0.1},
            ),
        ],
        gradient=[
            GradientCase(
                lambda x, g, b: record_all("LayerNorm", x, g, b, -1, -1, 1e-3)[0],
                (anywhere(2, 2, 4), anywhere(4), anywhere(4)),
            ),
            GradientCase(
                lambda x, g, b: record_all("LayerNorm", x, g, b, 1, 1, 1e-3)[0],
                (anywhere(2, 2, 3), anywhere(2, 3), anywhere(2, 3)),
            ),
        ],
        onnx="LayerNormalization",
    ),
    "RmsNorm": OperatorCase(
        rms_norm,
        [([X, ROW], {"epsilon": 1e-5}), ([X, numbers(3, 4, seed=2)], {"epsilon": 0.1})],
        gradient=[
            GradientCase(
                lambda x, g: record_all("RmsNorm", x, g, 1e-3)[0], (anywhere(2, 4), anywhere(4))
            )
        ],
        onnx="RMSNormalization",
    ),
    "GroupNorm": OperatorCase(
        group_norm,
        [
            ([IMAGE, ROW, numbers(4, seed=2)], {"num_groups": 2, "eps": 1e-3}),
            ([Y, numbers(3), numbers(3, seed=2)], {"num_groups": 3, "eps": 0.1}),
        ],
        gradient=[
            GradientCase(
                lambda x, g, b: record_all("GroupNorm", x, 2, g, b, 1e-3)[0],
                (anywhere(2, 4, 3), anywhere(4), anywhere(4)),
            )
        ],
        onnx="GroupNormalization InstanceNormalization",
    ),
    "BatchNorm": OperatorCase(
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
        gradient=[batch_norm_slope(training=False), batch_norm_slope(training=True)],
        onnx="BatchNormalization",
    ),
    "BNTrainingReduce": OperatorCase(channel_sums, [([IMAGE], {}), ([X], {})]),
    "BNTrainingUpdate": OperatorCase(
        update_by_sums,
        [([IMAGE, *channel_sums([IMAGE], {}), *MOMENTS], {"factor": 0.3, "epsilon": 1e-3})],
    ),
    "ConvBnFilterHost": OperatorCase(
        folded_filter, [([numbers(4, 2, 3, 1), *MOMENTS], {"epsilon": 1e-3})]
    ),
    "ConvBnBiasHost": OperatorCase(folded_bias, [([ROW, *MOMENTS], {"epsilon": 1e-3})]),
    "LRN": OperatorCase(
        lrn,
        [
            ([IMAGE], {"depth_radius": 1, "bias": 1.0, "alpha": 0.3, "beta": 0.75}),
            ([IMAGE], {"depth_radius": 5, "bias": 2.0, "alpha": 1.0, "beta": 0.5}),
        ],
        onnx="LRN",
    ),
    "LayerNormGrad": OperatorCase(
        layer_norm_gradient,
        [
            _layer(X, ROW, {"begin_norm_axis": -1, "begin_params_axis": -1, "epsilon": 1e-5}),
            _layer(
                X,
                numbers(3, 4),
                {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 0.1},
            ),
        ],
        by_differences=True,
    ),
    "RmsNormGrad": OperatorCase(
        rms_norm_gradient, [_rms(X, ROW), _rms(X, numbers(3, 4))], by_differences=True
    ),
    "GroupNormGrad": OperatorCase(
        group_norm_gradient,
        [_group(numbers(2, 4, 3, 2), ROW, 2), _group(X, ROW[:3], 1)],
        by_differences=True,
    ),
    "BatchNormGrad": OperatorCase(
        batch_norm_gradient,
        [_batch(numbers(2, 3, 2, 2), True), _batch(X, True), _batch(numbers(2, 3, 2, 2), False)],
        by_differences=True,
    ),
}
