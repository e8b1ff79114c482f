"""What came of the mutants, area by area: a table for the screen, a page for the documents."""

from __future__ import annotations

from collections import Counter
from typing import Any

TITLES = ("area", "mutants", "killed", "survived", "no test", "killed, %")
HEAD = """\
# Mutations

How many small faults the tests nearest to them find: `python benchmarks/mutation.py`. A mutant is one fault in one
function (a comparison swapped, a condition turned around, a number changed by one, a statement left out); the test
files run that import its module, for at most {budget} seconds. What survives is often no fault at all, as a bound that
is larger than it need be; the rates are there to be compared, not to be 100.

Revision {revision}, seed {seed}.
"""


def rows(results: dict[str, Any]) -> dict[str, Counter[str]]:
    """Outcomes by area, and of all."""
    found: dict[str, Counter[str]] = {}
    for one in results["mutants"].values():
        found.setdefault(one["area"], Counter())[one["outcome"]] += 1
    found = dict(sorted(found.items()))
    return found | {"all": sum(found.values(), Counter())}


def rate(counts: Counter[str]) -> str:
    """Share of the mutants that were killed."""
    return f"{100 * counts['killed'] / counts.total():.0f}" if counts.total() else "–"


def table(results: dict[str, Any], other: dict[str, Any] | None = None) -> list[str]:
    """Lines of a table; with the results of another revision its rates stand behind ours."""
    before = rows(other) if other else {}
    lines = [[*TITLES, *([f"at {other['revision']}, %"] if other else [])]]
    for area, counts in rows(results).items():
        line = [
            area,
            counts.total(),
            counts["killed"],
            counts["survived"],
            counts["no test"],
            rate(counts),
        ]
        lines.append(
            [str(cell) for cell in line] + [rate(before.get(area, Counter()))] * bool(other)
        )
    bars = ["---", *["---:"] * (len(lines[0]) - 1)]
    return [f"| {' | '.join(line)} |" for line in (lines[0], bars, *lines[1:])]


def survivors(results: dict[str, Any]) -> list[str]:
    """A line for every mutant that no test saw."""
    left = [one for one in results["mutants"].values() if one["outcome"] != "killed"]
    left.sort(key=lambda one: (one["path"], one["line"]))
    return [
        f"| `{one['path']}:{one['line']}` | {one['outcome']} | {one['kind']} "
        f"| {code(one['before'])} | {code(one['after'])} |"
        for one in left
    ]


def code(text: str) -> str:
    """A piece of code in a cell of a table."""
    line = " ".join(text.split()).replace("|", "\\|").replace("`", "'")
    return f"`{line if len(line) <= 70 else line[:67] + '...'}`"


def document(results: dict[str, Any], other: dict[str, Any] | None = None) -> str:
    """The page of the documents."""
    head = HEAD.format(budget=results["budget"], revision=results["revision"], seed=results["seed"])
    titles = ["| where | outcome | fault | code | became |", "|---|---|---|---|---|"]
    found = [*titles, *survivors(results)]
    return "\n".join([head, *table(results, other), "", "## What no test saw", "", *found, ""])
