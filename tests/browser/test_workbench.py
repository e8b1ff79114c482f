"""The workbench in a real JupyterLab: from a wrong form to a run, its plot, and its code."""

import re

import pytest

from kit.face.at_panels import FAULT, GUILTY, button, field, fill, status, tab
from kit.face.jupyter_lab import RUN_CODE, Reader

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    "import workbench as wb",
    "bench = wb.Workbench(graph='alexnet')\npanel = bench.form()\npanel",
)


@pytest.fixture(scope="module")
def notebook(lab):
    """Path of a notebook that shows the panel, below the folder that JupyterLab serves."""
    return lab.write("bench/bench.ipynb", CELLS)


@pytest.fixture(scope="module")
def user(chromium, lab, notebook):
    """One person, whose page the tests use in their order."""
    permissions = ["clipboard-read", "clipboard-write"]
    reader = Reader(chromium, lab, notebook, permissions=permissions)
    assert lab.run_all(reader.page) == []
    yield reader
    reader.page.close()


def progress(page):
    """Width of the progress bar in per cent."""
    return page.evaluate(
        "() => parseFloat(document.querySelector('.progress-bar, .jupyter-widgets.widget-hprogress"
        " .progress > div').style.width)"
    )


@pytest.mark.criterion(4)
def test_a_wrong_field_has_an_alert_beside_it_and_nothing_can_run(user, lab):
    page = user.page
    fill(page, "iteration", "1,x")
    alert = page.get_by_role("alert").filter(has_text="common_dump_settings.iteration")
    alert.wait_for()
    box, note = field(page, "iteration").bounding_box(), alert.bounding_box()
    assert abs(box["y"] + box["height"] / 2 - note["y"] - note["height"] / 2) < 40
    assert note["x"] > box["x"]
    tab(page, "Run")
    status(page, "cannot run: .*iteration")
    expect(button(page, "Run comparison")).to_be_disabled()
    page.screenshot(path=lab.root / "error.png")


def test_a_right_field_takes_alert_and_reason_away(user):
    page = user.page
    tab(page, "Configure")
    fill(page, "iteration", "all")
    page.get_by_role("alert").filter(has_text="iteration must be").wait_for(state="detached")
    page.get_by_role("tab", name="Meaning").click()
    page.get_by_text("every iteration").first.wait_for()
    page.get_by_role("tab", name="Preview").click()
    page.get_by_text(re.compile("operators")).first.wait_for()
    tab(page, "Run")
    expect(button(page, "Run comparison")).to_be_enabled()


def test_a_run_shows_progress_and_can_be_cancelled(user):
    page = user.page
    fill(page, "iterations", "2000")
    button(page, "Run comparison").click()
    status(page, "^running: [1-9]")
    seen = {progress(page)}
    for _ in range(100):
        seen.add(progress(page))
        if len(seen) >= 3:
            break
        page.wait_for_timeout(50)
    assert len(seen) >= 3
    outputs = page.evaluate(RUN_CODE, "1 + 1")
    assert "2" in str(outputs)  # another cell answers meanwhile
    expect(button(page, "Run comparison")).to_be_disabled()
    button(page, "Cancel run").click()
    status(page, "^cancelled")
    expect(button(page, "Cancel run")).to_be_disabled()


def test_the_next_run_ends_with_the_verdict_and_a_plot(user, lab):
    page = user.page
    fill(page, "iterations", "1")
    fill(page, "faults", FAULT)
    button(page, "Run comparison").click()
    status(page, "^done in")
    tab(page, "Divergence")
    said = page.locator(".wb-sentence").filter(has_text=GUILTY).first
    said.wait_for()
    plot = page.locator(".jp-OutputArea-output .wbx-plot")
    plot.scroll_into_view_if_needed()
    assert plot.bounding_box()["width"] > 400
    page.screenshot(path=lab.root / "run.png")


def test_the_copied_code_gives_the_same_result(user):
    page = user.page
    sentence = page.locator(".wb-sentence").filter(has_text=GUILTY).first.inner_text()
    assert sentence
    tab(page, "Run")
    button(page, "Copy as code").click()
    page.get_by_role("status").filter(has_text="copied").first.wait_for()
    code = page.evaluate("() => navigator.clipboard.readText()")
    assert FAULT in code
    outputs = page.evaluate(RUN_CODE, code + "\nprint(comparison.sentence)")
    said = "".join(output.get("text", "") for output in outputs)
    assert " ".join(sentence.split()) in " ".join(said.split())


def test_a_pair_by_hand_counts_when_compared_again(user, lab):
    page = user.page
    tab(page, "Align")
    page.get_by_text("matches shown").first.wait_for()
    field(page, "list").select_option("every operator")
    page.get_by_role("listbox", name="Target").select_option(GUILTY)
    page.get_by_role("listbox", name="Golden").select_option(GUILTY)
    button(page, "Match these").click()
    entry = page.locator("option").filter(has_text=f"match: {GUILTY}")
    entry.wait_for(state="attached")
    button(page, "Compare again").click()
    page.locator(".wb-page-of td").filter(has_text=re.compile("^map$")).wait_for()
    page.screenshot(path=lab.root / "align.png")
    button(page, "Undo").click()
    entry.wait_for(state="detached")
    button(page, "Compare again").click()
    page.locator(".wb-page-of td").filter(has_text=re.compile("^map$")).wait_for(state="detached")


def test_a_click_on_the_guilty_operator_leads_to_its_source_line(user, lab):
    page = user.page
    tab(page, "Divergence")
    explorer = page.locator(".wbx:visible")
    explorer.get_by_role("searchbox").fill("conv3")
    row = explorer.locator("tr[data-row]").filter(has_text="output:0").first
    row.click()
    tab(page, "Operator")
    here = page.locator(".wb-here:visible").first
    here.wait_for()
    assert "self.conv3(x)" in here.inner_text()
    page.screenshot(path=lab.root / "operator.png")
    button(page, "Pin to report").click()


def test_the_report_opens_with_the_network_off(user, lab, chromium):
    page = user.page
    tab(page, "Report")
    field(page, "notes").fill("Seen <b>on</b> Friday")
    field(page, "HTML").fill("flow.html")
    button(page, "Write HTML").click()
    status(page, r"written: flow\.html")
    context = chromium.new_context(offline=True)
    report, trouble = context.new_page(), []
    report.on("console", lambda m: m.type == "error" and trouble.append(m.text))
    report.on("request", lambda r: r.url.startswith("file:") or trouble.append(r.url))
    report.goto((lab.root / "bench" / "flow.html").as_uri())
    report.locator(".wbx[data-ready]").wait_for()
    assert GUILTY in report.locator("h1").inner_text()
    assert "Seen <b>on</b> Friday" in report.locator("main").inner_text()
    rows = report.locator(".wbx tr[data-row]")
    report.get_by_role("searchbox").fill("conv3")
    expect(rows).to_have_count(4)  # two inputs, the output, the golden's weight alone
    report.get_by_role("searchbox").fill("")
    report.locator(".wbx").get_by_role("columnheader", name="Error", exact=True).click()
    expect(rows.first).to_contain_text("fail")
    report.screenshot(path=lab.root / "report.png", full_page=True)
    context.close()
    assert trouble == []


def test_a_restarted_kernel_finds_the_settings_again(user, lab):
    page = user.page
    tab(page, "Report")
    button(page, "Save session").click()
    status(page, r"written: bench\.session\.json")
    outputs = page.evaluate(
        RUN_CODE, "print(wb.Workbench.open('bench.session.json').faults, panel.bench.faults)"
    )
    said = "".join(output.get("text", "") for output in outputs)
    assert said.count(FAULT) == 2


def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []
