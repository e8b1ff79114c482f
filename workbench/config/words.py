"""What a form will do, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.config.bare import BareConfig
    from workbench.config.context import Context
    from workbench.core.plan import DumpPlan, Exclusion, Iterations, Selector
    from workbench.core.problems import Problem

PARTS = {
    "path": "the folder",
    "net_name": "the network name",
    "iterations": "the iterations:",
    "io": "inputs and outputs:",
    "select": "the operators:",
    "saved": "what is saved:",
    "statistics": "the statistics:",
    "sample": "the sample",
    "initial_iteration": "the first iteration's number",
    "kernel_args": "kernel arguments:",
    "kind": "the kind of dump",
    "omit": "the exceptions:",
    "watched": "the watched operators:",
    "statistics_on": "where statistics are computed:",
    "statistics_precision": "the precision of statistics",
    "files": "the file type",
    "host_format": "host format:",
    "limit": "the limit of overflowing operators",
    "detail": "the detail of an exception dump",
    "overflow": "the kind of overflow",
    "devices": "the devices:",
    "ranks": "the ranks:",
    "level": "the level",
    "single_op": "single operators:",
    "before_quantisation": "tensors before quantisation:",
}
"""How each part of a plan is called."""

FILES = {"npy": "npy files", "bin": "binary containers", "pt": "torch files"}
"""How each type of file is called."""

NO_ITERATION = "no iteration"


def explain(config: BareConfig, context: Context, operators: int | None = None) -> str:
    """Say what a form will do; for a refused form say what refuses it."""
    surface = config.surface
    judged = f"{surface.title}, judged by {surface.product} {context.version}"
    problems = config.check(context)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        lines = [f"{judged}: refused, nothing is dumped.", *(f"- {problem}" for problem in errors)]
        return "\n".join(map(visible, lines))
    plan, unknown = surface.plan(config.settings, context), run_only(problems)
    if surface.path_key in unknown:
        plan = replace(plan, path="a folder that only the run knows")
    words = plan_words(plan, operators)
    if unknown:
        words += f"; only the run knows {join(unknown)}"
    lines = [f"{judged}: {words}."]
    lines += [f"- {note}" for note in surface.notes(config.settings, context)]
    lines += [f"- {problem.severity}: {problem}" for problem in problems]
    return "\n".join(map(visible, lines))


def run_only(problems: Iterable[Problem]) -> list[str]:
    """Return the settings whose values only a run knows; plans hold their defaults."""
    return [problem.path for problem in problems if problem.id == "unresolved"]


def plan_words(plan: DumpPlan, operators: int | None = None) -> str:
    """One sentence without its full stop."""
    if plan.kind == "exception":
        where = f" below {plan.path}" if plan.path else ""
        return f"operators that fail on the device leave a {plan.detail} record{where}"
    when = iterations_words(plan.iterations)
    if plan.iterations.ranges == ():
        return "no tensor is dumped"
    if when == NO_ITERATION:
        return f"{when} matches, nothing is dumped"
    when += who_words(plan)
    where = f", into {plan.path}" if plan.path else ""
    if plan.kind == "overflow":
        first = f"the first {plan.limit} of them" if plan.limit else "each of them"
        return f"{when}, operators that overflow ({plan.overflow}), {first}{where}"
    if plan.kind == "watch":
        after = select_words(plan.select, None)
        watched = join(map(repr, plan.watched))
        return f"{when}, outputs of {watched} after {after} and after themselves{where}"
    what = " and ".join(f"{io}s" for io in ("input", "output") if io in plan.io) or "nothing"
    whom = select_words(plan.select, operators)
    omitted = f" except {join(map(omission_words, plan.omit))}" if plan.omit else ""
    return f"{when}, {what} of {whom}{omitted}, {saved_words(plan)}{where}"


def iterations_words(iterations: Iterations) -> str:
    """Say which iterations.

    >>> from workbench.core.plan import Iterations
    >>> iterations_words(Iterations.parse("0|5-8"))
    'iterations 0 and 5 to 8'
    """
    if iterations.ranges is None:
        return "every iteration"
    parts = [str(a) if a == b else f"{a} to {b}" for a, b in iterations.ranges if a <= b]
    if not parts:
        return NO_ITERATION
    many = len(parts) > 1 or " to " in parts[0]
    return f"iteration{'s' if many else ''} {join(parts)}"


def who_words(plan: DumpPlan) -> str:
    """Say of which ranks or devices; empty if of all."""
    if plan.ranks is not None:
        return f" of {_numbered('rank', plan.ranks)}"
    if plan.devices is not None:
        return f" of {_numbered('device', plan.devices)}"
    return ""


def _numbered(word: str, numbers: Sequence[int]) -> str:
    if not numbers:
        return f"no {word}"
    return f"{word}{'s' if len(numbers) > 1 else ''} {join(map(str, numbers))}"


def select_words(select: Sequence[Selector], operators: int | None) -> str:
    """Say which operators, by their number if that is known."""
    if operators is not None:
        return f"{operators} operator{'' if operators == 1 else 's'}"
    return join(selector_words(s) for s in select) if select else "every operator"


def selector_words(selector: Selector) -> str:
    """Say what one entry of an operator list means."""
    words = {
        "all": "every operator",
        "name": f"{selector.text!r}",
        "type": f"types with {selector.text!r} in them",
        "regex": f"names that match {selector.text!r}",
        "marked": "operators marked with set_dump",
        "range": f"operators from {selector.text!r} to {selector.end!r}",
    }
    return words[selector.kind] + (f" of model {selector.model!r}" if selector.model else "")


def omission_words(entry: Exclusion) -> str:
    """Say what one entry of a blacklist bars."""
    what = f"{', '.join(entry.slots)} of " if entry.slots else ""
    model = f" in model {entry.model!r}" if entry.model else ""
    return f"{what}{entry.kind} {entry.text!r}{model}"


def saved_words(plan: DumpPlan) -> str:
    """Say what is written of a tensor."""
    statistics = f"statistics ({join(plan.statistics)}) computed on the {plan.statistics_on}"
    sample = "" if plan.sample is None else f" (first {plan.sample} elements)"
    shape = "in host format" if plan.host_format else "in the device's format"
    files = FILES[plan.files]
    tensors = f"as {files}{sample}" if sample else f"whole, as {files} {shape}"
    return {"tensor": tensors, "statistic": f"as {statistics}"}.get(
        plan.saved, f"{tensors} and as {statistics}"
    )


def part_words(name: str, value: Any) -> str:
    """Say the value of one part of a plan."""
    if name == "iterations":
        return iterations_words(value)
    if name == "select":
        return select_words(value, None)
    if name == "omit":
        return join(map(omission_words, value)) if value else "none"
    if name in ("devices", "ranks") and value is None:
        return "every one"
    if isinstance(value, frozenset | tuple):
        items = sorted(value) if isinstance(value, frozenset) else value
        return join(map(str, items)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == "" else repr(value)


def join(items: Iterable[str]) -> str:
    """Join words with commas and an ``and``; of more than eight, say how many more."""
    parts = list(items)
    if len(parts) > 8:
        parts = [*parts[:7], f"{len(parts) - 7} more"]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
