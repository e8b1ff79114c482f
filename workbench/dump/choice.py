"""Which operators a plan means, decided once an operator.

A plan's own `DumpPlan.selects` judges one name at a time. Here the graph is known: ranges become
names, and a list of ten thousand names costs one look-up an operator.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.core.plan import DumpPlan, Selector
    from workbench.core.tensors import Io
    from workbench.graph.nodes import Graph


def kernel_type(op_name: str) -> str:
    """Return what MindSpore takes for the operator's type: from the last ``/`` to the last ``-``.

    >>> kernel_type("Default/conv1-Conv2d/Conv2D-op12"), kernel_type("conv1.weight")
    ('Conv2D', 'conv1.weight')
    """
    last = op_name[op_name.rfind("/") + 1 :]
    return last.rpartition("-")[0] or last


class Choice:
    """The operator list of a plan, made ready for the graphs that run.

    Raises FormatError if an entry is no regular expression.
    """

    def __init__(self, plan: DumpPlan, graphs: Sequence[Graph]) -> None:
        self._plan = replace(plan, select=())
        models = {"", *(graph.name for graph in graphs)}
        entries = [entry for entry in plan.select if entry.model in models]
        self.marked = any(entry.kind == "marked" for entry in entries)
        self._all = not plan.select
        self._names = {entry.text for entry in entries if entry.kind == "name"}
        for entry in entries:
            if entry.kind == "range":
                self._names |= _between(entry, graphs)
        self._patterns = [_pattern(entry) for entry in entries if entry.kind == "regex"]
        self._others = [entry for entry in entries if entry.kind in ("type", "all")]
        self._known: dict[tuple[str, str], bool] = {}

    def wants(self, op_name: str, op_type: str, io: Io, iteration: int, slot: int) -> bool:
        """Whether a tensor belongs into the dump."""
        plan = self._plan
        return plan.wants(op_name, op_type, io, iteration, slot) and self.selects(op_name, op_type)

    def selects(self, op_name: str, op_type: str) -> bool:
        """Whether an operator is meant."""
        if self._all or op_name in self._names:
            return True
        key = (op_name, op_type)
        if key not in self._known:
            self._known[key] = any(p.fullmatch(op_name) for p in self._patterns) or any(
                entry.matches(op_name, op_type) for entry in self._others
            )
        return self._known[key]


def _pattern(entry: Selector) -> re.Pattern[str]:
    try:
        return re.compile(entry.text)
    except (re.error, RecursionError, OverflowError) as error:
        message = f"name of an operator must be a regular expression, got {entry.text!r} ({error})"
        raise FormatError(message) from error


def _between(entry: Selector, graphs: Iterable[Graph]) -> set[str]:
    """Names from the first to the last operator of a range, in the order of the graph."""
    names: set[str] = set()
    for graph in graphs:
        first, last = graph.by_name.get(entry.text), graph.by_name.get(entry.end)
        if first is not None and last is not None:
            names |= {op.name for op in graph.ops[first : last + 1]}
    return names
