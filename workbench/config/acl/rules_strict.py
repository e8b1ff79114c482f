"""What adump did not look at for long and refuses since CANN 9.2: a warning before, an error then."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.config.acl.examples import LIST, NEWEST, debug, item, scene, watch
from workbench.config.acl.form import ADUMP, EXCEPTIONS, GE_MANAGER
from workbench.config.acl.reading import is_strict, view
from workbench.config.acl.rules_list import checked_items
from workbench.config.rule import Breach, Example, Find, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.acl.form import AclForm
    from workbench.config.context import Context

_SCENE_KEYS = (
    "dump_mode",
    "dump_level",
    "dump_data",
    "dump_debug",
    "dump_op_switch",
    "dump_kernel_data",
    "dump_step",
    "dump_stats",
    "dump_list",
)
_WATCH_KEYS = ("dump_level", "dump_data", "dump_kernel_data", "dump_step", "dump_stats")
_SLOT = re.compile(r"(?:input|output)[0-9]+")
_BARRED = {"name": "Conv2D", "pos": ["input0"]}


def _scene_keys(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    for key in _SCENE_KEYS if dump.dump_scene in EXCEPTIONS else ():
        if key in dump.model_fields_set and getattr(dump, key) != "on":
            yield Breach(f"dump.{key}")


def _watch_keys(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    for key in _WATCH_KEYS if dump.dump_scene == "watcher" else ():
        if key in dump.model_fields_set:
            yield Breach(f"dump.{key}")


def _debug_list(form: AclForm, context: Context) -> Iterator[Breach]:
    dump = view(form, context)
    if dump.dump_debug == "on" and not dump.dump_scene and "dump_list" in dump.model_fields_set:
        yield Breach("dump.dump_list")


def _slots(form: AclForm, context: Context) -> Iterator[Breach]:
    for path, entry, _ in checked_items(form, context):
        for key in ("optype_blacklist", "opname_blacklist"):
            for index, barred in enumerate(getattr(entry, key)):
                for slot, text in enumerate(barred.pos):
                    if not _SLOT.fullmatch(text):
                        yield Breach(f"{path}.{key}[{index}].pos[{slot}]", text)


def _only(find: Find, strict: bool) -> Find:
    return lambda form, context: find(form, context) if is_strict(context) is strict else ()


def _both(rule: Rule, code: str) -> tuple[Rule, Rule]:
    """Return the rule as a warning, and as the refusal that it becomes with CANN 9.2."""
    early = replace(
        rule, find=_only(rule.find, False), fix=f"{rule.fix} CANN 9.2 refuses it.".lstrip()
    )
    late = replace(
        rule,
        id=f"{rule.id}-refused",
        severity="error",
        find=_only(rule.find, True),
        fix="Remove it.",
        breaks=Example(rule.breaks.form, NEWEST),
        keeps=Example(rule.keeps.form, NEWEST),
    )
    return replace(early, code=code), replace(late, code=code)


SCENE_KEYS, SCENE_KEYS_REFUSED = _both(
    Rule(
        id="scene-key",
        severity="warning",
        find=_scene_keys,
        says="{key} has no effect in an exception dump",
        fix="",
        source=ADUMP,
        breaks=scene(dump_list=[{"layer": []}]),
        keeps=scene(),
    ),
    "EP0005",
)
WATCH_KEYS, WATCH_KEYS_REFUSED = _both(
    Rule(
        id="watch-key",
        severity="warning",
        find=_watch_keys,
        says="{key} has no effect with dump_scene 'watcher', which writes whole outputs",
        fix="",
        source=ADUMP,
        breaks=watch(dump_level="op"),
        keeps=watch(),
    ),
    "EP0005",
)
DEBUG_LIST, DEBUG_LIST_REFUSED = _both(
    Rule(
        id="debug-list",
        severity="warning",
        find=_debug_list,
        says="{key} has no effect with dump_debug 'on': overflow is detected in all operators",
        fix="",
        source=ADUMP,
        breaks=debug(dump_list=LIST),
        keeps=debug(),
    ),
    "EP0005",
)
SLOTS, SLOTS_REFUSED = _both(
    Rule(
        id="blacklist-slot",
        severity="warning",
        find=_slots,
        says="{path}: {got!r} is not like 'input0' or 'output1', and GE ignores it",
        fix="",
        source=GE_MANAGER,
        breaks=item(model_name="m", optype_blacklist=[{"name": "Add", "pos": ["input"]}]),
        keeps=item(model_name="m", optype_blacklist=[_BARRED]),
    ),
    "EP0003",
)
