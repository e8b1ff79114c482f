"""A row of MindSpore's tables of rules: one rule and the surfaces that it holds on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.config.mindspore.start import changed
from workbench.config.rule import Example, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.config.mindspore.form import Target
    from workbench.config.rule import Find
    from workbench.core.problems import Severity

PARSER = "MindSpore r2.7 dump_json_parser.cc"
DOCUMENT = "MindSpore, Using Dump in the Graph Mode"
SEEN = "seen with MindSpore 2.10.0 on a CPU"

EVERYWHERE = "o0o1 o2 cpu gpu ge"


@dataclass(frozen=True, slots=True)
class Row:
    """A rule whose examples are changes of the surface's own starting form (see `changed`)."""

    id: str
    severity: Severity
    find: Find
    must: str
    fix: str
    breaks: Example
    keeps: Example
    source: str = PARSER
    on: str = EVERYWHERE


def rules_of(target: Target, rows: Iterable[Row]) -> tuple[Rule, ...]:
    """Return the rules of one surface, in the order of the table."""
    return tuple(_rule(target, row) for row in rows if target in row.on.split())


def _rule(target: Target, row: Row) -> Rule:
    return Rule(
        row.id,
        row.severity,
        row.find,
        row.must,
        row.fix,
        row.source,
        _fitted(target, row.breaks),
        _fitted(target, row.keeps),
    )


def _fitted(target: Target, example: Example) -> Example:
    change: dict[str, Any] = example.form
    return replace(example, form=changed(target, change))
