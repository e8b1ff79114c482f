"""Shape and dtype rules, one small function per family of operators.

A rule takes a `Call` and returns the specs of the outputs. It raises GraphError in the form
``<subject> must be <expected>, got <value>``; whoever calls it adds operator and source line.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from workbench.core.dtypes import DTYPES, dtype_name
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.graph.windows import window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TYPE_IDS = {
    30: "bool",
    32: "int8",
    33: "int16",
    34: "int32",
    35: "int64",
    37: "uint8",
    38: "uint16",
    39: "uint32",
    40: "uint64",
    42: "float16",
    43: "float32",
    44: "float64",
    45: "bfloat16",
}
"""MindSpore's numbers of dtypes, as `Cast` carries them in ``dst_type``."""

_TYPE_WORDS = {"F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16"}


@dataclass(frozen=True, slots=True)
class Call:
    """An operator about to be added: specs of its tensor arguments, and its settings."""

    op_type: str
    tensors: tuple[TensorSpec, ...]
    settings: Mapping[str, Any]

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """Shape of a tensor argument; raises GraphError if it is unknown."""
        shape = self.tensors[index].shape
        if shape is None:
            refuse(f"shape of input {index}", "known", shape)
        return shape


def refuse(subject: str, expected: str, got: object) -> NoReturn:
    """Raise the GraphError of a broken rule."""
    message = f"{subject} must be {expected}, got {got!r}"
    raise GraphError(message)


def cast_target(value: Any) -> str:
    """Dtype name of a ``dst_type``: a number of MindSpore, its word, or a plain name."""
    name = TYPE_IDS.get(value, "") if isinstance(value, int) else ""
    name = name or _TYPE_WORDS.get(str(value), "") or dtype_name(str(value))
    if not name:
        refuse("dst_type", f"one of {sorted(DTYPES)}", value)
    return name


def _one_dtype(call: Call) -> None:
    dtypes = {spec.dtype for spec in call.tensors}
    if len(dtypes) > 1:
        got = tuple(spec.dtype for spec in call.tensors)
        message = f"dtypes of the inputs must be equal, got {got!r}; convert with astype"
        raise GraphError(message)


def _like(call: Call, shape: Sequence[int], index: int = 0) -> tuple[TensorSpec, ...]:
    return (TensorSpec(call.tensors[index].dtype, tuple(shape)),)


def _axis(axis: Any, rank: int, what: str = "axis") -> int:
    if not isinstance(axis, int) or not -rank <= axis < max(rank, 1):
        refuse(what, f"an integer in [{-rank}, {rank})", axis)
    return axis % max(rank, 1)


def nothing(call: Call) -> Mapping[str, Any]:
    """Return no derived attributes."""
    return {}


def pad_list(call: Call) -> Mapping[str, Any]:
    """Return the padding of a convolution as (top, bottom, left, right)."""
    view = window(call.settings, call.shape()[2:], call.shape(1)[2:], call.settings["stride"])
    return {"pad_list": view.pads}


def same(call: Call) -> tuple[TensorSpec, ...]:
    """Output like the first input."""
    return _like(call, call.shape())


def broadcast(call: Call) -> tuple[TensorSpec, ...]:
    """Two inputs of one dtype, NumPy's broadcasting."""
    _one_dtype(call)
    shapes = (call.shape(0), call.shape(1))
    try:
        return _like(call, np.broadcast_shapes(*shapes))
    except ValueError:
        refuse("shapes of the inputs", "equal or broadcastable", shapes)


def bias_add(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; the bias is as long as axis 1."""
    _one_dtype(call)
    shape = call.shape()
    if len(shape) < 2:
        refuse("rank of the input", "at least 2", shape)
    if call.shape(1) != (shape[1],):
        refuse("shape of bias", f"{(shape[1],)} (axis 1 of {shape})", call.shape(1))
    return _like(call, shape)


def matmul(call: Call) -> tuple[TensorSpec, ...]:
    """Two matrices, or stacks of them whose leading axes broadcast (BatchMatMul)."""
    _one_dtype(call)
    left, right = call.shape(0), call.shape(1)
    lowest = 2 if call.op_type == "MatMul" else 3
    for shape in (left, right):
        if len(shape) < 2 or (call.op_type == "MatMul" and len(shape) != 2):
            refuse("rank of both inputs", "2" if lowest == 2 else "at least 2", (left, right))
    rows, inner = left[-2:][::-1] if call.settings["transpose_a"] else left[-2:]
    other, columns = right[-2:][::-1] if call.settings["transpose_b"] else right[-2:]
    if inner != other:
        flag = call.settings["transpose_b"]
        refuse(f"inner size of {right} (transpose_b {flag})", f"{inner} as in {left}", other)
    try:
        stack = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        refuse("leading axes of both inputs", "broadcastable", (left, right))
    return _like(call, (*stack, rows, columns))


def conv2d(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W), weight (O, C / group, kh, kw)."""
    _one_dtype(call)
    shape, weight = call.shape(0), call.shape(1)
    if len(shape) != 4 or len(weight) != 4:
        refuse("shapes of input and weight", "of rank 4 (NCHW, OIHW)", (shape, weight))
    group = call.settings["group"]
    if shape[1] != weight[1] * group:
        refuse("channels of the input", f"{weight[1] * group} (weight {weight})", shape[1])
    if weight[0] % group:
        refuse("output channels", f"a multiple of group {group}", weight[0])
    view = window(call.settings, shape[2:], weight[2:], call.settings["stride"])
    return _like(call, (shape[0], weight[0], *view.output(*shape[2:])))


def pool(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W)."""
    shape = call.shape()
    if len(shape) != 4:
        refuse("shape of the input", "of rank 4 (NCHW)", shape)
    settings = call.settings
    view = window(settings, shape[2:], settings["kernel_size"], settings["strides"])
    return _like(call, (*shape[:2], *view.output(*shape[2:])))


def reshape(call: Call) -> tuple[TensorSpec, ...]:
    """At most one -1 in the new shape."""
    shape, wanted = call.shape(), tuple(call.settings["shape"])
    known = prod(dim for dim in wanted if dim != -1)
    if wanted.count(-1) > 1 or any(dim < -1 for dim in wanted):
        refuse("shape", "sizes with at most one -1", wanted)
    rest = prod(shape) // known if known else 0
    filled = tuple(rest if dim == -1 else dim for dim in wanted)
    if prod(filled) != prod(shape):
        refuse("shape", f"of {prod(shape)} elements like {shape}", wanted)
    return _like(call, filled)


def flatten(call: Call) -> tuple[TensorSpec, ...]:
    """Every axis but the first becomes one."""
    shape = call.shape()
    if not shape:
        refuse("rank of the input", "at least 1", shape)
    return _like(call, (shape[0], prod(shape[1:])))


def transpose(call: Call) -> tuple[TensorSpec, ...]:
    """``dims`` names every axis once."""
    shape, order = call.shape(), tuple(call.settings["dims"])
    axes = tuple(_axis(axis, len(shape), "dims") for axis in order)
    if sorted(axes) != list(range(len(shape))):
        refuse("dims", f"a permutation of {len(shape)} axes", order)
    return _like(call, tuple(shape[axis] for axis in axes))


def softmax(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; the axis exists."""
    axis = call.settings["axis"]
    for one in (axis,) if isinstance(axis, int) else axis:
        _axis(one, len(call.shape()))
    return _like(call, call.shape())


def cast(call: Call) -> tuple[TensorSpec, ...]:
    """Shape of the input; the dtype is an attribute or, in some versions, an argument."""
    target = call.settings.get("dst_type", call.settings.get("dtype"))
    return (TensorSpec(cast_target(target), call.shape()),)


def concat(call: Call) -> tuple[TensorSpec, ...]:
    """Equal shapes but for the joined axis."""
    _one_dtype(call)
    if not call.tensors:
        refuse("tensors", "at least one tensor", call.tensors)
    shapes = [call.shape(index) for index in range(len(call.tensors))]
    if not shapes[0]:
        refuse("rank of the inputs", "at least 1", 0)
    axis = _axis(call.settings["axis"], len(shapes[0]))
    rests = {(len(s), s[:axis], s[axis + 1 :]) for s in shapes}
    if len(rests) > 1:
        refuse("shapes of the inputs", f"equal except on axis {axis}", tuple(shapes))
    total = sum(shape[axis] for shape in shapes)
    return _like(call, (*shapes[0][:axis], total, *shapes[0][axis + 1 :]))


def reduce(call: Call) -> tuple[TensorSpec, ...]:
    """Given axes (none: all) become 1 or disappear."""
    shape = call.shape()
    axes = reduced_axes(call.settings["axis"], len(shape))
    if call.settings["keep_dims"]:
        return _like(call, tuple(1 if i in axes else dim for i, dim in enumerate(shape)))
    return _like(call, tuple(dim for i, dim in enumerate(shape) if i not in axes))


def reduced_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes of a reduction: an integer, a tuple of them, or nothing for all."""
    if axis is None or axis == ():
        return tuple(range(rank))
    return tuple(_axis(one, rank) for one in ((axis,) if isinstance(axis, int) else axis))


def layer_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, then mean and variance with the normalized axes kept as 1."""
    _one_dtype(call)
    shape = call.shape()
    begin = _axis(call.settings["begin_norm_axis"], len(shape), "begin_norm_axis")
    first = _axis(call.settings["begin_params_axis"], len(shape), "begin_params_axis")
    for index, name in ((1, "gamma"), (2, "beta")):
        if call.shape(index) != shape[first:]:
            refuse(f"shape of {name}", f"{shape[first:]} (axes of {shape})", call.shape(index))
    moments = TensorSpec(call.tensors[0].dtype, (*shape[:begin], *(1 for _ in shape[begin:])))
    return (*_like(call, shape), moments, moments)


def batch_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Return the normalized input, then mean, variance and two reserved copies of them."""
    shape = call.shape()
    if len(shape) < 2:
        refuse("rank of the input", "at least 2", shape)
    for index, name in enumerate(("scale", "bias", "mean", "variance"), 1):
        if call.shape(index) != (shape[1],):
            refuse(f"shape of {name}", f"{(shape[1],)}", call.shape(index))
    if call.settings["is_training"]:
        refuse("is_training", "False (inference)", call.settings["is_training"])
    moments = TensorSpec(call.tensors[1].dtype, (shape[1],))
    return (*_like(call, shape), moments, moments, moments, moments)


def gather(call: Call) -> tuple[TensorSpec, ...]:
    """Replace the axis by the shape of the indices."""
    shape, indices = call.shape(0), call.shape(1)
    if not call.tensors[1].dtype.startswith(("int", "uint")):
        refuse("dtype of the indices", "an integer type", call.tensors[1].dtype)
    batch = call.settings["batch_dims"]
    if batch:
        refuse("batch_dims", "0", batch)
    axis = _axis(call.settings["axis"], len(shape))
    return _like(call, (*shape[:axis], *indices, *shape[axis + 1 :]))


def expand_dims(call: Call) -> tuple[TensorSpec, ...]:
    """One axis of size 1 more."""
    shape = call.shape()
    axis = _axis(call.settings["axis"], len(shape) + 1)
    return _like(call, (*shape[:axis], 1, *shape[axis:]))


def masked_fill(call: Call) -> tuple[TensorSpec, ...]:
    """Input, bool mask that broadcasts to it, 0-d value of the input's dtype."""
    shape, mask = call.shape(0), call.shape(1)
    if call.tensors[1].dtype != "bool":
        refuse("dtype of mask", "bool", call.tensors[1].dtype)
    try:
        return _like(call, np.broadcast_shapes(shape, mask))
    except ValueError:
        refuse("shape of mask", f"broadcastable to {shape}", mask)
