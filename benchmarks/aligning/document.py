"""Tables of the measurements, and ``docs/evidence/alignment.md``: the same results give the same text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnosing.tables import Table, share

from aligning.cases import HINTS, MIXED, NETWORKS, ROWS, TWICE, used_twice
from aligning.changes import CHANGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Record = dict[str, Any]

HEAD = Path(__file__).with_name("document.md")
"""What stands above the tables."""


def document(records: Sequence[Record], command: str) -> str:
    """The whole document."""
    changes = {name: change.__doc__ or "" for name, change in CHANGES.items()}
    changes[TWICE] = used_twice.__doc__ or ""
    head = HEAD.read_text(encoding="utf-8").format(
        command=command,
        seeds=len({r["seed"] for r in records}),
        pairs=len(records),
        operators=sum(r["true"] for r in records),
        networks=", ".join(f"`{name}`" for name in NETWORKS),
        changes="\n".join(
            f"* **{name}**: {text.splitlines()[0]}" for name, text in changes.items()
        ),
    )
    return "\n".join((head, *(f"{table}\n" for table in every_table(records))))


def every_table(records: Sequence[Record]) -> list[Table]:
    """All tables, the most important first; what each shows is said by its function."""
    made = (total_table, precision_table, recall_table, rules_table, networks_table)
    return [replace(make(records), note=make.__doc__ or "") for make in made]


def _share(records: Iterable[Record], part: str, whole: str) -> str:
    found = list(records)
    return share(sum(r[part] for r in found), sum(r[whole] for r in found))


def _cells(records: Sequence[Record]) -> list[str]:
    return [
        str(len(records)),
        str(sum(r["true"] for r in records)),
        _share(records, "right", "claimed"),
        _share(records, "right", "true"),
        str(sum(r["groups"] for r in records)),
        _share(records, "whole", "groups"),
    ]


_HEADS = ("graphs", "true pairs", "precision", "recall", "groups", "complete")


def total_table(records: Sequence[Record]) -> Table:
    """By hints. A group has several operators on a side; *complete* means all of them and no other."""
    rows = [[name, *_cells([r for r in records if r["hints"] == name])] for name in HINTS]
    return Table("Total", ["hints", *_HEADS], [*rows, ["all", *_cells(records)]])


def precision_table(records: Sequence[Record]) -> Table:
    """Share of the claimed pairs that are true, by change (rows) and hints (columns)."""
    return _by_change("Precision", records, "claimed")


def recall_table(records: Sequence[Record]) -> Table:
    """Share of the true pairs that are claimed, by change (rows) and hints (columns)."""
    return _by_change("Recall", records, "true")


def _by_change(title: str, records: Sequence[Record], whole: str) -> Table:
    def row(name: str, found: Sequence[Record]) -> list[str]:
        hinted = ([r for r in found if r["hints"] == hints] for hints in HINTS)
        return [name, *(_share(some, "right", whole) for some in hinted)]

    rows = [row(name, [r for r in records if r["row"] == name]) for name in ROWS]
    return Table(title, ["change", *HINTS], [*rows, row("all", records)])


def rules_table(records: Sequence[Record]) -> Table:
    """Claimed pairs and their precision, by match rule."""
    rules: dict[str, list[int]] = {}
    for record in records:
        for name, (claimed, right) in record["rules"].items():
            mine = rules.setdefault(name, [0, 0])
            mine[0] += claimed
            mine[1] += right
    rows = [
        [name, str(claimed), share(right, claimed)]
        for name, (claimed, right) in sorted(rules.items(), key=lambda item: -item[1][0])
    ]
    return Table("Rules", ["rule", "pairs claimed", "precision"], rows)


def networks_table(records: Sequence[Record]) -> Table:
    """By network, for *three of these*."""
    mixed = [r for r in records if r["row"] == MIXED]
    rows = [[name, *_cells([r for r in mixed if r["network"] == name])] for name in NETWORKS]
    return Table("Networks", ["network", *_HEADS], rows)


def mistakes(records: Sequence[Record], most: int) -> list[str]:
    """Lines about the pairs with most mistakes."""
    worst = sorted(records, key=lambda r: r["right"] - r["true"] + r["right"] - r["claimed"])
    return [
        f"{r['seed']} {r['network']} {r['done']} {r['hints']}: {line}"
        for r in worst[:most]
        for line in r["mistakes"]
    ]
