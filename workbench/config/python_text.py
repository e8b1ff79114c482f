"""Read settings out of Python source without running it.

Only literals count, and names that the module binds once to a literal. Whatever else stands in
place of a value is `Unresolved`: shown, not judged.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

from workbench.config.setting import Unresolved
from workbench.core.errors import FormatError

_MAX_CHARACTERS = 4_000_000


def parse_python(text: str, where: str = "<text>") -> ast.Module:
    """Return the tree of a script; raises FormatError ``where:line:`` with line and caret."""
    if len(text) > _MAX_CHARACTERS:
        message = f"{where}:1: script must be at most {_MAX_CHARACTERS} characters, got {len(text)}"
        raise FormatError(message)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in a script that is not ours
            return ast.parse(text.removeprefix("\ufeff"))
    except SyntaxError as error:
        line = (error.text or "").rstrip("\r\n")[:200]
        column = (error.offset or 1) - 1
        caret = "\n" + " " * column + "^" if 0 <= column <= len(line) else ""
        message = f"{where}:{error.lineno or 1}: text must be Python, got {error.msg!r}"
        raise FormatError(f"{message}\n{line}{caret}") from error
    except (RecursionError, MemoryError, ValueError) as error:
        message = f"{where}:1: text must be Python, got {str(error) or type(error).__name__!r}"
        raise FormatError(message) from error


def bound_literals(tree: ast.Module) -> dict[str, Any]:
    """Values of module-level names that are assigned exactly once in the script, to a literal."""
    counts: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            counts[node.id] = counts.get(node.id, 0) + 1
    names: dict[str, Any] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) and counts[target.id] == 1:
                value = literal(statement.value, names)
                if not isinstance(value, Unresolved):
                    names[target.id] = value
    return names


def literal(node: ast.expr, names: dict[str, Any] | None = None) -> Any:
    """Value of an expression, `Unresolved` if only a run knows it.

    Knows constants, lists and tuples, signs, joined strings, names of ``names``, and the wrappers
    ``tf.compat.as_bytes(…)``, ``bytes(…)``, ``str.encode``.
    """
    try:
        return _value(node, names or {})
    except (_Unknown, RecursionError):
        return Unresolved(_source(node))


class _Unknown(Exception):
    pass


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bytes() as data):
            return data.decode("utf-8", "replace")
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, names) for item in items]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _value(operand, names)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, two = _value(left, names), _value(right, names)
            if isinstance(one, str) and isinstance(two, str):
                return one + two
        case ast.Call(func=ast.Attribute(attr="as_bytes" | "as_text" | "as_str"), args=[inner, *_]):
            return _value(inner, names)
        case ast.Call(func=ast.Attribute(value=inner, attr="encode"), args=[]):
            return _value(inner, names)
        case ast.Call(func=ast.Name(id="bytes" | "str"), args=[inner, *_]):
            return _value(inner, names)
        case _:
            pass
    raise _Unknown


def _source(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except RecursionError:
        return "an expression"


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of a name or an attribute; empty for anything else.

    >>> dotted(ast.parse("config.dump_config.dump_step", mode="eval").body)
    'config.dump_config.dump_step'
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])
