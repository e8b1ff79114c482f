"""What a comparison writes depends on the dumps alone: not on the process, its hashes or the clock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PAIR = Path(__file__).parents[2] / "sample_dumps/simulated_pair"
FILES = ("report.html", "result.json", "table.csv")


@pytest.mark.slow
@pytest.mark.criterion(26)
def test_two_processes_write_the_same_bytes(tmp_path):
    written = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        files = [folder / name for name in FILES]
        options = [f"--{path.suffix[1:]}={path}" for path in files]
        subprocess.run(
            [sys.executable, "-m", "workbench", "compare", "target", "golden", *options],
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": "UTC" if seed == "1" else "Asia/Tokyo"},
            cwd=PAIR, capture_output=True, check=False,
        )  # fmt: skip
        written.append([path.read_bytes() for path in files])
    assert written[0] == written[1]
    assert all(written[0])
