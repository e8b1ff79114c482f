"""The values of pairing: pairs, tensors left alone or left out, and what the user selected."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from workbench._values import dataclass
from workbench.comparison.map_file import NO_OVERRIDES, Overrides
from workbench.comparison.pair.tables import skip_table, skipped
from workbench.comparison.trust import BORROWED, weaker
from workbench.core.words import Message
from workbench.dump.dump import CONSTANT_ITERATION
from workbench.graph.source_lines import user_frames

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.columns import Table
    from workbench.comparison.result import Side
    from workbench.comparison.trust import Trust
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.dump.dump import Dump, Note, Skipped
    from workbench.graph.graph import SourceFrame

T = TypeVar("T")


class Sides(NamedTuple, Generic[T]):
    """The same of target and golden."""

    target: T
    golden: T

    def of(self, side: Side) -> T:
        """That of one side."""
        return self.target if side == "target" else self.golden

    @property
    def named(self) -> tuple[tuple[Side, T], tuple[Side, T]]:
        """Both with their names, the target first."""
        return ("target", self.target), ("golden", self.golden)


class Pair(NamedTuple):
    """Two records that stand for the same tensor.

    ``run`` and ``golden_run`` are the executions they belong to (``None`` for Parameter files); ``order`` is
    the place of the target's operator in data-flow order over the whole run. ``shared`` says that the golden is
    half of another pair, too: the output that an input of the target is, where the golden has outputs alone.
    """

    target: TensorRecord
    golden: TensorRecord
    run: OperatorRun | None
    golden_run: OperatorRun | None
    io: str
    slot: int
    rule: str
    score: float
    op_name: str
    order: int = 0
    shared: bool = False


class Unmatched(NamedTuple):
    """A record without a partner."""

    record: TensorRecord
    run: OperatorRun | None
    op_name: str


_NOTHING: Sides[tuple[Any, ...]] = Sides((), ())


@dataclass(frozen=True, slots=True)
class Pairing:
    """Everything about two dumps that is matched, and everything that is not.

    ``target`` and ``golden`` are the bindings without what was left out: ignored operators and older runs.
    Every tensor of a side is half of a pair, unmatched or skipped. ``alignments`` are those of the target's
    graphs, ``blocks`` maps its executions to the golden's, ``block_order`` has them in order of time.
    ``left_out`` are the skips as columns (`SKIPS`).
    ``ignored`` counts the tensors that an entry of the map file left out, by its index.
    """

    target: Binding
    golden: Binding
    pairs: tuple[Pair, ...] = ()
    unmatched: Sides[tuple[Unmatched, ...]] = _NOTHING
    left_out: Table = field(default_factory=lambda: skip_table(()))
    notes: tuple[tuple[Side, Note], ...] = ()
    alignments: Mapping[tuple[int, int], Alignment] = field(default_factory=dict)
    overrides: Overrides = NO_OVERRIDES
    ignored: Mapping[int, int] = field(default_factory=dict)
    blocks: Mapping[Execution, Execution] = field(default_factory=dict)
    block_order: tuple[Execution, ...] = ()

    @property
    def sides(self) -> Sides[Binding]:
        """Both bindings."""
        return Sides(self.target, self.golden)

    @property
    def skips(self) -> Sides[tuple[Skipped, ...]]:
        """What was left out of either side, and why."""
        return Sides(skipped(self.left_out, "target"), skipped(self.left_out, "golden"))

    @property
    def only_target(self) -> tuple[Unmatched, ...]:
        """Tensors that the target alone has."""
        return self.unmatched.target

    @property
    def only_golden(self) -> tuple[Unmatched, ...]:
        """Tensors that the golden alone has."""
        return self.unmatched.golden

    def trust(self, block: Execution) -> Trust:
        """What a statement about an execution of the target rests on: the weaker of the two sides.

        Where the golden has no graph that fits, the target's serves for both.
        """
        ours, other = self.target.trust(block), self.blocks.get(block)
        alone = other is not None and self.golden.trust(other).graph != "own"
        return weaker(ours, BORROWED) if alone else ours

    def frame(self, place: tuple[int, int], number: int) -> SourceFrame | None:
        """Source line to show of an operator of the target, the surest and innermost of `frames`."""
        return next(iter(self.frames(place, number)), None)

    def frames(self, place: tuple[int, int], number: int) -> tuple[SourceFrame, ...]:
        """Source lines of an operator of the target by (rank, graph id) and number, innermost first.

        Where the target's graph tells none, as GE's never does, they are those of the golden's counterpart. None of
        a borrowed graph: its lines are the other program's.
        """
        if place in self.target.borrowed:
            return ()
        graph, found = self.target.graphs.get(place), self.alignments.get(place)
        if graph is None or number < 0:
            return ()
        if graph.ops[number].frames or found is None:
            return user_frames(graph, number)
        other = found.counterpart(number)
        return user_frames(found.golden.graph, other) if other is not None else ()


def with_records(pairing: Pairing, changed: Sides[dict[int, TensorRecord]]) -> Pairing:
    """Return a pairing with other records in place of some, by the identity of these."""
    runs: dict[int, OperatorRun] = {}
    target, golden = (
        _rebound(one, some, runs) for one, some in zip(pairing.sides, changed, strict=True)
    )

    def run_of(one: OperatorRun | None) -> OperatorRun | None:
        return runs.get(id(one), one)

    def pair_of(one: Pair) -> Pair:
        ours = changed.target.get(id(one.target), one.target)
        theirs = changed.golden.get(id(one.golden), one.golden)
        run, golden_run = run_of(one.run), run_of(one.golden_run)
        return one._replace(target=ours, golden=theirs, run=run, golden_run=golden_run)

    ours, theirs = (
        tuple(one._replace(run=run_of(one.run)) for one in some) for some in pairing.unmatched
    )
    return replace(
        pairing, target=target, golden=golden, pairs=tuple(map(pair_of, pairing.pairs)),
        unmatched=Sides(ours, theirs),
    )  # fmt: skip


def _rebound(
    binding: Binding, changed: Mapping[int, TensorRecord], runs: dict[int, OperatorRun]
) -> Binding:
    """Return a binding with other records; ``runs`` gets the runs that take the place of its own."""
    if not changed:
        return binding
    for some in binding.runs.values():
        for run in some.values():
            if any(id(record) in changed for record in run.tensors.values()):
                tensors = {at: changed.get(id(one), one) for at, one in run.tensors.items()}
                runs[id(run)] = run._replace(tensors=tensors)
    odd = {
        id(new): binding.oddities[old] for old, new in changed.items() if old in binding.oddities
    }
    return replace(
        binding,
        runs={
            b: {n: runs.get(id(one), one) for n, one in some.items()}
            for b, some in binding.runs.items()
        },
        parameters={
            block: {name: changed.get(id(one), one) for name, one in some.items()}
            for block, some in binding.parameters.items()
        },
        oddities={**binding.oddities, **odd},
    )


class Selection(NamedTuple):
    """What the user chose: rank and iteration of each side (``None``: what both have), map file."""

    rank: tuple[int, int] | None = None
    iteration: tuple[int, int] | None = None
    overrides: Overrides = NO_OVERRIDES

    def takes(self, key: TensorKey, side: str) -> bool:
        """Whether a tensor of a side is of the chosen rank and iteration; constants are of every one."""
        index = 0 if side == "target" else 1
        if self.rank is not None and key.rank != self.rank[index]:
            return False
        chosen = self.iteration is None or key.iteration == self.iteration[index]
        return chosen or key.iteration < 0

    def absent(self, target: Dump, golden: Dump) -> list[Message]:
        """Say which chosen ranks and iterations a dump does not have, and which it has."""
        said: list[Message] = []
        for name in ("rank", "iteration"):
            chosen = getattr(self, name) or ()
            missing: dict[str, tuple[int, tuple[int, ...]]] = {}
            for side, dump, number in zip(
                ("target", "golden"), (target, golden), chosen, strict=False
            ):
                numbers = {getattr(record.key, name) for record in dump.records}
                found = sorted(numbers - {CONSTANT_ITERATION})
                if number not in found:
                    missing[side] = (number, tuple(found))
            said += _absent(name, missing)
        return said


def _absent(name: str, missing: Mapping[str, tuple[int, tuple[int, ...]]]) -> Iterator[Message]:
    """One sentence where both sides lack the same, else one a side."""
    if len(missing) == 2 and len(set(missing.values())) == 1:
        number, known = missing["target"]
        if known:
            yield Message("compare/absent", what=name, number=number, known=known)
            return
    for side, (number, known) in missing.items():
        if known:
            yield Message("compare/absent-side", what=name, number=number, side=side, known=known)
        else:
            yield Message("compare/absent-empty", what=name, number=number, side=side)


EVERYTHING = Selection()
"""All that both sides have."""
