"""Rules of the operators that hand gradients back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.graph.infer import Call, integers, like, one_dtype, refuse
from workbench.graph.windows import window

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from workbench.core.tensors import TensorSpec


def alike(call: Call) -> tuple[TensorSpec, ...]:
    """Inputs of one dtype and shape; output as the inputs."""
    one_dtype(call)
    shapes = tuple(call.shape(index) for index in range(len(call.tensors)))
    if len(set(shapes)) != 1:
        refuse("shapes of the inputs", "equal", shapes)
    return like(call, shapes[0])


def conv2d_filter(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient (N, O, h, w) and input (N, C, H, W) of a convolution give that of its weight."""
    one_dtype(call)
    dout, x, size = call.shape(0), call.shape(1), call.sizes("filter_size")
    group = call.settings["group"]
    if len(x) != 4 or len(size) != 4:
        refuse("shapes of input and filter_size", "of rank 4 (NCHW, OIHW)", (x, size))
    if not isinstance(group, int) or group < 1 or size[0] % group:
        refuse("group", f"a divisor of {size[0]} output channels", group)
    if x[1] != size[1] * group:
        refuse("channels of the input", f"{size[1] * group} (filter_size {size})", x[1])
    view = window(call.settings, x[2:], size[2:], call.settings["stride"])
    forward = (x[0], size[0], *view.output(*x[2:]))
    if dout != forward:
        refuse("shape of dout", f"{forward}, as the convolution gives it", dout)
    return like(call, size)


def filter_pad_list(call: Call) -> Mapping[str, Any]:
    """Return the padding of the convolution as (top, bottom, left, right)."""
    size = call.sizes("filter_size")
    view = window(call.settings, call.shape(1)[2:], size[2:], call.settings["stride"])
    return {"pad_list": view.pads}


def pool(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W) and output of a pooling, and the gradient of the latter."""
    one_dtype(call)
    shape, settings = call.shape(), call.settings
    if len(shape) != 4:
        refuse("shape of the input", "of rank 4 (NCHW)", shape)
    view = window(settings, shape[2:], settings["kernel_size"], settings["strides"])
    forward = (*shape[:2], *view.output(*shape[2:]))
    for index, name in ((1, "out"), (2, "dout")):
        if call.shape(index) != forward:
            refuse(f"shape of {name}", f"{forward}, as the pooling gives it", call.shape(index))
    return like(call, shape)


def bias_add(call: Call) -> tuple[TensorSpec, ...]:
    """Return a sum for every place along axis 1."""
    shape = call.shape()
    if len(shape) < 2:
        refuse("rank of dout", "at least 2", shape)
    return like(call, (shape[1],))


def sparse_cross_entropy(call: Call) -> tuple[TensorSpec, ...]:
    """Scores (N, C) and classes (N,): the mean loss, or the gradient of the scores."""
    shape, labels = call.shape(0), call.shape(1)
    integers(call, 1, "labels")
    if len(shape) != 2 or not shape[0] * shape[1]:
        refuse("shape of features", "of rank 2 and not empty (samples, classes)", shape)
    if labels != shape[:1]:
        refuse("shape of labels", f"{shape[:1]}", labels)
    return like(call, shape if call.settings["is_grad"] else ())


def cross_entropy(call: Call) -> tuple[TensorSpec, ...]:
    """Scores and wanted shares (N, C): the loss of every sample, and the gradient of the scores."""
    (spec,) = alike(call)
    if spec.shape is None or len(spec.shape) != 2 or not spec.shape[1]:
        refuse("shape of features", "of rank 2 (samples, classes)", spec.shape)
    return (*like(call, spec.shape[:1]), spec)
