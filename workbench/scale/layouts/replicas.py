"""Ranks that should hold the same: which do, which one is taken, and how far the others are off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.scale.layouts.steps import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.run.parallel import Parallel

    Array = NDArray[Any]

FEW_ULPS = 4
"""Steps of the number format up to which a replica is said to be off by rounding (ulp)."""

_WIDER = {"bfloat16": 1 << 16}
"""Steps of float32 that are one of a type which NumPy holds as float32."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Replicas by what they hold: the rank that is taken, groups of equal ranks, the largest first, and findings.

    ``agreed`` says that more ranks hold what was taken than anything else, or that the golden decided.
    """

    taken: int
    groups: tuple[tuple[int, ...], ...]
    findings: tuple[Finding, ...] = ()
    agreed: bool = True


def check_replicas(
    replicas: Mapping[int, Array],
    parallel: Parallel,
    axes: Sequence[str],
    *,
    golden: Array | None = None,
    before: Mapping[int, Array] | None = None,
    dtype: str = "",
) -> Checked:
    """Compare replicas to the bit (of zeros the sign does not count) and choose the one that most ranks hold.

    Parameters
    ----------
    replicas : mapping of rank to array
        Arrays of one shape.
    parallel, axes
        The job, and the axes along which the tensor is replicated.
    golden : ndarray, optional
        What the other side holds there: it decides where no group is the largest.
    before : mapping of rank to array, optional
        What the ranks held an iteration earlier: who still holds that is stale.
    dtype : str
        Name of the stored type, for the size of its steps.
    """
    groups = _equal_groups(replicas)
    if len(groups) == 1:
        return Checked(groups[0][0], groups)
    tied = len(groups[0]) == len(groups[1])
    if tied and golden is not None:
        groups = tuple(
            sorted(groups, key=lambda one: (relative_distance(replicas[one[0]], golden), one))
        )
    agreed = not tied or golden is not None
    taken = groups[0][0]
    axis = _axis_between(groups, parallel, axes)
    if not agreed:
        values = {"count": len(groups), "axis": axis or "-".join(axes)}
        found: tuple[Finding, ...] = (Finding("replicas-apart", tuple(sorted(replicas)), values),)
    else:
        others = [rank for group in groups[1:] for rank in group]
        found = tuple(
            _differing(others, taken, replicas, before or {}, axis or "-".join(axes), dtype)
        )
    return Checked(taken, groups, found, agreed)


def _equal_groups(replicas: Mapping[int, Array]) -> tuple[tuple[int, ...], ...]:
    """Part ranks by what they hold, the largest group first, of equal ones that with the lowest rank."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for rank in sorted(replicas):
        array = replicas[rank]
        plain = array + 0 if array.dtype.kind in "fc" else array  # -0.0 becomes 0.0
        found.setdefault((array.shape, array.dtype.str, plain.tobytes()), []).append(rank)
    return tuple(sorted(map(tuple, found.values()), key=lambda one: (-len(one), one)))


def _axis_between(groups: Sequence[Sequence[int]], parallel: Parallel, axes: Sequence[str]) -> str:
    """Return the one axis along which ranks differ, all that agree on it holding the same; "" if there is none."""
    group_of = {rank: number for number, group in enumerate(groups) for rank in group}
    for axis in axes:
        places: dict[int, set[int]] = {}
        for rank, group in group_of.items():
            at = parallel.coordinates(rank, experts=bool({"ep", "edp"} & {*axes}))
            places.setdefault(at[axis], set()).add(group)
        if all(len(held) == 1 for held in places.values()):
            return axis
    return axes[0] if len(axes) == 1 else ""


def _differing(
    others: Sequence[int],
    taken: int,
    replicas: Mapping[int, Array],
    before: Mapping[int, Array],
    axis: str,
    dtype: str,
) -> Iterator[Finding]:
    """Say of each rank that holds something else how far it is off."""
    right = replicas[taken]
    for rank in sorted(others):
        array = replicas[rank]
        if is_stale(array, before.get(rank)) and not is_stale(right, before.get(taken)):
            yield Finding("replica-stale", (rank,), {"axis": axis, "taken": taken})
            continue
        different = ~((array == right) | ((array != array) & (right != right)))
        count, size = int(np.count_nonzero(different)), int(array.size)
        steps = ulps_apart(array, right, dtype)
        values = {"axis": axis, "taken": taken, "count": count, "size": size}
        if steps is not None and steps <= FEW_ULPS:
            yield Finding("replica-ulp", (rank,), {**values, "ulps": steps})
        else:
            yield Finding(
                "replica-differs", (rank,), {**values, "error": relative_distance(array, right)}
            )


def is_stale(now: Array, before: Array | None) -> bool:
    """Whether a rank holds the same bytes as an iteration earlier."""
    return before is not None and now.shape == before.shape and now.tobytes() == before.tobytes()


def ulps_apart(one: Array, other: Array, dtype: str = "") -> int | None:
    """Return the most steps of the number format between two arrays; `None` without steps, or with NaN on one side."""
    if one.dtype != other.dtype or one.dtype.kind != "f" or one.dtype.itemsize not in (2, 4, 8):
        return None
    if not np.array_equal(np.isnan(one), np.isnan(other)):
        return None
    # the sign apart, the bits of a float count its steps from 0
    kind = f"i{one.dtype.itemsize}"
    least = np.iinfo(kind).min
    counts = []
    for array in (one, other):
        bits = np.where(
            np.isnan(array), 0, array.view(kind).astype(object if one.dtype.itemsize == 8 else "i8")
        )
        counts.append(np.where(bits < 0, least - bits, bits))
    most = int(np.max(np.abs(counts[0] - counts[1]), initial=0))
    return -(-most // _WIDER.get(dtype, 1))


def relative_distance(array: Array, right: Array) -> float:
    """Return ‖a - b‖ / ‖b‖ (Euclidean, in float64); infinite where shapes differ or elements of one are not finite."""
    if array.shape != right.shape:
        return float("inf")
    a, b = array.astype(np.float64, copy=False), right.astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        apart, size = float(np.linalg.norm((a - b).ravel())), float(np.linalg.norm(b.ravel()))
    if apart == 0.0:
        return 0.0
    return apart / size if size and np.isfinite(apart) else float("inf")
