"""What lies beside the tensors of a dump: graphs, execution orders, metadata."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.core.formats import FORMATS, FormatWord
from workbench.core.words import Message
from workbench.dump.dump import Note
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.payload.blocks import FileSource
from workbench.dump.payload.extent import HostLayout
from workbench.dump.payload.host_layout import find
from workbench.graph_files.formats import read_graph
from workbench.run.layout import groups_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.core.tensors import TensorRecord, TensorSpec
    from workbench.dump.leaf import Found
    from workbench.dump.survey import RankRoot
    from workbench.graph.nodes import Graph, Op

_GRAPH_NAME = re.compile(r"ms_output_trace_code_graph_(\d{1,9})\.(?:ir|pb)", re.ASCII)
_SUFFIXES = (".ir", ".pb")
"""Of two files of a graph the earlier one says more."""

_ORDER_NAME = re.compile(r"ms_execution_order_graph_(\d{1,9})\.csv", re.ASCII)


class Side:
    """Graphs and orders by (rank, graph id); everything else goes to ``found``."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.graphs: dict[tuple[int, int], Graph] = {}
        self.orders: dict[tuple[int, int], tuple[str, ...]] = {}

    def rank(self, root: RankRoot, *, read_graphs: bool) -> None:
        """Graphs, execution orders and metadata of one rank of MindSpore."""
        base = Path(root.path)
        if read_graphs:
            self._graphs(root.rank, base / "graphs")
        for path in sorted(base.glob("execution_order/ms_execution_order_graph_*.csv")):
            found = _ORDER_NAME.fullmatch(path.name)
            if found:
                key = (root.rank, int(found[1]))
                self.orders[key] = tuple(line.strip() for line in self.found.lines(path)[1:])
        config = base / ".dump_metadata" / "config.json"
        if config.is_file():
            self._metadata(config)

    def _graphs(self, rank: int, folder: Path) -> None:
        """Graphs of one rank: each from its ``.ir`` file, or else from its ``.pb``."""
        done: set[str] = set()
        for suffix in _SUFFIXES:
            for path in sorted(folder.glob(f"*{suffix}")):
                found = _GRAPH_NAME.fullmatch(path.name)
                if not found or found[1] in done:
                    continue
                graph = self._read(path)
                if graph is None:
                    continue
                done.add(found[1])
                self._add((rank, graph.graph_id), graph)
                if graph.dialect.startswith("pb"):
                    self.found.notes.append(Note("graph", path.name, Message("dump/graph-pb")))

    def _read(self, path: Path) -> Graph | None:
        try:
            return read_graph(path)
        except FormatError as error:
            self.found.notes.append(Note("graph", path.name, error.message))
            return None

    def _add(self, key: tuple[int, int], graph: Graph) -> None:
        self.graphs[key] = graph if graph.graph_id == key[1] else graph.with_id(key[1])
        if graph.unknown_lines:
            detail = Message("dump/graph-lines", lines=graph.unknown_lines)
            note = Note("graph", Path(graph.path).name, detail)
            if note not in self.found.notes:
                self.found.notes.append(note)

    def _metadata(self, path: Path) -> None:
        try:
            data = json.loads("\n".join(self.found.lines(path)))
        except (ValueError, RecursionError) as error:
            self.found.notes.append(
                Note("unreadable", path.name, Message("dump/json", why=str(error)))
            )
            return
        if isinstance(data, dict):
            self.found.info |= {str(key): str(value) for key, value in data.items()}

    def given_graph(self, path: Path) -> None:
        """Use one graph for every rank; where a dump has tensors of one graph only, for that one."""
        graph = read_graph(path)
        places = {(record.key.rank, record.key.graph_id) for record in self.found.records}
        for rank in {rank for rank, _ in places} or {0}:
            ids = sorted(graph_id for r, graph_id in places if r == rank)
            if graph.dialect == "ge" and ids:
                for graph_id in ids:
                    self._add((rank, graph_id), graph)
            else:
                self._add((rank, graph.graph_id if len(ids) != 1 else ids[0]), graph)

    def model_graphs(self, named: Mapping[str, str], own: Mapping[int, Mapping[str, str]]) -> None:
        """Graphs of the graph engine's files for the models that they name; ``own`` are those of a rank."""
        if not named:
            return
        known: dict[str, Graph | None] = {}
        at = {(r.key.net_name, r.key.rank, r.key.graph_id) for r in self.found.records}
        for name, rank, graph_id in sorted(at):
            if name not in named:
                continue
            path = own.get(rank, named).get(name, named[name])
            if path not in known:
                known[path] = self._read(Path(path))
            graph = known[path]
            if graph is not None:
                self._add((rank, graph_id), graph)

    def with_hosts(self, records: list[TensorRecord]) -> list[TensorRecord]:
        """Return the records, data in a device format with the host layout that their graph states."""
        if not self.graphs:
            return records
        tables: dict[tuple[int, int], dict[str, Op]] = {}
        return [self._with_host(record, tables) for record in records]

    def _with_host(
        self, record: TensorRecord, tables: dict[tuple[int, int], dict[str, Op]]
    ) -> TensorRecord:
        key = record.key
        place = key.rank, key.graph_id
        if place not in self.graphs or not (_lies_on_device(record) or _is_summed(record)):
            return record
        if place not in tables:
            tables[place] = {sanitize(op.name): op for op in self.graphs[place].ops}
        op = tables[place].get(key.op_name)
        specs = (op.outputs if key.io == "output" else op.input_specs) if op is not None else ()
        spec = specs[key.slot] if key.slot < len(specs) else None
        return record if op is None or spec is None else _told(record, spec, op)


def _told(record: TensorRecord, spec: TensorSpec, op: Op) -> TensorRecord:
    """A record with what its graph states of the data."""
    if isinstance(record.source, FileSource):
        stated = HostLayout(spec.shape, spec.format, groups_of(op))
        return replace(record, source=record.source.with_host(stated))
    if record.source is None and spec.shape is not None:
        return replace(record, label=_padded(record.label, spec.shape))
    return record


def _is_summed(record: TensorRecord) -> bool:
    """Whether there is but a row of statistics that states no format."""
    return record.source is None and record.label.shape is not None and not record.label.format


def _padded(label: TensorSpec, host: tuple[int, ...]) -> TensorSpec:
    """Add to the label of statistics the device format that gives the host's shape the label's.

    MindSpore sums up what lies on the device if ``trans_flag`` is false, and its tables have no column
    for formats. Of several that fit, any has the same padding.
    """
    if label.shape is None or label.size == prod(host):
        return label
    for row in FORMATS.values():
        if row.device and find(FormatWord(row.name), label.shape, host, label.dtype):
            return label._replace(format=row.name)
    return label


def _lies_on_device(record: TensorRecord) -> bool:
    return isinstance(record.source, FileSource) and record.source.is_device_format
