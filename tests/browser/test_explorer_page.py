"""The explorer module on a page of its own, without Jupyter, filters, thresholds, plot, names."""

import re
from itertools import product

import pytest

import workbench as wb
from kit.build.sample_results import make_result, make_row, network_result, one_of_each
from kit.cases import nightly
from kit.face.pages import (
    DRAWN,
    GRAVE,
    PIXELS,
    ROWS,
    chips,
    faults_of_access,
    order,
    shown,
    state,
)
from kit.face.screen import label
from workbench.show.packed import compressed

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def comparison():
    return wb.Comparison(network_result(334, 2))


def counts(comparison):
    """Status → count of the rows of a comparison, those without a partner apart."""
    statuses = [row.status if row.match_rule else "unmatched" for row in comparison.rows]
    return {status: statuses.count(status) for status in set(statuses)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "most"), nightly([(2_000, 200), (20_000, 1_000)], [(20_000, 1_000)])
)
@pytest.mark.criterion(9)
def test_row_9_large_comparisons_come_as_small_messages_and_show_every_row(show, rows, most):
    comparison = wb.Comparison(network_result(rows, 4))
    data = compressed(comparison.result)
    assert len(data) <= 1000 * most  # what the kernel sends
    page = show(comparison, payload=data)
    assert shown(page) == (len(comparison.rows), len(comparison.rows))
    assert page.locator(ROWS).count() < 100  # the table holds what is seen, and no more
    painted = page.evaluate(PIXELS)
    page.locator(".wbx-filter").fill("no such operator")
    assert shown(page)[0] == 0
    assert page.evaluate(PIXELS) != painted
    page.get_by_role("button", name=label("explorer/reset")).click()
    page.evaluate("(selected) => view.set({...view.state(), selected})", rows - 1)
    page.locator(f"{ROWS}[data-row='{rows - 1}'][aria-selected=true]").wait_for()


ANEW = """() => {
  const row = document.querySelector('.wbx-table tr[data-row]'), frame = (then) => requestAnimationFrame(then);
  return new Promise((done, fail) => frame(() => frame(() => frame(
    () => row.isConnected ? fail(new Error('nothing was drawn')) : done()))));
}"""


def anew(page, drawn="document.querySelector('.wbx-scroll').scrollTop += 1"):
    """Make the table draw all its rows anew, and wait until it has."""
    page.evaluate(f"() => {{ const drawn = ({ANEW})(); {drawn}; return drawn; }}")


def pressed(page, row, meanwhile, button="left"):
    """Press on a row, and release the button afterwards."""
    box = row.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    page.mouse.down(button=button)
    meanwhile()
    page.mouse.up(button=button)


class TestRow11:
    """Filters and orders of the page are those of Python."""

    @pytest.mark.criterion(11)
    def test_words_and_chip_leave_what_pandas_counts(self, show, comparison):
        page = show(comparison)
        page.locator(".wbx-filter").fill("matmul")
        page.get_by_role("button", name=re.compile(f"^{label('explorer/status-fail')}")).click()
        frame = comparison.frame()
        expected = (
            frame.NPUDump.str.lower().str.contains("matmul") | (frame.OpType == "MatMul")
        ) & (frame.Status == "fail")
        assert shown(page) == (expected.sum(), len(frame))

    def test_every_choice_leaves_the_rows_that_python_leaves(self, show, comparison):
        page = show(comparison)
        for choices in (
            {"op_type": "Softmax", "iteration": 1},
            {"scope": "Default/network-Net/layers.1"},
            {"scope": "Default/network-Net/layers.1/", "rule": "name"},
            {"file": "/srv/train/model.py", "io": "output"},
            {"rule": ""},
            {"rank": 0},
            {"rank": 1},
        ):
            page.evaluate("(choices) => view.set({...view.state(), choices})", choices)
            left = comparison.filter(**choices).rows
            assert [comparison.rows[n] for n in order(page)] == list(left), choices

    def test_controls_set_the_choices(self, show, comparison):
        page = show(comparison)
        page.get_by_label(label("explorer/all-types")).select_option("Softmax")
        page.get_by_label(label("explorer/all-iterations")).select_option(
            label("explorer/iteration", n=1)
        )
        page.get_by_label(label("explorer/scope")).fill("Default/network-Net/layers.1")
        assert state(page)["choices"] == {
            "op_type": "Softmax",
            "iteration": 1,
            "scope": "Default/network-Net/layers.1",
        }
        assert page.locator("datalist option").count() > 20
        page.get_by_role("button", name=label("explorer/reset")).click()
        assert state(page)["choices"] == {}
        assert page.get_by_label(label("explorer/scope")).input_value() == ""

    def test_an_order_is_that_of_python(self, show, comparison):
        page = show(comparison)
        keys = ("error", "inherited", "floor", "status", "op_name", "score")
        for key, falling in product(keys, (True, False)):
            page.evaluate("(sort) => view.set({...view.state(), sort})", [key, falling])
            rows = [comparison.rows[n] for n in order(page)]
            ours = comparison.sort(key, falling=falling).rows
            if key == "op_name":  # signs other than letters and digits have an order of their own
                rows, ours = ([r for r in some if "layers." in r.op_name] for some in (rows, ours))
            assert rows == list(ours), (key, falling)

    @pytest.mark.criterion(11)
    def test_nan_and_infinity_stand_on_top_and_are_called_so(self, show, comparison):
        page = show(comparison)
        page.locator(
            ".wbx-table thead button", has_text=re.compile(f"^{label('show/col-error')}")
        ).click()
        texts = page.locator(f"{ROWS} td.wb-odd").all_inner_texts()
        assert texts[0] == "NaN"
        assert "Inf" in texts


class TestRow13:
    """Thresholds grade counts, chart and table together, as Python does."""

    @pytest.mark.criterion(13)
    def test_counts_are_those_of_python(self, show, comparison):
        page = show(comparison)
        failing = page.get_by_role("button", name=re.compile(f"^{label('explorer/status-fail')}"))
        for factor, limit in (
            ("4", None), (None, "1e-2"), ("0.5", "0.02"), ("0", None), (".5e2", "3"),
        ):  # fmt: skip
            assert chips(page) == counts(comparison)
            if factor:
                page.get_by_label(label("explorer/factor")).fill(factor)
            if limit:
                page.get_by_label(label("explorer/limit")).fill(limit)
            thresholds = [float(text) if text else None for text in (factor, limit)]
            graded = comparison.regrade(*thresholds)
            assert chips(page) == counts(graded) != counts(comparison), thresholds
            assert page.get_by_text(label("explorer/regraded"), exact=True).is_visible()
            failing.click()
            assert shown(page)[0] == len(graded.filter(status="fail").rows), thresholds
            assert (state(page)["factor"], state(page)["limit"]) == tuple(thresholds)
            failing.click()
            page.get_by_role("button", name=label("explorer/as-compared")).click()

    @pytest.mark.criterion(13)
    def test_chart_and_table_follow_and_come_back(self, show, comparison):
        page = show(comparison)
        page.evaluate("document.querySelector('.wbx-tip')?.remove()")
        page.wait_for_function(DRAWN)
        before = page.evaluate(PIXELS)
        page.locator(
            ".wbx-table thead button", has_text=re.compile(f"^{label('show/col-status')}")
        ).click()
        statuses = page.locator(f"{ROWS} td:nth-child(6)").all_inner_texts()
        page.get_by_label(label("explorer/limit")).fill("1e-9")
        assert page.evaluate(PIXELS) != before
        assert page.locator(f"{ROWS} td:nth-child(6)").all_inner_texts()[-1].strip() == "fail"
        page.get_by_role("button", name=label("explorer/as-compared")).click()
        page.wait_for_function(f"before => ({PIXELS})() === before", arg=before)
        assert page.locator(f"{ROWS} td:nth-child(6)").all_inner_texts() == statuses
        assert chips(page) == counts(comparison)
        assert page.get_by_label(label("explorer/limit")).input_value() == ""

    def test_what_is_no_threshold_is_refused_beside_its_field(self, show, comparison):
        page = show(comparison)
        field = page.get_by_label(label("explorer/limit"))
        for text in ("x", "-1", "1e999", "0x10", "1,5"):
            field.fill("0.01")
            good = chips(page)
            field.fill(text)
            note = page.get_by_role("alert")
            assert note.inner_text() == label("explorer/not-a-number", text=f"“{text}”")
            assert field.get_attribute("aria-invalid") == "true"
            assert chips(page) == good
            field.fill("0.02")
            assert note.inner_text() == ""
            assert state(page)["limit"] == 0.02


class TestPlot:
    def test_keys_walk_in_execution_order_and_jump_between_failing(self, show, comparison):
        page = show(comparison)
        plot = page.locator(".wbx-plot")
        plot.focus()
        page.keyboard.press("Home")
        assert state(page)["selected"] == 0
        for key, row in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)):
            page.keyboard.press(key)
            assert state(page)["selected"] == row
        failing = [n for n, row in enumerate(comparison.rows) if row.status == "fail"]
        page.keyboard.press("ArrowDown")
        assert state(page)["selected"] == next(n for n in failing if n > 1)
        page.keyboard.press("End")
        matched = [n for n, row in enumerate(comparison.rows) if row.match_rule]
        assert state(page)["selected"] == matched[-1]
        said = page.locator(".wbx-place").inner_text()
        assert said == label("explorer/row-of", n=matched[-1] + 1, total=len(comparison.rows))

    def test_keys_zoom_around_the_selected_and_show_all_again(self, show, comparison):
        page = show(comparison)
        page.locator(".wbx-plot").focus()
        page.keyboard.press("+")
        low, high = state(page)["positions"]
        place = comparison.rows[page.evaluate("view.store.selected")].order
        assert low < place < high
        assert 160 <= high - low <= 172
        page.keyboard.press("+")
        closer = state(page)["positions"]
        assert closer[1] - closer[0] < (high - low) * 0.6
        assert shown(page)[0] == len(comparison.filter(positions=tuple(closer)).rows)
        page.keyboard.press("-")
        page.keyboard.press("0")
        assert state(page)["positions"] is None
        assert shown(page)[0] == len(comparison.rows)

    def test_any_figure_can_be_drawn(self, show, comparison):
        page = show(comparison)
        seen = [page.evaluate(PIXELS)]
        for name in ("inherited", "MaxAbsoluteError", "CosineSimilarity"):
            page.get_by_label(label("explorer/metric")).select_option(name)
            seen.append(page.evaluate(PIXELS))
            assert seen[-1] not in seen[:-1]
            assert state(page)["figure"] == name
        assert page.locator(".wbx-legend").inner_text() != ""

    def test_the_way_from_the_inherited_error_is_drawn_where_there_is_room(self, show):
        def result(inherited):
            row = make_row(error=1e-2, inherited_error=inherited, status="fail", op_type="X")
            return wb.Comparison(make_result(rows=(row,)))

        with_stem, without = show(result(1e-5)), show(result(None))
        assert with_stem.evaluate(PIXELS) != without.evaluate(PIXELS)
        assert label("explorer/legend-stem") in with_stem.locator(".wbx-legend").inner_text()
        assert label("explorer/legend-stem") not in without.locator(".wbx-legend").inner_text()


class TestPress:
    """A row that is drawn anew between press and release is chosen all the same."""

    @pytest.mark.parametrize(
        "drawn",
        [
            "document.querySelector('.wbx-scroll').scrollTop += 1",
            "document.querySelector('.wbx-scroll').style.height = '400px'",
            "view.set({...view.state(), factor: 3})",
        ],
    )
    def test_it_is_chosen(self, show, comparison, drawn):
        page = show(comparison)
        row = page.locator(ROWS).nth(12)
        number = int(row.get_attribute("data-row"))
        pressed(page, row, lambda: anew(page, drawn))
        assert state(page)["selected"] == number

    def test_one_press_is_heard_once(self, show, comparison):
        page = show(comparison)
        pressed(page, page.locator(ROWS).nth(12), lambda: None)
        assert page.evaluate("states.length") == 1

    @pytest.mark.parametrize("button", ["middle", "right"])
    def test_another_button_chooses_nothing(self, show, comparison, button):
        page = show(comparison)
        pressed(page, page.locator(ROWS).nth(12), lambda: anew(page), button)
        assert page.evaluate("states") == []

    def test_released_over_another_row_nothing_is_chosen(self, show, comparison):
        page = show(comparison)
        other = page.locator(ROWS).nth(14).bounding_box()

        def drawn_and_left():
            anew(page)
            page.mouse.move(other["x"] + 20, other["y"] + 10)

        pressed(page, page.locator(ROWS).nth(12), drawn_and_left)
        assert page.evaluate("states") == []


class TestStateFromOutside:
    def test_a_row_that_the_filter_hides_is_found_when_it_is_asked_for(self, show, comparison):
        page = show(comparison)
        page.locator(".wbx-filter").fill("softmax")
        hidden = next(n for n, row in enumerate(comparison.rows) if row.op_type == "Conv2D")
        page.evaluate("(selected) => view.set({...view.state(), selected})", hidden)
        row = page.locator(f".wbx-table tr[data-row='{hidden}'][aria-selected=true]")
        row.wait_for()
        assert shown(page)[0] == len(comparison.rows)

    def test_what_is_set_is_heard_once(self, show, comparison):
        page = show(comparison)
        page.evaluate("view.set({...view.state(), selected: 5})")
        page.evaluate("view.set({...view.state(), selected: 5})")
        assert page.evaluate("states.length") == 1

    def test_a_selected_row_that_a_filter_hides_is_told_of(self, show, comparison):
        page = show(comparison)
        page.locator(".wbx-filter").fill("no such word")
        assert page.locator(".wbx-place").inner_text() == "hidden by the filter"
        assert shown(page)[0] == 0
        for key in ("ArrowDown", "End", "ArrowUp"):
            page.locator(".wbx-table").press(key)
        page.locator(".wbx-plot").press("ArrowRight")
        page.get_by_role("button", name=label("explorer/next-failing")).click()


WAYS = [*product((True, False), (1280, 800))]


class TestRow16:
    """axe finds nothing serious."""

    @pytest.mark.parametrize(("light", "width"), nightly(WAYS, WAYS[::3]))
    @pytest.mark.criterion(16)
    def test_axe_is_content(self, show, comparison, light, width):
        page = show(wb.Comparison(one_of_each(comparison.result)), light=light, width=width)
        page.get_by_label(label("explorer/limit")).fill("1e-3")
        assert faults_of_access(page, impacts=GRAVE) == []

    def test_nothing_is_wider_than_the_page(self, show, comparison):
        page = show(comparison, width=700)
        assert page.evaluate("document.documentElement.scrollWidth") <= 700

    def test_chinese_words_stand_everywhere(self, show, comparison):
        page = show(comparison, language="zh")
        failing = label("explorer/status-fail", "zh")
        assert failing in page.locator(".wbx-chips").first.inner_text()
        text = page.locator(".wbx").inner_text()
        codes = ("previous-failing", "all-types", "fail-if", "hint", "reset", "status-fail")
        for code in (*(f"explorer/{name}" for name in codes), "show/col-floor"):
            assert label(code) not in text
            assert label(code, "zh") in text or code == "explorer/all-types"


HOSTILE = {
    "markup": "Default/</script><script>alert(1)</script><img src=x onerror=alert(1)>/A-op1",
    "quotes": "Default/\"'`${alert(1)}/B-op2",
    "right to left": "Default/\u202egpj.exe\u202c/\u0627\u0628/C-op3",
    "ANSI": "Default/\x1b[31mred\x1b[0m\x07/D-op4",
    "long": f"Default/{'x' * 10_000}/E-op5",
}


class TestHostileNames:
    @pytest.fixture
    def page(self, show):
        rows = tuple(
            make_row(
                op_name=name,
                golden_op_name=name,
                op_type=name[-900:],
                order=n,
                status="fail",
                reason=name,
            )
            for n, name in enumerate(HOSTILE.values())
        )
        return show(wb.Comparison(make_result(rows=rows)))

    @pytest.mark.criterion(29)
    def test_they_are_text_in_table_details_plot_and_filters(self, page):
        assert page.evaluate("document.images.length") == 0
        assert page.locator(ROWS).count() == len(HOSTILE)
        titles = [
            cell.get_attribute("title")
            for cell in page.locator(f"{ROWS} .wb-name:first-child").all()
        ]
        assert titles[0] == HOSTILE["markup"]
        assert titles[2] == "Default/\\u202egpj.exe\\u202c/\u0627\u0628/C-op3"
        assert titles[3] == "Default/\\x1b[31mred\\x1b[0m\\x07/D-op4"
        for row in range(len(HOSTILE)):
            page.locator(ROWS).nth(row).click()
            assert page.locator(".wbx-details h3").inner_text()

    def test_a_long_name_does_not_break_the_layout(self, page):
        page.locator(ROWS).nth(4).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert page.locator(".wbx-top").bounding_box()["height"] < 420
        heights = {row.bounding_box()["height"] for row in page.locator(ROWS).all()}
        assert heights == {28}
