"""What all panels have in common: a click finds what was typed just before it."""

import threading

import ipywidgets as W

import workbench as wb
from workbench.ui.part import Part


class Typing(Part):
    name, title = "typing", "Run"

    def build(self):
        self.text, self.button, self.seen = W.Text(), W.Button(), []
        self.on_click(self.button, lambda: self.seen.append(self.text.value))
        return W.VBox([self.text, self.button])


def test_a_click_that_overtakes_what_was_typed_still_finds_it(monkeypatch):
    monkeypatch.setattr("workbench.ui.part.SETTLE", 0.3)
    panel = Typing(wb.Workbench(graph="mlp"))
    click = threading.Thread(target=panel.button.click)
    click.start()
    panel.text.value = "typed"
    click.join()
    assert panel.seen == ["typed"]
    panel.close()


def test_an_error_of_a_click_is_shown_and_the_next_one_works():
    panel = Typing(wb.Workbench(graph="mlp"))
    panel.on_click(panel.button, lambda: 1 / 0)
    panel.button.click()
    assert "ZeroDivisionError" in panel.alert.widget.value
    panel.button.click()
    assert panel.seen == ["", ""]
    panel.close()
