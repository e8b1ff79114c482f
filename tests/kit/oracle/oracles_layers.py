"""Loops and closed forms of reductions, normalizations, windows, recurrent layers, quantization."""

from __future__ import annotations

import math
import statistics
import struct

import numpy as np

from kit.oracle.oracles_elementwise import (
    IMAGE,
    ROW,
    X,
    Y,
    filled,
    flags,
    lines,
    numbers,
    sigmoid,
    two,
    whole,
)


def reduction(combine):
    def oracle(inputs, settings):
        x = inputs[0]
        axis = settings["axis"]
        axes = range(x.ndim) if axis == () else (axis,) if isinstance(axis, int) else axis
        axes = {a % x.ndim for a in axes}
        cells = {}
        for index in np.ndindex(x.shape):
            key = tuple(0 if i in axes else k for i, k in enumerate(index))
            cells.setdefault(key, []).append(x[index].item())
        shape = [1 if i in axes else n for i, n in enumerate(x.shape)]
        out = np.array([combine(cells[key]) for key in np.ndindex(*shape)]).reshape(shape)
        kept = [n for i, n in enumerate(x.shape) if i not in axes]
        return [out if settings["keep_dims"] else out.reshape(kept)]

    return oracle


def place_and_value(better):
    def oracle(inputs, settings):
        x, axis = inputs[0], settings["axis"] % inputs[0].ndim
        shape = [1 if i == axis else n for i, n in enumerate(x.shape)]
        places, values = [], []
        for line in lines(x, axis):
            row = x[line].tolist()
            best = 0
            for place, value in enumerate(row):
                if better(value, row[best]):
                    best = place
            places.append(best)
            values.append(row[best])
        if not settings.get("keep_dims"):
            shape.pop(axis)
        return [np.array(places).reshape(shape), np.array(values).reshape(shape)]

    return oracle


def place_of(better):
    return lambda inputs, settings: place_and_value(better)(inputs, settings)[:1]


def top_k(inputs, settings):
    x, k = inputs[0], settings["k"]
    places = [
        sorted(range(x.shape[-1]), key=lambda i, row=row: (-row[i], i))[:k]
        for row in x.reshape(-1, x.shape[-1]).tolist()
    ]
    rows = x.reshape(-1, x.shape[-1])
    values = [[rows[r, i] for i in row] for r, row in enumerate(places)]
    shape = (*x.shape[:-1], k)
    return [np.array(values).reshape(shape), np.array(places).reshape(shape)]


def cumulative(combine):
    def oracle(inputs, settings):
        x = inputs[0]
        out = np.empty(x.shape, x.dtype)
        for line in lines(x, settings["axis"]):
            row = x[line].tolist()
            if settings.get("reverse"):
                row = row[::-1]
            skip = int(bool(settings.get("exclusive")))
            done = [combine(row[: place + 1 - skip]) for place in range(len(row))]
            out[line] = done[::-1] if settings.get("reverse") else done
        return [out]

    return oracle


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


def _starts(size, kernel, stride, before, after, ceil):
    """First places of the windows, by trying one after the other."""
    starts, place = [], -before
    while place + kernel <= size + after or (
        ceil and place < size and place + kernel < size + after + stride
    ):
        starts.append(place)
        place += stride
    return starts


def padded_pool(combine):
    """``combine`` gets the values inside, and how many places of the padding a window holds."""

    def oracle(inputs, settings):
        x = inputs[0]
        kernel, stride = two(settings.get("ksize", 1)), two(settings.get("strides", 1))
        top, bottom, left, right = settings.get("pads", (0, 0, 0, 0))
        if settings.get("global_pooling"):
            kernel, stride = x.shape[2:], (1, 1)
        ceil = settings.get("ceil_mode")
        rows = _starts(x.shape[2], kernel[0], stride[0], top, bottom, ceil)
        columns = _starts(x.shape[3], kernel[1], stride[1], left, right, ceil)
        out = np.empty((*x.shape[:2], len(rows), len(columns)), x.dtype)
        for n, c, r, k in np.ndindex(out.shape):
            inside, around = [], 0
            for p in range(rows[r], rows[r] + kernel[0]):
                for q in range(columns[k], columns[k] + kernel[1]):
                    if 0 <= p < x.shape[2] and 0 <= q < x.shape[3]:
                        inside.append(x[n, c, p, q].item())
                    elif p < x.shape[2] + bottom and q < x.shape[3] + right:
                        around += 1
            out[n, c, r, k] = combine(inside, around, settings)
        return [out]

    return oracle


def mean(inside, around, settings):
    return math.fsum(inside) / (len(inside) + (0 if settings.get("exclusive", True) else around))


def resize(pick):
    """``pick`` gives, for a place, the places it takes with their weights."""

    def oracle(inputs, settings):
        x, size = inputs[0], settings["size"]
        out = np.empty((*x.shape[:2], *size))
        for n, c, r, k in np.ndindex(out.shape):
            rows = pick(r, x.shape[2], size[0], settings)
            columns = pick(k, x.shape[3], size[1], settings)
            out[n, c, r, k] = math.fsum(
                float(x[n, c, p, q]) * a * b for p, a in rows for q, b in columns
            )
        return [out]

    return oracle


def nearest(place, old, new, settings):
    if settings.get("align_corners"):
        return [(int(place * (old - 1) / (new - 1) + 0.5), 1.0)]
    if settings.get("half_pixel_centers"):
        return [(int((place + 0.5) * old / new), 1.0)]
    return [(int(place * old / new), 1.0)]


def linear(place, old, new, settings):
    if settings.get("align_corners"):
        where = place * (old - 1) / (new - 1)
    elif settings.get("half_pixel_centers"):
        where = max((place + 0.5) * old / new - 0.5, 0.0)
    else:
        where = place * old / new
    low = min(int(where), old - 1)
    return [(low, 1 - (where - low)), (min(low + 1, old - 1), where - low)]


def _affine(row, weight, bias):
    """Row · weight + bias, weight as (inputs, outputs)."""
    return [
        math.fsum(v * float(weight[i, k]) for i, v in enumerate(row)) + float(bias[k])
        for k in range(weight.shape[1])
    ]


def dynamic_rnn(inputs, settings):
    x, w, b, init_h, init_c = inputs
    steps, batch, _ = x.shape
    size = init_h.shape[2]
    out = [np.empty((steps, batch, size)) for _ in range(8)]
    for n in range(batch):
        h, c = init_h[0, n].tolist(), init_c[0, n].tolist()
        for t in range(steps):
            gates = _affine([*x[t, n].tolist(), *h], w, b)
            for k in range(size):
                i, j = sigmoid(gates[k]), math.tanh(gates[size + k])
                f = sigmoid(gates[2 * size + k] + settings.get("forget_bias", 0.0))
                o = sigmoid(gates[3 * size + k])
                c[k] = f * c[k] + i * j
                h[k] = o * math.tanh(c[k])
                values = (h[k], h[k], c[k], i, j, f, o, math.tanh(c[k]))
                for array, value in zip(out, values, strict=True):
                    array[t, n, k] = value
    return out


def dynamic_gru(inputs, settings):
    x, wx, wh, bx, bh, init_h = inputs
    steps, batch, _ = x.shape
    size = init_h.shape[1]
    out = [np.empty((steps, batch, size)) for _ in range(6)]
    first, second = (0, size) if settings.get("gate_order", "rzh") == "rzh" else (size, 0)
    for n in range(batch):
        h = init_h[n].tolist()
        for t in range(steps):
            ahead, behind = _affine(x[t, n].tolist(), wx, bx), _affine(h, wh, bh)
            r = [sigmoid(ahead[first + k] + behind[first + k]) for k in range(size)]
            z = [sigmoid(ahead[second + k] + behind[second + k]) for k in range(size)]
            if settings.get("reset_after", True):
                inner = behind[2 * size :]
                bent = [r[k] * inner[k] for k in range(size)]
            else:
                damped = [r[k] * h[k] for k in range(size)]
                inner = bent = _affine(damped, wh, bh)[2 * size :]
            new = [math.tanh(ahead[2 * size + k] + bent[k]) for k in range(size)]
            h = [(1 - z[k]) * new[k] + z[k] * h[k] for k in range(size)]
            for array, values in zip(out, (h, h, z, r, new, inner), strict=True):
                array[t, n] = values
    return out


def lstm(inputs, settings):
    """Gates i, f, g, o of weights (4H, I) and (4H, H) in one tensor, then the bias."""
    x, h, c, w = inputs
    size, features = settings["hidden_size"], x.shape[2]
    flat = w.ravel().tolist()
    rows = [flat[k * features : (k + 1) * features] for k in range(4 * size)]
    rest = flat[4 * size * features :]
    back = [rest[k * size : (k + 1) * size] for k in range(4 * size)]
    bias = rest[4 * size * size :] or [0.0] * (4 * size)
    order = [*range(size), *range(2 * size, 3 * size), *range(size, 2 * size),
             *range(3 * size, 4 * size)]  # fmt: skip
    joined = np.array([rows[k] + back[k] for k in order]).T
    found = dynamic_rnn([x, joined, np.array([bias[k] for k in order]), h, c], {})
    empty = np.zeros((1, 1))
    return [found[0], found[1][-1:], found[2][-1:], empty, empty]


def quant(inputs, settings):
    low, high = (-8, 7) if settings.get("dst_type") == 29 else (-128, 127)
    rounding = {
        "Round": round,
        "Floor": math.floor,
        "Ceil": math.ceil,
        "Trunc": math.trunc,
    }[settings.get("round_mode", "Round")]
    scale = settings.get("scale", 1.0) ** (2 if settings.get("sqrt_mode") else 1)
    found = []
    for v in inputs[0].ravel().tolist():
        scaled = v * scale + settings.get("offset", 0.0)
        if math.isnan(scaled):
            found.append(0)
        elif math.isinf(scaled):
            found.append(high if scaled > 0 else low)
        else:
            found.append(min(max(rounding(scaled), low), high))
    return [filled(inputs[0], found)]


def dequant(inputs, settings):
    x, scales = inputs
    if scales.dtype == np.uint64:
        scales = np.frombuffer(scales.tobytes(), np.float32)[::2]
    out = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        scale = float(scales[0 if scales.size == 1 else index[1 if x.ndim == 4 else -1]])
        value = int(x[index]) * scale * (scale if settings.get("sqrt_mode") else 1.0)
        out[index] = max(value, 0.0) if settings.get("relu_flag") else value
    return [out]


def trans_quant_param(inputs, settings):
    """Words by shifts of whole numbers; nearest by the even one of two neighbors as fractions."""
    scales, offsets = inputs[0], inputs[1] if len(inputs) > 1 else None
    length = max(array.shape[-1] for array in inputs)
    words = []
    for k in range(length):
        scale = float(scales.ravel()[k % scales.size])
        (bits,) = struct.unpack("<I", struct.pack("<f", scale))
        units, rest = divmod(bits, 8192)
        if settings.get("round_mode") and (rest > 4096 or (rest == 4096 and units % 2)):
            units += 1
        word = units * 8192 + 2**46
        if offsets is not None:
            word += (
                min(max(round(float(offsets.ravel()[k % offsets.size])), -256), 255) % 512
            ) * 2**37
        words.append(word)
    wide = max((array.shape for array in inputs), key=lambda shape: (shape[-1] != 1, len(shape)))
    return [np.array(words, np.uint64).reshape(wide)]


def anti_quant(inputs, settings):
    scale = settings["scale"] ** (2 if settings.get("sqrt_mode") else 1)
    values = [(v + settings["offset"]) * scale for v in inputs[0].ravel().tolist()]
    return [filled(inputs[0], values)]


ANY = {"axis": (), "keep_dims": False}
MIDDLE = {"axis": (1,), "keep_dims": True}
REDUCED = [([X], ANY), ([X], MIDDLE), ([X], {"axis": (0, -1), "keep_dims": False})]
TIED = whole(3, 6, low=0, high=4)
POOLED = [
    ([IMAGE], {"ksize": (1, 1, 3, 3), "strides": (1, 1, 2, 2), "pads": (1, 0, 2, 1)}),
    ([IMAGE], {"ksize": (1, 1, 3, 2), "strides": (1, 1, 2, 2), "pads": (1, 1, 0, 0),
               "ceil_mode": True}),
    ([IMAGE], {"ksize": (1, 1, 2, 2), "strides": (1, 1, 3, 3), "pads": (0, 1, 1, 1),
               "ceil_mode": True}),
    ([IMAGE], {"global_pooling": True}),
]  # fmt: skip
SIZES = [
    ([IMAGE], {"size": (5, 11)}),
    ([IMAGE], {"size": (14, 3), "half_pixel_centers": True}),
    ([IMAGE], {"size": (4, 8), "align_corners": True}),
]
CELL = [numbers(3, 2, 5), numbers(9, 16, seed=1), numbers(16, seed=2), numbers(1, 2, 4, seed=3)]
GATED = [numbers(3, 2, 5), numbers(5, 12, seed=1), numbers(4, 12, seed=2), numbers(12, seed=3),
         numbers(12, seed=4), numbers(2, 4, seed=5)]  # fmt: skip
STATES = [numbers(1, 2, 4, seed=3), numbers(1, 2, 4, seed=4)]
COARSE = np.array([[-40.0, 0.5, 1.5, 2.5, -2.5], [0.1, 300.0, -0.74, math.inf, math.nan]])
SUMS = whole(2, 3, 4, 5, low=-5000, high=5000, dtype=np.int32)
CASES = {
    "ReduceMax": (reduction(lambda v: sorted(v)[-1]), REDUCED),
    "ReduceMin": (reduction(lambda v: sorted(v)[0]), REDUCED),
    "ReduceProd": (reduction(math.prod), [*REDUCED, ([whole(2, 3)], MIDDLE)]),
    "ReduceAll": (
        reduction(lambda v: False not in v),
        [([flags(2, 3, 4)], MIDDLE), ([flags(2)], ANY)],
    ),
    "ReduceAny": (reduction(lambda v: True in v), [([flags(2, 3, 4)], MIDDLE), ([flags(2)], ANY)]),
    "Argmax": (
        place_of(lambda a, b: a > b),
        [([X], {"axis": -1}), ([TIED], {"axis": 0, "output_type": 35})],
    ),
    "Argmin": (
        place_of(lambda a, b: a < b),
        [([X], {"axis": 1}), ([TIED], {"axis": -1, "output_type": 35})],
    ),
    "ArgMaxWithValue": (
        place_and_value(lambda a, b: a > b),
        [([X], {"axis": 1, "keep_dims": True}), ([TIED], {"axis": 0, "keep_dims": False})],
    ),
    "ArgMinWithValue": (
        place_and_value(lambda a, b: a < b),
        [([X], {"axis": 1, "keep_dims": True}), ([TIED], {"axis": 0, "keep_dims": False})],
    ),
    "TopK": (top_k, [([X], {"k": 2}), ([TIED], {"k": 5}), ([TIED], {"k": 0})]),
    "CumSum": (
        cumulative(math.fsum),
        [
            ([X], {"axis": 1}),
            ([X], {"axis": -1, "exclusive": True}),
            ([X], {"axis": 0, "reverse": True}),
            ([whole(3, 4)], {"axis": 1, "exclusive": True, "reverse": True}),
        ],
    ),
    "CumProd": (
        cumulative(math.prod),
        [([X], {"axis": 1}), ([X], {"axis": -1, "exclusive": True, "reverse": True})],
    ),
    "RmsNorm": (
        rms_norm,
        [([X, ROW], {"epsilon": 1e-5}), ([X, numbers(3, 4, seed=2)], {"epsilon": 0.1})],
    ),
    "GroupNorm": (
        group_norm,
        [
            ([IMAGE, ROW, numbers(4, seed=2)], {"num_groups": 2, "eps": 1e-3}),
            ([Y, numbers(3), numbers(3, seed=2)], {"num_groups": 3, "eps": 0.1}),
        ],
    ),
    "LRN": (
        lrn,
        [
            ([IMAGE], {"depth_radius": 1, "bias": 1.0, "alpha": 0.3, "beta": 0.75}),
            ([IMAGE], {"depth_radius": 5, "bias": 2.0, "alpha": 1.0, "beta": 0.5}),
        ],
    ),
    "MaxPoolV3": (
        padded_pool(lambda inside, around, settings: max(inside)),
        [*POOLED, ([whole(1, 2, 5, 5)], POOLED[0][1])],
    ),
    "AvgPoolV2": (
        padded_pool(mean),
        [
            ([x], {**settings, "exclusive": flag})
            for x, settings in ((inputs[0], settings) for inputs, settings in POOLED)
            for flag in (True, False)
        ],
    ),
    "ResizeNearestNeighborV2": (resize(nearest), SIZES),
    "ResizeBilinearV2": (resize(linear), SIZES),
    "DynamicRNN": (
        dynamic_rnn,
        [
            ([*CELL, numbers(1, 2, 4, seed=4)], {}),
            ([*CELL, numbers(1, 2, 4, seed=4)], {"forget_bias": 1.0}),
        ],
    ),
    "DynamicGRUV2": (
        dynamic_gru,
        [(GATED, {}), (GATED, {"reset_after": False, "gate_order": "zrh"})],
    ),
    "LSTM": (
        lstm,
        [
            ([numbers(3, 2, 5), *STATES, numbers(160, 1, 1)], {"hidden_size": 4}),
            (
                [numbers(3, 2, 5), *STATES, numbers(144, 1, 1)],
                {"hidden_size": 4, "has_bias": False},
            ),
        ],
    ),
    "AscendQuant": (
        quant,
        [
            ([COARSE], {}),
            ([COARSE], {"scale": 4.0, "offset": -3.0, "round_mode": "Floor"}),
            ([COARSE], {"scale": 2.0, "sqrt_mode": True, "round_mode": "Ceil"}),
            ([COARSE], {"scale": 0.5, "round_mode": "Trunc", "dst_type": 29}),
        ],
    ),
    "AscendDequant": (
        dequant,
        [
            ([SUMS, np.array([0.125])], {}),
            ([SUMS, np.array([0.5, -0.25, 2.0])], {"relu_flag": True}),
            ([SUMS[0], numbers(5)], {"sqrt_mode": True}),
            ([SUMS, np.array([0x40003F000000], np.uint64)], {}),
        ],
    ),
    "TransQuantParamV2": (
        trans_quant_param,
        [
            ([np.array([1.0, 0.1, -0.3, 1e-40, 3.0])], {}),
            ([np.array([1.0, 0.1, -0.3, 1 + 2**-11, 1 + 3 * 2**-11])], {"round_mode": 1}),
            ([np.array([0.1]), np.array([-3.0, 2.5, 3.5, 400.0, -1e9])], {}),
            ([numbers(1, 4), np.array([7.0])], {"round_mode": 1}),
        ],
    ),
    "AscendAntiQuant": (
        anti_quant,
        [
            ([whole(3, 4, dtype=np.int8)], {"scale": 0.25, "offset": -3.0}),
            ([whole(3, 4, dtype=np.int8)], {"scale": 0.5, "offset": 2.0, "sqrt_mode": True}),
        ],
    ),
}
