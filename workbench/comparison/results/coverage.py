"""The coverage contract: which tensors were not compared, which of them need not be, and which are missing.

A tensor that was not compared is *explained* by the first row of `EXPLAINED` that holds, or it is a *gap*. Where one
gap is left, or an output of the network was not compared, nobody may say that two runs agree.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from workbench import ops
from workbench._values import NamedTuple, dataclass
from workbench.comparison.bind.anomalies import MISLABELLED, QUIET
from workbench.comparison.follow.ranks import OWN_BATCH
from workbench.comparison.graphs.ge_origins import is_inserted
from workbench.comparison.graphs.roles import LEAVES, rewritten_slots
from workbench.comparison.graphs.traverse import path_back, storage_of
from workbench.comparison.graphs.view import hands_on
from workbench.comparison.limits import limits
from workbench.comparison.measure.metrics import CANCELLED
from workbench.comparison.pair.claims import has_outputs_alone
from workbench.comparison.pair.exclusions import IGNORED
from workbench.comparison.pair.kernels import EXPECTED
from workbench.comparison.pair.pairing import Sides
from workbench.comparison.result import Coverage
from workbench.comparison.results.network_outputs import missing_outputs
from workbench.core.dtypes import is_exact, roundoff
from workbench.core.words import Message
from workbench.graph.graph import Const, Param, Value
from workbench.ops import IDENTITY, MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workbench.comparison.align.alignment import Alignment, Fusion
    from workbench.comparison.bind.binding import Execution, OperatorRun
    from workbench.comparison.graphs.view import GraphView, Origin
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.result import Row, Side
    from workbench.graph.graph import Graph, Operand

Stored = tuple[object, ...]
"""A value of one execution: the tensor that an operator gave or a parameter, whatever slots show it."""

EXPLAINED_SKIPS = EXPECTED | {IGNORED, "older-run", "other-model", "twice"}
"""Reasons for leaving a tensor out that take nothing from a comparison."""


class Uncompared(NamedTuple):
    """A tensor that no figure judges: without a partner (``side``), or a pair that cannot be compared (empty)."""

    side: Side | str
    op_name: str
    op_type: str
    io: str
    slot: int
    run: OperatorRun | None
    row: Row
    item: Measured | None = None


class Rule(NamedTuple):
    """Why a tensor need not be compared: name in the ledger, condition, and why that is enough."""

    name: str
    holds: Callable[[Judged, Uncompared], bool]
    why: str


@dataclass(frozen=True)
class Judged:
    """What was paired, what was measured of it, and the rows: those of ``measured``, then of what has no partner."""

    pairing: Pairing
    measured: Sequence[Measured]
    rows: Sequence[Row]

    @property
    def pairs(self) -> Iterator[tuple[Measured, Row]]:
        """Every pair as it was measured, and its row."""
        yield from zip(self.measured, self.rows, strict=False)

    def uncompared(self) -> Iterator[Uncompared]:
        """Every tensor or pair without a figure. What nobody has reached yet is not among them."""
        for item, row in self.pairs:
            pair = item.pair
            if row.reason != CANCELLED and not _has_figure(item, row):
                place = row.op_type, pair.io, pair.slot, pair.run
                yield Uncompared("", pair.op_name, *place, row, item)
        rows = iter(self.rows[len(self.measured) :])
        for side, some in self.pairing.unmatched.named:
            for lone, row in zip(some, rows, strict=False):
                key = lone.record.key
                yield Uncompared(side, lone.op_name, key.op_type, key.io, key.slot, lone.run, row)

    @cached_property
    def compared(self) -> Sides[frozenset[Stored]]:
        """Values of both sides that any usable pair shows."""
        ours, theirs = set[Stored](), set[Stored]()
        for item, row in self.pairs:
            pair = item.pair
            if not _has_figure(item, row):
                continue
            ours.update(self.stored("target", pair.run, pair.target.key.io, pair.target.key.slot))
            theirs.update(
                self.stored("golden", pair.golden_run, pair.golden.key.io, pair.golden.key.slot)
            )
        return Sides(frozenset(ours), frozenset(theirs))

    @cached_property
    def steps(self) -> Sides[frozenset[tuple[int, int]]]:
        """Ranks and iterations that a side has."""
        target, golden = (
            frozenset((one.rank, one.iteration) for one in (*side.runs, *side.parameters))
            for side in self.pairing.sides
        )
        return Sides(target, golden)

    def stored(self, side: Side, run: OperatorRun | None, io: str, slot: int) -> Iterator[Stored]:
        """The value that a slot of an operator shows, if a graph tells; nothing for one overwritten in place."""
        op = self.pairing.sides.of(side).operator(run) if run is not None else None
        if run is None or op is None:
            return
        if io == "output":
            yield self.value_of(side, run.block, Value(run.op, slot))
        elif slot not in rewritten_slots(op):
            operand = op.operand(slot)
            if operand is not None and not isinstance(operand, Const):
                yield self.value_of(side, run.block, operand)

    def value_of(self, side: Side, block: Execution, operand: Operand) -> Stored:
        """A value by the memory it lies in, and by who computes it first."""
        binding = self.pairing.sides.of(side)
        graph = binding.graph(block)
        if isinstance(operand, Param) or graph is None or not isinstance(operand, Value):
            return block, operand
        stored = storage_of(graph, operand)
        view = self.view(side, block)
        if view is not None and stored.op in view.recomputed:
            stored = Value(view.recomputed[stored.op], stored.slot)
        return block, stored

    @cached_property
    def shown(self) -> frozenset[int]:
        """Runs of operators (their identity) of which any result was compared."""
        found = [
            pair
            for item, row in self.pairs
            if _has_figure(item, row) and (pair := item.pair).io == "output"
        ]
        return frozenset(id(run) for pair in found for run in (pair.run, pair.golden_run))

    @cached_property
    def agreeing(self) -> frozenset[int]:
        """Runs of operators of the target (their identity) of which a result agrees."""
        return frozenset(
            id(item.pair.run)
            for item, row in self.pairs
            if item.pair.io == "output" and row.status in ("pass", "equal")
        )

    @property
    def is_of_outputs(self) -> bool:
        """Whether the golden's data are outputs alone, as another framework gives them."""
        return has_outputs_alone(self.pairing.golden)

    def counterpart(self, side: Side, block: Execution) -> Execution | None:
        """The execution of the other side that one was compared with."""
        return self._targets.get(block) if side == "golden" else self.pairing.blocks.get(block)

    def alignment(self, side: Side, block: Execution) -> Alignment | None:
        """How the graph of an execution matches the other side's."""
        if side == "golden":
            block = self._targets.get(block, block)
        return self.pairing.alignments.get(block.graph_key)

    @cached_property
    def _targets(self) -> Mapping[Execution, Execution]:
        return {golden: target for target, golden in self.pairing.blocks.items()}

    def view(self, side: Side, block: Execution) -> GraphView | None:
        """The graph of an execution, indexed."""
        found = self.alignment(side, block)
        return None if found is None else getattr(found, side)


def _has_figure(item: Measured, row: Row) -> bool:
    """Whether a pair was compared, or a file whose label is wrong holds every element nevertheless, and they agree."""
    return row.status != "uncomparable" or (item.whole and _agrees(item, row))


def _agrees(item: Measured, row: Row) -> bool:
    """Whether what was salvaged of a mislabelled file agrees.

    Its label says a narrower type than the kernel wrote; what that type rounds away is excused.
    """
    if not item.salvaged or item.divergence.reason:
        return False
    dtypes = [spec.dtype for spec in (row.target_spec, row.golden_spec) if spec is not None]
    return item.error <= limits().pass_factor * max(map(roundoff, dtypes), default=0.0)


# --- what explains a tensor that was not compared -----------------------------------------------


def _is_own_batch(_: Judged, one: Uncompared) -> bool:
    return one.row.reason == OWN_BATCH


def _is_unused(judged: Judged, one: Uncompared) -> bool:
    """Memory that nobody reads: as the files of both sides say, or the graph of the only one."""
    if not one.side:
        return not QUIET.isdisjoint(_kinds(one)[-1:])
    if one.io != "output" or one.run is None:
        return False
    graph = judged.pairing.sides.of(_side(one)).graph(one.run.block)
    if graph is None or one.run.op < 0:
        return False
    value = Value(one.run.op, one.slot)
    return not graph.consumers.get(value) and value not in graph.outputs


def _is_alike(_: Judged, one: Uncompared) -> bool:
    return _kinds(one) == [MISLABELLED, MISLABELLED] and one.row.error == 0.0


def _is_half(_: Judged, one: Uncompared) -> bool:
    return one.item is not None and _agrees(one.item, one.row)


def _is_parameter(_: Judged, one: Uncompared) -> bool:
    return bool(one.side) and one.run is None


def _is_allowed(judged: Judged, one: Uncompared) -> bool:
    names = {one.op_name, one.row.golden_op_name} - {""}
    return any(map(judged.pairing.overrides.may_miss, names))


def _is_constant(judged: Judged, one: Uncompared) -> bool:
    """Constants that the side without the file states in its own graph, or that show in what was made of them.

    A graph that was lent by the other side says nothing of the one that lacks the file. Without any, the type of the
    operator tells what a constant is.
    """
    if not one.side or one.io != "input" or one.run is None:
        return False
    source = _source(judged, one)
    held = _is_setting(one.run, one.slot) if source is None else source == "constant"
    return held and (_has_own_graph(judged, one) or _shows_result(judged, one))


def _has_own_graph(judged: Judged, one: Uncompared) -> bool:
    """Whether the side that lacks a tensor has a graph of its own of the execution."""
    assert one.run is not None
    block = judged.counterpart(_side(one), one.run.block)
    other = judged.pairing.golden if one.side == "target" else judged.pairing.target
    return block is not None and block.graph_key in other.dump.graphs


def _source(judged: Judged, one: Uncompared) -> Literal["operator", "outside", "constant"] | None:
    """Where an input comes from, as far as a graph tells; in GE operators hold parameters and constants."""
    if not one.side or one.io != "input" or one.run is None:
        return None
    operand, graph = _outer_operand(judged, one)
    if isinstance(operand, Value) and graph is not None:
        held = graph.ops[operand.op].op_type
        if held in _CONSTANTS:
            return "constant"
        return "outside" if held in LEAVES else "operator"
    if isinstance(operand, Param):
        return "outside"
    return "constant" if isinstance(operand, Const) else None


def _outer_operand(judged: Judged, one: Uncompared) -> tuple[Operand | None, Graph | None]:
    """What an input is in the graph of its side, what the compiler inserted looked through."""
    assert one.run is not None
    binding = judged.pairing.sides.of(_side(one))
    op, graph = binding.operator(one.run), binding.graph(one.run.block)
    operand = op.operand(one.slot) if op is not None else None
    if operand is None or graph is None:
        return operand, graph
    return _before_inserted(graph, operand), graph


def _before_inserted(graph: Graph, operand: Operand) -> Operand:
    """What was read before the compiler put casts and changes of layout in between."""
    for passed in path_back(graph, operand, IDENTITY):
        operand = passed
        if not isinstance(passed, Value) or not is_inserted(graph.ops[passed.op]):
            break
    return operand


_FEEDS = frozenset(("Data", "AippData"))
"""Operators of GE that hold what a network is fed."""

_CONSTANTS = frozenset(("Const", "Constant"))
"""Operators of GE that hold a constant."""


def _is_setting(run: OperatorRun, slot: int) -> bool:
    """Whether an input of an operator of a known type is no tensor but a setting."""
    known = ops.OPS.get(run.op_type)
    if known is None:
        return False
    if known.tensors >= 0:
        return slot not in known.positions
    inputs = 1 + max((slot for io, slot in run.tensors if io == "input"), default=-1)
    return slot >= inputs - len(known.settings)


def _is_fed(judged: Judged, one: Uncompared) -> bool:
    """Weights and feeds of an operator whose results were compared, where one side dumped no inputs.

    If the golden has outputs alone and these differ, nobody knows whether both runs were fed the same.
    """
    if _source(judged, one) != "outside" or not _shows_result(judged, one):
        return False
    return not (judged.is_of_outputs and _is_feed(judged, one)) or id(one.run) in judged.agreeing


def _is_feed(judged: Judged, one: Uncompared) -> bool:
    """Whether an input from outside of the graph is no weight."""
    operand, graph = _outer_operand(judged, one)
    if isinstance(operand, Param) and graph is not None:
        return not graph.parameters[operand.index].is_weight
    return (
        isinstance(operand, Value) and graph is not None and graph.ops[operand.op].op_type in _FEEDS
    )


def _shows_result(judged: Judged, one: Uncompared) -> bool:
    """Whether a result was compared in which a difference of an input would show.

    That is the first one that is read, or that of the kernel that the operator is a part of. Where an operator only
    moves, each result holds another part of what it read.
    """
    run, side = one.run, _side(one)
    if run is None:
        return False
    op, graph = (
        judged.pairing.sides.of(side).operator(run),
        judged.pairing.sides.of(side).graph(run.block),
    )
    if op is None or graph is None:
        return id(run) in judged.shown
    compared = judged.compared.of(side)
    results = [Value(run.op, slot) for slot in range(len(op.outputs))]
    read = [value for value in results if graph.consumers.get(value) or value in graph.outputs]
    given = read or results  # of what updates a weight nothing is read
    asked = given if op.op_type in MOVEMENT else given[:1]
    if asked and all(judged.value_of(side, run.block, value) in compared for value in asked):
        return True
    kernels = (judged.value_of(side, run.block, value) for value in _of_kernels(judged, run, side))
    return any(value in compared for value in kernels)


def _of_kernels(judged: Judged, run: OperatorRun, side: Side) -> Iterator[Value]:
    """What the kernels give that an operator is a part of."""
    found = judged.alignment(side, run.block)
    for fusion in found.fusions if found is not None else ():
        if run.op in getattr(fusion, side):
            yield from (Value(one.number, one.slot) for one in _edges(fusion, side))


def _edges(fusion: Fusion, side: Side) -> list[Origin]:
    return [target if side == "target" else golden for target, golden in fusion.values]


def _is_inserted(judged: Judged, one: Uncompared) -> bool:
    """Casts and changes of format that the other side does not have."""
    if not one.side or one.run is None or not hands_on(one.op_type):
        return False
    found = judged.alignment(_side(one), one.run.block)
    if found is None or one.run.op < 0:
        return True
    matched = found.match_of if one.side == "target" else found.matched_golden
    return one.run.op not in matched


def _is_aside(judged: Judged, one: Uncompared) -> bool:
    """A counter of steps that one graph alone has, and whose value nobody reads.

    No other operator that works by its effect: an optimizer that one run lacks leaves unread results, too.
    """
    side = _side(one)
    if not one.side or one.run is None or one.run.op < 0:
        return False
    binding, found = judged.pairing.sides.of(side), judged.alignment(side, one.run.block)
    op, graph = binding.operator(one.run), binding.graph(one.run.block)
    if found is None or op is None or graph is None:
        return False
    matched = (*found.match_of, *found.fused) if side == "target" else found.matched_golden
    results = [Value(one.run.op, slot) for slot in range(len(op.outputs))]
    read = any(graph.consumers.get(value) or value in graph.outputs for value in results)
    counts = all(spec.size == 1 and is_exact(spec.dtype) for spec in op.outputs)
    return one.run.op not in matched and counts and not read


def _is_elsewhere(judged: Judged, one: Uncompared) -> bool:
    """The same value was compared in another slot, or under the name of who handed it on unchanged."""
    side = _side(one)
    values = [*judged.stored(side, one.run, one.io, one.slot), *_handed_on(judged, one)]
    return any(value in judged.compared.of(side) for value in values)


def _handed_on(judged: Judged, one: Uncompared) -> Iterator[Stored]:
    """The value that a node of a model gives again, which its compiler takes away."""
    if one.run is None or one.io != "output":
        return
    op = judged.pairing.sides.of(_side(one)).operator(one.run)
    operand = op.operand(0) if op is not None and op.op_type == "Identity" else None
    if isinstance(operand, Value):
        yield judged.value_of(_side(one), one.run.block, operand)


_GIVES_AGAIN = frozenset(("Identity", "Dropout"))
"""Nodes of a model that a compiler for inference takes away."""


def _is_handed_through(judged: Judged, one: Uncompared) -> bool:
    """Whether a node of the golden's model only gives again what the network is fed, so that no kernel computes it."""
    if one.side != "golden" or one.io != "output" or one.run is None or one.run.op < 0:
        return False
    graph = judged.pairing.golden.graph(one.run.block)
    if graph is None or one.slot != 0:
        return False
    *_, first = path_back(graph, Value(one.run.op, 0), _GIVES_AGAIN)
    return isinstance(first, Param) and not graph.parameters[first.index].is_weight


def _side(one: Uncompared) -> Side:
    return "golden" if one.side == "golden" else "target"


def _kinds(one: Uncompared) -> list[object]:
    """What is wrong with the two tensors of a pair, as far as somebody found out."""
    if not isinstance(one.row.reason, Message):
        return []
    values = one.row.reason.values
    return [kind for side in ("target", "golden") if (kind := values.get(side))]


EXPLAINED = (
    Rule("allowed", _is_allowed, "the user said that it may be missing"),
    Rule("parameter", _is_parameter, "Parameter files: not every device and release writes them"),
    Rule("unused", _is_unused, "nobody reads this memory, so nothing depends on it"),
    Rule("own-batch", _is_own_batch, "ranks of one job feed other data"),
    Rule("mislabelled-alike", _is_alike, "both files hold the same half of the tensor, and the halves are equal"),
    Rule("half", _is_half, "the part that the file holds agrees, and what reads the tensor has its own place"),
    Rule("constant", _is_constant, "its own graph states it, where settings are compared, or what was made of it was"),
    Rule("fed", _is_fed, "it comes from outside of the graph, and what the operator made of it was compared"),
    Rule("inserted", _is_inserted, "hands on what it reads, and what it reads has its own place in the ledger"),
    Rule("aside", _is_aside, "a counter of steps that one graph alone has, and that nobody reads"),
    Rule("handed-through", _is_handed_through, "the network gives what it is fed, and no kernel computes it"),
    Rule("elsewhere", _is_elsewhere, "the same value was compared where another operator shows it"),
)  # fmt: skip
"""Why a tensor need not be compared. The first that holds is counted; cheap conditions come first."""


# --- gaps ---------------------------------------------------------------------------------------


class Gap(NamedTuple):
    """A tensor that should have been compared: ``side:reason`` as the ledger counts it, and where it is."""

    reason: str
    one: Uncompared


def _reason(judged: Judged, one: Uncompared) -> str:
    """Side and kind of a gap; ``pair`` where both sides have the tensor."""
    if not one.side:
        return "pair:uncomparable"
    block = one.run.block if one.run is not None else None
    other = judged.steps.of("golden" if one.side == "target" else "target")
    if block is not None and (block.rank, block.iteration) not in other:
        ranks = {rank for rank, _ in other}
        return f"{one.side}:{'iteration' if block.rank in ranks else 'rank'}"
    return f"{one.side}:unmatched"


_EXCUSED = frozenset(("own-batch", "mislabelled-alike", "unused"))
"""Explanations that excuse a result of the network, too: nobody can compare more of it."""


def ledger(pairing: Pairing) -> Coverage:
    """Count every tensor of both sides once; raises AssertionError if one is missing."""
    skips = pairing.skips
    skipped = Counter(f"{side}:{item.reason}" for side, some in skips.named for item in some)
    coverage = Coverage(
        matched=len(pairing.pairs),
        unmatched_target=len(pairing.unmatched.target),
        unmatched_golden=len(pairing.unmatched.golden),
        shared=sum(pair.shared for pair in pairing.pairs),
        skipped=dict(sorted(skipped.items())),
    )
    for side, binding in pairing.sides.named:
        left = len(pairing.unmatched.of(side)) + len(skips.of(side))
        if coverage.matched_of(side) + left != binding.dump.tensors:
            raise AssertionError(side, binding.dump.tensors, coverage)
    return coverage


def covered(judged: Judged) -> tuple[Coverage, list[Gap]]:
    """Return the ledger with what was compared, why the rest need not be, and what is missing."""
    gaps: list[Gap] = []
    explained, excused = Counter[str](), set[Stored]()
    for one in judged.uncompared():
        rule = next((rule for rule in EXPLAINED if rule.holds(judged, one)), None)
        if rule is None:
            gaps.append(Gap(_reason(judged, one), one))
            continue
        explained[f"{one.side or 'pair'}:{rule.name}"] += 1
        if rule.name in _EXCUSED and one.side != "golden":
            excused.update(judged.stored("target", one.run, one.io, one.slot))
    counted = ledger(judged.pairing)
    lost = Counter({key: n for key, n in counted.skipped.items() if _is_lost(key)})
    coverage = replace(
        counted,
        compared=sum(_has_figure(item, row) for item, row in judged.pairs),
        explained=dict(sorted(explained.items())),
        gaps=dict(sorted((lost + Counter(gap.reason for gap in gaps)).items())),
        outputs=tuple(dict.fromkeys(op.name for _, op in missing_outputs(judged, excused))),
        dont_care=_left_out(judged.measured),
    )
    return coverage, gaps


def _left_out(measured: Sequence[Measured]) -> dict[str, int]:
    """How many elements mean nothing, by reason."""
    found = Counter[str]()
    for item in measured:
        if item.left_out is not None:
            found[item.left_out.name] += item.left_count
    return dict(sorted(found.items()))


def _is_lost(key: str) -> bool:
    return key.partition(":")[2] not in EXPLAINED_SKIPS


def is_incomplete(coverage: Coverage) -> bool:
    """Whether less was compared than agreement asks for (`Limits.coverage_least`)."""
    least = limits().coverage_least
    return bool(coverage.outputs) or any(share < least for share in coverage.shares)
