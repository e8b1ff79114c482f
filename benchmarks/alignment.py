"""How well two graphs are aligned whose true correspondence is known by construction.

``python benchmarks/alignment.py --seeds 0-9 [--json results.json] [--markdown docs/evidence/alignment.md]``

Every seed takes every network of the catalogue, changes it in every way of `aligning.changes`, hides what an alignment
could lean on, aligns the two graphs and counts: of the pairs of operators that are claimed the true ones
(precision), of the true ones those claimed (recall). Seeds 0 to 99 are for development.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path

from diagnosis import read_seeds
from one_thread import start_anew

sys.path.insert(0, str(Path(__file__).parents[1]))


def measured(seeds: range, jobs: int) -> list[dict]:
    """Measure all seeds, several at a time."""
    from aligning.measuring import measure_seed

    found = []
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for number, records in enumerate(pool.imap(measure_seed, seeds), 1):
            found += records
            print(f"\r{number} of {len(seeds)} seeds", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def main() -> None:
    """Measure, print the tables, write files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=read_seeds, required=True, help="like 0-9, ends included")
    parser.add_argument("--json", type=Path, help="writes the counts of every pair of graphs")
    parser.add_argument("--markdown", type=Path, help="writes the document")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--misses", type=int, default=0, help="lists the mistakes of so many pairs")
    arguments = parser.parse_args()
    start = time.monotonic()
    records = measured(arguments.seeds, arguments.jobs)
    from aligning.document import document, every_table, mistakes

    print("\n\n".join(map(str, every_table(records))))
    print(*mistakes(records, arguments.misses), sep="\n")
    print(f"\n{time.monotonic() - start:.0f} s with {arguments.jobs} processes", file=sys.stderr)
    seeds = arguments.seeds[0], arguments.seeds[-1]
    if arguments.json:
        content = {"seeds": seeds, "records": records}
        arguments.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if arguments.markdown:
        command = (
            "python benchmarks/alignment.py --seeds {}-{} --markdown docs/evidence/alignment.md"
        )
        arguments.markdown.write_text(document(records, command.format(*seeds)), encoding="utf-8")


if __name__ == "__main__":
    start_anew()
    main()
