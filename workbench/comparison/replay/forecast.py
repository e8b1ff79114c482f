"""Forecast: what the target should have given, where its dump holds only statistics.

Without the target's numbers none of its operators can be computed again from what it read. But its whole run
can: through the target's graph from the golden's feeds and weights, in the arithmetic of every device whose
numeric model is known. The one whose results have the statistics of the dump is believed. A forecast rounds
as the target did, so it stands nearer to the target than the golden, which rounds otherwise or not at all.

What cannot be computed is taken from the golden, and the forecast goes on from there.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import NamedTuple, dataclass
from workbench.comparison.align.differences import partner_settings
from workbench.comparison.graphs.roles import LEAVES, ends_of, rewritten_slots, state_name
from workbench.comparison.limits import limits
from workbench.comparison.replay.attempt import TROUBLE, ReplayCache, cast_as_declared
from workbench.comparison.replay.kernel import cast_like, compute_kernel, compute_update
from workbench.comparison.replay.kernel import distance as norm_distance
from workbench.comparison.replay.lowering import lower
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError, GraphError
from workbench.core.words import Message
from workbench.graph.constants import constant
from workbench.graph.graph import Const, Kernel, Value
from workbench.npu.arithmetic import EXACT
from workbench.ops import OPS, in_place_outputs, written

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.graphs.view import Origin
    from workbench.comparison.pair.pairing import Pair, Pairing
    from workbench.comparison.replay.models import Candidate
    from workbench.graph.graph import Graph, Kernel, Op, Operand
    from workbench.npu.arithmetic import Arithmetic

    Array = NDArray[Any]
    Place = tuple[str, int]
    Distance = Callable[[Pair, Array], float | None]
    """Relative error of a target's statistics against a tensor; ``None``: they cannot be compared."""


_LARGEST = 1 << 28
"""Elements that one execution computes at most; larger ones have no forecast."""


class Forecast(NamedTuple):
    """What the target should have given, and by which numeric model.

    Attributes
    ----------
    pairing : Pairing
        What it was computed for.
    distance : callable
        How the statistics of a pair's target are compared with a tensor.
    errors : mapping
        Relative errors of the target's statistics against the forecast, by pair (its identity).
    models : mapping
        The model whose results have the statistics of the dump, by rank and number of the graph.
    spreads : mapping
        Relative distance of the forecast from the golden's tensor, element by element, by pair (its identity).
    """

    pairing: Pairing
    distance: Distance
    errors: Mapping[int, float]
    models: Mapping[tuple[int, int], Candidate]
    spreads: Mapping[int, float] = MappingProxyType({})

    @property
    def facts(self) -> dict[str, Message]:
        """What a result tells of it."""
        if not self.errors:
            return {}
        models = tuple(dict.fromkeys(one.title for one in self.models.values()))
        said = Message("compare/forecast", count=len(self.errors), models=models)
        return {"statistics forecast": said}

    def rerun(self, places: Collection[tuple[Execution, int]]) -> Iterator[ForecastOperator]:
        """Compute the run again, by the models that were found; yield what these operators read, in order."""
        wanted = set(places)
        last = {execution for execution, _ in wanted}
        states: dict[int, dict[str, Array]] = {}
        for one in _executions(self.pairing, self.distance):
            model = self.models.get(one.execution.graph_key)
            if model is None or not last:
                continue
            run = _Run(model, dict(states.get(one.execution.rank, {})))
            for number, op in one.operators():
                if (one.execution, number) in wanted:
                    yield ForecastOperator(one, number, model, one.inputs(run, number, {}))
                one.step(number, op, [run], limits().forecast_as_well)
            states[one.execution.rank] = run.state
            last.discard(one.execution)


@dataclass(frozen=True, slots=True)
class ForecastOperator:
    """One operator as the forecast computes it; ``inputs`` are the tensors that it reads, by flat input."""

    _of: _ExecutionForecast
    number: int
    model: Candidate
    inputs: Mapping[int, Array | None]

    @property
    def execution(self) -> Execution:
        return self._of.execution

    @property
    def graph(self) -> Graph:
        return self._of.graph

    def errors_with(self, change: Mapping[int, Array]) -> dict[int, float]:
        """Return how far it is from its statistics with other inputs than it read, by pair (its identity)."""
        one, op = self._of, self.graph.ops[self.number]
        changed = {**self.inputs, **change}
        known = {s: cast_as_declared(a, op, s) for s, a in changed.items() if a is not None}
        kernel, arithmetic = one.kernel(self.number, op), self.model.arithmetics[self.number]
        outcome = one.computed(op, kernel, known, arithmetic)
        return one.errors(self.number, outcome, one.distance, written_alone=True)


def forecast(
    pairing: Pairing,
    distance: Distance,
    *,
    npu: bool,
    cancelled: Callable[[], bool] | None = None,
) -> Forecast:
    """Compute the target's run as far as its dump holds statistics; never raises.

    ``npu``: the target ran on an NPU, so the numeric models of its units are tried.
    """
    errors: dict[int, float] = {}
    spreads: dict[int, float] = {}
    chosen: dict[tuple[int, int], Candidate] = {}
    states: dict[int, dict[str, Array]] = {}
    for one in _executions(pairing, distance):
        key, rank = one.execution.graph_key, one.execution.rank
        models = [chosen[key]] if key in chosen else one.models(npu=npu)
        best = one.run([_Run(model, dict(states.get(rank, {}))) for model in models], cancelled)
        chosen[key], states[rank] = best.model, best.state
        errors |= best.errors
        spreads |= best.spreads
    found = MappingProxyType(errors), MappingProxyType(chosen), MappingProxyType(spreads)
    return Forecast(pairing, distance, *found)


def _executions(pairing: Pairing, distance: Distance) -> Iterator[_ExecutionForecast]:
    """The target's executions that can be forecast, in order; none where no statistics are to be compared."""
    pairs: dict[tuple[Execution, int], list[Pair]] = {}
    for pair in pairing.pairs:
        summed = pair.target.source is None and pair.golden.source is not None
        if pair.run is not None and summed:
            pairs.setdefault((pair.run.block, pair.run.op), []).append(pair)
    cache = ReplayCache(pairing)
    for execution in pairing.block_order if pairs else ():
        graph = pairing.target.graph(execution)
        golden = pairing.blocks.get(execution)
        if graph is not None and golden is not None and _elements(graph) <= _LARGEST:
            yield _ExecutionForecast(cache, execution, golden, graph, pairs, distance)


def _elements(graph: Graph) -> int:
    return sum(spec.size or 0 for op in graph.ops for spec in op.outputs)


@dataclass(slots=True)
class _Run:
    """One execution while one model computes it: values and weights so far, and how far off they are."""

    model: Candidate
    state: dict[str, Array]
    values: dict[Value, Array] = field(default_factory=dict)
    errors: dict[int, float] = field(default_factory=dict)
    spreads: dict[int, float] = field(default_factory=dict)
    decades: float = 0.0

    def take(
        self,
        number: int,
        outcome: _Outcome,
        errors: Mapping[int, float],
        spreads: Mapping[int, float],
    ) -> None:
        """Go on with what an operator gives."""
        self.values |= {Value(number, slot): array for slot, array in outcome.outputs.items()}
        self.state |= outcome.state
        self.errors |= errors
        self.spreads |= spreads
        least = limits().forecast_equal
        self.decades += sum(math.log10(min(max(one, least), 1.0)) for one in errors.values())


class _ExecutionForecast:
    """One execution of one graph, computed by several models side by side."""

    def __init__(
        self,
        cache: ReplayCache,
        execution: Execution,
        golden: Execution,
        graph: Graph,
        pairs: Mapping[tuple[Execution, int], Collection[Pair]],
        distance: Distance,
    ) -> None:
        self._cache = cache
        self.execution = execution
        self.golden = golden
        self.graph = graph
        self.pairs = pairs
        self.distance = distance
        self.alignment = cache.pairing.alignments.get(execution.graph_key)
        self._readers: dict[Origin, deque[tuple[int, int]]] = {}
        self.last: dict[int, list[Value]] = {}
        for value, readers in graph.consumers.items():
            if isinstance(value, Value):
                self.last.setdefault(max(n for n, _ in readers), []).append(value)

    def models(self, *, npu: bool) -> list[Candidate]:
        """What may have computed the graph: the numeric models where an NPU did, and plain float32."""
        from workbench.comparison.replay.models import Candidate

        exact = Candidate(Message("compare/model-float32"), (EXACT,) * len(self.graph.ops))
        return [*self._cache.candidates(self.graph), exact] if npu else [exact]

    def operators(self) -> Iterator[tuple[int, Op]]:
        """Operators that compute, with their numbers, in order."""
        skipped = ends_of(self.graph)
        for number, op in enumerate(self.graph.ops):
            if number not in skipped and op.op_type not in LEAVES:
                yield number, op

    def run(self, runs: list[_Run], cancelled: Callable[[], bool] | None) -> _Run:
        """Compute all operators; return the run that is nearest to the target."""
        told, known = 0, limits()
        for number, op in self.operators():
            if cancelled is not None and cancelled():
                break
            told += (self.execution, number) in self.pairs
            early = told < known.forecast_tried
            apart = known.forecast_clearly if early else known.forecast_as_well
            runs = self.step(number, op, runs, apart)
        return min(runs, key=lambda run: run.decades)

    def step(self, number: int, op: Op, runs: list[_Run], margin: float) -> list[_Run]:
        """Let every run compute an operator, once for all that read and do the same; return those in play."""
        given: dict[int, Array | None] = {}
        done: dict[
            tuple[object, ...], tuple[_Outcome, Mapping[int, float], Mapping[int, float]]
        ] = {}
        once, kernel = _Once(self.distance), self.kernel(number, op)
        for run in runs:
            inputs, arithmetic = self.inputs(run, number, given), run.model.arithmetics[number]
            key = (arithmetic, *map(id, inputs.values()))
            if key not in done:
                known = {slot: once.stated(array, op, slot) for slot, array in inputs.items()}
                outcome = once.shared(self.computed(op, kernel, known, arithmetic))
                errors = self.errors(number, outcome, once.error)
                done[key] = outcome, errors, self.errors(number, outcome, once.spread)
            run.take(number, *done[key])
            for value in self.last.get(number, ()):
                run.values.pop(value, None)
        least = min(run.decades for run in runs)
        return [run for run in runs if run.decades <= least + margin]

    def errors(
        self, number: int, outcome: _Outcome, distance: Distance, *, written_alone: bool = False
    ) -> dict[int, float]:
        """Errors of an operator's tensors, by pair; ``written_alone``: without what it only reads."""
        rewritten = rewritten_slots(self.graph.ops[number])
        found = {}
        for pair in self.pairs.get((self.execution, number), ()):
            if written_alone and pair.io == "input" and pair.slot not in rewritten:
                continue
            array = outcome.tensors.get((pair.io, pair.slot))
            error = distance(pair, array) if array is not None else None
            if error is not None:
                found[id(pair)] = error
        return found

    def computed(
        self,
        op: Op,
        kernel: Kernel | None,
        known: Mapping[int, Array | None],
        arithmetic: Arithmetic,
    ) -> _Outcome:
        """Compute an operator on what is known of its inputs; what it read is told even if it cannot be computed."""
        read = {slot: array for slot, array in known.items() if array is not None}
        rewritten = rewritten_slots(op)
        told = {("input", s): a for s, a in read.items() if s not in rewritten}
        others = set(range(len([*op.flat_inputs()]))) - read.keys()
        read |= {slot: array for slot in others if (array := _unknown(op, slot)) is not None}
        if kernel is None or not kernel.needed <= read.keys():
            return _Outcome(told)
        try:
            return _computed(self.graph, op, kernel, read, told, arithmetic)
        except TROUBLE:
            return _Outcome(told)

    def kernel(self, number: int, op: Op) -> Kernel | None:
        """Return what an operator should compute: with the golden's settings, where its own are others."""
        found = self.alignment
        partner = found.match_of.get(number) if found is not None else None
        equal = limits().forecast_equal
        if found is None or partner is None or not partner_settings(found, number, op, equal):
            return self._cache.lowering(self.execution, number, op).kernel
        return lower(partner, found.golden.graph.ops[partner], None).kernel

    def inputs(
        self, run: _Run, number: int, given: dict[int, Array | None]
    ) -> dict[int, Array | None]:
        """Return what an operator reads in a run; ``given`` holds what is the same for all runs."""
        operands = enumerate(self.graph.ops[number].flat_inputs())
        return {slot: self._input(run, number, slot, one, given) for slot, one in operands}

    def _input(
        self,
        run: _Run,
        number: int,
        slot: int,
        operand: Operand,
        given: dict[int, Array | None],
    ) -> Array | None:
        if isinstance(operand, Value) and operand in run.values:
            return run.values[operand]
        name = state_name(self.graph, operand)
        if name in run.state:
            return run.state[name]
        if slot not in given:
            try:
                given[slot] = (
                    constant(operand)
                    if isinstance(operand, Const)
                    else self._golden(number, slot, operand)
                )
            except (GraphError, FormatError, ValueError, TypeError):
                given[slot] = None
        return given[slot]

    def _golden(self, number: int, slot: int, operand: Operand) -> Array | None:
        """Return what the golden has there; NaN stands for what no file tells."""
        found = self.alignment
        if found is None:
            return None
        golden, partner = self._cache.golden_inputs, found.match_of.get(number)
        if partner is not None:
            known = golden.read(self.golden, partner, found.input_order(number).get(slot, slot))
            if known is not None:
                return known.array
        origin = found.mapped(found.target.origin(operand))
        if origin is not None and origin.kind == "op":
            return golden.given(self.golden, origin.number, origin.slot)
        return self._read_by_others(origin) if origin is not None else None

    def _read_by_others(self, origin: Origin) -> Array | None:
        """Return what others read of a golden value; who has no file is not asked again for each of them."""
        readers = self._readers.get(origin)
        if readers is None:
            assert self.alignment is not None
            readers = self._readers[origin] = deque(self.alignment.golden.readers(origin))
        while readers:
            known = self._cache.golden_inputs.read(self.golden, *readers[0])
            if known is not None:
                return known.array
            readers.popleft()
        return None


class _Outcome(NamedTuple):
    """What an operator read and gave, by direction and slot; its outputs, and weights that it has updated."""

    tensors: Mapping[Place, Array]
    outputs: Mapping[int, Array] = MappingProxyType({})
    state: Mapping[str, Array] = MappingProxyType({})


def _computed(
    graph: Graph,
    op: Op,
    kernel: Kernel,
    read: Mapping[int, Array],
    told: Mapping[Place, Array],
    arithmetic: Arithmetic,
) -> _Outcome:
    """Compute an operator; ``told`` is what it only reads. Raises one of ``TROUBLE``."""
    tensors = dict(told)
    state: dict[str, Array] = {}
    results = compute_kernel(kernel, read, arithmetic)
    slots = written(kernel.ops[0]) if len(kernel.ops) == 1 else ()
    left = compute_update(kernel.ops[0], read, arithmetic) if slots else {}
    unknown = any(_is_unknown(read[slot]) for slot in kernel.needed)
    outputs = {
        slot: _stored(op, slot, array, arithmetic)
        for slot, array in enumerate(results)
        if not (unknown and _is_unknown(array))
    }
    for slot, array in left.items():
        kept = cast_like(array, read[slot])
        name = state_name(graph, op.operand(slot))
        tensors |= {} if unknown and _is_unknown(kept) else {("input", slot): kept}
        state |= {name: kept} if name else {}
    for out, slot in (in_place_outputs(op) if op.op_type in OPS else {}).items():
        if ("input", slot) in tensors:
            outputs[out] = tensors["input", slot]
    tensors |= {("output", slot): array for slot, array in outputs.items()}
    return _Outcome(tensors, outputs, state)


class _Once:
    """What several models find out about one operator, found out once: inputs as stated, equal outputs, errors."""

    def __init__(self, distance: Distance) -> None:
        self._distance = distance
        self._stated: dict[tuple[int, int], tuple[Array, Array]] = {}
        self._outputs: dict[tuple[int, str, tuple[int, ...], bytes], Array] = {}
        self._errors: dict[tuple[int, int], float | None] = {}
        self._goldens: dict[int, Array | None] = {}
        self._spreads: dict[tuple[int, int], float | None] = {}

    def stated(self, array: Array | None, op: Op, slot: int) -> Array | None:
        """Return an input as its operator states it."""
        if array is None:
            return None
        key = id(array), slot
        if key not in self._stated:
            # kept, so that its id stays its own
            self._stated[key] = array, cast_as_declared(array, op, slot)
        return self._stated[key][1]

    def shared(self, outcome: _Outcome) -> _Outcome:
        """Let equal outputs be one array, so that whoever reads them is computed once, too."""
        outputs = {}
        for slot, array in outcome.outputs.items():
            key = slot, array.dtype.str, array.shape, array.tobytes()
            outputs[slot] = self._outputs.setdefault(key, array)
        tensors = {("output", slot): array for slot, array in outputs.items()}
        return outcome._replace(outputs=outputs, tensors={**outcome.tensors, **tensors})

    def error(self, pair: Pair, array: Array) -> float | None:
        """Return how far an array is from the statistics of a pair."""
        key = id(pair), id(array)
        if key not in self._errors:
            self._errors[key] = self._distance(pair, array)
        return self._errors[key]

    def spread(self, pair: Pair, array: Array) -> float | None:
        """Return how far an array is from the golden's tensor; ``None`` where that cannot be compared."""
        key = id(pair), id(array)
        if key not in self._spreads:
            golden = self._golden(pair)
            apart = math.inf
            real = golden is not None and not (np.iscomplexobj(golden) or np.iscomplexobj(array))
            if golden is not None and real and golden.size == array.size:
                apart = norm_distance(array, golden.reshape(array.shape))
            self._spreads[key] = apart if math.isfinite(apart) else None
        return self._spreads[key]

    def _golden(self, pair: Pair) -> Array | None:
        if id(pair) not in self._goldens:
            try:
                source = pair.golden.source
                self._goldens[id(pair)] = source.array() if source is not None else None
            except (FormatError, OSError):
                self._goldens[id(pair)] = None
        return self._goldens[id(pair)]


def _is_unknown(array: Array) -> bool:
    with np.errstate(all="ignore"):
        return array.dtype.kind == "f" and bool(np.isnan(array).any())


def _unknown(op: Op, slot: int) -> Array | None:
    """Return NaN for an input that nobody tells: what does not depend on it can still be computed."""
    spec = op.input_specs[slot] if slot < len(op.input_specs) else None
    row = DTYPES.get(spec.dtype) if spec is not None else None
    if (
        spec is None
        or row is None
        or not row.is_float
        or spec.shape is None
        or min(spec.shape, default=0) < 0
    ):
        return None
    return np.full(spec.shape, np.nan, row.storage)


def _stored(op: Op, slot: int, array: Array, arithmetic: Arithmetic) -> Array:
    """Round a result to the format that the graph states, and give it the shape that it states."""
    specs = op.device_outputs or op.outputs
    row = DTYPES.get(specs[slot].dtype) if slot < len(specs) else None
    if row is not None:
        array = cast_like(array, np.empty(0, row.storage), saturates=arithmetic.saturates)
    shape = op.outputs[slot].shape if slot < len(op.outputs) else None
    if shape is not None and min(shape, default=0) >= 0 and math.prod(shape) == array.size:
        array = array.reshape(shape)
    return array
