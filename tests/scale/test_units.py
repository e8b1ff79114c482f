"""What a job consists of is known before anything is read, and a unit's fingerprint is of all that it depends on."""

from __future__ import annotations

import os
import pickle
import shutil
from itertools import product
from pathlib import Path

import pytest

from kit.words import refused
from workbench.comparison.map_file import NO_OVERRIDES
from workbench.core.errors import AlignError, FormatError
from workbench.dump.reader import load
from workbench.scale.parts import list_tree, read_part
from workbench.scale.units import GivenFiles, Settings, plan_job, spans


def files_of(tree: Path) -> list[Path]:
    return sorted(Path(tree).rglob("*.npy"))


def test_a_plan_has_every_rank_and_iteration_and_their_bytes(trees):
    plan = plan_job(trees["wrong"], trees["golden"])
    assert [(one.rank, one.iteration) for one in plan.units] == [*product(range(3), range(2))]
    sizes = [path.stat().st_size for name in ("wrong", "golden") for path in files_of(trees[name])]
    assert (plan.files, plan.nbytes) == (len(sizes), sum(sizes))
    assert plan.missing == ()


def test_a_unit_takes_less_than_a_kilobyte(trees):
    """Names of files are in no unit; a scheduler holds many units."""
    plan = plan_job(trees["wrong"], trees["golden"])
    assert max(len(pickle.dumps(one)) for one in plan.units) < 1024


def test_parts_together_are_the_tree(trees):
    whole = load(trees["wrong"])
    parts = [read_part(one) for one in list_tree(trees["wrong"]).parts().values()]
    keys = [record.key for part in parts for record in part.records]
    assert sorted(keys) == sorted(record.key for record in whole.records)
    assert all(len({rank for rank, _ in part.graphs}) == 1 for part in parts)


@pytest.mark.parametrize(
    ("ranks", "iterations", "expected"),
    [
        ("all", "1", [(0, 1), (1, 1), (2, 1)]),
        ("0,2", "all", [(0, 0), (0, 1), (2, 0), (2, 1)]),
        ("1-9", "0-0", [(1, 0), (2, 0)]),
        (2, 1, [(2, 1)]),
    ],
)
def test_ranks_and_iterations_are_chosen(trees, ranks, iterations, expected):
    plan = plan_job(trees["wrong"], trees["golden"], ranks=ranks, iterations=iterations)
    assert [(one.rank, one.iteration) for one in plan.units] == expected


@pytest.mark.parametrize("text", ["", "x", "1-", "-1", "1-2-3", "3-1", "0-99999999", "1,,2"])
def test_a_choice_that_is_none_is_refused(trees, text):
    with refused("job/numbers", AlignError, name="ranks", got=text):
        plan_job(trees["wrong"], trees["golden"], ranks=text)


def test_a_choice_that_no_side_has_is_refused(trees):
    with refused("job/nothing-common", AlignError):
        plan_job(trees["wrong"], trees["golden"], ranks="7")


def test_what_one_side_lacks_is_missing(trees, tmp_path):
    shutil.copytree(trees["wrong"], tmp_path / "t")
    shutil.rmtree(tmp_path / "t/rank_2")
    plan = plan_job(tmp_path / "t", trees["golden"])
    assert plan.ranks == (0, 1)
    assert [tuple(one) for one in plan.missing] == [("target", 2, 0), ("target", 2, 1)]


def fingerprints(trees, tree, **options):
    return {
        (one.rank, one.iteration): one.fingerprint
        for one in plan_job(tree, trees["golden"], **options).units
    }


def test_a_fingerprint_changes_with_the_files_of_its_unit_alone(trees, tmp_path):
    tree = tmp_path / "t"
    shutil.copytree(trees["wrong"], tree)
    before = fingerprints(trees, tree)
    assert fingerprints(trees, tree) == before
    changed, *_ = files_of(tree / "rank_1/Net/0/1")
    os.utime(changed, ns=(1, 1))
    after = fingerprints(trees, tree)
    assert {place for place in before if before[place] != after[place]} == {(1, 1)}


def test_a_fingerprint_changes_with_the_graph_of_its_rank(trees, tmp_path):
    tree = tmp_path / "t"
    shutil.copytree(trees["wrong"], tree)
    before = fingerprints(trees, tree)
    for path in (tree / "rank_2/graphs").iterdir():
        os.utime(path, ns=(1, 1))
    after = fingerprints(trees, tree)
    assert {place for place in before if before[place] != after[place]} == {(2, 0), (2, 1)}


@pytest.mark.parametrize(
    "settings",
    [
        Settings(depth="measured"),
        Settings(profile="ascend-npu"),
        Settings(require=90.0),
        Settings(allow_missing=("a*",)),
        Settings(overrides=NO_OVERRIDES.allow_missing(["x"])),
        Settings(given=GivenFiles(target_graph="a.ir")),
    ],
    ids=["depth", "profile", "require", "missing", "map file", "graph"],
)
def test_a_fingerprint_changes_with_settings(trees, settings):
    before, after = (
        fingerprints(trees, trees["wrong"]),
        fingerprints(trees, trees["wrong"], settings=settings),
    )
    assert not {*before.values()} & {*after.values()}


@pytest.mark.parametrize("side", ["target_graph", "golden_graph"])
def test_a_fingerprint_changes_with_a_graph_that_is_given(trees, tmp_path, side):
    """Its name stays; what it holds is another graph."""
    graph = tmp_path / "net.onnx"
    graph.write_bytes(b"one")
    settings = Settings(given=GivenFiles(**{side: str(graph)}))
    before = fingerprints(trees, trees["wrong"], settings=settings)
    assert fingerprints(trees, trees["wrong"], settings=settings) == before
    graph.write_bytes(b"other")
    after = fingerprints(trees, trees["wrong"], settings=settings)
    assert not {*before.values()} & {*after.values()}


def test_a_part_that_changed_since_it_was_listed_is_refused(trees, tmp_path):
    tree = tmp_path / "t"
    shutil.copytree(trees["wrong"], tree)
    part = list_tree(tree).parts()[1, 1]
    files_of(tree / "rank_1/Net/0/1")[0].unlink()
    with refused("job/part-changed", FormatError):
        read_part(part)
    shutil.rmtree(tree / "rank_1/Net/0/1")
    with refused("core/unreadable", FormatError):
        read_part(part)


@pytest.mark.parametrize(
    ("numbers", "text"), [([4], "4"), ([1, 0, 2], "0-2"), ([9, 3, 4, 0], "0, 3-4, 9")]
)
def test_numbers_are_written_as_ranges(numbers, text):
    assert spans(numbers) == text
