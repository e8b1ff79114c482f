"""SIGKILL of workers, schedulers and clients in the midst of a job: what goes on gives the same bytes.

Client, scheduler and workers are processes of their own, as on a cluster. After each kill everything that is left is
ended, and the same command runs again. They all run a copy of the package: the job takes minutes, and whoever changes
a checkout meanwhile would change the result of those that start later.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

import workbench
from kit.cases import nightly
from kit.trees import contents
from workbench.scale.compare_job import compare_job

ENVIRONMENT = {
    **os.environ,
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s",
    "PYTHONWARNINGS": "ignore",
}
PATIENCE = 240
"""Seconds until something that should happen is given up; the machine may be busy."""


def start(*command: object, code: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start a module of Python with the package as it is in the folder ``code``."""
    environment = ENVIRONMENT | {"PYTHONPATH": str(code)}
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", *map(str, command)],
            env=environment, cwd=code, stdout=out, stderr=out,
        )  # fmt: skip


def wait_for(happened, why: str):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := happened():
            return found
        time.sleep(0.05)
    raise AssertionError(why)


def end_all(processes):
    """End processes of this test and all that they have started."""
    everyone = []
    for one in processes:
        try:
            everyone += [*psutil.Process(one.pid).children(recursive=True), psutil.Process(one.pid)]
        except psutil.NoSuchProcess:
            continue
    for one in everyone:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue
    for one in processes:
        one.wait(PATIENCE)


@contextmanager
def cluster(folder: Path, code: Path, trees, out: Path, workers: int):
    """Client, scheduler and workers under a nanny, by name; they are ended in any case."""
    file, log = folder / f"scheduler{time.monotonic_ns()}.json", folder / "log"
    processes = {}
    try:
        processes["scheduler"] = start(
            "distributed.cli.dask_scheduler", "--port", 0, "--host", "127.0.0.1",
            "--dashboard-address", "127.0.0.1:0", "--scheduler-file", file, code=code, log=log,
        )  # fmt: skip
        address = wait_for(lambda: read_address(file), "the scheduler never started")
        processes["worker"] = start(
            "distributed.cli.dask_worker", address, "--nworkers", workers, "--nthreads", 1,
            "--dashboard-address", "127.0.0.1:0", "--local-directory", folder, code=code, log=log,
        )  # fmt: skip
        processes["client"] = start(
            "workbench", "compare", trees["wrong"], trees["golden"], "--out", out,
            "--scheduler", address, code=code, log=log,
        )  # fmt: skip
        yield processes
    finally:
        end_all(processes.values())


def read_address(file: Path):
    try:
        return json.loads(file.read_text())["address"]
    except (OSError, ValueError):
        return None


def done(out: Path) -> int:
    return len([*out.glob("units/*/*.parquet")])


def wait_until_done(out: Path, count: int, client: subprocess.Popen[bytes]) -> None:
    wait_for(lambda: done(out) >= count or client.poll() is not None, "no unit was done")


def kill(processes, victim: str) -> None:
    """Kill a process, if it has not just ended; of the workers one that a nanny has started."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(processes[victim].pid)
        if victim == "worker":
            process = max(process.children(recursive=True), key=lambda one: one.memory_info().rss)
        process.send_signal(signal.SIGKILL)


def disturbed(folder: Path, code: Path, trees, victims, expected, seed: int) -> None:
    """Kill one process in each run, when so many units are done; then run to the end and compare."""
    choice, out = random.Random(seed), folder / "r"
    workers = 1 if victims == ["client"] else 2  # another goes on where one is killed
    for victim in victims:
        for path in [*out.glob("units/*/*.parquet")][choice.randrange(2, 6) :]:
            path.unlink()  # so that there is something left to be killed at
        reached = done(out) + choice.randrange(1, 3)
        with cluster(folder, code, trees, out, workers) as processes:
            client = processes["client"]
            wait_until_done(out, reached, client)
            kill(processes, victim)
            if victim == "worker":
                assert client.wait(PATIENCE) == 1, (folder / "log").read_text()[-3000:]
                assert contents(out) == expected
            elif victim == "scheduler":
                assert client.wait(PATIENCE) in (1, 2)  # or it had just ended
    with cluster(folder, code, trees, out, workers) as processes:
        assert processes["client"].wait(PATIENCE) == 1, (folder / "log").read_text()[-3000:]
    assert contents(out) == expected


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    """A folder with the package as it is when the tests begin."""
    folder = tmp_path_factory.mktemp("code")
    shutil.copytree(Path(workbench.__file__).parent, folder / "workbench")
    return folder


@pytest.fixture(scope="module")
def expected(trees, client, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "r"
    compare_job(trees["wrong"], trees["golden"], out=out, client=client)
    return contents(out)


@pytest.mark.slow
@pytest.mark.parametrize("victim", nightly(["client", "scheduler", "worker"], ["client"]))
def test_after_a_kill_the_result_is_the_same(code, trees, expected, tmp_path, victim):
    disturbed(tmp_path, code, trees, [victim], expected, seed=1)


@pytest.mark.exhaustive
@pytest.mark.timeout(3600)
def test_after_twenty_kills_the_result_is_the_same(code, trees, expected, tmp_path):
    kinds = random.Random(2).choices(["worker", "scheduler", "client"], k=20)
    disturbed(tmp_path, code, trees, kinds, expected, seed=2)
