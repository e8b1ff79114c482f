"""Trees of releases that `simulate` does not write: read, bound to their graphs, and compared with newer ones."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from kit.build.old_trees import RELEASES, file_name, old_tree, op_names, tensors
from workbench.comparison.bind.bind import bind
from workbench.dump.reader import load

SAID = {
    "1.3": "mindspore 1.3", "1.5": "mindspore 1.5-1.6", "1.6": "mindspore 1.5-1.6", "1.7": "mindspore 1.7-1.8",
    "1.8": "mindspore 1.8", "1.10": "mindspore 1.9-1.10", "2.0": "mindspore 2.0-2.1", "2.1": "mindspore 2.1",
    "2.2": "mindspore 2.2", "2.3": "mindspore", "2.4": "mindspore",
}  # fmt: skip
TABLES = [version for version, release in RELEASES.items() if release.metadata]
AGAINST = [(x, y) for x in RELEASES for y in ("1.3", "2.2", "2.4") if x != y]


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """A tree of every release."""
    root = tmp_path_factory.mktemp("old")
    return {version: old_tree(root / version, version) for version in RELEASES}


@pytest.mark.parametrize("version", RELEASES)
def test_every_file_of_a_release_is_read(trees, version):
    dump, release = load(trees[version]), RELEASES[version]
    graph = dump.graphs[0, 0]
    assert (dump.skipped, dump.notes, graph.unknown_lines) == ((), (), 0)
    assert graph.dialect == SAID[version]
    assert dump.info.get("ms_version", "") == (f"{version}.0" if release.metadata else "")
    assert tuple(op.name for op in graph.ops) == op_names(release)
    read = {(r.key.op_type, r.key.op_name, r.key.io, r.key.slot): r for r in dump.records}
    for tensor in tensors(release):
        record = read.pop((tensor.op_type, file_name(release, tensor), tensor.io, tensor.slot))
        assert record.source.array().tolist() == tensor.value.tolist()
        assert record.key.iteration == 0
    constants = {name.rpartition(".")[2]: record for (_, name, _, _), record in read.items()}
    assert constants.keys() == {name.rpartition(".")[2] for name in release.constants}
    once = release.constants[0].startswith("constants/")
    assert {record.key.iteration for record in constants.values()} == {-1 if once else 0}
    values = [record.source.array().tolist() for _, record in sorted(constants.items())]
    assert values == [[0, 1], True]


@pytest.mark.parametrize("version", RELEASES)
def test_every_file_is_bound_to_its_operator(trees, version):
    """Names without scopes are told apart by their ids, which are unique in these releases."""
    (runs,) = bind(load(trees[version])).runs.values()
    bound = {run.op_name: {r.key.op_name for r in run.tensors.values()} for run in runs.values()}
    release = RELEASES[version]
    names = {tensor.name: {file_name(release, tensor)} for tensor in tensors(release)}
    assert {name: bound[name] for name in op_names(release)} == {
        name: names[name] for name in op_names(release)
    }


@pytest.mark.parametrize(("one", "other"), AGAINST)
def test_a_tree_of_one_release_agrees_with_that_of_another(trees, one, other):
    found = wb.compare(trees[one], trees[other])
    numbered = {
        version: RELEASES[version].constants[0].startswith("0/") for version in (one, other)
    }
    apart = 2 if len(set(numbered.values())) == 2 else 0  # constants that have no common name
    assert found.verdict == ("warn" if apart else "pass")
    paired = [row for row in found.result.rows if row.match_rule]
    assert (len(paired), {row.status for row in paired}) == (16 - apart, {"equal"})
    assert (found.coverage.unmatched_target, found.coverage.unmatched_golden) == (apart, apart)


@pytest.mark.parametrize("version", TABLES)
def test_a_table_of_a_release_agrees_with_a_newer_tree_of_tensors(trees, tmp_path, version):
    root = old_tree(tmp_path / "table", version, table=True)
    dump = load(root)
    assert (dump.skipped, dump.notes, len(dump.records)) == ((), (), 14)
    (row,) = (r for r in dump.records if r.key.op_type == "ReduceMean" and r.key.io == "output")
    mean = tensors(RELEASES[version])[11].value
    assert row.statistics["Max Value"] == np.float64(f"{float(mean[0, 0]):.6g}")
    assert row.statistics["Zero Count"] == 0
    found = wb.compare(root, trees["2.4"])
    paired = [row for row in found.result.rows if row.match_rule]
    assert len(paired) == 14
    assert {row.status for row in paired} <= {"equal", "pass"}
    assert found.verdict in ("pass", "warn")


@pytest.mark.parametrize("version", ["1.3", "1.10", "2.0", "2.2"])
@pytest.mark.parametrize("place", [0, 2])
def test_an_operator_that_is_wrong_is_named_by_its_whole_name(trees, tmp_path, version, place):
    target = old_tree(tmp_path / "wrong", version, wrong={place: 1.5})
    found = wb.compare(target, trees["2.4"])
    assert found.verdict == "fail"
    assert found.first_divergence.op_name == op_names(RELEASES[version])[place]


def test_a_line_of_a_name_that_was_too_long_stands_for_no_file(tmp_path):
    """Up to 2.0 a file whose name was too long failed, behind its line in ``mapping.csv``."""
    root = old_tree(tmp_path / "tree", "2.0")
    whole = load(root)
    long = f"Add.{'n' * 240}.0.0.1700000000000099.output.0.DefaultFormat.npy"
    (root / "rank_0/Net/0/0/mapping.csv").write_text(f"1700000000000123.npy,{long}\n")
    dump = load(root)
    assert [r.key for r in dump.records] == [r.key for r in whole.records]
    assert dump.skipped == ()
