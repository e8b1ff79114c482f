"""A kernel that restarts: what was set, noted, paired and looked at is there again."""

import pytest

from kit.face.jupyter_lab import CONNECTED, Guest, python, within
from kit.face.pages import status, tab
from kit.face.screen import label

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GUILTY = "Default/head-Dense/MatMul-op0"
FAULT = f"scaled-output:{GUILTY}:2"
RESTART = within(
    60, "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
)
CUT_OFF = "[anywidget] Failed to initialize model."
"""What anywidget says of a widget that was about to be shown when its kernel ended."""

FORM = "import workbench as wb\nbench = wb.Workbench.resume()\npanel = bench.form()\npanel"


@pytest.fixture(scope="module")
def user(chromium, lab):
    reader = Guest(chromium, lab, lab.write("restart/mine.ipynb", [FORM]))
    assert lab.run_all(reader.page) == []
    yield reader
    reader.leave()


def compare(page):
    tab(page, "ui/run")
    page.get_by_role("button", name=label("ui/run-comparison"), exact=True).click()
    status(page, "ui/run-done")


def row(page):
    """Row of the table that the guilty operator's input has."""
    return page.locator(".wbx:visible tr[data-row]").filter(has_text="input:0")


def test_settings_notes_map_filters_and_selection_are_there_again(user, lab):
    page = user.page
    field = page.locator(".jp-OutputArea-output")
    tab(page, "ui/run")
    assert python(page, "bench.graph = 'mlp'\nprint(bench.kept_look)") == "None"
    field.get_by_label(label("ui/faults"), exact=True).fill(FAULT)
    field.get_by_label(label("ui/faults"), exact=True).press("Enter")
    compare(page)
    tab(page, "ui/divergence")
    page.locator(".wbx:visible").get_by_role("searchbox").fill(GUILTY)
    row(page).click()
    tab(page, "ui/report")
    field.get_by_label(label("ui/notes"), exact=True).fill("Seen on Friday")
    field.get_by_label(label("ui/notes"), exact=True).press("Tab")
    assert python(page, f"bench.map_file.match({GUILTY!r}, {GUILTY!r})") == ""
    tab(page, "ui/operator")
    head = page.locator(".wb-op-head:visible").first
    expect(head).to_contain_text(GUILTY)
    before = python(page, "print(bench.kept_look)")
    assert "'query': 'Default/head" in before

    told = len(user.trouble)
    page.evaluate(RESTART)
    page.evaluate(CONNECTED)
    assert python(page, "print('bench' in globals())") == "False"
    lab.command(page, "notebook:clear-all-cell-outputs")  # the panel of before is dead
    page.locator(".workbench-tabs").wait_for(state="detached")
    user.trouble[told:] = [said for said in user.trouble[told:] if said != CUT_OFF]
    python(page, FORM)
    operator = page.get_by_role("tab", name=label("ui/operator"), exact=True)
    expect(operator).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text(label("ui/restored-later")).locator("visible=true")).to_have_count(1)
    assert python(page, "print(bench.kept_look)") == before
    tab(page, "ui/report")
    expect(field.get_by_label(label("ui/notes"), exact=True)).to_have_value("Seen on Friday")
    tab(page, "ui/align")
    page.locator("option").filter(has_text=label("ui/entry-match", entry=GUILTY)).wait_for(
        state="attached"
    )
    compare(page)
    tab(page, "ui/divergence")
    expect(page.locator(".wbx:visible").get_by_role("searchbox")).to_have_value(GUILTY)
    expect(row(page)).to_have_attribute("aria-selected", "true")
    page.screenshot(path=lab.root / "restarted.png")
    tab(page, "ui/operator")
    expect(head).to_contain_text(GUILTY)
    assert user.trouble == []
