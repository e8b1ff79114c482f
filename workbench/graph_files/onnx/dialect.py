"""What a graph of dialect ``onnx`` has beside what ONNX says, and which operators are ours under another name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.graph.graph import Op

DIALECT = "onnx"

DOMAIN, OUTPUTS, NOTES, UNNAMED = "onnx:domain", "onnx:outputs", "onnx:metadata", "onnx:unnamed"
"""Attributes of an operator that are none of the node's: its domain, the names of its outputs, what exporters have
noted, and whether the model has no name for it. No attribute of ONNX has a colon in its name."""

OPEN_SHAPES = "onnx:open-shapes"
"""Attribute of a graph: input → its sizes where some are open, these by their names (``?``: without any)."""

STANDARD = ("", "ai.onnx")
"""Names of the standard domain."""

RENAMED: dict[str, tuple[str, int]] = {
    "Abs": ("Abs", 1),
    "Acos": ("ACos", 1),
    "Acosh": ("Acosh", 1),
    "Add": ("Add", 2),
    "And": ("LogicalAnd", 2),
    "Asin": ("Asin", 1),
    "Asinh": ("Asinh", 1),
    "Atan": ("Atan", 1),
    "Atanh": ("Atanh", 1),
    "BitwiseAnd": ("BitwiseAnd", 2),
    "BitwiseNot": ("Invert", 1),
    "BitwiseOr": ("BitwiseOr", 2),
    "BitwiseXor": ("BitwiseXor", 2),
    "Ceil": ("Ceil", 1),
    "Cos": ("Cos", 1),
    "Cosh": ("Cosh", 1),
    "Equal": ("Equal", 2),
    "Erf": ("Erf", 1),
    "Exp": ("Exp", 1),
    "Floor": ("Floor", 1),
    "Greater": ("Greater", 2),
    "GreaterOrEqual": ("GreaterEqual", 2),
    "HardSwish": ("HSwish", 1),
    "IsNaN": ("IsNan", 1),
    "Less": ("Less", 2),
    "LessOrEqual": ("LessEqual", 2),
    "Log": ("Log", 1),
    "Mish": ("Mish", 1),
    "Mul": ("Mul", 2),
    "Neg": ("Neg", 1),
    "Not": ("LogicalNot", 1),
    "Or": ("LogicalOr", 2),
    "Reciprocal": ("Reciprocal", 1),
    "Relu": ("ReLU", 1),
    "Sigmoid": ("Sigmoid", 1),
    "Sign": ("Sign", 1),
    "Sin": ("Sin", 1),
    "Sinh": ("Sinh", 1),
    "Softplus": ("Softplus", 1),
    "Softsign": ("Softsign", 1),
    "Sqrt": ("Sqrt", 1),
    "Sub": ("Sub", 2),
    "Tan": ("Tan", 1),
    "Tanh": ("Tanh", 1),
    "Where": ("Select", 3),
    "Xor": ("LogicalXor", 2),
}
"""Operator of ONNX without attributes → ours, which reads the same inputs, and how many; in every opset from 7 on."""


def is_onnx(op: Op) -> bool:
    """Whether an operator is a node of ONNX: types and attributes that sound like ours mean something else."""
    return OUTPUTS in op.attrs


def renamed_op(op: Op) -> Op | None:
    """Return the operator of ours that a node of ONNX is under another name; ``None`` if it is more than that."""
    row = RENAMED.get(op.op_type) if op.attrs.get(DOMAIN, "") in STANDARD else None
    if row is None or len(op.inputs) != row[1]:
        return None
    return replace(op, op_type=row[0], attrs={})
