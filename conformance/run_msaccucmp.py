"""Lets msaccucmp compare dumps of offline models with golden data, and records its rows.

The pairs are those of ``tests/kit/build/msaccucmp_pairs.py``: containers, golden npy files, and the compiled graph
as ATC's JSON. msaccucmp is run from the command line, in msprobe's environment: ``make conformance-msaccucmp``.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from kit.build import msaccucmp_pairs as pairs

HERE = Path(__file__).parent
FIGURES = [
    "CosineSimilarity", "MaxAbsoluteError", "AccumulatedRelativeError", "RelativeEuclideanDistance",
    "StandardDeviation", "MeanAbsoluteError", "RootMeanSquareError", "MaxRelativeError", "MeanRelativeError",
]  # fmt: skip
"""Columns that are kept; the divergence of Kullback and Leibler is none of our metrics."""

PAIRED = re.compile(r"Left\((.+:(?:input|output):\d+)\) <=+> Right\((.*):output:(\d+)\)")
"""What its log says: tensor, and operator and output of the golden."""

LONELY = ["There is no dump file", "There is no the ground truth dump file"]
ABOUT = (
    "import importlib.metadata as m; print(*(m.version(n) for n in ('mindstudio-probe', 'numpy')))"
)
WHERE = "import importlib.util as u; print(u.find_spec('msprobe').submodule_search_locations[0])"


def main() -> None:
    """Run every pair and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", type=Path, help="interpreter of an environment that has msprobe")
    parser.add_argument("out", type=Path, help="record to write")
    arguments = parser.parse_args()
    versions = _output(arguments.python, ABOUT).split()
    about = dict(zip(("mindstudio-probe", "numpy"), versions, strict=True))
    record: dict[str, Any] = {"about": about, "figures": FIGURES, "pairs": {}}
    with tempfile.TemporaryDirectory(prefix="conformance") as folder:
        for number, name in enumerate(pairs.CASES):
            found = compare(arguments.python, name, Path(folder, str(number)))
            record["pairs"][name] = found
            print(f"{name}: {len(found['rows'])} rows, {len(found['lonely'])} without figures")
    arguments.out.write_text(_text(record), encoding="ascii")


def _output(python: Path, code: str) -> str:
    return subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def compare(python: Path, name: str, folder: Path) -> dict[str, Any]:
    """Compare a pair with msaccucmp; give its rows by tensor, and why the others have no figures."""
    pair = pairs.build(name, folder)
    (folder / "result").mkdir()
    script = HERE / "msaccucmp_alone.py"
    asked = ["compare", "-m", pair.containers, "-g", pair.golden, "-f", pair.graph]
    own = Path(_output(python, WHERE), "msaccucmp")
    command = [python, script, own, *asked, "-out", folder / "result"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    tables = list((folder / "result").glob("*.csv"))
    # 2: some operator has no dump, as constants and the inputs of a network never have
    if run.returncode not in (0, 2) or len(tables) != 1:
        sys.exit(f"{name}: msaccucmp gave {run.returncode}\n{run.stdout}{run.stderr}")
    golden = {tensor: (op, int(slot)) for tensor, op, slot in PAIRED.findall(run.stderr)}
    found: dict[str, Any] = {"sums": pairs.checksums(pair), "rows": [], "lonely": []}
    with tables[0].open(encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            _add(found, line, golden)
    return found


def _add(found: dict[str, Any], line: dict[str, str], golden: dict[str, tuple[str, int]]) -> None:
    tensor = line["TensorIndex"]
    if not _lonely(line):
        found["rows"].append([tensor, *golden[tensor], *(line[title] for title in FIGURES)])
    else:
        found["lonely"].append([line["NPUDump"] if tensor == "NaN" else tensor, _lonely(line)])


def _lonely(line: dict[str, str]) -> str:
    return next((text for text in LONELY if text in line["CompareFailReason"]), "")


def _text(record: dict[str, Any]) -> str:
    """JSON with a line for each row, so that records can be told apart."""
    blocks = []
    for name, found in record["pairs"].items():
        rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in found["rows"])
        rest = {key: found[key] for key in ("sums", "lonely")}
        head = json.dumps(rest, separators=(",", ":"))[:-1]
        blocks.append(f'{json.dumps(name)}:{head},"rows":[\n{rows}\n]}}')
    about, figures, every = (
        json.dumps(record["about"]),
        json.dumps(record["figures"]),
        ",\n".join(blocks),
    )
    return f'{{"about":{about},\n"figures":{figures},\n"pairs":{{\n{every}\n}}}}\n'


if __name__ == "__main__":
    main()
