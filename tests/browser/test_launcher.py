"""The launcher card and the palette entry in a real JupyterLab: they open a copy of the dashboard, and it runs."""

import json
from pathlib import Path

import pytest

from kit.face.jupyter_lab import CONNECTED, READY, Guest, Reader, workbench_lab
from kit.face.pages import GUILTY
from kit.face.screen import label

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
COPY = "accuracy-workbench.ipynb"
DRAWN = "(image) => image.complete && image.naturalWidth > 0"


@pytest.fixture(scope="module")
def user(chromium, lab):
    """Somebody at the launcher; the tests go on where the one before ended."""
    reader = Guest(chromium, lab, "")
    yield reader
    reader.leave()


@pytest.mark.criterion(1)
def test_the_card_opens_a_copy_of_the_dashboard(user, lab):
    page = user.page
    card = page.locator(".jp-LauncherCard").filter(has_text=label("ui/workbench"))
    card.wait_for()
    page.wait_for_function(DRAWN, arg=card.locator("img").element_handle())
    page.screenshot(path=lab.root / "launcher.png")
    card.click()
    page.evaluate(READY, COPY)
    page.evaluate(CONNECTED)  # until then the notebook takes the keys
    copy, original = lab.root / COPY, ROOT / "notebooks/dashboard.ipynb"
    cells = [[c["source"] for c in json.loads(p.read_text())["cells"]] for p in (copy, original)]
    assert cells[0] == cells[1]


@pytest.mark.exhaustive  # it is the dashboard, cell for cell, which the command below runs every time
@pytest.mark.criterion(1)
def test_the_copy_runs_and_shows_the_guilty_operator(user, lab):
    page = user.page
    assert lab.run_all(page) == []
    page.get_by_role("tab", name=label("ui/divergence"), exact=True).click()
    page.locator(".wb-sentence:visible").filter(has_text=GUILTY).first.wait_for()
    page.screenshot(path=lab.root / "dashboard.png")


def test_the_palette_opens_another_one(user, lab):
    page = user.page
    before = (lab.root / COPY).read_bytes()
    lab.command(page, "apputils:activate-command-palette")
    page.keyboard.type("accuracy workbench")
    entry = page.locator(".lm-CommandPalette-item").filter(has_text=label("ui/workbench"))
    expect(entry).to_have_count(1)
    entry.click()
    page.evaluate(READY, "accuracy-workbench-1.ipynb")
    assert (lab.root / COPY).read_bytes() == before


def test_a_folder_that_cannot_be_listed_is_said(user, lab):
    page = user.page
    command, place = "npu-accuracy-workbench:open", {"cwd": "no/such"}
    page.evaluate(
        "([n, a]) => { window.jupyterapp.commands.execute(n, a); }", [command, place]
    )  # the dialog waits for its answer
    dialog = page.locator(".jp-Dialog")
    dialog.get_by_text(label("ui/workbench")).first.wait_for()
    dialog.get_by_role("button").click()
    user.trouble[:] = [text for text in user.trouble if "404" not in text]  # meant


@pytest.mark.parametrize(
    "scope",
    [
        "{}",
        "{'@jupyterlab/launcher': {}}",
        "{'@jupyterlab/launcher': {'9.0': {get: async () => { throw new Error('gone'); }}}}",
        "{'@jupyterlab/launcher': {'9.0': {get: async () => () => ({})}}}",
    ],
)
def test_a_jupyterlab_that_shares_other_modules_gets_the_command_alone(user, scope):
    commands = user.page.evaluate(
        f"""async () => {{
          const container = window._JUPYTERLAB['npu-accuracy-workbench'], made = [];
          container.init({scope});
          const plugin = (await container.get('./extension'))().default;
          if (plugin.optional.length) throw new Error('asks for what is not there');
          plugin.activate({{ commands: {{ addCommand: (name) => made.push(name) }} }});
          return made;
        }}"""
    )
    assert commands == ["npu-accuracy-workbench:open"]


@pytest.mark.criterion(1)
def test_the_command_opens_the_dashboard_and_it_runs(chromium, tmp_path):
    with workbench_lab(tmp_path / "mine") as (started, address):
        reader = Reader(chromium, started, None)
        reader.page.goto(address)
        reader.page.wait_for_function("() => window.jupyterapp")
        reader.page.evaluate(READY, "notebooks/dashboard.ipynb")
        assert started.run_all(reader.page) == []
        reader.page.get_by_role("tab", name=label("ui/divergence"), exact=True).click()
        said = reader.page.locator(".wb-sentence:visible").filter(has_text=GUILTY)
        said.first.wait_for()
        assert reader.trouble == []
        reader.page.close()


@pytest.mark.criterion(1)
def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []
