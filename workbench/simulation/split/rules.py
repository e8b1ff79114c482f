"""How the results of an operator lie, by its type, from how its inputs do: one rule a type.

A rule takes a `Place` and returns how each output lies. What ranks hold parts of is reduced right behind the operator,
so inputs are never parts of sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.simulation.split.lies import Cutting, Lie, names_of

if TYPE_CHECKING:
    from workbench.graph.graph import Op
    from workbench.run.parallel import Parallel
    from workbench.simulation.split.lies import Cuts

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """An operator whose inputs are placed: how its tensors lie, their whole shapes, and its settings.

    ``like`` is how the first input of the operator lies that it is a gradient of.
    """

    op: Op
    lies: tuple[Lie, ...]
    shapes: tuple[Shape, ...]
    settings: Mapping[str, Any]
    parallel: Parallel
    like: Lie | None = None

    @property
    def result(self) -> Shape:
        """Whole shape of the first output."""
        return self.op.outputs[0].shape or ()


Rule = Callable[[Place], tuple[Lie, ...]]


def refuse(place: Place, cuts: Cuts = ()) -> NoReturn:
    """Raise GraphError: the operator would need what other ranks have."""
    values = {"op": place.op.name, "type": place.op.op_type}
    raise GraphError("simulation/split-operator", axis=cuts[0].axis if cuts else "", **values)


def merge(place: Place, lies: Sequence[tuple[Cuts, ...]]) -> tuple[Cuts, ...]:
    """Return the axes of dimensions that several tensors share; whoever is cut decides, two ways are refused."""
    found: list[Cuts] = []
    for axes in zip(*lies, strict=True):
        given = {axis for axis in axes if axis}
        if len(given) > 1:
            refuse(place, sorted(given)[0])
        found.append(next(iter(given), ()))
    return tuple(found)


def elementwise(place: Place) -> tuple[Lie, ...]:
    """Results of inputs that are broadcast: each dimension is cut as in the inputs that have it."""
    rank = len(place.result)
    rows = []
    for lie, shape in zip(place.lies, place.shapes, strict=True):
        whole = tuple(axis if size > 1 else () for axis, size in zip(lie.axes, shape, strict=True))
        rows.append(((),) * (rank - len(whole)) + whole)
    axes = merge(place, rows)
    for row, shape in zip(rows, place.shapes, strict=True):
        for at, axis, size in zip(
            axes[rank - len(shape) :], row[rank - len(shape) :], shape, strict=True
        ):
            if at and not axis and size > 1:
                refuse(place, at)  # one is cut and the other is whole
    return (Lie(axes),) * len(place.op.outputs)


def broadcast(place: Place) -> tuple[Lie, ...]:
    """As the input; what becomes larger lies as what the operator is a gradient of."""
    (lie,) = elementwise(place)
    shape, like = place.shapes[0], place.like
    if like is None or len(like.axes) != len(shape) or len(shape) != len(place.result):
        return (lie,)
    grown = (before == 1 < after for before, after in zip(shape, place.result, strict=True))
    return (Lie(tuple(b if g else a for a, b, g in zip(lie.axes, like.axes, grown, strict=True))),)


def reshape(place: Place) -> tuple[Lie, ...]:
    """Groups of dimensions with the same product go over into each other, with what cuts them."""
    old, new = place.shapes[0], place.result
    axes: list[Cuts] = [()] * len(new)
    for before, after in groups(old, new):
        cuts = list(_merged(place, before))
        inside = 1
        for number in after:
            axes[number], size = _own_cuts(place, cuts, new[number], inside)
            inside *= size
        if cuts:
            refuse(place, tuple(cuts))
    return (Lie(tuple(axes)),)


def _merged(place: Place, numbers: Sequence[int]) -> Iterator[Cutting]:
    """Yield the cuts of dimensions as those of the one that they are together."""
    outside = 1
    for number in numbers:
        size = place.shapes[0][number]
        for cut in place.lies[0].axes[number]:
            yield cut._replace(each=cut.each * outside)
            size //= place.parallel.size(cut.axis)
        outside *= size


def _own_cuts(place: Place, cuts: list[Cutting], size: int, outside: int) -> tuple[Cuts, int]:
    """Take the cuts that lie in a dimension of what several become; return them, and the size of a rank's part."""
    found: list[Cutting] = []
    while cuts and cuts[0].each % outside == 0:
        each, ranks = cuts[0].each // outside, place.parallel.size(cuts[0].axis)
        if size // each < ranks * cuts[0].pieces or size % (each * ranks * cuts[0].pieces):
            break
        found.append(cuts.pop(0)._replace(each=each))
        size //= ranks
    return tuple(found), size


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


class Factors(NamedTuple):
    """What cuts the dimensions of the factors of a product, and the number of each dimension from the end."""

    rows: tuple[Cuts, int]
    inner_a: tuple[Cuts, int]
    inner_b: tuple[Cuts, int]
    columns: tuple[Cuts, int]


def factors_of(place: Place) -> Factors:
    """Return what cuts the factors of a matrix product."""
    (a, b), settings = (one.axes for one in place.lies[:2]), place.settings
    rows, inner_a = (-1, -2) if settings.get("transpose_a") else (-2, -1)
    inner_b, columns = (-1, -2) if settings.get("transpose_b") else (-2, -1)
    return Factors(
        (a[rows], rows), (a[inner_a], inner_a), (b[inner_b], inner_b), (b[columns], columns)
    )


class Exchange(NamedTuple):
    """A factor of a product that goes from where tokens are to where experts are, or back.

    Of factor ``which`` the ranks of ep get all of dimension ``taken`` for a part of dimension ``given``.
    """

    which: int
    given: int
    taken: int
    there: bool


def exchange_of(place: Place) -> Exchange | None:
    """Return the factor of a product that has to be exchanged: tokens where the other one is of experts, or back.

    Experts are the stack of products whose weights ep cuts; what is added up over tokens has to lie with them.
    """
    factors = place.lies[:2]
    stacks = [dict(_dims_of(one.axes[:-2])) for one in factors]
    for which, own in enumerate(factors):
        dims, given = dict(_dims_of(own.axes)), stacks[1 - which].get("ep")
        if given is not None and "ep" not in dims and "dp" in dims:
            return Exchange(which, given, dims["dp"], there=True)
    for which, own in enumerate(factors):
        dims, given = dict(_dims_of(own.axes)), stacks[1 - which].get("dp")
        if given is not None and "ep" in dims and "dp" not in dims:
            return Exchange(which, given, dims["ep"], there=False)
    return None


def exchanged(place: Place, exchange: Exchange) -> Lie:
    """Return how a factor lies that was exchanged; refuses one of which more is cut than that."""
    axes = [*place.lies[exchange.which].axes]
    tokens: Cuts = (Cutting("dp"),)
    experts: Cuts = (Cutting("ep"),)
    left: Cuts = (Cutting("edp"),) if place.parallel.size("edp") > 1 else ()
    whole: Cuts = ()
    before, after = (whole, tokens), (experts, left)
    if not exchange.there:
        before, after = (left, experts), (tokens, whole)
    if (axes[exchange.given], axes[exchange.taken]) != before:
        refuse(place, experts)
    axes[exchange.given], axes[exchange.taken] = after
    return Lie(tuple(axes))


def _dims_of(axes: Sequence[Cuts]) -> Iterator[tuple[str, int]]:
    """Yield the axes that cut, and the number of the dimension of each."""
    for number, cuts in enumerate(axes):
        for cut in cuts:
            yield cut.axis, number


def share_ranks(one: Cuts, other: Cuts, parallel: Parallel) -> bool:
    """Whether the same ranks cut both."""
    own = ({parallel.own(axis) for axis in names_of([cuts])} for cuts in (one, other))
    return bool(set.intersection(*own))


def product(place: Place) -> tuple[Lie, ...]:
    """A matrix product: rows and columns stay cut, a cut of what is summed over leaves parts of a sum."""
    a, b = place.lies[0].axes, place.lies[1].axes
    rows, inner, other, columns = (cuts for cuts, _ in factors_of(place))
    if inner != other or share_ranks(rows, columns, place.parallel):
        refuse(place, inner or other or rows)
    if a[:-2] != b[:-2]:
        refuse(place, next(filter(None, (*a[:-2], *b[:-2])), ()))
    return (Lie((*a[:-2], rows, columns), names_of([inner])),)


def like_first(place: Place) -> tuple[Lie, ...]:
    """As the first input, for all outputs."""
    return (place.lies[0],) * len(place.op.outputs)


def update(place: Place) -> tuple[Lie, ...]:
    """As the weight that is updated; moments and gradient have to lie like it."""
    for lie, shape in zip(place.lies, place.shapes, strict=True):
        if shape == place.shapes[0] and lie != place.lies[0]:
            refuse(place, next(filter(None, (*lie.axes, *place.lies[0].axes)), ()))
    return like_first(place)


def along_last(place: Place) -> tuple[Lie, ...]:
    """As the first input, whose last dimension no axis may cut: it is computed along it."""
    axes = place.lies[0].axes
    if axes[-1]:
        refuse(place, axes[-1])
    return tuple(Lie(axes[: len(spec.shape or ())]) for spec in place.op.outputs)


def cumulative(place: Place) -> tuple[Lie, ...]:
    """As the first input, whose dimension no axis may cut along which it is computed."""
    axis = place.settings["axis"]
    if place.lies[0].axes[axis]:
        refuse(place, place.lies[0].axes[axis])
    return like_first(place)


def one_hot(place: Place) -> tuple[Lie, ...]:
    """As the indices, with a new dimension that is whole."""
    axes = place.lies[0].axes
    at = place.settings["axis"] % (len(axes) + 1)
    return (Lie((*axes[:at], (), *axes[at:])),)


def summed_to_last(place: Place, axes: tuple[Cuts, ...]) -> Lie:
    """Return how a sum over all but the last dimension lies."""
    return Lie((axes[-1],), names_of(axes[:-1]))


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
    """A sum or a mean over some dimensions: of one that is cut every rank has a part."""
    axes, shape = place.lies[0].axes, place.shapes[0]
    given = place.settings.get("axis")
    numbers = range(len(shape)) if given in (None, ()) else given
    gone = {n % len(shape) for n in ([numbers] if isinstance(numbers, int) else numbers)}
    parts = names_of(axes[n] for n in sorted(gone))
    if place.settings.get("keep_dims"):
        left = [() if n in gone else axis for n, axis in enumerate(axes)]
    else:
        left = [axis for n, axis in enumerate(axes) if n not in gone]
    if place.op.op_type == "ReduceMean":
        return (Lie(tuple(left), mean=parts),)
    return (Lie(tuple(left), parts),)


def gather(place: Place) -> tuple[Lie, ...]:
    """Rows of a table that all ranks hold."""
    table, rows = place.lies[0].axes, place.lies[1].axes
    if table[0]:
        refuse(place, table[0])
    return (Lie((*rows, *table[1:])),)


def segment_sum(place: Place) -> tuple[Lie, ...]:
    """Rows that are added up: of a cut every rank has parts of the sums."""
    axes, ids = place.lies[0].axes, place.lies[1].axes
    return (Lie(((), *axes[len(ids) :]), names_of(axes[: len(ids)])),)


def loss(place: Place) -> tuple[Lie, ...]:
    """A mean over each rank's batch, or its gradient."""
    axes = place.lies[0].axes
    if axes[-1]:
        refuse(place, axes[-1])
    spec = place.op.outputs[0]
    return (Lie(axes if spec.shape else (), mean=names_of(axes)),)


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("Add", "Sub", "Mul", "RealDiv", "Div", "Neg", "AddN", "GeLU", "GeLUGrad", "ReLU", "ReluGrad", "Cast"),
        elementwise,
    ),
    **dict.fromkeys(("Assign", "AssignAdd", "Adam", "SGD", "ApplyMomentum"), update),
    "BiasAdd": bias_added,
    "Reshape": reshape,
    "BroadcastTo": broadcast,
    "Transpose": transpose,
    "MatMul": product,
    "BatchMatMul": product,
    "BiasAddGrad": bias_gradient,
    "Softmax": along_last,
    "LayerNorm": along_last,
    "TopK": along_last,
    "CumSum": cumulative,
    "OneHot": one_hot,
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
    if not cut and place.op.op_type != "BroadcastTo":
        return tuple(Lie.whole(len(spec.shape or ())) for spec in place.op.outputs)
    if rule is None:
        refuse(place, cut[0])
    return rule(place)


SHAPED = ("Reshape", "BroadcastTo")
"""Operators whose second operand is the shape of the result."""
