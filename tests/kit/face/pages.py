"""What somebody sees and does in a browser: at the panels of a workbench in JupyterLab, and at the explorer.

Controls, alerts and statuses are found by code. The explorer stands on a page of its own (the fixture `show`).
"""

import base64
import io
import re
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.face.screen import label
from kit.words import is_code
from workbench.show.assets import explorer_module, style_sheets
from workbench.show.packed import compressed

OUTPUT = ".jp-OutputArea-output"
FAULT = "wrong-attribute:Default/conv3-Conv2d/Conv2D-op0:pad_mode=pad,pad=1"
GUILTY = "Default/conv3-Conv2d/Conv2D-op0"
"""Whom FAULT spoils in alexnet, and whom the real pair blames."""

REAL = Path(__file__).parents[3] / "sample_dumps/real_pair"


def real_bench(target: str, golden: str) -> str:
    """Code that makes ``bench`` of two trees of the real pair, ``dump_a`` and ``dump_b``."""
    return f"bench = wb.Workbench(target={str(REAL / target)!r}, golden={str(REAL / golden)!r})"


def seen(found):
    """The first of those that can be seen."""
    return found.locator("visible=true").first


def words(name):
    """What stands on the screen for a code; the name of a setting stands for itself."""
    return label(name) if is_code(name) else name


def field(page, name):
    """Input that is seen, found by the code of its label or the name of a setting."""
    return seen(page.locator(OUTPUT).get_by_label(words(name), exact=True))


def fill(page, name, text):
    """Type into a field and leave it with Enter."""
    field(page, name).fill(text)
    field(page, name).press("Enter")


def tab(page, name):
    """Turn to a panel, or to a tab in it, by the code of its title."""
    page.get_by_role("tab", name=words(name), exact=True).click()


def button(page, name):
    """Button that is seen, found by the code of its words."""
    return seen(page.get_by_role("button", name=words(name), exact=True))


def status(page, *codes):
    """Wait until a panel says one of some codes; what it says."""
    said = seen(page.locator(", ".join(f'[role=status][data-code="{code}"]' for code in codes)))
    said.wait_for()
    return said.inner_text()


def copied(page):
    """Wait until a button says that it has copied its text."""
    page.get_by_role("status").filter(has_text=label("ui/copied")).first.wait_for()


def alert(page, *codes):
    """Alert of one of some codes; of a setting with a wrong value see `rule_of`."""
    return page.locator(", ".join(f'[role=alert][data-code="{code}"]' for code in codes))


def rule_of(value, setting="common_dump_settings.iteration"):
    """Id of the rule that the value of a setting breaks: the code of the alert beside it."""
    return wb.config.new("mindspore-o0o1").set(setting, value).check()[0].id


def pixels(png):
    """Red, green and blue of a picture, from 0 to 255: (height, width, 3), uint8."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


GRAVE = ("serious", "critical")

VIOLATIONS = """async ([place, impacts]) => {
  const { violations } = await axe.run({ include: [[place]] }, { resultTypes: ["violations"] });
  return violations.filter((one) => !impacts || impacts.includes(one.impact));
}"""


def faults_of_access(page, place="html", impacts=None):
    """What axe finds there, of some impacts or of any: rule and element."""
    axe = pytest.importorskip("axe_playwright_python")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate(VIOLATIONS, [place, impacts])
    return [(one["id"], node["html"][:160]) for one in found for node in one["nodes"]]


# ---------------- the explorer

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>stub</title>
<style>{css} body {{ margin: 8px; background: var(--jp-layout-color1, white); }}</style></head>
<body data-jp-theme-light="{light}" style="--jp-layout-color1: {back}"><main class="wb"><div id="root"></div></main>
<script type="module">
{module}
const bytes = Uint8Array.from(atob("{data}"), (letter) => letter.charCodeAt(0));
window.states = [];
unpackColumns(bytes).then((raw) => {{
  window.view = mount(document.getElementById("root"), raw, {{ onchange: (state) => states.push(state) }});
}});
</script></body></html>"""

ROWS = ".wbx-table tbody tr[data-row]"

DRAWN = "() => document.querySelector('.wbx-plot canvas').width !== 300"
"""Whether the chart has another width than an empty canvas has by itself."""

PIXELS = "() => document.querySelector('.wbx-plot canvas').toDataURL()"


class Pages:
    """Pages that are emptied and used again: a new one takes longer than what most tests do with it."""

    def __init__(self, chromium, **options) -> None:
        self.trouble: list[str] = []
        self.allowed = ""  # the only address that may be asked for
        self._context = chromium.new_context(**options)
        self._pages, self._taken = [], 0

    def empty(self, *, width=1280, color_scheme="light"):
        """A page with nothing on it, which nothing that was done to it before can be told by."""
        if self._taken == len(self._pages):
            self._pages.append(self._opened())
        page = self._pages[self._taken]
        self._taken += 1
        page.bring_to_front()  # a page behind others draws once a second, and whatever waits for a frame waits so long
        page.set_viewport_size({"width": width, "height": 1000})
        page.emulate_media(media="null", color_scheme=color_scheme)
        return page

    def _opened(self):
        page, trouble = self._context.new_page(), self.trouble
        page.set_default_timeout(60_000)
        page.on("console", lambda m: m.type == "error" and trouble.append(m.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", lambda dialog: trouble.append(f"dialog {dialog.message}"))
        page.on("request", lambda r: r.url != self.allowed and trouble.append(r.url))
        return page

    def leave(self) -> list[str]:
        """Empty all pages; what went wrong since it was done last."""
        for page in self._pages[: self._taken]:
            page.mouse.move(0, 0)
            page.goto("about:blank")
        self._taken, self.allowed = 0, ""
        trouble = [*self.trouble]
        self.trouble.clear()
        return trouble

    def close(self) -> None:
        self._context.close()


@pytest.fixture(scope="session")
def pages(chromium):
    """The pages of the session; `show` takes them."""
    made = Pages(chromium)
    yield made
    made.close()


@pytest.fixture
def show(pages):
    """Open the explorer of a comparison; nothing may be logged or requested meanwhile."""

    def show(comparison, *, language="en", light=True, width=1280, payload=None):
        data = base64.b64encode(payload or compressed(comparison.result, language)).decode("ascii")
        text = PAGE.format(
            css=style_sheets("parts", "explorer"),
            module=explorer_module(),
            data=data,
            light="true" if light else "false",
            back="#ffffff" if light else "#111111",
        )
        page = pages.empty(width=width)
        page.set_content(text)
        page.wait_for_selector("#root[data-ready]")
        return page

    yield show
    assert pages.leave() == []


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
