"""How MindSpore's trees of O0/O1, CPU and GPU grow: every name, folder and table, from records.

`Tree` decides what each record becomes; a `Sink` writes it or counts it. So what is predicted
(`workbench.dump.preview`) and what is written (`workbench.dump.writer`) come from the same lines.
The layout is that of ``dump_utils.cc`` and ``cpu_e2e_dump.cc`` (r2.6) and of real dumps::

    rank_{r}/.dump_metadata/{config,data_dump}.json                      CPU, GPU
    rank_{r}/graphs/ms_output_trace_code_graph_{g}.{ir,pb}
    rank_{r}/execution_order/ms_execution_order_graph_{g}.csv
    rank_{r}/execution_order/ms_global_execution_order_graph_{g}.csv     CPU, GPU
    rank_{r}/{net_name}/{graph_id}/{iteration}/{*.npy, statistic.csv, mapping.csv, *.json}
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from workbench.core.errors import FormatError, GraphError
from workbench.core.tensors import TensorSpec
from workbench.dump.choice import Choice, kernel_type
from workbench.dump.names import NameParts, format_name, is_too_long, release
from workbench.dump.npy import npy_header
from workbench.dump.statistic import categories_of, format_header, format_row
from workbench.graph.ops import bind
from workbench.ir.ms_pb_writer import pb_of_text
from workbench.ir.ms_text_writer import write_ms_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import TensorKey, TensorRecord
    from workbench.graph.nodes import Graph, Op

Device = Literal["CPU", "GPU", "Ascend"]

VERSION = "2.6.0"
"""MindSpore version whose names and columns are written unless another one is named."""

PARAMETER = "Parameter"

CONTROL_FLOW = frozenset(("Switch", "SwitchLayer", "Partial", "call", "Call", "switch", "partial"))
"""Types of MindSpore nodes that decide what runs; no kernel computes them, so nothing is dumped."""

CONTROL = "control flow decides what runs and has no kernel"
"""Why an operator of `CONTROL_FLOW` leaves no file."""

WIDENED = {"bfloat16": "float32", "int4": "int8"}
"""What Ascend and GPU write in place of types that NumPy does not know."""


@dataclass
class Clock:
    """Time and random numbers of a run, the same for the same seed; ``now`` is in microseconds."""

    seed: int = 0
    now: int = 1_700_000_000_000_000
    random: Random = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def tick(self) -> int:
        """Return the time of the next event, a little later than the last one."""
        self.now += self.random.randrange(200, 1200)
        return self.now

    def draw(self) -> int:
        """Return a number that replaces a name, as ``rand_r`` gives."""
        return self.random.randrange(10**8, 2**31)


class Target(NamedTuple):
    """Whose tree it is: device, MindSpore's version, text of the configuration.

    ``rank`` has a tree even if no record comes; the keys of records tell their own.
    """

    device: Device = "CPU"
    version: str = VERSION
    config_text: str | None = None
    rank: int = 0


class Content(NamedTuple):
    """A tensor about to become a file: what is in it, as far as that is known.

    ``shape`` is ``None`` if it is unknown, ``array`` if nothing is computed; ``nbytes`` are those
    of the elements in memory.
    """

    spec: TensorSpec
    nbytes: int = 0
    array: NDArray[Any] | None = None


class Sink(Protocol):
    """Where a tree goes to; paths are relative to its root, with slashes."""

    def content(self, record: TensorRecord) -> Content | None:
        """What a record holds; ``None`` if it has statistics alone."""
        ...

    def figures(
        self, content: Content, categories: Sequence[str]
    ) -> Mapping[str, float | int | str]:
        """Figures of a tensor under their column titles."""
        ...

    def leaf(self, path: str, iteration: int) -> None:
        """Take note of the folder of one iteration."""
        ...

    def text(self, path: str, text: str) -> None:
        """Take a text file."""
        ...

    def data(self, path: str, data: bytes) -> None:
        """Take a binary file."""
        ...

    def table(self, path: str, lines: Sequence[str]) -> None:
        """Take a statistic.csv, its header first."""
        ...

    def tensor(self, path: str, content: Content, stored: TensorSpec) -> None:
        """Take an npy file of the stored dtype and shape."""
        ...

    def skip(self, key: TensorKey, reason: str) -> None:
        """Take note of a tensor that was asked for and leaves no trace."""
        ...


@dataclass(slots=True)
class _Leaf:
    """A folder of one iteration, and the lines of its tables."""

    path: str
    rows: list[str] = field(default_factory=list)
    mapping: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


class Tree:
    """A tree while it grows.

    The first of ``graphs`` is the root graph, which has the record of executed iterations; there is
    at least one. ``choice`` tells which operators the plan means.
    """

    def __init__(
        self, plan: DumpPlan, graphs: Sequence[Graph], target: Target, clock: Clock, sink: Sink
    ) -> None:
        self._plan, self._graphs, self._sink, self._clock = plan, tuple(graphs), sink, clock
        self._device, self._version, self._config_text, self._own_rank = target
        self.choice = Choice(plan, graphs)
        self._categories = categories_of(self._version, plan.statistics)
        self._leaves: dict[tuple[int, int, int], _Leaf] = {}
        self._iterations: dict[int, dict[int, None]] = {}
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
            if not self._iterations:
                self._rank(self._own_rank)
        finally:
            self._finish()

    def _enter(self, key: TensorKey) -> None:
        """Prepare the folder of a rank when its first record comes, and note the iteration."""
        if min(key.rank, key.graph_id, key.iteration, key.slot) < 0:
            message = f"rank, graph, iteration and slot must not be negative, got {key!r}"
            raise FormatError(message)
        if key.rank not in self._iterations:
            self._rank(key.rank)
        known = self._iterations[key.rank]
        if key.iteration not in known and key.iteration in self._plan.iterations:
            known[key.iteration] = None

    def _wants(self, key: TensorKey) -> bool:
        is_parameter = key.op_type == PARAMETER
        if is_parameter and self._device == "Ascend" and release(self._version) >= (2, 3):
            return False
        kind = kernel_type(key.op_name)
        return self.choice.wants(key.op_name, kind, key.io, key.iteration, key.slot)

    def _rank(self, rank: int) -> None:
        """Write what does not depend on tensors: metadata, graphs, execution orders."""
        self._iterations[rank] = {}
        base = f"rank_{rank}"
        if self._device != "Ascend":
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

    def _graph(self, stem: str, graph: Graph) -> None:
        """Write a graph as text and as protobuf, which has no place for values of other graphs."""
        text = write_ms_text(graph)
        self._sink.text(f"{stem}.ir", text)
        with suppress(GraphError):
            self._sink.data(f"{stem}.pb", pb_of_text(text, graph.graph_id))

    def _finish(self) -> None:
        for leaf in self._leaves.values():
            if leaf.rows:
                lines = [format_header(self._categories), *leaf.rows]
                self._sink.table(f"{leaf.path}/statistic.csv", lines)
            if leaf.mapping:
                self._sink.text(f"{leaf.path}/mapping.csv", "".join(leaf.mapping))
        for rank, iterations in self._iterations.items():
            if self._device != "Ascend" and iterations:
                name = f"ms_global_execution_order_graph_{self._graphs[0].graph_id}.csv"
                path = f"rank_{rank}/execution_order/{name}"
                self._sink.text(path, "".join(f"{iteration}\n" for iteration in iterations))

    def _leaf(self, key: TensorKey) -> _Leaf:
        place = (key.rank, key.graph_id, key.iteration)
        if place not in self._leaves:
            net = f"rank_{key.rank}/{self._plan.net_name}"
            path = f"{net}/{key.graph_id}/{key.iteration}"
            self._sink.leaf(path, key.iteration)
            self._leaves[place] = _Leaf(path)
        return self._leaves[place]

    def _add(self, record: TensorRecord) -> None:
        key, leaf = record.key, self._leaf(record.key)
        content = self._sink.content(record)
        if content is not None and content.spec.size == 0:
            self._sink.skip(key, "the tensor is empty")
            return
        label = record.label
        dtype = label.dtype or (content.spec.dtype if content is not None else "")
        stream = 0 if key.op_type == PARAMETER else record.stream_id
        stamp = record.timestamp_us or self._clock.tick()
        parts = NameParts(
            key.op_type, key.op_name, 0, stream, stamp, key.io, key.slot, label.format, dtype
        )
        if self._plan.saved != "tensor":
            self._statistic(leaf, parts, record, content)
        if self._plan.saved != "statistic" and content is not None:
            refused = self._tensor(leaf, parts, content)
            if refused and self._plan.saved == "tensor":
                self._sink.skip(key, refused)
        if self._plan.kernel_args and key.op_name in self._ops:
            self._arguments(leaf, self._ops[key.op_name])

    def _statistic(
        self, leaf: _Leaf, parts: NameParts, record: TensorRecord, content: Content | None
    ) -> None:
        figures = record.statistics or {}
        shape, size = record.label.shape, 0
        if content is not None:
            figures = self._sink.figures(content, self._categories)
            shape, size = content.spec.shape, content.nbytes
        spec = TensorSpec(parts.dtype, shape)
        row = format_row(parts, spec, size, figures, self._categories, version=self._version)
        leaf.rows.append(row)

    def _tensor(self, leaf: _Leaf, parts: NameParts, content: Content) -> str:
        """Pass one npy file on; return why there is none for types that MindSpore leaves out."""
        dtype, shape, _ = content.spec
        if self._device != "CPU":
            dtype = WIDENED.get(dtype, dtype)
        if not is_stored(dtype) or (dtype == "complex64" and self._device == "Ascend"):
            return f"MindSpore writes no npy file of type {dtype or 'unknown'} on {self._device}"
        sample, size = self._plan.sample, content.spec.size
        if sample is not None and size is not None and size > sample:
            shape = (sample,)
        while (name := self._file_name(parts)) in leaf.names:
            parts = parts._replace(timestamp_us=self._clock.tick())
        leaf.names.add(name)
        path = f"{leaf.path}/{self._fitting(leaf, name)}"
        self._sink.tensor(path, content, TensorSpec(dtype, shape))
        return ""

    def _file_name(self, parts: NameParts) -> str:
        name = format_name(parts, self._version, device=self._device)
        if "/" in name or "\0" in name:
            message = f"type and name of an operator must fit a file name, got {name!r}"
            raise FormatError(message)
        return name

    def _fitting(self, leaf: _Leaf, name: str) -> str:
        """Return the name itself, or the number that replaces a name that is too long."""
        if not is_too_long(name):
            return name
        short = f"{self._clock.draw()}.npy"
        while short in leaf.names:
            short = f"{self._clock.draw()}.npy"
        leaf.names.add(short)
        leaf.mapping.append(f"{short},{name}\n")
        return short

    def _arguments(self, leaf: _Leaf, op: Op) -> None:
        """Pass an operator's settings on, once an iteration; too long a name has no file."""
        full = op.name.replace(".", "_").replace("/", "_")
        name = f"{kernel_type(op.name)}.{full}.json"
        if name not in leaf.names and not is_too_long(name):
            leaf.names.add(name)
            text = json.dumps(kernel_arguments(op), indent=4, sort_keys=True, ensure_ascii=False)
            self._sink.text(f"{leaf.path}/{name}", text)


@lru_cache(maxsize=256)
def is_stored(dtype: str) -> bool:
    """Whether an npy file of MindSpore can hold a number format."""
    try:
        npy_header(dtype, ())
    except FormatError:
        return False
    return True


def kernel_arguments(op: Op) -> dict[str, str]:
    """Return the settings of an operator as text; its attributes if its type is unknown."""
    try:
        settings = bind(op).settings
    except GraphError:
        settings = dict(op.attrs)
    return {name: _argument(value) for name, value in settings.items()}


def _argument(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"({', '.join(_argument(item) for item in value)})"
    return str(value)
