"""What is said of clean runs: the share of each verdict, by surface, device, precision, network, dump and graphs.

``python benchmarks/clean.py --count 150 --planted 150 --json clean.json [--list 20]``

Cells are drawn by a seed out of all combinations, none twice. Each run is dumped in full, with outputs alone and
as statistics, and compared with the reference: with both graphs, the target's, the golden's and none. Nothing is
wrong in a clean run, so whatever fails is a false alarm. ``--planted`` adds runs with one fault each, compared
without graphs, to see whether its operator is named first, somebody else, or nobody.
``--markdown docs/evidence/clean.md`` writes the document; of runs with ``--noise`` it is ``docs/evidence/devices.md``.
A file of ``--json`` that is there is gone on with: the same seed and a larger count measure only what is missing.
``--network resnet_train`` draws cells of one network alone, which are other ones than the seed draws of all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from one_thread import start_anew

if TYPE_CHECKING:
    from collections.abc import Sequence

sys.path.insert(0, str(Path(__file__).parents[1]))


def _wanted(arguments: argparse.Namespace, done: Sequence[dict[str, Any]]) -> list[Any]:
    """Samples that are asked for and not measured yet, clean and planted in turn."""
    from clearing.cells import samples
    from diagnosing.cases import MODELS

    there = {(bool(r["kind"]), r["number"]) for r in done}
    found = []
    for planted, count in ((False, arguments.count), (True, arguments.planted)):
        drawn = samples(
            arguments.seed,
            planted=planted,
            noises=arguments.noise or [None],
            networks=arguments.network or tuple(MODELS),
        )
        found += [one for one in islice(drawn, count) if (planted, one.number) not in there]
    return sorted(found, key=lambda one: one.number)


def _measured(sample: Any, graphs: Sequence[str] | None) -> dict[str, Any]:
    from clearing.measuring import measure

    chosen = graphs or (("none",) if sample.kind else None)
    return measure(sample) if chosen is None else measure(sample, chosen)


def _read(file: Path | None, seed: int, networks: Sequence[str]) -> list[dict[str, Any]]:
    if file is None or not file.exists():
        return []
    content = json.loads(file.read_text(encoding="utf-8"))
    if content["seed"] != seed:
        raise SystemExit(f"{file} is of seed {content['seed']}, not {seed}")
    if content.get("networks", []) != [*networks]:
        raise SystemExit(f"{file} is of other networks")
    found: list[dict[str, Any]] = content["records"]
    return found


def _write(
    file: Path, seed: int, networks: Sequence[str], records: Sequence[dict[str, Any]]
) -> None:
    from diagnosis import plain

    part = file.with_name(f"{file.name}.part")
    content = {"seed": seed, "networks": [*networks], "records": plain(list(records))}
    part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    part.replace(file)


def measured(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure what is missing, and write every record as soon as it is there; stop when time is up."""
    networks = arguments.network or ()
    records = _read(arguments.json, arguments.seed, networks)
    wanted = _wanted(arguments, records)
    end = time.monotonic() + 60 * arguments.minutes
    measure = partial(_measured, graphs=arguments.graphs)
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        for number, record in enumerate(pool.imap_unordered(measure, wanted), 1):
            records.append(record)
            if arguments.json is not None:
                _write(arguments.json, arguments.seed, networks, records)
            print(f"\r{number} of {len(wanted)} runs", end="", file=sys.stderr, flush=True)
            if time.monotonic() > end:
                pool.terminate()
                break
    print(file=sys.stderr)
    return sorted(records, key=lambda r: (bool(r["kind"]), r["number"]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=60, help="clean runs")
    parser.add_argument("--planted", type=int, default=0, help="runs with a fault")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="writes every record, goes on with what is there")
    parser.add_argument("--minutes", type=float, default=600, help="stops after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--graphs", action="append", choices=("both", "target's", "golden's", "none"),
        help="whose graphs are there; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--noise", action="append", type=float, metavar="ERROR",
        help="on another device, whose sums are off by so much, like 2e-6; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--network", action="append", metavar="NAME",
        help="cells of this network alone, like resnet_train; may be repeated",
    )  # fmt: skip
    parser.add_argument("--list", type=int, default=0, help="lists so many wrong answers")
    parser.add_argument("--markdown", type=Path, help="writes the document of evidence")
    arguments = parser.parse_args()
    _check_networks(parser, arguments)
    return arguments


def _check_networks(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Refuse what is no network, and a document of few: the pages are of all of them."""
    from diagnosing.cases import MODELS

    unknown = [name for name in arguments.network or () if name not in MODELS]
    if unknown:
        parser.error(f"unknown network '{unknown[0]}' (choose from {', '.join(MODELS)})")
    if arguments.network and arguments.markdown:
        parser.error("--markdown documents all networks")


def main() -> None:
    """Measure, print the tables, write the file."""
    arguments = _arguments()
    records = measured(arguments)
    from clearing.tables import blamed, clean_tables, planted_tables

    tables = clean_tables(records) if arguments.count else []
    tables += [*planted_tables(records)] if arguments.planted else []
    print("\n\n".join(map(str, tables)))
    if arguments.list:
        print("\nWrong:", *blamed(records, arguments.list), sep="\n")
    if arguments.markdown is not None:
        from clearing.document import document

        arguments.markdown.write_text(document(records, arguments), encoding="utf-8")


if __name__ == "__main__":
    start_anew()
    main()
