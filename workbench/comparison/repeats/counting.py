"""For which operators another run of the target counts: those of which it is known that both runs read the same.

A run on other data differs from the target everywhere, and would excuse everything. So an operator counts only where
each of its inputs is in both runs and equal, or differs as the results of operators that count do. Feeds and weights
have to be equal. What is not known to be equal is taken as other data.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.graphs.roles import LEAVES, state_name, updates
from workbench.comparison.limits import limits
from workbench.core.dtypes import roundoff
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.dump.formats.mindspore_name import sanitize
from workbench.graph.graph import Const, Value
from workbench.graph_files.ge.fields import ITERATOR
from workbench.ops import COLLECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.repeats.measured import Index, Place
    from workbench.core.tensors import Source
    from workbench.graph.graph import Operand

State = Literal["equal", "explained", "unknown", "other"]
"""Of an input: the same in both runs; differs as what counts explains; not in both; differs without a reason."""


class CountFacts(NamedTuple):
    """What decides whether an operator counts: its type, its inputs, and whether its tensors are of the same types."""

    op_type: str
    inputs: tuple[State, ...]
    same_types: bool = True


class CountRule(NamedTuple):
    """Why an operator does not count (the code of the reason), and of which facts."""

    code: str
    applies: Callable[[CountFacts], bool]


MEETING = COLLECTIVES | {"Receive", "Recv", "AllToAllv", "HcomReceive"}
"""Types that give what other ranks have."""

COUNT_RULES: tuple[CountRule, ...] = (
    # before the others: its own inputs say nothing about the data of other ranks
    CountRule("compare/repeat-ranks", lambda facts: facts.op_type in MEETING),
    # before inputs: in another type every value differs, and the reason is the type
    CountRule("compare/repeat-types", lambda facts: not facts.same_types),
    # before what is missing: a difference is certain
    CountRule("compare/repeat-changed", lambda facts: "other" in facts.inputs),
    CountRule(
        "compare/repeat-undumped", lambda facts: "unknown" in facts.inputs or not facts.inputs
    ),
)
"""The first rule that applies says why an operator does not count; one that none applies to counts."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Operators that count, and the codes of why others do not; ``given`` are feeds and weights that differ."""

    places: frozenset[Place]
    why: Mapping[Place, str]
    given: tuple[Measured, ...]
    inputs: frozenset[int] = field(repr=False)
    """Identity of the measured inputs that operators that count explain."""

    def takes(self, item: Measured) -> bool:
        """Whether the difference of a tensor is noise that may excuse something."""
        run, pair = item.pair.golden_run, item.pair
        if run is None:
            return False
        counts = (run.block, run.op) in self.places
        if pair.io == "input" and not item.rewritten:
            return id(item) in self.inputs
        return counts

    def reason(self, item: Measured) -> Message:
        """Why the difference of a tensor does not count."""
        run = item.pair.golden_run
        place = None if run is None else (run.block, run.op)
        return Message(self.why.get(place, "compare/repeat-changed") if place else _NOBODY)


_NOBODY = "compare/repeat-undumped"


def count_operators(binding: Binding, items: Iterable[Measured], index: Index) -> Counted:
    """Find the operators of the target that count; ``index`` has the measured tensors of ``items`` by operator."""
    scene = _Scene(binding, tuple(items), index)
    places = list(scene.places())
    counted: set[Place] = set()
    left: list[Place] = places
    while True:
        before = len(counted)
        for place in left:
            if not _why(scene, place, counted):
                counted.add(place)
        left = [place for place in left if place not in counted]
        if len(counted) == before:
            break
    states = {
        id(item): scene.state(place, slot, scene.operand(place, slot), counted)
        for place, measures in index.items()
        for (io, slot), item in measures.items()
        if io == "input" and not item.divergence.equal
    }
    return Counted(
        frozenset(counted),
        MappingProxyType({place: _why(scene, place, counted) for place in left}),
        tuple(scene.given_otherwise(states)),
        frozenset(number for number, state in states.items() if state == "explained"),
    )


def _why(scene: _Scene, place: Place, counted: set[Place]) -> str:
    """Code of why an operator does not count by what counts so far; empty if it does."""
    facts = CountFacts(
        scene.op_type(place),
        tuple(scene.states(place, counted)),
        all(_same_type(item) for item in scene.index.get(place, {}).values()),
    )
    return count_reason(facts)


def count_reason(facts: CountFacts) -> str:
    """Return the code of why an operator does not count; empty if it does."""
    return next((rule.code for rule in COUNT_RULES if rule.applies(facts)), "")


def _same_type(item: Measured) -> bool:
    return item.pair.target.label.dtype == item.pair.golden.label.dtype


class _Scene:
    """One repeat beside the target: what is known of the inputs of every operator."""

    def __init__(self, binding: Binding, items: tuple[Measured, ...], index: Index) -> None:
        self.binding, self.index, self._items = binding, index, items
        self._stored = self._stored_parameters()
        self._writers = self._writers_of()
        self._read = self._read_parameters()

    def places(self) -> Iterator[Place]:
        """All operators of graphs that were executed, and those that only files tell of, in order."""
        for block, runs in self.binding.runs.items():
            graph = self.binding.graph(block)
            for number in range(len(graph.ops) if graph is not None else 0):
                yield block, number
            yield from ((block, number) for number in runs if graph is None or number < 0)

    def op_type(self, place: Place) -> str:
        graph = self.binding.graph(place[0])
        if graph is not None and place[1] >= 0:
            return graph.ops[place[1]].op_type
        return self.binding.runs[place[0]][place[1]].op_type

    def operand(self, place: Place, slot: int) -> Operand | None:
        """What the graph says that an operator reads; `None` without a graph."""
        graph = self.binding.graph(place[0])
        if graph is None or place[1] < 0:
            return None
        return dict(enumerate(graph.ops[place[1]].flat_inputs())).get(slot)

    def states(self, place: Place, counted: set[Place]) -> Iterator[State]:
        """States of all inputs of an operator; of one without a graph of those that were dumped."""
        graph = self.binding.graph(place[0])
        if graph is None or place[1] < 0:
            slots = [slot for io, slot in self.index.get(place, {}) if io == "input"]
            yield from (self.state(place, slot, None, counted) for slot in slots)
            return
        for slot, operand in enumerate(graph.ops[place[1]].flat_inputs()):
            yield self.state(place, slot, operand, counted)

    def state(self, place: Place, slot: int, operand: Operand | None, counted: set[Place]) -> State:
        """State of one input, by its own file or, without one, by that of its producer."""
        item = self.index.get(place, {}).get(("input", slot))
        if item is None or item.rewritten:
            return self._unseen(place, operand, counted)
        if item.divergence.equal:
            return "equal"
        return "explained" if self._explains(place, item, operand, counted) else "other"

    def _explains(
        self, place: Place, item: Measured, operand: Operand | None, counted: set[Place]
    ) -> bool:
        """Whether what counts explains how an input differs."""
        graph, block = self.binding.graph(place[0]), place[0]
        name = "" if graph is None else state_name(graph, operand)
        if not name and isinstance(operand, Value):
            written = self.index.get((block, operand.op), {}).get(("output", operand.slot))
            if (block, operand.op) in counted and (written is None or _within(item, written)):
                return True
        elif name and any(writer in counted for writer in self._before(place, name)):
            return True
        return any(other in counted for other in self._same_values(item) if other != place)

    def _unseen(self, place: Place, operand: Operand | None, counted: set[Place]) -> State:
        """State of an input that was not dumped as one."""
        graph, block = self.binding.graph(place[0]), place[0]
        if graph is None or operand is None:
            return "unknown"
        if isinstance(operand, Const):
            return "equal"
        name = state_name(graph, operand)
        if name:
            return self._of_parameter(place, name, counted)
        if not isinstance(operand, Value):
            return "unknown"
        written = self.index.get((block, operand.op), {}).get(("output", operand.slot))
        if written is not None and written.divergence.equal:
            return "equal"
        if (block, operand.op) in counted:
            return "explained"
        return "unknown" if written is None else "other"

    def _of_parameter(self, place: Place, name: str, counted: set[Place]) -> State:
        """State of a parameter by the files of its other readers, or by its own file."""
        seen = self._read.get((place[0], name), ())
        updated = (place[0].graph_key, name) in self._writers
        equal = [item.divergence.equal for item in seen]
        if not updated:
            equal += self._stored.get((place[0], sanitize(name)), ())
        if equal and (all(equal) or (updated and any(equal))):
            return "equal"
        if any(writer in counted for writer in self._before(place, name)):
            return "explained"
        return "other" if equal else "unknown"

    def _before(self, place: Place, name: str) -> Iterator[Place]:
        """Operators that wrote a parameter before: in this step, or in the one before it."""
        block = place[0]
        for other in self.binding.runs:
            near = other.rank == block.rank and block.iteration - other.iteration in (0, 1)
            for number in self._writers.get((other.graph_key, name), ()) if near else ():
                if (other, number) != place:
                    yield other, number

    def given_otherwise(self, states: Mapping[int, State]) -> Iterator[Measured]:
        """Feeds and weights that differ, and that nothing explains."""
        for place, measures in self.index.items():
            graph = self.binding.graph(place[0])
            if graph is None or place[1] < 0:
                continue
            if self.op_type(place) in _GIVING:
                yield from (item for item in measures.values() if not item.divergence.equal)
            for slot, operand in enumerate(graph.ops[place[1]].flat_inputs()):
                item, name = measures.get(("input", slot)), state_name(graph, operand)
                if item is None or item.rewritten or states.get(id(item)) != "other":
                    continue
                fixed = name and (place[0].graph_key, name) not in self._writers
                if fixed or isinstance(operand, Const):
                    yield item

    def _same_values(self, item: Measured) -> Iterable[Place]:
        """Operators whose results had the bytes of an input, in both runs."""
        key = _bytes_of(item) if self._by_bytes else None
        return self._by_bytes.get(key, ()) if key is not None else ()

    @cached_property
    def _by_bytes(self) -> Mapping[tuple[bytes, bytes], Sequence[Place]]:
        """Operators by the bytes of their results in both runs; read where an input differs without a reason."""
        found: dict[tuple[bytes, bytes], list[Place]] = defaultdict(list)
        for place, measures in self.index.items():
            for (io, _), one in measures.items():
                key = _bytes_of(one) if io == "output" and not one.divergence.equal else None
                if key is not None:
                    found[key].append(place)
        return found

    def _writers_of(self) -> dict[tuple[tuple[int, int], str], list[int]]:
        found: dict[tuple[tuple[int, int], str], list[int]] = defaultdict(list)
        for key, graph in self.binding.graphs.items():
            for number, op in enumerate(graph.ops):
                for _, name in updates(graph, op):
                    found[key, name].append(number)
        return dict(found)

    def _read_parameters(self) -> dict[tuple[Execution, str], list[Measured]]:
        """Measured inputs of every parameter, and outputs of operators that stand for one."""
        found: dict[tuple[Execution, str], list[Measured]] = defaultdict(list)
        for (block, number), measures in self.index.items():
            graph = self.binding.graph(block)
            if graph is None or number < 0:
                continue
            op = graph.ops[number]
            for slot, operand in enumerate(op.flat_inputs()):
                item, name = measures.get(("input", slot)), state_name(graph, operand)
                if name and item is not None and not item.rewritten:
                    found[block, name].append(item)
            if op.op_type in LEAVES and ("output", 0) in measures:
                found[block, op.name].append(measures["output", 0])
        return dict(found)

    def _stored_parameters(self) -> dict[tuple[Execution, str], list[bool]]:
        """Whether Parameter files of a step are equal, by the names of files; they hold the values at its end."""
        known = {id(item.pair.golden): item.divergence.equal for item in self._items}
        by_key = {item.pair.golden.key: item.divergence.equal for item in self._items}
        found: dict[tuple[Execution, str], list[bool]] = defaultdict(list)
        for block, some in self.binding.parameters.items():
            for name, record in some.items():
                equal = known.get(id(record), by_key.get(record.key))
                if equal is not None:
                    found[block, sanitize(name)].append(equal)
        return dict(found)


_GIVING = LEAVES | {ITERATOR, "GetNext"}
"""Types that compute nothing: what they give is data."""


def _within(item: Measured, written: Measured) -> bool:
    """Whether an input differs by no more than its producer's result, and rounding where it is stored otherwise."""
    if written.divergence.equal:
        return False
    coarser = item.pair.golden.label.dtype != written.pair.golden.label.dtype
    rounding = roundoff(item.pair.golden.label.dtype) if coarser else 0.0
    most = written.error + limits().pass_factor * rounding
    return item.error <= most or math.isclose(item.error, most)  # sums in another layout


def _bytes_of(item: Measured) -> tuple[bytes, bytes] | None:
    """Digests of a tensor in the target and in the other run; `None` where nothing can be read."""
    ours, theirs = item.pair.golden.source, item.pair.target.source
    if ours is None or theirs is None:
        return None
    try:
        return _digest(ours), _digest(theirs)
    except FormatError:
        return None


def _digest(source: Source) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(source.array()).tobytes()).digest()
