"""Which operators are not deterministic: their inputs agree between runs, and their outputs do not.

Where the inputs differ, too, what they explain (their error, magnified as an operator may) and rounding are taken
off first.
"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from workbench.comparison.limits import limits
from workbench.comparison.measure.conditioning import LARGEST, condition_number
from workbench.comparison.measure.noise import (
    coarsest_roundoff,
    expected_rounding,
    is_discontinuous,
)
from workbench.comparison.repeats.measured import OwnSpread, Spread
from workbench.comparison.result import NotDeterministic
from workbench.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.repeats.measured import Index, Place
    from workbench.core.tensors import TensorKey
    from workbench.graph.graph import Graph


def own_spreads(
    binding: Binding, index: Index, counted: Collection[Place]
) -> Iterator[tuple[TensorKey, OwnSpread]]:
    """Errors of outputs between runs beyond what their operator's inputs explain; of operators that count."""
    roundoff: dict[Execution, list[float]] = {}
    for (block, number), measures in index.items():
        outputs = {slot: item for (io, slot), item in measures.items() if io == "output"}
        equal = all(item.divergence.equal for item in outputs.values())
        if equal or (block, number) not in counted:
            continue
        graph = binding.graph(block)
        inputs = _inputs(graph, block, number, index)
        differ = any(not item.divergence.equal for item in inputs.values())
        if graph is None or number < 0:
            if differ:  # what they explain is not known
                continue
            explained = 0.0
        else:
            if block not in roundoff:
                roundoff[block] = coarsest_roundoff(graph, npu=True)
            rounding = roundoff[block][number]
            explained = _explained(graph, number, inputs, outputs, rounding) if differ else 0.0
        for item in outputs.values():
            run, error = item.pair.golden_run, item.error
            if error > explained and run is not None:
                own = error if math.isinf(error) else error - explained
                yield item.pair.golden.key, OwnSpread(own, item.divergence.size, run)


def _explained(
    graph: Graph,
    number: int,
    inputs: Mapping[int, Measured],
    outputs: Mapping[int, Measured],
    rounding: float,
) -> float:
    """Relative error between runs that inputs which differ, and rounding, explain."""
    op, judging = graph.ops[number], limits()
    most = max(item.error for item in inputs.values())
    kappa = condition_number(op, inputs, outputs) or 1.0
    jumps = LARGEST if is_discontinuous(op) else 1.0
    rounded = judging.pass_factor * expected_rounding(op, rounding)
    return rounded + jumps * kappa * judging.amplification * most


def _inputs(
    graph: Graph | None, block: Execution, number: int, index: Index
) -> dict[int, Measured]:
    """What was measured of an operator's inputs, or of the outputs that it reads."""
    found = {slot: item for (io, slot), item in index[block, number].items() if io == "input"}
    if graph is None or number < 0:
        return found
    for slot, operand in enumerate(graph.ops[number].flat_inputs()):
        if slot in found or not isinstance(operand, Value):
            continue
        item = index.get((block, operand.op), {}).get(("output", operand.slot))
        if item is not None:
            found[slot] = item
    return found


def not_deterministic(own: Mapping[TensorKey, OwnSpread]) -> tuple[NotDeterministic, ...]:
    """Return operators in order of time, each with the largest error of any execution."""
    found: dict[tuple[int, int, str], NotDeterministic] = {}
    for key, (error, _, run) in own.items():
        place = key.rank, key.graph_id, run.op_name
        before = found.get(place)
        if before is None or error > before.error:
            found[place] = NotDeterministic(
                run.op_name, run.op_type, key.rank, key.graph_id, key.iteration, key.slot, error
            )
    return tuple(found.values())


def supported(
    spreads: Mapping[TensorKey, Spread], own: Mapping[TensorKey, OwnSpread]
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
