"""The workbench in a real JupyterLab: from a wrong form to a run, its plot, and its code."""

import re

import pytest

from kit.face.jupyter_lab import RUN_CODE, Guest
from kit.face.pages import (
    FAULT,
    GUILTY,
    alert,
    button,
    copied,
    field,
    fill,
    rule_of,
    status,
    tab,
)
from kit.face.screen import label

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
    reader = Guest(chromium, lab, notebook, permissions=permissions)
    assert lab.run_all(reader.page) == []
    yield reader
    reader.leave()


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
    beside = alert(page, rule_of("1,x"))
    beside.wait_for()
    box, note = field(page, "iteration").bounding_box(), beside.bounding_box()
    assert abs(box["y"] + box["height"] / 2 - note["y"] - note["height"] / 2) < 40
    assert note["x"] > box["x"]
    tab(page, "ui/run")
    status(page, "ui/not-ready")
    expect(button(page, "ui/run-comparison")).to_be_disabled()
    page.screenshot(path=lab.root / "error.png")


def test_a_right_field_takes_alert_and_reason_away(user):
    page = user.page
    tab(page, "ui/configure")
    fill(page, "iteration", "all")
    alert(page, rule_of("1,x")).wait_for(state="detached")
    page.get_by_role("tab", name=label("ui/meaning")).click()
    page.locator(".widget-html-content ul li").locator("visible=true").first.wait_for()
    page.get_by_role("tab", name=label("ui/preview")).click()
    page.locator(".wb-sentence").locator("visible=true").first.wait_for()
    tab(page, "ui/run")
    expect(button(page, "ui/run-comparison")).to_be_enabled()


@pytest.mark.exhaustive  # every run cancels one of two trees: test_flows.py
def test_a_run_shows_progress_and_can_be_cancelled(user):
    page = user.page
    fill(page, "ui/iterations", "2000")
    button(page, "ui/run-comparison").click()
    status(page, "ui/run-state-tensors")
    seen = {progress(page)}
    for _ in range(100):
        seen.add(progress(page))
        if len(seen) >= 3:
            break
        page.wait_for_timeout(50)
    assert len(seen) >= 3
    outputs = page.evaluate(RUN_CODE, "1 + 1")
    assert "2" in str(outputs)  # another cell answers meanwhile
    expect(button(page, "ui/run-comparison")).to_be_disabled()
    button(page, "ui/cancel-run").click()
    status(page, "ui/nothing-kept", "ui/run-cancelled")
    expect(button(page, "ui/cancel-run")).to_be_disabled()


def test_the_next_run_ends_with_the_verdict_and_a_plot(user, lab):
    page = user.page
    fill(page, "ui/iterations", "1")
    fill(page, "ui/faults", FAULT)
    button(page, "ui/run-comparison").click()
    status(page, "ui/run-done")
    tab(page, "ui/divergence")
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
    tab(page, "ui/run")
    button(page, "ui/copy-as-code").click()
    copied(page)
    page.wait_for_function("async () => (await navigator.clipboard.readText()) !== ''")
    code = page.evaluate("() => navigator.clipboard.readText()")
    assert FAULT in code
    outputs = page.evaluate(RUN_CODE, code + "\nprint(comparison.sentence)")
    said = "".join(output.get("text", "") for output in outputs)
    assert " ".join(sentence.split()) in " ".join(said.split())


def test_a_pair_by_hand_counts_when_compared_again(user, lab):
    page = user.page
    tab(page, "ui/align")
    page.locator(".wb-page-of caption").locator("visible=true").wait_for()
    field(page, "ui/list").select_option(label("ui/all-operators"))
    page.get_by_role("listbox", name=label("ui/target")).select_option(GUILTY)
    page.get_by_role("listbox", name=label("ui/golden")).select_option(GUILTY)
    button(page, "ui/match").click()
    entry = page.locator("option").filter(has_text=label("ui/entry-match", entry=GUILTY))
    entry.wait_for(state="attached")
    button(page, "ui/compare-again").click()
    page.locator(".wb-page-of td").filter(has_text=re.compile("^map$")).wait_for()
    page.screenshot(path=lab.root / "align.png")
    button(page, "ui/undo").click()
    entry.wait_for(state="detached")
    button(page, "ui/compare-again").click()
    page.locator(".wb-page-of td").filter(has_text=re.compile("^map$")).wait_for(state="detached")


def test_a_click_on_the_guilty_operator_leads_to_its_source_line(user, lab):
    page = user.page
    tab(page, "ui/divergence")
    explorer = page.locator(".wbx:visible")
    explorer.get_by_role("searchbox").fill("conv3")
    row = explorer.locator("tr[data-row]").filter(has_text="output:0").first
    row.click()
    tab(page, "ui/operator")
    here = page.locator(".wb-here:visible").first
    here.wait_for()
    assert "self.conv3(x)" in here.inner_text()
    page.screenshot(path=lab.root / "operator.png")
    button(page, "ui/pin").click()


@pytest.mark.exhaustive  # every run opens a report so in test_report.py and writes one in test_without_anywidget.py
def test_the_report_opens_with_the_network_off(user, lab, chromium):
    page = user.page
    tab(page, "ui/report")
    field(page, "ui/notes").fill("Seen <b>on</b> Friday")
    field(page, "ui/html").fill("flow.html")
    button(page, "ui/write-html").click()
    assert "flow.html" in status(page, "ui/written-size")
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
    report.locator(".wbx").get_by_role(
        "columnheader", name=label("show/col-error"), exact=True
    ).click()
    expect(rows.first).to_contain_text("fail")
    report.screenshot(path=lab.root / "report.png", full_page=True)
    context.close()
    assert trouble == []


def test_a_restarted_kernel_finds_the_settings_again(user, lab):
    page = user.page
    tab(page, "ui/report")
    button(page, "ui/save-session").click()
    assert "bench.session.json" in status(page, "ui/written")
    outputs = page.evaluate(
        RUN_CODE, "print(wb.Workbench.open('bench.session.json').faults, panel.bench.faults)"
    )
    said = "".join(output.get("text", "") for output in outputs)
    assert said.count(FAULT) == 2


def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []
