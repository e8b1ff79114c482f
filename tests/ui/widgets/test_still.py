"""What stays of a widget: it stands in an output of its own and follows the result."""

from __future__ import annotations

import re

import IPython.display
import pytest

import workbench as wb

VIEW = "application/vnd.jupyter.widget-view+json"


class Output:
    """One output of a cell; takes the place of what IPython gives to update it."""

    def __init__(self, data) -> None:
        self.update(data)

    def update(self, data) -> None:
        self.data = data if isinstance(data, dict) else {"text/html": data.data}

    @property
    def html(self) -> str:
        return self.data["text/html"]


@pytest.fixture
def outputs(monkeypatch):
    """Outputs of the cell that displays something."""
    shown = []

    def display(data, *, raw=False, display_id=False):
        assert raw is isinstance(data, dict)
        shown.append(Output(data))
        return shown[-1] if display_id else None

    monkeypatch.setattr(IPython.display, "display", display)
    return shown


@pytest.fixture(params=["all", "run"])
def panel(request):
    """A face of a bench that has not run."""
    made = wb.Workbench(graph="mlp").form("" if request.param == "all" else request.param)
    yield made
    made.close()


def test_the_widget_comes_first_and_has_no_html_that_would_show_twice(panel, outputs):
    panel._ipython_display_()
    first, still = outputs
    assert first.data.keys() == {VIEW, "text/plain"}
    assert first.data[VIEW]["model_id"] == panel.view.model_id
    assert "not run yet" in first.data["text/plain"]
    assert "not run yet" in still.html


def test_the_living_widget_hides_what_stays(panel, outputs):
    panel._ipython_display_()
    (live,) = (name for name in panel.view._dom_classes if name.startswith("wb-"))
    rule = re.search(r"body:has\(\.([\w-]+)\) \.([\w-]+) \{ display: none \}", outputs[1].html)
    assert rule[1] == live
    assert f'<div class="mathjax_ignore {rule[2]}">' in outputs[1].html


def test_what_stays_follows_the_result_as_long_as_the_panel_is_open(panel, outputs):
    panel._ipython_display_()
    found = panel.bench.run()
    assert found.sentence in re.sub("<.*?>", "", outputs[1].html)
    panel.close()
    before = outputs[1].html
    panel.bench.comparison = None
    assert outputs[1].html == before


def test_two_displays_of_a_panel_are_both_kept_up_to_date(panel, outputs):
    panel._ipython_display_()
    panel._ipython_display_()
    found = panel.bench.run()
    stills = [re.sub("<.*?>", "", output.html) for output in outputs[1::2]]
    assert [found.sentence in still for still in stills] == [True, True]


@pytest.mark.parametrize("fallback", [False, True])
def test_what_stays_of_an_explorer_is_the_comparison(outputs, fallback):
    bench = wb.Workbench(graph="mlp")
    explorer = bench.run().explore(fallback=fallback)
    explorer._ipython_display_()
    first, still = outputs
    assert first.data[VIEW]["model_id"] == explorer.model_id
    assert bench.comparison._repr_html_() in still.html
    explorer.close()


def test_what_stays_of_a_form_follows_its_inputs(outputs):
    form = wb.config.new("acl").form()
    form._ipython_display_()
    form.config = form.config.set("dump.dump_step", "0|5-8")
    assert "0|5-8" in outputs[1].html
    form.close()


def test_outside_a_notebook_nothing_has_to_be_kept_up_to_date(panel, monkeypatch):
    monkeypatch.setattr(IPython.display, "display", lambda *data, **options: None)
    panel._ipython_display_()
    assert panel.bench.run().verdict == "warn"
    assert "alert" not in panel.alert.widget.value


@pytest.mark.parametrize("name", ["operator", "source"])
def test_what_stays_of_a_panel_is_what_it_shows_last(name, outputs):
    bench = wb.Workbench(graph="mlp", faults=("scaled-output:Default/head-Dense/MatMul-op0:1.05",))
    panel = bench.form(name)
    panel._ipython_display_()
    found = bench.run()
    for wanted in (found.selected, found.rows[0]):
        found.selected = wanted
        leaf = wanted.op_name.rpartition("/")[2]
        assert re.search(f'aria-selected="true".*{leaf}|wb-op-head.*{leaf}', outputs[1].html)
    panel.close()
