"""Which operators a plan means, decided once an operator.

A plan's own `DumpPlan.selects` judges one name at a time. Here the graph is known: ranges become
names, and a list of ten thousand names costs one look-up an operator.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.errors import FormatError
from workbench.graph.graph import COMPILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from workbench.core.plan import DumpPlan, Selector
    from workbench.core.tensors import Io
    from workbench.graph.graph import Graph

MAX_ITERATIONS = 1_000_000
"""Most iterations of a run that is rehearsed or predicted."""


def kernel_type(op_name: str) -> str:
    """Return what MindSpore takes for the operator's type: from the last ``/`` to the last ``-``.

    >>> kernel_type("Default/conv1-Conv2d/Conv2D-op12"), kernel_type("conv1.weight")
    ('Conv2D', 'conv1.weight')
    """
    last = op_name[op_name.rfind("/") + 1 :]
    return last.rpartition("-")[0] or last


def graphs_of_files(graphs: Sequence[Graph], version: str) -> tuple[Graph, ...]:
    """Return all graphs of a process with the names that MindSpore's files and operator lists have for operators."""
    from workbench.dump.releases import NUMBERED_ANEW, release

    return numbered_anew(graphs) if release(version) >= NUMBERED_ANEW[0] else tuple(graphs)


def numbered_anew(graphs: Iterable[Graph]) -> tuple[Graph, ...]:
    """Return graphs whose operators are counted anew: from 0 within a scope and type, graph after graph.

    Operators count in the order of the listing. Source: files of MindSpore 2.7 and 2.10 on a CPU
    (``tests/data/conformance/names_2.10.0_cpu.json``), whose graphs keep other numbers.
    """
    counts = Counter[str]()
    return tuple(_numbered(graph, counts) for graph in graphs)


def names_anew(graphs: Iterable[Graph]) -> list[list[str]]:
    """Return the names that operators have in `numbered_anew`, graph by graph, without those inside their blocks."""
    counts = Counter[str]()

    def told(graph: Graph) -> list[str]:
        names = _counted(graph, counts)
        for block in graph.subgraphs:
            told(block)
        return [names.get(op.name, op.name) for op in graph.ops]

    return [told(graph) for graph in graphs]


def _numbered(graph: Graph, counts: Counter[str]) -> Graph:
    names = _counted(graph, counts)
    inner = tuple(_numbered(block, counts) for block in graph.subgraphs)
    return renamed(replace(graph, subgraphs=inner), names)


def _counted(graph: Graph, counts: Counter[str]) -> dict[str, str]:
    """Old name → new one of the operators of a graph that are counted."""
    names: dict[str, str] = {}
    for op in graph.ops:
        stem, _, number = op.name.rpartition("-op")
        if number.isdecimal():
            names[op.name] = f"{stem}-op{counts[stem]}"
            counts[stem] += 1
    return names


def renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    """Return a graph whose operators have other names; those that are not in ``names`` keep theirs."""
    if all(names.get(op.name, op.name) == op.name for op in graph.ops):
        return graph
    ops = (
        replace(op, name=names.get(op.name, op.name), unless=names.get(op.unless, op.unless))
        for op in graph.ops
    )
    return replace(graph, ops=tuple(ops))


def changed_names(graphs: Iterable[Graph], named: Iterable[Graph]) -> dict[tuple[int, str], str]:
    """Return the new name of every operator that has one, by graph and old name."""
    return {
        (graph.graph_id, op.name): now.name
        for graph, anew in zip(graphs, named, strict=True)
        for op, now in zip(graph.ops, anew.ops, strict=True)
        if op.name != now.name
    }


class Choice:
    """The operator list of a plan, made ready for the graphs that run.

    Raises FormatError if an entry is no regular expression.
    """

    def __init__(self, plan: DumpPlan, graphs: Sequence[Graph]) -> None:
        entries = [entry for entry in plan.select if names_model(entry.model, graphs)]
        omit = tuple(entry for entry in plan.omit if names_model(entry.model, graphs))
        self._plan = replace(plan, select=(), omit=omit)
        self._all = not plan.select
        self._names = {entry.text for entry in entries if entry.kind == "name"}
        for entry in entries:
            if entry.kind == "range":
                self._names |= _between(entry, graphs)
            if entry.kind == "marked":
                self._names |= marked_names(graphs)
        from workbench.core.regex import compile_bounded

        self._patterns = [compile_bounded(entry.text) for entry in entries if entry.kind == "regex"]
        self._others = [entry for entry in entries if entry.kind in ("type", "all")]
        self._known: dict[tuple[str, str], bool] = {}

    def wants(self, op_name: str, op_type: str, io: Io, iteration: int, slot: int) -> bool:
        """Whether a tensor belongs into the dump."""
        plan = self._plan
        return plan.wants(op_name, op_type, io, iteration, slot) and self.selects(op_name, op_type)

    def bars(self, op_name: str, op_type: str, io: Io, slot: int) -> bool:
        """Whether a blacklist keeps a tensor out."""
        return any(entry.bars(op_name, op_type, io, slot) for entry in self._plan.omit)

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


def names_model(model: str, graphs: Iterable[Graph]) -> bool:
    """Whether an entry for a model is for these graphs; only those that GE compiled know what they are called."""
    names = [graph.name for graph in graphs if graph.dialect in ("ge", COMPILED)]
    return not model or not names or model in names


def marked_names(graphs: Iterable[Graph]) -> set[str]:
    """Return the operators that graphs mark for a dump."""
    from workbench.graph.marks import is_marked

    return {op.name for graph in graphs for op in graph.ops if is_marked(op)}


def _between(entry: Selector, graphs: Iterable[Graph]) -> set[str]:
    """Names from the first to the last operator of a range, in the order of the graph."""
    names: set[str] = set()
    for graph in graphs:
        first, last = graph.by_name.get(entry.text), graph.by_name.get(entry.end)
        if first is not None and last is not None:
            names |= {op.name for op in graph.ops[first : last + 1]}
    return names


def check_count(iterations: int) -> None:
    """Raise FormatError for a number of iterations that is not between 1 and `MAX_ITERATIONS`."""
    if not 1 <= iterations <= MAX_ITERATIONS:
        raise FormatError("dump/iterations", got=iterations, limit=MAX_ITERATIONS)


def dumped_iterations(plan: DumpPlan, count: int, device: int = 0) -> list[int]:
    """Return those of the first ``count`` iterations of a run that a device dumps.

    Raises FormatError for a count that is not between 1 and `MAX_ITERATIONS`.
    """
    check_count(count)
    if plan.devices is not None and device not in plan.devices:
        return []
    run = range(plan.initial_iteration, plan.initial_iteration + count)
    return [iteration for iteration in run if iteration in plan.iterations]
