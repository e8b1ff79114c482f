"""Which elements an operator takes: sliding windows, and slices by begin, end and stride.

Sizes follow MindSpore: `valid` uses no padding, `same` pads so that the output has
ceil(size / stride) elements and puts the odd element behind, `pad` uses the given widths.

Of `StridedSlice`'s five masks bit i speaks of entry i of ``begin``: ``begin_mask`` and ``end_mask`` leave that
bound out, ``ellipsis_mask`` stands for all axes that are not named, ``new_axis_mask`` inserts an axis of size 1
and ``shrink_axis_mask`` takes one element and drops its axis.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import dataclass
from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAD_MODES = {0: "pad", 1: "same", 2: "valid"}
"""MindSpore's enumeration, as operators with positional settings (`AvgPool`) spell it."""

_LARGEST = 1 << 24


@dataclass(frozen=True, slots=True)
class Window:
    """A two-dimensional sliding window; ``pads`` are (top, bottom, left, right)."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]

    def __post_init__(self) -> None:
        for name, sizes, lowest in (
            ("kernel", self.kernel, 1),
            ("stride", self.stride, 1),
            ("dilation", self.dilation, 1),
            ("padding", self.pads, 0),
        ):
            check_sizes(name, sizes, lowest)

    def output(self, height: int, width: int) -> tuple[int, int]:
        """Output size; raises GraphError if the window does not fit even once."""
        top, bottom, left, right = self.pads
        spans = (height + top + bottom, width + left + right)
        sizes = []
        for span, size, step, gap in zip(
            spans, self.kernel, self.stride, self.dilation, strict=True
        ):
            sizes.append(windows_along(span, size, step, gap))
        return sizes[0], sizes[1]


def check_sizes(name: str, sizes: Sequence[int], lowest: int) -> None:
    """Raise GraphError for sizes of a window that are too small or too large."""
    if min(sizes) < lowest or max(sizes) > _LARGEST:
        raise GraphError("graph/window", subject=name, least=lowest, most=_LARGEST, got=sizes)


def windows_along(span: int, size: int, stride: int, dilation: int) -> int:
    """How many windows fit into a padded axis; raises GraphError if not even one does."""
    reach = (size - 1) * dilation + 1
    if span < reach:
        raise GraphError("graph/window-reach", reach=reach, got=span)
    return (span - reach) // stride + 1


def pair(value: Any) -> tuple[int, int]:
    """Height and width of a setting given as ``3``, ``(3, 3)`` or ``(1, 1, 3, 3)``."""
    if isinstance(value, int):
        return value, value
    items = integers(value)
    if not items:
        raise GraphError("graph/window-sizes", got=value)
    return (items[-2], items[-1]) if len(items) >= 2 else (items[0], items[0])


def integers(value: Any) -> tuple[int, ...]:
    """Integers of a setting that is a list of them; none of any other."""
    try:
        return tuple(int(item) for item in value)
    except (TypeError, ValueError):
        return ()


def pad_mode(value: Any) -> str:
    """Return ``pad``, ``same`` or ``valid``, however the dialect writes it."""
    word = PAD_MODES.get(value, "") if isinstance(value, int) else str(value).lower()
    if word not in PAD_MODES.values():
        known = sorted(PAD_MODES.values())
        raise GraphError("core/choice", subject="pad_mode", got=value, known=known)
    return word


def is_channels_last(layout: Any) -> bool:
    """Whether a data format has its channels behind, as MindSpore's enumeration and as text."""
    return layout == 1 or layout in ("NHWC", "NDHWC")


def expect_channels_first(settings: Mapping[str, Any]) -> None:
    """Raise GraphError for an operator on images (N, H, W, C): its kernel takes axis 1 for the channels."""
    for name in ("data_format", "format"):
        if is_channels_last(settings.get(name)):
            raise GraphError("graph/only", subject=name, expected="NCHW", got=settings[name])


def same_padding(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Padding before and behind with which an axis gives ceil(size / stride) windows."""
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def _four(value: Any) -> tuple[int, int, int, int]:
    items = (value,) * 4 if isinstance(value, int) else integers(value)
    if len(items) != 4:
        raise GraphError("graph/window-pad", got=value)
    return items[0], items[1], items[2], items[3]


def window(settings: Mapping[str, Any], size: Sequence[int], kernel: Any, stride: Any) -> Window:
    """Window of an operator over an input of ``size`` (height, width).

    ``pad_list``, where an IR states it, wins over ``pad_mode`` and ``pad``.
    """
    expect_channels_first(settings)
    plain = Window(pair(kernel), pair(stride), pair(settings.get("dilation", 1)), (0, 0, 0, 0))
    mode = pad_mode(settings["pad_mode"])
    if settings.get("pad_list") is not None:
        pads = _four(settings["pad_list"])
    elif mode == "same":
        each = zip(size, plain.kernel, plain.stride, plain.dilation, strict=True)
        (top, bottom), (left, right) = (same_padding(*one) for one in each)
        pads = (top, bottom, left, right)
    else:
        pads = _four(settings.get("pad", 0)) if mode == "pad" else plain.pads
    return replace(plain, pads=pads)


def padded_window(settings: Mapping[str, Any], size: Sequence[int]) -> Window:
    """Window of GE's `MaxPoolV3` and `AvgPoolV2` over an input of ``size``.

    With ``ceil_mode`` a last, incomplete window counts too unless it starts behind the input and
    the padding before it; the padding behind grows by what that window needs.
    """
    expect_channels_first(settings)
    if settings["global_pooling"]:
        return Window(pair(size), (1, 1), (1, 1), (0, 0, 0, 0))
    kernel, stride = pair(settings["ksize"]), pair(settings["strides"])
    mode = str(settings["padding_mode"])
    if mode != "CALCULATED":
        return window({"pad_mode": mode}, size, kernel, stride)
    plain = Window(kernel, stride, (1, 1), _four(settings["pads"]))
    if not settings["ceil_mode"]:
        return plain
    top, bottom, left, right = plain.pads
    bottom = _ceil_end(size[0], kernel[0], stride[0], top, bottom)
    right = _ceil_end(size[1], kernel[1], stride[1], left, right)
    return Window(kernel, stride, (1, 1), (top, bottom, left, right))


def _ceil_end(size: int, kernel: int, stride: int, before: int, after: int) -> int:
    """Padding behind that makes the rounded-up number of windows fit exactly."""
    count = -(-(size + before + after - kernel) // stride) + 1
    behind = (count - 1) * stride >= size + before
    needed = (count - 1 - behind) * stride + kernel - size - before
    return max(needed, 0) if behind else max(needed, after)


Index = tuple[slice | int | None, ...]

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def strided_index(shape: tuple[int, ...], settings: Mapping[str, Any]) -> Index:
    """Return the index that NumPy takes for the same slice; raises GraphError."""
    for name in ("begin", "end", "strides"):
        if not isinstance(settings[name], tuple | list | np.ndarray):
            raise GraphError("graph/sizes-unknown", subject=name, got=settings[name])
    begin, end, strides = (integers(settings[name]) for name in ("begin", "end", "strides"))
    masks = {name: _mask(name, settings.get(name, 0)) for name in _MASKS}
    if not len(begin) == len(end) == len(strides):
        raise GraphError("graph/slice-lengths", begin=begin, end=end, strides=strides)
    named = sum(
        not masks["new_axis_mask"] >> i & 1 and not masks["ellipsis_mask"] >> i & 1
        for i in range(len(begin))
    )
    if named > len(shape) or 0 in strides:
        raise GraphError("graph/slice", shape=shape, begin=begin, end=end, strides=strides)
    index: list[slice | int | None] = []
    axis = 0
    for i, bounds in enumerate(zip(begin, end, strides, strict=True)):
        if masks["ellipsis_mask"] >> i & 1:
            index += [slice(None)] * (len(shape) - named)
            axis += len(shape) - named
        elif masks["new_axis_mask"] >> i & 1:
            index.append(None)
        else:
            index.append(_one(shape[axis], bounds, i, masks))
            axis += 1
    return tuple(index)


def _mask(name: str, value: Any) -> int:
    """A bit for each axis; at most one of an ellipsis."""
    if not isinstance(value, int | np.integer) or value < 0:
        raise GraphError("graph/integer", subject=name, least=0, got=value)
    if name == "ellipsis_mask" and int(value).bit_count() > 1:
        raise GraphError("graph/one-ellipsis", got=value)
    return int(value)


def _one(size: int, bounds: tuple[int, int, int], place: int, masks: Mapping[str, int]) -> Any:
    begin, end, stride = bounds
    if masks["shrink_axis_mask"] >> place & 1:
        if not -size <= begin < size:
            raise GraphError("graph/axis", subject="begin", low=-size, high=size, got=begin)
        return begin
    first = None if masks["begin_mask"] >> place & 1 else begin
    last = None if masks["end_mask"] >> place & 1 else end
    return slice(first, last, stride)


def strided_shape(shape: tuple[int, ...], settings: Mapping[str, Any]) -> tuple[int, ...]:
    """Shape of the slice; raises GraphError."""
    sizes: list[int] = []
    axis = 0
    for item in strided_index(shape, settings):
        if item is None:
            sizes.append(1)
            continue
        if isinstance(item, slice):
            sizes.append(len(range(*item.indices(shape[axis]))))
        axis += 1
    return (*sizes, *shape[axis:])
