"""Test files in a process of their own that starts with all libraries loaded, and what came of them."""

from __future__ import annotations

import importlib
import json
import math
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LIBRARIES = (
    "numpy", "pandas", "matplotlib.figure", "matplotlib.backends.backend_svg", "hypothesis.strategies",
    "hypothesis.extra.numpy", "jinja2", "ipywidgets", "anywidget", "traitlets", "ml_dtypes",
    "google.protobuf.message_factory", "google.protobuf.text_format", "click.testing", "nbformat", "jsonschema",
    "onnx.helper", "openpyxl", "xdist", "pytest_timeout", "threadpoolctl", "tqdm",
)  # fmt: skip
"""What takes time to import and is none of ours."""

WAITING = 6.0
"""Seconds by the clock for one of processor time, before a run counts as one that does not end."""

SELECTED = "not slow and not browser"
PASSED, FAILED, NOTHING = 0, 1, 5
"""Exit statuses of pytest that are told apart; every other one is an error while collecting."""


@dataclass
class Outcome:
    """How a run of tests ended: exit status, seconds of processor time, and the tests that failed."""

    status: int
    seconds: float
    failed: list[str] = field(default_factory=list)

    @property
    def how(self) -> str:
        """What found a fault: a test, the collection, the clock or a crash; empty if nothing did."""
        if self.failed:
            return self.failed[0]
        if self.status in (PASSED, NOTHING):
            return ""
        return {-1: "timeout", -2: "crash"}.get(self.status, "collection")


class _Failures:
    """A plugin of pytest that notes what fails."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and report.nodeid not in self.found:
            self.found.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.found.append(report.nodeid)


def load_libraries() -> None:
    """Import what every run would import, once; BLAS has one thread, for threads do not outlive a fork."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    for name in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(name)


def run(root: Path, files: list[str], limit: float, *, without: list[str], first: bool) -> Outcome:
    """Run test files of a checkout in a process of its own, to the end or to the ``first`` failure.

    ``limit`` is seconds of processor time, which do not depend on what else the machine does; a run that waits
    has `WAITING` times as long by the clock.
    """
    start = time.perf_counter()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with suppress(BaseException):
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))
            _child(root, files, writing, without=without, first=first)
        os._exit(70)
    os.close(writing)
    said = _read(reading, start + WAITING * limit)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what tests have started, too
    _, _, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    if said is None or (not said and seconds >= limit):
        return Outcome(-1, seconds)
    try:
        status, failed = json.loads(said)
    except ValueError:
        return Outcome(-2, seconds)
    return Outcome(status, seconds, failed)


def _child(root: Path, files: list[str], writing: int, *, without: list[str], first: bool) -> None:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.chdir(root)
    sys.path[:] = [str(root), *(one for one in sys.path if "benchmarks" not in one)]
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(root / ".hypothesis")
    noted = _Failures()
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--assert=plain",
        "--hypothesis-seed=0",
        "-m",
        SELECTED,
    ]
    options += ["-x"] * first + [f"--deselect={one}" for one in without]
    status = int(pytest.main([*options, f"--rootdir={root}", *files], plugins=[noted]))
    os.write(writing, json.dumps([status, noted.found[:200]]).encode())
    os._exit(0)


def _read(pipe: int, deadline: float) -> bytes | None:
    """What a child writes before it ends; ``None`` if it takes longer."""
    said = b""
    try:
        while True:
            left = deadline - time.perf_counter()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                return None
            piece = os.read(pipe, 1 << 16)
            if not piece:
                return said
            said += piece
    finally:
        os.close(pipe)
