"""The workbench in a real JupyterLab: from a wrong form to a run, its plot, and its code."""

import re

import nbformat
import pytest
from jupyter_lab import Reader

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FAULT = "wrong-attribute:Default/conv3-Conv2d/Conv2D-op0:pad_mode=pad,pad=1"
GUILTY = "Default/conv3-Conv2d/Conv2D-op0"
CELLS = (
    "import workbench as wb",
    "bench = wb.Workbench(graph='alexnet')\npanel = bench.form()\npanel",
)

RUN_CODE = """async (source) => {
  const app = window.jupyterapp;
  const book = app.shell.currentWidget.content;
  book.activeCellIndex = book.widgets.length - 1;
  await app.commands.execute('notebook:insert-cell-below');
  book.activeCell.model.sharedModel.setSource(source);
  await app.commands.execute('notebook:run-cell');
  return book.activeCell.model.sharedModel.getOutputs();
}"""


@pytest.fixture(scope="module")
def notebook(lab):
    """Path of a notebook that shows the panel, below the folder that JupyterLab serves."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    (lab.root / "bench").mkdir()
    nbformat.write(book, lab.root / "bench" / "bench.ipynb")
    return "bench/bench.ipynb"


@pytest.fixture(scope="module")
def user(chromium, lab, notebook):
    """One person, whose page the tests use in their order."""
    permissions = ["clipboard-read", "clipboard-write"]
    reader = Reader(chromium, lab, notebook, permissions=permissions)
    assert lab.run_all(reader.page) == []
    yield reader
    reader.page.close()


def field(page, name):
    """Input of a setting, found by its label."""
    return page.locator(".jp-OutputArea-output").get_by_label(name, exact=True)


def fill(page, name, text):
    field(page, name).fill(text)
    field(page, name).press("Enter")


def tab(page, name):
    """Turn to a panel."""
    page.get_by_role("tab", name=name, exact=True).click()


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def status(page, words):
    """Wait until the run says so."""
    page.get_by_role("status").filter(has_text=re.compile(words)).first.wait_for(timeout=60_000)


def progress(page):
    """Width of the progress bar in per cent."""
    return page.evaluate(
        "() => parseFloat(document.querySelector('.progress-bar, .jupyter-widgets.widget-hprogress"
        " .progress > div').style.width)"
    )


def test_a_wrong_field_has_an_alert_beside_it_and_nothing_can_run(user, lab):
    page = user.page
    fill(page, "iteration", "1,x")
    alert = page.get_by_role("alert").filter(has_text="common_dump_settings.iteration must be")
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


def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []
