"""What statements and calls of a script set: targets with their values, attributes, variables of the environment."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from workbench._values import NamedTuple
from workbench.config.form.settings import RuntimeValue
from workbench.config.script.literals import dotted, literal
from workbench.config.script.statements import called


class Variable(NamedTuple):
    """A variable of the environment that a script sets: its name, which only a run may know, value and line."""

    name: Any
    value: ast.expr
    line: int


def assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield target and value of what a statement assigns; of tuples of one length each item by itself.

    ``a.b += c`` assigns ``a.b + c``.
    """
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _unpacked(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value
        case ast.AugAssign(target=target, op=op, value=value):
            yield target, ast.copy_location(ast.BinOp(target, op, value), node)


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    targets, values = _items(target), _items(value)
    if targets and len(targets) == len(values):
        for one, item in zip(targets, values, strict=True):
            yield from _unpacked(one, item)
    else:
        yield target, value


def _items(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List) else []


def attribute_set(call: ast.Call, names: dict[str, Any]) -> tuple[ast.expr, str, ast.expr] | None:
    """Return object, name and value of ``setattr(object, "name", value)``; ``None`` for other calls and names."""
    if called(call) != "setattr" or len(call.args) != 3:
        return None
    holder, key, value = call.args
    name = literal(key, names)
    if not isinstance(name, str) or isinstance(name, RuntimeValue):
        return None
    return holder, name, value


def is_environment(node: ast.expr) -> bool:
    """Whether an expression is ``os.environ``."""
    return dotted(node).rpartition(".")[2] == "environ"


def variable_assigned(
    target: ast.expr, value: ast.expr, names: dict[str, Any]
) -> Iterator[Variable]:
    """Yield the variable that ``os.environ["NAME"] = value`` sets."""
    if isinstance(target, ast.Subscript) and is_environment(target.value):
        yield Variable(literal(target.slice, names), value, target.lineno)


def variables_set(call: ast.Call, names: dict[str, Any]) -> Iterator[Variable]:
    """Yield the variables that a call sets: ``os.putenv``, ``os.environ.setdefault`` and ``.update``."""
    name, arguments = called(call), call.args
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if dotted(call.func) == "os.putenv" and len(arguments) == 2:
        yield Variable(literal(arguments[0], names), arguments[1], call.lineno)
    if owner is None or not is_environment(owner):
        return
    if name == "setdefault" and len(arguments) == 2:
        yield Variable(literal(arguments[0], names), arguments[1], call.lineno)
    elif name == "update":
        for argument in arguments:
            if isinstance(argument, ast.Dict):
                for key, value in dictionary_items(argument, names):
                    yield Variable(key, value, call.lineno)
        for keyword in call.keywords:
            if keyword.arg:
                yield Variable(keyword.arg, keyword.value, call.lineno)


def dictionary_items(node: ast.Dict, names: dict[str, Any]) -> Iterator[tuple[Any, ast.expr]]:
    """Yield keys and values of a dictionary that is written out."""
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None:
            yield literal(key, names), value
