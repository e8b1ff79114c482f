"""Boxes that every panel is made of."""

import ipywidgets as W
import pytest

from workbench.show.assets import read_asset
from workbench.ui.widgets.alerts import close_tree
from workbench.ui.widgets.boxes import fold, panel, row, styled


@pytest.fixture
def made():
    """Widgets to be closed again."""
    found = []
    yield found
    for widget in found:
        close_tree(widget)


def test_what_is_folded_is_shown_by_its_button_and_hidden_again(made):
    inner = W.VBox([W.Text()])
    made.append(folded := fold("More", inner))
    button, box = folded.children
    assert box is inner
    assert button.description == "More"
    assert box.layout.display == "none"
    button.value = True
    assert box.layout.display == ""
    button.value = False
    assert box.layout.display == "none"


def test_a_panel_brings_the_style_sheet_that_its_looks_are_in(made):
    made.append(box := panel([styled(W.Text(), "input"), row([W.Label(), W.Label()])]))
    style, text, line = box.children
    assert read_asset("panels.css") in style.value
    assert style.layout.display == "none"
    for widget in (box, text):
        (look,) = widget._dom_classes
        assert f".{look} " in style.value
    assert line.layout.flex_flow == "row wrap"
