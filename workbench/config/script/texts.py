"""Which expressions are text whatever they hold: ``str``, where protobuf wants ``bytes``."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

from workbench.config.script.literals import BINDING, bindings, dotted
from workbench.config.script.statements import called

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


Bound = Mapping[str, Sequence[ast.expr]]
"""Everything that a name or ``a.b`` is bound to, of those that are bound by assignments alone."""

_TEXT = ast.Constant("")
_PARSERS = ("parse_args", "parse_known_args")
_FLAGS = ("DEFINE_string", "DEFINE_enum", "DEFINE_multi_string")


def bound(tree: ast.Module) -> Bound:
    """Return what the names of a script are bound to, and the members that it assigns, declares or parses."""
    found: dict[str, list[ast.expr]] = {}
    others: set[str] = set()
    parsed: set[str] = set()
    options: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                found.setdefault(dotted(target), []).append(node.value)
            if isinstance(node.value, ast.Call) and called(node.value) in _PARSERS:
                parsed |= {dotted(target) for target in targets}
        elif isinstance(node, ast.ClassDef):
            others.add(node.name)
            for line in node.body:
                if isinstance(line, ast.Assign):
                    for target in line.targets:
                        found.setdefault(f"{node.name}.{dotted(target)}", []).append(line.value)
        elif isinstance(node, ast.Call):
            options += _option(node)
        elif type(node) in BINDING and not isinstance(node, ast.Name):
            others.update(bindings(node))
    others |= _unassigned(tree, found)
    for owner in (*parsed, "FLAGS", "tf.flags.FLAGS", "flags.FLAGS"):
        for name in options:
            found.setdefault(f"{owner}.{name}", []).append(_TEXT)
    return {name: values for name, values in found.items() if name and name not in others}


def _unassigned(tree: ast.Module, found: Mapping[str, Sequence[ast.expr]]) -> set[str]:
    """Names that are bound more often than by plain assignments: in loops, ``with``, tuples."""
    stored = Counter(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)
    )
    return {name for name, count in stored.items() if count != len(found.get(name, ()))}


def _option(call: ast.Call) -> list[str]:
    """Name of an option of a command line that is text: ``--dump_path``, ``DEFINE_string("dump_path", …)``."""
    first = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if not isinstance(first, str):
        return []
    if called(call) in _FLAGS:
        return [first]
    kept = all(
        one.arg not in ("type", "action", "nargs")
        or (one.arg == "type" and dotted(one.value) == "str")
        for one in call.keywords
    )
    if called(call) != "add_argument" or not first.startswith("--") or not kept:
        return []
    return [first.lstrip("-").replace("-", "_")]


def is_text(node: ast.expr, known: Bound, depth: int = _DEPTH) -> bool:
    """Whether an expression is text; ``known`` is what names are bound to."""
    if depth == 0:
        return False
    match node:
        case ast.Constant(value=value):
            return isinstance(value, str)
        case ast.JoinedStr():
            return True
        case ast.Name() | ast.Attribute():
            values = known.get(dotted(node), ())
            return bool(values) and all(is_text(value, known, depth // 2) for value in values)
        case ast.NamedExpr(value=inner) | ast.Subscript(value=inner, slice=ast.Slice()):
            return is_text(inner, known, depth - 1)
        case ast.BinOp(left=left, op=ast.Mod()):
            return is_text(left, known, depth - 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
            return any(is_text(side, known, depth - 1) for side in (left, right))
        case ast.IfExp(body=body, orelse=orelse):
            return all(is_text(side, known, depth - 1) for side in (body, orelse))
        case ast.BoolOp(values=values):
            return all(is_text(value, known, depth - 1) for value in values)
        case ast.Subscript(value=inner):
            return dotted(inner).endswith("environ")
        case ast.Call():
            return _returns_text(node, known, depth - 1)
        case _:
            return False


def _returns_text(call: ast.Call, known: Bound, depth: int) -> bool:
    """Whether a call returns text."""
    owner, _, name = dotted(call.func).rpartition(".")
    if isinstance(call.func, ast.Attribute):
        name = call.func.attr
        if is_text(call.func.value, known, depth):
            return name in _OF_TEXT
    if name in ("get", "setdefault"):
        return owner.endswith("environ")
    if name in _OF_PATHS and (owner == "path" or owner.endswith(".path")):
        return not any(map(_may_be_bytes, call.args))
    return name in _MAKERS and (name != "format" or not owner)


def _may_be_bytes(node: ast.expr) -> bool:
    """Whether an expression looks like bytes."""
    if isinstance(node, ast.Call):
        return called(node) in ("as_bytes", "bytes", "encode", "fsencode", "getcwdb")
    return isinstance(node, ast.Constant) and isinstance(node.value, bytes)
