"""The map of a job: live in a real JupyterLab, where a click compares a unit, and in the report."""

import re
from pathlib import Path

import pytest

from kit.build.jobs import PRODUCT, write_job
from kit.face.jupyter_lab import Guest, python
from kit.face.pages import GRAVE, faults_of_access
from kit.face.screen import label
from workbench.core.words import Message
from workbench.scale.heatmap import COLORS, STATES
from workbench.scale.job import JobResult
from workbench.scale.summary import UnitSummary

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RANKS, ITERATIONS = 3, 2
FAULT = f"scaled-output:{PRODUCT}:1.5,rank=1,iteration=1"
MAP = ".wb-job-picture"
OPENED = '[role=status][data-code="job/map-opened"]'

CHOSEN_IS_SEEN = """() => {
  const box = document.querySelector('.wb-job-at').getBoundingClientRect();
  const frame = document.querySelector('.wb-job-scroller').getBoundingClientRect();
  return box.top >= frame.top + 18 && box.bottom <= frame.bottom + 1;
}"""


@pytest.fixture(scope="module")
def result(lab):
    """Folder of a job of three ranks and two iterations, of which rank 1 is wrong in iteration 1."""
    import distributed

    import workbench as wb

    top = lab.root / "job"
    golden = write_job(top / "golden", ranks=RANKS, iterations=ITERATIONS, device="reference")
    target = write_job(top / "target", ranks=RANKS, iterations=ITERATIONS, faults=(FAULT,))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        wb.compare_job(target, golden, out=top / "result", client=client)
    return top / "result"


@pytest.fixture(scope="module")
def user(chromium, lab, result):
    """One person, whose page the tests use in their order."""
    cells = (
        f"import workbench as wb\njob = wb.read_job({str(result)!r})",
        "view = job.explore()\nview",
    )
    reader = Guest(chromium, lab, lab.write("job/map.ipynb", cells))
    assert lab.run_all(reader.page) == []
    reader.page.locator(MAP).wait_for()
    yield reader
    reader.leave()


def cell(page, row, column, columns=ITERATIONS, rows=RANKS):
    """Point in the middle of a cell, in pixels of the map."""
    box = page.locator(MAP).bounding_box()
    return {
        "x": (column + 0.5) * box["width"] / columns,
        "y": (row + 0.5) * box["height"] / rows,
    }


def told(page):
    return page.locator(".wb-job-told").inner_text()


def opened(page, rank, iteration):
    """Wait until the comparison of a unit is shown."""
    said = str(Message("job/map-opened", rank=rank, iteration=iteration))
    page.locator(OPENED).filter(has_text=said).wait_for()
    page.locator(".wbx[data-ready]").wait_for()


def test_the_map_begins_at_the_unit_that_is_wrong_first(user):
    page = user.page
    page.locator(MAP).scroll_into_view_if_needed()
    assert told(page).startswith("rank 1, iteration 1: fail")
    assert PRODUCT in told(page)
    assert page.locator("[class$=-still]:visible").count() == 0
    frame, cells = (page.locator(one).bounding_box() for one in (".wb-job-scroller", MAP))
    assert cells["x"] - frame["x"] < 100  # beside the numbers of ranks


def test_the_legend_has_the_colors_of_the_cells(user):
    page = user.page
    swatches = page.locator(".wb-job-legend > span").evaluate_all(
        "(all) => all.map((one) => [one.innerText.trim(), getComputedStyle(one.firstElementChild).backgroundColor])"
    )
    wanted = {
        name: [int(color[at : at + 2], 16) for at in (1, 3, 5)]
        for name, color in zip(STATES, COLORS, strict=True)
    }
    assert {name: [*map(int, re.findall(r"\d+", color))] for name, color in swatches} == {
        name: wanted[name] for name in ("pass", "warn", "fail")
    }


def test_a_click_compares_the_unit_and_shows_its_explorer(user, lab):
    page = user.page
    page.locator(MAP).click(position=cell(page, 1, 1))
    opened(page, 1, 1)
    assert page.locator(".wb-sentence:visible").filter(has_text="head-Dense").count()
    assert page.locator(".wbx-details h3").inner_text() == PRODUCT
    page.screenshot(path=lab.root / "job-opened.png")


def test_keys_choose_a_unit_and_enter_compares_it(user):
    page = user.page
    count = "() => window.jupyterapp.shell.currentWidget.content.widgets.length"
    cells = page.evaluate(count)
    page.locator(MAP).focus()
    for key in ("ArrowUp", "ArrowLeft", "a", "d", "d"):
        page.keyboard.press(key)
    assert told(page).startswith("rank 0, iteration 0: pass")
    page.keyboard.press("Enter")
    opened(page, 0, 0)
    assert page.evaluate(count) == cells
    assert python(page, "print(view.to_code(), view.comparison.verdict)", keep=False) == (
        "job.comparison(0, 0) pass"
    )
    page.locator(MAP).focus()


@pytest.mark.parametrize("kind", ["error", "first", "nonfinite", "missing", "verdict"])
def test_every_value_is_drawn_with_its_legend(user, kind):
    page = user.page
    pixels = "(canvas) => canvas.toDataURL()"
    canvas = page.locator(f"{MAP} > canvas")
    choice = page.get_by_label(str(Message("job/map-shown")), exact=True)
    before = choice.input_value(), canvas.evaluate(pixels)
    choice.select_option(kind)
    assert choice.input_value() == kind != before[0]
    assert page.locator(".wb-job-legend span").count()
    if kind != "missing":  # of which there are as many as of what is not finite: none
        assert canvas.evaluate(pixels) != before[1]


def test_what_cannot_be_compared_is_an_alert(user, lab, result):
    page = user.page
    target = Path(result).parent / "target"
    target.rename(target.with_name("elsewhere"))
    page.locator(MAP).click(position=cell(page, 2, 1))
    alert = page.locator('[role=alert][data-code="core/missing"]')
    alert.wait_for()
    assert str(target) in alert.inner_text()
    assert page.locator(".wbx").count() == 0
    page.screenshot(path=lab.root / "job-alert.png")
    target.with_name("elsewhere").rename(target)


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_it_is_accessible_in_both_themes(user, lab, theme):
    page = user.page
    lab.command(page, "apputils:change-theme", theme=theme)
    wanted = "false" if "Dark" in theme else "true"
    page.wait_for_function(f"document.body.dataset.jpThemeLight === '{wanted}'")
    page.locator(MAP).scroll_into_view_if_needed()
    assert faults_of_access(page, ".wb-job", GRAVE) == []
    page.screenshot(path=lab.root / f"job-{theme.split()[1].lower()}.png")


def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []


def test_the_report_shows_the_same_map_with_the_command_of_a_unit(pages, result):
    page = pages.empty()
    page.set_content((result / "report.html").read_text(encoding="utf-8"))
    page.locator(MAP).wait_for()
    assert told(page).startswith("rank 1, iteration 1: fail")
    page.locator(MAP).click(position=cell(page, 2, 0))
    assert told(page).startswith("rank 2, iteration 0: pass")
    assert re.search(
        r"compare \S+ \S+ --rank 2 --iteration 0$", page.locator(".wb-job pre").inner_text()
    )
    page.locator(MAP).press("ArrowUp")
    assert told(page).startswith("rank 1, iteration 0: pass")
    assert faults_of_access(page, ".wb-job", GRAVE) == []
    assert pages.leave() == []


def test_a_long_job_scrolls_to_the_chosen_unit(pages, tmp_path):
    """Of 200 ranks; 137 is wrong. The map takes no more height, and an overview stands beside it."""
    units = tuple(
        UnitSummary(rank, 0, "done", "fail" if rank == 137 else "pass", error=0.1)
        for rank in range(200)
    )
    page = pages.empty()
    page.set_content(JobResult("/t", "/g", units).to_html(tmp_path / "a.html").read_text())
    page.locator(MAP).focus()
    page.wait_for_function(CHOSEN_IS_SEEN)
    assert told(page).startswith("rank 137, iteration 0: fail")
    assert page.locator(".wb-job-scroller").bounding_box()["height"] < 450
    assert page.locator(".wb-job-beside").is_visible()
    for key in ("PageUp", "PageUp", "ArrowUp", "PageDown", "PageDown", "PageDown", "ArrowDown"):
        before = told(page)
        page.keyboard.press(key)
        assert told(page) != before
        assert page.evaluate(CHOSEN_IS_SEEN), key
    assert pages.leave() == []


def test_a_click_on_the_panel_turns_the_others_to_the_unit(chromium, lab, result):
    cells = (
        f"import workbench as wb\nbench = wb.Workbench('mindspore-o0o1', 'mlp', job={str(result)!r}, panel='job')",
        "bench.form()",
    )
    reader = Guest(chromium, lab, lab.write("job/panel.ipynb", cells))
    page = reader.page
    assert lab.run_all(page) == []
    page.locator(MAP).wait_for()
    page.locator(MAP).click(position=cell(page, 1, 1))
    page.locator(OPENED).wait_for()
    page.screenshot(path=lab.root / "job-panel.png")
    page.get_by_role("tab", name=label("ui/divergence"), exact=True).click()
    page.locator(".wbx[data-ready]:visible").wait_for()
    assert page.locator(".wbx-details h3:visible").inner_text() == PRODUCT
    code = python(page, "print(bench.comparison.to_code())", keep=False)
    assert "comparison = job.comparison(1, 1)" in code
    page.screenshot(path=lab.root / "job-panel-divergence.png")
    reader.leave()
