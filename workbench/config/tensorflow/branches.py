"""Branches of a script that no run need take together: ``if args.dump: … elif args.overflow: …``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from workbench.config.python_text import source_of
from workbench.config.tensorflow.rank import constant, rank_test

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.config.tensorflow.facts import Entry, Facts, Test

Branch = frozenset[tuple[str, bool]]
"""Conditions around a statement, by their text, and whether each must hold."""


def branch_of(test: Test | None, once: dict[str, ast.expr]) -> Branch:
    """Return the conditions around a statement; the rank and being the main module are none."""
    found: set[tuple[str, bool]] = set()
    while test is not None:
        if not is_main(test.node) and rank_test(test.node, once) is None:
            found.add((source_of(test.node), test.holds))
        test = test.outer
    return frozenset(found)


def is_main(node: ast.expr) -> bool:
    """Whether a condition asks for the main module."""
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node))


def other_branches(facts: Facts, entries: Iterable[Entry]) -> dict[Branch, tuple[Entry, Entry]]:
    """Return branches that turn the overflow dump on and stand apart from every data dump.

    Each with its switch, and the switch of the data dump that is judged instead.
    """
    switches = [
        (entry, branch_of(entry.test, facts.once))
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
