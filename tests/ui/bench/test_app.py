"""The workbench as a plain object: settings that are checked, runs, trees, code."""

import gc
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.words import check_said, refused
from workbench.core.words import Message

REAL = Path(__file__).parents[3] / "sample_dumps" / "real_pair"
FAULT = "scaled-output:Default/head-Dense/MatMul-op0:1.5"


def test_a_rehearsal_keeps_its_trees_as_long_as_the_workbench(tmp_path):
    bench = wb.Workbench(graph="mlp", faults=[FAULT])
    comparison = bench.run()
    assert comparison.result.target.path == "rehearsal/target"
    folder = Path(next(row.target_path for row in comparison.rows)).parents[0]
    assert folder.exists()
    assert comparison.extract(tmp_path / "case").script.is_file()
    bench.run()
    assert not folder.exists()
    folder = Path(next(row.target_path for row in bench.comparison.rows)).parent
    assert folder.exists()
    del bench, comparison
    gc.collect()
    assert not folder.exists()


def test_a_rehearsal_dumps_the_operators_that_are_marked():
    form = wb.config.new("mindspore-o0o1").set("common_dump_settings.dump_mode", 2)
    bench = wb.Workbench(form, "mlp", set_dump=["Default/head-Dense"])
    assert bench.dumps_marked
    names = {row.op_name for row in bench.run().rows}
    assert {name.rpartition("/")[0] for name in names} == {"Default/head-Dense"}
    again = {}
    exec(bench.to_code(), again)
    assert {row.op_name for row in again["comparison"].rows} == names


def test_the_run_panel_asks_for_marks_where_the_configuration_dumps_marked_operators():
    bench = wb.Workbench(graph="mlp")
    shell = bench.form()
    inputs = shell.parts["run"].rehearsal.inputs
    assert "set_dump" not in inputs
    bench.config = bench.config.set("common_dump_settings.dump_mode", 2)
    field = inputs["set_dump"]
    assert field.layout.display == ""
    field.value = "*MatMul*"
    assert bench.set_dump == ("*MatMul*",)
    field.value = "nowhere"
    assert bench.set_dump == ("*MatMul*",)
    bench.config = bench.config.set("common_dump_settings.dump_mode", 0)
    assert field.layout.display == "none"
    shell.close()


MANY = Message("show/expected-whole", least=1, most=100_000)


def test_two_trees_are_compared_and_nothing_is_rehearsed():
    target, golden = REAL / "dump_b", REAL / "dump_a"
    bench = wb.Workbench(target=target, golden=golden)
    assert not bench.rehearsing
    assert bench.run().verdict == "fail"
    names = {}
    exec(bench.to_code(), names)
    assert names["comparison"].findings == bench.comparison.findings


def test_without_both_trees_nothing_can_run():
    bench = wb.Workbench(target="here")
    check_said(bench.reason(), "ui/select-golden")
    with refused("ui/select-golden"):
        bench.run()


@pytest.mark.parametrize(
    ("name", "value", "code", "values"),
    [
        ("device", "a9", "core/choice", {"subject": "device"}),
        ("precision_mode", "fast", "core/choice", {"subject": "precision_mode"}),
        ("profile", "mine", "core/choice", {"subject": "profile"}),
        ("language", "fr", "core/choice", {"subject": "language", "known": ["en", "zh"]}),
        ("iterations", 0, "show/setting", {"name": "iterations", "expected": MANY}),
        ("ranks", -1, "show/setting", {"name": "ranks"}),
        ("colour", ["colour"], "ui/unknown-settings", {}),
    ],
)
def test_a_wrong_setting_is_refused_and_changes_nothing(name, value, code, values):
    with refused(code, got=value, **values):
        wb.Workbench(**{name: value})
    bench = wb.Workbench()
    if name in bench.trait_names():
        before = getattr(bench, name)
        with pytest.raises(wb.WorkbenchError):
            setattr(bench, name, value)
        assert getattr(bench, name) == before


def test_what_is_mapped_by_hand_counts_and_stands_in_the_code():
    target, golden = REAL / "dump_b", REAL / "dump_a"
    bench = wb.Workbench(target=target, golden=golden)
    guilty = bench.run().findings[0].op_name
    bench.map_file.tolerate(10.0, "known", name=guilty)
    comparison = bench.compare()
    assert [use.kind for use in comparison.result.overrides] == ["tolerance"]
    names = {}
    exec(bench.to_code(), names)
    assert names["comparison"].result.overrides == comparison.result.overrides


def test_an_unknown_graph_is_the_reason():
    assert "lenet9" in str(wb.Workbench(graph="lenet9").reason())


@pytest.mark.criterion(26)
@pytest.mark.usefixtures("pictures")
def test_reports_of_the_same_rehearsal_are_the_same_bytes(tmp_path):
    pages = []
    for number in range(2):
        bench = wb.Workbench(graph="mlp", faults=[FAULT])
        path = bench.run().to_html(tmp_path / f"{number}.html")
        pages.append(path.read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    assert "rehearsal-" not in pages[0]
    assert FAULT in pages[0]


def made_from(comparison):
    """Python and form of the provenance as one text."""
    return "\n".join(comparison.provenance.values())


def test_the_recipe_tells_the_settings_of_the_run_and_not_those_of_later():
    bench = wb.Workbench(graph="mlp", faults=[FAULT], seed=3)
    bench.run()
    bench.faults, bench.seed, bench.config = (), 4, wb.config.new("mindspore-o2")
    again = bench.compare()
    assert made_from(again) == made_from(bench.comparison)
    assert FAULT in made_from(again)
    assert "seed=3" in made_from(again)
    assert "mindspore-o0o1" in made_from(again)
    assert "seed=4" in bench.to_code()


def test_settings_that_change_during_a_run_wait_for_the_next_one():
    bench = wb.Workbench(graph="mlp", faults=[FAULT])

    def meddle(_done, _total, _text):
        bench.seed, bench.rehearsing, bench.profile = 9, False, "msprobe"
        bench.map_file.tolerate(10.0, "later", name="Default/head-Dense/MatMul-op0")

    found = bench.run(report=meddle)
    assert found.verdict == "fail"
    assert not found.result.overrides
    assert "seed=0" in made_from(found)
    assert "msprobe" not in made_from(found)
    assert "tolerate" not in made_from(found)


def test_a_network_of_the_notebook_is_fed_files_by_the_names_of_its_inputs(tmp_path):
    graph = wb.trace(lambda x: x + x, np.ones((2, 3), np.float32), name="doubled")
    fed = np.float32([[1, 2, 3], [4, 5, 6]])
    np.save(tmp_path / "x.npy", fed)
    bench = wb.Workbench(graph=graph, inputs=[f"{graph.parameters[0].name}={tmp_path}/x.npy"])
    bench.run(out=tmp_path / "out")
    records = wb.load(tmp_path / "out/golden").records
    (result,) = [one for one in records if (one.key.op_type, one.key.io) == ("Add", "output")]
    np.testing.assert_array_equal(result.source.array(), 2 * fed)
    bench.inputs = ["x=2,3"]
    assert bench.reason().code == "simulation/shape-of-traced"
