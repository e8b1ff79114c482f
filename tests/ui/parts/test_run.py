"""The panel that runs, driven without a browser: run, progress, cancel, errors, code."""

import threading
from html import unescape

import pytest

import workbench as wb
from kit.face.screen import alerts_in, codes_in, label, said_in
from workbench.comparison.measure.metrics import CANCELLED
from workbench.core.words import Message
from workbench.show.summary import summary
from workbench.ui.bench import job as job_module

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
    assert alerts_in(panel) == []


def test_a_run_ends_with_verdict_and_plot(panel):
    panel.run.click()
    finish(panel)
    assert panel.bench.runner.job.state == "done"
    assert panel.bench.comparison is panel.bench.runner.job.result
    assert said_in(panel.status.value) == ["ui/run-done"]
    assert str(summary(panel.bench.comparison.result)) in panel.status.value
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
    assert said_in(panel.reason.value) == ["ui/not-ready"]
    panel.bench.config = right
    assert not panel.run.disabled
    assert panel.reason.value == ""


def test_iterations_that_are_not_dumped_are_said_before_and_after_the_run_with_what_to_set(panel):
    """The default form dumps iteration 0 alone."""
    assert panel.rehearsal.left.value == ""
    panel.rehearsal.inputs["iterations"].value = "3"
    assert said_in(panel.rehearsal.left.value) == ["simulation/iterations-set"]
    panel.run.click()
    finish(panel)
    left = Message("simulation/iterations-some", dumped=1, run=3, asked="0")
    told = Message("simulation/iterations-set", said=left, key=ITERATION, value="0-2")
    assert unescape(panel.status.value).count(str(told)) == 1
    assert {row.iteration for row in panel.bench.comparison.rows} == {0}
    panel.bench.config = panel.bench.config.set(ITERATION, "0-2")
    assert panel.rehearsal.left.value == ""
    panel.run.click()
    finish(panel)
    assert str(left) not in unescape(panel.status.value)
    assert {row.iteration for row in panel.bench.comparison.rows} == {0, 1, 2}


def asked(surface, *unset, **settings):
    config = wb.config.new(surface)
    for path in unset:
        config = config.unset(path)
    for path, value in settings.items():
        config = config.set(path.replace("__", "."), value)
    return config


@pytest.mark.parametrize(
    "config",
    [
        asked("torchair", "dump_config.dump_step", "dump_config.dump_mode", mode="reduce-overhead"),
        asked("acl", "dump.dump_list", dump__dump_scene="watcher", dump__dump_mode="output",
              dump__dump_list=[{"watcher_nodes": ["a"]}]),
    ],
)  # fmt: skip
def test_a_dump_that_is_not_simulated_says_so(config):
    panel = wb.Workbench(config).form("run")
    assert panel.run.disabled
    assert said_in(panel.reason.value) == ["ui/not-ready"]
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
    assert codes_in(panel.status) != []
    assert "nowhere" in panel.status.value
    panel.rehearsal.inputs["faults"].value = ""
    panel.run.click()
    finish(panel)
    assert panel.bench.runner.job.state == "done"


def test_cancel_stops_a_run_and_the_next_one_works(panel, monkeypatch):
    reached, go_on = threading.Event(), threading.Event()
    real = job_module.Job.note

    def slow(job, done, total, text):
        real(job, done, total, text)
        reached.set()
        go_on.wait(10)

    monkeypatch.setattr(job_module.Job, "note", slow)
    panel.run.click()
    assert reached.wait(30)
    assert (panel.run.disabled, panel.cancel.disabled) == (True, False)
    panel.cancel.click()
    assert label("ui/stopping") in panel.status.value
    go_on.set()
    finish(panel)
    assert panel.bench.runner.job.state == "cancelled"
    assert said_in(panel.status.value) == ["ui/nothing-kept"]
    assert panel.bench.comparison is None
    assert (panel.run.disabled, panel.cancel.disabled) == (False, True)
    panel.run.click()
    finish(panel)
    assert panel.bench.runner.job.state == "done"


def cancel_when(monkeypatch, reached):
    """Cancel the first job that says it is so far."""
    real, jobs = job_module.Job.note, []

    def note(job, done, total, text):
        real(job, done, total, text)
        if not jobs and reached(done, total):
            jobs.append(job.cancel())

    monkeypatch.setattr(job_module.Job, "note", note)


@pytest.mark.criterion(6)
def test_what_was_compared_by_then_is_kept_and_called_partial(panel, monkeypatch):
    panel.run.click()
    finish(panel)
    whole = panel.bench.comparison
    cancel_when(monkeypatch, lambda done, total: total and done == 12)
    panel.run.click()
    finish(panel)
    found = panel.bench.comparison
    assert panel.bench.runner.state == "cancelled"
    assert found.result.partial
    assert [row.metrics for row in found.rows[:12]] == [row.metrics for row in whole.rows[:12]]
    left = [row for row in found.rows if row.reason == CANCELLED]
    assert len(left) == len([row for row in whole.rows if row.match_rule]) - 12 > 5
    assert str(len(left)) in found.sentence
    assert said_in(panel.status.value) == ["ui/run-cancelled"]
    assert label("ui/partial-kept", summary=summary(found.result)) in panel.status.value
    assert label("show/not-reached", n=len(left)) in panel.status.value
    assert found.operator(0).name == whole.operator(0).name
    panel.run.click()
    finish(panel)
    assert not panel.bench.comparison.result.partial
    assert panel.bench.comparison.sentence == whole.sentence


def in_the_rehearsal(monkeypatch, panel):
    cancel_when(monkeypatch, lambda done, total: done == 3)


def before_the_first_pair(monkeypatch, panel):
    def late(*arguments, **options):
        panel.bench.runner.cancel()
        return wb.compare(*arguments, **options)

    monkeypatch.setattr("workbench.ui.bench.app.compare", late)


@pytest.mark.criterion(6)
@pytest.mark.parametrize("cancelled", [in_the_rehearsal, before_the_first_pair])
def test_a_run_that_compared_nothing_leaves_the_result_before_it(panel, monkeypatch, cancelled):
    panel.run.click()
    finish(panel)
    whole = panel.bench.comparison
    cancelled(monkeypatch, panel)
    panel.run.click()
    finish(panel)
    assert panel.bench.runner.state == "cancelled"
    assert said_in(panel.status.value) == ["ui/nothing-kept"]
    assert panel.bench.comparison is whole
    assert whole.operator(0).elements is not None  # its trees are there still


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
