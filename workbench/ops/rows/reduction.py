"""Operators that combine elements along axes: sums, extremes, places, softmax."""

from __future__ import annotations

from math import prod

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    Call,
    OpDef,
    cast_target,
    foreign,
    one_axis,
    output_like,
    reduced_axes,
    reject,
    same_shape,
    some_axes,
)
from workbench.ops.gradient import Backward, Entries, Symbol, backward_op, input_gradient, number
from workbench.ops.kernels import reduction as kernels


def reduce_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Given axes (none: all) become 1 or disappear."""
    shape = call.shape()
    if call.settings.get("skip_mode") and call.settings["axis"] in ((), None):
        return output_like(call, shape)
    axes = reduced_axes(call.settings["axis"], len(shape))
    if call.op_type in ("ReduceMax", "ReduceMin") and any(not shape[axis] for axis in axes):
        reject("graph/empty-axis", got=shape)
    if call.settings["keep_dims"]:
        return output_like(call, tuple(1 if i in axes else dim for i, dim in enumerate(shape)))
    return output_like(call, tuple(dim for i, dim in enumerate(shape) if i not in axes))


def reduce_bool_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """As `reduce`, of bools."""
    if call.tensors[0].dtype != "bool":
        reject("graph/dtype", subject="input", expected=["bool"], got=call.tensors[0].dtype)
    return reduce_shapes(call)


def _without(call: Call, axis: int, keep: bool) -> tuple[int, ...]:
    shape = call.shape()
    if not shape or not shape[axis]:
        reject("graph/empty-axis", got=shape)
    return (*shape[:axis], *((1,) if keep else ()), *shape[axis + 1 :])


def place_of_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Index of an extreme value along one axis, which disappears."""
    axis = one_axis(call.settings["axis"], len(call.shape()))
    kind = cast_target(call.settings["output_type"], "output_type")
    if kind not in ("int32", "int64"):
        reject("core/choice", subject="output_type", got=kind, known=["int32", "int64"])
    return (TensorSpec(kind, _without(call, axis, False)),)


def place_and_value_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Index and value of an extreme value along one axis."""
    axis = one_axis(call.settings["axis"], len(call.shape()))
    shape = _without(call, axis, bool(call.settings["keep_dims"]))
    return (TensorSpec("int32", shape), *output_like(call, shape))


def top_k_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Return the ``k`` largest values along the last axis, and their indices."""
    shape, k = call.shape(), call.settings["k"]
    last = shape[-1] if shape else 0
    if not isinstance(k, int) or not 0 <= k <= last:
        reject("graph/between", subject="k", low=0, high=last, got=k)
    return (*output_like(call, (*shape[:-1], k)), TensorSpec("int32", (*shape[:-1], k)))


def cumulative_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; one axis."""
    one_axis(call.settings["axis"], len(call.shape()))
    return output_like(call, call.shape())


def softmax_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; the axis exists."""
    some_axes(call.settings["axis"], len(call.shape()))
    return output_like(call, call.shape())


def log_softmax_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output of the softmax and its gradient, of one shape; the axis exists."""
    one_axis(call.settings["axis"], len(call.shape()))
    return same_shape(call)


def _axes(b: Backward) -> tuple[int, ...]:
    """Axes that are reduced, not negative."""
    axis = b.settings["axis"]
    axes = (axis,) if isinstance(axis, int) else tuple(axis or ())
    return tuple(sorted(axis % b.x.ndim for axis in axes or range(b.x.ndim)))


def _kept(b: Backward, tensor: Symbol) -> Symbol:
    """Return a reduced tensor with its axes of size 1."""
    axes = _axes(b)
    return b.reshaped(tensor, tuple(1 if i in axes else n for i, n in enumerate(b.x.shape)))


def reduce_sum_gradient(b: Backward) -> Symbol:
    """1 for every element."""
    if b.settings["skip_mode"] and not b.settings["axis"]:
        return b.dout
    return b.stretched(_kept(b, b.dout), b.x.shape)


def reduce_mean_gradient(b: Backward) -> Symbol:
    """1 / number of elements."""
    count = prod(b.x.shape[axis] for axis in _axes(b))
    whole = b.stretched(_kept(b, b.dout), b.x.shape)
    return b.record("RealDiv", whole, number(count, b.x)) if count != 1 else whole


def reduce_extreme_gradient(b: Backward) -> Symbol:
    """1 for the largest or smallest element, shared where there are several."""
    axes = _axes(b)
    places = b.record("Cast", b.record("Equal", _kept(b, b.out), b.x), dst_type=b.x.dtype)
    count = b.record("ReduceSum", places, axes, True, False)
    return b.record("Mul", b.record("Div", _kept(b, b.dout), count), places)


def top_k_gradient(b: Backward) -> Entries:
    """Largest elements: each gradient goes to the place that the second output names."""

    def gradient() -> Symbol:
        places, width = b.outputs[1], b.x.shape[-1]
        rows = b.record("Reshape", places, (-1, places.shape[-1]))
        starts = np.arange(rows.shape[0], dtype=places.dtype)[:, None] * width
        names = b.record("Reshape", b.record("Add", rows, starts), (-1, 1))
        values = b.record("Reshape", b.dout, (-1,))
        spread = b.record("ScatterNd", names, values, (prod(b.x.shape),))
        return b.record("Reshape", spread, b.x.shape)

    return (gradient,)


def cum_sum_gradient(b: Backward) -> Symbol:
    """Running sum from the other end."""
    s = b.settings
    return b.record("CumSum", b.dout, s["axis"], s["exclusive"], not s["reverse"])


def softmax_gradient(b: Backward) -> Symbol:
    """Out · (dout - sum(out · dout))."""
    axis = b.settings["axis"]
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    total = b.record("ReduceSum", b.record("Mul", b.out, b.dout), axes, True, False)
    return b.record("Mul", b.out, b.record("Sub", b.dout, total))


_REDUCED = {"axis": (), "keep_dims": False}


_SUMMED = {"exclusive": False, "reverse": False}


ROWS: dict[str, OpDef] = {
    "Softmax": OpDef(
        "input axis",
        softmax_shapes,
        defaults={"axis": (-1,)},
        kernel=kernels.softmax,
        gradient=input_gradient(softmax_gradient),
        effect="sum",
        libm=True,
        floats=(0,),
    ),
    "LogSoftmax": OpDef(
        "logits axis",
        softmax_shapes,
        defaults={"axis": -1},
        kernel=kernels.log_softmax,
        gradient=backward_op("LogSoftmaxGrad", "out dout", "axis"),
        effect="sum",
        libm=True,
        floats=(0,),
    ),
    "ReduceMean": OpDef(
        "x axis keep_dims",
        reduce_shapes,
        defaults=_REDUCED,
        kernel=kernels.reduction(np.mean),
        gradient=input_gradient(reduce_mean_gradient),
        effect="sum",
    ),
    "ReduceSum": OpDef(
        "x axis keep_dims skip_mode",
        reduce_shapes,
        defaults={**_REDUCED, "skip_mode": False},
        kernel=kernels.reduced_sum,
        gradient=input_gradient(reduce_sum_gradient),
        effect="sum",
    ),
    "ReduceMax": OpDef(
        "x axis keep_dims",
        reduce_shapes,
        defaults=_REDUCED,
        kernel=kernels.reduction(np.max),
        gradient=input_gradient(reduce_extreme_gradient),
    ),
    "ReduceMin": OpDef(
        "x axis keep_dims",
        reduce_shapes,
        defaults=_REDUCED,
        kernel=kernels.reduction(np.min),
        gradient=input_gradient(reduce_extreme_gradient),
    ),
    "ReduceProd": OpDef(
        "x axis keep_dims", reduce_shapes, defaults=_REDUCED, kernel=kernels.reduction(np.prod)
    ),
    "ReduceAll": OpDef(
        "input axis keep_dims",
        reduce_bool_shapes,
        defaults=_REDUCED,
        kernel=kernels.reduction(np.all),
    ),
    "ReduceAny": OpDef(
        "x axis keep_dims", reduce_bool_shapes, defaults=_REDUCED, kernel=kernels.reduction(np.any)
    ),
    "Argmax": OpDef(
        "input_x axis output_type",
        place_of_shapes,
        defaults={"axis": -1, "output_type": 34},
        kernel=kernels.place_of(np.argmax),
        discontinuous=True,
    ),
    "Argmin": OpDef(
        "x axis output_type",
        place_of_shapes,
        defaults={"axis": -1, "output_type": 34},
        kernel=kernels.place_of(np.argmin),
        discontinuous=True,
    ),
    "ArgMaxWithValue": OpDef(
        "input axis keep_dims",
        place_and_value_shapes,
        defaults={"axis": 0, "keep_dims": False},
        kernel=kernels.place_and_value(np.argmax),
        discontinuous=True,
    ),
    "ArgMinWithValue": OpDef(
        "input axis keep_dims",
        place_and_value_shapes,
        defaults={"axis": 0, "keep_dims": False},
        kernel=kernels.place_and_value(np.argmin),
        discontinuous=True,
    ),
    "TopK": OpDef(
        "input_x k",
        top_k_shapes,
        defaults={"sorted": True},
        kernel=kernels.top_k,
        gradient=top_k_gradient,
        discontinuous=True,
    ),
    "CumSum": OpDef(
        "input axis exclusive reverse",
        cumulative_shapes,
        defaults=_SUMMED,
        kernel=kernels.cumulative(np.cumsum, 0),
        gradient=input_gradient(cum_sum_gradient),
        effect="sum",
    ),
    "CumProd": OpDef(
        "x axis exclusive reverse",
        cumulative_shapes,
        defaults=_SUMMED,
        kernel=kernels.cumulative(np.cumprod, 1),
    ),
    "LogSoftmaxGrad": OpDef(
        "logits grad axis",
        log_softmax_grad_shapes,
        tensors=2,
        defaults={"axis": -1},
        kernel=kernels.log_softmax_grad,
        effect="sum",
        floats=(0, 1),
    ),
    "ArgMaxExt": foreign("input dim keepdim", discontinuous=True),
    "L2Loss": foreign(effect="sum"),
    "LogSoftmaxV2": foreign(effect="sum"),
    "MeanExt": foreign("input dim keepdim dtype", effect="sum"),
    "Norm": foreign(effect="sum"),
    "ReduceMeanD": foreign(effect="sum"),
    "ReduceSumD": foreign(effect="sum"),
    "SoftmaxGrad": foreign(effect="sum"),
    "SoftmaxV2": foreign(effect="sum"),
    "Sort": foreign(discontinuous=True),
    "SumExt": foreign("input dim keepdim dtype", effect="sum"),
}
