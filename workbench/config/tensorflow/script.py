"""The form that a training script holds: which of its settings count, and what they are."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.config.form.json_text import Decoded
from workbench.config.form.settings import RuntimeValue
from workbench.config.ge.options import DEBUG_MODES
from workbench.config.script.literals import dotted, literal, source_of
from workbench.config.tensorflow.conditions import (
    branch_of,
    flags,
    other_branches,
    rank_around,
    rank_test,
    true_on,
)
from workbench.config.tensorflow.find import OPTIMIZER, Call, Entry, OptimizerBlock, ScriptFacts
from workbench.config.tensorflow.keys import JUDGED, MEMBERS, RUN_ARGUMENTS, UNTOLD
from workbench.config.tensorflow.settings import Dump, Run
from workbench.config.tensorflow.walk import Walk, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.tensorflow.conditions import Branch

SWITCHES = ("enable_dump", "enable_dump_debug")

INTERFACES = (
    ("NPURunConfig", "estimator", "manual"),
    ("DumpConfig", "estimator", "manual"),
    ("npu_run_config_init", "estimator", "automated"),
    ("npu_config_proto", "session", "automated"),
    ("set_keras_session_npu_config", "keras", "automated"),
)
"""What a script is, by the first of these that it calls."""

HELPERS = ("session_dump_config", "update_custom_op")
"""Functions of the vendor's precision_tool that put dump settings into a configuration."""

SESSIONS = ("Session", "InteractiveSession", "MonitoredTrainingSession", "managed_session")

NO_DEFAULT = (
    *("dump_mode", "enable_dump", "enable_dump_debug", "dump_debug_mode", "enable_exception_dump"),
)
"""Arguments for which ``None`` is not the same as nothing."""

INIT_KEYS = (*Run.fields, "dump_data")
"""Settings that the first session of a process decides, that of ``init_resource`` if there is one."""


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One setting as it counts: its section, value, line, and the weight of where it stands."""

    section: str
    value: Any
    line: int
    weight: int
    source: Any


@dataclass(slots=True)
class ScriptReading:
    """The form that a script holds, and what was overridden on the way.

    ``other`` are the branches that are not judged: they turn on the overflow dump where another
    branch turns on the data dump. ``walk`` tells what npu_bridge does not read of several optimizers.
    """

    facts: ScriptFacts
    found: dict[tuple[str, str], EffectiveSetting] = field(default_factory=dict)
    rank: tuple[int, int] | None = None
    conflicts: list[tuple[str, EffectiveSetting, EffectiveSetting]] = field(default_factory=list)
    duplicates: list[tuple[str, int]] = field(default_factory=list)
    flags: dict[str, int] = field(default_factory=dict)
    other: dict[Branch, tuple[Entry, Entry]] = field(default_factory=dict)
    walk: Walk = field(default_factory=Walk)

    def judged(self, entry: Entry) -> bool:
        """Whether a setting stands in none of the other branches."""
        if not self.other:
            return True
        around = branch_of(entry.guard, self.facts.once)
        return not any(branch <= around for branch in self.other)


def form_of(reading: ScriptReading, text: str) -> Decoded:
    """Return the form that a script holds."""
    data, lines = _form(reading)
    return Decoded(data, text, lines, tuple(reading.duplicates))


def read_script(facts: ScriptFacts) -> ScriptReading:
    """Return the settings of a script as they count."""
    reading = ScriptReading(
        facts, flags=flags(facts), other=other_branches(facts, _settings(facts))
    )
    reading.walk = walk(facts, partial(_value, reading))
    for block in blocks_in_use(facts):
        for entry in filter(reading.judged, block.entries):
            if id(entry) in reading.walk.unread:
                continue
            weight = 1 if block.only_init == (entry.key not in INIT_KEYS) else 2
            found = EffectiveSetting(
                section_of(entry.key), _value(reading, entry), entry.line, weight, block
            )
            _take(reading, entry, found)
    for home, call, entry in _arguments(facts):
        value = _value(reading, entry)
        if not reading.judged(entry):
            continue
        if value is not None or entry.key in NO_DEFAULT:
            _take(reading, entry, EffectiveSetting(home, value, entry.line, 3, call))
    for choice in dump_choices(facts):
        rank = chosen_rank(facts, choice)
        if rank is not None:
            reading.rank = rank, choice.lineno
    for name, number in reading.flags.items():
        if reading.rank is None and "dump" in name:
            reading.rank = number, facts.once[name].lineno if name in facts.once else 0
    return reading


def _arguments(facts: ScriptFacts) -> Iterator[tuple[str, Call, Entry]]:
    """Yield section, call and entry of the arguments of ``NPURunConfig`` and ``DumpConfig``."""
    for call in facts.runs:
        for entry in call.entries.values():
            if entry.key not in UNTOLD:
                judged = entry.key in Run.fields or entry.key not in RUN_ARGUMENTS
                yield "run" if judged else "options", call, entry
    for call in effective_dumps(facts):
        for entry in call.entries.values():
            if entry not in dropped_modes(facts, call):
                yield "dump", call, entry


def dropped_modes(facts: ScriptFacts, call: Call) -> Iterator[Entry]:
    """Yield a ``dump_debug_mode`` that nobody could take and that ``NPUEstimator`` does not pass on.

    It does so only beside a ``dump_mode`` that is not None.
    """
    mode, debug = call.entries.get("dump_mode"), call.entries.get("dump_debug_mode")
    if mode is None or debug is None or not facts.runs or not is_none(mode.node):
        return
    value = literal(debug.node, facts.names)
    if value not in DEBUG_MODES and not isinstance(value, RuntimeValue):
        yield debug


def _settings(facts: ScriptFacts) -> Iterator[Entry]:
    """Yield the settings of dumps."""
    for block in effective_blocks(facts):
        yield from block.entries
    for call in effective_dumps(facts):
        yield from call.entries.values()


def section_of(key: str) -> str:
    """Section of a key of ``parameter_map``; unknown ones stand by what they seem to be about."""
    for name, model in (("dump", Dump), ("run", Run)):
        if key in model.fields:
            return name
    if key in JUDGED:
        return "script"
    if key in MEMBERS:
        return "options"
    return "dump" if "dump" in key else "run"


def _value(reading: ScriptReading, entry: Entry) -> Any:
    """Value of a setting; one under another proto member keeps that."""
    value: Any = literal(entry.node, reading.facts.names)
    member = MEMBERS.get(entry.key, entry.member or "s")
    if entry.member and entry.member != member:
        return {entry.member: value}
    if _only_rank(reading, entry, value) is not None:
        return True
    if member == "b" and type(value) is int:
        return bool(value)
    return int(value) if member == "i" and type(value) is bool else value


def _only_rank(reading: ScriptReading, entry: Entry, value: Any) -> int | None:
    """Rank on which an expression turns a switch on, and on no other; ``None`` of other settings."""
    if entry.key not in SWITCHES or not isinstance(value, RuntimeValue):
        return None
    rank = true_on(entry.node, reading.facts.once)
    if rank is None and isinstance(entry.node, ast.Name):
        return reading.flags.get(entry.node.id)
    return rank


def _take(reading: ScriptReading, entry: Entry, new: EffectiveSetting) -> None:
    """Keep a setting, unless one that counts more stands already, and the rank that it is on for."""
    rank = _only_rank(reading, entry, literal(entry.node, reading.facts.names))
    if rank is not None and new.value is True:
        reading.rank = rank, entry.line
    around = rank_around(entry.guard, reading.facts.once) if entry.key in SWITCHES else None
    if around is not None:
        if new.value is around.is_it:
            reading.rank = around.rank, entry.line
        if not around.is_it:
            return
    place = new.section, entry.key
    old = reading.found.get(place)
    if old is not None:
        _note(reading, entry, old, new)
    if old is None or new.weight >= old.weight:
        reading.found[place] = new


def _note(
    reading: ScriptReading, entry: Entry, old: EffectiveSetting, new: EffectiveSetting
) -> None:
    """Note that a setting stands twice: in one place, or in two that differ."""
    path = f"{new.section}.{entry.key}"
    if old.source is new.source and entry.guard is None:
        reading.duplicates.append((path, new.line))
    elif old.source is not new.source and _differ(old.value, new.value):
        wins, loses = (new, old) if new.weight >= old.weight else (old, new)
        reading.conflicts.append((path, wins, loses))


def _differ(one: Any, two: Any) -> bool:
    """Whether two values differ; what only a run knows may be the same."""
    return one != two and not isinstance(one, RuntimeValue) and not isinstance(two, RuntimeValue)


def _form(reading: ScriptReading) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the form and the line of every setting."""
    facts = reading.facts
    data: dict[str, Any] = {"script": _script(facts)}
    lines: dict[str, int] = _script_line(facts)

    def put(section: str, key: str, value: Any, line: int) -> None:
        data.setdefault(section, {})[key] = value
        lines.setdefault(section, line)
        lines[f"{section}.{key}"] = line

    for (section, key), found in reading.found.items():
        put(section, key, found.value, found.line)
    for key, (value, line) in facts.rewrites.items():
        put("script", key, value, line)
    if reading.rank is not None:
        put("script", "rank", *reading.rank)
    if (optimizer := _other_optimizer(facts)) is not None:
        put("script", "optimizer", *optimizer)
    for key, (value, line) in facts.environment.items():
        put("environment", key, value, line)
    for key in ("enable_dump", "dump_path"):
        if key not in data.get("dump", {}):
            for text, line in runtime_sources(facts, key):
                put("dump", key, RuntimeValue(text), line)
    _strange_dump(facts, data, lines)
    return data, lines


def _other_optimizer(facts: ScriptFacts) -> tuple[Any, int] | None:
    """Return name and line of a session's custom optimizer that npu_bridge does not read; it may have none at all.

    A script that names one of the interfaces gets an optimizer from npu_bridge, whatever its own is given to.
    """
    named = [block for block in facts.blocks if block.name is not None]
    blocks = effective_blocks(facts) or named
    if blocks and all(block.name != OPTIMIZER for block in blocks):
        return blocks[0].name or "", blocks[0].line
    plain = facts.calls.keys().isdisjoint(("init_resource", *(name for name, _, _ in INTERFACES)))
    if facts.blocks and plain and all(map(facts.is_idle, facts.blocks)):
        return "", facts.blocks[0].line
    return None


def _strange_dump(facts: ScriptFacts, data: dict[str, Any], lines: dict[str, int]) -> None:
    """Keep a ``dump_config`` that is plainly no ``DumpConfig``."""
    for run in facts.runs:
        entry = run.entries.get("dump_config")
        if entry is not None and is_no_dump(facts, entry.node):
            value = literal(entry.node, facts.names)
            if value is not None:
                value = str(value) if isinstance(value, RuntimeValue) else value
                data["dump"], lines["dump"] = value, entry.line


def _script_line(facts: ScriptFacts) -> dict[str, int]:
    """Line of the call that tells the interface, else of the first block."""
    names = [*(name for name, _, _ in INTERFACES), *SESSIONS, "init_resource"]
    found = [facts.calls[name] for name in names if name in facts.calls]
    found += [block.line for block in facts.blocks]
    return {"script": found[0]} if found else {}


def _script(facts: ScriptFacts) -> dict[str, Any]:
    """Say what kind of script it is."""
    init = "init_resource" in facts.calls
    script: dict[str, Any] = {"interface": "any", "porting": "automated" if init else "manual"}
    for name, interface, porting in INTERFACES:
        if name in facts.calls:
            script.update(interface=interface, porting=porting)
            break
    else:
        if any(name in facts.calls for name in SESSIONS):
            keras = "set_session" in facts.calls or any("keras" in name for name in facts.imports)
            script.update(interface="keras" if keras else "session", porting="manual")
        elif "RunConfig" in facts.calls:
            script.update(interface="estimator", porting="automated")
    if init:
        script["init_resource"] = True
    return script


def effective_blocks(facts: ScriptFacts) -> list[OptimizerBlock]:
    """Return the blocks that npu_bridge reads; every one if it reads none of them."""
    blocks = [block for block in facts.blocks if block.entries or block.extra]
    return [block for block in blocks if block.name == OPTIMIZER] or blocks


def blocks_in_use(facts: ScriptFacts) -> list[OptimizerBlock]:
    """Return the blocks whose settings npu_bridge reads: of its own name, in what a session is given."""
    return [
        block
        for block in effective_blocks(facts)
        if not block.name_is_known or (block.name == OPTIMIZER and not facts.is_idle(block))
    ]


def effective_dumps(facts: ScriptFacts) -> list[Call]:
    """Return the ``DumpConfig`` that ``NPURunConfig`` is given; every one if that cannot be told."""
    if facts.runs and not any("dump_config" in run.entries or run.extra for run in facts.runs):
        return []
    given = [run.entries["dump_config"].node for run in facts.runs if "dump_config" in run.entries]
    known = {key for call in facts.dumps for key in (id(call.node), call.variable)}
    meant: set[int | str] = set()
    for value in given:
        parts = [part for part in ast.walk(value) if isinstance(part, ast.expr)]
        here: set[int | str] = {id(part) for part in parts}
        here |= {source_of(part) for part in parts if isinstance(part, ast.Name | ast.Attribute)}
        if here.isdisjoint(known) and not isinstance(value, ast.Constant):
            return facts.dumps
        meant |= here
    found = [call for call in facts.dumps if id(call.node) in meant or call.variable in meant]
    return found if given else facts.dumps


def unknown_dumps(facts: ScriptFacts) -> Iterator[ast.expr]:
    """Yield what ``NPURunConfig`` is given for a ``DumpConfig`` that the script does not make."""
    for run in facts.runs:
        entry = run.entries.get("dump_config")
        if entry is None or is_none(entry.node) or is_no_dump(facts, entry.node):
            continue
        if not facts.dumps:
            yield entry.node


def dump_choices(facts: ScriptFacts) -> Iterator[ast.IfExp]:
    """Yield each ``dump_config=config if … else None`` of ``NPURunConfig``, and its reverse."""
    for run in facts.runs:
        entry = run.entries.get("dump_config")
        node = None if entry is None else entry.node
        if isinstance(node, ast.IfExp) and is_none(node.body) != is_none(node.orelse):
            yield node


def chosen_rank(facts: ScriptFacts, choice: ast.IfExp) -> int | None:
    """Rank on which a choice is no ``None``, and on no other."""
    found = rank_test(choice.test, facts.once)
    return found.rank if found is not None and found.is_it == is_none(choice.orelse) else None


def runtime_sources(facts: ScriptFacts, key: str) -> Iterator[tuple[str, int]]:
    """Yield expressions that a setting may come from, and that only a run knows."""
    for call in effective_dumps(facts):
        for text in call.extra:
            name = text.lstrip("*")
            yield (f"{name}[{key!r}]" if text.startswith("**") else name), call.line
    for block in effective_blocks(facts):
        yield from block.extra
    for node in unknown_dumps(facts):
        yield f"{source_of(node)}._{key}", node.lineno
    yield from _elsewhere(facts, key)


def _elsewhere(facts: ScriptFacts, key: str) -> Iterator[tuple[str, int]]:
    """Yield what sets a dump outside the script, or in a way that is not read."""
    for name in HELPERS:
        if name in facts.calls:
            yield name, facts.calls[name]
    if facts.dumps or facts.blocks:
        return
    for place in facts.places:
        targets = place.node.targets if isinstance(place.node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and is_npu_device(target.value):
                yield f"{source_of(target.value)}.{key}", target.lineno


def is_npu_device(node: ast.expr) -> bool:
    """Whether an expression is ``npu_device.global_options().dump_config``."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "dump_config"
        and isinstance(node.value, ast.Call)
        and dotted(node.value.func).endswith("global_options")
    )


def is_none(node: ast.expr) -> bool:
    """Whether an expression is ``None``."""
    return isinstance(node, ast.Constant) and node.value is None


_OTHERS = (
    *("ProfilingConfig", "MemoryConfig", "ExperimentalConfig", "NPURunConfig"),
    *("dict", "list", "tuple", "set", "str", "int", "float", "bool", "bytes"),
)
"""What is called and makes no ``DumpConfig``."""


def is_no_dump(facts: ScriptFacts, node: ast.expr) -> bool:
    """Whether an expression is plainly no ``DumpConfig``: another object, or the class itself."""
    if isinstance(node, ast.Name) and node.id in facts.once:
        node = facts.once[node.id]
    if isinstance(node, ast.Name | ast.Attribute):
        name = dotted(node).rpartition(".")[2]
        return facts.meaning.get(name, name) == "DumpConfig"
    if isinstance(node, ast.Call):
        return dotted(node.func).rpartition(".")[2] in _OTHERS
    plain = ast.Constant | ast.Dict | ast.List | ast.Tuple | ast.Set | ast.JoinedStr | ast.Lambda
    return isinstance(node, plain) and not is_none(node)
