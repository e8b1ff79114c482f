"""The explorer without a browser: what is sent once, and the state that goes both ways."""

import json
import sys

import pytest

import workbench as wb
from kit.build.sample_results import NASTY, network_result
from kit.oracle.packed import unpacked
from kit.words import refused
from workbench.ui.widgets.explorer import Explorer
from workbench.ui.widgets.framed import Framed

START = {
    "selected": 15, "query": "", "statuses": [], "choices": {}, "positions": None, "sort": ["", False],
    "factor": None, "limit": None, "figure": "error",
}  # fmt: skip


@pytest.fixture
def comparison():
    return wb.Comparison(network_result(60, 2))


@pytest.fixture
def explorer(comparison):
    comparison.selected = 15
    made = comparison.explore()
    yield made
    made.close()


def from_browser(explorer, **changes):
    """What the browser sends after somebody clicked."""
    state = {**explorer.state, **changes}
    message = {"method": "update", "state": {"state": state}, "buffer_paths": []}
    explorer._handle_msg({"content": {"data": message}, "buffers": []})


def test_the_data_is_sent_compressed_and_no_trait_holds_it_as_text(comparison, explorer):
    assert isinstance(explorer, Explorer)
    data = unpacked(explorer.data)
    assert data["rows"] == len(comparison.rows)
    error = next(column for column in data["columns"] if column["key"] == "error")
    finite = [(n, row.error) for n, row in enumerate(comparison.rows) if row.status == "fail"]
    assert all(error["values"][n] == value for n, value in finite if value == value < 1e9)
    sent = explorer.get_state()
    assert NASTY[0] not in json.dumps({key: sent[key] for key in sent if key != "data"})


def test_the_state_is_that_of_the_look(comparison, explorer):
    assert explorer.state == START
    comparison.selected = comparison.rows[3]
    assert explorer.state == {**START, "selected": 3}
    comparison.look.set_trait("sort", ("error", True))
    comparison.look.positions = (2, 9)
    comparison.look.factor = 4
    changed = {"selected": 3, "sort": ["error", True], "positions": [2, 9], "factor": 4.0}
    assert explorer.state == {**START, **changed}


def test_a_click_reaches_python(comparison, explorer):
    from_browser(explorer, selected=7)
    assert comparison.selected is comparison.rows[7]
    from_browser(explorer, selected=-1)
    assert comparison.selected is None


def test_all_of_a_click_is_there_before_anybody_hears(comparison, explorer):
    heard = []
    comparison.look.observe(lambda _: heard.append(comparison.look.query), "selected")
    from_browser(explorer, selected=4, query="conv", statuses=["fail"], choices={"iteration": 1})
    assert heard == ["conv"]
    assert comparison.look.statuses == ("fail",)
    assert comparison.look.choices == {"iteration": 1}


def test_two_explorers_of_a_comparison_show_the_same(comparison, explorer):
    other = comparison.explore()
    from_browser(explorer, selected=9, figure="CosineSimilarity")
    assert other.state == explorer.state == {**START, "selected": 9, "figure": "CosineSimilarity"}
    other.close()
    comparison.selected = 2
    assert explorer.state["selected"] == 2
    assert other.state["selected"] == 9


def test_a_state_that_the_browser_never_sends_changes_nothing(comparison, explorer):
    with refused("show/setting", name="factor", got=-1):
        explorer.state = {**explorer.state, "factor": -1, "selected": 3}
    assert (comparison.look.factor, comparison.look.selected) == (None, 15)
    assert explorer.state == START


@pytest.mark.parametrize(
    "state",
    [
        {"statuses": ["fail", "warn"], "query": " conv2d  layers.1 "},
        {"choices": {"op_type": "MatMul", "iteration": 1, "io": "output"}, "sort": ["error", True]},
        {"choices": {"scope": "Default/network-Net/layers.2/", "rule": "name"}},
        {"choices": {"rule": ""}},
        {"positions": [3, 20], "factor": 4, "statuses": ["fail"]},
        {"limit": 1e-3, "factor": 0.5, "sort": ["op_name", False]},
        {"choices": {"file": "/srv/train/model.py", "rank": 0}},
        {},
    ],
)
def test_the_code_gives_the_rows_that_are_shown(comparison, explorer, state):
    from_browser(explorer, **state)
    shown = eval(explorer.to_code(), {"comparison": comparison})
    assert shown.rows
    assert (len(shown.rows) < len(comparison.rows)) == bool(
        {"statuses", "choices", "positions"} & state.keys()
    )
    if "sort" in state and state["sort"][0] == "error":
        errors = [row.error for row in shown.rows if row.error is not None]
        finite = [error for error in errors if error < 1e300]
        assert finite == sorted(finite, reverse=True)
        assert errors[len(errors) - len(finite) :] == finite  # what is no number stands on top


def test_without_a_kernel_the_answer_stays_as_html(comparison, explorer):
    bundle = explorer._repr_mimebundle_()
    assert bundle["text/html"] == comparison._repr_html_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "Explorer" not in bundle["text/plain"]


def test_names_of_lone_surrogates_are_sent(comparison):
    from kit.build.sample_results import make_result, make_row

    odd = wb.Comparison(make_result(rows=(make_row(op_name="a\udcff"),))).explore()
    assert unpacked(odd.data)["rows"] == 1
    odd.close()


class TestWithoutAnywidget:
    def test_an_operator_is_chosen_by_name(self, comparison):
        framed = comparison.explore(fallback=True)
        assert isinstance(framed, Framed)
        assert framed.operator.value == comparison.first_divergence.op_name
        name = comparison.rows[5].op_name
        assert name in framed.operator.options
        framed.operator.value = name
        assert comparison.selected.op_name == name
        comparison.selected = comparison.rows[7]
        assert framed.operator.value == comparison.rows[7].op_name
        comparison.selected = None
        assert framed.operator.value == ""
        framed.close()

    def test_an_unknown_name_is_refused_beside_the_field(self, comparison):
        framed = comparison.explore(fallback=True)
        before = comparison.selected
        framed.operator.value = "<b>none</b>"
        assert 'role="alert"' in framed.alert.widget.value
        assert "&lt;b&gt;none" in framed.alert.widget.value
        assert comparison.selected is before
        framed.operator.value = comparison.rows[1].op_name
        assert framed.alert.widget.value == ""
        framed.close()

    def test_it_is_what_one_gets_where_anywidget_is_missing(self, comparison, monkeypatch):
        monkeypatch.setitem(sys.modules, "anywidget", None)
        framed = comparison.explore()
        assert isinstance(framed, Framed)
        assert "text/html" in framed._repr_mimebundle_()
        framed.close()

    def test_names_stay_text_in_the_frame(self, comparison):
        framed = comparison.explore(fallback=True)
        frame = framed.children[2].value
        assert "<img" not in frame
        assert frame.count("<iframe") == frame.count("</iframe>") == 1
        framed.close()
