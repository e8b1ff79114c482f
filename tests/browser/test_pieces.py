"""The module of HTML whose rows are chosen, on a page of its own, with a model in the kernel's place."""

import pytest

pytest.importorskip("playwright.sync_api")
live = pytest.importorskip("workbench.ui.widgets.live")

pytestmark = pytest.mark.browser

HTML = """<table><tbody><tr data-row="3"><td>ReLU</td></tr><tr data-row="12"><td>Conv2D</td></tr>
<tr data-fold><td>x = self.conv(x)<details><summary>2 operators</summary>conv</details></td></tr></tbody></table>"""

PAGE = f"""<!DOCTYPE html><main></main><script type="module">
{live.Pieces._esm}
const heard = [], listeners = [];
let html = "";
const model = {{
  get: () => html, send: (message) => heard.push(message), on: (name, listener) => listeners.push(listener),
}};
window.heard = heard;
window.sent = (text) => {{ html = text; for (const listener of listeners) listener(); }};
render({{ model, el: document.querySelector("main") }});
</script>"""


@pytest.fixture
def page(chromium):
    page, trouble = chromium.new_page(), []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.set_content(PAGE)
    page.evaluate("(text) => sent(text)", HTML)
    yield page
    page.close()
    assert trouble == []


def pressed(page, row, html):
    """Press on a row, let the kernel send something, release the button."""
    box = page.locator(f"[data-row='{row}'] td").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.evaluate("(text) => sent(text)", html)
    page.mouse.up()


def test_a_click_and_the_enter_key_choose_a_row(page):
    page.locator("[data-row='3'] td").click()
    page.locator("[data-row='12']").dispatch_event("keydown", {"key": "Enter"})
    assert page.evaluate("heard") == [{"row": "3"}, {"row": "12"}]


def test_a_row_that_came_anew_while_it_was_pressed_is_chosen(page):
    pressed(page, 12, HTML.replace("ReLU", "Relu"))
    assert page.evaluate("heard") == [{"row": "12"}]


def test_another_row_in_its_place_is_not_chosen(page):
    pressed(page, 12, HTML.replace('"12"', '"13"'))
    assert page.evaluate("heard") == []


def test_a_line_opens_and_closes_its_details(page):
    line = page.locator("[data-fold] td")
    for is_open in (True, False):
        line.click(position={"x": 5, "y": 5})
        assert page.evaluate("document.querySelector('details').open") == is_open
    assert page.evaluate("heard") == []
