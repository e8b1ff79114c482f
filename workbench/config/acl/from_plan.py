"""A plan to ``acl.json``. What it cannot say becomes more than was asked for, never less."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.config.acl.plan import SLOT
from workbench.config.acl.refusals import MAX_BLACKLIST, path_fault
from workbench.config.ge.plans import EXCEPTION_DETAIL, STATISTICS, USUAL_STATISTICS, mode_of
from workbench.config.ge.steps import LARGEST_OF_ADUMP, step_text
from workbench.config.surface import Lowered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.core.plan import DumpPlan, Exclusion, Selector

_SCENE = {detail: scene for scene, detail in EXCEPTION_DETAIL.items()}
_BLACKLIST = {"name": "opname_blacklist", "type": "optype_blacklist"}


def from_plan(plan: DumpPlan) -> Lowered:
    """Return the form of a plan; one that dumps nothing for a plan without iterations."""
    if plan.kind == "exception":
        where = {"dump_path": plan.path} if plan.path else {}
        return Lowered({"dump": {"dump_scene": _SCENE[plan.detail or "brief"]} | where})
    dump: dict[str, Any] = {"dump_path": "./" if path_fault(plan.path) else plan.path}
    steps = step_text(plan.iterations, LARGEST_OF_ADUMP)
    if steps is None or (plan.kind == "watch" and not plan.watched):
        return Lowered({"dump": dump | {"dump_list": []} if plan.path else {}})
    if steps:
        dump["dump_step"] = steps
    if plan.kind == "overflow":
        return Lowered({"dump": dump | {"dump_debug": "on"}})
    return Lowered({"dump": dump | (_watch(plan) if plan.kind == "watch" else _data(plan))})


def _data(plan: DumpPlan) -> dict[str, Any]:
    items = list(_items(plan))
    bound = any(item.keys() - {"model_name", "layer"} for item in items)
    level = "op" if bound else plan.level
    switch = "on" if plan.single_op else "off"
    data = {"dump_list": items, "dump_mode": mode_of(plan.io), "dump_op_switch": switch}
    return data | _saved(plan) | _level(level)


def _watch(plan: DumpPlan) -> dict[str, Any]:
    names = _names(plan.select)
    everything = not names or any(s.kind == "all" for s in plan.select)
    item = {} if everything else {"layer": names}
    item["watcher_nodes"] = list(plan.watched)
    data = {"dump_list": [item], "dump_mode": "output", "dump_scene": "watcher"}
    saved = _saved(plan) if plan.saved == "statistic" else {}
    return data | saved | _level(plan.level)


def _level(level: str) -> dict[str, Any]:
    return {} if level == "all" else {"dump_level": level}


def _saved(plan: DumpPlan) -> dict[str, Any]:
    if plan.saved != "statistic":
        return {"dump_data": "tensor"}
    chosen = [name for name, category in STATISTICS.items() if category in plan.statistics]
    if not chosen or chosen == list(USUAL_STATISTICS):
        return {"dump_data": "stats"}
    return {"dump_data": "stats", "dump_stats": chosen}


def _names(select: Iterable[Selector]) -> list[str]:
    return list(dict.fromkeys(s.text for s in select if s.kind == "name"))


def _items(plan: DumpPlan) -> Iterator[dict[str, Any]]:
    """Yield the entries of the list, those that only carry blacklists before those that select."""
    omit = [replace(e, slots=tuple(filter(SLOT.fullmatch, e.slots))) for e in plan.omit]
    omit = [e for e in omit if e.slots and e.text]
    chosen = _by_model(plan.select)
    if not chosen and plan.single_op and not omit:
        return
    chosen = chosen or {"": {}}
    if "" in chosen:
        chosen = {e.model: {} for e in omit} | chosen
    for model, item in chosen.items():
        barred = [e for e in omit if e.model == model or (not e.model and "" not in chosen)]
        named = {"model_name": model} if model else {}
        *rest, last = list(_blacklists(barred)) or [{}]
        yield from (named | part for part in rest)
        yield named | item | last


def _by_model(select: Iterable[Selector]) -> dict[str, dict[str, Any]]:
    """What the selectors choose of each model, as members of an entry; empty: everything.

    An operator of any model hides the entries with a model, so all names are joined then.
    """
    said = [s for s in select if s.kind in ("name", "all") or _is_range(s)]
    if any(s.kind == "all" and not s.model for s in said):
        return {}
    if any(not s.model for s in said):
        return {"": {"layer": _names(said)}}
    return {
        model: _of_model([s for s in said if s.model == model])
        for model in dict.fromkeys(s.model for s in said)
    }


def _is_range(selector: Selector) -> bool:
    ends = selector.text and selector.end and selector.model
    return selector.kind == "range" and bool(ends)


def _of_model(select: list[Selector]) -> dict[str, Any]:
    if any(s.kind == "all" for s in select):
        return {}
    ranges = [{"begin": s.text, "end": s.end} for s in select if s.kind == "range"]
    item: dict[str, Any] = {"layer": _names(select)} if _names(select) else {}
    return item | ({"opname_range": ranges} if ranges else {})


def _blacklists(omit: list[Exclusion]) -> Iterator[dict[str, Any]]:
    """Yield blacklists, each as long as the vendor allows."""
    kinds = {
        key: [{"name": e.text, "pos": list(e.slots)} for e in omit if e.kind == kind]
        for kind, key in _BLACKLIST.items()
    }
    longest = max(map(len, kinds.values()))
    for start in range(0, longest, MAX_BLACKLIST):
        parts = {key: rows[start : start + MAX_BLACKLIST] for key, rows in kinds.items()}
        yield {key: rows for key, rows in parts.items() if rows}
