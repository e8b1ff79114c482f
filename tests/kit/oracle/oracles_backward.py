"""Oracles of gradients: differences of the oracles of what goes forward, which are loops.

A central difference of eighth order errs by h⁸/630 of the ninth derivative; with numbers of about 1 and
h = 1/200 it is right to twelve digits or so (Fornberg 1988, table 1).
"""

from __future__ import annotations

import math
import statistics

import numpy as np

from kit.oracle import oracles_forward as forward
from kit.oracle import oracles_layers, oracles_moving
from kit.oracle.oracles_elementwise import IMAGE, ROW, X, Y, each, filled, numbers, sigmoid, whole

WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def blamed(function, inputs, slot, douts, step=0.005):
    """Gradient of Σ dout · output by one of the inputs of ``function``."""
    inputs = [np.array(array, dtype=float if array.dtype.kind == "f" else None) for array in inputs]
    place = inputs[slot]
    out = np.empty(place.shape)
    for index in np.ndindex(place.shape):
        middle, total = place[index], []
        for k, weight in enumerate(WEIGHTS, 1):
            for sign in (1, -1):
                place[index] = middle + sign * k * step
                for output, dout in zip(function(*inputs), douts, strict=False):
                    terms = zip(np.ravel(output).tolist(), np.ravel(dout).tolist(), strict=True)
                    total += [sign * weight * a * float(b) for a, b in terms]
        place[index] = middle
        out[index] = math.fsum(total) / step
    return out


def elementwise(function, *, inverse=lambda v: v, order="dx", step=0.005):
    """Gradient of a function of one number; of the input, or of the output and its inverse."""

    def oracle(inputs, settings):
        dout, seen = (inputs[order.index(letter)] for letter in "dx")
        x = filled(seen, [inverse(v) for v in seen.ravel().tolist()])
        found = []
        for v, d in zip(x.ravel().tolist(), dout.ravel().tolist(), strict=True):
            slope = blamed(lambda a: [each(function)([a], {})[0]], [np.array(v)], 0, [1.0], step)
            found.append(slope.item() * d)
        return [filled(dout, found)]

    return oracle


def relu(inputs, settings):
    dout, x = inputs
    pairs = zip(dout.ravel().tolist(), x.ravel().tolist(), strict=True)
    return [filled(dout, [d if v > 0 else 0.0 for d, v in pairs])]


def bias_add(inputs, settings):
    dout = inputs[0]
    zero = np.zeros(dout.shape)
    return [blamed(lambda b: forward.bias_add([zero, b], {}), [np.zeros(dout.shape[1])], 0, [dout])]


def conv2d_filter(inputs, settings):
    dout, x = inputs
    rest = {key: value for key, value in settings.items() if key != "filter_size"}
    weight = np.zeros(settings["filter_size"])
    return [blamed(lambda w: forward.conv2d([x, w], rest), [weight], 0, [dout], step=1.0)]


def pool(combine, step):
    def oracle(inputs, settings):
        x, _, dout = inputs
        return [blamed(lambda a: forward.pool(combine)([a], settings), [x], 0, [dout], step)]

    return oracle


def first_of_equals(inputs, settings):
    """The first largest element of a window gets its gradient."""
    x, _, dout = inputs
    table, _ = forward.windows(x.shape[2:], settings, settings["kernel_size"], settings["strides"])
    out = np.zeros(x.shape)
    for n, c, r, k in np.ndindex(dout.shape):
        inside = [(p, q) for p, q, _, _ in table[r, k]]
        values = [x[n, c, p, q].item() for p, q in inside]
        p, q = inside[values.index(max(values))]
        out[n, c, p, q] += dout[n, c, r, k].item()
    return [out]


def _losses(x, labels):
    found = []
    for row, shares in zip(x.tolist(), labels.tolist(), strict=True):
        total = math.log(math.fsum(math.exp(v) for v in row))
        found.append(math.fsum(share * (total - v) for v, share in zip(row, shares, strict=True)))
    return [np.array(found)]


def cross_entropy(inputs, settings):
    x, labels = inputs
    ones = np.ones(x.shape[0])
    losses = _losses(x, labels)
    if math.fsum(labels[0].tolist()) != 1.0:  # MindSpore takes for granted that shares sum to 1
        raise ValueError(labels)
    return [*losses, blamed(lambda a: _losses(a, labels), [x], 0, [ones])]


def sparse_cross_entropy(inputs, settings):
    x, labels = inputs
    shares = np.array([[float(k == label) for k in range(x.shape[1])] for label in labels.tolist()])

    def mean(a):
        return [np.array(statistics.fmean(_losses(a, shares)[0].tolist()))]

    return [blamed(mean, [x], 0, [1.0])] if settings.get("is_grad") else mean(x)


def prelu(inputs, settings):
    dout, x, weight = inputs

    def function(a, w):
        out = np.empty(a.shape)
        for index in np.ndindex(a.shape):
            factor = w[index[1] if w.size > 1 else 0].item()
            out[index] = a[index].item() * (factor if a[index] < 0 else 1.0)
        return [out]

    return [blamed(function, [x, weight], slot, [dout], step=0.05) for slot in (0, 1)]


def log_softmax(inputs, settings):
    """The output is its own logarithm of the softmax: the place to differentiate at."""
    out, dout = inputs
    return [blamed(lambda a: forward.softmax(True)([a], settings), [out], 0, [dout])]


def _normalized(function, x, gamma, dout):
    """Gradients of what normalizes and then scales and shifts."""
    tensors = [x, gamma, np.zeros(gamma.shape)]
    return [blamed(function, tensors, slot, [dout]) for slot in range(3)]


def layer_norm(inputs, settings):
    x, dout, _, _, gamma = inputs
    return _normalized(lambda *a: forward.layer_norm(a, settings)[:1], x, gamma, dout)


def group_norm(inputs, settings):
    dout, x, _, _, gamma = inputs
    known = {"eps": EPSILON} | settings
    return _normalized(lambda *a: oracles_layers.group_norm(a, known)[:1], x, gamma, dout)


def rms_norm(inputs, settings):
    dout, x, _, gamma = inputs
    known = {"epsilon": EPSILON}
    return _normalized(lambda a, b, _: oracles_layers.rms_norm([a, b], known)[:1], x, gamma, dout)[
        :2
    ]


def batch_norm(inputs, settings):
    dout, x, scale, mean, variance, _ = inputs

    def function(a, gamma, beta):
        moments = [mean, variance]
        if settings["is_training"]:
            rows = [a[:, c].ravel().tolist() for c in range(a.shape[1])]
            moments = [np.array(list(map(f, rows))) for f in MOMENTS]
        return forward.batch_norm([a, gamma, beta, *moments], settings)[:1]

    return _normalized(function, x, scale, dout)


def moved(function, shape):
    """Gradient of what only moves: a step of 1 loses nothing."""

    def oracle(inputs, settings):
        def forward(a):
            return function(a, inputs, settings)

        where = np.zeros(shape(inputs, settings))
        return [blamed(forward, [where], 0, [inputs[DOUT.get(function, 0)]], step=1.0)]

    return oracle


def _strided(a, inputs, settings):
    return oracles_moving.strided_slice([a], settings)


def _sliced(a, inputs, settings):
    return oracles_moving.slices([a], settings)


def _padded(a, inputs, settings):
    return oracles_moving.pad([a], settings)


def _taken(a, inputs, settings):
    return oracles_moving.gather_d([a, inputs[1]], settings)


def _nearest(a, inputs, settings):
    size = {"size": inputs[0].shape[2:]}
    return oracles_layers.resize(oracles_layers.nearest)([a], settings | size)


def _linear(a, inputs, settings):
    size = {"size": inputs[0].shape[2:]}
    return oracles_layers.resize(oracles_layers.linear)([a], settings | size)


DOUT = {_taken: 2}
"""Place of the gradient among the inputs where it is not the first."""


def _before(inputs, settings):
    """Shape that a tensor had before it was padded."""
    shape, flat = list(inputs[0].shape), settings["paddings"]
    for k in range(len(flat) // 2):
        shape[-1 - k] -= flat[2 * k] + flat[2 * k + 1]
    return shape


def segment_sum(inputs, settings):
    x, segments = inputs
    out = np.zeros((settings["num_segments"], *x.shape[segments.ndim :]))
    for index in np.ndindex(x.shape):
        which = int(segments[index[: segments.ndim]])
        if which >= 0:
            out[(which, *index[segments.ndim :])] += x[index].item()
    return [out]


def scatter_nd(inputs, settings):
    indices, updates = inputs
    out = np.zeros(settings["shape"])
    for index in np.ndindex(indices.shape[:-1]):
        for rest in np.ndindex(updates.shape[indices.ndim - 1 :]):
            out[(*indices[index].tolist(), *rest)] += updates[(*index, *rest)].item()
    return [out]


def unstack(inputs, settings):
    x, axis = inputs[0], settings.get("axis", 0) % inputs[0].ndim
    rest = [n for k, n in enumerate(x.shape) if k != axis]
    found = []
    for place in range(x.shape[axis]):
        cells = [x[(*index[:axis], place, *index[axis:])].item() for index in np.ndindex(*rest)]
        found.append(np.array(cells).reshape(rest))
    return found


def fill(inputs, settings):
    out = np.empty(settings["shape"])
    for index in np.ndindex(out.shape):
        out[index] = inputs[0].item()
    return [out]


def dropout(inputs, settings):
    """Nothing is dropped; `test_backward` looks at what is."""
    assert settings["keep_prob"] == 1
    return [each(float)(inputs, {})[0], each(lambda v: 1.0)(inputs, {})[0]]


def dropout_gradient(inputs, settings):
    dout, mask = inputs
    pairs = zip(dout.ravel().tolist(), mask.ravel().tolist(), strict=True)
    return [filled(dout, [d * m / settings["keep_prob"] for d, m in pairs])]


def dynamic_rnn(inputs, settings):
    x, w, b, _, init_h, init_c, *_, dy, dh, dc, _, _, _, _, _ = inputs

    def function(weight, bias, image, h, c):
        found = oracles_layers.dynamic_rnn([image, weight, bias, h[None], c[None]], {})
        return found[0], found[1][-1], found[2][-1]

    tensors = [w, b, x, init_h, init_c]
    return [blamed(function, tensors, slot, [dy, dh, dc]) for slot in range(5)]


def lstm(inputs, settings):
    tensors, douts = inputs[:4], inputs[7:10]

    def function(*known):
        return oracles_layers.lstm(known, settings)[:3]

    return [blamed(function, tensors, slot, douts) for slot in range(4)]


def _steps(steps, batch, features, hidden):
    x, b = numbers(steps, batch, features), numbers(4 * hidden, seed=2)
    w = numbers(features + hidden, 4 * hidden, seed=1)
    h, c = numbers(batch, hidden, seed=3), numbers(batch, hidden, seed=4)
    y, h_all, c_all, *gates = oracles_layers.dynamic_rnn([x, w, b, h[None], c[None]], {})
    ends = numbers(batch, hidden, seed=5), numbers(batch, hidden, seed=6)
    dy = numbers(steps, batch, hidden, seed=8)
    return ([x, w, b, y, h, c, h_all, c_all, dy, *ends, *gates], {})


def _layered(steps, batch, features, hidden, bias):
    size = 4 * hidden * (features + hidden + bias)
    settings = {"hidden_size": hidden, "has_bias": bias}
    given = [
        numbers(steps, batch, features),
        numbers(1, batch, hidden, seed=3),
        numbers(1, batch, hidden, seed=4),
        numbers(size, 1, 1, seed=5),
    ]
    outputs = oracles_layers.lstm(given, settings)
    douts = [numbers(*array.shape, seed=6 + k) for k, array in enumerate(outputs[:3])]
    return ([*given, *outputs[:3], *douts, np.zeros((1, 1))], settings)


def _layer(x, gamma, settings):
    _, mean, variance = forward.layer_norm([x, gamma, gamma], settings)
    return ([x, numbers(*x.shape, seed=2), variance, mean, gamma], settings)


def _group(x, gamma, groups):
    known = {"num_groups": groups, "eps": EPSILON}
    _, mean, rstd = oracles_layers.group_norm([x, gamma, gamma], known)
    return ([numbers(*x.shape, seed=2), x, mean, rstd, gamma], {"num_groups": groups})


def _rms(x, gamma):
    _, rstd = oracles_layers.rms_norm([x, gamma], {"epsilon": EPSILON})
    return ([numbers(*x.shape, seed=2), x, rstd, gamma], {})


def _batch(x, training):
    rows = [x[:, c].ravel().tolist() for c in range(x.shape[1])]
    mean, variance = (np.array(list(map(f, rows))) for f in MOMENTS)
    if not training:
        mean, variance = mean + 0.5, variance * 2
    scale = numbers(x.shape[1], seed=3)
    settings = {"is_training": training, "epsilon": 1e-3}
    return ([numbers(*x.shape, seed=2), x, scale, mean, variance, variance], settings)


def _silu(v):
    return v * sigmoid(v)


def _hswish(v):
    return v * min(max(v + 3, 0), 6) / 6


def _filter(x, weight, group=1, **settings):
    """Gradient of a convolution's weight: the output's size is that of the loops."""
    rest = {"group": group, "stride": 1, "pad_mode": "valid"} | settings
    image = numbers(*x)
    dout = numbers(*forward.conv2d([image, np.zeros(weight)], rest)[0].shape, seed=4)
    return ([dout, image], rest | {"filter_size": weight})


def _pooled(x, **settings):
    out = forward.pool(statistics.fmean)([x], settings)[0].shape
    return ([x, numbers(*out, seed=5), numbers(*out, seed=6)], settings)


EPSILON = 1e-5
MOMENTS = (statistics.fmean, statistics.pvariance)
STEPS = whole(2, 3, 4, low=-8, high=14) / 2 + 0.25  # away from where slopes jump
NEAR = whole(2, 3, 4, low=-4, high=4) / 2 + 0.25
UNIT = numbers(2, 3, 4, low=0.05, high=0.95)
BENT = numbers(2, 3, 4, low=-0.95, high=0.95)
SCORES, CLASSES = numbers(3, 4), whole(3, low=0, high=4, dtype=np.int32)
SHARES = np.array([[0.25, 0.5, 0.125, 0.125], [0.0, 0.0, 1.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
TIED = whole(2, 3, 6, 5, low=0, high=3).astype(float)
CASES = {
    "SoftmaxCrossEntropyWithLogits": (cross_entropy, [([SCORES, SHARES], {})]),
    "SparseSoftmaxCrossEntropyWithLogits": (
        sparse_cross_entropy,
        [([SCORES, CLASSES], {"is_grad": False}), ([SCORES, CLASSES], {"is_grad": True})],
    ),
    "Conv2DBackpropFilter": (
        conv2d_filter,
        [
            _filter((2, 4, 7, 6), (3, 4, 3, 3)),
            _filter((2, 4, 7, 6), (5, 4, 1, 1)),
            _filter((1, 4, 7, 6), (6, 2, 3, 2), 2, pad_mode="same", stride=2),
            _filter((2, 3, 6, 6), (3, 1, 3, 3), 3, pad_mode="pad", pad=(1, 1, 0, 2)),
            _filter((1, 2, 9, 9), (2, 2, 3, 3), dilation=2),
        ],
    ),
    "BiasAddGrad": (bias_add, [([numbers(3, 4)], {}), ([IMAGE], {"data_format": 0})]),
    "ReluGrad": (relu, [([Y, X], {})]),
    "SigmoidGrad": (
        elementwise(sigmoid, inverse=lambda y: math.log(y / (1 - y)), order="xd"),
        [([UNIT, Y], {})],
    ),
    "TanhGrad": (elementwise(math.tanh, inverse=math.atanh, order="xd"), [([BENT, Y], {})]),
    "ReLU6Grad": (elementwise(lambda v: min(max(v, 0.0), 6.0), step=0.05), [([Y, STEPS], {})]),
    "EluGrad": (
        elementwise(
            lambda v: v if v > 0 else math.expm1(v),
            inverse=lambda y: y if y > 0 else math.log1p(y),
        ),
        [([Y, BENT + 0.05 * np.sign(BENT)], {})],
    ),
    "SiLUGrad": (elementwise(_silu), [([Y, X], {})]),
    "HSwishGrad": (elementwise(_hswish, step=0.05), [([Y, STEPS], {})]),
    "HSigmoidGrad": (
        elementwise(lambda v: min(max(v + 3, 0), 6) / 6, step=0.05),
        [([Y, STEPS], {})],
    ),
    "GeLUGrad": (
        lambda inputs, _: elementwise(forward.gelu)(inputs[:2], {}),
        [([Y, X, np.zeros(X.shape)], {})],
    ),
    "SoftplusGrad": (elementwise(lambda v: math.log1p(math.exp(v))), [([Y, X], {})]),
    "PReLUGrad": (
        prelu,
        [([Y, NEAR, numbers(3)], {}), ([Y, NEAR, numbers(1)], {})],
    ),
    "SqrtGrad": (
        elementwise(math.sqrt, inverse=lambda y: y * y, order="xd", step=0.002),
        [([UNIT + 0.5, Y], {})],
    ),
    "RsqrtGrad": (
        elementwise(lambda v: v**-0.5, inverse=lambda y: y**-2, order="xd", step=0.002),
        [([UNIT + 0.5, Y], {})],
    ),
    "LogSoftmaxGrad": (
        log_softmax,
        [([forward.softmax(True)([X], {"axis": axis})[0], Y], {"axis": axis}) for axis in (-1, 0)],
    ),
    "LayerNormGrad": (
        layer_norm,
        [
            _layer(X, ROW, {"begin_norm_axis": -1, "begin_params_axis": -1, "epsilon": 1e-5}),
            _layer(
                X,
                numbers(3, 4),
                {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 0.1},
            ),
        ],
    ),
    "RmsNormGrad": (rms_norm, [_rms(X, ROW), _rms(X, numbers(3, 4))]),
    "GroupNormGrad": (group_norm, [_group(numbers(2, 4, 3, 2), ROW, 2), _group(X, ROW[:3], 1)]),
    "BatchNormGrad": (
        batch_norm,
        [_batch(numbers(2, 3, 2, 2), True), _batch(X, True), _batch(numbers(2, 3, 2, 2), False)],
    ),
    "StridedSliceGrad": (
        moved(_strided, lambda _, s: s["shapex"]),
        [
            (
                [numbers(2, 2)],
                {"shapex": (4, 5), "begin": (0, 1), "end": (4, 4), "strides": (2, 2)},
            ),
            (
                [numbers(5)],
                {
                    "shapex": (3, 5),
                    "begin": (1, 0),
                    "end": (2, 0),
                    "strides": (1, 1),
                    "begin_mask": 2,
                    "end_mask": 2,
                    "shrink_axis_mask": 1,
                },
            ),
        ],
    ),
    "SliceGrad": (
        moved(_sliced, lambda inputs, _: inputs[1].shape),
        [([numbers(2, 3), numbers(4, 4)], {"begin": (1, 0), "size": (2, 3)})],
    ),
    "PadV3Grad": (
        moved(_padded, _before),
        [
            ([numbers(2, 1, 3, 7)], {"paddings": (2, 1, 1, 0), "mode": "reflect"}),
            ([numbers(1, 2, 3, 7)], {"paddings": (5, 1, 0, 2), "mode": "edge"}),
            ([numbers(2, 3, 7)], {"paddings": (2, 1), "mode": "circular"}),
        ],
    ),
    "GatherDGradV2": (
        moved(_taken, lambda inputs, _: inputs[0].shape),
        [
            ([X, whole(2, 2, 4, low=-3, high=3), numbers(2, 2, 4)], {"dim": 1}),
            ([X, whole(2, 3, 6, low=0, high=4), numbers(2, 3, 6)], {"dim": -1}),
        ],
    ),
    "UnsortedSegmentSum": (
        segment_sum,
        [
            ([X, whole(2, low=0, high=4)], {"num_segments": 4}),
            ([X, whole(2, 3, low=-1, high=2, dtype=np.int32)], {"num_segments": 3}),
        ],
    ),
    "ScatterNd": (
        scatter_nd,
        [
            ([whole(5, 1, low=0, high=3), numbers(5, 4)], {"shape": (3, 4)}),
            ([whole(2, 3, 2, low=0, high=3), numbers(2, 3)], {"shape": (3, 4)}),
        ],
    ),
    "Unstack": (unstack, [([X], {"axis": 1, "num": 3}), ([X], {})]),
    "FillV2": (fill, [([np.asarray(1.5)], {"shape": (2, 3)})]),
    "Dropout": (dropout, [([X], {"keep_prob": 1.0})]),
    "DropoutGrad": (
        dropout_gradient,
        [([X, (Y > 0).astype(float)], {"keep_prob": 0.75})],
    ),
    "ResizeNearestNeighborV2Grad": (
        moved(_nearest, lambda inputs, s: (*inputs[0].shape[:2], *s["size"])),
        [
            ([numbers(1, 2, 5, 9)], {"size": (7, 6)}),
            ([numbers(1, 2, 9, 3)], {"size": (7, 6), "half_pixel_centers": True}),
            ([numbers(1, 2, 4, 8)], {"size": (7, 6), "align_corners": True}),
        ],
    ),
    "ResizeBilinearGrad": (
        moved(_linear, lambda inputs, _: inputs[1].shape),
        [
            ([numbers(1, 2, 5, 9), numbers(1, 2, 7, 6)], {}),
            ([numbers(1, 2, 9, 3), numbers(1, 2, 7, 6)], {"half_pixel_centers": True}),
            ([numbers(1, 2, 4, 8), numbers(1, 2, 7, 6)], {"align_corners": True}),
        ],
    ),
    "DynamicRNNGrad": (dynamic_rnn, [_steps(3, 2, 3, 2)]),
    "LSTMGrad": (lstm, [_layered(3, 2, 3, 2, True), _layered(2, 1, 2, 2, False)]),
    "MaxPoolGrad": (
        first_of_equals,
        [
            _pooled(IMAGE, kernel_size=(1, 1, 3, 3), strides=(1, 1, 2, 2), pad_mode="VALID"),
            _pooled(IMAGE, kernel_size=(1, 1, 2, 3), strides=(1, 1, 2, 1), pad_mode="SAME"),
            _pooled(TIED, kernel_size=(1, 1, 3, 3), strides=(1, 1, 2, 2), pad_mode="SAME"),
        ],
    ),
    "AvgPoolGrad": (
        pool(statistics.fmean, step=1.0),
        [
            _pooled(IMAGE, kernel_size=(2, 2), strides=(2, 2), pad_mode="valid"),
            _pooled(IMAGE, kernel_size=(3, 3), strides=(2, 1), pad_mode="same"),
        ],
    ),
}
