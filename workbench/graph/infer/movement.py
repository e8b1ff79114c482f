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
        refuse("shape", "sizes with at most one -1", wanted)
    filled = whole_shape(shape, wanted)
    if prod(filled) != prod(shape):
        refuse("shape", f"of {prod(shape)} elements like {shape}", wanted)
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
        refuse("rank of the input", "at least 1", shape)
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
            refuse(f"size of axis {axis} of {shape}", "1", shape[axis] if shape else None)
    return like(call, tuple(dim for i, dim in enumerate(shape) if i not in axes))


def transpose(call: Call) -> tuple[TensorSpec, ...]:
    """``dims`` names every axis once."""
    shape, order = call.shape(), call.sizes("dims")
    axes = tuple(one_axis(axis, len(shape), "dims") for axis in order)
    if sorted(axes) != list(range(len(shape))):
        refuse("dims", f"a permutation of {len(shape)} axes", order)
    return like(call, tuple(shape[axis] for axis in axes))


def concat(call: Call) -> tuple[TensorSpec, ...]:
    """Equal shapes but for the joined axis."""
    one_dtype(call)
    if not call.tensors:
        refuse("tensors", "at least one tensor", call.tensors)
    shapes = [call.shape(index) for index in range(len(call.tensors))]
    if not shapes[0]:
        refuse("rank of the inputs", "at least 1", 0)
    axis = one_axis(call.settings["axis"], len(shapes[0]))
    rests = {(len(s), s[:axis], s[axis + 1 :]) for s in shapes}
    if len(rests) > 1:
        refuse("shapes of the inputs", f"equal except on axis {axis}", tuple(shapes))
    total = sum(shape[axis] for shape in shapes)
    return like(call, (*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


def stack(call: Call) -> tuple[TensorSpec, ...]:
    """Equal shapes, joined along a new axis."""
    one_dtype(call)
    shapes = tuple(call.shape(index) for index in range(len(call.tensors)))
    if len(set(shapes)) != 1:
        refuse("shapes of the inputs", "equal", shapes)
    axis = one_axis(call.settings["axis"], len(shapes[0]) + 1)
    return like(call, (*shapes[0][:axis], len(shapes), *shapes[0][axis:]))


def split(call: Call) -> tuple[TensorSpec, ...]:
    """Equal pieces along an axis."""
    shape, count = call.shape(), call.settings["output_num"]
    axis = one_axis(call.settings["axis"], len(shape))
    if not shape or not isinstance(count, int) or count < 1 or shape[axis] % count:
        refuse("output_num", f"a divisor of axis {axis} of {shape}", count)
    piece = (*shape[:axis], shape[axis] // count, *shape[axis + 1 :])
    return like(call, piece) * count


def split_sizes(call: Call) -> tuple[TensorSpec, ...]:
    """Pieces of given sizes along an axis; one of them may be -1."""
    shape, sizes = call.shape(), call.sizes("size_splits")
    axis = one_axis(call.settings["split_dim"], len(shape), "split_dim")
    length = shape[axis] if shape else 0
    pieces = whole_sizes(sizes, length)
    if not sizes or min(pieces) < 0 or sum(pieces) != length:
        refuse("size_splits", f"sizes whose sum is {length}", sizes)
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
        refuse("begin and size", f"as long as {shape}", (begin, size))
    taken = tuple(n - b if s == -1 else s for n, b, s in zip(shape, begin, size, strict=True))
    for n, b, s in zip(shape, begin, taken, strict=True):
        if b < 0 or s < 0 or b + s > n:
            refuse("begin and size", f"inside {shape}", (begin, size))
    return like(call, taken)


def strided_slice(call: Call) -> tuple[TensorSpec, ...]:
    """Every axis by begin, end and stride, with TensorFlow's masks."""
    return like(call, strided_shape(call.shape(), call.settings))


def pad(call: Call) -> tuple[TensorSpec, ...]:
    """``paddings`` before and after each axis, from the last axis on; negative ones cut off."""
    shape, paddings, mode = call.shape(), call.sizes("paddings"), call.settings["mode"]
    if mode not in ("constant", "reflect", "edge", "circular"):
        refuse("mode", "constant, reflect, edge or circular", mode)
    if len(paddings) % 2 or len(paddings) > 2 * len(shape):
        refuse("paddings", f"pairs of sizes, at most {len(shape)}", paddings)
    if mode != "constant" and min(paddings, default=0) < 0:
        refuse(f"paddings ({mode})", "at least 0", paddings)
    padded = list(shape)
    for place, (before, after) in enumerate(zip(paddings[::2], paddings[1::2], strict=True)):
        axis = len(shape) - 1 - place
        size = shape[axis]
        most = {"constant": inf, "edge": (before + after) * size, "circular": size}
        if max(before, after) > most.get(mode, size - 1):
            refuse(f"paddings of axis {axis} of {shape} ({mode})", "smaller", (before, after))
        if size + min(before, 0) + min(after, 0) < 0:
            refuse(f"paddings of axis {axis} of {shape}", "larger", (before, after))
        padded[axis] += before + after
    return like(call, padded)


def tile(call: Call) -> tuple[TensorSpec, ...]:
    """Every axis repeated; more repeats than axes add axes in front."""
    shape, dims = call.shape(), call.sizes("dims")
    if min(dims, default=0) < 0:
        refuse("dims", "not negative", dims)
    rank = max(len(shape), len(dims))
    whole = (1,) * (rank - len(shape)) + shape
    repeats = (1,) * (rank - len(dims)) + dims
    return like(call, tuple(n * r for n, r in zip(whole, repeats, strict=True)))


def broadcast_to(call: Call) -> tuple[TensorSpec, ...]:
    """Axes of size 1 stretched, axes added in front; -1 keeps an axis."""
    shape, wanted = call.shape(), call.sizes("shape")
    extra = len(wanted) - len(shape)
    if extra < 0:
        refuse("shape", f"of rank {len(shape)} at least", wanted)
    whole = (1,) * extra + shape
    filled = tuple(n if w == -1 else w for n, w in zip(whole, wanted, strict=True))
    if any(n not in (1, w) or w < 0 for n, w in zip(whole, filled, strict=True)):
        refuse("shape", f"one that {shape} can be broadcast to", wanted)
    return like(call, filled)


def triangle(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input, which is a matrix or a stack of them."""
    shape, diagonal = call.shape(), call.settings["diagonal"]
    if len(shape) < 2:
        refuse("rank of the input", "at least 2", shape)
    if not isinstance(diagonal, int):
        refuse("diagonal", "an integer", diagonal)
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
        refuse("shape of seq_lengths", f"{(shape[batch],)}", call.shape(1))
    return like(call, shape)


def block(call: Call) -> tuple[int, int, int, int, int]:
    """Shape and block size of `DepthToSpace` and `SpaceToDepth`."""
    shape, size = call.shape(), call.settings["block_size"]
    if len(shape) != 4:
        refuse("shape of the input", "of rank 4 (NCHW)", shape)
    if not isinstance(size, int) or size < 1:
        refuse("block_size", "a positive integer", size)
    return (*shape, size)


def depth_to_space(call: Call) -> tuple[TensorSpec, ...]:
    """Blocks of channels become blocks of pixels."""
    n, c, h, w, size = block(call)
    if c % (size * size):
        refuse("channels of the input", f"a multiple of {size * size}", c)
    return like(call, (n, c // (size * size), h * size, w * size))


def space_to_depth(call: Call) -> tuple[TensorSpec, ...]:
    """Blocks of pixels become blocks of channels."""
    n, c, h, w, size = block(call)
    if h % size or w % size:
        refuse("height and width of the input", f"multiples of {size}", (h, w))
    return like(call, (n, c * size * size, h // size, w // size))
