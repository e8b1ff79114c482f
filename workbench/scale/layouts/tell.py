"""Tell from dumps how tensors lie: what is equal on all ranks is replicated, what joins to the other side's is cut so.

For every tensor all readings are tried that its shape allows, on one iteration; names that differ in numbers alone (the
layers of a network) have to agree. What is told is trusted as `INFERRED`; what fits no reading is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.scale.layouts.explain import NEAR
from workbench.scale.layouts.files import INFERRED, LayoutRow, LayoutTable
from workbench.scale.layouts.grammar import MEAN, NATURAL, SCALED, ZIGZAG, Cut, Dim, TensorLayout
from workbench.scale.layouts.jobs import whole_array
from workbench.scale.layouts.parts import join_parts
from workbench.scale.layouts.placing import place
from workbench.scale.layouts.replicas import relative_distance

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorKey
    from workbench.run.parallel import Parallel
    from workbench.scale.layouts.jobs import Job

    Array = NDArray[Any]
    Kind = tuple[Any, ...]

MOST_READINGS = 512
"""Readings of one tensor that are tried."""

_NUMBER = re.compile(r"\d+")

_LOSS = re.compile(r"CrossEntropy|NLLLoss|_loss_|(?<!With)Loss(?!Cell)")
"""What the type or name of an operator has that computes a loss or its gradient: a mean of each rank's own batch."""


@dataclass(frozen=True, slots=True)
class Told:
    """The readings that one tensor allows, the plainest first; ``likely`` is how it may lie if it allows none."""

    key: TensorKey
    layouts: tuple[TensorLayout, ...]
    likely: TensorLayout | None = None


def tell_layouts(
    target: Job, golden: Job, iteration: int | None = None, *, likely: bool = False
) -> LayoutTable:
    """Tell how the tensors of a job lie from those of another that is whole, or whose layouts are known.

    Parameters
    ----------
    target : Job
        The job whose layouts are asked for; its axes have to be known.
    golden : Job
        The same run in one piece: of one rank, or with layouts of its own.
    iteration : int, optional
        Which iteration is looked at; without it the first that both have.
    likely : bool
        Whether tensors that fit no reading, as behind an error or of nothing but rounding, get a layout all the same:
        that of other tensors of the same kind, else the one way to cut it that shapes allow. Of such rows nothing has
        ``agreed``.

    Returns
    -------
    LayoutTable
        A row for each group of names that differ in numbers alone, where all of it allows one reading or more than half
        of it does and the rest none; else a row for each name. Rows say how many tensors they are told from.
    """
    common = [key for key in target.tensors if key in golden.tensors]
    first = min((key.iteration for key in common), default=0) if iteration is None else iteration
    looked_at = [key for key in common if key.iteration == first]
    told = [Told(key, tuple(_readings_of(target, golden, key))) for key in looked_at]
    if likely and not all(one.layouts for one in told):
        told = _with_likely(told, target, golden)
    return LayoutTable(tuple(_rows(told)), target.layouts.numbered, target.parallel)


def _with_likely(told: list[Told], target: Job, golden: Job) -> list[Told]:
    """Say of tensors that fit no reading how they lie if they lie as the others do."""
    known: dict[Kind, list[Told]] = defaultdict(list)
    kinds = {one.key: _kind(target, golden, one.key) for one in told}
    for one in told:
        if one.layouts:
            known[kinds[one.key]].append(one)

    def likely(one: Told) -> TensorLayout | None:
        others = known.get(kinds[one.key])
        alike = _agreed(others) if others else None
        return alike[0] if alike is not None else _by_shapes(target, golden, one.key)

    return [one if one.layouts else Told(one.key, (), likely(one)) for one in told]


def _kind(target: Job, golden: Job, key: TensorKey) -> Kind:
    """Return what tensors that lie alike have in common: operator type, place, and the shapes of both sides."""
    shapes = []
    for job in (target, golden):
        try:
            found = {one.spec.shape for one in job.tensors[key].records.values()}
        except WorkbenchError:
            found = set()
        shapes.append(frozenset(found))
    return key.op_type, key.io, key.slot, *shapes


def _readings_of(target: Job, golden: Job, key: TensorKey) -> Iterator[TensorLayout]:
    """Yield the layouts by which the shards of a tensor are the golden's."""
    whole = whole_array(golden, key)
    records = target.tensors[key].records
    if whole is None or any(record.source is None for record in records.values()):
        return
    try:
        shards = {rank: one.source.array() for rank, one in records.items() if one.source}
    except WorkbenchError:
        return
    yield from tell_tensor(shards, whole, target.parallel, own_means=_is_of_loss(key))


def _is_of_loss(key: TensorKey) -> bool:
    return bool(_LOSS.search(f"{key.op_type} {key.op_name}"))


def _by_shapes(target: Job, golden: Job, key: TensorKey) -> TensorLayout | None:
    """Return the layout of a tensor that its shapes tell: all ranks hold it, or they allow one way to cut it."""
    records, others = target.tensors[key].records, golden.tensors[key].records
    try:
        shapes = {one.spec.shape for one in records.values()}
        whole = next(iter(others.values())).spec.shape
    except WorkbenchError:
        return None
    shape = next(iter(shapes))
    if len(shapes) > 1 or len(others) > 1 or shape is None or whole is None:
        return None
    if len(shape) != len(whole):
        return None
    ways = [
        one
        for one in _layouts(shape, whole, dict.fromkeys(records), target.parallel, own_means=False)
        if all(cut.order == NATURAL and not cut.partial for _, cut in one.cuts)
    ]
    return ways[0] if len(ways) == 1 else None


def tell_tensor(
    shards: Mapping[int, Array], whole: Array, parallel: Parallel, *, own_means: bool = False
) -> Iterator[TensorLayout]:
    """Yield the layouts by which shards are a whole tensor, the plainest first.

    Replicas have to be equal as the whole is: nearer than `NEAR`, relative in the Euclidean norm. With ``own_means``
    ranks of dp and cp may hold means of their own batches and gradients of these; of any tensor that would hide that
    a mean is missing.
    """
    shapes = {array.shape for array in shards.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != whole.ndim:
        return
    shape = next(iter(shapes))
    readings = _layouts(shape, whole.shape, shards, parallel, own_means=own_means)
    for number, layout in enumerate(readings):
        if number >= MOST_READINGS:
            return
        if _fits(layout, shards, whole, parallel):
            yield layout


def _layouts(
    shape: tuple[int, ...],
    whole: tuple[int, ...],
    shards: Mapping[int, Any],
    parallel: Parallel,
    *,
    own_means: bool,
) -> Iterator[TensorLayout]:
    """Yield the layouts that shapes allow: every axis cuts a dimension, leaves parts of a sum, or does nothing."""
    views = [False, True] if parallel.ep > 1 else [False]
    for experts in views:
        axes = _axes_there(shards, parallel, experts=experts)
        for roles in product(*(_roles(len(shape), axis, own_means) for axis in axes)):
            sizes = list(shape)
            for axis, role in zip(axes, roles, strict=True):
                if isinstance(role[0], int):
                    sizes[role[0]] *= parallel.size(axis)
            if tuple(sizes) == whole and (not experts or _uses_experts(axes, roles)):
                yield from _ordered(dict(zip(axes, roles, strict=True)), len(shape))


Role = tuple[int | str, str]
"""What an axis does: the number of a dimension and the order, or ``=`` for nothing, ``+`` for a sum, a mean."""


def _roles(rank: int, axis: str, own_means: bool) -> list[Role]:
    roles: list[Role] = [("=", NATURAL), *((n, NATURAL) for n in range(rank))]
    if axis == "cp":
        roles += [(n, ZIGZAG) for n in range(rank)]
    roles += [("+", NATURAL)] if rank else []
    if own_means and axis in ("dp", "cp"):
        roles += [(n, SCALED) for n in range(rank)] or [(MEAN, NATURAL)]
    return roles


def _uses_experts(axes: Iterable[str], roles: Iterable[Role]) -> bool:
    return any(a in ("ep", "edp") and r[0] != "=" for a, r in zip(axes, roles, strict=True))


def _axes_there(shards: Mapping[int, Any], parallel: Parallel, *, experts: bool) -> list[str]:
    """Return the axes along which ranks with the tensor differ."""
    places = [parallel.coordinates(rank, experts=experts) for rank in shards]
    axes = parallel.axes(experts=experts)
    return [axis for axis in axes if len({at[axis] for at in places}) > 1]


def _ordered(roles: Mapping[str, Role], rank: int) -> Iterator[TensorLayout]:
    """Yield the layouts of roles: of axes that cut the same dimension either may be the outer one."""
    cuts: list[list[Cut]] = [[] for _ in range(rank)]
    for axis, (where, order) in roles.items():
        if isinstance(where, int):
            scaled = order == SCALED
            cuts[where].append(Cut(axis, NATURAL if scaled else order, mean=scaled))
    sums = [Cut(axis, partial=True) for axis, (where, _) in roles.items() if where == "+"]
    means = [
        Cut(axis, partial=True, mean=True) for axis, (where, _) in roles.items() if where == MEAN
    ]
    for chosen in product(*(permutations(one) for one in cuts)):
        dims = [list(one) for one in chosen]
        for cut in sums:
            min(dims, key=len).append(cut)
        named = tuple(Dim((f"d{n}",), tuple(one)) for n, one in enumerate(dims))
        yield TensorLayout(named, reduced=tuple(means))


def _fits(
    layout: TensorLayout, shards: Mapping[int, Array], whole: Array, parallel: Parallel
) -> bool:
    """Whether shards are a whole tensor by a layout, and its replicas are each other's."""
    try:
        placing = place(layout, parallel)
        joined = join_parts(shards, placing)
    except WorkbenchError:
        return False
    if joined.shape != whole.shape or relative_distance(joined, whole) > NEAR:
        return False
    taken: dict[tuple[int, ...], Array] = {}
    for rank in sorted(shards):
        first = taken.setdefault(placing.cell(rank), shards[rank])
        if first is not shards[rank] and relative_distance(shards[rank], first) > NEAR:
            return False
    return True


def _rows(told: Iterable[Told]) -> Iterator[LayoutRow]:
    """Make rows of what tensors allow, group by group of names that differ in numbers alone."""
    groups: dict[tuple[str, str], list[Told]] = defaultdict(list)
    for one in told:
        slot = f"{one.key.io}.{one.key.slot}"
        groups[_NUMBER.sub("*", one.key.op_name), slot].append(one)
    for (pattern, slot), group in groups.items():
        found = _agreed(group)
        if found is not None:
            layout, agreed = found
            yield LayoutRow(f"{pattern}:{slot}", layout, INFERRED, len(group), agreed)
            continue
        for one in group:
            name = f"{one.key.op_name}:{slot}"
            if one.layouts:
                yield LayoutRow(name, one.layouts[0], INFERRED, 1, 1)
            elif one.likely is not None:
                yield LayoutRow(name, one.likely, INFERRED, 1, 0)


def _agreed(group: list[Told]) -> tuple[TensorLayout, int] | None:
    """Return the plainest layout that a group of tensors allows, and how many of them do."""
    votes: dict[TensorLayout, int] = defaultdict(int)
    for one in group:
        for layout in one.layouts:
            votes[layout] += 1
    if not votes:
        return None
    most = max(votes.values())
    layout = next(one for one, count in votes.items() if count == most)
    silent = sum(not one.layouts for one in group)
    return (layout, most) if most + silent == len(group) and most > silent else None
