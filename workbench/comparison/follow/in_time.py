"""Executions without a graph: the order of time stands in for the data flow, and equal bytes for its edges.

What feeds what is inferred from the golden (`workbench.comparison.bind.wiring`): its tensors with equal bytes. The
unit that computes, and with it the floor, is that of the operator's type as files name it. Where the evidence stays
weak an operator is *undecided*: neither agreed nor an origin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from workbench.comparison.bind.wiring import Wiring, infer_wiring
from workbench.comparison.follow.operators import AGREES, Conclusion, undecided
from workbench.comparison.follow.rules import Rule
from workbench.comparison.follow.state import INHERITS, SOME_INPUT, Assessment
from workbench.comparison.follow.trace import excused
from workbench.comparison.limits import limits
from workbench.comparison.measure.conditioning import condition_number
from workbench.comparison.measure.noise import (
    CUBE_INPUT,
    expected_rounding,
    is_discontinuous,
    jump_limit,
    spec_roundoff,
)
from workbench.comparison.replay.spellings import SPELLINGS
from workbench.graph.nodes import Op, Param
from workbench.graph.table.collectives import COLLECTIVES
from workbench.graph.traits import CONTRACTIONS, MOVEMENT, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.follow.trace import Survey
    from workbench.comparison.measure.measure import Measured
    from workbench.core.tensors import TensorSpec


@dataclass(slots=True)
class TimeMemory:
    """What an execution without a graph has shown so far, changed by what rules learn.

    ``allowed`` is the largest error that an operator may have given, ``tolerated`` the largest that the map file
    tolerates; ``failed`` are the operators of which one was too large, ``doubtful``: one was undecided.
    """

    allowed: float = 0.0
    tolerated: float = 0.0
    failed: frozenset[int] = frozenset()
    doubtful: bool = False


class TimeFacts(NamedTuple):
    """An operator in the order of time; ``limit`` is what its inputs and the formats explain of ``worst``.

    ``rank_local``: it may differ by design, ``tainted``: more than what was allowed before it comes in; ``tolerated``:
    the map file excuses its error. What makes the evidence weak: ``fused``, its kernel may do the work of operators
    behind it, too; ``low``, the products of this run are all as far off; ``unlike``, it reads something else than its
    producer gave; ``blind``, nothing tells what it read; ``behind``, an undecided operator stands before it.
    ``given``: what nothing produced differs too much for any format, ``apart``: by less; ``came``: what an operator
    gave does, and that was not compared where it was given.
    """

    op: int = 0
    worst: float = 0.0
    limit: float = 0.0
    rank_local: bool = False
    tainted: bool = False
    tolerated: bool = False
    fused: bool = False
    low: bool = False
    unlike: bool = False
    blind: bool = False
    behind: bool = False
    given: bool = False
    apart: bool = False
    came: bool = False


def _learn_allowed(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.allowed = max(memory.allowed, 0.0 if facts.tainted else facts.worst)


def _learn_failed(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.failed |= {facts.op}


def _learn_doubt(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.doubtful = True
    memory.allowed = max(memory.allowed, facts.worst if math.isfinite(facts.worst) else 0.0)


def _learn_excused(facts: TimeFacts, _: Conclusion, memory: TimeMemory) -> None:
    memory.tolerated = max(memory.tolerated, facts.worst)


TIME_RULES: tuple[Rule[TimeFacts, Conclusion, TimeMemory], ...] = (
    Rule(
        "own-batch",
        lambda o: o.rank_local,
        lambda o: Conclusion("rank-local"),
        why="two ranks differ by design, and what they may give says nothing of others",
        needs="difference",
    ),
    Rule(
        "may-be-fused",
        lambda o: o.fused and (o.worst > o.limit or o.given or o.apart),
        lambda o: undecided("may-be-fused"),
        learns=_learn_doubt,
        why="two tensors of one name need not be the same value: asked before any difference of theirs is blamed",
        needs="difference",
    ),
    Rule(
        "given-differs",
        lambda o: o.given,
        lambda o: Conclusion("origin", o.op),
        learns=_learn_failed,
        why="what it was given explains its error, so no limit of its own may excuse it",
        needs="first",
    ),
    Rule(
        "given-apart",
        lambda o: o.apart,
        lambda o: undecided("given-apart"),
        learns=_learn_doubt,
        why="a format that no file tells may have rounded it: asked before its reader is excused by it",
        needs="difference",
    ),
    Rule(
        "from-unseen",
        lambda o: o.came and not o.tainted,
        lambda o: undecided("from-unseen"),
        learns=_learn_doubt,
        why="it came from outside of the dump: no limit may excuse it, and nobody inside is to blame",
        needs="difference",
    ),
    Rule(
        "within-expected",
        lambda o: o.worst <= o.limit,
        lambda o: AGREES,
        learns=_learn_allowed,
        why="its inputs explain it, right or wrong; what one operator may give any later one may read",
        needs="difference",
    ),
    Rule(
        INHERITS,
        lambda o: o.tainted,
        lambda o: Conclusion("inherits", o.op),
        learns=_learn_failed,
        why="one origin a chain, as far as time tells what is one",
        needs="first",
    ),
    Rule(
        "tolerated",
        lambda o: o.tolerated,
        lambda o: Conclusion("origin", o.op),
        learns=_learn_excused,
        why="an excused error is known, so what reads it has not failed",
        needs="first",
    ),
    Rule(
        "input-unlike",
        lambda o: o.unlike,
        lambda o: undecided("input-unlike"),
        learns=_learn_doubt,
        why="without its graph nobody knows whether memory was overwritten or the programs are wired differently",
        needs="difference",
    ),
    Rule(
        "format-unknown",
        lambda o: o.low,
        lambda o: undecided("format-unknown"),
        learns=_learn_doubt,
        why="files do not tell a unit that computes in fewer bits; all its operators do",
        needs="difference",
    ),
    Rule(
        "behind-undecided",
        lambda o: o.behind,
        lambda o: undecided("behind-undecided"),
        learns=_learn_doubt,
        why="what was not decided may explain whatever is wrong behind it",
        needs="difference",
    ),
    Rule(
        "inputs-unknown",
        lambda o: o.blind,
        lambda o: undecided("inputs-unknown"),
        learns=_learn_doubt,
        why="last of what is weak: what it read may explain any finite error",
        needs="difference",
    ),
    Rule(
        "exceeds-expected",
        lambda o: True,
        lambda o: Conclusion("origin", o.op),
        learns=_learn_failed,
        why="nothing explains so large an error",
        needs="first",
    ),
    Rule(
        "order-unknown",
        lambda o: True,
        lambda o: undecided("order-unknown"),
        learns=_learn_doubt,
        why="last: without an order nobody is the first",
        needs="difference",
    ),
)
"""What an operator without a graph is found to be."""


class Partners(NamedTuple):
    """The golden's side of an execution without a graph: its runs, its wiring, and who is matched with whom.

    ``golden_of`` and ``target_of`` map numbers of matched operators.
    """

    runs: Mapping[int, OperatorRun]
    wiring: Wiring
    golden_of: Mapping[int, int]
    target_of: Mapping[int, int]
    readers: Mapping[int, set[int]]


class Reading(NamedTuple):
    """What is known of what an operator read.

    ``inputs`` were measured, by slot; ``produced`` are the errors of those that an operator gave, as they were read
    and as they were given, with its number; ``given`` are the errors of inputs that nothing is known to have produced.
    ``unknown`` are the slots of what was not compared, `SOME_INPUT` where nobody knows its inputs.
    """

    inputs: Mapping[int, Measured]
    produced: Sequence[tuple[float, float | None, int]]
    given: Sequence[float]
    unknown: tuple[int, ...]

    @property
    def known(self) -> bool:
        """Whether nothing is missing of it that an operator gave."""
        return not self.unknown

    @property
    def inherited(self) -> float | None:
        """Largest error that came in; ``None`` if no input is known."""
        errors = [one for one, _, _ in self.produced if math.isfinite(one)]
        return max((*errors, *filter(math.isfinite, self.given)), default=None)


# --- what was read ------------------------------------------------------------------------------------


def partners_of(known: Survey, block: Execution) -> Partners:
    """Match an execution of the target with the golden's, wired by bytes where anything differs."""
    pairing = known.pairing
    other = pairing.blocks.get(block)
    golden_of = {
        op: next(iter(some.values())).pair.golden_run
        for (at, op), some in known.index.items()
        if at == block and some
    }
    matched = {op: run.op for op, run in golden_of.items() if run is not None}
    if other is None:
        return Partners({}, Wiring(), matched, {}, {})
    differs = any(
        m.usable and not m.divergence.equal
        for (at, _), some in known.index.items()
        if at == block
        for m in some.values()
    )
    wiring = infer_wiring(pairing.golden, other) if differs else Wiring()
    return Partners(
        pairing.golden.runs.get(other, {}), wiring, matched,
        {golden: op for op, golden in matched.items()}, wiring.readers(),
    )  # fmt: skip


def reading_of(known: Survey, block: Execution, op: int, partners: Partners) -> Reading:
    """What an operator read, by its own files or else by what its producers gave."""
    items = known.index.get((block, op), {})
    inputs = {
        m.pair.golden.key.slot: m for (io, _), m in items.items() if io == "input" and m.usable
    }
    golden = partners.golden_of.get(op)
    run = partners.runs.get(golden) if golden is not None else None
    slots = {slot for io, slot in run.tensors if io == "input"} if run is not None else set[int]()
    produced, given, unknown = list[tuple[float, float | None, int]](), list[float](), list[int]()
    for slot in sorted(slots | inputs.keys()):
        item = inputs.get(slot)
        source = _source(partners, golden, slot)
        if source is None:
            given += [item.error] if item is not None and not item.rewritten else []
            continue
        out = known.index.get((block, source[0]), {}).get(("output", source[1])) if source else None
        error = out.error if out is not None and out.usable else None
        if item is not None:
            produced.append((item.error, error, source[0]))
        elif error is not None:
            produced.append((error, error, source[0]))
        else:
            unknown.append(slot)
    ours = {slot for io, slot in known.pairing.target.runs[block][op].tensors if io == "input"}
    unknown += sorted(ours - slots - inputs.keys())  # nothing tells what the golden reads there
    return Reading(inputs, produced, given, tuple(unknown) if slots else SOME_INPUT)


_UNSEEN = (1, 0)
"""Producer of an input whose output the target has not; without a graph no operator has a number above 0."""


def _source(partners: Partners, golden: int | None, slot: int) -> tuple[int, int] | None:
    """Return the target's operator and slot that feed an input of a golden operator; ``None`` if nothing does.

    What only moves a single tensor and is not in the target is looked through.
    """
    if golden is None:
        return None
    place, wiring = (golden, slot), partners.wiring
    while place in wiring.producers:
        number, given = wiring.producers[place]
        if number in partners.target_of:
            return partners.target_of[number], given
        read = [one for one in (*wiring.producers, *wiring.leaves) if one[0] == number]
        if partners.runs[number].op_type not in MOVEMENT or len(read) != 1:
            return _UNSEEN
        (place,) = read
    return None


def _may_be_fused(partners: Partners, op: int, run: OperatorRun) -> bool:
    """Whether the golden has operators behind one that the target has not: its kernel may do their work, too."""
    golden = partners.golden_of.get(op)
    if golden is None:
        return False
    own = partners.runs[golden]
    last, others = (
        max((n for io, n in one.tensors if io == "input"), default=-1) for one in (run, own)
    )
    if last > others >= 0:
        return True
    behind, seen = [*partners.readers.get(golden, ())], set[int]()
    if not partners.wiring.producers:
        later = [n for n, one in partners.runs.items() if one.time > own.time]
        behind = sorted(later, key=lambda n: partners.runs[n].time)[:1]
    found = list[bool]()
    while behind:
        number = behind.pop()
        if number in seen:
            continue
        seen.add(number)
        matched = number in partners.target_of
        if not matched and partners.runs[number].op_type in MOVEMENT:
            behind += partners.readers.get(number, ())
            continue
        found.append(matched)
    return bool(found) and not all(found)


# --- floors by type and format --------------------------------------------------------------------------


def _type_of(op_type: str) -> str:
    """The table's name of a type that files name."""
    row = SPELLINGS.get(op_type)
    return row.op_type if row is not None else op_type


def _types(run: OperatorRun, usable: Iterable[Measured]) -> set[str]:
    """Types that files of either side name."""
    golden = {m.pair.golden_run.op_type for m in usable if m.pair.golden_run is not None}
    return {_type_of(one) for one in ({run.op_type} | golden) if one}


def own_roundoff(known: Survey, run: OperatorRun, usable: Sequence[Measured]) -> float:
    """Coarsest roundoff that an operator applies: of its files' formats, and of the cube's inputs."""
    labels = [r.label for m in usable for r in (m.pair.target, m.pair.golden)]
    own = max((spec_roundoff(label) for label in labels), default=0.0)
    cube = own > 0.0 and known.npu and bool(_types(run, usable) & CONTRACTIONS)
    return max(own, CUBE_INPUT) if cube else own


def _stand_in(run: OperatorRun, usable: Sequence[Measured]) -> Op:
    """An operator as its files tell it: type, and shapes as far as these are known."""
    inputs = [m for m in usable if m.pair.io == "input"]
    types = _types(run, usable)
    kind = next(iter(sorted(types & CONTRACTIONS)), _type_of(run.op_type) or min(types, default=""))
    outputs = tuple(_spec(m) for m in usable if m.pair.io == "output")
    slots = range(1 + max((m.pair.slot for m in inputs), default=-1))
    by_slot = {m.pair.slot: _spec(m) for m in inputs}
    specs = tuple(by_slot.get(slot) for slot in slots)
    return Op(run.op_name, kind, tuple(Param(slot) for slot in slots), {}, outputs, specs)


def _spec(item: Measured) -> TensorSpec:
    return item.pair.golden.label._replace(shape=(item.divergence.size,))


def _excess(reading: Reading, worst: Measured | None) -> float | None:
    """Error of an operator beyond what came in; ``None`` if that is not known."""
    if worst is None or not math.isfinite(worst.error) or not reading.known:
        return None
    inherited = reading.inherited or 0.0
    return math.sqrt(max(worst.error**2 - inherited**2, 0.0))  # independent errors add up so


def is_off_alone(known: Survey, block: Execution) -> bool:
    """Whether a single operator of an execution is off by more than rounding: whatever the order, none came before."""
    runs, found = known.pairing.target.runs[block], 0
    for op, run in runs.items():
        usable = [m for m in known.index.get((block, op), {}).values() if m.usable]
        least = limits().pass_factor * expected_rounding(None, own_roundoff(known, run, usable))
        found += any(m.error > (0.0 if m.exact else least) for m in usable if m.pair.io == "output")
    return found == 1


def shown_by_products(
    known: Survey, block: Execution, reads: Mapping[int, Reading]
) -> dict[int, float]:
    """Error that the other products of the run add by themselves, for each of its products: their median.

    A unit that computes in fewer bits than any file tells shows in all of them; a product that alone is off does not.
    Infinite where there are no two others.
    """
    runs, found = known.pairing.target.runs[block], dict[int, float]()
    if not known.npu:
        return found
    for op, run in runs.items():
        items = [m for m in known.index.get((block, op), {}).values() if m.usable]
        worst = _worst(items)
        own = _excess(reads[op], worst) if _types(run, items) & CONTRACTIONS else None
        if own is not None:
            found[op] = own
    return {
        op: median(others)
        if len(others := [e for n, e in found.items() if n != op]) > 1
        else math.inf
        for op in found
    }


def _worst(usable: Iterable[Measured]) -> Measured | None:
    outputs = [m for m in usable if m.pair.io == "output"]
    return max(outputs, key=lambda m: m.error, default=None)


# --- what is seen -----------------------------------------------------------------------------------


def seen_in_time(
    known: Survey,
    run: OperatorRun,
    reading: Reading,
    base: int,
    coarsest: float,
    memory: TimeMemory,
) -> Assessment:
    """What is seen of an operator before it is judged; ``coarsest`` is the roundoff met so far."""
    measured = known.index[run.block, run.op]
    usable = [m for m in measured.values() if m.usable]
    op, judging = _stand_in(run, usable), limits()
    outputs = [m for m in usable if m.pair.io == "output"]
    floor = expected_rounding(op, coarsest)
    inherited = reading.inherited
    if inherited is None or not reading.known:
        inherited = max(inherited or 0.0, memory.tolerated)
    tainted = _is_tainted(reading, floor, memory)
    if inherited == 0.0 and any(one.exact and one.error > 0 for one in outputs):
        floor, outputs = 0.0, [one for one in outputs if one.exact]
    worst = _worst(outputs)
    kappa = condition_number(op, reading.inputs, {m.pair.slot: m for m in outputs})
    factor = judging.pass_factor if kappa is None else judging.steady_factor
    carried = inherited * (judging.amplification + inherited)
    expected = (kappa or 1.0) * (floor + carried)
    limit = factor * expected
    if worst is not None and inherited > 0 and (is_discontinuous(op) or worst.exact):
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


def _is_tainted(reading: Reading, floor: float, memory: TimeMemory) -> bool:
    """Whether a failed operator gave what an operator read, or may have, as nothing tells what it read."""
    least = limits().pass_factor * floor
    if any(op in memory.failed and error > least for error, _, op in reading.produced):
        return True
    if not memory.failed:
        return False
    return not reading.known or any(error > least for error in reading.given)


def given_apart(reading: Reading, seen: Assessment, memory: TimeMemory, *, first: bool) -> float:
    """Largest error of what no operator is known to have produced, if nothing before explains it.

    In later executions an earlier step may have left it in a weight.
    """
    worst = max(reading.given, default=0.0)
    return worst if first and worst > _explained_before(seen, memory) else 0.0


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
    facts = TimeFacts(seen.op, worst, seen.limit, seen.rank_local, seen.tainted)
    came = max((one for one, left, _ in reading.produced if left is None), default=0.0)
    facts = facts._replace(came=came > _explained_before(seen, memory))
    if seen.rank_local or (worst <= seen.limit and not given):
        return facts
    excuse = None if seen.tainted else excused(known, seen, Conclusion("origin", seen.op))
    judging = limits()
    wrong = any(m.divergence.size == 1 or m.exact for m in _given_items(reading, partners, seen))
    facts = facts._replace(
        tolerated=excuse is not None,
        given=bool(given) and (wrong or given > judging.excused_most),
        apart=bool(given),
        behind=memory.doubtful and seen.inherited > judging.pass_factor * seen.rounding_floor,
    )
    run = known.pairing.target.runs[seen.block][seen.op]
    facts = facts._replace(blind=_is_blind(reading, seen, run, memory))
    if not math.isfinite(worst) or (seen.worst is not None and seen.worst.exact):
        return facts
    return facts._replace(
        fused=_may_be_fused(partners, seen.op, run),
        low=_is_low(reading, seen.worst, shown),
        unlike=any(_is_unlike(one, seen) for one in reading.produced),
    )


def _is_blind(reading: Reading, seen: Assessment, run: OperatorRun, memory: TimeMemory) -> bool:
    """Whether what an operator read, or what statistics do not show, may explain that it is off.

    Of what it read nobody knows where no input was compared. Nothing explains so large an error then if all before it
    agrees; none at all does of integers if all before is equal, but of those that jump.
    """
    worst, judging = seen.worst, limits()
    error = worst.error if worst is not None else 0.0
    if not math.isfinite(error):
        arrived = any(not math.isfinite(one) for one, _, _ in reading.produced)
        return arrived or (memory.doubtful and not reading.known)
    if not reading.known and (memory.doubtful or _types(run, seen.measured.values()) & STEPS):
        return True
    if worst is not None and worst.exact:
        return not reading.known and memory.allowed > 0.0
    rough = worst is not None and worst.pair.target.source is None
    before = judging.amplification * max(memory.allowed, memory.tolerated)
    least = max(judging.excused_most, 0.0 if reading.known else before)
    return (rough or not reading.known) and error <= least


def _given_items(reading: Reading, partners: Partners, seen: Assessment) -> Iterator[Measured]:
    """Inputs that differ and that no operator is known to have produced."""
    golden = partners.golden_of.get(seen.op)
    for slot, item in reading.inputs.items():
        if item.error > 0 and not item.rewritten and _source(partners, golden, slot) is None:
            yield item


def _is_low(reading: Reading, worst: Measured | None, shown: float | None) -> bool:
    """Whether an operator is off no more than other products of the run, or has none to tell it from."""
    own = _excess(reading, worst)
    if own is None or shown is None:
        return False
    judging = limits()
    return own <= (judging.excused_most if math.isinf(shown) else judging.steps_factor * shown)


def _is_unlike(produced: tuple[float, float | None, int], seen: Assessment) -> bool:
    """Whether an input is off by more than what its producer gave."""
    read, given, _ = produced
    if given is None:
        return False
    judging = limits()
    return read > judging.pass_factor * (seen.rounding_floor + judging.amplification * given)
