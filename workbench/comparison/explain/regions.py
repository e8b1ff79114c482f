"""Where an error sits in a tensor: single elements, slices along an axis, a block, a run, or anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.limits import limits
from workbench.core.words import Message

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

_FEW = 4  # elements that are told one by one


class Region(NamedTuple):
    """A part of a tensor to which all that is off keeps.

    Attributes
    ----------
    shape : str
        ``element``, ``slices`` (whole ones, along ``axis``), ``block``, ``run`` (of neighbors in memory order),
        ``scattered`` or ``whole``.
    mask : array of bool
        Its elements, in the tensor's shape; those that happen to be right are among them.
    said : Message
        Where it is.
    axis : int
        Of slices, else -1.
    indices : tuple of int
        Of slices along their axis, else empty.
    """

    shape: str
    mask: NDArray[Any]
    said: Message
    axis: int = -1
    indices: tuple[int, ...] = ()


def locate(off: Mask) -> Region | None:
    """Return the smallest simple region that holds everything that is off; ``None``: nothing is.

    A region is told only if at least `region_share` of it is off: what is right inside is so by chance.
    """
    count = int(np.count_nonzero(off))
    if not count:
        return None
    if count <= _FEW:
        return _elements(off)
    hits = [np.flatnonzero(off.any(axis=_others(off, axis))) for axis in range(off.ndim)]
    confined = [axis for axis, hit in enumerate(hits) if hit.size < off.shape[axis]]
    for found in (_slices(off, hits, confined), _block(off, hits, confined), _run(off)):
        if found is not None and count >= limits().region_share * np.count_nonzero(found.mask):
            return found
    return _rest(off, count)


def _others(off: Mask, axis: int) -> tuple[int, ...]:
    return tuple(n for n in range(off.ndim) if n != axis)


def _elements(off: Mask) -> Region:
    places = [[int(n) for n in index] for index in np.argwhere(off)]
    return Region("element", off, Message("compare/where-elements", places=places))


def _slices(off: Mask, hits: list[NDArray[np.intp]], confined: list[int]) -> Region | None:
    """Whole slices along the one axis that confines what is off."""
    if len(confined) != 1 or off.ndim < 2:
        return None
    (axis,) = confined
    size, hit = off.shape[axis], hits[axis]
    if hit.size > size / 2:
        return None
    mask = np.zeros_like(off)
    mask[(slice(None),) * axis + (hit,)] = True
    return Region("slices", mask, name_slices(off.shape, axis, hit), axis, tuple(hit.tolist()))


def name_slices(shape: tuple[int, ...], axis: int, indices: NDArray[np.intp]) -> Message:
    """Say which slices: rows and columns of a matrix, channels of images, else places along an axis."""
    names = {(2, 0): "rows", (2, 1): "columns", (4, 1): "channels"}
    code = names.get((len(shape), axis), "slices")
    first, last = int(indices[0]), int(indices[-1])
    if indices.size > _FEW and last - first + 1 == indices.size:
        return Message(f"compare/where-{code}-range", first=first, last=last, axis=axis)
    return Message(f"compare/where-{code}", places=indices.tolist(), axis=axis, count=indices.size)


def _block(off: Mask, hits: list[NDArray[np.intp]], confined: list[int]) -> Region | None:
    """A box that several axes confine, in one piece along each."""
    if len(confined) < 2:
        return None
    bounds = [(int(hit[0]), int(hit[-1]) + 1) for hit in hits]
    if any(last - first != hit.size for (first, last), hit in zip(bounds, hits, strict=True)):
        return None
    mask = np.zeros_like(off)
    mask[tuple(slice(first, last) for first, last in bounds)] = True
    sizes, start = [last - first for first, last in bounds], [first for first, _ in bounds]
    return Region("block", mask, Message("compare/where-block", sizes=sizes, start=start))


def _run(off: Mask) -> Region | None:
    """Neighbors in memory order."""
    places = np.flatnonzero(off)
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 > off.size / 2:
        return None
    mask = np.zeros(off.size, np.bool_)
    mask[first : last + 1] = True
    said = Message("compare/where-run", first=first, last=last, size=off.size)
    return Region("run", mask.reshape(off.shape), said)


def _rest(off: Mask, count: int) -> Region:
    if count > limits().region_whole * off.size:
        return Region("whole", np.ones_like(off), Message("compare/where-whole"))
    said = Message("compare/where-scattered", count=count, size=off.size)
    return Region("scattered", off, said)
