"""What `workbench compare` says, and ends with, where a dump lacks part of a network: real files of MindSpore."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kit.commands import run

GOLDEN = Path(__file__).parents[2] / "sample_dumps/real_pair/dump_a"
LAST = "BiasAdd.Default_fc3-Dense_*.output.*"
NAME = "Default/fc3-Dense/BiasAdd-op0"


@pytest.fixture
def target(tmp_path):
    """A copy of the golden run: whatever differs, the test has done."""
    return shutil.copytree(GOLDEN, tmp_path / "target")


def files(root, pattern="*.npy"):
    return sorted(root.rglob(pattern))


def empty(path):
    path.write_bytes(b"")


def garble(path):
    path.write_bytes(b"\x93NUMPY" + b"\xff" * 64)


def cut(path):
    path.write_bytes(path.read_bytes()[:-8])


ALL_BUT_ONE = "all but one"
DAMAGE = {
    f"{how.__name__} {which}": (how, which)
    for which in (ALL_BUT_ONE, "*.output.*.npy", LAST)
    for how in (Path.unlink, empty, garble, cut)
    if not (which is ALL_BUT_ONE and how is Path.unlink)
}


@pytest.mark.parametrize("case", DAMAGE)
def test_what_cannot_be_compared_is_no_agreement(target, capsys, case):
    how, which = DAMAGE[case]
    for path in files(target)[1:] if which is ALL_BUT_ONE else files(target, which):
        how(path)
    shown = run(capsys, "compare", target, GOLDEN, "--json", "-")
    result = json.loads(shown.out)
    assert (shown.status, result["verdict"]) == (3, "incomplete")
    assert result["coverage"]["outputs"] == [NAME]
    assert result["sentence"].startswith("Not compared: 1 network output")
    assert NAME in result["sentence"]


def test_the_same_files_agree(target, capsys):
    shown = run(capsys, "compare", target, GOLDEN)
    assert (shown.status, shown.out.splitlines()[-1].partition(":")[0]) == (0, "pass")


@pytest.mark.parametrize(("options", "status"), [
    ((), 3),
    (("--require", "50"), 3),  # a network output is asked for whatever the share
    (("--allow-missing", "Default/fc1-*"), 3),
    (("--allow-missing", NAME), 0),
    (("--allow-missing", "*fc3-Dense*"), 0),
    (("--allow-missing", "nothing", "--allow-missing", "*BiasAdd*"), 0),
])  # fmt: skip
def test_gaps_are_allowed_by_name(target, capsys, options, status):
    (last,) = files(target, LAST)
    last.unlink()
    assert run(capsys, "compare", target, GOLDEN, *options).status == status


@pytest.mark.parametrize(("percent", "status"), [("100", 3), ("99", 3), ("90", 0)])
def test_less_than_everything_is_asked_for_on_demand(target, capsys, percent, status):
    """Of conv1 no file is left that shows its result: three tensors of 67 that count."""
    for path in files(target, "*conv1-Conv2d_Conv2D*.npy"):
        path.unlink()
    for path in files(target, "ReLU.Default_relu-ReLU_ReLU-op0*input*.npy"):
        path.unlink()
    assert run(capsys, "compare", target, GOLDEN, "--require", percent).status == status


@pytest.mark.parametrize("percent", ["0", "-1", "101", "nan"])
def test_a_share_is_a_percentage(target, capsys, percent):
    shown = run(capsys, "compare", target, GOLDEN, "--require", percent)
    assert (shown.status, shown.out) == (2, "")
    assert len(shown.err.strip().splitlines()) == 1


def test_a_map_file_allows_gaps_and_says_why(target, capsys, tmp_path):
    (last,) = files(target, LAST)
    last.unlink()
    reason = "the head is dumped on the CPU alone"
    (tmp_path / "map.json").write_text(json.dumps({"missing": [{"name": NAME, "reason": reason}]}))
    shown = run(capsys, "compare", target, GOLDEN, "--map", tmp_path / "map.json", "--json", "-")
    result = json.loads(shown.out)
    assert (shown.status, result["verdict"]) == (0, "warn")
    assert [(one["kind"], one["reason"]) for one in result["overrides"]] == [("missing", reason)]
