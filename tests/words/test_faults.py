"""What the kinds of faults say of their strength and value: the words stand in the table of kinds."""

from __future__ import annotations

from kit.words import SNAPSHOTS
from workbench.npu.faults import FAULTS

SNAPSHOT = SNAPSHOTS / "run_faults.txt"


def test_the_snapshot_shows_every_kind(pytestconfig):
    text = "\n".join(
        f"{name}\n    strength: {row.strength or '-'}\n    value: {row.value or '-'}\n"
        for name, row in FAULTS.items()
    )
    if pytestconfig.getoption("update_words"):
        SNAPSHOT.write_text(text, encoding="utf-8")
    assert SNAPSHOT.read_text(encoding="utf-8") == text
