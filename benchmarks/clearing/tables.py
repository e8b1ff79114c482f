"""Add up what was said: verdicts of clean runs by group of cells, and answers to planted faults."""

from __future__ import annotations

from collections import Counter
from math import comb
from typing import TYPE_CHECKING, Any

from diagnosing.tables import Table, share

from clearing.cells import GRAPHS, WAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Record = dict[str, Any]

VERDICTS = ("fail", "incomplete", "inconclusive", "warn", "pass")
OUTCOMES = ("right", "inconclusive", "missed", "wrong")
GROUPS = {
    "surface": "surface",
    "device": "device",
    "mode": "precision mode",
    "model": "network",
    "noise_of_sums": "noise of sums",
}
"""Field of a record → what it is called."""


def verdict(said: Record) -> str:
    """The verdict on a clean run; whatever blames an operator, or breaks down, counts as ``fail``."""
    blamed = said["verdict"] in ("fail", "crash") or bool(said["answers"])
    return "fail" if blamed else str(said["verdict"])


def outcome(said: Record) -> str:
    """What became of a planted fault.

    ``right``: its operator, or the one that it damaged, is named first. ``inconclusive``: nobody is named, and it
    is said that this is no agreement. ``missed``: the runs are said to agree. ``wrong``: somebody else is named.
    """
    if 0 in (said["place"], said["victim"]):
        return "right"
    if said["answers"] or said["verdict"] == "crash":
        return "wrong"
    return "missed" if said["verdict"] in ("pass", "warn") else "inconclusive"


def clean_tables(records: Sequence[Record]) -> list[Table]:
    """Shares of verdicts by dump and graphs, then the share of ``fail`` by surface, device, mode and network."""
    clean = [r for r in records if not r["kind"]]
    heads = ["dump, graphs", "runs", *VERDICTS]
    rows = [_shares(cell, clean, verdict, VERDICTS) for cell in _cells(clean)]
    found = [Table("Clean runs", heads, rows)]
    for key, title in GROUPS.items():
        names = sorted({r[key] for r in clean}, key=lambda name: (name is not None, name))
        cells = _cells(clean)
        if names == [None]:
            continue
        lines = []
        for name in names:
            mine = [r for r in clean if r[key] == name]
            fails = (_share(cell, mine, verdict, "fail") for cell in cells)
            lines.append([str(name or "own"), str(len(mine)), *fails])
        found.append(Table(f"Clean runs that fail, by {title}", [title, "runs", *cells], lines))
    return found


def counted_fails(records: Sequence[Record]) -> Table:
    """How many clean runs fail, by dump and graphs, and the largest share that these numbers allow."""
    clean = [r for r in records if not r["kind"]]
    rows = []
    for cell in _cells(clean):
        found = [verdict(r["said"][cell]) for r in clean if cell in r["said"]]
        fails = found.count("fail")
        most = 100 * upper_bound(fails, len(found))
        rows.append([cell, str(len(found)), str(fails), f"{most:.1f}%"])
    return Table("Clean runs that fail, counted", ["dump, graphs", "runs", "fail", "at most"], rows)


def upper_bound(found: int, tried: int, certainty: float = 0.95) -> float:
    """Largest share of which so few would be found with the chance that is left (Clopper and Pearson, one-sided).

    >>> round(upper_bound(0, 298), 4)
    0.01
    """
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        chance = sum(
            comb(tried, n) * share**n * (1 - share) ** (tried - n) for n in range(found + 1)
        )
        low, high = (share, high) if chance > 1 - certainty else (low, share)
    return high


def planted_tables(records: Sequence[Record]) -> list[Table]:
    """Visible faults: whether their operator comes first; for each noise of sums one table."""
    seen = [r for r in records if r["kind"] and r["visible"]]
    found = []
    for noise in sorted(
        {r["noise_of_sums"] for r in seen}, key=lambda noise: (noise is not None, noise)
    ):
        rows = []
        for cell in _cells(seen):
            told = [r for r in seen if r["noise_of_sums"] == noise and r["said"][cell]["told"]]
            rows.append(_shares(cell, told, outcome, OUTCOMES))
        title = "Planted faults" if noise is None else f"Planted faults, noise of sums {noise}"
        found.append(Table(title, ["dump, graphs", "visible", *OUTCOMES], rows))
    return found


def _cells(records: Iterable[Record]) -> list[str]:
    """The cells that any of the records has, in order."""
    there = {cell for r in records for cell in r["said"]}
    every = (f"{way}, {graphs}" for way in WAYS for graphs in GRAPHS)
    return [cell for cell in every if cell in there]


def _shares(
    cell: str, records: Sequence[Record], of: Callable[[Record], str], names: Sequence[str]
) -> list[str]:
    counts = Counter(of(r["said"][cell]) for r in records if cell in r["said"])
    whole = counts.total()
    return [cell, str(whole), *(share(counts[name], whole) for name in names)]


def _share(cell: str, records: Sequence[Record], of: Callable[[Record], str], name: str) -> str:
    found = [of(r["said"][cell]) for r in records if cell in r["said"]]
    return share(found.count(name), len(found))


def blamed(records: Sequence[Record], most: int) -> list[str]:
    """Lines about what is wrong: clean runs that fail, planted faults with a wrong name."""
    lines = []
    for r in records:
        for cell, said in r.get("said", {}).items():
            if (outcome(said) != "wrong") if r["kind"] else (verdict(said) != "fail"):
                continue
            where = (
                f"{r['model']} {r['device']} {r['surface']}/{r['files']} {r['mode'] or 'own mode'}"
            )
            what = f"{said['verdict']} {said.get('type', '')} {said['answers'][:2]} {said.get('fault', '')}"
            ratio = said.get("ratio")
            figures = f"error {said['error']:.3g}" if isinstance(said.get("error"), float) else ""
            figures += f", {ratio:.3g} times the floor" if isinstance(ratio, float) else ""
            planted = f"{r['kind']} in {r['operator']} " if r["kind"] else ""
            lines.append(
                f"{r['number']} {cell}: {planted}{where} seed {r['seed']} → {what} {figures}"
            )
    return lines[:most]
