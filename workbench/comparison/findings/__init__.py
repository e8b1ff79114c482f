"""Findings: what is wrong, where, and what to do.

In: a frozen `material.Material`, all that the stages before have learned. Out: `find.find` gives ranked findings and
what the golden shows of their kind, its anomalies; nothing of what comes in is changed. A new source of findings is a
row of `find.FINDERS`; what says a finding better once all are known is a row of `find.REFINEMENTS`; a new kind is a
row of `workbench.comparison.finding_kinds.KINDS`. A finding is made by `material.finding(kind, place, evidence)`.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.comparison.findings.evidence import (
        DAMAGED,
        counted,
        named_iterations,
        replay_facts,
    )

__all__ = [
    "DAMAGED",
    "counted",
    "named_iterations",
    "replay_facts",
]

PLACES = {
    "DAMAGED": "workbench.comparison.findings.evidence:DAMAGED",
    "counted": "workbench.comparison.findings.evidence:counted",
    "named_iterations": "workbench.comparison.findings.evidence:named_iterations",
    "replay_facts": "workbench.comparison.findings.evidence:replay_facts",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
