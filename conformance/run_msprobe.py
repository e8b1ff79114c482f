"""Lets msprobe compare pairs of dump trees and records its figures.

The pairs are those of ``tests/kit/build/msprobe_pairs.py``. msprobe is run as its users run it, from the
command line, in an environment of its own: ``make conformance-msprobe``.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from kit.build import msprobe_pairs as pairs

SIDES = ("NPU", "Bench")
SUMMARY = [f"{side} {figure}" for side in SIDES for figure in ("max", "min", "mean", "l2norm")]
TITLES = {
    "tensor": [
        "Accuracy Reached or Not", "Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr",
        "One Thousandth Err Ratio", "Five Thousandths Err Ratio", *SUMMARY, "Err_message",
    ],
    "statistic": [
        "Accuracy Reached or Not", "Max diff", "Min diff", "Mean diff", "L2norm diff",
        "MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr", *SUMMARY,
        "Err_message",
    ],
}  # fmt: skip
"""Columns that are kept."""


def main() -> None:
    """Run every pair and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("msprobe", type=Path, help="its command, in an environment of its own")
    parser.add_argument("out", type=Path, help="record to write")
    arguments = parser.parse_args()
    record: dict[str, Any] = {"about": versions(arguments.msprobe), "titles": TITLES, "pairs": {}}
    with tempfile.TemporaryDirectory(prefix="conformance") as folder:
        for number, name in enumerate(pairs.NAMES):
            record["pairs"][name] = found = compare(
                arguments.msprobe, name, Path(folder, str(number))
            )
            print(f"{name}: {len(found['rows'])} pairs, {len(found['lonely'])} tensors alone")
    arguments.out.write_text(_text(record), encoding="ascii")


def versions(msprobe: Path) -> dict[str, str]:
    """Versions of what computes the figures."""
    code = (
        "import importlib.metadata as m; "
        "print(*(m.version(n) for n in ('mindstudio-probe', 'numpy', 'mindspore')))"
    )
    python = msprobe.parent / "python"
    told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return dict(zip(("mindstudio-probe", "numpy", "mindspore"), told.stdout.split(), strict=True))


def compare(msprobe: Path, name: str, folder: Path) -> dict[str, Any]:
    """Compare a pair with msprobe; give its rows by the names of the tensors."""
    target, golden = pairs.build(name, folder)
    # with a rank it compares trees of MindSpore, without one those of its own dumps
    sides = ["-tp", str(target), "-gp", str(golden), "-o", str(folder / "result"), "--rank", "0"]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [msprobe, "compare", *sides], capture_output=True, text=True, env=environment, check=False
    )
    tables = sorted((folder / "result").glob("*.csv"))
    if run.returncode or not tables:
        sys.exit(f"{name}: msprobe gave {run.returncode} and no table\n{run.stdout}{run.stderr}")
    trees = [pairs.tensors(side) for side in (target, golden)]
    found: dict[str, Any] = {"kind": "", "rows": [], "lonely": []}
    for table in tables:
        iteration = int(table.name.split("_")[3])
        with table.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.DictReader(stream))
        found["kind"] = "statistic" if "Max diff" in lines[0] else "tensor"
        _add(found, lines, iteration, trees)
    found["rows"].sort()
    found["lonely"].sort()
    return found


def _add(
    found: dict[str, Any],
    lines: list[dict[str, str]],
    iteration: int,
    trees: list[dict[pairs.Key, pairs.Tensor]],
) -> None:
    """Add the lines of a table: pairs with both checksums, and tensors that were paired with none."""
    paired = [line for line in lines if line["NPU Name"] and line["Bench Name"]]
    for line in paired:
        keys = [
            _key(line[f"{side} Name"], iteration, tree, found)
            for side, tree in zip(SIDES, trees, strict=True)
        ]
        sums = [tree[key].checksum for key, tree in zip(keys, trees, strict=True)]
        if keys[0] != keys[1]:
            sys.exit(f"{keys[0]} was paired with {keys[1]}")
        figures = [_number(line[title].strip()) for title in TITLES[found["kind"]]]
        found["rows"].append([*keys[0], *sums, *figures])
    for line in lines:
        for side, tree in zip(SIDES, trees, strict=True):
            if line not in paired and line[f"{side} Name"]:
                found["lonely"].append([side, *_key(line[f"{side} Name"], iteration, tree, found)])


def _key(
    name: str, iteration: int, tree: dict[pairs.Key, pairs.Tensor], found: dict[str, Any]
) -> pairs.Key:
    """Key of the tensor that a line names: a file, or operator, task, io and slot of statistics."""
    if found["kind"] == "tensor":
        return next(key for key, tensor in tree.items() if tensor.path == Path(name))
    operator, _, io, slot = name.split(".")
    return iteration, operator, io, int(slot), 0


def _number(text: str) -> float | str:
    """Twelve digits: msprobe prints as many decimals."""
    try:
        value = float(text)
    except ValueError:
        return text
    return float(f"{value:.12g}") if abs(value) < float("inf") else text


def _text(record: dict[str, Any]) -> str:
    """JSON with a line for each row, so that records can be told apart."""
    blocks = []
    for name, found in record["pairs"].items():
        rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in found["rows"])
        lonely = json.dumps(found["lonely"], separators=(",", ":"))
        head = f'{json.dumps(name)}:{{"kind":"{found["kind"]}","lonely":{lonely}'
        blocks.append(f'{head},"rows":[\n{rows}\n]}}')
    about, titles = json.dumps(record["about"]), json.dumps(record["titles"])
    return f'{{"about":{about},\n"titles":{titles},\n"pairs":{{\n{",".join(blocks)}\n}}}}\n'


if __name__ == "__main__":
    main()
