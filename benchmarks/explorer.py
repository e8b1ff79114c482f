"""How fast the explorer is: in the notebook, in the report file, and under the hand of the reader.

``python benchmarks/explorer.py [--rows 2000 20000 200000] [--rounds N]``

Needs Chromium and playwright. Times are processor time of the kernel and of the page's main thread: they are those of
the wall clock on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

from kit.build.sample_results import network_result  # noqa: E402
from workbench.session.comparison import Comparison  # noqa: E402
from workbench.show.report import report_html  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

FILL = (
    """(i => { i.value = %r; i.dispatchEvent(new Event('input')) })(document.querySelector(%r));"""
)

ACTIONS = {
    "sort by a figure": "[...document.querySelectorAll('.wbx-table thead button')][7].click()",
    "sort by a name": "document.querySelector('.wbx-table thead button').click()",
    "filter by words": FILL % ("matmul", ".wbx-filter"),
    "filter by scope": FILL % ("Default/network-Net/layers.1", ".wbx-scope"),
    "status chip": "document.querySelector('.wbx-chip').click()",
    "all filters away": "document.querySelector('.wbx-reset').click()",
    "re-grade": FILL % ("1e-3", ".wbx-grade"),
    "zoom": "document.querySelector('.wbx-head button:nth-of-type(2)').click()",
    "link to an operator": "location.hash = '#op=Default%2Fnetwork-Net%2Flayers.2%2FConv2D-op16'",
}
"""What a reader does → the script that does it."""


def explored(rows: int, rounds: int) -> tuple[float, int]:
    """Seconds that `explore` takes in the kernel, and the bytes that it sends."""
    times = []
    for _ in range(rounds):
        comparison = Comparison(network_result(rows, 4))
        start = time.process_time()
        explorer = comparison.explore()
        times.append(time.process_time() - start)
        size = len(explorer.data) + len(explorer._esm) + len(explorer._css)
        explorer.close()
    return min(times), size


def clock(page: Page) -> Callable[[], float]:
    """Milliseconds that the page's main thread has computed."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def read() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1000 * next(one["value"] for one in metrics if one["name"] == "ThreadTime")

    return read


def opened(browser: Browser, address: str) -> tuple[Page, Callable[[], float]]:
    """Open a report and wait for its table."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(120_000)
    read = clock(page)
    page.goto(address)
    page.wait_for_selector("#explorer[data-ready]")
    return page, read


def ready(browser: Browser, address: str, rounds: int) -> float:
    """Milliseconds until the table of a report can be used."""
    times = []
    for _ in range(rounds):
        page, read = opened(browser, address)
        times.append(read())
        page.close()
    return min(times)


def acted(browser: Browser, address: str, rounds: int) -> dict[str, float]:
    """Milliseconds of everything that a reader does."""
    best = dict.fromkeys(ACTIONS, float("inf"))
    for _ in range(rounds):
        page, read = opened(browser, address)
        for name, script in ACTIONS.items():
            start = read()
            page.evaluate(f"() => {{ {script} }}")
            page.evaluate("() => new Promise(requestAnimationFrame)")
            best[name] = min(best[name], read() - start)
        page.close()
    return best


def main() -> None:
    """Print a table for every number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 20_000, 200_000])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for rows in arguments.rows:
            seconds, size = explored(rows, arguments.rounds)
            print(
                f"\n{rows:,} rows\n  explore() {seconds:.2f} s, {size / 1000:,.0f} kB to the page"
            )
            start = time.process_time()
            text = report_html(network_result(rows, 4))
            took = time.process_time() - start
            file = Path(folder) / f"{rows}.html"
            file.write_text(text, encoding="utf-8")
            wait = ready(browser, file.as_uri(), arguments.rounds)
            print(
                f"  report {took:.2f} s, {file.stat().st_size / 1000:,.0f} kB, ready in {wait:.0f} ms"
            )
            for name, value in acted(browser, file.as_uri(), arguments.rounds).items():
                print(f"  {name:22}{value:6.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
