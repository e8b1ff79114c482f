"""What lies beside the tensors of a dump: graphs, execution orders, metadata, what golden data were made of."""

from __future__ import annotations

import json
import re
from dataclasses import field, replace
from itertools import chain
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from workbench import ops
from workbench._values import dataclass
from workbench.core.errors import FormatError
from workbench.core.files import folder_files, is_file
from workbench.core.formats import FORMATS, FormatWord
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump import payload
from workbench.dump.dump import Note
from workbench.dump.formats.ge_name import INPUTS, ROLES, input_files, standard_name
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.formats.npy import NpySource
from workbench.dump.index import COMMON, IO, index_of
from workbench.dump.payload.blocks import FileSource
from workbench.dump.payload.extent import HostLayout
from workbench.graph_files.formats import most_telling_first, read_graph
from workbench.graph_files.onnx.dialect import DIALECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from workbench.core.tensors import Source
    from workbench.dump.index import Index
    from workbench.dump.reports.golden_roles import Role
    from workbench.dump.survey import RankRoot
    from workbench.graph.graph import Graph, Op

    Place = tuple[int, int]
    """Rank and graph id."""

_GRAPH_NAME = re.compile(r"ms_output_trace_code_graph_(\d{1,9})\.\w{1,8}", re.ASCII)
_ORDER_NAME = re.compile(r"ms_execution_order_graph_(\d{1,9})\.csv", re.ASCII)


@dataclass(frozen=True, slots=True)
class SideFiles:
    """What lies beside the tensors: graphs and orders by rank and graph id, metadata, and what is wrong."""

    graphs: dict[Place, Graph] = field(default_factory=dict)
    orders: dict[Place, tuple[str, ...]] = field(default_factory=dict)
    info: dict[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


def join(parts: Iterable[SideFiles]) -> SideFiles:
    """Put together what several places had; of one and the same key the later counts."""
    parts = list(parts)
    return SideFiles(
        {key: graph for one in parts for key, graph in one.graphs.items()},
        {key: order for one in parts for key, order in one.orders.items()},
        {key: text for one in parts for key, text in one.info.items()},
        tuple(dict.fromkeys(chain.from_iterable(one.notes for one in parts))),
    )


def read_rank(root: RankRoot, *, with_graphs: bool) -> SideFiles:
    """Read graphs, execution orders and metadata of one rank of MindSpore."""
    base = Path(root.path)
    graphs = _rank_graphs(root.rank, base / "graphs") if with_graphs else ()
    config = base / ".dump_metadata" / "config.json"
    metadata = [_metadata(config)] if is_file(config) else []
    return join([*graphs, *_orders(root.rank, base), *metadata])


def _rank_graphs(rank: int, folder: Path) -> Iterator[SideFiles]:
    """Graphs of one rank: each from the file that says most of it, or else from the next."""
    files: dict[str, list[Path]] = {}
    for name in folder_files(folder):
        if found := _GRAPH_NAME.fullmatch(name):
            files.setdefault(found[1], []).append(folder / name)
    for number, paths in files.items():
        for path in most_telling_first(paths):
            graph, notes = _read(path)
            yield SideFiles(notes=notes)
            if graph is not None:
                yield _placed(graph, [(rank, int(number))])
                if graph.dialect.startswith("pb"):
                    yield SideFiles(notes=(Note("graph", path.name, Message("dump/graph-pb")),))
                break


def _orders(rank: int, base: Path) -> Iterator[SideFiles]:
    from workbench.dump.readers import read_lines

    folder = base / "execution_order"
    for name in folder_files(folder):
        if found := _ORDER_NAME.fullmatch(name):
            lines, notes = read_lines(folder / name)
            order = tuple(line.strip() for line in lines[1:])
            yield SideFiles(orders={(rank, int(found[1])): order}, notes=notes)


def _metadata(path: Path) -> SideFiles:
    from workbench.dump.readers import read_lines

    lines, notes = read_lines(path)
    try:
        data = json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        why = Message("dump/json", why=str(error))
        return SideFiles(notes=(*notes, Note("unreadable", path.name, why)))
    info = {str(key): str(value) for key, value in data.items()} if isinstance(data, dict) else {}
    return SideFiles(info=info, notes=notes)


def _read(path: Path) -> tuple[Graph | None, tuple[Note, ...]]:
    try:
        return read_graph(path), ()
    except FormatError as error:
        return None, (Note("graph", path.name, error.message),)


def _placed(graph: Graph, places: Iterable[Place]) -> SideFiles:
    """One graph at several places, and a note if not all of it was understood."""
    graphs = {
        place: graph if graph.graph_id == place[1] else graph.with_id(place[1]) for place in places
    }
    name, notes = Path(graph.path).name, []
    if graph.is_excerpt:
        notes.append(Message("dump/graph-excerpt", operators=len(graph.ops)))
    if graph.unknown_lines:
        notes.append(Message("dump/graph-lines", lines=graph.unknown_lines))
    return SideFiles(graphs, notes=tuple(Note("graph", name, note) for note in notes if graphs))


def given_graph(path: Path, index: Index) -> SideFiles:
    """Read one graph for every rank; where a dump has tensors of one graph only, it is for that one."""
    graph = _with_branches(read_graph(path), index)
    found = {(one.rank, one.graph_id) for one in index.places_used}
    places: list[Place] = []
    for rank in {rank for rank, _ in found} or {0}:
        ids = sorted(graph_id for r, graph_id in found if r == rank)
        if graph.dialect == "ge" and ids:
            places += [(rank, graph_id) for graph_id in ids]
        else:
            places.append((rank, graph.graph_id if len(ids) != 1 else ids[0]))
    return _placed(graph, places)


def _with_branches(graph: Graph, index: Index) -> Graph:
    """Return a graph of ONNX with the branches that a run has taken: those that have files."""
    if graph.dialect != DIALECT or not graph.subgraphs:
        return graph
    names = {standard_name(name) for name in index.op_names}
    from workbench.graph_files.onnx.branches import branch_that_has, with_branches

    return with_branches(graph, branch_that_has(graph, lambda name: standard_name(name) in names))


def model_graphs(
    index: Index,
    named: Mapping[str, str],
    own: Mapping[int, Mapping[str, str]],
) -> SideFiles:
    """Read the graph engine's files for the models that they name; ``own`` are those of a rank."""
    if not named:
        return SideFiles()
    files: dict[str, list[Place]] = {}
    used = {(one.net_name, one.rank, one.graph_id) for one in index.places_used}
    for name, rank, graph_id in sorted(used):
        if name in named:
            path = own.get(rank, named).get(name, named[name])
            files.setdefault(path, []).append((rank, graph_id))
    found: list[SideFiles] = []
    for path, places in files.items():
        graph, notes = _read(Path(path))
        found.append(SideFiles(notes=notes) if graph is None else _placed(graph, places))
    return join(found)


def golden_inputs(folder: str, graphs: Mapping[Place, Graph]) -> Index:
    """Return what golden data have of their network's inputs, by the names in the graph."""
    files = Path(folder, INPUTS)
    named = (
        (place, name, files / file_name)
        for place, graph in graphs.items()
        for name, file_name in input_files(
            one.name for one in graph.parameters if not one.is_weight
        ).items()
    )
    return index_of(_fed(named))


def unnamed_inputs(folder: str) -> tuple[TensorRecord, ...]:
    """Return what golden data have of their network's inputs, by the names of the files; at most a thousand."""
    inside = Path(folder, INPUTS)
    names = [name for name in folder_files(inside) if name.endswith(".npy")][:1000]
    return tuple(_fed(((0, 0), name.removesuffix(".npy"), inside / name) for name in names))


def golden_roles(folder: str) -> tuple[Mapping[str, Role], tuple[Note, ...]]:
    """Return what golden data say of their files, by path, and what is wrong with it; nothing is opened for it."""
    path = Path(folder, ROLES)
    if not is_file(path):
        return MappingProxyType({}), ()
    from workbench.dump.readers import read_lines

    lines, notes = read_lines(path)
    from workbench.dump.reports.golden_roles import parse_roles

    roles, wrong = parse_roles(lines)
    placed = {
        f"{folder}/{file}": role._replace(of=role.of and f"{folder}/{role.of}")
        for file, role in roles.items()
    }
    told = (Note("mapping", ROLES, one) for one in wrong)
    return MappingProxyType(placed), (*notes, *told)


def _fed(named: Iterable[tuple[Place, str, Path]]) -> Iterator[TensorRecord]:
    for (rank, graph_id), name, path in named:
        if is_file(path):
            key = TensorKey("Parameter", name, "output", 0, graph_id, rank=rank)
            yield TensorRecord(key, TensorSpec("", None), NpySource(str(path)), path=str(path))


def with_hosts(index: Index, graphs: Mapping[Place, Graph]) -> Index:
    """Return the tensors, data in a device format with the host layout that their graph states."""
    kinds, labels, extras = [*index.kinds], [*index.labels], dict(index.extras)
    rows = index.rows.copy()
    known: dict[tuple[int, HostLayout], int] = {}

    for row, spec, op in _stated(index, graphs):
        stated, one = (
            HostLayout(spec.shape, spec.format, ops.groups_of(op)),
            extras.get(row, COMMON),
        )
        kind = int(rows["kind"][row])
        if isinstance(source := kinds[kind], FileSource):
            new = known.setdefault((kind, stated), len(kinds))
            if new == len(kinds):
                kinds.append(source.with_host(stated))
            rows["kind"][row] = new
        elif isinstance(one.source, FileSource):
            extras[row] = one._replace(source=one.source.with_host(stated))
        elif spec.shape is not None:
            labels.append(_padded(labels[rows["label"][row]], spec.shape))
            rows["label"][row] = len(labels) - 1
    rows.setflags(write=False)
    return replace(index, rows=rows, kinds=tuple(kinds), labels=tuple(labels), extras=extras)


def _stated(index: Index, graphs: Mapping[Place, Graph]) -> Iterator[tuple[int, TensorSpec, Op]]:
    """Number of each tensor of which a graph says more, and what it says."""
    tables: dict[Place, dict[str, Op]] = {}
    has_graph = np.array([(one.rank, one.graph_id) in graphs for one in index.places], np.bool_)
    rows = _unsettled(index)
    for row in rows[has_graph[index.rows["place"][rows]]].tolist():
        one = index.rows[row]
        place = index.places[one["place"]]
        at = place.rank, place.graph_id
        if at not in tables:
            tables[at] = {sanitize(op.name): op for op in graphs[at].ops}
        op, slot = tables[at].get(index.op_names[one["op_name"]]), int(one["slot"])
        if op is None:
            continue
        specs = op.outputs if IO[one["io"]] == "output" else op.input_specs
        if slot < len(specs) and (spec := specs[slot]) is not None:
            yield row, spec, op


def _unsettled(index: Index) -> NDArray[np.intp]:
    """Numbers of the tensors in a device format, and of rows of statistics that state no format."""
    device = np.array([_lies_on_device(kind) for kind in index.kinds])
    summed = np.array([one.shape is not None and not one.format for one in index.labels], np.bool_)
    found = device[index.rows["kind"]] | (summed[index.rows["label"]] & ~index.is_held)
    for row, one in index.extras.items():
        found[row] |= _lies_on_device(one.source)
    return np.flatnonzero(found)


def _padded(label: TensorSpec, host: tuple[int, ...]) -> TensorSpec:
    """Add to the label of statistics the device format that gives the host's shape the label's.

    MindSpore sums up what lies on the device if ``trans_flag`` is false, and its tables have no column
    for formats. Of several that fit, any has the same padding.
    """
    if label.shape is None or label.size == prod(host):
        return label
    for row in FORMATS.values():
        if row.device and payload.find_layout(FormatWord(row.name), label.shape, host, label.dtype):
            return label._replace(format=row.name)
    return label


def _lies_on_device(source: Source | None) -> bool:
    return isinstance(source, FileSource) and source.is_device_format
