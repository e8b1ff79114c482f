"""``workbench inspect``: what a dump holds, as lines of a terminal or JSON."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from workbench.cli.commands import Command, argument, option
from workbench.cli.options import JSON, MODEL_BY
from workbench.cli.terminal import Exit, print_json, print_lines
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SHOWN = 10


@click.command(cls=Command)
@argument("dump", help="Dump to read.")
@JSON
@option("--at", default="", metavar="FILE:LINE", help="Show operators and files of a source line.")
@option("--model", default="", metavar="NAME", help=f"Model to read: {MODEL_BY}")
@option("--graph", default="", metavar="FILE", help="Graph file of the dump.")
def inspect(dump: str, json: bool, at: str, model: str, graph: str) -> int:
    """Show what a dump holds, its anomalies, and the operators of a source line."""
    from workbench.dump.reader import load
    from workbench.views.dump import inspect_dump

    info = inspect_dump(load(dump, graph=graph or None, model=model or None), at or None)
    if json:
        print_json(info)
    else:
        print_lines(*dump_text(info))
    return Exit.DONE


def dump_text(info: dict[str, Any]) -> list[Message | str]:
    """Return what `workbench.views.dump` found, for a terminal; long lists are cut."""
    lines: list[Message | str] = [
        Message("cli/tree", path=info["path"], layout=info["layout"], tensors=info["tensors"]),
        Message("cli/tree-runs", ranks=info["ranks"], iterations=info["iterations"]),
        *map(_graph, info["graphs"]),
    ]
    models = (one for one in info["anomalies"] if one["kind"] == "model")
    lines += [
        Message("cli/tree-model", name=one["op_name"], detail=one["detail"]) for one in models
    ]
    counts = info["skipped"] | Counter(one["kind"] for one in info["anomalies"])
    lines += [Message("cli/tree-kind", count=count, kind=kind) for kind, count in counts.items()]
    lines += _some(info["overflows"], _overflow)
    lines += _some(info["failures"], _failure)
    lines += _some(info["changes"], _change)
    if "at" in info:
        lines += _at(info["at"])
    return lines


def _graph(graph: dict[str, Any]) -> Message:
    named = {key: graph[key] for key in ("graph_id", "name", "operators", "parameters")}
    said = Message("cli/graph", **named)
    unknown = graph["unknown_lines"]
    return Message("cli/graph-unknown", said=said, lines=unknown) if unknown else said


def _at(place: dict[str, Any]) -> Iterator[Message | str]:
    found = place["operators"]
    code = "cli/at" if found else "cli/at-none"
    yield Message(code, file=place["file"], line=place["line"], operators=len(found))
    for op in found:
        yield f"  {op['op_name']}  {op['code']}"
        yield from (f"    {file}" for file in op["files"])


def _overflow(found: dict[str, Any]) -> list[Message | str]:
    name = found["op_name"] or Message("cli/overflow-file", path=found["path"])
    where = {"name": name, "iteration": found["iteration"], "unit": found["unit"]}
    if not found["unit"]:
        return [Message("cli/overflow-none", **where)]
    if found["meaning"]:
        return [Message("cli/overflow", **where, meaning=found["meaning"])]
    return [Message("cli/overflow-status", **where, status=list(map(hex, found["status"])))]


def _failure(found: dict[str, Any]) -> list[Message | str]:
    named = {"name": found["op_name"], "scene": found["scene"], "path": found["path"]}
    lines: list[Message | str] = [Message("cli/failed", **named)]
    for one in found["arguments"]:
        values = {"role": one["role"], "bytes": one["bytes"], "shape": tuple(one["shape"] or ())}
        dtype = one["dtype"] or Message("cli/no-dtype")
        code = "cli/failed-shapeless" if one["shape"] is None else "cli/failed-argument"
        lines.append(f"  {Message(code, **values, dtype=dtype)}")
    return lines


def _change(found: dict[str, Any]) -> list[Message | str]:
    code = "cli/changed-memory" if found["needed"] is None else "cli/reused-memory"
    code = "cli/overwritten" if found["needed"] else code
    first, *rest = found["evidence"]
    values = {"iteration": found["iteration"], "after": found["after"], "evidence": first}
    return [Message(code, **values), *(f"  {text}" for text in rest)]


def _some(
    found: Sequence[dict[str, Any]], lines: Callable[[dict[str, Any]], list[Message | str]]
) -> Iterator[Message | str]:
    yield from chain.from_iterable(map(lines, found[:_SHOWN]))
    if len(found) > _SHOWN:
        yield Message("cli/more", count=len(found) - _SHOWN)
