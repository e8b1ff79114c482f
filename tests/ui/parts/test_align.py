"""The panel of matches: table, pages, filters, and everything by hand with a way back."""

import pytest

import workbench as wb
from workbench.compare.overrides import read_overrides
from workbench.show import match_html

KERNEL = "Default/head-Dense/MatMul-op0"


@pytest.fixture
def panel(bench):
    shown = bench.form("align")
    yield shown
    shown.close()


@pytest.fixture
def bench():
    made = wb.Workbench(wb.config.new("torchair"), "mlp", faults=[f"scaled-output:{KERNEL}:2"])
    made.run()
    return made


def test_every_match_stands_in_the_table_with_its_rule(panel):
    assert KERNEL.rpartition("/")[2] in panel.table.value
    assert "fusion" in dict(panel.rule.options)
    assert f"{len(panel.lines)} of {len(panel.lines)} matches shown" in panel.table.value


def test_filters_narrow_and_say_how_many_there_are(panel):
    panel.search.value = "head fusion"
    assert f"1–1 of 1 matches shown, {len(panel.lines)} in all" in panel.table.value
    panel.search.value = "head relu"
    assert "None of " in panel.table.value
    panel.search.value = ""
    panel.kind.value = "bad"
    assert all(s not in panel.table.value for s in ("> equal", "> pass"))


def test_pages_turn_both_ways(panel, monkeypatch):
    monkeypatch.setattr(match_html, "PAGE", 2)
    monkeypatch.setattr("workbench.ui.parts.align.PAGE", 2)
    panel.search.value = " "
    first = panel.table.value
    assert (panel.back.disabled, panel.forth.disabled) == (True, False)
    panel.forth.click()
    assert "3–3 of 3" in panel.table.value
    panel.back.click()
    assert panel.table.value == first


def test_a_group_by_hand_counts_when_compared_again(panel, bench):
    hand = panel.hand
    hand.which.value = "every operator"
    golden = [KERNEL, KERNEL.replace("MatMul", "BiasAdd")]
    hand.names["target"].value = [KERNEL]
    hand.names["golden"].value = golden
    hand.buttons["pair"].click()
    assert hand.alert.widget.value == ""
    assert bench.map_file.overrides.groups or bench.map_file.overrides.pairs
    hand.buttons["again"].click()
    assert bench.runner.job.wait(60)
    assert bench.runner.job.error is None
    assert "map" in {line.rule for line in panel.lines}
    hand.buttons["undo"].click()
    assert not bench.map_file.overrides
    hand.buttons["redo"].click()
    assert bench.map_file.overrides


def test_ignoring_and_tolerating_need_what_they_need(panel, bench):
    hand = panel.hand
    hand.which.value = "every operator"
    for key, words in (
        ("pair", "match must have operators of both sides, got none of the target"),
        ("ignore", "ignore must have an operator, got none"),
        ("tolerate", "tolerance must have an operator of the target, got none"),
        ("take", "entry must be selected to be taken back, got none"),
    ):
        hand.buttons["take"].disabled = False
        hand.buttons[key].click()
        assert words in hand.alert.widget.value
    hand.names["target"].value = [KERNEL]
    hand.error.value = "much"
    hand.buttons["tolerate"].click()
    assert "relative error must be a number above 0, got" in hand.alert.widget.value
    hand.error.value = "2"
    hand.buttons["tolerate"].click()
    assert "reason must" in hand.alert.widget.value
    assert not bench.map_file.overrides
    hand.reason.value = "known"
    hand.buttons["tolerate"].click()
    hand.buttons["ignore"].click()
    assert hand.alert.widget.value == ""
    assert [str(e) for e in bench.map_file.overrides.tolerances] == [f"{KERNEL} may be off by 2"]
    assert bench.map_file.overrides.ignore[0].side == "target"
    hand.entries.value = 1
    hand.buttons["take"].click()
    assert not bench.map_file.overrides.tolerances


def test_the_map_file_is_saved_and_opened(panel, bench, tmp_path):
    hand = panel.hand
    bench.map_file.match("a", "b")
    hand.path.value = str(tmp_path / "m.json")
    hand.buttons["save"].click()
    assert read_overrides(tmp_path / "m.json") == bench.map_file.overrides
    bench.map_file.unmatch("a")
    hand.buttons["open"].click()
    assert bench.map_file.overrides.pairs == {"a": "b"}
    for path, words in (
        ("", "map file must have a path"),
        (str(tmp_path / "gone.json"), "gone.json"),
    ):
        hand.path.value = path
        hand.buttons["open"].click()
        assert words in hand.alert.widget.value
    assert bench.map_file.overrides.pairs == {"a": "b"}


def test_the_code_by_hand_makes_the_same_map(panel, bench):
    bench.map_file.match(["a", "b"], ["c"])
    bench.map_file.ignore("x*", "golden", "why")
    bench.map_file.tolerate(0.5, "known", op_type="GeLU")
    other = wb.Workbench()
    exec(panel.hand.code.text, {"bench": other})
    assert other.map_file.overrides == bench.map_file.overrides


def test_without_a_comparison_it_says_what_to_do():
    panel = wb.Workbench(graph="mlp").form("align")
    assert "Run a comparison first" in panel.hint.value
    assert panel.state == ("to do", "")
    assert panel.hand.buttons["again"].disabled
    panel.close()


def test_long_lists_are_narrowed_and_say_how_long_they_are(panel, monkeypatch):
    monkeypatch.setattr("workbench.ui.parts.by_hand.MOST", 2)
    hand = panel.hand
    hand.which.value = "every operator"
    assert len(hand.names["target"].options) == 2
    assert "2 of " in hand.counted.value
    hand.search.value = "head matmul"
    assert [name for _, name in hand.names["target"].options] == [KERNEL]
    assert "of" not in hand.counted.value.replace("role", "")
