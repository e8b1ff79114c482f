"""What a dump holds, as lines of a terminal."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SHOWN = 10


def text_of(info: dict[str, Any]) -> list[str]:
    """Return what `workbench.pipeline.inspect` found, for a terminal; long lists are cut."""
    lines = [f"{info['path']}: {info['layout']}, {info['tensors']} tensors"]
    lines.append(f"ranks {info['ranks']}, iterations {info['iterations']}")
    for graph in info["graphs"]:
        unknown = (
            f", {graph['unknown_lines']} lines not understood" if graph["unknown_lines"] else ""
        )
        lines.append(
            f"graph {graph['graph_id']}: {graph['name']}, {graph['operators']} operators, "
            f"{graph['parameters']} parameters{unknown}"
        )
    counts: dict[str, int] = {}
    for anomaly in info["anomalies"]:
        if anomaly["kind"] == "model":
            lines.append(f"model {anomaly['op_name']}: {anomaly['detail']}")
        counts[anomaly["kind"]] = counts.get(anomaly["kind"], 0) + 1
    lines += [f"{count} {kind}" for kind, count in {**info["skipped"], **counts}.items()]
    lines += _some(info["overflows"], _overflow)
    lines += _some(info["failures"], _failure)
    lines += _some(info["changes"], _change)
    if "at" in info:
        found = info["at"]["operators"]
        lines.append(f"{info['at']['file']}:{info['at']['line']}: {len(found)} operators")
        for op in found:
            lines.append(f"  {op['op_name']}  {op['code']}")
            lines += [f"    {file}" for file in op["files"]]
    return lines


def _overflow(found: dict[str, Any]) -> list[str]:
    name = found["op_name"] or f"an operator without a file (of {found['path']})"
    where = f"overflow: {name}, iteration {found['iteration']}"
    if not found["unit"]:
        return [f"{where}: the record reports none"]
    words = ", ".join(found["meaning"]) or f"status {', '.join(map(hex, found['status']))}"
    return [f"{where}: {found['unit']}: {words}"]


def _failure(found: dict[str, Any]) -> list[str]:
    lines = [f"failed: {found['op_name']} ({found['scene']} scene), {found['path']}"]
    for one in found["arguments"]:
        shape = "" if one["shape"] is None else f" ({', '.join(map(str, one['shape']))})"
        lines.append(f"  {one['role']}: {one['dtype'] or 'no type'}{shape}, {one['bytes']} bytes")
    return lines


def _change(found: dict[str, Any]) -> list[str]:
    damage = "changed memory" if found["needed"] is None else "reused memory"
    damage = "overwritten" if found["needed"] else damage
    first, *rest = found["evidence"]
    who = f"{found['after']} " if found["needed"] else ""
    where = f", iteration {found['iteration']}"
    return [f"{damage}{where}: {who}{first}", *(f"  {text}" for text in rest)]


def _some(
    found: Sequence[dict[str, Any]], lines: Callable[[dict[str, Any]], list[str]]
) -> Iterator[str]:
    yield from chain.from_iterable(map(lines, found[:_SHOWN]))
    if len(found) > _SHOWN:
        yield f"… and {len(found) - _SHOWN} more"
