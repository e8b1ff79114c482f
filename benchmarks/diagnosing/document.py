"""Write ``docs/evidence/diagnosis.md``: the same results give the same text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnosing.cases import KINDS, MODELS, SURFACES
from diagnosing.scoring import VISIBLE
from diagnosing.tables import every_table, seen
from workbench.npu.profiles import PROFILES

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD = Path(__file__).with_name("document.md")
"""What stands above the tables."""


def document(records: Sequence[dict[str, Any]], command: str, *, meaningless: bool = False) -> str:
    """The whole document."""
    planted = [r for r in records if r.get("visible") is not None]
    head = HEAD.read_text(encoding="utf-8").format(
        command=command,
        seeds=len({r["seed"] for r in records}),
        planted=len(planted),
        visible=len(seen(records)),
        clean=sum(not r["kind"] for r in records),
        renamed=", all under meaningless names and without source lines" if meaningless else "",
        kinds=", ".join(f"`{kind}`" for kind in KINDS),
        models=", ".join(f"`{model}`" for model in MODELS),
        devices=", ".join(f"`{device}`" for device in PROFILES),
        surfaces=", ".join(f"`{surface}` ({files})" for surface, files in SURFACES),
        times=VISIBLE,
    )
    return "\n".join((head, *(f"{table}\n" for table in every_table(records))))
