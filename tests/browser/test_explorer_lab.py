"""The explorer in a real JupyterLab: Python and the browser show one state."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from kit.face.jupyter_lab import Guest, Reader, jupyter_lab
from kit.face.jupyter_lab import python as run
from kit.face.screen import label

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
    "import ipywidgets, workbench as wb\nfrom kit.build.sample_results import network_result\n"
    "comparison = wb.Comparison(network_result(2000, 2))",
    "explorer = comparison.explore()\nexplorer",
)
python = partial(run, keep=False)  # what is below the explorer would push it out of sight
CELL_COUNT = "() => window.jupyterapp.shell.currentWidget.content.widgets.length"


@pytest.fixture(scope="module")
def user(chromium, lab):
    """One person, whose page the tests use in their order."""
    reader = Guest(chromium, lab, lab.write("explorer/live.ipynb", CELLS))
    assert lab.run_all(reader.page) == []
    reader.page.locator(".wbx[data-ready]").wait_for()
    yield reader
    reader.leave()


def selected(page):
    """Number of the highlighted row, and whether it can be seen in the table."""
    row = page.locator(".wbx-table tr[aria-selected=true]")
    row.wait_for()
    inside = """(row) => {
      const box = row.getBoundingClientRect(), frame = row.closest('.wbx-scroll').getBoundingClientRect();
      return box.top >= frame.top && box.bottom <= frame.bottom;
    }"""
    return int(row.get_attribute("data-row")), row.evaluate(inside)


def reaches_python(page, row):
    """Row 10: Python has the row; how soon is measured by `benchmarks/face.py`."""
    agree(page, "comparison.look.selected", str(row))


def agree(page, code, wanted):
    """Kernel and browser are a message or two apart; ask until they agree."""
    for _ in range(40):
        if python(page, f"print({code})") == wanted:
            return
        page.wait_for_timeout(100)
    assert python(page, f"print({code})") == wanted


@pytest.mark.criterion(10)
def test_row_10_a_row_set_in_python_is_shown_and_highlighted(user):
    page = user.page
    for row in (1500, 3, 777):
        python(page, f"comparison.selected = comparison.rows[{row}]")
        page.locator(f".wbx-table tr[aria-selected=true][data-row='{row}']").wait_for()
        assert selected(page) == (row, True)
    name = python(page, "print(comparison.selected.op_name)")
    assert page.locator(".wbx-details h3").inner_text() == name


@pytest.mark.criterion(10)
def test_row_10_a_click_on_a_row_reaches_python(user):
    page = user.page
    page.locator(".wbx-table tbody tr[data-row]").nth(3).click()
    reaches_python(page, selected(page)[0])


@pytest.mark.criterion(10)
def test_row_10_keys_in_table_and_plot_reach_python(user):
    page = user.page
    page.locator(".wbx-table").focus()
    before = selected(page)[0]
    page.keyboard.press("ArrowDown")
    assert selected(page)[0] == before + 1
    reaches_python(page, before + 1)
    page.locator(".wbx-plot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert selected(page)[0] == before + 3
    reaches_python(page, before + 3)


@pytest.mark.criterion(10)
def test_row_10_a_click_on_a_point_reaches_python(user):
    page = user.page
    python(page, "comparison.selected = 0")
    canvas = page.locator(".wbx-over")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for step in range(60):
        page.mouse.click(box["x"] + box["width"] * (0.3 + step * 0.005), box["y"] + 150)
        if selected(page)[0]:
            break
    row = selected(page)[0]
    assert row > 0
    reaches_python(page, row)


def test_filters_of_both_sides_are_one_and_give_the_same_rows(user):
    page = user.page
    page.locator(".wbx-filter").fill("matmul")
    page.get_by_role("button", name=re.compile(f"^{label('explorer/status-fail')}")).click()
    shown = page.locator(".wbx-shown")
    told = int(re.match(r"[\d,]+", shown.inner_text())[0].replace(",", ""))
    agree(page, "explorer.to_code()", "comparison.filter(status=('fail',), query='matmul')")
    assert python(page, "print(len(eval(explorer.to_code()).rows))") == str(told)
    python(page, "comparison.look.statuses = (); comparison.look.query = ''")
    page.wait_for_function(
        "() => document.querySelector('.wbx-shown').textContent.startsWith('2,004 of')"
    )
    assert page.locator(".wbx-filter").input_value() == ""


@pytest.mark.criterion(12)
def test_row_12_keys_stay_in_the_explorer_and_tab_leaves_it(user):
    page = user.page
    cells = page.evaluate(CELL_COUNT)
    for place in (".wbx-table", ".wbx-plot", ".wbx-details", ".wbx-bar button"):
        page.locator(place).first.focus()
        for key in ("a", "b", "d", "d", "x", "z", "m", "y"):
            page.keyboard.press(key)
        assert page.evaluate(CELL_COUNT) == cells, place
        assert page.evaluate("document.activeElement.closest('.wbx') !== null"), place
    page.locator(".wbx-table").focus()
    python_text = (user.page.url, page.title())
    page.keyboard.press("Control+s")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    assert python_text == (user.page.url, page.title())
    page.locator(".wbx-table").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        if not page.evaluate("document.activeElement.closest('.wbx') !== null"):
            return
    pytest.fail("40 times Tab did not leave the explorer")


CONTRAST = """() => {
  const whole = (text) => text.startsWith('color(') ? 255 : 1;  // color(srgb …) counts to 1, rgb(…) to 255
  const rgb = (text) => text.match(/[\\d.]+/g).map((n, i) => i < 3 ? n * whole(text) : Number(n));
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.querySelector('.wbx'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest(':disabled, svg, option')) continue;
    const both = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const [low, high] = both.sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 4.5) poor.push(element.className + ': ' + walker.currentNode.textContent);
  }
  return poor;
}"""

BRIGHTNESS = """() => {
  const canvas = document.querySelector('.wbx-plot canvas');
  const text = canvas.getContext('2d').getImageData(0, 60, 80, canvas.height - 120).data;
  let bright = 0, dark = 255;
  for (let i = 0; i < text.length; i += 4) if (text[i + 3] > 200) {
    bright = Math.max(bright, text[i]); dark = Math.min(dark, text[i]);
  }
  return [dark, bright];
}"""


@pytest.mark.criterion(15)
def test_row_15_the_dark_theme_is_readable_and_the_plot_is_drawn_anew(user, lab):
    page = user.page
    page.locator(".wbx-plot").scroll_into_view_if_needed()
    for theme, dark in (("JupyterLab Dark", True), ("JupyterLab Light", False)):
        lab.command(page, "apputils:change-theme", theme=theme)
        wanted = "false" if dark else "true"
        page.wait_for_function(f"document.body.dataset.jpThemeLight === '{wanted}'")
        page.wait_for_timeout(300)
        assert page.evaluate(CONTRAST) == []
        assert page.locator(".wbx-details").is_visible()
        low, high = page.evaluate(BRIGHTNESS)  # the labels of the axis
        assert (high > 130 and low > 90) if dark else low < 130, (theme, low, high)
        page.screenshot(path=lab.root / f"explorer-{theme.split()[1].lower()}.png")


@pytest.mark.criterion(18)
def test_row_18_run_again_and_closed_it_leaves_no_widget(user, lab):
    page = user.page
    count = "from ipywidgets.widgets import widget; print(len(widget._instances))"
    python(page, "explorer.close()")
    before = python(page, count)
    assert lab.run_all(page) == []
    page.locator(".wbx[data-ready]").wait_for()
    assert lab.run_all(page) == []
    page.locator(".wbx[data-ready]").wait_for()
    assert page.locator(".wbx[data-ready]").count() == 1
    python(
        page,
        "for item in [w for w in widget._instances.values() if type(w).__name__ == 'Explorer']: item.close()",
    )
    assert python(page, count) == before


@pytest.mark.exhaustive  # every run opens a notebook with an explorer so: test_notebooks.py
@pytest.mark.criterion(17)
def test_row_17_saved_it_can_be_read_untrusted_and_without_a_kernel(user, lab, chromium):
    page = user.page
    assert lab.run_all(page) == []
    page.locator(".wbx[data-ready]").wait_for()
    lab.command(page, "docmanager:save")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    text = (lab.root / "explorer" / "live.ipynb").read_text(encoding="utf-8")
    assert "model not found" not in text
    assert any("html" in kind for kind in _kinds(text))
    with jupyter_lab(lab.root, kernels=False) as elsewhere:
        reader = Reader(chromium, elsewhere, "explorer/live.ipynb")
        reader.page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()
        output = reader.page.locator(".jp-OutputArea-output")
        output.locator(".wb-sentence").filter(has_text="ReLU-op90").first.wait_for()
        table = output.locator("table").filter(has_text=label("show/of", n=20, total=2004)).first
        table.scroll_into_view_if_needed()
        assert table.is_visible()
        assert table.locator("tbody tr").filter(has_text="NaN").count()
        assert "model not found" not in reader.page.content()
        assert reader.trouble == []
        reader.page.close()


def _kinds(text):
    cells = json.loads(text)["cells"]
    return {k for c in cells for o in c.get("outputs", ()) for k in o.get("data", ())}


def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []
