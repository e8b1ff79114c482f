"""The panel of a job, driven without a browser: a unit that is chosen becomes the comparison of the bench."""

import shutil
import sys

import pytest

import workbench as wb
from kit.build.jobs import PRODUCT
from kit.face.screen import codes_in, said_in
from workbench.core.words import Message
from workbench.core.words.translate import Say
from workbench.scale.job import JobResult
from workbench.ui.bench.trees import Trees
from workbench.ui.widgets.live import JobMap


@pytest.fixture
def panel(job_folder):
    shown = wb.Workbench(graph="mlp", job=str(job_folder / "result")).form("job")
    yield shown
    shown.close()


def click(panel, rank, iteration):
    assert panel.background.wait(60)
    (shown,) = panel.map.children
    assert isinstance(shown, JobMap)
    shown._handle_custom_msg({"rank": rank, "iteration": iteration}, [])


def finish(panel):
    assert panel.bench.runner.job.wait(60)


def test_without_a_folder_it_asks_for_one():
    panel = wb.Workbench(graph="mlp").form("job")
    assert said_in(panel.status.value) == ["ui/no-job"]
    assert (panel.map.children, panel.to_code()) == ((), "")
    assert panel.stage(panel.bench) == ("pending", "")
    panel.close()


def test_a_folder_that_is_chosen_shows_the_map_and_the_sentence(job_folder):
    panel = wb.Workbench(graph="mlp").form("job")
    panel.folder.text.value = str(job_folder / "result")
    assert panel.bench.job == str(job_folder / "result")
    assert isinstance(panel.map.children[0], JobMap)
    assert PRODUCT.rpartition("/")[2] in panel.answer.value
    assert said_in(panel.status.value) == ["ui/job-choose"]
    assert "read_job" in panel.code.text
    panel.close()


def test_a_unit_that_is_chosen_is_what_every_panel_shows(panel):
    click(panel, 1, 1)
    finish(panel)
    found = panel.bench.comparison
    assert PRODUCT in str(found.sentence)
    assert found is panel.bench.runner.job.result
    assert said_in(panel.status.value) == ["job/map-opened"]
    assert PRODUCT.rpartition("/")[2] in panel.found.value
    assert panel.to_code() == found.to_code()
    assert panel.to_code().endswith("comparison = job.comparison(1, 1)\n")
    names: dict = {}
    exec(panel.to_code(), names)
    assert str(names["comparison"].sentence) == str(found.sentence)


def test_it_can_be_compared_again_with_another_map_file(panel):
    click(panel, 1, 1)
    finish(panel)
    job = panel.job
    assert panel.bench.trees == Trees(job.target, job.golden, rank=1, iteration=1)
    assert panel.bench.compare().verdict == "fail"
    assert panel.found.value == ""  # it is no unit of the job any more


def test_it_is_compared_again_with_the_graph_files_of_the_job(job_folder):
    panel = wb.Workbench(graph="mlp", job=str(job_folder / "given")).form("job")
    click(panel, 0, 0)
    finish(panel)
    trees, job = panel.bench.trees, panel.job
    assert trees == Trees(job.target, job.golden, "", job.given.golden_graph, rank=0, iteration=0)
    assert trees.golden_graph.endswith(".ir")
    panel.close()


def test_the_map_is_in_the_language_of_the_bench(job_folder, monkeypatch):
    panel = wb.Workbench(graph="mlp", job=str(job_folder / "result"), language="zh").form("job")
    assert panel.background.wait(60)
    (shown,) = panel.map.children
    say = Say("zh")
    assert shown.words["open"] == say("job/map-open") != str(Message("job/map-open"))
    panel.close()
    monkeypatch.setitem(sys.modules, "anywidget", None)
    panel = wb.Workbench(graph="mlp", job=str(job_folder / "result"), language="zh").form("job")
    assert panel.background.wait(60)
    (shown,) = panel.map.children
    assert shown.button.description == say("job/map-open")
    panel.close()


def test_of_units_that_are_chosen_meanwhile_the_one_that_runs_is_stopped_and_the_last_compared(
    gate, panel
):
    compare = gate(JobResult, "comparison")
    click(panel, 0, 0)
    compare.wait()
    first = panel.bench.runner.job
    click(panel, 0, 1)
    click(panel, 1, 1)
    assert first.cancelled
    compare.open()
    while panel.bench.runner.job is first:
        first.wait(60)
    finish(panel)
    assert [call[1:3] for call in compare.calls] == [(0, 0), (1, 1)]
    assert PRODUCT in str(panel.bench.comparison.sentence)


def test_a_unit_can_be_cancelled_and_the_comparison_before_stays(gate, panel):
    click(panel, 1, 1)
    finish(panel)
    before, compare = panel.bench.comparison, gate(JobResult, "comparison")
    click(panel, 0, 0)
    compare.wait()
    panel.cancel.click()
    compare.open()
    finish(panel)
    assert panel.bench.comparison is before
    assert said_in(panel.status.value) == ["ui/cancelled"]


def test_what_is_no_job_says_so_and_shows_no_map(panel, tmp_path):
    panel.bench.job = str(tmp_path)
    assert codes_in(panel.view)[:1] == ["core/missing"]
    assert panel.map.children == ()


def test_where_the_trees_are_gone_one_sentence_says_so(job_folder, tmp_path):
    shutil.copytree(job_folder / "result", tmp_path / "result")
    (tmp_path / "result/plan.json").unlink()
    panel = wb.Workbench(graph="mlp", job=str(tmp_path / "result")).form("job")
    assert codes_in(panel.view) == []
    click(panel, 1, 1)
    finish(panel)
    assert panel.bench.comparison is None
    assert "job/no-dumps" in panel.status.value
    panel.close()


def test_a_session_keeps_the_folder(job_folder, tmp_path):
    bench = wb.Workbench(graph="mlp", job=str(job_folder / "result"))
    bench.save(tmp_path / "kept.json")
    assert wb.Workbench.open(tmp_path / "kept.json").job == bench.job
