"""What ``acl.json`` says in vain, what GE refuses later, and what will hurt."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any

from workbench.config.acl.examples import ABSENT, HERE, LIST, OLD, data, debug, item, scene, watch
from workbench.config.acl.reading import exception_root, prints_kernels
from workbench.config.acl.refusals import BLACKLISTS, step_faults
from workbench.config.acl.settings import ADUMP, EXCEPTIONS, GE_MANAGER, GUIDE, OLDER
from workbench.config.context import Context
from workbench.config.form.rules import Rule
from workbench.config.ge.options import BOTH, WRONG

if TYPE_CHECKING:
    from workbench.config.acl.reading import AclReading
    from workbench.config.form.rules import At

ENVIRONMENT = "hicann/runtime dump_config_converter.cpp, its environment variables"
OFFLINE = "Preparing Dump Data of an Offline Model"

_VARIABLES = ("ASCEND_DUMP_PATH", "ASCEND_WORK_PATH")
_BARRED = {"name": "Conv2D", "pos": ["input0"]}
_COLLECT = Context(env={"NPU_COLLECT_PATH": "/collect"})
_WORK = Context(env={"ASCEND_WORK_PATH": "/work"})


def _asks_for_nothing(r: AclReading, at: At) -> bool:
    if at.path == "dump":
        return not r.given
    return r.given and r.kind == "none" and not prints_kernels(r.dump)


def _is_empty_for_ge(r: AclReading, at: At) -> bool:
    empty = r.given and r.dump.dump_op_switch == "off" and not at.value
    return empty and r.kind in ("none", "watch") and not prints_kernels(r.dump)


def _collects(r: AclReading, at: At) -> Any:
    folder = r.context.variable("NPU_COLLECT_PATH")
    refused = folder and r.kind in ("data", "overflow", "watch")
    return refused and {"kind": r.kind, "folder": folder}


def _repeats_a_model(r: AclReading, at: At) -> Any:
    name = at.value.model_name
    before = takewhile(lambda entry: entry is not at.value, r.dump.dump_list)
    return r.selects and any(entry.model_name == name for entry in before) and {"got": name}


def _is_unexpanded(r: AclReading, at: At) -> Any:
    literal = "$" in at.value or at.value.startswith("~")
    return literal and {"code": "" if r.kind == "exception" else "EP0003"}


def _is_overruled(r: AclReading, at: At) -> Any:
    folder, name = exception_root(r.dump, r.context)
    unread = r.kind == "exception" and at.value and name != "dump_path"
    return unread and {"name": name, "folder": folder}


def _files_for_folders(r: AclReading, at: At) -> list[dict[str, str]]:
    if r.kind != "exception" or not r.context.here:
        return []
    found = [{"name": name, "folder": r.context.variable(name)} for name in _VARIABLES]
    return [one for one in found if one["folder"] and r.context.file_exists(one["folder"])]


def _has_unread_collect(r: AclReading, at: At) -> Any:
    folder = r.context.variable("NPU_COLLECT_PATH")
    return folder and r.kind == "exception" and not r.old and {"folder": folder}


def _has_vain_scene(r: AclReading, at: At) -> Any:
    value = r.context.variable("ASCEND_DUMP_SCENE")
    return value and (value not in EXCEPTIONS[1:] or r.kind != "none") and {"value": value}


def _is_unknown_scene(r: AclReading, at: At) -> Any:
    name = r.asked.dump.dump_scene if r.asked.dump else None
    return r.old and name and name != "lite_exception" and {"got": name}


def _is_in_a_container(r: AclReading, at: At) -> bool:
    inside = r.context.variable("container") or r.context.variable("KUBERNETES_SERVICE_HOST")
    return bool(inside) and r.kind != "none"


WARNINGS = (
    Rule(
        id="nothing-dumped",
        severity="warning",
        at="dump dump.dump_list",
        when=_asks_for_nothing,
        says="The configuration is accepted, but nothing asks for a dump and nothing is dumped",
        fix="Fill dump_list, or set dump_op_switch, dump_debug or dump_scene.",
        source=ADUMP,
        breaks=data(dump_list=[]),
        keeps=data(),
    ),
    Rule(
        id="ge-list",
        severity="warning",
        at="dump.dump_list",
        when=_is_empty_for_ge,
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
        at="dump.dump_step",
        when=lambda r, at: r.kind == "overflow" and step_faults(at.value)[:1],
        says="{key}: {fault}. It is not checked with dump_debug 'on', and this piece matches nothing",
        fix="Write it like '0|5-8'.",
        source=GE_MANAGER,
        breaks=debug(dump_step="5-3"),
        keeps=debug(dump_step="3-5"),
    ),
    Rule(
        id="ge-collect",
        severity="warning",
        at="dump",
        when=_collects,
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
        at=f"{BLACKLISTS}[]",
        when=lambda r, at: r.checked and not (at.value.name and at.value.pos),
        says="{path} has no effect: it needs a name and the tensors to exclude",
        fix="Name the tensors like 'input0'.",
        source=GE_MANAGER,
        breaks=item(model_name="m", opname_blacklist=[{"name": "conv1"}]),
        keeps=item(model_name="m", opname_blacklist=[_BARRED]),
    ),
    Rule(
        id="list-twice",
        severity="warning",
        at="dump.dump_list[]",
        when=_repeats_a_model,
        says="{path} repeats the model of an earlier entry ({got!r}); GE keeps the operators of the last one",
        fix="Merge the entries.",
        source=GE_MANAGER,
        breaks=data(dump_list=[*LIST, *LIST]),
        keeps=data(dump_list=[*LIST, {"model_name": "n"}]),
    ),
    Rule(
        id="list-shadowed",
        severity="warning",
        at="dump.dump_list[].model_name",
        when=lambda r, at: (
            r.selects and at.value and not all(entry.model_name for entry in r.dump.dump_list)
        ),
        says="{path} {got!r} has no effect: the entry without model_name alone selects operators, in every model",
        fix="Give that entry a model_name.",
        source=GE_MANAGER,
        breaks=data(dump_list=[*LIST, {"layer": ["conv1"]}]),
        keeps=data(dump_list=[{"layer": ["conv1"]}]),
    ),
    Rule(
        id="watch-entries",
        severity="warning",
        at="dump.dump_list[]",
        when=lambda r, at: r.watches and at.value is not r.dump.dump_list[-1],
        says="{path} has no effect: GE keeps the last entry of a watch only",
        fix="Merge the entries.",
        source=GE_MANAGER,
        breaks=watch(dump_list=[{"watcher_nodes": ["C"]}, {"watcher_nodes": ["D"]}]),
        keeps=watch(),
    ),
    Rule(
        id="watch-same",
        severity="warning",
        at="dump.dump_list[].layer[]",
        when=lambda r, at: r.watches and at.value in at.entries[0].watcher_nodes,
        says="{path}: {got!r} is watched itself, so it is dumped after itself only",
        fix="Remove it from layer or from watcher_nodes.",
        source=GUIDE,
        breaks=watch(dump_list=[{"layer": ["A", "C"], "watcher_nodes": ["C"]}]),
        keeps=watch(),
    ),
    Rule(
        id="watch-collective",
        severity="warning",
        at="dump.dump_list[].layer[]",
        when=lambda r, at: r.watches and at.value.rpartition("/")[2].lower().startswith("hcom"),
        says="{path}: {got!r} is a collective operator, and nothing more is dumped after types Hcom*",
        fix="Choose another operator.",
        source=GUIDE,
        breaks=watch(dump_list=[{"layer": ["HcomAllReduce_1"], "watcher_nodes": ["C"]}]),
        keeps=watch(),
    ),
    Rule(
        id="path-expand",
        severity="warning",
        at="dump.dump_path",
        when=_is_unexpanded,
        says="{key} {got!r} is taken literally: variables and '~' are not expanded",
        fix="Write the full path.",
        source=ADUMP,
        breaks=data(dump_path="$HOME/output"),
        keeps=data(dump_path="output"),
    ),
    Rule(
        id="path-unread",
        severity="warning",
        at="dump.dump_path",
        when=_is_overruled,
        says="{key} {got!r} is not used: {name} has precedence, and files go to {folder}",
        fix="Unset {name}.",
        source=ENVIRONMENT,
        breaks=scene(context=_WORK),
        keeps=scene(),
    ),
    Rule(
        id="variable-skipped",
        severity="warning",
        at="dump.dump_scene",
        when=_files_for_folders,
        says="{name}={folder} is ignored: it is a file, not a folder",
        fix="Set it to a folder.",
        source=ENVIRONMENT,
        breaks=scene(context=Context(env={"ASCEND_WORK_PATH": "/etc/passwd"}, here=True)),
        keeps=scene(context=HERE),
    ),
    Rule(
        id="collect-unread",
        severity="hint",
        at="dump.dump_scene",
        when=_has_unread_collect,
        says="NPU_COLLECT_PATH={folder} does not set the folder of an exception dump (in older CANN it did)",
        fix="Set ASCEND_DUMP_PATH instead.",
        source=ENVIRONMENT,
        breaks=scene(context=_COLLECT),
        keeps=scene(context=_WORK),
    ),
    Rule(
        id="scene-variable",
        severity="warning",
        at="dump.dump_scene",
        when=_has_vain_scene,
        says="ASCEND_DUMP_SCENE={value} has no effect",
        fix=f"It counts only where the configuration asks for no dump, and only as {', '.join(EXCEPTIONS[1:])}.",
        source=ENVIRONMENT,
        breaks=data(Context(env={"ASCEND_DUMP_SCENE": "aic_err_norm_dump"})),
        keeps=data(),
    ),
    Rule(
        id="scene-old",
        severity="warning",
        at="dump.dump_scene",
        when=_is_unknown_scene,
        says="{key} {got!r} is unknown to acl of CANN 8.0 and earlier",
        fix="Use 'lite_exception'.",
        source=OLDER,
        breaks=scene(context=OLD, dump_list=LIST),
        keeps=scene("lite_exception", OLD),
    ),
    Rule(
        id="container",
        severity="hint",
        at="dump",
        when=_is_in_a_container,
        says="Models are not dumped inside a container",
        fix="Run the process outside of containers.",
        source=OFFLINE,
        breaks=data(Context(env={"container": "docker"})),
        keeps=data(),
    ),
    Rule(
        id="volume",
        severity="hint",
        at="dump.dump_step",
        when=lambda r, at: r.kind == "data" and r.dump.dump_data == "tensor" and not at.value,
        says="Dumping every execution can be very large",
        fix="Set dump_step, run the model once, or start with dump_data 'stats'.",
        source=OFFLINE,
        breaks=data(),
        keeps=data(dump_step="0"),
    ),
)
