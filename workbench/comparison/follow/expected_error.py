"""The error that an operator is expected to have: its own rounding, what it inherited, and the step that it takes.

An optimizer carries two runs no farther apart than the step that it takes. A gradient is often known to few
digits, but a step is a small part of the variable. With s the length of the step over that of the variable, e the
error of the variable before it and d that of the direction,

    error of the variable = own rounding + e + s · d

s is the learning rate times the length of accumulation and gradient; Adam divides by its second moment and
moves no element by more than (1 - β1)/√(1 - β2) < 3.2 times the learning rate, in a direction whose signs
noise may turn.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush, heappushpop
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.align.differences import Difference
from workbench.comparison.graphs.roles import coarsens, updates
from workbench.comparison.graphs.traverse import path_back, producer
from workbench.comparison.limits import limits
from workbench.comparison.measure.bias import median_of
from workbench.comparison.measure.conditioning import condition_number, golden_norm
from workbench.comparison.measure.noise import (
    FLOAT32,
    MASKS,
    expected_rounding,
    is_discontinuous,
    jump_limit,
    op_roundoff,
)
from workbench.comparison.measure.quantization_error import (
    QuantizationError,
    quantization_error,
    rounded,
)
from workbench.core.long_work import checkpoint
from workbench.core.words import Message
from workbench.graph.graph import Value
from workbench.ops import CONTRACTIONS, IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.follow.carry import Carry
    from workbench.comparison.follow.facts import Observation, Scene
    from workbench.comparison.follow.trace import Measures
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.graph import Graph, Op, Operand

    Lookup = Callable[[int], Measures]


class Expected(NamedTuple):
    """What explains an operator's outputs, and whether the ``worst`` of them exceeds it.

    ``rounding_floor`` is what its own rounding explains, ``expected_error`` that and what it inherited, magnified as
    its data magnify it; ``limit`` is ``tolerance_factor`` times that, or what an update or a jump explains. All are
    relative errors. ``steps`` are those to which its inputs were quantized.
    """

    worst: Measured | None = None
    rounding_floor: float = 0.0
    expected_error: float = 0.0
    tolerance_factor: float = 0.0
    limit: float = 0.0
    exceeds: bool = False
    steps: QuantizationError | None = None


def expected_error(
    scene: Scene, seen: Observation, inputs: Mapping[int, Measured], carry: Carry
) -> Expected:
    """Return what explains an operator's outputs; an updated variable is looked at alone, too.

    If it is the variable that exceeds, that is the worst output. ``inputs`` are its measured inputs by slot, those
    of other ranks under negative ones.
    """
    number, op = seen.op, scene.graph.ops[seen.op]
    kappa = condition_number(op, inputs, seen.outputs)
    steps = quantization_error(scene.found, number, scene.measured)
    known = limits()
    factor = known.pass_factor if kappa is None else known.steady_factor
    factor = factor if steps is None else known.steps_factor
    other = _other_integer(seen)
    if other is not None and steps is None:
        return Expected(other, 0.0, 0.0, factor, 0.0, True, None)
    worst = _worst(seen)
    floor = rounded(expected_rounding(op, scene.roundoff[number]), steps)
    floor += _rest_of_group(scene, number)
    unit = max(scene.roundoff[number], FLOAT32)
    floor = carry.fit.floor(op, worst, floor, step=2.0 * unit / factor, inherited=seen.inherited)
    unseen = _unseen(scene, number, inputs) if carry.fit.is_apart else 0.0
    inherited = max(seen.inherited, seen.correlated, unseen)
    explained = (kappa or 1.0) * _with_inherited(floor, inherited)
    explained = max(explained, _between_runs(worst) / factor)
    seen = seen._replace(inherited=max(seen.inherited, unseen))
    step = _step_of(scene, seen, floor, carry)
    if step is not None:
        variable, limit = step
        return Expected(variable, floor, limit / factor, factor, limit, True, steps)
    limit = factor * explained
    if (
        worst is not None
        and (is_discontinuous(op) or worst.exact)
        and seen.inherited > 0
        and math.isfinite(worst.error)
    ):
        limit = max(jump_limit(op, floor + seen.inherited), _between_runs(worst))
    exceeds = worst is None or worst.error > limit
    return Expected(worst, floor, explained, factor, limit, exceeds, steps)


# --- what a unit adds that computes in fewer bits than any file or graph of the run tells ------------


def own_excess(error: float, inherited: float) -> float | None:
    """Error of an operator beyond what came in, 0 where that hides it; ``None`` where it is not finite.

    Independent errors add up as squares.
    """
    return math.sqrt(max(error**2 - inherited**2, 0.0)) if math.isfinite(error) else None


def shown_by_others(own: Mapping[int, float]) -> dict[int, float]:
    """Median of what the others add, for each of some operators in order; infinite where there are no two others.

    Two before it say more than those behind, which may add to its error. What is hidden behind what came in counts only
    where no two others are to be seen.
    """
    shown, errors = {}, list(own.values())
    before, seen = RunningMedian(), RunningMedian()
    for place, (op, error) in enumerate(own.items()):
        if place > 1:
            shown[op] = (seen if len(seen) > 1 else before).value
        else:
            others = errors[:place] + errors[place + 1 :]
            off = [one for one in others if one > 0]
            known = off if len(off) > 1 else others
            shown[op] = median_of(known) if len(known) > 1 else math.inf
        before.add(error)
        if error > 0:
            seen.add(error)
    return shown


class RunningMedian:
    """Median of numbers while they are added."""

    def __init__(self) -> None:
        self._low: list[float] = []  # the smaller half with its sign turned, the largest first
        self._high: list[float] = []

    def __len__(self) -> int:
        return len(self._low) + len(self._high)

    def add(self, number: float) -> None:
        """Add a number."""
        heappush(self._low, -heappushpop(self._high, number))
        if len(self._low) > len(self._high):
            heappush(self._high, -heappop(self._low))

    @property
    def value(self) -> float:
        """The median; of an even count the mean of the two in the middle."""
        if len(self._high) > len(self._low):
            return self._high[0]
        return (self._high[0] - self._low[0]) / 2


def is_as_others(own: float, shown: float) -> bool:
    """Whether an operator adds no more than the others of its unit do, and no more than any format makes it."""
    known = limits()
    return own <= known.excused_most and own <= known.steps_factor * shown


def is_of_unit(scene: Scene, seen: Observation) -> bool:
    """Whether a product is off no more than the other products of a run whose graph, and so its formats, are lent.

    Replay from what the target has dumped knows better: whom that does not reproduce is not excused.
    """
    lent = scene.survey.npu and scene.survey.pairing.target.trust(scene.block).graph == "borrowed"
    replayed = seen.replayed is not None and not seen.replayed.assumed
    if not lent or replayed or scene.graph.ops[seen.op].op_type not in CONTRACTIONS:
        return False
    products = (n for n, op in enumerate(scene.graph.ops) if op.op_type in CONTRACTIONS)
    added = {n: _added_by(scene, n) for n in products}
    own = {n: error for n, error in added.items() if error is not None}
    return seen.op in own and is_as_others(own[seen.op], shown_by_others(own)[seen.op])


def doubt_of_figures(scene: Scene, seen: Observation, carry: Carry) -> str:
    """Why statistics of an operator do not tell who is wrong, though any format may explain its error; ``""``: they do.

    Statistics do not show how far what it read differs, and what nobody dumped may differ as far. A forecast shows it,
    as long as the device computes as it says: on a lent graph it may be of another network, and where the device is
    seen to compute otherwise it says nothing of what nobody dumped.
    """
    worst, lent = seen.worst, scene.trust.graph == "borrowed"
    if worst is None or worst.exact or worst.pair.target.source is not None:
        return ""
    foretold = worst.forecast is not None and not carry.fit.is_apart
    if foretold or worst.error > limits().excused_most:
        return ""
    if lent and seen.inherited > 0:
        return "figures-alone"
    computes = (scene.graph.ops[number].op_type not in MOVEMENT for number in seen.unobserved)
    known = lent or worst.forecast is not None
    return "inputs-unknown" if known and any(computes) else ""


def _added_by(scene: Scene, number: int) -> float | None:
    """Error that an operator adds to that of what it reads, by its worst output."""
    measured = scene.measured(number)
    given = [m for (io, _), m in measured.items() if io == "output" and m.usable and not m.exact]
    read = read_inputs(scene.graph, number, scene.measured).values()
    if not given:
        return None
    came = (m.error for m in read if m.usable and math.isfinite(m.error))
    return own_excess(max(m.error for m in given), max(came, default=0.0))


def _unseen(scene: Scene, number: int, inputs: Mapping[int, Measured]) -> float:
    """Error of the inputs that their statistics need not show, where the device rounds otherwise than the forecast.

    The forecast has made roundings of the same size in its own way: it is about as far from the golden as the target
    is. Where elements pass or not, it may be far from either: one that passes elsewhere is off altogether.
    """
    found = [item.spread for item in inputs.values() if item.forecast is not None]
    graph = scene.graph
    for operand in graph.ops[number].flat_inputs() if found else ():
        source = producer(graph, operand, MOVEMENT)
        if isinstance(source, Value) and graph.ops[source.op].op_type in MASKS:
            found.append(math.sqrt(_noise_of(scene, source.op)))
    return max(found, default=0.0)


def _noise_of(scene: Scene, number: int) -> float:
    """Error of what an operator computes with, of which its statistics show but a part."""
    read = read_inputs(scene.graph, number, scene.measured).values()
    shown = (max(item.error, item.spread) for item in read if item.usable)
    rounding = expected_rounding(scene.graph.ops[number], scene.roundoff[number])
    return rounding + max((one for one in shown if math.isfinite(one)), default=0.0)


def _worst(seen: Observation) -> Measured | None:
    """Return the output that is farthest off; one that other runs of the target explain only if there is no other."""
    known = seen.outputs.values()
    beyond = [one for one in known if not one.within_runs]
    return max(beyond or known, key=lambda m: m.error, default=None)


def _between_runs(worst: Measured | None) -> float:
    """Relative error of an output that other runs of the target explain."""
    return worst.between_runs if worst is not None and worst.within_runs else 0.0


def _other_integer(seen: Observation) -> Measured | None:
    """Return an output of integers that differs though all that the operator reads is the same: nothing excuses it.

    Where floats come in that differ a little, any integer may come of them.
    """
    if seen.inherited > 0:
        return None
    wrong = (one for one in seen.outputs.values() if one.exact and one.error > 0)
    return next((one for one in wrong if not one.within_runs), None)


def _with_inherited(floor: float, inherited: float) -> float:
    # a product of two wrong factors, as the square that Adam takes, has both errors and their product
    return floor + inherited * (limits().amplification + inherited)


def _rest_of_group(scene: Scene, number: int) -> float:
    """Rounding of the other operators that a group was measured together with."""
    if scene.found is None or number in scene.found.match_of:
        return 0.0
    group = next((g for g in scene.found.groups if number in g.target and g.golden), None)
    if group is None:
        return 0.0
    ops = scene.graph.ops
    others = [n for n in group.target if n < number and ops[n].op_type not in MOVEMENT]
    return sum(expected_rounding(ops[n], scene.roundoff[n]) for n in others)


def _step_of(
    scene: Scene, seen: Observation, floor: float, carry: Carry
) -> tuple[Measured, float] | None:
    """Return an updated variable and its limit, if it is farther off than the step explains."""
    op = scene.graph.ops[seen.op]
    variable = seen.outputs.get(-1) or seen.outputs.get(0)
    before = _left_in_variable(scene, op, carry)
    if (
        variable is None
        or variable.within_runs
        or before is None
        or not math.isfinite(seen.inherited)
    ):
        return None
    noise = _with_inherited(floor, seen.inherited)
    limit = step_limit(op, seen.measured, variable, before, noise)
    return (variable, limit) if limit is not None and variable.error > limit else None


def _left_in_variable(scene: Scene, op: Op, carry: Carry) -> float | None:
    """Error of the variable that an optimizer updates before it does; ``None`` if it is not known."""
    name = next((name for slot, name in updates(scene.graph, op) if slot == 0), "")
    known = 0.0 if scene.block.iteration == 0 else None
    return carry.last_update.get((scene.block.rank, name), known) if name else None


_STEPS: dict[str, tuple[int, tuple[int, ...]]] = {
    "ApplyMomentum": (2, (1, 3)),
    "SGD": (2, (3, 1)),
}
"""Type → input slots of the learning rate, and of what the step is made of."""

_ADAPTIVE = {"Adam": 5, "AdamWeightDecay": 3}
"""Type → input slot of the learning rate, where the step is divided by its own length."""


def step_limit(
    op: Op, measured: Measures, variable: Measured, before: float, noise: float
) -> float | None:
    """Largest error of an updated variable that is no cause; ``None`` if it is not known.

    ``before`` is the error of the variable before the step, ``noise`` that of what the step is made of; factors for
    noise are in the limit.
    """
    known = limits()
    if op.op_type in _ADAPTIVE:
        rate = _rate(measured, _ADAPTIVE[op.op_type])
        length = known.adapted_step * math.sqrt(variable.divergence.size)
        direction = known.pass_factor * math.sqrt(noise)
    elif op.op_type in _STEPS:
        slot, made_of = _STEPS[op.op_type]
        rate = _rate(measured, slot)
        norms = [_norm(measured, one) for one in made_of]
        length = sum(norm for norm in norms if norm is not None)
        rate = None if None in norms else rate
        direction = known.pass_factor * noise
    else:
        return None
    whole = golden_norm(variable)
    if rate is None or not whole:
        return None
    rounding = expected_rounding(op, op_roundoff(op, npu=False))
    own = known.pass_factor * (rounding + known.amplification * before)
    return own + rate * length / whole * min(direction, known.turned_step)


def _rate(measured: Measures, slot: int) -> float | None:
    """Learning rate of the golden."""
    item = measured.get(("input", slot))
    if item is None or not item.usable or item.divergence.size != 1:
        return None
    value = item.divergence.metrics.get("GoldenMax")
    return abs(value) if value is not None and math.isfinite(value) else None


def _norm(measured: Measures, slot: int) -> float | None:
    item = measured.get(("input", slot))
    return golden_norm(item) if item is not None else None


def initial_state_differs(scene: Scene, seen: Observation, carry: Carry) -> tuple[Difference, ...]:
    """State that differs after its first update, where all that the operator reads and gives besides agrees.

    What it held before is in no dump: inputs are dumped after the operator has run.
    """
    worst = seen.expected.worst
    given = [m.error for (io, _), m in seen.measured.items() if io == "output" and m.usable]
    convicted = seen.replayed is not None and seen.replayed.suspect
    if worst is None or not worst.rewritten or not given or convicted:
        return ()
    names = dict(updates(scene.graph, scene.graph.ops[seen.op]))
    name = names.get(worst.pair.slot, "")
    known = (scene.block.rank, name) in carry.last_update
    if (
        not name
        or known
        or max(given) > seen.expected.tolerance_factor * seen.expected.expected_error
    ):
        return ()
    return (Difference("parameter", name, Message("compare/initial-value", name=name)),)


# --- what was dumped only as what its readers read ----------------------------------------------


_SAME_ELEMENTS = IDENTITY | frozenset(
    ("Reshape", "Flatten", "ExpandDims", "Squeeze", "Transpose", "View", "ReshapeExt")
)


def values_seen_by_readers(
    graph: Graph, found: Alignment | None, measured: Lookup
) -> dict[Value, Measured]:
    """Return the values that were dumped only as the input of an operator that reads the same thing."""
    table: dict[Value, Measured] = {}
    for number, op in enumerate(graph.ops):
        checkpoint()
        mine = measured(number)
        for slot, operand in enumerate(op.flat_inputs()):
            item = mine.get(("input", slot))
            if not isinstance(operand, Value) or item is None or not item.usable:
                continue
            own = measured(operand.op).get(("output", operand.slot))
            if (own is None or not own.usable) and _reads_the_same(found, number, slot, operand):
                table.setdefault(operand, item)
    for number in reversed(range(len(graph.ops))):  # casts of casts carry one value
        op = graph.ops[number]
        item = table.get(Value(number, 0)) if op.op_type in IDENTITY else None
        source = op.operand(0)
        if item is not None and isinstance(source, Value) and not coarsens(op):
            table.setdefault(source, item)
    return table


def read_inputs(graph: Graph, number: int, measured: Lookup) -> dict[int, Measured]:
    """Pairs of an operator's inputs by slot; if none was dumped, of the outputs that it reads.

    Those may lie in another order, which is no matter for norms.
    """
    found = {slot: item for (io, slot), item in measured(number).items() if io == "input"}
    if found:
        return found
    for slot, operand in enumerate(graph.ops[number].flat_inputs()):
        item = _output(graph, operand, measured)
        if item is not None:
            found[slot] = item
    return found


def _output(graph: Graph, operand: Operand | None, measured: Lookup) -> Measured | None:
    """Pair of the output that an operand is, looked for behind casts and other shapes."""
    for one in path_back(graph, operand, _SAME_ELEMENTS):
        item = measured(one.op).get(("output", one.slot)) if isinstance(one, Value) else None
        if item is not None and item.usable:
            return item
    return None


def _reads_the_same(found: Alignment | None, number: int, slot: int, operand: Value) -> bool:
    """Whether the golden's reader gets its input from the partner of the target's producer."""
    if found is None or number not in found.match_of:
        return True
    producer = found.mapped(found.target.origin(operand))
    others = found.golden.origins(found.match_of[number])
    return producer is None or slot >= len(others) or others[slot] == producer
