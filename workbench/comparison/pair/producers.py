"""The golden of an input is what its producer gave in the golden: data of another framework are outputs alone.

Which output an input is, the graph of its own side says, casts and changes of layout looked through; which golden value
that is, the alignment. An operator that the compiler inserted gives what it reads, so its result has the same golden.
Without graphs, equal bytes say which output of its own run an input is (`workbench.comparison.bind.wiring`). Tensors
must be of one size: of a value that was padded or cut on the way nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.align.rules import PRODUCER
from workbench.comparison.bind.wiring import infer_wiring
from workbench.comparison.graphs.ge_origins import is_inserted
from workbench.comparison.graphs.named_kernels import names_inserted
from workbench.comparison.graphs.roles import rewritten_slots
from workbench.comparison.graphs.view import Origin
from workbench.comparison.pair.claims import Given, is_of_one_size
from workbench.comparison.trust import Trust, may_say
from workbench.dump.formats.ge_name import standard_name
from workbench.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.pair.claims import Claims, ExecutionPair, Place


def pair_producers(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair what nothing has taken of the target with the golden's output that it is, by the graphs."""
    found, given = at.alignment, dict(_given(claims, at))
    for run in at.target.values():
        for place, value in _values(found, run):
            there = found.mapped(value)
            known = given.get(there) if there is not None else None
            if known is not None and is_of_one_size(run.tensors[place], known.record):
                claims.share(at, run, place, known, PRODUCER, score)


def _given(claims: Claims, at: ExecutionPair) -> Iterator[tuple[Origin, Given]]:
    """Values that the golden has, the one of who computes it last; fed ones are its parameters' files."""
    view = at.alignment.golden
    odd = claims.sides.golden.oddities
    for run in sorted(at.golden.values(), key=lambda run: -run.op):
        for (io, slot), record in run.tensors.items() if run.op >= 0 else ():
            if io == "output" and id(record) not in odd:
                yield view.origin(Value(run.op, slot)), Given(run, (io, slot), record)
    block = next((run.block for run in at.golden.values()), None)
    files = claims.sides.golden.parameters.get(block, {}) if block is not None else {}
    for index, parameter in enumerate(view.graph.parameters):
        fed = files.get(parameter.name) or files.get(standard_name(parameter.name))
        if fed is not None:
            yield Origin("param", index), Given(None, ("output", 0), fed)


def _values(found: Alignment, run: OperatorRun) -> Iterator[tuple[Place, Origin]]:
    """Slots of an operator of the target and the values that they hold, casts and layouts looked through."""
    if run.op < 0:
        return
    op, origins = found.target.graph.ops[run.op], found.target.origins(run.op)
    rewritten = rewritten_slots(op)
    for place in run.tensors:
        io, slot = place
        if io == "input" and slot < len(origins) and slot not in rewritten:
            yield place, origins[slot]
        elif io == "output" and is_inserted(op):
            value = found.target.origin(Value(run.op, slot))
            if value != Origin("op", run.op, slot):
                yield place, value


def pair_wired(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair inputs of the target with the golden of the output whose bytes they have; without graphs.

    What the compiler has inserted gives what it reads, so its result has that golden, too.
    """
    block = next((run.block for run in at.target.values()), None)
    binding = claims.sides.target
    if block is None or not may_say("given", Trust("inferred", binding.trust(block).order)):
        return
    wiring, givers = infer_wiring(binding, block), claims.givers()
    for (number, slot), (producer, output) in wiring.producers.items():
        run, record = at.target[number], at.target[producer].tensors["output", output]
        known = givers.get(id(record))
        if known is None or (producer, output) in wiring.alike:
            continue
        claims.share(at, run, ("input", slot), known, PRODUCER, score)
        given = run.tensors.get(("output", 0))
        if (
            given is not None
            and names_inserted(run.op_name)
            and is_of_one_size(given, known.record)
            and claims.share(at, run, ("output", 0), known, PRODUCER, score)
        ):
            givers[id(given)] = known
