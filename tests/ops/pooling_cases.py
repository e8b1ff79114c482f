"""Pools and resizing, by loops over windows, and their gradients."""

from __future__ import annotations

import math
import statistics

import numpy as np

from kit.oracle.differences import blamed_linearly, moved
from kit.oracle.loops import IMAGE, numbers, pair_of, whole, windows
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere
from workbench.network.nn import functional as F


def pool(combine):
    def oracle(inputs, settings):
        x = inputs[0]
        table, size = windows(x.shape[2:], settings, settings["kernel_size"], settings["strides"])
        out = np.empty((*x.shape[:2], *size))
        for n, k, r, c in np.ndindex(out.shape):
            out[n, k, r, c] = combine([float(x[n, k, p, q]) for p, q, _, _ in table[r, c]])
        return [out]

    return oracle


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
        kernel, stride = pair_of(settings.get("ksize", 1)), pair_of(settings.get("strides", 1))
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


def mean_inside(inside, around, settings):
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


def linear_pool_gradient(combine):
    def oracle(inputs, settings):
        x, _, dout = inputs
        return [blamed_linearly(lambda a: pool(combine)([a], settings), x.shape, [dout])]

    return oracle


def first_of_equals(inputs, settings):
    """The first largest element of a window gets its gradient."""
    x, _, dout = inputs
    table, _ = windows(x.shape[2:], settings, settings["kernel_size"], settings["strides"])
    out = np.zeros(x.shape)
    for n, c, r, k in np.ndindex(dout.shape):
        inside = [(p, q) for p, q, _, _ in table[r, k]]
        values = [x[n, c, p, q].item() for p, q in inside]
        p, q = inside[values.index(max(values))]
        out[n, c, p, q] += dout[n, c, r, k].item()
    return [out]


def _nearest(a, inputs, settings):
    size = {"size": inputs[0].shape[2:]}
    return resize(nearest)([a], settings | size)


def _linear(a, inputs, settings):
    size = {"size": inputs[0].shape[2:]}
    return resize(linear)([a], settings | size)


def _pooled(x, **settings):
    out = pool(statistics.fmean)([x], settings)[0].shape
    return ([x, numbers(*out, seed=5), numbers(*out, seed=6)], settings)


def pool_slopes(op_type: str) -> list[GradientCase]:
    pool = {"MaxPool": F.max_pool2d, "AvgPool": F.avg_pool2d}[op_type]
    return [
        GradientCase(lambda x, s=settings: pool(x, *s), (anywhere(1, 2, 5, 6),))
        for settings in ((2, 2), (3, 2, "same"), ((2, 3), 1), (3, 1, "same"))
    ]


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

TIED_IMAGE = whole(2, 3, 6, 5, low=0, high=3).astype(float)


CASES = {
    "MaxPool": OperatorCase(
        pool(max),
        [
            ([IMAGE], {"kernel_size": (1, 1, 3, 3), "strides": (1, 1, 2, 2), "pad_mode": "VALID"}),
            ([IMAGE], {"kernel_size": (1, 1, 2, 3), "strides": (1, 1, 2, 1), "pad_mode": "SAME"}),
        ],
        gradient=pool_slopes("MaxPool"),
        onnx="MaxPool",
    ),
    "AvgPool": OperatorCase(
        pool(statistics.fmean),
        [
            ([IMAGE], {"kernel_size": (2, 2), "strides": (2, 2), "pad_mode": "valid"}),
            ([IMAGE], {"kernel_size": (3, 3), "strides": (2, 1), "pad_mode": "same"}),
        ],
        gradient=pool_slopes("AvgPool"),
        onnx="AveragePool",
    ),
    "MaxPoolV3": OperatorCase(
        padded_pool(lambda inside, around, settings: max(inside)),
        [*POOLED, ([whole(1, 2, 5, 5)], POOLED[0][1])],
        onnx="MaxPool",
    ),
    "AvgPoolV2": OperatorCase(
        padded_pool(mean_inside),
        [
            ([x], {**settings, "exclusive": flag})
            for x, settings in ((inputs[0], settings) for inputs, settings in POOLED)
            for flag in (True, False)
        ],
        onnx="AveragePool",
    ),
    "ResizeNearestNeighborV2": OperatorCase(resize(nearest), SIZES),
    "ResizeBilinearV2": OperatorCase(resize(linear), SIZES, onnx="Resize"),
    "MaxPoolGrad": OperatorCase(
        first_of_equals,
        [
            _pooled(IMAGE, kernel_size=(1, 1, 3, 3), strides=(1, 1, 2, 2), pad_mode="VALID"),
            _pooled(IMAGE, kernel_size=(1, 1, 2, 3), strides=(1, 1, 2, 1), pad_mode="SAME"),
            _pooled(TIED_IMAGE, kernel_size=(1, 1, 3, 3), strides=(1, 1, 2, 2), pad_mode="SAME"),
        ],
        by_differences=True,
    ),
    "AvgPoolGrad": OperatorCase(
        linear_pool_gradient(statistics.fmean),
        [
            _pooled(IMAGE, kernel_size=(2, 2), strides=(2, 2), pad_mode="valid"),
            _pooled(IMAGE, kernel_size=(3, 3), strides=(2, 1), pad_mode="same"),
        ],
        by_differences=True,
    ),
    "ResizeNearestNeighborV2Grad": OperatorCase(
        moved(_nearest, lambda inputs, s: (*inputs[0].shape[:2], *s["size"])),
        [
            ([numbers(1, 2, 5, 9)], {"size": (7, 6)}),
            ([numbers(1, 2, 9, 3)], {"size": (7, 6), "half_pixel_centers": True}),
            ([numbers(1, 2, 4, 8)], {"size": (7, 6), "align_corners": True}),
        ],
        by_differences=True,
    ),
    "ResizeBilinearGrad": OperatorCase(
        moved(_linear, lambda inputs, _: inputs[1].shape),
        [
            ([numbers(1, 2, 5, 9), numbers(1, 2, 7, 6)], {}),
            ([numbers(1, 2, 9, 3), numbers(1, 2, 7, 6)], {"half_pixel_centers": True}),
            ([numbers(1, 2, 4, 8), numbers(1, 2, 7, 6)], {"align_corners": True}),
        ],
        by_differences=True,
    ),
}
