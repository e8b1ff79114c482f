"""Runs killed at any moment leave whole files alone, and the next run says what it found.

``KILLS=50`` is the whole test of each job, of a large network; by default there are few, of a small one. Every
other kill comes at a random time, the others before a random operation on files.
"""

import json
import os
import random
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from kit.damage import processes
from kit.damage.good_dumps import ask_tree
from kit.words import check_said
from workbench.core.errors import FormatError
from workbench.dump.new_folder import WORK

KILLS = int(os.environ.get("KILLS", "4"))
FORM = re.compile(r"acl_dump_\d+\.json")
"""What MindSpore O2 tells AscendCL of a step, written anew with each."""

WORKER = Path(processes.__file__)


def files(root: Path) -> dict[str, bytes]:
    """Every file under its final name."""
    found = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not name.startswith(f"{WORK}/"):
            found[name] = path.read_bytes()
    return found


@pytest.fixture(params=processes.JOBS)
def job(request, tmp_path):
    """Starts the job in a child that is killed after some seconds, and the job itself."""
    path = os.pathsep.join(map(str, WORKER.parents[2:4]))
    process = subprocess.Popen(
        [sys.executable, str(WORKER), request.param, str(tmp_path / "in")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )

    def start(out: Path, seconds: float | None = None, operation: int | None = None) -> dict:
        process.stdin.write(json.dumps([str(out), seconds, operation]) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    with process:
        yield start, processes.JOBS[request.param](tmp_path / "in")
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_killed_run_leaves_whole_files_alone_and_the_next_one_says_so(job, tmp_path):
    start, again = job
    undisturbed = start(tmp_path / "whole")
    whole = files(tmp_path / "whole")
    draw, amid = random.Random(8), 0
    for turn in range(KILLS):
        out = tmp_path / f"out{turn}"
        if turn % 2:
            killed = start(out, operation=draw.randint(1, undisturbed["operations"]))["killed"]
        else:
            killed = start(out, draw.random() * undisturbed["seconds"])["killed"]
        left = files(out)
        for name, data in left.items():
            if FORM.fullmatch(name):
                assert json.loads(data)
            else:
                assert data == whole[name], name
        amid += killed and 0 < len(left) < len(whole)
        with suppress(FormatError):  # there may be too little to know the layout by
            ask_tree(out)
        said = next_run(again, out)
        if (out / WORK).exists():
            check_said(said, "dump/out-interrupted", files=len(left))
        elif left:
            assert left == whole
            check_said(said, "dump/out-filled")
        else:
            assert (said, files(out)) == (None, whole)
    assert amid


def next_run(job, out: Path) -> FormatError | None:
    try:
        job(str(out))
    except FormatError as error:
        return error
    return None
