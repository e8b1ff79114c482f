"""What somebody does at the panels of a workbench in JupyterLab, and what they say."""

from pathlib import Path

import pytest

import workbench as wb
from kit.face.labels import label
from kit.words import is_code

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


def words(name):
    """What stands on the screen for a code; the name of a setting stands for itself."""
    return label(name) if is_code(name) else name


def field(page, name):
    """Input that is seen, found by the code of its label or the name of a setting."""
    return seen(page.locator(OUTPUT).get_by_label(words(name), exact=True))


def fill(page, name, text):
    """Type into a field and leave it with Enter."""
    field(page, name).fill(text)
    field(page, name).press("Enter")


def tab(page, name):
    """Turn to a panel, or to a tab in it, by the code of its title."""
    page.get_by_role("tab", name=words(name), exact=True).click()


def button(page, name):
    """Button that is seen, found by the code of its words."""
    return seen(page.get_by_role("button", name=words(name), exact=True))


def status(page, *codes):
    """Wait until a panel says one of some codes; what it says."""
    said = seen(page.locator(", ".join(f'[role=status][data-code="{code}"]' for code in codes)))
    said.wait_for()
    return said.inner_text()


def copied(page):
    """Wait until a button says that it has copied its text."""
    page.get_by_role("status").filter(has_text=label("ui/copied")).first.wait_for()


def alert(page, *codes):
    """Alert of one of some codes; of a setting with a wrong value see `rule_of`."""
    return page.locator(", ".join(f'[role=alert][data-code="{code}"]' for code in codes))


def rule_of(value, setting="common_dump_settings.iteration"):
    """Id of the rule that the value of a setting breaks: the code of the alert beside it."""
    return wb.config.new("mindspore-o0o1").set(setting, value).check()[0].id


def faults_of_access(page, place):
    """What axe finds there: rule and element."""
    axe = pytest.importorskip("axe_playwright_python")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("(place) => axe.run({include: [[place]]})", place)["violations"]
    return [(one["id"], node["html"][:160]) for one in found for node in one["nodes"]]
