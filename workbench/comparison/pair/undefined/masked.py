"""Scores that a mask strikes out of an attention: nothing comes of them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from workbench.comparison.pair.undefined.find import LeftOut, both_arrays, freeze_care, readers_of
from workbench.core.words import Message
from workbench.graph.graph import Value
from workbench.ops import CONTRACTIONS
from workbench.ops.dont_care import STRUCK_OUT

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.pairing import Pair, Pairing
    from workbench.comparison.pair.undefined.find import Care
    from workbench.graph.graph import Graph

MASKED_SCORES = "masked-scores"
"""How the ledger counts scores that a mask strikes out."""

_SOFTMAX = frozenset(("Softmax", "SoftmaxV2"))
_WAY = 64
"""Operators that are looked at between a score and its Softmax."""


class MaskedScores:
    """Scores that masks strike out: far below zero on both sides, and Softmax gives 0 there on both.

    A mask adds -1e9 or so, which narrow formats cannot hold: what they have instead makes no difference. With a graph
    nothing but Softmax may come of such a score; without any, the next Softmax by time is taken for its reader.
    """

    def __init__(self, pairing: Pairing) -> None:
        self._pairing = pairing
        found: dict[Execution, list[Pair]] = {}
        for pair in sorted(pairing.pairs, key=lambda one: one.order):
            if pair.run is not None and pair.io == "output" and pair.run.op_type in _SOFTMAX:
                found.setdefault(pair.run.block, []).append(pair)
        self._shares = MappingProxyType(found)

    def left_out(self, pair: Pair) -> LeftOut | None:
        """Return which scores of a pair a mask strikes out; ``None``: none, or nobody can tell."""
        behind = self._behind(pair)
        arrays = both_arrays(pair) if behind else None
        if arrays is None:
            return None
        struck = (arrays[0] <= STRUCK_OUT) & (arrays[1] <= STRUCK_OUT)
        if not struck.any() or not all(_gives_zero(one, struck) for one in behind):
            return None
        said = Message(f"compare/left-out-{MASKED_SCORES}")
        return LeftOut(freeze_care(~struck), said, MASKED_SCORES)

    def _behind(self, pair: Pair) -> Sequence[Pair]:
        """Every Softmax that a tensor goes into; none if something else comes of it, or one was not compared."""
        run = pair.run
        known = self._shares.get(run.block, ()) if run is not None else ()
        if run is None or not known:
            return ()
        graph = self._pairing.target.graph(run.block)
        if graph is None or run.op < 0:
            behind = (one for one in known if one.order > pair.order or one.run is run)
            return tuple(one for one, _ in zip(behind, range(1), strict=False))
        readers = _softmax_behind(graph, run.op, pair.io, pair.slot)
        by_op = {one.run.op: one for one in known if one.run is not None}
        return tuple(by_op[number] for number in readers) if readers <= by_op.keys() else ()


def _softmax_behind(graph: Graph, number: int, io: str, slot: int) -> Set[int]:
    """Softmax operators that a value goes into; none if it is also multiplied, or a result of the network."""
    waiting = [number] if io == "input" else readers_of(graph, Value(number, slot))
    found, seen = set[int](), set(waiting or ())
    while waiting and len(seen) < _WAY:
        reader = waiting.pop()
        op = graph.ops[reader]
        if op.op_type in _SOFTMAX:
            found.add(reader)
            continue
        further = [readers_of(graph, Value(reader, n)) for n in range(max(len(op.outputs), 1))]
        if op.op_type in CONTRACTIONS or None in further:
            return frozenset()
        behind = {one for some in further for one in some or ()} - seen
        seen |= behind
        waiting += behind
    return frozenset() if waiting else found


def _gives_zero(share: Pair, struck: Care) -> bool:
    """Whether both sides of a Softmax give 0 wherever scores are struck out, which may spread over its axes."""
    arrays = both_arrays(share)
    if arrays is None:
        return False
    zero = (arrays[0] == 0) & (arrays[1] == 0)
    if struck.size == zero.size:
        return not (struck.reshape(zero.shape) & ~zero).any()
    sizes = zip(struck.shape[::-1], zero.shape[::-1], strict=False)
    if struck.ndim > zero.ndim or any(size not in (1, whole) for size, whole in sizes):
        return False
    return not (np.broadcast_to(struck, zero.shape) & ~zero).any()
