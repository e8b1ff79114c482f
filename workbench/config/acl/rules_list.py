"""Rules of ``acl.json`` on steps, the list of models and operators, and statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.acl.examples import ABSENT, LIST, OLD, data, item, watch
from workbench.config.acl.form import ADUMP, OLDER
from workbench.config.acl.reading import MAX_PIECES, is_checked, is_old, step_pieces, view
from workbench.config.rule import NOTHING, Breach, Rule
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.acl.form import AclForm, Dump, Item
    from workbench.config.context import Context

MAX_BLACKLIST = 100

_BLACKLISTS = ("optype_blacklist", "opname_blacklist")
_RANGE = {"begin": "a", "end": "b"}
_BARRED = [{"name": "Conv2D", "pos": ["input0"]}]


def checked_items(form: AclForm, context: Context) -> Iterator[tuple[str, Item, Dump]]:
    """Yield path and entry of each entry of ``dump_list`` that is looked at, and the settings."""
    dump = view(form, context)
    for index, entry in enumerate(dump.dump_list if is_checked(dump) else ()):
        yield f"dump.dump_list[{index}]", entry, dump


def _step(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if is_checked(dump):
        yield from step_faults(dump)


def step_faults(dump: Dump) -> Iterator[Breach]:
    """Yield what is wrong with ``dump_step``, whether it is looked at or not."""
    pieces = list(step_pieces(dump.dump_step))
    if len(pieces) > MAX_PIECES:
        many = Message("config/step-pieces", count=len(pieces), limit=MAX_PIECES)
        yield Breach("dump.dump_step", dump.dump_step, {"fault": many})
        return
    for index, (piece, fault) in enumerate(pieces):
        if fault:
            said = Message(f"config/step-{fault}", number=index + 1, got=piece)
            yield Breach("dump.dump_step", dump.dump_step, {"fault": said})


def _empty(key: str, form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, dump in checked_items(form, context):
        given = key in entry.model_fields_set
        if given and not getattr(entry, key) and dump.dump_op_switch == "off":
            yield Breach(f"{path}.{key}", "" if key == "model_name" else [])


def _empty_model(form: AclForm, context: Context) -> Iterator[Breach]:
    return _empty("model_name", form, context)


def _empty_layer(form: AclForm, context: Context) -> Iterator[Breach]:
    return _empty("layer", form, context)


def _watch_nodes(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, dump in checked_items(form, context):
        if dump.dump_scene == "watcher" and not entry.watcher_nodes:
            given = "watcher_nodes" in entry.model_fields_set
            yield Breach(f"{path}.watcher_nodes", [] if given else NOTHING)


def _watch_model(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, dump in checked_items(form, context):
        if dump.dump_scene == "watcher" and entry.model_name:
            yield Breach(f"{path}.model_name", entry.model_name)


def _nodes_elsewhere(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, dump in checked_items(form, context):
        if dump.dump_scene != "watcher" and entry.watcher_nodes:
            yield Breach(f"{path}.watcher_nodes", list(entry.watcher_nodes))


def _blacklist_size(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, _ in checked_items(form, context):
        for key in _BLACKLISTS:
            if len(getattr(entry, key)) > MAX_BLACKLIST:
                yield Breach(f"{path}.{key}", len(getattr(entry, key)))


def _blacklist_level(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, dump in checked_items(form, context):
        for key in _BLACKLISTS:
            if getattr(entry, key) and dump.dump_level != "op":
                yield Breach(f"{path}.{key}", dump.dump_level)


def _range_level(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, dump in checked_items(form, context):
        if entry.opname_range and dump.dump_level != "op":
            yield Breach(f"{path}.opname_range", dump.dump_level)


def _range_model(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, _ in checked_items(form, context):
        if entry.opname_range and not entry.model_name:
            given = "model_name" in entry.model_fields_set
            yield Breach(f"{path}.model_name", "" if given else NOTHING)


def _range_ends(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, _ in checked_items(form, context):
        for index, part in enumerate(entry.opname_range):
            if not (part.begin and part.end):
                ends = {"begin": part.begin, "end": part.end}
                yield Breach(f"{path}.opname_range[{index}]", values=ends)


def _old_list(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    needed = is_old(context) and is_checked(dump) and dump.dump_op_switch == "off"
    if needed and not dump.dump_list:
        given = "dump_list" in dump.model_fields_set
        yield Breach("dump.dump_list", [] if given else NOTHING)


def _no_statistics(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    given = form.dump is not None and "dump_stats" in form.dump.model_fields_set
    if is_checked(dump) and given and not is_old(context) and not dump.dump_stats:
        yield Breach("dump.dump_stats", [])


def _statistics_data(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if is_checked(dump) and dump.dump_stats and dump.dump_data == "tensor":
        yield Breach("dump.dump_stats", list(dump.dump_stats))


STEPS = (
    Rule(
        id="step",
        severity="error",
        find=_step,
        says="{key}: {fault}",
        fix="Write it like '0|5-8'.",
        source=ADUMP,
        breaks=data(dump_step="5|"),
        keeps=data(dump_step="0|5-5|7-9"),
        code="EP0003",
    ),
)

ITEMS = (
    Rule(
        id="list-model",
        severity="error",
        find=_empty_model,
        says="{path} is empty",
        fix="Name a model, or remove the key to mean any model.",
        source=ADUMP,
        breaks=data(dump_list=[{"model_name": ""}]),
        keeps=data(dump_list=[{"model_name": ""}], dump_op_switch="on"),
        code="EP0001",
    ),
    Rule(
        id="list-layer",
        severity="error",
        find=_empty_layer,
        says="{path} is empty",
        fix="Name operators, or remove the key to mean all.",
        source=ADUMP,
        breaks=data(dump_list=[{"model_name": "m", "layer": []}]),
        keeps=data(dump_list=[{"model_name": "m", "layer": ["conv1"]}]),
        code="EP0001",
    ),
    Rule(
        id="watch-nodes",
        severity="error",
        find=_watch_nodes,
        says="{path} is empty or missing",
        fix="Name the operators whose outputs are to be watched.",
        source=ADUMP,
        breaks=watch(dump_list=[{"layer": ["A"]}]),
        keeps=watch(),
        code="EP0001",
    ),
    Rule(
        id="watch-model",
        severity="error",
        find=_watch_model,
        says="{path} is not allowed with dump_scene 'watcher'",
        fix="Remove it. Every model is watched.",
        source=ADUMP,
        breaks=watch(dump_list=[{"model_name": "m", "watcher_nodes": ["C"]}]),
        keeps=watch(),
        code="EP0005",
    ),
    Rule(
        id="nodes-unwatched",
        severity="error",
        find=_nodes_elsewhere,
        says="{path} is not allowed without dump_scene 'watcher'",
        fix="Set the scene or remove the nodes.",
        source=ADUMP,
        breaks=data(dump_list=[{"model_name": "m", "watcher_nodes": ["C"]}]),
        keeps=data(dump_list=[{"model_name": "m", "watcher_nodes": []}]),
        code="EP0005",
    ),
    Rule(
        id="blacklist-size",
        severity="error",
        find=_blacklist_size,
        says=f"{{path}} has {{got}} entries, more than the limit of {MAX_BLACKLIST}",
        fix="Exclude types instead of names.",
        source=ADUMP,
        breaks=item(model_name="m", opname_blacklist=_BARRED * (MAX_BLACKLIST + 1)),
        keeps=item(model_name="m", opname_blacklist=_BARRED * MAX_BLACKLIST),
        code="EP0003",
    ),
    Rule(
        id="blacklist-level",
        severity="error",
        find=_blacklist_level,
        says="{path} needs dump_level 'op', got {got!r}",
        fix="Set dump_level to 'op'.",
        source=ADUMP,
        breaks=data(dump_list=[{"model_name": "m", "optype_blacklist": _BARRED}]),
        keeps=item(model_name="m", optype_blacklist=_BARRED),
        code="EP0005",
    ),
    Rule(
        id="range-level",
        severity="error",
        find=_range_level,
        says="{path} needs dump_level 'op', got {got!r}",
        fix="Set dump_level to 'op'.",
        source=ADUMP,
        breaks=data(dump_list=[{"model_name": "m", "opname_range": [_RANGE]}]),
        keeps=item(model_name="m", opname_range=[_RANGE]),
        code="EP0005",
    ),
    Rule(
        id="range-model",
        severity="error",
        find=_range_model,
        says="{path} is empty or missing, but opname_range needs a model",
        fix="Add the name of the model.",
        source=ADUMP,
        breaks=item(opname_range=[_RANGE]),
        keeps=item(model_name="m", opname_range=[_RANGE]),
        code="EP0001",
    ),
    Rule(
        id="range-ends",
        severity="error",
        find=_range_ends,
        says="{path} needs a begin and an end, got {begin!r} and {end!r}",
        fix="Name the first and the last operator.",
        source=ADUMP,
        breaks=item(model_name="m", opname_range=[{"begin": "a"}]),
        keeps=item(model_name="m", opname_range=[_RANGE]),
        code="EP0003",
    ),
)

LISTS = (
    Rule(
        id="list-old",
        severity="error",
        find=_old_list,
        says="{key} is empty or missing while dump_op_switch is 'off', which acl of CANN 8.0 and earlier refuses",
        fix="Name models, or set dump_op_switch to 'on'.",
        source=OLDER,
        breaks=data(OLD, dump_list=ABSENT),
        keeps=data(OLD, dump_list=LIST),
    ),
)

STATS = (
    Rule(
        id="stats-empty",
        severity="error",
        find=_no_statistics,
        says="{key} is empty",
        fix="Name statistics, or remove the key to mean all but L2norm.",
        source=ADUMP,
        breaks=data(dump_data="stats", dump_stats=[]),
        keeps=data(dump_data="stats"),
        code="EP0001",
    ),
    Rule(
        id="stats-data",
        severity="error",
        find=_statistics_data,
        says="{key} is not allowed with dump_data 'tensor'",
        fix="Set dump_data to 'stats'.",
        source=ADUMP,
        breaks=data(dump_stats=["Max"]),
        keeps=data(dump_stats=["Max"], dump_data="stats"),
        code="EP0005",
    ),
)
