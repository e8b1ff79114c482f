"""Fixtures that several test modules share."""

from __future__ import annotations

import tarfile

import pytest

from real_data import DATA, PAIRS, RealPair


@pytest.fixture(scope="session")
def real_pairs(tmp_path_factory) -> dict[str, RealPair]:
    """Every real pair by name, unpacked once a session."""
    root = tmp_path_factory.mktemp("real")
    for archive in sorted((DATA / "real").glob("*.tar.xz")):
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="data")
    return {name: RealPair(root / name) for name in PAIRS}
