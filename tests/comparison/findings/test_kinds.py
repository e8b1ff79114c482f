"""The table of kinds: whole."""

from __future__ import annotations

import pytest

from workbench.comparison.explain.table import HYPOTHESES
from workbench.comparison.finding_kinds import CAUSE_ADVICE, KERNEL_CORRECT, KINDS, advice_for
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


@pytest.mark.parametrize(
    "cause", [one for one in HYPOTHESES if " " not in one]
)  # faults have no spaces
def test_every_cause_that_can_be_named_has_its_advice(cause):
    """NaN, stale data and a flipped bit are not mended by running the operator in higher precision."""
    given = advice_for("own-error", cause)
    if cause == "overrun":  # its finding is of the kind overwritten
        assert given == KINDS["own-error"].advice
        return
    assert given == CAUSE_ADVICE[cause]
    assert given.endswith(".")
    assert given != KINDS["own-error"].advice
    assert advice_for("non-finite", cause) == given


@pytest.mark.parametrize(
    ("kind", "cause", "correct", "advice"),
    [
        ("own-error", "", False, KINDS["own-error"].advice),
        ("own-error", "", True, KERNEL_CORRECT),
        ("own-error", "stale-output", True, CAUSE_ADVICE["stale-output"]),
        ("non-finite", "", False, KINDS["non-finite"].advice),
        ("parameter", "wrong-weight-element", True, KINDS["parameter"].advice),
        ("attribute", "wrong-attribute", True, KINDS["attribute"].advice),
        ("overwritten", "overrun", False, KINDS["overwritten"].advice),
    ],
)
def test_advice_is_by_cause_only_where_the_kind_says_none(kind, cause, correct, advice):
    assert advice_for(kind, cause, kernel_correct=correct) == advice
