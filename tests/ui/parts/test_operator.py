"""The panel of one operator, driven without a browser: it follows what is looked at, and its controls move it."""

import re

import numpy as np
import pytest

import workbench as wb
from kit.build.sample_results import make_result, make_row
from kit.build.small_dumps import Net, chain, given, in_memory, shoot
from kit.face.screen import alerts_beside, alerts_in, codes_in, label, said_in
from workbench.ui import part
from workbench.ui.parts import operator as module

GUILTY = "Default/conv3-Conv2d/Conv2D-op0"
NEXT = "Default/relu-ReLU/ReLU-op2"
SECONDS = 60


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
    assert label("views/origin-origin") in text
    assert "pad_mode" in text
    assert "x = self.conv3(x)" in text
    assert panel.state == ("done", "Conv2D-op0")


def test_it_follows_what_a_cell_selects(panel, bench):
    bench.comparison.selected = NEXT
    assert "relu-ReLU" in panel.above.html
    assert alerts_in(panel) == []


def test_a_click_on_a_neighbour_selects_it(panel, bench):
    index = next(int(n) for n in re.findall(r'<g [^>]*data-row="(\d+)"', panel.below.html)
                 if bench.comparison.rows[int(n)].op_name == NEXT)  # fmt: skip
    choose(panel.below, row=str(index))
    assert bench.comparison.selected.op_name == NEXT
    assert NEXT.rpartition("/")[2] in panel.above.html


@pytest.mark.parametrize("sent", [{"row": "9999"}, {"row": "x"}])
def test_a_click_that_makes_no_sense_is_an_alert_and_changes_nothing(panel, bench, sent):
    choose(panel.above, **sent)
    assert codes_in(panel) == ["ui/no-row"]
    assert bench.comparison.selected.op_name == GUILTY


def test_a_message_of_another_kind_is_left_alone(panel, bench):
    for sent in ({}, {"row": 3}, {"cell": "1"}):
        choose(panel.above, **sent)
    assert alerts_in(panel) == []
    assert bench.comparison.selected.op_name == GUILTY


def test_next_and_previous_walk_the_failing_operators(panel, bench):
    first = bench.comparison.look.selected
    panel.forth.click()
    assert bench.comparison.selected.op_name == NEXT
    panel.back.click()
    assert bench.comparison.look.selected == first
    panel.back.click()
    assert codes_in(panel) == ["ui/no-previous-failing"]
    assert bench.comparison.look.selected == first


@pytest.mark.usefixtures("pictures")
def test_a_slider_moves_the_heat_map(panel, bench):
    before = image(panel)
    (slider, _) = panel.planes.sliders.children
    slider.value = 0 if slider.value else 1
    assert bench.comparison.look.plane[slider.axis] == slider.value
    assert image(panel) != before
    assert label("show/map-axis", axis=slider.axis, index=slider.value) in panel.planes.picture.html


def test_a_slider_stays_inside_its_axis(panel):
    slider = panel.planes.sliders.children[0]
    slider.value = 99
    assert slider.value == slider.max
    slider.value = -5
    assert slider.value == 0


@pytest.mark.usefixtures("pictures")
def test_the_axes_can_be_chosen_and_change_places(panel, bench):
    assert (panel.planes.rows.value, panel.planes.columns.value) == (1, 2)
    panel.planes.columns.value = 3
    assert bench.comparison.look.axes == (1, 3)
    assert [slider.axis for slider in panel.planes.sliders.children] == [0, 2]
    panel.planes.rows.value = 3
    assert (panel.planes.rows.value, panel.planes.columns.value) == (3, 1)
    assert label("show/axis-axis", axis=3) in panel.planes.picture.html


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
    assert panel.pin.description == label("ui/unpin")
    bench.export = type(bench.export)()
    assert panel.pin.description == label("ui/pin")
    panel.pin.click()
    panel.pin.click()
    assert bench.export.pins == ()


def test_the_minimal_case_is_written_and_its_script_shown(panel, tmp_path):
    panel.folder.value = str(tmp_path / "case")
    panel.extract.click()
    assert (tmp_path / "case/reproduce.py").exists()
    assert "read_case" in panel.case.value
    panel.extract.click()
    assert alerts_beside(panel.view, panel.folder)
    assert "read_case" in panel.case.value


def test_without_a_comparison_it_says_what_is_missing():
    panel = wb.Workbench(graph="mlp").form("operator")
    assert said_in(panel.hint.value) == ["ui/no-comparison"]
    assert panel.details.layout.display == "none"
    assert panel.state == ("pending", "")
    panel.close()


def test_a_new_comparison_is_followed_and_the_old_one_no_more(panel, bench, compared):
    old = bench.comparison
    bench.comparison = wb.Comparison(compared.result, compared._flow)
    bench.comparison.selected = NEXT
    old.look.selected = 0
    assert panel.view_of.name == NEXT
    bench.comparison = None
    assert panel.details.layout.display == "none"
    assert alerts_in(panel) == []


def test_nothing_selected_asks_for_a_choice(panel, bench):
    bench.comparison.selected = None
    assert said_in(panel.hint.value) == ["ui/select-operator"]
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
    assert label("views/origin-origin", "zh") in panel.above.html
    assert label("show/worst-elements", "zh") in panel.worst.html
    assert panel.forth.description == label("ui/next-failing", "zh")
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
    assert alerts_in(panel) == []
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
    assert label("views/origin-unmatched") in panel.above.html
    assert panel.planes.view.layout.display == "none"
    assert panel.worst.html == ""
    panel.close()


class TestInTheBackground:
    @pytest.fixture
    def slow(self, panel, gate):
        """The drawing of pieces, which waits."""
        return gate(module, "operator_html")

    def test_who_steps_quickly_sees_the_last_operator_alone(self, panel, bench, slow):
        before = panel.above.html
        for _ in range(3):
            panel.forth.click()
        slow.wait()
        assert panel.above.html == before
        assert said_in(panel.doing.value) == ["ui/drawing"]
        slow.open()
        assert panel.background.wait(SECONDS)
        last = bench.comparison.selected
        assert {view.row.op_name for (view,) in slow.calls[1:]} == {last.op_name}
        assert last.op_name.rpartition("/")[2] in panel.above.html
        assert panel.doing.value == '<span role="status"></span>'
        assert panel.alert.widget.value == ""

    def test_what_is_asked_for_meanwhile_is_drawn_too(self, panel, bench, slow):
        slider = panel.planes.sliders.children[0]
        panel.planes.count.value = 3
        slow.wait()
        slider.value = 0 if slider.value else 1
        panel.planes.count.value = 2
        slow.open()
        assert panel.background.wait(SECONDS)
        assert panel.worst.html.count("<tr>") == 3
        assert (
            label("show/map-axis", axis=slider.axis, index=slider.value)
            in panel.planes.picture.html
        )

    def test_inputs_of_the_operator_before_do_not_touch_the_next_one(self, panel, bench, slow):
        panel.forth.click()
        slow.wait()
        panel.planes.sliders.children[0].value ^= 1
        panel.planes.columns.value = 3
        assert (bench.comparison.look.axes, bench.comparison.look.plane) == (None, None)
        slow.open()
        assert panel.background.wait(SECONDS)
        assert panel.alert.widget.value == ""

    def test_what_cannot_be_drawn_is_an_alert_and_the_rest_is_there(self, panel, bench, slow):
        slow.open()
        bench.comparison.look.plane = (0,)
        panel.planes.count.value = 3
        bench.comparison.look.element_error = "relative"
        assert panel.background.wait(SECONDS)
        assert "alert" in panel.alert.widget.value
        assert panel.worst.html.count("<tr>") == 4

    def test_a_panel_that_closes_while_it_draws_shows_nothing_more(self, bench, gate):
        slow = gate(module, "operator_html")
        panel = bench.form("operator")
        slow.wait()
        panel.close()
        slow.open()
        assert panel.background.wait(SECONDS)
        assert panel.above.html == ""

    def test_a_comparison_that_goes_while_it_is_drawn_is_not_shown(self, panel, bench, slow):
        before = panel.above.html
        panel.forth.click()
        slow.wait()
        bench.comparison = None
        slow.open()
        assert panel.background.wait(SECONDS)
        assert panel.above.html == before
        assert panel.details.layout.display == "none"

    def test_the_minimal_case_is_written_beside_the_drawing(self, panel, gate, tmp_path):
        slow = gate(type(panel.view_of), "extract")
        panel.folder.value = str(tmp_path / "case")
        panel.extract.click()
        slow.wait()
        assert panel.extract.disabled
        assert said_in(panel.said.value) == ["ui/writing"]
        panel.forth.click()
        assert panel.background.wait(SECONDS)
        assert "ReLU" in panel.above.html
        slow.open()
        assert panel.writing.wait(SECONDS)
        assert not panel.extract.disabled
        assert "read_case" in panel.case.value

    def test_what_stays_is_what_was_drawn(self, bench, real_threads, monkeypatch):
        shown = []
        monkeypatch.setattr(
            part, "display_with_still", lambda view, html, text: shown.append(html())
        )
        panel = bench.form("operator")
        panel._ipython_display_()
        assert label("views/origin-origin") in shown[0]
        panel.close()


def test_thresholds_grade_what_is_shown_and_what_is_next(panel, bench):
    look, row = bench.comparison.look, bench.comparison.selected
    panel.planes.sliders.children[0].value ^= 1
    plane, read = look.plane, panel.view_of.elements
    assert "output:0 · fail" in panel.above.html
    look.factor = 1e9
    assert "output:0 · warn" in panel.above.html
    assert (
        label("views/origin-origin") in panel.above.html
    )  # what was found does not rest on one threshold
    assert (look.plane, panel.view_of.elements) == (plane, read)
    panel.forth.click()
    assert panel.alert_of(panel.forth).code == "ui/no-next-failing"
    exec(panel.code.text, known := {"comparison": bench.comparison})
    assert known["operator"].row.status == "warn"
    look.factor = None
    assert "output:0 · fail" in panel.above.html
    assert bench.comparison.selected is row
    panel.forth.click()
    assert bench.comparison.selected.op_name == NEXT


def test_the_head_names_the_graph_where_there_are_several():
    bench = wb.Workbench(graph="mlp")
    bench.comparison = wb.Comparison(make_result(rows=(make_row(graph_id=2, status="fail"),)))
    bench.comparison.selected = 0
    panel = bench.form("operator")
    assert label("show/graph", graph=2) in panel.above.html
    panel.close()


def test_cells_of_a_large_plane_hold_several_elements():
    net = Net()
    net.op("Neg", net.feed("x", (700, 3)), shape=(700, 3))
    graph = net.graph()
    values = {"x": np.ones((700, 3), np.float32)}
    spoil = {"Default/Neg-op0": lambda x: x + 1}
    bench = wb.Workbench(graph="mlp")
    bench.comparison = wb.compare(
        in_memory(shoot(graph, values, alter=spoil), graph), in_memory(shoot(graph, values), graph)
    )
    bench.comparison.selected = "Default/Neg-op0"
    panel = bench.form("operator")
    rows, columns = panel.planes.plane.step
    assert rows > 1
    assert label("show/map-cells", rows=rows, columns=columns) in panel.planes.picture.html
    panel.close()
