"""What the face looks like: a picture of every panel, light and dark, wide and narrow, and what is measured of it.

Every run takes each panel in one theme and width, by turns, the nightly run in all four ways.
"""

import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from kit.cases import nightly
from kit.face.jupyter_lab import Guest, within
from kit.face.pages import FAULT, REAL, faults_of_access, pixels
from kit.face.screen import label

pytest.importorskip("playwright.sync_api")

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAYOUT = (Path(__file__).parent / "layout.js").read_text(encoding="utf-8")
CELLS = (
    f"""from dataclasses import replace
import workbench as wb
trees = wb.Trees({str(REAL / "dump_a")!r}, {str(REAL / "dump_b")!r})
faults = [{FAULT!r}]
faults.append("nan-output:Default/fc3-Dense/MatMul-op0")
bench = wb.Workbench(graph="alexnet", faults=faults, iterations=3, trees=trees, rehearsing=True)
bench.config = bench.config.set("common_dump_settings.iteration", "all")
bench.map_file.tolerate(1e-3, "a known difference of the device", name="Default/relu-ReLU/ReLU-op0")
bench.run()
bench.comparison.selected = bench.comparison.first_divergence
bench.export = replace(bench.export, title="AlexNet on the simulated NPU", notes="Seen on Friday.")
bench.comparison.to_html("report.html", pins=["Default/relu-ReLU/ReLU-op2"]);""",
    "bench.form()",
    "from workbench.ui.widgets.framed import Framed\nFramed(bench.comparison)",
)
THEMES = ("light", "dark")
WIDTHS = (1280, 800)
WAYS = [*product(THEMES, WIDTHS)]


def turn(page, *names):
    """Turn to a panel, and to a tab in it."""
    for name in names:
        page.get_by_role("tab", name=label(f"ui/{name}"), exact=True).locator(
            "visible=true"
        ).click()


def press(page, name):
    """Have a button pressed that stays so."""
    button = (
        page.get_by_role("button", name=label(f"ui/{name}"), exact=True)
        .locator("visible=true")
        .first
    )
    if "mod-active" not in button.get_attribute("class"):
        button.click()


def unfold(page, *titles):
    """Open what the panel folds."""
    for title in titles:
        press(page, title)


def open_all(page):
    """Open whatever is folded in the panel that is seen."""
    page.evaluate("""() => document.querySelectorAll('.jp-OutputArea-output details')
      .forEach((one) => { one.open ||= one.checkVisibility(); })""")


def browse(page):
    press(page, "browse")
    page.get_by_label(label("ui/entries")).locator("visible=true").first.wait_for()


def drawn(page, what):
    """Wait until the panel shows what it draws in the background."""
    page.locator(f".jp-OutputArea-output {what}").locator("visible=true").first.wait_for()
    page.wait_for_function("""() => ![...document.querySelectorAll('[role=status]')]
      .some((one) => one.checkVisibility() && one.dataset.code === 'ui/drawing')""")


VIEWS = {
    "configure": lambda page: turn(page, "configure", "json"),
    "configure-meaning": lambda page: turn(page, "configure", "meaning"),
    "configure-preview": lambda page: turn(page, "configure", "preview"),
    "configure-code": lambda page: turn(page, "configure", "code"),
    "run": lambda page: (
        turn(page, "run"),
        press(page, "simulate"),
        unfold(page, "inject-fault", "other-networks"),
        open_all(page),
    ),
    "run-trees": lambda page: (
        turn(page, "run"),
        press(page, "compare-dumps"),
        unfold(page, "graphs-and-models"),
        browse(page),
    ),
    "align": lambda page: (turn(page, "align"), drawn(page, ".wb-op-graph")),
    "divergence": lambda page: (
        turn(page, "divergence"),
        drawn(page, ".wbx-table tr[data-row]"),
        open_all(page),
    ),
    "operator": lambda page: (
        turn(page, "operator"),
        drawn(page, ".wb-op-heat svg"),
        open_all(page),
    ),
    "source": lambda page: (turn(page, "source"), drawn(page, ".wb-src-line"), open_all(page)),
    "report": lambda page: (turn(page, "report"), open_all(page)),
}


POSES = [(*way, view) for way in WAYS for view in VIEWS]
DAILY = [(*WAYS[number % len(WAYS)], view) for number, view in enumerate(VIEWS)]

STILL = within(
    60,
    """async (selector) => {
  const root = [...document.querySelectorAll(selector)].find((one) => one.checkVisibility());
  const nap = (time) => new Promise((done) => setTimeout(done, time));
  const frame = () => Promise.race([new Promise((done) => requestAnimationFrame(done)), nap(200)]);
  await Promise.race([document.fonts.ready, nap(5000)]);
  const end = performance.now() + 20000;
  let last = "", same = 0;
  while (same < 3) {
    await frame();
    if (performance.now() > end) throw new Error(`it moves: ${last}`);
    const box = root.getBoundingClientRect();
    const now = [box.width, box.height, root.innerHTML.length].join();
    same = now === last ? same + 1 : 0;
    last = now;
  }
}""",
)
"""Waits until nothing moves any more."""

THEMED = """(light) => document.body.dataset.jpThemeLight === light && !document.querySelector('#jupyterlab-splash')"""

PAINTED = within(
    20, """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"""
)

FORM = ".jp-OutputArea-output:has(.workbench-tabs)"
FRAME = ".jp-OutputArea-output:has(iframe)"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Folder that pictures go to: that of WORKBENCH_PICTURES, or one that the tests forget."""
    folder = Path(os.environ.get("WORKBENCH_PICTURES") or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Sitter(Guest):
    """A workbench in JupyterLab, which can be asked to look like something."""

    theme, width = "", 0

    def pose(self, lab, view, theme, width):
        """Change theme and width while all runs on; turn to a panel."""
        if theme != self.theme:
            lab.command(self.page, "apputils:change-theme", theme=f"JupyterLab {theme.title()}")
            self.page.wait_for_function(THEMED, arg=str(theme == "light").lower())
            self.theme = theme
        if width != self.width:
            self.page.set_viewport_size({"width": width, "height": 5200})
            self.width = width
        VIEWS[view](self.page)
        self.page.evaluate(STILL, FORM)
        return self.page.locator(FORM)


@pytest.fixture(scope="module")
def sitter(chromium, lab):
    path = lab.write("gallery/gallery.ipynb", CELLS)
    # a frame takes its theme from the notebook, unless the browser is told to pretend one
    sitter = Sitter(chromium, lab, path, color_scheme="null")
    sitter.page.set_viewport_size({"width": 1280, "height": 5200})
    lab.command(sitter.page, "application:toggle-left-area")
    assert lab.run_all(sitter.page) == []
    yield sitter
    lab.command(
        sitter.page, "apputils:change-theme", theme="JupyterLab Light"
    )  # the next tests' Lab
    sitter.page.wait_for_function(THEMED, arg="true")
    sitter.leave()


def picture(page, place, path):
    """Keep what is seen there, or all of the page, as a file; give its pixels, from 0 to 255."""
    if place is None:
        return pixels(page.screenshot(path=path, full_page=True))
    box = place.bounding_box()
    box |= {"width": box["width"] + 2, "height": box["height"] + 2}
    return pixels(page.screenshot(path=path, clip=box))


def assert_it_shows_something(shown, theme):
    """Neither blank nor in the other theme."""
    light = shown @ (np.float32([0.2126, 0.7152, 0.0722]) / 255)
    back = np.bincount(np.round(255 * light).astype(int).ravel()).argmax() / 255
    assert (back > 0.9) == (theme == "light")
    assert (back < 0.2) == (theme == "dark")
    assert np.mean(np.abs(light - back) > 0.25) > 0.01
    assert np.mean(light < 0.2 if theme == "light" else light > 0.85) < 0.1


@pytest.mark.criterion(15, 16)
@pytest.mark.parametrize(("theme", "width", "view"), nightly(POSES, DAILY))
def test_a_panel_looks_right_and_everybody_can_read_it(sitter, lab, pictures, view, theme, width):
    place = sitter.pose(lab, view, theme, width)
    shown = picture(sitter.page, place, pictures / f"{view}-{theme}-{width}.png")
    assert place.evaluate(LAYOUT) == []
    assert_it_shows_something(shown, theme)
    if width == WIDTHS[0]:
        assert faults_of_access(sitter.page, FORM) == []


@pytest.mark.criterion(15)
def test_the_plot_changes_its_colors_with_the_theme_while_nothing_runs(sitter, lab):
    counts = "() => [...jupyterapp.shell.currentWidget.content.model.cells].map((one) => one.executionCount)"
    ran, seen = sitter.page.evaluate(counts), {}
    for theme in THEMES:
        sitter.pose(lab, "divergence", theme, 1280)
        plot = sitter.page.locator(f"{FORM} .wbx-plot")
        sitter.page.evaluate(PAINTED)
        seen[theme] = picture(sitter.page, plot, None)
    assert sitter.page.evaluate(counts) == ran
    assert_it_shows_something(seen["light"], "light")
    assert_it_shows_something(seen["dark"], "dark")


@pytest.mark.parametrize(("theme", "width"), nightly(WAYS, WAYS[2:3]))
def test_the_explorer_in_a_frame_looks_right(sitter, lab, pictures, theme, width):
    sitter.pose(lab, "divergence", theme, width)
    page, place = sitter.page, sitter.page.locator(FRAME)
    place.scroll_into_view_if_needed()
    page.frame_locator(f"{FRAME} iframe").locator(".wbx-table tbody tr[data-row]").first.wait_for()
    page.evaluate(STILL, FRAME)
    shown = picture(page, place, pictures / f"frame-{theme}-{width}.png")
    inside = page.frame_locator(f"{FRAME} iframe").locator("body")
    assert place.evaluate(LAYOUT) == []
    assert inside.evaluate(LAYOUT) == []
    assert_it_shows_something(shown, theme)


def test_nothing_went_wrong_and_nothing_left_the_machine(sitter):
    assert sitter.trouble == []


@pytest.fixture(scope="module")
def report(sitter, lab):
    """Address of the report that the notebook wrote."""
    return (lab.root / "gallery" / "report.html").as_uri()


SHEETS = [*(("screen", *way) for way in WAYS), ("print", "light", 800)]
"""Every run takes a narrow screen; what is printed, and what axe says of it, it sees in test_report.py."""


@pytest.mark.parametrize(("medium", "theme", "width"), nightly(SHEETS, [SHEETS[1]]))
def test_the_report_looks_right(chromium, report, pictures, medium, theme, width):
    context = chromium.new_context(
        viewport={"width": width, "height": 1000}, color_scheme=theme, offline=True
    )
    page, trouble = context.new_page(), []
    page.on("console", lambda m: m.type == "error" and trouble.append(m.text))
    page.on("request", lambda r: r.url != report and trouble.append(r.url))
    page.goto(report)
    page.locator(".wbx[data-ready]").wait_for()
    page.emulate_media(media=medium, color_scheme=theme)
    page.evaluate(STILL, "body")
    shown = picture(page, None, pictures / f"file-{medium}-{theme}-{width}.png")
    assert_it_shows_something(shown, theme)
    if width == WIDTHS[0] or medium == "print":
        assert faults_of_access(page, "body") == []
    page.evaluate(
        "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    assert page.locator("body").evaluate(LAYOUT) == []
    context.close()
    assert trouble == []
