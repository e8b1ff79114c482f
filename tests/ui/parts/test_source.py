"""The panel of the source, driven without a browser."""

import re

import pytest

from kit.face.screen import alerts_in, label, said_in
from workbench.ui.parts import source as module

NEXT = "Default/relu-ReLU/ReLU-op2"


@pytest.fixture
def panel(bench):
    shown = bench.form("source")
    yield shown
    assert alerts_in(shown) == []
    shown.close()


def selected(panel):
    """Rows that the page marks as selected."""
    return [int(n) for n in re.findall(r'data-row="(\d+)"[^>]*aria-selected', panel.lines.html)]


def test_the_lines_stand_there_and_the_guilty_one_is_marked(panel):
    assert "x = self.conv3(x)" in panel.lines.html
    assert panel.lines.html.count("wb-src-born") == 1
    assert panel.state == ("done", "9 ✗")


def test_a_click_on_an_operator_selects_it(panel, bench):
    (one,) = [one for one in panel.map_of.operators("script.py", 52) if one.name == NEXT]
    panel.lines._handle_custom_msg({"row": str(one.index)}, [])
    assert bench.comparison.selected.op_name == NEXT
    assert selected(panel) == [one.index]


def test_what_is_selected_elsewhere_is_marked(panel, bench):
    bench.comparison.selected = NEXT
    (index,) = selected(panel)
    assert bench.comparison.rows[index].op_name == NEXT


def test_a_new_comparison_replaces_the_lines(panel, bench):
    bench.comparison = None
    assert panel.lines.html == ""
    assert said_in(panel.hint.value) == ["ui/no-comparison"]
    assert panel.state == ("pending", "")


def test_a_hidden_panel_waits_until_it_is_seen(panel, bench):
    panel.show(shown=False)
    before = panel.lines.html
    bench.comparison.selected = NEXT
    assert panel.lines.html == before
    panel.show(shown=True)
    assert panel.lines.html != before


def test_it_speaks_chinese(bench):
    bench.language = "zh"
    panel = bench.form("source")
    assert label("views/origin-origin", "zh") in panel.lines.html
    panel.close()


def test_the_lines_are_drawn_in_the_background_and_the_last_selection_stays(panel, bench, gate):
    slow = gate(module, "source_html")
    bench.comparison.selected = NEXT
    slow.wait()
    for index in (0, 1):
        bench.comparison.selected = index
    assert said_in(panel.doing.value) == ["ui/drawing"]
    slow.open()
    assert panel.background.wait(60)
    assert len(slow.calls) == 2
    name = bench.comparison.rows[1].op_name
    assert {bench.comparison.rows[n].op_name for n in selected(panel)} == {name}


def test_lines_of_a_comparison_that_is_gone_are_not_shown(panel, bench, gate):
    slow = gate(module, "source_html")
    bench.comparison.selected = NEXT
    slow.wait()
    bench.comparison = None
    slow.open()
    assert panel.background.wait(60)
    assert panel.lines.html == ""


def test_thresholds_grade_the_operators_of_the_lines(panel, bench):
    before = panel.lines.html
    assert before.count(" fail</td>") > 5
    bench.comparison.look.limit = 1e9
    assert panel.lines.html.count(" fail</td>") == 0
    assert panel.lines.html.count("wb-src-born") == 1
    bench.comparison.look.limit = None
    assert panel.lines.html == before
