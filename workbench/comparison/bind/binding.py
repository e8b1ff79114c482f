"""The values of binding: executions of graphs and operators, and a dump whose files are bound."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from workbench._values import NamedTuple, dataclass
from workbench.comparison.graphs.quantization import names_quantization
from workbench.graph.source_lines import user_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from workbench.comparison.trust import Ground, Trust
    from workbench.core.tensors import Slot, TensorRecord
    from workbench.dump.dump import Dump, Note, Skipped
    from workbench.graph.graph import Graph, Op, SourceFrame


_Key = TypeVar("_Key")
_Held = TypeVar("_Held")


class Execution(NamedTuple):
    """One execution of one graph: the tensors that belong to one pass over its operators."""

    rank: int
    net_name: str
    graph_id: int
    iteration: int
    turn: int

    @property
    def graph_key(self) -> tuple[int, int]:
        """Rank and graph id: which graph was executed."""
        return self.rank, self.graph_id


class OperatorRun(NamedTuple):
    """One execution of one operator: its tensors by ``(io, slot)``.

    ``op`` is the operator's number in its graph, -1 where no graph knows it.
    """

    block: Execution
    op: int
    op_type: str
    op_name: str
    tensors: Mapping[Slot, TensorRecord] = MappingProxyType({})

    @property
    def time(self) -> int:
        """When the operator finished, by its last file (µs)."""
        return max([record.timestamp_us for record in self.tensors.values()], default=0)

    @property
    def in_int8(self) -> bool:
        """Whether its files show that it works on int8: a kernel that quantizes, ends that, or has int8 tensors."""
        if names_quantization(self.op_type, self.op_name):
            return True
        return any(record.label.dtype == "int8" for record in self.tensors.values())


class Timeline:
    """Runs of operators in the order of time, for whoever asks again and again what comes next."""

    def __init__(self, runs: Iterable[OperatorRun]) -> None:
        timed = sorted(((run.time, run) for run in runs), key=lambda one: one[0])
        self._times = [time for time, _ in timed]
        self._runs = [run for _, run in timed]

    def next_after(self, time: int) -> OperatorRun | None:
        """Return the first run that finished after a time (µs), of several at once the one given first."""
        place = bisect_right(self._times, time)
        return self._runs[place] if place < len(self._runs) else None


@dataclass(frozen=True, slots=True)
class Binding:
    """A dump whose files are bound; complete when `bind` returns.

    ``runs`` holds every execution of every operator, by block and then by operator number (files of
    unknown operators under negative numbers), ``parameters`` the Parameter files by name.
    ``oddities`` maps a record (by identity) to all that is wrong with it, in the order of `ANOMALY_RULES`.
    ``borrowed`` are the keys of graphs that are the other side's, lent for want of an own one that fits.
    ``records`` are all of the dump's: as long as they are held, its records are the same objects for everybody.
    """

    dump: Dump
    graphs: Mapping[tuple[int, int], Graph]
    runs: Mapping[Execution, Mapping[int, OperatorRun]] = field(default_factory=dict)
    parameters: Mapping[Execution, Mapping[str, TensorRecord]] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[Note, ...] = ()
    oddities: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    borrowed: frozenset[tuple[int, int]] = frozenset()
    records: Sequence[TensorRecord] = ()

    def __post_init__(self) -> None:
        runs = {block: _read_only(some) for block, some in self.runs.items()}
        parameters = {block: _read_only(some) for block, some in self.parameters.items()}
        object.__setattr__(self, "graphs", _read_only(self.graphs))
        object.__setattr__(self, "runs", _read_only(runs))
        object.__setattr__(self, "parameters", _read_only(parameters))
        object.__setattr__(self, "oddities", _read_only(self.oddities))

    def __reduce__(self) -> tuple[Callable[..., Binding], tuple[Any, ...]]:
        """Travel with what is wrong beside the records themselves, whose identities do not last."""
        odd, known = [], {id(one): one for one in self._known()} if self.oddities else {}
        for number, kinds in self.oddities.items():
            odd += [(known[number], kinds)] if number in known else []
        values = [getattr(self, one.name) for one in fields(self) if one.name != "oddities"]
        return _bound, (values, odd)

    def _known(self) -> Iterator[TensorRecord]:
        """All records that it knows."""
        yield from self.records
        for some in self.runs.values():
            for run in some.values():
                yield from run.tensors.values()
        for named in self.parameters.values():
            yield from named.values()

    def in_int8(self, block: Execution) -> bool:
        """Whether files show that some kernel of an execution works on int8."""
        return any(run.in_int8 for run in self.runs.get(block, {}).values())

    @property
    def on_cpu(self) -> bool:
        """Whether MindSpore's CPU kernels wrote the dump."""
        return _device(self.dump) == "cpu"

    def graph(self, block: Execution) -> Graph | None:
        """Graph of a block."""
        return self.graphs.get(block.graph_key)

    def ground(self, block: Execution) -> Ground:
        """Whose graph an execution has."""
        if block.graph_key not in self.graphs:
            return "none"
        return "borrowed" if block.graph_key in self.borrowed else "own"

    def trust(self, block: Execution) -> Trust:
        """What can be rested on in an execution: its graph, and what says which operator comes first."""
        ground = self.ground(block)
        from workbench.comparison.trust import Trust, order_of_times

        if ground != "none":
            return Trust(ground, "dataflow")
        times = (run.time for run in self.runs.get(block, {}).values())
        return Trust("none", order_of_times(times))

    def operator(self, run: OperatorRun) -> Op | None:
        """Operator of a run."""
        graph = self.graph(run.block)
        return graph.ops[run.op] if graph is not None and run.op >= 0 else None

    def frames(self, run: OperatorRun | None) -> tuple[SourceFrame, ...]:
        """Source lines of a run, the one to show first; none of a borrowed graph, whose lines are another program's."""
        if run is None or run.op < 0 or run.block.graph_key in self.borrowed:
            return ()
        graph = self.graph(run.block)
        return user_frames(graph, run.op) if graph is not None else ()


def _bound(values: Sequence[Any], odd: Iterable[tuple[TensorRecord, tuple[str, ...]]]) -> Binding:
    names = [one.name for one in fields(Binding) if one.name != "oddities"]
    oddities = {id(record): kinds for record, kinds in odd}
    return Binding(**dict(zip(names, values, strict=True)), oddities=oddities)


def _read_only(held: Mapping[_Key, _Held]) -> Mapping[_Key, _Held]:
    """Return a view that cannot be changed, of what may still grow where it is made."""
    return held if isinstance(held, MappingProxyType) else MappingProxyType(held)


def is_npu(dump: Dump) -> bool:
    """Whether an Ascend device (or one that behaves like it) wrote the dump."""
    return _device(dump) == "ascend"


def _device(dump: Dump) -> str:
    return dump.info.get("device_target", dump.info.get("writer", "")).lower()
