"""The limits of judgement."""

from __future__ import annotations

from dataclasses import fields

from generators.markdown import code, page, prose, table
from workbench.comparison.limits import LIMITS

INTRODUCTION = """\
What a comparison judges by. The values are fixed. `benchmarks/diagnosis.py --limit NAME=VALUE` measures how often
the diagnosis is right with others; a result lists the limits that were changed."""


def limits() -> str:
    """Return the page."""
    rows = [
        (
            code(one.name),
            f"{getattr(LIMITS, one.name):g}",
            one.metadata["unit"],
            prose(one.metadata["meaning"]),
            prose(one.metadata["measured_on"]),
            one.metadata["stages"].replace(" ", ", "),
        )
        for one in fields(LIMITS)
    ]
    heads = ("Limit", "Value", "Unit", "Meaning", "Measured on", "Read by")
    return page("Limits", INTRODUCTION, table(heads, rows))
