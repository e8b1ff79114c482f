"""Write the reference pages from the tables of the program: ``python docs/generate.py [--check]``.

``--check`` writes nothing and ends with status 1 if a page is out of date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from generators.cli import cli  # noqa: E402 - after the path is set
from generators.comparison_json import FILE, comparison_json, schema  # noqa: E402
from generators.dumps import dump_formats  # noqa: E402
from generators.exit_status import exit_status  # noqa: E402
from generators.figures import metrics, profiles  # noqa: E402
from generators.findings import findings  # noqa: E402
from generators.limits import limits  # noqa: E402
from generators.operators import operators  # noqa: E402
from generators.parquet import parquet  # noqa: E402
from generators.requirements import requirements  # noqa: E402
from generators.settings import pages  # noqa: E402
from generators.simulation import simulation  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": cli,
    "reference/exit-status.md": exit_status,
    "reference/comparison-json.md": comparison_json,
    f"reference/{FILE}": schema,
    "reference/parquet.md": parquet,
    "reference/findings.md": findings,
    "reference/metrics.md": metrics,
    "reference/profiles.md": profiles,
    "reference/limits.md": limits,
    "reference/operators.md": operators,
    "reference/dump-formats.md": dump_formats,
    "reference/simulator.md": simulation,
    **pages(),
    "evidence/ui-requirements.md": requirements,
}
"""Page → its text."""


def stale(folder: Path = HERE) -> list[str]:
    """Return the pages of a folder that are not what the program gives."""
    return [name for name, text in PAGES.items() if _read(folder / name) != text()]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def main(arguments: Sequence[str] | None = None, folder: Path = HERE) -> int:
    """Write or check every page; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, report stale pages")
    asked = parser.parse_args(arguments)
    for name in (found := stale(folder)):
        if asked.check:
            print(f"{name} is out of date: run python docs/generate.py")
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote {path.relative_to(folder.parent)}")
    return int(bool(found) and asked.check)


if __name__ == "__main__":
    raise SystemExit(main())
