"""Read settings out of Python source without running it.

Only literals count, and names that the script binds once to a literal. Whatever else stands in
place of a value is `RuntimeValue`: shown, not judged.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workbench.config.form.settings import RuntimeValue
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHARACTERS = 1_000_000
"""Longest script that is read."""

_MAX_BITS = 1024
_MAX_JOINED = 1 << 16


def parse_python(text: str, where: str = "<text>") -> ast.Module:
    """Return the tree of a script; raises FormatError ``where:line:`` with line and caret."""
    if len(text) > MAX_CHARACTERS:
        raise FormatError(
            "config/script-long", place=f"{where}:1", got=len(text), limit=MAX_CHARACTERS
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in a script that is not ours
            return _keywords_once(ast.parse(text.removeprefix("\ufeff")))
    except SyntaxError as error:
        line = (error.text or "").rstrip("\r\n")[:200]
        column = (error.offset or 1) - 1
        caret = "\n" + " " * column + "^" if 0 <= column <= len(line) else ""
        place, excerpt = f"{where}:{error.lineno or 1}", f"\n{line}{caret}"
        raise FormatError("config/python", place=place, why=error.msg, excerpt=excerpt) from error
    except (RecursionError, MemoryError) as error:
        raise FormatError("config/python-deep", place=f"{where}:1") from error
    except ValueError as error:
        raise FormatError("config/python-text", place=f"{where}:1", why=error) from error


def _keywords_once(tree: ast.Module) -> ast.Module:
    """Raise the SyntaxError that Python raises for a repeated keyword, later than its parser."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.keywords) > 1:
            names = [keyword.arg for keyword in node.keywords if keyword.arg is not None]
            if len(set(names)) < len(names):
                name = next(name for name in names if names.count(name) > 1)
                place = (None, node.lineno, node.col_offset + 1, None)
                raise SyntaxError(f"keyword argument repeated: {name}", place)
    return tree


def bound_literals(tree: ast.Module) -> dict[str, Any]:
    """Values of the names that a script binds exactly once, anywhere, to a literal."""
    return literals_of(bound_once(tree))


def literals_of(bound: dict[str, ast.expr]) -> dict[str, Any]:
    """Values of names among what they are bound to; those of other expressions are left out."""
    names: dict[str, Any] = {}
    for name, node in bound.items():
        with suppress(_Unknown, RecursionError):
            names[name] = _value(node, names)
    return names


def bound_once(tree: ast.Module) -> dict[str, ast.expr]:
    """Expressions of the names that a script binds exactly once, anywhere, by an assignment.

    A parameter, an import, a loop variable, a function or a class binds its name as well.
    """
    nodes = [node for node in ast.walk(tree) if type(node) in BINDING]
    counts = Counter(name for node in nodes for name in bindings(node))
    found: dict[str, ast.expr] = {}
    for node in nodes:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        target = targets[0]
        if len(targets) == 1 and isinstance(target, ast.Name) and counts[target.id] == 1:
            found[target.id] = node.value
    return found


BINDING = {
    ast.Name,
    ast.arg,
    ast.Assign,
    ast.AnnAssign,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.alias,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
}
"""Types of nodes that bind a name."""


def bindings(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, not those inside it."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=asname):
            yield asname or name.partition(".")[0]
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            yield name
        case _:
            pass


def literal(node: ast.expr, names: dict[str, Any] | None = None) -> Any:
    """Value of an expression, `RuntimeValue` if only a run knows it.

    Knows constants, lists and tuples, signs, ``not``, joined strings, names of ``names``, the wrappers
    ``tf.compat.as_bytes(…)``, ``bytes(…)``, ``str.encode`` of text, and ``str`` of a whole number.
    """
    try:
        return _value(node, names or {})
    except (_Unknown, RecursionError):
        return runtime_value(node)


def runtime_value(node: ast.expr) -> RuntimeValue:
    """Return an expression that only a run can value."""
    return RuntimeValue(source_of(node))


class _Unknown(Exception):
    pass


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, {} if _is_list(item, names) else names) for item in items]
        case ast.UnaryOp(op=op, operand=operand):
            return _changed(op, _value(operand, names))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, two = _value(left, names), _value(right, names)
            if isinstance(one, str) and isinstance(two, str) and len(one + two) <= _MAX_JOINED:
                return one + two
        case ast.JoinedStr(values=parts) if all(isinstance(part, ast.Constant) for part in parts):
            return "".join(_value(part, names) for part in parts)
        case ast.NamedExpr(value=inner):
            return _value(inner, names)
        case ast.Call():
            return _text_of(node, names)
        case _:
            pass
    raise _Unknown


def _changed(op: ast.unaryop, value: Any) -> Any:
    """A number with its sign, or the opposite of what is true or false; empty bytes are false as empty text is."""
    if isinstance(op, ast.USub) and isinstance(value, int | float) and not isinstance(value, bool):
        return -value
    if isinstance(op, ast.Not) and (value is None or isinstance(value, bool | int | str)):
        return not value
    raise _Unknown


def _text_of(call: ast.Call, names: dict[str, Any]) -> Any:
    """Text that a call leaves as it is, or the digits of a whole number.

    What ``as_bytes`` refuses stays as it is, so that its type is judged.
    """
    match call:
        case ast.Call(func=ast.Attribute(attr="as_bytes" | "as_text" | "as_str"), args=[inner, *_]):
            return _value(inner, names)
        case (
            ast.Call(func=ast.Attribute(value=inner, attr="encode"))
            | ast.Call(func=ast.Name(id="bytes" | "str"), args=[inner, *_])
        ):
            value = _value(inner, names)
            if isinstance(value, str):
                return value
            if type(value) is int and isinstance(call.func, ast.Name) and call.func.id == "str":
                return str(value)
        case _:
            pass
    raise _Unknown


def _is_list(node: ast.expr, names: dict[str, Any]) -> bool:
    """Whether a name stands for a list; lists of such names would grow without bound."""
    return isinstance(node, ast.Name) and isinstance(names.get(node.id), list)


def _constant(value: Any) -> Any:
    """Value of a constant, if a form can hold it: whole text, finite numbers of sane length."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value):
        return value
    if value is None or (isinstance(value, int) and value.bit_length() <= _MAX_BITS):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise _Unknown


def source_of(node: ast.AST) -> str:
    """Python text of an expression on one line, ``an expression`` if it cannot be written."""
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
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
