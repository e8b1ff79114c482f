"""Write ``docs/evidence/clean.md`` and ``docs/evidence/devices.md``: the same records give the same text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clearing.tables import clean_tables, counted_fails, planted_tables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


class Page(NamedTuple):
    """A document: what stands above its tables, where it is written, and the titles of tables of clean runs in it."""

    head: Path
    file: str
    titles: tuple[str, ...]


def _head(name: str) -> Path:
    return Path(__file__).with_name(name)


CLEAN = Page(
    _head("clean.md"),
    "docs/evidence/clean.md",
    (
        "Clean runs",
        "Clean runs that fail, by surface",
        "Clean runs that fail, by device",
        "Clean runs that fail, by precision mode",
        "Clean runs that fail, by network",
    ),
)
DEVICES = Page(
    _head("document.md"),
    "docs/evidence/devices.md",
    ("Clean runs", "Clean runs that fail, by network", "Clean runs that fail, by noise of sums"),
)
"""The documents: of runs on the simulated devices, and of runs with ``--noise`` on another one."""


def document(records: Sequence[dict[str, Any]], arguments: argparse.Namespace) -> str:
    """The whole document that the arguments ask for: its tables of clean runs, and all of faults."""
    page = DEVICES if arguments.noise else CLEAN
    planted = [r for r in records if r["kind"] and r["visible"] is not None]
    head = page.head.read_text(encoding="utf-8").format(
        command=_command(page, arguments),
        clean=sum(not r["kind"] for r in records),
        planted=len(planted),
        visible=sum(r["visible"] for r in planted),
    )
    chosen = [table for table in clean_tables(records) if table.title in page.titles]
    if page is CLEAN:
        chosen.insert(1, counted_fails(records))
    return "\n".join((head, *(f"{table}\n" for table in (*chosen, *planted_tables(records)))))


def _command(page: Page, arguments: argparse.Namespace) -> str:
    graphs = " ".join(f"--graphs {one}" for one in arguments.graphs or ())
    noises = " ".join(f"--noise {noise:.0e}" for noise in arguments.noise or ())
    counts = f"--count {arguments.count} --planted {arguments.planted}"
    pieces = ("--seed", str(arguments.seed), graphs, counts, noises, f"--markdown {page.file}")
    return " ".join(("python benchmarks/clean.py", *filter(None, pieces)))
