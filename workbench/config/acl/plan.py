"""``acl.json`` to a plan and back.

GE reads the list into one table by model, so the last entry of a model counts, and an entry without
a model stands for all of them and hides the others; blacklists add up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from workbench.config.acl.reading import exception_root
from workbench.config.ge.plans import BINARY, EXCEPTION_DETAIL, IO, nothing, saved
from workbench.config.ge.steps import adump_iterations
from workbench.core.plan import DumpPlan, Exclusion, Selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.config.acl.reading import AclReading
    from workbench.config.acl.settings import Item

SLOT = re.compile(r"(input|output)0*([0-9]{1,9})")
_BLACKLISTS: tuple[tuple[Literal["name", "type"], str], ...] = (
    ("name", "opname_blacklist"),
    ("type", "optype_blacklist"),
)


def plan(r: AclReading) -> DumpPlan:
    """Return what a run shall write; one without iterations if nothing."""
    dump, kind = r.dump, r.kind
    if kind == "exception":
        detail: Any = EXCEPTION_DETAIL[dump.dump_scene]
        root, _ = exception_root(dump, r.context)
        return DumpPlan(root, kind="exception", detail=detail, **BINARY)
    iterations = adump_iterations(dump.dump_step)
    if kind == "none" or iterations.ranges == () or (kind == "watch" and not dump.dump_list):
        return nothing(dump.dump_path)
    if kind == "overflow":
        return DumpPlan(dump.dump_path, kind="overflow", iterations=iterations, **BINARY)
    if kind == "watch":
        entry = dump.dump_list[-1]
        select = tuple(Selector("name", name) for name in dict.fromkeys(entry.layer))
        more: dict[str, Any] = {"kind": "watch", "watched": entry.watcher_nodes}
    else:
        select = tuple(_select(dump.dump_list))
        more = {"omit": _omit(dump.dump_list), "single_op": dump.dump_op_switch == "on"}
    return DumpPlan(
        dump.dump_path,
        iterations=iterations,
        io=IO[dump.dump_mode],
        select=select,
        level=dump.dump_level,
        **saved(dump.dump_data, dump.dump_stats),
        **more,
        **BINARY,
    )


def _select(items: Iterable[Item]) -> Iterator[Selector]:
    layers: dict[str, tuple[str, ...]] = {}
    ranges: dict[str, tuple[Any, ...]] = {}
    for item in items:
        layers[item.model_name] = item.layer
        ranges[item.model_name] = item.opname_range or ranges.get(item.model_name, ())
    if "" in layers:
        yield from (Selector("name", name) for name in dict.fromkeys(layers[""]))
        return
    for model, names in layers.items():
        yield from (Selector("name", name, model=model) for name in dict.fromkeys(names))
        for part in dict.fromkeys((part.begin, part.end) for part in ranges[model]):
            yield Selector("range", *part, model=model)
        if not names and not ranges[model]:
            yield Selector("all", model=model)


def _omit(items: Iterable[Item]) -> tuple[Exclusion, ...]:
    slots: dict[tuple[str, Literal["name", "type"], str], set[tuple[str, int]]] = {}
    for item in items:
        for kind, key in _BLACKLISTS:
            for entry in getattr(item, key):
                found = {(m[1], int(m[2])) for m in map(SLOT.fullmatch, entry.pos) if m}
                if entry.name and found:
                    slots.setdefault((item.model_name, kind, entry.name), set()).update(found)
    return tuple(
        Exclusion(kind, name, tuple(f"{io}{slot}" for io, slot in sorted(barred)), model)
        for (model, kind, name), barred in sorted(slots.items())
    )
