"""Fixtures that several test modules share, and which process runs what."""

from __future__ import annotations

import gc
import os
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    # Before NumPy loads: beside other processes, threads of BLAS wait for each other, and busily.
    os.environ.setdefault(name, "1")

# jsonschema would make a grammar of international addresses, five seconds in every process; no test has any.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# A test that is not about sessions leaves no file in the folder that it runs in.
os.environ.setdefault("WORKBENCH_SESSION", "off")

MEMORY, ROOM = Path("/dev/shm"), 8 << 30


def has_room(folder: Path) -> bool:
    """Whether a folder is in memory that has room for what the tests write."""
    known = Path("/proc/meminfo")
    if not (known.is_file() and os.access(folder, os.W_OK)):
        return False
    available = dict(line.split(":") for line in known.read_text().splitlines())["MemAvailable"]
    free = os.statvfs(folder)
    return min(free.f_bavail * free.f_frsize, int(available.split()[0]) << 10) >= ROOM


if has_room(MEMORY):
    # Tests write and delete a hundred thousand small files, which on a disk takes as long as the rest.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

from kit.build.foreign_files import DATA, PAIRS, RealPair  # noqa: E402 - after the environment is set

# How long an example takes depends on what else the machine does. The nightly run tries five times as many.
settings.register_profile(
    "nightly", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("daily", settings.get_profile("nightly"), max_examples=20)


def pytest_addoption(parser):
    """What a run leaves out, and what it writes down."""
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="with the tests marked exhaustive and all examples, which make test leaves to the nightly make test-all",
    )
    parser.addoption(
        "--at-most",
        type=float,
        metavar="SECONDS",
        help="without the files that took longer when last recorded in tests/durations.json",
    )
    parser.addoption(
        "--record-durations",
        action="store_true",
        help="write how long each file takes to tests/durations.json",
    )
    group = parser.getgroup("words", "sentences in tests/words")
    group.addoption(
        "--record-words", action="store_true", help="Add sentences that this run makes."
    )
    group.addoption("--update-words", action="store_true", help="Write the snapshots anew.")


def pytest_configure(config):
    """Choose how many examples are tried, and write down durations in the process that hears of all tests."""
    settings.load_profile("nightly" if config.getoption("exhaustive") else "daily")
    if config.getoption("record_words"):
        from kit import words

        config.add_cleanup(words.Recorder().write)
    if config.getoption("record_durations") and not hasattr(config, "workerinput"):
        from kit.schedule import Recorder

        config.pluginmanager.register(Recorder())


def pytest_ignore_collect(collection_path, config):
    """Leave out files that take too long for a short loop; not even what they import is loaded."""
    limit = config.getoption("at_most")
    if limit is not None and collection_path.suffix == ".py":
        from kit.schedule import ROOT, recorded

        file = collection_path.relative_to(ROOT).as_posix()
        return True if recorded().get(file, 0) > limit else None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looking for garbage, and never look at twenty thousand tests again: a second each time.

    Nor count what is frozen: a comparison asks twelve times whether anything is.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.get_freeze_count = lambda: 1  # of a million values it takes a seventh of a second
        gc.enable()


def pytest_collection_modifyitems(config, items):
    """Leave out what is marked ``exhaustive``, and say how many, unless it is asked for."""
    nightly = [item for item in items if item.get_closest_marker("exhaustive")]
    if nightly and not config.getoption("exhaustive"):
        config.hook.pytest_deselected(items=nightly)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """A process more than there are cores, since those with a browser wait often; four at most.

    Each takes a gigabyte, two of them two.
    """
    return min((os.cpu_count() or 1) + 1, 4)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Share whole files among the processes, the longest first; see `kit.schedule`."""
    if config.getoption("dist") != "loadfile":
        return None
    from kit.schedule import LongestFirst

    return LongestFirst(config, log)


class RealPairs(Mapping[str, RealPair]):
    """Every real pair by name, unpacked when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self._root, self._unpacked = root, {}

    def __getitem__(self, name: str) -> RealPair:
        if name not in self._unpacked:
            with tarfile.open(DATA / "real" / f"{name}.tar.xz") as archive:
                archive.extractall(self._root, filter="data")
            self._unpacked[name] = RealPair(self._root / name)
        return self._unpacked[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PAIRS)

    def __len__(self) -> int:
        return len(PAIRS)


@pytest.fixture(scope="session")
def real_pairs(tmp_path_factory) -> RealPairs:
    """The real pairs, each unpacked once a session."""
    return RealPairs(tmp_path_factory.mktemp("real"))
