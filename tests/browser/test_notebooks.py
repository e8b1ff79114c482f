"""A notebook in a real JupyterLab: run from the menu, saved, and read again by somebody else."""

import json
import re
import shutil
from pathlib import Path

import pytest

from kit.cases import nightly
from kit.face.jupyter_lab import CONNECTED, Guest

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
NOTEBOOKS = {  # and whom they blame
    "01_compare_two_dumps": "Default/conv3-Conv2d/Conv2D-op0",
    "02_simulate_and_compare": "Default/fc-Dense/MatMul-op0",
    "03_dump_configurations": "Default/conv3-Conv2d/Conv2D-op0",
    "04_training": "fc2-Dense/Grad_MatMul/MatMul-op1",
    "05_diagnose": "attention-Attention/output-Dense/MatMul-op0",
    "06_report": "Default/conv3-Conv2d/Conv2D-op0",
    "07_offline_model": "features/3/Convfeatures/4/Relu",
    "10_job_of_64_ranks": "fc2-Dense/Grad_MatMul/MatMul-op1",
}
PLOTLESS = ("05_diagnose", "06_report", "07_offline_model")
DAILY = ("01_compare_two_dumps",)
"""The others are for the nightly run; tests/test_notebooks.py executes all of them every time."""
WORST = {"06_report": "Default/fc3-Dense/MatMul-op0"}
"""Who stands in the table of the worst where it is not whom the sentence blames."""
SENTENCE = ".wb-sentence"

OVERLAPS = """(list) => {
  const boxes = [...list.querySelectorAll('dt, dd')].map((e) => {
    const range = document.createRange();
    range.selectNodeContents(e);
    return [e.textContent, range.getBoundingClientRect()];
  });
  return boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
    .map(([other]) => `${one} / ${other}`));
}"""

TRUSTED_AND_KERNEL = """() => {
  const shown = window.jupyterapp.shell.currentWidget;
  const cells = [...shown.content.model.cells].filter((cell) => cell.type === 'code');
  return [cells.some((cell) => cell.trusted), shown.sessionContext.session?.kernel ?? null];
}"""

DRAWN = "(image) => image.complete && image.naturalWidth > 400"


@pytest.fixture(scope="module")
def tree(lab):
    """A copy of what the notebooks need, in the folder that JupyterLab serves."""
    folder = lab.root / "tree"
    for name in ("notebooks", "sample_dumps"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("build", ".*"))
    return folder


class Readers(dict):
    """Readers of notebooks by name, each made when it is first asked for."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def __missing__(self, name):
        self[name] = reader = self.make(name)
        return reader


@pytest.fixture(scope="module")
def author(chromium, lab, tree):
    """Whoever ran each notebook from the menu and saved it; the page is still open."""

    def run(name):
        reader = Guest(chromium, lab, f"tree/notebooks/{name}.ipynb")
        reader.trouble += lab.run_all(reader.page)
        lab.command(reader.page, "docmanager:save")
        return reader

    readers = Readers(run)
    yield readers
    for reader in readers.values():
        reader.leave()


@pytest.fixture(scope="module")
def stranger(lab, tree, author):
    """Somebody else who opens the saved notebooks: untrusted, and with no kernel to run them.

    A notebook that names a kernel which is not there is neither what was signed nor can it run.
    """

    def opened(name):
        reader = author[name]  # has run and saved it
        book = json.loads((tree / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
        book["metadata"] = {"kernelspec": {"name": "elsewhere", "display_name": "Elsewhere"}}
        (tree / "notebooks" / f"{name}-read.ipynb").write_text(json.dumps(book), encoding="utf-8")
        lab.show(reader.page, f"tree/notebooks/{name}-read.ipynb")
        reader.page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()
        return reader

    return Readers(opened)


def outputs(page):
    """What cells have put out; their code holds some of the same words."""
    return page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-OutputArea-output")


def assert_the_answer_can_be_read(page, operator):
    sentence = page.locator(SENTENCE).filter(has_text=operator).locator("visible=true")
    table = page.locator("table")
    said = outputs(page).filter(has=sentence).filter(has_text=operator).filter(has=table)
    said.first.scroll_into_view_if_needed()
    assert said.first.locator(SENTENCE).first.is_visible()
    return said.first


def assert_the_table_can_be_read(output, operator):
    """It stands open under its heading."""
    rows = output.locator("table tr", has_text=re.compile("fail")).filter(has_text=operator)
    rows.first.scroll_into_view_if_needed()
    assert rows.first.is_visible()


def assert_the_plot_is_drawn(page):
    image = outputs(page).locator("img").last
    image.scroll_into_view_if_needed()
    page.wait_for_function(DRAWN, arg=image.element_handle())
    assert image.bounding_box()["height"] > 200


@pytest.mark.parametrize("name", nightly(NOTEBOOKS, DAILY))
def test_a_notebook_run_from_the_menu_shows_sentence_table_and_plot(author, name):
    page = author[name].page
    output = assert_the_answer_can_be_read(page, NOTEBOOKS[name])
    assert_the_table_can_be_read(output, WORST.get(name, NOTEBOOKS[name]))
    if name not in PLOTLESS:
        assert_the_plot_is_drawn(page)
    assert author[name].trouble == []


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_the_figures_of_a_finding_do_not_overlap(author, lab, theme):
    page = author["01_compare_two_dumps"].page
    lab.command(page, "apputils:change-theme", theme=theme)
    dark = "document.body.dataset.jpThemeLight === 'false'"
    page.wait_for_function(dark if "Dark" in theme else f"!({dark})")
    figures = outputs(page).locator("dl").first
    figures.scroll_into_view_if_needed()
    assert figures.locator("dt").count() == 3
    assert figures.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("name", nightly(NOTEBOOKS, DAILY))
@pytest.mark.criterion(17)
def test_a_saved_notebook_can_be_read_untrusted_and_without_a_kernel(stranger, name):
    page = stranger[name].page
    assert page.evaluate(TRUSTED_AND_KERNEL) == [False, None]
    output = assert_the_answer_can_be_read(page, NOTEBOOKS[name])
    assert_the_table_can_be_read(output, WORST.get(name, NOTEBOOKS[name]))
    if name not in PLOTLESS:
        assert_the_plot_is_drawn(page)
    assert "model not found" not in page.content()
    assert stranger[name].trouble == []


@pytest.mark.parametrize("name", nightly(NOTEBOOKS, DAILY))
def test_a_saved_notebook_stays_small(author, tree, name):
    assert author[name].page  # run and saved
    text = (tree / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    outputs = [o for cell in json.loads(text)["cells"] for o in cell.get("outputs", ())]
    kinds = {kind for output in outputs for kind in output.get("data", ())}
    static = {"text/plain", "text/html", "image/svg+xml", "image/png"}
    assert {"text/html"} < kinds - {"application/vnd.jupyter.widget-view+json"} <= static
    assert len(text) < 300_000


@pytest.mark.criterion(17)
@pytest.mark.parametrize("name", nightly((*DAILY, "03_dump_configurations"), DAILY))
def test_a_trusted_notebook_with_another_kernel_shows_what_stays_of_its_panel(author, lab, name):
    """Last, for it takes the kernel of the author's."""
    page = author[name].page
    page.bring_to_front()
    lab.show(page, f"tree/notebooks/{name}.ipynb")
    assert page.locator("[class$=-still]:visible").count() == 0
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")
    lab.show(page, f"tree/notebooks/{name}.ipynb")
    page.evaluate(CONNECTED)
    trusted, _ = page.evaluate(TRUSTED_AND_KERNEL)
    assert trusted
    still = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) [class$=-still]").filter(
        has_text=NOTEBOOKS[name]
    )
    still.first.wait_for()
    still.first.scroll_into_view_if_needed()
    page.screenshot(path=lab.root / "reopened.png")
    expect(page.get_by_text("model not found")).not_to_be_visible()
    expect(page.get_by_text("Loading widget")).not_to_be_visible()
