"""The dashboard where there is no JupyterLab around it: Voila, Notebook 7, a page that nbconvert made."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from kit.face.jupyter_lab import READY, ROOT, Reader
from kit.face.pages import GUILTY
from kit.face.screen import label

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def dashboard(lab) -> str:
    """Its path below the folder that is served."""
    (lab.root / "dash").mkdir()
    shutil.copy(ROOT / "notebooks/dashboard.ipynb", lab.root / "dash")
    return "dash/dashboard.ipynb"


@pytest.fixture
def visitor(chromium, lab):
    """Somebody who follows a link of the server."""
    reader = Reader(chromium, lab, None)
    yield reader
    reader.page.close()


def visit(reader, lab, path: str) -> None:
    reader.page.goto(f"{lab.address}/{path}?token={lab.token}")


def assert_the_divergence_is_shown(page) -> None:
    page.get_by_role("tab", name=label("ui/divergence"), exact=True, selected=True).wait_for()
    page.locator(".wb-sentence:visible").filter(has_text=GUILTY).first.wait_for()
    assert page.locator("[class$=-still]:visible").count() == 0  # the panel lives


@pytest.mark.criterion(20)
def test_voila_serves_the_dashboard_unchanged(visitor, lab, dashboard):
    visit(visitor, lab, f"voila/render/{dashboard}")
    page = visitor.page
    assert_the_divergence_is_shown(page)
    explorer = page.locator(".wbx[data-ready]:visible")
    explorer.wait_for()
    assert explorer.locator("tr[data-row]").count() > 5
    assert page.get_by_text("wb.Workbench(graph=GRAPH").count() == 0
    page.get_by_role("tab", name=label("ui/run"), exact=True).click()
    page.get_by_role("button", name=label("ui/run-comparison"), exact=True).wait_for()
    page.screenshot(path=lab.root / "voila.png")


@pytest.mark.exhaustive  # every run opens it in JupyterLab, whose parts Notebook 7 is made of: test_launcher.py
def test_notebook_7_runs_the_dashboard(visitor, lab, dashboard):
    visit(visitor, lab, f"notebooks/{dashboard}")
    page = visitor.page
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate(READY, dashboard)
    assert lab.run_all(page) == []
    assert_the_divergence_is_shown(page)
    page.screenshot(path=lab.root / "notebook7.png")
    # nothing of ours names that command; Notebook's page has its name without its file browser
    own = re.compile(r"\(reading 'schema'\)|^Command 'filebrowser:open-path' not registered\.$")
    assert [text for text in visitor.trouble if not own.search(text)] == []


@pytest.mark.exhaustive  # every run exports notebooks and reads what shows without a script: tests/test_notebooks.py
@pytest.mark.criterion(30)
def test_a_page_of_nbconvert_shows_the_result_without_the_network(chromium, lab, tmp_path):
    """With its plain defaults, which also save the states of widgets that only a script of the network could show."""
    shutil.copy(ROOT / "notebooks/dashboard.ipynb", tmp_path)
    subprocess.run(
        [*(sys.executable, "-m", "nbconvert", "--execute", "--to", "html"), tmp_path / "dashboard.ipynb"],
        check=True, capture_output=True,
        env=os.environ | {"IPYTHONDIR": str(tmp_path), "JUPYTER_DATA_DIR": str(tmp_path)},
    )  # fmt: skip
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / "dashboard.html").as_uri())
    page.locator(".wb-sentence:visible").filter(has_text=GUILTY).first.wait_for()
    assert page.locator("table:visible tr").count() > 10
    page.screenshot(path=lab.root / "nbconvert.png")
    context.close()
