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
                    yield Breach(f"{path}.{key}[{index}]")


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
        yield Breach("dump", values={"kind": kind, "folder": folder})


def _model_twice(form: AclForm, context: Context) -> Iterator[Breach]:
    seen: set[str] = set()
    for path, entry, dump in checked_items(form, context):
        if entry.model_name in seen and dump.dump_scene != "watcher":
            yield Breach(path, entry.model_name)
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
            yield Breach("dump.dump_scene", values={"name": name, "folder": folder})


def _unread_collect(form: AclForm, context: Context) -> Iterator[Breach]:
    folder = context.variable("NPU_COLLECT_PATH")
    if folder and kind_of(view(form, context)) == "exception" and not is_old(context):
        yield Breach("dump.dump_scene", values={"folder": folder})


def _scene_variable(form: AclForm, context: Context) -> Iterator[Breach]:
    value = context.variable("ASCEND_DUMP_SCENE")
    if value and (value not in EXCEPTIONS[1:] or kind_of(view(form, context)) != "none"):
        yield Breach("dump.dump_scene", values={"value": value})


def _old_scene(form: AclForm, context: Context) -> Iterator[Breach]:
    name = form.dump.dump_scene if form.dump else None
    if is_old(context) and name and name != "lite_exception":
        yield Breach("dump.dump_scene", name)


def _container(form: AclForm, context: Context) -> Iterator[Breach]:
    inside = context.variable("container") or context.variable("KUBERNETES_SERVICE_HOST")
    if inside and kind_of(view(form, context)) != "none":
        yield Breach("dump")


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
        says="The configuration is accepted, but nothing asks for a dump and nothing is dumped",
        fix="Fill dump_list, or set dump_op_switch, dump_debug or dump_scene.",
        source=ADUMP,
        breaks=data(dump_list=[]),
        keeps=data(),
    ),
    Rule(
        id="ge-list",
        severity="warning",
        find=_ge_list,
        says="{key} is empty or missing while dump_op_switch is 'off', which GE refuses",
        fix="Add an entry. One without keys selects every operator.",
        source=GE_MANAGER,
        breaks=watch(dump_list=ABSENT),
        keeps=data(dump_list=[], dump_op_switch="on"),
        code=WRONG,
    ),
    Rule(
        id="debug-step",
        severity="warning",
        find=_unchecked_step,
        says="{key}: {fault}. It is not checked with dump_debug 'on', and this piece matches nothing",
        fix="Write it like '0|5-8'.",
        source=GE_MANAGER,
        breaks=debug(dump_step="5-3"),
        keeps=debug(dump_step="3-5"),
    ),
    Rule(
        id="ge-collect",
        severity="warning",
        find=_collect,
        says="NPU_COLLECT_PATH={folder} asks for an exception dump, and GE refuses a {kind} dump beside it",
        fix="Unset the variable.",
        source=GE_MANAGER,
        breaks=data(_COLLECT),
        keeps=scene(context=_COLLECT),
        code=BOTH,
    ),
    Rule(
        id="blacklist-void",
        severity="warning",
        find=_void_blacklist,
        says="{path} has no effect: it needs a name and the tensors to exclude",
        fix="Name the tensors like 'input0'.",
        source=GE_MANAGER,
        breaks=item(model_name="m", opname_blacklist=[{"name": "conv1"}]),
        keeps=item(model_name="m", opname_blacklist=[_BARRED]),
    ),
    Rule(
        id="list-twice",
        severity="warning",
        find=_model_twice,
        says="{path} repeats the model of an earlier entry ({got!r}); GE keeps the operators of the last one",
        fix="Merge the entries.",
        source=GE_MANAGER,
        breaks=data(dump_list=[*LIST, *LIST]),
        keeps=data(dump_list=[*LIST, {"model_name": "n"}]),
    ),
    Rule(
        id="list-shadowed",
        severity="warning",
        find=_shadowed,
        says="{path} {got!r} has no effect: the entry without model_name alone selects operators, in every model",
        fix="Give that entry a model_name.",
        source=GE_MANAGER,
        breaks=data(dump_list=[*LIST, {"layer": ["conv1"]}]),
        keeps=data(dump_list=[{"layer": ["conv1"]}]),
    ),
    Rule(
        id="watch-entries",
        severity="warning",
        find=_watch_entries,
        says="{path} has no effect: GE keeps the last entry of a watch only",
        fix="Merge the entries.",
        source=GE_MANAGER,
        breaks=watch(dump_list=[{"watcher_nodes": ["C"]}, {"watcher_nodes": ["D"]}]),
        keeps=watch(),
    ),
    Rule(
        id="watch-same",
        severity="warning",
        find=_watch_same,
        says="{path}: {got!r} is watched itself, so it is dumped after itself only",
        fix="Remove it from layer or from watcher_nodes.",
        source=GUIDE,
        breaks=watch(dump_list=[{"layer": ["A", "C"], "watcher_nodes": ["C"]}]),
        keeps=watch(),
    ),
    Rule(
        id="watch-collective",
        severity="warning",
        find=_watch_collective,
        says="{path}: {got!r} is a collective operator, and nothing more is dumped after types Hcom*",
        fix="Choose another operator.",
        source=GUIDE,
        breaks=watch(dump_list=[{"layer": ["HcomAllReduce_1"], "watcher_nodes": ["C"]}]),
        keeps=watch(),
    ),
    Rule(
        id="path-expand",
        severity="warning",
        find=_unexpanded,
        says="{key} {got!r} is taken literally: variables and '~' are not expanded",
        fix="Write the full path.",
        source=ADUMP,
        breaks=data(dump_path="$HOME/output"),
        keeps=data(dump_path="output"),
    ),
    Rule(
        id="path-unread",
        severity="warning",
        find=_unread_path,
        says="{key} {got!r} is not used: {name} has precedence, and files go to {folder}",
        fix="Unset {name}.",
        source=ENVIRONMENT,
        breaks=scene(context=_WORK),
        keeps=scene(),
    ),
    Rule(
        id="variable-skipped",
        severity="warning",
        find=_skipped_variable,
        says="{name}={folder} is ignored: it is a file, not a folder",
        fix="Set it to a folder.",
        source=ENVIRONMENT,
        breaks=scene(context=Context(env={"ASCEND_WORK_PATH": "/etc/passwd"}, here=True)),
        keeps=scene(context=HERE),
    ),
    Rule(
        id="collect-unread",
        severity="hint",
        find=_unread_collect,
        says="NPU_COLLECT_PATH={folder} does not set the folder of an exception dump (in older CANN it did)",
        fix="Set ASCEND_DUMP_PATH instead.",
        source=ENVIRONMENT,
        breaks=scene(context=_COLLECT),
        keeps=scene(context=_WORK),
    ),
    Rule(
        id="scene-variable",
        severity="warning",
        find=_scene_variable,
        says="ASCEND_DUMP_SCENE={value} has no effect",
        fix=f"It counts only where the configuration asks for no dump, and only as {', '.join(EXCEPTIONS[1:])}.",
        source=ENVIRONMENT,
        breaks=data(Context(env={"ASCEND_DUMP_SCENE": "aic_err_norm_dump"})),
        keeps=data(),
    ),
    Rule(
        id="scene-old",
        severity="warning",
        find=_old_scene,
        says="{key} {got!r} is unknown to acl of CANN 8.0 and earlier",
        fix="Use 'lite_exception'.",
        source=OLDER,
        breaks=scene(context=OLD, dump_list=LIST),
        keeps=scene("lite_exception", OLD),
    ),
    Rule(
        id="container",
        severity="hint",
        find=_container,
        says="Models do not dump inside a container",
        fix="Run the process outside of containers.",
        source=OFFLINE,
        breaks=data(Context(env={"container": "docker"})),
        keeps=data(),
    ),
    Rule(
        id="volume",
        severity="hint",
        find=_volume,
        says="Dumping every execution can be very large",
        fix="Set dump_step, run the model once, or start with dump_data 'stats'.",
        source=OFFLINE,
        breaks=data(),
        keeps=data(dump_step="0"),
    ),
)
