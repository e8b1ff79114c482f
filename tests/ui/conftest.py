"""Widgets without a kernel: handlers that raise fail the test, and no widget is left behind."""

import ipywidgets as W
import pytest
from ipywidgets.widgets import widget as widgets


@pytest.fixture(autouse=True)
def strict_callbacks(monkeypatch):
    """ipywidgets logs what a handler raises and goes on; a test would pass falsely."""

    def call(self, *arguments, **options):
        values = [callback(*arguments, **options) for callback in self.callbacks]
        return next((value for value in values if value is not None), None)

    monkeypatch.setattr(W.CallbackDispatcher, "__call__", call)


@pytest.fixture(autouse=True)
def no_need_to_settle(monkeypatch):
    """Without a kernel every message comes in its order."""
    monkeypatch.setattr("workbench.ui.part.SETTLE", 0)


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """A panel that is closed leaves no widget in the kernel; each test closes what it opens."""
    before = set(widgets._instances)
    yield
    left = [widgets._instances[key] for key in set(widgets._instances) - before]
    for item in left:
        item.close()
    assert [type(item).__name__ for item in left] == []
