"""Operators that move elements, and their gradients."""

from __future__ import annotations

import math
from dataclasses import replace
from math import inf, prod
from typing import Any

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    Call,
    OpDef,
    foreign,
    integers,
    numbers_if_given,
    one_axis,
    output_like,
    reject,
    same_dtype,
    shape_setting,
    some_axes,
)
from workbench.ops.gradient import Backward, Entries, Entry, Symbol, input_gradient
from workbench.ops.kernels import movement as kernels
from workbench.ops.kernels.window import strided_shape


def reshape_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """At most one -1 in the new shape."""
    shape, wanted = call.shape(), call.sizes("shape")
    if wanted.count(-1) > 1 or any(dim < -1 for dim in wanted):
        reject("graph/reshape-open", got=wanted)
    filled = kernels.whole_shape(shape, wanted)
    if prod(filled) != prod(shape):
        reject("graph/reshape", shape=shape, elements=prod(shape), got=wanted)
    return output_like(call, filled)


def flatten_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Every axis but the first becomes one."""
    shape = call.shape()
    if not shape:
        reject("graph/rank", subject="input", least=1, got=shape)
    return output_like(call, (shape[0], prod(shape[1:])))


def expand_dims_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """One axis of size 1 more."""
    shape = call.shape()
    axis = one_axis(call.settings["axis"], len(shape) + 1)
    return output_like(call, (*shape[:axis], 1, *shape[axis:]))


def squeeze_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Given axes of size 1 disappear; all of them if none are given."""
    shape = call.shape()
    axes = [one_axis(one, len(shape)) for one in call.sizes("axis")]
    if not axes:
        return output_like(call, tuple(dim for dim in shape if dim != 1))
    for axis in axes:
        if not shape or shape[axis] != 1:
            reject("graph/squeeze", axis=axis, shape=shape)
    return output_like(call, tuple(dim for i, dim in enumerate(shape) if i not in axes))


def transpose_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """``dims`` names every axis once."""
    shape, order = call.shape(), call.sizes("dims")
    axes = tuple(one_axis(axis, len(shape), "dims") for axis in order)
    if sorted(axes) != list(range(len(shape))):
        reject("graph/permutation", rank=len(shape), got=order)
    return output_like(call, tuple(shape[axis] for axis in axes))


def concat_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Equal shapes but for the joined axis."""
    same_dtype(call)
    if not call.tensors:
        reject("graph/no-tensor")
    shapes = [call.shape(index) for index in range(len(call.tensors))]
    if not shapes[0]:
        reject("graph/rank", subject="inputs", least=1, got=())
    axis = one_axis(call.settings["axis"], len(shapes[0]))
    rests = {(len(s), s[:axis], s[axis + 1 :]) for s in shapes}
    if len(rests) > 1:
        reject("graph/concat", axis=axis, got=tuple(shapes))
    total = sum(shape[axis] for shape in shapes)
    return output_like(call, (*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


def stack_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Equal shapes, joined along a new axis."""
    same_dtype(call)
    shapes = tuple(call.shape(index) for index in range(len(call.tensors)))
    if len(set(shapes)) != 1:
        reject("graph/shapes-differ", subject="inputs", got=shapes)
    axis = one_axis(call.settings["axis"], len(shapes[0]) + 1)
    return output_like(call, (*shapes[0][:axis], len(shapes), *shapes[0][axis:]))


def split_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Equal pieces along an axis."""
    shape, count = call.shape(), call.settings["output_num"]
    axis = one_axis(call.settings["axis"], len(shape))
    if not shape or not isinstance(count, int) or count < 1 or shape[axis] % count:
        reject("graph/axis-parts", axis=axis, shape=shape, got=count)
    piece = (*shape[:axis], shape[axis] // count, *shape[axis + 1 :])
    return output_like(call, piece) * count


def split_sizes_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Pieces of given sizes along an axis; one of them may be -1."""
    shape, sizes = call.shape(), call.sizes("size_splits")
    axis = one_axis(call.settings["split_dim"], len(shape), "split_dim")
    length = shape[axis] if shape else 0
    pieces = kernels.whole_sizes(sizes, length)
    if not sizes or min(pieces) < 0 or sum(pieces) != length:
        reject("graph/splits", expected=length, got=sizes)
    return tuple(
        one
        for size in pieces
        for one in output_like(call, (*shape[:axis], size, *shape[axis + 1 :]))
    )


def slices_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """``size`` elements from ``begin`` on, for every axis; -1: all that follow."""
    shape, begin, size = call.shape(), call.sizes("begin"), call.sizes("size")
    if len(begin) != len(shape) or len(size) != len(shape):
        reject("graph/slice-outside", whole=shape, begin=begin, size=size)
    taken = tuple(n - b if s == -1 else s for n, b, s in zip(shape, begin, size, strict=True))
    for n, b, s in zip(shape, begin, taken, strict=True):
        if b < 0 or s < 0 or b + s > n:
            reject("graph/slice-outside", whole=shape, begin=begin, size=size)
    return output_like(call, taken)


def strided_slice_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Every axis by begin, end and stride, with TensorFlow's masks."""
    return output_like(call, strided_shape(call.shape(), call.settings))


def pad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """``paddings`` before and after each axis, from the last axis on; negative ones cut off."""
    shape, paddings, mode = call.shape(), call.sizes("paddings"), call.settings["mode"]
    if mode not in ("constant", "reflect", "edge", "circular"):
        reject(
            "core/choice",
            subject="mode",
            got=mode,
            known=["constant", "reflect", "edge", "circular"],
        )
    numbers_if_given(call, "constant_value")
    if len(paddings) % 2 or len(paddings) > 2 * len(shape):
        reject("graph/paddings", most=len(shape), got=paddings)
    if mode != "constant" and min(paddings, default=0) < 0:
        reject("graph/paddings-negative", mode=mode, got=paddings)
    padded = list(shape)
    for place, (before, after) in enumerate(zip(paddings[::2], paddings[1::2], strict=True)):
        axis = len(shape) - 1 - place
        size = shape[axis]
        most = {"constant": inf, "edge": (before + after) * size, "circular": size}
        if max(before, after) > most.get(mode, size - 1):
            reject("graph/paddings-large", axis=axis, shape=shape, mode=mode, got=(before, after))
        if size + min(before, 0) + min(after, 0) < 0:
            reject("graph/paddings-small", axis=axis, shape=shape, got=(before, after))
        padded[axis] += before + after
    return output_like(call, padded)


def tile_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Every axis repeated; more repeats than axes add axes in front."""
    shape, dims = call.shape(), call.sizes("dims")
    if min(dims, default=0) < 0:
        reject("graph/negative", subject="dims", got=dims)
    rank = max(len(shape), len(dims))
    whole = (1,) * (rank - len(shape)) + shape
    repeats = (1,) * (rank - len(dims)) + dims
    return output_like(call, tuple(n * r for n, r in zip(whole, repeats, strict=True)))


def broadcast_to_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Axes of size 1 stretched, axes added in front; -1 keeps an axis."""
    shape, wanted = call.shape(), call.sizes("shape")
    extra = len(wanted) - len(shape)
    if extra < 0:
        reject("graph/broadcast-to", subject="input", expected=wanted, got=shape)
    whole = (1,) * extra + shape
    filled = tuple(n if w == -1 else w for n, w in zip(whole, wanted, strict=True))
    if any(n not in (1, w) or w < 0 for n, w in zip(whole, filled, strict=True)):
        reject("graph/broadcast-to", subject="input", expected=wanted, got=shape)
    return output_like(call, filled)


def triangle_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input, which is a matrix or a stack of them."""
    shape, diagonal = call.shape(), call.settings["diagonal"]
    if len(shape) < 2:
        reject("graph/rank", subject="input", least=2, got=shape)
    if not isinstance(diagonal, int):
        reject("graph/integer-any", subject="diagonal", got=diagonal)
    return output_like(call, shape)


def reverse_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; the axes exist."""
    some_axes(call.sizes("axis"), len(call.shape()))
    return output_like(call, call.shape())


def reverse_sequence_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; one length for each element of the batch axis."""
    shape = call.shape()
    steps = one_axis(call.settings["seq_dim"], len(shape), "seq_dim")
    batch = one_axis(call.settings["batch_dim"], len(shape), "batch_dim")
    if steps == batch:
        reject("graph/axis-twice", got=(call.settings["seq_dim"], call.settings["batch_dim"]))
    integers(call, 1, "seq_lengths")
    if call.shape(1) != (shape[batch],):
        reject("graph/shape", subject="seq_lengths", expected=(shape[batch],), got=call.shape(1))
    return output_like(call, shape)


def block(call: Call) -> tuple[int, int, int, int, int]:
    """Shape and block size of `DepthToSpace` and `SpaceToDepth`."""
    shape, size = call.shape(), call.settings["block_size"]
    if len(shape) != 4:
        reject("graph/layout", subject="input", expected="NCHW", got=shape)
    if not isinstance(size, int) or size < 1:
        reject("graph/integer", subject="block_size", least=1, got=size)
    return (*shape, size)


def depth_to_space_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Blocks of channels become blocks of pixels."""
    n, c, h, w, size = block(call)
    if c % (size * size):
        reject("graph/multiple", subject="channels of the input", of=size * size, got=c)
    return output_like(call, (n, c // (size * size), h * size, w * size))


def space_to_depth_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Blocks of pixels become blocks of channels."""
    n, c, h, w, size = block(call)
    if h % size or w % size:
        reject("graph/multiple", subject="height and width of the input", of=size, got=(h, w))
    return output_like(call, (n, c * size * size, h // size, w // size))


def strided_slice_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient of a slice of a tensor of shape ``shapex``."""
    shape, bounds = shape_setting(call, "shapex"), ("begin", "end", "strides")
    known = {**call.settings, **{name: call.sizes(name) for name in bounds}}
    taken = strided_shape(shape, known)
    if math.prod(taken) != math.prod(call.shape()):
        reject("graph/shape", subject="dy", expected=taken, got=call.shape())
    return output_like(call, shape)


def slices_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient of the elements from ``begin`` on; as many as dy has."""
    dout, shape, begin = call.shape(0), call.shape(1), call.sizes("begin")
    inside = len(begin) == len(shape) == len(dout) and all(
        0 <= b <= b + d <= n for b, d, n in zip(begin, dout, shape, strict=True)
    )
    if not inside:
        reject("graph/slice-outside", whole=shape, begin=begin, size=dout)
    return output_like(call, shape)


def pad_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Drop what `PadV3` put around; pairs of widths from the last axis on."""
    shape, widths, mode = call.shape(), call.sizes("paddings"), call.settings["mode"]
    if mode not in ("reflect", "edge", "circular"):
        reject("core/choice", subject="mode", got=mode, known=["reflect", "edge", "circular"])
    if len(widths) % 2 or len(widths) > 2 * len(shape) or min(widths, default=0) < 0:
        reject("graph/paddings", most=len(shape), got=widths)
    whole = list(shape)
    for place, (before, after) in enumerate(zip(widths[::2], widths[1::2], strict=True)):
        axis = len(shape) - 1 - place
        whole[axis] -= before + after
        most = whole[axis] - (mode == "reflect") if mode != "edge" else max(before, after)
        if whole[axis] < 1 or max(before, after) > most:
            reject("graph/paddings-large", axis=axis, shape=shape, mode=mode, got=(before, after))
    return output_like(call, whole)


def unstack_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """As many outputs as the axis has elements."""
    shape = call.shape()
    axis = one_axis(call.settings["axis"], len(shape))
    if not shape or not shape[axis]:
        reject("graph/empty-axis", got=shape)
    if call.settings["num"] not in (None, shape[axis]):
        reject(
            "graph/axis-count",
            subject="num",
            axis=axis,
            shape=shape,
            expected=shape[axis],
            got=call.settings["num"],
        )
    return output_like(call, (*shape[:axis], *shape[axis + 1 :])) * shape[axis]


def fill_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """A tensor of ``shape`` and the dtype of the 0-d value."""
    if call.shape() != ():
        reject("graph/shape", subject="value", expected=(), got=call.shape())
    return output_like(call, shape_setting(call, "shape"))


def reshape_gradient(b: Backward) -> Symbol:
    """The same elements in the shape of the input."""
    return b.reshaped(b.dout, b.x.shape)


def transpose_gradient(b: Backward) -> Symbol:
    """The axes back in their order."""
    rank = b.x.ndim
    order = [axis % rank for axis in b.settings["dims"]]
    return b.record("Transpose", b.dout, tuple(int(axis) for axis in np.argsort(order)))


def concat_gradient(b: Backward) -> Entries:
    """Each input has its part of the gradient."""
    axis = int(b.settings["axis"]) % b.x.ndim
    ends = np.cumsum([tensor.shape[axis] for tensor in b.inputs])

    def part(place: int) -> Entry:
        tensor = b.inputs[place]
        begin = [0] * tensor.ndim
        begin[axis] = int(ends[place]) - tensor.shape[axis]
        return lambda: b.record("Slice", b.dout, tuple(begin), tensor.shape)

    return [part(place) for place in range(len(b.inputs))]


def stack_gradient(b: Backward) -> Entries:
    """Each input has its row of the gradient."""
    count = len(b.inputs)
    axis = int(b.settings["axis"])
    return b.multi_output_gradient(count, "Unstack", lambda: (b.dout,), num=count, axis=axis)


def split_gradient(b: Backward) -> Symbol:
    """The gradients of the pieces, joined."""
    axis = int(b.settings["axis" if "axis" in b.settings else "split_dim"])
    return b.record("Concat", tuple(b.grad(slot) for slot in range(len(b.outputs))), axis)


def slices_gradient(b: Backward) -> Symbol:
    """The gradient where the piece was cut from, zeros around."""
    return b.record("SliceGrad", b.dout, b.x, *(_vector(b.settings[k]) for k in ("begin", "size")))


def strided_slice_gradient(b: Backward) -> Symbol:
    """The gradient where the elements came from, zeros between."""
    masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    bounds = [_vector(b.settings[name]) for name in ("begin", "end", "strides")]
    settings = {name: int(b.settings[name]) for name in masks}
    return b.record("StridedSliceGrad", b.dout, _vector(b.x.shape), *bounds, **settings)


def _vector(sizes: Any) -> np.ndarray[Any, Any]:
    return np.asarray(sizes, np.int64)


def pad_gradient(b: Backward) -> Symbol:
    """The gradient without what was put around; copies of elements are added to them."""
    paddings, mode = b.settings["paddings"], b.settings["mode"]
    if mode != "constant":
        return b.record("PadV3Grad", b.dout, tuple(paddings), mode=mode)
    before = tuple(paddings[::2])[::-1]
    begin = (0,) * (b.x.ndim - len(before)) + before
    return b.record("Slice", b.dout, begin, b.x.shape)


def tile_gradient(b: Backward) -> Symbol:
    """The sum over all repeats."""
    dims = tuple(b.settings["dims"])
    shape = (1,) * (len(dims) - b.x.ndim) + b.x.shape
    dims = (1,) * (len(shape) - len(dims)) + dims
    pairs = tuple(n for pair in zip(dims, shape, strict=True) for n in pair)
    repeats = tuple(range(0, len(pairs), 2))
    total = b.record("ReduceSum", b.reshaped(b.dout, pairs), repeats, False, False)
    return b.reshaped(total, b.x.shape)


def broadcast_to_gradient(b: Backward) -> Symbol:
    """The sum over the axes that were stretched."""
    return b.sum_to(b.dout, b.x)


def reverse_gradient(b: Backward) -> Symbol:
    """The axes turned back."""
    return b.record("ReverseV2", b.dout, tuple(b.settings["axis"]))


_MASKS = dict.fromkeys(
    ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
)


def evenly_spaced_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """``num`` numbers from one to another; both are scalars."""
    for index, name in enumerate(("start", "stop")):
        if call.shape(index):
            reject("graph/one-number", subject=name, got=call.shape(index))
    if not isinstance(call.settings["num"], int):
        reject("graph/integer", subject="num", least=0, got=call.settings["num"])
    return output_like(call, shape_setting(call, "num"))


def progression_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """As many numbers as there are steps, which only the values tell."""
    same_dtype(call)
    return (TensorSpec(call.tensors[0].dtype, None),)


ROWS: dict[str, OpDef] = {
    "Tril": OpDef(
        "x", triangle_shapes, defaults={"diagonal": 0}, kernel=kernels.lower, effect="move"
    ),
    "Triu": OpDef(
        "input diagonal",
        triangle_shapes,
        defaults={"diagonal": 0},
        kernel=kernels.upper,
        effect="move",
    ),
    "Reshape": OpDef(
        "input shape",
        reshape_shapes,
        "none",
        kernel=kernels.reshape,
        gradient=input_gradient(reshape_gradient),
        effect="move",
    ),
    "Flatten": OpDef(
        "input_x",
        flatten_shapes,
        "none",
        kernel=kernels.flatten,
        gradient=input_gradient(reshape_gradient),
        effect="move",
    ),
    "ExpandDims": OpDef(
        "input_x axis",
        expand_dims_shapes,
        "none",
        kernel=kernels.expand_dims,
        gradient=input_gradient(reshape_gradient),
        effect="move",
    ),
    "Squeeze": OpDef(
        "input axis",
        squeeze_shapes,
        "none",
        defaults={"axis": ()},
        kernel=kernels.squeeze,
        gradient=input_gradient(reshape_gradient),
        effect="move",
    ),
    "Transpose": OpDef(
        "input dims",
        transpose_shapes,
        kernel=kernels.transpose,
        gradient=input_gradient(transpose_gradient),
        effect="move",
    ),
    "Concat": OpDef(
        "tensors axis",
        concat_shapes,
        tensors=-1,
        defaults={"axis": 0},
        kernel=kernels.concat,
        gradient=concat_gradient,
        effect="move",
    ),
    "Stack": OpDef(
        "x",
        stack_shapes,
        tensors=-1,
        defaults={"axis": 0},
        kernel=kernels.stack,
        gradient=stack_gradient,
        effect="move",
    ),
    "Split": OpDef(
        "input_x axis output_num",
        split_shapes,
        defaults={"axis": 0},
        kernel=kernels.split,
        gradient=input_gradient(split_gradient),
        effect="move",
    ),
    "SplitV": OpDef(
        "input_x",
        split_sizes_shapes,
        defaults={"size_splits": (), "split_dim": 0},
        kernel=kernels.split_sizes,
        gradient=input_gradient(split_gradient),
        effect="move",
    ),
    "Slice": OpDef(
        "input begin size",
        slices_shapes,
        kernel=kernels.slices,
        gradient=input_gradient(slices_gradient),
        effect="move",
    ),
    "StridedSlice": OpDef(
        "input_x begin end strides begin_mask end_mask ellipsis_mask new_axis_mask "
        "shrink_axis_mask",
        strided_slice_shapes,
        defaults=_MASKS,
        kernel=kernels.strided_slice,
        gradient=input_gradient(strided_slice_gradient),
        effect="move",
    ),
    "PadV3": OpDef(
        "x paddings constant_value",
        pad_shapes,
        defaults={"constant_value": None, "mode": "constant"},
        kernel=kernels.pad,
        gradient=input_gradient(pad_gradient),
    ),
    "Tile": OpDef(
        "input dims",
        tile_shapes,
        kernel=kernels.tile,
        gradient=input_gradient(tile_gradient),
        effect="move",
    ),
    "BroadcastTo": OpDef(
        "input shape",
        broadcast_to_shapes,
        kernel=kernels.broadcast_to,
        gradient=input_gradient(broadcast_to_gradient),
        effect="move",
    ),
    "ReverseV2": OpDef(
        "input axis",
        reverse_shapes,
        kernel=kernels.reverse,
        gradient=input_gradient(reverse_gradient),
        effect="move",
    ),
    "ReverseSequence": OpDef(
        "x seq_lengths",
        reverse_sequence_shapes,
        tensors=2,
        defaults={"seq_dim": 0, "batch_dim": 0},
        kernel=kernels.reverse_sequence,
        effect="move",
    ),
    "DepthToSpace": OpDef(
        "x",
        depth_to_space_shapes,
        defaults={"block_size": 1},
        kernel=kernels.depth_to_space,
        effect="move",
    ),
    "SpaceToDepth": OpDef(
        "x",
        space_to_depth_shapes,
        defaults={"block_size": 1},
        kernel=kernels.space_to_depth,
        effect="move",
    ),
    "StridedSliceGrad": OpDef(
        "dy shapex begin end strides",
        strided_slice_grad_shapes,
        defaults=_MASKS,
        kernel=kernels.strided_slice_grad,
        effect="move",
    ),
    "SliceGrad": OpDef(
        "dy x begin size", slices_grad_shapes, tensors=2, kernel=kernels.slices_grad, effect="move"
    ),
    "PadV3Grad": OpDef(
        "x paddings", pad_grad_shapes, defaults={"mode": "reflect"}, kernel=kernels.pad_grad
    ),
    "Unstack": OpDef(
        "x",
        unstack_shapes,
        defaults={"num": None, "axis": 0},
        kernel=kernels.unstack,
        effect="move",
    ),
    "FillV2": OpDef("shape value", fill_shapes, places=(1,), kernel=kernels.fill, effect="move"),
    "Depend": foreign(effect="identity"),
    "Identity": foreign(effect="identity"),
    "LinSpace": OpDef(
        "start stop num",
        evenly_spaced_shapes,
        tensors=2,
        kernel=kernels.evenly_spaced,
        floats=(0, 1),
    ),
    "Load": foreign(effect="identity"),
    "Pad": foreign("x paddings"),
    "Range": OpDef(
        "start end step maxlen",
        progression_shapes,
        tensors=3,
        defaults={"maxlen": 1000000},
        kernel=kernels.progression,
    ),
    "ReshapeExt": foreign(effect="move"),
    "Switch": foreign(discontinuous=True),
    "TensorMove": foreign(effect="identity"),
    "View": foreign(effect="move"),
}

# the graph engine's own names; what it compiles is never differentiated
for name, base in (("ConcatD", "Concat"), ("Pack", "Stack"), ("SplitD", "Split")):
    ROWS[name] = replace(ROWS[base], gradient=None)
