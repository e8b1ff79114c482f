"""A rehearsal whole: both runs of a form, and their comparison."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.pipeline.rehearse import dump_both


def rehearse(graph: Any, config: Any, **options: Any) -> Any:
    """Dump both trees as `dump_both` does, compare them, and leave nothing behind."""
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as root:
        target, golden = dump_both(graph, config, Path(root), **options)
        return wb.compare(target, golden)
