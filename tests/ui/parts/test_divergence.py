"""The panel of the divergence: it follows the bench, shares the look, and its code gives the same rows."""

import re
from html import unescape
from pathlib import Path

import pytest

import workbench as wb
from kit.build.sample_results import make_result, make_step, network_result
from kit.face.screen import alerts_in, label, said_in

REAL = Path(__file__).parents[3] / "sample_dumps" / "real_pair"


@pytest.fixture
def bench():
    return wb.Workbench(target=REAL / "dump_b", golden=REAL / "dump_a")


@pytest.fixture
def panel(bench):
    shown = bench.form("divergence")
    yield shown
    assert alerts_in(shown) == []
    shown.close()


def test_before_a_comparison_it_says_that_there_is_none(panel):
    assert said_in(panel.answer.value) == ["ui/no-comparison"]
    assert panel.place.children == ()
    assert panel.state == ("pending", "")
    assert panel.to_code() == ""


def test_sentence_and_coverage_stand_above_the_explorer(bench, panel):
    comparison = bench.run()
    text = unescape(re.sub(r"<[^>]+>", "", panel.answer.value))
    assert comparison.sentence in text
    matched = comparison.coverage.matched
    assert re.search(rf"{label('show/matched')}\s*{matched}\s*{matched}", text)
    (explorer,) = panel.place.children
    assert explorer.comparison is comparison
    assert panel.state == ("done", "fail")


def test_another_comparison_takes_the_place_of_the_first(bench, panel):
    first = wb.Comparison(network_result(40, 1))
    second = wb.Comparison(network_result(60, 1))
    bench.comparison = first
    old = panel.place.children[0]
    bench.comparison = second
    assert old.comm is None
    assert panel.place.children[0].comparison is second
    first.selected = 3  # nobody hears any more
    assert panel.place.children[0].state["selected"] == second.look.selected
    bench.comparison = None
    assert panel.place.children == ()


def test_buttons_go_to_the_first_divergence_and_the_worst_error(bench, panel):
    bench.comparison = comparison = wb.Comparison(network_result(334, 2))
    panel.worst.click()
    assert comparison.selected.error != comparison.selected.error  # NaN is worse than any number
    panel.first.click()
    assert comparison.selected is comparison.first_divergence
    panel.jump.click()
    assert comparison.selected is comparison.largest_jump is not None


def test_where_nothing_fails_there_is_no_way_to_it(bench, panel):
    bench.comparison = wb.Comparison(make_result())
    assert panel.first.disabled
    assert panel.jump.disabled
    bench.comparison = wb.Comparison(make_result(rows=()))
    assert panel.worst.disabled


def test_the_code_that_is_copied_gives_the_rows_that_are_shown(bench, panel):
    comparison = bench.run()
    look = comparison.look
    look.statuses, look.choices, look.factor = ("fail", "warn"), {"io": "output"}, 4.0
    look.sort = ("error", True)
    assert panel.code.text == panel.to_code() in panel.listing.value.replace("&#x27;", "'")
    names = {}
    exec(bench.to_code() + f"\nshown = {panel.to_code()}", names)
    expected = comparison.regrade(factor=4.0).filter(status=("fail", "warn"), io="output")
    place = [(row.op_name, row.slot, row.status) for row in names["shown"].rows]
    assert sorted(place) == sorted((r.op_name, r.slot, r.status) for r in expected.rows) != []
    errors = [row.error for row in names["shown"].rows]
    assert errors == sorted(errors, reverse=True)


def test_iterations_are_listed_when_it_is_a_training(bench, panel):
    bench.comparison = wb.Comparison(make_result())
    assert label("show/iterations") not in panel.answer.value
    bench.comparison = wb.Comparison(make_result(iterations=(make_step(iteration=3),)))
    assert label("show/iteration", iteration=3) in panel.answer.value


def test_it_speaks_chinese(bench, panel):
    bench.comparison = wb.Comparison(network_result(40, 1))
    bench.language = "zh"
    other = bench.form("divergence")
    assert other.first.description == label("ui/first-divergence", "zh")
    assert label("show/coverage", "zh") in other.answer.value
    assert label("show/coverage") not in other.answer.value
    other.close()
    bench.language = "en"
