"""Say on one surface what a form says on another, and list what cannot be said there."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from workbench.config.explain import part_name, part_words, runtime_settings
from workbench.config.form.settings import Section
from workbench.config.ge.options import BOTH, WRONG
from workbench.config.surface import Lowered
from workbench.core.plan import DumpPlan
from workbench.core.words import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.config.judge import Judged
    from workbench.config.surface import Surface
    from workbench.core.problems import Problem

STATISTIC_PARTS = ("statistics", "statistics_on", "statistics_precision")
TENSOR_PARTS = ("sample", "files", "host_format")
KIND_PARTS = {"overflow": ("overflow", "limit"), "exception": ("detail",), "watch": ("watched",)}
"""Parts that mean something to one kind of dump only."""
REFUSED = (WRONG, BOTH)
"""Codes with which the graph engine refuses a session."""


def convert(judged: Judged, target: Surface) -> Lowered:
    """Return the data of a form on another surface; raises ConfigError if the first is refused."""
    plan = judged.plan()
    lowered = target.from_plan(plan)
    left = [Message("config/lost-key", path=path) for path in extra_keys(judged.settings)]
    refused = [Message("config/lost-refused", problem=one.message) for one in refusals(judged)]
    left += refused or unplanned(
        judged, plan
    )  # in a session that is refused no setting does anything
    left += [
        Message("config/lost-run-time", path=path) for path in runtime_settings(judged.problems)
    ]
    result = replace(judged.config, surface=target, data=lowered.data, decoded=None, path="")
    there = result.judge(judged.context.elsewhere())
    open_ = [
        Message("config/lost-open", problem=problem.message)
        for problem in there.problems
        if problem.severity == "error"
    ]
    lost = () if open_ else differences(plan, there.plan())
    return Lowered(lowered.data, (*lowered.unsupported, *lost, *left, *open_))


def differences(plan: DumpPlan, there: DumpPlan) -> Iterator[Message]:
    """Say in which parts another plan is not the same."""
    silent = idle_parts(plan) | idle_parts(there)
    for part in fields(DumpPlan):
        one, two = getattr(plan, part.name), getattr(there, part.name)
        if one != two and part.name not in silent:
            here, becomes = part_words(part.name, one), part_words(part.name, two)
            yield Message("config/lost-part", part=part_name(part.name), here=here, there=becomes)


def idle_parts(plan: DumpPlan) -> set[str]:
    """Return the parts of a plan that mean nothing, because of what is saved and of its kind."""
    silent = {part for kind, parts in KIND_PARTS.items() if kind != plan.kind for part in parts}
    silent.update(STATISTIC_PARTS if plan.saved == "tensor" else ())
    silent.update(TENSOR_PARTS if plan.saved == "statistic" else ())
    return silent


def refusals(judged: Judged) -> list[Problem]:
    """Return for what the graph engine refuses the session of an accepted form, so that nothing is dumped."""
    said = [one for one in judged.problems if one.severity == "warning" and one.code in REFUSED]
    return said if judged.plan().iterations.ranges == () else []


def unplanned(judged: Judged, plan: DumpPlan) -> Iterator[Message]:
    """Say which settings of an accepted form do something, by its notes, that no plan holds."""
    notes = judged.notes()
    for path, value in set_values(judged.settings):
        without = judged.config.unset(path).judge(judged.context)
        if without.notes() != notes and without.accepted and without.plan() == plan:
            yield Message("config/lost-setting", path=path, got=value)


def set_values(section: Section, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and value of every setting that a form sets to something else than its default.

    Lists of sections are left out: they hold operators, which are parts of a plan.
    """
    prefix = f"{path}." if path else ""
    for key in section.settings():
        value = getattr(section, key)
        if key in section.given and value != getattr(type(section), key):
            yield prefix + key, value
    for key in section.parts():
        inner = getattr(section, key)
        if key in section.given and isinstance(inner, Section):
            yield from set_values(inner, prefix + key)


def extra_keys(section: Section, path: str = "") -> Iterator[str]:
    """Paths of the unknown keys of a typed form."""
    prefix = f"{path}." if path else ""
    yield from (prefix + key for key in section.extra)
    for key in section.parts():
        value = getattr(section, key)
        if isinstance(value, Section):
            yield from extra_keys(value, prefix + key)
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                yield from extra_keys(item, f"{prefix}{key}[{index}]")
