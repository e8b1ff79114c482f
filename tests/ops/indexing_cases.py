"""Gather and scatter, one index at a time, and their gradients."""

from __future__ import annotations

import numpy as np

from kit.oracle.differences import moved
from kit.oracle.loops import FLAT, X, filled, numbers, placed, whole
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere
from workbench.network.symbolic import record


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


def gather_d(inputs, settings):
    x, indices = inputs
    axis = settings["dim"] % x.ndim
    return [
        placed(
            indices.shape,
            x.dtype,
            lambda i: x[tuple(int(indices[i]) if a == axis else k for a, k in enumerate(i))],
        )
    ]


def gather_nd(inputs, settings):
    x, indices = inputs
    depth, lead = indices.shape[-1], indices.ndim - 1
    shape = (*indices.shape[:-1], *x.shape[depth:])
    return [placed(shape, x.dtype, lambda i: x[(*(int(k) for k in indices[i[:lead]]), *i[lead:])])]


def scatter_nd(combine):
    def oracle(inputs, settings):
        x, indices, updates = inputs
        out = {index: x[index].item() for index in np.ndindex(x.shape)}
        lead = indices.ndim - 1
        for index in np.ndindex(updates.shape):
            row = (k % n for k, n in zip(indices[index[:lead]].tolist(), x.shape, strict=False))
            place = (*row, *index[lead:])
            out[place] = combine(out[place], updates[index].item())
        return [filled(x, list(out.values()))]

    return oracle


def scatter_elements(inputs, settings):
    x, indices, updates = inputs
    axis = settings["axis"] % x.ndim
    out = {index: x[index].item() for index in np.ndindex(x.shape)}
    for index in np.ndindex(indices.shape):
        row = int(indices[index]) % x.shape[axis]
        place = (*index[:axis], row, *index[axis + 1 :])
        new = updates[index].item()
        out[place] = out[place] + new if settings["reduce"] in ("add", 1) else new
    return [filled(x, list(out.values()))]


def one_hot(inputs, settings):
    indices, on, off = inputs
    axis = settings["axis"] % (indices.ndim + 1)
    shape = (*indices.shape[:axis], settings["depth"], *indices.shape[axis:])
    return [
        placed(
            shape,
            on.dtype,
            lambda i: on.item() if indices[(*i[:axis], *i[axis + 1 :])] == i[axis] else off.item(),
        )
    ]


def _taken(a, inputs, settings):
    return gather_d([a, inputs[1]], settings)


def segment_sum(inputs, settings):
    x, segments = inputs
    out = np.zeros((settings["num_segments"], *x.shape[segments.ndim :]))
    for index in np.ndindex(x.shape):
        which = int(segments[index[: segments.ndim]])
        if which >= 0:
            out[(which, *index[segments.ndim :])] += x[index].item()
    return [out]


def scatter_nd_gradient(inputs, settings):
    indices, updates = inputs
    out = np.zeros(settings["shape"])
    for index in np.ndindex(indices.shape[:-1]):
        for rest in np.ndindex(updates.shape[indices.ndim - 1 :]):
            out[(*indices[index].tolist(), *rest)] += updates[(*index, *rest)].item()
    return [out]


ROWS = np.array([[0, 2], [1, 0], [0, -1]])

PLACES = np.array([[0, 1], [2, 0]], np.int64)


CASES = {
    "Gather": OperatorCase(
        gather,
        [
            ([X, np.array([2, 0, -1])], {"axis": 1, "batch_dims": 0}),
            ([X, np.array([[1, 9], [0, 1]])], {"axis": 0, "batch_dims": 0}),
        ],
        gradient=[
            GradientCase(lambda x, a=axis: record("Gather", x, PLACES, a, 0), (anywhere(3, 4, 3),))
            for axis in (0, 2, -2)
        ],
        onnx="Resize Gather Upsample",
    ),
    "GatherD": OperatorCase(
        gather_d,
        [
            ([X, whole(2, 5, 4, low=-3, high=3)], {"dim": 1}),
            ([X, whole(1, 3, 2, low=0, high=4)], {"dim": -1}),
        ],
        gradient=[
            GradientCase(
                lambda x: record("GatherD", x, 1, np.array([[0, 0], [2, 1]])), (anywhere(2, 3),)
            )
        ],
        onnx="GatherElements",
    ),
    "GatherNd": OperatorCase(
        gather_nd,
        [([X, ROWS], {}), ([X, ROWS.reshape(3, 1, 2)[..., :1]], {})],
        gradient=[
            GradientCase(lambda x: record("GatherNd", x, PLACES), (anywhere(3, 2),)),
            GradientCase(lambda x: record("GatherNd", x, np.array([[1], [1]])), (anywhere(3, 2),)),
        ],
        onnx="GatherND",
    ),
    "TensorScatterUpdate": OperatorCase(
        scatter_nd(lambda old, new: new),
        [([X, ROWS, numbers(3, 4)], {}), ([FLAT, np.array([[4], [0]]), numbers(2)], {})],
        onnx="ScatterND",
    ),
    "TensorScatterAdd": OperatorCase(
        scatter_nd(lambda old, new: old + new),
        [([X, np.array([[1, 1], [1, 1], [0, -3]]), numbers(3, 4)], {})],
        onnx="ScatterND",
    ),
    "TensorScatterMul": OperatorCase(
        scatter_nd(lambda old, new: old * new),
        [([X, np.array([[1, 1], [1, 1], [0, -3]]), numbers(3, 4)], {})],
        onnx="ScatterND",
    ),
    "TensorScatterMax": OperatorCase(
        scatter_nd(max),
        [([X, np.array([[1, 1], [1, 1], [0, -3]]), numbers(3, 4)], {})],
        onnx="ScatterND",
    ),
    "TensorScatterMin": OperatorCase(
        scatter_nd(min),
        [([X, np.array([[1, 1], [1, 1], [0, -3]]), numbers(3, 4)], {})],
        onnx="ScatterND",
    ),
    "TensorScatterElements": OperatorCase(
        scatter_elements,
        [
            ([X, np.array([[[2, 0], [-1, 1]]]), numbers(1, 2, 2)], {"axis": 2, "reduce": "none"}),
            ([FLAT, np.array([1, 1, 4]), numbers(3)], {"axis": 0, "reduce": "add"}),
            ([FLAT, np.array([1, 3]), numbers(2)], {"axis": -1, "reduce": 0}),
        ],
        onnx="ScatterElements Scatter",
    ),
    "OneHot": OperatorCase(
        one_hot,
        [
            (
                [whole(2, 3, low=-1, high=5), np.asarray(1.0), np.asarray(0.0)],
                {"depth": 4, "axis": -1},
            ),
            ([whole(3, low=0, high=3), np.asarray(2), np.asarray(-1)], {"depth": 3, "axis": 0}),
        ],
        onnx="Hardmax OneHot",
    ),
    "GatherDGradV2": OperatorCase(
        moved(_taken, lambda inputs, _: inputs[0].shape, dout=2),
        [
            ([X, whole(2, 2, 4, low=-3, high=3), numbers(2, 2, 4)], {"dim": 1}),
            ([X, whole(2, 3, 6, low=0, high=4), numbers(2, 3, 6)], {"dim": -1}),
        ],
        by_differences=True,
    ),
    "UnsortedSegmentSum": OperatorCase(
        segment_sum,
        [
            ([X, whole(2, low=0, high=4)], {"num_segments": 4}),
            ([X, whole(2, 3, low=-1, high=2, dtype=np.int32)], {"num_segments": 3}),
        ],
        by_differences=True,
    ),
    "ScatterNd": OperatorCase(
        scatter_nd_gradient,
        [
            ([whole(5, 1, low=0, high=3), numbers(5, 4)], {"shape": (3, 4)}),
            ([whole(2, 3, 2, low=0, high=3), numbers(2, 3)], {"shape": (3, 4)}),
        ],
        by_differences=True,
    ),
}
