"""`StridedSlice`: begin, end and stride of every axis, with TensorFlow's five masks.

Bit i of a mask speaks of entry i of ``begin``: ``begin_mask`` and ``end_mask`` leave that bound
out, ``ellipsis_mask`` stands for all axes that are not named, ``new_axis_mask`` inserts an axis of
size 1 and ``shrink_axis_mask`` takes one element and drops its axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Mapping

Index = tuple[slice | int | None, ...]

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def strided_index(shape: tuple[int, ...], settings: Mapping[str, Any]) -> Index:
    """Return the index that NumPy takes for the same slice; raises GraphError."""
    begin, end, strides = (tuple(settings[name]) for name in ("begin", "end", "strides"))
    masks = {name: int(settings.get(name, 0)) for name in _MASKS}
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
