"""An error inside any handler of any panel: shown beside its control, by type and message, and the panel goes on."""

from __future__ import annotations

from pathlib import Path

import ipywidgets as W
import pytest

import workbench as wb
from kit.face.screen import alerts_beside, alerts_in, is_control, label, walk
from workbench.session.comparison import Comparison
from workbench.ui.shell import PARTS
from workbench.ui.widgets.alerts import Alert

REAL = Path(__file__).parents[2] / "sample_dumps" / "real_pair"
SILENT = (
    label("ui/new"), label("ui/other-networks"), label("ui/inject-fault"), label("ui/graphs-and-models"),
    label("ui/make-golden"),
    label("ui/copy-as-code"), label("ui/copy-view"), label("ui/copy-all"), "Explorer", "Tab",
)  # fmt: skip
"""Controls that the kernel hears of only when something else is done, and the explorer, which answers by itself."""


@pytest.fixture(scope="module")
def compared():
    return wb.compare(REAL / "dump_b", REAL / "dump_a")


@pytest.fixture
def faulty(monkeypatch):
    """Handlers raise as long as this is not empty."""
    planted, real = [], Alert.guard

    def guard(alert, handler, **options):
        def raising(*arguments, **others):
            if planted:
                raise RuntimeError(planted[0])
            handler(*arguments, **others)

        return real(alert, raising, **options)

    monkeypatch.setattr(Alert, "guard", guard)
    return planted


def another(control):
    """Another value of an input."""
    if isinstance(control, W.BoundedIntText):
        return control.value + 1
    if isinstance(control, W.ToggleButton):
        return not control.value
    if isinstance(control, W.Text | W.Textarea | W.Combobox):
        return f"{control.value} other"
    known = [one[1] if isinstance(one, tuple) else one for one in control.options]
    found = next((one for one in known if one != control.value and (one,) != control.value), None)
    return (found,) if isinstance(control, W.SelectMultiple) else found


def act(control):
    """Do what a person may do with a control; return whether there was anything to do."""
    if isinstance(control, W.Button):
        control.click()
    elif hasattr(control, "html"):
        control._handle_custom_msg({"row": "0"}, [])
    elif hasattr(control, "axis"):
        control.value = 0 if control.value else 1
    elif getattr(control, "options", True):
        value = another(control)
        if value in (None, (None,)):
            return False
        control.value = value
    else:
        return False
    return True


def acting(panel):
    for control in [one for one in walk(panel.view) if is_control(one)]:
        words = getattr(control, "description", "") or getattr(control, "label", "")
        words = words or type(control).__name__
        picture = getattr(getattr(panel, "planes", None), "picture", None)
        if not words.startswith(SILENT) and control is not picture and control.comm is not None:
            yield words, control


@pytest.mark.criterion(7)
@pytest.mark.parametrize("name", [*PARTS, "trees"])
def test_an_error_in_any_handler_stands_beside_its_control_and_the_panel_goes_on(
    name, compared, faulty, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    bench = wb.Workbench(graph="mlp", rehearsing=name != "trees")
    bench.comparison = Comparison(compared.result, compared._flow)
    panel = bench.form("run" if name == "trees" else name)
    told = 0
    for words, control in acting(panel):
        faulty.append("planted")
        if act(control):
            found = alerts_beside(panel.view, control, most=16)
            assert "RuntimeError: planted" in found, (words, found)
            told += 1
        faulty.clear()
    assert told
    for control in [one for one in walk(panel.view) if isinstance(one, W.Text | W.Textarea)]:
        control.value = ""
    bench.comparison = None
    bench.comparison = Comparison(compared.result, compared._flow)
    assert "RuntimeError" not in panel.alert.text
    panel.close()


@pytest.mark.criterion(7)
@pytest.mark.parametrize("name", [name for name in PARTS if name != "configure"])
def test_an_error_of_what_a_panel_follows_stands_on_top_of_it(name, compared, faulty):
    bench = wb.Workbench(graph="mlp")
    panel = bench.form(name)
    faulty.append("planted")
    bench.comparison = Comparison(compared.result, compared._flow)
    bench.device = "950"
    assert "RuntimeError: planted" in alerts_in(panel)
    faulty.clear()
    bench.comparison = Comparison(compared.result, compared._flow)
    bench.device = "a2"
    assert alerts_in(panel) == []
    panel.close()


@pytest.mark.criterion(7)
@pytest.mark.parametrize("surface", ["mindspore-o0o1", "torchair"])
def test_an_error_of_a_field_stands_beside_it_and_the_form_goes_on(surface, faulty):
    form = wb.config.new(surface).form()
    for path, field in form.fields.items():
        faulty.append("planted")
        assert act(field.input), path
        assert alerts_in(field.widget)[-1] == "RuntimeError: planted"
        faulty.clear()
        right = field.input.value
        assert act(field.input), path
        field.input.value = right
        assert field.alert.text == ""
    form.close()
