"""How processor time and memory of a comparison grow with the number of tensor pairs, stage by stage.

``python benchmarks/growth.py [--sizes 2000 8000 35000] [--kinds graphs plain] [--folder F] [--no-memory]``
``python benchmarks/growth.py --stop 20000 [--kinds graphs plain] [--folder F]``

Every comparison runs in a process of its own, on one thread, after a small one that loads what is loaded once. The
exponent e says that n times as many pairs take n^e times as long: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIZES = (2_000, 8_000, 35_000)
KINDS = ("graphs", "plain")
LEAST = 0.1
"""Seconds at the smaller size below which an exponent says nothing."""

WARM = 200


def exponent(few: tuple[int, float], many: tuple[int, float]) -> float:
    """Growth exponent between two sizes, each with what it took.

    >>> exponent((10, 2.0), (20, 8.0))
    2.0
    """
    return math.log(many[1] / few[1]) / math.log(many[0] / few[0])


def table(kind: str, unit: str, found: Mapping[int, Mapping[str, float]]) -> str:
    """Return figures by size and name as a table of Markdown; seconds with their exponents."""
    sizes = sorted(found)
    timed = unit == "s" and len(sizes) > 1
    head = [f"{kind}, {unit}", *(f"{size:,} pairs" for size in sizes)]
    rows = [[*head, *(["exponent"] if timed else [])]]
    rows.append(["---"] * len(rows[0]))
    for name in found[sizes[0]]:
        values = [found[size][name] for size in sizes]
        row = [name, *(f"{value:.2f}" for value in values)]
        if timed:
            known = [(s, v) for s, v in zip(sizes, values, strict=True) if v >= LEAST]
            row.append(f"{exponent(known[0], known[-1]):.2f}" if len(known) > 1 else "")
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def measured(kind: str, size: int, folder: Path, what: str) -> dict[str, float]:
    """Measure one comparison in a process of its own: ``times`` (s), ``stopped`` (s) or ``memory`` (bytes)."""
    command = [sys.executable, __file__, "--one", kind, str(size), what, "--folder", str(folder)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(said)
    return found


def one(kind: str, size: int, what: str, folder: Path) -> dict[str, float]:
    """Measure in this process."""
    from growing import stages
    from growing.trees import trees

    measure = {"times": stages.times, "memory": stages.memory, "stopped": stages.stopped}[what]
    with tempfile.TemporaryDirectory() as out:
        warm = stages.times if measure is stages.stopped else measure
        warm(*trees(kind, WARM, folder), Path(out))
        return measure(*trees(kind, size, folder), Path(out))


def stops(kinds: Sequence[str], size: int, folder: Path) -> None:
    """Print what a stop takes, the least of three."""
    for kind in kinds:
        rounds = [measured(kind, size, folder, "stopped") for _ in range(3)]
        print(table(f"{kind}, stopped", "s", {size: min(rounds, key=lambda one: one["stop"])}))


def every(kinds: Sequence[str], sizes: Sequence[int], folder: Path, *, memory: bool) -> None:
    """Print all tables as they become known."""
    for kind in kinds:
        times = {size: measured(kind, size, folder, "times") for size in sizes}
        for found in times.values():
            found["all"] = sum(found.values())
        print(table(kind, "s", times), flush=True)
        if memory:
            kept = {size: measured(kind, size, folder, "memory") for size in sizes}
            for size, found in kept.items():
                found.update({name: value / size / 1024 for name, value in found.items()})
            print(table(kind, "KB a pair", kept), flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[*SIZES])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS])
    parser.add_argument("--folder", type=Path, help="folder of the trees; kept, and used again")
    parser.add_argument("--no-memory", action="store_true", help="times alone")
    parser.add_argument("--stop", type=int, metavar="SIZE", help="what a stop takes, alone")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        folder = arguments.folder or Path(passing)
        if arguments.one:
            kind, size, what = arguments.one
            print(json.dumps(one(kind, int(size), what, folder)))
        elif arguments.stop:
            stops(arguments.kinds, arguments.stop, folder)
        else:
            every(arguments.kinds, arguments.sizes, folder, memory=not arguments.no_memory)


if __name__ == "__main__":
    from one_thread import start_anew

    start_anew()
    main()
