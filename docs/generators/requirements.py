"""The user interface's requirements, from ``tests/promises.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

from generators.markdown import page, table

SOURCE = Path(__file__).parents[2] / "tests" / "promises.toml"

INTRODUCTION = """\
What panels, notebooks and reports must do. Tests check every line in a real browser; `python -m pytest -m
criterion` runs them. Time limits are [measured](ui-speed.md) by `benchmarks/face.py`, because a busy machine
is not a defect."""


def requirements() -> str:
    """Return the page."""
    rows = [
        (
            one["number"],
            one["text"],
            "; ".join(f"{what}: {limit:g} s" for what, limit in one.get("seconds", {}).items()),
            len(one["tests"]),
        )
        for one in tomllib.loads(SOURCE.read_text(encoding="utf-8"))["requirement"]
    ]
    heads = ("Number", "Requirement", "Time limit", "Tests")
    return page("UI requirements", INTRODUCTION, table(heads, rows))
