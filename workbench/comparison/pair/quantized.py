"""Pair what can be compared around operators that compute in integers of another scale.

An operator that quantizes reads what the original layer reads, and the one that ends it gives what the layer
gives. What lies between is skipped with the reason ``quantised``, as msaccucmp filters it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.graphs.view import Origin
from workbench.comparison.pair.kernels import QUANTISED, pair_places, skip_left, skip_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.pair.pairing import Pairing

    Runs = Mapping[int, OperatorRun]


def pair_quantised(pairing: Pairing, found: Alignment, ours: Runs, theirs: Runs, base: int) -> None:
    """Pair the inputs of quantizing operators, and skip the integers."""
    graph, quantised = found.target.graph, found.quantised
    for number, run in ours.items():
        hidden = [
            record
            for (io, slot), record in run.tensors.items()
            if number >= 0 and quantised.hides(number, io, slot, graph.ops[number])
        ]
        skip_records(pairing, "target", run.op_name, hidden, QUANTISED)
    for number in sorted(quantised.quant & ours.keys()):
        for other, slot in _readers(found, number):
            there = theirs.get(other)
            place = ("input", 0), ("input", slot)
            if there is not None and pair_places(pairing, ours[number], there, *place, base):
                break


def _readers(found: Alignment, number: int) -> Iterator[tuple[int, int]]:
    """Golden operators, and their input, that read what a quantizing operator reads for them."""
    value = found.mapped(next(iter(found.target.origins(number)), Origin("none", -1)))
    for reader, _ in found.target.readers(Origin("op", number)):
        for g in _counterparts(found, reader) if value is not None else ():
            for slot, origin in enumerate(found.golden.origins(g)):
                if origin == value:
                    yield g, slot


def _counterparts(found: Alignment, number: int) -> tuple[int, ...]:
    """Golden operators that do the work of a target's."""
    if number in found.fused:
        return found.fused[number].golden
    return (found.partner[number],) if number in found.partner else ()


def skip_floats(pairing: Pairing, found: Alignment, ours: Runs, theirs: Runs) -> None:
    """Skip what is left of layers whose partners have integers in its place."""
    quantised = found.quantised
    for number in sorted((quantised.quant | quantised.inside) & ours.keys()):
        for run in (theirs[g] for g in _counterparts(found, number) if g in theirs):
            skip_left(pairing, "golden", [run], QUANTISED)
