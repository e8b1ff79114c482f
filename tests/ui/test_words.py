"""Words on the screen in Chinese: what is ours is translated; names, evidence and the help of settings stay."""

from __future__ import annotations

import re
from html import unescape

import ipywidgets as W
import pytest

import workbench as wb
from kit.face.screen import alerts_in, label, says, walk
from workbench.ui.shell import PARTS

TERMS = {"dump", "rank", "HTML", "CSV", "JSON", "ULP", "kind:operator:parameters"}
"""Words that are names in Chinese too."""


def words(view):
    """Texts of controls and titles; of a list, those that are not the names of its choices."""
    for widget in walk(view):
        if isinstance(widget, W.Tab):
            yield from widget.titles
        elif "workbench-field" not in getattr(widget, "_dom_classes", ()):
            for name in ("description", "placeholder"):
                yield getattr(widget, name, "")
            if hasattr(widget, "text") and hasattr(widget, "label"):
                yield widget.label


def english(text):
    return set(re.findall(r"[A-Za-z][\w:]{2,}", text)) - TERMS


@pytest.mark.parametrize("ran", [False, True])
def test_every_control_and_title_is_chinese(ran):
    bench = wb.Workbench(graph="mlp", language="zh")
    if ran:
        bench.run()
    for name in PARTS:
        panel = bench.form(name)
        left = {text: english(text) for text in words(panel.view) if english(text)}
        assert left == {}, name
        panel.close()


def test_the_states_of_a_run_are_chinese():
    bench = wb.Workbench(graph="mlp", language="zh")
    panel = bench.form("run")
    panel.rehearsal.inputs["iterations"].value = "x"
    wrong = label("ui/not-a-number", "zh", name="iterations", got="x")
    assert unescape(panel.reason.value).endswith(f">{wrong}</span>")
    panel.rehearsal.inputs["iterations"].value = "1"
    panel.rehearsal.inputs["faults"].value = "nan-output:nowhere"
    panel.run.click()
    assert bench.runner.job.wait(60)
    assert says(alerts_in(panel.status)[0], "ui/run-failed", "zh")
    assert "GraphError" not in panel.status.value
    panel.rehearsal.inputs["faults"].value = ""
    panel.run.click()
    assert bench.runner.job.wait(60)
    said = unescape(panel.status.value).removesuffix("</span>")
    assert says(said, "ui/run-done", "zh")
    panel.close()


def test_what_an_empty_field_of_a_form_means_is_chinese():
    panel = wb.Workbench(graph="mlp", language="zh").form("configure")
    fields = [
        one for one in walk(panel.view) if "workbench-field" in getattr(one, "_dom_classes", ())
    ]
    said = {one.options[0][0] if isinstance(one, W.Dropdown) else one.placeholder for one in fields}
    given = label("ui/default", "zh", value="")
    assert all(text == "[]" or text.startswith(given) for text in said)
    assert len(said) > 3
    panel.close()
