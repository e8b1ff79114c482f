"""The panel of one operator, driven without a browser: it follows what is looked at, and its controls move it."""

import re
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from small_dumps import Net, chain, given, in_memory, shoot
from workbench.pipeline.compare import Comparison
from workbench.show.labels import CHINESE

SAMPLES = Path(__file__).parents[3] / "sample_dumps"
GUILTY = "Default/conv3-Conv2d/Conv2D-op0"
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
    shown = bench.form("operator")
    yield shown
    shown.close()


def choose(pieces, **what):
    """What the browser sends after a click."""
    pieces._handle_custom_msg(what, [])


def image(panel):
    return re.search(r'href="data:image/png;base64,([^"]+)"', panel.planes.picture.html)[1]


def test_it_shows_the_first_divergence(panel):
    text = panel.above.html
    assert "born here" in text
    assert "pad_mode differs" in text
    assert "x = self.conv3(x)" in text
    assert panel.state == ("done", "Conv2D-op0")


def test_it_follows_what_a_cell_selects(panel, bench):
    bench.comparison.selected = NEXT
    assert "relu-ReLU" in panel.above.html
    assert panel.alert.widget.value == ""


def test_a_click_on_a_neighbour_selects_it(panel, bench):
    index = next(int(n) for n in re.findall(r'<g [^>]*data-row="(\d+)"', panel.below.html)
                 if bench.comparison.rows[int(n)].op_name == NEXT)  # fmt: skip
    choose(panel.below, row=str(index))
    assert bench.comparison.selected.op_name == NEXT
    assert NEXT.rpartition("/")[2] in panel.above.html


@pytest.mark.parametrize("sent", [{"row": "9999"}, {"row": "x"}])
def test_a_click_that_makes_no_sense_is_an_alert_and_changes_nothing(panel, bench, sent):
    choose(panel.above, **sent)
    assert "alert" in panel.alert.widget.value
    assert bench.comparison.selected.op_name == GUILTY


def test_a_message_of_another_kind_is_left_alone(panel, bench):
    for sent in ({}, {"row": 3}, {"cell": "1"}):
        choose(panel.above, **sent)
    assert panel.alert.widget.value == ""
    assert bench.comparison.selected.op_name == GUILTY


def test_next_and_previous_walk_the_failing_operators(panel, bench):
    first = bench.comparison.look.selected
    panel.forth.click()
    assert bench.comparison.selected.op_name == NEXT
    panel.back.click()
    assert bench.comparison.look.selected == first
    panel.back.click()
    assert "got none" in panel.alert.widget.value
    assert bench.comparison.look.selected == first


def test_a_slider_moves_the_heat_map(panel, bench):
    before = image(panel)
    (slider, _) = panel.planes.sliders.children
    slider.value = 0 if slider.value else 1
    assert bench.comparison.look.plane[slider.axis] == slider.value
    assert image(panel) != before
    assert f"axis {slider.axis}: {slider.value}" in panel.planes.picture.html


def test_a_slider_stays_inside_its_axis(panel):
    slider = panel.planes.sliders.children[0]
    slider.value = 99
    assert slider.value == slider.max
    slider.value = -5
    assert slider.value == 0


def test_the_axes_can_be_chosen_and_change_places(panel, bench):
    assert (panel.planes.rows.value, panel.planes.columns.value) == (1, 2)
    panel.planes.columns.value = 3
    assert bench.comparison.look.axes == (1, 3)
    assert [slider.axis for slider in panel.planes.sliders.children] == [0, 2]
    panel.planes.rows.value = 3
    assert (panel.planes.rows.value, panel.planes.columns.value) == (3, 1)
    assert "axis 3" in panel.planes.picture.html


def test_another_operator_starts_with_its_own_plane(panel, bench):
    panel.planes.sliders.children[0].value = 0
    panel.forth.click()
    assert bench.comparison.look.plane is None
    assert bench.comparison.look.axes is None


def test_kind_of_error_and_number_of_the_worst_are_kept_in_the_look(panel, bench):
    panel.planes.kind.value = "ulp"
    panel.planes.count.value = 3
    look = bench.comparison.look
    assert (look.element_error, look.worst) == ("ulp", 3)
    assert panel.worst.html.count("<tr>") == 4
    look.worst = 2
    look.element_error = "relative"
    assert panel.worst.html.count("<tr>") == 3
    assert panel.planes.kind.value == "relative"


def test_the_copied_code_gives_the_same(panel, bench):
    panel.planes.kind.value = "relative"
    panel.planes.count.value = 4
    panel.planes.sliders.children[0].value = 0
    known = {"comparison": bench.comparison}
    exec(panel.code.text, known)  # what the user pastes into a cell
    assert known["operator"].name == GUILTY
    assert len(known["worst"]) == 4
    assert known["errors"].at == bench.comparison.look.plane
    assert np.array_equal(
        known["errors"].values,
        panel.view_of.heat_map(bench.comparison.look.axes, bench.comparison.look.plane, "relative").values,
    )  # fmt: skip


def test_an_operator_is_pinned_to_the_report_and_taken_off(panel, bench):
    panel.pin.click()
    assert bench.export.pins == (GUILTY,)
    assert panel.pin.description == "Unpin from report"
    bench.export = type(bench.export)()
    assert panel.pin.description == "Pin to report"
    panel.pin.click()
    panel.pin.click()
    assert bench.export.pins == ()


def test_the_minimal_case_is_written_and_its_script_shown(panel, tmp_path):
    panel.folder.value = str(tmp_path / "case")
    panel.extract.click()
    assert (tmp_path / "case/reproduce.py").exists()
    assert "read_case" in panel.case.value
    panel.extract.click()
    assert "alert" in panel.alert.widget.value
    assert "read_case" in panel.case.value


def test_without_a_comparison_it_says_what_is_missing():
    panel = wb.Workbench(graph="mlp").form("operator")
    assert "Run a comparison first" in panel.hint.value
    assert panel.details.layout.display == "none"
    assert panel.state == ("to do", "")
    panel.close()


def test_a_new_comparison_is_followed_and_the_old_one_no_more(panel, bench, compared):
    old = bench.comparison
    bench.comparison = Comparison(compared.result, compared._flow)
    bench.comparison.selected = NEXT
    old.look.selected = 0
    assert panel.view_of.name == NEXT
    bench.comparison = None
    assert panel.details.layout.display == "none"
    assert panel.alert.widget.value == ""


def test_nothing_selected_asks_for_a_choice(panel, bench):
    bench.comparison.selected = None
    assert "Select an operator" in panel.hint.value
    panel.forth.click()
    assert bench.comparison.selected.op_name == GUILTY


def test_a_hidden_panel_waits_until_it_is_seen(panel, bench):
    panel.show(shown=False)
    before = panel.above.html
    bench.comparison.selected = NEXT
    assert panel.above.html == before
    panel.show(shown=True)
    assert panel.above.html != before


def test_it_speaks_chinese(bench):
    bench.language = "zh"
    panel = bench.form("operator")
    assert CHINESE["born here"] in panel.above.html
    assert CHINESE["Worst elements"] in panel.worst.html
    assert panel.forth.description == CHINESE["Next failing"]
    panel.close()


@pytest.mark.parametrize("shape", [(), (5,), (0, 2), (1, 1)])
def test_tensors_of_few_axes_need_no_sliders(shape):
    net = Net()
    net.op("Neg", net.feed("x", shape), shape=shape)
    graph = net.graph()
    values = {"x": np.ones(shape, np.float32)}
    spoil = {"Default/Neg-op0": lambda x: x + 1}
    bench = wb.Workbench(graph="mlp")
    bench.comparison = wb.compare(
        in_memory(shoot(graph, values, alter=spoil), graph), in_memory(shoot(graph, values), graph)
    )
    bench.comparison.selected = "Default/Neg-op0"
    panel = bench.form("operator")
    assert panel.planes.sliders.children == ()
    assert ("<svg" in panel.planes.picture.html) == (0 not in shape)
    assert panel.alert.widget.value == ""
    panel.close()


def test_elements_that_cannot_be_read_leave_the_rest():
    graph = chain("ReLU", "Neg")
    values = given(graph)
    shots = shoot(graph, values)
    bench = wb.Workbench(graph="mlp")
    few = [shot for shot in shots if shot.op_type != "Neg"]
    bench.comparison = wb.compare(in_memory(few, graph), in_memory(shots, graph))
    bench.comparison.selected = len(bench.comparison.rows) - 1
    panel = bench.form("operator")
    assert "only in the golden" in panel.above.html
    assert panel.planes.view.layout.display == "none"
    assert panel.worst.html == ""
    panel.close()
