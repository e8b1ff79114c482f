"""Trees of every release of MindSpore that is written: foretold, read back, and compared with one another."""

from __future__ import annotations

import json
import re

import pytest

import workbench as wb
from kit import commands
from kit.trees import foretold, sizes
from kit.words import refused
from workbench import config
from workbench.config.context import Context
from workbench.core.errors import FormatError
from workbench.core.plan import DumpPlan
from workbench.core.words import Message
from workbench.dump.reader import load
from workbench.forecast.preview import preview
from workbench.network.models import load_graph
from workbench.simulation.simulate import simulate

VERSIONS = ("2.3", "2.3.1", "2.4", "2.6", "2.7", "2.10")
SURFACES = ("mindspore-o0o1", "mindspore-cpu", "mindspore-gpu")
LENET = load_graph("lenet")

NAMES = {
    "2.3": r"Conv2D\.Default_conv\d-Conv2d_Conv2D-op0\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.npy",
    "2.3.1": r"Conv2D\.Default_conv\d-Conv2d_Conv2D-op0\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.npy",
    "2.4": r"Conv2D\.Default_conv\d-Conv2d_Conv2D-op0\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.float32\.npy",
    "2.10": r"Conv2D\.Default_conv\d-Conv2d_Conv2D-op0\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.float32\.npy",
}


def form(surface, **more):
    return config.new(surface, **{"common_dump_settings__iteration": "all"} | more)


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """A tree of every release on every platform."""
    root = tmp_path_factory.mktemp("trees")
    for surface in SURFACES:
        for version in VERSIONS:
            out = root / surface / version
            simulate(LENET, None, form(surface), out, surface=surface, version=version)
    return root


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_tree_of_a_release_is_foretold_and_read_back(trees, surface, version):
    written = sizes(trees / surface / version)
    foreseen = preview(form(surface), LENET, context=Context(version))
    assert foretold(foreseen.forecast) == written
    assert foreseen.exact
    dump = load(trees / surface / version)
    assert len(dump.records) == sum(name.endswith(".npy") for name in written)
    assert (dump.skipped, dump.notes) == ((), ())
    assert len(dump.graphs[0, 0].ops) == len(LENET.ops)
    if "ms_version" in dump.info:
        assert dump.info["ms_version"] == version


@pytest.mark.parametrize("version", NAMES)
def test_operators_have_the_names_of_the_release(trees, version):
    names = [name.rpartition("/")[2] for name in sizes(trees / "mindspore-o0o1" / version)]
    convs = [name for name in names if name.startswith("Conv2D.") and ".output." in name]
    assert len(convs) == 2
    assert all(re.fullmatch(NAMES[version], name) for name in convs), convs


AGAINST = [(x, y) for x in VERSIONS for y in ("2.3", "2.10") if x != y]


@pytest.mark.parametrize(("one", "other"), AGAINST)
def test_a_tree_of_one_release_agrees_with_that_of_another(trees, one, other):
    found = wb.compare(trees / "mindspore-o0o1" / one, trees / "mindspore-cpu" / other)
    assert found.verdict in ("pass", "warn")
    assert {row.status for row in found.result.rows if row.match_rule} == {"equal"}
    operators = sum(
        1 for r in load(trees / "mindspore-o0o1" / one).records if r.key.op_type != "Parameter"
    )
    assert found.coverage.matched >= operators
    assert all(one.kind in ("unmatched",) for one in found.findings)


def test_constants_are_paired_by_their_values(trees):
    found = wb.compare(trees / "mindspore-gpu" / "2.10", trees / "mindspore-gpu" / "2.3")
    cover = found.coverage
    assert (found.verdict, cover.unmatched_target, cover.skipped) == ("pass", 0, {})
    assert sum(row.iteration == -1 for row in found.result.rows) == 3
    alone = wb.compare(trees / "mindspore-gpu" / "2.10", trees / "mindspore-cpu" / "2.10")
    assert (alone.coverage.unmatched_target, alone.coverage.unmatched_golden) == (3, 0)
    (finding,) = alone.findings
    assert finding.evidence[1] == Message("compare/all-constants")


@pytest.mark.parametrize(
    ("saved", "header", "names"),
    [("2.3.0", 20, "full"), ("2.3.1", 12, "full"), ("2.8", 12, "graph")],
)
def test_statistics_of_a_release_are_foretold_and_read_back(tmp_path, saved, header, names):
    asked = form(
        "mindspore-gpu", common_dump_settings__saved_data="statistic",
        common_dump_settings__statistic_category=["max", "count"],
    )  # fmt: skip
    simulate(LENET, None, asked, tmp_path, surface="mindspore-gpu", version=saved)
    foreseen = preview(asked, LENET, context=Context(saved))
    written = sizes(tmp_path)
    assert sorted(foreseen.names) == sorted(written)
    assert all(written[e.path] <= e.size for e in foreseen.forecast.files)
    first, row = (tmp_path / "rank_0/Net/0/0/statistic.csv").read_text().splitlines()[:2]
    assert len(first.split(",")) == header
    named = {"full": "Default_conv1-Conv2d_Conv2D-op0", "graph": "Default/conv1-Conv2d/Conv2D-op0"}
    assert row.split(",")[1] == named[names]
    golden = simulate(LENET, None, form("mindspore-cpu"), tmp_path / "golden")
    found = wb.compare(tmp_path / "rank_0", golden)
    assert found.verdict in ("pass", "warn")
    assert {row.status for row in found.result.rows if row.match_rule} <= {"equal", "pass"}


O2 = {
    "npy": {},
    "bin": {"file_format": "bin"},
    "statistic": {"saved_data": "statistic"},
    "md5": {"saved_data": "statistic", "statistic_category": ["md5"]},
    "some": {"dump_mode": 1, "kernels": ["name-regex(Default/conv.*)", "MatMul"], "input_output": 2},
}  # fmt: skip


def o2_form(kind):
    return form("mindspore-o2", **{f"common_dump_settings__{k}": v for k, v in O2[kind].items()})


@pytest.fixture(scope="module")
def o2_trees(tmp_path_factory):
    """Trees of O2: AscendCL's own, and msprobe's."""
    root = tmp_path_factory.mktemp("o2")
    for kind in O2:
        for version in ("2.6", "2.7"):
            simulate(LENET, None, o2_form(kind), root / kind / version, device="a2",
                     surface="mindspore-o2", version=version, iterations=2)  # fmt: skip
    return root


@pytest.mark.parametrize("kind", O2)
@pytest.mark.parametrize("version", ["2.6", "2.7"])
def test_a_tree_of_o2_is_foretold_and_read_back(o2_trees, kind, version):
    root = o2_trees / kind / version
    written, dump = sizes(root), load(root)
    foreseen = preview(o2_form(kind), LENET, context=Context(version), iterations=2)
    told = foretold(foreseen.forecast)
    if kind == "statistic":
        assert sorted(told) == sorted(written)
        assert all(written[name] <= size for name, size in told.items())
    else:
        assert (told, foreseen.exact) == (written, True)
    assert dump.layout == ("msprobe" if version == "2.7" else "mindspore-o2")
    assert {r.key.iteration for r in dump.records} == {0, 1}
    count = 4 if kind == "some" else 80
    assert len(dump.records) == sum(foreseen.forecast.tensors.values()) == count
    assert (dump.skipped, {note.kind for note in dump.notes}) == ((), {"ignored"})


@pytest.mark.parametrize("kind", O2)
def test_the_trees_of_o2_agree(o2_trees, kind):
    """msprobe's tree says what AscendCL's says, and what every tensor in it says."""
    for other in (kind, "npy"):
        found = wb.compare(o2_trees / kind / "2.7", o2_trees / other / "2.6")
        rows = [row for row in found.result.rows if row.match_rule]
        missing = kind in ("some", "md5")  # other digests do not say what differs
        assert found.verdict in (("incomplete",) if missing else ("pass", "warn"))
        assert len(rows) == (4 if kind == "some" else 80)
        apart = {(row.status, row.reason) for row in rows} - {("equal", ""), ("pass", "")}
        assert {status for status, _ in apart} <= {"uncomparable"}
        assert not apart or kind in ("statistic", "md5")


def test_the_file_for_acl_names_the_folder_that_is_written(o2_trees):
    root = o2_trees / "npy" / "2.7"
    told = json.loads((root / "acl_dump_0.json").read_text())["dump"]["dump_path"]
    folder = told.removeprefix("/dump/")
    assert folder.endswith("/step_1")
    assert [name for name in sizes(root) if name.startswith(f"{folder}/")]


def test_rank_and_device_of_the_environment_name_folder_and_file(tmp_path):
    simulate(LENET, None, o2_form("some"), tmp_path, device="a2", surface="mindspore-o2",
             version="2.8", env={"RANK_ID": "6"})  # fmt: skip
    written = {name.split("/")[0] for name in sizes(tmp_path)}
    assert written == {"rank_6", "acl_dump_6.json", "graphs"}
    assert {r.key.rank for r in load(tmp_path).records} == {6}


def test_device_statistics_come_from_the_form(tmp_path):
    asked = form(
        "mindspore-o0o1", common_dump_settings__saved_data="statistic",
        common_dump_settings__statistic_category=["max", "l2norm"], e2e_dump_settings__stat_calc_mode="device",
    )  # fmt: skip
    simulate(LENET, None, asked, tmp_path, surface="mindspore-o0o1", version="2.7")
    foreseen = preview(asked, LENET, context=Context("2.7"))
    written = sizes(tmp_path)
    assert sorted(foreseen.names) == sorted(written)
    table = (tmp_path / "rank_0/Net/0/0/statistic.csv").read_text()
    assert "null" in table  # int64 shapes and bool flags have no norm there
    assert all(written[e.path] <= e.size for e in foreseen.forecast.files)
    read = [r for r in load(tmp_path).records if r.label.dtype == "float32"]
    assert all({"Max Value", "L2Norm Value"} <= r.statistics.keys() for r in read)


@pytest.mark.parametrize(("surface", "version", "code"), [
    ("mindspore-cpu", "1.2", "version-old"),
    ("mindspore-o0o1", "1.10", "version-old"),
    ("mindspore-gpu", "2.2.14", "version-old"),
    ("mindspore-o2", "2.2", "version-old"),
    ("mindspore-ge", "2.0.0", "version-old"),
    ("mindspore-gpu", "two", "version"),
])  # fmt: skip
def test_a_release_that_is_not_written_is_refused_before_anything_is_written(
    tmp_path, surface, version, code
):
    out = tmp_path / "out"
    with refused(f"dump/{code}", FormatError, got=version):
        simulate(LENET, None, DumpPlan("/x"), out, surface=surface, version=version)
    assert not out.exists()
    with refused(f"dump/{code}", FormatError, got=version):
        preview(form(surface), LENET, context=Context(version))


def test_the_version_of_another_vendor_changes_no_name(tmp_path):
    for name, version in (("a", ""), ("b", "26.0")):
        simulate(LENET, None, config.new("acl"), tmp_path / name, surface="acl", version=version)
    assert sizes(tmp_path / "a") == sizes(tmp_path / "b")


def test_the_command_takes_a_version(tmp_path, capsys):
    path = tmp_path / "data_dump.json"
    path.write_text(form("mindspore-cpu").to_text())
    asked = ["simulate", "--graph", "lenet", "--config", str(path), "--surface", "mindspore-cpu"]
    for version, status in (("2.3", 0), ("2.2", 2)):
        given = ("--out", tmp_path / version, "--target-version", version)
        assert commands.status(*asked, *given) == status
    assert "2.3 or newer" in capsys.readouterr().err
    assert load(tmp_path / "2.3").info["ms_version"] == "2.3"
