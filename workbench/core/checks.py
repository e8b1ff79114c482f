"""Seeds: what random numbers, names and times depend on."""

from __future__ import annotations

from typing import Any

from workbench.core.errors import GraphError


def check_seed(seed: Any, subject: str = "seed") -> None:
    """Raise GraphError for what is no seed: seeds are whole numbers from 0 on."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise GraphError("core/seed", subject=subject, got=seed)
