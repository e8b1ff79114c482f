"""Grow matches from what surrounds operators: neighbours, weights, source lines, names, shapes."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import TYPE_CHECKING

from workbench.comparison.align.groups import edges_of
from workbench.comparison.align.rules import MATCH_RULES
from workbench.comparison.graphs.view import shapes
from workbench.comparison.limits import limits
from workbench.core.long_work import checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.comparison.align.alignment import Group
    from workbench.comparison.align.matching import Matching
    from workbench.comparison.graphs.view import Origin


MOST = MATCH_RULES["topology"].score


class NeighborMatcher:
    """What speaks for pairs of operators that are not matched yet."""

    def __init__(self, work: Matching) -> None:
        self.work = work
        self.trust = work.trust

    def grow(self) -> None:
        """Grow the matches along edges, names and source lines, the surest pair first.

        A claim changes the weight of its neighbours only, so those alone are weighed again; a pair
        whose weight has fallen since it was queued goes back to its place.
        """
        queue: list[tuple[float, int, int]] = []
        known: dict[tuple[int, int], float] = {}
        for t in self.work.target.kernels:
            checkpoint()
            self._queue(t, queue, known)
        judging = limits()
        while queue:
            checkpoint()
            weight, t, g = heapq.heappop(queue)
            if t in self.work.match_of or g in self.work.matched_golden:
                continue
            now = self.weigh(t, g)
            if now < -weight:
                known[t, g] = now
                if now >= judging.evidence_least:
                    heapq.heappush(queue, (-now, t, g))
                continue
            self.work.claim(t, g, "topology", min(MOST, now / judging.evidence_enough))
            for near in self._around(t):
                self._queue(near, queue, known)

    def inside(self, groups: Iterable[Group]) -> bool:
        """Match operators of one type that end stretches of both sides; says whether there are any."""
        found = False
        for a, b in edges_of(groups, ()).items():
            t, g = a.number, b.number
            ours, theirs = self.work.target.graph.ops[t], self.work.golden.graph.ops[g]
            if (
                ours.op_type != theirs.op_type
                or t in self.work.match_of
                or g in self.work.matched_golden
            ):
                continue
            if not self.does_more(t, g):
                self.work.claim(t, g, "topology", limits().score_ends)
                found = True
        return found

    def _queue(
        self, t: int, queue: list[tuple[float, int, int]], known: dict[tuple[int, int], float]
    ) -> None:
        """Queue the possible partners of a target operator that weigh more than when last seen."""
        if t in self.work.match_of or t in self.work.fused:
            return
        least = limits().evidence_least
        for g in self._candidates(t):
            weight = self.weigh(t, g)
            if weight >= least and weight > known.get((t, g), 0.0):
                known[t, g] = weight
                heapq.heappush(queue, (-weight, t, g))

    def _around(self, t: int) -> Iterator[int]:
        """Kernels next to a target operator: those that read it, and those it reads."""
        yield from (reader for reader, _ in self.work.target.readers_of(t))
        for origin in self.work.target.origins(t):
            if origin.kind == "op":
                yield origin.number

    def _candidates(self, t: int) -> Iterator[int]:
        """Golden operators of the same type that share an anchor with a target operator."""
        op = self.work.target.graph.ops[t]
        seen: set[int] = set()
        for near in (self._neighbours(t), self.work.golden.alike(op)):
            for g in near:
                if (
                    g in seen
                    or g in self.work.matched_golden
                    or self.work.golden.graph.ops[g].op_type != op.op_type
                ):
                    continue
                seen.add(g)
                yield g

    def _neighbours(self, t: int) -> Iterator[int]:
        op_type = self.work.target.graph.ops[t].op_type
        for origin in self.work.target.origins(t):
            mapped = self.work.mapped(origin)
            if mapped is not None:
                yield from self.work.golden.alike_readers(mapped, op_type)
        for slot_reader, slot in self.work.target.readers_of(t):
            partner = self.work.match_of.get(slot_reader)
            if partner is not None:
                origins = self.work.golden.origins(partner)
                if slot < len(origins) and origins[slot].kind == "op":
                    yield origins[slot].number

    def weigh(self, t: int, g: int) -> float:
        """Weight of evidence that two operators are the same."""
        a, b = self.work.target.graph.ops[t], self.work.golden.graph.ops[g]
        if self.does_more(t, g):
            return 0.0
        score = self._weigh_inputs(t, g) + self._weigh_readers(t, g)
        score += self.trust * (0.75 * (a.name == b.name) + 0.25 * (a.scope == b.scope))
        frame, other = a.frame, b.frame
        if frame and other and not frame.library:
            score += 0.5 * (frame.code.strip() == other.code.strip() and frame.line == other.line)
        score += 0.5 if shapes(a) == shapes(b) else -0.5
        return score + (1.0 if self.work.target.results(t) & self.work.golden.results(g) else 0.0)

    def _weigh_inputs(self, t: int, g: int) -> float:
        score = 0.0
        others = self.work.golden.origins(g)
        ours = [
            self.work.mapped(o) for o in self.work.target.origins(t) if o.kind in ("op", "param")
        ]
        theirs = [o for o in others if o.kind in ("op", "param")]
        if None not in ours and ours != theirs and Counter(ours) == Counter(theirs):
            return 0.5  # the same values in another order: swapped, but hardly another operator
        for slot, origin in enumerate(self.work.target.origins(t)):
            other = others[slot] if slot < len(others) else None
            mapped = self.work.mapped(origin)
            if other is None or (mapped is None and not self._is_taken(other)):
                continue
            weight = 1.5 if origin.kind == "param" else 1.0
            if mapped != other and self._is_next(origin, other):
                continue
            score += weight if mapped == other else -weight
        return score

    def does_more(self, t: int, g: int) -> bool:
        """Whether one of two operators reads what only an operator behind the other one reads: it is both."""
        ours = {self.work.mapped(o) for o in self.work.target.origins(t) if o.kind == "param"} - {
            None
        }
        theirs = {o for o in self.work.golden.origins(g) if o.kind == "param"}
        if ours == theirs:
            return False
        for number, _ in self.work.golden.readers_of(g):
            if number not in self.work.matched_golden and (ours - theirs) & set(
                self.work.golden.origins(number)
            ):
                return True
        return any(
            number not in self.work.match_of
            and (theirs - ours) & set(map(self.work.mapped, self.work.target.origins(number)))
            for number, _ in self.work.target.readers_of(t)
        )

    def _is_next(self, origin: Origin, other: Origin) -> bool:
        """Whether one more operator stands between the readers of two values, on either side."""
        if origin.kind == "op" and origin.number not in self.work.match_of:
            return other in map(self.work.mapped, self.work.target.origins(origin.number))
        if other.kind == "op" and other.number not in self.work.matched_golden:
            return self.work.mapped(origin) in self.work.golden.origins(other.number)
        return False

    def _is_taken(self, origin: Origin) -> bool:
        return origin.kind == "op" and origin.number in self.work.matched_golden

    def _weigh_readers(self, t: int, g: int) -> float:
        theirs = set(self.work.golden.readers_of(g))
        agree = sum(
            1
            for n, slot in self.work.target.readers_of(t)
            if (self.work.match_of.get(n), slot) in theirs
        )
        clash = sum(
            1 for n, slot in self.work.target.readers_of(t)
            if n in self.work.match_of and (self.work.match_of[n], slot) not in theirs
        )  # fmt: skip
        return min(agree, 2) * 1.0 - min(clash, 2) * 0.75


def trust_in_names(work: Matching) -> float:
    """How much names are worth, 0 to 1: the share of equal ones among operators matched without them."""
    pairs = [
        (work.target.graph.ops[match.target[0]].scope, work.golden.graph.ops[match.golden[0]].scope)
        for match in work.matches
        if match.rule in ("structure", "name")
    ]
    return (sum(a == b for a, b in pairs) + 2) / (len(pairs) + 2)
