"""Rules of poolings and of resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.graph.infer import Call, like, refuse
from workbench.graph.windows import padded_window, window

if TYPE_CHECKING:
    from workbench.core.tensors import TensorSpec


def _image(call: Call) -> tuple[int, ...]:
    shape = call.shape()
    if len(shape) != 4:
        refuse("graph/layout", subject="input", expected="NCHW", got=shape)
    return shape


def pool(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W)."""
    shape, settings = _image(call), call.settings
    view = window(settings, shape[2:], settings["kernel_size"], settings["strides"])
    return like(call, (*shape[:2], *view.output(*shape[2:])))


def padded_pool(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W); GE's poolings with given padding and ``ceil_mode``."""
    shape = _image(call)
    view = padded_window(call.settings, shape[2:])
    return like(call, (*shape[:2], *view.output(*shape[2:])))


def resize(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W), ``size`` the new height and width."""
    shape, size = _image(call), call.sizes("size")
    if len(size) != 2 or min(size) < 1:
        refuse("graph/two-sizes", subject="size", got=size)
    if call.settings["align_corners"] and call.settings["half_pixel_centers"]:
        refuse("graph/corners")
    return like(call, (*shape[:2], *size))
