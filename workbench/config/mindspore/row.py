"""A row of MindSpore's tables of rules: one rule and the surfaces that it holds on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.config.form.rules import Example, Rule
from workbench.config.mindspore.settings import COMMON, E2E
from workbench.config.mindspore.start import changed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.config.form.rules import When
    from workbench.config.mindspore.settings import Target
    from workbench.core.problems import Severity

PARSER = "MindSpore dump_json_parser.cc"
TUTORIAL = "MindSpore tutorial: Using Dump in the Graph Mode"
SEEN = "seen with MindSpore 2.10.0 on a CPU"

EVERYWHERE = "o0o1 o2 cpu gpu ge"
ASCEND = "o0o1 o2 ge"
WHOLE_GRAPH = "o2 ge"

Change = Mapping[str, Any] | Example
"""Settings that differ from the surface's own starting form (see `changed`), or a whole example."""


@dataclass(frozen=True, slots=True)
class Row:
    """A rule whose examples are changes of the starting form of each surface that it holds on."""

    id: str
    severity: Severity
    at: str
    when: When
    says: str
    fix: str
    breaks: Change
    keeps: Change
    source: str = PARSER
    on: str = EVERYWHERE


def rules_of(target: Target, rows: Iterable[Row]) -> tuple[Rule, ...]:
    """Return the rules of one surface, in the order of the table."""
    return tuple(_rule(target, row) for row in rows if target in row.on.split())


def setting(key: str) -> str:
    """Path of a setting of the common section."""
    return f"{COMMON}.{key}"


def e2e_setting(key: str) -> str:
    """Path of a setting of the second section."""
    return f"{E2E}.{key}"


def _rule(target: Target, row: Row) -> Rule:
    examples = (_fitted(target, row.breaks), _fitted(target, row.keeps))
    return Rule(row.id, row.severity, row.at, row.when, row.says, row.fix, row.source, *examples)


def _fitted(target: Target, change: Change) -> Example:
    if isinstance(change, Example):
        return Example(changed(target, change.form), change.context)
    return Example(changed(target, change))
