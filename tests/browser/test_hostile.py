"""Names that a dump may hold although nobody would choose them, in a real browser: they are read, never obeyed."""

from pathlib import Path

import pytest

from kit import hostile
from kit.cases import nightly
from kit.face.jupyter_lab import Guest
from kit.face.pages import tab
from kit.face.screen import label
from kit.hostile import GUILTY, NAMES, shown

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HELPERS = str(Path(hostile.__file__).parents[1])
CELLS = (
    f"import sys\nsys.path.insert(0, {HELPERS!r})\nfrom kit import hostile\nimport workbench as wb",
    "from workbench.ui.bench.map_file import MapFile\n"
    "bench = wb.Workbench(graph=hostile.graph(), map_file=MapFile(hostile.map_file()))\n"
    "bench.comparison = hostile.comparison()\n"
    "panel = bench.form()\npanel",
    "bench.comparison",
    "from IPython.display import HTML\nHTML('<p>mathematics of the reader: $x_2$</p>')",
    "bench.comparison.explore(fallback=True)",
)
SHORT = {key: name for key, name in NAMES.items() if key not in ("long", "wide")}
ROWS = ".wbx-table tbody tr[data-row]"

OBEYED = """() => [...document.querySelectorAll('*')].filter((one) =>
  ['MARQUEE', 'BASE', 'OBJECT', 'EMBED'].includes(one.tagName)
  || (one.tagName === 'IMG' && one.getAttribute('src') === 'x')
  || [...one.attributes].some((a) => a.name.startsWith('on') || a.value.startsWith('javascript:')
     || (a.name === 'href' && a.value.includes('198.51.100'))))
  .map((one) => one.outerHTML.slice(0, 200))"""

HIDDEN = r"""() => [...document.querySelectorAll('.jp-OutputArea-output, main')].flatMap((area) => {
  const walk = document.createTreeWalker(area, NodeFilter.SHOW_TEXT), found = [];
  while (walk.nextNode()) {
    const parent = walk.currentNode.parentElement;
    if (['STYLE', 'SCRIPT', 'TEXTAREA'].includes(parent.tagName)) continue;
    const hit = walk.currentNode.data.match(/(?![\n\t\r])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
    if (hit) found.push(escape(walk.currentNode.data.slice(0, 120)));
  }
  return found;
})"""

WIDE = """() => [...document.querySelectorAll('.jp-OutputArea-output')].map((one) => [one.scrollWidth, one.clientWidth])
  .filter(([inner, outer]) => inner > outer + 1)"""


@pytest.fixture(scope="module")
def user(chromium, lab):
    """One person, whose page the tests use in their order."""
    reader = Guest(chromium, lab, lab.write("hostile/hostile.ipynb", CELLS))
    reader.dialogs = []
    reader.hear("dialog", lambda one: (reader.dialogs.append(one.message), one.dismiss()))
    reader.page.set_viewport_size({"width": 1280, "height": 2400})
    assert lab.run_all(reader.page) == []
    reader.page.locator(ROWS).first.wait_for()
    yield reader
    reader.leave()


def unharmed(user):
    """Nothing that a name says has happened."""
    page = user.page
    assert page.evaluate("window.pwned") is None
    assert page.evaluate(OBEYED) == []
    assert page.evaluate(HIDDEN) == []
    assert page.evaluate(WIDE) == []
    assert user.dialogs == []
    assert user.trouble == []


def words(place):
    """All text of a place, as it is in the page."""
    return place.evaluate("(one) => one.textContent")


@pytest.mark.criterion(29)
def test_the_table_shows_every_name_as_it_is(user):
    page = user.page
    page.locator(ROWS).first.wait_for()
    titles = page.locator(f"{ROWS} [role=rowheader]").evaluate_all(
        "(all) => all.map((one) => one.title)"
    )
    seen = "\n".join(titles)
    scroller = page.locator(".wbx-scroll").first
    for _ in range(20):
        scroller.evaluate("(one) => { one.scrollTop += 300; }")
        page.wait_for_timeout(60)
        seen += "\n".join(
            page.locator(f"{ROWS} [role=rowheader]").evaluate_all(
                "(all) => all.map((one) => one.title)"
            )
        )
    assert [key for key, name in SHORT.items() if shown(name) not in seen] == []
    assert "more]…" in seen
    unharmed(user)


CHOSEN = ("script", "override", "colour", "member", "long", "surrogate")


# what colors a terminal is plain text to a browser; a member is one in the test of the report below, half a pair of
# surrogates is one of the table above
@pytest.mark.criterion(29)
@pytest.mark.parametrize("key", nightly(CHOSEN, ["script", "override", "long"]))
def test_a_name_that_is_selected_is_read_in_details_and_operator(user, key):
    page = user.page
    name = NAMES[key]
    tab(page, "ui/divergence")
    page.locator(".wbx-filter").first.fill(name[:8] if key != "member" else "/{constructor}/")
    page.locator(ROWS).first.click()
    details = page.locator(".wbx-details").first
    wanted = "more]…" if key == "long" else shown(name)
    expect(details).to_contain_text(wanted)
    tab(page, "ui/operator")
    expect(page.locator(".wb-op-head:visible")).to_contain_text(wanted)
    unharmed(user)
    tab(page, "ui/divergence")
    page.locator(".wbx-reset").first.click()


def test_the_plot_tells_a_name_where_the_mouse_is(user):
    page = user.page
    tab(page, "ui/divergence")
    plot = page.locator(".wbx-plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    tip = page.locator(".wbx-tip").first
    told = set()
    for step in range(200):  # over all of it, layers below the points included
        column, row = divmod(step, 10)
        page.mouse.move(
            box["x"] + box["width"] * (column + 0.5) / 20,
            box["y"] + box["height"] * (row + 0.5) / 10,
        )
        if tip.is_visible():
            told.add(words(tip))
            inside = tip.bounding_box()
            assert inside["x"] >= box["x"] - 1
            assert inside["x"] + inside["width"] <= 1280
    assert len(told) > 3
    unharmed(user)


@pytest.mark.criterion(29)
@pytest.mark.parametrize("name", ["Source", "Align", "Report", "Run", "Configure"])
def test_every_panel_shows_text(user, name):
    page = user.page
    tab(page, name)
    page.wait_for_timeout(300)
    if name in ("Source", "Align", "Report"):
        text = words(page.locator(".lm-TabPanel-tabContents, .widget-tab-contents").first)
        missing = [key for key, one in SHORT.items() if shown(one) not in text]
        assert missing == []
    unharmed(user)


def test_marks_of_direction_turn_nothing_around(user):
    page = user.page
    tab(page, "ui/source")
    places = page.evaluate(
        """() => [...document.querySelectorAll('bdi')].filter((one) => /[\\u0590-\\u08ff]/.test(one.textContent))
          .map((one) => getComputedStyle(one).unicodeBidi)"""
    )
    assert places
    assert set(places) == {"isolate"}


def test_static_output_shows_text_and_no_mathematics(user):
    page = user.page
    output = (
        page.locator(".jp-RenderedHTMLCommon .wb, .jp-RenderedHTML .wb")
        .filter(has_text=label("show/worst-tensors"))
        .first
    )
    assert shown(NAMES[GUILTY]) in words(output)
    page.locator("mjx-container").first.wait_for()
    assert page.locator("mjx-container").count() == 1  # what the reader wrote, and no name
    unharmed(user)


@pytest.mark.criterion(29)
def test_the_report_is_text_too(chromium, tmp_path):
    found = hostile.comparison()
    pins = [
        row.op_name
        for row in found.rows
        if any(NAMES[key] in row.op_name for key in ("script", "maths", "long"))
    ]
    notes = "\n".join(NAMES.values())
    found.to_html(tmp_path / "report.html", title=NAMES["end"], notes=notes, pins=pins)
    page = chromium.new_page(viewport={"width": 1280, "height": 1000})
    trouble, dialogs = [], []
    page.on("console", lambda m: m.type == "error" and trouble.append(m.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on(
        "request",
        lambda r: not r.url.startswith(("file:", "data:", "blob:")) and trouble.append(r.url),
    )
    page.on("dialog", lambda one: (dialogs.append(one.message), one.dismiss()))
    page.goto((tmp_path / "report.html").as_uri())
    page.locator(ROWS).first.wait_for()
    assert NAMES["end"] in page.title()
    for key in ("script", "override", "member"):
        page.locator(".wbx-filter").fill(NAMES[key][:8])
        page.locator(ROWS).first.click()
        expect(page.locator(".wbx-details")).to_contain_text(shown(NAMES[key]))
    assert page.evaluate("window.pwned") is None
    assert page.evaluate(OBEYED) == []
    assert page.evaluate(HIDDEN) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    text = words(page.locator("main"))
    assert [key for key, one in SHORT.items() if shown(one) not in text] == []
    assert trouble == dialogs == []
    page.close()
