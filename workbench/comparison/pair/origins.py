"""Pair outputs by the tensor of the network that their files name, where a side has no graph.

A container of the graph engine tells of every output which operator's tensor it was before kernels were
fused (``original_op``). A kernel that bears the name of the first operator it stands for would else be
compared with that one's result.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.pair.kernels import FUSED
from workbench.comparison.pair.pairing import Sides
from workbench.dump.formats.mindspore_name import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.comparison.bind.binding import OperatorRun
    from workbench.comparison.pair.claims import Claims, ExecutionPair
    from workbench.comparison.result import Side
    from workbench.core.tensors import TensorRecord

    Runs = Mapping[int, OperatorRun]


class _Output(NamedTuple):
    """An output of an execution and the tensor of the network that it is: operator, slot."""

    run: OperatorRun
    slot: int
    tensor: tuple[str, int]

    @property
    def own(self) -> tuple[str, int]:
        """What it would be by the name of its operator."""
        return sanitize(self.run.op_name), self.slot

    @property
    def place(self) -> tuple[str, int]:
        """Where its operator has it."""
        return "output", self.slot

    @property
    def record(self) -> TensorRecord:
        """What was dumped of it."""
        return self.run.tensors[self.place]


def pair_origins(claims: Claims, at: ExecutionPair, score: float) -> None:
    """Pair outputs of different names or slots that are the same tensor of the network.

    What the namesakes of these operators gave besides lies inside a kernel and is skipped. Operators that
    the user has paired are left to him.
    """
    if not any(map(_tells_origins, at.runs)):
        return  # each is the tensor that its name says
    by_hand = Sides({*claims.overrides.pairs}, {*claims.overrides.pairs.values()})
    partners = {
        one.tensor: one for one in _unique(at.golden) if one.run.op_name not in by_hand.golden
    }
    found = [
        (one, partners[one.tensor])
        for one in _unique(at.target)
        if one.tensor in partners and one.run.op_name not in by_hand.target
    ]
    moved = [
        (one, other)
        for one, other in found
        if one.own != other.own
        and claims.pair(at, (one.run, other.run), (one.place, other.place), "fusion", score)
    ]
    names = Sides({other.own[0] for _, other in moved}, {one.own[0] for one, _ in moved})
    meant = {id(output.record) for both in found for output in both}
    for side, runs in at.runs.named:
        free = (run for run in runs.values() if run.op_name not in by_hand.of(side))
        namesakes = (run for run in free if sanitize(run.op_name) in names.of(side))
        _skip_inside(claims, side, namesakes, meant)


def _skip_inside(claims: Claims, side: Side, runs: Iterable[OperatorRun], meant: set[int]) -> None:
    """Skip what the namesakes of the other side's kernels gave, but for what has a partner."""
    for run in runs:
        outputs = [record for (io, _), record in run.tensors.items() if io == "output"]
        inside = [record for record in outputs if id(record) not in meant]
        claims.skip(side, run.op_name, inside, FUSED)


def _unique(runs: Runs) -> list[_Output]:
    """Outputs whose tensor no other output of the side claims to be."""
    outputs = [*_outputs(runs)]
    times = Counter(one.tensor for one in outputs)
    return [one for one in outputs if times[one.tensor] == 1]


def _outputs(runs: Runs) -> Iterator[_Output]:
    for run in runs.values():
        for (io, slot), record in run.tensors.items():
            if io == "output":
                name, number = _origin(record) or (run.op_name, slot)
                yield _Output(run, slot, (sanitize(name), number))


def _tells_origins(runs: Runs) -> bool:
    """Whether any file of a side says which tensor of the network it is."""
    records = (one for run in runs.values() for one in run.tensors.values())
    return any(_origin(one) is not None for one in records)


def _origin(record: TensorRecord) -> tuple[str, int] | None:
    """Operator and slot of the network's tensor that an output is, as far as its file says."""
    return record.place.origin if record.place is not None else None
