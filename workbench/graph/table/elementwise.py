"""Operators that treat every element alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.graph import infer
from workbench.graph.infer import elementwise as each
from workbench.graph.infer import movement
from workbench.graph.opdef import OpDef

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.core.tensors import TensorSpec
    from workbench.graph.infer import Call


def _unary(
    name: str = "input", rule: Callable[[Call], tuple[TensorSpec, ...]] = infer.same
) -> OpDef:
    return OpDef(name, rule)


def _binary(
    names: str = "input other",
    rule: Callable[[Call], tuple[TensorSpec, ...]] = each.broadcast,
) -> OpDef:
    return OpDef(names, rule, tensors=2)


ELEMENTWISE: dict[str, OpDef] = {
    # two inputs and more
    "Add": _binary(),
    "Sub": _binary(),
    "Mul": _binary(),
    "RealDiv": _binary("x y"),
    "Div": _binary(),
    "FloorDiv": _binary(),
    "FloorMod": _binary("x y"),
    "TruncateDiv": _binary("x y"),
    "TruncateMod": _binary("x y"),
    "Maximum": _binary(),
    "Minimum": _binary(),
    "Pow": _binary("input exponent"),
    "Equal": _binary(rule=each.compare),
    "NotEqual": _binary(rule=each.compare),
    "Greater": _binary(rule=each.compare),
    "GreaterEqual": _binary(rule=each.compare),
    "Less": _binary(rule=each.compare),
    "LessEqual": _binary(rule=each.compare),
    "LogicalAnd": _binary("x y", each.logic),
    "LogicalOr": _binary("x y", each.logic),
    "LogicalXor": _binary(rule=each.logic),
    "BitwiseAnd": _binary("x1 x2", each.bitwise),
    "BitwiseOr": _binary("x1 x2", each.bitwise),
    "BitwiseXor": _binary("x1 x2", each.bitwise),
    "LeftShift": _binary("x1 x2", each.bitwise),
    "RightShift": _binary("input_x input_y", each.bitwise),
    "AddN": OpDef("x", each.total, tensors=-1),
    "BiasAdd": OpDef(
        "input_x bias data_format", each.bias_add, tensors=2, defaults={"data_format": 0}
    ),
    "PReLU": OpDef("input weight", each.prelu, tensors=2),
    "Select": OpDef("condition input other", each.select, tensors=3),
    "MaskedFill": OpDef("input_x mask value", each.masked_fill, tensors=3),
    # one input
    "ReLU": _unary(),
    "ReLU6": _unary("x"),
    "Elu": OpDef("input_x alpha", infer.same, defaults={"alpha": 1.0}),
    "CeLU": OpDef("x alpha", infer.same, defaults={"alpha": 1.0}),
    "SeLU": _unary("input_x"),
    "SiLU": _unary(),
    "HSwish": _unary(),
    "HSigmoid": _unary(),
    "HShrink": OpDef("input lambd", infer.same, defaults={"lambd": 0.5}),
    "SoftShrink": OpDef("input lambd", infer.same, defaults={"lambd": 0.5}),
    "Threshold": OpDef("input threshold value", infer.same),
    "Softplus": _unary("x"),
    "Softsign": _unary("input_x"),
    "Mish": _unary("x"),
    "Sigmoid": _unary(),
    "GeLU": _unary(),
    "Erf": _unary(),
    "Sqrt": _unary("x"),
    "Rsqrt": _unary(),
    "Reciprocal": _unary(),
    "Exp": _unary(),
    "Expm1": _unary(),
    "Log": _unary(),
    "Log1p": _unary(),
    "Sin": _unary(),
    "Cos": _unary(),
    "Tan": _unary(),
    "Asin": _unary(),
    "ACos": _unary(),
    "Atan": _unary(),
    "Sinh": _unary(),
    "Cosh": _unary(),
    "Tanh": _unary(),
    "Asinh": _unary(),
    "Acosh": _unary(),
    "Atanh": _unary(),
    "Abs": _unary(),
    "Neg": _unary(),
    "Sign": _unary(),
    "Square": _unary(),
    "Floor": _unary(),
    "Ceil": _unary(),
    "Trunc": _unary(),
    "Rint": _unary("input_x"),
    "Round": OpDef("input decimals", infer.same, defaults={"decimals": 0}),
    "ClampScalar": OpDef("input min max", infer.same, defaults={"min": None, "max": None}),
    "Invert": _unary("x", each.bitwise),
    "LogicalNot": _unary(rule=each.logic),
    "IsNan": _unary("x", each.whether),
    "IsInf": _unary(rule=each.whether),
    "IsFinite": _unary(rule=each.whether),
    "ZerosLike": _unary("x"),
    "OnesLike": _unary("x"),
    "Cast": OpDef("input_x dtype", each.cast),
    "TransData": _unary("src"),
    "Tril": OpDef("x", movement.triangle, defaults={"diagonal": 0}),
    "Triu": OpDef("input diagonal", movement.triangle, defaults={"diagonal": 0}),
}
