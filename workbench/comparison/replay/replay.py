"""Replay: what every operator of the target adds to the error by itself.

An operator is computed again from the inputs that it really had. What is left over is its own error,
whatever arrived through its inputs. First in exact arithmetic; what that does not explain is shown to the
numeric models, of which one is believed for the whole dump; what that one does not explain either is
measured against the condition of the operator on its data. An own error beyond that is *suspect*.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import suppress
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import dataclass
from workbench.comparison.graphs.roles import LEAVES, ends_of
from workbench.comparison.limits import limits
from workbench.comparison.measure.noise import summation_length, sums
from workbench.comparison.replay.attempt import NOT_DUMPED, TROUBLE, Attempt, ReplayCache
from workbench.comparison.replay.floors import Floor, careful_floor, condition
from workbench.comparison.replay.kernel import distance
from workbench.comparison.replay.own_error import (
    OwnError,
    assess_own_error,
    errors_of,
    is_out_of_range,
    library_own_error,
    ordered_own_error,
    quick_own_error,
    try_own_error,
)
from workbench.comparison.replay.slices import least_slice_error
from workbench.core.long_work import Stopped, is_stopped
from workbench.core.words import Message
from workbench.npu.arithmetic import EXACT, Arithmetic
from workbench.npu.orders.known import NO_ORDERS, Orders
from workbench.ops import CONTRACTIONS, IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.replay.attempt import Counts
    from workbench.comparison.replay.inputs import DumpedInputs
    from workbench.comparison.replay.models import Candidate
    from workbench.comparison.replay.slices import SliceError
    from workbench.graph.graph import Graph, Op

    Place = tuple[Execution, int]


_SAMPLE = 16
"""Operators that are shown to every model."""

_HALF = 2.0**-13
"""Unit roundoffs above this are those of formats of 16 bits and fewer."""

_CLEAN = OwnError(0, 0.0, Floor(0.0, 0.0), 0.0)
_NOWHERE: Mapping[Place, Sequence[int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Replay:
    """Own errors by execution and operator, and why others have none.

    Attributes
    ----------
    own : mapping
        Own errors, in order of execution.
    reasons : mapping
        Why operators that compute cannot be computed again.
    models : mapping
        The numeric model that was selected, by rank and number of the graph; none where exact arithmetic does.
    """

    own_errors: Mapping[Place, OwnError]
    reasons: Mapping[Place, Message]
    models: Mapping[tuple[int, int], Candidate]
    _cache: ReplayCache = field(repr=False, compare=False)

    @property
    def target_inputs(self) -> DumpedInputs:
        """What the target's operators read and gave."""
        return self._cache.target_inputs

    @property
    def golden_inputs(self) -> DumpedInputs:
        """What the golden's operators read and gave."""
        return self._cache.golden_inputs

    def attempt(self, block: Execution, number: int) -> Attempt | Message:
        """Return an operator of the target ready to be computed, or why it cannot be."""
        return self._cache.attempt(block, number)

    def golden_attempt(
        self, block: Execution, number: int, *, loosely: bool = False
    ) -> Attempt | Message:
        """Return the golden's counterpart of an operator likewise, as `ReplayCache.golden_attempt` does."""
        return self._cache.golden_attempt(block, number, loosely=loosely)

    def forget(self) -> None:
        """Let go of the arrays of both dumps, up to 192 MiB; whoever asks again reads them again."""
        self._cache.forget()

    @property
    def titles(self) -> tuple[Message, ...]:
        """Titles of the selected models, the dtypes alone not told."""
        return tuple(dict.fromkeys(one.title for one in self.models.values()))

    @property
    def coverage(self) -> float:
        """Share of the dumped compute operators that were computed again."""
        whole = len(self.own_errors) + len(self.reasons)
        return len(self.own_errors) / whole if whole else 0.0

    def why_not(self) -> list[tuple[Message, int]]:
        """Reasons with the number of operators, most frequent first; what reads alike is one."""
        said = {str(reason): reason for reason in self.reasons.values()}
        counts = Counter(map(str, self.reasons.values()))
        return [(said[text], count) for text, count in counts.most_common()]

    def reproduces(self, block: Execution, number: int, *, assumed: bool = False) -> bool:
        """Whether an operator gave just what it had to from its own inputs, or from ``assumed`` ones, too.

        What a number format cannot hold, too large or too small, is no reason to clear it.
        """
        own = self.own_errors.get((block, number))
        if own is None or own.suspect or (own.assumed and not assumed):
            return False
        attempt = self._cache.attempt(block, number)
        try:
            return isinstance(attempt, Attempt) and not is_out_of_range(attempt, own.slot)
        except TROUBLE:
            return False

    def propagated_error(self, block: Execution, number: int, slot: int, inherited: float) -> float:
        """Return the error that an operator makes of an error of its inputs, on its own data."""
        attempt = self._cache.attempt(block, number)
        try:
            return 0.0 if not isinstance(attempt, Attempt) else condition(attempt, slot) * inherited
        except TROUBLE:
            return 0.0

    def golden(self, block: Execution, number: int) -> OwnError | None:
        """Return the own error of the golden's counterpart of an operator; ``None`` if it is not known."""
        attempt = self._cache.golden_attempt(block, number)
        if not isinstance(attempt, Attempt) or attempt.invented:
            return None
        return library_own_error(attempt)

    def model_weight_error(self, block: Execution, number: int) -> float:
        """Return by how much an operator is off what the golden's model makes of what it read; 0 if that explains it.

        Its own weights may explain it nevertheless: then these are others.
        """
        attempt = self._cache.of_network(block, number)
        own = try_own_error(attempt, Arithmetic("cube"))
        return own.error if own is not None and own.suspect else 0.0

    @property
    def suspects(self) -> list[Place]:
        """Executions whose own error nothing explains, in order."""
        return [place for place, one in self.own_errors.items() if one.suspect]


def replay(
    pairing: Pairing,
    *,
    npu: bool,
    orders: Orders = NO_ORDERS,
    local: Mapping[Place, Sequence[int]] = _NOWHERE,
    counts: Counts | None = None,
) -> Replay:
    """Compute every operator of the target again, as far as its inputs are known; never raises.

    Whoever stops this work (`workbench.core.long_work`) has what was decided by then.

    ``npu``: the target ran on an NPU, so the numeric models of its units are tried. ``orders``: in which order the
    target's device sums, as far as that is known. ``local`` are outputs of operators of which a slice differs from
    the golden's, ``counts`` says which elements of outputs count where not all do.
    """
    cache = ReplayCache(pairing, counts)
    own: dict[Place, OwnError] = {}
    reasons: dict[Place, Message] = {}
    models: dict[tuple[int, int], Candidate] = {}
    graphs: dict[tuple[int, int], list[Execution]] = {}
    for execution in pairing.block_order:
        if pairing.target.graph(execution) is not None:
            graphs.setdefault(execution.graph_key, []).append(execution)
    for key, executions in graphs.items():
        graph = pairing.target.graph(executions[0])
        if graph is not None and not is_stopped():
            one = _GraphReplay(cache, graph, executions, npu=npu, orders=orders)
            one.run()
            with suppress(Stopped):
                one.look_at_slices(local)
            own |= one.own_errors
            reasons |= one.reasons
            if one.selected_model is not None:
                models[key] = one.selected_model
    order = {execution: n for n, execution in enumerate(pairing.block_order)}
    own = dict(sorted(own.items(), key=lambda item: (order[item[0][0]], item[0][1])))
    return Replay(MappingProxyType(own), MappingProxyType(reasons), MappingProxyType(models), cache)


class _GraphReplay:
    """Own errors of the executions of one graph while they are found.

    ``open`` are operators that exact arithmetic does not explain, in order; ``wide`` says that the vector unit is
    known to compute in float32; ``tried`` what arithmetics leave unexplained.
    """

    def __init__(
        self,
        cache: ReplayCache,
        graph: Graph,
        executions: Sequence[Execution],
        *,
        npu: bool,
        orders: Orders,
    ) -> None:
        self._cache = cache
        self._orders = orders
        self.npu = npu
        self.graph = graph
        self.executions = executions
        self.own_errors: dict[Place, OwnError] = {}
        self.reasons: dict[Place, Message] = {}
        self.selected_model: Candidate | None = None
        self.open: dict[Place, None] = {}
        self.wide = False
        self.tried: dict[tuple[Place, Arithmetic], float] = {}
        self.sums_of_unit: dict[bool, list[tuple[int, bool]]] = {}

    def run(self) -> None:
        """Find them; after a stop only those that are explained: what is suspect might have been acquitted yet."""
        try:
            self._find()
        except Stopped:
            self.own_errors = {
                place: own
                for place, own in self.own_errors.items()
                if place not in self.open and not own.suspect and not own.is_biased
            }

    def _find(self) -> None:
        """Find them: exactly, by the selected model, and beside their like; the golden's word is the last."""
        skipped = ends_of(self.graph)
        for execution in self.executions:
            for number, op in enumerate(self.graph.ops):
                if number in skipped or op.op_type in LEAVES:
                    continue
                self._first((execution, number), op)
        self.selected_model = self._select_model()
        self.wide = self._computes_wide()
        for place in self.open:
            self._second(place)
        self._biases()
        self._wide_inside()
        self._of_any_order()
        self._outliers()
        if self._orders:
            self._in_known_order()
        for place in [place for place in self.open if self.own_errors.get(place, _CLEAN).suspect]:
            if self._golden_too(place):
                del self.own_errors[place]
                self.reasons[place] = Message("compare/golden-deviates")

    def look_at_slices(self, local: Mapping[Place, Sequence[int]]) -> None:
        """Measure results slice by slice that the norm does not make suspect."""
        for place, slots in local.items():
            own = self.own_errors.get(place)
            if own is None or own.suspect or place[0] not in self.executions:
                continue
            found = self._slices(place, own, slots)
            if found is not None:
                slot, error = found
                self.own_errors[place] = own._replace(
                    slot=slot,
                    error=dict(own.errors).get(slot, own.error),
                    suspect=error.times,
                    slices=error,
                )

    def _slices(
        self, place: Place, own: OwnError, slots: Sequence[int]
    ) -> tuple[int, SliceError] | None:
        """The first output with slices that no arithmetic explains, and that the golden gave as it had to."""
        attempt = self._cache.attempt(*place)
        if not isinstance(attempt, Attempt):
            return None
        for slot in slots:
            found = least_slice_error(
                attempt, slot, {own.arithmetic, self._arithmetic(place[1]), EXACT}, npu=self.npu
            )
            if found is not None and not self._golden_local(place, slot):
                return slot, found
        return None

    def _golden_local(self, place: Place, slot: int) -> bool:
        """Whether slices of the golden's counterpart are off from what it read as well."""
        attempt = self._cache.golden_attempt(*place)
        if not isinstance(attempt, Attempt):
            return False
        return least_slice_error(attempt, slot, {EXACT}, npu=False) is not None

    def _first(self, place: Place, op: Op) -> None:
        """Compute an operator exactly; what is not explained stays open."""
        attempt = self._cache.attempt(*place)
        if not isinstance(attempt, Attempt):
            self._not(place, op, attempt)
            return
        try:
            found = quick_own_error(attempt)
        except TROUBLE as error:
            self._not(place, op, Message("compare/inputs-unfit", why=error))
            return
        if found is None:
            self._not(place, op, Message("compare/inputs-unknown"))
            return
        own, explained = found
        self.own_errors[place] = own
        self.tried[place, EXACT] = _order(error for _, error in own.errors)
        self.open |= {} if explained else {place: None}

    def _not(self, place: Place, op: Op, reason: Message) -> None:
        if reason.code != NOT_DUMPED and op.op_type not in IDENTITY:
            self.reasons[place] = reason

    def _select_model(self) -> Candidate | None:
        """The model that leaves least of what exact arithmetic does not explain; ``None``: none does better."""
        if not self.npu or not self.open:
            return None
        kinds = {self.graph.ops[place[1]].op_type: place for place in reversed(self.open)}
        step = max(1, len(self.open) // _SAMPLE)
        sample = list(dict.fromkeys((*kinds.values(), *list(self.open)[::step])))
        settled = [place for place in self.own_errors if place not in self.open]
        sample += settled[:: max(1, len(settled) // _SAMPLE)]
        best, least = None, sum(self._left(place, EXACT) for place in sample) - 1.0
        for model in self._cache.candidates(self.graph):
            left = sum(self._left(place, model.arithmetics[place[1]]) for place in sample)
            if left < least:
                best, least = model, left
        return best

    def _computes_wide(self) -> bool:
        """Whether operators of 16-bit formats, but for a few, are off by the rounding of their results alone."""
        found = [
            place in self.open
            for place, own in self.own_errors.items()
            if own.floor.ulp > _HALF
            and self.graph.ops[place[1]].op_type not in CONTRACTIONS | MOVEMENT
        ]
        known = limits()
        enough = len(found) >= known.peers_exact
        return enough and sum(found) <= known.otherwise_share * len(found)

    def _left(self, place: Place, arithmetic: Arithmetic) -> float:
        """Order of magnitude of what an arithmetic leaves unexplained; of products the formats count."""
        if self.graph.ops[place[1]].op_type in CONTRACTIONS or not _is_special(arithmetic):
            arithmetic = arithmetic._replace(precision="float64", implementation="")
        key = (place, arithmetic)
        if key not in self.tried:
            self.tried[key] = _order(self._distances(place, arithmetic))
        return self.tried[key]

    def _distances(self, place: Place, arithmetic: Arithmetic) -> Iterable[float]:
        attempt = self._cache.attempt(*place)
        if not isinstance(attempt, Attempt):
            return ()
        try:
            return errors_of(attempt, attempt.results(arithmetic)).values()
        except TROUBLE:
            return ()

    def _arithmetic(self, number: int) -> Arithmetic:
        """How the device computes an operator, as far as that is known."""
        if self.selected_model is not None:
            return self.selected_model.arithmetics[number]
        return Arithmetic("cube") if self.npu else EXACT

    def _second(self, place: Place) -> None:
        """Measure an open operator with the selected model, else exactly, and against its condition."""
        attempt = self._cache.attempt(*place)
        if not isinstance(attempt, Attempt):
            return
        arithmetic = self._arithmetic(place[1])
        try:
            own = assess_own_error(attempt, arithmetic, wide=self.wide)
            if own.suspect and attempt.invented and not self._golden_fits(place):
                own = assess_own_error(attempt.without_inventions(), arithmetic, wide=self.wide)
            plain = own if not own.suspect else assess_own_error(attempt, EXACT, wide=self.wide)
            self.own_errors[place] = own if plain.suspect else plain
        except TROUBLE as error:
            self.own_errors.pop(place, None)
            self.reasons[place] = Message("compare/inputs-unfit", why=error)

    def _in_known_order(self) -> None:
        """Measure sums whose order is known: bit-equal ones have no error, whatever rounding would explain.

        Others are held against no rounding at all only where several show that this is the order here.
        """
        found = {
            place: own for place in self.own_errors if (own := self._ordered(place)) is not None
        }
        exact = sum(own.is_reproduced and not own.error for own in found.values())
        for place, own in found.items():
            if not own.error:
                self.own_errors[place] = own
            elif exact >= limits().peers_exact and not own.assumed:
                ulp = self.own_errors[place].floor.ulp or own.error
                suspect = max(own.error / ulp, limits().suspect_factor + 1.0)
                self.own_errors[place] = own._replace(suspect=suspect)
                self.open[place] = None

    def _ordered(self, place: Place) -> OwnError | None:
        """Return the own error of a sum against its known order; ``None``: it is no such sum."""
        attempt = self._cache.attempt(*place)
        arithmetic = self._arithmetic(place[1])
        arithmetic = (Arithmetic("cube") if arithmetic == EXACT else arithmetic)._replace(
            orders=self._orders
        )
        try:
            if (
                not isinstance(attempt, Attempt)
                or attempt.partial
                or not attempt.is_ordered(arithmetic)
            ):
                return None
            return ordered_own_error(attempt, arithmetic)
        except TROUBLE:
            return None

    def _golden_fits(self, place: Place) -> bool:
        """Whether the golden's counterpart gave what it had to, the same things assumed."""
        attempt = self._cache.golden_attempt(*place)
        own = try_own_error(attempt, EXACT)
        return own is not None and not own.suspect

    def _golden_too(self, place: Place) -> bool:
        """Whether the golden's counterpart is off as much: then the reference is another operator."""
        own = self.own_errors[place]
        attempt = self._cache.golden_counterpart(*place, own.rule)
        if not isinstance(attempt, Attempt):
            return bool(own.assumed)
        try:
            expected = attempt.results().get(own.slot)
            if expected is None:
                return False
            error = distance(attempt.given[own.slot], expected)
            if not math.isfinite(own.error) or error <= 0.25 * own.error:
                return not math.isfinite(error)
            floor = careful_floor(attempt, own.slot, expected, EXACT)
        except TROUBLE:
            return bool(own.assumed)
        return error > limits().suspect_factor * floor.rounding

    def _biases(self) -> None:
        """Take common factors back that the arithmetic of the device explains: it may approximate from one side."""
        for place, own in self.own_errors.items():
            if own.suspect or not own.is_biased:
                continue
            again = try_own_error(self._cache.attempt(*place), self._arithmetic(place[1]))
            if again is None or not again.is_biased:
                self.own_errors[place] = own._replace(deviation=None)

    def _wide_inside(self) -> None:
        """Measure kernels again whose steps round nothing in others, which are reproduced to the bit."""
        fused = dict(self._fused())
        exact = {place for place in fused if self.own_errors[place].is_reproduced}
        kernels = {(place[1], step) for place in exact for step in fused[place]}
        shown = Counter(step for _, step in kernels)
        alike = limits().kernels_alike
        for place in fused.keys() - exact:
            if self.own_errors[place].suspect or min(shown[one] for one in fused[place]) < alike:
                continue
            again = self._retry(place, unrounded=True)
            if again is not None and again.suspect:
                self.own_errors[place] = again

    def _fused(self) -> Iterable[tuple[Place, frozenset[tuple[str, str]]]]:
        """Kernels of several operators, a product among them: the types of the others, and the written dtype."""
        for place, own in self.own_errors.items():
            attempt = self._cache.attempt(*place)
            if not isinstance(attempt, Attempt) or attempt.given[own.slot].size < 2:
                continue
            types = {op.op_type for op in attempt.kernel.ops}
            if types & CONTRACTIONS and types - CONTRACTIONS:
                dtype = attempt.given[own.slot].dtype.name
                yield place, frozenset((one, dtype) for one in types - CONTRACTIONS)

    def _outliers(self) -> None:
        """Suspect operators that are not reproduced to the bit where all of their like are.

        Shorter sums say nothing: whatever their order, of few terms they may be exact.
        """
        for members in self._like():
            odd = [place for place in members if not self.own_errors[place].is_reproduced]
            numbers = {number for _, number in odd}
            longest = max((self._length(number) for number in numbers), default=1.0)
            exact = sum(p[1] not in numbers and self._length(p[1]) >= longest for p in members)
            if len(numbers) != 1 or exact < limits().peers_exact:
                continue
            for place in odd:
                own = self.own_errors[place]
                again = None if own.suspect or own.rule != "table" else self._retry(place)
                if again is not None and again.is_beyond_rounding:
                    self.own_errors[place] = again._replace(suspect=limits().outlier_factor)

    def _of_any_order(self) -> None:
        """Acquit what another order of summation explains, unless the device is seen to sum as its model does."""
        for place, own in self.own_errors.items():
            floor = own.floor.of_any_order
            beyond = limits().suspect_factor * floor.rounding
            if not own.suspect or own.is_reproduced or not 0.0 < own.error <= beyond:
                continue
            if not self._sums_as_model(place):
                self.own_errors[place] = own._replace(suspect=0.0, floor=floor)

    def _sums_as_model(self, place: Place) -> bool:
        """Whether other sums of the same unit, no shorter, are reproduced to the bit in float32, but for a few."""
        known, length = limits(), self._length(place[1])
        shown = [
            exact
            for number, exact in self._sums_of_unit(cube=self._is_product(place[1]))
            if number != place[1] and self._length(number) >= length
        ]
        exact = sum(shown)
        return exact >= known.peers_exact and exact >= (1.0 - known.otherwise_share) * len(shown)

    def _sums_of_unit(self, *, cube: bool) -> list[tuple[int, bool]]:
        """Some sums of a unit in float32, and whether they are reproduced to the bit; measured once."""
        if cube not in self.sums_of_unit:
            found = [place for place in self.own_errors if self._sums(place, cube=cube)]
            found = found[:: max(1, len(found) // _SAMPLE)]
            self.sums_of_unit[cube] = [(place[1], self._is_exact(place)) for place in found]
        return self.sums_of_unit[cube]

    def _length(self, number: int) -> float:
        return summation_length(self.graph.ops[number])

    def _is_product(self, number: int) -> bool:
        return self.graph.ops[number].op_type in CONTRACTIONS

    def _sums(self, place: Place, *, cube: bool) -> bool:
        """Whether an operator sums on a unit, and gives several numbers of float32."""
        op = self.graph.ops[place[1]]
        several = op.outputs[:1] and op.outputs[0].size != 1 and op.outputs[0].dtype == "float32"
        return bool(several) and sums(op) and self._is_product(place[1]) == cube

    def _is_exact(self, place: Place) -> bool:
        """Whether an operator is reproduced to the bit as its unit is known to compute."""
        again = self._retry(place)
        return again is not None and again.is_reproduced

    def _like(self) -> Iterable[list[Place]]:
        """Executions of operators of one type that are computed alike.

        Single numbers are left out: they are reproduced to the bit by luck.
        """
        groups: dict[tuple[str, Arithmetic, str], list[Place]] = {}
        for place, own in self.own_errors.items():
            op = self.graph.ops[place[1]]
            if not (op.outputs[:1] and op.outputs[0].size == 1):
                groups.setdefault((op.op_type, own.arithmetic, own.rule), []).append(place)
        return groups.values()

    def _retry(self, place: Place, *, unrounded: bool = False) -> OwnError | None:
        """Measure an operator with the arithmetic of the selected units, whatever else explains it."""
        attempt = self._cache.attempt(*place)
        model = self.selected_model
        arithmetic = model.arithmetics[place[1]] if model is not None else Arithmetic("cube")
        if not isinstance(attempt, Attempt):
            return None
        wide = unrounded or self.wide
        return try_own_error(attempt, arithmetic, wide=wide, unrounded=unrounded)


def _order(errors: Iterable[float]) -> float:
    """Order of magnitude of the largest relative error; nothing computed is as bad as all wrong."""
    return math.log10(max(min(max(errors, default=1.0), 1.0), limits().replay_equal))


def _is_special(arithmetic: Arithmetic) -> bool:
    """Whether an arithmetic is more than float32."""
    exact = arithmetic.implementation in ("", "high_precision")
    rounds = arithmetic.inputs or arithmetic.output or arithmetic.saturates or arithmetic.flushes
    return bool(rounds or not exact)
