"""Damaged files of every kind are read or refused: quickly, in little memory, inside their folder.

Every run gives each reader three and takes one tree of every kind, by turns the one that is reported and read
again under tracemalloc; the nightly run as many again and two more trees; ``make mutations`` gives ten thousand
to each, and two thousand damaged trees of every kind.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kit.cases import nightly
from kit.damage import processes
from kit.damage.good_files import READERS, TREES
from workbench.dump.formats.table import FILE_FORMATS, parse_name

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux tells it"
)

WHOLE = "MUTATIONS" in os.environ
FILES = int(os.environ.get("MUTATIONS", "15"))
COUNTS = dict.fromkeys(READERS, FILES) | dict.fromkeys(TREES, max(3, FILES // 5 * (FILES > 60)))
FEW = 3
"""How many files every run takes of each reader: the first; with ``MUTATIONS`` all of them are one case."""

BY_TURNS = {name: place % 3 for place, name in enumerate(TREES)}
"""Which tree of each kind every run takes; the first is also reported and read again under tracemalloc."""


def shares():
    """Name, number of the first damage and how many, as parameters; other shares are for the nightly run."""
    parts = [(name, *part) for name, count in COUNTS.items() for part in parted(name, count)]
    marks = [(pytest.mark.slow,) if name in TREES else () for name, *_ in parts]
    cases = [pytest.param(*part, marks=some) for part, some in zip(parts, marks, strict=True)]
    daily = [part for part in parts if part[1] == BY_TURNS.get(part[0], 0)]
    return nightly(cases, parts if WHOLE else daily)


def parted(name, count):
    """What every run takes of so many damages, and what is left."""
    if WHOLE:
        return [(0, count)]
    if name in TREES:
        return [(number, 1) for number in range(count)]
    return [(0, FEW), (FEW, count - FEW)]


WORKER = Path(processes.__file__)


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Has a process of its own read damaged files; a new one if it died."""
    workers = []

    def answer(*question):
        if not workers or workers[-1].poll() is not None:
            workers.append(worker(tmp_path_factory.mktemp("damaged")))
        workers[-1].stdin.write(json.dumps(question) + "\n")
        workers[-1].stdin.flush()
        return json.loads(workers[-1].stdout.readline() or "{}")

    yield answer
    for process in workers:
        process.communicate()


def worker(folder: Path) -> subprocess.Popen:
    """Start the process; what is allocated in large pieces is given back at once, so it counts."""
    path = os.pathsep.join(map(str, WORKER.parents[2:4]))
    pieces = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    return subprocess.Popen(
        [sys.executable, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | pieces | {"PYTHONPATH": path, "TMPDIR": str(folder)},
    )


def test_every_kind_of_file_in_a_tree_is_damaged():
    names = [Path(path).name for reader in READERS.values() for path in reader.files()]
    kinds = {found.kind for name in names if (found := parse_name(name)) is not None}
    never_opened = {"renamed", "renamed-npy", "oldest"}
    assert {row.id for row in FILE_FORMATS} - kinds == never_opened | {
        "call"
    }  # which is read as node is


@pytest.mark.parametrize(("name", "first", "count"), shares())
def test_damaged_files_are_read_or_refused(ask, name, first, count):
    report = ask(name, first, count)
    print(name, {key: value for key, value in report.items() if key != "failures"})
    assert report["failures"] == []
    assert report["read"] + report["refused"] >= count
