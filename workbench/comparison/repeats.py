"""Other runs of the target: how far its tensors differ from run to run, and which operators are not deterministic.

Every repeat is paired with the target and measured, and nothing else is concluded of it. What runs of one device
disagree in is noise that it shows, whatever number formats explain: `repeat_factor` times the largest error between
runs is what a tensor may be off from the golden without being wrong.

An operator is not deterministic where its inputs agree and its outputs do not. Where the inputs differ, too, what
they explain (their error, magnified as an operator may) and rounding are taken off first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from workbench.comparison.bind.borrow import bind_both
from workbench.comparison.graphs.roles import updated_names
from workbench.comparison.limits import limits
from workbench.comparison.measure.conditioning import LARGEST, condition_number
from workbench.comparison.measure.measure import measure_pairs
from workbench.comparison.measure.noise import (
    coarsest_roundoff,
    expected_rounding,
    is_discontinuous,
)
from workbench.comparison.pair.pair import pair_tensors
from workbench.comparison.pair.pairing import Selection
from workbench.comparison.result import NotDeterministic, RepeatRun
from workbench.core.words import Message
from workbench.graph.nodes import Const, Param, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.measure.measure import Cancelled, Measured
    from workbench.core.tensors import TensorKey
    from workbench.dump.tree import Dump
    from workbench.graph.nodes import Graph, Operand

    Measures = Mapping[tuple[str, int], Measured]
    Index = Mapping[tuple[Execution, int], Measures]


class Spread(NamedTuple):
    """Largest relative error of a tensor between runs, and of its worst slice; ``size`` is its number of elements."""

    error: float = 0.0
    slice_error: float = 0.0
    size: int = 0


class Repeats(NamedTuple):
    """What repeats show: every run, tensors that differ between runs, and operators that are not deterministic."""

    runs: tuple[RepeatRun, ...]
    spreads: Mapping[TensorKey, Spread]
    operators: tuple[NotDeterministic, ...]

    @property
    def differing(self) -> int:
        """How many runs of the same network differ from the target."""
        return sum(run.differing > 0 and run.used for run in self.runs)

    @property
    def factor(self) -> float:
        """How many times the largest error between runs a tensor may be off."""
        known = limits()
        factors = (known.repeat_factor_one, known.repeat_factor_two, known.repeat_factor_three)
        return factors[min(max(self.differing, 1), len(factors)) - 1]


class _Run(NamedTuple):
    """One repeat, measured; ``own`` are errors of outputs that its inputs do not explain."""

    said: RepeatRun
    spreads: Mapping[TensorKey, Spread]
    own: Mapping[TensorKey, tuple[float, int, OperatorRun]]


def measure_repeats(
    target: Dump,
    repeats: Sequence[Dump],
    selection: Selection,
    cancelled: Cancelled | None = None,
) -> Repeats:
    """Measure how far other runs of the target are from it; a dump that is none of it is told, and not used."""
    runs = [_measured(target, one, selection, cancelled) for one in repeats]
    spreads: dict[TensorKey, Spread] = {}
    own: dict[TensorKey, tuple[float, int, OperatorRun]] = {}
    for run in runs:
        for key, one in run.spreads.items():
            before = spreads.get(key, one)
            error, local = max(one.error, before.error), max(one.slice_error, before.slice_error)
            spreads[key] = Spread(error, local, one.size)
        for key, mine in run.own.items():
            own[key] = max(mine, own.get(key, mine), key=_error_of)
    return Repeats(tuple(run.said for run in runs), _supported(spreads, own), _operators(own))


def _error_of(one: tuple[float, int, OperatorRun]) -> float:
    return one[0]


def _measured(
    target: Dump, repeat: Dump, selection: Selection, cancelled: Cancelled | None
) -> _Run:
    ours, theirs = bind_both(repeat, target)
    rank, iteration = (
        None if one is None else (one[0], one[0]) for one in (selection.rank, selection.iteration)
    )
    pairing = pair_tensors(ours, theirs, Selection(rank, iteration))
    items = measure_pairs(pairing, cancelled=cancelled).items
    usable = [item for item in items if item.usable and not item.reason]
    differing = sum(not item.divergence.equal for item in usable)
    due = sum(selection.takes(record.key, "target") for record in target.records)
    index = _index(usable)
    why = _unlike(usable, due, theirs, index)
    said = RepeatRun(
        repeat.path, len(usable), differing, why is None, why or _remark(usable, due - len(items))
    )
    if why is not None:
        return _Run(said, {}, {})
    return _Run(said, dict(_spreads(usable)), dict(_own(theirs, index)))


def _unlike(usable: Sequence[Measured], due: int, binding: Binding, index: Index) -> Message | None:
    """Say why a dump is no other run of the target; ``None``: it is one."""
    if len(usable) * 100 < limits().repeat_least * due or not usable:
        return Message("compare/repeat-other", compared=len(usable), due=due)
    given = next(_given_otherwise(binding, index), None)
    if given is None:
        return None
    pair = given.pair
    name = pair.golden.key.op_name
    return Message("compare/repeat-input", op_name=name, io=pair.io, slot=pair.slot)


def _given_otherwise(binding: Binding, index: Index) -> Iterator[Measured]:
    """Inputs and weights that no operator computes and that differ between runs."""
    for (block, number), measures in index.items():
        graph = binding.graph(block)
        if graph is None:
            continue
        op, updated = graph.ops[number], updated_names(graph)
        for slot, operand in enumerate(op.flat_inputs()):
            item = measures.get(("input", slot))
            if item is None or item.divergence.equal or item.rewritten:
                continue
            if isinstance(operand, Const) or _is_given(graph, operand, updated):
                yield item


def _is_given(graph: Graph, operand: Operand, updated: Iterable[str]) -> bool:
    return isinstance(operand, Param) and graph.parameters[operand.index].name not in updated


def _remark(usable: Sequence[Measured], missing: int) -> Message | None:
    """What is to be said of a run that is used; ``missing`` tensors of the target are not in it."""
    if all(item.divergence.equal for item in usable):
        return Message("compare/repeat-equal")
    return Message("compare/repeat-lacks", count=missing) if missing > 0 else None


def _index(items: Iterable[Measured]) -> Index:
    """What was measured, by the target's execution and operator, by direction and slot."""
    found: dict[tuple[Execution, int], dict[tuple[str, int], Measured]] = defaultdict(dict)
    for item in items:
        run = item.pair.golden_run
        if run is not None:
            found[run.block, run.op][item.pair.io, item.pair.slot] = item
    return found


def _spreads(items: Iterable[Measured]) -> Iterator[tuple[TensorKey, Spread]]:
    for item in items:
        if math.isfinite(item.error) and not item.divergence.equal:
            found = item.divergence
            yield item.pair.golden.key, Spread(item.error, found.slice_error, found.size)


# --- which operators are not deterministic ------------------------------------------------------


def _own(
    binding: Binding, index: Index
) -> Iterator[tuple[TensorKey, tuple[float, int, OperatorRun]]]:
    """Errors of outputs beyond what their operator's inputs explain, with their number of elements."""
    roundoff: dict[Execution, list[float]] = {}
    for (block, number), measures in index.items():
        outputs = {slot: item for (io, slot), item in measures.items() if io == "output"}
        if all(item.divergence.equal for item in outputs.values()):
            continue
        graph = binding.graph(block)
        inputs, complete = _inputs(graph, block, number, index)
        if not complete:
            continue
        explained = 0.0
        if graph is not None and any(not item.divergence.equal for item in inputs.values()):
            op = graph.ops[number]
            if block not in roundoff:
                roundoff[block] = coarsest_roundoff(graph, npu=True)
            most = max(item.error for item in inputs.values())
            kappa = condition_number(op, inputs, outputs) or 1.0
            jumps = LARGEST if is_discontinuous(op) else 1.0
            explained = limits().pass_factor * expected_rounding(op, roundoff[block][number])
            explained += jumps * kappa * limits().amplification * most
        elif any(not item.divergence.equal for item in inputs.values()):
            continue
        for item in outputs.values():
            run, error = item.pair.golden_run, item.error
            if error > explained and run is not None:
                own = error if math.isinf(error) else error - explained
                yield item.pair.golden.key, (own, item.divergence.size, run)


def _inputs(
    graph: Graph | None, block: Execution, number: int, index: Index
) -> tuple[dict[int, Measured], bool]:
    """What was measured of an operator's inputs, or of the outputs that it reads; and whether that is all of them."""
    found = {slot: item for (io, slot), item in index[block, number].items() if io == "input"}
    if graph is None:
        return found, bool(found)
    updated, complete = updated_names(graph), True
    for slot, operand in enumerate(graph.ops[number].flat_inputs()):
        if slot in found or isinstance(operand, Const) or _is_given(graph, operand, updated):
            continue
        before = index.get((block, operand.op), {}) if isinstance(operand, Value) else {}
        item = before.get(("output", operand.slot)) if isinstance(operand, Value) else None
        if item is None:
            complete = False
        else:
            found[slot] = item
    return found, complete


def _operators(
    own: Mapping[TensorKey, tuple[float, int, OperatorRun]],
) -> tuple[NotDeterministic, ...]:
    """Operators that are not deterministic, in order of time, each with the largest error of any execution."""
    found: dict[tuple[int, int, str], NotDeterministic] = {}
    for key, (error, _, run) in own.items():
        place = key.rank, key.graph_id, run.op_name
        before = found.get(place)
        if before is None or error > before.error:
            found[place] = NotDeterministic(
                run.op_name, run.op_type, key.rank, key.graph_id, key.iteration, key.slot, error
            )
    return tuple(found.values())


def _supported(
    spreads: Mapping[TensorKey, Spread],
    own: Mapping[TensorKey, tuple[float, int, OperatorRun]],
) -> dict[TensorKey, Spread]:
    """Let tensors of few elements have the spread of operators with many: the error of few between runs is chance.

    Of operators of the same type the largest is taken, without one the middle of all.
    """
    least = limits().repeat_elements
    of_type: dict[str, float] = {}
    for error, size, run in own.values():
        if size >= least and math.isfinite(error):
            of_type[run.op_type] = max(error, of_type.get(run.op_type, 0.0))
    if not of_type:
        return dict(spreads)
    middle = median(of_type.values())
    return {
        key: one
        if one.size >= least
        else one._replace(error=max(one.error, of_type.get(key.op_type, middle)))
        for key, one in spreads.items()
    }


# --- what they excuse -----------------------------------------------------------------------------


def with_spreads(items: Sequence[Measured], repeats: Repeats) -> tuple[Measured, ...]:
    """Return measured pairs that know what the target's runs may be off, as a whole and in a slice."""
    factor = repeats.factor
    return tuple(
        item
        if (one := repeats.spreads.get(item.pair.target.key)) is None
        else item._replace(spread=factor * one.error, slice_spread=factor * one.slice_error)
        for item in items
    )
