"""An independent cutter of tensors: element by element, from what a layout means, with no code of the workbench."""

from __future__ import annotations

import itertools

import numpy as np


def coordinates(rank: int, sizes: list[tuple[str, int]]) -> dict[str, int]:
    """Where a rank stands; ``sizes`` are axes in the order of ranks, the fastest first."""
    counted = itertools.product(*(range(size) for _, size in reversed(sizes)))
    place = next(itertools.islice(counted, rank, None))
    return dict(zip([name for name, _ in reversed(sizes)], place, strict=True))


def owners(size: int, ranks: int, order: str) -> list[int]:
    """Which rank has each index of a dimension that one axis cuts."""
    if order == "natural":
        return [index * ranks // size for index in range(size)]
    piece = [index * 2 * ranks // size for index in range(size)]
    return [min(number, 2 * ranks - 1 - number) for number in piece]


def indices(size: int, cuts: list[tuple[str, int, str]], place: dict[str, int]) -> list[int]:
    """Which indices of a dimension a rank has, in its order; cuts (axis, ranks, order) from the outermost on."""
    found = list(range(size))
    for axis, ranks, order in cuts:
        mine = owners(len(found), ranks, order)
        found = [index for index, owner in zip(found, mine, strict=True) if owner == place[axis]]
    return found


def shard(
    whole: np.ndarray, dims: list[list[tuple[str, int, str]]], place: dict[str, int]
) -> np.ndarray:
    """What a rank has of a tensor; ``dims`` are the cuts of every dimension."""
    own = [indices(size, cuts, place) for size, cuts in zip(whole.shape, dims, strict=True)]
    return np.array(whole[np.ix_(*own)]) if own else np.array(whole)


def split_sum(whole: np.ndarray, parts: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Parts of a sum that float32 adds up to the whole without rounding: small integers over a power of 2."""
    found = [rng.integers(-64, 64, whole.shape).astype(np.float32) / 8 for _ in range(parts - 1)]
    return [*found, (whole - sum(found)).astype(np.float32)]


def exact(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Float32 whose sums with those of `split_sum` are exact."""
    return rng.integers(-999, 999, shape).astype(np.float32) / 8
