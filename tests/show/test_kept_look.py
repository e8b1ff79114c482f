"""What is looked at, kept by names: had again at a comparison whose rows stand elsewhere, or said to be gone."""

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from kit.build.sample_results import network_result
from workbench.show.look.kept_look import NAMED, SETTINGS, kept_look, look_again
from workbench.show.look.look import Look

RESULT = network_result(30, 1)
SHUFFLED = replace(RESULT, rows=tuple(random.Random(3).sample(RESULT.rows, len(RESULT.rows))))


def kept(**settings):
    """A look that was kept, as a file gives it back."""
    return json.loads(json.dumps(kept_look(Look(**settings), RESULT.rows)))


@given(number=st.integers(0, len(RESULT.rows) - 1))
def test_the_same_row_is_selected_wherever_it_stands(number):
    look = wb.Comparison(SHUFFLED).look
    assert look_again(look, kept(selected=number), SHUFFLED) == ()
    assert SHUFFLED.rows[look.selected] == RESULT.rows[number]


@given(
    query=st.text(max_size=9),
    statuses=st.lists(st.sampled_from(["fail", "warn", "pass", "unmatched"]), unique=True),
    sort=st.sampled_from([("", False), ("error", True), ("op_name", False)]),
    factor=st.none() | st.floats(0, 1e9),
    limit=st.none() | st.floats(0, 1e9),
    element_error=st.sampled_from(["absolute", "relative", "ulp"]),
    worst=st.integers(1, 10_000),
)  # fmt: skip
def test_filters_order_and_thresholds_come_back(**settings):
    settings["statuses"] = tuple(settings["statuses"])
    settings |= {
        "positions": (1, 7),
        "choices": {"op_type": RESULT.rows[0].op_type},
        "selected": -1,
    }
    look = Look()
    assert look_again(look, kept(**settings), SHUFFLED) == ()
    assert {name: getattr(look, name) for name in settings} == settings


def test_everything_that_is_kept_has_a_trait_or_a_field():
    assert set(SETTINGS) <= set(Look().trait_names())
    assert {name for name in NAMED if not hasattr(RESULT.rows[0], name)} == set()


def test_what_is_gone_is_said_and_the_rest_comes_back():
    comparison = wb.Comparison(RESULT)
    before = comparison.look.selected
    old = kept(selected=0, query="conv", choices={"op_type": "Conv2D"}, statuses=("fail",))
    old["selected"] |= {"op_name": "gone", "golden_op_name": "gone"}
    old |= {"choices": {"op_type": "Gone", "iteration": 0}, "statuses": ["fail", "odd"]}
    old |= {"sort": ["no column", True], "figure": "no figure", "positions": [10**9, 10**9 + 1]}
    lost = look_again(comparison.look, old, RESULT)
    look = comparison.look
    assert (look.selected, look.query, look.statuses) == (before, "conv", ("fail",))
    assert (look.choices, look.positions) == ({"iteration": 0}, None)
    assert (look.sort, look.figure) == (("", False), "error")
    assert sorted((one.code, one.values["value"]) for one in lost) == [
        ("show/lost-column", "no column"),
        ("show/lost-column", "no figure"),
        ("show/lost-filter", "1000000000, 1000000001"),
        ("show/lost-filter", "odd"),
        ("show/lost-filter", "op_type Gone"),
        ("show/lost-selected", "gone"),
    ]


@pytest.mark.parametrize(
    "gone", [{"slot": 99}, {"iteration": 7}, {"rank": 3}, {"golden_op_name": "other"}]
)
def test_of_an_operator_that_is_still_there_the_nearest_row_is_selected(gone):
    number = next(n for n, row in enumerate(RESULT.rows) if row.op_name and row.io == "output")
    old = kept(selected=number)
    old["selected"] |= gone
    look = Look()
    assert look_again(look, old, SHUFFLED) == ()
    found, wanted = SHUFFLED.rows[look.selected], RESULT.rows[number]
    assert (found.op_name, found.io) == (wanted.op_name, wanted.io)


def test_a_comparison_without_rows_loses_all_but_the_words():
    empty = replace(RESULT, rows=())
    look = Look()
    lost = look_again(look, kept(selected=0, query="x", positions=(1, 2)), empty)
    assert len(lost) == 2
    assert (look.selected, look.query, look.positions) == (-1, "x", None)
