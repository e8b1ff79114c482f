"""What the explorer tells beside the error: own error and gain, the worst of every layer, what a dtype leaves."""

import math
from dataclasses import replace
from itertools import groupby

import pytest

import workbench as wb
from kit.build.sample_results import make_result, make_row, network_result
from kit.face.pages import PIXELS, order, shown, state
from kit.face.screen import count_in, label, says
from workbench.core.tensors import TensorSpec
from workbench.show.columns import gain

pytestmark = pytest.mark.browser

BADNESS = ("fail", "warn", "uncomparable", "unmatched", "pass", "equal")


@pytest.fixture(scope="module")
def comparison():
    """Own errors that are known of every third tensor, and two dtypes."""
    made = network_result(334, 2)
    rows = tuple(
        replace(
            row,
            own_error=row.error if number % 3 == 0 else None,
            target_spec=TensorSpec("bfloat16", (2, 2)) if number % 7 == 0 else row.target_spec,
        )
        for number, row in enumerate(made.rows)
    )
    return wb.Comparison(replace(made, rows=rows))


def layers(comparison):
    """Runs of neighbours in execution order whose names begin alike, in one iteration."""
    rows = [(n, row) for n, row in enumerate(comparison.rows) if row.match_rule]
    key = lambda item: (item[1].iteration, item[1].op_name.rpartition("/")[0])  # noqa: E731
    return [[*members] for _, members in groupby(rows, key)]


def worst(members):
    def badness(item):
        error = (
            -1.0
            if item[1].error is None
            else math.inf
            if math.isnan(item[1].error)
            else item[1].error
        )
        return BADNESS.index(item[1].status), -error

    return min(members, key=badness)[0]


def strip_place(page, comparison, members):
    """Where the strip has a layer, in pixels of the window."""
    box = page.locator(".wbx-plot").bounding_box()
    width = 1 + max(row.order for row in comparison.rows if row.match_rule)
    pad = 0.5 + 0.012 * width
    middle = (members[0][1].order + members[-1][1].order) / 2
    left, right = 88, box["width"] - 14
    return box["x"] + left + (middle + pad) / (width - 1 + 2 * pad) * (right - left), box[
        "y"
    ] + box["height"] - 47


def test_a_click_on_the_strip_selects_the_worst_of_a_layer(show, comparison):
    page = show(comparison)
    found = layers(comparison)
    assert len(found) > 20
    for members in (found[3], found[len(found) // 2], found[-2]):
        x, y = strip_place(page, comparison, members)
        page.mouse.move(x, y)
        layer = members[0][1].op_name.rpartition("/")[0]
        assert layer in page.locator(".wbx-tip").inner_text()
        tip = page.locator(".wbx-tip").inner_text()
        assert says(tip, "explorer/layer-tip")
        assert count_in(tip, "explorer/layer-tip") == len(members)
        page.mouse.click(x, y)
        assert page.evaluate("view.store.selected") == worst(members)


def test_page_keys_go_from_layer_to_layer(show, comparison):
    page = show(comparison)
    found = layers(comparison)
    page.locator(".wbx-plot").focus()
    page.keyboard.press("Home")
    for members in found[1:4]:
        page.keyboard.press("PageDown")
        assert state(page)["selected"] == worst(members)
    page.keyboard.press("PageUp")
    assert state(page)["selected"] == worst(found[2])


def test_the_strip_follows_thresholds(show, comparison):
    page = show(comparison)
    before = page.evaluate(PIXELS)
    page.get_by_label(label("explorer/limit")).fill("1e-9")
    assert page.evaluate(PIXELS) != before
    assert page.evaluate("view.store.totals[0]") > 50


def test_own_errors_are_drawn_told_and_sorted_by(show, comparison):
    def legend(page):
        return page.locator(".wbx-legend").inner_text()

    row = make_row(error=1e-2, inherited_error=None, status="fail", own_error=1e-3)
    with_own, without = (
        show(wb.Comparison(make_result(rows=(one,)))) for one in (row, replace(row, own_error=None))
    )
    assert with_own.evaluate(PIXELS) != without.evaluate(PIXELS)
    assert label("explorer/legend-own") in legend(with_own)
    assert label("explorer/legend-own") not in legend(without)
    page = show(comparison)
    page.get_by_role("button", name=label("show/col-own")).click()
    assert order(page) == [
        comparison.rows.index(one) for one in comparison.sort("own", falling=True).rows
    ]
    page.get_by_label(label("explorer/metric")).select_option("own")
    assert state(page)["figure"] == "own"


@pytest.mark.parametrize(("row", "words"), [(0, ""), (1, label("explorer/unknown"))])
def test_what_nobody_knows_is_said(show, comparison, row, words):
    page = show(comparison)
    page.evaluate("(row) => view.set({...view.state(), selected: row})", row)
    told = page.locator(".wbx-details dl").first.inner_text()
    assert label("show/col-own") in told
    assert (label("explorer/unknown") in told) == bool(words)


def test_the_gain_is_that_of_python(show, comparison):
    page = show(comparison)
    values = page.evaluate("view.store.data.named.gain.values")
    expected = [gain(row) for row in comparison.rows]
    assert [value is None for value in values] == [value is None for value in expected]
    assert [v for v in values if v is not None] == pytest.approx(
        [v for v in expected if v is not None]
    )


def test_a_dtype_leaves_the_rows_that_python_leaves(show, comparison):
    page = show(comparison)
    page.get_by_label(label("explorer/all-dtypes")).select_option(label="bfloat16")
    left = comparison.filter(dtype="bfloat16").rows
    assert 0 < len(left) < len(comparison.rows)
    assert shown(page)[0] == len(left)


# Columns of the plot, in pixels from its left, that hold the color of warnings; labels are not of that color.
WARNED = """() => {
  const canvas = document.querySelector('.wbx-plot canvas');
  const probe = document.querySelector('.wbx-probe');
  probe.style.color = 'var(--wb-warn)';
  const ink = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  const { width, height } = canvas, high = Math.round(height * 0.8); // above the strip of layers
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, high);
  const close = (i) => data[i + 3] > 200 && ink.every((value, part) => Math.abs(data[i + part] - value) < 12);
  return [...Array(width).keys()].filter((x) => {
    for (let y = 0; y < high; y++) if (close(4 * (y * width + x))) return true;
    return false;
  });
}"""


@pytest.mark.parametrize("rows", [900, 2500])
def test_every_sign_stands_where_its_operator_does_however_many_there_are(show, rows):
    """Beyond two thousand they are drawn in another way."""
    warned = (rows // 5, rows // 2, rows - 3)
    made = [
        make_row(
            op_name=f"Default/layer{number}/Add-op{number}",
            order=number,
            status="warn" if number in warned else "pass",
            error=0.25 if number in warned else 1e-5,
        )
        for number in range(rows)
    ]
    page = show(wb.Comparison(make_result(rows=tuple(made))))
    page.wait_for_function(f"() => ({WARNED})().length > 0")
    found = page.evaluate(WARNED)
    width = page.locator(".wbx-plot").bounding_box()["width"]
    pad = 0.5 + 0.012 * rows
    places = [88 + (n + pad) / (rows - 1 + 2 * pad) * (width - 14 - 88) for n in warned]
    assert all(min(abs(place - x) for place in places) < 6 for x in found)
    assert all(min(abs(place - x) for x in found) < 1.5 for place in places)
