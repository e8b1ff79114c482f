"""Converters of convolutions and poolings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.network.nn import functional
from workbench.network.onnx.elementwise import number
from workbench.network.onnx.layers import reshaped
from workbench.network.onnx.node import UnsupportedNodeError
from workbench.network.symbolic import record

if TYPE_CHECKING:
    from workbench.network.onnx.node import Node


class View(NamedTuple):
    """Window of a node over (N, C, H, W); ``pads`` are (top, bottom, left, right)."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]
    mode: str


def _two(values: tuple[int, ...], count: int, what: str) -> tuple[int, int]:
    """Height and width; a sequence has height 1."""
    if len(values) != count:
        raise GraphError("graph/onnx-sizes", name=what, expected=count, got=values)
    return (1, values[0]) if count == 1 else (values[0], values[1])


def _image(node: Node, index: int = 0) -> Any:
    """Return an input as (N, C, H, W)."""
    shape = node.shape(index)
    if len(shape) == 3:
        return reshaped(node.tensor(index), (*shape[:2], 1, shape[2]))
    if len(shape) != 4:
        raise UnsupportedNodeError("graph/onnx-rank", input=index, expected=[3, 4], got=len(shape))
    return node.tensor(index)


def _back(node: Node, y: Any) -> Any:
    """Return a result in the rank of the input."""
    if node.rank() == 4:
        return y
    return record("Squeeze", y, (2,))


def view_of(node: Node, kernel: tuple[int, ...]) -> View:
    """Window of a convolution or pooling, with paddings as numbers where MindSpore has no word."""
    count = node.rank() - 2
    if count not in (1, 2):
        raise UnsupportedNodeError("graph/onnx-rank", input=0, expected=[3, 4], got=node.rank())
    size = _two(node.shape()[2:], count, "space")
    high_wide = _two(kernel, count, "kernel_shape")
    stride = _two(node.ints("strides", (1,) * count), count, "strides")
    gap = _two(node.ints("dilations", (1,) * count), count, "dilations")
    word = node.attr("auto_pad", "NOTSET")
    if word == "SAME_UPPER":
        return View(high_wide, stride, gap, (0, 0, 0, 0), "same")
    if word == "SAME_LOWER":
        pads = [_lower(*one) for one in zip(size, high_wide, stride, gap, strict=True)]
        return View(high_wide, stride, gap, (*pads[0], *pads[1]), "pad")
    widths = node.ints("pads", (0,) * (2 * count)) if word == "NOTSET" else (0,) * (2 * count)
    if len(widths) != 2 * count:
        raise GraphError("graph/onnx-sizes", name="pads", expected=2 * count, got=widths)
    four: Any = (0, 0, *widths) if count == 1 else (widths[0], widths[2], widths[1], widths[3])
    return View(high_wide, stride, gap, four, "pad" if any(four) else "valid")


def _lower(size: int, kernel: int, stride: int, gap: int) -> tuple[int, int]:
    """Padding of ``SAME_LOWER``: the odd element in front."""
    if stride < 1:
        raise GraphError("graph/integer", subject="strides", least=1, got=stride)
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * gap + 1 - size, 0)
    return total - total // 2, total // 2


def conv(node: Node) -> Any:
    """Convolve; one-dimensional ones have height 1."""
    view = view_of(node, node.shape(1)[2:])
    settings = (view.stride, view.mode, view.pads, view.dilation, int(node.attr("group", 1)))
    y = functional.conv2d(_image(node), _image(node, 1), *settings)
    if node.has(2):
        y = functional.bias_add(y, node.tensor(2))
    return _back(node, y)


def conv_transpose(node: Node) -> Any:
    """Spread by a weight; output size and padding follow from each other."""
    group = int(node.attr("group", 1))
    count = node.rank() - 2
    view = view_of(node, node.shape(1)[2:])
    extra = _two(node.ints("output_padding", (0,) * count), count, "output_padding")
    extra = (0, extra[1]) if count == 1 else extra
    wanted = node.ints("output_shape")
    inner = _two(node.shape()[2:], count, "space")
    sizes, pads = [], list(view.pads)
    for k in (0, 1):
        whole = (
            view.stride[k] * (inner[k] - 1) + extra[k] + (view.kernel[k] - 1) * view.dilation[k] + 1
        )
        word = node.attr("auto_pad", "NOTSET")
        if wanted or word.startswith("SAME"):
            size = _two(wanted, count, "output_shape")[k] if wanted else inner[k] * view.stride[k]
            total = whole - size
            small, large = total // 2, total - total // 2
            pads[2 * k : 2 * k + 2] = (small, large) if word == "SAME_UPPER" else (large, small)
        sizes.append(whole - pads[2 * k] - pads[2 * k + 1])
    if min(pads[::2]) < 0:
        raise UnsupportedNodeError("graph/negative", subject="pads", got=pads)
    pads = [max(width, 0) for width in pads]  # behind it means elements that no window meets
    y = _transposed(node, view, (*sizes,), tuple(pads), group)
    if node.has(2):
        y = functional.bias_add(y, node.tensor(2))
    return _back(node, y)


def _transposed(
    node: Node, view: View, sizes: tuple[int, ...], pads: tuple[int, ...], group: int
) -> Any:
    weight = _image(node, 1)
    attrs = {
        "kernel_size": view.kernel,
        "mode": 1,
        "out_channel": weight.shape[0],
        "pad": pads,
        "pad_mode": "pad",
        "format": "NCHW",
        "groups": group,
        "stride": (1, 1, *view.stride),
        "group": group,
        "dilation": (1, 1, *view.dilation),
    }
    shape = (node.shape()[0], weight.shape[1] * group, *sizes)
    try:
        return record("Conv2DTranspose", _image(node), weight, shape, **attrs)
    except GraphError as error:
        raise UnsupportedNodeError(error.code, place=error.place, **error.values) from error


def _pooled(node: Node, plain: str, padded: str, **attrs: Any) -> Any:
    """MindSpore's pooling where it has the padding, else GE's."""
    view = view_of(node, node.ints("kernel_shape"))
    if view.dilation != (1, 1):
        got = node.ints("dilations")
        raise UnsupportedNodeError("graph/onnx-attribute", name="dilations", expected=[1], got=got)
    x, ceil = _image(node), bool(node.attr("ceil_mode", 0))
    if view.mode != "pad" and not (ceil and view.mode == "valid"):
        if plain == "MaxPool":
            return functional.max_pool2d(x, view.kernel, view.stride, view.mode)
        if view.mode == "valid" or attrs["exclusive"]:
            return functional.avg_pool2d(x, view.kernel, view.stride, view.mode)
    return record(
        padded,
        x,
        ksize=(1, 1, *view.kernel),
        strides=(1, 1, *view.stride),
        padding_mode="SAME" if view.mode == "same" else "CALCULATED",
        pads=view.pads,
        data_format="NCHW",
        global_pooling=False,
        ceil_mode=ceil,
        **attrs,
    )


def max_pool(node: Node) -> Any:
    """Largest value of each window."""
    if node.wants(1):
        raise UnsupportedNodeError("graph/onnx-output", got="Indices")
    return _back(node, _pooled(node, "MaxPool", "MaxPoolV3"))


def average_pool(node: Node) -> Any:
    """Mean of each window; padding counts if asked for."""
    exclusive = not node.attr("count_include_pad", 0)
    return _back(node, _pooled(node, "AvgPool", "AvgPoolV2", exclusive=exclusive))


def lp_pool(node: Node) -> Any:
    """p-norm of each window: the root of the mean of powers, times its size."""
    node.only("ceil_mode", 0, 0)
    dtype, power = node.dtype(), node.attr("p", 2)
    view = view_of(node, node.ints("kernel_shape"))
    raised = record("Pow", record("Abs", node.tensor()), number(power, dtype))
    mean = _pooled(node.with_tensor(raised), "AvgPool", "AvgPoolV2", exclusive=False)
    total = record("Mul", mean, number(view.kernel[0] * view.kernel[1], dtype))
    return _back(node, record("Pow", total, number(1 / power, dtype)))
