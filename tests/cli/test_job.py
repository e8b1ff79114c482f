"""`workbench compare --out`: a job in processes of its own, exit statuses, options that do not go together."""

from __future__ import annotations

import json

import pytest

from kit.build.jobs import PRODUCT, write_job
from kit.cases import nightly
from kit.commands import run


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    top = tmp_path_factory.mktemp("job")
    golden = write_job(top / "golden", device="reference", ranks=2)
    faults = (f"scaled-output:{PRODUCT}:1.5,rank=1,iteration=1",)
    return write_job(top / "target", ranks=2, faults=faults), golden


@pytest.mark.parametrize("workers", nightly([1, 2], [1]))
def test_a_job_runs_in_processes_of_its_own_and_is_exit_status_1(workers, trees, tmp_path, capsys):
    out = tmp_path / "result"
    shown = run(capsys, "compare", *trees, "--out", out, "--workers", workers, "--ranks", "all", "--iterations", "0-1",
                "--memory", "2GB", "--csv", tmp_path / "units.csv", "--html", tmp_path / "a.html")  # fmt: skip
    assert shown.status == 1
    lines = shown.out.splitlines()
    assert lines[0].startswith("1. [origin] rank 1, iteration 1: MatMul")
    assert lines[-2].startswith("fail: First divergence: rank 1, iteration 1")
    assert lines[-1] == f"result: {out}/report.html"
    assert shown.err.splitlines()[0].startswith("4 units (ranks 0-1, iterations 0-1)")
    assert shown.err.splitlines()[1].startswith("dashboard: http://")
    assert (tmp_path / "a.html").read_bytes() == (out / "report.html").read_bytes()
    assert len((tmp_path / "units.csv").read_text().splitlines()) == 1 + 4
    # all is done: the second time nothing is compared, and stdout is JSON alone
    again = run(capsys, "compare", *trees, "--out", out, "--workers", 1, "--json", "-")
    assert json.loads(again.out) == json.loads((out / "job.json").read_text())
    assert again.status == 1


@pytest.mark.parametrize(
    "option", ["--ranks", "--iterations", "--scheduler", "--workers", "--memory"]
)
def test_what_a_job_alone_has_needs_a_folder(trees, capsys, option):
    shown = run(capsys, "compare", *trees, option, "1")
    assert shown.status == 2
    assert shown.err.splitlines()[-1] == f"error: {option} needs --out RESULT"


@pytest.mark.parametrize(
    "option", ["--rank", "--iteration", "--explain", "--next-config", "--extract"]
)
def test_what_one_comparison_alone_has_is_refused(trees, capsys, tmp_path, option):
    shown = run(capsys, "compare", *trees, "--out", tmp_path / "r", option, "1")
    assert shown.status == 2
    assert shown.err.splitlines()[-1].startswith(f"error: {option} does not apply to a job")
    assert not (tmp_path / "r").exists()


def test_no_scheduler_is_one_line(trees, capsys, tmp_path):
    shown = run(capsys, "compare", *trees, "--out", tmp_path / "r", "--scheduler", "x://y")
    assert shown.status == 2
    assert shown.err.splitlines()[-1].startswith("error: no dask scheduler at 'x://y'")
