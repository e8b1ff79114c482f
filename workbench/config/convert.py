"""Say on one surface what a form says on another, and list what cannot be said there."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from workbench.config.context import Context
from workbench.config.setting import Section
from workbench.config.surface import Config, Conversion
from workbench.config.surfaces import get
from workbench.config.words import PARTS, part_words
from workbench.core.plan import DumpPlan

if TYPE_CHECKING:
    from collections.abc import Iterator


def convert(config: Config, surface: str, context: Context) -> Conversion:
    """Return the form on another surface; raises ConfigError if the first is refused."""
    target = get(surface)
    plan = config.plan(context)
    lowered = target.from_plan(plan)
    result = Config(target, lowered.data)
    unknown = [f"{path} is unknown and left behind" for path in extra_keys(config.settings)]
    there = target.plan(result.settings, result.context())
    open_ = [f"{p}; fill it in" for p in result.check(context.elsewhere()) if p.severity == "error"]
    return Conversion(result, (*lowered.losses, *differences(plan, there), *unknown, *open_))


def differences(plan: DumpPlan, there: DumpPlan) -> Iterator[str]:
    """Say, a sentence each, in which parts another plan is not the same."""
    for part in fields(DumpPlan):
        one, two = getattr(plan, part.name), getattr(there, part.name)
        if one != two:
            here, become = part_words(part.name, one), part_words(part.name, two)
            yield f"{PARTS[part.name]} {here} cannot be said there; it becomes {become}"


def extra_keys(section: Any, path: str = "") -> Iterator[str]:
    """Paths of the unknown keys of a typed form."""
    prefix = f"{path}." if path else ""
    yield from (prefix + key for key in section.model_extra or {})
    for key in section.sections():
        value = getattr(section, key)
        if isinstance(value, Section):
            yield from extra_keys(value, prefix + key)
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                yield from extra_keys(item, f"{prefix}{key}[{index}]")
