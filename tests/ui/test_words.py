"""Words on the screen in Chinese: what is ours is translated; names, evidence and the help of settings stay."""

from __future__ import annotations

import re
from html import unescape

import ipywidgets as W
import pytest

import workbench as wb
from kit.face.panel_controls import walk
from workbench.ui.shell import PARTS

TERMS = {"dump", "NPU", "HTML", "CSV", "JSON", "ULP", "Script", "kind:operator:settings"}
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
    panel.rehearsal.inputs["faults"].value = "x"
    assert unescape(panel.reason.value).startswith('<span role="status">无法运行: ')
    panel.rehearsal.inputs["faults"].value = "nan-output:nowhere"
    panel.run.click()
    assert bench.runner.job.wait(60)
    assert ">失败: " in panel.status.value
    assert "GraphError" not in panel.status.value
    panel.rehearsal.inputs["faults"].value = ""
    panel.run.click()
    assert bench.runner.job.wait(60)
    assert ">完成，用时 " in panel.status.value
    panel.close()


def test_what_an_empty_field_of_a_form_means_is_chinese():
    panel = wb.Workbench(graph="mlp", language="zh").form("configure")
    fields = [
        one for one in walk(panel.view) if "workbench-field" in getattr(one, "_dom_classes", ())
    ]
    said = {one.options[0][0] if isinstance(one, W.Dropdown) else one.placeholder for one in fields}
    assert {text.partition(" ")[0] for text in said} <= {"默认:", "[]"}
    assert len(said) > 3
    panel.close()
