"""How MindSpore's trees of O0/O1, CPU and GPU grow: every name, folder and table, from records.

`Tree` decides what each record becomes; a `Sink` writes it or counts it. So what is predicted
(`workbench.dump.write.preview`) and what is written (`workbench.dump.write.writer`) come from the same lines.
The layout is that of ``dump_utils.cc`` and ``cpu_e2e_dump.cc`` (r1.3 to r2.7) and of real dumps; which
release writes what of it says `workbench.dump.releases`::

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
from functools import lru_cache
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError, GraphError
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.formats.file import FileName
from workbench.dump.formats.mindspore_name import format_name
from workbench.dump.formats.npy import npy_header
from workbench.dump.formats.renamed import is_too_long
from workbench.dump.layouts import folder, row_of
from workbench.dump.releases import (
    CONSTANTS_APART,
    FULL_NAMES,
    RENAMED,
    Device,
    release,
    writes,
)
from workbench.dump.reports.kernel_args import kernel_arguments
from workbench.dump.selection import Choice, kernel_type
from workbench.dump.statistics.statistic import (
    categories_of,
    format_header,
    format_row,
    name_in_table,
)
from workbench.dump.write.constants import constants_of
from workbench.dump.write.device_layout import lie_of
from workbench.dump.write.sink import Content
from workbench.dump.write.tree_leaf import TreeLeaf
from workbench.graph.nodes import Param
from workbench.graph_files.mindspore.spelling import respelled
from workbench.graph_files.mindspore.write_pb import OLD_SCOPE, SCOPE, pb_and_constants
from workbench.graph_files.mindspore.write_text import write_ms_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.dump.write.sink import Clock, Sink
    from workbench.dump.write.target import Target
    from workbench.graph.nodes import Graph, Op


PARAMETER = "Parameter"

CONTROL_FLOW = frozenset(("Switch", "SwitchLayer", "Partial", "call", "Call", "switch", "partial"))
"""Types of MindSpore nodes that decide what runs; no kernel computes them, so nothing is dumped."""

CONTROL = Message("dump/control-flow")
"""Why an operator of `CONTROL_FLOW` leaves no file."""

WIDENED = {"bfloat16": "float32", "int4": "int8", "uint1": "uint8"}
"""What Ascend and GPU write in place of types that NumPy does not know."""


class Tree:
    """A tree while it grows.

    Graphs that others call (`workbench.graph.nodes.Graph.inner`) have no files of their parameters, and a CPU
    has none of what their operators read from outside: it lies in no memory of the graph. The record of
    executed iterations has the number of the graph where an iteration begins; a CPU leaves out an iteration
    with the number of the one before. ``choice`` tells which operators the plan means.
    """

    def __init__(
        self, plan: DumpPlan, graphs: Sequence[Graph], target: Target, clock: Clock, sink: Sink
    ) -> None:
        self._plan, self._graphs, self._sink, self._clock = plan, tuple(graphs), sink, clock
        self._device, self._version, self._config_text, self._own_rank, self._ran = target
        self._release = release(self._version)
        self.choice = Choice(plan, graphs)
        self._categories = categories_of(self._version, plan.statistics)
        self._leaves: dict[tuple[int, int, int | None], TreeLeaf] = {}
        self._constants: dict[int, list[TensorRecord]] = {}
        self._orders: dict[int, dict[int, list[int]]] = {}
        self._last: dict[int, int] = {}
        inner = [graph for graph in graphs if graph.inner]
        self._inner = {graph.graph_id for graph in inner}
        self._elsewhere = set(_outside(inner)) if self._device == "CPU" else set()
        self._ops = {op.name: op for graph in graphs for op in graph.ops}

    def take(
        self, records: Iterable[TensorRecord], done: Callable[[TensorKey], None] | None = None
    ) -> None:
        """Hand the records on in their order, and the tables even if the records end in an error.

        ``done`` is told of every tensor that was wanted.
        """
        try:
            for record in records:
                self._enter(record.key)
                if self._wants(record.key):
                    self._add(record)
                    if done is not None:
                        done(record.key)
            if not self._orders:
                self._rank(self._own_rank)
        finally:
            self._finish()

    def _enter(self, key: TensorKey) -> None:
        """Prepare the folder of a rank when its first record comes, and note the iteration."""
        if min(key.rank, key.graph_id, key.iteration, key.slot) < 0:
            numbers = {
                name: getattr(key, name) for name in ("rank", "graph_id", "iteration", "slot")
            }
            raise FormatError("dump/negative-number", place=key.op_name, **numbers)
        if key.rank not in self._orders:
            self._rank(key.rank)
        if self._last.get(key.rank) != key.iteration:
            self._last[key.rank] = key.iteration
            if key.iteration in self._plan.iterations:
                self._orders[key.rank].setdefault(key.graph_id, []).append(key.iteration)

    def _wants(self, key: TensorKey) -> bool:
        is_parameter = key.op_type == PARAMETER
        if is_parameter and not writes("parameters", self._device, self._version):
            return False
        if key.graph_id in self._inner and (
            is_parameter or (key.io == "input" and (key.op_name, key.slot) in self._elsewhere)
        ):
            return False
        kind = kernel_type(key.op_name)
        return self.choice.wants(key.op_name, kind, key.io, key.iteration, key.slot)

    def _rank(self, rank: int) -> None:
        """Write what does not depend on tensors: metadata, graphs, execution orders, constants."""
        self._orders[rank] = {}
        base = _home(rank)
        if writes("metadata", self._device, self._version):
            words = {"device_target": self._device, "ms_version": self._version}
            text = json.dumps(words, separators=(",", ":"), sort_keys=True)
            self._sink.text(f"{base}/.dump_metadata/config.json", text)
            if self._config_text is not None:
                self._sink.text(f"{base}/.dump_metadata/data_dump.json", self._config_text)
        for graph in self._graphs:
            self._graph(f"{base}/graphs/ms_output_trace_code_graph_{graph.graph_id}", graph)
            names = ["NodeExecutionOrder-FullNameWithScope", *(op.name for op in graph.ops)]
            order = f"ms_execution_order_graph_{graph.graph_id}.csv"
            self._sink.text(f"{base}/execution_order/{order}", "\n".join(names) + "\n")
            if self._release >= CONSTANTS_APART:
                for record in self._constants[graph.graph_id]:
                    leaf = self._leaf(record.key._replace(rank=rank), constants=True)
                    self._put(leaf, record)

    def _graph(self, stem: str, graph: Graph) -> None:
        """Write a graph as text and as protobuf, which has no place for values of other graphs."""
        key = ("files", self._release, graph.graph_id)
        if key not in graph.kept:
            graph.kept[key] = self._files_of(graph)
        text, data, constants = graph.kept[key]
        self._sink.text(f"{stem}.ir", text)
        if data is not None:
            self._sink.data(f"{stem}.pb", data)
        self._constants[graph.graph_id] = list(self._constant_records(graph, constants))

    def _files_of(self, graph: Graph) -> tuple[str, bytes | None, Sequence[str]]:
        """Return a graph as text and as protobuf, and the constants that both hold."""
        text = write_ms_text(graph)
        with suppress(GraphError):
            scope = SCOPE if self._release >= FULL_NAMES else OLD_SCOPE
            return respelled(text, self._release), *pb_and_constants(text, graph.graph_id, scope)
        return respelled(text, self._release), None, ()

    def _constant_records(self, graph: Graph, texts: Iterable[str]) -> Iterator[TensorRecord]:
        """Yield the constants that are dumped; operator lists choose them by their names in the graph."""
        if "output" not in self._plan.io or not writes("constants", self._device, self._version):
            return
        apart = self._release >= CONSTANTS_APART
        for number, spec, source in constants_of(texts):
            if self.choice.selects(f"Default/data-{number}", "data"):
                name = f"data-{number}" if apart else f"cst{number + 1}"
                key = TensorKey(PARAMETER, name, "output", 0, graph.graph_id)
                yield TensorRecord(key, TensorSpec(spec.dtype, spec.shape), source)

    def _finish(self) -> None:
        for leaf in self._leaves.values():
            leaf.finish(self._sink, format_header(self._categories))
        if not writes("global order", self._device, self._version):
            return
        for rank, dumped in self._orders.items():
            orders = dumped if self._device == "CPU" else self._ran or dumped
            for graph_id, iterations in orders.items():
                order = f"ms_global_execution_order_graph_{graph_id}.csv"
                path = f"{_home(rank)}/execution_order/{order}"
                self._sink.text(path, "".join(f"{iteration}\n" for iteration in iterations))

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
            path = folder(row, values)
            self._sink.leaf(path, iteration)
            self._leaves[place] = TreeLeaf(path)
            if self._release < CONSTANTS_APART:
                for record in self._constants[key.graph_id]:
                    self._put(self._leaves[place], record)
        return self._leaves[place]

    def _add(self, record: TensorRecord) -> None:
        key, leaf = record.key, self._leaf(record.key)
        refused = self._put(leaf, record)
        if refused is not None:
            self._sink.skip(key, refused)
        if self._plan.kernel_args and key.op_name in self._ops:
            self._arguments(leaf, self._ops[key.op_name])

    def _put(self, leaf: TreeLeaf, record: TensorRecord) -> Message | None:
        """Hand one tensor on, and its row; return why it leaves no trace."""
        key, label = record.key, record.label
        content = self._sink.content(record)
        if content is not None and content.spec.size == 0:
            return Message("dump/tensor-empty")
        form, dtype = label.format, label.dtype
        if content is not None:
            dtype = dtype or content.spec.dtype
            form, content = self._laid(record, content)
        stream = 0 if key.op_type == PARAMETER else record.stream_id
        stamp = record.timestamp_us or self._clock.tick()
        parts = FileName(
            "npy", key.op_type, key.op_name, stamp, 0, stream, key.io, key.slot, form, dtype
        )
        if content is None and self._plan.saved == "tensor":
            return None
        sample = content if content is None else self._sampled(content)
        refused = None
        if self._plan.saved != "statistic" and sample is not None:
            refused = self._tensor(leaf, parts, sample)
        if self._plan.saved != "tensor":
            self._statistic(leaf, parts, record, content, sample)
            refused = None
        return refused

    def _sampled(self, content: Content) -> Content:
        """Return the first elements of a tensor that has more than the plan keeps."""
        keep, size = self._plan.sample, content.spec.size
        if keep is None or size is None or size <= keep:
            return content
        array = None if content.array is None else content.array.reshape(-1)[:keep]
        return Content(content.spec._replace(shape=(keep,)), content.nbytes // size * keep, array)

    def _laid(self, record: TensorRecord, content: Content) -> tuple[str, Content]:
        """Return the format in which a tensor is dumped, and the tensor in it."""
        label, spec, op = record.label, content.spec, self._ops.get(record.key.op_name)
        host_format = self._plan.host_format or self._device != "Ascend"
        lie = lie_of(record.key, label, spec, op, host_format=host_format)
        named = lie.held or (lie.is_cut and lie.shape is not None)
        return (lie.format if named else "DefaultFormat"), content.laid(lie)

    def _statistic(
        self,
        leaf: TreeLeaf,
        parts: FileName,
        record: TensorRecord,
        content: Content | None,
        sample: Content | None,
    ) -> None:
        """Add a row: the host sums a sample up, a device the whole tensor."""
        figures = record.statistics or {}
        shape, size = record.label.shape, 0
        if content is not None and sample is not None:
            on_device = self._plan.statistics_on == "device"
            summed = content if on_device else sample
            precision = self._plan.statistics_precision if on_device else ""
            figures = self._sink.figures(summed, self._categories, precision)
            shape, size = sample.spec.shape, summed.nbytes
        parts = parts._replace(op_name=name_in_table(parts, self._version))
        spec = TensorSpec(parts.dtype, shape)
        row = format_row(parts, spec, size, figures, self._categories, version=self._version)
        leaf.rows.append(row)

    def _tensor(self, leaf: TreeLeaf, parts: FileName, content: Content) -> Message | None:
        """Pass one npy file on; return why there is none."""
        shape = content.spec.shape
        dtype = stored_type(parts.dtype, content.spec.dtype, self._device)
        if not dtype or (dtype == "complex64" and self._device == "Ascend"):
            return no_npy(parts.dtype, self._device)
        while (name := self._file_name(parts)) in leaf.names:
            parts = parts._replace(timestamp_us=self._clock.tick())
        leaf.names.add(name)
        path = f"{leaf.path}/{leaf.fitting('mindspore', name, self._clock.random)}"
        if self._release < RENAMED and is_too_long("mindspore", name):
            return Message("dump/name-too-long", version=self._version)
        self._sink.tensor(path, content, TensorSpec(dtype, shape))
        return None

    def _file_name(self, parts: FileName) -> str:
        name = format_name(parts, self._version, device=self._device)
        if "/" in name or "\0" in name:
            raise FormatError("dump/operator-name", got=name)
        return name

    def _arguments(self, leaf: TreeLeaf, op: Op) -> None:
        """Pass an operator's settings on, once an iteration; too long a name has no file."""
        full = op.name.replace(".", "_").replace("/", "_")
        name = f"{kernel_type(op.name)}.{full}.json"
        if name not in leaf.names and not is_too_long("mindspore", name):
            leaf.names.add(name)
            self._sink.text(f"{leaf.path}/{name}", kernel_arguments(op))


def _home(rank: int) -> str:
    """Folder of a rank."""
    return folder(row_of("mindspore"), {"rank": rank}, levels=1)


def _outside(graphs: Iterable[Graph]) -> Iterator[tuple[str, int]]:
    """Inputs of operators, by name and slot, that no operator of their graph writes."""
    for graph in graphs:
        for op in graph.ops:
            for slot, operand in enumerate(op.flat_inputs()):
                if isinstance(operand, Param):
                    yield op.name, slot


def no_npy(dtype: str, device: Device) -> Message:
    """Say that a tensor of a type has no npy file."""
    return Message("dump/npy-never", dtype=dtype or "?", device=device)


@lru_cache(maxsize=256)
def stored_type(dtype: str, held: str, device: Device) -> str:
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
