"""What a script does wrong, beyond the form that it holds: one finder for each rule on its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workbench.config.script.literals import dotted, source_of
from workbench.config.script.statements import called, calls_in, outward
from workbench.config.script.texts import is_text
from workbench.config.tensorflow.conditions import constant, is_main, never_equal, rank_around
from workbench.config.tensorflow.find import OPTIMIZER
from workbench.config.tensorflow.keys import JUDGED, MEMBERS
from workbench.config.tensorflow.script import (
    SWITCHES,
    chosen_rank,
    dropped_modes,
    dump_choices,
    effective_dumps,
    is_none,
    section_of,
    unknown_dumps,
)
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.form.rules import At
    from workbench.config.script.statements import Guard
    from workbench.config.tensorflow.find import Entry, ScriptFacts
    from workbench.config.tensorflow.script import ScriptReading

_COUNTER = re.compile(
    r"(.*_)?(global_?step|learning_rate|lr|epochs?|get_global_step|get_or_create_global_step"
    r"|report_uninitialized_variables)(_op|_var|_tensor|_value)?",
    re.IGNORECASE,
)
"""Names of what counts or reports and computes nothing."""

_SESSION = re.compile(r"(.*_)?(sess|session)(ion)?\d*", re.IGNORECASE)

Faults = Iterator[dict[str, Any]]

MEMBER_NAMES = {"b": "bool", "i": "integer", "s": "bytes", "f": "float"}
VALUE_MEMBERS = (*MEMBER_NAMES, "type", "shape", "tensor", "list", "func", "placeholder")
"""Members of ``AttrValue``; protobuf has no others."""


def _fault(path: str, got: str, line: int, **values: Any) -> dict[str, Any]:
    """A breach at a setting (may be empty): what stands there, on which line, and what else is said of it."""
    return {"below": path, "got": got[:120], "line": line, **values}


def _entries(reading: ScriptReading) -> Iterator[Entry]:
    for block in reading.facts.blocks:
        yield from block.entries


def _assigned(reading: ScriptReading) -> Iterator[Entry]:
    """Settings that protobuf meets, also those that are taken out again."""
    for block in reading.facts.blocks:
        yield from block.entries
        yield from block.gone


def plain_text(reading: ScriptReading, _at: At) -> Faults:
    """Text that protobuf does not take for bytes."""
    for entry in _assigned(reading):
        if entry.member == "s" and is_text(entry.node, reading.facts.bound):
            path = f"{section_of(entry.key)}.{entry.key}"
            yield _fault(path, source_of(entry.node), entry.line)


def wrong_member(reading: ScriptReading, _at: At) -> Faults:
    """Parameters under another proto member than the one that is read."""
    for entry in _entries(reading):
        member = MEMBERS.get(entry.key, entry.member)
        if (
            member != entry.member
            and entry.member in VALUE_MEMBERS
            and _is_taken(entry, reading.facts)
        ):
            path, kind = f"{section_of(entry.key)}.{entry.key}", MEMBER_NAMES[member]
            yield _fault(path, f".{entry.member}", entry.line, member=member, kind=kind)


def other_type(reading: ScriptReading, _at: At) -> Faults:
    """Values that protobuf does not take for the member that they are set by, and that no one else judges."""
    judged = {(key, found.line) for (_, key), found in reading.found.items()}
    for entry in _assigned(reading):
        member, kind = MEMBERS.get(entry.key, entry.member), MEMBER_NAMES.get(entry.member, "")
        is_judged = (
            member == entry.member and (entry.key, entry.line) in judged and entry.key in JUDGED
        )
        if not is_judged and not _is_taken(entry, reading.facts):
            path = f"{section_of(entry.key)}.{entry.key}"
            got = source_of(entry.node)
            yield _fault(path, got, entry.line, member=entry.member, kind=kind)


def _is_taken(entry: Entry, facts: ScriptFacts) -> bool:
    """Whether protobuf takes a value for a member, as far as the script tells; `plain_text` tells of text for ``s``."""
    node = entry.node
    node = facts.once.get(node.id, node) if isinstance(node, ast.Name) else node
    kind = "str" if is_text(entry.node, facts.bound) else _type_of(node)
    taken = (*_TAKEN.get(entry.member, (kind,)), *(("str",) if entry.member == "s" else ()))
    return kind is None or kind in taken


_TAKEN = {
    "b": ("bool", "int"),
    "i": ("bool", "int"),
    "f": ("bool", "int", "float"),
    "s": ("bytes",),
}
"""Member of ``AttrValue`` → types that protobuf takes for it."""


def _type_of(node: ast.expr) -> str | None:
    """Name of the type of an expression; ``None`` if it cannot be told."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _type_of(node.operand)
    if isinstance(node, ast.Constant):
        return type(node.value).__name__
    if isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set):
        return type(node).__name__.lower()
    if isinstance(node, ast.Call):
        return "bytes" if called(node) in ("as_bytes", "encode", "bytes") else None
    return None


def no_member(reading: ScriptReading, _at: At) -> Faults:
    """Parameters that are set whole, or by a member that protobuf does not have."""
    strange = [entry for entry in _assigned(reading) if entry.member not in VALUE_MEMBERS]
    for entry in (*reading.facts.bare, *strange):
        path = f"{section_of(entry.key)}.{entry.key}"
        got = f".{entry.member}" if entry.member else "assignment"
        code = "AttributeError" if entry.member else "ValueError"
        member = MEMBERS.get(entry.key, "s")
        yield _fault(path, got, entry.line, member=member, code=code, raised=code)


def changed_map(reading: ScriptReading, _at: At) -> Faults:
    """What happens to a map of parameters beside the setting of members."""
    for text, line in reading.facts.changes:
        yield _fault("", text, line)


def other_optimizer(reading: ScriptReading, _at: At) -> Faults:
    """Parameters of other custom optimizers, beside those that are read."""
    blocks = [block for block in reading.facts.blocks if block.entries]
    if any(block.name == OPTIMIZER for block in blocks):
        for block in blocks:
            if block.name != OPTIMIZER:
                yield _fault("script.optimizer", repr(block.name or ""), block.line)


def conflicts(reading: ScriptReading, _at: At) -> Faults:
    """Settings that stand in two places and differ."""
    for path, wins, loses in reading.conflicts:
        values = {"counts": wins.value, "counting": wins.line, "loses": loses.value}
        yield _fault(path, "", loses.line, **values)


def only_init(reading: ScriptReading, _at: At) -> Faults:
    """Switches that only ``init_resource`` is given."""
    blocks = [block for block in reading.facts.blocks if block.entries]
    if blocks and all(block.only_init for block in blocks) and not reading.facts.runs:
        for entry in _entries(reading):
            if entry.key in ("enable_dump", "enable_dump_debug"):
                yield _fault(f"dump.{entry.key}", "", entry.line)


def overridden(reading: ScriptReading, _at: At) -> Faults:
    """Switches in a session's configuration that ``NPURunConfig`` overrides."""
    if not reading.facts.runs or any("dump_config" in run.entries for run in reading.facts.runs):
        return
    for block in reading.facts.blocks:
        for entry in block.entries:
            if entry.key in ("enable_dump", "enable_dump_debug") and not block.only_init:
                yield _fault(f"dump.{entry.key}", "", entry.line)


def unused(reading: ScriptReading, _at: At) -> Faults:
    """A ``DumpConfig`` that no ``NPURunConfig`` is given."""
    runs = reading.facts.runs
    given = any("dump_config" in run.entries or run.extra for run in runs)
    counting = {id(dump) for dump in effective_dumps(reading.facts)} if given else set()
    idle = _idle(reading.facts.tree) if given else set()
    for dump in reading.facts.dumps if runs else ():
        if id(dump) not in counting and (not given or dump.variable in idle):
            yield _fault("dump", "", dump.line)


def _idle(tree: ast.AST) -> set[str]:
    """Names that are bound and never read."""
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in uses if not isinstance(node.ctx, ast.Store)}
    return {node.id for node in uses} - read


def unused_config(reading: ScriptReading, _at: At) -> Faults:
    """Settings of a ConfigProto that a script with a session gives to nothing."""
    for block in reading.facts.blocks:
        if reading.facts.is_idle(block):
            for entry in block.entries:
                if entry.key in SWITCHES and constant(entry.node) is not False:
                    yield _fault(f"dump.{entry.key}", block.config, entry.line)


def several(reading: ScriptReading, _at: At) -> Faults:
    """What npu_bridge refuses while it walks through several optimizers of a session."""
    for key, got, line in reading.walk.troubles:
        code = "several-path" if got is None else "several-value"
        said = Message(f"config/{code}", key=key, got=got)
        yield _fault(f"{section_of(key)}.{key}", "", line, fault=said)


def dropped_mode(reading: ScriptReading, _at: At) -> Faults:
    """Debug modes that no one reads."""
    for call in effective_dumps(reading.facts):
        for entry in dropped_modes(reading.facts, call):
            yield _fault("dump.dump_debug_mode", source_of(entry.node), entry.line)


def refused(reading: ScriptReading, _at: At) -> Faults:
    """Arguments that Python refuses."""
    for home, calls in (("dump", reading.facts.dumps), ("run", reading.facts.runs)):
        for call in calls:
            for said in call.refused:
                yield _fault(home, "", call.line, fault=said)


def other_branch(reading: ScriptReading, _at: At) -> Faults:
    """Overflow dumps that are not judged."""
    for entry, instead in reading.other.values():
        yield _fault(f"dump.{entry.key}", "", entry.line, judged=instead.line)


def conditions(reading: ScriptReading, _at: At) -> Faults:
    """Settings that hold only under a condition which is not the rank."""
    seen: set[ast.AST] = set()
    dumps = [entry for call in reading.facts.dumps for entry in call.entries.values()]
    for entry in (*_entries(reading), *dumps):
        if (
            "dump" not in entry.key
            or not reading.judged(entry)
            or rank_around(entry.guard, reading.facts.once)
        ):
            continue
        guard = _condition(entry.guard)
        if guard is not None and guard.statement not in seen:
            seen.add(guard.statement)
            path = f"{section_of(entry.key)}.{entry.key}"
            yield _conditional(path, guard.condition, entry.line, holds=guard.holds)
    for choice in dump_choices(reading.facts):
        if chosen_rank(reading.facts, choice) is None:
            holds = not is_none(choice.body)
            yield _conditional("dump", source_of(choice.test), choice.lineno, holds=holds)


def _conditional(path: str, condition: str, line: int, *, holds: bool) -> dict[str, Any]:
    said = Message("config/if" if holds else "config/unless", condition=condition[:120])
    return _fault(path, condition, line, condition=said)


def rank_types(reading: ScriptReading, _at: At) -> Faults:
    """Comparisons of the rank that come out the same on every rank."""
    for node in ast.walk(reading.facts.tree):
        if isinstance(node, ast.Compare) and never_equal(node, reading.facts.once):
            yield _fault("script.rank", source_of(node), node.lineno)


def _condition(guard: Guard | None) -> Guard | None:
    """Innermost condition that is more than being the main module."""
    return next((one for one in outward(guard) if one.test is None or not is_main(one.test)), None)


def runtime_arguments(reading: ScriptReading, _at: At) -> Faults:
    """Arguments that only a run knows."""
    for name, calls in (("DumpConfig", reading.facts.dumps), ("NPURunConfig", reading.facts.runs)):
        for call in calls:
            for text in call.extra:
                yield _fault("dump" if name == "DumpConfig" else "run", text, call.line)
    for node in unknown_dumps(reading.facts):
        yield _fault("dump", source_of(node), node.lineno)


def npu_device(reading: ScriptReading, _at: At) -> Faults:
    """Imports of npu_device, for TensorFlow 2."""
    for name, line in reading.facts.imports.items():
        if name.split(".")[0] == "npu_device":
            yield _fault("", name, line)


def unused_runs(reading: ScriptReading, _at: At) -> Faults:
    """Runs of a session that fetch nothing but counters: ``sess.run(global_step)`` and its kind."""
    for place in reading.facts.places:
        for call in calls_in(place.node):
            fetches = _fetches(call)
            if fetches and all(_COUNTER.fullmatch(name) for name in fetches):
                yield _fault("", source_of(call), call.lineno)


def _fetches(call: ast.Call) -> list[str]:
    """Last names of what a ``sess.run``, an ``eval`` or ``tf.train.global_step`` fetches."""
    name = called(call)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if owner is None:
        return []
    if name == "global_step" and dotted(owner).endswith("train") and len(call.args) == 2:
        return ["global_step"]
    if name == "eval" and dotted(owner):
        return [dotted(owner).rpartition(".")[2]]
    last = dotted(owner).rpartition(".")[2]
    if name != "run" or not call.args or not _SESSION.fullmatch(last):
        return []
    fetched = call.args[0]
    items = fetched.elts if isinstance(fetched, ast.List | ast.Tuple) else [fetched]
    return [_last_name(item) for item in items]


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return called(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.partition(":")[0].rpartition("/")[2]
    return dotted(node).rpartition(".")[2]
