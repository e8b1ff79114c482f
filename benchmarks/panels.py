"""How long a reader waits for the panels of the workbench when the network has 20,000 operators.

``python benchmarks/panels.py [--operators N] [--trees FOLDER] [--no-browser] [--markdown PATH]``

Two trees are written and compared; then every panel is opened and everything is done in it once: without a browser,
in processor time of the kernel, and in a real JupyterLab, by the clock. The latter needs Chromium and playwright.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

from looking import headless  # noqa: E402
from looking.network import trees  # noqa: E402

import workbench as wb  # noqa: E402

if TYPE_CHECKING:
    from looking.headless import Took

OPEN, ACT = 2.0, 1.0
"""Seconds that opening a panel may take, and an action in it."""

HEAD = Path(__file__).parent / "looking" / "document.md"
"""What stands above the table."""

COLUMNS = ("panel", "action", "kernel, s", "sent, kB", "JupyterLab, s", "blocked, s")


def table(kernel: list[Took], lab: list[tuple[Took, float]]) -> str:
    """Return all figures as a table of Markdown."""
    ours = {(one.panel, one.action): one for one in kernel}
    theirs = {(one.panel, one.action): (one, deaf) for one, deaf in lab}
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    for key in dict.fromkeys((*ours, *theirs)):
        one, (seen, deaf) = ours.get(key), theirs.get(key, (None, 0.0))
        figures = [f"{one.seconds:.2f}" if one else "", f"{one.sent / 1000:,.0f}" if one else ""]
        figures += [f"{seen.seconds:.2f}{missed(seen)}", f"{deaf:.2f}"] if seen else ["", ""]
        lines.append(f"| {' | '.join((*key, *figures))} |")
    return "\n".join(lines) + "\n"


def missed(one: Took) -> str:
    """Say that a goal is missed."""
    if one.action.startswith("write"):
        return ""
    goal = OPEN if one.action.startswith("open") else ACT
    return f" (goal {goal:.0f})" if one.seconds > goal else ""


def measured(
    operators: int, folder: Path, *, browser: bool = True
) -> tuple[dict[str, object], str]:
    """Return what was compared, and the table of what everything took."""
    target, golden = trees(operators, folder)
    bench = wb.Workbench(target=target, golden=golden)
    start = time.process_time()
    rows = bench.compare().rows
    facts = {"operators": operators, "rows": len(rows), "compared": time.process_time() - start}
    facts["failing"] = sum(row.status == "fail" for row in rows)
    with tempfile.TemporaryDirectory() as written:
        kernel = list(headless.measure(bench, Path(written)))
        lab: list[tuple[Took, float]] = []
        if browser:
            from looking.lab import measure

            lab = measure(target, golden, Path(written))
    return facts, table(kernel, lab)


def main() -> None:
    """Print the table, or write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", type=int, default=20_000)
    parser.add_argument("--trees", type=Path, help="folder of the trees; kept, and used again")
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--markdown", type=Path, help="document to write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = arguments.trees or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        facts, text = measured(arguments.operators, folder, browser=not arguments.no_browser)
    load = f"load of the machine {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores"
    command = "python benchmarks/panels.py --markdown docs/evidence/scale.md"
    document = HEAD.read_text(encoding="utf-8").format(command=command, load=load, **facts) + text
    print(document)
    if arguments.markdown:
        arguments.markdown.write_text(document, encoding="utf-8")


if __name__ == "__main__":
    main()
