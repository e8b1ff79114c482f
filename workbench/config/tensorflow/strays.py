"""Runs of a session that compute nothing: ``sess.run(global_step)`` and its kind."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from workbench.config.python_text import dotted
from workbench.config.tensorflow.scan import called, calls_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.tensorflow.facts import Facts

STRAY = re.compile(
    r"(.*_)?(global_?step|learning_rate|lr|epochs?|get_global_step|get_or_create_global_step"
    r"|report_uninitialized_variables)(_op|_var|_tensor|_value)?",
    re.IGNORECASE,
)
"""Names of what counts or reports and computes nothing."""

_SESSION = re.compile(r"(.*_)?(sess|session)(ion)?\d*", re.IGNORECASE)


def stray_runs(facts: Facts) -> Iterator[ast.Call]:
    """Yield the calls that fetch nothing but counters."""
    for place in facts.places:
        for call in calls_in(place.node):
            fetches = _fetches(call)
            if fetches and all(STRAY.fullmatch(name) for name in fetches):
                yield call


def _fetches(call: ast.Call) -> list[str]:
    """Last names of what a ``sess.run``, an ``eval`` or ``tf.train.global_step`` fetches."""
    name = called(call)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if owner is None:
        return []
    if name == "global_step" and dotted(owner).endswith("train") and len(call.args) == 2:
        return ["global_step"]
    if name == "eval" and dotted(owner):
        return [dotted(owner).rpartition(".")[2]]
    last = dotted(owner).rpartition(".")[2]
    if name != "run" or not call.args or not _SESSION.fullmatch(last):
        return []
    fetched = call.args[0]
    items = fetched.elts if isinstance(fetched, ast.List | ast.Tuple) else [fetched]
    return [_last_name(item) for item in items]


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return called(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.partition(":")[0].rpartition("/")[2]
    return dotted(node).rpartition(".")[2]
