"""Trees that exist: what is found in them, wrong numbers beside their input, everything into the bench."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import workbench as wb
from kit.build.onnx_models import FLOAT, model, node
from kit.face.screen import alerts_beside, alerts_in, codes_beside, said_in
from workbench.core.errors import WorkbenchError

REAL = Path(__file__).parents[3] / "sample_dumps" / "real_pair"


@pytest.fixture
def panel():
    shown = wb.Workbench(trees=wb.Trees()).form("run")
    yield shown
    assert shown.alert.text == ""
    shown.close()


def test_choosing_both_trees_allows_the_run_and_it_compares_them(panel):
    assert panel.run.disabled
    assert said_in(panel.reason.value) == ["ui/select-both"]
    panel.trees.choosers["target"].text.value = str(REAL / "dump_b")
    assert "mindspore" in panel.trees.found["target"].value
    panel.trees.choosers["golden"].text.value = str(REAL / "dump_a")
    assert not panel.run.disabled
    panel.run.click()
    assert panel.bench.runner.job.wait(60)
    assert panel.bench.comparison.verdict == "fail"
    names = {}
    exec(panel.code.text, names)
    assert names["comparison"].findings == panel.bench.comparison.findings


@pytest.mark.parametrize(
    "path", ["/no/such/folder", str(REAL / "MANIFEST.md"), "<b>\0", "x" * 5000]
)
def test_what_is_no_tree_is_said_below_it_and_changes_nothing(panel, path):
    panel.trees.choosers["target"].text.value = path
    note = panel.trees.choosers["target"].alert.widget.value
    assert alerts_beside(panel.view, panel.trees.choosers["target"].text) == alerts_in(panel) != []
    assert panel.trees.choosers["target"].text.value == path
    assert panel.bench.trees == wb.Trees()
    assert "<b>" not in note


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("0:1", (0, 1)), (" 2 : 3 ", (2, 3)), ("", None)]
)
def test_ranks_and_iterations_are_one_number_or_two(panel, text, value):
    panel.bench.trees = wb.Trees(rank=7)
    panel.trees.texts["rank"].value = text
    assert panel.bench.trees.rank == value


@pytest.mark.parametrize("text", ["x", "-1", "0:1:2", "1.5", "<b>", "9" * 30])
def test_what_is_no_number_is_said_beside_it_and_changes_nothing(panel, text):
    panel.bench.trees = wb.Trees(iteration=3)
    panel.trees.texts["iteration"].value = text
    assert codes_beside(panel.view, panel.trees.texts["iteration"]) == ["ui/not-a-pair"]
    assert panel.bench.trees.iteration == 3
    panel.trees.texts["iteration"].value = "4"
    assert alerts_in(panel) == []
    assert panel.bench.trees.iteration == 4


def test_a_cell_sets_every_input(panel):
    panel.bench.trees = wb.Trees("/t", "/g", "/t.ir", "/g.ir", "a", "b", (0, 1), 2, ("/r",))
    shown = {key: chooser.value for key, chooser in panel.trees.choosers.items()}
    shown |= {key: text.value for key, text in panel.trees.texts.items()}
    assert shown == {
        "target": "/t", "golden": "/g", "repeat": "/r", "target_graph": "/t.ir", "golden_graph": "/g.ir",
        "target_model": "a", "golden_model": "b", "rank": "0:1", "iteration": "2",
    }  # fmt: skip


def test_the_other_way_shows_its_own_inputs(panel):
    assert panel.rehearsal.view.layout.display == "none"
    panel.way.value = True
    assert panel.bench.rehearsing
    assert panel.trees.view.layout.display == "none"
    assert not panel.run.disabled


def test_a_third_tree_is_another_run_of_the_target(panel):
    panel.bench.trees = wb.Trees(str(REAL / "dump_b"), str(REAL / "dump_a"))
    chooser = panel.trees.choosers["repeat"]
    chooser.text.value = "/no/such/folder"
    assert panel.bench.trees.repeats == ()
    assert alerts_beside(panel.view, chooser.text) == alerts_in(panel) != []
    chooser.text.value = str(REAL / "dump_a")
    assert panel.bench.trees.repeats == (str(REAL / "dump_a"),)
    assert "mindspore" in panel.trees.found["repeat"].value
    panel.run.click()
    assert panel.bench.runner.job.wait(60)
    (one,) = panel.bench.comparison.result.repeats
    assert (one.used, one.reason.code) == (False, "compare/repeat-golden")
    names = {}
    exec(panel.code.text, names)
    assert names["comparison"].result.repeats == panel.bench.comparison.result.repeats
    assert f"--repeat {REAL / 'dump_a'}" in panel.bench.comparison.provenance["Command"]
    chooser.text.value = ""
    assert panel.bench.trees.repeats == ()


def test_the_others_of_several_runs_stay(panel):
    panel.bench.trees = wb.Trees(repeats=(str(REAL / "dump_a"), "/b", "/c"))
    assert "2 more repeats" in panel.trees.found["repeat"].value
    panel.trees.choosers["repeat"].text.value = str(REAL / "dump_b")
    assert panel.bench.trees.repeats == (str(REAL / "dump_b"), "/b", "/c")


@pytest.mark.parametrize("value", ["/r", ["/r"], ("",), (1,), None])
def test_repeats_are_a_tuple_of_folders(value):
    with pytest.raises(WorkbenchError) as error:
        wb.Trees(repeats=value)
    assert error.value.code == "show/setting"


def test_a_session_keeps_repeats(tmp_path):
    bench = wb.Workbench(trees=wb.Trees("/t", "/g", repeats=("/r", "/s")))
    assert wb.Workbench.open(bench.save(tmp_path / "kept.json")).trees == bench.trees


# ---------------------------------------------------------------- golden data of a model


@pytest.fixture
def net(tmp_path):
    """A model whose input has an open size."""
    info = helper.make_tensor_value_info("x", FLOAT, ["n", 4])
    nodes = [node("Relu", ["x"], ["a"], "act"), node("Exp", ["a"], ["y"], "grow")]
    onnx.save(model(nodes, {"x": info}, ["y"]), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def made(golden):
    """Click and wait; what is said then."""
    golden.make.click()
    assert golden.runner.job.wait(60)
    return said_in(golden.status.value)


def test_golden_data_of_a_model_become_the_golden_of_the_comparison(panel, net, tmp_path):
    golden = panel.trees.golden
    golden.model.value = str(net)
    golden.inputs.value = "x=2,4"
    golden.out.value = str(tmp_path / "out")
    panel.bench.trees = wb.Trees(target="/t", rank=3)
    assert made(golden)[0] == "ui/golden-done"
    found = {path.name.split(".")[0] for path in (tmp_path / "out").glob("*.npy")}
    assert found == {"act", "grow"}
    want = wb.Trees("/t", str(tmp_path / "out"), golden_graph=str(net), rank=3)
    assert panel.bench.trees == want
    assert panel.trees.choosers["golden"].value == str(tmp_path / "out")
    assert not golden.make.disabled
    assert golden.cancel.disabled


def test_golden_data_take_files_and_the_seed_of_the_bench(panel, net, tmp_path):
    golden, given = panel.trees.golden, np.float32([[1, -2, 3, -4]])
    np.save(tmp_path / "x.npy", given)
    golden.model.value = str(net)
    golden.inputs.value = f"x={tmp_path / 'x.npy'}"
    golden.out.value = str(tmp_path / "files")
    assert made(golden)[0] == "ui/golden-done"
    np.testing.assert_array_equal(np.load(tmp_path / "files" / "inputs" / "x.npy"), given)
    golden.inputs.value = "n=3"
    panel.bench.seed = 5
    golden.out.value = str(tmp_path / "seeded")
    assert "golden/seeded" in made(golden)
    wb.golden(net, None, tmp_path / "same", shapes={"n": (3,)}, seed=5)
    fed = [np.load(tmp_path / out / "inputs" / "x.npy") for out in ("seeded", "same")]
    np.testing.assert_array_equal(*fed)


def test_what_stops_golden_data_is_said_and_the_trees_stay(panel, net, tmp_path):
    golden, before = panel.trees.golden, panel.bench.trees
    golden.make.click()
    assert codes_beside(panel.view, golden.make) == ["ui/golden-lacking"]
    golden.model.value, golden.out.value = str(net), str(tmp_path / "out")
    assert made(golden) == ["golden/no-input"]
    assert panel.bench.trees == before
    golden.inputs.value = "n=2"
    golden.runner.observe(lambda _change: golden.cancel.click(), "progress")
    assert made(golden) == ["ui/golden-cancelled"]
    assert panel.bench.trees == before
    golden.runner.unobserve_all("progress")


def test_operators_that_cannot_be_computed_are_named(panel, net, tmp_path):
    made_ = onnx.load(net)
    made_.graph.node.append(node("Strange", ["a"], ["z"], "odd", domain="my.ops"))
    made_.opset_import.append(helper.make_opsetid("my.ops", 1))
    onnx.save(made_, net)
    golden = panel.trees.golden
    golden.model.value, golden.out.value = str(net), str(tmp_path / "out")
    golden.inputs.value = "n=1"
    assert made(golden)[:2] == ["ui/golden-done", "golden/not-computed"]
    assert "odd" in golden.status.value
