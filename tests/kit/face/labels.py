"""What stands on the screen, by its code: no test spells English or Chinese words out."""

from __future__ import annotations

import re
from string import Formatter

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
