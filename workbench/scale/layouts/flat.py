"""Flat buffers of ZeRO: named tensors one behind the other, filled up, and cut by the ranks of data parallelism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import AlignError
from workbench.scale.layouts.grammar import FlatPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.scale.layouts.grammar import TensorLayout

    Array = NDArray[Any]

MOST_PADDING = 4096
"""Most elements between two tensors of a flat buffer that are looked over for its parts."""


def flat_starts(layout: TensorLayout) -> Iterator[tuple[FlatPart, int]]:
    """Yield the tensors of a flat buffer with the element that each begins at."""
    place = 0
    for part in layout.flat:
        place = -(-place // layout.align) * layout.align
        yield part, place
        place += part.size


def flat_size(layout: TensorLayout) -> int:
    """Return how many elements the tensors of a flat buffer take."""
    return max((start + part.size for part, start in flat_starts(layout)), default=0)


def unflatten(buffer: Array, layout: TensorLayout) -> dict[str, Array]:
    """Cut a joined flat buffer (1-D) into its tensors, by name; raises AlignError if it is too short for them."""
    need = flat_size(layout)
    if buffer.size < need:
        raise AlignError("layouts/flat-short", need=need, got=buffer.size)
    return {
        part.name: buffer[start : start + part.size].reshape(part.shape)
        for part, start in flat_starts(layout)
    }


def tell_parts(
    buffer: Array, named: Mapping[str, Array], near: float = 0.0
) -> tuple[FlatPart, ...]:
    """Find which named tensors lie in a flat buffer, in which order, from the first element on.

    Parameters
    ----------
    buffer : (n,) ndarray
        The joined buffer.
    named : mapping of name to ndarray
        Tensors that may be in it, as the other side has them.
    near : float
        Relative distance up to which a tensor is the same; 0: to the bit.

    Returns
    -------
    tuple of FlatPart
        The tensors; empty unless each begins where the one before ends and only zeros are left behind the last.
    """
    left = {
        name: array for name, array in named.items() if array.size and array.dtype == buffer.dtype
    }
    found: list[FlatPart] = []
    place = 0
    while left:
        name = next(
            (one for one, array in left.items() if _lies_at(buffer, place, array, near)), ""
        )
        if not name:
            break
        array = left.pop(name)
        found.append(FlatPart(name, tuple(map(int, array.shape))))
        place += array.size
    rest = buffer[place:]
    return tuple(found) if found and rest.size <= MOST_PADDING and not np.any(rest) else ()


def _lies_at(buffer: Array, place: int, array: Array, near: float) -> bool:
    piece = buffer[place : place + array.size]
    flat = array.reshape(-1)
    if piece.size < flat.size:
        return False
    if piece.tobytes() == flat.tobytes():
        return bool(np.any(flat))  # zeros lie anywhere
    if not near:
        return False
    apart = np.linalg.norm(piece.astype(np.float64) - flat)
    return bool(apart <= near * np.linalg.norm(flat.astype(np.float64)))
