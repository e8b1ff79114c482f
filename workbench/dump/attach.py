"""What lies beside the tensors of a dump: graphs, execution orders, metadata."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from itertools import chain
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
from workbench.dump.readers import read_lines
from workbench.graph_files.formats import most_telling_first, read_graph
from workbench.run.layout import groups_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.core.tensors import TensorRecord, TensorSpec
    from workbench.dump.survey import RankRoot
    from workbench.graph.nodes import Graph, Op

    Place = tuple[int, int]
    """Rank and graph id."""

_GRAPH_NAME = re.compile(r"ms_output_trace_code_graph_(\d{1,9})\.\w{1,8}", re.ASCII)
_ORDER_NAME = re.compile(r"ms_execution_order_graph_(\d{1,9})\.csv", re.ASCII)


@dataclass(frozen=True, slots=True)
class Attached:
    """What lies beside the tensors: graphs and orders by rank and graph id, metadata, and what is wrong."""

    graphs: dict[Place, Graph] = field(default_factory=dict)
    orders: dict[Place, tuple[str, ...]] = field(default_factory=dict)
    info: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


def join(parts: Iterable[Attached]) -> Attached:
    """Put together what several places had; of one and the same key the later counts."""
    parts = list(parts)
    return Attached(
        {key: graph for one in parts for key, graph in one.graphs.items()},
        {key: order for one in parts for key, order in one.orders.items()},
        {key: text for one in parts for key, text in one.info.items()},
        tuple(dict.fromkeys(chain.from_iterable(one.notes for one in parts))),
    )


def read_rank(root: RankRoot, *, with_graphs: bool) -> Attached:
    """Read graphs, execution orders and metadata of one rank of MindSpore."""
    base = Path(root.path)
    graphs = _rank_graphs(root.rank, base / "graphs") if with_graphs else ()
    config = base / ".dump_metadata" / "config.json"
    metadata = [_metadata(config)] if config.is_file() else []
    return join([*graphs, *_orders(root.rank, base), *metadata])


def _rank_graphs(rank: int, folder: Path) -> Iterator[Attached]:
    """Graphs of one rank: each from the file that says most of it, or else from the next."""
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir() if folder.is_dir() else ()):
        if found := _GRAPH_NAME.fullmatch(path.name):
            files.setdefault(found[1], []).append(path)
    for number, paths in files.items():
        for path in most_telling_first(paths):
            graph, notes = _read(path)
            yield Attached(notes=notes)
            if graph is not None:
                yield _placed(graph, [(rank, int(number))])
                if graph.dialect.startswith("pb"):
                    yield Attached(notes=(Note("graph", path.name, Message("dump/graph-pb")),))
                break


def _orders(rank: int, base: Path) -> Iterator[Attached]:
    for path in sorted(base.glob("execution_order/ms_execution_order_graph_*.csv")):
        if found := _ORDER_NAME.fullmatch(path.name):
            lines, notes = read_lines(path)
            order = tuple(line.strip() for line in lines[1:])
            yield Attached(orders={(rank, int(found[1])): order}, notes=notes)


def _metadata(path: Path) -> Attached:
    lines, notes = read_lines(path)
    try:
        data = json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        why = Message("dump/json", why=str(error))
        return Attached(notes=(*notes, Note("unreadable", path.name, why)))
    info = {str(key): str(value) for key, value in data.items()} if isinstance(data, dict) else {}
    return Attached(info=info, notes=notes)


def _read(path: Path) -> tuple[Graph | None, tuple[Note, ...]]:
    try:
        return read_graph(path), ()
    except FormatError as error:
        return None, (Note("graph", path.name, error.message),)


def _placed(graph: Graph, places: Iterable[Place]) -> Attached:
    """One graph at several places, and a note if not all of it was understood."""
    graphs = {
        place: graph if graph.graph_id == place[1] else graph.with_id(place[1]) for place in places
    }
    detail = Message("dump/graph-lines", lines=graph.unknown_lines)
    note = Note("graph", Path(graph.path).name, detail)
    return Attached(graphs, notes=(note,) if graphs and graph.unknown_lines else ())


def given_graph(path: Path, records: Iterable[TensorRecord]) -> Attached:
    """Read one graph for every rank; where a dump has tensors of one graph only, it is for that one."""
    graph = read_graph(path)
    found = {record.key.graph_key for record in records}
    places: list[Place] = []
    for rank in {rank for rank, _ in found} or {0}:
        ids = sorted(graph_id for r, graph_id in found if r == rank)
        if graph.dialect == "ge" and ids:
            places += [(rank, graph_id) for graph_id in ids]
        else:
            places.append((rank, graph.graph_id if len(ids) != 1 else ids[0]))
    return _placed(graph, places)


def model_graphs(
    records: Iterable[TensorRecord],
    named: Mapping[str, str],
    own: Mapping[int, Mapping[str, str]],
) -> Attached:
    """Read the graph engine's files for the models that they name; ``own`` are those of a rank."""
    if not named:
        return Attached()
    files: dict[str, list[Place]] = {}
    for name, rank, graph_id in sorted({(r.key.net_name, *r.key.graph_key) for r in records}):
        if name in named:
            path = own.get(rank, named).get(name, named[name])
            files.setdefault(path, []).append((rank, graph_id))
    found: list[Attached] = []
    for path, places in files.items():
        graph, notes = _read(Path(path))
        found.append(Attached(notes=notes) if graph is None else _placed(graph, places))
    return join(found)


def with_hosts(
    records: Sequence[TensorRecord], graphs: Mapping[Place, Graph]
) -> list[TensorRecord]:
    """Return the records, data in a device format with the host layout that their graph states."""
    tables: dict[Place, dict[str, Op]] = {}
    return [_with_host(record, graphs, tables) for record in records] if graphs else list(records)


def _with_host(
    record: TensorRecord, graphs: Mapping[Place, Graph], tables: dict[Place, dict[str, Op]]
) -> TensorRecord:
    """One record; ``tables`` are the operators of graphs by name, made as they are asked for."""
    key = record.key
    place = key.graph_key
    if place not in graphs or not (_lies_on_device(record) or _is_summed(record)):
        return record
    if place not in tables:
        tables[place] = {sanitize(op.name): op for op in graphs[place].ops}
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
