"""Reductions, by Python's sums and sorts over lists, and their gradients."""

from __future__ import annotations

import math
import statistics

import numpy as np

from kit.oracle.differences import blamed
from kit.oracle.loops import X, Y, flags, lines, whole
from kit.oracle.operator_case import OperatorCase
from kit.oracle.slopes import GradientCase, anywhere, one_tensor
from workbench.network.symbolic import record_all


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


def reduction(combine):
    def oracle(inputs, settings):
        x = inputs[0]
        axis = settings["axis"]
        axes = range(x.ndim) if axis == () else (axis,) if isinstance(axis, int) else axis
        axes = () if axis == () and settings.get("skip_mode") else axes
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


def log_softmax_gradient(inputs, settings):
    """The output is its own logarithm of the softmax: the place to differentiate at."""
    out, dout = inputs
    return [blamed(lambda a: softmax(True)([a], settings), [out], 0, [dout])]


ANY = {"axis": (), "keep_dims": False}

MIDDLE = {"axis": (1,), "keep_dims": True}

REDUCED = [([X], ANY), ([X], MIDDLE), ([X], {"axis": (0, -1), "keep_dims": False})]

TIED = whole(3, 6, low=0, high=4)


CASES = {
    "Softmax": OperatorCase(
        softmax(False),
        [([X], {"axis": (-1,)}), ([X], {"axis": (1,)})],
        gradient=[
            *one_tensor("Softmax", (-1,)),
            *one_tensor("Softmax", (0,), point=anywhere(3, 2, 2)),
        ],
        onnx="Softmax",
    ),
    "LogSoftmax": OperatorCase(
        softmax(True),
        [([X], {"axis": -1}), ([X], {"axis": 0})],
        gradient=[
            *one_tensor("LogSoftmax", -1),
            *one_tensor("LogSoftmax", 1, point=anywhere(2, 3, 2)),
        ],
        onnx="LogSoftmax",
    ),
    "ReduceMean": OperatorCase(
        reduction(statistics.fmean),
        [
            ([X], {"axis": (), "keep_dims": False}),
            ([X], {"axis": (1,), "keep_dims": True}),
            ([X], {"axis": (0, -1), "keep_dims": False}),
        ],
        gradient=[
            case
            for axes in ((), (1,), (0, -1), (1, 2))
            for kept in (False, True)
            for case in one_tensor("ReduceMean", axes, kept, point=anywhere(2, 3, 2))
        ],
        onnx="ReduceMean GlobalAveragePool",
    ),
    "ReduceSum": OperatorCase(
        reduction(math.fsum),
        [
            ([X], {"axis": (), "keep_dims": True, "skip_mode": False}),
            ([X], {"axis": (2, 0), "keep_dims": False, "skip_mode": False}),
            ([X], {"axis": (), "keep_dims": False, "skip_mode": True}),
            ([X], {"axis": (1,), "keep_dims": False, "skip_mode": True}),
        ],
        gradient=[
            case
            for axes in ((), (1,), (0, -1), (1, 2))
            for kept in (False, True)
            for case in one_tensor("ReduceSum", axes, kept, False, point=anywhere(2, 3, 2))
        ],
        onnx="ReduceSum",
    ),
    "ReduceMax": OperatorCase(
        reduction(lambda v: sorted(v)[-1]),
        REDUCED,
        gradient=[
            case
            for axes in ((), (1,), (0, -1), (1, 2))
            for kept in (False, True)
            for case in one_tensor("ReduceMax", axes, kept, point=anywhere(2, 3, 2))
        ],
        onnx="ReduceMax GlobalMaxPool",
    ),
    "ReduceMin": OperatorCase(
        reduction(lambda v: sorted(v)[0]),
        REDUCED,
        gradient=[
            case
            for axes in ((), (1,), (0, -1), (1, 2))
            for kept in (False, True)
            for case in one_tensor("ReduceMin", axes, kept, point=anywhere(2, 3, 2))
        ],
        onnx="ReduceMin",
    ),
    "ReduceProd": OperatorCase(
        reduction(math.prod), [*REDUCED, ([whole(2, 3)], MIDDLE)], onnx="ReduceProd"
    ),
    "ReduceAll": OperatorCase(
        reduction(lambda v: False not in v),
        [([flags(2, 3, 4)], MIDDLE), ([flags(2)], ANY)],
        onnx="ReduceMin",
    ),
    "ReduceAny": OperatorCase(
        reduction(lambda v: True in v),
        [([flags(2, 3, 4)], MIDDLE), ([flags(2)], ANY)],
        onnx="ReduceMax",
    ),
    "Argmax": OperatorCase(
        place_of(lambda a, b: a > b),
        [([X], {"axis": -1}), ([TIED], {"axis": 0, "output_type": 35})],
        onnx="ArgMax",
    ),
    "Argmin": OperatorCase(
        place_of(lambda a, b: a < b),
        [([X], {"axis": 1}), ([TIED], {"axis": -1, "output_type": 35})],
        onnx="ArgMin",
    ),
    "ArgMaxWithValue": OperatorCase(
        place_and_value(lambda a, b: a > b),
        [([X], {"axis": 1, "keep_dims": True}), ([TIED], {"axis": 0, "keep_dims": False})],
    ),
    "ArgMinWithValue": OperatorCase(
        place_and_value(lambda a, b: a < b),
        [([X], {"axis": 1, "keep_dims": True}), ([TIED], {"axis": 0, "keep_dims": False})],
    ),
    "TopK": OperatorCase(
        top_k,
        [([X], {"k": 2}), ([TIED], {"k": 5}), ([TIED], {"k": 0})],
        gradient=[
            GradientCase(lambda x: record_all("TopK", x, 2, sorted=True)[0], (anywhere(2, 2, 4),))
        ],
        onnx="TopK",
    ),
    "CumSum": OperatorCase(
        cumulative(math.fsum),
        [
            ([X], {"axis": 1}),
            ([X], {"axis": -1, "exclusive": True}),
            ([X], {"axis": 0, "reverse": True}),
            ([whole(3, 4)], {"axis": 1, "exclusive": True, "reverse": True}),
        ],
        gradient=[
            case
            for exclusive in (False, True)
            for reverse in (False, True)
            for case in one_tensor("CumSum", 1, exclusive, reverse, point=anywhere(2, 4))
        ],
        onnx="CumSum",
    ),
    "CumProd": OperatorCase(
        cumulative(math.prod),
        [([X], {"axis": 1}), ([X], {"axis": -1, "exclusive": True, "reverse": True})],
        onnx="CumProd",
    ),
    "LogSoftmaxGrad": OperatorCase(
        log_softmax_gradient,
        [([softmax(True)([X], {"axis": axis})[0], Y], {"axis": axis}) for axis in (-1, 0)],
        by_differences=True,
    ),
}
