"""Write ``docs/evidence/devices.md``: the same records give the same text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearing.tables import clean_tables, planted_tables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

HEAD = Path(__file__).with_name("document.md")
"""What stands above the tables."""


def document(records: Sequence[dict[str, Any]], arguments: argparse.Namespace) -> str:
    """The whole document: of clean runs the tables of all, of networks and of noise, of faults all tables."""
    planted = [r for r in records if r["kind"] and r["visible"] is not None]
    noises = " ".join(f"--noise {noise:.0e}" for noise in arguments.noise or ())
    head = HEAD.read_text(encoding="utf-8").format(
        command=f"python benchmarks/clean.py --seed {arguments.seed} --graphs both --count {arguments.count} "
        f"--planted {arguments.planted} {noises} --markdown docs/evidence/devices.md",
        clean=sum(not r["kind"] for r in records),
        planted=len(planted),
        visible=sum(r["visible"] for r in planted),
    )
    chosen = [table for table in clean_tables(records) if table.title in _CLEAN]
    return "\n".join((head, *(f"{table}\n" for table in (*chosen, *planted_tables(records)))))


_CLEAN = (
    "Clean runs",
    "Clean runs that fail, by network",
    "Clean runs that fail, by noise of sums",
)
