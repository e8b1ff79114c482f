"""Which operators of a graph an operator list means, and which of its entries mean none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.words import Message
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.selection import (
    Choice,
    changed_names,
    graphs_of_files,
    kernel_type,
    names_model,
    numbered_anew,
)
from workbench.graph.graph import COMPILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from workbench.core.plan import DumpPlan, Selector
    from workbench.graph.graph import Graph

_ID = re.compile(r"\d+$")
_FUSED = "_datadump_original_op_names"


class UnmatchedEntry(NamedTuple):
    """An entry of a list that matches nothing: where it stands, its text, and why or what would."""

    where: str
    entry: str
    reason: Message


@dataclass(frozen=True)
class Selection:
    """Operators that a plan means and that can be dumped, in the order of the graph.

    ``renamed`` tells of entries that name an operator which the graph calls otherwise.
    """

    operators: tuple[str, ...]
    unmatched: tuple[UnmatchedEntry, ...] = ()
    renamed: tuple[Message, ...] = ()


class _Numbers:
    """Names of operators in the graphs and, where MindSpore numbers operators anew, in files and operator lists.

    ``named`` are the graphs with the names that count for a release; ``anew`` are the others' names by the graph's.
    """

    def __init__(self, graphs: Sequence[Graph], version: str) -> None:
        self.named = graphs_of_files(graphs, version) if version else tuple(graphs)
        again = numbered_anew(graphs) if any(graph.path for graph in graphs) and version else graphs
        changed = changed_names(graphs, again)
        self._anew = {own: name for (_, own), name in changed.items()}
        self._own = {name: own for own, name in self._anew.items()}
        self._by_file = self.named != tuple(graphs)

    def hint(self, name: str) -> Message | None:
        """Say what a name that no operator has is in the graph, or in files of a release that numbers anew."""
        if self._by_file and name in self._anew:
            return Message("simulation/entry-of-graph", near=self._anew[name])
        if not self._by_file and name in self._own:
            return Message("simulation/entry-of-file", near=self._own[name])
        return None

    def taken(self, plan: DumpPlan) -> Iterator[Message]:
        """Tell of entries whose operator the graph calls otherwise."""
        for entry in plan.select:
            own = self._own.get(entry.text) if entry.kind == "name" else None
            if own is not None and self._by_file:
                yield Message("simulation/entry-renamed", entry=entry.text, own=own)


def select_operators(
    plan: DumpPlan,
    graphs: Sequence[Graph],
    never_dumped: Mapping[str, object],
    *,
    by_scope: bool,
    version: str = "",
) -> Selection:
    """Match a plan with graphs.

    Parameters
    ----------
    never_dumped : mapping
        Operators that never dump; they are not counted.
    by_scope : bool
        Whether types are read from the full name, as MindSpore does, or are the graph's own.
    version : str
        MindSpore's, where it writes the tree itself: operators are then called as its files call them.
    """
    numbers = _Numbers(graphs, version)
    graphs = numbers.named
    blocks = [block for graph in graphs for block in (graph, *graph.subgraphs)]
    types = {
        op.name or op.op_type: kernel_type(op.name) if by_scope else op.op_type
        for block in blocks
        for op in block.ops
    }
    choice = Choice(plan, blocks)
    operators = tuple(
        name
        for name, kind in types.items()
        if name not in never_dumped and choice.selects(name, kind)
    )
    parameters = (p.name for graph in graphs for p in graph.parameters) if by_scope else ()
    known = types | {name: kernel_type(name) for name in parameters}
    return Selection(
        operators,
        tuple(_unmatched(plan, blocks, known, numbers)),
        tuple(numbers.taken(plan)),
    )


def _unmatched(
    plan: DumpPlan, blocks: Sequence[Graph], types: Mapping[str, str], numbers: _Numbers
) -> Iterator[UnmatchedEntry]:
    hints = _Hints(blocks, types, numbers)
    for entry in plan.select:
        if not names_model(entry.model, blocks):
            yield UnmatchedEntry("list", _text(entry), _other_model(entry.model, blocks))
        elif entry.kind == "name" and entry.text not in types:
            yield UnmatchedEntry("list", _text(entry), hints.of(entry.text))
        elif entry.kind in ("type", "regex", "all") and not any(
            entry.matches(name, kind) for name, kind in types.items()
        ):
            yield UnmatchedEntry("list", _text(entry), Message(f"simulation/entry-{entry.kind}"))
        elif entry.kind == "range":
            for end in (entry.text, entry.end):
                if end not in types:
                    why = Message("simulation/entry-range", end=end, why=hints.of(end))
                    yield UnmatchedEntry("range", _text(entry), why)
    for name in plan.watched:
        if name not in types:
            yield UnmatchedEntry("watched", name, hints.of(name))
    kinds = set(types.values())
    for bar in plan.omit:
        if bar.text not in (types if bar.kind == "name" else kinds):
            yield UnmatchedEntry("blacklist", bar.text, Message(f"simulation/entry-{bar.kind}"))


def _text(entry: Selector) -> str:
    return f"{entry.text} to {entry.end}" if entry.kind == "range" else entry.text or entry.model


def _other_model(model: str, blocks: Iterable[Graph]) -> Message:
    names = [graph.name for graph in blocks]
    return Message("simulation/entry-model", got=model, names=names)


class _Hints:
    """What a name that no operator has may have meant."""

    def __init__(self, blocks: Sequence[Graph], names: Iterable[str], numbers: _Numbers) -> None:
        self._numbers = numbers
        self._written = {sanitize(name): name for name in names}
        self._without_id: dict[str, str] = {}
        for name in names:
            self._without_id.setdefault(_ID.sub("", name), name)
        self._fused: dict[str, str] = {}
        for block in blocks:
            for op in block.ops if block.dialect in ("ge", COMPILED) else ():
                originals = op.attrs.get(_FUSED)
                for name in originals if isinstance(originals, tuple | list) else ():
                    self._fused.setdefault(str(name), op.name)

    def of(self, name: str) -> Message:
        """Say why a name matches nothing."""
        known = self._numbers.hint(name)
        if known is not None:
            return known
        near = self._written.get(name)
        if near:
            return Message("simulation/entry-file-name", near=near)
        near = self._fused.get(name)
        if near:
            return Message("simulation/entry-fused", near=near)
        near = self._without_id.get(_ID.sub("", name))
        if near:
            return Message("simulation/entry-number", near=near)
        return Message("simulation/entry-name")
