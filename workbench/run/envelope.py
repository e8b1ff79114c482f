"""The envelope of a network: how far its tensors move when what goes in moves by one step of its number format.

A network answers its own roundings as it answers a disturbance of its inputs. So the reference runs again on inputs
x(1 ± ε), the sign drawn anew for every element, ε the step of the format that is stored (2^-23 in float32). How far
a tensor moves then, as a whole and in its worst slice along each axis, is what rounding may do to it anywhere.

What goes in are the network's inputs and its weights: a network of token ids has no other inputs that can move, and
a weight is read rounded like everything else. ε of an input that a Cast takes to a coarser format is that format's.

One rounding of a tensor's own format is the least: a tensor that does not move at all is still rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple
from workbench.core.dtypes import DTYPES
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import GraphError, check_seed
from workbench.graph.control_flow import ControlFlow
from workbench.graph.graph import Param
from workbench.run.executor import feeds_at, parameter_values
from workbench.run.plan import plan_execution
from workbench.run.reference import run_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorRecord
    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph
    from workbench.run.executor import Feeds, State
    from workbench.run.plan import ExecutionPlan

    Array = NDArray[Any]

MOST_RUNS = 3
"""Most disturbed runs: the second and third widen an envelope by a few percent."""


class Place(NamedTuple):
    """Which tensor: that of a graph and iteration, by name, ``input`` or ``output``, and slot."""

    graph_id: int
    iteration: int
    op_name: str
    io: str
    slot: int
    turn: int = 0
    rank: int = 0


class Spread(NamedTuple):
    """How far a tensor is from another one, relative to that one.

    ``shape`` is that of the tensor, ``norm`` is ‖Δ‖/‖x‖; ``slices`` are the same of the worst slice along each axis,
    ``None`` for axes of one slice.
    """

    shape: tuple[int, ...]
    norm: float
    slices: tuple[float | None, ...]


@dataclass(frozen=True, eq=False)
class Envelope:
    """What moves in a network when what goes in moves by ε, by `Place`.

    Attributes
    ----------
    spreads : mapping
        The largest `Spread` of all runs for every tensor of floats.
    runs, seed : int
        How many disturbed runs there were, and the seed of their signs.
    dtype : str
        Number format whose ε was taken for all inputs; ``""``: each input's own.
    network : str
        Name of the graph.
    """

    spreads: Mapping[Place, Spread]
    runs: int = 1
    seed: int = 0
    dtype: str = ""
    network: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spreads", MappingProxyType(dict(self.spreads)))

    def __len__(self) -> int:
        return len(self.spreads)

    def __repr__(self) -> str:
        return f"<Envelope of {self.network or 'a network'}: {len(self)} tensors, {self.runs} runs>"

    def find(self, place: Place) -> Spread | None:
        """Return the spread of a tensor; where one graph was run, its number does not matter."""
        found = self.spreads.get(place)
        if found is None and self._graph_id is not None:
            found = self.spreads.get(place._replace(graph_id=self._graph_id))
        return found

    @cached_property
    def _graph_id(self) -> int | None:
        """Number of the only graph."""
        numbers = {place.graph_id for place in self.spreads}
        return numbers.pop() if len(numbers) == 1 else None


def measure_envelope(
    graph: Network,
    feeds: Feeds = None,
    *,
    runs: int = 1,
    seed: int = 0,
    iterations: int = 1,
    dtype: str = "",
) -> Envelope:
    """Run a graph on the reference, undisturbed and ``runs`` times disturbed; return how far its tensors move.

    Raises GraphError for control flow, for more than `MOST_RUNS`, and as `run_reference` does.
    """
    check_runs(runs, seed, dtype)
    if isinstance(graph, ControlFlow):
        raise GraphError("run/envelope-flow", graph=graph.name)
    if iterations < 1:
        raise GraphError("run/envelope-iterations", got=iterations)
    spreads: dict[Place, Spread] = {}
    plan = plan_execution(graph)
    for number in range(runs):
        for still, moved in _twins(plan, feeds, (seed, number), iterations, dtype):
            take(spreads, place_of(still), _data(still), _data(moved))
    return Envelope(spreads, runs, seed, dtype, graph.name)


def check_runs(runs: int, seed: int, dtype: str) -> None:
    """Raise GraphError or FormatError for what no envelope is made of."""
    if not 1 <= runs <= MOST_RUNS:
        raise GraphError("run/envelope-runs", limit=MOST_RUNS, got=runs)
    check_seed(seed)
    if dtype and not dtype_row(dtype).is_float:
        known = [name for name, row in DTYPES.items() if row.is_float]
        raise GraphError("core/choice", subject="dtype", got=dtype, known=known)


def _twins(
    plan: ExecutionPlan, feeds: Feeds, seed: tuple[int, int], iterations: int, dtype: str
) -> Iterator[tuple[TensorRecord, TensorRecord]]:
    """Yield the tensors of an undisturbed and a disturbed run side by side."""
    states: tuple[State, State] = {}, {}
    graph, run = plan.graph, partial(run_reference, plan.graph, plan=plan)
    steps = epsilons(graph, dtype)
    weights: dict[str, Array] = {}
    for iteration in range(iterations):
        given = feeds_at(graph, feeds, iteration)
        moved = dict(weights)  # those that a step has updated are in its state
        values = parameter_values(graph, given, states[0])
        for place, (parameter, value) in enumerate(zip(graph.parameters, values, strict=True)):
            if not (iteration and parameter.is_weight):
                moved[parameter.name] = disturbed(value, steps[place], (*seed, iteration, place))
        weights = {one.name: moved[one.name] for one in graph.parameters if one.is_weight}
        still = run(given, iteration=iteration, state=states[0])
        other = run({**given, **moved}, iteration=iteration, state=states[1])
        yield from zip(still, other, strict=True)


def epsilons(graph: Graph, dtype: str = "") -> list[float]:
    """Return by how much each parameter of a graph is disturbed: the step of the coarsest format it is cast to."""
    if dtype:
        return [2.0 * dtype_row(dtype).roundoff] * len(graph.parameters)
    found = [step(parameter.spec.dtype) for parameter in graph.parameters]
    for op in graph.ops:
        if op.op_type != "Cast" or not op.outputs:
            continue
        for operand in op.flat_inputs():
            if isinstance(operand, Param):
                found[operand.index] = max(found[operand.index], step(op.outputs[0].dtype))
    return found


def step(dtype: str) -> float:
    """Return the distance of 1 from the next number of a format of floats; 0 of any other."""
    row = DTYPES.get(dtype)
    return 2.0 * row.roundoff if row is not None and row.is_float else 0.0


def disturbed(array: Array, epsilon: float, seed: Iterable[int]) -> Array:
    """Return x(1 ± ε), a sign for every element, in the array's own format; integers and bools as they are."""
    row = DTYPES.get(array.dtype.name)
    if not epsilon or row is None or not row.is_float:
        return array
    signs = np.random.default_rng([*seed]).integers(0, 2, array.shape) * 2 - 1
    with np.errstate(all="ignore"):
        return (array.astype(np.float64) * (1.0 + epsilon * signs)).astype(array.dtype)


def _data(record: TensorRecord) -> Array:
    assert record.source is not None
    return record.source.array()


def place_of(record: TensorRecord) -> Place:
    """Return the place of a record."""
    key = record.key
    return Place(key.graph_id, key.iteration, key.op_name, key.io, key.slot, key.turn, key.rank)


def take(spreads: dict[Place, Spread], place: Place, still: Array, moved: Array) -> None:
    """Take in how far a tensor of floats has moved."""
    row = DTYPES.get(still.dtype.name)
    if row is None or not row.is_float or not still.size or still.shape != moved.shape:
        return
    found = at_least(spread(moved, still), row.roundoff)
    before = spreads.get(place)
    spreads[place] = found if before is None else _wider(before, found)


def spread(moved: Array, still: Array) -> Spread:
    """Return how far ``moved`` is from ``still``, of the same shape; what is not finite in both alike is left out."""
    with np.errstate(all="ignore"):
        a, b = moved.astype(np.float64), still.astype(np.float64)
        off = a - b
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        off = np.where(same, 0.0, off)
        odd = ~np.isfinite(off)
        square, scale = off * off, np.where(np.isfinite(b), b * b, 0.0)
        square = np.where(odd, np.inf, square)
    slices = tuple(_worst_slice(square, scale, axis) for axis in range(b.ndim))
    return Spread(b.shape, _ratio(float(square.sum()), float(scale.sum())), slices)


def _worst_slice(square: Array, scale: Array, axis: int) -> float | None:
    """Largest relative error of the slices along an axis; ``None`` where there is one."""
    if square.shape[axis] < 2:
        return None
    others = tuple(one for one in range(square.ndim) if one != axis)
    above, below = square.sum(axis=others), scale.sum(axis=others)
    with np.errstate(all="ignore"):
        found = np.sqrt(np.where(above == 0.0, 0.0, above / below))
    return float(found.max())


def _ratio(above: float, below: float) -> float:
    if above == 0.0:
        return 0.0
    return math.sqrt(above / below) if below else math.inf


def at_least(found: Spread, least: float) -> Spread:
    """Return a spread of which nothing is smaller than one rounding."""
    slices = tuple(None if one is None else max(one, least) for one in found.slices)
    return Spread(found.shape, max(found.norm, least), slices)


def _wider(one: Spread, other: Spread) -> Spread:
    slices = tuple(
        None if a is None or b is None else max(a, b)
        for a, b in zip(one.slices, other.slices, strict=True)
    )
    return Spread(one.shape, max(one.norm, other.norm), slices)
