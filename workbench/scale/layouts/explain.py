"""Why a joined tensor is not the golden's: what is wrong with its ranks, where another reading of them fits.

A reading counts only where it brings the tensor to the golden's: nearer than `NEAR` and than a quarter of what it was,
relative in the Euclidean norm. An error of an operator stays one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.errors import AlignError
from workbench.scale.layouts.grammar import NATURAL, ZIGZAG
from workbench.scale.layouts.parts import add_parts, join_parts
from workbench.scale.layouts.placing import cut_whole, lay_zigzag
from workbench.scale.layouts.replicas import is_stale, relative_distance
from workbench.scale.layouts.steps import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.scale.layouts.placing import Cell, Placing
    from workbench.scale.layouts.steps import Joined

    Array = NDArray[Any]

NEAR = 0.02
"""Distance from the golden up to which a reading of the ranks fits; rounding in bfloat16 stays below 1 %."""

BETTER = 4
"""How many times nearer another reading has to be."""


def explain_distance(
    joined: Joined,
    shards: Mapping[int, Array],
    placing: Placing,
    golden: Array | None,
    before: Mapping[int, Array] | None,
) -> Joined:
    """Return a joined tensor with what explains its distance from the golden; as it is where nothing does.

    What is looked for, the first that fits: a sum that was never reduced or reduced twice, a zigzag that was not undone
    or not laid, parts that ranks have exchanged, a part of an iteration before.
    """
    whole = joined.array
    if golden is None or whole is None or golden.shape != whole.shape or not whole.size:
        return joined
    apart = relative_distance(whole, golden) if golden.dtype.kind in "fiu" else 0.0
    if apart <= NEAR and not joined.findings:
        stale = tuple(_stale_parts(shards, placing, golden, before))
        return replace(joined, findings=(*joined.findings, *stale)) if stale else joined
    for finding, array in _readings(whole, shards, placing):
        near = relative_distance(array, golden)
        if near <= NEAR and near * BETTER < apart:
            others = [one for one in joined.findings if not one.code.startswith("replica")]
            return replace(joined, findings=(finding, *others))
    for look in (_exchanged, _stale_parts):
        found = tuple(look(shards, placing, golden, before))
        if found:
            return replace(joined, findings=(*joined.findings, *found))
    return joined


def _readings(
    whole: Array, shards: Mapping[int, Array], placing: Placing
) -> Iterator[tuple[Finding, Array]]:
    """Yield other readings of the ranks: what would be wrong, and the tensor that they would give."""
    everyone = tuple(sorted(shards))
    for axis in placing.replicated:
        total = _summed_over(axis, shards, placing)
        if total is not None:
            yield Finding("never-reduced", everyone, {"axis": axis}), total
    for number, axis, cut in placing.cuts:
        ranks = placing.parallel.size(axis)
        if cut.mean:
            continue
        if cut.partial:
            yield Finding("reduced-twice", everyone, {"axis": axis, "count": ranks}), whole / ranks
            continue
        dim = placing.layout.dims[number].name
        values = {"axis": axis, "dim": dim}
        for order, code in ((NATURAL, "zigzag-kept"), (ZIGZAG, "zigzag-missing")):
            each = _stretches(number, axis, placing)
            if cut.order == order and whole.shape[number] % (2 * ranks * each) == 0:
                other = lay_zigzag(whole, number, ranks, undo=order == NATURAL, each=each)
                yield Finding(code, everyone, values), other
    ranks = placing.parallel.cp
    if ranks > 1 and "cp" not in placing.cut_axes:
        for number, size in enumerate(whole.shape):
            if size % (2 * ranks) == 0:
                values = {"axis": "cp", "dim": _dim_name(placing, number)}
                yield (
                    Finding("zigzag-kept", everyone, values),
                    lay_zigzag(whole, number, ranks, undo=True),
                )


def _stretches(number: int, axis: str, placing: Placing) -> int:
    """Return how many stretches of a whole dimension an axis cuts, with those that axes around it cut."""
    found = 1
    for other, name, cut in placing.cuts:
        if other == number and not cut.partial:
            if name == axis:
                return found * cut.each
            found *= placing.parallel.size(name)
    return found


def _dim_name(placing: Placing, number: int) -> str:
    names = [dim.name for dim in placing.layout.dims if dim.name != "1"]
    return names[number] if number < len(names) else str(number)


def _summed_over(axis: str, shards: Mapping[int, Array], placing: Placing) -> Array | None:
    """Join the shards as if the ranks of an axis held parts of a sum; `None` where one of them is missing.

    Of replicas along other axes the first is taken: what they differ by is said elsewhere.
    """
    parallel = placing.parallel
    totals: dict[int, Array] = {}
    for rank in sorted(shards):
        group = parallel.group(rank, axis, experts=placing.layout.of_experts)
        if any(one not in shards for one in group):
            return None  # as on other stages of a pipeline
        if rank == group[0]:
            totals[rank] = add_parts([shards[one] for one in group])
    return join_parts(totals, placing)


def _exchanged(
    shards: Mapping[int, Array],
    placing: Placing,
    golden: Array,
    before: Mapping[int, Array] | None,
) -> Iterator[Finding]:
    """Find ranks that hold each other's parts: each is the golden's part of another cell, and not of its own."""
    parts = _golden_parts(golden, placing)
    if len(parts) < 2:
        return
    holds: dict[Cell, Cell] = {}
    ranks: dict[Cell, list[int]] = {}
    for rank, array in shards.items():
        cell = placing.cell(rank)
        ranks.setdefault(cell, []).append(rank)
        near = [one for one, part in parts.items() if relative_distance(array, part) <= NEAR]
        if cell in near:
            continue
        if len(near) != 1:
            return
        holds[cell] = near[0]
    if holds and sorted(holds) == sorted(holds.values()):
        moved = tuple(sorted(rank for cell in holds for rank in ranks[cell]))
        yield Finding("shards-exchanged", moved, {"axis": "-".join(placing.cut_axes)})


def _golden_parts(golden: Array, placing: Placing) -> dict[Cell, Array]:
    """Return the golden's part of every cell; empty where it cannot be cut, or sums have parts."""
    if any(cut.partial for _, _, cut in placing.cuts) or golden.ndim != len(placing.layout.dims):
        return {}
    try:
        return {cell: cut_whole(golden, placing, cell) for cell in placing.cells}
    except AlignError:
        return {}


def _stale_parts(
    shards: Mapping[int, Array],
    placing: Placing,
    golden: Array,
    before: Mapping[int, Array] | None,
) -> Iterator[Finding]:
    """Find ranks whose part has not changed since the iteration before, is off, and alone in that.

    Parts that legitimately stay (rows of an embedding that nobody reads) are the golden's.
    """
    if not before or not placing.cuts:
        return
    parts = _golden_parts(golden, placing)
    off = {
        rank: relative_distance(shards[rank], parts[placing.cell(rank)]) for rank in shards if parts
    }
    stale = [rank for rank in off if is_stale(shards[rank], before.get(rank)) and off[rank]]
    fresh = [off[rank] for rank in off if rank not in stale]
    if not fresh or not stale:
        return
    worst = max(fresh)
    odd = tuple(rank for rank in stale if off[rank] > 4 * worst)
    if len(odd) == len(stale):
        yield Finding("shard-stale", odd, {"axis": "-".join(placing.cut_axes)})
