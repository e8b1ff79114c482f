"""Where the error of a tensor comes from: each conclusion from facts made by hand, with its figures."""

from types import SimpleNamespace

import pytest

from kit.words import check_said
from workbench.comparison.limits import LIMITS
from workbench.views.origin import error_origin


def row(**changes):
    """A failing output of an operator, which reads an error of 0.1."""
    facts = {
        "match_rule": "name", "io": "output", "slot": 0, "status": "fail", "error": 0.2, "reason": "",
        "own_error": None, "inherited_error": 0.1, "noise_floor": 1e-3,
    }  # fmt: skip
    return SimpleNamespace(**(facts | changes))


def own(**changes):
    """What replay found: nothing."""
    facts = {
        "error": 1e-4,
        "explained": 1e-3,
        "suspect": False,
        "assumed": (),
        "slot": 0,
        "errors": (),
    }
    return SimpleNamespace(**(facts | changes))


def event(**changes):
    """What the walk through the data flow found: nothing."""
    facts = {
        "is_origin": False, "masked": False, "tainted": False, "unobserved_count": 0, "inherited": 0.1,
        "expected_error": 0.15,
    }  # fmt: skip
    return SimpleNamespace(**(facts | changes))


def judged(one, replayed=None, walked=None, findings=()):
    """The blame of a row whose operator was replayed and walked through like this."""
    place = ("graph", 3)
    flow = SimpleNamespace(
        own_error=lambda *_: replayed,
        events={place: walked} if walked is not None else {},
        replayed=SimpleNamespace(reasons={}),
    )
    found = SimpleNamespace(run=SimpleNamespace(block=place[0], op=place[1]))
    return error_origin(one, found, flow, findings)


DEFECT = SimpleNamespace(defect=True, own_error=None, noise_floor=None, evidence=("it is wrong",))

CASES = {
    "named by a finding without figures": (
        (row(), None, None, [DEFECT]),
        ("origin", "defect-evidence", {"evidence": ("it is wrong",)}),
    ),
    "another result when replayed": (
        (row(), own(error=0.5, suspect=True), None),
        ("origin", "replay-differs", {"own": 0.5}),
    ),
    "replayed with an assumption": (
        (row(), own(error=0.5, suspect=True, assumed=("input.1",))),
        ("origin", "replay-assumed", {"assumed": ("input.1",)}),
    ),
    "more than its inputs explain": (
        (row(), None, event(is_origin=True)),
        ("origin", "walk-origin", {"inherited": 0.1, "explained": 0.15, "error": 0.2}),
    ),
    "the same behind operators that were not dumped": (
        (row(), None, event(is_origin=True, unobserved_count=2)),
        ("origin", "walk-unobserved", {"count": 2}),
    ),
    "agrees again downstream": (
        (row(), own(), event(masked=True)),
        ("propagated", "masked", {}),
    ),
    "nothing known of its inputs": (
        (row(inherited_error=0.0), own(), event()),
        ("unknown", "inputs-unknown", {}),
    ),
    "makes what it reads larger": (
        (row(error=0.1 * LIMITS.amplification), own(), event()),
        ("amplified", "amplified", {"inherited": 0.1, "factor": pytest.approx(LIMITS.amplification)}),
    ),
    "hands on what it reads": (
        (row(error=0.1 * LIMITS.amplification * 0.9), own(), event()),
        ("propagated", "propagated", {"inherited": 0.1}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_blame(case):
    facts, (kind, code, values) = CASES[case]
    found = judged(*facts)
    assert found.kind == kind
    check_said(found.text, f"views/{code}", **values)
    check_said(found.title, f"views/origin-{kind}")


@pytest.mark.parametrize(
    ("error", "expected", "times"), [(0.4, 1e-2, 40), (0.4, 0.0, None), (0.4, None, None)]
)
def test_how_many_times_the_rounding_error_is_said_where_it_is_known(error, expected, times):
    text = judged(row(), own(error=error, explained=expected, suspect=True)).text
    assert text.values["times"].values.get("times") == times
