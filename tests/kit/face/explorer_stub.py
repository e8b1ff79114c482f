"""The explorer on a page of its own, for tests in a browser."""

import base64
import re

import pytest

from workbench.show.assets import explorer_module, style_sheets
from workbench.show.payload import compressed

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>stub</title>
<style>{css} body {{ margin: 8px; background: var(--jp-layout-color1, white); }}</style></head>
<body data-jp-theme-light="{light}" style="--jp-layout-color1: {back}"><main class="wb"><div id="root"></div></main>
<script type="module">
{module}
const bytes = Uint8Array.from(atob("{data}"), (letter) => letter.charCodeAt(0));
window.states = [];
unpack(bytes).then((raw) => {{
  window.view = mount(document.getElementById("root"), raw, {{ onchange: (state) => states.push(state) }});
}});
</script></body></html>"""

ROWS = ".wbx-table tbody tr[data-row]"

PIXELS = "() => document.querySelector('.wbx-plot canvas').toDataURL()"


@pytest.fixture
def show(chromium):
    """Open the explorer of a comparison; nothing may be logged or requested meanwhile."""
    pages, trouble = [], []

    def show(comparison, *, language="en", light=True, width=1280, payload=None):
        data = base64.b64encode(payload or compressed(comparison.result, language)).decode("ascii")
        text = PAGE.format(
            css=style_sheets("parts", "explorer"),
            module=explorer_module(),
            data=data,
            light="true" if light else "false",
            back="#ffffff" if light else "#111111",
        )
        page = chromium.new_page(viewport={"width": width, "height": 1000})
        pages.append(page)
        page.set_default_timeout(60_000)
        page.on("console", lambda m: m.type == "error" and trouble.append(m.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: trouble.append(request.url))
        page.set_content(text)
        page.wait_for_selector("#root[data-ready]")
        return page

    yield show
    for page in pages:
        page.close()
    assert trouble == []


def shown(page):
    """Number of rows the filters leave, and of all rows, as the page says."""
    text = page.locator(".wbx-shown").inner_text()
    return tuple(int(n.replace(",", "")) for n in re.findall(r"[\d,]+", text))


def chips(page):
    """Status → count, as the chips say."""
    texts = [
        chip.inner_text()
        for chip in page.locator(".wbx-chip[data-status]").all()
        if chip.is_visible()
    ]
    return {t.split()[0]: int(t.split()[1].replace(",", "")) for t in texts}


def state(page):
    return page.evaluate("states.at(-1)")


def order(page):
    """Rows of the result in the order of the table."""
    return page.evaluate("[...view.store.visible]")
