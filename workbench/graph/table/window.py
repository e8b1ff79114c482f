"""Poolings and resizing."""

from __future__ import annotations

from workbench.graph.infer import window as windows
from workbench.graph.opdef import OpDef

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

WINDOW: dict[str, OpDef] = {
    "MaxPool": OpDef("x kernel_size strides pad_mode data_format", windows.pool, defaults=_POOL),
    "AvgPool": OpDef("x kernel_size strides pad_mode data_format", windows.pool, defaults=_POOL),
    "MaxPoolV3": OpDef("x", windows.padded_pool, defaults=_GE_POOL),
    "AvgPoolV2": OpDef("x", windows.padded_pool, defaults={**_GE_POOL, "exclusive": True}),
    "ResizeNearestNeighborV2": OpDef(
        "image size align_corners half_pixel_centers", windows.resize, defaults=_CORNERS
    ),
    "ResizeBilinearV2": OpDef(
        "image size align_corners half_pixel_centers", windows.resize, defaults=_CORNERS
    ),
}
