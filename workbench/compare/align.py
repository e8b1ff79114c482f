"""Align the operators of two graphs.

Names mislead: ids shift when one operator is inserted, shared functions keep the scope of their
first use, an autocast wrapper renames every scope. So structure comes first, anchored at the
parameters; names and source lines only support it. Operators that differ only by what they are
(fused, replaced, inserted) end up in N↔M groups between aligned neighbours.

Rules, each claiming what it can:

``map``        the user's map file says so (score 1)
``fusion``     the graph engine says which operators of the network its kernels stand for (score 1)
``structure``  the whole ancestry down to the parameters is the same (score 1)
``name``       the same, and the full names are equal too (score 1)
``topology``   matched neighbours, source line, scope and shape agree (score by weight of evidence)
``group``      connected leftovers between the same aligned neighbours (score 0.6)
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.compare.fusions import Fusion, ends_of, find_fusions, find_leaves, inserted
from workbench.compare.graph_view import GraphView, Origin
from workbench.compare.groups import Group, find_groups
from workbench.compare.hand_groups import hand_groups
from workbench.compare.layers import with_layers
from workbench.compare.overrides import NO_OVERRIDES
from workbench.compare.quantised import NOTHING, Quantised, find_quantised
from workbench.graph.traits import COMMUTATIVE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.compare.overrides import Overrides
    from workbench.graph.nodes import Graph, Op

LEAST = 1.4
"""Weight of evidence below which two operators are not called the same."""


@dataclass(frozen=True, slots=True)
class OpMatch:
    """Target operators and golden operators that stand for the same computation."""

    target: tuple[int, ...]
    golden: tuple[int, ...]
    rule: str
    score: float


@dataclass(frozen=True)
class Alignment:
    """Matches of two graphs, and the operators that have no partner.

    ``partner`` maps a target operator to its golden one (one-to-one matches only); ``params`` maps
    parameter numbers; ``groups`` are the N↔M matches with the values that correspond at their edges.
    ``fusions`` are those that the graph engine itself tells of; ``values`` maps the target's values
    inside them, and those of data operators, to the golden's. ``quantised`` is what of the target has
    integers where the golden has floats.
    """

    target: GraphView
    golden: GraphView
    matches: tuple[OpMatch, ...]
    partner: dict[int, int]
    params: dict[int, int]
    groups: tuple[Group, ...]
    fusions: tuple[Fusion, ...] = ()
    values: dict[Origin, Origin] = field(default_factory=dict)
    quantised: Quantised = NOTHING

    @cached_property
    def taken(self) -> frozenset[int]:
        """Golden operators that have a partner or are part of a fusion."""
        return frozenset((*self.partner.values(), *(g for f in self.fusions for g in f.golden)))

    @cached_property
    def fused(self) -> dict[int, Fusion]:
        """The fusion that a target operator is part of, by its number."""
        return {t: fusion for fusion in self.fusions for t in fusion.target}

    def counterpart(self, number: int) -> int | None:
        """The golden operator that does the work of a target's, fused or not.

        That is its partner, or of a fusion's members the only one of its type, or else the last.
        """
        if number in self.partner:
            return self.partner[number]
        if number not in self.fused:
            return None
        ops, members = self.golden.graph.ops, self.fused[number].golden
        alike = [g for g in members if ops[g].op_type == self.target.graph.ops[number].op_type]
        return alike[0] if len(alike) == 1 else members[-1]

    def mapped(self, origin: Origin) -> Origin | None:
        """The golden value that a target value stands for; ``None`` if it has no partner."""
        if origin in self.values:
            return self.values[origin]
        table = self.partner if origin.kind == "op" else self.params
        number = table.get(origin.number) if origin.kind in ("op", "param") else None
        return None if number is None else origin._replace(number=number)

    def input_order(self, number: int) -> dict[int, int]:
        """Golden slot of every input slot of an aligned operator whose inputs stand in another order."""
        op = self.target.graph.ops[number]
        if op.op_type not in COMMUTATIVE:
            return {}
        theirs = self.golden.origins(self.partner[number])
        ours = [self.mapped(origin) for origin in self.target.origins(number)]
        if ours == theirs or None in ours or sorted(map(str, ours)) != sorted(map(str, theirs)):
            return {}
        left = list(range(len(theirs)))
        order: dict[int, int] = {}
        for slot, origin in enumerate(ours):
            order[slot] = next(n for n in left if theirs[n] == origin)
            left.remove(order[slot])
        return order

    @property
    def only_target(self) -> tuple[int, ...]:
        """Target operators in no one-to-one match, in listing order."""
        return tuple(n for n in range(len(self.target.graph.ops)) if n not in self.partner)

    @property
    def only_golden(self) -> tuple[int, ...]:
        """Golden operators in no one-to-one match, in listing order."""
        return tuple(n for n in range(len(self.golden.graph.ops)) if n not in self.taken)


def align(target: Graph, golden: Graph, forced: Overrides = NO_OVERRIDES) -> Alignment:
    """Match the operators of two graphs; never raises, unmatched ones are left over.

    ``forced`` holds what the user has paired; it comes first.
    """
    quantised = find_quantised(target)
    if quantised and find_quantised(golden):
        quantised = NOTHING
    if quantised:
        target = with_layers(target, quantised)
    work = _Work(GraphView(target), GraphView(golden))
    work.by_hand(forced)
    work.by_fusion()
    work.by_ancestry()
    work.by_evidence()
    work.identities()
    ours = {t for f in work.fusions for t in f.target} | ends_of(target) | inserted(target)
    theirs = {g for f in work.fusions for g in f.golden} | ends_of(golden) | inserted(golden)
    groups = find_groups(work.target, work.golden, work.partner, work.params, (ours, theirs))
    matches = [*work.matches, *(OpMatch(g.target, g.golden, "group", 0.6) for g in groups)]
    matches.sort(key=lambda match: match.target[:1] or (len(target.ops),))
    return Alignment(
        work.target, work.golden, tuple(matches), work.partner, work.params, tuple(groups),
        tuple(work.fusions), work.values, quantised,
    )  # fmt: skip


class _Work:
    """Matches found so far."""

    def __init__(self, target: GraphView, golden: GraphView) -> None:
        self.target = target
        self.golden = golden
        self.params = match_parameters(target.graph, golden.graph)
        self.partner: dict[int, int] = {}
        self.taken: set[int] = set()
        self.matches: list[OpMatch] = []
        self.fusions: list[Fusion] = []
        self.fused: set[int] = set()
        self.values: dict[Origin, Origin] = find_leaves(target.graph, golden.graph)

    def claim(self, t: int, g: int, rule: str, score: float) -> None:
        self.partner[t] = g
        self.taken.add(g)
        same = self.target.graph.ops[t].name == self.golden.graph.ops[g].name
        self.matches.append(OpMatch((t,), (g,), "name" if same else rule, round(score, 3)))

    def by_hand(self, forced: Overrides) -> None:
        """Take the user's own pairs and groups."""
        ours, theirs = self.target.graph.by_name, self.golden.graph.by_name
        for name, other in forced.pairs.items():
            if name in ours and other in theirs and theirs[other] not in self.taken:
                self.partner[ours[name]] = theirs[other]
                self.taken.add(theirs[other])
                self.matches.append(OpMatch((ours[name],), (theirs[other],), "map", 1.0))
        for group in hand_groups(forced, self.target, self.golden):
            self._take(group)

    def by_fusion(self) -> None:
        """Take what the graph engine says of the kernels it made."""
        for fusion in find_fusions(self.target, self.golden):
            ours = self.partner.keys() | self.fused
            if ours & set(fusion.target) or self.taken & set(fusion.golden):
                continue  # the user knows better
            (t, *more), (g, *others) = fusion.target, fusion.golden
            if not more and not others:
                self.claim(t, g, "fusion", 1.0)
                continue
            self._take(fusion)

    def _take(self, fusion: Fusion) -> None:
        self.fusions.append(fusion)
        self.fused.update(fusion.target)
        self.taken.update(fusion.golden)
        self.values.update(fusion.values)
        self.matches.append(OpMatch(fusion.target, fusion.golden, fusion.rule, 1.0))

    def by_ancestry(self) -> None:
        """Match operators whose whole ancestry is the same."""
        names = {t: f"p{t}" for t in self.params}
        ours = _group(self.target.ancestry(names))
        theirs = _group(self.golden.ancestry({g: f"p{t}" for t, g in self.params.items()}))
        for digest, mine in ours.items():
            other = theirs.get(digest, [])
            mine = [t for t in mine if t not in self.partner and t not in self.fused]
            other = [g for g in other if g not in self.taken]
            if len(mine) == len(other) > 0:
                for t, g in _by_name(mine, other, self.target.graph.ops, self.golden.graph.ops):
                    self.claim(t, g, "structure", 1.0)

    def by_evidence(self) -> None:
        """Grow the matches along edges, names and source lines, the surest pair first.

        A claim changes the weight of its neighbours only, so those alone are weighed again; a pair
        whose weight has fallen since it was queued goes back to its place.
        """
        queue: list[tuple[float, int, int]] = []
        known: dict[tuple[int, int], float] = {}
        for t in self.target.kernels:
            self._queue(t, queue, known)
        while queue:
            weight, t, g = heapq.heappop(queue)
            if t in self.partner or g in self.taken:
                continue
            now = self.weigh(t, g)
            if now < -weight:
                known[t, g] = now
                if now >= LEAST:
                    heapq.heappush(queue, (-now, t, g))
                continue
            self.claim(t, g, "topology", min(0.99, now / 5))
            for near in self._around(t):
                self._queue(near, queue, known)

    def _queue(
        self, t: int, queue: list[tuple[float, int, int]], known: dict[tuple[int, int], float]
    ) -> None:
        """Queue the possible partners of a target operator that weigh more than when last seen."""
        if t in self.partner or t in self.fused:
            return
        for g in self._candidates(t):
            weight = self.weigh(t, g)
            if weight >= LEAST and weight > known.get((t, g), 0.0):
                known[t, g] = weight
                heapq.heappush(queue, (-weight, t, g))

    def _around(self, t: int) -> Iterator[int]:
        """Kernels next to a target operator: those that read it, and those it reads."""
        yield from (reader for reader, _ in self.target.readers_of(t))
        for origin in self.target.origins(t):
            if origin.kind == "op":
                yield origin.number

    def _candidates(self, t: int) -> Iterator[int]:
        """Golden operators of the same type that share an anchor with a target operator."""
        op = self.target.graph.ops[t]
        seen: set[int] = set()
        for near in (self._neighbours(t), self.golden.alike(op)):
            for g in near:
                if g in seen or g in self.taken or self.golden.graph.ops[g].op_type != op.op_type:
                    continue
                seen.add(g)
                yield g

    def _neighbours(self, t: int) -> Iterator[int]:
        for origin in self.target.origins(t):
            mapped = self.mapped(origin)
            if mapped is not None:
                yield from (number for number, _ in self.golden.readers(mapped))
        for slot_reader, slot in self.target.readers_of(t):
            partner = self.partner.get(slot_reader)
            if partner is not None:
                origins = self.golden.origins(partner)
                if slot < len(origins) and origins[slot].kind == "op":
                    yield origins[slot].number

    def mapped(self, origin: Origin) -> Origin | None:
        """The golden value that a target value stands for."""
        if origin in self.values:
            return self.values[origin]
        table = self.partner if origin.kind == "op" else self.params
        number = table.get(origin.number)
        return None if number is None else origin._replace(number=number)

    def weigh(self, t: int, g: int) -> float:
        """Weight of evidence that two operators are the same."""
        a, b = self.target.graph.ops[t], self.golden.graph.ops[g]
        score = self._weigh_inputs(t, g) + self._weigh_readers(t, g)
        score += 0.75 * (a.name == b.name) + 0.25 * (a.scope == b.scope)
        frame, other = a.frame, b.frame
        if frame and other and not frame.library:
            score += 0.5 * (frame.code.strip() == other.code.strip() and frame.line == other.line)
        same_shape = [s.shape for s in a.outputs] == [s.shape for s in b.outputs]
        score += 0.5 if same_shape else -0.5
        return score + (1.0 if self.target.results(t) & self.golden.results(g) else 0.0)

    def _weigh_inputs(self, t: int, g: int) -> float:
        score = 0.0
        others = self.golden.origins(g)
        ours = [self.mapped(o) for o in self.target.origins(t) if o.kind in ("op", "param")]
        theirs = [o for o in others if o.kind in ("op", "param")]
        if None not in ours and ours != theirs and Counter(ours) == Counter(theirs):
            return 0.5  # the same values in another order: swapped, but hardly another operator
        for slot, origin in enumerate(self.target.origins(t)):
            other = others[slot] if slot < len(others) else None
            mapped = self.mapped(origin)
            if other is None or (mapped is None and not self._is_taken(other)):
                continue
            weight = 1.5 if origin.kind == "param" else 1.0
            score += weight if mapped == other else -weight
        return score

    def _is_taken(self, origin: Origin) -> bool:
        return origin.kind == "op" and origin.number in self.taken

    def _weigh_readers(self, t: int, g: int) -> float:
        theirs = set(self.golden.readers_of(g))
        agree = sum(
            1 for n, slot in self.target.readers_of(t) if (self.partner.get(n), slot) in theirs
        )
        clash = sum(
            1 for n, slot in self.target.readers_of(t)
            if n in self.partner and (self.partner[n], slot) not in theirs
        )  # fmt: skip
        return min(agree, 2) * 1.0 - min(clash, 2) * 0.75

    def identities(self) -> None:
        """Match casts and the like that carry the same value into the same format."""
        waiting: dict[tuple[object, ...], list[int]] = {}
        for g in (g for g in self.golden.identities if g not in self.taken):
            waiting.setdefault(self._carried(self.golden, g, translate=False), []).append(g)
        for t in self.target.identities:
            partners = waiting.get(self._carried(self.target, t, translate=True))
            if partners and t not in self.partner and t not in self.fused:
                self.claim(t, partners.pop(0), "topology", 0.8)

    def _carried(self, view: GraphView, number: int, *, translate: bool) -> tuple[object, ...]:
        origin: Origin | None = view.source(number)
        if translate and origin is not None and origin.kind in ("op", "param"):
            origin = self.mapped(origin) or Origin("none", -1, -1)
        op = view.graph.ops[number]
        return origin, op.op_type, op.outputs[0].dtype if op.outputs else ""


def _group(digests: dict[int, int]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for number, digest in digests.items():
        groups.setdefault(digest, []).append(number)
    return groups


def _by_name(
    mine: list[int], other: list[int], ours: Sequence[Op], theirs: Sequence[Op]
) -> Iterator[tuple[int, int]]:
    """Pair two equally long lists of interchangeable operators: equal names first, then order."""
    if len(mine) == 1:
        yield mine[0], other[0]
        return
    named = {theirs[g].name: g for g in other}
    left = []
    for t in mine:
        g = named.pop(ours[t].name, None)
        if g is None:
            left.append(t)
        else:
            yield t, g
    yield from zip(left, sorted(named.values()), strict=False)


def match_parameters(target: Graph, golden: Graph) -> dict[int, int]:
    """Match parameters: by name, by a name without the wrapper's prefix, then by kind and position."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()

    def claim(keys: list[object], others: list[object]) -> None:
        index: dict[object, list[int]] = {}
        for g, key in enumerate(others):
            if key and g not in taken:
                index.setdefault(key, []).append(g)
        for t, key in enumerate(keys):
            candidates = index.get(key) if key and t not in pairs else None
            if candidates and keys.count(key) == len(candidates):
                pairs[t] = candidates.pop(0)
                taken.add(pairs[t])

    ours, theirs = target.parameters, golden.parameters
    claim([p.name for p in ours], [p.name for p in theirs])
    claim([_bare(p.name) for p in ours], [_bare(p.name) for p in theirs])
    left_t = [t for t, p in enumerate(ours) if t not in pairs and not p.is_weight]
    left_g = [g for g, p in enumerate(theirs) if g not in taken and not p.is_weight]
    alone = len(left_t) == len(left_g)
    pairs |= {
        t: g
        for t, g in zip(left_t, left_g, strict=False)
        if alone or ours[t].spec.shape == theirs[g].spec.shape
    }
    return pairs


def _bare(name: str) -> str:
    """Name without the prefixes that wrappers add (``_backbone.``, ``network.``)."""
    parts = name.split(".")
    while len(parts) > 1 and parts[0] in ("_backbone", "network", "_network", "net", "backbone"):
        parts.pop(0)
    return ".".join(parts)
