"""Join what the ranks of a job hold of one tensor: replicas checked, parts put together, sums added up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.errors import AlignError
from workbench.scale.layouts.explain import explain_distance
from workbench.scale.layouts.grammar import ZIGZAG
from workbench.scale.layouts.parts import (
    check_shapes,
    grouped,
    ranks_of_cells,
    squeeze_singles,
    sum_bound,
    undo_cut,
    with_singles,
)
from workbench.scale.layouts.placing import cut_whole, place
from workbench.scale.layouts.replicas import Checked, check_replicas
from workbench.scale.layouts.steps import Joined, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from workbench.run.parallel import Parallel
    from workbench.scale.layouts.grammar import Cut, TensorLayout
    from workbench.scale.layouts.placing import Cell, Placing
    from workbench.scale.layouts.steps import Finding

    Array = NDArray[Any]


def join_tensor(
    shards: Mapping[int, Array],
    layout: TensorLayout,
    parallel: Parallel,
    *,
    golden: Array | None = None,
    before: Mapping[int, Array] | None = None,
    dtype: str = "",
) -> Joined:
    """Join the shards of a tensor.

    Replicas are compared to the bit and one of them is taken; then the innermost cut of every dimension is undone
    first. Parts of sums are added in the order of ranks, in float32 where the type is narrower, and rounded once; so
    are means.

    Parameters
    ----------
    shards : mapping of rank to ndarray
        What each rank holds; a rank of a pipeline stage without the tensor is left out.
    layout : TensorLayout
        One dimension for each of the shards.
    parallel : Parallel
        Axes of the job.
    golden : ndarray, optional
        The same tensor whole: then what is wrong with the ranks has a name where it differs (`explain_distance`).
    before : mapping of rank to ndarray, optional
        The shards of the iteration before: who still holds those is stale.
    dtype : str
        Name of the stored type (``bfloat16``), where NumPy holds a wider one.

    Returns
    -------
    Joined

    Raises
    ------
    AlignError
        A part of the tensor is on no rank that was dumped, or the shards do not fit the layout or each other.
    GraphError
        A rank is none of the job.
    """
    placing = place(layout, parallel)
    check_shapes(shards, layout)
    cells = ranks_of_cells(shards, placing)
    whole_there = with_singles(golden, layout)
    parts, steps, found = _take_replicas(cells, shards, placing, whole_there, before, dtype)
    tolerance = 0.0
    for number, axis, cut in reversed(placing.cuts):
        groups, parts = grouped(parts), undo_cut(parts, number, axis, cut)
        bound = 0.0
        if cut.partial:
            bound = max(sum_bound(group, dtype) for group in groups.values())
            bound = bound / parallel.size(axis) if cut.mean else bound
            tolerance = max(tolerance, bound)
        steps += _steps_of_cut(number, axis, cut, placing, bound)
    whole = squeeze_singles(parts[()], layout)
    if whole is not parts[()]:
        steps.append(Step("squeezed", {"count": parts[()].ndim - whole.ndim}))
    joined = Joined(whole, tuple(steps), tuple(found), tolerance)
    return explain_distance(joined, shards, placing, golden, before)


def _take_replicas(
    cells: Mapping[Cell, list[int]],
    shards: Mapping[int, Array],
    placing: Placing,
    golden: Array | None,
    before: Mapping[int, Array] | None,
    dtype: str,
) -> tuple[dict[Cell, Array], list[Step], list[Finding]]:
    """Check the ranks of every part against each other and take one of them."""
    parts: dict[Cell, Array] = {}
    found: list[Finding] = []
    most, axes = max(map(len, cells.values())), placing.replicated
    equal = True
    for cell, ranks in cells.items():
        if len(ranks) == 1:
            parts[cell] = shards[ranks[0]]
            continue
        there = None if golden is None else _cut_or_none(golden, placing, cell)
        checked = check_replicas(
            {rank: shards[rank] for rank in ranks},
            placing.parallel, axes, golden=there, before=before, dtype=dtype,
        )  # fmt: skip
        _check_stages(checked, ranks, placing)
        parts[cell] = shards[checked.taken]
        equal &= len(checked.groups) == 1
        found += checked.findings
    steps = []
    if most > 1:
        values = {"axes": [*axes], "count": most, "equal": equal}
        steps.append(Step("checked" if equal else "taken", values))
    return parts, steps, found


def _check_stages(checked: Checked, ranks: list[int], placing: Placing) -> None:
    """Refuse what stages hold under one name and not alike, unless the layout says that they do: names may recur.

    Operators are counted anew on every stage of a pipeline, so that the same name may be another operator there.
    """
    along = {one.values.get("axis") for one in checked.findings}
    if along == {"pp"} and "pp" not in placing.layout.replicated:
        raise AlignError("layouts/stages", ranks=ranks)


def _cut_or_none(golden: Array, placing: Placing, cell: Cell) -> Array | None:
    """Return the golden's part, if the golden can be cut like that and no sum has parts."""
    if any(cut.partial for _, _, cut in placing.cuts):
        return None
    try:
        return cut_whole(golden, placing, cell)
    except (AlignError, IndexError):
        return None


def _steps_of_cut(
    number: int, axis: str, cut: Cut, placing: Placing, tolerance: float
) -> list[Step]:
    values: dict[str, Any] = {"axis": axis, "count": placing.parallel.size(axis)}
    if cut.partial:
        return [Step("averaged" if cut.mean else "summed", values | {"tolerance": tolerance})]
    values["dim"] = placing.layout.dims[number].name
    steps = [Step("concatenated", values)]
    steps += [Step("zigzag-undone", values)] if cut.order == ZIGZAG else []
    return [*steps, Step("divided", values)] if cut.mean else steps
