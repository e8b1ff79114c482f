"""Match operators that compute nothing of their own: casts, changes of shape, and what is computed once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.alignment import OperatorMatch
from workbench.comparison.align.rules import AGAIN, MATCH_RULES
from workbench.comparison.graphs.view import GraphView, Origin
from workbench.comparison.limits import limits
from workbench.dump.formats.ge_name import standard_name
from workbench.ops import RESHAPING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.comparison.align.matching import Matching
    from workbench.graph.graph import Op


def match_identities(work: Matching) -> None:
    """Match casts and the like that carry the same value: under one name, or into the same format or shape.

    Where nothing fits exactly, the only one that carries the value somewhere else is the same.
    """
    _match_named(work)
    for exact in (True, False):
        waiting: dict[tuple[object, ...], list[int]] = {}
        for g in (g for g in work.golden.identities if g not in work.matched_golden):
            key = _carried(work, work.golden, g, exact=exact)
            waiting.setdefault(key, []).append(g)
        mine: dict[tuple[object, ...], list[int]] = {}
        for t in work.target.identities:
            if t not in work.match_of and t not in work.fused:
                key = _carried(work, work.target, t, exact=exact)
                mine.setdefault(key, []).append(t)
        for key, numbers in mine.items():
            others = waiting.get(key, [])
            if exact or len(numbers) == len(others) == 1:
                for t, g in work.interchangeable(numbers, others):
                    work.claim(t, g, "topology", limits().score_carried)


def _match_named(work: Matching) -> None:
    """Match those of one name: precision modes change what a cast gives, and insert others beside it."""
    golden = work.golden.graph.ops
    named = {standard_name(golden[g].name): g for g in work.golden.identities}
    for t in work.target.identities:
        g = named.get(standard_name(work.target.graph.ops[t].name))
        if g is None or g in work.matched_golden or t in work.match_of or t in work.fused:
            continue
        carried = _carried(work, work.target, t, exact=False)
        if carried == _carried(work, work.golden, g, exact=False):
            work.claim(t, g, "topology", limits().score_carried)


def match_between(work: Matching) -> None:
    """Match casts and the like whose sources do not correspond by who reads them."""
    for t in work.target.identities:
        if t in work.match_of or t in work.fused:
            continue
        op = work.target.graph.ops[t]
        near = {
            g
            for reader in work.read_by(t)
            for g in work.golden.handed_to(reader)
            if g not in work.matched_golden and _alike(op, work.golden.graph.ops[g])
        }
        if len(near) == 1:
            work.claim(t, near.pop(), "topology", limits().score_handed)


def match_repeated(work: Matching) -> None:
    """Match what one side computes again with what the other computes again."""
    for t, g, mine, others in _repetitions(work):
        if len(mine) > 1 and len(others) > 1:
            work.release(t, g)
            for one, there in list(work.interchangeable(mine, others)):
                work.claim(one, there, "structure")
    _namesakes(work)


def match_recomputed(work: Matching) -> None:
    """Match what only one side computes again with what the other computes once."""
    score = MATCH_RULES[AGAIN].score
    for t, g, mine, others in _repetitions(work):
        free = [(one, g) for one in mine if one not in work.match_of]
        free += [(t, there) for there in others if there not in work.matched_golden]
        work.matches += [OperatorMatch((one,), (there,), AGAIN, score) for one, there in free]


def _repetitions(work: Matching) -> Iterator[tuple[int, int, list[int], list[int]]]:
    """Pairs of which either side has more that compute the same, whoever reads them coming first."""
    ours, theirs = _grouped(work.target.recomputed), _grouped(work.golden.recomputed)
    for t, g in sorted(work.match_of.items(), reverse=True):
        if t in ours or g in theirs:
            mine = [n for n in ours.get(t, ()) if n not in work.match_of and n not in work.fused]
            others = [n for n in theirs.get(g, ()) if n not in work.matched_golden]
            yield t, g, [t, *mine], [g, *others]


def _namesakes(work: Matching) -> None:
    """Match by name where one side alone says that an operator repeats another one."""
    left = (
        n for n in (*work.golden.recomputed, *work.golden.kernels) if n not in work.matched_golden
    )
    named = {work.golden.graph.ops[g].name: g for g in left}
    for t in (*work.target.recomputed, *work.target.kernels):
        op = work.target.graph.ops[t]
        g = named.get(op.name)
        if g is None or t in work.match_of or t in work.fused or g in work.matched_golden:
            continue
        repeats = t in work.target.recomputed or g in work.golden.recomputed
        same = list(map(work.mapped, work.target.origins(t))) == work.golden.origins(g)
        if repeats and same and op.op_type == work.golden.graph.ops[g].op_type:
            work.claim(t, g, "structure")


def _carried(work: Matching, view: GraphView, number: int, *, exact: bool) -> tuple[object, ...]:
    """What an identity carries, and into what."""
    origin: Origin | None = view.source(number)
    if view is work.target and origin is not None and origin.kind in ("op", "param"):
        origin = work.mapped(origin) or Origin("none", -1, number)
    op = view.graph.ops[number]
    spec = op.outputs[0] if op.outputs else None
    shaped = op.op_type in RESHAPING
    if not exact:
        return origin, op.op_type if not shaped else "Reshape"
    return origin, op.op_type, spec and (spec.shape if shaped else spec.dtype)


def _grouped(again: Mapping[int, int]) -> dict[int, list[int]]:
    """Operators that repeat one, by that one."""
    table: dict[int, list[int]] = {}
    for number, first in again.items():
        table.setdefault(first, []).append(number)
    return table


def _alike(op: Op, other: Op) -> bool:
    types = op.op_type == other.op_type
    return types and [(s.dtype, s.shape) for s in op.outputs] == [
        (s.dtype, s.shape) for s in other.outputs
    ]
