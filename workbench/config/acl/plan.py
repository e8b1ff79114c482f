"""``acl.json`` to a plan and back.

GE reads the list into one table by model, so the last entry of a model counts, and an entry without
a model stands for all of them and hides the others; blacklists add up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from workbench.config.acl.reading import exception_root, number, step_pieces
from workbench.config.acl.settings import STATISTICS
from workbench.config.ge_options import IO
from workbench.core.plan import DumpPlan, Exclusion, Iterations, Selector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.config.acl.reading import AclReading
    from workbench.config.acl.settings import Dump, Item

DETAIL = {
    "lite_exception": "brief",
    "aic_err_brief_dump": "brief",
    "aic_err_norm_dump": "norm",
    "aic_err_detail_dump": "detail",
}
CATEGORY = dict(
    zip(
        STATISTICS,
        ("max", "min", "avg", "nan count", "negative inf count", "positive inf count", "l2norm"),
        strict=True,
    )
)
"""Plan's word for each statistic, in the order of the columns."""

DEFAULT_STATISTICS = STATISTICS[:6]

SLOT = re.compile(r"(input|output)0*([0-9]{1,9})")
_BLACKLISTS: tuple[tuple[Literal["name", "type"], str], ...] = (
    ("name", "opname_blacklist"),
    ("type", "optype_blacklist"),
)
_BINARY: dict[str, Any] = {"files": "bin", "host_format": False}


def plan(r: AclReading) -> DumpPlan:
    """Return what a run shall write; one without iterations if nothing."""
    dump, kind = r.dump, r.kind
    if kind == "exception":
        detail: Any = DETAIL[dump.dump_scene]
        root, _ = exception_root(dump, r.context)
        return DumpPlan(root, kind="exception", detail=detail, **_BINARY)
    iterations = _iterations(dump.dump_step)
    if kind == "none" or iterations.ranges == () or (kind == "watch" and not dump.dump_list):
        return nothing(dump.dump_path)
    if kind == "overflow":
        return DumpPlan(dump.dump_path, kind="overflow", iterations=iterations, **_BINARY)
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
        **_saved(dump),
        **more,
        **_BINARY,
    )


def nothing(path: str) -> DumpPlan:
    """Return the plan of a form that is accepted and dumps nothing."""
    return DumpPlan(path, iterations=Iterations(()), **_BINARY)


def _iterations(text: str) -> Iterations:
    if not text:
        return Iterations()
    good = (piece.split("-") for piece, fault in step_pieces(text) if not fault)
    return Iterations(tuple((number(ends[0]), number(ends[-1])) for ends in good))


def _saved(dump: Dump) -> dict[str, Any]:
    if dump.dump_data == "tensor":
        return {"saved": "tensor"}
    wanted = dump.dump_stats or DEFAULT_STATISTICS
    statistics = tuple(CATEGORY[name] for name in STATISTICS if name in wanted)
    return {"saved": "statistic", "statistics": statistics, "statistics_on": "device"}


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
