"""Long work: it reports at a bearable rate, stops when asked, and its errors are kept."""

import threading
from pathlib import Path

import pytest

import workbench as wb
from workbench.ui.bench import job as job_module
from workbench.ui.bench.job import Job, compared

REAL = Path(__file__).parents[3] / "sample_dumps/real_pair"


def seen_by(work):
    """States and progress that a listener was told, and the job at its end."""
    told = []
    job = Job(work, lambda job: told.append((job.state, job.done)))
    job.start()
    assert job.wait(10)
    return told, job


def test_a_job_ends_with_its_result():
    told, job = seen_by(lambda job: 42)
    assert (job.state, job.result, job.error) == ("done", 42, None)
    assert told[0] == ("running", 0)
    assert told[-1] == ("done", 0)


def test_an_error_is_kept_and_told():
    told, job = seen_by(lambda job: 1 / 0)
    assert job.state == "failed"
    assert isinstance(job.error, ZeroDivisionError)
    assert told[-1][0] == "failed"


@pytest.mark.criterion(8)
def test_twenty_thousand_reports_become_a_few_messages(monkeypatch):
    clock = iter(range(10**9))
    monkeypatch.setattr(job_module.time, "monotonic", lambda: next(clock) / 1000)  # 1 ms a call

    def work(job):
        for step in range(20_000):
            job.report(step, 20_000, "")

    told, job = seen_by(work)
    assert job.done == 19_999
    assert len(told) <= 20 * 10 + 3  # twenty seconds at ten a second, and the states


def test_work_stops_at_the_report_after_cancel():
    started, go_on = threading.Event(), threading.Event()
    steps = []

    def work(job):
        for step in range(1000):
            job.report(step, 1000, "")
            steps.append(step)
            started.set()
            go_on.wait(10)

    job = Job(work, lambda job: None).start()
    assert started.wait(10)
    job.cancel()
    go_on.set()
    assert job.wait(10)
    assert job.state == "cancelled"
    assert job.error is None
    assert steps == [0]


def test_a_job_that_never_reports_runs_to_its_end_although_cancelled():
    job = Job(lambda job: "kept", lambda job: None)
    job.cancel()
    job.start()
    assert job.wait(10)
    assert (job.state, job.result, job.cancelled) == ("done", "kept", True)


@pytest.mark.parametrize("state", ["ready"])
def test_a_job_not_started_has_not_ended(state):
    job = Job(lambda job: None, lambda job: None)
    assert job.state == state
    assert not job.wait(0)


@pytest.mark.criterion(6)
@pytest.mark.parametrize(
    "stage", ["reading the target", "reading the golden", "matching operators"]
)
def test_reading_and_matching_stop_in_their_midst(stage):
    """There is nothing to keep yet, and large trees take a while."""
    said = []

    def work(job):
        def told(done, total, text):
            said.append(text)
            if text == stage:
                job.cancel()
            job.note(done, total, text)

        def run(report, cancelled):
            return wb.compare(REAL / "dump_a", REAL / "dump_b", progress=told, cancelled=cancelled)

        return compared(job, run)

    job = Job(work, lambda job: None).start()
    assert job.wait(60)
    assert (job.state, job.result, job.error) == ("cancelled", None, None)
    assert said[-1] == stage
