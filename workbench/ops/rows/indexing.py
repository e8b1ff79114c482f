"""Operators that read or write where another tensor says, and their gradients."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.words import Message
from workbench.ops.definition import (
    LARGEST,
    Call,
    OpDef,
    foreign,
    integers,
    one_axis,
    output_like,
    reject,
    shape_setting,
)
from workbench.ops.gradient import Backward, Entries, Symbol, not_differentiable
from workbench.ops.kernels import indexing as kernels

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec


def gather_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Replace the axis by the shape of the indices."""
    shape, indices = call.shape(0), call.shape(1)
    integers(call, 1, "the indices")
    axis = one_axis(call.settings["axis"], len(shape))
    return output_like(call, (*shape[:axis], *indices, *shape[axis + 1 :]))


def gather_d_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the indices, which are as large as the input on the other axes at most."""
    shape, index = call.shape(0), call.shape(1)
    integers(call, 1, "index")
    axis = one_axis(call.settings["dim"], len(shape), "dim")
    inside = len(index) == len(shape) and all(
        i <= n for k, (i, n) in enumerate(zip(index, shape, strict=True)) if k != axis
    )
    if not inside:
        reject("graph/index-shape", subject="index", whole=shape, axis=axis, got=index)
    return output_like(call, index)


def _rest(call: Call, indices: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Axes that the rows of indices leave: the shape of what one row names."""
    rows = call.shape(indices)
    integers(call, indices, "the indices")
    if not rows or not 1 <= rows[-1] <= len(shape):
        reject("graph/index-rows", most=len(shape), got=rows)
    return shape[rows[-1] :]


def gather_nd_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Every row of indices is replaced by what it names."""
    shape = call.shape()
    return output_like(call, (*call.shape(1)[:-1], *_rest(call, 1, shape)))


def scatter_nd_update_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; an update for every row of indices."""
    shape, updates = call.shape(), call.shape(2)
    wanted = (*call.shape(1)[:-1], *_rest(call, 1, shape))
    if updates != wanted:
        reject("graph/shape", subject="updates", expected=wanted, got=updates)
    if call.tensors[2].dtype != call.tensors[0].dtype:
        reject(
            "graph/dtype",
            subject="updates",
            expected=[call.tensors[0].dtype],
            got=call.tensors[2].dtype,
        )
    return output_like(call, shape)


def scatter_elements_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the data; indices and updates have one shape, inside the data's."""
    shape, index, updates = call.shape(0), call.shape(1), call.shape(2)
    integers(call, 1, "the indices")
    axis = one_axis(call.settings["axis"], len(shape))
    if call.settings["reduce"] not in kernels.REDUCTIONS:
        reject(
            "core/choice",
            subject="reduce",
            got=call.settings["reduce"],
            known=sorted(map(str, kernels.REDUCTIONS)),
        )
    inside = len(index) == len(shape) and all(
        i <= n for k, (i, n) in enumerate(zip(index, shape, strict=True)) if k != axis
    )
    if index != updates or not inside:
        reject("graph/index-updates", whole=shape, axis=axis, indices=index, updates=updates)
    return output_like(call, shape)


def one_hot_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """A new axis of size ``depth``; the output has the dtype of both values."""
    shape, depth = call.shape(), call.settings["depth"]
    integers(call, 0, "the indices")
    if not isinstance(depth, int) or depth < 0:
        reject("graph/integer", subject="depth", least=0, got=depth)
    if call.tensors[1].dtype != call.tensors[2].dtype:
        got = (call.tensors[1].dtype, call.tensors[2].dtype)
        reject("graph/dtypes-differ", subject="on_value and off_value", got=got)
    axis = one_axis(call.settings["axis"], len(shape) + 1)
    return output_like(call, (*shape[:axis], depth, *shape[axis:]), 1)


def gather_d_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient of x, of the elements that ``index`` took."""
    gather_d_shapes(call)
    if call.shape(2) != call.shape(1):
        reject("graph/shape", subject="dout", expected=call.shape(1), got=call.shape(2))
    return output_like(call, call.shape(), 2)


def segment_sum_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """``num_segments`` rows; the segments stand for the first axes of the input."""
    shape, segments, count = call.shape(0), call.shape(1), call.settings["num_segments"]
    integers(call, 1, "segment_ids")
    if not segments or shape[: len(segments)] != segments:
        reject("graph/shape-first", subject="segment_ids", whole=shape, got=segments)
    if not isinstance(count, int) or not 1 <= count <= LARGEST:
        reject("graph/integer", subject="num_segments", least=1, got=count)
    return output_like(call, (count, *shape[len(segments) :]))


def scatter_nd_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Zeros of ``shape``, an update for every row of indices."""
    indices, shape = call.shape(0), shape_setting(call, "shape")
    integers(call, 0, "the indices")
    if not indices or not 1 <= indices[-1] <= len(shape):
        reject("graph/index-rows", most=len(shape), got=indices)
    wanted = (*indices[:-1], *shape[indices[-1] :])
    if call.shape(1) != wanted:
        reject("graph/shape", subject="updates", expected=wanted, got=call.shape(1))
    return output_like(call, shape, 1)


def gather_gradient(b: Backward) -> Entries:
    """Slices along an axis: each slice's gradient is added to where it was taken from."""
    x, indices = b.inputs

    def gradient() -> Symbol:
        axis = int(b.settings["axis"]) % x.ndim
        count = prod(indices.shape)
        rest = x.shape[:axis] + x.shape[axis + 1 :]
        names = b.reshaped(indices, (count,))
        if axis == 0:
            rows = b.reshaped(b.dout, (count, *rest))
            return b.record("UnsortedSegmentSum", rows, names, np.asarray(x.shape[0], np.int64))
        flat = b.reshaped(b.dout, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
        order = (axis, *(place for place in range(x.ndim) if place != axis))
        rows = b.record("Transpose", flat, order)
        total = b.record("UnsortedSegmentSum", rows, names, np.asarray(x.shape[axis], np.int64))
        return b.record("Transpose", total, tuple(int(place) for place in np.argsort(order)))

    return gradient, None


def gather_d_gradient(b: Backward) -> Entries:
    """Elements along an axis."""
    x, index = b.inputs
    return lambda: b.record("GatherDGradV2", x, b.settings["dim"], index, b.dout), None


def gather_nd_gradient(b: Backward) -> Entries:
    """What rows of indices name."""
    x, indices = b.inputs
    return lambda: b.record("ScatterNd", indices, b.dout, x.shape), None


def one_hot_gradient(b: Backward) -> Entries:
    """1 at an index: what the on and off values have of it is not asked of MindSpore either."""

    def values() -> Symbol:
        not_differentiable("OneHot", Message("graph/grad-one-hot"))

    return None, values, values


ROWS: dict[str, OpDef] = {
    "Gather": OpDef(
        "input_params input_indices axis batch_dims",
        gather_shapes,
        tensors=2,
        defaults={"axis": 0, "batch_dims": 0},
        only={"batch_dims": 0},
        kernel=kernels.gather,
        gradient=gather_gradient,
        effect="choose",
    ),
    "GatherD": OpDef(
        "x dim index",
        gather_d_shapes,
        tensors=2,
        places=(0, 2),
        kernel=kernels.gather_d,
        gradient=gather_d_gradient,
    ),
    "GatherNd": OpDef(
        "input_x indices",
        gather_nd_shapes,
        tensors=2,
        kernel=kernels.gather_nd,
        gradient=gather_nd_gradient,
    ),
    "TensorScatterUpdate": OpDef(
        "input_x indices updates",
        scatter_nd_update_shapes,
        tensors=3,
        kernel=kernels.scatter_nd_update,
    ),
    "TensorScatterAdd": OpDef(
        "input_x indices updates",
        scatter_nd_update_shapes,
        tensors=3,
        kernel=kernels.scatter_nd(np.add),
    ),
    "TensorScatterMul": OpDef(
        "input_x indices updates",
        scatter_nd_update_shapes,
        tensors=3,
        kernel=kernels.scatter_nd(np.multiply),
    ),
    "TensorScatterMax": OpDef(
        "input_x indices updates",
        scatter_nd_update_shapes,
        tensors=3,
        kernel=kernels.scatter_nd(np.maximum),
    ),
    "TensorScatterMin": OpDef(
        "input_x indices updates",
        scatter_nd_update_shapes,
        tensors=3,
        kernel=kernels.scatter_nd(np.minimum),
    ),
    "TensorScatterElements": OpDef(
        "data indices updates axis reduce",
        scatter_elements_shapes,
        tensors=3,
        defaults={"axis": 0, "reduce": "none"},
        kernel=kernels.scatter_elements,
    ),
    "OneHot": OpDef(
        "indices depth on_value off_value axis",
        one_hot_shapes,
        tensors=3,
        defaults={"axis": -1},
        places=(0, 2, 3),
        kernel=kernels.one_hot,
        gradient=one_hot_gradient,
        discontinuous=True,
    ),
    "GatherDGradV2": OpDef(
        "x dim index dout",
        gather_d_grad_shapes,
        tensors=3,
        places=(0, 2, 3),
        kernel=kernels.gather_d_grad,
    ),
    "UnsortedSegmentSum": OpDef(
        "input_x segment_ids num_segments",
        segment_sum_grad_shapes,
        tensors=2,
        kernel=kernels.segment_sum,
        effect="sum",
    ),
    "ScatterNd": OpDef(
        "indices updates shape", scatter_nd_grad_shapes, tensors=2, kernel=kernels.scatter_to_zeros
    ),
    "Embedding": foreign("input weight padding_idx max_norm norm_type scale_grad_by_freq"),
    "ScatterAdd": foreign(writes=(0,)),
    "ScatterNdUpdate": foreign(writes=(0,)),
    "ScatterUpdate": foreign(writes=(0,)),
}
