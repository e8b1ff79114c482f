"""Rules of operators that treat every element alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.core.tensors import TensorSpec
from workbench.graph.infer import Call, cast_target, integers, like, one_dtype, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence


def _joint(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        refuse("shapes of the inputs", "equal or broadcastable", tuple(shapes))


def broadcast(call: Call) -> tuple[TensorSpec, ...]:
    """Two inputs of one dtype, NumPy's broadcasting."""
    one_dtype(call)
    return like(call, _joint((call.shape(0), call.shape(1))))


def compare(call: Call) -> tuple[TensorSpec, ...]:
    """As `broadcast`; the output is bool."""
    return (TensorSpec("bool", broadcast(call)[0].shape),)


def whether(call: Call) -> tuple[TensorSpec, ...]:
    """A bool for every element."""
    return (TensorSpec("bool", call.shape()),)


def logic(call: Call) -> tuple[TensorSpec, ...]:
    """One or two bool inputs."""
    for spec in call.tensors:
        if spec.dtype != "bool":
            refuse("dtypes of the inputs", "bool", tuple(one.dtype for one in call.tensors))
    return like(call, _joint([call.shape(index) for index in range(len(call.tensors))]))


def bitwise(call: Call) -> tuple[TensorSpec, ...]:
    """One or two integer inputs."""
    for index in range(len(call.tensors)):
        integers(call, index, f"input {index}")
    one_dtype(call)
    return like(call, _joint([call.shape(index) for index in range(len(call.tensors))]))


def total(call: Call) -> tuple[TensorSpec, ...]:
    """Any number of inputs of one dtype and shape."""
    one_dtype(call)
    shapes = tuple(call.shape(index) for index in range(len(call.tensors)))
    if len(set(shapes)) != 1:
        refuse("shapes of the inputs", "equal", shapes)
    return like(call, shapes[0])


def bias_add(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; the bias is as long as axis 1."""
    one_dtype(call)
    shape = call.shape()
    if len(shape) < 2:
        refuse("rank of the input", "at least 2", shape)
    if call.shape(1) != (shape[1],):
        refuse("shape of bias", f"{(shape[1],)} (axis 1 of {shape})", call.shape(1))
    return like(call, shape)


def prelu(call: Call) -> tuple[TensorSpec, ...]:
    """Output as the input; one weight, or one for each channel (axis 1)."""
    one_dtype(call)
    shape = call.shape()
    channels = shape[1] if len(shape) > 1 else 1
    if call.shape(1) not in ((1,), (channels,)):
        refuse("shape of weight", f"(1,) or {(channels,)} (axis 1 of {shape})", call.shape(1))
    return like(call, shape)


def select(call: Call) -> tuple[TensorSpec, ...]:
    """A bool condition and two inputs of one dtype, NumPy's broadcasting."""
    if call.tensors[0].dtype != "bool":
        refuse("dtype of condition", "bool", call.tensors[0].dtype)
    if call.tensors[1].dtype != call.tensors[2].dtype:
        got = (call.tensors[1].dtype, call.tensors[2].dtype)
        refuse("dtypes of both values", "equal", got)
    return like(call, _joint([call.shape(index) for index in range(3)]), 1)


def masked_fill(call: Call) -> tuple[TensorSpec, ...]:
    """Input, bool mask that broadcasts to it, 0-d value of the input's dtype."""
    shape, mask = call.shape(0), call.shape(1)
    if call.tensors[1].dtype != "bool":
        refuse("dtype of mask", "bool", call.tensors[1].dtype)
    try:
        return like(call, np.broadcast_shapes(shape, mask))
    except ValueError:
        refuse("shape of mask", f"broadcastable to {shape}", mask)


def cast(call: Call) -> tuple[TensorSpec, ...]:
    """Shape of the input; the dtype is an attribute or, in some versions, an argument."""
    target = call.settings.get("dst_type", call.settings.get("dtype"))
    return (TensorSpec(cast_target(target), call.shape()),)
