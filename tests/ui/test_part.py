"""What all panels have in common: a click finds what was typed just before it."""

import sys
import threading
from types import SimpleNamespace

import ipywidgets as W
import pytest

import workbench as wb
from workbench.ui import part
from workbench.ui.part import Part


class Typing(Part):
    name, title = "typing", "Run"

    def build(self):
        self.text, self.button, self.seen = W.Text(), W.Button(), []
        self.on_click(self.button, lambda: self.seen.append(self.text.value))
        return W.VBox([self.text, self.button])


@pytest.fixture
def ipykernel(monkeypatch):
    """A kernel of a version, by its name."""

    def load(*version):
        monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace(version_info=version))

    monkeypatch.setitem(sys.modules, "ipykernel", None)
    return load


def test_only_new_kernels_hand_over_messages_out_of_their_order(ipykernel):
    assert not part.reorders()  # without ipykernel
    versions = [(6, 31, 0), (7, 1, 0), (7, 3, 9), (7, 4, 0), (7, 10, 0, "a1"), (8, 0, 0)]
    found = []
    for version in versions:
        ipykernel(*version)
        found.append(part.reorders())
    assert found == [False, False, False, True, True, True]


def test_a_click_that_need_not_wait_does_not(ipykernel, monkeypatch):
    ipykernel(7, 3, 0)
    monkeypatch.setattr(part.time, "sleep", lambda seconds: pytest.fail("it waits"))
    panel = Typing(wb.Workbench(graph="mlp"))
    panel.button.click()
    assert panel.seen == [""]
    panel.close()


def test_a_click_that_overtakes_what_was_typed_still_finds_it(ipykernel, monkeypatch):
    ipykernel(7, 4, 0)
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
    assert "ZeroDivisionError" in panel.alert.text
    panel.button.click()
    assert panel.seen == ["", ""]
    panel.close()
