"""What a dump will write, known before the run: every file with its bytes.

`foretell` hands the writer of a surface (`workbench.dump.write.trees`) records that have no data and adds its files
up. Promise (`tests/dump/write/test_forecast.py`, `tests/forecast/test_preview.py`): names, folders and bytes equal
those that `workbench.simulation.simulate` writes with the same seed. Only the bytes of tables of statistics depend on
values; they are an upper bound, their rows are exact. Graphs of the graph engine itself state what runs on a device
and how it lies there, but nothing simulates them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.tensors import TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.releases import NUMBERED_ANEW, release
from workbench.dump.selection import (
    Choice,
    changed_names,
    graphs_of_files,
    kernel_type,
    numbered_anew,
)
from workbench.dump.watched import watch_of
from workbench.dump.write.figures import stored_bytes
from workbench.dump.write.mindspore import CONTROL, CONTROL_FLOW
from workbench.dump.write.plan_files import TensorOutcome
from workbench.dump.write.session import models_of
from workbench.dump.write.targets import Clock
from workbench.dump.write.trees import FILES_OF
from workbench.graph_files.mindspore.silent_tensors import handed_over
from workbench.run.executor import operator_key
from workbench.run.outline import UNKNOWN, Outlined, outline

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import Io
    from workbench.dump.write.ge import Model
    from workbench.dump.write.plan_files import NewFile
    from workbench.dump.write.targets import Target
    from workbench.graph.graph import Graph, Op

MAX_TENSORS = 500_000
"""Tensors that are listed one by one; iterations beyond are counted like the last one listed."""


class FileEntry(NamedTuple):
    """A file that will be written: path below the dump's folder, bytes, iteration.

    ``size`` is ``None`` if a shape is unknown.
    """

    path: str
    size: int | None
    iteration: int | None = None
    is_upper_bound: bool = False


@dataclass(frozen=True)
class Forecast:
    """What a dump will write.

    Attributes
    ----------
    files : tuple of FileEntry
        In the order of writing.
    tensors : mapping of operator name to int
        How many tensors of each operator are dumped in all listed iterations; those of parameters
        are under the parameter's name.
    rows : int
        Rows of all statistic.csv.
    moved : int
        Bytes of tensors that an iteration copies from the device, whatever is written of them.
    without_dump : mapping of operator name to Message
        Operators that were asked for and write nothing, with the reason.
    unlisted_iterations : int
        Iterations beyond those listed, each like the last one listed.
    uncertain : tuple of Message
        Why names or bytes are not exact; empty if they are.
    """

    files: tuple[FileEntry, ...] = ()
    tensors: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0
    moved: int = 0
    without_dump: Mapping[str, Message | str] = field(default_factory=dict)
    unlisted_iterations: int = 0
    uncertain: tuple[Message, ...] = ()


def forecast(files: Iterable[NewFile | TensorOutcome]) -> Forecast:
    """Add up what a writer yields; nothing is written, and every file counts once."""
    entries: dict[str, FileEntry] = {}
    tensors, refused = Counter[str](), dict[str, Message | str]()
    rows = moved = 0
    for one in files:
        if isinstance(one, TensorOutcome):
            moved += one.nbytes
            if one.wanted and one.refused is not None:
                refused[one.key.op_name] = one.refused
            elif one.wanted:
                tensors[one.key.op_name] += 1
        else:
            rows += one.rows
            entries[one.path] = FileEntry(one.path, one.size, one.iteration, not one.exact)
    without = {name: why for name, why in refused.items() if name not in tensors}
    return Forecast(tuple(entries.values()), dict(tensors), rows, moved, without)


def foretell(
    graphs: Sequence[Graph],
    plan: DumpPlan,
    iterations: Sequence[int],
    target: Target,
    clock: Clock | None = None,
    running: Sequence[Collection[int]] | None = None,
) -> Forecast:
    """Return what a target writes; of kind ``exception`` if nothing fails.

    Parameters
    ----------
    graphs : sequence of Graph
        All graphs of the run, the root graph first. The graph engine runs one for each network, best the graph that
        runs (``ge_proto_*_Build.txt``); any other differs in names and fusions.
    iterations : sequence of int
        The iterations that run and dump (`workbench.dump.selection.dumped_iterations`). A number may come twice
        where several networks run.
    running : sequence of collections of int, optional
        Ids of the graphs that run in each of these iterations; all if left out.
    clock : Clock, optional
        As the writer's, for the same names.

    Raises
    ------
    FormatError
        A name cannot be a file name, or an entry of the operator list is no regular expression.
    """
    clock = clock or Clock()
    models: Sequence[Model] = ()
    stated = [one for graph in graphs for one in _records(graph, target)]
    if not target.writer.by_mindspore:
        _, models, _ = models_of(plan, graphs, target, clock)
        stated = list(_watched(stated, watch_of(plan, graphs[0])))
    listed = max(1, MAX_TENSORS // max(len(stated), 1))
    runs = chain.from_iterable(
        _at(stated, number, running[place] if running is not None else None)
        for place, number in enumerate(iterations[:listed])
    )
    found = forecast(
        FILES_OF[target.writer.program](runs, plan, graphs, target, clock, foretold=True)
    )
    more = max(0, len(iterations) - listed)
    if not models:
        named = graphs_of_files(graphs, target.version)
        without = {**found.without_dump, **dict(_control_flow(named, Choice(plan, named)))}
    else:
        without = dict(chain.from_iterable(_without_dump(model, stated) for model in models))
    return replace(
        found,
        moved=found.moved // max(1, len(iterations) - more),
        without_dump=without,
        unlisted_iterations=more,
        uncertain=(
            *(() if models else _numbers(graphs, target)),
            *_uncertain(found.files, graphs, models[0] if models else None),
            *_beyond(more, listed),
        ),
    )


def _control_flow(graphs: Sequence[Graph], choice: Choice) -> Iterator[tuple[str, Message]]:
    """Chosen nodes of MindSpore graphs that no kernel computes."""
    for graph in graphs:
        for block in (graph, *graph.subgraphs):
            for op in block.ops:
                if op.op_type in CONTROL_FLOW and choice.selects(op.name, kernel_type(op.name)):
                    yield op.name or op.op_type, CONTROL


def _uncertain(
    files: Sequence[FileEntry], graphs: Sequence[Graph], model: Model | None
) -> Iterator[Message]:
    """Why names or bytes are not exact."""
    if model is not None and model.graph.dialect == "ge":
        yield Message("dump/names-of-device")
    if any(entry.is_upper_bound for entry in files):
        yield Message("dump/size-bound")
    if model is not None and model.graph.dialect == "ge" and model.feeders:
        yield Message("dump/fed", operators=sorted(model.feeders))
    yield from _branches(graphs)
    yield from _shapeless(files)


def _numbers(graphs: Sequence[Graph], target: Target) -> Iterator[Message]:
    """Doubt about the numbers of operators in file names, where graphs of MindSpore's own have others."""
    if not any(graph.path for graph in graphs):
        return
    first, last = NUMBERED_ANEW
    seen = target.platform == "CPU" and first <= release(target.version) <= last
    if any(graph.dialect.startswith("pb") for graph in graphs):
        yield Message("dump/from-pb")
    anew = changed_names(graphs, numbered_anew(graphs))
    if anew and not seen:
        (_, own), name = next(iter(anew.items()))
        yield Message("dump/numbers", count=len(anew), own=own, name=name)
    if target.platform == "CPU":
        gone = sorted({slot.op_name for graph in graphs for slot in handed_over(graph)})
        if gone:
            yield Message("dump/handed-over", operators=gone)
    ids = [graph.graph_id for graph in graphs]
    if seen and sorted(ids) != list(range(len(ids))):
        yield Message("dump/numbers-before", got=sorted(ids))


def _branches(graphs: Sequence[Graph]) -> Iterator[Message]:
    """Doubt about graphs with control flow, and about operators that a flag leaves out."""
    if any(graph.subgraphs or graph.inner for graph in graphs):
        yield Message("dump/branches")
    flags = sorted({op.unless for graph in graphs for op in graph.ops if op.unless})
    if flags:
        yield Message("dump/flags", flags=flags)


def _shapeless(files: Iterable[FileEntry]) -> Iterator[Message]:
    """Doubt about tensors whose shape no graph tells."""
    unknown = sum(entry.size is None for entry in files)
    if unknown:
        yield Message("dump/shapeless", files=unknown)


def _beyond(more: int, listed: int) -> Iterator[Message]:
    """Doubt about iterations that are not listed one by one."""
    if more:
        yield Message("dump/beyond", listed=listed, more=more)


def _at(
    records: Sequence[TensorRecord], iteration: int, graphs: Collection[int] | None
) -> Iterator[TensorRecord]:
    for record in records:
        if graphs is None or record.key.graph_id in graphs:
            yield replace(record, key=record.key._replace(iteration=iteration))


def _watched(
    records: Sequence[TensorRecord], watch: Mapping[str, Sequence[str]]
) -> Iterator[TensorRecord]:
    """Yield records, and those of the outputs that are looked at again after each operator."""
    outputs: dict[str, list[TensorRecord]] = {}
    for record in records if watch else ():
        if record.key.io == "output":
            outputs.setdefault(record.key.op_name, []).append(record)
    for name, group in groupby(records, key=lambda record: record.key.op_name):
        yield from group
        for watched in watch.get(name, ()):
            yield from (replace(record, after=name) for record in outputs.get(watched, ()))


def _records(graph: Graph, target: Target) -> Iterator[TensorRecord]:
    """Records of one iteration that a kernel can leave."""
    if graph.dialect == "ge":
        for block in (graph, *graph.subgraphs):
            for op in block.ops:
                yield from _on_device(graph, op)
        return
    rank = target.rank if target.writer.by_mindspore else 0
    for record in outline(graph):
        if record.key.op_type not in CONTROL_FLOW:
            yield replace(record, key=record.key._replace(rank=rank))


def _on_device(graph: Graph, op: Op) -> Iterator[TensorRecord]:
    """Tensors of an operator of GE, which its graph describes as they lie on the device."""
    if not op.device_inputs and not op.device_outputs:  # a file of edges alone
        for slot in range(len(op.inputs)):
            yield _record(graph, op, "input", slot, UNKNOWN, UNKNOWN)
        yield _record(graph, op, "output", 0, UNKNOWN, UNKNOWN)
    sides: tuple[tuple[Io, Sequence[TensorSpec], Sequence[TensorSpec | None]], ...] = (
        ("input", op.device_inputs, op.input_specs),
        ("output", op.device_outputs, op.outputs),
    )
    for io, there, here in sides:
        for slot, spec in enumerate(there):
            host = here[slot] if slot < len(here) else None
            if spec.dtype:
                yield _record(graph, op, io, slot, spec, host or spec)


def _record(
    graph: Graph, op: Op, io: Io, slot: int, there: TensorSpec, here: TensorSpec
) -> TensorRecord:
    shape = there.shape if here.shape is None else here.shape
    source = Outlined(TensorSpec(there.dtype, shape))
    return TensorRecord(operator_key(graph, op, io, slot, 0), there, source)


def _without_dump(
    model: Model, records: Sequence[TensorRecord]
) -> Iterator[tuple[str, Message | str]]:
    """Operators that were chosen and leave no dump, with the reason."""
    found: dict[str, list[TensorRecord]] = {}
    for record in records:
        if model.wants(record.key):
            found.setdefault(record.key.op_name, []).append(record)
    for block in model.blocks:
        for op in block.ops:
            if model.selects(op.name, op.op_type):
                reason = model.why_no_dump(op.name) or _emptiness(found.get(op.name, ()))
                if reason:
                    yield op.name or op.op_type, reason


def _emptiness(records: Sequence[TensorRecord]) -> Message | None:
    """Why tensors leave no file: there are none, or the device writer finds no bytes in them."""
    if not records:
        return Message("dump/no-such-tensor")
    sizes = [stored_bytes(record.label.dtype, record.label.size) for record in records]
    return Message("dump/no-bytes") if all(size == 0 for size in sizes) else None
