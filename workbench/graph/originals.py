"""Attributes by which operators say what they stand for, under GE's names (``graph_pass_util``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.graph import SourceTensor

if TYPE_CHECKING:
    from workbench.graph.graph import Op

ORIGINAL_NAMES = "_datadump_original_op_names"
ORIGINAL_TYPES = "_datadump_original_op_types"
IS_PART = "_datadump_is_multiop"


def part_of(op: Op, whole: Op, *, gives: bool) -> Op:
    """Return an operator that is one of several that came of one; ``gives``: its outputs are those of the whole."""
    given = tuple(SourceTensor(whole.name, slot, spec) for slot, spec in enumerate(op.outputs))
    attrs = {**op.attrs, ORIGINAL_NAMES: (whole.name,), ORIGINAL_TYPES: (whole.op_type,)}
    return replace(op, attrs=attrs, provenance=given if gives else (None,) * len(op.outputs))
