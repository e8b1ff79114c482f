"""What an operator adds to the error by itself, as a figure of the rows of its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def result_slot(io: str, slot: int) -> int:
    """Slot of a result as replay counts them: overwritten input ``s`` is ``-1 - s``."""
    return slot if io == "output" else -1 - slot
