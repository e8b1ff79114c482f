"""Lines of a script that no run executes together: branches of one ``if`` or ``match``."""

from __future__ import annotations

import ast

Branches = dict[int, dict[int, int]]
"""Per line of a statement: the branching statements around it, and which branch it is in."""


def branches_of(tree: ast.Module) -> Branches:
    """Return the branches around every statement of a script."""
    found: Branches = {}
    open_: list[tuple[ast.AST, dict[int, int]]] = [(tree, {})]
    while open_:
        node, around = open_.pop()
        if isinstance(node, ast.stmt):
            found.setdefault(node.lineno, around)
        bodies = _bodies(node)
        for index, body in enumerate(bodies):
            inside = {**around, id(node): index}
            open_ += [(statement, inside) for statement in body]
        if not bodies:
            inner = (ast.stmt, ast.ExceptHandler)
            open_ += [(n, around) for n in ast.iter_child_nodes(node) if isinstance(n, inner)]
    return found


def _bodies(node: ast.AST) -> list[list[ast.stmt]]:
    match node:
        case ast.If(body=body, orelse=orelse):
            return [body, orelse]
        case ast.Match(cases=cases):
            return [case.body for case in cases]
        case _:
            return []


def apart(branches: Branches, one: int, two: int) -> bool:
    """Whether two lines are in different branches of the same statement."""
    here, there = branches.get(one, {}), branches.get(two, {})
    return any(there.get(statement, index) != index for statement, index in here.items())
