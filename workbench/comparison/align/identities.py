"""Match operators that compute nothing of their own: casts, changes of shape, and what is computed once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.matching import OpMatch
from workbench.comparison.graphs.view import RESHAPING, GraphView, Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.comparison.align.matching import Matching
    from workbench.graph.nodes import Op

AGAIN = "again"
"""Rule of operators that repeat what an aligned one has computed."""


class IdentityMatcher:
    """Operators that hand values on, and those that repeat others."""

    def __init__(self, work: Matching) -> None:
        self.work = work

    def identities(self) -> None:
        """Match casts and the like that carry the same value into the same format or shape.

        Where nothing fits exactly, the only one that carries the value somewhere else is the same.
        """
        for exact in (True, False):
            waiting: dict[tuple[object, ...], list[int]] = {}
            for g in (g for g in self.work.golden.identities if g not in self.work.taken):
                key = self._carried(self.work.golden, g, exact=exact)
                waiting.setdefault(key, []).append(g)
            mine: dict[tuple[object, ...], list[int]] = {}
            for t in self.work.target.identities:
                if t not in self.work.partner and t not in self.work.fused:
                    key = self._carried(self.work.target, t, exact=exact)
                    mine.setdefault(key, []).append(t)
            for key, numbers in mine.items():
                others = waiting.get(key, [])
                if exact or len(numbers) == len(others) == 1:
                    for t, g in self.work.interchangeable(numbers, others):
                        self.work.claim(t, g, "topology", 0.8)

    def between(self) -> None:
        """Match casts and the like whose sources do not correspond by who reads them."""
        for t in self.work.target.identities:
            if t in self.work.partner or t in self.work.fused:
                continue
            op = self.work.target.graph.ops[t]
            near = {
                g
                for reader in self.work.read_by(t)
                for g in self.work.golden.handed_to(reader)
                if g not in self.work.taken and _alike(op, self.work.golden.graph.ops[g])
            }
            if len(near) == 1:
                self.work.claim(t, near.pop(), "topology", 0.7)

    def repeated(self) -> None:
        """Match what one side computes again with what the other computes again."""
        for t, g, mine, others in self._repetitions():
            if len(mine) > 1 and len(others) > 1:
                self.work.release(t, g)
                for one, there in list(self.work.interchangeable(mine, others)):
                    self.work.claim(one, there, "structure", 1.0)
        self._namesakes()

    def again(self) -> None:
        """Match what only one side computes again with what the other computes once."""
        for t, g, mine, others in self._repetitions():
            free = [(one, g) for one in mine if one not in self.work.partner]
            free += [(t, there) for there in others if there not in self.work.taken]
            self.work.matches += [OpMatch((one,), (there,), AGAIN, 0.9) for one, there in free]

    def _repetitions(self) -> Iterator[tuple[int, int, list[int], list[int]]]:
        """Pairs of which either side has more that compute the same, whoever reads them coming first."""
        work = self.work
        ours, theirs = _grouped(work.target.again), _grouped(work.golden.again)
        for t, g in sorted(work.partner.items(), reverse=True):
            if t in ours or g in theirs:
                mine = [n for n in ours.get(t, ()) if n not in work.partner and n not in work.fused]
                others = [n for n in theirs.get(g, ()) if n not in work.taken]
                yield t, g, [t, *mine], [g, *others]

    def _namesakes(self) -> None:
        """Match by name where one side alone says that an operator repeats another one."""
        work = self.work
        left = (n for n in (*work.golden.again, *work.golden.kernels) if n not in work.taken)
        named = {work.golden.graph.ops[g].name: g for g in left}
        for t in (*work.target.again, *work.target.kernels):
            op = work.target.graph.ops[t]
            g = named.get(op.name)
            if g is None or t in work.partner or t in work.fused or g in work.taken:
                continue
            repeats = t in work.target.again or g in work.golden.again
            same = list(map(work.mapped, work.target.origins(t))) == work.golden.origins(g)
            if repeats and same and op.op_type == work.golden.graph.ops[g].op_type:
                work.claim(t, g, "structure", 1.0)

    def _carried(self, view: GraphView, number: int, *, exact: bool) -> tuple[object, ...]:
        """What an identity carries, and into what."""
        origin: Origin | None = view.source(number)
        if view is self.work.target and origin is not None and origin.kind in ("op", "param"):
            origin = self.work.mapped(origin) or Origin("none", -1, number)
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
