"""What ``acl.json`` says in vain, what GE refuses later, and what will hurt."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from workbench.config.acl.examples import ABSENT, HERE, LIST, OLD, data, debug, item, scene, watch
from workbench.config.acl.form import ADUMP, EXCEPTIONS, GE_MANAGER, GUIDE, OLDER
from workbench.config.acl.reading import (
    exception_root,
    is_old,
    is_read,
    kind_of,
    prints_kernels,
    view,
)
from workbench.config.acl.rules_list import checked_items, step_faults
from workbench.config.context import Context
from workbench.config.ge_options import BOTH, WRONG
from workbench.config.rule import NOTHING, Breach, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.acl.form import AclForm

ENVIRONMENT = "hicann/runtime dump_config_converter.cpp, its environment variables"
OFFLINE = "Preparing Dump Data of an Offline Model"

_VARIABLES = ("ASCEND_DUMP_PATH", "ASCEND_WORK_PATH")
_BARRED = {"name": "Conv2D", "pos": ["input0"]}
_COLLECT = Context(env={"NPU_COLLECT_PATH": "/collect"})
_WORK = Context(env={"ASCEND_WORK_PATH": "/work"})


def _void_blacklist(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, _ in checked_items(form, context):
        for key in ("optype_blacklist", "opname_blacklist"):
            for index, barred in enumerate(getattr(entry, key)):
                if not (barred.name and barred.pos):
                    got = f"name {barred.name!r}, pos {list(barred.pos)}"
                    yield Breach(f"{path}.{key}[{index}]", got)


def _nothing(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if form.dump is None:
        yield Breach("dump")
    elif not is_read(dump):
        yield Breach("dump", {})
    elif kind_of(dump) == "none" and not prints_kernels(dump):
        given = "dump_list" in dump.model_fields_set
        yield Breach("dump.dump_list", [] if given else NOTHING)


def _ge_list(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    empty = is_read(dump) and dump.dump_op_switch == "off" and not dump.dump_list
    if empty and kind_of(dump) in ("none", "watch") and not prints_kernels(dump):
        given = "dump_list" in dump.model_fields_set
        yield Breach("dump.dump_list", [] if given else NOTHING)


def _unchecked_step(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if kind_of(dump) == "overflow":
        yield from islice(step_faults(dump), 1)


def _collect(form: AclForm, context: Context) -> Iterator[Breach]:
    folder, kind = context.variable("NPU_COLLECT_PATH"), kind_of(view(form, context))
    if folder and kind in ("data", "overflow", "watch"):
        yield Breach("dump", f"a {kind} dump and NPU_COLLECT_PATH={folder}")


def _model_twice(form: AclForm, context: Context) -> Iterator[Breach]:
    seen: set[str] = set()
    for path, entry, dump in checked_items(form, context):
        if entry.model_name in seen and dump.dump_scene != "watcher":
            yield Breach(path, entry.model_name or "no model_name again")
        seen.add(entry.model_name)


def _shadowed(form: AclForm, context: Context) -> Iterator[Breach]:
    items = [row for row in checked_items(form, context) if row[2].dump_scene != "watcher"]
    if all(entry.model_name for _, entry, _ in items):
        return
    for path, entry, _ in items:
        if entry.model_name:
            yield Breach(f"{path}.model_name", entry.model_name)


def _watch_entries(form: AclForm, context: Context) -> Iterator[Breach]:
    items = [row for row in checked_items(form, context) if row[2].dump_scene == "watcher"]
    for path, entry, _ in items[:-1]:
        yield Breach(path, list(entry.watcher_nodes))


def _watch_same(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, dump in checked_items(form, context):
        for index, name in enumerate(entry.layer if dump.dump_scene == "watcher" else ()):
            if name in entry.watcher_nodes:
                yield Breach(f"{path}.layer[{index}]", name)


def _watch_collective(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, dump in checked_items(form, context):
        for index, name in enumerate(entry.layer if dump.dump_scene == "watcher" else ()):
            if name.rpartition("/")[2].lower().startswith("hcom"):
                yield Breach(f"{path}.layer[{index}]", name)


def _unexpanded(form: AclForm, context: Context) -> Iterator[Breach]:
    path = view(form, context).dump_path
    if "$" in path or path.startswith("~"):
        code = "" if kind_of(view(form, context)) == "exception" else "EP0003"
        yield Breach("dump.dump_path", path, {"code": code})


def _unread_path(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    folder, name = exception_root(dump, context)
    if kind_of(dump) == "exception" and dump.dump_path and name != "dump_path":
        yield Breach("dump.dump_path", dump.dump_path, {"name": name, "folder": folder})


def _skipped_variable(form: AclForm, context: Context) -> Iterator[Breach]:
    if kind_of(view(form, context)) != "exception" or not context.here:
        return
    for name in _VARIABLES:
        folder = context.variable(name)
        if folder and context.file_exists(folder):
            yield Breach("dump.dump_scene", f"{name}={folder}")


def _unread_collect(form: AclForm, context: Context) -> Iterator[Breach]:
    folder = context.variable("NPU_COLLECT_PATH")
    if folder and kind_of(view(form, context)) == "exception" and not is_old(context):
        yield Breach("dump.dump_scene", f"NPU_COLLECT_PATH={folder}")


def _scene_variable(form: AclForm, context: Context) -> Iterator[Breach]:
    value = context.variable("ASCEND_DUMP_SCENE")
    if value and (value not in EXCEPTIONS[1:] or kind_of(view(form, context)) != "none"):
        yield Breach("dump.dump_scene", f"ASCEND_DUMP_SCENE={value}")


def _old_scene(form: AclForm, context: Context) -> Iterator[Breach]:
    name = form.dump.dump_scene if form.dump else None
    if is_old(context) and name and name != "lite_exception":
        yield Breach("dump.dump_scene", name)


def _container(form: AclForm, context: Context) -> Iterator[Breach]:
    inside = context.variable("container") or context.variable("KUBERNETES_SERVICE_HOST")
    if inside and kind_of(view(form, context)) != "none":
        yield Breach("dump", "a process inside one")


def _volume(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if kind_of(dump) == "data" and dump.dump_data == "tensor" and not dump.dump_step:
        yield Breach(
            "dump.dump_step", dump.dump_step if "dump_step" in dump.model_fields_set else NOTHING
        )


EFFECTS = (
    Rule(
        id="nothing-dumped",
        severity="warning",
        find=_nothing,
        must="ask for a dump",
        fix="fill dump_list, or set dump_op_switch, dump_debug or dump_scene; so it is accepted "
        "and nothing is dumped",
        source=ADUMP,
        breaks=data(dump_list=[]),
        keeps=data(),
    ),
    Rule(
        id="ge-list",
        severity="warning",
        find=_ge_list,
        must="have an entry while dump_op_switch is off",
        fix="GE refuses an empty list when it gets it; an entry without keys means every operator",
        source=GE_MANAGER,
        breaks=watch(dump_list=ABSENT),
        keeps=data(dump_list=[], dump_op_switch="on"),
        code=WRONG,
    ),
    Rule(
        id="debug-step",
        severity="warning",
        find=_unchecked_step,
        must="hold numbers and rising ranges joined by '|'",
        fix="{fault}; it is not checked while dump_debug is on, and such a piece matches nothing",
        source=GE_MANAGER,
        breaks=debug(dump_step="5-3"),
        keeps=debug(dump_step="3-5"),
    ),
    Rule(
        id="ge-collect",
        severity="warning",
        find=_collect,
        must="not go with an exception dump by NPU_COLLECT_PATH",
        fix="unset the variable; GE refuses both",
        source=GE_MANAGER,
        breaks=data(_COLLECT),
        keeps=scene(context=_COLLECT),
        code=BOTH,
    ),
    Rule(
        id="blacklist-void",
        severity="warning",
        find=_void_blacklist,
        must="have a name and the tensors to leave out",
        fix="name them like 'input0'; so it has no effect",
        source=GE_MANAGER,
        breaks=item(model_name="m", opname_blacklist=[{"name": "conv1"}]),
        keeps=item(model_name="m", opname_blacklist=[_BARRED]),
    ),
    Rule(
        id="list-twice",
        severity="warning",
        find=_model_twice,
        must="name each model once",
        fix="join the entries; GE keeps the operators of the last one",
        source=GE_MANAGER,
        breaks=data(dump_list=[*LIST, *LIST]),
        keeps=data(dump_list=[*LIST, {"model_name": "n"}]),
    ),
    Rule(
        id="list-shadowed",
        severity="warning",
        find=_shadowed,
        must="not stand beside an entry without model_name",
        fix="give that a model_name; it alone selects operators, in every model",
        source=GE_MANAGER,
        breaks=data(dump_list=[*LIST, {"layer": ["conv1"]}]),
        keeps=data(dump_list=[{"layer": ["conv1"]}]),
    ),
    Rule(
        id="watch-entries",
        severity="warning",
        find=_watch_entries,
        must="be the only entry of a watch",
        fix="join them; GE keeps the last one",
        source=GE_MANAGER,
        breaks=watch(dump_list=[{"watcher_nodes": ["C"]}, {"watcher_nodes": ["D"]}]),
        keeps=watch(),
    ),
    Rule(
        id="watch-same",
        severity="warning",
        find=_watch_same,
        must="not be watched itself",
        fix="it is dumped after itself only, not after what may overwrite it",
        source=GUIDE,
        breaks=watch(dump_list=[{"layer": ["A", "C"], "watcher_nodes": ["C"]}]),
        keeps=watch(),
    ),
    Rule(
        id="watch-collective",
        severity="warning",
        find=_watch_collective,
        must="not be a collective operator",
        fix="after types Hcom* nothing more is dumped",
        source=GUIDE,
        breaks=watch(dump_list=[{"layer": ["HcomAllReduce_1"], "watcher_nodes": ["C"]}]),
        keeps=watch(),
    ),
    Rule(
        id="path-expand",
        severity="warning",
        find=_unexpanded,
        must="be written out",
        fix="variables and '~' are not expanded; a folder of just that name would be needed",
        source=ADUMP,
        breaks=data(dump_path="$HOME/output"),
        keeps=data(dump_path="output"),
    ),
    Rule(
        id="path-unread",
        severity="warning",
        find=_unread_path,
        must="not be overruled by a variable",
        fix="{name} comes first, files go to {folder}",
        source=ENVIRONMENT,
        breaks=scene(context=_WORK),
        keeps=scene(),
    ),
    Rule(
        id="variable-skipped",
        severity="warning",
        find=_skipped_variable,
        must="go with variables that name folders",
        fix="it is a file; the variable is skipped",
        source=ENVIRONMENT,
        breaks=scene(context=Context(env={"ASCEND_WORK_PATH": "/etc/passwd"}, here=True)),
        keeps=scene(context=HERE),
    ),
    Rule(
        id="collect-unread",
        severity="hint",
        find=_unread_collect,
        must="go with ASCEND_DUMP_PATH for a folder of the environment",
        fix="NPU_COLLECT_PATH came first in older CANN; today it does not choose the folder",
        source=ENVIRONMENT,
        breaks=scene(context=_COLLECT),
        keeps=scene(context=_WORK),
    ),
    Rule(
        id="scene-variable",
        severity="warning",
        find=_scene_variable,
        must="go without the variable ASCEND_DUMP_SCENE",
        fix=f"it counts only where the file asks for no dump, with one of {list(EXCEPTIONS[1:])}",
        source=ENVIRONMENT,
        breaks=data(Context(env={"ASCEND_DUMP_SCENE": "aic_err_norm_dump"})),
        keeps=data(),
    ),
    Rule(
        id="scene-old",
        severity="warning",
        find=_old_scene,
        must="be 'lite_exception' with acl of CANN 8.0 and before",
        fix="it does not know the others",
        source=OLDER,
        breaks=scene(context=OLD, dump_list=LIST),
        keeps=scene("lite_exception", OLD),
    ),
    Rule(
        id="container",
        severity="hint",
        find=_container,
        must="be asked of a process outside of containers",
        fix="models do not dump inside of one",
        source=OFFLINE,
        breaks=data(Context(env={"container": "docker"})),
        keeps=data(),
    ),
    Rule(
        id="volume",
        severity="hint",
        find=_volume,
        must="name the executions to dump",
        fix="without it every one is written; run the model once, or begin with dump_data 'stats'",
        source=OFFLINE,
        breaks=data(),
        keeps=data(dump_step="0"),
    ),
)
