"""Exit 0 means that every promised file is whole; a full disk, a closed pipe and Ctrl+C are one line and status 2."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from itertools import product

import pytest

import workbench.config
import workbench.session.compare
from kit.cases import nightly
from kit.commands import run, status
from kit.damage.files_that_fail import WAYS, files_that_fail
from kit.face.figures import blank_figures
from workbench.core.words import Message

COMMANDS = {
    "simulate": lambda dumps, out: (
        "simulate", "--graph", "mlp", "--surface", "acl", "--config", dumps / "acl.json", "--device", "a2",
        "--out", out / "tree",
    ),
    "convert": lambda dumps, out: ("convert", dumps / "target", "--out", out / "files"),
    "compare": lambda dumps, out: (
        "compare", dumps / "target", dumps / "golden", "--json", out / "r.json", "--html", out / "r.html",
        "--csv", out / "r.csv",
    ),
    "extract": lambda dumps, out: (
        "compare", dumps / "target", dumps / "golden", "--extract", out / "case", "--next-config", out / "next.json",
    ),
}  # fmt: skip
PROMISED = {"simulate": (0, 8), "convert": (0, 20), "compare": (1, 3), "extract": (1, 11)}
"""Status of each command where nothing fails, and how many files it writes."""


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """Two dumps of a network with other weights, and the configuration that wrote them."""
    root = tmp_path_factory.mktemp("dumps")
    workbench.config.new("acl").save(root / "acl.json")
    for name, device, seed in (("target", "a2", 1), ("golden", "reference", 0)):
        made = ("--config", root / "acl.json", "--device", device, "--seed", seed)
        asked = ("--graph", "mlp", "--surface", "acl", "--out", root / name)
        assert status("simulate", *asked, *made) == 0
    return root


def copied(dumps, root):
    """The dumps once more, to be damaged, and a folder for what is written."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(dumps, root / "dumps")
    (root / "out").mkdir()
    return root / "dumps", root / "out"


def made(root):
    """What lies below a folder under a name of its own, and what of it; a report tells the time of its making."""
    files = (
        path for path in sorted(root.rglob("*")) if path.is_file() and ".partial" not in path.parts
    )
    return {str(p.relative_to(root)): p.suffix == ".html" or p.read_bytes() for p in files}


def check_compared(whole, found):
    """A result that is there counts every tensor that a side holds, whatever could not be read of it."""
    result, before = (json.loads(files["r.json"]) for files in (found, whole))
    cover = result["coverage"]
    for side in ("target", "golden"):
        skipped = sum(n for key, n in cover["skipped"].items() if key.startswith(side))
        assert cover["matched"] + cover[f"unmatched_{side}"] + skipped == result[side]["tensors"]
    told = result["anomalies"] != before["anomalies"] or cover != before["coverage"]
    told = told or lacking(result) > lacking(before)
    assert told or all(map(says_no_other, result["operators"], before["operators"]))


def says_no_other(row, before):
    """What could not be read when an operator was computed again leaves its own error unknown."""
    return row == before or (
        row["own_error"] is None and row | {"own_error": before["own_error"]} == before
    )


def lacking(result):
    """Number of tensors that could not be compared."""
    return sum(row["status"] == "uncomparable" for row in result["operators"])


@pytest.fixture
def no_figures():
    """Figures are drawn in memory, of what was read before."""
    with blank_figures():
        yield


TRIALS = [*product(COMMANDS, WAYS, (31, 1)), ("compare", "vanishes", 13)]
"""Every how many calls one fails; each command and each way is tried daily, all calls of all of them nightly."""
DAILY = [
    *product(("simulate", "convert"), WAYS, (31,)),
    ("compare", "full", 31),
    ("compare", "vanishes", 13),  # which reaches the readers that open a file once more
    *product(("extract",), ("full", "cut"), (31,)),
]


@pytest.mark.usefixtures("no_figures")
@pytest.mark.parametrize(("command", "way", "step"), nightly(TRIALS, DAILY))
def test_a_file_that_fails_at_any_call_is_told(capsys, dumps, tmp_path, command, way, step):
    inputs, out = copied(dumps, tmp_path / "run")
    whole = (status(*COMMANDS[command](inputs, out)), made(out))
    assert (whole[0], len(whole[1])) == PROMISED[command]
    at = calls = 1
    while at <= calls:
        inputs, out = copied(dumps, tmp_path / "run")
        capsys.readouterr()
        with files_that_fail(tmp_path / "run", way, at) as failing:
            code, _, err = run(capsys, *COMMANDS[command](inputs, out))
        calls, found = max(calls, failing.calls), made(out)
        assert "Traceback" not in err
        assert code in (whole[0], 2), (at, err)
        if way in ("full", "cut") or command in ("simulate", "convert"):
            assert found.items() <= whole[1].items(), (at, "a file that is not whole")
            assert code == 2 or found.keys() == whole[1].keys(), (at, "a success without its files")
        if command == "compare" and code != 2:
            check_compared(whole[1], found)
        at += step


class Full(io.TextIOBase):
    """A stream onto a full disk: what is printed fails when it is written, or only when it is flushed."""

    def __init__(self, *, at_once: bool) -> None:
        self.at_once, self.held = at_once, False

    def write(self, text):
        self.held = True
        return self._fail() if self.at_once else len(text)

    def flush(self):
        if self.held:
            self._fail()

    def _fail(self):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    "arguments", [("config", "new", "acl"), ("inspect", "target"), ("compare", "target", "golden")]
)
def test_what_cannot_be_printed_is_trouble(capsys, monkeypatch, dumps, arguments, at_once):
    monkeypatch.chdir(dumps)
    monkeypatch.setattr(sys, "stdout", Full(at_once=at_once))
    assert status(*arguments) == 2
    why = Message("cli/stream", name="stdout", why="No space left on device")
    assert capsys.readouterr().err == f"{Message('cli/error', why=why)}\n"


def test_what_stderr_does_not_take_is_no_traceback(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Full(at_once=True))
    assert status("inspect", "nowhere") == 2


BROKEN = Message("cli/io", why="Input/output error")


@pytest.mark.parametrize(
    ("error", "said"),
    [(KeyboardInterrupt(), Message("cli/interrupted")), (OSError(5, "Input/output error"), BROKEN)],
)
def test_whatever_ends_a_command_is_one_line(capsys, monkeypatch, dumps, error, said):
    def ended(*_, **__):
        raise error

    monkeypatch.setattr(workbench.session.compare, "compare", ended)
    ran = run(capsys, "compare", dumps / "target", dumps / "golden")
    assert ran == (2, "", f"{Message('cli/error', why=said)}\n")


def started(*arguments, **streams):
    """The command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "workbench", *map(str, arguments)], stderr=subprocess.PIPE, **streams
    )


def test_a_pipe_that_nobody_reads_is_trouble(dumps):
    read, write = os.pipe()
    os.close(read)
    process = started("inspect", dumps / "target", "--json", stdout=write)
    os.close(write)
    error = process.communicate()[1].decode()
    why = Message("cli/stream", name="stdout", why="Broken pipe")
    assert (process.returncode, error) == (2, f"{Message('cli/error', why=why)}\n")


INTERRUPTED = """
import signal, sys

class Loading:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Loading())
from workbench.__main__ import main
main()
"""


def test_an_interruption_while_modules_load_is_one_line():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    said = f"{Message('cli/error', why=Message('cli/interrupted'))}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
