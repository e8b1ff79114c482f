"""What a graph of dialect ``onnx`` has beside what ONNX says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.graph.graph import Op

DIALECT = "onnx"

PREFIX = "onnx:"
DOMAIN, OUTPUTS, NOTES, UNNAMED = "onnx:domain", "onnx:outputs", "onnx:metadata", "onnx:unnamed"
"""Attributes of an operator that are none of the node's: its domain, the names of its outputs, what exporters have
noted, and whether the model has no name for it. No attribute of ONNX has a colon in its name."""

OPEN_SHAPES = "onnx:open-shapes"
"""Attribute of a graph: input → its sizes where some are open, these by their names (``?``: without any)."""

STANDARD = ("", "ai.onnx")
"""Names of the standard domain."""


def is_onnx(op: Op) -> bool:
    """Whether an operator is a node of ONNX: types and attributes that sound like ours mean something else."""
    return OUTPUTS in op.attrs
