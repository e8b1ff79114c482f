"""Converters of operators that move elements, and of constants made of shapes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.errors import GraphError
from workbench.network.onnx.elementwise import cast, dtype_of, number
from workbench.network.onnx.node import UnsupportedNodeError
from workbench.network.symbolic import record, record_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.network.onnx.node import Array, Node

    Converter = Callable[[Node], Any]

_MOST_ELEMENTS = 1 << 31
_MOST_NUMBERS = 1 << 26
_SCATTERED = {
    "none": "TensorScatterUpdate",
    "add": "TensorScatterAdd",
    "mul": "TensorScatterMul",
    "max": "TensorScatterMax",
    "min": "TensorScatterMin",
}
_REDUCED = {"none": 0, "add": 1}


def checked(shape: Sequence[int], most: int = _MOST_NUMBERS) -> tuple[int, ...]:
    """Shape of a constant that is about to be made; raises GraphError if it is too large."""
    if min(shape, default=0) < 0 or prod(shape) > most:
        raise GraphError("graph/sizes", subject="shape", most=most, got=tuple(shape))
    return tuple(shape)


def constant(node: Node) -> Array:
    """Return the values of an attribute."""
    for name, dtype in (("value_float", np.float32), ("value_floats", np.float32),
                        ("value_int", np.int64), ("value_ints", np.int64)):  # fmt: skip
        if node.attr(name) is not None:
            return np.asarray(node.attr(name), dtype)
    value = node.attr("value")
    if not isinstance(value, np.ndarray):
        raise UnsupportedNodeError("graph/onnx-constant-value")
    return value


def constant_of_shape(node: Node) -> Array:
    """Return one value in a shape; it takes no memory."""
    value = np.asarray(node.attr("value", np.zeros(1, np.float32))).reshape(())
    return np.broadcast_to(value, checked(node.known_ints(0), _MOST_ELEMENTS))


def shape_of(node: Node) -> Array:
    """Sizes of the axes."""
    return np.array(node.shape()[node.attr("start", 0) : node.attr("end", node.rank())], np.int64)


def size_of(node: Node) -> Array:
    """Return the number of elements."""
    return np.asarray(prod(node.shape()), np.int64)


def span(node: Node) -> Array:
    """Numbers from start to limit."""
    start, limit, delta = (node.known(index).item() for index in range(3))
    dtype = node.dtype()
    count = max(int(np.ceil((limit - start) / delta)), 0) if delta else 0
    checked((count,))
    numbers = start + np.arange(count) * delta
    return np.asarray(numbers).astype(DTYPES[dtype].storage)


def eye_like(node: Node) -> Array:
    """Return ones on a diagonal."""
    rows, columns = checked(node.shape())
    dtype = node.dtype() if node.attr("dtype") is None else dtype_of(node.attr("dtype"))
    return np.eye(rows, columns, node.attr("k", 0)).astype(DTYPES[dtype].storage)


def reshape(node: Node) -> Any:
    """0 keeps an axis unless ``allowzero``."""
    shape, wanted = node.shape(), list(node.known_ints(1))
    for place, size in enumerate(wanted):
        if size == 0 and not node.attr("allowzero", 0):
            if place >= len(shape):
                raise GraphError("graph/onnx-kept-axis", shape=shape, axis=place)
            wanted[place] = shape[place]
    return record("Reshape", node.tensor(), tuple(wanted))


def flatten(node: Node) -> Any:
    """Two axes remain."""
    shape = node.shape()
    axis = node.attr("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    if axis == 1 and len(shape) > 1:
        return record("Flatten", node.tensor())
    return record("Reshape", node.tensor(), (prod(shape[:axis]), prod(shape[axis:])))


def squeeze(node: Node) -> Any:
    """Axes of size 1 disappear."""
    axes = node.moved("axes", 1, 13)
    return record("Squeeze", node.tensor(), tuple(node.axis(axis) for axis in axes or ()))


def unsqueeze(node: Node) -> Any:
    """Axes of size 1 more."""
    given = node.moved("axes", 1, 13) or ()
    rank = node.rank() + len(given)
    axes = sorted(node.axis(axis, rank) for axis in given)
    if len(axes) == 1:
        return record("ExpandDims", node.tensor(), axes[0])
    sizes = iter(node.shape())
    shape = tuple(1 if axis in axes else next(sizes) for axis in range(rank))
    return record("Reshape", node.tensor(), shape)


def transpose(node: Node) -> Any:
    """Axes in another order, or reversed."""
    order = node.ints("perm", tuple(range(node.rank()))[::-1])
    return record("Transpose", node.tensor(), order)


def concat(node: Node) -> Any:
    """Join along an axis."""
    items = tuple(node.tensor(index) for index in range(len(node.inputs)))
    return record("Concat", items, node.axis(node.attr("axis", 1)))


def expand(node: Node) -> Any:
    """Stretch to a shape that may be smaller on some axes."""
    try:
        shape = np.broadcast_shapes(node.shape(), node.known_ints(1))
    except ValueError as error:
        raise GraphError("graph/broadcast", got=(node.shape(), node.known_ints(1))) from error
    return record("BroadcastTo", node.tensor(), shape)


def tile(node: Node) -> Any:
    """Repeat axes."""
    return record("Tile", node.tensor(), node.known_ints(1))


def pad(node: Node) -> Any:
    """Widths before all axes, then behind all axes; negative ones cut."""
    x, rank = node.tensor(), node.rank()
    widths = node.known_ints(1) if node.opset >= 11 else node.ints("pads")
    axes = list(range(rank))
    if node.opset >= 18 and node.has(3):
        axes = [node.axis(axis) for axis in node.known_ints(3)]
    if len(widths) != 2 * len(axes):
        raise GraphError("graph/onnx-sizes", name="pads", expected=2 * len(axes), got=widths)
    pairs = [(0, 0)] * rank
    for place, axis in enumerate(axes):
        pairs[axis] = (widths[place], widths[place + len(axes)])
    if min(widths, default=0) < 0:
        begin = tuple(max(-before, 0) for before, _ in pairs)
        size = tuple(
            n - b - max(-after, 0) for n, b, (_, after) in zip(x.shape, begin, pairs, strict=True)
        )
        x = record("Slice", x, begin, size)
    flat = tuple(max(width, 0) for pair in pairs[::-1] for width in pair)
    mode = {"wrap": "circular"}.get(node.attr("mode", "constant"), node.attr("mode", "constant"))
    value = _pad_value(node) if mode == "constant" else None
    return record("PadV3", x, flat, value, mode=mode, paddings_contiguous=True)


def _pad_value(node: Node) -> Any:
    if node.opset < 11:
        return float(node.attr("value", 0.0))
    return (
        node.known(2).item() if node.has(2) else np.zeros((), DTYPES[node.dtype()].storage).item()
    )


def slices(node: Node) -> Any:
    """Begin, end and stride of every axis, as MindSpore's `StridedSlice` takes them."""
    shape = node.shape()
    if node.opset < 10:
        starts, ends = node.ints("starts"), node.ints("ends")
        axes: tuple[int, ...] = node.ints("axes", tuple(range(len(starts))))
        steps: tuple[int, ...] = (1,) * len(starts)
    else:
        starts, ends = node.known_ints(1), node.known_ints(2)
        axes = node.known_ints(3) if node.has(3) else tuple(range(len(starts)))
        steps = node.known_ints(4) if node.has(4) else (1,) * len(starts)
    bounds = [(0, size, 1) for size in shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 0:
            raise GraphError("graph/onnx-steps", got=steps)
        place = node.axis(axis)
        first, last, stride = slice(start, end, step).indices(shape[place])
        bounds[place] = (first, last if last >= 0 else -shape[place] - 1, stride)
    begin, stop, strides = zip(*bounds, strict=True) if bounds else ((), (), ())
    return record("StridedSlice", node.tensor(), begin, stop, strides, 0, 0, 0, 0, 0)


def split(node: Node) -> Any:
    """Pieces of equal or of given sizes."""
    x, axis = node.tensor(), node.axis(node.attr("axis", 0))
    sizes = node.moved("split", 1, 13)
    count = node.count
    length = node.shape()[axis]
    if sizes is None:
        piece = -(-length // count)
        sizes = tuple(max(min(piece, length - piece * k), 0) for k in range(count))
    if len(set(sizes)) == 1 and sum(sizes) == length:
        return record_all("Split", x, axis, len(sizes))
    return record_all("SplitV", x, size_splits=sizes, split_dim=axis, num_split=len(sizes))


def gather(node: Node) -> Any:
    """Slices along an axis."""
    return record("Gather", node.tensor(0), node.tensor(1), node.axis(node.attr("axis", 0)), 0)


def gather_elements(node: Node) -> Any:
    """Elements along an axis."""
    return record("GatherD", node.tensor(0), node.axis(node.attr("axis", 0)), node.tensor(1))


def gather_nd(node: Node) -> Any:
    """What rows of indices name."""
    node.only("batch_dims", 0, 0)
    return record("GatherNd", node.tensor(0), node.tensor(1))


def scatter_nd(node: Node) -> Any:
    """Updates where rows of indices say."""
    node.only("reduction", "none", *_SCATTERED)
    op_type = _SCATTERED[node.attr("reduction", "none")]
    return record(op_type, *(node.tensor(index) for index in range(3)))


def scatter_elements(node: Node) -> Any:
    """Updates along an axis."""
    node.only("reduction", "none", *_REDUCED)
    reduce = _REDUCED[node.attr("reduction", "none")]
    axis = node.axis(node.attr("axis", 0))
    tensors = (node.tensor(index) for index in range(3))
    return record("TensorScatterElements", *tensors, axis, reduce)


def one_hot(node: Node) -> Any:
    """Indices from the end count; others out of range give no 1."""
    indices, depth = cast(node.tensor(), "int64"), int(node.known(1).item())
    below = record("Less", indices, number(0, "int64"))
    shifted = record("Add", indices, number(depth, "int64"))
    indices = record("Select", below, shifted, indices)
    values = [
        record("StridedSlice", node.tensor(2), (k,), (k + 1,), (1,), 0, 0, 0, 0, 1) for k in (1, 0)
    ]
    axis = node.axis(node.attr("axis", -1), len(indices.shape) + 1)
    return record("OneHot", indices, depth, *values, axis)


def depth_to_space(node: Node) -> Any:
    """Blocks of channels become blocks of pixels."""
    b = node.attr("blocksize")
    if node.attr("mode", "DCR") == "DCR":
        return record("DepthToSpace", node.tensor(), block_size=b)
    n, c, h, w = node.shape()
    parts = record("Reshape", node.tensor(), (n, c // (b * b), b, b, h, w))
    mixed = record("Transpose", parts, (0, 1, 4, 2, 5, 3))
    return record("Reshape", mixed, (n, c // (b * b), h * b, w * b))


def space_to_depth(node: Node) -> Any:
    """Blocks of pixels become blocks of channels."""
    b = node.attr("blocksize")
    if node.attr("mode", "DCR") == "DCR":
        return record("SpaceToDepth", node.tensor(), block_size=b)
    n, c, h, w = node.shape()
    parts = record("Reshape", node.tensor(), (n, c, h // b, b, w // b, b))
    mixed = record("Transpose", parts, (0, 1, 3, 5, 2, 4))
    return record("Reshape", mixed, (n, c * b * b, h // b, w // b))


def reverse_sequence(node: Node) -> Any:
    """Turn the first elements of every sequence around."""
    axes = {"seq_dim": node.attr("time_axis", 0), "batch_dim": node.attr("batch_axis", 1)}
    return record("ReverseSequence", node.tensor(0), node.tensor(1), **axes)


def triangle(node: Node) -> Any:
    """Zeros below or above a diagonal."""
    diagonal = node.known_ints(1)[0] if node.has(1) else 0
    if node.attr("upper", 1):
        return record("Triu", node.tensor(), diagonal)
    return record("Tril", node.tensor(), diagonal=diagonal)
