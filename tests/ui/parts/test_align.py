"""The panel of matches: table, pages, filters, and everything by hand with a way back."""

import re

import pytest

import workbench as wb
from kit.face.screen import alerts_in, codes_in, label, said_in
from workbench.comparison.map_file import read_overrides
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
    assert KERNEL.rpartition("/")[2] in panel.table.html
    assert "fusion" in dict(panel.rule.options)
    count = len(panel.lines)
    assert label("show/page-of", first=1, last=count, found=count) in panel.table.html


def test_filters_narrow_and_say_how_many_there_are(panel):
    panel.search.value = "head fusion"
    counts = {"first": 1, "last": 1, "found": 1, "all": len(panel.lines)}
    assert label("show/page-of-all", **counts) in panel.table.html
    panel.search.value = "head relu"
    assert label("show/page-none", all=len(panel.lines)) in panel.table.html
    panel.search.value = ""
    panel.kind.value = "bad"
    assert all(s not in panel.table.html for s in ("> equal", "> pass"))


def test_pages_turn_both_ways(panel, monkeypatch):
    monkeypatch.setattr(match_html, "PAGE", 2)
    monkeypatch.setattr("workbench.ui.parts.align.PAGE", 2)
    panel.search.value = " "
    first = panel.table.html
    assert (panel.back.disabled, panel.forth.disabled) == (True, False)
    panel.forth.click()
    assert label("show/page-of", first=3, last=3, found=3) in panel.table.html
    panel.back.click()
    assert panel.table.html == first


def test_a_group_by_hand_counts_when_compared_again(panel, bench):
    hand = panel.hand
    hand.which.value = "all"
    golden = [KERNEL, KERNEL.replace("MatMul", "BiasAdd")]
    hand.names["target"].value = [KERNEL]
    hand.names["golden"].value = golden
    hand.buttons["pair"].click()
    assert alerts_in(hand) == []
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
    hand.which.value = "all"
    for key, code in (
        ("pair", "ui/nothing-to-match"),
        ("ignore", "ui/nothing-to-ignore"),
        ("tolerate", "ui/nothing-to-tolerate"),
        ("take", "ui/nothing-to-remove"),
    ):
        hand.buttons["take"].disabled = False
        hand.buttons[key].click()
        assert code in codes_in(hand)
    hand.buttons["undo"].click()
    hand.names["target"].value = [KERNEL]
    assert alerts_in(hand) == []
    hand.error.value = "much"
    hand.buttons["tolerate"].click()
    assert codes_in(hand) == ["ui/not-an-error"]
    hand.error.value = "2"
    hand.buttons["tolerate"].click()
    assert codes_in(hand) == ["ui/no-reason"]
    assert not bench.map_file.overrides
    hand.reason.value = "known"
    hand.buttons["tolerate"].click()
    hand.buttons["ignore"].click()
    assert alerts_in(hand) == []
    (entry,) = bench.map_file.overrides.tolerances
    assert (entry.name, entry.relative_error, entry.reason) == (KERNEL, 2.0, "known")
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
    bench.map_file.undo()
    hand.buttons["open"].click()
    assert bench.map_file.overrides.pairs == {"a": "b"}
    for path, words in (
        ("", label("ui/file-map")),
        (str(tmp_path / "gone.json"), "gone.json"),
    ):
        hand.path.value = path
        hand.buttons["open"].click()
        assert words in "".join(alerts_in(hand))
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
    assert said_in(panel.hint.value) == ["ui/no-comparison"]
    assert panel.state == ("pending", "")
    assert panel.hand.buttons["again"].disabled
    panel.close()


def test_long_lists_are_narrowed_and_say_how_long_they_are(panel, monkeypatch):
    monkeypatch.setattr("workbench.ui.parts.by_hand.MOST", 2)
    hand = panel.hand
    hand.which.value = "all"
    assert len(hand.names["target"].options) == 2
    assert said_in(hand.counted.value) == ["ui/first-of-side"]
    hand.search.value = "head matmul"
    assert [name for _, name in hand.names["target"].options] == [KERNEL]
    assert said_in(hand.counted.value) == []


def marked(html):
    """Numbers of the rows that are marked in a table."""
    return [int(n) for n in re.findall(r'<tr data-row="(\d+)"[^>]*aria-selected="true"', html)]


def choose(pieces, row):
    """Click what has this row in a widget."""
    assert f'data-row="{row}"' in pieces.html
    pieces._handle_custom_msg({"row": str(row)}, [])


def test_a_chosen_match_is_looked_at_everywhere(panel, bench):
    line = next(one for one in panel.lines if one.index != bench.comparison.look.selected)
    choose(panel.table, line.index)
    assert bench.comparison.look.selected == line.index
    assert marked(panel.table.html) == [line.index]
    assert panel.context.context.index == line.index
    for name in (*line.target, *line.golden):
        assert name.rpartition("/")[2] in panel.context.pieces.html


def test_a_tensor_of_the_match_that_is_looked_at_stays_so(panel, bench):
    line = next(one for one in panel.lines if len(one.rows) > 1)
    other = next(row for row in line.rows if row != line.index)
    bench.comparison.selected = other
    assert marked(panel.table.html) == [line.index]
    choose(panel.table, line.index)
    assert bench.comparison.look.selected == other


def test_the_page_of_what_is_selected_elsewhere_is_shown(panel, bench, monkeypatch):
    monkeypatch.setattr(match_html, "PAGE", 1)
    monkeypatch.setattr("workbench.ui.parts.align.PAGE", 1)
    for place in (0, 2, 1):
        bench.comparison.selected = panel.lines[place].index
        assert panel.page == place
        assert marked(panel.table.html) == [panel.lines[place].index]
    panel.forth.click()
    assert marked(panel.table.html) == []  # to turn pages selects nothing
    assert 'tabindex="0"' in panel.table.html.split("<tbody>")[1]


def test_one_line_of_the_table_is_a_stop_of_the_tab_key(panel):
    rows = re.findall(r'<tr data-row="\d+"[^>]*tabindex="(-?\d+)"', panel.table.html)
    assert len(rows) == len(panel.lines)
    assert rows.count("0") == 1


def test_an_operator_in_the_picture_selects_itself(panel, bench):
    context = panel.context
    nodes = context.context.sides["golden"].found.nodes
    other = next(one for one in nodes if one.index >= 0 and one.index != context.context.index)
    choose(context.pieces, other.index)
    assert bench.comparison.look.selected == other.index
    assert context.context.index == other.index


def test_what_is_chosen_among_the_left_over_ones_is_looked_at(panel, bench):
    box = panel.hand.names["golden"]
    for name in (box.options[0][1], box.options[1][1]):
        box.value = (*box.value, name)
        row = bench.comparison.selected
        assert name in (row.op_name, row.golden_op_name)
        assert label("show/unmatched") in panel.context.pieces.html
    before = bench.comparison.look.selected
    box.value = box.value[:1]  # to take one from the choice looks at nothing else
    assert bench.comparison.look.selected == before
    assert marked(panel.table.html) == []


def test_nothing_is_drawn_where_nothing_is_selected(panel, bench):
    bench.comparison.selected = None
    assert panel.context.pieces.html == ""
    assert panel.context.context is None


def test_the_context_speaks_the_language_of_the_bench(bench):
    bench.language = "zh"
    panel = bench.form("align")
    assert label("show/as-text", "zh") in panel.context.pieces.html
    panel.close()


def test_the_code_of_the_view_shows_the_same(panel, bench):
    bench.comparison.selected = panel.lines[0].index
    found = eval(panel.context.code.text, {"bench": bench})
    assert (found.index, found.words) == (panel.lines[0].index, panel.context.context.words)
    bench.comparison.selected = None
    assert panel.context.code.text == ""


def test_thresholds_grade_the_matches(panel, bench):
    panel.kind.value = "bad"
    before = panel.table.html
    look = bench.comparison.look
    look.limit = 0.0
    strict = len(panel._chosen())
    look.limit, look.factor = 1e9, 1e9
    lenient = len(panel._chosen())
    look.limit = look.factor = None
    assert panel.table.html == before
    assert lenient <= len(panel._chosen()) <= strict
    assert lenient < strict
