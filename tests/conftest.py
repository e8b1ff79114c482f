"""Fixtures that several test modules share, and which process runs what."""

from __future__ import annotations

import os
import tarfile

import pytest
from hypothesis import HealthCheck, settings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    # Before NumPy loads: beside other processes, threads of BLAS wait for each other, and busily.
    os.environ.setdefault(name, "1")

from kit.build.real_data import DATA, PAIRS, RealPair  # noqa: E402 - after the environment is set

# How long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser):
    group = parser.getgroup("words", "sentences in tests/words")
    group.addoption(
        "--record-words", action="store_true", help="Add sentences that this run makes."
    )
    group.addoption("--update-words", action="store_true", help="Write the snapshots anew.")


def pytest_configure(config):
    if config.getoption("record_words"):
        from kit.words import Recorder

        recorder = Recorder()
        config.add_cleanup(recorder.write)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep the files of the browser together: one Chromium, one JupyterLab, in one process."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class WholeFiles(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            browser = "tests/browser/"
            return browser if nodeid.startswith(browser) else super()._split_scope(nodeid)

    return WholeFiles(config, log)


@pytest.fixture(scope="session")
def real_pairs(tmp_path_factory) -> dict[str, RealPair]:
    """Every real pair by name, unpacked once a session."""
    root = tmp_path_factory.mktemp("real")
    for archive in sorted((DATA / "real").glob("*.tar.xz")):
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="data")
    return {name: RealPair(root / name) for name in PAIRS}
