"""Why a run dumped nothing: the one setting that emptied the tree, and what to change."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from workbench.core.words import Message
from workbench.dump.selection import marked_names
from workbench.dump.watched import watch_of
from workbench.simulation.events import with_all_iterations
from workbench.simulation.operator_list import select_operators
from workbench.simulation.ranks import only_compiles

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from workbench.config.context import Context
    from workbench.config.judge import Judged
    from workbench.core.plan import DumpPlan
    from workbench.core.writers import Writer
    from workbench.graph.graph import Graph


@dataclass(frozen=True)
class EmptyRun:
    """A run of one rank that dumped nothing: ``run`` are the iterations that ran, ``judged`` is the plan's form."""

    plan: DumpPlan
    graphs: Sequence[Graph]
    writer: Writer
    context: Context
    run: Collection[int]
    judged: Judged | None = None
    version: str = ""

    def cause(self) -> Message | None:
        """What emptied it; ``None`` if nothing that is set does."""
        return next(filter(None, (find(self) for find in _CAUSES)), None)


def left_out(empty: EmptyRun) -> Message | None:
    """Say that process, device, rank or iterations are none that dump; ``None`` if they are."""
    return next(filter(None, (find(empty) for find in _PLACES)), None)


def _compiled(empty: EmptyRun) -> Message | None:
    if only_compiles(empty.writer.surface, empty.context):
        return Message("simulation/only-compiles")
    return None


def _nothing_asked(empty: EmptyRun) -> Message | None:
    """What is said of a form that asks for nothing: what a later component refuses, a warning, or a hint."""
    if empty.judged is None or empty.plan.iterations.ranges != ():
        return None
    said = sorted(empty.judged.problems, key=lambda one: (one.severity != "warning", not one.code))
    return Message("simulation/nothing-asked", problem=str(said[0])) if said else None


def _device(empty: EmptyRun) -> Message | None:
    asked, device = empty.plan.devices, empty.context.device
    if asked is None or device in asked:
        return None
    return Message("simulation/device-left-out", device=device, asked=[*asked])


def _rank(empty: EmptyRun) -> Message | None:
    asked, rank = empty.plan.ranks, empty.context.rank
    if asked is None or rank in asked:
        return None
    variable = empty.writer.rank_variable
    return Message("simulation/rank-left-out", rank=rank, asked=[*asked], variable=variable)


def _iterations(empty: EmptyRun) -> Message | None:
    asked, run = empty.plan.iterations, sorted({*empty.run})
    if any(number in asked for number in run):
        return None
    code = "iteration-left-out" if str(asked) else "iterations-none"
    said = Message(f"simulation/{code}", first=run[0], last=run[-1], asked=asked)
    form = None if empty.judged is None else empty.judged.config
    return with_all_iterations(said, run, form)


def _marks(empty: EmptyRun) -> Message | None:
    kinds = {entry.kind for entry in empty.plan.select}
    if kinds == {"marked"} and not marked_names(empty.graphs):
        return Message("simulation/nothing-marked")
    return None


def _operators(empty: EmptyRun) -> Message | None:
    """The first entry of an operator list that meets nothing, where none of them does."""
    by_scope = empty.writer.by_mindspore
    version = empty.version if by_scope else ""
    found = select_operators(empty.plan, empty.graphs, {}, by_scope=by_scope, version=version)
    if not found.unmatched or (found.operators and empty.plan.kind != "watch"):
        return None
    if empty.plan.kind == "watch" and watch_of(empty.plan, empty.graphs[0]):
        return None
    watched = [one for one in found.unmatched if one.where == "watched"]
    first = (watched or found.unmatched)[0]
    if first.reason.code != "simulation/entry-name":
        return Message("simulation/nothing-met", entry=first.entry, reason=first.reason)
    near = _nearest(first.entry, [op.name for graph in empty.graphs for op in graph.ops])
    return Message("simulation/nothing-named", entry=first.entry, near=near)


def _nearest(entry: str, names: Sequence[str]) -> str:
    """The name that has the longest piece of an entry in it."""

    def shared(name: str) -> int:
        return SequenceMatcher(None, entry, name, autojunk=False).find_longest_match().size

    return max(names, key=shared, default="")


def _failure(empty: EmptyRun) -> Message | None:
    return Message("simulation/nothing-failed") if empty.plan.kind == "exception" else None


_PLACES: tuple[Callable[[EmptyRun], Message | None], ...] = (
    _compiled,
    _nothing_asked,
    _device,
    _rank,
    _iterations,
)
_CAUSES = (*_PLACES, _marks, _operators, _failure)
"""First that applies: where nothing runs that dumps, no list of operators is to blame."""
