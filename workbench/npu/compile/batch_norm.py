"""Normalization with stored moments becomes part of the convolution before it, where all is constant.

As ``conv_batchnorm_fusion_pass`` does: two operators of the host compute a filter and a bias from the
constants of both, and the compiler folds them (`workbench.npu.compile.folding`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Const, Kernel, Op, Param, Value
from workbench.npu.compile.provenance import INSERTED, origin_of, originals
from workbench.ops import bind

if TYPE_CHECKING:
    from workbench.graph.graph import Operand
    from workbench.graph.rewrite import GraphBuilder
    from workbench.npu.compile.patterns import Match, Matcher

CONSTANTS = ("scale", "offset", "mean", "variance")


def settings(matcher: Matcher, part: Match) -> dict[str, Any] | None:
    """Return the attributes of the convolution, if the normalization can become part of it."""
    norm = matcher.graph.ops[max(part.members)]
    main = matcher.graph.ops[part.roles["main"]]
    if bind(norm).settings["is_training"] or not norm.outputs:
        return None
    operands = [part.names[name] for name in CONSTANTS]
    operands += list(main.flat_inputs())[1:]
    if not all(matcher.is_weight(operand) for operand in operands):
        return None
    number = max(part.members)
    if any(Value(number, slot) in matcher.graph.consumers for slot in range(1, len(norm.outputs))):
        return None
    return {**main.attrs, "has_bias": True}


def build(builder: GraphBuilder, matcher: Matcher, root: int, part: Match) -> None:
    """Write the convolution with its new filter and bias."""
    norm, number = matcher.graph.ops[root], part.roles["main"]
    main = matcher.graph.ops[number]
    x, weight, *bias = main.flat_inputs()
    constants = [part.names[name] for name in CONSTANTS]
    filters = matcher.graph.spec(weight)
    channels = matcher.graph.spec(constants[0])
    assert filters is not None
    assert channels is not None
    epsilon = {"epsilon": bind(norm).settings["epsilon"], **INSERTED}
    before = bias or [Const(0.0, channels.dtype, channels.shape)]
    made = []
    for word, first, spec in (("Filter", weight, filters), ("Bias", before[0], channels)):
        inputs = tuple(builder.operand(one) for one in (first, *constants))
        name = f"{main.name}{norm.name}_{word.lower()}_host"
        specs = (spec, *(matcher.graph.spec(one) for one in constants))
        op = Op(name, f"ConvBn{word}Host", inputs, epsilon, (spec,), specs)
        made.append(Value(builder.insert(op)))
    builder.replace(root, _kernel(builder.operand(x), made, main, norm, (filters, channels)))


def _kernel(
    x: Operand,
    made: list[Value],
    main: Op,
    norm: Op,
    specs: tuple[TensorSpec, TensorSpec],
) -> Op:
    """Return the convolution: of the new filter, with the new bias."""
    plain = main if main.fused is None else main.fused.ops[0]
    inner = replace(plain, inputs=(Param(0), Param(1)))
    added = Op(
        norm.name, "BiasAdd", (Value(0), Param(2)), {"data_format": 0}, norm.outputs[:1],
        frames=norm.frames,
    )  # fmt: skip
    return Op(
        main.name, main.op_type, (x, *made), {**main.attrs, "has_bias": True, **originals((main, norm))},
        norm.outputs[:1], (main.input_specs[0], *specs), frames=norm.frames,
        fused=Kernel((inner, added), (Value(1),)), provenance=(origin_of(norm, 0),),
    )  # fmt: skip
