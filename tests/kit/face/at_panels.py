"""What somebody does at the panels of a workbench in JupyterLab, and what they say."""

import re
from pathlib import Path

import pytest

OUTPUT = ".jp-OutputArea-output"
FAULT = "wrong-attribute:Default/conv3-Conv2d/Conv2D-op0:pad_mode=pad,pad=1"
GUILTY = "Default/conv3-Conv2d/Conv2D-op0"
"""Whom FAULT spoils in alexnet, and whom the real pair blames."""

REAL = Path(__file__).parents[3] / "sample_dumps/real_pair"


def real_bench(target: str, golden: str) -> str:
    """Code that makes ``bench`` of two trees of the real pair, ``dump_a`` and ``dump_b``."""
    return f"bench = wb.Workbench(target={str(REAL / target)!r}, golden={str(REAL / golden)!r})"


def seen(found):
    """The first of those that can be seen."""
    return found.locator("visible=true").first


def field(page, name):
    """Input that is seen, found by its label."""
    return seen(page.locator(OUTPUT).get_by_label(name, exact=True))


def fill(page, name, text):
    """Type into a field and leave it with Enter."""
    field(page, name).fill(text)
    field(page, name).press("Enter")


def tab(page, name):
    """Turn to a panel."""
    page.get_by_role("tab", name=name, exact=True).click()


def button(page, name):
    """Button that is seen, found by its words."""
    return seen(page.get_by_role("button", name=name, exact=True))


def status(page, words):
    """Wait until a panel says so; what it says."""
    said = seen(page.get_by_role("status").filter(has_text=re.compile(words)))
    said.wait_for()
    return said.inner_text()


def faults_of_access(page, place):
    """What axe finds there: rule and element."""
    axe = pytest.importorskip("axe_playwright_python")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("(place) => axe.run({include: [[place]]})", place)["violations"]
    return [(one["id"], node["html"][:160]) for one in found for node in one["nodes"]]
