"""One operator in a real JupyterLab: follow a line to it, read its own line, move its heat map, walk on."""

import numpy as np
import pytest

from kit.face.jupyter_lab import Guest
from kit.face.pages import OUTPUT, alert, faults_of_access, pixels, real_bench
from kit.face.screen import label

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    f"import workbench as wb\n{real_bench('dump_a', 'dump_b')}",
    "bench.run();",
    "source = bench.form('source')\nsource",
    "operator = bench.form('operator')\noperator",
    "divergence = bench.form('divergence')\ndivergence",
)
HEAD = ".wb-op-head:visible"

IMAGES = """(svg) => [...svg.querySelectorAll('image')]
  .map((one) => one.getAttribute('xlink:href').replace(/\\s/g, '')).join(' ')"""
WIDTHS = """(hrefs) => Promise.all(hrefs.split(' ').map(async (href) => {
  const one = new Image(); one.src = href; await one.decode(); return one.naturalWidth; }))"""


@pytest.fixture(scope="module")
def user(chromium, lab):
    """One person, whose page the tests use in their order."""
    reader = Guest(chromium, lab, lab.write("operator/operator.ipynb", CELLS))
    reader.page.set_viewport_size({"width": 1280, "height": 4400})
    assert lab.run_all(reader.page) == []
    yield reader
    reader.leave()


def changed(place, before):
    """Share of the pixels that are other ones, once it is painted."""
    for _ in range(20):
        after = pixels(place.screenshot())
        assert after.shape == before.shape
        if share := np.mean(np.any(after != before, axis=-1)):
            return share
        place.page.wait_for_timeout(100)
    return 0.0


def test_the_line_of_the_first_divergence_stands_there(user):
    page = user.page
    expect(page.locator(HEAD)).to_contain_text("conv3-Conv2d/Conv2D-op0")
    expect(page.locator(".wb-here:visible").first).to_contain_text("x = self.conv3(x)")
    expect(page.locator(".wb-src-born:visible")).to_contain_text("x = self.conv3(x)")


def test_a_line_of_the_source_leads_to_its_operator(user):
    page = user.page
    line = page.locator(".wb-src-line:visible").filter(has_text="self.relu(x)")
    line.locator("td").first.click()
    line.locator("tr[data-row]").filter(has_text="ReLU-op2").click()
    expect(page.locator(HEAD)).to_contain_text("relu-ReLU/ReLU-op2")
    expect(page.locator(".wb-here:visible").first).to_contain_text("x = self.relu(x)")
    expect(line.locator('tr[aria-selected="true"]')).to_contain_text("ReLU-op2")


def test_a_row_of_the_table_leads_to_its_operator(user):
    page = user.page
    chosen = page.locator('.wbx-table tr[aria-selected="true"]')
    expect(chosen).to_contain_text("ReLU-op2")  # the table no longer moves
    row = page.locator(".wbx-table tr[data-row]").filter(has_text="conv4-Conv2d").last
    row.locator("td").first.click()
    expect(page.locator(HEAD)).to_contain_text("conv4-Conv2d/Conv2D-op0")
    expect(page.locator(".wb-here:visible").first).to_contain_text("x = self.conv4(x)")


def test_a_neighbour_is_reached_by_keyboard(user):
    page = user.page
    node = page.locator(".wb-op-graph:visible g[data-row]").filter(has_text="conv3-Conv2d").first
    node.focus()
    page.keyboard.press("Enter")
    expect(page.locator(HEAD)).to_contain_text("conv3-Conv2d/Conv2D-op0")


@pytest.mark.criterion(14)
def test_a_slider_draws_another_plane(user):
    page = user.page
    picture = page.locator(".wb-op-heat:visible svg")
    caption = page.locator(".wb-op-heat:visible figcaption")
    expect(caption).to_contain_text("axis 0: 1, axis 3: 2")  # it is that of the operator by now
    before, drawn = picture.evaluate(IMAGES), pixels(picture.screenshot())
    handle = page.get_by_role("slider", name=label("ui/axis", axis=3))
    handle.focus()
    page.keyboard.press("ArrowLeft")
    living = "document.querySelector('.jupyter-widgets .wb-op-heat svg')"
    page.wait_for_function(f"(before) => ({IMAGES})({living}) !== before", arg=before)
    expect(caption).to_contain_text("axis 0: 1, axis 3: 1")
    widths = page.evaluate(WIDTHS, picture.evaluate(IMAGES))
    assert min(widths) > 0
    assert max(widths) > 100
    assert changed(picture, drawn) > 0.01


def test_the_next_failing_operator_is_one_click_away(user):
    page = user.page
    page.get_by_role("button", name=label("ui/next-failing"), exact=True).click()
    expect(page.locator(HEAD)).to_contain_text("relu-ReLU/ReLU-op2")
    page.get_by_role("button", name=label("ui/previous-failing"), exact=True).click()
    expect(page.locator(HEAD)).to_contain_text("conv3-Conv2d/Conv2D-op0")
    page.get_by_role("button", name=label("ui/previous-failing"), exact=True).click()
    alert(page, "ui/no-previous-failing").wait_for()


@pytest.mark.parametrize("width", [1280, 800])
def test_nothing_is_wider_than_the_page(user, width):
    page = user.page
    page.set_viewport_size({"width": width, "height": 4400})
    page.wait_for_timeout(300)
    wide = page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output .wb-op, .wb-op-heat, .wb-op-graph')]
          .filter((one) => { const out = one.closest('.jp-OutputArea-output').getBoundingClientRect();
            return one.getBoundingClientRect().right > out.right + 1; }).map((one) => one.className)"""
    )
    assert wide == []


@pytest.mark.criterion(16)
def test_readers_of_screens_find_everything_named(user):
    assert faults_of_access(user.page, OUTPUT) == []


def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []
