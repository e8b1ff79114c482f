"""Conditions on the rank: ``if int(os.getenv("RANK_ID")) == 7:`` and its variants."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.config.python_text import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.tensorflow.facts import Facts, Place, Test

_GETTERS = ("getenv", "get")
_HCCL = ("get_rank_id", "get_npu_rank_id")
_CONVERSIONS: dict[str, type[int] | type[str]] = {"int": int, "str": str}


class OnRank(NamedTuple):
    """A condition that holds on one rank (``is_it``) or on every other."""

    rank: int
    is_it: bool


def rank_test(node: ast.expr, once: dict[str, ast.expr]) -> OnRank | None:
    """Return what a condition says of the rank; None if it is no comparison of the rank alone."""
    holds = True
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, holds = node.operand, not holds
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    if not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return None
    for side, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        value = constant(other)
        number, kind = _number(value), rank_type(side, once)
        if number is not None and kind is type(value):
            return OnRank(number, isinstance(node.ops[0], ast.Eq) == holds)
    return None


def never_equal(node: ast.AST, once: dict[str, ast.expr]) -> bool:
    """Whether an expression compares the rank as text with a number, or the other way round."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return False
    sides = (node.left, node.comparators[0])
    if not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return False
    for side, other in (sides, sides[::-1]):
        kind, value = rank_type(side, once), constant(other)
        if kind is not None and type(value) in (int, str) and kind is not type(value):
            return True
    return False


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def constant(node: ast.expr) -> Any:
    """Value of a constant; None for anything else."""
    return node.value if isinstance(node, ast.Constant) else None


def rank_type(node: ast.expr, once: dict[str, ast.expr]) -> type[int] | type[str] | None:
    """Type of an expression that is the rank of this process; None if it is something else.

    A variable of the environment is text, what asks HCCL a number; the outermost conversion counts.
    """
    kind: type[int] | type[str] | None = None
    for _ in range(8):  # conversions and names of names; no script has more
        if isinstance(node, ast.Name) and node.id in once:
            node = once[node.id]
        elif isinstance(node, ast.Call) and dotted(node.func) in _CONVERSIONS and node.args:
            kind = kind or _CONVERSIONS[dotted(node.func)]
            node = node.args[0]
        else:
            break
    if isinstance(node, ast.Subscript):
        known = dotted(node.value).endswith("environ") and constant(node.slice) == "RANK_ID"
        return (kind or str) if known else None
    if not isinstance(node, ast.Call):
        return None
    name = dotted(node.func).rpartition(".")[2]
    if name in _HCCL:
        return kind or int
    known = name in _GETTERS and bool(node.args) and constant(node.args[0]) == "RANK_ID"
    return (kind or str) if known else None


def rank_around(test: Test | None, once: dict[str, ast.expr]) -> OnRank | None:
    """Return the innermost condition on the rank around a statement."""
    while test is not None:
        found = rank_test(test.node, once)
        if found is not None:
            return OnRank(found.rank, found.is_it == test.holds)
        test = test.outer
    return None


def flags(facts: Facts) -> dict[str, int]:
    """Names that are true on one rank and false on every other, with that rank."""
    found: dict[str, int] = {}
    spoilt: set[str] = set()
    for place in facts.places:
        for name, value in _bound(place):
            rank = _true_on(value, place, facts.once)
            other = constant(value) is not False if rank is None else False
            if other or (rank is not None and found.setdefault(name, rank) != rank):
                spoilt.add(name)
    return {name: rank for name, rank in found.items() if name not in spoilt}


def _bound(place: Place) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(place.node, ast.Assign):
        for target in place.node.targets:
            if isinstance(target, ast.Name):
                yield target.id, place.node.value


def _true_on(value: ast.expr, place: Place, once: dict[str, ast.expr]) -> int | None:
    """Rank on which an assignment makes its name true, and on no other."""
    around = rank_around(place.test, once)
    if constant(value) is True and around is not None and around.is_it:
        return around.rank
    return true_on(value, once)


def true_on(value: ast.expr, once: dict[str, ast.expr]) -> int | None:
    """Rank on which an expression is true, and on no other."""
    if isinstance(value, ast.IfExp):
        found = rank_test(value.test, once)
        branches = constant(value.body), constant(value.orelse)
        if found is not None and branches in ((True, False), (False, True)):
            return found.rank if branches[0] is found.is_it else None
        return None
    found = rank_test(value, once)
    return found.rank if found is not None and found.is_it else None
