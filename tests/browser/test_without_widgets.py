"""A JupyterLab that shows no widgets at all: the answer is there as HTML, and Python does the rest."""

import nbformat
import pytest

from kit.face.jupyter_lab import RUN_CODE, Reader, jupyter_lab
from kit.face.pages import FAULT

expect = pytest.importorskip("playwright.sync_api").expect

# every run sees what panels leave beside their widgets in tests/ui, and without a kernel in test_notebooks.py
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.exhaustive]

CELLS = (
    f"import workbench as wb\nbench = wb.Workbench(graph='alexnet', faults=[{FAULT!r}])\nbench.run();",
    "bench.form()",
    "bench.comparison.explore()",
    "bench.form('operator')",
)


@pytest.fixture(scope="module")
def user(chromium, tmp_path_factory):
    """Somebody whose JupyterLab lacks the extension of ipywidgets."""
    root = tmp_path_factory.mktemp("bare")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, root / "bare.ipynb")
    with jupyter_lab(root, disabled=("@jupyter-widgets/jupyterlab-manager",)) as lab:
        reader = Reader(chromium, lab, "bare.ipynb")
        reader.page.set_viewport_size({"width": 1400, "height": 3000})
        assert lab.run_all(reader.page) == []
        yield reader
        reader.page.close()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_every_face_leaves_its_answer(user, number):
    cell = user.page.locator(".jp-CodeCell").nth(number)
    cell.scroll_into_view_if_needed()
    expect(
        cell.locator(".jp-OutputArea-output").filter(has_text="conv3-Conv2d").last
    ).to_be_visible()
    expect(cell.locator(".jupyter-widgets")).to_have_count(0)
    assert "model not found" not in cell.inner_text()


def test_python_goes_on(user):
    code = "bench.comparison.selected = 0\nprint(bench.comparison.to_html('bare.html'))"
    outputs = user.page.evaluate(RUN_CODE, code)
    assert "bare.html" in str(outputs)


def test_nothing_left_the_machine(user):
    """JupyterLab itself complains of widgets that it does not know."""
    assert [one for one in user.trouble if one.startswith(("http", "ws"))] == []
