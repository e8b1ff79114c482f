"""Forecast: what the target should have given, where its dump holds only statistics.

Without the target's numbers none of its operators can be computed again from what it read. But its whole run
can: through the target's graph from the golden's feeds and weights, in the arithmetic of every device whose
numeric model is known. The one whose results have the statistics of the dump is believed. A forecast rounds
as the target did, so it stands nearer to the target than the golden, which rounds otherwise or not at all.

What cannot be computed is taken from the golden, and the forecast goes on from there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.comparison.align.differences import partner_settings
from workbench.comparison.graphs.roles import LEAVES, ends_of, rewritten_slots, state_name
from workbench.comparison.replay.attempt import TROUBLE, Attempts, cast_as_declared
from workbench.comparison.replay.kernel import EXACT, cast_like
from workbench.comparison.replay.lowering import lower
from workbench.comparison.replay.models import Candidate, candidates
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError, GraphError
from workbench.core.words import Message
from workbench.graph.nodes import Const, Value
from workbench.graph.ops import OPS, left_in, written
from workbench.run.constants import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.pairing import Pair, Pairing
    from workbench.comparison.replay.kernel import Arithmetic
    from workbench.comparison.replay.lowering import Lowering
    from workbench.graph.nodes import Graph, Op, Operand

    Array = NDArray[Any]
    Place = tuple[str, int]
    Distance = Callable[[Pair, Array], float | None]
    """Relative error of a target's statistics against a tensor; ``None``: they cannot be compared."""

TRIED = 32
"""Operators with statistics after which only models stay that do as well as the best; they differ later on."""

_CLEARLY = 20.0
"""Decades of error, summed over all tensors, by which a model that does worse is left before."""

_AS_WELL = 1.0
"""Decades by which a model may do worse than the best after that."""

_LEAST = 1e-8
"""Relative error below which two models are equally good."""

_LARGEST = 1 << 28
"""Elements that one execution computes at most; larger ones have no forecast."""


@dataclass
class Forecast:
    """Errors of the target's statistics against the forecast, by pair (its identity)."""

    pairing: Pairing
    distance: Distance
    errors: dict[int, float] = field(default_factory=dict)
    believed: dict[tuple[int, int], Candidate] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Message]:
        """What a result tells of it."""
        if not self.errors:
            return {}
        models = tuple(dict.fromkeys(one.title for one in self.believed.values()))
        said = Message("compare/forecast", count=len(self.errors), models=models)
        return {"statistics forecast": said}

    def compute(
        self,
        models: Callable[[Graph], list[Candidate]],
        cancelled: Callable[[], bool] | None = None,
        keep: Collection[tuple[Execution, int]] = (),
    ) -> Iterator[tuple[ForecastExecution, Run]]:
        """Compute execution after execution, by the believed model once one is."""
        pairs: dict[tuple[Execution, int], list[Pair]] = {}
        for pair in self.pairing.pairs:
            summed = pair.target.source is None and pair.golden.source is not None
            if pair.run is not None and summed:
                pairs.setdefault((pair.run.block, pair.run.op), []).append(pair)
        attempts = Attempts(self.pairing)
        states: dict[int, dict[str, Array]] = {}
        for block in self.pairing.block_order if pairs else ():
            graph = self.pairing.target.graph(block)
            unknown = graph is None or self.pairing.blocks.get(block) is None
            if graph is None or unknown or _elements(graph) > _LARGEST:
                continue
            place, state = block.graph_key, states.get(block.rank, {})
            known = self.believed.get(place)
            tried = [known] if known is not None else models(graph)
            runs = [Run(model, dict(state)) for model in tried]
            execution = ForecastExecution(attempts, block, graph, pairs, self.distance, keep)
            best = execution.run(runs, cancelled)
            self.believed[place], states[block.rank] = best.model, best.state
            yield execution, best

    def rerun(
        self, places: Collection[tuple[Execution, int]]
    ) -> Iterator[tuple[ForecastExecution, Run]]:
        """Compute the believed run again, keeping what the operators at ``places`` read; writes nothing."""
        again = Forecast(self.pairing, self.distance, believed=dict(self.believed))
        return again.compute(lambda _: [], keep=places)


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
    found = Forecast(pairing, distance)
    for _, best in found.compute(partial(_models, npu=npu), cancelled):
        found.errors |= best.errors
    return found


def _models(graph: Graph, *, npu: bool) -> list[Candidate]:
    exact = Candidate(Message("compare/model-float32"), (EXACT,) * len(graph.ops))
    return [*candidates(graph), exact] if npu else [exact]


def _elements(graph: Graph) -> int:
    return sum(spec.size or 0 for op in graph.ops for spec in op.outputs)


@dataclass
class Run:
    """One execution as one model computes it: values and weights so far, and how far off they are."""

    model: Candidate
    state: dict[str, Array]
    values: dict[Value, Array] = field(default_factory=dict)
    errors: dict[int, float] = field(default_factory=dict)
    decades: float = 0.0


class ForecastExecution:
    """One execution of one graph, computed by several models side by side."""

    def __init__(
        self,
        attempts: Attempts,
        block: Execution,
        graph: Graph,
        pairs: Mapping[tuple[Execution, int], Collection[Pair]],
        distance: Distance,
        keep: Collection[tuple[Execution, int]],
    ) -> None:
        self.attempts = attempts
        self.block = block
        self.graph = graph
        self.pairs = pairs
        self.distance = distance
        self.keep = {number for one, number in keep if one == block}
        self.kept: dict[int, dict[int, Array | None]] = {}
        self.found = attempts.pairing.alignments.get(block.graph_key)
        self.last: dict[int, list[Value]] = {}
        for value, readers in graph.consumers.items():
            if isinstance(value, Value):
                self.last.setdefault(max(n for n, _ in readers), []).append(value)

    def run(self, runs: list[Run], cancelled: Callable[[], bool] | None) -> Run:
        """Compute all operators; return the run that is nearest to the target."""
        skipped, told = ends_of(self.graph), 0
        for number, op in enumerate(self.graph.ops):
            if cancelled is not None and cancelled():
                break
            if number in skipped or op.op_type in LEAVES:
                continue
            told += (self.block, number) in self.pairs
            runs = self._step(number, op, runs, _CLEARLY if told < TRIED else _AS_WELL)
        return min(runs, key=lambda run: run.decades)

    def _step(self, number: int, op: Op, runs: list[Run], margin: float) -> list[Run]:
        """Let every run compute an operator, once for all that read and do the same; return those in play."""
        given: dict[int, Array | None] = {}
        done: dict[tuple[object, ...], tuple[_Outcome, dict[int, float]]] = {}
        once = _Once(self.distance)
        for run in runs:
            inputs = {
                slot: self._input(run, number, slot, operand, given)
                for slot, operand in enumerate(op.flat_inputs())
            }
            if number in self.keep:
                self.kept[number] = inputs
            key = (run.model.arithmetics[number], *map(id, inputs.values()))
            if key not in done:
                known = {slot: once.stated(array, op, slot) for slot, array in inputs.items()}
                outcome = self._computed(number, op, known, run.model.arithmetics[number])
                once.share(outcome)
                done[key] = outcome, self._errors(number, outcome, once.error)
            self._take(run, number, *done[key])
            for value in self.last.get(number, ()):
                run.values.pop(value, None)
        least = min(run.decades for run in runs)
        return [run for run in runs if run.decades <= least + margin]

    def _take(self, run: Run, number: int, outcome: _Outcome, errors: Mapping[int, float]) -> None:
        run.values |= {Value(number, slot): array for slot, array in outcome.outputs.items()}
        run.state |= outcome.state
        run.errors |= errors
        run.decades += sum(math.log10(min(max(one, _LEAST), 1.0)) for one in errors.values())

    def otherwise(self, run: Run, number: int, change: Mapping[int, Array]) -> dict[int, float]:
        """Return how far the forecast of a kept operator is from its statistics, with other inputs than it read."""
        op, arithmetic = self.graph.ops[number], run.model.arithmetics[number]
        changed = {**self.kept[number], **change}
        known = {s: cast_as_declared(a, op, s) for s, a in changed.items() if a is not None}
        outcome = self._computed(number, op, known, arithmetic)
        return self._errors(number, outcome, self.distance, given=True)

    def _errors(
        self, number: int, outcome: _Outcome, distance: Distance, *, given: bool = False
    ) -> dict[int, float]:
        """Errors of an operator's tensors; of those that it ``given`` has alone."""
        rewritten = rewritten_slots(self.graph.ops[number])
        found = {}
        for pair in self.pairs.get((self.block, number), ()):
            if given and pair.io == "input" and pair.slot not in rewritten:
                continue
            array = outcome.tensors.get((pair.io, pair.slot))
            error = distance(pair, array) if array is not None else None
            if error is not None:
                found[id(pair)] = error
        return found

    def _computed(
        self, number: int, op: Op, known: Mapping[int, Array | None], arithmetic: Arithmetic
    ) -> _Outcome:
        """Compute an operator on what is known of its inputs, as stated; what it read is told even if it cannot be."""
        read = {s: array for s, array in known.items() if array is not None}
        rewritten = rewritten_slots(op)
        found = _Outcome({("input", s): a for s, a in read.items() if s not in rewritten})
        others = set(range(len([*op.flat_inputs()]))) - read.keys()
        read |= {s: array for s in others if (array := _unknown(op, s)) is not None}
        work = self._work(number, op)
        if work.kernel is None or not work.kernel.needed <= read.keys():
            return found
        try:
            outputs = work.kernel.run(read, arithmetic)
            slots = written(work.kernel.ops[0]) if len(work.kernel.ops) == 1 else ()
            left = work.kernel.updated(read, arithmetic) if slots else []
            unknown = any(_is_unknown(read[slot]) for slot in work.kernel.needed)
            found.outputs = {
                slot: _stored(op, slot, array, arithmetic)
                for slot, array in enumerate(outputs)
                if not (unknown and _is_unknown(array))
            }
            for slot, array in zip(slots, left, strict=True):
                self._leave(found, op, slot, cast_like(array, read[slot]), unknown=unknown)
            for out, slot in (left_in(op) if op.op_type in OPS else {}).items():
                if ("input", slot) in found.tensors:
                    found.outputs[out] = found.tensors["input", slot]
        except TROUBLE:
            return found
        found.tensors |= {("output", slot): array for slot, array in found.outputs.items()}
        return found

    def _work(self, number: int, op: Op) -> Lowering:
        """Return what an operator should compute: with the golden's settings, where its own are others."""
        found = self.found
        partner = found.partner.get(number) if found is not None else None
        if found is None or partner is None or not partner_settings(found, number, op, _LEAST):
            return self.attempts.work(self.block, number, op)
        return lower(partner, found.golden.graph.ops[partner], None)

    def _leave(self, found: _Outcome, op: Op, slot: int, array: Array, *, unknown: bool) -> None:
        """Note what an operator leaves in an input that it overwrites."""
        name = state_name(self.graph, op.operand(slot))
        if not (unknown and _is_unknown(array)):
            found.tensors["input", slot] = array
        found.state |= {name: array} if name else {}

    def _input(
        self,
        run: Run,
        number: int,
        slot: int,
        operand: Operand,
        given: dict[int, Array | None],
    ) -> Array | None:
        """Return what an operator reads; ``given`` holds what is the same for all runs."""
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
        found, other = self.found, self.attempts.pairing.blocks.get(self.block)
        if found is None or other is None:
            return None
        theirs, partner = self.attempts.theirs, found.partner.get(number)
        if partner is not None:
            known = theirs.read(other, partner, found.input_order(number).get(slot, slot))
            if known is not None:
                return known.array
        origin = found.mapped(found.target.origin(operand))
        if origin is not None and origin.kind == "op":
            return theirs.given(other, origin.number, origin.slot)
        for reader, place in found.golden.readers(origin) if origin is not None else ():
            known = theirs.read(other, reader, place)
            if known is not None:
                return known.array
        return None


@dataclass
class _Outcome:
    """What an operator read and gave, by direction and slot; its outputs, and weights that it has updated."""

    tensors: dict[Place, Array]
    outputs: dict[int, Array] = field(default_factory=dict)
    state: dict[str, Array] = field(default_factory=dict)


class _Once:
    """What several models find out about one operator, found out once: inputs as stated, equal outputs, errors."""

    def __init__(self, distance: Distance) -> None:
        self._distance = distance
        self._stated: dict[tuple[int, int], tuple[Array, Array]] = {}
        self._outputs: dict[tuple[int, str, tuple[int, ...], bytes], Array] = {}
        self._errors: dict[tuple[int, int], float | None] = {}

    def stated(self, array: Array | None, op: Op, slot: int) -> Array | None:
        """Return an input as its operator states it."""
        if array is None:
            return None
        key = id(array), slot
        if key not in self._stated:
            self._stated[key] = (
                array,
                cast_as_declared(array, op, slot),
            )  # kept, so that its id stays its own
        return self._stated[key][1]

    def share(self, outcome: _Outcome) -> None:
        """Let equal outputs be one array, so that whoever reads them is computed once, too."""
        for slot, array in outcome.outputs.items():
            key = slot, array.dtype.str, array.shape, array.tobytes()
            same = self._outputs.setdefault(key, array)
            outcome.outputs[slot] = same
            if outcome.tensors.get(("output", slot)) is array:
                outcome.tensors["output", slot] = same

    def error(self, pair: Pair, array: Array) -> float | None:
        """Return how far an array is from the statistics of a pair."""
        key = id(pair), id(array)
        if key not in self._errors:
            self._errors[key] = self._distance(pair, array)
        return self._errors[key]


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
