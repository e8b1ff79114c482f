"""The panel of the source, driven without a browser."""

import re
from pathlib import Path

import pytest

import workbench as wb
from workbench.pipeline.compare import Comparison
from workbench.show.labels import CHINESE

SAMPLES = Path(__file__).parents[3] / "sample_dumps"
NEXT = "Default/relu-ReLU/ReLU-op2"


@pytest.fixture(scope="module")
def compared():
    return wb.compare(SAMPLES / "real_pair/dump_a", SAMPLES / "real_pair/dump_b")


@pytest.fixture
def bench(compared):
    made = wb.Workbench(graph="mlp")
    made.comparison = Comparison(compared.result, compared._flow)
    return made


@pytest.fixture
def panel(bench):
    shown = bench.form("source")
    yield shown
    assert shown.alert.widget.value == ""
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
    assert "Run a comparison first" in panel.hint.value
    assert panel.state == ("to do", "")


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
    assert CHINESE["born here"] in panel.lines.html
    panel.close()
