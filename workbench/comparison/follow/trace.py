"""What the walk begins with, and what it returns: frozen values."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from workbench._values import dataclass
from workbench.comparison.bind.binding import Timeline
from workbench.comparison.follow.overflow import both_overflow
from workbench.comparison.follow.ranks import ranks_of_one_job
from workbench.comparison.follow.state import INHERITS, VERSION_MATTER
from workbench.comparison.graphs.roles import updated_names
from workbench.comparison.limits import limits
from workbench.comparison.pair.parameters import updated_by_one
from workbench.core.tensors import by_slot
from workbench.dump.formats.mindspore_name import sanitize
from workbench.graph.graph import Value
from workbench.ops import MOVEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.follow.facts import Observation
    from workbench.comparison.follow.operators import Conclusion
    from workbench.comparison.follow.state import Assessment, ValueState
    from workbench.comparison.map_file import Tolerance
    from workbench.comparison.measure.measure import Measured
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.replay.own_error import OwnError
    from workbench.comparison.replay.replay import Replay
    from workbench.comparison.trust import Trust
    from workbench.core.tensors import Slot
    from workbench.core.words import Message

    Place = tuple[Execution, int]
    """One execution of one operator."""
    Key = tuple[int, str]
    """Rank and name of a parameter."""
    Measures = Mapping[Slot, Measured]
    """What was measured of an operator, by direction and slot."""

_Outer = TypeVar("_Outer")
_Inner = TypeVar("_Inner")
_Held = TypeVar("_Held")


@dataclass(frozen=True)
class Survey:
    """What is known of both dumps before the first operator is judged.

    ``npu``: one of the runs was on an NPU, whose cube rounds its inputs whatever the graph says. ``job`` are the
    ranks of target and golden if they are two of one job. In ``overflowing`` executions both sides raise their
    flag of an overflow. ``updated`` are the parameters that any operator updates, ``updated_by_one`` those that one
    run alone does, and how. ``files`` are the measured Parameter files of every execution, by the names in them.
    In ``quantized`` executions the target's files show int8, and the golden's do not.
    """

    pairing: Pairing
    index: Mapping[Place, Measures]
    npu: bool
    replayed: Replay | None
    two_versions: bool
    job: tuple[int, int] | None
    overflowing: frozenset[Execution]
    updated: Set[str]
    updated_by_one: Mapping[Key, Message]
    files: Mapping[Execution, Mapping[str, Measured]]
    quantized: frozenset[Execution]

    def __reduce__(self) -> tuple[Callable[..., Survey], tuple[Any, ...]]:
        """Travel without what is worked out when it is asked for."""
        values = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "index"}
        return _arrived, (type(self), self.measured, values)

    @property
    def measured(self) -> list[Measured]:
        """All that was measured of operators, one operator after the other."""
        return [item for some in self.index.values() for item in some.values()]

    def parameter(self, block: Execution, name: str) -> Measured | None:
        """What the Parameter file of a parameter that nothing updates shows: what every operator reads of it.

        A file holds what is left at the end of a step, so that of an updated one says nothing of what was read.
        """
        if name in self.updated:
            return None
        files = self.files.get(block, {})
        return files.get(name) or files.get(sanitize(name))

    def measured_input(self, block: Execution, number: int, slot: int) -> Measured | None:
        """What was measured of an operator's input, as it was dumped there, else as its producer gave it."""
        own = self.index.get((block, number), {}).get(("input", slot))
        graph = self.pairing.target.graphs.get(block.graph_key)
        if own is not None or graph is None or number < 0:
            return own
        operand = graph.ops[number].operand(slot)
        if not isinstance(operand, Value):
            return None
        return self.index.get((block, operand.op), {}).get(("output", operand.slot))

    def trust(self, block: Execution) -> Trust:
        """What a statement about an execution rests on."""
        return self.pairing.trust(block)

    def own_error(self, block: Execution, number: int) -> OwnError | None:
        """Own error of an operator, if it was replayed."""
        return None if self.replayed is None else self.replayed.own_errors.get((block, number))

    def is_updated(self, file_name: str) -> bool:
        """Whether any operator updates a parameter, by the name its file carries."""
        return file_name in self._updated_files

    @cached_property
    def _updated_files(self) -> Set[str]:
        return {one for name in self.updated for one in (name, sanitize(name))}

    @cached_property
    def golden_order(self) -> Mapping[Execution, Timeline]:
        """What the golden ran in the order of time, but for what only moves data, by execution."""
        return {
            block: Timeline(run for run in runs.values() if run.op_type not in MOVEMENT)
            for block, runs in self.pairing.golden.runs.items()
        }

    @cached_property
    def golden_partners(self) -> Mapping[Execution, Set[int]]:
        """Identities of the golden's runs that were compared with those of an execution of the target."""
        found: dict[Execution, set[int]] = {}
        for (block, _), items in self.index.items():
            found.setdefault(block, set()).update(id(m.pair.golden_run) for m in items.values())
        return found

    def measured_floats(self, block: Execution) -> Sequence[tuple[int, Measured]]:
        """Outputs of an execution that show a store in fewer bits, with their operators: floats that differ, large."""
        return self._floats.get(block, ())

    @cached_property
    def _floats(self) -> Mapping[Execution, Sequence[tuple[int, Measured]]]:
        found: dict[Execution, list[tuple[int, Measured]]] = {}
        least = limits().ambient_elements
        for block, runs in self.pairing.target.runs.items():
            items = (
                (op, io, m) for op in runs for (io, _), m in self.index.get((block, op), {}).items()
            )
            found[block] = [
                (op, m) for op, io, m in items
                if io == "output" and m.usable and not m.exact and m.error > 0 and m.divergence.size >= least
            ]  # fmt: skip
        return found


def survey(
    pairing: Pairing, measured: Iterable[Measured], *, npu: bool, replayed: Replay | None = None
) -> Survey:
    """Look at both dumps as a whole; ``replayed`` are own errors of the target's operators."""
    measured = [*measured]
    index = _by_place(measured)
    of_files = {id(one.pair.target): one for one in measured if one.pair.run is None}
    versions = {b.dump.info.get("ms_version") for b in (pairing.target, pairing.golden)}
    graphs = pairing.target.graphs.values()
    updated = frozenset(name for graph in graphs for name in updated_names(graph))
    return Survey(
        pairing, index, npu, replayed, len(versions) > 1, ranks_of_one_job(pairing),
        frozenset(both_overflow(pairing)), updated, MappingProxyType(updated_by_one(pairing)),
        read_only(_files_by_execution(pairing, of_files)), frozenset(_quantized(pairing)),
    )  # fmt: skip


def _arrived(kind: type[Survey], measured: Sequence[Measured], values: dict[str, Any]) -> Survey:
    return kind(index=_by_place(measured), **values)


def _by_place(measured: Iterable[Measured]) -> Mapping[Place, Measures]:
    """Return what was measured of operators by execution and operator."""
    found: dict[Place, dict[Slot, Measured]] = {}
    for item in measured:
        run = item.pair.run
        if run is not None:
            found.setdefault((run.block, run.op), {})[item.pair.io, item.pair.slot] = item
    return MappingProxyType(dict(zip(found, by_slot(found.values()), strict=True)))


def _quantized(pairing: Pairing) -> Iterator[Execution]:
    for block in pairing.target.runs:
        other = pairing.blocks.get(block)
        if pairing.target.in_int8(block) and not (other and pairing.golden.in_int8(other)):
            yield block


def _files_by_execution(
    pairing: Pairing, measured: Mapping[int, Measured]
) -> dict[Execution, dict[str, Measured]]:
    """Measured Parameter files by execution and name; ``measured`` by the identity of the target's record."""
    found: dict[Execution, dict[str, Measured]] = {}
    for block, records in pairing.target.parameters.items() if measured else ():
        for name, record in records.items():
            item = measured.get(id(record))
            if item is not None and item.usable:
                found.setdefault(block, {})[name] = item
    return found


def read_only(
    held: Mapping[_Outer, Mapping[_Inner, _Held]],
) -> Mapping[_Outer, Mapping[_Inner, _Held]]:
    """Return views of mappings in a mapping that nobody can change."""
    return MappingProxyType({key: MappingProxyType(some) for key, some in held.items()})


@dataclass(frozen=True)
class Trace(Survey):
    """What the walk found: the survey, every operator's assessment, and what its inputs carry.

    ``events`` are the assessments in the order of the walk, by execution and operator, ``origins`` those where errors
    begin, ``initial_differences`` the updated parameters that differ when the first compared iteration begins.
    ``rank_local_feeds`` and ``rank_local_params`` are what differs by design between two ranks of a job: feeds by
    name, and (rank, name) of what their batches update. ``tainted_params`` were updated by wrong operators,
    ``coarsest`` is the coarsest roundoff of every graph, ``values`` are the states of what operators gave, and
    ``grounds`` is what executions without a graph were judged on.
    """

    events: Mapping[Place, Assessment]
    origins: Sequence[Assessment]
    initial_differences: Sequence[Assessment]
    input_states: Mapping[Place, Mapping[int, ValueState]]
    values: Mapping[Execution, Mapping[Value, ValueState]]
    walked: Sequence[Execution]
    rank_local_feeds: Mapping[str, None]
    rank_local_params: Set[Key]
    tainted_params: Set[Key]
    coarsest: Mapping[tuple[int, int], float]
    grounds: Mapping[Execution, Trust]

    def trust(self, block: Execution) -> Trust:
        """What a statement about an execution rests on: edges that the walk inferred, too."""
        return self.grounds.get(block) or super().trust(block)

    @property
    def downstream_differences(self) -> tuple[Assessment, ...]:
        """Operators whose settings differ but whose inputs were wrong already."""
        return tuple(
            one
            for one in self.events.values()
            if one.conclusion == INHERITS and one.differences and not one.masked
        )

    @property
    def version_matters(self) -> tuple[Assessment, ...]:
        """What two versions of the framework are known to do differently."""
        return tuple(one for one in self.events.values() if one.conclusion == VERSION_MATTER)

    @property
    def undecided(self) -> tuple[Assessment, ...]:
        """Operators whose errors may be noise or not, for all that is known."""
        return tuple(one for one in self.events.values() if one.undecided)

    @property
    def tolerated(self) -> tuple[tuple[Assessment, Tolerance], ...]:
        """What the map file tolerates."""
        found = ((one, one.tolerated) for one in self.events.values())
        return tuple((one, tolerance) for one, tolerance in found if tolerance is not None)

    def is_rank_local(self, rank: int, file_name: str) -> bool:
        """Whether batches of a rank update a parameter, by the name its file carries."""
        return (rank, file_name) in self._rank_local_files

    def is_tainted(self, rank: int, file_name: str) -> bool:
        """Whether a parameter, by the name its file carries, was updated by a wrong operator."""
        return (rank, file_name) in self._tainted_files

    @cached_property
    def _rank_local_files(self) -> Set[Key]:
        return _named(self.rank_local_params)

    @cached_property
    def _tainted_files(self) -> Set[Key]:
        return _named(self.tainted_params)


def _named(params: Set[Key]) -> Set[Key]:
    """Parameters by all names that their files may carry."""
    return {(rank, one) for rank, name in params for one in (name, sanitize(name))}


def excused(
    known: Survey, seen: Observation | Assessment, concluded: Conclusion
) -> Tolerance | None:
    """Return what of the map file tolerates an origin: its error then counts as known.

    Asked are the operator to name and the one whose output shows it.
    """
    overrides = known.pairing.overrides
    measured = seen.worst if seen.worst is not None else seen.replayed
    if concluded.kind != "origin" or not overrides.tolerances or measured is None:
        return None
    if not math.isfinite(measured.error):
        return None
    names = []
    graph = known.pairing.target.graph(seen.block)
    if graph is not None and concluded.op >= 0:
        op = graph.ops[concluded.op]
        names.append((op.name, op.op_type))
    run = known.pairing.target.runs[seen.block].get(seen.op)
    if run is not None:
        names.append((run.op_name, run.op_type))
    asked = (overrides.tolerated(*named, measured.error) for named in names)
    return next((tolerance for tolerance in asked if tolerance is not None), None)
