"""How fast the UI responds in a real browser: every requirement of tests/promises.toml with a time limit.

``python benchmarks/face.py [--rows 2000 20000 200000] [--rounds N] [--markdown docs/evidence/ui-speed.md]``

Needs Chromium and playwright. What happens in JupyterLab and Voila is timed by the wall clock, from the click to what
can be seen, the best of all rounds; pages alone by the processor time of their main thread (`explorer.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import os
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import explorer  # noqa: E402

from kit.build.sample_results import network_result  # noqa: E402
from kit.face.jupyter_lab import RUN_CODE, Reader, jupyter_lab, python  # noqa: E402
from kit.face.pages import status  # noqa: E402
from workbench.show.report import report_html  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from playwright.sync_api import Browser, Page

    from kit.face.jupyter_lab import Lab

OUTPUT = ".jp-OutputArea-output"
SEEN = ".wbx[data-ready]:visible"

READY = {2_000: 0.6, 20_000: 1.5, 200_000: 5.0}
"""Rows of a report → seconds until its table can be used."""

SIZES = {2_000: (400e3, False), 20_000: (1e6, True)}
"""Rows of a report → bytes, and whether gzip may help."""

EXPLORED = {2_000: 1.0, 20_000: 2.0}
"""Rows of an explorer → seconds until it is seen."""

BENCH = (
    "import time, workbench as wb\nfrom workbench.comparison.measure import measure as measuring",
    "bench = wb.Workbench(graph='alexnet')\npanel = bench.form()\npanel",
)
SLOW = """measure = measuring.measure_pair
def slow(*arguments):
    time.sleep(0.1)
    return measure(*arguments)
measuring.measure_pair = slow"""
EXPLORER = (
    f"import sys, time\nsys.path.insert(0, {str(ROOT / 'tests')!r})\n"
    "import workbench as wb\nfrom kit.build.sample_results import network_result",
    "comparison = wb.Comparison(network_result({rows}, 4))\nlen(comparison.rows)",
)
HEARD = """said = []
comparison.look.observe(lambda change: said.append((change.new, time.time())), 'selected')"""


class Line(NamedTuple):
    """One figure: the number of its promise, what was measured, its budget, and both in ``unit``."""

    promise: int
    what: str
    budget: float
    measured: float
    unit: str = "s"

    @property
    def kept(self) -> bool:
        return self.measured <= self.budget

    def cells(self) -> tuple[str, ...]:
        shown = (f"{value:,.4g} {self.unit}" for value in (self.budget, self.measured))
        return str(self.promise), self.what, *shown, "yes" if self.kept else "no"


def table(lines: Sequence[Line]) -> str:
    """Return the lines as a table of Markdown."""
    head = ("requirement", "what", "limit", "measured", "met")
    rows = [head, ("---",) * len(head), *(line.cells() for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def timed(action: Callable[[], object]) -> float:
    """Seconds that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


@contextlib.contextmanager
def opened(browser: Browser, lab: Lab, path: str, *, run: bool = True) -> Iterator[Page]:
    """Open a notebook and run it; nothing may go wrong."""
    reader = Reader(browser, lab, path)
    reader.page.set_default_timeout(120_000)
    reader.trouble += lab.run_all(reader.page) if run else []
    yield reader.page
    if reader.trouble:
        raise RuntimeError(f"{path}: {reader.trouble}")
    reader.page.close()


def asked(page: Page, code: str) -> str:
    """What a new cell prints, as soon as it prints something; raises RuntimeError after a minute."""
    end = time.monotonic() + 60
    while not (said := python(page, code)):
        if time.monotonic() > end:
            raise RuntimeError(f"{code} printed nothing in a minute")
    return said


def shown(page: Page, text: str) -> None:
    """Wait until some text can be seen among the outputs."""
    page.locator(OUTPUT).get_by_text(text).locator("visible=true").first.wait_for()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).locator("visible=true").first.click()


def turn(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def dashboard(browser: Browser, lab: Lab) -> list[Line]:
    """Run the dashboard in JupyterLab and serve it with Voila."""
    shutil.copy(ROOT / "notebooks/dashboard.ipynb", lab.root)
    with opened(browser, lab, "dashboard.ipynb", run=False) as page:
        seconds = timed(lambda: lab.run_all(page))
    reader = Reader(browser, lab, None)
    address = f"{lab.address}/voila/render/dashboard.ipynb?token={lab.token}"

    def visit() -> None:
        reader.page.goto(address, timeout=120_000)
        reader.page.wait_for_selector(SEEN, timeout=120_000)

    voila = timed(visit)
    reader.page.close()
    return [
        Line(1, "all cells of the dashboard run", 20, seconds),
        Line(20, "Voila shows the explorer", 10, voila),
    ]


def first(browser: Browser, lab: Lab) -> list[Line]:
    """Compare the sample pair in a kernel that has imported nothing yet."""
    pair = ROOT / "sample_dumps/simulated_pair"
    code = f"import workbench as wb\nwb.compare({str(pair / 'target')!r}, {str(pair / 'golden')!r})"
    with opened(browser, lab, lab.write("first.ipynb", ["1 + 1"])) as page:

        def show() -> None:
            page.evaluate(RUN_CODE, code)
            page.locator(f"{OUTPUT} .wb:visible").first.wait_for()

        return [Line(1, "first result of the sample pair in a fresh kernel", 1.2, timed(show))]


def bench(browser: Browser, lab: Lab) -> list[Line]:
    """Change a setting, ask a cell during a run, cancel runs."""
    with opened(browser, lab, lab.write("bench.ipynb", BENCH)) as page:
        lines = [Line(3, "a setting of the form shows in JSON and Python", 1, _set(page))]
        turn(page, "Run")
        python(page, "bench.iterations = 2000; bench.config = bench.config.set("
                     "'common_dump_settings.iteration', 'all')")  # fmt: skip
        answered, stopped = _watched(page, "rehearsing")
        python(page, f"bench.iterations = 1\n{SLOW}")
        page.get_by_role("status").filter(has_text="cancelled").first.wait_for()
        while_comparing, stopped_comparing = _watched(page, "comparing")
        python(page, "measuring.measure_pair = measure")
    return [
        *lines,
        Line(5, "another cell answers during a run", 1, max(answered, while_comparing)),
        Line(6, "a rehearsal stops", 1, stopped),
        Line(6, "a comparison stops, and its partial result is shown", 1, stopped_comparing),
    ]


def _set(page: Page) -> float:
    """Seconds from the choice of a setting to its sight in JSON, Python text and object."""
    turn(page, "Configure")
    field = (
        page.locator(OUTPUT).get_by_label("saved_data", exact=True).locator("visible=true").first
    )
    turn(page, "Code")

    def change() -> None:
        field.select_option("statistic")
        shown(page, "'saved_data': 'statistic'")
        if "statistic" not in python(page, "print(bench.config.data)"):
            raise RuntimeError("the object has not followed")

    return timed(change)


def _watched(page: Page, stage: str) -> tuple[float, float]:
    """Seconds until a cell answers during a run, and until the run has stopped."""
    press(page, "Run comparison")
    moving = page.get_by_role("status").filter(has_text="running: ").locator("visible=true")
    moving.first.wait_for()
    if stage == "comparing":
        asked(page, "print(bench.runner.progress[1] or '')")
    seconds = timed(partial(python, page, "print(1 + 1)"))
    if python(page, "print(bench.runner.busy)") != "True":
        raise RuntimeError("the run was over before the cell answered")

    def stop() -> None:
        press(page, "Cancel")
        status(page, "ui/run-cancelled", "ui/nothing-kept")

    return seconds, timed(stop)


def explored(browser: Browser, lab: Lab, rows: int) -> list[Line]:
    """Show an explorer; select in the browser and in Python."""
    cells = [EXPLORER[0], EXPLORER[1].format(rows=rows), HEARD]
    with opened(browser, lab, lab.write(f"explorer{rows}.ipynb", cells)) as page:

        def show() -> None:
            page.evaluate(RUN_CODE, "comparison.explore()")
            page.wait_for_selector(SEEN)

        lines = [Line(9, f"explorer of {rows:,} operators seen", EXPLORED[rows], timed(show))]
        clicked = time.time()
        page.locator(".wbx-table tr[aria-selected=true] + tr").click()
        there = float(asked(page, "print(said[-1][1] if said else '')")) - clicked

        def select() -> None:
            python(page, f"comparison.selected = {rows // 2}")
            page.wait_for_selector(f".wbx-table tr[aria-selected=true][data-row='{rows // 2}']")

        back = timed(select)
    where = f"with {rows:,} operators"
    lines.append(Line(10, f"a click on a row reaches Python, {where}", 0.5, there))
    return [*lines, Line(10, f"a row set in Python is highlighted, {where}", 0.5, back)]


def reported(browser: Browser, folder: Path, rows: int, rounds: int) -> list[Line]:
    """Size of a report, when it can be used, and how long every action takes."""
    text = report_html(network_result(rows, 4)).encode()
    path = folder / f"{rows}.html"
    path.write_bytes(text)
    lines = []
    if rows in SIZES:
        budget, packed = SIZES[rows]
        size = len(gzip.compress(text)) if packed else len(text)
        what = f"report of {rows:,} operators{', compressed' if packed else ''}"
        lines.append(Line(22, what, budget / 1000, size / 1000, "kB"))
    ready = explorer.ready(browser, path.as_uri(), rounds) / 1000
    lines.append(Line(22, f"report of {rows:,} operators ready", READY[rows], ready))
    if rows <= 20_000:
        for name, milliseconds in explorer.acted(browser, path.as_uri(), rounds).items():
            lines.append(Line(24, f"{name}, {rows:,} operators", 150, milliseconds, "ms"))
    return lines


def best(rounds: int, measure: Callable[[], list[Line]]) -> list[Line]:
    """Measure several times; return the best figure of each line."""
    every = [measure() for _ in range(rounds)]
    return [min(same, key=lambda line: line.measured) for same in zip(*every, strict=True)]


def every_line(browser: Browser, rows: Sequence[int], rounds: int) -> list[Line]:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with jupyter_lab(folder) as lab:
            found = best(rounds, lambda: first(browser, lab))
            found += best(rounds, lambda: dashboard(browser, lab))
            found += best(rounds, lambda: bench(browser, lab))
            for count in rows:
                if count in EXPLORED:
                    found += best(rounds, partial(explored, browser, lab, count))
        for count in rows:
            found += reported(browser, folder, count, rounds)
    return sorted(found, key=lambda line: line.promise)


DOCUMENT = """# UI response times

Written by `{command}` in a real Chromium, on a machine with {cores} cores and a
load of {load:.1f} at the start; the best of {rounds} rounds.

*Limit* is the time limit of the [requirement](ui-requirements.md). JupyterLab and Voila: wall-clock time from the
click until the result is visible; other programs slow it down. Reports (22, 24): processor time of the page's main
thread.

{table}
"""


def main() -> None:
    """Print the table, and write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", choices=READY, default=[*READY])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=Path, help="writes the document")
    arguments = parser.parse_args()
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or next(
        filter(None, map(shutil.which, explorer.BROWSERS)), None
    )
    load = os.getloadavg()[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        lines = every_line(browser, arguments.rows, arguments.rounds)
        browser.close()
    print(table(lines))
    if arguments.markdown:
        command = f"python benchmarks/face.py --rounds {arguments.rounds} --markdown docs/evidence/ui-speed.md"
        text = DOCUMENT.format(
            cores=os.cpu_count(), load=load, rounds=arguments.rounds, table=table(lines),
            command=command,
        )  # fmt: skip
        arguments.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
