"""What a training script does that concerns dumps: blocks of parameters, calls, variables of the environment."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.config.form.settings import RuntimeValue
from workbench.config.script.bindings import (
    Variable,
    assignments,
    attribute_set,
    dictionary_items,
    variable_assigned,
    variables_set,
)
from workbench.config.script.literals import bound_once, dotted, literal, literals_of, source_of
from workbench.config.script.statements import Guard, Place, called, calls_in, statements
from workbench.config.script.texts import bound
from workbench.config.tensorflow.keys import DUMP_ARGUMENTS, JUDGED, RUN_ARGUMENTS
from workbench.config.tensorflow.settings import Environment
from workbench.core.words import Message

if TYPE_CHECKING:
    from workbench.config.script.texts import Bound

OPTIMIZER = "NpuOptimizer"
"""Name of the custom optimizer that npu_bridge reads."""


USES = {
    "init_resource": "init",
    "npu_config_proto": "session",
    "set_keras_session_npu_config": "session",
    "RunConfig": "session",
    "NPURunConfig": "session",
    "Session": "session",
    "InteractiveSession": "session",
    "MonitoredTrainingSession": "session",
    "managed_session": "session",
}
"""Calls that take a session's configuration, and what the session is for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting: ``parameter_map[key].member = value`` or an argument (no member)."""

    key: str
    member: str
    node: ast.expr
    line: int
    guard: Guard | None


@dataclass(slots=True)
class OptimizerBlock:
    """The settings of one custom optimizer; ``config`` is the ConfigProto that it was added to, under ``guard``.

    ``name`` is None where the script gives none; ``extra`` are the parameters whose keys cannot be told, with their
    lines; ``gone`` those that were set and taken out again.
    """

    variable: str
    config: str
    scope: str
    line: int
    name: Any = None
    entries: list[Entry] = field(default_factory=list)
    extra: list[tuple[str, int]] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    guard: Guard | None = None
    gone: list[Entry] = field(default_factory=list)

    @property
    def name_is_known(self) -> bool:
        """Whether the script tells the name."""
        return not isinstance(self.name, RuntimeValue)

    @property
    def only_init(self) -> bool:
        """Whether the settings reach nothing but ``init_resource``."""
        return self.uses == {"init"}


@dataclass(slots=True)
class Call:
    """Arguments of ``DumpConfig`` or ``NPURunConfig``.

    ``extra`` are those that cannot be told, ``refused`` what Python refuses of them.
    """

    node: ast.Call
    variable: str
    line: int
    entries: dict[str, Entry] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)
    refused: list[Message] = field(default_factory=list)


@dataclass
class ScriptFacts:
    """Everything found; ``calls`` are called names with their first line.

    ``aliases`` are names of a function for members of what is known, ``changes`` what happens to a map of
    parameters beside the setting of members, with lines. ``meaning`` says what names of the script are called
    where they come from, empty if they have nothing to do with npu_bridge; ``bare`` are parameters that are set
    without a proto member. ``functions`` are those of the script, ``None`` where a name stands for several;
    ``handed`` says of a block that is a function's parameter whether every call gives another block for it.
    """

    tree: ast.Module
    names: dict[str, Any]
    once: dict[str, ast.expr]
    places: list[Place] = field(default_factory=list)
    blocks: list[OptimizerBlock] = field(default_factory=list)
    dumps: list[Call] = field(default_factory=list)
    runs: list[Call] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    imports: dict[str, int] = field(default_factory=dict)
    meaning: dict[str, str] = field(default_factory=dict)
    bare: list[Entry] = field(default_factory=list)
    rewrites: dict[str, tuple[Any, int]] = field(default_factory=dict)
    environment: dict[str, tuple[Any, int]] = field(default_factory=dict)
    latest: dict[tuple[str, str, str], OptimizerBlock] = field(default_factory=dict)
    aliases: dict[tuple[str, str], ast.expr] = field(default_factory=dict)
    changes: list[tuple[str, int]] = field(default_factory=list)
    functions: dict[str, ast.FunctionDef | None] = field(default_factory=dict)
    handed: dict[int, bool] = field(default_factory=dict)

    def add(self, block: OptimizerBlock) -> OptimizerBlock:
        """Keep a block, and find it by the names of its variable and its configuration."""
        self.blocks.append(block)
        self.latest[block.scope, "variable", block.variable] = block
        if block.config:
            self.latest[block.scope, "config", block.config] = block
        return block

    @cached_property
    def bound(self) -> Bound:
        """What names and members are bound to."""
        return bound(self.tree)

    @cached_property
    def filled(self) -> set[str]:
        """Names of objects that are changed by item or by a method after they were made."""
        return {
            dotted(node.value)
            for node in ast.walk(self.tree)
            if (isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load))
            or (
                isinstance(node, ast.Attribute)
                and node.attr in ("update", "pop", "setdefault", "clear")
            )
        }

    @cached_property
    def handed_on(self) -> set[str]:
        """Names of objects that are used as a whole anywhere, not only their members."""
        owners = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)}
        return {
            dotted(node)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name | ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and id(node) not in owners
        }

    def is_idle(self, block: OptimizerBlock) -> bool:
        """Whether a script with a session gives the configuration of a block to nothing."""
        if self.calls.keys().isdisjoint(USES) or not block.config or block.uses:
            return False
        return block.config not in self.handed_on

    def full(self, scope: str, node: ast.expr) -> ast.expr:
        """Return an expression with the names of members at its root written out."""
        if isinstance(node, ast.Attribute):
            whole = ast.Attribute(self.full(scope, node.value), node.attr, node.ctx)
            return ast.copy_location(whole, node)
        if isinstance(node, ast.Subscript):
            part = ast.Subscript(self.full(scope, node.value), node.slice, node.ctx)
            return ast.copy_location(part, node)
        match node:
            case ast.Call(func=ast.Attribute(value=map_, attr="get_or_create"), args=[key]):
                part = ast.Subscript(self.full(scope, map_), key, ast.Load())
                return ast.copy_location(part, node)
        while isinstance(node, ast.Name):
            if (scope, node.id) in self.aliases:
                return self.aliases[scope, node.id]
            if not scope:
                break
            scope = scope.rpartition(".")[0]
        return node

    def nearest(self, scope: str, kind: str, name: str) -> OptimizerBlock | None:
        """Latest block that a name means in a function: its own, or one of the code around it."""
        while (scope, kind, name) not in self.latest:
            if not scope:
                return None
            scope = scope.rpartition(".")[0]
        return self.latest[scope, kind, name]


_MEMBERS = ("parameter_map", "custom_optimizers", "rewrite_options", "graph_options")
"""Members of a session's configuration that a script may give a name of its own."""

_CHANGES = ("clear", "Clear", "pop", "MergeFrom", "CopyFrom", "update", "ParseFromString")
"""Methods that change a map of parameters, or what stands under a key."""

CLASSES = ("DumpConfig", "NPURunConfig")
"""Classes of npu_bridge whose names others use as well."""


def find_facts(tree: ast.Module) -> ScriptFacts:
    """Return what a script does."""
    once = bound_once(tree)
    facts = ScriptFacts(tree, literals_of(once), once)
    for place in statements(tree):
        facts.places.append(place)
        _imports(facts, place.node)
        for target, value in assignments(place.node):
            _assignment(facts, place, target, value)
        if isinstance(place.node, ast.Delete):
            for target in place.node.targets:
                _deletion(facts, place, target)
        for call in calls_in(place.node):
            _call(facts, place, call)
        if isinstance(place.node, ast.FunctionDef) and not place.scope:
            name = place.node.name
            facts.functions[name] = None if name in facts.functions else place.node
    facts.blocks[:] = [one for one in facts.blocks if not facts.handed.get(id(one))]
    return facts


def _meant(facts: ScriptFacts, call: ast.Call) -> str:
    """What is called, by the name that npu_bridge gives it."""
    name = called(call)
    return facts.meaning.get(name, name) if isinstance(call.func, ast.Name) else name


def _imports(facts: ScriptFacts, node: ast.AST) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            facts.imports.setdefault(alias.name, node.lineno)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            facts.imports.setdefault(f"{node.module or ''}.{alias.name}", node.lineno)
            ours = alias.name not in CLASSES or "npu" in (node.module or "npu").lower()
            if alias.asname or not ours:
                facts.meaning[alias.asname or alias.name] = alias.name if ours else ""
    elif isinstance(node, ast.ClassDef) and node.name in CLASSES and not node.bases:
        facts.meaning[node.name] = ""


def _assignment(facts: ScriptFacts, place: Place, given: ast.expr, value: ast.expr) -> None:
    target = _named(facts, place.scope, given, value)
    if isinstance(value, ast.Call) and called(value) == "add":
        _open_block(facts, place, target, value)
    elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Subscript):
        _parameter(facts, place, target.value, target.attr, value)
    elif isinstance(target, ast.Subscript) and dotted(target.value).endswith(".parameter_map"):
        key = str(literal(target.slice, facts.names))
        facts.bare.append(Entry(key, "", value, target.lineno, place.guard))
    elif isinstance(target, ast.Attribute):
        _attribute(facts, place.scope, target, value)
    for variable in variable_assigned(target, value, facts.names):
        _variable(facts, variable)


def _named(facts: ScriptFacts, scope: str, target: ast.expr, value: ast.expr) -> ast.expr:
    """Return a target with its root written out; ``pm = custom_op.parameter_map`` names a member."""
    if not isinstance(target, ast.Name):
        return facts.full(scope, target)
    facts.aliases.pop((scope, target.id), None)
    member = facts.full(scope, value)
    is_entry = isinstance(member, ast.Subscript) and _is_map(member.value)
    if is_entry or (isinstance(member, ast.Attribute) and member.attr in _MEMBERS):
        facts.aliases[scope, target.id] = member
    return target


def _deletion(facts: ScriptFacts, place: Place, target: ast.expr) -> None:
    """``del custom_op.parameter_map["key"]``."""
    whole = facts.full(place.scope, target)
    if isinstance(whole, ast.Subscript) and _is_map(whole.value):
        key = literal(whole.slice, facts.names)
        _forget(facts, place, whole.value, lambda entry: entry.key == key)
        facts.changes.append((f"del {source_of(target)}", target.lineno))


def _forget(
    facts: ScriptFacts, place: Place, map_: ast.expr, gone: Callable[[Entry], bool]
) -> None:
    """Take settings out of a map, if that happens in every run."""
    owner = map_.value if isinstance(map_, ast.Attribute) else map_
    block = facts.nearest(place.scope, "variable", source_of(owner))
    if block is not None and place.guard is None:
        block.gone += filter(gone, block.entries)
        block.entries[:] = [entry for entry in block.entries if not gone(entry)]


def _is_map(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "parameter_map"


def _of_map(facts: ScriptFacts, place: Place, call: ast.Call) -> None:
    """Calls that change a map of parameters, or what stands under a key of it."""
    name = called(call)
    if given := attribute_set(call, facts.names):
        holder, member, value = given
        target = facts.full(place.scope, holder)
        if isinstance(target, ast.Subscript) and _is_map(target.value):
            _parameter(facts, place, target, member, value)
        return
    if name not in _CHANGES or not isinstance(call.func, ast.Attribute):
        return
    holder = facts.full(place.scope, call.func.value)
    if _is_map(holder):
        facts.changes.append((source_of(call), call.lineno))
        if name in ("clear", "Clear"):
            _forget(facts, place, holder, lambda _: True)
        elif name == "pop" and call.args:
            key = literal(call.args[0], facts.names)
            _forget(facts, place, holder, lambda entry: entry.key == key)
        else:
            _unknown(facts, place, holder, call)
    elif isinstance(holder, ast.Subscript) and _is_map(holder.value):
        _whole_value(facts, place, holder, call)


def _whole_value(facts: ScriptFacts, place: Place, entry: ast.Subscript, call: ast.Call) -> None:
    """``custom_op.parameter_map["key"].CopyFrom(AttrValue(b=True))``."""
    given = call.args[0] if len(call.args) == 1 else None
    if isinstance(given, ast.Call) and called(given) == "AttrValue" and not given.args:
        for keyword in given.keywords:
            if keyword.arg is not None:
                _parameter(facts, place, entry, keyword.arg, keyword.value)
        return
    facts.changes.append((source_of(call), call.lineno))
    _unknown(facts, place, entry.value, call)


def _unknown(facts: ScriptFacts, place: Place, map_: ast.expr, call: ast.Call) -> None:
    """Note that settings come from a call that is not read."""
    owner = map_.value if isinstance(map_, ast.Attribute) else map_
    block = _block(facts, place.scope, source_of(owner), call.lineno)
    block.extra.append((source_of(call), call.lineno))


def _open_block(facts: ScriptFacts, place: Place, target: ast.expr, value: ast.Call) -> None:
    """``custom_op = config.graph_options.rewrite_options.custom_optimizers.add()``."""
    owner = value.func.value if isinstance(value.func, ast.Attribute) else value
    path = dotted(facts.full(place.scope, owner))
    if path.endswith("custom_optimizers"):
        config = path.partition(".graph_options")[0]
        block = OptimizerBlock(
            source_of(target), config, place.scope, value.lineno, guard=place.guard
        )
        for keyword in value.keywords:
            if keyword.arg == "name":
                block.name = literal(keyword.value, facts.names)
        facts.add(block)


def _parameter(
    facts: ScriptFacts, place: Place, target: ast.Subscript, member: str, value: ast.expr
) -> None:
    """``custom_op.parameter_map["key"].member = value``."""
    owner, key = target.value, literal(target.slice, facts.names)
    if isinstance(owner, ast.Attribute) and owner.attr == "parameter_map":
        owner = owner.value
    elif not (dotted(owner) and key in JUDGED and member in ("b", "i", "s")):
        return  # a map under another name, such as the parameter of a function
    block = _block(facts, place.scope, source_of(owner), target.lineno)
    if isinstance(key, RuntimeValue):
        block.extra.append((source_of(value), target.lineno))
    elif isinstance(key, str):
        block.entries.append(Entry(key, member, value, target.lineno, place.guard))


def _block(facts: ScriptFacts, scope: str, variable: str, line: int) -> OptimizerBlock:
    """Latest block of a variable in a function or around it; one that was made elsewhere is new."""
    block = facts.nearest(scope, "variable", variable)
    if block is None:
        block = facts.add(OptimizerBlock(variable, "", scope, line, OPTIMIZER))
    return block


def _attribute(facts: ScriptFacts, scope: str, target: ast.Attribute, value: ast.expr) -> None:
    """``custom_op.name = …`` and ``config.graph_options.rewrite_options.remapping = …``."""
    if target.attr == "name":
        block = facts.nearest(scope, "variable", source_of(target.value))
        if block is not None:
            block.name = literal(value, facts.names)
    elif target.attr in ("remapping", "memory_optimization"):
        switch = dotted(value).rpartition(".")[2]
        known = {"OFF": True, "ON": False, "DEFAULT": False, "AGGRESSIVE": False}
        off = known.get(switch, RuntimeValue(source_of(value)))
        facts.rewrites[f"{target.attr}_off"] = (off, target.lineno)


def _variable(facts: ScriptFacts, variable: Variable) -> None:
    key = variable.name
    known = key in Environment.fields
    if known or (isinstance(key, str) and key.startswith(("DUMP_G", "DUMP_LEVEL"))):
        facts.environment[key] = (literal(variable.value, facts.names), variable.line)


def _call(facts: ScriptFacts, place: Place, call: ast.Call) -> None:
    name = _meant(facts, call)
    facts.calls.setdefault(name, call.lineno)
    _of_map(facts, place, call)
    _hand(facts, place, call)
    if name in USES:
        _use(facts, place.scope, call, USES[name])
    if name == "DumpConfig":
        facts.dumps.append(_arguments(place, call, DUMP_ARGUMENTS, facts))
    elif name == "NPURunConfig":
        facts.runs.append(_arguments(place, call, RUN_ARGUMENTS, facts))
    for variable in variables_set(call, facts.names):
        _variable(facts, variable)


_MOST_HANDED = 1000
"""Settings of a function that a call hands on; more are read where they stand."""


def _hand(facts: ScriptFacts, place: Place, call: ast.Call) -> None:
    """Let a block that a function is given have what the function sets: ``set_dump(custom_op)``.

    The function stands before the call. Where it cannot be told which block is meant, its own stays.
    """
    function = facts.functions.get(called(call)) if isinstance(call.func, ast.Name) else None
    if function is None:
        return
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    arguments = dict(zip(names, call.args, strict=False))
    arguments |= {one.arg: one.value for one in call.keywords if one.arg is not None}
    for name, argument in arguments.items():
        own = facts.latest.get((f".{function.name}", "variable", name))
        if own is None or own.config:
            continue
        block = facts.nearest(place.scope, "variable", source_of(argument))
        told = _give(own, block, place) if block is not None and block is not own else False
        facts.handed[id(own)] = told and facts.handed.get(id(own), True)


def _give(own: OptimizerBlock, block: OptimizerBlock, place: Place) -> bool:
    """Give a block the settings of a function's own; ``False`` if they cannot be told to be those of the block."""
    guards = [entry.guard for entry in own.entries if entry.guard is not None]
    if block.name is None or len(own.entries) > _MOST_HANDED or (place.guard and guards):
        return False
    there = {id(one.node) for one in block.entries}  # of a call before
    new = [one for one in own.entries if id(one.node) not in there]
    block.entries += [replace(one, guard=one.guard or place.guard) for one in new]
    block.extra += own.extra
    return True


def _use(facts: ScriptFacts, scope: str, call: ast.Call, role: str) -> None:
    """Note what the configurations among the arguments are for."""
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        name = dotted(argument)
        block = facts.nearest(scope, "config", name) if name else None
        if block is not None:
            block.uses.add(role)


def _arguments(place: Place, call: ast.Call, order: tuple[str, ...], facts: ScriptFacts) -> Call:
    """Arguments by name; positional ones get theirs from the signature."""
    node = place.node
    target = node.targets[0] if isinstance(node, ast.Assign) and node.value is call else None
    found = Call(call, source_of(target) if target is not None else "", call.lineno)

    def add(key: Any, value: ast.expr) -> None:
        if isinstance(key, str) and not isinstance(key, RuntimeValue):
            if key in found.entries:
                found.refused.append(Message("config/argument-twice", name=key))
            found.entries[key] = Entry(key, "", value, value.lineno, place.guard)

    _positional(found, call.args, order, add)
    for keyword in call.keywords:
        if keyword.arg is not None:
            add(keyword.arg, keyword.value)
        elif (known := _mapping(keyword.value, facts)) is not None:
            for key, value in known:
                add(key, value)
        else:
            found.extra.append(f"**{source_of(keyword.value)}")
    return found


def _mapping(node: ast.expr, facts: ScriptFacts) -> list[tuple[Any, ast.expr]] | None:
    """Return the items of a mapping that is written out, here or where its name is bound; ``None`` if it is not."""
    if isinstance(node, ast.Name):
        if node.id not in facts.once or node.id in facts.filled:
            return None
        node = facts.once[node.id]
    if isinstance(node, ast.Dict) and None not in node.keys:
        return list(dictionary_items(node, facts.names))
    if isinstance(node, ast.Call) and dotted(node.func) == "dict" and not node.args:
        items = [(keyword.arg, keyword.value) for keyword in node.keywords]
        return None if None in dict(items) else items
    return None


def _positional(
    found: Call, arguments: Iterable[ast.expr], order: tuple[str, ...], add: Any
) -> None:
    for index, argument in enumerate(arguments):
        if isinstance(argument, ast.Starred):
            found.extra.append(source_of(argument))
            return
        if index == len(order):
            found.refused.append(Message("config/arguments-many", limit=len(order)))
            return
        add(order[index], argument)
