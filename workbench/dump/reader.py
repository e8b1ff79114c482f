"""Read a dump tree: names only. Headers and data are read when a tensor is compared.

Nothing that is wrong inside a tree raises: it becomes a skipped tensor or a note, so that the rest
of a report still comes. `load` raises FormatError only if the path is no dump at all.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.core.tensors import TensorKey, TensorRecord, TensorSpec
from workbench.dump.layouts import Leaf, RankRoot, detect
from workbench.dump.names import is_mapped, parse_name
from workbench.dump.npy import NpySource
from workbench.dump.statistic import read_statistics
from workbench.dump.tree import Dump, Note, Skipped
from workbench.dump.turns import number_turns
from workbench.ir.detect import read_graph
from workbench.ir.ms_pb import read_ms_pb
from workbench.ir.ms_text import read_ms_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.dump.names import NameParts
    from workbench.graph.nodes import Graph

_GRAPH_NAME = re.compile(r"ms_output_trace_code_graph_(\d+)\.(?:ir|pb)")
_GRAPH_READERS: dict[str, Callable[[Path], Graph]] = {".ir": read_ms_text, ".pb": read_ms_pb}
"""Suffix → reader; of two files of a graph the earlier one says more."""

_LESS = "read because no .ir of this graph can be: a .pb holds neither device types nor tensor constants"
_ORDER_NAME = re.compile(r"ms_execution_order_graph_(\d+)\.csv")
_KNOWN_EXTRAS = (".json", "mapping.csv", "statistic.csv")
_MAX_LIST = 64 << 20


def load(path: str | Path, *, graph: str | Path | None = None) -> Dump:
    """Read the tree at ``path``; ``graph`` names a graph file to use instead of the tree's own.

    Raises FormatError if ``path`` is not a dump, or if ``graph`` cannot be read.
    """
    root = Path(path)
    layout = detect(root)
    tree = _Tree()
    for leaf in layout.leaves(root):
        tree.leaf(leaf)
    for rank_root in layout.roots(root):
        tree.rank(rank_root, read_graphs=graph is None)
    if graph is not None:
        tree.given_graph(Path(graph))
    return Dump(
        path=str(path),
        layout=layout.name,
        records=tuple(number_turns(tree.records)),
        graphs=tree.graphs,
        orders=tree.orders,
        skipped=tuple(tree.skipped),
        notes=tuple(tree.notes),
        info=tree.info,
    )


class _Tree:
    """What was found so far."""

    def __init__(self) -> None:
        self.records: list[TensorRecord] = []
        self.graphs: dict[tuple[int, int], Graph] = {}
        self.orders: dict[tuple[int, int], tuple[str, ...]] = {}
        self.skipped: list[Skipped] = []
        self.notes: list[Note] = []
        self.info: dict[str, str] = {}

    def leaf(self, leaf: Leaf) -> None:
        """Records of one folder of tensors."""
        try:
            names = sorted(os.listdir(leaf.path))
        except OSError as error:
            self.notes.append(Note("unreadable", Path(leaf.path).name, str(error.strerror)))
            return
        mapping = self._mapping(leaf) if "mapping.csv" in names else {}
        seen: set[tuple[object, ...]] = set()
        for name in names:
            if name.endswith(_KNOWN_EXTRAS):
                continue
            full = mapping.get(name, "") if is_mapped(name) else name
            parts = parse_name(full)
            if parts is None:
                self._unknown(leaf, name, mapping)
                continue
            seen.add((parts.op_type, parts.op_name, parts.io, parts.slot))
            if parts.dtype and "writer" not in self.info:
                word = full.rsplit(".", 2)[-2]  # only the CPU writer capitalises it
                self.info["writer"] = "cpu" if word[0].isupper() else "ascend"
            self.records.append(_record(parts, leaf, f"{leaf.path}/{name}"))
        if "statistic.csv" in names:
            self._statistics(leaf, seen)

    def _unknown(self, leaf: Leaf, name: str, mapping: dict[str, str]) -> None:
        reason = "unknown-name"
        detail = "no file-name grammar knows this name"
        if is_mapped(name):
            reason = "unmapped"
            detail = (
                f"mapping.csv gives {mapping[name]!r}" if name in mapping else "not in mapping.csv"
            )
        self.skipped.append(Skipped(f"{leaf.graph_id}/{leaf.iteration}/{name}", reason, detail))

    def _mapping(self, leaf: Leaf) -> dict[str, str]:
        """Short name → intended name; a row that names another folder is refused."""
        table: dict[str, str] = {}
        for number, line in enumerate(self._lines(Path(leaf.path) / "mapping.csv"), 1):
            short, comma, full = line.partition(",")
            if not comma or "/" in full or "\\" in full or "/" in short or "\\" in short:
                place = f"mapping.csv:{number}"
                detail = f"{place}: row must be 'number.npy,file name' in the same folder, got {line[:120]!r}"
                self.notes.append(Note("mapping", short[:120], detail))
                continue
            table[short.strip()] = full.strip()
        return table

    def _lines(self, path: Path) -> list[str]:
        """Lines of a small text file; a note instead of an error."""
        try:
            if path.stat().st_size > _MAX_LIST:
                self.notes.append(Note("unreadable", path.name, f"larger than {_MAX_LIST} bytes"))
                return []
            return path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            self.notes.append(Note("unreadable", path.name, str(error.strerror)))
            return []

    def _statistics(self, leaf: Leaf, seen: set[tuple[object, ...]]) -> None:
        """Rows of statistic.csv for tensors that have no file of their own."""
        path = Path(leaf.path) / "statistic.csv"
        try:
            table = read_statistics(path)
        except (FormatError, OSError) as error:
            self.notes.append(Note("unreadable", "statistic.csv", str(error)))
            return
        self.info.setdefault("writer", "ascend")  # the CPU writer has no statistics
        for problem in table.problems:
            self.skipped.append(Skipped("statistic.csv", "bad-row", problem))
        for row in table.rows:
            parts = row.parts
            if (parts.op_type, parts.op_name, parts.io, parts.slot) in seen:
                continue
            record = _record(parts, leaf, "")
            record.label = TensorSpec(parts.dtype, row.shape, parts.format)
            record.statistics = row.statistics
            record.path = str(path)
            self.records.append(record)

    def rank(self, root: RankRoot, *, read_graphs: bool) -> None:
        """Graphs, execution orders and metadata of one rank."""
        base = Path(root.path)
        if read_graphs:
            self._graphs(root.rank, base / "graphs")
        for path in sorted(base.glob("execution_order/ms_execution_order_graph_*.csv")):
            found = _ORDER_NAME.fullmatch(path.name)
            if found:
                key = (root.rank, int(found[1]))
                self.orders[key] = tuple(line.strip() for line in self._lines(path)[1:])
        config = base / ".dump_metadata" / "config.json"
        if config.is_file():
            self._metadata(config)

    def _graphs(self, rank: int, folder: Path) -> None:
        """Graphs of one rank: each from its ``.ir`` file, or else from its ``.pb``."""
        done: set[str] = set()
        for suffix, read in _GRAPH_READERS.items():
            for path in sorted(folder.glob(f"*{suffix}")):
                found = _GRAPH_NAME.fullmatch(path.name)
                if not found or found[1] in done:
                    continue
                try:
                    graph = read(path)
                except FormatError as error:
                    self.notes.append(Note("graph", path.name, str(error)))
                    continue
                done.add(found[1])
                self._add_graph(rank, graph)
                if read is read_ms_pb:
                    self.notes.append(Note("graph", path.name, _LESS))

    def _add_graph(self, rank: int, graph: Graph) -> None:
        self.graphs[rank, graph.graph_id] = graph
        if graph.unknown_lines:
            count = f"{graph.unknown_lines} lines of the graph were not understood and left out"
            self.notes.append(Note("graph", Path(graph.path).name, count))

    def _metadata(self, path: Path) -> None:
        try:
            data = json.loads("\n".join(self._lines(path)))
        except (ValueError, RecursionError) as error:
            self.notes.append(Note("unreadable", "config.json", str(error)))
            return
        if isinstance(data, dict):
            self.info |= {str(key): str(value) for key, value in data.items()}

    def given_graph(self, path: Path) -> None:
        graph = read_graph(path)
        for rank in {record.key.rank for record in self.records} or {0}:
            self._add_graph(rank, graph)


def _record(parts: NameParts, leaf: Leaf, path: str) -> TensorRecord:
    key = TensorKey(
        parts.op_type, parts.op_name, parts.io, parts.slot,
        leaf.graph_id, leaf.iteration, leaf.rank, leaf.net_name,
    )  # fmt: skip
    return TensorRecord(
        key,
        TensorSpec(parts.dtype, None, parts.format),
        NpySource(path) if path else None,
        timestamp_us=parts.timestamp_us,
        task_id=parts.task_id,
        stream_id=parts.stream_id,
        path=path,
    )
