"""The whole workbench in a kernel without anywidget: everything that can be clicked elsewhere has an equivalent."""

import re

import pytest

from kit.face.jupyter_lab import Guest, python
from kit.face.pages import FAULT, GUILTY, alert, button, fill, rule_of, status, tab
from kit.face.screen import label

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    "import sys\nsys.modules['anywidget'] = None  # as if it were not installed\nimport workbench as wb",
    "bench = wb.Workbench(graph='alexnet')\npanel = bench.form()\npanel",
)
LIVING = ".jp-OutputArea-output .jupyter-widgets"


@pytest.fixture(scope="module")
def user(chromium, lab):
    """One person, whose page the tests use in their order."""
    reader = Guest(chromium, lab, lab.write("plain/plain.ipynb", CELLS))
    assert lab.run_all(reader.page) == []
    yield reader
    reader.leave()


def copied(page):
    """The code that is shown to be copied."""
    button(page, "ui/copy-as-code").click()
    return (
        page.get_by_role("textbox", name=label("ui/copy-as-code"))
        .locator("visible=true")
        .input_value()
    )


@pytest.mark.criterion(19)
def test_the_panel_says_what_is_missing_and_how_to_get_it(user, lab):
    note = user.page.get_by_role("note").filter(has_text=label("ui/no-anywidget"))
    expect(note).to_have_count(1)
    user.page.screenshot(path=lab.root / "plain.png")


@pytest.mark.criterion(19)
def test_a_setting_of_the_form_shows_in_the_code_and_in_python(user):
    page = user.page
    fill(page, "iteration", "0|3-5")
    page.get_by_role("tab", name=label("ui/code")).click()
    assert "0|3-5" in copied(page)
    assert (
        python(page, "print(panel.bench.config.data['common_dump_settings']['iteration'])")
        == "0|3-5"
    )


@pytest.mark.criterion(19)
def test_a_wrong_field_is_told_beside_it_and_nothing_can_run(user):
    page = user.page
    fill(page, "iteration", "1,x")
    alert(page, rule_of("1,x")).first.wait_for()
    tab(page, "ui/run")
    status(page, "ui/not-ready")
    expect(button(page, "ui/run-comparison")).to_be_disabled()
    tab(page, "ui/configure")
    fill(page, "iteration", "all")
    tab(page, "ui/run")
    expect(button(page, "ui/run-comparison")).to_be_enabled()


@pytest.mark.criterion(19)
def test_an_error_in_a_handler_is_an_alert_and_the_panel_works_on(user):
    page = user.page
    tab(page, "ui/align")
    button(page, "ui/match").click()
    alert(page, "ui/nothing-to-match").wait_for()


@pytest.mark.criterion(19)
def test_a_run_shows_progress_and_another_cell_answers_until_it_is_cancelled(user):
    page = user.page
    tab(page, "ui/run")
    fill(page, "ui/iterations", "2000")
    button(page, "ui/run-comparison").click()
    status(page, "ui/run-state-tensors")
    assert python(page, "print(6 * 7)") == "42"
    button(page, "ui/cancel-run").click()
    status(page, "ui/nothing-kept", "ui/run-cancelled")


@pytest.mark.exhaustive  # every run does so with anywidget, which has no part in it: test_flows.py
@pytest.mark.criterion(19)
def test_twenty_thousand_steps_are_no_flood_of_messages(user):
    code = (
        "def work(job):\n    for step in range(20_000):\n        job.report(step, 20_000, 'step')\n"
        "job = panel.bench.runner.start(work)\nprint(job.wait(60), job.state)"
    )
    assert python(user.page, code) == "True done"
    assert "message rate" not in user.page.content()


@pytest.mark.criterion(19)
def test_the_next_run_ends_with_the_verdict_and_the_code_of_it(user):
    page = user.page
    tab(page, "ui/run")
    fill(page, "ui/iterations", "1")
    fill(page, "ui/faults", FAULT)
    button(page, "ui/run-comparison").click()
    status(page, "ui/run-done")
    code = copied(page)
    assert FAULT in code
    tab(page, "ui/divergence")
    said = page.locator(f"{LIVING} .wb-sentence").filter(has_text=GUILTY).first
    said.wait_for()
    sentence = said.inner_text()
    assert " ".join(sentence.split()) in " ".join(
        python(page, code + "\nprint(comparison.sentence)").split()
    )


@pytest.mark.criterion(19)
def test_the_frame_filters_and_grades_as_python_does(user, lab):
    page = user.page
    frame = page.frame_locator(f"{LIVING} iframe[title=Divergence]")
    frame.locator("#explorer[data-ready]").wait_for()
    frame.locator(".wbx-filter").fill("conv2d")
    frame.get_by_role("button", name=re.compile(f"^{label('explorer/status-fail')}")).click()
    shown = re.match(r"[\d,]+", frame.locator(".wbx-shown").inner_text())[0]
    count = "print(len(panel.bench.comparison.filter(query='conv2d', status='fail').rows))"
    assert python(page, count) == shown.replace(",", "")
    page.screenshot(path=lab.root / "plain-divergence.png")


@pytest.mark.criterion(19)
def test_an_operator_is_chosen_by_name_and_its_neighbour_in_the_list(user, lab):
    page = user.page
    tab(page, "ui/divergence")
    fill(page, "ui/operator", GUILTY)
    tab(page, "ui/operator")
    head = page.locator(f"{LIVING} .wb-op-head:visible")
    expect(head).to_contain_text("conv3-Conv2d/Conv2D-op0")
    page.screenshot(path=lab.root / "plain-operator.png")
    lists = (
        page.locator(LIVING).get_by_label(label("ui/choose"), exact=True).locator("visible=true")
    )
    option = lists.last.locator("option").filter(has_text="ReLU-op").first
    lists.last.select_option(option.inner_text())
    expect(head).to_contain_text("ReLU-op")
    button(page, "ui/next-failing").click()
    expect(head).to_contain_text("conv3-Conv2d/Conv2D-op0")


@pytest.mark.criterion(19)
def test_a_number_takes_the_place_of_a_slider(user):
    page = user.page
    name = re.compile(r"\b3 \(0–\d+\)$")
    number = page.get_by_role("spinbutton", name=name)
    number.wait_for()  # those of the operator before had other axes
    other = "1" if number.input_value() == "0" else "0"
    number.fill(other)
    number.press("Enter")
    caption = page.locator(f"{LIVING} .wb-op-heat:visible figcaption")
    expect(caption).to_contain_text(f"axis 3: {other}")
    assert python(page, "print(panel.bench.comparison.look.plane[3])") == other


@pytest.mark.criterion(19)
def test_a_line_of_the_source_leads_to_its_operator(user, lab):
    page = user.page
    tab(page, "ui/source")
    lists = (
        page.locator(LIVING).get_by_label(label("ui/choose"), exact=True).locator("visible=true")
    )
    expect(lists).to_have_count(1)
    option = lists.locator("option").filter(has_text="conv4-Conv2d").first
    lists.select_option(option.inner_text())
    page.screenshot(path=lab.root / "plain-source.png")
    tab(page, "ui/operator")
    expect(page.locator(f"{LIVING} .wb-op-head:visible")).to_contain_text("conv4-Conv2d")


@pytest.mark.criterion(19)
def test_keys_in_the_shown_code_are_not_taken_by_the_notebook(user):
    page = user.page
    tab(page, "ui/run")
    cells = "() => window.jupyterapp.shell.currentWidget.content.widgets.length"
    before = page.evaluate(cells)
    code = page.get_by_role("textbox", name=label("ui/copy-as-code")).locator("visible=true")
    code.click()
    for key in ("a", "b", "x", "d", "d", "Control+a"):
        page.keyboard.press(key)
    assert page.evaluate(cells) == before
    assert FAULT in page.evaluate("() => getSelection().toString()")


@pytest.mark.criterion(19)
def test_the_report_is_written(user, lab):
    page = user.page
    tab(page, "ui/report")
    fill(page, "ui/html", "plain.html")
    button(page, "ui/write-html").click()
    assert "plain.html" in status(page, "ui/written-size")
    assert GUILTY in (lab.root / "plain" / "plain.html").read_text(encoding="utf-8")


def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []
