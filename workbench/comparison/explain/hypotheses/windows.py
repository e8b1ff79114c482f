"""Sliding windows that give an output of the same shape: other paddings, strides, dilations, sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.comparison.explain.case import FAILURES
from workbench.core.words import Message
from workbench.graph.windows import pair, window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.comparison.explain.case import Evaluation
    from workbench.graph.nodes import Op
    from workbench.graph.windows import Window

_CONVOLUTION = ("pad_mode", "pad", "pad_list", "stride", "dilation")
_POOLING = ("kernel_size", "strides", "pad_mode")

WINDOWS: dict[str, tuple[str, ...]] = {
    "Conv2D": _CONVOLUTION,
    "Conv2DTranspose": _CONVOLUTION,
    "Conv2DBackpropInput": _CONVOLUTION,
    "Conv2DBackpropFilter": _CONVOLUTION,
    "MaxPool": _POOLING,
    "AvgPool": _POOLING,
}
"""Settings of the window of an operator, by type."""

_LARGEST = 4  # stride and dilation
_KERNELS = 5


def window_settings(
    op: Op, settings: Mapping[str, Any], case: Evaluation, part: int
) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Other windows of equal output shape, as a message and as settings; the likely ones first."""
    tensors = case.tensors(part)
    place = _image(op.op_type)
    if len(tensors) <= place:
        return
    convolves = op.op_type.startswith("Conv")
    try:
        size = _size(op, settings, tensors[place].shape)
        kernel = _kernel(op, settings, [t.shape for t in tensors])
        stride = settings["stride" if convolves else "strides"]
        now = window(settings, size, kernel, stride)
        found = sorted(_windows(now, size, fixed=convolves), key=lambda one: _unlike(one, now))
    except FAILURES:
        return
    for one in dict.fromkeys(found):
        steps = {"stride": one.stride, "dilation": one.dilation, "pads": one.pads}
        said = Message("compare/fault-window", op_type=op.op_type, kernel=one.kernel, **steps)
        if convolves:
            said = Message("compare/fault-convolution", op_type=op.op_type, **steps)
            other = {"stride": one.stride, "dilation": one.dilation}
        else:
            other = {"kernel_size": one.kernel, "strides": one.stride}
        yield said, {**other, "pad_mode": "pad", "pad_list": one.pads}


def _image(op_type: str) -> int:
    return 1 if op_type == "Conv2DBackpropFilter" else 0


def _size(op: Op, settings: Mapping[str, Any], image: tuple[int, ...]) -> tuple[int, int]:
    """Height and width of what the window slides over."""
    if op.op_type in ("Conv2DTranspose", "Conv2DBackpropInput"):
        image = tuple(settings["input_size"])
    return image[2], image[3]


def _kernel(op: Op, settings: Mapping[str, Any], shapes: list[tuple[int, ...]]) -> tuple[int, int]:
    if not op.op_type.startswith("Conv"):
        return pair(settings["kernel_size"])
    if op.op_type == "Conv2DBackpropFilter":
        return pair(settings["filter_size"])
    return pair(shapes[1])


def _windows(now: Window, size: tuple[int, int], *, fixed: bool) -> Iterator[Window]:
    """Windows with an output of the same shape; ``fixed``: the kernel stays."""
    out = now.output(*size)
    kernels = [now.kernel] if fixed else [(n, n) for n in range(1, _KERNELS + 1)] + [now.kernel]
    for kernel in dict.fromkeys(kernels):
        for step in range(1, _LARGEST + 1):
            for gap in range(1, _LARGEST + 1 if fixed and max(kernel) > 1 else 2):
                yield from _padded(now, size, out, kernel, (step, gap))


def _padded(
    now: Window,
    size: tuple[int, int],
    out: tuple[int, int],
    kernel: tuple[int, int],
    by: tuple[int, int],
) -> Iterator[Window]:
    """Paddings with which a kernel of a stride and a dilation gives the shape."""
    step, gap = by
    high = _pads(size[0], out[0], (kernel[0] - 1) * gap + 1, step)
    wide = _pads(size[1], out[1], (kernel[1] - 1) * gap + 1, step)
    for down in high:
        for right in wide:
            alike = high.index(down) == wide.index(right) or down == right
            moved = (step, gap) == (now.stride[0], now.dilation[0]) and (
                down == now.pads[:2] or right == now.pads[2:]
            )
            one = type(now)(kernel, (step, step), (gap, gap), (*down, *right))
            if (alike or moved) and one != now:
                yield one


def _pads(size: int, out: int, reach: int, step: int) -> list[tuple[int, int]]:
    """Paddings before and behind that give ``out`` windows of a reach."""
    least = (out - 1) * step + reach - size
    found: dict[tuple[int, int], None] = {}
    for total in range(max(least, 0), least + step):
        half = total // 2
        for first in (half, total - half, half - 1, total - half + 1, 0, total):
            if 0 <= first <= total and max(first, total - first) < max(reach, 2) * 2:
                found[first, total - first] = None
    return list(found)


def _unlike(one: Window, now: Window) -> tuple[int, int]:
    """How many things differ between two windows, and how much."""
    pairs = ((one.kernel, now.kernel), (one.stride, now.stride), (one.dilation, now.dilation))
    differing = sum(a != b for a, b in pairs)
    moved = sum(abs(a - b) for a, b in zip(one.pads, now.pads, strict=True))
    return differing, moved
