"""How often the diagnosis is right: faults are planted in simulated runs, dumped, compared and scored.

``python benchmarks/diagnosis.py --seeds 0-99 --json results.json [--markdown docs/evidence/diagnosis.md]``

Every seed plants every kind of fault once, in an operator, a network, on a device, in a precision mode and on a
surface that it draws, and runs the same networks without a fault. Each run is dumped in full, with outputs
alone and as statistics, each as the surface asks for it, and compared with the full golden tree of the
reference, from files. Seeds 0 to 99 are for development, 1000 to 1099 for the calibration of
probabilities; 2000 and on judge, and only these are documented.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from one_thread import start_anew

if TYPE_CHECKING:
    from collections.abc import Sequence

sys.path.insert(0, str(Path(__file__).parents[1]))


def read_seeds(text: str) -> range:
    """Read ``7`` or ``0-99``, ends included."""
    first, _, last = text.partition("-")
    if not first.isdecimal() or not (last or first).isdecimal():
        raise argparse.ArgumentTypeError(f"seeds must be like 0-99, got {text!r}")
    return range(int(first), int(last or first) + 1)


def measured(
    seeds: range, jobs: int, file: Path | None, *, meaningless: bool, changed: Sequence[str] = ()
) -> list[dict]:
    """Measure all seeds, several at a time, and write every record as soon as it is there."""
    from diagnosing.measuring import measure_seed

    measure = partial(measure_seed, meaningless=meaningless, changed=changed)
    found = []
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        for number, records in enumerate(pool.imap(measure, seeds), 1):
            found += records
            if file is not None:
                write_json(file, seeds, found)
            print(f"\r{number} of {len(seeds)} seeds", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def plain(value: object) -> object:
    """A value as JSON has it: infinities as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def write_json(file: Path, seeds: range, records: list[dict]) -> None:
    """Write the records of the seeds so far."""
    content = {"seeds": [seeds[0], seeds[-1]], "records": plain(records)}
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _check_limits(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Refuse what is no limit. The document is of the default ones."""
    from diagnosing.limits import read_limits

    try:
        read_limits(arguments.limit)
    except ValueError as error:
        parser.error(str(error))
    if arguments.limit and arguments.markdown:
        parser.error("--markdown documents the default limits")


def main() -> None:
    """Measure, print the tables, write files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=read_seeds, required=True, help="like 0-99, ends included")
    parser.add_argument("--json", type=Path, help="writes every record")
    parser.add_argument("--markdown", type=Path, help="writes the document")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--renamed", action="store_true", help="under meaningless names, without source lines"
    )
    parser.add_argument("--misses", type=int, default=0, help="lists so many misses of each way")
    parser.add_argument(
        "--limit", action="append", default=[], metavar="NAME=VALUE",
        help="judge by another limit (docs/reference/limits.md); may be repeated",
    )  # fmt: skip
    arguments = parser.parse_args()
    _check_limits(parser, arguments)
    start = time.monotonic()
    given = arguments.seeds, arguments.jobs, arguments.json
    records = measured(*given, meaningless=arguments.renamed, changed=arguments.limit)
    from diagnosing.runs import WAYS
    from diagnosing.tables import every_table, misses

    print("\n\n".join(map(str, every_table(records))))
    for way in WAYS if arguments.misses else ():
        print(f"\nMisses, {way}:", *misses(records, way, arguments.misses), sep="\n")
    print(f"\n{time.monotonic() - start:.0f} s with {arguments.jobs} processes", file=sys.stderr)
    if arguments.markdown:
        from diagnosing.document import document

        seeds = f"{arguments.seeds[0]}-{arguments.seeds[-1]}"
        command = (
            f"python benchmarks/diagnosis.py --seeds {seeds} --markdown docs/evidence/diagnosis.md"
        )
        text = document(records, command, meaningless=arguments.renamed)
        arguments.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    start_anew()
    main()
