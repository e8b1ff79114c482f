"""What pairing has decided so far: which tensors are taken, by which pair or for which reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.pair.exclusions import without_ignored
from workbench.comparison.pair.pairing import Pair, Pairing, Sides, Unmatched
from workbench.comparison.pair.tables import skip_table
from workbench.core.errors import FormatError
from workbench.dump.dump import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Binding, Execution, OperatorRun
    from workbench.comparison.map_file import Overrides
    from workbench.comparison.pair.pairing import Selection
    from workbench.comparison.result import Side
    from workbench.core.tensors import TensorRecord
    from workbench.dump.dump import Note

    Runs = Mapping[int, OperatorRun]
    Place = tuple[str, int]


_OUTPUTS_ALONE = "golden"
"""Layout of the data of another framework, which has no inputs."""


def has_outputs_alone(golden: Binding) -> bool:
    """Whether data are outputs alone, as another framework gives them."""
    return golden.dump.layout == _OUTPUTS_ALONE


class ExecutionPair(NamedTuple):
    """One execution on both sides: its operators by number, and the alignment of its graphs if there are any.

    ``first`` is the order of its first operator over the whole run.
    """

    target: Runs
    golden: Runs
    found: Alignment | None
    first: int

    @property
    def alignment(self) -> Alignment:
        """How the graphs match; only for rules that need graphs."""
        assert self.found is not None
        return self.found

    @property
    def runs(self) -> Sides[Runs]:
        """The operators of both sides."""
        return Sides(self.target, self.golden)


class Given(NamedTuple):
    """A value of the golden: who gave it (nobody: it was fed), where, and what was dumped of it."""

    run: OperatorRun | None
    place: Place
    record: TensorRecord


def is_of_one_size(one: TensorRecord, other: TensorRecord) -> bool:
    """Whether two tensors have as many elements on the host; not if either cannot tell."""
    try:
        size, there = one.spec.size, other.spec.size
    except FormatError:
        return False
    return size is not None and size == there


class Claims:
    """Pairs, skips and notes while they grow; made for one call of `pair_tensors` and gone with it.

    ``sides`` are views of the bindings: what is left out is missing there, and the bindings stay whole.
    """

    def __init__(self, sides: Sides[Binding], overrides: Overrides) -> None:
        self.overrides = overrides
        self.notes: list[tuple[Side, Note]] = []
        self._pairs: list[Pair] = []
        self._taken: Sides[set[int]] = Sides(set(), set())
        self._paired: Sides[dict[int, int]] = Sides({}, {})  # a record → its partner
        self._skips: Sides[list[Skipped]] = Sides([], [])
        self._ignored: Counter[int] = Counter()
        target, golden = (self._view(side, binding) for side, binding in sides.named)
        self.sides = Sides(target, golden)

    def _view(self, side: Side, binding: Binding) -> Binding:
        """Return a binding without what the map file ignores."""
        view, left_out = without_ignored(binding, side, self.overrides)
        for index, skipped in left_out:
            self._ignored[index] += 1
            self._skips.of(side).append(skipped)
        return view

    @property
    def is_of_outputs(self) -> bool:
        """Whether the golden's data are outputs alone, as another framework gives them."""
        return has_outputs_alone(self.sides.golden)

    def is_free(self, side: Side, record: TensorRecord) -> bool:
        """Whether the place of a record in the ledger is open."""
        return id(record) not in self._taken.of(side)

    def has_free(self, side: Side, runs: Iterable[OperatorRun]) -> bool:
        """Whether nothing has taken a tensor of some operators."""
        return any(self.is_free(side, one) for run in runs for one in run.tensors.values())

    def is_paired(self, side: Side, record: TensorRecord) -> bool:
        """Whether a record has a partner."""
        return id(record) in self._paired.of(side)

    def are_paired(self, target: TensorRecord, golden: TensorRecord) -> bool:
        """Whether two records are partners of each other."""
        return self._paired.target.get(id(target)) == id(golden)

    def add(self, pair: Pair) -> bool:
        """Take a pair, unless one of its records is spoken for already."""
        free = self.is_free("target", pair.target) and self.is_free("golden", pair.golden)
        if free:
            self._taken.target.add(id(pair.target))
            self._taken.golden.add(id(pair.golden))
            self._paired.target[id(pair.target)] = id(pair.golden)
            self._paired.golden[id(pair.golden)] = id(pair.target)
            self._pairs.append(pair)
        return free

    def pair(
        self,
        at: ExecutionPair,
        runs: tuple[OperatorRun, OperatorRun],
        places: tuple[Place, Place],
        rule: str,
        score: float,
    ) -> bool:
        """Pair two tensors of two operators, if both were dumped and are free."""
        run, other = runs
        place, there = places
        record, partner = run.tensors.get(place), other.tensors.get(there)
        if record is None or partner is None:
            return False
        order = at.first + abs(run.op)  # operators of no graph are counted downwards
        return self.add(Pair(record, partner, run, other, *place, rule, score, run.op_name, order))

    def share(
        self,
        at: ExecutionPair,
        run: OperatorRun,
        place: Place,
        given: Given,
        rule: str,
        score: float,
    ) -> bool:
        """Pair a tensor of the target with a golden that other pairs may have as well, if it is free.

        What was fed has no pair of its own: the first that it is shared with is that.
        """
        record, other = run.tensors[place], given.run
        order = at.first + abs(run.op)
        pair = Pair(record, given.record, run, other, *place, rule, score, run.op_name, order)
        if other is None and self.add(pair):
            return True
        if not self.is_free("target", record):
            return False
        self._taken.target.add(id(record))
        self._paired.target[id(record)] = id(given.record)
        self._pairs.append(pair._replace(shared=True))
        return True

    def givers(self) -> dict[int, Given]:
        """The goldens of the target's tensors that have one, by the identity of these."""
        return {
            id(one.target): Given(
                one.golden_run, (one.golden.key.io, one.golden.key.slot), one.golden
            )
            for one in self._pairs
        }

    def skip(self, side: Side, name: str, records: Iterable[TensorRecord], reason: str) -> None:
        """Skip those of some records that nothing has taken."""
        left = [record for record in records if self.is_free(side, record)]
        self._skips.of(side).extend(Skipped(name, reason) for _ in left)
        self._taken.of(side).update(map(id, left))

    def skip_left(self, side: Side, runs: Iterable[OperatorRun], reason: str) -> None:
        """Skip what nothing has taken of some operators."""
        for run in runs:
            self.skip(side, run.op_name, run.tensors.values(), reason)

    def skip_executions(self, side: Side, blocks: Iterable[Execution], reason: str) -> None:
        """Leave executions out of a side."""
        binding, skips = self.sides.of(side), self._skips.of(side)
        left_out = dict.fromkeys(blocks)
        for block in left_out:
            for run in binding.runs.get(block, {}).values():
                skips += [Skipped(run.op_name, reason) for _ in run.tensors]
            skips += [Skipped(name, reason) for name in binding.parameters.get(block, {})]
        view = replace(
            binding,
            runs={b: runs for b, runs in binding.runs.items() if b not in left_out},
            parameters={b: held for b, held in binding.parameters.items() if b not in left_out},
        )
        self.sides = self.sides._replace(**{side: view})

    def pairing(
        self,
        selection: Selection,
        alignments: Mapping[tuple[int, int], Alignment],
        blocks: Mapping[Execution, Execution],
    ) -> Pairing:
        """Return what was decided; whatever no rule has taken is unmatched, or not selected."""
        unmatched = Sides[list[Unmatched]]([], [])
        for side, binding in self.sides.named:
            taken = self._taken.of(side)
            for one in _everything(binding):
                if id(one.record) in taken:
                    continue
                if selection.takes(one.record.key, side):
                    unmatched.of(side).append(one)
                else:
                    self._skips.of(side).append(Skipped(one.op_name, "not-selected"))
            self._skips.of(side).extend((*binding.skipped, *binding.dump.skipped))
        return Pairing(
            *self.sides,
            pairs=tuple(self._pairs),
            unmatched=Sides(tuple(unmatched.target), tuple(unmatched.golden)),
            left_out=skip_table((side, one) for side, some in self._skips.named for one in some),
            notes=tuple(self.notes),
            alignments=MappingProxyType(dict(alignments)),
            overrides=self.overrides,
            ignored=MappingProxyType(dict(self._ignored)),
            blocks=MappingProxyType(dict(blocks)),
            block_order=tuple(blocks),
        )


def _everything(binding: Binding) -> Iterator[Unmatched]:
    """Every tensor of a side, as if it had no partner."""
    for runs in binding.runs.values():
        for run in runs.values():
            for record in run.tensors.values():
                yield Unmatched(record, run, run.op_name)
    for parameters in binding.parameters.values():
        for name, record in parameters.items():
            yield Unmatched(record, None, name)
