"""What a reader sees of a panel: its controls, its alerts, and how near these are to one another."""

from __future__ import annotations

import re
from html import unescape

import ipywidgets as W


def walk(widget):
    """A widget and all it consists of."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from walk(child)


class Said(str):
    """Text of an alert, with the ``code`` of what it says."""

    __slots__ = ("code",)

    def __new__(cls, text, code):
        made = super().__new__(cls, text)
        made.code = code
        return made


ALERT = re.compile(r'<div role="alert" data-code="([^"]*)"[^>]*>(.*?)</div>', re.DOTALL)


def alerts_in(view):
    """Alerts that can be seen in a widget, each a text with its code; a panel stands for its view."""
    shown = [one for one in walk(getattr(view, "view", view)) if isinstance(one, W.HTML)]
    found = "".join(one.value for one in shown if one.layout.display != "none")
    return [Said(unescape(text), unescape(code)) for code, text in ALERT.findall(found)]


def codes_in(view):
    """Codes of the alerts that can be seen in a widget."""
    return [alert.code for alert in alerts_in(view)]


def codes_beside(view, control):
    """Codes of the alerts beside a control."""
    return [alert.code for alert in alerts_beside(view, control)]


def alerts_beside(view, control, most=8):
    """Alerts in the smallest box that holds a control and any of them, if that box is small."""
    boxes = [one for one in walk(view) if hasattr(one, "children") and control in walk(one)]
    for box in reversed(boxes):
        found = alerts_in(box)
        if found:
            return found if sum(is_control(one) for one in walk(box)) <= most else []
    return []


KINDS = (
    W.Text, W.Textarea, W.Combobox, W.Dropdown, W.Select, W.SelectMultiple, W.BoundedIntText, W.Button,
    W.ToggleButton, W.ToggleButtons, W.Tab, W.Accordion,
)  # fmt: skip
"""Widgets of ipywidgets that take something from the user."""


def is_control(widget):
    """Whether a widget takes something from the user: of ipywidgets, or one of our own modules."""
    return isinstance(widget, KINDS) or hasattr(widget, "_esm")


def said_in(html):
    """Codes of what a piece of HTML says, statuses and alerts."""
    return [unescape(code) for code in re.findall(r'data-code="([^"]+)"', html)]
