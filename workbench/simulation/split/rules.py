"""How the results of an operator lie, by its type, from how its inputs do: one rule a type.

A rule takes a `Place` and returns how each output lies. What ranks hold parts of is reduced right behind the operator,
so inputs are never parts of sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from workbench.core.errors import GraphError
from workbench.simulation.split.lies import Lie

if TYPE_CHECKING:
    from workbench.graph.graph import Op

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """An operator whose inputs are placed: how its tensors lie, their whole shapes, and its settings."""

    op: Op
    lies: tuple[Lie, ...]
    shapes: tuple[Shape, ...]
    settings: Mapping[str, Any]

    @property
    def result(self) -> Shape:
        """Whole shape of the first output."""
        return self.op.outputs[0].shape or ()


Rule = Callable[[Place], tuple[Lie, ...]]


def refuse(place: Place, axis: str = "") -> NoReturn:
    """Raise GraphError: the operator would need what other ranks have."""
    values = {"op": place.op.name, "type": place.op.op_type}
    raise GraphError("simulation/split-operator", axis=axis, **values)


def merge(place: Place, lies: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the axes of dimensions that several tensors share; whoever is cut decides, two ways are refused."""
    found = []
    for axes in zip(*lies, strict=True):
        given = {axis for axis in axes if axis}
        if len(given) > 1:
            refuse(place, sorted(given)[0])
        found.append(next(iter(given), ""))
    return tuple(found)


def elementwise(place: Place) -> tuple[Lie, ...]:
    """Results of inputs that are broadcast: each dimension is cut as in the inputs that have it."""
    rank = len(place.result)
    rows = []
    for lie, shape in zip(place.lies, place.shapes, strict=True):
        whole = tuple(axis if size > 1 else "" for axis, size in zip(lie.axes, shape, strict=True))
        rows.append(("",) * (rank - len(whole)) + whole)
    axes = merge(place, rows)
    for row, shape in zip(rows, place.shapes, strict=True):
        for at, axis, size in zip(
            axes[rank - len(shape) :], row[rank - len(shape) :], shape, strict=True
        ):
            if at and not axis and size > 1:
                refuse(place, at)  # one is cut and the other is whole
    return (Lie(axes),) * len(place.op.outputs)


def reshape(place: Place) -> tuple[Lie, ...]:
    """Groups of dimensions with the same product go over into each other; only the outermost of each may be cut."""
    old, new = place.shapes[0], place.result
    axes = [""] * len(new)
    for before, after in groups(old, new):
        cut = [(n, place.lies[0].axes[n]) for n in before if place.lies[0].axes[n]]
        large = [n for n in before if old[n] > 1]
        if not cut:
            continue
        ((number, axis),) = cut if len(cut) == 1 else refuse(place, cut[0][1])
        there = [n for n in after if new[n] > 1]
        if number != large[0] or not there:
            refuse(place, axis)
        axes[there[0]] = axis
    return (Lie(tuple(axes)),)


def groups(old: Shape, new: Shape) -> list[tuple[list[int], list[int]]]:
    """Part the dimensions of two shapes into the smallest groups of equal products.

    >>> groups((16, 12, 32), (192, 32))
    [([0, 1], [0]), ([2], [1])]
    """
    found = []
    i = j = 0
    while i < len(old) or j < len(new):
        before, after = [i] if i < len(old) else [], [j] if j < len(new) else []
        i, j = i + len(before), j + len(after)
        while math.prod(old[n] for n in before) != math.prod(new[n] for n in after):
            if math.prod(old[n] for n in before) < math.prod(new[n] for n in after):
                before.append(i)
                i += 1
            else:
                after.append(j)
                j += 1
        found.append((before, after))
    return found


def transpose(place: Place) -> tuple[Lie, ...]:
    """Dimensions in another order."""
    return (Lie(tuple(place.lies[0].axes[n] for n in place.settings["dims"])),)


def product(place: Place) -> tuple[Lie, ...]:
    """A matrix product: rows and columns stay cut, a cut of what is summed over leaves parts of a sum."""
    a, b = place.lies[0].axes, place.lies[1].axes
    turn_a = bool(place.settings.get("transpose_a"))
    turn_b = bool(place.settings.get("transpose_b"))
    rows, inner_a = (a[-1], a[-2]) if turn_a else (a[-2], a[-1])
    inner_b, columns = (b[-1], b[-2]) if turn_b else (b[-2], b[-1])
    if inner_a != inner_b or (rows and rows == columns):
        refuse(place, inner_a or inner_b or rows)
    batch = merge(place, [a[:-2], b[:-2]]) if len(a) > 2 else ()
    return (Lie((*batch, rows, columns), (inner_a,) if inner_a else ()),)


def like_first(place: Place) -> tuple[Lie, ...]:
    """As the first input, for all outputs."""
    return (place.lies[0],) * len(place.op.outputs)


def update(place: Place) -> tuple[Lie, ...]:
    """As the weight that is updated; moments and gradient have to lie like it."""
    for lie, shape in zip(place.lies, place.shapes, strict=True):
        if shape == place.shapes[0] and lie != place.lies[0]:
            refuse(place, next(filter(None, (*lie.axes, *place.lies[0].axes)), ""))
    return like_first(place)


def along_last(place: Place) -> tuple[Lie, ...]:
    """As the first input, whose last dimension no axis may cut: it is computed along it."""
    axes = place.lies[0].axes
    if axes[-1]:
        refuse(place, axes[-1])
    return tuple(Lie(axes[: len(spec.shape or ())]) for spec in place.op.outputs)


def summed_to_last(place: Place, axes: tuple[str, ...]) -> Lie:
    """Return how a sum over all but the last dimension lies."""
    return Lie((axes[-1],), tuple(axis for axis in axes[:-1] if axis))


def bias_added(place: Place) -> tuple[Lie, ...]:
    """As the first input, whose last dimension the bias has."""
    if place.lies[0].axes[-1] != place.lies[1].axes[0]:
        refuse(place, place.lies[0].axes[-1] or place.lies[1].axes[0])
    return (place.lies[0],)


def bias_gradient(place: Place) -> tuple[Lie, ...]:
    """The sum over all but the last dimension."""
    return (summed_to_last(place, place.lies[0].axes),)


def norm_gradient(place: Place) -> tuple[Lie, ...]:
    """The gradient as its input, those of the factors summed over all but the last dimension."""
    axes = place.lies[0].axes
    if axes[-1]:
        refuse(place, axes[-1])
    factors = summed_to_last(place, axes)
    return (place.lies[0], factors, factors)


def reduction(place: Place) -> tuple[Lie, ...]:
    """A sum over some dimensions; a mean over one that is cut is refused."""
    axes, shape = place.lies[0].axes, place.shapes[0]
    given = place.settings.get("axis")
    numbers = range(len(shape)) if given in (None, ()) else given
    gone = {n % len(shape) for n in ([numbers] if isinstance(numbers, int) else numbers)}
    partial = tuple(axes[n] for n in sorted(gone) if axes[n])
    if partial and place.op.op_type != "ReduceSum":
        refuse(place, partial[0])
    if place.settings.get("keep_dims"):
        left = ["" if n in gone else axis for n, axis in enumerate(axes)]
    else:
        left = [axis for n, axis in enumerate(axes) if n not in gone]
    return (Lie(tuple(left), partial),)


def gather(place: Place) -> tuple[Lie, ...]:
    """Rows of a table that all ranks hold."""
    table, rows = place.lies[0].axes, place.lies[1].axes
    if table[0]:
        refuse(place, table[0])
    return (Lie((*rows, *table[1:])),)


def segment_sum(place: Place) -> tuple[Lie, ...]:
    """Rows that are added up: of a cut every rank has parts of the sums."""
    axes, ids = place.lies[0].axes, place.lies[1].axes
    partial = tuple(axis for axis in axes[: len(ids)] if axis)
    return (Lie(("", *axes[len(ids) :]), partial),)


def loss(place: Place) -> tuple[Lie, ...]:
    """A mean over each rank's batch, or its gradient."""
    axes = place.lies[0].axes
    if axes[-1]:
        refuse(place, axes[-1])
    spec = place.op.outputs[0]
    return (Lie(axes if spec.shape else (), mean=tuple(filter(None, axes))),)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("Add", "Sub", "Mul", "RealDiv", "AddN", "GeLU", "GeLUGrad", "ReLU", "ReluGrad", "Cast"), elementwise
    ),
    **dict.fromkeys(("Assign", "AssignAdd", "Adam", "SGD", "ApplyMomentum"), update),
    "BiasAdd": bias_added,
    "Reshape": reshape,
    "BroadcastTo": elementwise,
    "Transpose": transpose,
    "MatMul": product,
    "BatchMatMul": product,
    "BiasAddGrad": bias_gradient,
    "Softmax": along_last,
    "LayerNorm": along_last,
    "LayerNormGrad": norm_gradient,
    "ReduceSum": reduction,
    "ReduceMean": reduction,
    "Gather": gather,
    "UnsortedSegmentSum": segment_sum,
    "SparseSoftmaxCrossEntropyWithLogits": loss,
}  # fmt: skip
"""Rule by operator type."""


def place_outputs(place: Place) -> tuple[Lie, ...]:
    """Return how the results of an operator lie; of whole inputs they are whole, whatever it computes.

    Raises GraphError for an operator whose inputs are cut and that has no rule, or cannot be cut so.
    """
    cut = [axis for lie in place.lies for axis in lie.axes if axis]
    rule = RULES.get(place.op.op_type)
    if not cut:
        return tuple(Lie.whole(len(spec.shape or ())) for spec in place.op.outputs)
    if rule is None:
        refuse(place, cut[0])
    return rule(place)


SHAPED = ("Reshape", "BroadcastTo")
"""Operators whose second operand is the shape of the result."""
