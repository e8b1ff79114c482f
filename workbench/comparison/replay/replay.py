"""Replay: what every operator of the target adds to the error by itself.

An operator is computed again from the inputs that it really had. What is left over is its own error,
whatever arrived through its inputs. First in exact arithmetic; what that does not explain is shown to the
numeric models, of which one is believed for the whole dump; what that one does not explain either is
measured against the condition of the operator on its data. An own error beyond that is *suspect*.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.comparison.graphs.roles import LEAVES, ends_of
from workbench.comparison.replay.attempt import (
    NOT_DUMPED,
    TROUBLE,
    Attempt,
    Attempts,
    share_unequal,
)
from workbench.comparison.replay.floors import Floor, careful_floor, condition, quick_floor, unit_of
from workbench.comparison.replay.kernel import EXACT, Arithmetic, cast_like, distance
from workbench.comparison.replay.models import candidates
from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.graph.traits import CONTRACTIONS, IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.replay.models import Candidate
    from workbench.graph.nodes import Graph, Op

SUSPECT = 3.0
"""Own errors above this multiple of the careful floor are suspect."""

OUTLIER = 3.0
"""The same multiple of the largest own error of its like, where all of these agree closely."""

_PEERS = 3
"""Operators of the same unit that must be reproduced to the bit before one that is not is suspect for it."""

_ALIKE = 2
"""Kernels that must be reproduced to the bit before their steps are known to round nothing inside of others."""

_SAMPLE = 16
"""Operators that are shown to every model."""

_LEAST = 1e-6
"""Relative error below which two models are equally good."""

_HALF = 2.0**-13
"""Unit roundoffs above this are those of formats of 16 bits and fewer."""

_FEW = 0.25
"""Share of operators that may do otherwise than the others without telling anything of the unit."""

_SAME = 1e-3
"""Share of elements that may be another number where an operator counts as reproduced to the bit."""


@dataclass(frozen=True, slots=True)
class OwnError:
    """The own error of one execution of one operator.

    ``error`` is relative, of output ``slot`` (of overwritten input ``s`` it is ``-1 - s``); ``floor`` what
    explains it; ``unequal`` the share of elements that are another number than the believed arithmetic
    gives. ``assumed`` says what of its inputs is not from the target's files. ``suspect`` is the multiple
    of what is explained, 0 if it is explained. ``errors`` are those of all results, by slot: ``slot`` is the one that
    is farthest beyond its floor.
    """

    slot: int
    error: float
    floor: Floor
    unequal: float
    arithmetic: Arithmetic = EXACT
    rule: str = "table"
    assumed: tuple[Message, ...] = ()
    suspect: float = 0.0
    errors: tuple[tuple[int, float], ...] = ()

    @property
    def is_outlier(self) -> bool:
        """Whether it is suspect only beside its like, which are reproduced to the bit."""
        return bool(self.suspect) and self.error <= SUSPECT * max(self.floor.ulp, self.floor.bound)

    @property
    def explained(self) -> float:
        """Relative error that is explained; for an outlier what single roundings leave beside the others' none."""
        allowed = max(self.floor.ulp, self.floor.bound)
        return min(allowed, self.error / SUSPECT) if self.suspect else allowed

    @property
    def is_beyond_rounding(self) -> bool:
        """Whether many elements differ, and by more than single roundings that fell elsewhere."""
        return self.unequal > _SAME and self.error > _COARSE * self.floor.ulp


_COARSE = 0.3
"""Share of a rounding that an operator must be off to be suspect for it; one rounding at random is 0.58."""

_UNKNOWN = "compare/inputs-unknown"

_CLEAN = OwnError(0, 0.0, Floor(0.0, 0.0), 0.0)


@dataclass
class Replay:
    """Own errors by execution, and why others have none.

    ``titles`` name the believed arithmetic; ``reasons`` are for operators that compute and cannot be
    computed again.
    """

    attempts: Attempts
    own: dict[tuple[Execution, int], OwnError] = field(default_factory=dict)
    reasons: dict[tuple[Execution, int], Message] = field(default_factory=dict)
    models: dict[tuple[int, int], Candidate] = field(default_factory=dict)

    @property
    def titles(self) -> tuple[Message, ...]:
        """Titles of the believed models, the dtypes alone not told."""
        return tuple(dict.fromkeys(one.title for one in self.models.values()))

    @property
    def coverage(self) -> float:
        """Share of the dumped compute operators that were computed again."""
        whole = len(self.own) + len(self.reasons)
        return len(self.own) / whole if whole else 0.0

    def why_not(self) -> list[tuple[Message, int]]:
        """Reasons with the number of operators, most frequent first; what reads alike is one."""
        said = {str(reason): reason for reason in self.reasons.values()}
        counts = Counter(map(str, self.reasons.values()))
        return [(said[text], count) for text, count in counts.most_common()]

    def clears(self, block: Execution, number: int) -> bool:
        """Whether an operator gave just what it had to from its own inputs, nothing of them assumed.

        What a number format cannot hold, too large or too small, is no reason to clear it.
        """
        own = self.own.get((block, number))
        if own is None or own.suspect or own.assumed:
            return False
        attempt = self.attempts.attempt(block, number)
        try:
            return isinstance(attempt, Attempt) and not is_out_of_range(attempt, own.slot)
        except TROUBLE:
            return False

    def carries(self, block: Execution, number: int, slot: int, inherited: float) -> float:
        """Return the error that an operator makes of an error of its inputs, on its own data."""
        attempt = self.attempts.attempt(block, number)
        try:
            return 0.0 if not isinstance(attempt, Attempt) else condition(attempt, slot) * inherited
        except TROUBLE:
            return 0.0

    def golden(self, block: Execution, number: int) -> OwnError | None:
        """Return the own error of the golden's counterpart of an operator; ``None`` if it is not known."""
        attempt = self.attempts.of_partner(block, number)
        if not isinstance(attempt, Attempt) or attempt.invented:
            return None
        try:
            return judged(attempt, EXACT)
        except TROUBLE:
            return None

    @property
    def suspects(self) -> list[tuple[Execution, int]]:
        """Executions whose own error nothing explains, in order."""
        return [place for place, one in self.own.items() if one.suspect]


def replay(pairing: Pairing, *, npu: bool, cancelled: Callable[[], bool] | None = None) -> Replay:
    """Compute every operator of the target again, as far as its inputs are known; never raises.

    ``npu``: the target ran on an NPU, so the numeric models of its units are tried.
    """
    found = Replay(Attempts(pairing))
    graphs: dict[tuple[int, int], list[Execution]] = {}
    for block in pairing.block_order:
        if pairing.target.graph(block) is not None:
            graphs.setdefault(block.graph_key, []).append(block)
    for blocks in graphs.values():
        graph = pairing.target.graph(blocks[0])
        if graph is not None and not (cancelled is not None and cancelled()):
            _Graph(found, graph, blocks, npu=npu).run(cancelled)
    order = {block: n for n, block in enumerate(pairing.block_order)}
    found.own = dict(sorted(found.own.items(), key=lambda item: (order[item[0][0]], item[0][1])))
    return found


class _Graph:
    """The executions of one graph."""

    def __init__(
        self, found: Replay, graph: Graph, blocks: Sequence[Execution], *, npu: bool
    ) -> None:
        self.found = found
        self.npu = npu
        self.graph = graph
        self.blocks = blocks
        self.mine = frozenset(blocks)
        self.open: dict[tuple[Execution, int], dict[int, float]] = {}
        self.wide = False
        self.tried: dict[tuple[tuple[Execution, int], Arithmetic], float] = {}

    def run(self, cancelled: Callable[[], bool] | None) -> None:
        skipped = ends_of(self.graph)
        for block in self.blocks:
            for number, op in enumerate(self.graph.ops):
                if number in skipped or op.op_type in LEAVES:
                    continue
                if cancelled is not None and cancelled():
                    return
                self._first(block, number, op)
        model = self._believed()
        if model is not None:
            self.found.models[self.blocks[0].rank, self.blocks[0].graph_id] = model
        self.wide = self._computes_wide()
        for block, number in self.open:
            self._second(block, number, model)
        self._wide_inside()
        self._outliers()
        for place in [place for place in self.open if self.found.own.get(place, _CLEAN).suspect]:
            if self._golden_too(place):
                del self.found.own[place]
                self.found.reasons[place] = Message("compare/golden-deviates")

    def _first(self, block: Execution, number: int, op: Op) -> None:
        """Compute an operator exactly; what is not explained stays open."""
        attempt = self.found.attempts.attempt(block, number)
        if not isinstance(attempt, Attempt):
            self._not(block, number, op, attempt)
            return
        try:
            expected = attempt.results()
        except TROUBLE as error:
            self._not(block, number, op, Message("compare/inputs-unfit", why=error))
            return
        errors = {slot: distance(attempt.given[slot], array) for slot, array in expected.items()}
        if not errors:
            self._not(block, number, op, Message(_UNKNOWN))
            return
        floors = {slot: quick_floor(attempt, slot) for slot in errors}
        slot = _worst(errors, floors)
        share = share_unequal(attempt.given[slot], expected[slot])
        own = OwnError(
            slot,
            errors[slot],
            Floor(floors[slot], 0.0),
            share,
            EXACT,
            attempt.rule,
            attempt.assumed,
            errors=tuple(errors.items()),
        )
        self.found.own[block, number] = own
        self.tried[(block, number), EXACT] = _order(errors.values())
        if any(errors[s] > floors[s] for s in errors):
            self.open[block, number] = errors

    def _not(self, block: Execution, number: int, op: Op, reason: Message) -> None:
        if reason.code != NOT_DUMPED and op.op_type not in IDENTITY:
            self.found.reasons[block, number] = reason

    def _believed(self) -> Candidate | None:
        """The model that leaves least of what exact arithmetic does not explain; ``None``: none does better."""
        if not self.npu or not self.open:
            return None
        kinds = {self.graph.ops[place[1]].op_type: place for place in reversed(self.open)}
        step = max(1, len(self.open) // _SAMPLE)
        sample = list(dict.fromkeys((*kinds.values(), *list(self.open)[::step])))
        settled = [p for p in self.found.own if p not in self.open and p[0] in self.mine]
        sample += settled[:: max(1, len(settled) // _SAMPLE)]
        best, least = None, sum(self._left(place, EXACT) for place in sample) - 1.0
        for model in candidates(self.graph):
            left = sum(self._left(place, model.arithmetics[place[1]]) for place in sample)
            if left < least:
                best, least = model, left
        return best

    def _computes_wide(self) -> bool:
        """Whether operators of 16-bit formats, but for a few, are off by the rounding of their results alone."""
        found = [
            place in self.open
            for place, own in self.found.own.items()
            if place[0] in self.mine and own.floor.ulp > _HALF
            and self.graph.ops[place[1]].op_type not in CONTRACTIONS | MOVEMENT
        ]  # fmt: skip
        return len(found) >= _PEERS and sum(found) <= _FEW * len(found)

    def _left(self, place: tuple[Execution, int], arithmetic: Arithmetic) -> float:
        """Order of magnitude of what an arithmetic leaves unexplained; of products the formats count."""
        if self.graph.ops[place[1]].op_type in CONTRACTIONS or not _is_special(arithmetic):
            arithmetic = replace(arithmetic, precision="float64", implementation="")
        key = (place, arithmetic)
        if key not in self.tried:
            self.tried[key] = _order(self._distances(place, arithmetic))
        return self.tried[key]

    def _distances(self, place: tuple[Execution, int], arithmetic: Arithmetic) -> list[float]:
        attempt = self.found.attempts.attempt(*place)
        if not isinstance(attempt, Attempt):
            return []
        try:
            expected = attempt.results(arithmetic)
        except TROUBLE:
            return []
        return [distance(attempt.given[slot], array) for slot, array in expected.items()]

    def _second(self, block: Execution, number: int, model: Candidate | None) -> None:
        """Measure an open operator with the believed model, and against its condition."""
        attempt = self.found.attempts.attempt(block, number)
        if not isinstance(attempt, Attempt):
            return
        arithmetic = Arithmetic("cube") if self.npu else EXACT
        if model is not None:
            arithmetic = model.arithmetics[number]
        try:
            own = judged(attempt, arithmetic, wide=self.wide)
            if own.suspect and attempt.invented and not self._golden_fits(block, number):
                own = judged(attempt.without_inventions(), arithmetic, wide=self.wide)
            self.found.own[block, number] = own
        except TROUBLE as error:
            self.found.own.pop((block, number), None)
            self.found.reasons[block, number] = Message("compare/inputs-unfit", why=error)

    def _golden_fits(self, block: Execution, number: int) -> bool:
        """Whether the golden's counterpart gave what it had to, the same things assumed."""
        attempt = self.found.attempts.of_partner(block, number)
        if not isinstance(attempt, Attempt):
            return False
        try:
            return not judged(attempt, EXACT).suspect
        except TROUBLE:
            return False

    def _golden_too(self, place: tuple[Execution, int]) -> bool:
        """Whether the golden's counterpart is off as much: then the reference is another operator."""
        own = self.found.own[place]
        attempt = self.found.attempts.of_partner(*place)
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
        return error > SUSPECT * max(floor.ulp, floor.bound)

    def _wide_inside(self) -> None:
        """Measure kernels again whose steps round nothing in others, which are reproduced to the bit."""
        fused = dict(self._fused())
        exact = {place for place in fused if self.found.own[place].unequal <= _SAME}
        kernels = {(place[1], step) for place in exact for step in fused[place]}
        shown = Counter(step for _, step in kernels)
        for place in fused.keys() - exact:
            if self.found.own[place].suspect or min(shown[one] for one in fused[place]) < _ALIKE:
                continue
            again = self._again(place, wide=True)
            if again is not None and again.suspect:
                self.found.own[place] = again

    def _fused(self) -> Iterable[tuple[tuple[Execution, int], frozenset[tuple[str, str]]]]:
        """Kernels of several operators, a product among them: the types of the others, and the written dtype."""
        for place, own in self.found.own.items():
            attempt = self.found.attempts.attempt(*place) if place[0] in self.mine else None
            if not isinstance(attempt, Attempt) or attempt.given[own.slot].size < 2:
                continue
            types = {op.op_type for op in attempt.kernel.ops}
            if types & CONTRACTIONS and types - CONTRACTIONS:
                dtype = attempt.given[own.slot].dtype.name
                yield place, frozenset((one, dtype) for one in types - CONTRACTIONS)

    def _outliers(self) -> None:
        """Suspect operators that are not reproduced to the bit where all of their like are."""
        for members in self._like():
            odd = [place for place in members if self.found.own[place].unequal > _SAME]
            numbers = {number for _, number in odd}
            if len(numbers) != 1 or sum(p[1] not in numbers for p in members) < _PEERS:
                continue
            for place in odd:
                own = self.found.own[place]
                again = None if own.suspect or own.rule != "table" else self._again(place)
                if again is not None and again.is_beyond_rounding:
                    self.found.own[place] = replace(again, suspect=OUTLIER)

    def _like(self) -> Iterable[list[tuple[Execution, int]]]:
        """Executions of operators of one type that are computed alike.

        Single numbers are left out: they are reproduced to the bit by luck.
        """
        groups: dict[tuple[str, Arithmetic, str], list[tuple[Execution, int]]] = {}
        for place, own in self.found.own.items():
            op = self.graph.ops[place[1]] if place[0] in self.mine else None
            if op is not None and not (op.outputs[:1] and op.outputs[0].size == 1):
                key = (op.op_type, own.arithmetic, own.rule)
                groups.setdefault(key, []).append(place)
        return groups.values()

    def _again(self, place: tuple[Execution, int], *, wide: bool = False) -> OwnError | None:
        """Measure an operator with the arithmetic of the believed units, whatever else explains it."""
        attempt = self.found.attempts.attempt(*place)
        model = self.found.models.get((place[0].rank, place[0].graph_id))
        arithmetic = model.arithmetics[place[1]] if model is not None else Arithmetic("cube")
        try:
            if not isinstance(attempt, Attempt):
                return None
            return judged(attempt, arithmetic, wide=wide or self.wide)
        except TROUBLE:
            return None


def judged(attempt: Attempt, arithmetic: Arithmetic, *, wide: bool = False) -> OwnError:
    """Measure an operator against its careful floor; raises one of ``TROUBLE``."""
    expected = attempt.results(arithmetic)
    errors = {slot: distance(attempt.given[slot], array) for slot, array in expected.items()}
    if not errors:
        raise GraphError(_UNKNOWN)
    slot = _worst(errors, {s: quick_floor(attempt, s, arithmetic) for s in errors})
    floor = careful_floor(attempt, slot, expected[slot], arithmetic, wide=wide)
    share = share_unequal(attempt.given[slot], expected[slot])
    error = errors[slot]
    allowed = max(floor.ulp, floor.bound)
    times = _times(error, allowed)
    suspect = times if times > SUSPECT else 0.0
    known = tuple(errors.items())
    return OwnError(
        slot, error, floor, share, arithmetic, attempt.rule, attempt.assumed, suspect, known
    )


def _order(errors: Iterable[float]) -> float:
    """Order of magnitude of the largest relative error; nothing computed is as bad as all wrong."""
    return math.log10(max(min(max(errors, default=1.0), 1.0), _LEAST))


def _is_special(arithmetic: Arithmetic) -> bool:
    """Whether an arithmetic is more than float32."""
    exact = arithmetic.implementation in ("", "high_precision")
    rounds = arithmetic.inputs or arithmetic.output or arithmetic.saturates or arithmetic.flushes
    return bool(rounds or not exact)


def is_out_of_range(attempt: Attempt, slot: int) -> bool:
    """Whether the dtype of a result has lost more than a rounding: to zero, or to infinity."""
    given = attempt.given[slot]
    if slot < 0 or not unit_of(given):
        return False
    exact = attempt.kernel.run(attempt.inputs)[slot]
    if exact.size != given.size:
        return False
    exact = exact.reshape(given.shape)
    return distance(cast_like(exact, given), exact) > SUSPECT * quick_floor(attempt, slot)


def _worst(errors: Mapping[int, float], floors: Mapping[int, float]) -> int:
    """Output that is farthest beyond its floor."""
    return max(errors, key=lambda slot: _times(errors[slot], floors[slot]))


def _times(error: float, floor: float) -> float:
    if not error:
        return 0.0
    return error / floor if floor else math.inf
