"""Conditions of a script: on the rank (``if int(os.getenv("RANK_ID")) == 7:`` and its variants), and branches apart.

No run need take two branches together: ``if args.dump: … elif args.overflow: …``.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.config.script.literals import dotted
from workbench.config.script.statements import outward

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workbench.config.script.statements import Guard, Place
    from workbench.config.tensorflow.find import Entry, ScriptFacts

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


def rank_around(guard: Guard | None, once: dict[str, ast.expr]) -> OnRank | None:
    """Return the innermost condition on the rank around a statement."""
    for one in outward(guard):
        found = rank_test(one.test, once) if one.test is not None else None
        if found is not None:
            return OnRank(found.rank, found.is_it == one.holds)
    return None


def flags(facts: ScriptFacts) -> dict[str, int]:
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
    around = rank_around(place.guard, once)
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


Branch = frozenset[tuple[str, bool]]
"""Conditions around a statement, by their text, and whether each must hold."""


def branch_of(guard: Guard | None, once: dict[str, ast.expr]) -> Branch:
    """Return the conditions around a statement; the rank and being the main module are none."""
    return frozenset(
        (one.condition, one.holds)
        for one in outward(guard)
        if one.test is None or not (is_main(one.test) or rank_test(one.test, once))
    )


def is_main(node: ast.expr) -> bool:
    """Whether a condition asks for the main module."""
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node))


def other_branches(
    facts: ScriptFacts, entries: Iterable[Entry]
) -> dict[Branch, tuple[Entry, Entry]]:
    """Return branches that turn the overflow dump on and stand apart from every data dump.

    Each with its switch, and the switch of the data dump that is judged instead.
    """
    switches = [
        (entry, branch_of(entry.guard, facts.once))
        for entry in entries
        if entry.key in ("enable_dump", "enable_dump_debug") and constant(entry.node) is not False
    ]
    data = [(entry, branch) for entry, branch in switches if entry.key == "enable_dump"]
    return {
        branch: (entry, data[0][0])
        for entry, branch in switches
        if entry.key != "enable_dump" and data and all(_apart(branch, b) for _, b in data)
    }


def _apart(one: Branch, two: Branch) -> bool:
    """Whether neither branch lies inside the other."""
    return not (one <= two or two <= one)
