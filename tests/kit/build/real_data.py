"""The real dumps under tests/data/real: which there are, and what is known about each."""

from __future__ import annotations

import json
from pathlib import Path

DATA = Path(__file__).parents[2] / "data"
PAIRS = sorted(path.name.removesuffix(".tar.xz") for path in (DATA / "real").glob("*.tar.xz"))


class RealPair:
    """One unpacked pair of real dumps and what is known about it."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.folder = folder
        self.golden = folder / "dump_a"
        self.target = folder / "dump_b"
        self.truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
