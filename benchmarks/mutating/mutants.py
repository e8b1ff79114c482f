"""Mutants: one small fault in one function, told from others by what it changes and not by where that stands.

A mutant is called by its area, the function, the kind of fault and the code that it changes. So a function that
has only moved has the same mutants in another revision, and two revisions are measured with the same draw.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Found = Iterator[tuple[str, ast.AST, str]]

COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
ARITHMETIC = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "+",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}
UNSEEN = (ast.JoinedStr, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What is not looked into: words, and functions of their own."""


@dataclass(frozen=True)
class Mutant:
    """A fault: the ``before`` of ``path`` from byte ``start`` to ``end`` becomes ``after``."""

    identity: str
    area: str
    function: str
    path: str
    line: int
    kind: str
    before: str
    after: str
    start: int
    end: int

    def applied(self, data: bytes) -> bytes:
        """The file with the fault; its other lines keep their numbers."""
        lost = "\n" * data[self.start : self.end].count(b"\n")
        text = f"pass{lost}" if self.after == "pass" else f"({self.after}{lost})"
        return data[: self.start] + text.encode() + data[self.end :]


def mutants(root: Path) -> dict[str, list[Mutant]]:
    """All mutants of the package below ``root`` by area."""
    found = defaultdict(list)
    for path in sorted((root / "workbench").rglob("*.py")):
        place = path.relative_to(root).as_posix()
        if place.count("/") > 1:
            found[place.split("/")[1]] += of_source(path.read_bytes(), place)
    return dict(found)


def of_source(data: bytes, path: str) -> list[Mutant]:
    """All mutants of one file."""
    begins = [0]
    for line in data.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    area, seen = path.split("/")[1], Counter()
    made = []
    for name, function in functions(ast.parse(data), ""):
        for kind, node, after in faults(function):
            start = begins[node.lineno - 1] + node.col_offset
            end = begins[node.end_lineno - 1] + node.end_col_offset
            before = ast.unparse(node)
            key = f"{area}:{name}:{kind}:{before}:{after}"
            seen[key] += 1
            made.append(
                Mutant(
                    f"{key}:{seen[key]}",
                    area,
                    name,
                    path,
                    node.lineno,
                    kind,
                    before,
                    after,
                    start,
                    end,
                )
            )
    return made


def functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions with their qualified names, inner ones behind those around them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.With | ast.Try):
            yield from functions(child, prefix)


def faults(function: ast.FunctionDef) -> Found:
    """Kind, node and text in its place, of every fault that the body of a function can have."""
    waiting = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        for kind, make in KINDS.items():
            for place, text in make(node):
                yield kind, place, text
        parts = node.value if isinstance(node, ast.AnnAssign) else node
        if parts is not None and not isinstance(parts, UNSEEN):
            inner = [parts] if parts is not node else list(ast.iter_child_nodes(node))
            waiting += [one for one in reversed(inner) if not isinstance(one, UNSEEN)]


def text(node: ast.AST) -> str:
    return f"({ast.unparse(node)})"


def compared(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        sign = COMPARISONS[type(node.ops[0])]
        yield node, f"{text(node.left)} {sign} {text(node.comparators[0])}"


def negated(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """A condition of an `if`, a `while`, a filter or a choice, turned around: its branches change places."""
    tests = node.ifs if isinstance(node, ast.comprehension) else []
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        tests = [node.test]
    for test in tests:
        if not isinstance(test, ast.Compare | ast.Constant):
            yield test, f"not {text(test)}"


def joined(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.BoolOp):
        sign = " or " if isinstance(node.op, ast.And) else " and "
        yield node, sign.join(map(text, node.values))


def constant(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield node, f"{node.value!r} + 1"
        yield node, f"{node.value!r} - 1"


def calculated(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        words = (ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict)
        texts = [
            part for part in (node.left, node.right) if isinstance(part, words) or is_text(part)
        ]
        if not texts:
            yield node, f"{text(node.left)} {ARITHMETIC[type(node.op)]} {text(node.right)}"


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def returned(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    value = node.value if isinstance(node, ast.Return) else None
    if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
        yield value, "None"


def deleted(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """A statement without which the others can still run."""
    calls = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    kept = isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple)
    if calls or kept or isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break):
        yield node, "pass"


def swapped(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The first two arguments of a call in each other's place."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return
    first, second = node.args[:2]
    if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
        return
    if ast.dump(first) != ast.dump(second):
        changed = ast.Call(node.func, [second, first, *node.args[2:]], node.keywords)
        yield node, ast.unparse(changed)


KINDS: dict[str, Callable[[ast.AST], Iterator[tuple[ast.AST, str]]]] = {
    "comparison": compared,
    "condition": negated,
    "and/or": joined,
    "constant": constant,
    "arithmetic": calculated,
    "return": returned,
    "deletion": deleted,
    "arguments": swapped,
}
"""Kind of fault → where a node can have it."""


def drawn(found: dict[str, list[Mutant]], seed: int, count: int) -> list[Mutant]:
    """As many mutants of each area, one at most of a kind in a function; area after area in turn.

    Names decide, not places: what a function is called and the kind of fault, then what is changed.
    """
    most = -(-count // max(len(found), 1))
    ranked = [_first(found[area], seed)[:most] for area in sorted(found)]
    turns = (some[turn] for turn in range(most) for some in ranked if turn < len(some))
    return list(islice(turns, count))


def _first(some: list[Mutant], seed: int) -> list[Mutant]:
    """The mutant of each function and kind that a seed draws, in the order of the draw."""
    best: dict[tuple[str, str], Mutant] = {}
    for one in some:
        place = one.function, one.kind
        if place not in best or _hash(seed, one.identity) < _hash(seed, best[place].identity):
            best[place] = one
    return [best[place] for place in sorted(best, key=lambda place: _hash(seed, ":".join(place)))]


def _hash(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed}:{name}".encode()).hexdigest()
