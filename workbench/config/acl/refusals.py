"""What acl and adump refuse of an ``acl.json``, in the order of adump's steps; and what it refuses since CANN 9.2."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.config.acl.examples import (
    ABSENT,
    HERE,
    LIST,
    NEWEST,
    OLD,
    data,
    debug,
    item,
    scene,
    watch,
)
from workbench.config.acl.reading import remote
from workbench.config.acl.settings import ADUMP, EXCEPTIONS, GE_MANAGER, OLDER
from workbench.config.form.rules import Example, Rule
from workbench.config.ge.plans import STATISTICS
from workbench.config.ge.steps import MAX_PIECES, adump_pieces
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.acl.reading import AclReading
    from workbench.config.form.rules import At

MAX_PATH = 512
"""Bytes of ``dump_path``."""

MAX_BLACKLIST = 100

BLACKLISTS = "dump.dump_list[].optype_blacklist|opname_blacklist"
SCENE_KEYS = (
    "dump.dump_mode|dump_level|dump_data|dump_debug|dump_op_switch|dump_kernel_data|dump_step"
    "|dump_stats|dump_list"
)
"""Settings that an exception dump does not look at."""

WATCH_KEYS = "dump.dump_level|dump_data|dump_kernel_data|dump_step|dump_stats"

_REMOTE_FOLDER = re.compile(r"[A-Za-z0-9\-=\[\];\\,./!@#$%^&*()_+{}:?]+")
_SLOT = re.compile(r"(?:input|output)[0-9]+")
_RANGE = {"begin": "a", "end": "b"}
_BARRED = [{"name": "Conv2D", "pos": ["input0"]}]


def path_fault(path: str) -> bool:
    """Whether adump refuses a path whatever exists."""
    place = remote(path)
    if not path or _bytes(path) > MAX_PATH:
        return True
    return place is not None and not _REMOTE_FOLDER.fullmatch(place.folder)


def step_faults(text: str) -> list[dict[str, Any]]:
    """Return what is wrong with ``dump_step``, whether it is looked at or not."""
    pieces = list(adump_pieces(text))
    if len(pieces) > MAX_PIECES:
        return [{"fault": Message("config/step-pieces", count=len(pieces), limit=MAX_PIECES)}]
    return [
        {"fault": Message(f"config/step-{fault}", number=index, got=piece)}
        for index, (piece, fault) in enumerate(pieces, 1)
        if fault
    ]


def _bytes(path: str) -> int:
    return len(path.encode("utf-8", "replace"))


def _lacks_old_path(r: AclReading, at: At) -> bool:
    asked = r.asked.dump
    return r.old and not at.given and asked is not None and asked.dump_scene in EXCEPTIONS


def _lacks_folder(r: AclReading, at: At) -> bool:
    local = r.checks_path and bool(at.value) and not r.remote
    return local and not r.context.usable_folder(at.value)


def _is_left_empty(r: AclReading, at: At) -> bool:
    return r.checked and at.given and not at.value and r.dump.dump_op_switch == "off"


def _is_of_another_level(r: AclReading, at: At) -> Any:
    level = r.dump.dump_level
    return r.checked and at.value and level != "op" and {"got": level}


def _lacks_an_end(r: AclReading, at: At) -> Any:
    ends = {"begin": at.value.begin, "end": at.value.end}
    return r.checked and not all(ends.values()) and ends


VALUES = (
    Rule(
        id="stats-value",
        severity="error",
        at="dump.dump_stats[]",
        when=lambda r, at: (
            at.value not in STATISTICS and {"code": "EP0002" if at.value else "EP0001"}
        ),
        says="{path}: unknown statistic {got!r}",
        fix=f"Choose from {', '.join(STATISTICS)} (case-sensitive).",
        source=ADUMP,
        breaks=data(dump_data="stats", dump_stats=["Max", "Mean"]),
        keeps=data(dump_data="stats", dump_stats=["Max", "Avg"]),
        code="EP0002",
    ),
)
"""Values out of a list, which adump looks at before everything else."""


def _since_9_2(rule: Rule, code: str) -> tuple[Rule, Rule]:
    """Return what adump ignores: the rule as a warning, and as the refusal that it becomes with CANN 9.2."""
    early = replace(
        rule,
        when=lambda r, at: not r.strict and rule.when(r, at),
        fix=f"{rule.fix} CANN 9.2 refuses it.".lstrip(),
        code=code,
    )
    late = replace(
        rule,
        id=f"{rule.id}-refused",
        severity="error",
        when=lambda r, at: r.strict and rule.when(r, at),
        fix="Remove it.",
        code=code,
        breaks=Example(rule.breaks.form, NEWEST),
        keeps=Example(rule.keeps.form, NEWEST),
    )
    return early, late


SCENE_KEY, SCENE_KEY_REFUSED = _since_9_2(
    Rule(
        id="scene-key",
        severity="warning",
        at=SCENE_KEYS,
        when=lambda r, at: r.dump.dump_scene in EXCEPTIONS and at.given and at.value != "on",
        says="{key} has no effect in an exception dump",
        fix="",
        source=ADUMP,
        breaks=scene(dump_list=[{"layer": []}]),
        keeps=scene(),
    ),
    "EP0005",
)
WATCH_KEY, WATCH_KEY_REFUSED = _since_9_2(
    Rule(
        id="watch-key",
        severity="warning",
        at=WATCH_KEYS,
        when=lambda r, at: r.dump.dump_scene == "watcher" and at.given,
        says="{key} has no effect with dump_scene 'watcher', which writes whole outputs",
        fix="",
        source=ADUMP,
        breaks=watch(dump_level="op"),
        keeps=watch(),
    ),
    "EP0005",
)
DEBUG_LIST, DEBUG_LIST_REFUSED = _since_9_2(
    Rule(
        id="debug-list",
        severity="warning",
        at="dump.dump_list",
        when=lambda r, at: r.dump.dump_debug == "on" and not r.dump.dump_scene and at.given,
        says="{key} has no effect with dump_debug 'on': overflow is detected in all operators",
        fix="",
        source=ADUMP,
        breaks=debug(dump_list=LIST),
        keeps=debug(),
    ),
    "EP0005",
)
SLOT, SLOT_REFUSED = _since_9_2(
    Rule(
        id="blacklist-slot",
        severity="warning",
        at=f"{BLACKLISTS}[].pos[]",
        when=lambda r, at: r.checked and not _SLOT.fullmatch(at.value),
        says="{path}: {got!r} is not like 'input0' or 'output1', and GE ignores it",
        fix="",
        source=GE_MANAGER,
        breaks=item(model_name="m", optype_blacklist=[{"name": "Add", "pos": ["input"]}]),
        keeps=item(model_name="m", optype_blacklist=_BARRED),
    ),
    "EP0003",
)

IGNORED = (SCENE_KEY, WATCH_KEY, DEBUG_LIST, SLOT)

SCENES = (
    Rule(
        id="scene-debug",
        severity="error",
        at="dump.dump_debug",
        when=lambda r, at: r.dump.dump_scene and at.value == "on",
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
        at="dump.dump_op_switch",
        when=lambda r, at: r.dump.dump_scene and at.value == "on",
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
        at="dump.dump_mode",
        when=lambda r, at: r.dump.dump_scene == "watcher" and at.value != "output",
        says="{key} {got!r} is not supported with dump_scene 'watcher'",
        fix="Set it to 'output': only outputs can be watched.",
        source=ADUMP,
        breaks=watch(dump_mode="all"),
        keeps=watch(dump_mode="output"),
        code="EP0005",
    ),
    SCENE_KEY_REFUSED,
    WATCH_KEY_REFUSED,
)

PATHS = (
    Rule(
        id="path-old",
        severity="error",
        at="dump.dump_path",
        when=_lacks_old_path,
        says="{key} is missing; acl of CANN 8.0 and earlier requires it",
        fix="Add it. Later releases do not need it for exception dumps.",
        source=OLDER,
        breaks=scene("lite_exception", OLD, dump_path=ABSENT),
        keeps=scene("lite_exception", OLD),
    ),
    Rule(
        id="path-empty",
        severity="error",
        at="dump.dump_path",
        when=lambda r, at: r.checks_path and not at.value,
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
        at="dump.dump_path",
        when=lambda r, at: r.checks_path and _bytes(at.value) > MAX_PATH,
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
        at="dump.dump_path",
        when=lambda r, at: r.remote and not r.remote.folder,
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
        at="dump.dump_path",
        when=lambda r, at: (
            r.remote and r.remote.folder and not _REMOTE_FOLDER.fullmatch(r.remote.folder)
        ),
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
        at="dump.dump_path",
        when=_lacks_folder,
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
        at="dump.dump_op_switch",
        when=lambda r, at: not r.dump.dump_scene and r.dump.dump_debug == at.value == "on",
        says="{key} and dump_debug cannot both be 'on'",
        fix="Turn one of them off.",
        source=ADUMP,
        breaks=debug(dump_op_switch="on"),
        keeps=debug(dump_op_switch="off", dump_list=LIST),
        code="EP0005",
    ),
    DEBUG_LIST_REFUSED,
)

STEPS = (
    Rule(
        id="step",
        severity="error",
        at="dump.dump_step",
        when=lambda r, at: r.checked and step_faults(at.value),
        says="{key}: {fault}",
        fix="Write it like '0|5-8'.",
        source=ADUMP,
        breaks=data(dump_step="5|"),
        keeps=data(dump_step="0|5-5|7-9"),
        code="EP0003",
    ),
)

ENTRIES = (
    Rule(
        id="list-model",
        severity="error",
        at="dump.dump_list[].model_name",
        when=_is_left_empty,
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
        at="dump.dump_list[].layer",
        when=_is_left_empty,
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
        at="dump.dump_list[].watcher_nodes",
        when=lambda r, at: r.watches and not at.value,
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
        at="dump.dump_list[].model_name",
        when=lambda r, at: r.watches and bool(at.value),
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
        at="dump.dump_list[].watcher_nodes",
        when=lambda r, at: r.selects and bool(at.value),
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
        at=BLACKLISTS,
        when=lambda r, at: r.checked and len(at.value) > MAX_BLACKLIST and {"got": len(at.value)},
        says=f"{{path}} has {{got}} entries, more than the limit of {MAX_BLACKLIST}",
        fix="Exclude types instead of names.",
        source=ADUMP,
        breaks=item(model_name="m", opname_blacklist=_BARRED * (MAX_BLACKLIST + 1)),
        keeps=item(model_name="m", opname_blacklist=_BARRED * MAX_BLACKLIST),
        code="EP0003",
    ),
    SLOT_REFUSED,
    Rule(
        id="blacklist-level",
        severity="error",
        at=BLACKLISTS,
        when=_is_of_another_level,
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
        at="dump.dump_list[].opname_range",
        when=_is_of_another_level,
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
        at="dump.dump_list[].model_name",
        when=lambda r, at: r.checked and at.entries[0].opname_range and not at.value,
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
        at="dump.dump_list[].opname_range[]",
        when=_lacks_an_end,
        says="{path} needs a begin and an end, got {begin!r} and {end!r}",
        fix="Name the first and the last operator.",
        source=ADUMP,
        breaks=item(model_name="m", opname_range=[{"begin": "a"}]),
        keeps=item(model_name="m", opname_range=[_RANGE]),
        code="EP0003",
    ),
)
"""Rules on the list, which are met entry by entry."""

OLD_LIST = (
    Rule(
        id="list-old",
        severity="error",
        at="dump.dump_list",
        when=lambda r, at: r.old and r.checked and r.dump.dump_op_switch == "off" and not at.value,
        says="{key} is empty or missing while dump_op_switch is 'off', which acl of CANN 8.0 and earlier refuses",
        fix="Name models, or set dump_op_switch to 'on'.",
        source=OLDER,
        breaks=data(OLD, dump_list=ABSENT),
        keeps=data(OLD, dump_list=LIST),
    ),
)

STATISTICS_RULES = (
    Rule(
        id="stats-empty",
        severity="error",
        at="dump.dump_stats",
        when=lambda r, at: r.checked and at.given and not at.value,
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
        at="dump.dump_stats",
        when=lambda r, at: r.checked and at.value and r.dump.dump_data == "tensor",
        says="{key} is not allowed with dump_data 'tensor'",
        fix="Set dump_data to 'stats'.",
        source=ADUMP,
        breaks=data(dump_stats=["Max"]),
        keeps=data(dump_stats=["Max"], dump_data="stats"),
        code="EP0005",
    ),
)

PHASES = (SCENES, PATHS, OVERFLOW, STEPS, ENTRIES, OLD_LIST, STATISTICS_RULES)
"""Refusals by the step of adump's check."""
