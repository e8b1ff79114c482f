"""Rules of the gradients of what moves, takes or drops elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.graph.infer import Call, integers, like, one_axis, refuse
from workbench.graph.infer.indexing import gather_d as forward
from workbench.graph.strides import strided_shape

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec

_LARGEST = 1 << 31


def _sizes(call: Call, name: str) -> tuple[int, ...]:
    """Setting that is the shape of an output."""
    shape = call.sizes(name)
    if min(shape, default=0) < 0 or math.prod(shape) > _LARGEST:
        refuse("graph/sizes", subject=name, most=_LARGEST, got=shape)
    return shape


def strided_slice(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient of a slice of a tensor of shape ``shapex``."""
    shape, bounds = _sizes(call, "shapex"), ("begin", "end", "strides")
    known = {**call.settings, **{name: call.sizes(name) for name in bounds}}
    taken = strided_shape(shape, known)
    if math.prod(taken) != math.prod(call.shape()):
        refuse("graph/shape", subject="dy", expected=taken, got=call.shape())
    return like(call, shape)


def slices(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient of the elements from ``begin`` on; as many as dy has."""
    dout, shape, begin = call.shape(0), call.shape(1), call.sizes("begin")
    inside = len(begin) == len(shape) == len(dout) and all(
        0 <= b <= b + d <= n for b, d, n in zip(begin, dout, shape, strict=True)
    )
    if not inside:
        refuse("graph/slice-outside", whole=shape, begin=begin, size=dout)
    return like(call, shape)


def pad(call: Call) -> tuple[TensorSpec, ...]:
    """Drop what `PadV3` put around; pairs of widths from the last axis on."""
    shape, widths, mode = call.shape(), call.sizes("paddings"), call.settings["mode"]
    if mode not in ("reflect", "edge", "circular"):
        refuse("core/choice", subject="mode", got=mode, known=["reflect", "edge", "circular"])
    if len(widths) % 2 or len(widths) > 2 * len(shape) or min(widths, default=0) < 0:
        refuse("graph/paddings", most=len(shape), got=widths)
    whole = list(shape)
    for place, (before, after) in enumerate(zip(widths[::2], widths[1::2], strict=True)):
        axis = len(shape) - 1 - place
        whole[axis] -= before + after
        most = whole[axis] - (mode == "reflect") if mode != "edge" else max(before, after)
        if whole[axis] < 1 or max(before, after) > most:
            refuse("graph/paddings-large", axis=axis, shape=shape, mode=mode, got=(before, after))
    return like(call, whole)


def gather_d(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient of x, of the elements that ``index`` took."""
    forward(call)
    if call.shape(2) != call.shape(1):
        refuse("graph/shape", subject="dout", expected=call.shape(1), got=call.shape(2))
    return like(call, call.shape(), 2)


def segment_sum(call: Call) -> tuple[TensorSpec, ...]:
    """``num_segments`` rows; the segments stand for the first axes of the input."""
    shape, segments, count = call.shape(0), call.shape(1), call.settings["num_segments"]
    integers(call, 1, "segment_ids")
    if not segments or shape[: len(segments)] != segments:
        refuse("graph/shape-first", subject="segment_ids", whole=shape, got=segments)
    if not isinstance(count, int) or not 1 <= count <= _LARGEST:
        refuse("graph/integer", subject="num_segments", least=1, got=count)
    return like(call, (count, *shape[len(segments) :]))


def scatter_nd(call: Call) -> tuple[TensorSpec, ...]:
    """Zeros of ``shape``, an update for every row of indices."""
    indices, shape = call.shape(0), _sizes(call, "shape")
    integers(call, 0, "the indices")
    if not indices or not 1 <= indices[-1] <= len(shape):
        refuse("graph/index-rows", most=len(shape), got=indices)
    wanted = (*indices[:-1], *shape[indices[-1] :])
    if call.shape(1) != wanted:
        refuse("graph/shape", subject="updates", expected=wanted, got=call.shape(1))
    return like(call, shape, 1)


def unstack(call: Call) -> tuple[TensorSpec, ...]:
    """As many outputs as the axis has elements."""
    shape = call.shape()
    axis = one_axis(call.settings["axis"], len(shape))
    if not shape or not shape[axis]:
        refuse("graph/empty-axis", got=shape)
    if call.settings["num"] not in (None, shape[axis]):
        refuse(
            "graph/axis-count",
            subject="num",
            axis=axis,
            shape=shape,
            expected=shape[axis],
            got=call.settings["num"],
        )
    return like(call, (*shape[:axis], *shape[axis + 1 :])) * shape[axis]


def fill(call: Call) -> tuple[TensorSpec, ...]:
    """A tensor of ``shape`` and the dtype of the 0-d value."""
    if call.shape() != ():
        refuse("graph/shape", subject="value", expected=(), got=call.shape())
    return like(call, _sizes(call, "shape"))


def dropout(call: Call) -> tuple[TensorSpec, ...]:
    """Return the output and the mask, both like the input."""
    kept = call.settings["keep_prob"]
    if not isinstance(kept, int | float) or not 0 < kept <= 1:
        refuse("graph/probability", subject="keep_prob", got=kept)
    for name in ("Seed0", "Seed1"):
        if not isinstance(call.settings[name], int):
            refuse("graph/integer-any", subject=name, got=call.settings[name])
    return like(call, call.shape()) * 2
