"""A kernel that restarts: what was set, noted, paired and looked at is there again."""

import re

import pytest

from kit.face.at_panels import tab
from kit.face.jupyter_lab import CONNECTED, Reader, python, within

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GUILTY = "Default/head-Dense/MatMul-op0"
FAULT = f"scaled-output:{GUILTY}:2"
RESTART = within(
    60, "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
)
FORM = "import workbench as wb\nbench = wb.Workbench.resume()\npanel = bench.form()\npanel"


@pytest.fixture(scope="module")
def user(chromium, lab):
    reader = Reader(chromium, lab, lab.write("restart/mine.ipynb", [FORM]))
    assert lab.run_all(reader.page) == []
    yield reader
    reader.page.close()


def compare(page):
    tab(page, "Run")
    page.get_by_role("button", name="Run comparison", exact=True).click()
    page.get_by_role("status").filter(has_text=re.compile("^done in")).first.wait_for()


def row(page):
    """Row of the table that the guilty operator's input has."""
    return page.locator(".wbx:visible tr[data-row]").filter(has_text="input:0")


def test_settings_notes_map_filters_and_selection_are_there_again(user, lab):
    page = user.page
    field = page.locator(".jp-OutputArea-output")
    tab(page, "Run")
    assert python(page, "bench.graph = 'mlp'\nprint(bench.kept_look)") == "None"
    field.get_by_label("faults", exact=True).fill(FAULT)
    field.get_by_label("faults", exact=True).press("Enter")
    compare(page)
    tab(page, "Divergence")
    page.locator(".wbx:visible").get_by_role("searchbox").fill(GUILTY)
    row(page).click()
    tab(page, "Report")
    field.get_by_label("notes", exact=True).fill("Seen on Friday")
    field.get_by_label("notes", exact=True).press("Tab")
    assert python(page, f"bench.map_file.match({GUILTY!r}, {GUILTY!r})") == ""
    tab(page, "Operator")
    head = page.locator(".wb-op-head:visible").first
    expect(head).to_contain_text(GUILTY)
    before = python(page, "print(bench.kept_look)")
    assert "'query': 'Default/head" in before

    page.evaluate(RESTART)
    page.evaluate(CONNECTED)
    assert python(page, "print('bench' in globals())") == "False"
    lab.command(page, "notebook:clear-all-cell-outputs")  # the panel of before is dead
    page.locator(".workbench-tabs").wait_for(state="detached")
    python(page, FORM)
    expect(page.get_by_role("tab", name="Operator", exact=True)).to_have_attribute("aria-selected", "true")  # fmt: skip
    expect(page.get_by_text("come back once").locator("visible=true")).to_have_count(1)
    assert python(page, "print(bench.kept_look)") == before
    tab(page, "Report")
    expect(field.get_by_label("notes", exact=True)).to_have_value("Seen on Friday")
    tab(page, "Align")
    page.locator("option").filter(has_text=f"match: {GUILTY}").wait_for(state="attached")
    compare(page)
    tab(page, "Divergence")
    expect(page.locator(".wbx:visible").get_by_role("searchbox")).to_have_value(GUILTY)
    expect(row(page)).to_have_attribute("aria-selected", "true")
    page.screenshot(path=lab.root / "restarted.png")
    tab(page, "Operator")
    expect(head).to_contain_text(GUILTY)
    assert user.trouble == []
