"""Read settings out of Python source without running it.

Only literals count, and names that the script binds once to a literal. Whatever else stands in
place of a value is `RuntimeValue`: shown, not judged.
"""

from __future__ import annotations

import ast
import math
import posixpath
import re
import warnings
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workbench.config.form.settings import RuntimeValue
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
    ``tf.compat.as_bytes(…)``, ``bytes(…)``, ``str.encode`` of text, and ``str`` of a whole number; text with such
    parts put in by ``f"{…}"``, ``"%s" % …``, ``"{}".format(…)`` and ``os.path.join(…)``. Bytes are given as text.
    """
    try:
        return _plain(_value(node, names or {}))
    except (_Unknown, RecursionError):
        return runtime_value(node)


def _plain(value: Any) -> Any:
    """A value as a form holds it: bytes are text."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, _Bytes) else value


def runtime_value(node: ast.expr) -> RuntimeValue:
    """Return an expression that only a run can value."""
    return RuntimeValue(source_of(node))


class _Unknown(Exception):
    pass


class _Bytes(str):
    """What a script holds as bytes: it joins no text, and put into text it stands there as ``b'…'``."""

    __slots__ = ()


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
            return _joined(_value(left, names), _value(right, names))
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            items = right.elts if isinstance(right, ast.Tuple) else [right]
            return _filled(_value(left, names), _PERCENT, _texts(items, names))
        case ast.JoinedStr(values=parts):
            return "".join(_sized(_texts(map(_inserted, parts), names)))
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


def _joined(one: Any, two: Any) -> str:
    if not isinstance(one, str) or type(one) is not type(two):
        raise _Unknown
    return type(one)("".join(_sized([one, two])))


def _sized(parts: Sequence[str]) -> Sequence[str]:
    """Parts of a text, unless it would be long."""
    if sum(map(len, parts)) > _MAX_JOINED:
        raise _Unknown
    return parts


_PERCENT = re.compile(r"(?:[^%]|%s|%%)*")
_BRACES = re.compile(r"(?:[^{}]|\{\}|\{\{|\}\})*")
"""Text whose places say nothing of how to write what they take; doubled signs mean themselves."""


def _filled(text: Any, plain: re.Pattern[str], parts: list[str]) -> str:
    """Text with parts in its places, as Python puts them there."""
    if type(text) is not str or not plain.fullmatch(text):
        raise _Unknown
    _sized([text, *parts])
    try:
        return text % tuple(parts) if plain is _PERCENT else text.format(*parts)
    except (TypeError, IndexError) as error:  # more places than parts, or fewer
        raise _Unknown from error


def _inserted(part: ast.expr) -> ast.expr:
    """What stands in braces of an f-string that say no more, or the text between them."""
    if not isinstance(part, ast.FormattedValue):
        return part
    if part.format_spec is not None or part.conversion not in (-1, ord("s")):
        raise _Unknown
    return part.value


def _texts(nodes: Iterable[ast.expr], names: dict[str, Any]) -> list[str]:
    """``str`` of values that it leaves as they are written: text and whole numbers."""
    return [_text(_value(node, names)) for node in nodes]


def _text(value: Any) -> str:
    if type(value) is str or type(value) is int:
        return str(value)
    raise _Unknown


def _text_of(call: ast.Call, names: dict[str, Any]) -> Any:
    """Text or bytes that a call makes of what is known."""
    match call:
        case ast.Call(func=ast.Attribute(value=inner, attr="format"), args=parts, keywords=[]):
            return _filled(_value(inner, names), _BRACES, _texts(parts, names))
        case ast.Call(func=ast.Attribute(attr="join"), args=[_, *_] as parts, keywords=[]):
            found = [_value(part, names) for part in parts]
            if dotted(call.func) == "os.path.join" and all(type(part) is str for part in found):
                return posixpath.join(*_sized(found))
        case (
            ast.Call(
                func=ast.Attribute(attr="as_bytes" | "as_text" | "as_str" as name), args=[inner, *_]
            )
            | ast.Call(func=ast.Attribute(value=inner, attr="encode" as name))
            | ast.Call(func=ast.Name(id="bytes" | "str" as name), args=[inner, *_])
        ):
            return _converted(name, _value(inner, names), decodes=len(call.args) > 1)
        case _:
            pass
    raise _Unknown


def _converted(name: str, value: Any, *, decodes: bool) -> Any:
    """What a call makes of a value: bytes, or text; what ``as_bytes`` refuses stays, so that its type is judged."""
    if name.startswith("as_"):
        made = _Bytes if name == "as_bytes" else str
        return made(value) if isinstance(value, str) else value
    if name == "str" and not decodes:
        return _text(value)
    taken = {"str": (_Bytes,), "encode": (str,), "bytes": (str, _Bytes)}
    if type(value) not in taken[name]:
        raise _Unknown
    return str(value) if name == "str" else _Bytes(value)


def _is_list(node: ast.expr, names: dict[str, Any]) -> bool:
    """Whether a name stands for a list; lists of such names would grow without bound."""
    return isinstance(node, ast.Name) and isinstance(names.get(node.id), list)


def _constant(value: Any) -> Any:
    """Value of a constant, if a form can hold it: whole text, finite numbers of sane length."""
    if isinstance(value, bytes):
        return _Bytes(value.decode("utf-8", "replace"))
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
