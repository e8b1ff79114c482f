"""Rules of ``acl.json`` up to the folder: chosen values, scenes, path, overflow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.config.acl.examples import ABSENT, HERE, LIST, OLD, data, debug, scene, watch
from workbench.config.acl.form import ADUMP, EXCEPTIONS, OLDER, STATISTICS
from workbench.config.acl.reading import is_old, is_read, kind_of, remote, view
from workbench.config.rule import Breach, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.acl.form import AclForm, Dump
    from workbench.config.context import Context

MAX_PATH = 512
"""Bytes of ``dump_path``."""

_REMOTE_FOLDER = re.compile(r"[A-Za-z0-9\-=\[\];\\,./!@#$%^&*()_+{}:?]+")


def _statistics(form: AclForm, context: Context) -> Iterator[Breach]:
    for index, name in enumerate(view(form, context).dump_stats):
        if name not in STATISTICS:
            code = "EP0002" if name else "EP0001"
            yield Breach(f"dump.dump_stats[{index}]", name, {"code": code})


def _scene_debug(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if dump.dump_scene and dump.dump_debug == "on":
        yield Breach("dump.dump_debug", "on")


def _scene_switch(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if dump.dump_scene and dump.dump_op_switch == "on":
        yield Breach("dump.dump_op_switch", "on")


def _watch_mode(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if dump.dump_scene == "watcher" and dump.dump_mode != "output":
        yield Breach("dump.dump_mode", dump.dump_mode)


def _old_path(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = form.dump
    if dump is None or not is_old(context) or dump.dump_scene not in EXCEPTIONS:
        return
    if "dump_path" not in dump.model_fields_set:
        yield Breach("dump.dump_path")


def _checked_path(form: AclForm, context: Context) -> Dump | None:
    """Settings if adump looks at their path: not in an exception scene, where it is a choice."""
    dump = view(form, context)
    named = "dump_path" in dump.model_fields_set
    return dump if named and is_read(dump) and kind_of(dump) != "exception" else None


def _empty_path(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = _checked_path(form, context)
    if dump and not dump.dump_path:
        yield Breach("dump.dump_path", "")


def _long_path(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = _checked_path(form, context)
    if dump and _bytes(dump.dump_path) > MAX_PATH:
        yield Breach("dump.dump_path", dump.dump_path)


def _remote_end(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = _checked_path(form, context)
    place = remote(dump.dump_path) if dump else None
    if dump and place and not place.folder:
        yield Breach("dump.dump_path", dump.dump_path)


def _remote_folder(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = _checked_path(form, context)
    place = remote(dump.dump_path) if dump else None
    if dump and place and place.folder and not _REMOTE_FOLDER.fullmatch(place.folder):
        yield Breach("dump.dump_path", dump.dump_path)


def _folder(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = _checked_path(form, context)
    if not dump or not dump.dump_path or remote(dump.dump_path):
        return
    if not context.usable_folder(dump.dump_path):
        yield Breach("dump.dump_path", dump.dump_path)


def _debug_switch(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if not dump.dump_scene and dump.dump_debug == dump.dump_op_switch == "on":
        yield Breach("dump.dump_op_switch", "on")


def _bytes(path: str) -> int:
    return len(path.encode("utf-8", "replace"))


def path_fault(path: str) -> bool:
    """Whether adump refuses a path whatever exists."""
    place = remote(path)
    if not path or _bytes(path) > MAX_PATH:
        return True
    return place is not None and not _REMOTE_FOLDER.fullmatch(place.folder)


VALUES = (
    Rule(
        id="stats-value",
        severity="error",
        find=_statistics,
        says=f"{{path}} must be one of {', '.join(STATISTICS)}, got {{got!r}}",
        fix="The names are case-sensitive.",
        source=ADUMP,
        breaks=data(dump_data="stats", dump_stats=["Max", "Mean"]),
        keeps=data(dump_data="stats", dump_stats=["Max", "Avg"]),
        code="EP0002",
    ),
)

SCENES = (
    Rule(
        id="scene-debug",
        severity="error",
        find=_scene_debug,
        says="{key} 'on' cannot be combined with dump_scene",
        fix="Dump overflow in a run of its own.",
        source=ADUMP,
        breaks=scene(dump_debug="on"),
        keeps=scene(),
        code="EP0005",
    ),
    Rule(
        id="scene-op-switch",
        severity="error",
        find=_scene_switch,
        says="{key} 'on' cannot be combined with dump_scene",
        fix="Dump single operators in a run of their own.",
        source=ADUMP,
        breaks=scene(dump_op_switch="on"),
        keeps=scene(),
        code="EP0005",
    ),
    Rule(
        id="watch-mode",
        severity="error",
        find=_watch_mode,
        says="{key} must be 'output' with dump_scene 'watcher', got {got!r}",
        fix="Only outputs can be watched.",
        source=ADUMP,
        breaks=watch(dump_mode="all"),
        keeps=watch(dump_mode="output"),
        code="EP0005",
    ),
)

PATHS = (
    Rule(
        id="path-old",
        severity="error",
        find=_old_path,
        says="{key} is missing; acl of CANN 8.0 and earlier requires it",
        fix="Add it. Later releases do not need it for exception dumps.",
        source=OLDER,
        breaks=scene("lite_exception", OLD, dump_path=ABSENT),
        keeps=scene("lite_exception", OLD),
    ),
    Rule(
        id="path-empty",
        severity="error",
        find=_empty_path,
        says="{key} is empty",
        fix="Name a folder.",
        source=ADUMP,
        breaks=data(dump_path=""),
        keeps=data(),
        code="EP0001",
    ),
    Rule(
        id="path-length",
        severity="error",
        find=_long_path,
        says=f"{{key}} is longer than {MAX_PATH} bytes",
        fix="Choose a shorter path.",
        source=ADUMP,
        breaks=data(dump_path="d" * (MAX_PATH + 1)),
        keeps=data(dump_path="d" * MAX_PATH),
        code="EP0003",
    ),
    Rule(
        id="path-remote-end",
        severity="error",
        find=_remote_end,
        says="{key} {got!r} names no folder after the address",
        fix="Write it like '10.0.0.1:/dump'.",
        source=ADUMP,
        breaks=data(dump_path="10.0.0.1:"),
        keeps=data(dump_path="10.0.0.1:/dump"),
        code="EP0003",
    ),
    Rule(
        id="path-remote",
        severity="error",
        find=_remote_folder,
        says="{key} {got!r} has characters that are not allowed after the address",
        fix="Use letters, digits and ASCII marks, but no blanks, quotes, '~', '|', '<' or '>'.",
        source=ADUMP,
        breaks=data(dump_path="10.0.0.1:/my dump"),
        keeps=data(dump_path="10.0.0.1:/dump"),
        code="EP0003",
    ),
    Rule(
        id="path-folder",
        severity="error",
        find=_folder,
        says="{key} {got!r} is not an existing folder that the process can read and write",
        fix="Create it before the run; acl does not.",
        source=ADUMP,
        breaks=data(HERE, dump_path="/missing"),
        keeps=data(HERE, dump_path="/tmp"),
        code="EP0003",
    ),
)

OVERFLOW = (
    Rule(
        id="debug-op-switch",
        severity="error",
        find=_debug_switch,
        says="{key} and dump_debug cannot both be 'on'",
        fix="Turn one of them off.",
        source=ADUMP,
        breaks=debug(dump_op_switch="on"),
        keeps=debug(dump_op_switch="off", dump_list=LIST),
        code="EP0005",
    ),
)
