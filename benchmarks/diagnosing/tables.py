"""Add up what was measured: tables of text, one row a kind or a rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from diagnosing.cases import ENDING, KINDS
from diagnosing.runs import WAYS
from diagnosing.scoring import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Record = dict[str, Any]

BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Where the classes of the calibration table begin; the last is the end."""


@dataclass(frozen=True)
class Table:
    """A title, the heads of its columns, its rows, and what it shows."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __str__(self) -> str:
        """As Markdown: numbers to the right."""
        line = ["---" if n == 0 else "---:" for n in range(len(self.heads))]
        rows = ["| " + " | ".join(row) + " |" for row in (self.heads, line, *self.rows)]
        note = (self.note, "") if self.note else ()
        return "\n".join((f"## {self.title}", "", *note, *rows))


def share(part: int, whole: int) -> str:
    """A share in percent, with one decimal.

    >>> share(2, 3), share(0, 0)
    ('66.7%', '–')
    """
    return f"{100 * part / whole:.1f}%" if whole else "–"


def every_table(records: Sequence[Record]) -> list[Table]:
    """All tables, the most important first; what each shows is said by its function."""
    made = (operators_table, kinds_table, rules_table, alarms_table, confusion_table)
    more = (calibration_table, visible_table, places_table, ended_table)
    return [replace(make(records), note=make.__doc__) for make in (*made, *more)]


def seen(records: Iterable[Record], kind: str = "") -> list[Record]:
    """Records of visible faults, of one kind or of all."""
    return [r for r in records if r.get("visible") and (not kind or r["kind"] == kind)]


def hit(record: Record, way: str, within: int, key: str = "place") -> bool:
    """Whether the right operator is among the first answers."""
    place = record[way][key]
    return place is not None and place < within


def hits(records: Sequence[Record], way: str, within: int) -> str:
    """The share of records whose right operator is among the first answers; those that tell of it count."""
    told = [r for r in records if r[way].get("told", True)]
    return share(sum(hit(r, way, within) for r in told), len(told))


def _per_kind(
    records: Sequence[Record], cells: Callable[[list[Record]], list[str]]
) -> list[list[str]]:
    rows = [[kind, *cells(seen(records, kind))] for kind in KINDS]
    return [*rows, ["all", *cells(seen(records))]]


def operators_table(records: Sequence[Record]) -> Table:
    """Share of faults whose operator is the first finding (top 1) or among the first three (top 3)."""

    def cells(found: list[Record]) -> list[str]:
        return [str(len(found)), *(hits(found, way, n) for way in WAYS for n in (1, 3))]

    heads = ["kind", "visible", *(f"{way}, top {n}" for way in WAYS for n in (1, 3))]
    rows = _per_kind(records, cells)
    overruns = seen(records, "overrun")
    suffer = [
        sum(hit(r, way, n) or hit(r, way, n, "victim") for r in overruns)
        for way in WAYS
        for n in (1, 3)
    ]
    shares = (share(count, len(overruns)) for count in suffer)
    rows.append(["overrun, damaged operator counted too", str(len(overruns)), *shares])
    return Table("Faulty operator", heads, rows)


def kinds_table(records: Sequence[Record]) -> Table:
    """Share of faults whose first finding names the right kind of fault."""

    def cells(found: list[Record]) -> list[str]:
        right = [sum(r[way]["fault"] == r["kind"] for r in found) for way in WAYS]
        return [str(len(found)), *(share(count, len(found)) for count in right)]

    return Table("Kind of fault", ["kind", "visible", *WAYS], _per_kind(records, cells))


def rules_table(records: Sequence[Record]) -> Table:
    """Common simple rules on the same full dumps, compared with the first finding."""
    found, clean = seen(records), [r for r in records if not r["kind"]]
    rows = []
    for rule in RULES:
        good = sum(r["rules"][rule] for r in found)
        alarms = sum(bool(r["rules"][rule]) for r in clean)
        rows.append(
            [rule, share(good, len(found)), str(len(found) - good), share(alarms, len(clean))]
        )
    good = sum(hit(r, "full", 1) for r in found)
    alarms = sum(alarm(r, "full") for r in clean)
    own = ["first finding", share(good, len(found)), str(len(found) - good)]
    heads = ["full dumps", "right operator", "misses", "false alarms"]
    return Table("Simple rules", heads, [*rows, [*own, share(alarms, len(clean))]])


def alarm(record: Record, way: str) -> bool:
    """Whether a clean run has a reported defect."""
    return record[way]["verdict"] in ("fail", "crash") or bool(record[way]["answers"])


def alarms_table(records: Sequence[Record]) -> Table:
    """Clean runs with at least one reported defect. The golden is float32."""
    rows = []
    for title, low in (("same precision", False), ("lower precision", True)):
        for kind, training in (("forward", False), ("training", True)):
            clean = [
                r
                for r in records
                if not r["kind"] and r["low"] == low and (r["iterations"] > 1) == training
            ]
            rows.append([f"{title}, {kind}", str(len(clean)), *_alarms(clean)])
    clean = [r for r in records if not r["kind"]]
    rows.append(["all", str(len(clean)), *_alarms(clean)])
    return Table("False alarms", ["clean runs", "runs", *WAYS], rows)


def _alarms(clean: Sequence[Record]) -> list[str]:
    counts = [sum(alarm(r, way) for r in clean) for way in WAYS]
    return [f"{count} ({share(count, len(clean))})" for count in counts]


def confusion_table(records: Sequence[Record]) -> Table:
    """Kind named by the first finding, by injected kind; full dumps."""
    counts = {
        kind: Counter(r["full"]["fault"] or "nothing" for r in seen(records, kind))
        for kind in KINDS
    }
    named = {name for count in counts.values() for name in count}
    columns = [*(k for k in KINDS if k in named), *sorted(named - {*KINDS})]
    rows = [[kind, *(str(counts[kind][c] or "") for c in columns)] for kind in KINDS]
    return Table("Confusion of kinds", ["injected", *columns], rows)


def calibration_table(records: Sequence[Record]) -> Table:
    """Share of right kinds, by stated confidence; full dumps."""
    stated = [
        (r["full"]["probability"], r["full"]["fault"] == r["kind"])
        for r in seen(records)
        if r["full"]["probability"] is not None
    ]
    rows = []
    for low, high in pairwise(BINS):
        last = high == BINS[-1]
        here = [(p, right) for p, right in stated if low <= p and (p < high or last)]
        mean = f"{sum(p for p, _ in here) / len(here):.3f}" if here else "–"
        good = sum(right for _, right in here)
        rows.append([f"{low} to {high}", str(len(here)), mean, share(good, len(here))])
    heads = ["stated confidence", "answers", "mean", "kind right"]
    return Table("Calibration", heads, rows)


def visible_table(records: Sequence[Record]) -> Table:
    """Injected faults, and those excluded because they are not visible in the results."""
    rows = []
    for kind in KINDS:
        mine = [r for r in records if r["kind"] == kind]
        planted = [r for r in mine if r["visible"] is not None]
        left_out = sum(not r["visible"] for r in planted)
        cells = [len(planted), len(planted) - left_out]
        rows.append(
            [kind, *map(str, cells), share(left_out, len(planted)), str(len(mine) - len(planted))]
        )
    planted = [r for r in records if r.get("visible") is not None]
    left_out = sum(not r["visible"] for r in planted)
    total = [str(len(planted)), str(len(planted) - left_out), share(left_out, len(planted)), ""]
    heads = ["kind", "injected", "visible", "excluded", "no place found"]
    return Table("Visible faults", heads, [*rows, ["all", *total]])


def places_table(records: Sequence[Record]) -> Table:
    """Share of faults whose operator is the first finding, by network, surface and device."""
    rows = []
    for key in ("model", "surface", "device"):
        names = dict.fromkeys(sorted(r[key] for r in records))
        for name in names:
            found = [r for r in seen(records) if r[key] == name]
            rows.append([name, str(len(found)), *(hits(found, way, 1) for way in WAYS)])
    return Table("By network, surface and device: top 1", ["place", "visible", *WAYS], rows)


def ended_table(records: Sequence[Record]) -> Table:
    """Runs that a fault ended. Their dumps stop at the failed operator; the first finding should name it."""
    rows = []
    for kind in ENDING:
        found = [r for r in records if r["kind"] == kind and "named" in r]
        good = sum(r["named"] == 0 for r in found)
        rows.append([kind, str(len(found)), share(good, len(found))])
    return Table("Aborted runs", ["kind", "runs", "operator named"], rows)


def misses(records: Sequence[Record], way: str, most: int) -> list[str]:
    """Lines about visible faults whose operator does not come first."""
    told = (r for r in seen(records) if r[way].get("told", True))
    found = [r for r in told if not hit(r, way, 1)]
    return [
        f"{r['seed']} {r['kind']} {r['settings']} {r['model']} {r['device']} {r['surface']}/{r['files']} "
        f"{r['mode'] or 'own mode'}: {r['operator']} → {r[way]['verdict']} {r[way]['fault']} "
        f"{r[way]['answers'][:2]} effect {r['effect']:.2g} noise {r['noise']:.2g}"
        for r in found[:most]
    ]
