"""Fixtures that several test modules share, and which process runs what."""

from __future__ import annotations

import os
import tarfile

import pytest
from hypothesis import HealthCheck, settings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    # Before NumPy loads: beside other processes, threads of BLAS wait for each other, and busily.
    os.environ.setdefault(name, "1")

from kit.build.foreign_files import DATA, PAIRS, RealPair  # noqa: E402 - after the environment is set

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser):
    """What a run leaves out, and what it writes down."""
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="with the tests marked exhaustive, which make test leaves to the nightly make test-all",
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
    """Write down durations where they are asked for, in the process that hears of all tests."""
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


@pytest.fixture(scope="session")
def real_pairs(tmp_path_factory) -> dict[str, RealPair]:
    """Every real pair by name, unpacked once a session."""
    root = tmp_path_factory.mktemp("real")
    for archive in sorted((DATA / "real").glob("*.tar.xz")):
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="data")
    return {name: RealPair(root / name) for name in PAIRS}
