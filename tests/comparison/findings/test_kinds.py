"""The table of kinds: whole."""

from __future__ import annotations

import pytest

from workbench.comparison.finding_kinds import KINDS
from workbench.comparison.limits import LIMITS

UNNAMED = {"bias", "non-finite", "own-error"}
"""Defects that say that something is wrong, and not what."""


def test_differences_that_say_it_themselves_have_a_fault():
    said = {kind: row.fault for kind, row in KINDS.items() if row.fault}
    assert said == {"attribute": "wrong-attribute", "overwritten": "overrun"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_names_a_cause_ranks_before_what_does_not(kind):
    row = KINDS[kind]
    assert (row.score >= LIMITS.score_named) == (row.defect and kind not in UNNAMED)
    assert row.defect or row.score < min(one.score for one in KINDS.values() if one.defect)
