"""Fixtures that several test modules share."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
PAIRS = sorted(path.name.removesuffix(".tar.xz") for path in (DATA / "real").glob("*.tar.xz"))


class RealPair:
    """One unpacked pair of real dumps and what is known about it."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.folder = folder
        self.golden = folder / "dump_a"
        self.target = folder / "dump_b"
        self.truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def real_pairs(tmp_path_factory) -> dict[str, RealPair]:
    """Every real pair by name, unpacked once a session."""
    root = tmp_path_factory.mktemp("real")
    for archive in sorted((DATA / "real").glob("*.tar.xz")):
        with tarfile.open(archive) as packed:
            packed.extractall(root, filter="data")
    return {name: RealPair(root / name) for name in PAIRS}
