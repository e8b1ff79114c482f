"""Loops of the operators that most networks are made of; gradients are differences of them."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np

from kit.oracle.oracles_elementwise import lines, two


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


def gelu(v):
    # 0.5 (1 + tanh z) = 1 / (1 + e^(-2z))
    z = math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)
    return v / (1 + math.exp(-2 * z))
