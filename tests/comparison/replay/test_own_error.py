"""The own error of a row: what computing its operator again gives, at the result that it is of."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest

import workbench as wb
from kit.build.sample_results import make_result, make_row
from kit.build.small_dumps import chain, given, in_memory, shoot
from workbench.comparison.follow.judge import replayed_error
from workbench.comparison.replay.floors import Floor
from workbench.comparison.replay.own_error import OwnError
from workbench.show.columns import columns, gain, screen_columns
from workbench.show.json_result import from_json

REAL = Path(__file__).parents[3] / "sample_dumps/real_pair"


@pytest.fixture(scope="module")
def spoiled():
    """A chain whose second operator gives results that are three percent too large."""
    graph = chain("ReLU", "Neg", "Tanh")
    values = given(graph)
    alter = {"Default/Neg-op0": lambda data: data * 1.03}
    good = in_memory(shoot(graph, values), graph)
    return wb.compare(in_memory(shoot(graph, values, alter=alter), graph), good)


def own(comparison, part):
    return [row.own_error for row in comparison.rows if part in row.op_name and row.io == "output"]


def test_who_makes_an_error_has_it_as_its_own_and_who_passes_it_on_has_none(spoiled):
    assert own(spoiled, "Neg") == [pytest.approx(0.03, rel=0.02)]
    assert max(own(spoiled, "Tanh") + own(spoiled, "ReLU")) < 1e-6
    errors = [row.error for row in spoiled.rows if "Tanh" in row.op_name and row.io == "output"]
    assert min(errors) > 1e-3


def test_what_is_read_has_no_own_error(spoiled):
    read = [row.own_error for row in spoiled.rows if row.io == "input"]
    assert read
    assert set(read) == {None}


def test_the_own_error_of_a_defect_is_that_of_its_finding():
    found = wb.compare(REAL / "dump_a", REAL / "dump_b")
    defect = next(one for one in found.findings if one.defect)
    row = found.first_divergence
    assert (row.op_name, row.io, row.slot) == (defect.op_name, defect.io, defect.slot)
    assert row.own_error == defect.own_error > 0.1
    later = [
        r.own_error for r in found.rows if r.io == "output" and r.status == "fail" and r != row
    ]
    assert max(error for error in later if error is not None) < 1e-5


def test_without_its_inputs_nobody_knows_it():
    graph = chain("ReLU", "Neg")
    shots = [one for one in shoot(graph, given(graph), parameters=False) if one.io == "output"]
    last = [shot for shot in shots if shot.op_type == "Neg"]
    found = wb.compare(in_memory(last, graph), in_memory(last, graph))
    assert own(found, "Neg") == [None]
    assert "own_error" not in found.to_json()["operators"][0]


def test_table_and_files_have_a_value_of_it_and_sort_and_plot_by_it(spoiled, tmp_path):
    frame = spoiled.frame()
    known = frame[frame["OwnError"].notna()]
    assert known["OwnError"].max() == pytest.approx(0.03, rel=0.02)
    assert spoiled.sort("own", falling=True).rows[0].op_name.endswith("Neg-op0")
    assert "OwnError" in spoiled.to_csv(tmp_path / "a.csv").read_text().splitlines()[0].split(",")
    named = {
        one["op_name"]: one["own_error"]
        for one in spoiled.to_json()["operators"]
        if one["io"] == "output"
    }
    assert named["Default/Neg-op0"] == pytest.approx(0.03, rel=0.02)
    again = from_json(spoiled.to_json())
    assert [row.own_error for row in again.rows] == [
        row.own_error for row in spoiled.rows if row.match_rule
    ]


UNKNOWN = ((math.nan, 1.0), (1.0, 0.0), (None, 1.0), (1.0, math.inf), (1.0, None))
"""Error and inherited error that no gain can be made of."""


def test_gain_is_how_many_times_what_came_in_goes_out():
    rows = [
        make_row(error=0.5, inherited_error=0.1),
        make_row(error=0.5, inherited_error=0.1, io="input"),
        *(make_row(error=e, inherited_error=i) for e, i in UNKNOWN),
    ]  # fmt: skip
    assert [gain(row) for row in rows] == [5.0, *[None] * 6]


@pytest.mark.parametrize("key", ["own", "gain"])
def test_a_column_that_nobody_can_fill_is_not_on_screen(key):
    empty = make_result(rows=(make_row(inherited_error=None),))
    filled = make_result(rows=(make_row(own_error=0.0, error=2.0, inherited_error=1.0),))
    assert [key in {c.key for c in screen_columns(one)} for one in (empty, filled)] == [False, True]
    assert key in {c.key for c in columns(empty)}


@pytest.mark.parametrize(
    ("io", "slot", "expected"),
    [
        ("output", 0, 0.1),
        ("output", 1, 0.2),
        ("input", 2, 0.3),
        ("input", 0, None),
        ("output", 2, None),
    ],
)
def test_every_result_of_an_operator_has_its_own_an_input_that_it_overwrites_too(
    io, slot, expected
):
    own = OwnError(1, 0.2, Floor(1e-7, 1e-7), 1.0, errors=((0, 0.1), (1, 0.2), (-3, 0.3)))
    flow = SimpleNamespace(own_error=lambda _block, _op: own)
    pair = SimpleNamespace(io=io, slot=slot, run=SimpleNamespace(block=None, op=0))
    assert replayed_error(flow, SimpleNamespace(pair=pair)) == expected
