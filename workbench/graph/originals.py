"""Attributes by which operators say what they stand for, under GE's names (``graph_pass_util``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.graph import SourceTensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.graph.graph import Op

ORIGINAL_NAMES = "_datadump_original_op_names"
ORIGINAL_TYPES = "_datadump_original_op_types"
IS_PART = "_datadump_is_multiop"


def part_of(op: Op, whole: Op, given: Mapping[int, int]) -> Op:
    """Return an operator as one of several that came of one; ``given`` maps its slots to those of the whole."""
    tensors = tuple(
        SourceTensor(whole.name, given[slot], spec) if slot in given else None
        for slot, spec in enumerate(op.outputs)
    )
    names = {ORIGINAL_NAMES: (whole.name,), ORIGINAL_TYPES: (whole.op_type,), IS_PART: True}
    return replace(op, attrs={**op.attrs, **names}, provenance=tensors)
