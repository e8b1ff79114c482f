"""What is seen of an operator without a graph before a rule is asked, and the facts that rules ask about."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.bind.wiring import array_of
from workbench.comparison.follow.expected_error import is_as_others, own_excess, shown_by_others
from workbench.comparison.follow.in_time.reading import may_be_fused, source_of
from workbench.comparison.follow.in_time.rules import TimeFacts
from workbench.comparison.follow.in_time.stand_ins import types_of
from workbench.comparison.follow.in_time.stores import is_explained_by_store
from workbench.comparison.follow.nan_origins import DOMAINS, misfits
from workbench.comparison.follow.operators import Conclusion
from workbench.comparison.follow.state import Assessment
from workbench.comparison.follow.trace import excused
from workbench.comparison.limits import limits
from workbench.comparison.measure.conditioning import (
    REDUCTIONS,
    condition_number,
    correlated_error,
    golden_norm,
)
from workbench.comparison.measure.noise import (
    expected_rounding,
    is_discontinuous,
    jump_limit,
)
from workbench.comparison.pair.claims import has_outputs_alone
from workbench.comparison.replay.own_error import OF_ONE, PART_OF_ONE
from workbench.core.dtypes import DTYPES
from workbench.ops import COLLECTIVES, CONTRACTIONS, MOVEMENT, STEPS
from workbench.ops.aliases import type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.follow.in_time.reading import Partners, Reading
    from workbench.comparison.follow.in_time.rules import TimeMemory
    from workbench.comparison.follow.in_time.stand_ins import StandIns
    from workbench.comparison.follow.trace import Survey
    from workbench.comparison.measure.measure import Measured
    from workbench.graph.graph import Op


def _excess(reading: Reading, worst: Measured | None) -> float | None:
    """Error of an operator beyond what came in; ``None`` if that is not known."""
    if worst is None or not reading.known:
        return None
    return own_excess(worst.error, reading.inherited or 0.0)


def is_off_alone(known: Survey, block: Execution, stand_ins: StandIns) -> bool:
    """Whether a single operator of an execution is off by more than rounding: whatever the order, none came before."""
    runs, found = known.pairing.target.runs[block], 0
    for op, run in runs.items():
        usable = [m for m in known.index.get((block, op), {}).values() if m.usable]
        own = stand_ins.roundoff(run, stand_ins.of(run, usable))
        least = limits().pass_factor * expected_rounding(None, own)
        found += any(m.error > (0.0 if m.exact else least) for m in usable if m.pair.io == "output")
    return found == 1


def shown_by_products(
    known: Survey,
    block: Execution,
    reads: Mapping[int, Reading],
    usable: Mapping[int, Sequence[Measured]],
) -> dict[int, float]:
    """Error that the other products of the run add by themselves, for each of its products: their median.

    A unit that computes in fewer bits than any file tells shows in all of them; a product that alone is off does not.
    Infinite where there are no two others.
    """
    if not known.npu:
        return {}
    runs, found = known.pairing.target.runs[block], list[tuple[int, int, float]]()
    for op, items in usable.items():
        run = runs[op]
        if types_of(run, items) & CONTRACTIONS:
            own = _excess(reads[op], _worst(items))
            found += [(run.time, op, own)] if own is not None else []
    found.sort(key=lambda one: one[0])
    return shown_by_others({op: own for _, op, own in found})


def _worst(usable: Iterable[Measured]) -> Measured | None:
    outputs = [m for m in usable if m.pair.io == "output"]
    return max(outputs, key=_error, default=None) if len(outputs) != 1 else outputs[0]


def _error(item: Measured) -> float:
    return item.error


# --- what is seen -----------------------------------------------------------------------------------


def seen_in_time(
    known: Survey,
    run: OperatorRun,
    op: Op,
    floor: float,
    reading: Reading,
    base: int,
    memory: TimeMemory,
) -> Assessment:
    """What is seen of an operator before it is judged.

    ``op`` stands in for it, ``floor`` is what its own rounding explains behind all formats that were met so far.
    """
    measured, judging = known.index[run.block, run.op], limits()
    usable = [m for m in measured.values() if m.usable]
    outputs = [m for m in usable if m.pair.io == "output" and not m.within_runs]
    inherited = reading.inherited
    if inherited is None or not reading.known:
        inherited = max(inherited or 0.0, memory.tolerated)
    if not reading.first:
        inherited = max(inherited, correlated_error(op, reading.given))
    tainted = _is_tainted(reading, floor, memory)
    if inherited == 0.0 and any(one.exact and one.error > 0 for one in outputs):
        floor, outputs = 0.0, [one for one in outputs if one.exact]
    worst = _worst(outputs)
    kappa = condition_number(op, reading.inputs, {m.pair.slot: m for m in outputs})
    factor = judging.pass_factor if kappa is None else judging.steady_factor
    carried = inherited * (judging.amplification + inherited)
    expected = (kappa or 1.0) * (floor + carried)
    limit = factor * expected
    jumps = is_discontinuous(op) or (worst is not None and worst.exact)
    if worst is not None and inherited > 0 and jumps and _may_have_chosen(run, worst):
        limit = max(limit, jump_limit(op, floor + inherited))
    seen = Assessment(
        run.block, run.op, floor, inherited, tainted, base - run.op, measured,
        tolerance_factor=factor, expected_error=expected, worst=worst, limit=limit,
    )  # fmt: skip
    if known.job is None:
        return seen
    # what it reads differs between two ranks of a job, or is not known, up to where they meet
    if run.op_type in COLLECTIVES:
        return seen._replace(
            tainted=False, inherited=0.0, expected_error=floor, limit=factor * floor
        )
    least = judging.pass_factor * floor
    own = tainted or not reading.inputs or any(error > least for error in reading.given)
    return seen._replace(tainted=False, rank_local=own)


def _may_have_chosen(run: OperatorRun, worst: Measured) -> bool:
    """Whether an operator that jumps read, in its place, whatever it gives that is not finite.

    NaN that it read elsewhere, in the branch that it did not take, excuses none; inputs that nobody knows excuse all.
    """
    gave = None if math.isfinite(worst.error) else array_of(worst.pair.target)
    if gave is None or gave.dtype.kind != "f":
        return True
    lost, known = ~np.isfinite(gave.reshape(-1)), False
    for (io, _), record in run.tensors.items():
        read = array_of(record) if io == "input" and lost.any() else None
        if read is not None and read.dtype.kind == "f" and read.size in (1, lost.size):
            lost, known = lost & np.isfinite(read.reshape(-1)), True
    return not (known and lost.any())


def _is_tainted(reading: Reading, floor: float, memory: TimeMemory) -> bool:
    """Whether a failed operator gave what an operator read, or may have, as nothing tells what it read."""
    if not memory.failed:
        return False
    least = limits().pass_factor * floor
    if any(op in memory.failed and error > least for error, _, op in reading.produced):
        return True
    return not reading.known or any(error > least for error in reading.given)


def given_apart(reading: Reading, seen: Assessment, memory: TimeMemory) -> float:
    """Largest error of what no operator is known to have produced, if nothing before explains it.

    In later executions an earlier step may have left it in a weight. NaN and infinity may come of whatever was
    undecided before.
    """
    worst = max(reading.given, default=0.0)
    if memory.doubtful and math.isinf(worst):
        return 0.0
    return worst if reading.first and worst > _explained_before(seen, memory) else 0.0


def _explained_before(seen: Assessment, memory: TimeMemory) -> float:
    """Largest error of an input that rounding, or what came before it, explains."""
    judging = limits()
    least = judging.pass_factor * seen.rounding_floor
    return max(least, judging.amplification * memory.tolerated, memory.allowed)


def time_facts(
    known: Survey,
    seen: Assessment,
    reading: Reading,
    partners: Partners,
    shown: float | None,
    memory: TimeMemory,
    given: float,
) -> TimeFacts:
    """Facts of an operator; ``given`` is the error of what nothing produced, ``shown`` that of other products."""
    worst = seen.worst.error if seen.worst is not None else 0.0
    judging = limits()
    came = max([one for one, left, _ in reading.produced if left is None], default=0.0)
    unlike = [one for one in reading.produced if _is_unlike(one, seen)]
    facts = TimeFacts(
        seen.op, worst, seen.limit, seen.rank_local, seen.tainted,
        came=came > 0.0 and came > _explained_before(seen, memory),
        misread=any(read > judging.excused_most for read, _, _ in unlike),
    )  # fmt: skip
    if seen.rank_local or (worst <= seen.limit and not given):
        return facts
    excuse = None if seen.tainted else excused(known, seen, Conclusion("origin", seen.op))
    off = seen.worst is None or not worst <= judging.pass_factor * seen.rounding_floor
    wrong = any(m.divergence.size == 1 or m.exact for m in _given_items(reading, partners, seen))
    facts = facts._replace(
        tolerated=excuse is not None,
        given=bool(given) and off and (wrong or given > judging.excused_most),
        apart=bool(given),
        behind=memory.doubtful and seen.inherited > judging.pass_factor * seen.rounding_floor,
    )
    run = known.pairing.target.runs[seen.block][seen.op]
    blind = _is_blind(reading, seen, run, memory) or _moves_unseen(seen, reading, run, partners)
    facts = facts._replace(blind=blind or _may_cancel(reading, seen, run, partners, memory))
    if not math.isfinite(worst):
        facts = facts._replace(misfit=_has_misfit(run))
    if not math.isfinite(worst) or (seen.worst is not None and seen.worst.exact):
        return facts
    return facts._replace(
        figures=_is_of_figures(seen, memory),
        fused=may_be_fused(partners, seen.op, run),
        low=_is_low(reading, seen.worst, shown) or _is_of_library(known, seen),
        stored=is_explained_by_store(known, seen),
        unlike=bool(unlike),
    )


def _is_of_library(known: Survey, seen: Assessment) -> bool:
    """Whether an operator is off by no more than libraries compute its type to, a part of 1: near zero that is much."""
    run = known.pairing.target.runs[seen.block][seen.op]
    if seen.worst is None or type_of(run.op_type) not in OF_ONE:
        return False
    off = seen.worst.divergence.metrics.get("MaxAbsoluteError", math.inf)
    return off <= PART_OF_ONE and has_outputs_alone(known.pairing.golden)


def _has_misfit(run: OperatorRun) -> bool:
    """Whether an operator read a number that it has no result for, and gives none of that."""
    read, gave = run.tensors.get(("input", 0)), run.tensors.get(("output", 0))
    ours = array_of(read) if read is not None else None
    given = array_of(gave) if gave is not None else None
    if ours is None or given is None:
        return False
    return bool(misfits(type_of(run.op_type), ours, given).size)


def _is_blind(reading: Reading, seen: Assessment, run: OperatorRun, memory: TimeMemory) -> bool:
    """Whether what an operator read may explain that it is off, as that was not compared.

    NaN, and any error of what is only moved, may come from an operator that was not dumped, and any error from a weight
    that an earlier step has left. Else nothing explains a large one if all before it agrees; none at all does of
    integers if all before is equal, but of those that jump.
    """
    worst, judging = seen.worst, limits()
    error = worst.error if worst is not None else 0.0
    types = types_of(run, seen.measured.values())
    if not math.isfinite(error):
        arrived = any(not math.isfinite(one) for one, _, _ in reading.produced)
        if type_of(run.op_type) in DOMAINS and ("input", 0) not in run.tensors:
            return True  # what it read may be outside of its domain
        return arrived or reading.unseen or (memory.doubtful and not reading.known)
    if reading.known:
        return False
    moves = types & MOVEMENT and (reading.unseen or _has_lone_input(reading, run))
    if moves or reading.moved or memory.doubtful or types & STEPS:
        return True
    if worst is not None and worst.exact:
        return memory.allowed > 0.0
    return error <= max(judging.excused_most, _given_before(memory))


def _moves_unseen(seen: Assessment, reading: Reading, run: OperatorRun, partners: Partners) -> bool:
    """Whether an operator that only moves may have moved what a kernel before it gave, which has no golden."""
    moves = type_of(run.op_type) in MOVEMENT
    return moves and not reading.inputs and seen.op in partners.behind_unseen


def _has_lone_input(reading: Reading, run: OperatorRun) -> bool:
    """Whether an operator read floats that nothing was compared with."""
    return any(
        DTYPES[one.spec.dtype].is_float
        for (io, slot), one in run.tensors.items()
        if io == "input" and slot not in reading.inputs and one.spec.dtype in DTYPES
    )


def _is_of_figures(seen: Assessment, memory: TimeMemory) -> bool:
    """Whether statistics of what an operator read do not show that it differs enough to explain that it is off."""
    worst = seen.worst
    if worst is None or worst.exact or worst.pair.target.source is not None:
        return False
    return worst.error <= max(limits().excused_most, _given_before(memory))


def _given_before(memory: TimeMemory) -> float:
    """Largest error that an operator may have made of what any before it gave."""
    return limits().amplification * max(memory.allowed, memory.tolerated)


def _may_cancel(
    reading: Reading, seen: Assessment, run: OperatorRun, partners: Partners, memory: TimeMemory
) -> bool:
    """Whether a sum whose terms the target has not dumped cancels so far that their rounding explains its error."""
    worst, golden = seen.worst, partners.golden_of.get(seen.op)
    if worst is None or golden is None or not types_of(run, [worst]) & REDUCTIONS:
        return False
    if 0 in reading.inputs and golden_norm(reading.inputs[0]) is not None:
        return False  # its limit holds the conditioning already
    run_of_golden = partners.runs[golden].tensors
    terms, sums = (array_of(run_of_golden.get((io, 0))) for io in ("input", "output"))
    result = golden_norm(worst)
    if result is None and sums is not None:  # statistics need not tell it
        result = float(np.linalg.norm(sums.astype(np.float64)))
    if terms is None or result is None or not math.isfinite(worst.error):
        return False
    judging = limits()
    rounding = seen.rounding_floor + judging.amplification * memory.allowed
    cancels = float(np.linalg.norm(terms.astype(np.float64))) / result if result else math.inf
    return worst.error <= judging.pass_factor * max(cancels, 1.0) * rounding


def _given_items(reading: Reading, partners: Partners, seen: Assessment) -> Iterator[Measured]:
    """Inputs that differ and that no operator is known to have produced."""
    golden = partners.golden_of.get(seen.op)
    for slot, item in reading.inputs.items():
        if item.error > 0 and not item.rewritten and source_of(partners, golden, slot) is None:
            yield item


def _is_low(reading: Reading, worst: Measured | None, shown: float | None) -> bool:
    """Whether an operator is off no more than other products of the run, or has none to tell it from."""
    own = _excess(reading, worst)
    return own is not None and shown is not None and is_as_others(own, shown)


def _is_unlike(produced: tuple[float, float | None, int], seen: Assessment) -> bool:
    """Whether an input is off by more than what its producer gave."""
    read, given, _ = produced
    if given is None:
        return False
    judging = limits()
    return read > judging.pass_factor * (seen.rounding_floor + judging.amplification * given)
