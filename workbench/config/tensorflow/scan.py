"""What a training script does that concerns dumps: blocks of parameters, calls, variables.

Statements are visited in the order of the text by an explicit stack, so depth costs no recursion.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from workbench.config.form.settings import Unresolved
from workbench.config.python_text import bound_once, dotted, literal, literals_of, source_of
from workbench.config.tensorflow.facts import (
    OPTIMIZER,
    USES,
    Block,
    Call,
    Entry,
    Facts,
    Place,
    Test,
)
from workbench.config.tensorflow.keys import DUMP_ARGUMENTS, JUDGED, RUN_ARGUMENTS
from workbench.config.tensorflow.settings import Environment
from workbench.core.words import Message

_MEMBERS = ("parameter_map", "custom_optimizers", "rewrite_options", "graph_options")
"""Members of a session's configuration that a script may give a name of its own."""

_CHANGES = ("clear", "Clear", "pop", "MergeFrom", "CopyFrom", "update", "ParseFromString")
"""Methods that change a map of parameters, or what stands under a key."""

CLASSES = ("DumpConfig", "NPURunConfig")
"""Classes of npu_bridge whose names others use as well."""


def scan(tree: ast.Module) -> Facts:
    """Return what a script does."""
    once = bound_once(tree)
    facts = Facts(tree, literals_of(once), once)
    for place in places(tree):
        facts.places.append(place)
        _imports(facts, place.node)
        if isinstance(place.node, ast.Assign | ast.AnnAssign) and place.node.value is not None:
            _assignment(facts, place, place.node)
        if isinstance(place.node, ast.Delete):
            for target in place.node.targets:
                _deletion(facts, place, target)
        for call in calls_in(place.node):
            _call(facts, place, call)
    return facts


def places(tree: ast.Module) -> Iterator[Place]:
    """Yield every statement in the order of the text."""
    stack = [Place(node, "", None) for node in reversed(tree.body)]
    while stack:
        place = stack.pop()
        yield place
        stack += reversed(list(_inside(place)))


def _inside(place: Place) -> Iterator[Place]:
    node, scope, test = place.node, place.scope, place.test
    if isinstance(node, ast.If):
        yield from (Place(inner, scope, Test(node.test, True, test)) for inner in node.body)
        yield from (Place(inner, scope, Test(node.test, False, test)) for inner in node.orelse)
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}"
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt | ast.excepthandler | ast.match_case):
            yield Place(inner, scope, test)


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of a statement, not those of the statements inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from (inner for inner in ast.walk(child) if isinstance(inner, ast.Call))


def _meant(facts: Facts, call: ast.Call) -> str:
    """What is called, by the name that npu_bridge gives it."""
    name = called(call)
    return facts.meaning.get(name, name) if isinstance(call.func, ast.Name) else name


def called(call: ast.Call) -> str:
    """Last part of the name that is called; empty if it has none."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _imports(facts: Facts, node: ast.AST) -> None:
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


def _assignment(facts: Facts, place: Place, node: ast.Assign | ast.AnnAssign) -> None:
    value = node.value
    if value is None:
        return
    pairs = _pairs_of(node)
    if pairs:
        for one in pairs:
            _assignment(facts, place, one)
        return
    for given in node.targets if isinstance(node, ast.Assign) else [node.target]:
        target = _named(facts, place.scope, given, value)
        if isinstance(value, ast.Call) and called(value) == "add":
            _open_block(facts, place, target, value)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Subscript):
            _parameter(facts, place, target.value, target.attr, value)
        elif isinstance(target, ast.Subscript) and dotted(target.value).endswith(".parameter_map"):
            key = str(literal(target.slice, facts.names))
            facts.bare.append(Entry(key, "", value, target.lineno, place.test))
        elif isinstance(target, ast.Attribute):
            _attribute(facts, place.scope, target, value)
        elif isinstance(target, ast.Subscript) and dotted(target.value).endswith("environ"):
            key = literal(target.slice, facts.names)
            _variable(facts, key, value, target.lineno)


def _pairs_of(node: ast.Assign | ast.AnnAssign) -> list[ast.Assign]:
    """``a, b = x, y`` as assignments of their own."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not (isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)):
        return []
    if len(target.elts) != len(node.value.elts):
        return []
    pairs = zip(target.elts, node.value.elts, strict=True)
    return [ast.copy_location(ast.Assign([one], value), node) for one, value in pairs]


def _named(facts: Facts, scope: str, target: ast.expr, value: ast.expr) -> ast.expr:
    """Return a target with its root written out; ``pm = custom_op.parameter_map`` names a member."""
    if not isinstance(target, ast.Name):
        return facts.full(scope, target)
    facts.aliases.pop((scope, target.id), None)
    member = facts.full(scope, value)
    is_entry = isinstance(member, ast.Subscript) and _is_map(member.value)
    if is_entry or (isinstance(member, ast.Attribute) and member.attr in _MEMBERS):
        facts.aliases[scope, target.id] = member
    return target


def _deletion(facts: Facts, place: Place, target: ast.expr) -> None:
    """``del custom_op.parameter_map["key"]``."""
    whole = facts.full(place.scope, target)
    if isinstance(whole, ast.Subscript) and _is_map(whole.value):
        key = literal(whole.slice, facts.names)
        _forget(facts, place, whole.value, lambda entry: entry.key == key)
        facts.changes.append((f"del {source_of(target)}", target.lineno))


def _forget(facts: Facts, place: Place, map_: ast.expr, gone: Callable[[Entry], bool]) -> None:
    """Take settings out of a map, if that happens in every run."""
    owner = map_.value if isinstance(map_, ast.Attribute) else map_
    block = facts.nearest(place.scope, "variable", source_of(owner))
    if block is not None and place.test is None:
        block.gone += filter(gone, block.entries)
        block.entries[:] = [entry for entry in block.entries if not gone(entry)]


def _is_map(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "parameter_map"


def _of_map(facts: Facts, place: Place, call: ast.Call) -> None:
    """Calls that change a map of parameters, or what stands under a key of it."""
    name = called(call)
    if name == "setattr" and len(call.args) == 3:
        target, member = facts.full(place.scope, call.args[0]), literal(call.args[1], facts.names)
        if isinstance(target, ast.Subscript) and _is_map(target.value) and isinstance(member, str):
            _parameter(facts, place, target, member, call.args[2])
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


def _whole_value(facts: Facts, place: Place, entry: ast.Subscript, call: ast.Call) -> None:
    """``custom_op.parameter_map["key"].CopyFrom(AttrValue(b=True))``."""
    given = call.args[0] if len(call.args) == 1 else None
    if isinstance(given, ast.Call) and called(given) == "AttrValue" and not given.args:
        for keyword in given.keywords:
            if keyword.arg is not None:
                _parameter(facts, place, entry, keyword.arg, keyword.value)
        return
    facts.changes.append((source_of(call), call.lineno))
    _unknown(facts, place, entry.value, call)


def _unknown(facts: Facts, place: Place, map_: ast.expr, call: ast.Call) -> None:
    """Note that settings come from a call that is not read."""
    owner = map_.value if isinstance(map_, ast.Attribute) else map_
    block = _block(facts, place.scope, source_of(owner), call.lineno)
    block.extra.append((source_of(call), call.lineno))


def _open_block(facts: Facts, place: Place, target: ast.expr, value: ast.Call) -> None:
    """``custom_op = config.graph_options.rewrite_options.custom_optimizers.add()``."""
    owner = value.func.value if isinstance(value.func, ast.Attribute) else value
    path = dotted(facts.full(place.scope, owner))
    if path.endswith("custom_optimizers"):
        config = path.partition(".graph_options")[0]
        block = Block(source_of(target), config, place.scope, value.lineno, test=place.test)
        for keyword in value.keywords:
            if keyword.arg == "name":
                block.name = literal(keyword.value, facts.names)
        facts.add(block)


def _parameter(
    facts: Facts, place: Place, target: ast.Subscript, member: str, value: ast.expr
) -> None:
    """``custom_op.parameter_map["key"].member = value``."""
    owner, key = target.value, literal(target.slice, facts.names)
    if isinstance(owner, ast.Attribute) and owner.attr == "parameter_map":
        owner = owner.value
    elif not (dotted(owner) and key in JUDGED and member in ("b", "i", "s")):
        return  # a map under another name, such as the parameter of a function
    block = _block(facts, place.scope, source_of(owner), target.lineno)
    if isinstance(key, Unresolved):
        block.extra.append((source_of(value), target.lineno))
    elif isinstance(key, str):
        block.entries.append(Entry(key, member, value, target.lineno, place.test))


def _block(facts: Facts, scope: str, variable: str, line: int) -> Block:
    """Latest block of a variable in a function or around it; one that was made elsewhere is new."""
    block = facts.nearest(scope, "variable", variable)
    if block is None:
        block = facts.add(Block(variable, "", scope, line, OPTIMIZER))
    return block


def _attribute(facts: Facts, scope: str, target: ast.Attribute, value: ast.expr) -> None:
    """``custom_op.name = …`` and ``config.graph_options.rewrite_options.remapping = …``."""
    if target.attr == "name":
        block = facts.nearest(scope, "variable", source_of(target.value))
        if block is not None:
            block.name = literal(value, facts.names)
    elif target.attr in ("remapping", "memory_optimization"):
        switch = dotted(value).rpartition(".")[2]
        known = {"OFF": True, "ON": False, "DEFAULT": False, "AGGRESSIVE": False}
        off = known.get(switch, Unresolved(source_of(value)))
        facts.rewrites[f"{target.attr}_off"] = (off, target.lineno)


def _variable(facts: Facts, key: Any, value: ast.expr, line: int) -> None:
    known = key in Environment.fields
    if known or (isinstance(key, str) and key.startswith(("DUMP_G", "DUMP_LEVEL"))):
        facts.environment[key] = (literal(value, facts.names), line)


def _call(facts: Facts, place: Place, call: ast.Call) -> None:
    name = _meant(facts, call)
    facts.calls.setdefault(name, call.lineno)
    _of_map(facts, place, call)
    if name in USES:
        _use(facts, place.scope, call, USES[name])
    if name == "DumpConfig":
        facts.dumps.append(_arguments(place, call, DUMP_ARGUMENTS, facts))
    elif name == "NPURunConfig":
        facts.runs.append(_arguments(place, call, RUN_ARGUMENTS, facts))
    elif name in ("setdefault", "putenv") and len(call.args) == 2 and "environ" in _owner(call):
        _variable(facts, literal(call.args[0], facts.names), call.args[1], call.lineno)
    elif name == "update" and "environ" in _owner(call):
        for key, value in _pairs(call, facts):
            _variable(facts, key, value, call.lineno)


def _owner(call: ast.Call) -> str:
    name = dotted(call.func)
    return name.replace("os.putenv", "os.environ.putenv")


def _pairs(call: ast.Call, facts: Facts) -> Iterator[tuple[Any, ast.expr]]:
    for argument in call.args:
        if isinstance(argument, ast.Dict):
            yield from _items(argument, facts)
    for keyword in call.keywords:
        if keyword.arg:
            yield keyword.arg, keyword.value


def _items(node: ast.Dict, facts: Facts) -> Iterator[tuple[Any, ast.expr]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None:
            yield literal(key, facts.names), value


def _use(facts: Facts, scope: str, call: ast.Call, role: str) -> None:
    """Note what the configurations among the arguments are for."""
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        name = dotted(argument)
        block = facts.nearest(scope, "config", name) if name else None
        if block is not None:
            block.uses.add(role)


def _arguments(place: Place, call: ast.Call, order: tuple[str, ...], facts: Facts) -> Call:
    """Arguments by name; positional ones get theirs from the signature."""
    node = place.node
    target = node.targets[0] if isinstance(node, ast.Assign) and node.value is call else None
    found = Call(call, source_of(target) if target is not None else "", call.lineno)

    def add(key: Any, value: ast.expr) -> None:
        if isinstance(key, str) and not isinstance(key, Unresolved):
            if key in found.entries:
                found.refused.append(Message("config/argument-twice", name=key))
            found.entries[key] = Entry(key, "", value, value.lineno, place.test)

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


def _mapping(node: ast.expr, facts: Facts) -> list[tuple[Any, ast.expr]] | None:
    """Return the items of a mapping that is written out, here or where its name is bound; ``None`` if it is not."""
    if isinstance(node, ast.Name):
        if node.id not in facts.once or node.id in facts.filled:
            return None
        node = facts.once[node.id]
    if isinstance(node, ast.Dict) and None not in node.keys:
        return list(_items(node, facts))
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
