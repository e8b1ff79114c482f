"""How MindSpore's trees of O0/O1, CPU and GPU grow: every name, folder and table, from records.

The layout is that of ``dump_utils.cc`` and ``cpu_e2e_dump.cc`` (r2.3 to r2.7) and of real dumps; which
device writes what of it says `workbench.dump.releases`::

    rank_{r}/.dump_metadata/{config,data_dump}.json
    rank_{r}/graphs/ms_output_trace_code_graph_{g}.{ir,pb}
    rank_{r}/execution_order/ms_execution_order_graph_{g}.csv
    rank_{r}/execution_order/ms_global_execution_order_graph_{g}.csv

Folders of tensors are the rows ``mindspore`` and ``mindspore-constants`` of `workbench.dump.layouts`; they hold
npy files, statistic.csv, mapping.csv and settings of kernels.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import FormatError, GraphError
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.formats.file import FileName
from workbench.dump.formats.mindspore_name import format_name
from workbench.dump.formats.npy import npy_header
from workbench.dump.formats.renamed import is_too_long
from workbench.dump.layouts import folder, row_of
from workbench.dump.releases import WRITTEN_ON, check_version, release
from workbench.dump.reports.kernel_args import kernel_arguments
from workbench.dump.selection import Choice, changed_names, graphs_of_files, kernel_type
from workbench.dump.statistics.dialects import categories_of
from workbench.dump.statistics.print import format_header, format_row, name_in_table
from workbench.dump.write.figures import content_of, figures_of
from workbench.dump.write.pieces import layout_of
from workbench.dump.write.plan_files import (
    TensorOutcome,
    TreeLeaf,
    data_file,
    ending_in_tables,
    npy_file,
    text_file,
)
from workbench.dump.write.reported import PARAMETER, chosen_by_mindspore
from workbench.graph.constants import constant, constant_spec
from workbench.graph.graph import Param
from workbench.graph_files.mindspore.silent_tensors import HANDED_OVER, UNREAD, Slot, handed_over
from workbench.graph_files.mindspore.values import parse_const
from workbench.graph_files.mindspore.write_pb import pb_and_constants
from workbench.graph_files.mindspore.write_text import write_ms_text
from workbench.run.outline import Outlined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import Source
    from workbench.core.writers import Platform
    from workbench.dump.write.figures import TensorContent
    from workbench.dump.write.plan_files import NewFile, TreeFiles
    from workbench.dump.write.targets import Clock, Target
    from workbench.graph.graph import Graph, Op


CONTROL_FLOW = frozenset(("Switch", "SwitchLayer", "Partial", "call", "Call", "switch", "partial"))
"""Types of MindSpore nodes that decide what runs; no kernel computes them, so nothing is dumped."""

CONTROL = Message("dump/control-flow")
"""Why an operator of `CONTROL_FLOW` leaves no file."""

WIDENED = {"bfloat16": "float32", "int4": "int8", "uint1": "uint8"}
"""What Ascend and GPU write in place of types that NumPy does not know."""


def mindspore_files(
    records: Iterable[TensorRecord],
    plan: DumpPlan,
    graphs: Sequence[Graph],
    target: Target,
    clock: Clock,
    *,
    foretold: bool = False,
) -> TreeFiles:
    """Yield the files of a tree, and its tables even if the records end in an error.

    ``key.op_name`` of a record is the full name with slashes. Ascend writes no parameters. Constants that a graph
    leaves out are ``foretold`` only.

    Raises
    ------
    FormatError
        A name cannot be a file name, a number is negative, a net has a name that nobody would read, or the
        release is one before 2.3.
    """
    tree = _Tree(plan, graphs, target, clock, foretold=foretold)
    chosen = chosen_by_mindspore(records, plan, target.platform)
    return ending_in_tables(tree.files(chosen), tree.tables)


class _Tree:
    """A tree while it grows.

    Graphs that others call (`workbench.graph.graph.Graph.inner`) have no files of their parameters, and a CPU
    has none of what their operators read from outside: it lies in no memory of the graph. The record of
    executed iterations has the number of the graph where an iteration begins; a CPU leaves out an iteration
    with the number of the one before.
    """

    def __init__(
        self,
        plan: DumpPlan,
        graphs: Sequence[Graph],
        target: Target,
        clock: Clock,
        *,
        foretold: bool,
    ) -> None:
        self._plan, self._graphs, self._clock = plan, tuple(graphs), clock
        self._target, self._foretold = target, foretold
        self._device, self._version = target.platform, target.version
        check_version(self._version)
        named = graphs_of_files(graphs, self._version)
        self._names = changed_names(graphs, named)
        self._choice = Choice(plan, named)
        self._categories = categories_of(self._version, plan.statistics)
        self._leaves: dict[tuple[int, int, int | None], TreeLeaf] = {}
        self._graph_files: dict[int, tuple[str, bytes | None, Sequence[str]]] = {}
        self._constants: dict[int, list[TensorRecord]] = {}
        self._orders: dict[int, dict[int, list[int]]] = {}
        self._last: dict[int, int] = {}
        inner = [graph for graph in named if graph.inner]
        self._inner = {graph.graph_id for graph in inner}
        self._absent = set(_absent(named, target)) if self._device == "CPU" else set()
        self._ops = {op.name: op for graph in named for op in graph.ops}

    def files(self, records: Iterable[TensorRecord]) -> TreeFiles:
        """Yield everything but the tables, record after record."""
        for record in map(self._named, records):
            yield from self._enter(record.key)
            if self._wants(record.key):
                yield from self._add(record)
        if not self._orders:
            yield from self._rank(self._target.rank)

    def _named(self, record: TensorRecord) -> TensorRecord:
        """Return a record under the name that files have for its operator."""
        name = self._names.get((record.key.graph_id, record.key.op_name))
        return record if name is None else replace(record, key=record.key._replace(op_name=name))

    def _enter(self, key: TensorKey) -> TreeFiles:
        """Prepare the folder of a rank when its first record comes, and note the iteration."""
        if min(key.rank, key.graph_id, key.iteration, key.slot) < 0:
            numbers = {
                name: getattr(key, name) for name in ("rank", "graph_id", "iteration", "slot")
            }
            raise FormatError("dump/negative-number", place=key.op_name, **numbers)
        if key.rank not in self._orders:
            yield from self._rank(key.rank)
        if self._last.get(key.rank) != key.iteration:
            self._last[key.rank] = key.iteration
            if key.iteration in self._plan.iterations:
                self._orders[key.rank].setdefault(key.graph_id, []).append(key.iteration)

    def _wants(self, key: TensorKey) -> bool:
        is_parameter = key.op_type == PARAMETER
        if is_parameter and self._device not in WRITTEN_ON["parameters"]:
            return False
        if is_parameter and key.graph_id in self._inner:
            return False
        if (key.op_name, key.io, key.slot) in self._absent:
            return False
        kind = kernel_type(key.op_name)
        return self._choice.wants(key.op_name, kind, key.io, key.iteration, key.slot)

    def _rank(self, rank: int) -> TreeFiles:
        """Write what does not depend on tensors: metadata, graphs, execution orders, constants."""
        self._orders[rank] = {}
        base = _home(rank)
        if self._device in WRITTEN_ON["metadata"]:
            words = {"device_target": self._device, "ms_version": self._version}
            text = json.dumps(words, separators=(",", ":"), sort_keys=True)
            yield text_file(f"{base}/.dump_metadata/config.json", text)
            if self._target.config_text is not None:
                yield text_file(f"{base}/.dump_metadata/data_dump.json", self._target.config_text)
        for graph in self._graphs:
            yield from self._graph(
                f"{base}/graphs/ms_output_trace_code_graph_{graph.graph_id}", graph
            )
            names = ["NodeExecutionOrder-FullNameWithScope", *(op.name for op in graph.ops)]
            order = f"ms_execution_order_graph_{graph.graph_id}.csv"
            yield text_file(f"{base}/execution_order/{order}", "\n".join(names) + "\n")
            for record in self._constants[graph.graph_id]:
                leaf = self._leaf(record.key._replace(rank=rank), constants=True)
                yield from self._put(leaf, record, wanted=False)

    def _graph(self, stem: str, graph: Graph) -> Iterator[NewFile]:
        """Write a graph as text and as protobuf, which has no place for values of other graphs."""
        number = graph.graph_id
        if number not in self._graph_files:  # other ranks have the same graphs
            self._graph_files[number] = _files_of(graph)
        text, data, constants = self._graph_files[number]
        yield text_file(f"{stem}.ir", text)
        if data is not None:
            yield data_file(f"{stem}.pb", data)
        self._constants[number] = list(self._constant_records(graph, constants))

    def _constant_records(self, graph: Graph, texts: Iterable[str]) -> Iterator[TensorRecord]:
        """Yield the constants that are dumped; operator lists choose them by their names in the graph."""
        if "output" not in self._plan.io or self._device not in WRITTEN_ON["constants"]:
            return
        for number, spec, source in constants_of(texts):
            known = self._foretold or not isinstance(source, Outlined)
            if known and self._choice.selects(f"Default/data-{number}", "data"):
                key = TensorKey(PARAMETER, f"data-{number}", "output", 0, graph.graph_id)
                yield TensorRecord(key, TensorSpec(spec.dtype, spec.shape), source)

    def tables(self) -> Iterator[NewFile]:
        """Yield what tells of all that was dumped."""
        for leaf in self._leaves.values():
            yield from leaf.tables(format_header(self._categories))
        failures_on_cpu = self._device == "CPU" and self._plan.kind == "exception"
        if self._device not in WRITTEN_ON["global order"] or failures_on_cpu:
            return
        for rank, dumped in self._orders.items():
            orders = dumped if self._device == "CPU" else self._target.ran or dumped
            for graph_id, iterations in orders.items():
                order = f"ms_global_execution_order_graph_{graph_id}.csv"
                path = f"{_home(rank)}/execution_order/{order}"
                yield text_file(path, "".join(f"{iteration}\n" for iteration in iterations))

    def _leaf(self, key: TensorKey, *, constants: bool = False) -> TreeLeaf:
        """Folder of an iteration, or of the constants."""
        iteration = None if constants else key.iteration
        place = (key.rank, key.graph_id, iteration)
        if place not in self._leaves:
            values: dict[str, str | int] = {
                "rank": key.rank,
                "net": self._plan.net_name,
                "graph": key.graph_id,
                "iteration": key.iteration,
            }
            row = row_of("mindspore-constants" if constants else "mindspore")
            self._leaves[place] = TreeLeaf(folder(row, values), iteration)
        return self._leaves[place]

    def _add(self, record: TensorRecord) -> TreeFiles:
        key = record.key
        leaf = self._leaf(key)
        yield from self._put(leaf, record)
        if self._plan.kernel_args and key.op_name in self._ops:
            yield from self._arguments(leaf, self._ops[key.op_name])

    def _put(self, leaf: TreeLeaf, record: TensorRecord, *, wanted: bool = True) -> TreeFiles:
        """Yield one tensor's file and what was taken; its row goes to the table."""
        content = content_of(record)
        nbytes = 0 if content is None else content.nbytes
        if content is not None and content.spec.size == 0:
            yield TensorOutcome(record.key, nbytes, Message("dump/tensor-empty"), wanted)
            return
        parts, content = self._described(record, content)
        refused = None
        sample = None if content is None else content.sampled(self._plan.sample)
        if self._plan.saved != "statistic" and sample is not None:
            file = self._tensor(leaf, parts, sample)
            if isinstance(file, Message):
                refused = file if self._plan.saved == "tensor" else None
            else:
                yield file
        if self._plan.saved != "tensor":
            self._add_row(leaf, parts, record, content, sample)
        yield TensorOutcome(record.key, nbytes, refused, wanted)

    def _described(
        self, record: TensorRecord, content: TensorContent | None
    ) -> tuple[FileName, TensorContent | None]:
        """Return what a file's name says of a tensor, and the tensor in the format in which it is dumped."""
        key, label = record.key, record.label
        form, dtype = label.format, label.dtype
        if content is not None:
            dtype = dtype or content.spec.dtype
            host_format = self._plan.host_format or self._device != "Ascend"
            op = self._ops.get(key.op_name)
            layout = layout_of(key, label, content.spec, op, host_format=host_format)
            named = layout.held or (layout.is_device_format and layout.shape is not None)
            form, content = (layout.format if named else "DefaultFormat"), content.laid(layout)
        stream = 0 if key.op_type == PARAMETER else record.stream_id
        stamp = record.timestamp_us or self._clock.tick()
        parts = FileName(
            "npy", key.op_type, key.op_name, stamp, 0, stream, key.io, key.slot, form, dtype
        )
        return parts, content

    def _add_row(
        self,
        leaf: TreeLeaf,
        parts: FileName,
        record: TensorRecord,
        content: TensorContent | None,
        sample: TensorContent | None,
    ) -> None:
        """Add a row: the host sums a sample up, a device the whole tensor."""
        figures, shape, size = record.statistics or {}, record.label.shape, 0
        if content is not None and sample is not None:
            on_device = self._plan.statistics_on == "device"
            summed = content if on_device else sample
            precision = self._plan.statistics_precision if on_device else ""
            figures, exact = figures_of(summed, self._categories, precision)
            leaf.exact &= exact
            shape, size = sample.spec.shape, summed.nbytes
        parts = parts._replace(op_name=name_in_table(parts, self._version))
        spec = TensorSpec(parts.dtype, shape)
        row = format_row(parts, spec, size, figures, self._categories, version=self._version)
        leaf.rows.append(row)

    def _tensor(self, leaf: TreeLeaf, parts: FileName, content: TensorContent) -> NewFile | Message:
        """Return an npy file, or why there is none."""
        dtype = stored_type(parts.dtype, content.spec.dtype, self._device)
        if not dtype or (dtype == "complex64" and self._device == "Ascend"):
            return no_npy(parts.dtype, self._device)
        while (name := self._file_name(parts)) in leaf.names:
            parts = parts._replace(timestamp_us=self._clock.tick())
        leaf.names.add(name)
        path = f"{leaf.path}/{leaf.shorten_name('mindspore', name, self._clock.random)}"
        return npy_file(path, content, TensorSpec(dtype, content.spec.shape), leaf.iteration)

    def _file_name(self, parts: FileName) -> str:
        name = format_name(parts, self._version, device=self._device)
        if "/" in name or "\0" in name:
            raise FormatError("dump/operator-name", got=name)
        return name

    def _arguments(self, leaf: TreeLeaf, op: Op) -> Iterator[NewFile]:
        """Yield an operator's settings, once an iteration; too long a name has no file."""
        full = op.name.replace(".", "_").replace("/", "_")
        name = f"{kernel_type(op.name)}.{full}.json"
        if name not in leaf.names and not is_too_long("mindspore", name):
            leaf.names.add(name)
            yield text_file(f"{leaf.path}/{name}", kernel_arguments(op), leaf.iteration)


def _files_of(graph: Graph) -> tuple[str, bytes | None, Sequence[str]]:
    """Return a graph as text and as protobuf, and the constants that both hold."""
    text = write_ms_text(graph)
    with suppress(GraphError):
        return text, *pb_and_constants(text, graph.graph_id)
    return text, None, ()


def _home(rank: int) -> str:
    """Folder of a rank."""
    return folder(row_of("mindspore"), {"rank": rank}, levels=1)


def _absent(graphs: Iterable[Graph], target: Target) -> Iterator[Slot]:
    """Tensors that a CPU has no files of."""
    for graph in graphs:
        for op in graph.ops:
            for slot, operand in enumerate(op.flat_inputs()):
                outside = graph.inner and isinstance(operand, Param)
                if outside or slot == UNREAD.get(op.op_type):
                    yield Slot(op.name, "input", slot)
        if release(target.version) >= HANDED_OVER:
            yield from handed_over(graph)


def no_npy(dtype: str, device: Platform) -> Message:
    """Say that a tensor of a type has no npy file."""
    return Message("dump/npy-never", dtype=dtype or "?", device=device)


@lru_cache(maxsize=256)
def stored_type(dtype: str, held: str, device: Platform) -> str:
    """Return the type of the elements of an npy file of MindSpore; empty if it writes none.

    ``dtype`` is the number format, ``held`` that of the elements in memory: the same, or a wider one.
    """
    wide = {} if device == "CPU" else WIDENED
    kinds = [wide.get(name, name) for name in (dtype, held)]
    try:
        for kind in kinds:
            npy_header(kind, ())
    except FormatError:
        return ""
    return kinds[1]


class Constant(NamedTuple):
    """A constant with its number; ``source`` has no data where the graph's text leaves them out."""

    number: int
    spec: TensorSpec
    source: Source


def constants_of(texts: Iterable[str]) -> Iterator[Constant]:
    """Yield the constants that are tensors, of texts in the order of their numbers.

    Each is dumped once, under the number that the ``.pb`` gives it. Monads have a number and no file, nor has text.
    Sources: MindSpore ``E2eDump::DumpConstantData`` and ``GetConstantId``; a real dump of 2.0.0, whose files are
    those of its ``.pb``.
    """
    for number, text in enumerate(texts):
        operand = parse_const(text)
        spec = None if text.startswith("@") else constant_spec(operand)
        if spec is not None:
            array = constant(operand)
            source = Outlined(spec) if array is None else ArraySource(array)
            yield Constant(number, spec, source)
