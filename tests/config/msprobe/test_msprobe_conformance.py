"""Our verdicts on forms of msprobe's ``config.json`` against those of msprobe itself.

The record comes from `make conformance-msprobe-config`, whose forms nobody looked at while the rules were written.
"""

import json
from pathlib import Path

import pytest

import workbench as wb
from workbench.config.msprobe.surface import MINDSPORE, PYTORCH

ROOT = Path(__file__).parents[3]
RECORD = json.loads((ROOT / "tests/data/conformance/msprobe_config_26.2.0.json").read_text())
FORMS = RECORD["forms"]
SURFACES = (PYTORCH.name, MINDSPORE.name)


def verdicts(surface, forms):
    """Yield form, whether msprobe takes it, what it raises else, and our errors."""
    column = 1 + SURFACES.index(surface)
    for row in forms:
        problems = wb.config.of(surface, row[0]).check()
        errors = [problem for problem in problems if problem.severity == "error"]
        yield row[0], row[column] == [], row[column], errors


@pytest.mark.parametrize("surface", SURFACES)
def test_what_msprobe_takes_is_accepted_and_what_it_refuses_is_not(surface):
    found = list(verdicts(surface, FORMS))
    other = [(form, why, errors) for form, takes, why, errors in found if takes == bool(errors)]
    assert other == []


@pytest.mark.parametrize("surface", SURFACES)
def test_the_first_error_has_the_exception_that_msprobe_raises(surface):
    for form, takes, why, errors in verdicts(surface, FORMS):
        if not takes:
            assert errors[0].code == why[0], form


@pytest.mark.parametrize("surface", SURFACES)
def test_the_record_has_forms_of_either_verdict_and_of_every_task(surface):
    taken = [row for row in verdicts(surface, FORMS) if row[1]]
    assert len(FORMS) >= 400
    assert 0.3 < len(taken) / len(FORMS) < 0.7
    own = {PYTORCH.name: {"nan_check", "diff_check"}, MINDSPORE.name: {"exception_dump"}}
    tasks = {form["task"] for form, *_ in taken if isinstance(form.get("task"), str)}
    assert {"statistics", "tensor", "structure"} | own[surface] <= tasks


@pytest.mark.parametrize("surface", SURFACES)
def test_what_is_accepted_lowers_to_a_plan_and_words(surface):
    for form, takes, _, _ in verdicts(surface, FORMS):
        if takes:
            config = wb.config.of(surface, form)
            assert config.plan().path == (form.get("dump_path") or "")
            assert config.explain()
            assert "PrecisionDebugger" in config.code()
