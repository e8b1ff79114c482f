"""The report in a real Chromium, opened from a file with the network off."""

import itertools
import json
import math
import re
from collections import Counter
from functools import partial
from urllib.parse import quote

import numpy as np
import pytest

from kit.build.sample_results import (
    NASTY,
    make_result,
    make_row,
    network_result,
    one_of_each,
)
from kit.cases import nightly
from kit.face.pages import GRAVE, Pages, faults_of_access, pixels
from kit.face.screen import label
from workbench.comparison.results.regrade import regrade
from workbench.show.report import Extras, report_html

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = pytest.mark.browser

ROWS = ".wbx-table tbody tr[data-row]"

CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color[3] === 255) return color;
    }
    return rgb('white');
  };
  const poor = [];
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest(':disabled, svg')) continue;
    const both = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const [low, high] = both.sort((a, b) => a - b);
    if ((high + 0.05) / (low + 0.05) < 4.5)
      poor.push(element.className + ': ' + walker.currentNode.textContent);
  }
  return poor;
}"""

NAMELESS = """() => [
    ...document.querySelectorAll('a, button, input, select, table[role], [role=img]')
  ].filter((e) => e.checkVisibility())
  .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length))
  .map((e) => e.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Write every report once; give its result and its address."""
    folder = tmp_path_factory.mktemp("reports")
    made = {}

    def report(rows=334, iterations=2):
        if (rows, iterations) not in made:
            result = network_result(rows, iterations)
            path = folder / f"report{rows}.html"
            path.write_text(report_html(result), encoding="utf-8")
            made[rows, iterations] = (result, path.as_uri())
        return made[rows, iterations]

    return report


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Address of a report with everything that one shows, and few rows."""
    path = tmp_path_factory.mktemp("few") / "report.html"
    path.write_text(report_html(one_of_each(network_result())), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def readers(chromium):
    """Two sorts of readers without a network: a fixture or test that is done with one leaves it empty."""
    made = [Pages(chromium, offline=True) for _ in range(2)]
    yield made
    for pages in made:
        pages.close()


def opened(pages, address, *, ready=True, first=lambda page: None, **look):
    """An address on an empty page."""
    page = pages.empty(width=1400, **look)
    pages.allowed = address.partition("#")[0]
    first(page)
    page.goto(address)
    if ready:
        page.wait_for_selector("#explorer[data-ready]")
    return page


@pytest.fixture
def visit(readers):
    """Open an address; afterwards no request may have been tried and no error been logged."""
    yield partial(opened, readers[0])
    assert readers[0].leave() == []


@pytest.fixture
def visit_with(chromium):
    """The same in a browser that has or lacks something: no page of it is used again."""
    made = []

    def visit(address, *, ready=True, first=lambda page: None, **options):
        made.append(Pages(chromium, offline=True, **options))
        return opened(made[-1], address, ready=ready, first=first)

    yield visit
    assert [pages.leave() for pages in made] == [[] for _ in made]
    for pages in made:
        pages.close()


def shown(page):
    """Number of rows the filters leave, and of all rows, as the page says."""
    text = page.locator(".wbx-shown").inner_text()
    return tuple(int(n.replace(",", "")) for n in re.findall(r"[\d,]+", text))


def column(page, heading):
    """Texts of one column of the rows that are in the page."""
    place = page.locator(".wbx-table thead th").all_inner_texts()
    index = [text.strip(" ▲▼\n") for text in place].index(heading)
    return page.eval_on_selector_all(ROWS, f"rows => rows.map(r => r.cells[{index}].textContent)")


def largest_mark(page):
    """Width in pixels of the largest status symbol that can be seen."""
    boxes = [mark.bounding_box() for mark in page.locator(".wb-mark").all() if mark.is_visible()]
    return max(box["width"] for box in boxes)


def sort(page, heading):
    page.locator(".wbx-table thead button", has_text=re.compile(f"^{heading}")).click()


@pytest.mark.criterion(21)
@pytest.mark.criterion(23)
def test_the_page_forbids_requests_and_shows_every_row(visit, reports):
    result, address = reports()
    page = visit(address)
    policy = page.locator('meta[http-equiv="Content-Security-Policy"]').get_attribute("content")
    assert "default-src 'none'" in policy
    assert shown(page) == (len(result.rows), len(result.rows))
    assert page.locator("h1").text_content() == result.sentence
    assert page.locator(".wb-static").is_hidden()


@pytest.mark.slow
@pytest.mark.parametrize("rows", nightly([2_000, 20_000, 200_000], [2_000]))
@pytest.mark.criterion(22)
def test_a_report_of_any_size_opens_with_every_row(visit, reports, rows):
    result, address = reports(rows, 4)
    page = visit(address)
    assert shown(page) == (len(result.rows), len(result.rows))
    assert page.locator(ROWS).count() < 100  # the table holds what is seen, and no more
    page.locator(".wbx-scroll").evaluate("e => { e.scrollTop = e.scrollHeight }")
    page.locator(f"{ROWS}[aria-rowindex='{len(result.rows) + 1}']").wait_for()


@pytest.fixture(scope="class", params=nightly([2_000, 20_000], [2_000]))
def large(request, readers, reports):
    """Rows of a large report, and its page, which the tests of a class use in their order."""
    result, address = reports(request.param, 4)
    yield result.rows, opened(readers[1], address)
    assert readers[1].leave() == []


@pytest.mark.slow
@pytest.mark.criterion(24)
class TestThousandsOfRows:
    """Whatever the reader does with many rows gives what Python gives."""

    def test_an_order_begins_with_what_is_worst(self, large):
        rows, page = large
        sort(page, "Error")
        odd = [row.error for row in rows if row.error is not None and not math.isfinite(row.error)]
        worst = max(row.error for row in rows if row.error is not None and math.isfinite(row.error))
        texts = column(page, "Error")
        assert texts[: len(odd)] == ["NaN" if math.isnan(one) else "Inf" for one in odd]
        assert float(texts[len(odd)]) == pytest.approx(worst, rel=5e-3)

    def test_words_and_a_chip_leave_what_fits(self, large):
        rows, page = large
        page.locator(".wbx-filter").fill("matmul")
        page.get_by_role("button", name=re.compile(f"^{label('explorer/status-fail')}")).click()
        named = [row for row in rows if "matmul" in f"{row.op_name} {row.op_type}".lower()]
        assert shown(page) == (sum(row.status == "fail" for row in named), len(rows))
        page.get_by_role("button", name=label("explorer/reset")).click()
        assert shown(page)[0] == len(rows)

    def test_the_mouse_on_the_plot_leaves_a_part_of_the_run(self, large):
        rows, page = large
        canvas = page.locator(".wbx-over")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.4, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
        page.mouse.up()
        told = page.locator(".wbx-range").inner_text().replace(",", "")
        low, high = (int(number) for number in re.findall(r"\d+", told))
        assert 0 < low < high < len(rows)
        assert shown(page)[0] == sum(low <= row.order <= high for row in rows if row.match_rule)

    def test_a_link_leads_to_its_operator(self, large):
        rows, page = large
        place = len(rows) - 14
        link = f"#op={quote(rows[place].op_name, safe='')}&it={rows[place].iteration}"
        page.evaluate("(link) => { location.hash = link }", link)
        page.locator(f"{ROWS}[data-row='{place}'][aria-selected=true]").wait_for()
        assert page.locator(".wbx-details h3").inner_text() == rows[place].op_name


@pytest.mark.criterion(11)
def test_sorting_by_error_puts_nan_and_inf_first_and_says_so(visit, reports):
    result, address = reports()
    page = visit(address)
    sort(page, "Error")
    head = page.locator("th[aria-sort]")
    assert head.get_attribute("aria-sort") == "descending"
    assert "Error" in head.inner_text()
    assert column(page, "Error")[:2] == ["NaN", "Inf"]
    figures = [float(text) for text in column(page, "Error")[2:12]]
    assert figures == sorted(figures, reverse=True)
    sort(page, "Error")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, "Error")[0] == "0"
    page.locator(".wbx-scroll").evaluate("e => { e.scrollTop = e.scrollHeight }")
    page.locator(f"{ROWS}[aria-rowindex='{len(result.rows) + 1}']").wait_for()
    missing = sum(row.error is None for row in result.rows)
    assert column(page, "Error")[-missing - 2 :] == ["Inf", "NaN", *["–"] * missing]


def test_cosine_worst_first_starts_with_nan_then_the_smallest(visit, reports):
    result, address = reports()
    page = visit(address)
    sort(page, "CosineSimilarity")
    cosines = [row.metrics.get("CosineSimilarity") for row in result.rows if row.metrics]
    worst = min(c for c in cosines if not math.isnan(c))
    texts = column(page, "CosineSimilarity")
    odd = sum(math.isnan(c) for c in cosines)
    assert texts[:odd] == ["NaN"] * odd
    assert abs(float(texts[odd]) - worst) < 5e-4
    assert len(texts[odd]) >= 5
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"


def test_names_sort_naturally(visit, reports):
    page = visit(reports()[1])
    page.locator(".wbx-filter").fill("layers.1 conv2d")
    sort(page, "Operator")
    numbers = [int(re.search(r"layers\.(\d+)", name)[1]) for name in column(page, "Operator")]
    assert numbers == sorted(numbers)
    assert 1 in numbers
    assert 10 in numbers


@pytest.mark.criterion(24)
def test_filter_and_chips_count_what_the_result_holds(visit, reports):
    result, address = reports()
    page = visit(address)
    page.locator(".wbx-filter").fill("MATMUL")
    page.get_by_role("button", name=re.compile(f"^{label('explorer/status-fail')}")).click()
    expected = [
        row
        for row in result.rows
        if "matmul" in f"{row.op_name} {row.op_type} {row.golden_op_name}".lower()
        and row.status == "fail"
    ]
    assert shown(page) == (len(expected), len(result.rows))
    assert set(column(page, "Status")) == {" fail"}
    page.get_by_role("button", name=label("explorer/reset")).click()
    assert shown(page) == (len(result.rows), len(result.rows))


def test_selects_narrow_by_type_and_iteration(visit, reports):
    result, address = reports()
    page = visit(address)
    page.get_by_label(label("explorer/all-types")).select_option("Softmax")
    page.get_by_label(label("explorer/all-iterations")).select_option("1")
    expected = sum(r.op_type == "Softmax" and r.iteration == 1 for r in result.rows)
    assert shown(page)[0] == expected > 0


@pytest.mark.criterion(24)
@pytest.mark.criterion(29)
def test_a_link_opens_its_operator_whatever_its_name(visit, reports):
    _, address = reports()
    for name in NASTY:
        page = visit(f"{address}#op={quote(name, safe='')}")
        selected = page.locator(".wbx-table tr[aria-selected=true]")
        assert selected.count() == 1
        assert selected.locator(".wb-name").first.get_attribute("title") == name
        assert page.locator(".wbx-details h3").inner_text() == name


def test_a_finding_links_to_its_row(visit, reports):
    result, address = reports()
    page = visit(address)
    page.locator(".wb-finding a").first.click()
    selected = page.locator(".wbx-table tr[aria-selected=true] .wb-name").first
    assert selected.get_attribute("title") == result.findings[0].op_name
    page.wait_for_function("document.getElementById('explorer').getBoundingClientRect().top < 500")


def listed(page):
    """How many rows there are, the operators of the first twenty, and the row that is selected."""
    counts, names = page.locator(".wbx-shown").inner_text(), column(page, "Operator")
    assert len(names) > 20
    return (
        counts,
        names[:20],
        page.locator("tr[aria-selected=true]").get_attribute("data-row"),
    )


WRITTEN = """([name, iteration]) => {
  const said = new URLSearchParams(location.hash.slice(1));
  return said.get('op') === name && said.get('it') === iteration;
}"""
"""Whether the address tells of a row; it follows the view a moment later."""


def test_the_address_keeps_selection_filter_and_order(visit, reports):
    result, address = reports()
    page = visit(address)
    page.locator(".wbx-filter").fill("relu")
    page.get_by_role("button", name=re.compile(f"^{label('explorer/status-fail')}")).click()
    sort(page, "Error")
    page.locator(ROWS).nth(3).click()
    before = listed(page)
    row = result.rows[int(before[-1])]
    page.wait_for_function(WRITTEN, arg=[row.op_name, str(row.iteration)])
    assert listed(visit(page.url)) == before


def test_rows_are_walked_by_keyboard_and_other_keys_are_left_alone(visit, reports):
    result, address = reports()
    page = visit(address)
    page.evaluate(
        "window.heard = [];document.addEventListener('keydown', e => heard.push(e.key + e.ctrlKey))"
    )
    table = page.get_by_role("grid")
    table.focus()
    for key in ("Home", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    active = table.get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("data-row") == "1"
    assert page.locator(".wbx-details h3").inner_text() == result.rows[1].op_name
    page.keyboard.press("End")
    assert page.locator("tr[aria-selected=true]").get_attribute("data-row") == str(
        len(result.rows) - 1
    )
    page.keyboard.press("d")
    page.keyboard.press("Control+s")
    heard = page.evaluate("heard")
    assert "dfalse" not in heard
    assert "strue" in heard
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.className") == "wbx-filter"
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.className") == "wbx-filter"


def test_the_best_finding_is_selected_from_the_start(visit, reports):
    result, address = reports()
    page = visit(address)
    selected = page.locator(".wbx-table tr[aria-selected=true] .wb-name").first
    assert selected.get_attribute("title") == result.findings[0].op_name
    assert page.evaluate("location.hash") == ""


def test_tab_leaves_the_explorer(visit, reports):
    page = visit(reports()[1])
    page.get_by_role("grid").focus()
    for _ in range(80):
        page.keyboard.press("Tab")
        if not page.evaluate("document.activeElement.closest('#explorer') !== null"):
            return
    pytest.fail("80 times Tab did not leave the explorer")


def test_a_click_on_the_plot_selects_and_a_drag_narrows(visit, reports):
    result, address = reports()
    page = visit(address)
    canvas = page.locator(".wbx-over")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + box["height"] * 0.6, steps=4)
    page.mouse.up()
    left, total = shown(page)
    assert 0.1 < left / total < 0.5
    chip = page.locator(".wbx-range").inner_text()
    low, high = (int(n) for n in re.findall(r"\d+", chip))
    assert left == sum(low <= row.order <= high for row in result.rows if row.match_rule)
    box = canvas.bounding_box()
    for step in range(60):
        x = box["x"] + box["width"] * (0.2 + step * 0.01)
        page.mouse.click(x, box["y"] + box["height"] * 0.31)
        if page.locator("tr[aria-selected=true]").count():
            break
    assert page.locator("tr[aria-selected=true]").count() == 1
    canvas.dblclick(position={"x": 20, "y": 20})
    assert shown(page)[0] == total


@pytest.mark.criterion(28)
def test_without_javascript_the_essentials_can_be_read(visit_with, reports):
    result, address = reports()
    page = visit_with(address, ready=False, java_script_enabled=False)
    text = " ".join(page.locator("main").inner_text().split())
    assert result.sentence in text
    assert label("show/of", n=20, total=338) in text
    assert page.locator(".wb-static svg").first.is_visible()
    assert page.locator(".wb-worst tbody tr").count() == 20
    assert page.locator(".wb-finding").count() == len(result.findings)
    assert largest_mark(page) < 20
    page.locator("summary", has_text="mislabelled").click()
    assert page.get_by_text("half of a float32 buffer stored as float16").first.is_visible()


@pytest.mark.criterion(29)
def test_nothing_from_a_dump_becomes_markup(visit, reports):
    page = visit(reports()[1])
    for name in NASTY:
        page.locator(".wbx-filter").fill(name.split("/")[1][:12])
        assert name in column(page, "Operator")
    assert page.evaluate("document.images.length") == 0
    assert page.locator("main b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_are_readable_and_the_plot_follows(visit, reports, scheme):
    page = visit(reports()[1], color_scheme=scheme)
    image = pixels(page.locator("#explorer").screenshot()).astype(int)
    background = image[0, 0].mean()
    assert background > 240 if scheme == "light" else background < 40
    assert (np.abs(image - image[0, 0]).sum(axis=2) > 60).mean() > 0.02
    plot = pixels(page.locator(".wbx-plot").screenshot()).astype(int)
    reds = (plot[..., 0] - np.maximum(plot[..., 1], plot[..., 2])) > 60
    assert reds.sum() > 500
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(NAMELESS) == []


def test_the_plot_is_drawn_again_when_the_theme_changes(visit, reports):
    page = visit(reports()[1], color_scheme="light")
    light = pixels(page.locator(".wbx-plot").screenshot()).astype(int)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(200)
    dark = pixels(page.locator(".wbx-plot").screenshot()).astype(int)
    assert (np.abs(light - dark).sum(axis=2) > 60).mean() > 0.5
    brightest = dark[:, :80].max()
    assert brightest > 130, "axis labels must stay readable on the dark background"


def test_print_shows_the_drawing_and_all_failing_rows(visit, reports):
    result, address = reports()
    page = visit(address)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("#explorer").is_hidden()
    assert page.locator(".wb-static svg").first.is_visible()
    bad = sum(row.status in ("fail", "warn") for row in result.rows)
    assert page.locator("#print tbody tr").count() == bad
    assert f"{bad} of {bad} failing and warning rows" in page.locator("#print caption").inner_text()
    assert page.locator(".wb-worst").is_hidden()
    assert largest_mark(page) < 20
    assert page.evaluate(CONTRAST) == []
    assert len(page.pdf()) > 20_000


MEDIA = ("light", "dark", "print")


@pytest.mark.parametrize(
    "media", nightly(MEDIA, ("light", "print"))
)  # CONTRAST looks at the dark one
@pytest.mark.criterion(27)
def test_axe_finds_nothing_serious(visit, few, media):
    page = visit(few, color_scheme="dark" if media == "dark" else "light")
    if media == "print":
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
    assert faults_of_access(page, impacts=GRAVE) == []


def test_thresholds_grade_to_the_last_row_as_python_does(visit, tmp_path):
    limit, factor, floor = 0.0012, 3.7, 2.1e-4
    sides = [f(at) for at in (limit, factor * floor, floor) for f in (
        lambda x: x, lambda x: math.nextafter(x, 0), lambda x: math.nextafter(x, 1), lambda x: x * 1.0000001
    )]  # fmt: skip
    rows = [
        make_row(order=n, op_name=f"op{n}", status="pass", error=error, noise_floor=floor)
        for n, error in enumerate(sides)
    ]
    path = tmp_path / "r.html"
    path.write_text(report_html(make_result(rows=tuple(rows))))
    page = visit(path.as_uri())
    boxes = page.locator(".wbx-grade")
    for wanted in ((None, limit), (factor, None), (factor, limit)):
        for box, value in zip(boxes.all(), wanted, strict=True):
            box.fill("" if value is None else str(value))
        expected = Counter(row.status for row in regrade(rows, *wanted))
        sort(page, "Status")
        shown = Counter(text.strip() for text in column(page, "Status"))
        assert shown == expected, wanted


COPIED = [*itertools.product((True, False), (None, ("provenance",)))]
"""Whether a page may write to the clipboard, and which sections it has."""


@pytest.mark.parametrize(("allowed", "sections"), nightly(COPIED, COPIED[1:3]))
def test_how_it_is_made_again_is_copied_or_selected(visit_with, tmp_path, allowed, sections):
    code = "import workbench as wb\n\nprint('<&>')\n"
    extras = Extras(provenance={"Command": "workbench 'a b'", "Python": code})
    path = tmp_path / "r.html"
    path.write_text(report_html(network_result(20, 1), sections=sections, extras=extras))

    def forbid(page):
        page.add_init_script(
            "document.execCommand = () => false;"
            "Object.defineProperty(navigator, 'clipboard', {value: undefined})"
        )

    permissions = ["clipboard-read", "clipboard-write"] if allowed else []
    first = (lambda page: None) if allowed else forbid
    page = visit_with(path.as_uri(), ready=sections is None, first=first, permissions=permissions)
    page.locator("summary", has_text="Python").click()
    page.get_by_role("button", name=f"{label('show/copy')} Python").click()
    words = label("show/copied" if allowed else "show/select-to-copy")
    page.locator(".wb-copy [role=status]", has_text=words).wait_for()
    read = "navigator.clipboard.readText()" if allowed else "getSelection().toString()"
    assert page.evaluate(read).rstrip("\n") == code.rstrip("\n")
    page.emulate_media(media="print")
    assert page.get_by_role("button", name=f"{label('show/copy')} Python").count() == 0


@pytest.mark.criterion(27)
def test_no_header_is_cut_off_in_print(visit, reports):
    page = visit(reports()[1])
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 794, "height": 1123})  # A4 at 96 dots an inch
    heads = page.locator("#print thead th")
    assert heads.count() >= 5
    assert all(h.evaluate("e => e.scrollWidth <= e.clientWidth + 1") for h in heads.all())
    right = max(h.bounding_box()["x"] + h.bounding_box()["width"] for h in heads.all())
    assert right <= 794


@pytest.mark.criterion(23)
def test_invalid_rows_are_listed_with_their_reasons(visit, reports):
    result, address = reports()
    page = visit(address)
    section = page.locator("section", has=page.locator("#unmatched"))
    text = section.inner_text()
    for row in result.rows:
        if row.status == "uncomparable":
            assert row.reason in text


def test_ids_are_unique_and_headings_step_down_one_at_a_time(visit, reports):
    page = visit(reports()[1])
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_figures_read_the_same_in_page_and_python(visit, reports):
    from workbench.show.words import number

    page = visit(reports()[1])
    figures = [0.0, 1.0, 0.5, 41.3, 123.4, 4.12e-4, 2.2e-16, 65504.0, 1.5e8, -0.03, 12345678.9]
    module = re.search(r"const WORDS.*?(?=function h\()", _module(), re.S)[0].replace("export ", "")
    texts = page.evaluate(f"(values) => {{ {module}; return values.map(number) }}", figures)
    assert json.loads(json.dumps(texts)) == [number(figure) for figure in figures]


def test_multiples_read_the_same_in_page_and_python(visit, reports):
    from workbench.show.words import times

    page = visit(reports()[1])
    errors = [
        0.0,
        1e-9,
        0.0123,
        0.5,
        1.0,
        9.96,
        41.3,
        99.4,
        99.6,
        123.4,
        9999.4,
        9999.6,
        1e4,
        7.84e5,
        1.1e42,
        1e308,
    ]
    module = re.search(r"const WORDS.*?(?=function h\()", _module(), re.S)[0].replace("export ", "")
    texts = page.evaluate(
        f"(values) => {{ {module}; return values.map((e) => times(e, 1)) }}", errors
    )
    assert texts == [times(error, 1.0) for error in errors]
    assert page.evaluate(
        f"() => {{ {module}; return [times(1, 0), times(null, 1), times(1, null)] }}"
    ) == ["", "", ""]


def _module():
    from workbench.show.assets import explorer_module

    return explorer_module()


def test_a_link_counts_more_than_the_view_it_is_followed_from(visit, reports):
    """The address follows the view a moment later; a link may be followed in between."""
    result, address = reports()
    page = visit(address)
    name = next(row.op_name for row in result.rows if "layers.9/" in row.op_name)
    page.evaluate(
        """(link) => new Promise((done) => {
          document.querySelector('.wbx-chip').click();
          setTimeout(() => {
            location.hash = link;
            const end = performance.now() + 200;
            while (performance.now() < end); // what waits is due now
            setTimeout(done, 300);
          }, 20);
        })""",
        f"op={quote(name, safe='')}",
    )
    expect(page.locator(".wbx-details h3")).to_have_text(name)


def test_on_another_screen_the_plot_is_as_sharp(visit_with, reports):
    page = visit_with(reports()[1])
    size = page.viewport_size
    page.context.new_cdp_session(page).send(
        "Emulation.setDeviceMetricsOverride", {**size, "deviceScaleFactor": 2, "mobile": False}
    )
    page.locator(".wbx-filter").fill("relu")
    sharp = "(e) => e.width / e.clientWidth"
    assert page.locator(".wbx-plot canvas").first.evaluate(sharp) == pytest.approx(2, abs=0.01)
