"""The same in a real JupyterLab: how long until the reader sees it, and for how long the page hears nobody."""

from __future__ import annotations

import shutil
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kit.face.jupyter_lab import CONNECTED, ERRORS, RUN_CODE, Reader, jupyter_lab
from looking.headless import Took

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

ALIGNED = "table tbody"
"""The matches."""

SEEN = ".workbench-tabs .widget-tab-contents > :not(.lm-mod-hidden)"
"""The panel that is seen."""

DEAF = """() => {
  window.deaf = 0;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.deaf = Math.max(window.deaf, task.duration);
  }).observe({type: 'longtask'});
}"""
"""Keep the longest time that the page heard nobody."""

PLACES = {
    "Configure": "input[type=text]",
    "Run": "button:has-text('Run comparison')",
    "Align": "table tbody tr",
    "Divergence": ".wbx[data-ready] tr[data-row]",
    "Operator": ".wb-op svg",
    "Source": ".wb-op",
    "Report": "button:has-text('Write HTML')",
}
"""Panel → what shows that it is there."""


class Watched:
    """A reader in JupyterLab whose waiting is measured."""

    def __init__(self, reader: Reader, received: list[int]) -> None:
        self.page, self.received = reader.page, received
        self.found: list[tuple[Took, float]] = []

    def does(self, panel: str, action: str, call: Callable[[], Any]) -> None:
        """Do something that ends when the reader sees it; keep seconds, bytes and the longest deafness in seconds."""
        self.page.wait_for_timeout(300)
        self.page.evaluate("() => { window.deaf = 0 }")
        before, start = self.received[0], time.perf_counter()
        call()
        took = time.perf_counter() - start
        self.page.wait_for_timeout(300)
        deaf = self.page.evaluate("() => window.deaf") / 1000
        self.found.append((Took(panel, action, took, self.received[0] - before), deaf))

    def seen(self, selector: str) -> None:
        """Wait for something in the panel that is seen."""
        self.page.locator(SEEN).locator(selector).first.wait_for(state="visible")

    def turned(self, panel: str) -> None:
        """Turn to a panel and wait for it."""
        self.page.get_by_role("tab", name=panel, exact=True).click()
        self.seen(PLACES[panel])

    def changed(self, selector: str, call: Callable[[], Any]) -> None:
        """Do something and wait until the text of a place is another one."""
        place = self.page.locator(SEEN).locator(selector).first
        before = place.inner_text()
        call()
        path = f"{SEEN} {selector}"
        self.page.wait_for_function(
            "([path, before]) => { const e = document.querySelector(path); return e && e.innerText !== before }",
            arg=[path, before],
        )

    def press(self, name: str) -> None:
        """Press a button of the panel that is seen."""
        self.page.locator(SEEN).get_by_role("button", name=name, exact=True).click()

    def written(self, kind: str) -> None:
        """Write a file of the report, and wait until its path is told."""
        self.press(f"Write {kind}")
        self.seen(f"[role=status]:has-text('report.{kind.lower()} (')")

    def fill(self, label: str, text: str) -> None:
        """Type into an input of the panel that is seen."""
        field = self.page.locator(SEEN).get_by_label(label, exact=True).first
        field.fill(text)
        field.press("Enter")


def act(watched: Watched) -> None:
    """Open every panel and do what a reader does there."""
    words = watched.page.locator(f"{SEEN} .wbx-filter")
    done: dict[str, tuple[tuple[str, str, Callable[[], Any]], ...]] = {
        "Configure": (),
        "Run": (),
        "Align": (
            ("filter", ALIGNED, lambda: watched.fill("filter", "matmul")),
            ("next page", ALIGNED, lambda: watched.press("Next page")),
        ),
        "Divergence": (
            ("worst error", ".wbx-details h3", lambda: watched.press("Worst error")),
            ("filter", ".wbx-shown", lambda: words.fill("matmul")),
        ),
        "Operator": (("next failing", ".wb-op-head", lambda: watched.press("Next failing")),),
        "Source": (),
        "Report": (),
    }
    for panel, actions in done.items():
        again = "open again" if panel == "Divergence" else "open"
        watched.does(panel.lower(), again, partial(watched.turned, panel))
        for action, place, call in actions:
            watched.does(panel.lower(), action, partial(watched.changed, place, call))
    for kind in ("HTML", "CSV", "JSON"):
        watched.does("report", f"write {kind}", partial(watched.written, kind))


@contextmanager
def opened(folder: Path) -> Iterator[Watched]:
    """Open a notebook in a JupyterLab of its own; gives who watches it."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    received = [0]

    def listen(socket: Any) -> None:
        socket.on("framereceived", lambda data: received.__setitem__(0, received[0] + len(data)))

    with jupyter_lab(folder) as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        reader = Reader(browser, lab, None)
        reader.page.set_default_timeout(300_000)
        reader.page.on("websocket", listen)
        lab.open(reader.page, lab.write("scale.ipynb", [""]))
        reader.page.evaluate(CONNECTED)
        yield Watched(reader, received)
        browser.close()


def measure(target: Path, golden: Path, folder: Path) -> list[tuple[Took, float]]:
    """Compare in a notebook, show the workbench, and do everything; raises RuntimeError if a cell does."""
    bench = f"wb.Workbench(target={str(target)!r}, golden={str(golden)!r})"
    cell = f"import workbench as wb\nbench = {bench}\nbench.compare();"
    with opened(folder) as watched:
        told = watched.page.evaluate(RUN_CODE, cell)
        if any(output["output_type"] == "error" for output in told):
            raise RuntimeError(told)
        watched.page.evaluate(DEAF)

        def show() -> None:
            watched.page.evaluate(RUN_CODE, "bench.form()")
            watched.seen(PLACES["Divergence"])

        watched.does("all", "open", show)
        act(watched)
        errors = watched.page.evaluate(ERRORS)
        shown = watched.page.get_by_role("alert").all_inner_texts()
        if errors or any(text.strip() for text in shown):
            raise RuntimeError([*errors, *shown])
    return watched.found
