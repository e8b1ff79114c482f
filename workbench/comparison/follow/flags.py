"""Flags that operators raise after an overflow, as their results show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from workbench.comparison.bind.binding import Binding, Block, OpRun
    from workbench.comparison.pair.pairing import Pairing
    from workbench.core.tensors import TensorRecord

FLAGS = frozenset(("AllFinite", "FloatStatus", "NPUGetFloatStatus", "NPUGetFloatStatusV2"))
"""Types whose result is not 0 after an overflow."""

_LARGEST_FLAG = 64
"""A flag or a float status has no more elements."""


def flag_of(binding: Binding, block: Block) -> OpRun | None:
    """Return the operator that raised its flag in an execution."""
    for run in binding.runs.get(block, {}).values():
        record = run.tensors.get(("output", 0))
        if run.op_type in FLAGS and record is not None and _is_up(record):
            return run
    return None


def _is_up(record: TensorRecord) -> bool:
    try:
        if record.source is None or (record.source.spec().size or 0) > _LARGEST_FLAG:
            return False
        return bool(np.any(record.source.array() != 0))
    except FormatError:
        return False


def both_overflow(pairing: Pairing) -> list[Block]:
    """Return the target's executions in which both sides raise their flags."""
    return [
        block
        for block in pairing.block_order
        if flag_of(pairing.target, block) and flag_of(pairing.golden, pairing.blocks[block])
    ]
