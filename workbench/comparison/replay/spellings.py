"""Operators under other names than the table's: aliases, and nodes of ONNX."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from workbench.graph_files.onnx.dialect import DOMAIN, STANDARD, is_onnx
from workbench.ops import OPS
from workbench.ops.aliases import resolve_alias

if TYPE_CHECKING:
    from workbench.graph.graph import Op


@cache
def _types_of_onnx() -> dict[str, str]:
    """Type of ONNX → ours of the same inputs."""
    return {row.onnx: name for name, row in OPS.items() if row.onnx}


def canonical_op(op: Op) -> Op | None:
    """Return the operator under the table's name; ``None`` if it has none there."""
    return _of_onnx(op) if is_onnx(op) else resolve_alias(op)


def _of_onnx(op: Op) -> Op | None:
    """Return what a node of ONNX is under another name; without attributes it is that in every opset from 7 on."""
    name = _types_of_onnx().get(op.op_type) if op.attrs.get(DOMAIN, "") in STANDARD else None
    if name is None or len(op.inputs) != len(OPS[name].positions):
        return None
    return replace(op, op_type=name, attrs={})
