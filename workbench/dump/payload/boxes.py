"""Cut a tensor's way to a host format into boxes that fit into memory, in the order of the result.

A box is a window on axes of the device array that holds some rows of the result and nothing else. It is
read by itself, so that memory depends on the size of a box alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.device_shape import arrange, is_plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.dump.payload.route import Route

PIECE = 16 << 20
"""Bytes of a box."""

_SHORT = 256
"""Bytes that are worth a read of their own."""


class Box(NamedTuple):
    """A window on every axis of the device array, and the shape of what it holds in the origin's format."""

    window: tuple[range, ...]
    shape: tuple[int, ...]


class Place(NamedTuple):
    """Device axis that an axis of the result can be cut along, a multiple of ``unit`` at a time."""

    axis: int
    unit: int


def places(route: Route) -> list[Place | None]:
    """Where the axes of the result lie on the device; ``None`` for one that cannot be cut there."""
    source, origin, order, _ = route
    if is_plain(source.format, origin.format):
        return [Place(axis, 1) for axis in order]
    plan = arrange(
        origin.shape, origin.format, source.format, "", groups=source.groups, c0=source.c0
    )
    words = plan.dims.split()
    if plan.groups > 1 or plan.shape != source.shape:
        return [None] * len(order)
    found: list[Place | None] = []
    for letter in (plan.letters[axis] for axis in order):
        if letter in words:
            found.append(Place(words.index(letter), 1))
        elif f"{letter}1" in words:
            found.append(Place(words.index(f"{letter}1"), plan.sizes[f"{letter}0"]))
        else:
            found.append(None)
    return found


def boxes(route: Route, itemsize: int) -> Iterator[Box] | None:
    """Cut a route into boxes of about `PIECE` bytes, in the order of the result.

    ``None`` if the route has to be gone in one piece: its first axis is none of the device's, or boxes
    would be read in runs that are too short.
    """
    found = places(route)
    whole = Box(tuple(map(range, route.source.shape)), route.origin.shape)
    first = found[0] if found else Place(0, 1)
    if first is None or _run(whole, first, itemsize) < _SHORT:
        return None
    return _cut(whole, found, route.order, itemsize)


def _run(box: Box, place: Place, itemsize: int) -> int:
    """Bytes side by side in a box that is cut along one axis; `_SHORT` for one that needs no cut."""
    shape = [len(one) for one in box.window]
    size = math.prod(shape) * itemsize
    if size <= PIECE:
        return _SHORT
    step = max(1, PIECE * shape[place.axis] // size)
    return step * math.prod(shape[place.axis + 1 :]) * itemsize


def _cut(
    box: Box, found: Sequence[Place | None], order: Sequence[int], itemsize: int
) -> Iterator[Box]:
    size = math.prod(map(len, box.window)) * itemsize
    place = found[0] if found else None
    if size <= PIECE or place is None:
        yield box
        return
    blocks = len(box.window[place.axis])
    step = max(1, PIECE * blocks // size)
    for start in range(0, blocks, step):
        window, shape = list(box.window), list(box.shape)
        window[place.axis] = range(start, min(start + step, blocks))
        left = shape[order[0]] - start * place.unit
        shape[order[0]] = min(left, len(window[place.axis]) * place.unit)
        part = Box(tuple(window), tuple(shape))
        if shape[order[0]] == 1:
            yield from _cut(part, found[1:], order[1:], itemsize)
        else:
            yield part
