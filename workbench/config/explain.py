"""What a form will do, in words: `explain` for a person, messages for whoever shows a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.text import visible
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.config.judge import Judged
    from workbench.core.plan import DumpPlan, Exclusion, Iterations, Selector
    from workbench.core.problems import Problem


def explain(judged: Judged, operators: int | None = None) -> str:
    """Say what a form will do; for a refused form say what refuses it."""
    surface, problems = judged.surface, judged.problems
    judge = {
        "title": surface.title,
        "product": surface.product,
        "version": judged.context.version,
    }
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        refused = Message("config/explain-refused", **judge)
        return "\n".join(visible(str(line)) for line in (refused, *map(_item, errors)))
    plan, unknown = judged.plan(), runtime_settings(problems)
    words = plan_words(plan, operators, known_path=surface.path_key not in unknown)
    if unknown:
        words = Message("config/plan-run-time", plan=words, paths=unknown)
    lines = [
        Message("config/explain-plan", plan=words, **judge),
        *(Message("config/explain-item", item=note) for note in judged.notes()),
        *(
            Message("config/explain-problem", severity=problem.severity, problem=_whole(problem))
            for problem in problems
        ),
    ]
    return "\n".join(visible(str(line)) for line in lines)


def _item(problem: Problem) -> Message:
    return Message("config/explain-item", item=_whole(problem))


def _whole(problem: Problem) -> Message | str:
    """A problem with its advice."""
    if not problem.fix:
        return problem.message
    return Message("config/advised", said=problem.message, advice=problem.fix)


def runtime_settings(problems: Iterable[Problem]) -> list[str]:
    """Return the settings whose values only a run knows; plans hold their defaults."""
    return [problem.path for problem in problems if problem.id == "unresolved"]


def plan_words(plan: DumpPlan, operators: int | None = None, *, known_path: bool = True) -> Message:
    """Say what a plan dumps, and where; ``known_path`` is whether its folder is known before a run."""
    if plan.kind == "exception":
        said = Message("config/plan-exception", detail=plan.detail)
        return Message("config/below", plan=said, path=plan.path) if plan.path else said
    if plan.iterations.ranges == ():
        return Message("config/plan-nothing")
    when = iterations_words(plan.iterations)
    if when.code == "config/no-iteration":
        return Message("config/plan-no-iteration")
    said = _dumped(plan, who_words(plan, when), operators)
    if not known_path:
        return Message("config/into-unknown", plan=said)
    return Message("config/into", plan=said, path=plan.path) if plan.path else said


def _dumped(plan: DumpPlan, when: Message, operators: int | None) -> Message:
    """Say what is dumped, by the kind of dump."""
    if plan.kind == "overflow":
        if plan.limit:
            limit, kind = plan.limit, plan.overflow
            return Message("config/plan-overflow-limit", when=when, overflow=kind, limit=limit)
        return Message("config/plan-overflow", when=when, overflow=plan.overflow)
    if plan.kind == "watch":
        watched = [Message("config/select-name", text=name) for name in plan.watched]
        after = select_words(plan.select, None)
        return Message("config/plan-watch", when=when, watched=watched, operators=after)
    io = "both" if len(plan.io) == 2 else next(iter(plan.io), "none")
    values = {
        "when": when,
        "io": Message(f"config/io-{io}"),
        "operators": select_words(plan.select, operators),
        "saved": saved_words(plan),
    }
    if plan.omit:
        omitted = list(map(omission_words, plan.omit))
        return Message("config/plan-data-except", omitted=omitted, **values)
    return Message("config/plan-data", **values)


def iterations_words(iterations: Iterations) -> Message:
    """Say which iterations.

    >>> from workbench.core.plan import Iterations
    >>> str(iterations_words(Iterations.parse("0|5-8")))
    'iterations 0 and 5-8'
    """
    if iterations.ranges is None:
        return Message("config/every-iteration")
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in iterations.ranges if a <= b]
    if not parts:
        return Message("config/no-iteration")
    if len(parts) == 1 and parts[0].isdecimal():
        return Message("config/one-iteration", number=parts[0])
    return Message("config/iterations", ranges=parts)


def who_words(plan: DumpPlan, when: Message) -> Message:
    """Add the ranks or devices to when a plan dumps; nothing if it is all of them."""
    numbers, word = plan.ranks, "rank"
    if numbers is None:
        numbers, word = plan.devices, "device"
    if numbers is None:
        return when
    if not numbers:
        return Message("config/on-none", when=when, word=word)
    return Message("config/on", when=when, word=word, numbers=list(numbers))


def select_words(select: Sequence[Selector], operators: int | None) -> Message:
    """Say which operators, by their number if that is known."""
    if operators is not None:
        return Message("config/operator-count", count=operators)
    if not select:
        return Message("config/select-all")
    return Message("config/operators", operators=list(map(selector_words, select)))


def selector_words(selector: Selector) -> Message:
    """Say what one entry of an operator list means."""
    kind = selector.kind if selector.kind != "call" or selector.text else "calls"
    said = Message(f"config/select-{kind}", text=selector.text, end=selector.end)
    if not selector.model:
        return said
    return Message("config/select-of-model", operators=said, model=selector.model)


def omission_words(entry: Exclusion) -> Message:
    """Say what one entry of a blacklist bars."""
    said = Message("config/omit", kind=entry.kind, text=entry.text)
    if entry.slots:
        said = Message("config/omit-slots", slots=list(entry.slots), operators=said)
    if entry.model:
        said = Message("config/select-of-model", operators=said, model=entry.model)
    return said


def saved_words(plan: DumpPlan) -> Message:
    """Say what is written of a tensor."""
    names, where = list(plan.statistics), plan.statistics_on
    statistics = Message("config/saved-statistics", statistics=names, where=where)
    if plan.saved == "statistic":
        return statistics
    files = Message(f"config/files-{plan.files}")
    form = "host" if plan.host_format else "device"
    tensors = Message("config/saved-tensors", files=files, form=form)
    if plan.sample is not None:
        tensors = Message("config/saved-sample", files=files, count=plan.sample)
    if plan.saved == "tensor":
        return tensors
    return Message("config/saved-both", tensors=tensors, statistics=statistics)


def part_name(name: str) -> Message:
    """Return what a part of a plan is called."""
    return Message(f"config/part-{name.replace('_', '-')}")


def part_words(name: str, value: Any) -> Message:
    """Say the value of one part of a plan."""
    if name == "iterations":
        return iterations_words(value)
    if name == "select":
        return select_words(value, None)
    if name == "omit":
        return _some(list(map(omission_words, value)))
    if name in ("devices", "ranks") and value is None:
        return Message("config/all")
    if isinstance(value, frozenset | tuple):
        return _some(sorted(value) if isinstance(value, frozenset) else list(value))
    if isinstance(value, bool):
        return Message("config/yes" if value else "config/no")
    return (
        Message("config/none")
        if value is None or value == ""
        else Message("config/plain", value=value)
    )


def _some(items: list[Any]) -> Message:
    return Message("config/some", items=items) if items else Message("config/none")
