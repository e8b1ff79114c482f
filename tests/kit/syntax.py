"""Syntax trees of whole modules, of which many tests look at every node."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from contextlib import contextmanager


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """All nodes of a tree, as `ast.walk` gives them; walked once, and kept with the tree, in no circle."""
    if not hasattr(tree, "walked"):
        _, *tree.walked = ast.walk(tree)
    return [tree, *tree.walked]


@contextmanager
def gc_frozen() -> Iterator[None]:
    """Look for no garbage among what is made meanwhile, now or later.

    Of a million nodes that takes twice as long as to parse them. They go when nobody has them.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
