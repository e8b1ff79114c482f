"""Exchanges between ranks, as of tokens with experts: whether each rank has received what the others sent.

An ``AlltoAll`` computes nothing: what a rank of a group has of another is, to the bit, what that one gave. So it is
judged by what ranks gave to it and took from it, without the other side of a comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.scale.layouts.replicas import is_stale, relative_distance
from workbench.scale.layouts.steps import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.run.parallel import Parallel

    Array = NDArray[Any]

EXCHANGING = ("AlltoAll",)
"""Operators by which the ranks of a group exchange parts of what they have."""

AXIS = "ep"
"""Axis whose ranks exchange."""


def find_in_exchange(
    given: Mapping[int, Array],
    taken: Mapping[int, Array],
    before: Mapping[int, Array],
    parallel: Parallel,
) -> Iterator[Finding]:
    """Yield what is wrong with an exchange: ranks that received nothing, old values, or others than were sent.

    Parameters
    ----------
    given, taken : mapping of rank to ndarray
        What ranks gave to an exchange and took from it, of the same sizes but for two dimensions: the one that was
        cut, and the one along which parts were laid together. A group of which a rank is missing is not judged.
    before : mapping of rank to ndarray
        What ranks took from it an iteration earlier, where that is known.
    parallel : Parallel
        Axes of the job.
    """
    alike: dict[str, list[int]] = {}
    apart = []
    for rank, array in sorted(taken.items()):
        group = parallel.group(rank, AXIS)
        sent = sent_to(rank, group, given, array.shape)
        if sent is None or not _count(array, sent):
            continue
        if is_stale(array, before.get(rank)):
            alike.setdefault("shard-stale", []).append(rank)
        elif _is_alone(rank, group, given, array):
            alike.setdefault("exchange-missing", []).append(rank)
        else:
            apart.append(_differing(rank, group, array, sent))
    for code, ranks in alike.items():
        yield Finding(code, tuple(ranks), {"axis": AXIS})
    yield from apart


def sent_to(
    rank: int, group: tuple[int, ...], given: Mapping[int, Array], shape: tuple[int, ...]
) -> Array | None:
    """Return what a group sends to one of its ranks; `None` where one is missing, or sizes are of no exchange.

    >>> sent_to(1, (0, 1), {0: np.array([[1], [2]]), 1: np.array([[3], [4]])}, (1, 2))
    array([[2, 4]])
    """
    if any(one not in given for one in group):
        return None
    arrays, ranks = [given[one] for one in group], len(group)
    sizes = arrays[0].shape
    if len(sizes) != len(shape) or len({one.shape for one in arrays}) > 1:
        return None
    pairs = list(enumerate(zip(sizes, shape, strict=True)))
    cut = [n for n, (old, new) in pairs if old == new * ranks != new]
    laid = [n for n, (old, new) in pairs if old * ranks == new != old]
    if (len(cut), len(laid)) != (1, 1):
        return None
    parts = [np.split(one, ranks, cut[0])[group.index(rank)] for one in arrays]
    return np.concatenate(parts, laid[0])


def _is_alone(rank: int, group: tuple[int, ...], given: Mapping[int, Array], array: Array) -> bool:
    """Whether a rank has its own part, and zeros for those of others."""
    own = {one: given[one] if one == rank else np.zeros_like(given[one]) for one in group}
    alone = sent_to(rank, group, own, array.shape)
    return alone is not None and not _count(array, alone)


def _count(array: Array, sent: Array) -> int:
    """Return how many elements are not the same."""
    return int(np.count_nonzero(~((array == sent) | ((array != array) & (sent != sent)))))


def _differing(rank: int, group: tuple[int, ...], array: Array, sent: Array) -> Finding:
    values = {
        "axis": AXIS,
        "others": [one for one in group if one != rank],
        "count": _count(array, sent),
        "size": int(array.size),
        "error": relative_distance(array, sent),
    }
    return Finding("exchange-differs", (rank,), values)
