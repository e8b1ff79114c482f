"""How the trees of the graph engine grow: every name, folder, container and table, from records.

Folders are those of the device writer ``dump_task.cpp``, of MindSpore's ``ascend_dump.cc`` up to 2.6 and of
torchair. What only a device knows is made up and the same for the same seed: times come from the clock, tasks
are numbered in the order of the graph, addresses are those of `workbench.npu.memory`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import FormatError
from workbench.core.tensors import TensorRecord, TensorSpec
from workbench.dump.formats.file import FileName
from workbench.dump.formats.ge_name import format_ge_name
from workbench.dump.formats.mindspore_name import dtype_word, sanitize
from workbench.dump.layouts import folder, row_of
from workbench.dump.selection import Choice
from workbench.dump.statistics.dialects import categories_of
from workbench.dump.statistics.parse import StatisticRow
from workbench.dump.statistics.print import format_ge_statistics, format_header, format_row
from workbench.dump.watched import joint_name
from workbench.dump.write.figures import TensorContent, content_of, engine_figures_of, figures_of
from workbench.dump.write.mindspore import CONTROL, CONTROL_FLOW, no_npy, stored_type
from workbench.dump.write.pieces import (
    AddressMap,
    container_of,
    converted,
    layout_of,
    stored_tensor,
)
from workbench.dump.write.plan_files import (
    TensorOutcome,
    TreeLeaf,
    container_file,
    ending_in_tables,
    npy_file,
    table_file,
    text_file,
)
from workbench.dump.write.reported import PARAMETER, by_operator, has_failed
from workbench.dump.write.reports import STREAM, failure_files, is_overflow, overflow_file
from workbench.dump.write.targets import time_folder
from workbench.graph.graph import COMPILED, Param, Value
from workbench.graph_files.ge.silent_ops import why_no_dump
from workbench.npu.compile.provenance import origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import Io, TensorKey
    from workbench.core.words import Message
    from workbench.core.writers import Writer
    from workbench.dump.write.pieces import StoredTensor
    from workbench.dump.write.plan_files import NewFile, TreeFiles
    from workbench.dump.write.targets import Clock, Target
    from workbench.graph.graph import Graph, Op, Operand
    from workbench.npu.layout import TensorLayout

    Ended = Generator[NewFile | TensorOutcome, None, bool]
    """What `TreeFiles` yields; returns whether the device failed at an operator, and nothing came after it."""


ALONE = "single-operator"
"""Row of operators that run outside a model."""

DEVICE_CATEGORIES = frozenset(
    ("max", "min", "avg", "nan count", "negative inf count", "positive inf count")
)
"""Statistics in the device's own table; for any other choice the host prints one."""

_FEEDS = frozenset(("Data", "RefData", "AippData"))


@dataclass(frozen=True)
class Model:
    """A model that the graph engine runs: its graph, what is dumped of it, and whose tree that is.

    ``choice`` tells which operators the plan means, ``started`` is the name that the start gives a folder.
    """

    plan: DumpPlan
    graph: Graph
    target: Target
    clock: Clock = field(repr=False)
    choice: Choice = field(repr=False)
    started: str

    @cached_property
    def blocks(self) -> tuple[Graph, ...]:
        """The graph and those of its branches."""
        return (self.graph, *self.graph.subgraphs)

    @cached_property
    def feeders(self) -> set[str]:
        """Data operators that are dumped because they feed a chosen one (torchair)."""
        is_asked = self.plan.select and self.target.writer.dumps_feeders
        return _feeders(self.blocks, self.choice) if is_asked else set()

    @cached_property
    def tasks(self) -> Mapping[str, int]:
        """Numbers of the operators' tasks by name, in the order of the graph."""
        names = dict.fromkeys(op.name for block in self.blocks for op in block.ops)
        return {name: number for number, name in enumerate(names, self.target.first_task)}

    @cached_property
    def ops(self) -> Mapping[str, Op]:
        """Operators by name; the first of those that share one."""
        return {op.name: op for block in reversed(self.blocks) for op in reversed(block.ops)}

    @cached_property
    def addresses(self) -> AddressMap:
        return AddressMap(self.graph)

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Statistics of MindSpore's own tables."""
        return categories_of(self.target.version, self.plan.statistics)

    @property
    def model_id(self) -> int:
        return self.target.model_id or self.graph.graph_id + 1

    @property
    def name(self) -> str:
        """Name of the model, and of its graph."""
        graph = self.graph
        named = "{graph}" if graph.dialect == "ge" else self.target.writer.model
        return named.format(time=self.started, id=graph.graph_id + 1, graph=graph.name)

    def wants(self, key: TensorKey) -> bool:
        """Whether a tensor of an operator that is dumped is dumped, too."""
        if key.op_name in self.feeders or self.plan.kind == "watch":
            return key.io == "output"
        barred = self.choice.bars(key.op_name, key.op_type, key.io, key.slot)
        return key.io in self.plan.io and not barred

    def selects(self, op_name: str, op_type: str) -> bool:
        """Whether an operator is dumped if it leaves a dump."""
        return op_name in self.feeders or self.choice.selects(op_name, op_type)

    def why_no_dump(self, op_name: str) -> Message | None:
        """Why an operator leaves no dump whatever is asked for; ``None`` if it can leave one."""
        op = self.ops.get(op_name)
        if op is None or op_name in self.feeders:
            return None
        if self.graph.dialect in ("ge", COMPILED):
            return why_no_dump(op)
        return CONTROL if op.op_type in CONTROL_FLOW else None


def model_of(plan: DumpPlan, graph: Graph, target: Target, clock: Clock) -> Model:
    """Return a model that starts now; raises FormatError for an entry of the plan's list that is none."""
    choice = Choice(plan, (graph, *graph.subgraphs))
    return Model(plan, graph, target, clock, choice, time_folder(clock.now))


class GeFileStyle(NamedTuple):
    """How a writer lays out what it dumps of a model.

    ``folder`` is that of an iteration. Files are ``decoded`` if the host writes numbers and not the device its
    containers. ``converts`` says which tensors the host brings into the graph's format where it can. ``operator``
    yields the files of an operator's tensors and adds its rows to the table, whose first line `header` gives.
    """

    folder: Callable[[Model, int], str]
    decoded: bool
    converts: Callable[[str, TensorLayout], bool]
    operator: Callable[[Model, TreeLeaf, FileName, Sequence[StoredTensor]], TreeFiles]
    header: Callable[[], str] = str


def ge_files(records: Iterable[TensorRecord], model: Model) -> Ended:
    """Yield the files that the device or MindSpore writes of a model.

    Records are those of an operator one after the other, inputs first, slots rising. Parameters leave no dump. A
    label with a format states how the data lie already.

    Raises
    ------
    FormatError
        A name cannot be a file name, or a number format has no known packing.
    """
    plan, target = model.plan, model.target
    if plan.files == "npy" and target.writer.of_mindspore:
        header = partial(format_header, model.categories)
        way = GeFileStyle(ge_folder, True, _always, _npy_files, header)
    else:
        operator = _device_table if plan.saved == "statistic" else device_container
        way = GeFileStyle(ge_folder, False, _never, operator)
    return model_files(records, model, way)


def model_files(records: Iterable[TensorRecord], model: Model, way: GeFileStyle) -> Ended:
    """Yield the files that are written of a model in some way, and its tables even if the records end in an error."""
    leaves: dict[int, TreeLeaf] = {}

    def tables() -> Iterator[NewFile]:
        for leaf in leaves.values():
            yield from leaf.tables(way.header())

    return ending_in_tables(_Growing(model, way, leaves).files(records), tables)


class _Growing:
    """A tree while it grows; an operator is handed on when all its records have come."""

    def __init__(self, model: Model, way: GeFileStyle, leaves: dict[int, TreeLeaf]) -> None:
        self._model, self._way, self._leaves = model, way, leaves
        self._overflows = 0

    def files(self, records: Iterable[TensorRecord]) -> Ended:
        """Yield everything but the tables, operator after operator."""
        plan, step = self._model.plan, -1
        failed = False
        for group in by_operator(records):
            iteration = group[0].key.iteration
            if iteration - plan.initial_iteration != step:
                step = iteration - plan.initial_iteration
                yield from self._form(step)
            if group[0].key.op_type == PARAMETER:
                if group[0].key.op_name not in self._model.feeders:
                    continue
                group = [*map(_as_data, group)]
            if self._dumps(group):
                wanted = [record for record in group if self._model.wants(record.key)]
                yield from self._operator(wanted, iteration)
                if plan.kind == "overflow":
                    leaf, decoded = self._leaf(iteration), self._way.decoded
                    yield from overflow_file(self._model, group, leaf, decoded=decoded)
            if has_failed(group):
                failed = True
                if plan.kind == "exception":
                    found = (self._stored(record, on_device=True) for record in group)
                    yield from failure_files(self._model, group, [*filter(None, found)])
        yield from self._form(self._model.target.steps - 1)
        return failed

    def _form(self, step: int) -> Iterator[NewFile]:
        form = self._model.target.form
        if form is not None and step >= 0:
            for name, text in form(step, self._model.started).items():
                yield text_file(name, text)

    def _dumps(self, group: list[TensorRecord]) -> bool:
        """Whether an operator's own tensors are dumped, or those that are watched after it."""
        model, key, after = self._model, group[0].key, group[0].after
        kind = model.plan.kind
        if model.why_no_dump(key.op_name):
            return False
        if kind == "exception" or has_failed(group) or key.iteration not in model.plan.iterations:
            return False
        if kind == "watch":
            return not model.why_no_dump(after) if after else key.op_name in model.plan.watched
        if after or not model.selects(key.op_name, key.op_type):
            return False
        return kind != "overflow" or self._counts(group)

    def _counts(self, group: list[TensorRecord]) -> bool:
        """Whether an overflow is dumped: at most as many are as the plan's limit."""
        if not is_overflow(group, self._model.plan):
            return False
        self._overflows += 1
        return not 0 < self._model.plan.limit < self._overflows

    def _operator(self, records: Sequence[TensorRecord], iteration: int) -> TreeFiles:
        """Yield the files of one operator; the device writes none of no bytes."""
        tensors = [found for record in records if (found := self._stored(record)) is not None]
        refused: dict[TensorKey, Message | None] = {}
        if not all(one.size == 0 for one in tensors):
            leaf = self._leaf(iteration)
            name = self._name(leaf, tensors[0].record)
            for one in self._way.operator(self._model, leaf, name, tensors):
                if isinstance(one, TensorOutcome):
                    refused[one.key] = one.refused
                else:
                    yield one
        sizes = {one.record.key: one.content.nbytes for one in tensors}
        for record in records:
            yield TensorOutcome(record.key, sizes.get(record.key, 0), refused.get(record.key))

    def _stored(self, record: TensorRecord, *, on_device: bool = False) -> StoredTensor | None:
        """Say how a tensor lies in its file; ``on_device``: as the device has it, whatever the plan."""
        model, way, content = self._model, self._way, content_of(record)
        if content is None:
            return None
        host_format = model.plan.host_format and not (way.decoded or on_device)
        op = model.ops.get(record.key.op_name)
        layout = layout_of(record.key, record.label, content.spec, op, host_format=host_format)
        if not on_device and way.converts(record.label.dtype or content.spec.dtype, layout):
            layout = converted(layout, content.spec.shape)
        found = stored_tensor(record, content, layout, model.addresses)
        return found._replace(origin=_origin(record.key, op))

    def _name(self, leaf: TreeLeaf, record: TensorRecord) -> FileName:
        """Name of an operator's files by the first of its tensors."""
        model, key = self._model, record.key
        stamp = record.timestamp_us or model.clock.tick()
        task = record.task_id or model.tasks.get(record.after or key.op_name, 0)
        op_name = joint_name(record.after, key.op_name)
        if "\0" in key.op_type + key.op_name:
            raise FormatError("dump/operator-name", got=key.op_name)
        name = FileName("tensors", key.op_type, op_name, stamp, task, record.stream_id or STREAM)
        while (base := format_ge_name(name)) in leaf.names:
            name = name._replace(timestamp_us=model.clock.tick())
        leaf.names.add(base)
        return name

    def _leaf(self, iteration: int) -> TreeLeaf:
        if iteration not in self._leaves:
            path = self._way.folder(self._model, iteration)
            self._leaves[iteration] = TreeLeaf(path, iteration)
        return self._leaves[iteration]


def ge_folder(model: Model, iteration: int) -> str:
    """Folder of an iteration of the device writer, of MindSpore's O2 or of torchair."""
    target = model.target
    by_step = target.writer.by_step  # AscendCL is set up anew before every step
    step = iteration - model.plan.initial_iteration
    world_size, rank = target.world
    values: dict[str, str | int] = {
        "step": step,
        "world_size": world_size,
        "rank": rank,
        "time": time_folder(model.clock.now) if by_step else target.session or model.started,
        "device": target.device,
        "net": sanitize(model.name),
        "model_id": model.model_id,
        "index": step if by_step else iteration,
    }
    alone = runs_alone(model.plan, target.writer)
    return folder(row_of(ALONE if alone else target.writer.layout), values)


def device_container(
    model: Model, leaf: TreeLeaf, name: FileName, tensors: Sequence[StoredTensor]
) -> TreeFiles:
    """Yield an operator's container."""
    container, payload = container_of(tensors, name.op_name, name.timestamp_us)
    path = f"{leaf.path}/{leaf.shorten_name('adump', format_ge_name(name), model.clock.random)}"
    yield container_file(path, container, payload, leaf.iteration)


def _device_table(
    model: Model, leaf: TreeLeaf, name: FileName, tensors: Sequence[StoredTensor]
) -> TreeFiles:
    """Yield an operator's table: the device's own, or that of the host with chosen columns."""
    categories = model.plan.statistics
    dialect = "ge-kfc" if set(categories) != DEVICE_CATEGORIES else "ge"
    rows = [*device_rows(name, tensors, dialect)]
    text = format_ge_statistics([row for row, _ in rows], categories, dialect)
    file = format_ge_name(name._replace(kind="statistics"))
    path = f"{leaf.path}/{leaf.shorten_name('adump', file, model.clock.random)}"
    exact = all(exact for _, exact in rows)
    yield table_file(path, text.splitlines(keepends=True), leaf.iteration, exact=exact)


def device_rows(
    name: FileName, tensors: Iterable[StoredTensor], dialect: str
) -> Iterator[tuple[StatisticRow, bool]]:
    """Yield what the device computes of an operator's tensors, and whether the figures are exact."""
    slots = {"input": count(), "output": count()}
    for one in tensors:
        io = one.record.key.io
        parts = parts_of(name, io, next(slots[io]), one.layout.format, one.dtype)
        content = TensorContent(TensorSpec(one.dtype, one.layout.shape), one.laid().array)
        figures, exact = engine_figures_of(content, dialect)
        yield StatisticRow(parts, one.size or 0, one.layout.shape or (), dict(figures)), exact


def _npy_files(
    model: Model, leaf: TreeLeaf, name: FileName, tensors: Sequence[StoredTensor]
) -> TreeFiles:
    """Yield MindSpore's npy files of an operator, and what has none; rows go to the table."""
    base = format_ge_name(name)
    for one in tensors:
        if one.size == 0:
            continue
        if model.plan.saved != "tensor":
            _add_row(model, leaf, name, one)
        if model.plan.saved == "statistic":
            continue
        key, spec = one.record.key, one.content.spec
        stored = stored_type(one.dtype, spec.dtype, "Ascend")
        if not stored:
            yield TensorOutcome(key, 0, no_npy(one.dtype, "Ascend"))
            continue
        word = dtype_word(one.dtype, "Ascend")
        file = f"{base}.{key.io}.{key.slot}.{one.layout.format}.{word}.npy"
        path = f"{leaf.path}/{leaf.shorten_name('mindspore', file, model.clock.random)}"
        header = TensorSpec(stored, spec.shape)  # the host's, whatever lies behind it
        yield npy_file(path, one.laid(), header, leaf.iteration)


def _add_row(model: Model, leaf: TreeLeaf, name: FileName, one: StoredTensor) -> None:
    key, content, version = one.record.key, one.content, model.target.version
    categories = model.categories
    parts = parts_of(name, key.io, key.slot, one.layout.format, content.spec.dtype)
    parts = parts._replace(op_name=sanitize(name.op_name))
    figures, exact = figures_of(content, categories)
    leaf.exact &= exact
    row = format_row(parts, content.spec, content.nbytes, figures, categories, version=version)
    leaf.rows.append(row)


def _always(_dtype: str, _layout_of: TensorLayout) -> bool:
    return True


def _never(_dtype: str, _layout_of: TensorLayout) -> bool:
    return False


def runs_alone(plan: DumpPlan, writer: Writer) -> bool:
    """Whether a form means operators outside models: AscendCL's switch for them, and no list."""
    return writer.operators_alone and plan.single_op and not plan.select


def parts_of(name: FileName, io: Io, slot: int, form: str, dtype: str) -> FileName:
    """Return what a row of statistics says of whose tensor it is."""
    return name._replace(io=io, slot=slot, format=form, dtype=dtype)


def _origin(key: TensorKey, op: Op | None) -> tuple[str, int] | None:
    """Operator and slot of the network's tensor that an output is; ``None`` if it is no one's."""
    if key.io != "output":
        return None
    if op is None or key.slot >= len(op.outputs):  # a graph that does not know the tensor
        return key.op_name, key.slot
    found = origin_of(op, key.slot)
    return None if found is None else (found.op_name, found.slot)


def _feeders(blocks: Iterable[Graph], choice: Choice) -> set[str]:
    """Data operators that feed a chosen operator; those of a graph that has parameters in their place."""
    read = (
        (block, operand)
        for block in blocks
        for op in block.ops
        if choice.selects(op.name, op.op_type)
        for operand in op.flat_inputs()
    )
    return {name for block, operand in read if (name := _fed_by(block, operand))}


def _fed_by(block: Graph, operand: Operand) -> str:
    """Name of the data operator that an operand is; empty if it is none."""
    if isinstance(operand, Param):
        return block.parameters[operand.index].name
    if isinstance(operand, Value) and block.ops[operand.op].op_type in _FEEDS:
        return block.ops[operand.op].name
    return ""


def _as_data(record: TensorRecord) -> TensorRecord:
    """Return a parameter's record as that of the data operator that it is for the graph engine."""
    return replace(record, key=record.key._replace(op_type="Data"))
