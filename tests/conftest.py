"""Fixtures that several test modules share."""

from __future__ import annotations

import os
import tarfile

import pytest

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    # Before NumPy loads: beside other processes, threads of BLAS wait for each other, and busily.
    os.environ.setdefault(name, "1")

from real_data import DATA, PAIRS, RealPair  # noqa: E402 - after the environment is set


@pytest.fixture(scope="session")
def real_pairs(tmp_path_factory) -> dict[str, RealPair]:
    """Every real pair by name, unpacked once a session."""
    root = tmp_path_factory.mktemp("real")
    for archive in sorted((DATA / "real").glob("*.tar.xz")):
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="data")
    return {name: RealPair(root / name) for name in PAIRS}
