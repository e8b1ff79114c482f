"""Look into one dump: what is there, what is odd, what came from one source line; and what names alone tell."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.comparison.bind.bind import bind
from workbench.comparison.bind.memory import find_changes
from workbench.comparison.findings.watched import evidence
from workbench.core.errors import WorkbenchError
from workbench.core.text import one_line
from workbench.dump.reports.exception import role
from workbench.dump.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.comparison.bind.binding import Binding
    from workbench.comparison.bind.memory import WatchedChange
    from workbench.dump.dump import Dump, Failure, Overflow
    from workbench.graph.graph import Op, SourceFrame

SCHEMA = "workbench.inspection/1"

SHOWN = 8
"""Most numbers of a list that are told one by one."""


def inspect_dump(dump: Dump, at: str | None = None) -> dict[str, Any]:
    """Return what a dump holds as JSON values, schema ``workbench.inspection/1``.

    ``at`` is ``file:line``; the answer then lists the operators and files that came from that line.
    """
    binding = bind(dump)
    changes, unreadable = find_changes(binding)
    place = parse_place(at) if at is not None else None
    steps = sorted({one.iteration for one in dump.index.places_used if one.iteration >= 0})
    info: dict[str, Any] = {
        "schema": SCHEMA,
        "path": dump.path,
        "layout": dump.layout,
        "tensors": dump.tensors,
        "ranks": sorted({one.rank for one in dump.index.places_used}),
        "iterations": steps,
        "metadata": dict(dump.info),
        "graphs": [_graph(binding, key) for key in sorted(binding.graphs)],
        "tensor_types": dict(sorted(Counter(r.key.op_type for r in dump.records).items())),
        "skipped": dict(Counter(s.reason for s in (*dump.skipped, *binding.skipped))),
        "anomalies": [
            {"kind": n.kind, "op_name": n.name, "detail": str(n.detail)}
            for n in (*dump.notes, *binding.notes, *unreadable)
        ],
    }
    info["overflows"] = [_overflow(found) for found in dump.overflows]
    info["failures"] = [_failure(found) for found in dump.failures]
    info["changes"] = [_change(found) for found in changes]
    info["operators"] = list(_operators(binding))
    if place is not None:
        info["at"] = {"file": place[0], "line": place[1], "operators": list(_at(binding, *place))}
    return info


def _overflow(found: Overflow) -> dict[str, Any]:
    """An overflow: the operator, which unit reported it, and its status in numbers and in words."""
    one = found.record.first
    return {
        "op_name": found.op_name,
        "rank": found.rank,
        "iteration": found.iteration,
        "unit": one.title if one is not None else "",
        "status": list(one.statuses) if one is not None else [],
        "meaning": list(one.meaning) if one is not None else [],
        "path": found.path,
    }


def _failure(found: Failure) -> dict[str, Any]:
    """A failed operator and what each of its arguments was; types are known in the norm scene alone."""
    return {
        "op_name": found.op_name,
        "scene": found.scene,
        "rank": found.rank,
        "arguments": [
            {
                "role": role(block),
                "dtype": block.row.name if block.row is not None and block.data_type else "",
                "shape": None if block.shape is None else list(block.shape),
                "bytes": block.size,
            }
            for block in found.container.blocks
        ],
        "log": found.container.dfx_message.strip(),
        "path": found.path,
    }


def _change(found: WatchedChange) -> dict[str, Any]:
    """A watched output that is another after an operator; ``needed`` is null if no graph tells."""
    return {
        "op_name": found.owner.name,
        "slot": found.key.slot,
        "rank": found.key.rank,
        "iteration": found.key.iteration,
        "after": found.after.name,
        "since": found.since,
        "between": list(found.between),
        "first_byte": found.span.first,
        "last_byte": found.span.last,
        "different_bytes": found.span.different,
        "size": found.span.size,
        "address": found.span.address,
        "needed": None if found.readers is None else bool(found.readers),
        "readers": list(found.readers or ()),
        "evidence": [str(one) for one in evidence(found)],
    }


def parse_place(text: str) -> tuple[str, int]:
    """Read ``file:line``; raises WorkbenchError if it is not that."""
    file, _, line = text.rpartition(":")
    if not file or not line.isdecimal():
        raise WorkbenchError("views/place", got=text)
    return file, int(line)


def _graph(binding: Binding, key: tuple[int, int]) -> dict[str, Any]:
    graph = binding.graphs[key]
    return {
        "rank": key[0],
        "graph_id": key[1],
        "name": graph.name,
        "operators": len(graph.ops),
        "parameters": len(graph.parameters),
        "unknown_lines": graph.unknown_lines,
    }


def comes_from(op: Op, file: str, line: int) -> bool:
    """Whether one of the operator's frames is a source line.

    The frame of a whole function covers every line of its body and says nothing about any of them,
    so it counts only for the line that it starts at.
    """
    return any(_covers(frame, file, line) for frame in op.frames if frame.group != "forward")


def _covers(frame: SourceFrame, file: str, line: int) -> bool:
    path, wanted = frame.file.replace("\\", "/"), file.replace("\\", "/").removeprefix("./")
    if path != wanted and not path.endswith(f"/{wanted.lstrip('/')}"):
        return False
    whole_function = frame.code.lstrip().startswith(("def ", "@", "class ", "async "))
    last = frame.line if whole_function else max(frame.line, frame.line_end)
    return frame.line <= line <= last


def _at(binding: Binding, file: str, line: int) -> Iterator[dict[str, Any]]:
    """Operators of a source line, with their files in order."""
    for key, graph in sorted(binding.graphs.items()):
        for number, op in enumerate(graph.ops):
            if comes_from(op, file, line):
                yield _operator(binding, key, number, op)


def _operators(binding: Binding) -> Iterator[dict[str, Any]]:
    """Every operator of the graphs with the files that are bound to it."""
    for key, graph in sorted(binding.graphs.items()):
        for number, op in enumerate(graph.ops):
            yield _operator(binding, key, number, op)


def _operator(binding: Binding, key: tuple[int, int], number: int, op: Op) -> dict[str, Any]:
    files = [
        record.path
        for block, runs in sorted(binding.runs.items())
        if block.graph_key == key and number in runs
        for _, record in sorted(runs[number].tensors.items())
    ]
    frame = op.frame
    return {
        "op_name": op.name,
        "op_type": op.op_type,
        "graph_id": key[1],
        "rank": key[0],
        "source": f"{frame.file}:{frame.line}" if frame is not None else "",
        "code": frame.code.strip() if frame is not None else "",
        "files": files,
    }


@dataclass(frozen=True, slots=True)
class TreeSummary:
    """A dump tree as its names tell it; no tensor has been read."""

    path: str
    layout: str
    files: int
    ranks: tuple[int, ...]
    iterations: tuple[int, ...]
    models: tuple[str, ...]
    graphs: int

    def __str__(self) -> str:
        parts = [f"{self.layout}: {self.files:,} files"]
        numbered = (("rank", self.ranks), ("iteration", self.iterations))
        parts += [f"{word} {_numbers(found)}" for word, found in numbered if found]
        if len(self.models) > 1:
            parts.append(f"{len(self.models)} models: {', '.join(self.models[:SHOWN])}")
        parts.append(f"{self.graphs} graph files of GE" if self.graphs else "")
        return one_line(", ".join(filter(None, parts)))


def summarize_tree(path: str | Path) -> TreeSummary:
    """Return what lies at ``path``; raises FormatError if it is no dump, or several."""
    found = survey(Path(path))
    return TreeSummary(
        path=found.base,
        layout=found.layout,
        files=sum(len(one.names) for one in found.folders),
        ranks=tuple(sorted({one.rank for one in found.folders})),
        iterations=tuple(sorted({one.iteration for one in found.folders})),
        models=tuple(sorted({one.net_name for one in found.folders if one.net_name})),
        graphs=len(found.graph_files),
    )


def _numbers(found: Iterable[int]) -> str:
    """Tell numbers: one by one if they are few, else how many and between which.

    >>> _numbers([0]), _numbers([0, 1, 5]), _numbers(range(40))
    ('0', '0, 1, 5', '0 to 39 (40)')
    """
    numbers = list(found)
    if len(numbers) <= SHOWN:
        return ", ".join(map(str, numbers))
    return f"{numbers[0]} to {numbers[-1]} ({len(numbers)})"
