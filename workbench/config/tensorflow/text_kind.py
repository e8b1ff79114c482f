"""Which expressions are text whatever they hold: ``str``, where protobuf wants ``bytes``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from workbench.config.python_text import dotted

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAKERS_WORDS = """
str repr ascii chr hex oct bin format input as_str as_text as_str_any getenv getcwd gettempdir mkdtemp
strftime ctime asctime isoformat dumps hexdigest gethostname getuser
"""
_MAKERS = frozenset(_MAKERS_WORDS.split())
"""Functions and methods that return text whatever they are given."""

_OF_PATHS_WORDS = """
join abspath basename dirname expanduser expandvars normcase normpath realpath relpath
"""
_OF_PATHS = frozenset(_OF_PATHS_WORDS.split())
"""Functions of ``os.path``, which return what they are given: text, unless that is bytes."""

_OF_TEXT_WORDS = """
capitalize casefold center expandtabs format format_map join ljust lower lstrip removeprefix removesuffix
replace rjust rstrip strip swapcase title translate upper zfill
"""
_OF_TEXT = frozenset(_OF_TEXT_WORDS.split())
"""Methods of text that return text."""

_DEPTH = 40


def is_text(node: ast.expr, once: Mapping[str, ast.expr], depth: int = _DEPTH) -> bool:
    """Whether an expression is text; ``once`` has what names are bound to that are bound once."""
    if depth == 0:
        return False
    match node:
        case ast.Constant(value=value):
            return isinstance(value, str)
        case ast.JoinedStr():
            return True
        case ast.Name(id=name):
            return name in once and is_text(once[name], once, depth - 1)
        case ast.NamedExpr(value=inner) | ast.Subscript(value=inner, slice=ast.Slice()):
            return is_text(inner, once, depth - 1)
        case ast.BinOp(left=left, op=ast.Mod()):
            return is_text(left, once, depth - 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
            return any(is_text(side, once, depth - 1) for side in (left, right))
        case ast.IfExp(body=body, orelse=orelse):
            return all(is_text(side, once, depth - 1) for side in (body, orelse))
        case ast.BoolOp(values=values):
            return all(is_text(value, once, depth - 1) for value in values)
        case ast.Subscript(value=inner):
            return dotted(inner).endswith("environ")
        case ast.Call():
            return _returns_text(node, once, depth - 1)
        case _:
            return False


def _returns_text(call: ast.Call, once: Mapping[str, ast.expr], depth: int) -> bool:
    """Whether a call returns text."""
    owner, _, name = dotted(call.func).rpartition(".")
    if isinstance(call.func, ast.Attribute):
        name = call.func.attr
        if is_text(call.func.value, once, depth):
            return name in _OF_TEXT
    if name in ("get", "setdefault"):
        return owner.endswith("environ")
    if name in _OF_PATHS and (owner == "path" or owner.endswith(".path")):
        return not any(map(_may_be_bytes, call.args))
    return name in _MAKERS and (name != "format" or not owner)


def _may_be_bytes(node: ast.expr) -> bool:
    """Whether an expression looks like bytes."""
    if isinstance(node, ast.Call):
        func = node.func
        called = func.attr if isinstance(func, ast.Attribute) else dotted(func)
        return called in ("as_bytes", "bytes", "encode", "fsencode", "getcwdb")
    return isinstance(node, ast.Constant) and isinstance(node.value, bytes)
