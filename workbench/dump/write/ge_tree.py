"""How the trees of the graph engine grow: every name, folder, container and table, from records.

`GeTree` decides what each operator becomes; a `GeSink` writes it or counts it, as for MindSpore's own
trees (`workbench.dump.write.mindspore_tree`). Folders are those of the device writer ``dump_task.cpp``, of
MindSpore's ``ascend_dump.cc`` up to 2.6 and of torchair. What only a device knows is made up and the
same for the same seed: times come from the clock, tasks are numbered in the order of the graph, addresses
are those of `workbench.run.memory`.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.errors import FormatError
from workbench.core.tensors import TensorRecord, TensorSpec
from workbench.dump.formats.ge_name import GeName, format_ge_name
from workbench.dump.formats.mindspore_name import NameParts, dtype_word, sanitize
from workbench.dump.layouts import folder, row_of
from workbench.dump.selection import Choice
from workbench.dump.statistics.ge import format_ge_statistics
from workbench.dump.statistics.statistic import (
    StatisticRow,
    categories_of,
    format_header,
    format_row,
)
from workbench.dump.watched import joint_name
from workbench.dump.write.device_layout import converted, lie_of
from workbench.dump.write.ge_pieces import Addresses, Piece, container_of, piece_of
from workbench.dump.write.ge_reports import STREAM, Reports
from workbench.dump.write.mindspore_tree import (
    CONTROL,
    CONTROL_FLOW,
    PARAMETER,
    no_npy,
    stored_type,
)
from workbench.dump.write.reported import by_operator, has_failed
from workbench.dump.write.sink import Content, time_folder
from workbench.dump.write.tree_leaf import TreeLeaf
from workbench.graph.nodes import Value
from workbench.graph_files.ge.silent_ops import why_no_dump
from workbench.run.originals import origin_of
from workbench.run.program import COMPILED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import Io, TensorKey
    from workbench.core.words import Message
    from workbench.dump.write.sink import Clock, GeSink
    from workbench.dump.write.target import GeTarget
    from workbench.graph.nodes import Graph, Op
    from workbench.run.layout import Lie


class Folders(NamedTuple):
    """Row of `workbench.dump.layouts` that has the folders of one iteration, and how a model is called there."""

    layout: str
    model: str


TREES: dict[str, Folders] = {
    "mindspore-o2": Folders("mindspore-o2", "kernel_graph{id}"),
    "mindspore-ge": Folders("ge", "kernel_graph{id}"),
    "tensorflow": Folders("ge", "ge_default_{time}_{id}"),
    "torchair": Folders("torchair", "ge_default_{time}_{id}"),
    "acl": Folders("ge", "{graph}"),
}
"""Surface → folders."""

ALONE = "single-operator"
"""Row of operators that run outside a model."""

DEVICE_CATEGORIES = frozenset(
    ("max", "min", "avg", "nan count", "negative inf count", "positive inf count")
)
"""Statistics in the device's own table; for any other choice the host prints one."""

_FEEDS = frozenset(("Data", "RefData", "AippData"))


class GeTree:
    """A tree while it grows; ``choice`` tells which operators the plan means.

    ``fed`` are data operators that are dumped because they feed a chosen one (torchair). `has_failed` says
    that the device failed at an operator, and nothing came after it.
    """

    def __init__(
        self, plan: DumpPlan, graph: Graph, target: GeTarget, clock: Clock, sink: GeSink
    ) -> None:
        self._plan, self._graph, self._target = plan, graph, target
        self._clock, self._sink = clock, sink
        self._blocks = (graph, *graph.subgraphs)
        self.choice = Choice(plan, self._blocks)
        self.fed = (
            _fed(self._blocks, self.choice) if plan.select and _is_torchair(target) else set()
        )
        names = dict.fromkeys(op.name for block in self._blocks for op in block.ops)
        self._tasks = {name: number for number, name in enumerate(names, target.first_task)}
        self._ops = {op.name: op for block in reversed(self._blocks) for op in reversed(block.ops)}
        self._npy = plan.files == "npy" and target.surface.startswith("mindspore")
        self._categories = categories_of(target.version, plan.statistics)
        self._addresses = Addresses(graph)
        self._time = time_folder(clock.now)
        self._leaves: dict[int, TreeLeaf] = {}
        self._reports = Reports(plan, target, self._tasks, self._model_id, clock, sink)
        self.has_failed = False

    def take(
        self, records: Iterable[TensorRecord], done: Callable[[TensorKey], None] | None = None
    ) -> None:
        """Hand operators on in their order, and the tables even if the records end in an error.

        ``done`` is told of every tensor that was wanted. An operator is handed on when all its
        records have come.
        """
        step = -1
        try:
            for group in by_operator(records):
                iteration = group[0].key.iteration
                if iteration - self._plan.initial_iteration != step:
                    step = iteration - self._plan.initial_iteration
                    self._form(step)
                for wanted in self._dumps(group):
                    self._operator(wanted, iteration)
                    if done is not None:
                        for record in wanted:
                            done(record.key)
                if has_failed(group):
                    self.has_failed = True
                    if self._plan.kind == "exception":
                        pieces = [self._piece(record, on_device=True) for record in group]
                        self._reports.failure(group, pieces)
            self._form(self._target.steps - 1)
        finally:
            self._finish()

    @property
    def _model_id(self) -> int:
        return self._target.model_id or self._graph.graph_id + 1

    @property
    def model(self) -> str:
        """Name of the model, and of its graph."""
        graph = self._graph
        named = "{graph}" if graph.dialect == "ge" else TREES[self._target.surface].model
        return named.format(time=self._time, id=graph.graph_id + 1, graph=graph.name)

    def wants(self, key: TensorKey) -> bool:
        """Whether a tensor of an operator that is dumped is dumped, too."""
        if key.op_name in self.fed or self._plan.kind == "watch":
            return key.io == "output"
        barred = self.choice.bars(key.op_name, key.op_type, key.io, key.slot)
        return key.io in self._plan.io and not barred

    def silence(self, op_name: str) -> Message | None:
        """Why an operator leaves no dump whatever is asked for; ``None`` if it can leave one."""
        op = self._ops.get(op_name)
        if op is None or op_name in self.fed:
            return None
        if self._graph.dialect in ("ge", COMPILED):
            return why_no_dump(op)
        return CONTROL if op.op_type in CONTROL_FLOW else None

    def _form(self, step: int) -> None:
        if self._target.form is not None and step >= 0:
            for name, text in self._target.form(step, self._time).items():
                self._sink.text(name, text)

    def _dumps(self, group: list[TensorRecord]) -> Iterator[list[TensorRecord]]:
        """Yield what is dumped after an operator: its own tensors, or those that are watched."""
        key = group[0].key
        if key.op_type == PARAMETER or self.silence(key.op_name):
            return
        if self._plan.kind == "exception" or has_failed(group):
            return
        if key.iteration not in self._plan.iterations:
            return
        own, after = [record for record in group if self.wants(record.key)], group[0].after
        if self._plan.kind == "watch":
            if not self.silence(after) if after else key.op_name in self._plan.watched:
                yield own
            return
        if after:
            return
        chosen = key.op_name in self.fed or self.choice.selects(key.op_name, key.op_type)
        if self._plan.kind == "overflow":
            if chosen and self._reports.counts(group):
                yield own
                self._reports.overflow(group, self._leaf(key.iteration).path, decoded=self._npy)
            return
        if chosen:
            yield own

    def _operator(self, records: Sequence[TensorRecord], iteration: int) -> None:
        """Hand one operator on; the device writes no file of no bytes."""
        pieces = [piece for record in records if (piece := self._piece(record)) is not None]
        if all(piece.size == 0 for piece in pieces):
            return
        first = pieces[0].record
        leaf = self._leaf(iteration)
        stamp = first.timestamp_us or self._clock.tick()
        name = self._name(first, stamp)
        while (base := format_ge_name(name)) in leaf.names:
            name = name._replace(timestamp=self._clock.tick())
        leaf.names.add(base)
        if self._npy:
            self._tensors(leaf, name, pieces)
            return
        if self._plan.saved == "statistic":
            self._statistics(leaf, name, pieces)
            return
        container, payload = container_of(pieces, name.op_name, name.timestamp)
        path = f"{leaf.path}/{self._fitting(leaf, base)}"
        self._sink.container(path, container, payload)

    def _piece(self, record: TensorRecord, *, on_device: bool = False) -> Piece | None:
        """Say how a tensor lies in its file; ``on_device``: as the device has it, whatever the plan."""
        content = self._sink.content(record)
        if content is None:
            return None
        host_format = self._plan.host_format and not (self._npy or on_device)
        op = self._ops.get(record.key.op_name)
        lie = lie_of(record.key, record.label, content.spec, op, host_format=host_format)
        if not on_device and self._converts(record.label.dtype or content.spec.dtype, lie):
            lie = converted(lie, content.spec.shape)
        piece = piece_of(record, content, lie, self._addresses)
        return piece._replace(origin=_origin(record.key, op))

    def _converts(self, dtype: str, lie: Lie) -> bool:
        """Whether the host brings a tensor into the graph's format where it can."""
        return self._npy

    def _name(self, record: TensorRecord, stamp: int) -> GeName:
        key = record.key
        task = record.task_id or self._tasks.get(record.after or key.op_name, 0)
        stream = record.stream_id or STREAM
        op_name = joint_name(record.after, key.op_name)
        name = GeName("tensors", key.op_type, op_name, stamp, task, stream)
        if "\0" in key.op_type + key.op_name:
            raise FormatError("dump/operator-name", got=key.op_name)
        return name

    def _statistics(self, leaf: TreeLeaf, name: GeName, pieces: Iterable[Piece]) -> None:
        """Hand an operator's table on: the device's own, or that of the host with chosen columns."""
        chosen = set(self._plan.statistics) != DEVICE_CATEGORIES
        dialect = "ge-kfc" if chosen else "ge"
        rows = self._device_rows(name, pieces, dialect)
        text = format_ge_statistics(rows, self._plan.statistics, dialect)
        file = format_ge_name(name._replace(kind="statistics"))
        self._sink.table(f"{leaf.path}/{self._fitting(leaf, file)}", text.splitlines(keepends=True))

    def _device_rows(
        self, name: GeName, pieces: Iterable[Piece], dialect: str
    ) -> Iterator[StatisticRow]:
        """Yield what the device computes of an operator's tensors."""
        slots = {"input": count(), "output": count()}
        for piece in pieces:
            io = piece.record.key.io
            parts = parts_of(name, io, next(slots[io]), piece.lie.format, piece.dtype)
            spec = TensorSpec(piece.dtype, piece.lie.shape)
            content = Content(spec, piece.size or 0, piece.laid().array)
            figures = self._sink.device_figures(content, dialect)
            yield StatisticRow(parts, content.nbytes, spec.shape or (), dict(figures))

    def _tensors(self, leaf: TreeLeaf, name: GeName, pieces: Iterable[Piece]) -> None:
        """Hand tensors on one by one: npy files, rows of statistics."""
        plan = self._plan
        base = format_ge_name(name)
        for piece in pieces:
            key, spec = piece.record.key, piece.content.spec
            if piece.size == 0:
                continue
            if plan.saved != "tensor":
                leaf.rows.append(self._row(name, piece))
            if plan.saved != "statistic":
                stored = stored_type(piece.dtype, spec.dtype, "Ascend")
                if not stored:
                    self._sink.skip(key, no_npy(piece.dtype, "Ascend"))
                    continue
                word = dtype_word(piece.dtype, "Ascend")
                file = f"{base}.{key.io}.{key.slot}.{piece.lie.format}.{word}.npy"
                path = f"{leaf.path}/{self._fitting(leaf, file)}"
                header = TensorSpec(stored, spec.shape)  # the host's, whatever lies behind it
                self._sink.tensor(path, piece.laid(), header)

    def _row(self, name: GeName, piece: Piece) -> str:
        key, content = piece.record.key, piece.content
        parts = parts_of(name, key.io, key.slot, piece.lie.format, content.spec.dtype)
        parts = parts._replace(op_name=sanitize(name.op_name))
        figures = self._sink.figures(content, self._categories)
        return format_row(
            parts, content.spec, content.nbytes, figures, self._categories,
            version=self._target.version,
        )  # fmt: skip

    def _fitting(self, leaf: TreeLeaf, name: str) -> str:
        """Return the name itself, or the number that replaces one that is too long."""
        return leaf.fitting("mindspore" if self._npy else "adump", name, self._clock.random)

    def _leaf(self, iteration: int) -> TreeLeaf:
        if iteration not in self._leaves:
            leaf = self._leaves[iteration] = TreeLeaf(self._folder(iteration))
            self._sink.leaf(leaf.path, iteration)
        return self._leaves[iteration]

    def _folder(self, iteration: int) -> str:
        target = self._target
        by_step = target.surface == "mindspore-o2"  # AscendCL is set up anew before every step
        step = iteration - self._plan.initial_iteration
        world_size, rank = target.world
        values: dict[str, str | int] = {
            "step": step,
            "world_size": world_size,
            "rank": rank,
            "time": time_folder(self._clock.now) if by_step else target.session or self._time,
            "device": target.device,
            "net": sanitize(self.model),
            "model_id": self._model_id,
            "index": step if by_step else iteration,
        }
        alone = runs_alone(self._plan, target.surface)
        return folder(row_of(ALONE if alone else TREES[target.surface].layout), values)

    def _finish(self) -> None:
        for leaf in self._leaves.values():
            leaf.finish(self._sink, format_header(self._categories))


def runs_alone(plan: DumpPlan, surface: str) -> bool:
    """Whether a form means operators outside models: AscendCL's switch for them, and no list."""
    return surface == "acl" and plan.single_op and not plan.select


def parts_of(name: GeName, io: Io, slot: int, form: str, dtype: str) -> NameParts:
    """Return what a row of statistics says of whose tensor it is."""
    task, stream = name.task_id or 0, name.stream_id or 0
    return NameParts(
        name.op_type, name.op_name, task, stream, name.timestamp, io, slot, form, dtype
    )


def _origin(key: TensorKey, op: Op | None) -> tuple[str, int] | None:
    """Operator and slot of the network's tensor that an output is; ``None`` if it is no one's."""
    if key.io != "output":
        return None
    if op is None or key.slot >= len(op.outputs):  # a graph that does not know the tensor
        return key.op_name, key.slot
    found = origin_of(op, key.slot)
    return None if found is None else (found.op_name, found.slot)


def _is_torchair(target: GeTarget) -> bool:
    return target.surface == "torchair"


def _fed(blocks: Iterable[Graph], choice: Choice) -> set[str]:
    """Data operators that feed a chosen operator."""
    return {
        block.ops[operand.op].name
        for block in blocks
        for op in block.ops
        if choice.selects(op.name, op.op_type)
        for operand in op.flat_inputs()
        if isinstance(operand, Value) and block.ops[operand.op].op_type in _FEEDS
    }
