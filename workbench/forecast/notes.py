"""What a preview says beside its figures: why they are only near, and what a user should know of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from workbench.config.mindspore.notes import complex_notes
from workbench.core.words import Message
from workbench.core.writers import MINDSPORE_RELEASE
from workbench.dump.releases import by_msprobe
from workbench.dump.selection import marked_names
from workbench.dump.write.ge import runs_alone
from workbench.simulation.events import undumped
from workbench.simulation.nothing import EmptyRun, left_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.config.context import Context
    from workbench.config.judge import Judged
    from workbench.config.mindspore.reading import MindSporeReading
    from workbench.core.plan import DumpPlan
    from workbench.core.writers import Writer
    from workbench.dump.write.forecast import Forecast
    from workbench.graph.graph import Graph

_CALLED = ("call", "range", "marked")
"""Selectors of what a script calls."""

WITHOUT_FORECAST = ("overflow", "exception")
"""Kinds of dump that no graph foretells."""

OPEN = ("conditional", "other-branch", "changed-map", "untold")
"""Rules on scripts that say which settings a run decides."""


def reason_against(plan: DumpPlan, writer: Writer) -> Message | None:
    """Why there is no forecast; ``None`` if there is one."""
    if not writer.is_simulated:
        return Message("forecast/late-calls")
    if plan.kind in WITHOUT_FORECAST:
        return Message(f"forecast/late-{plan.kind}")
    if plan.kind == "watch" and writer.by_mindspore:
        return Message("forecast/no-watch")
    if plan.files == "pt":
        return Message("forecast/late-captured")
    return None


def why_inexact(
    plan: DumpPlan,
    closed: Message | None,
    forecast: Forecast,
    graphs: Sequence[Graph],
    *,
    assumed: bool,
    judged: Judged | None,
) -> Iterator[Message | str]:
    """Yield why names and bytes are only as near as form and graph come; ``assumed``: the order of several networks."""
    yield from _undecided(judged) if judged is not None else ()
    if closed:
        yield closed
        return
    if assumed:
        yield Message("forecast/in-turn")
    if any(entry.kind == "marked" for entry in plan.select) and not marked_names(graphs):
        yield Message("forecast/late-marked")
    yield from forecast.uncertain


def _undecided(judged: Judged) -> Iterator[Message | str]:
    """Yield what of a form only a run decides, and names and bytes by it: they do not depend on the folder."""
    folder = judged.surface.path_key
    for problem in judged.problems:
        if problem.id == "unresolved" and problem.path != folder:
            yield Message("forecast/late-value", path=problem.path)
        elif problem.id in OPEN:
            yield problem.message


def list_notes(
    plan: DumpPlan,
    graphs: Sequence[Graph],
    writer: Writer,
    context: Context,
    run: Sequence[int],
    numbers: Sequence[int],
    judged: Judged | None,
) -> Iterator[Message]:
    """Yield what else a user should know.

    ``run`` are the iterations that run, ``numbers`` those that dump, too, ``judged`` is what the plan came from.
    """
    form = None if judged is None else judged.config
    why = left_out(EmptyRun(plan, graphs, writer, context, run, judged))
    some = why or undumped(plan, run, form)
    if some is not None:
        yield some
    for graph in graphs:
        if graph.is_excerpt:
            yield Message("dump/graph-excerpt", operators=len(graph.ops))
    if judged is not None and writer.of_mindspore and writer.is_simulated:
        yield from (
            complex_notes(cast("MindSporeReading", judged.reading)) if _has_complex(graphs) else ()
        )
    yield from _kind_notes(plan, writer, context.version)
    if not writer.is_simulated:
        yield from _call_notes(plan, context, numbers, judged)
    if writer.is_compiled and graphs[0].dialect != "ge":
        yield Message("forecast/ge-compiled")
    if runs_alone(plan, writer):
        yield Message("forecast/alone")
    elif plan.single_op:
        yield Message("forecast/alone-besides")
    yield from _graph_notes(writer)


def _has_complex(graphs: Sequence[Graph]) -> bool:
    """Whether any operator or parameter of a network has complex numbers."""
    specs = (
        spec
        for graph in graphs
        for block in (graph, *graph.subgraphs)
        for spec in (
            *(one for op in block.ops for one in op.outputs),
            *(parameter.spec for parameter in block.parameters),
        )
    )
    return any(spec.dtype.startswith("complex") for spec in specs)


def _call_notes(
    plan: DumpPlan, context: Context, numbers: Sequence[int], judged: Judged | None
) -> Iterator[Message]:
    """What is known of a dump of a script's calls: its folders, and what the form says."""
    if numbers and any(entry.kind in _CALLED for entry in plan.select):
        several = context.number("WORLD_SIZE", 1) > 1
        values = {
            "path": plan.path.rstrip("/"),
            "process": f"rank{context.rank}" if several else "proc{pid}",
            "steps": _spans(numbers),
        }
        yield Message("forecast/call-folders", count=len(numbers), **values)
    yield from judged.notes() if judged is not None else ()


def _spans(numbers: Sequence[int]) -> list[str]:
    """Return rising numbers as texts, those in a row as one: ``0``, ``2-3``."""
    starts = [i for i, n in enumerate(numbers) if not i or numbers[i - 1] != n - 1]
    pairs = [
        (numbers[i], numbers[end - 1])
        for i, end in zip(starts, [*starts[1:], len(numbers)], strict=True)
    ]
    return [str(low) if low == high else f"{low}-{high}" for low, high in pairs]


def _graph_notes(writer: Writer) -> Iterator[Message]:
    """What is not as a real run has it about graph files and models."""
    if writer.graph_files == "beside":
        yield Message("forecast/ge-graph-file")
    if writer.graph_files == "options":
        yield Message("forecast/ge-graph-folder")
    yield from map(Message, writer.notes)


def _kind_notes(plan: DumpPlan, writer: Writer, version: str) -> Iterator[Message]:
    if plan.kind == "overflow" and writer.overflow_note:
        yield Message(writer.overflow_note)
    if plan.kind == "overflow" and plan.limit:
        yield Message("forecast/overflow-limit", limit=plan.limit)
    if plan.kind == "exception" and writer.by_mindspore and writer.platform != "Ascend":
        yield Message("forecast/no-failures")
    if not by_msprobe(writer.surface, version or MINDSPORE_RELEASE):
        return
    yield Message("forecast/msprobe")
    if plan.kind == "data" and plan.saved == "full":
        yield Message("forecast/msprobe-statistics")
