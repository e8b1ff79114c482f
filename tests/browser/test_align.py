"""Matches in a real JupyterLab: choose one by click and keyboard, see what stands around it; every panel follows."""

import pytest

from kit.face.jupyter_lab import Guest
from kit.face.pages import OUTPUT, faults_of_access, real_bench
from kit.face.screen import label
from workbench.comparison.align.rules import MATCH_RULES

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = (
    f"import workbench as wb\n{real_bench('dump_a', 'dump_b')}",
    "bench.run();",
    "align = bench.form('align')\nalign",
    "operator = bench.form('operator')\noperator",
)
HEAD = ".wb-op-head:visible"
MARKED = '.wb-page-of:visible tr[aria-selected="true"]'


@pytest.fixture(scope="module")
def user(chromium, lab):
    """One person, whose page the tests use in their order."""
    reader = Guest(chromium, lab, lab.write("align/align.ipynb", CELLS))
    reader.page.set_viewport_size({"width": 1280, "height": 4400})
    assert lab.run_all(reader.page) == []
    yield reader
    reader.leave()


def line(page, name):
    """Line of the table of matches with these words."""
    return page.locator(".wb-page-of:visible tr[data-row]").filter(has_text=name)


def side(page, name):
    """One side of the context."""
    return page.locator(f'.wb-ctx-side[aria-label="{name}"]:visible')


def test_the_first_divergence_is_marked_and_stands_between_its_neighbours(user):
    page = user.page
    expect(page.locator(MARKED)).to_contain_text("conv3-Conv2d/Conv2D-op0")
    for name in ("Target", "Golden"):
        centre = side(page, name).locator("g.wb-center")
        expect(centre).to_contain_text("conv3-Conv2d/Conv2D-op0")
        assert side(page, name).locator("svg g[transform]").count() == 8
        expect(side(page, name).locator(".wb-here").first).to_contain_text("Conv2D(")
    expect(page.locator(".wb-ctx-words:visible")).to_contain_text(MATCH_RULES["name"].meaning)


def test_a_click_on_a_match_is_followed_by_every_panel(user):
    page = user.page
    line(page, "conv5-Conv2d").locator("td").nth(4).click()
    expect(page.locator(MARKED)).to_contain_text("conv5-Conv2d")
    expect(side(page, "Golden").locator("g.wb-center")).to_contain_text("conv5-Conv2d")
    expect(page.locator(HEAD)).to_contain_text("conv5-Conv2d/Conv2D-op0")


def test_keys_go_from_line_to_line_and_choose(user):
    page = user.page
    page.locator(MARKED).focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator(HEAD)).to_contain_text(
        "conv5-Conv2d/Conv2D-op0"
    )  # to walk chooses nothing yet
    page.keyboard.press("Enter")
    expect(page.locator(MARKED)).not_to_contain_text("conv5-Conv2d")
    expect(page.locator(MARKED)).to_be_focused()
    expect(page.locator(HEAD)).to_contain_text("relu-ReLU/ReLU-op3")


def test_a_selection_elsewhere_is_followed_by_table_and_context(user):
    page = user.page
    page.get_by_role("button", name=label("ui/previous-failing"), exact=True).click()
    expect(page.locator(HEAD)).to_contain_text("conv4-Conv2d")
    expect(page.locator(MARKED)).to_contain_text("conv4-Conv2d")
    expect(side(page, "Target").locator("g.wb-center")).to_contain_text("conv4-Conv2d")


def test_an_operator_of_either_picture_is_chosen_by_keyboard(user):
    page = user.page
    node = side(page, "Golden").locator("g[data-row]").filter(has_text="conv3-Conv2d")
    node.focus()
    page.keyboard.press("Enter")
    expect(page.locator(MARKED)).to_contain_text("conv3-Conv2d/Conv2D-op0")
    expect(page.locator(HEAD)).to_contain_text("conv3-Conv2d/Conv2D-op0")


def test_the_pictures_are_told_in_words(user):
    page = user.page
    fold = page.locator("details:visible").filter(has=page.get_by_text(label("show/as-text"))).last
    fold.locator("summary").click()
    rows = fold.locator("tbody tr")
    assert rows.count() == 8
    numbers = rows.locator("td:first-child").all_inner_texts()
    assert sorted(map(int, numbers)) == list(range(1, 9))
    expect(rows.filter(has_text=label("show/here"))).to_contain_text("conv3-Conv2d/Conv2D-op0")


@pytest.mark.parametrize(("width", "beside"), [(1280, True), (800, False)])
def test_both_sides_stand_beside_each_other_where_there_is_room(user, width, beside):
    page = user.page
    page.set_viewport_size({"width": width, "height": 4400})
    page.wait_for_timeout(300)
    left, right = (side(page, name).bounding_box() for name in ("Target", "Golden"))
    assert (abs(left["y"] - right["y"]) < 2) == beside
    assert (right["y"] >= left["y"] + left["height"] - 1) != beside
    out = page.locator(".jp-OutputArea-output:has(.wb-ctx)").first.bounding_box()
    for box in (left, right):
        assert box["x"] >= out["x"]
        assert box["x"] + box["width"] <= out["x"] + out["width"] + 1


@pytest.mark.criterion(16)
def test_readers_of_screens_find_everything_named(user):
    assert faults_of_access(user.page, OUTPUT) == []


def test_nothing_went_wrong_and_nothing_left_the_machine(user):
    assert user.trouble == []
