"""What stands on a screen, without a browser: words by their code, alerts and controls of panels, a page's elements.

No test spells English or Chinese words out. Panels are read from their widgets, pages by a parser of the standard
library.
"""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from string import Formatter

import ipywidgets as W

from workbench.core.words.translate import Say


def label(code, language="en", **values):
    """The words of a code as a reader sees them."""
    return Say(language)(code, **values)


def pattern(code, language="en"):
    """A regular expression of the words of a code with any values; it fits the whole of them."""
    pieces = Formatter().parse(Say(language).words(code))
    made = [re.escape(text) + "(.*?)" * (name is not None) for text, name, *_ in pieces]
    return f"{''.join(made)}$"


def says(text, code, language="en"):
    """Whether a text ends with the words of a code, whatever their values."""
    return re.search(pattern(code, language), text, re.DOTALL) is not None


def count_in(text, code):
    """The first number of the words of a code, where they stand in a text."""
    found = re.search(pattern(code).removesuffix("$"), text, re.DOTALL)
    return int(re.findall(r"[\d,]+", found[1])[-1].replace(",", ""))


# ---------------- panels


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


# ---------------- pages


class Document(HTMLParser):
    """Elements and text of a document; fails on elements that are closed in the wrong order."""

    VOID = frozenset({"meta", "br", "wbr", "input", "path", "hr", "col", "link"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.words, self.attributes = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = re.sub(r"\s+", " ", "".join(self.words))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.words.append(data)
