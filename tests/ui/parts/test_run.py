"""The panel that runs, driven without a browser: run, progress, cancel, errors, code."""

import threading

import pytest

import workbench as wb
from workbench.ui import job as job_module

GUILTY = "Default/conv2-Conv2d/Conv2D-op0"
FAULT = f"scaled-output:{GUILTY}:1.05"
ITERATION = "common_dump_settings.iteration"


@pytest.fixture
def panel():
    shown = wb.Workbench(graph="mlp").form("run")
    yield shown
    shown.close()


def finish(panel):
    assert panel.bench.runner.job.wait(60)
    assert panel.alert.widget.value == ""


def test_a_run_ends_with_verdict_and_plot(panel):
    panel.run.click()
    finish(panel)
    assert panel.bench.runner.job.state == "done"
    assert panel.bench.comparison is panel.bench.runner.job.result
    assert "done in" in panel.status.value
    assert f"{len(panel.bench.comparison.rows)} tensors" in panel.status.value
    assert panel.progress.value == 1.0
    assert (panel.run.disabled, panel.cancel.disabled) == (False, True)


def test_a_planted_fault_is_named(panel):
    panel.rehearsal.inputs["graph"].value = "lenet"
    panel.rehearsal.inputs["faults"].value = FAULT
    panel.run.click()
    finish(panel)
    assert panel.bench.comparison.findings[0].op_name == GUILTY


def test_the_run_is_disabled_with_the_reason_while_the_form_is_wrong(panel):
    right = panel.bench.config
    panel.bench.config = right.set(ITERATION, "1,x")
    assert panel.run.disabled
    assert "common_dump_settings.iteration" in panel.reason.value
    panel.bench.config = right
    assert not panel.run.disabled
    assert panel.reason.value == ""


def asked(surface, *unset, **settings):
    config = wb.config.new(surface)
    for path in unset:
        config = config.unset(path)
    for path, value in settings.items():
        config = config.set(path.replace("__", "."), value)
    return config


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (asked("torchair", "dump_config.dump_step", "dump_config.dump_mode", mode="reduce-overhead"),
         "mode must be"),
        (asked("acl", "dump.dump_list", dump__dump_scene="watcher", dump__dump_mode="output",
               dump__dump_list=[{"watcher_nodes": ["a"]}]), "again and again"),
    ],
)  # fmt: skip
def test_a_dump_that_is_not_simulated_says_so(config, reason):
    panel = wb.Workbench(config).form("run")
    assert panel.run.disabled
    assert reason in panel.reason.value
    panel.close()


def test_an_unknown_graph_is_the_reason_why_nothing_runs(panel):
    panel.rehearsal.inputs["graph"].value = "lenet9"
    assert "lenet9" in panel.reason.value
    assert panel.run.disabled
    panel.rehearsal.inputs["graph"].value = "lenet"
    assert not panel.run.disabled


def test_a_fault_in_no_operator_fails_the_run_with_its_message(panel):
    panel.rehearsal.inputs["faults"].value = "nan-output:nowhere"
    panel.run.click()
    assert panel.bench.runner.job.wait(60)
    assert panel.bench.runner.job.state == "failed"
    assert 'role="alert"' in panel.status.value
    assert "nowhere" in panel.status.value
    panel.rehearsal.inputs["faults"].value = ""
    panel.run.click()
    finish(panel)
    assert panel.bench.runner.job.state == "done"


def test_cancel_stops_a_run_and_the_next_one_works(panel, monkeypatch):
    reached, go_on = threading.Event(), threading.Event()
    real = job_module.Job.report

    def slow(job, done, total, text):
        real(job, done, total, text)
        reached.set()
        go_on.wait(10)

    monkeypatch.setattr(job_module.Job, "report", slow)
    panel.run.click()
    assert reached.wait(30)
    assert (panel.run.disabled, panel.cancel.disabled) == (True, False)
    panel.cancel.click()
    go_on.set()
    finish(panel)
    assert panel.bench.runner.job.state == "cancelled"
    assert "cancelled" in panel.status.value
    assert (panel.run.disabled, panel.cancel.disabled) == (False, True)
    panel.run.click()
    finish(panel)
    assert panel.bench.runner.job.state == "done"


def test_a_second_click_does_not_start_a_second_run(panel):
    panel.run.click()
    first = panel.bench.runner.job
    panel.run.click()
    assert panel.bench.runner.job is first or first.state != "running"
    finish(panel)


def test_the_code_gives_the_same_result(panel):
    panel.rehearsal.inputs["graph"].value = "lenet"
    panel.rehearsal.inputs["faults"].value = FAULT
    panel.run.click()
    finish(panel)
    names = {}
    exec(panel.code.text, names)
    mine, theirs = panel.bench.comparison, names["comparison"]
    assert theirs.sentence == mine.sentence
    assert theirs.findings == mine.findings
    assert [row.metrics for row in theirs.rows] == [row.metrics for row in mine.rows]


def test_a_graph_of_the_user_runs_as_it_is():
    graph = wb.models.load_graph("mlp")
    panel = wb.Workbench(graph=graph).form("run")
    assert panel.rehearsal.inputs["graph"].value == graph.name
    panel.run.click()
    finish(panel)
    assert panel.bench.comparison.verdict in ("pass", "warn")
    panel.close()


def test_without_widgets_the_panel_is_static_html(panel):
    bundle = panel._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "not run yet" in data["text/plain"]
    assert "<pre>" in data["text/html"]
    panel.run.click()
    finish(panel)
    bundle = panel._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert panel.bench.comparison.sentence[:40] in data["text/html"]
