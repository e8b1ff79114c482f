"""Pair the tensors of two bound dumps: graphs, iterations and turns first, then slots.

Nothing is dropped: every record ends as half of a pair, as unmatched, or as skipped with a reason.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from workbench._doors import later
from workbench._values import NamedTuple
from workbench.comparison.align.rules import (
    EXPANDED,
    JOINED,
    MAP,
    MATCH_RULES,
    NEAREST,
    PRODUCER,
    VALUE,
)
from workbench.comparison.pair.claims import Claims, ExecutionPair, is_of_one_size
from workbench.comparison.pair.exclusions import unknown_entries
from workbench.comparison.pair.executions import align_graphs, pair_executions
from workbench.comparison.pair.kernels import (
    hide_integers,
    pair_fusions,
    pair_quantised,
    skip_floats,
    skip_unequalled,
)
from workbench.comparison.pair.pairing import EVERYTHING, Pairing, Selection, Sides
from workbench.comparison.pair.parameters import pair_parameters, pair_updates
from workbench.core.long_work import checkpoint
from workbench.dump.formats.ge_name import standard_name
from workbench.dump.formats.mindspore_name import sanitize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.comparison.bind.binding import Binding, OperatorRun

_CUT_OUT = re.compile(r".*sgt_graph_\d+_(?=.)", re.ASCII)
"""What GE puts before the names of operators that it schedules as one (FFTS+), as msaccucmp takes it away."""

Needs = Literal["all", "graphs", "integers", "names"]
"""Executions that a rule is for: all, of aligned graphs, of those that also quantize, of graphs that nobody has."""


def pair_tensors(target: Binding, golden: Binding, selection: Selection = EVERYTHING) -> Pairing:
    """Pair two bound dumps; the bindings are left as they are."""
    whole = Sides(target, golden)
    claims = Claims(whole, selection.overrides)
    claims.notes += unknown_entries(selection.overrides, whole)
    aligned = align_graphs(claims.sides, selection)
    blocks = pair_executions(claims, aligned.graphs, selection)
    for number, (block, other) in enumerate(blocks.items()):
        runs = claims.sides.target.runs[block], claims.sides.golden.runs[other]
        found = aligned.alignments.get(block.graph_key)
        at = ExecutionPair(*runs, found, number << 24)  # it has far fewer operators than this
        for rule in PAIR_RULES:
            checkpoint()
            if _is_for(rule, at):
                rule.apply(claims, at, rule.score)
    pair_parameters(claims, aligned, selection)
    checkpoint()
    return claims.pairing(selection, aligned.alignments, blocks)


def _is_for(rule: PairRule, at: ExecutionPair) -> bool:
    if rule.needs == "all":
        return True
    if rule.needs == "names" or at.found is None:
        return rule.needs == "names" and at.found is None
    return rule.needs == "graphs" or bool(at.found.quantised)


def _pair_matches(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair operators that match one to one, slot by slot; what the match is worth counts."""
    found = at.alignment
    for match in found.matches:
        several = max(len(match.target), len(match.golden)) != 1
        if several or MATCH_RULES[match.rule].tier == "loose":
            continue
        checkpoint()
        run, other = at.target.get(match.target[0]), at.golden.get(match.golden[0])
        if run is not None and other is not None:
            order = found.input_order(run.op) if run.op in found.match_of else {}
            worth = score * match.score
            for io, slot in run.tensors:
                there = io, order.get(slot, slot) if io == "input" else slot
                claims.pair(at, (run, other), ((io, slot), there), match.rule, worth)


def _pair_named_groups(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair the user's groups: inputs of the first operator, outputs of the last.

    First and last are as the map file lists them; what else the members have lies inside.
    """
    known = Sides(*({run.op_name: run for run in runs.values()} for runs in at.runs))
    for match in claims.overrides.groups:
        named = Sides(match.target, match.golden)
        members = Sides(
            *([runs[n] for n in some if n in runs] for some, runs in zip(named, known, strict=True))
        )
        if list(map(len, members)) != list(map(len, named)):
            continue
        for io, end in (("input", 0), ("output", -1)):
            run, other = members.target[end], members.golden[end]
            for place in [place for place in run.tensors if place[0] == io]:
                claims.pair(at, (run, other), (place, place), MAP, score)
        for side, runs in members.named:
            claims.skip_left(side, runs, "inside-group")


def _pair_forced(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair the operators that the user pairs."""
    for run, other in _forced(claims, at):
        _pair_slots(claims, at, (run, other), MAP, score)


def _pair_file_names(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair operators whose files have equal names."""
    names = _Names.left(claims, at)
    for run in names.target:
        other = names.golden.get(names.key(run))
        if other is not None:
            _pair_slots(claims, at, (run, other), "file-name", score)


def _pair_short_names(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair operators whose type and last part of the name are alike, where no other has these."""
    names = _Names.left(claims, at)
    unnamed = [run for run in names.target if names.key(run) not in names.golden]
    if not unnamed:
        return
    lasts, mine = _unique_lasts(names.golden.values()), _unique_lasts(names.target)
    for run in unnamed:
        last = (run.op_type, _last(run.op_name))
        if last in lasts and last in mine:
            _pair_slots(claims, at, (run, lasts[last]), "short-name", score)


def _pair_slots(
    claims: Claims,
    at: ExecutionPair,
    runs: tuple[OperatorRun, OperatorRun],
    rule: str,
    score: float,
) -> None:
    """Pair all tensors of two operators, slot by slot; further ones of another framework only where sizes agree.

    An operator of the same name may give more or fewer tensors there: all states of a recurrence, or the last.
    """
    checkpoint()
    run, other = runs
    for place, record in run.tensors.items():
        there = other.tensors.get(place)
        if (
            place[1] == 0
            or there is None
            or not claims.is_of_outputs
            or is_of_one_size(record, there)
        ):
            claims.pair(at, runs, (place, place), rule, score)


class _Names(NamedTuple):
    """Operators that the user has not paired: those of the target, those of the golden by name."""

    target: list[OperatorRun]
    golden: dict[tuple[str, str], OperatorRun]
    typed: bool

    @classmethod
    def left(cls, claims: Claims, at: ExecutionPair) -> _Names:
        """Leave out what the user has paired."""
        forced = _forced(claims, at)
        typed = _is_typed(at)
        ours, theirs = {run.op for run, _ in forced}, {_file_key(g, typed) for _, g in forced}
        golden = {_file_key(run, typed): run for run in at.golden.values()}
        return cls(
            [run for run in at.target.values() if run.op not in ours],
            {key: run for key, run in golden.items() if key not in theirs},
            typed,
        )

    def key(self, run: OperatorRun) -> tuple[str, str]:
        """What an operator is looked up by."""
        return _file_key(run, self.typed)


def _forced(claims: Claims, at: ExecutionPair) -> list[tuple[OperatorRun, OperatorRun]]:
    """Operators that the user pairs; one of the golden goes to the first that asks for it."""
    forced, typed = claims.overrides.pairs, _is_typed(at)
    by_name = {run.op_name: run for run in at.golden.values()} if forced else {}
    found: dict[tuple[str, str], tuple[OperatorRun, OperatorRun]] = {}
    for run in at.target.values() if forced else ():
        other = by_name.get(forced.get(run.op_name, ""))
        if other is not None:
            found.setdefault(_file_key(other, typed), (run, other))
    return list(found.values())


def _is_typed(at: ExecutionPair) -> bool:
    """Whether the files of both sides tell the types of operators."""
    return all(run.op_type for runs in at.runs for run in runs.values())


def _file_key(run: OperatorRun, typed: bool) -> tuple[str, str]:
    """What files call an operator; golden data know neither its type nor graphs that GE cuts out."""
    if typed:
        return run.op_type, sanitize(run.op_name)
    return "", _CUT_OUT.sub("", standard_name(run.op_name))


def _last(name: str) -> str:
    return sanitize(name).rpartition("_")[2]


def _unique_lasts(runs: Iterable[OperatorRun]) -> dict[tuple[str, str], OperatorRun]:
    """Runs by type and last part of their name, where that is unique."""
    table: dict[tuple[str, str], list[OperatorRun]] = {}
    for run in runs:
        table.setdefault((run.op_type, _last(run.op_name)), []).append(run)
    return {key: found[0] for key, found in table.items() if len(found) == 1}


def _pair_values(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair outputs with the inputs that read them, where both sides have tensors left."""
    if all(claims.has_free(side, runs.values()) for side, runs in at.runs.named):
        from workbench.comparison.pair.values import pair_values

        pair_values(claims, at, score)


def _pair_expanded(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair what a node gives with the last kernel that it became, where the golden is another framework's."""
    if claims.is_of_outputs:
        from workbench.comparison.pair.foreign import pair_expanded

        pair_expanded(claims, at, score)


def _pair_joined(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair fused kernels by names taken apart, where the golden is another framework's."""
    if claims.is_of_outputs:
        from workbench.comparison.pair.foreign import pair_joined

        pair_joined(claims, at, score)


def _pair_nearest(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair what no name tells by values, where the golden is another framework's."""
    if claims.is_of_outputs:
        from workbench.comparison.pair.foreign import pair_nearest

        pair_nearest(claims, at, score)


def _pair_wired(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair inputs with the golden of the output whose bytes they have, where the golden is another framework's."""
    if claims.is_of_outputs:
        from workbench.comparison.pair.producers import pair_wired

        pair_wired(claims, at, score)


def _skip_enclosed(claims: Claims, at: ExecutionPair, _score: float) -> None:
    """Skip goldens that fused kernels compute on their way, where the golden is another framework's."""
    if claims.is_of_outputs:
        from workbench.comparison.pair.foreign import skip_enclosed

        skip_enclosed(claims, at)


def _skip_copies(claims: Claims, at: ExecutionPair, _score: float) -> None:
    """Skip goldens that are others under another shape, where the golden is another framework's."""
    if claims.is_of_outputs:
        from workbench.comparison.pair.foreign import skip_copies

        skip_copies(claims, at)


def _pair_producers(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair inputs with what their producers gave, where the golden is another framework's."""
    if claims.is_of_outputs:
        from workbench.comparison.pair.producers import pair_producers

        pair_producers(claims, at, score)


def _pair_groups(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair the values at the edges of N↔M groups; what lies inside has no counterpart."""
    for group in at.alignment.groups:
        if not group.target or not group.golden:
            continue
        for a, b in group.edges:
            run, other = at.target.get(a.number), at.golden.get(b.number)
            if a.kind == b.kind == "op" and run is not None and other is not None:
                places = ("output", a.slot), ("output", b.slot)
                claims.pair(at, (run, other), places, "group", score)
        for side, members in Sides(group.target, group.golden).named:
            runs = at.runs.of(side)
            claims.skip_left(side, [runs[n] for n in members if n in runs], "inside-group")


class PairRule(NamedTuple):
    """One way to pair tensors: what it pairs, of which executions, how sure that is, and why it stands here.

    ``score`` is that of its pairs (0: it only skips); ``apply`` takes what it pairs or skips.
    """

    name: str
    pairs: str
    needs: Needs
    score: float
    apply: Callable[[Claims, ExecutionPair, float], None]
    why: str


PAIR_RULES = (
    PairRule(
        "integers of files", "nothing: skips integers of kernels that quantize, where only files tell which",
        "all", 0.0, hide_integers, "before all, whose names would compare integers with the values that they stand for",
    ),
    PairRule(
        "quantized inputs", "what a quantizing operator reads with what the golden's layer reads",
        "integers", 1.0, pair_quantised,
        "before matches, which would compare integers with the values that they stand for",
    ),
    PairRule(
        "groups of the user", "inputs of the first, outputs of the last operator of a group of the map file",
        "names", 1.0, _pair_named_groups, "what the user says comes before what names say",
    ),
    PairRule(
        "tensors of the network", "outputs whose files name the same tensor of the network",
        "names", 1.0, later("workbench.comparison.pair.origins:pair_origins"),
        "before names: a fused kernel bears the name of its first operator and gives another's result",
    ),
    PairRule(
        "pairs of the user", "operators that the map file pairs", "names", 1.0, _pair_forced,
        "names leave its operators out, wherever they stand",
    ),
    PairRule(
        "ends of expansions", "what a node gives with the last of the kernels that are called after it",
        "names", MATCH_RULES[EXPANDED].score, _pair_expanded,
        "before names: the first of them bears the node's own name, and gives less",
    ),
    PairRule(
        "file names", "operators whose files have equal names", "names", 1.0, _pair_file_names,
        "surer than short names, which leave out what has its equal",
    ),
    PairRule(
        "short names", "operators whose type and last part of the name are unique and alike",
        "names", MATCH_RULES["short-name"].score, _pair_short_names,
        "old releases leave the scope out of names; the last that names say",
    ),
    PairRule(
        "joined names", "what a fused kernel gives with the golden of the last operator in its name",
        "names", MATCH_RULES[JOINED].score, _pair_joined,
        "after whole names: what has a file of its own is no part of another's name",
    ),
    PairRule(
        "nearest values", "outputs without a name with the only golden that has nearly their values",
        "names", MATCH_RULES[NEAREST].score, _pair_nearest,
        "after all names, which need no values to agree",
    ),
    PairRule(
        "wired by bytes", "inputs with the golden of the output whose bytes they have, where that has outputs alone",
        "names", MATCH_RULES[PRODUCER].score, _pair_wired,
        "last without graphs: outputs must have found their golden",
    ),
    PairRule(
        "enclosed by fused kernels", "nothing: skips goldens that lie between ends of a fused kernel by time",
        "names", 0.0, _skip_enclosed, "behind all that pairs: what is compared there belongs to another kernel",
    ),
    PairRule(
        "copies", "nothing: skips goldens that have the elements of one that is compared, and what nothing reads",
        "names", 0.0, _skip_copies, "behind all that pairs, which may find a tensor of its own for a copy",
    ),
    PairRule(
        "matches", "operators that the alignment matches one to one; worth what the match is",
        "graphs", 1.0, _pair_matches, "surest of graphs: same operator, slot by slot",
    ),
    PairRule(
        "fused kernels", "what crosses the edges of kernels that stand for several operators",
        "graphs", 1.0, pair_fusions,
        "before floats of quantized layers, which would skip its edges; it skips what is left inside",
    ),
    PairRule(
        "floats of quantized layers", "nothing: skips what has integers in its place on the other side",
        "integers", 0.0, skip_floats, "after fused kernels, whose edges may lie in such a layer",
    ),
    PairRule(
        "updated weights", "parameters that different operators update last",
        "graphs", 0.6, pair_updates, "before groups, which would skip them as lying inside",
    ),
    PairRule(
        "same values", "an output with the input that reads it, where each dump has but one of the two",
        "graphs", MATCH_RULES[VALUE].score, _pair_values,
        "behind slots that match; before groups, which would skip what their members read",
    ),
    PairRule(
        "producers", "what is left of the target with the golden's output that it is, where that has outputs alone",
        "graphs", MATCH_RULES[PRODUCER].score, _pair_producers,
        "behind same values, of which one takes the golden for itself; before groups, which would skip inputs inside",
    ),
    PairRule(
        "groups", "values at the edges of operators that replace each other N to M",
        "graphs", MATCH_RULES["group"].score, _pair_groups,
        "takes all that is left of its members, so whatever is surer stands before",
    ),
    PairRule(
        "what one side cannot have", "nothing: skips inserted operators, settings, operators that run nothing",
        "graphs", 0.0, skip_unequalled, "last: only what nothing has paired lacks a counterpart",
    ),
)  # fmt: skip
"""Rules for the tensors of one execution; each takes what earlier ones have left. Parameter files come after all."""
