"""Rules of the operators that hand gradients back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.tensors import TensorSpec
from workbench.graph.infer import Call, integers, like, one_axis, one_dtype, refuse
from workbench.graph.windows import window

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def alike(call: Call) -> tuple[TensorSpec, ...]:
    """Inputs of one dtype and shape; output as the inputs."""
    one_dtype(call)
    shapes = tuple(call.shape(index) for index in range(len(call.tensors)))
    if len(set(shapes)) != 1:
        refuse("graph/shapes-differ", subject="inputs", got=shapes)
    return like(call, shapes[0])


def conv2d_filter(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient (N, O, h, w) and input (N, C, H, W) of a convolution give that of its weight."""
    one_dtype(call)
    dout, x, size = call.shape(0), call.shape(1), call.sizes("filter_size")
    group = call.settings["group"]
    if len(x) != 4 or len(size) != 4:
        refuse(
            "graph/layout", subject="input and filter_size", expected="NCHW, OIHW", got=(x, size)
        )
    if not isinstance(group, int) or group < 1 or size[0] % group:
        refuse("graph/divisor", subject="group", whole=size[0], got=group)
    if x[1] != size[1] * group:
        refuse("graph/channels", weight=size, group=group, expected=size[1] * group, got=x[1])
    view = window(call.settings, x[2:], size[2:], call.settings["stride"])
    forward = (x[0], size[0], *view.output(*x[2:]))
    if dout != forward:
        refuse("graph/shape", subject="dout", expected=forward, got=dout)
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
        refuse("graph/layout", subject="input", expected="NCHW", got=shape)
    view = window(settings, shape[2:], settings["kernel_size"], settings["strides"])
    forward = (*shape[:2], *view.output(*shape[2:]))
    for index, name in ((1, "out"), (2, "dout")):
        if call.shape(index) != forward:
            refuse("graph/shape", subject=name, expected=forward, got=call.shape(index))
    return like(call, shape)


def bias_add(call: Call) -> tuple[TensorSpec, ...]:
    """Return a sum for every place along axis 1."""
    shape = call.shape()
    if len(shape) < 2:
        refuse("graph/rank", subject="dout", least=2, got=shape)
    return like(call, (shape[1],))


def sparse_cross_entropy(call: Call) -> tuple[TensorSpec, ...]:
    """Scores (N, C) and classes (N,): the mean loss, or the gradient of the scores."""
    shape, labels = call.shape(0), call.shape(1)
    integers(call, 1, "labels")
    if len(shape) != 2 or not shape[0] * shape[1]:
        refuse("graph/layout", subject="features", expected="(samples, classes)", got=shape)
    if labels != shape[:1]:
        refuse("graph/shape", subject="labels", expected=shape[:1], got=labels)
    return like(call, shape if call.settings["is_grad"] else ())


def cross_entropy(call: Call) -> tuple[TensorSpec, ...]:
    """Scores and wanted shares (N, C): the loss of every sample, and the gradient of the scores."""
    (spec,) = alike(call)
    if spec.shape is None or len(spec.shape) != 2 or not spec.shape[1]:
        refuse("graph/layout", subject="features", expected="(samples, classes)", got=spec.shape)
    return (*like(call, spec.shape[:1]), spec)


def prelu(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of the input and of one weight, or one for each channel (axis 1)."""
    one_dtype(call)
    shape, x, weight = call.shape(0), call.shape(1), call.shape(2)
    if shape != x:
        refuse("graph/shape", subject="dy", expected=x, got=shape)
    channels = x[1] if len(x) > 1 else 1
    if weight not in ((1,), (channels,)):
        refuse("graph/shape-or", subject="weight", expected=[(1,), (channels,)], got=weight)
    return (*like(call, x), *like(call, weight, 2))


def _shapes(call: Call, wanted: Mapping[str, tuple[int, tuple[int, ...]]]) -> None:
    """Refuse a tensor argument (by name: its place) of another shape."""
    for name, (index, shape) in wanted.items():
        if call.shape(index) != shape:
            refuse("graph/shape", subject=name, expected=shape, got=call.shape(index))


def layer_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of x, gamma and beta; the moments have the normalized axes kept as 1."""
    one_dtype(call)
    shape = call.shape()
    begin = one_axis(call.settings["begin_norm_axis"], len(shape), "begin_norm_axis")
    first = one_axis(call.settings["begin_params_axis"], len(shape), "begin_params_axis")
    moments = (*shape[:begin], *(1 for _ in shape[begin:]))
    gamma = shape[first:]
    _shapes(
        call,
        {"dy": (1, shape), "variance": (2, moments), "mean": (3, moments), "gamma": (4, gamma)},
    )
    return (*like(call, shape), *like(call, gamma, 4), *like(call, gamma, 4))


def rms_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of x and gamma; ``rstd`` and the gradient of gamma are float32."""
    shape, gamma = call.shape(1), call.shape(3)
    begin = len(shape) - len(gamma)
    if not gamma or begin < 0 or shape[begin:] != gamma:
        refuse("graph/shape-last", subject="gamma", whole=shape, got=gamma)
    moments = (*shape[:begin], *(1 for _ in gamma))
    _shapes(call, {"dy": (0, shape), "rstd": (2, moments)})
    return (*like(call, shape, 1), TensorSpec("float32", gamma))


def group_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of x (N, C, …), weight and bias; mean and ``rstd`` of every group."""
    one_dtype(call)
    shape, groups = call.shape(1), call.settings["num_groups"]
    if len(shape) < 2:
        refuse("graph/rank", subject="x", least=2, got=shape)
    if not isinstance(groups, int) or groups < 1 or shape[1] % groups:
        refuse("graph/divisor", subject="num_groups", whole=shape[1], got=groups)
    moments, gamma = (shape[0], groups), (shape[1],)
    _shapes(
        call,
        {"dy": (0, shape), "mean": (2, moments), "rstd": (3, moments), "gamma_opt": (4, gamma)},
    )
    return (*like(call, shape, 1), *like(call, gamma, 4), *like(call, gamma, 4))


def batch_norm(call: Call) -> tuple[TensorSpec, ...]:
    """Gradients of x (N, C, …), scale and bias; all moments are of the channels."""
    shape = call.shape(1)
    if len(shape) < 2:
        refuse("graph/rank", subject="x", least=2, got=shape)
    names = ("scale", "saved_mean", "saved_variance", "reserve")
    _shapes(
        call, {"dout": (0, shape)} | {name: (k, (shape[1],)) for k, name in enumerate(names, 2)}
    )
    return (*like(call, shape, 1), *like(call, (shape[1],), 2), *like(call, (shape[1],), 2))


def resize(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient (N, C, h, w) of an image (N, C, H, W) that was resized."""
    one_dtype(call)
    grads, image = call.shape(0), call.shape(1)
    if len(image) != 4 or len(grads) != 4 or grads[:2] != image[:2]:
        refuse("graph/resized", grads=grads, image=image)
    if not min(grads[2:] + image[2:]):
        refuse("graph/resized", grads=grads, image=image)
    return like(call, image)
