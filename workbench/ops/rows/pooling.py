"""Poolings and resizing, and their gradients."""

from __future__ import annotations

from workbench.core.tensors import TensorSpec
from workbench.ops.definition import (
    Call,
    OpDef,
    foreign,
    output_like,
    reject,
    same_dtype,
)
from workbench.ops.gradient import Backward, Symbol, input_gradient
from workbench.ops.kernels import pooling as kernels
from workbench.ops.kernels.window import padded_window, window


def _image(call: Call) -> tuple[int, ...]:
    shape = call.shape()
    if len(shape) != 4:
        reject("graph/layout", subject="input", expected="NCHW", got=shape)
    return shape


def pool_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W)."""
    shape, settings = _image(call), call.settings
    view = window(settings, shape[2:], settings["kernel_size"], settings["strides"])
    return output_like(call, (*shape[:2], *view.output(*shape[2:])))


def padded_pool_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W); GE's poolings with given padding and ``ceil_mode``."""
    shape = _image(call)
    view = padded_window(call.settings, shape[2:])
    return output_like(call, (*shape[:2], *view.output(*shape[2:])))


def resize_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W), ``size`` the new height and width."""
    shape, size = _image(call), call.sizes("size")
    if len(size) != 2 or min(size) < 1:
        reject("graph/two-sizes", subject="size", got=size)
    if call.settings["align_corners"] and call.settings["half_pixel_centers"]:
        reject("graph/corners")
    return output_like(call, (*shape[:2], *size))


def pool_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Input (N, C, H, W) and output of a pooling, and the gradient of the latter."""
    same_dtype(call)
    shape, settings = call.shape(), call.settings
    if len(shape) != 4:
        reject("graph/layout", subject="input", expected="NCHW", got=shape)
    view = window(settings, shape[2:], settings["kernel_size"], settings["strides"])
    forward = (*shape[:2], *view.output(*shape[2:]))
    for index, name in ((1, "out"), (2, "dout")):
        if call.shape(index) != forward:
            reject("graph/shape", subject=name, expected=forward, got=call.shape(index))
    return output_like(call, shape)


def resize_grad_shapes(call: Call) -> tuple[TensorSpec, ...]:
    """Gradient (N, C, h, w) of an image (N, C, H, W) that was resized."""
    same_dtype(call)
    grads, image = call.shape(0), call.shape(1)
    if len(image) != 4 or len(grads) != 4 or grads[:2] != image[:2]:
        reject("graph/resized", grads=grads, image=image)
    if not min(grads[2:] + image[2:]):
        reject("graph/resized", grads=grads, image=image)
    return output_like(call, image)


def max_pool_gradient(b: Backward) -> Symbol:
    """Largest value of each window."""
    s = b.settings
    attrs = {"kernel_size": s["kernel_size"], "strides": s["strides"], "pad_mode": s["pad_mode"]}
    return b.record(
        "MaxPoolGrad",
        b.x,
        b.out,
        b.dout,
        **attrs,
        data_format=s.get("format", "NCHW"),
        format="NCHW",
    )


def avg_pool_gradient(b: Backward) -> Symbol:
    """Mean of each window."""
    names = ("kernel_size", "strides", "pad_mode", "data_format")
    return b.record("AvgPoolGrad", b.x, b.out, b.dout, *(b.settings[name] for name in names))


_POOL = {"kernel_size": 1, "strides": 1, "pad_mode": "valid", "data_format": 0}


_GE_POOL = {
    "ksize": (1, 1, 1, 1),
    "strides": (1, 1, 1, 1),
    "padding_mode": "CALCULATED",
    "pads": (0, 0, 0, 0),
    "data_format": "NCHW",
    "global_pooling": False,
    "ceil_mode": False,
}


_CORNERS = {"align_corners": False, "half_pixel_centers": False}


ROWS: dict[str, OpDef] = {
    "MaxPool": OpDef(
        "x kernel_size strides pad_mode data_format",
        pool_shapes,
        defaults=_POOL,
        kernel=kernels.max_pool,
        gradient=input_gradient(max_pool_gradient),
        effect="choose",
    ),
    "AvgPool": OpDef(
        "x kernel_size strides pad_mode data_format",
        pool_shapes,
        defaults=_POOL,
        kernel=kernels.avg_pool,
        gradient=input_gradient(avg_pool_gradient),
        effect="sum",
        floats=(0,),
    ),
    "MaxPoolV3": OpDef("x", padded_pool_shapes, defaults=_GE_POOL, kernel=kernels.padded_max_pool),
    "AvgPoolV2": OpDef(
        "x",
        padded_pool_shapes,
        defaults={**_GE_POOL, "exclusive": True},
        kernel=kernels.padded_avg_pool,
        effect="sum",
        floats=(0,),
    ),
    "ResizeNearestNeighborV2": OpDef(
        "image size align_corners half_pixel_centers",
        resize_shapes,
        defaults=_CORNERS,
        kernel=kernels.resize_nearest,
    ),
    "ResizeBilinearV2": OpDef(
        "image size align_corners half_pixel_centers",
        resize_shapes,
        defaults=_CORNERS,
        kernel=kernels.resize_bilinear,
    ),
    "MaxPoolGrad": OpDef(
        "x out dout kernel_size strides pad_mode data_format",
        pool_grad_shapes,
        tensors=3,
        defaults=_POOL,
        kernel=kernels.max_pool_grad,
        effect="sum",
        discontinuous=True,
    ),
    "AvgPoolGrad": OpDef(
        "x out dout kernel_size strides pad_mode data_format",
        pool_grad_shapes,
        tensors=3,
        defaults=_POOL,
        kernel=kernels.avg_pool_grad,
        effect="sum",
        floats=(0, 1, 2),
    ),
    "ResizeNearestNeighborV2Grad": OpDef(
        "grads size align_corners half_pixel_centers",
        resize_shapes,
        defaults=_CORNERS,
        kernel=kernels.resize_nearest_grad,
    ),
    "ResizeBilinearGrad": OpDef(
        "grads image align_corners half_pixel_centers",
        resize_grad_shapes,
        tensors=2,
        defaults=_CORNERS,
        kernel=kernels.resize_bilinear_grad,
    ),
    "AvgPool2D": foreign(
        "input kernel_size stride padding ceil_mode count_include_pad divisor_override",
        effect="sum",
    ),
    "MaxPoolWithMask": foreign("x kernel_size strides pads dilation ceil_mode argmax_type"),
    "UpsampleNearest2D": foreign("x output_size scales"),
}
