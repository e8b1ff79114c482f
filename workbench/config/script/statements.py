"""Statements of a script in the order of the text, each with the function that it is in and what it depends on.

They are visited by an explicit stack, so depth costs no recursion.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from workbench.config.script.literals import source_of


@dataclass(frozen=True, slots=True)
class Guard:
    """One branch around a statement, and those around that.

    ``branch`` is 0 in the body of an ``if`` and 1 in its ``else``; of a ``match`` it is the number of the case.
    """

    statement: ast.If | ast.Match
    branch: int
    outer: Guard | None

    @property
    def test(self) -> ast.expr | None:
        """The condition of an ``if``."""
        return self.statement.test if isinstance(self.statement, ast.If) else None

    @property
    def holds(self) -> bool:
        """Whether the condition must hold."""
        return isinstance(self.statement, ast.Match) or self.branch == 0

    @property
    def condition(self) -> str:
        """The condition in Python's words: of a case its pattern."""
        if isinstance(self.statement, ast.If):
            return source_of(self.statement.test)
        case = self.statement.cases[self.branch]
        return f"{source_of(self.statement.subject)} matches {source_of(case.pattern)}"


@dataclass(frozen=True, slots=True)
class Place:
    """A statement, the function that it is in, and the branches that it stands in."""

    node: ast.AST
    scope: str
    guard: Guard | None


def statements(tree: ast.Module) -> Iterator[Place]:
    """Yield every statement in the order of the text."""
    stack = [Place(node, "", None) for node in reversed(tree.body)]
    while stack:
        place = stack.pop()
        yield place
        stack += reversed(list(_inside(place)))


def _inside(place: Place) -> Iterator[Place]:
    node, scope, guard = place.node, place.scope, place.guard
    if isinstance(node, ast.If):
        for branch, body in enumerate((node.body, node.orelse)):
            yield from (Place(inner, scope, Guard(node, branch, guard)) for inner in body)
        return
    if isinstance(node, ast.Match):
        for branch, case in enumerate(node.cases):
            yield Place(case, scope, Guard(node, branch, guard))
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        scope = f"{scope}.{node.name}"
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt | ast.excepthandler):
            yield Place(inner, scope, guard)


def calls_in(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of a statement, not those of the statements inside it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from (inner for inner in ast.walk(child) if isinstance(inner, ast.Call))


def called(call: ast.Call) -> str:
    """Last part of the name that is called; empty if it has none."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def outward(guard: Guard | None) -> Iterator[Guard]:
    """Yield a branch and those around it, the innermost first."""
    while guard is not None:
        yield guard
        guard = guard.outer


def apart(one: Guard | None, two: Guard | None) -> bool:
    """Whether no run takes both branches: they are different ones of the same statement."""
    here = {id(guard.statement): guard.branch for guard in outward(one)}
    there = ((id(guard.statement), guard.branch) for guard in outward(two))
    return any(here.get(statement, branch) != branch for statement, branch in there)
