"""Trees of every release of MindSpore: foretold, written, read back, and compared with one another."""

from __future__ import annotations

import json
import re

import pytest

import workbench as wb
from kit import commands
from kit.build.traced_networks import X
from kit.trees import foretold, sizes
from kit.words import check_said, refused
from workbench import config
from workbench.config.context import Context
from workbench.core.errors import ConfigError, FormatError, GraphError
from workbench.core.plan import DumpPlan
from workbench.core.words import Message
from workbench.dump.reader import load
from workbench.graph.networks import load_graph
from workbench.pipeline.preview import preview
from workbench.pipeline.simulate import simulate

VERSIONS = ("1.3", "1.5", "1.10", "2.0", "2.2", "2.3", "2.3.1", "2.4", "2.6", "2.7", "2.10")
SURFACES = ("mindspore-o0o1", "mindspore-cpu", "mindspore-gpu")
LENET = load_graph("lenet")
CONVS = r"(?:Default_conv\d-Conv2d_)?Conv2D-op\d+"

NAMES = {
    "1.3": r"Conv2D\.Conv2D-op\d+\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.npy",
    "2.2": r"Conv2D\.Conv2D-op\d+\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.npy",
    "2.3": r"Conv2D\.Default_conv\d-Conv2d_Conv2D-op0\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.npy",
    "2.3.1": r"Conv2D\.Default_conv\d-Conv2d_Conv2D-op0\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.npy",
    "2.4": r"Conv2D\.Default_conv\d-Conv2d_Conv2D-op0\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.float32\.npy",
    "2.10": r"Conv2D\.Default_conv\d-Conv2d_Conv2D-op0\.0\.0\.\d{16}\.output\.0\.DefaultFormat\.float32\.npy",
}


def form(surface, **more):
    asked = config.new(surface, common_dump_settings__iteration="all")
    for key, value in more.items():
        asked = asked.set(key.replace("__", "."), value)
    return asked


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """A tree of every release on every platform."""
    root = tmp_path_factory.mktemp("trees")
    for surface in SURFACES:
        for version in VERSIONS:
            simulate(
                LENET,
                None,
                form(surface),
                root / surface / version,
                surface=surface,
                version=version,
            )
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


AGAINST = [(x, y) for x in VERSIONS for y in ("1.3", "2.2", "2.10") if x != y]


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
    found = wb.compare(trees / "mindspore-gpu" / "2.10", trees / "mindspore-cpu" / "2.0")
    assert (found.verdict, found.coverage.unmatched_target, found.coverage.skipped) == (
        "pass",
        0,
        {},
    )
    assert sum(row.iteration == -1 for row in found.result.rows) == 3
    alone = wb.compare(trees / "mindspore-gpu" / "2.10", trees / "mindspore-cpu" / "2.10")
    assert (alone.coverage.unmatched_target, alone.coverage.unmatched_golden) == (3, 0)
    (finding,) = alone.findings
    assert finding.evidence[1] == Message("compare/all-constants")


@pytest.mark.parametrize(
    ("saved", "header", "names"),
    [("1.6.1", 20, "short"), ("2.3.0", 20, "full"), ("2.3.1", 12, "full"), ("2.8", 12, "graph")],
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
    named = {"short": r"Conv2D-op\d+", "full": "Default_conv1-Conv2d_Conv2D-op0",
             "graph": "Default/conv1-Conv2d/Conv2D-op0"}  # fmt: skip
    assert re.fullmatch(named[names], row.split(",")[1])
    golden = simulate(LENET, None, form("mindspore-cpu"), tmp_path / "golden")
    found = wb.compare(tmp_path / "rank_0", golden)
    assert found.verdict in ("pass", "warn")
    assert {row.status for row in found.result.rows if row.match_rule} <= {"equal", "pass"}


O2 = {
    "npy": {},
    "bin": {"file_format": "bin"},
    "statistic": {"saved_data": "statistic"},
    "md5": {"saved_data": "statistic", "statistic_category": ["md5"]},
    "some": {
        "dump_mode": 1,
        "kernels": ["name-regex(Default/conv.*)", "MatMul"],
        "input_output": 2,
    },
}


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
    foreseen = preview(o2_form(kind), LENET, version=version, iterations=2)
    told = foretold(foreseen.forecast)
    if kind == "statistic":
        assert sorted(told) == sorted(written)
        assert all(written[name] <= size for name, size in told.items())
    else:
        assert (told, foreseen.exact) == (written, True)
    assert dump.layout == ("msprobe" if version == "2.7" else "mindspore-o2")
    assert {r.key.iteration for r in dump.records} == {0, 1}
    assert (
        len(dump.records)
        == sum(foreseen.forecast.tensors.values())
        == (4 if kind == "some" else 80)
    )
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
    assert {name.split("/")[0] for name in sizes(tmp_path)} == {
        "rank_6",
        "acl_dump_6.json",
        "graphs",
    }
    assert {r.key.rank for r in load(tmp_path).records} == {6}


def test_names_in_the_form_are_those_of_the_release(tmp_path):
    """Before 2.3 operators are numbered through, in the IR, in file names and in lists alike."""
    tree = simulate(LENET, None, DumpPlan("/x"), tmp_path / "all", version="2.0")
    (name,) = (op.name for op in load(tree).graphs[0, 0].ops if "conv2-Conv2d/Conv2D" in op.name)
    assert name != "Default/conv2-Conv2d/Conv2D-op0"
    asked = form(
        "mindspore-cpu", common_dump_settings__dump_mode=1, common_dump_settings__kernels=[name]
    )
    simulate(LENET, None, asked, tmp_path / "one", version="2.0")
    assert {r.key.op_type for r in load(tmp_path / "one").records} == {"Conv2D"}
    assert preview(asked, LENET, context=Context("2.0")).matches.operators == (name,)
    assert preview(asked, LENET, context=Context("2.4")).matches.operators == ()


def test_a_fault_strikes_in_a_tree_of_an_old_release(tmp_path):
    golden = simulate(LENET, None, DumpPlan("/x"), tmp_path / "golden")
    target = simulate(LENET, None, DumpPlan("/x"), tmp_path / "target", device="a2", version="1.10",
                      faults=["scaled-output:*conv2*:3"])  # fmt: skip
    found = wb.compare(target, golden)
    assert found.verdict == "fail"
    assert re.search(r"conv2-Conv2d/Conv2D-op\d+$", found.first_divergence.op_name)


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


@pytest.mark.parametrize(
    ("surface", "version", "plan", "error", "code"),
    [
        ("mindspore-cpu", "1.2", {}, FormatError, "dump/version-old"),
        ("mindspore-o0o1", "1.0.0", {}, FormatError, "dump/version-old"),
        ("mindspore-gpu", "two", {}, FormatError, "dump/version"),
        (
            "mindspore-o0o1",
            "1.5",
            {"saved": "statistic"},
            ConfigError,
            "pipeline/release-statistics",
        ),
        ("mindspore-o2", "2.2", {}, ConfigError, "pipeline/release-o2"),
    ],
)
def test_what_a_release_does_not_write_is_refused_before_anything_is_written(
    tmp_path, surface, version, plan, error, code
):
    with pytest.raises(error) as caught:
        simulate(
            LENET, None, DumpPlan("/x", **plan), tmp_path / "out", surface=surface, version=version
        )
    said = caught.value.problems[0].message if error is ConfigError else caught.value
    check_said(said, code, got=version)
    assert not (tmp_path / "out").exists()


def test_a_preview_refuses_the_same_releases():
    with refused("dump/version-old", FormatError, got="1.2"):
        preview(form("mindspore-cpu"), LENET, context=Context("1.2"))


def test_the_version_of_another_vendor_changes_no_name(tmp_path):
    for name, version in (("a", ""), ("b", "26.0")):
        simulate(LENET, None, config.new("acl"), tmp_path / name, surface="acl", version=version)
    assert sizes(tmp_path / "a") == sizes(tmp_path / "b")


def test_a_fault_is_named_as_the_release_names_operators(tmp_path):
    with refused("run/fault-nowhere", GraphError):
        simulate(LENET, {"x": X}, DumpPlan("/x"), tmp_path, device="a2", version="2.0",
                 faults=["scaled-output:Default/conv2-Conv2d/Conv2D-op0:3"])  # fmt: skip


def test_the_command_takes_a_version(tmp_path, capsys):
    path = tmp_path / "data_dump.json"
    path.write_text(form("mindspore-cpu").to_text())
    asked = ["simulate", "--graph", "lenet", "--config", str(path), "--surface", "mindspore-cpu"]
    for version, status in (("2.2", 0), ("1.2", 2)):
        given = ("--out", tmp_path / version, "--target-version", version)
        assert commands.status(*asked, *given) == status
    assert "1.3 or newer" in capsys.readouterr().err
    assert load(tmp_path / "2.2").info["ms_version"] == "2.2"
