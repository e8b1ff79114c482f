"""No agreement where something is wrong or missing, no accusation where nothing is."""

from __future__ import annotations

import json

import pytest

from kit.build.truth_pairs import Trees
from kit.cases_of_truth import FALSE_ACCUSATIONS, FALSE_PASSES
from kit.commands import status

CASES = FALSE_PASSES + FALSE_ACCUSATIONS


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Writes trees of sides."""
    return Trees(tmp_path_factory.mktemp("sides"))


def test_the_tables_are_whole():
    assert (len(FALSE_PASSES), len(FALSE_ACCUSATIONS)) == (40, 40)
    assert len({case.name for case in CASES}) == 80
    assert not any(0 in case.exits for case in FALSE_PASSES)
    assert not any("fail" in case.verdicts or 1 in case.exits for case in FALSE_ACCUSATIONS)


def parameter(case):
    """The case as a parameter; a known defect of the program must go on failing until it is mended."""
    marks = [pytest.mark.xfail(strict=True, reason=case.wrong)] if case.wrong else []
    return pytest.param(case, id=case.name.replace(" ", "-"), marks=marks)


@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_what_is_said_is_so(case, trees, tmp_path):
    place = case.name.replace("/", "_")
    target, golden = (
        trees(getattr(case, side), f"{place} {side}") for side in ("target", "golden")
    )
    file = tmp_path / "result.json"
    ended = status("compare", target, golden, "--json", file, *case.options)
    found = (
        json.loads(file.read_text()) if file.exists() else {"verdict": "trouble", "findings": []}
    )
    kinds = [(one["kind"], one["op_name"], one.get("fault")) for one in found["findings"]]
    assert (found["verdict"] in case.verdicts.split(), ended in case.exits) == (True, True), (
        found["verdict"], ended, found.get("sentence"), kinds, found.get("coverage"),
    )  # fmt: skip
    if found["verdict"] == "fail" and case.first:
        assert any(piece in found["findings"][0]["op_name"] for piece in case.first.split()), kinds
    told = json.dumps([found.get("sentence"), found["findings"]])
    assert not [word for word in case.never.split() if word in told], kinds
