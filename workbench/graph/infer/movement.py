"""Rules of operators that only move elements."""

from __future__ import annotations

from math import inf, prod

from workbench.core.tensors import TensorSpec
from workbench.graph.infer import Call, integers, like, one_axis, one_dtype, refuse
from workbench.graph.strides import strided_shape


def reshape(call: Call) -> tuple[TensorSpec, ...]:
    """At most one -1 in the new shape."""
    shape, wanted = call.shape(), call.sizes("shape")
    if wanted.count(-1) > 1 or any(dim < -1 for dim in wanted):
        refuse("graph/reshape-open", got=wanted)
    filled = whole_shape(shape, wanted)
    if prod(filled) != prod(shape):
        refuse("graph/reshape", shape=shape, elements=prod(shape), got=wanted)
    return like(call, filled)


def whole_shape(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Shape with -1 replaced by what is left; beside a 0 that is 0."""
    known = prod(dim for dim in wanted if dim != -1)
    rest = prod(shape) // known if known else 0
    return tuple(rest if dim == -1 else dim for dim in wanted)


def flatten(call: Call) -> tuple[TensorSpec, ...]:
    """Every axis but the first becomes one."""
    shape = call.shape()
    if not shape:
        refuse("graph/rank", subject="input", least=1, got=shape)
    return like(call, (shape[0], prod(shape[1:])))


def expand_dims(call: Call) -> tuple[TensorSpec, ...]:
    """One axis of size 1 more."""
    shape = call.shape()
    axis = one_axis(call.settings["axis"], len(shape) + 1)
    return like(call, (*shape[:axis], 1, *shape[axis:]))


def squeeze(call: Call) -> tuple[TensorSpec, ...]:
    """Given axes of size 1 disappear; all of them if none are given."""
    shape = call.shape()
    axes = [one_axis(one, len(shape)) for one in call.sizes("axis")]
    if not axes:
        return like(call, tuple(dim for dim in shape if dim != 1))
    for axis in axes:
        if not shape or shape[axis] != 1:
            refuse("graph/squeeze", axis=axis, shape=shape)
    return like(call, tuple(dim for i, dim in enumerate(shape) if i not in axes))


def transpose(call: Call) -> tuple[TensorSpec, ...]:
    """``dims`` names every axis once."""
    shape, order = call.shape(), call.sizes("dims")
    axes = tuple(one_axis(axis, len(shape), "dims") for axis in order)
    if sorted(axes) != list(range(len(shape))):
        refuse("graph/permutation", rank=len(shape), got=order)
    return like(call, tuple(shape[axis] for axis in axes))


def concat(call: Call) -> tuple[TensorSpec, ...]:
    """Equal shapes but for the joined axis."""
    one_dtype(call)
    if not call.tensors:
        refuse("graph/no-tensor")
    shapes = [call.shape(index) for index in range(len(call.tensors))]
    if not shapes[0]:
        refuse("graph/rank", subject="inputs", least=1, got=())
    axis = one_axis(call.settings["axis"], len(shapes[0]))
    rests = {(len(s), s[:axis], s[axis + 1 :]) for s in shapes}
    if len(rests) > 1:
        refuse("graph/concat", axis=axis, got=tuple(shapes))
    total = sum(shape[axis] for shape in shapes)
    return like(call, (*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


def stack(call: Call) -> tuple[TensorSpec, ...]:
    """Equal shapes, joined along a new axis."""
    one_dtype(call)
    shapes = tuple(call.shape(index) for index in range(len(call.tensors)))
    if len(set(shapes)) != 1:
        refuse("graph/shapes-differ", subject="inputs", got=shapes)
    axis = one_axis(call.settings["axis"], len(shapes[0]) + 1)
    return like(call, (*shapes[0][:axis], len(shapes), *shapes[0][axis:]))


def split(call: Call) -> tuple[TensorSpec, ...]:
    """Equal pieces along an axis."""
    shape, count = call.shape(), call.settings["output_num"]
    axis = one_axis(call.settings["axis"], len(shape))
    if not shape or not isinstance(count, int) or count < 1 or shape[axis] % count:
        refuse("graph/axis-parts", axis=axis, shape=shape, got=count)
    piece = (*shape[:axis], shape[axis] // count, *shape[axis + 1 :])
    return like(call, piece) * count


def split_sizes(call: Call) -> tuple[TensorSpec, ...]:
    """Pieces of given sizes along an axis; one of them may be -1."""
    shape, sizes = call.shape(), call.sizes("size_splits")
    axis = one_axis(call.settings["split_dim"], len(shape), "split_dim")
    length = shape[axis] if shape else 0
    pieces = whole_sizes(sizes, length)
    if not sizes or min(pieces) < 0 or sum(pieces) != length:
        refuse("graph/splits", expected=length, got=sizes)
    return tuple(
        one for size in pieces for one in like(call, (*shape[:axis], size, *shape[axis + 1 :]))
    )


def whole_sizes(sizes: tuple[int, ...], length: int) -> tuple[int, ...]:
    """Sizes of `SplitV`, with -1 replaced by what is left."""
    rest = length - sum(size for size in sizes if size != -1)
    return tuple(rest if size == -1 else size for size in sizes)


def slices(call: Call) -> tuple[TensorSpec, ...]:
    """``size`` elements from ``begin`` on, for every axis; -1: all that follow."""
    shape, begin, size = call.shape(), call.sizes("begin"), call.sizes("size")
    if len(begin) != len(shape) or len(size) != len(shape):
        refuse("graph/slice-outside", whole=shape, begin=begin, size=size)
    taken = tuple(n - b if s == -1 else s for n, b, s in zip(shape, begin, size, strict=True))
    for n, b, s in zip(shape, begin, taken, strict=True):
        if b < 0 or s < 0 or b + s > n:
            refuse("graph/slice-outside", whole=shape, begin=begin, size=size)
    return like(call, taken)


def strided_slice(call: Call) -> tuple[TensorSpec, ...]:
    """Every axis by begin, end and stride, with TensorFlow's masks."""
    return like(call, strided_shape(call.shape(), call.settings))


def pad(call: Call) -> tuple[TensorSpec, ...]:
    """``paddings`` before and after each axis, from the last axis on; negative ones cut off."""
    shape, paddings, mode = call.shape(), call.sizes("paddings"), call.settings["mode"]
    if mode not in ("constant", "reflect", "edge", "circular"):
        refuse(
            "core/choice",
            subject="mode",
            got=mode,
            known=["constant", "reflect", "edge", "circular"],
        )
    if len(paddings) % 2 or len(paddings) > 2 * len(shape):
        refuse("graph/paddings", most=len(shape), got=paddings)
    if mode != "constant" and min(paddings, default=0) < 0:
        refuse("graph/paddings-negative", mode=mode, got=paddings)
    padded = list(shape)
    for place, (before, after) in enumerate(zip(paddings[::2], paddings[1::2], strict=True)):
        axis = len(shape) - 1 - place
        size = shape[axis]
        most = {"constant": inf, "edge": (before + after) * size, "circular": size}
        if max(before, after) > most.get(mode, size - 1):
            refuse("graph/paddings-large", axis=axis, shape=shape, mode=mode, got=(before, after))
        if size + min(before, 0) + min(after, 0) < 0:
            refuse("graph/paddings-small", axis=axis, shape=shape, got=(before, after))
        padded[axis] += before + after
    return like(call, padded)


def tile(call: Call) -> tuple[TensorSpec, ...]:
    """Every axis repeated; more repeats than axes add axes in front."""
    shape, dims = call.shape(), call.sizes("dims")
    if min(dims, default=0) < 0:
        refuse("graph/negative", subject="dims", got=dims)
    rank = max(len(shape), len(dims))
    whole = (1,) * (rank - len(shape)) + shape
    repeats = (1,) * (rank - len(dims)) + dims
    return like(call, tuple(n * r for n, r in zip(whole, repeats, strict=True)))


def broadcast_to(call: Call) -> tuple[TensorSpec, ...]:
    """Axes of size 1 stretched, axes added in front; -1 keeps an axis."""
    shape, wanted = call.shape(), call.sizes("shape")
    extra = len(wanted) - len(shape)
    if extra < 0:
        refuse("graph/broadcast-to", subject="input", expected=wanted, got=shape)
    whole = (1,) * extra + shape
    filled = tuple(n if w == -1 else w for n, w in zip(whole, wanted, strict=True))
    if any(n not in (1, w) or w < 0 for n, w in zip(whole, filled, strict=True)):
        refuse("graph/broadcast-to", subject="input", expected=wanted, got=shape)
    return like(call, filled)


def triangle(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input, which is a matrix or a stack of them."""
    shape, diagonal = call.shape(), call.settings["diagonal"]
    if len(shape) < 2:
        refuse("graph/rank", subject="input", least=2, got=shape)
    if not isinstance(diagonal, int):
        refuse("graph/integer-any", subject="diagonal", got=diagonal)
    return like(call, shape)


def reverse(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; the axes exist."""
    for axis in call.sizes("axis"):
        one_axis(axis, len(call.shape()))
    return like(call, call.shape())


def reverse_sequence(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; one length for each element of the batch axis."""
    shape = call.shape()
    one_axis(call.settings["seq_dim"], len(shape), "seq_dim")
    batch = one_axis(call.settings["batch_dim"], len(shape), "batch_dim")
    integers(call, 1, "seq_lengths")
    if call.shape(1) != (shape[batch],):
        refuse("graph/shape", subject="seq_lengths", expected=(shape[batch],), got=call.shape(1))
    return like(call, shape)


def block(call: Call) -> tuple[int, int, int, int, int]:
    """Shape and block size of `DepthToSpace` and `SpaceToDepth`."""
    shape, size = call.shape(), call.settings["block_size"]
    if len(shape) != 4:
        refuse("graph/layout", subject="input", expected="NCHW", got=shape)
    if not isinstance(size, int) or size < 1:
        refuse("graph/integer", subject="block_size", least=1, got=size)
    return (*shape, size)


def depth_to_space(call: Call) -> tuple[TensorSpec, ...]:
    """Blocks of channels become blocks of pixels."""
    n, c, h, w, size = block(call)
    if c % (size * size):
        refuse("graph/multiple", subject="channels of the input", of=size * size, got=c)
    return like(call, (n, c // (size * size), h * size, w * size))


def space_to_depth(call: Call) -> tuple[TensorSpec, ...]:
    """Blocks of pixels become blocks of channels."""
    n, c, h, w, size = block(call)
    if h % size or w % size:
        refuse("graph/multiple", subject="height and width of the input", of=size, got=(h, w))
    return like(call, (n, c * size * size, h // size, w // size))
