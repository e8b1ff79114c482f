"""Operators that the compiler makes several of: what one kernel cannot take, or does in two steps.

As in GE (``add_n_fusion_pass``, ``concat_pass_util``, ``fused_batchnorm_fusion_pass``) every part names the
original operator, and only outputs that are its tensors say so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.tensors import TensorSpec
from workbench.graph.graph import IS_PART, Bundle, Op, Param, SourceTensor, Value
from workbench.npu.compile.provenance import originals
from workbench.ops import bind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.graph.graph import Operand
    from workbench.graph.rewrite import GraphBuilder
    from workbench.npu.compile.patterns import Match, Matcher

MOST = 63
"""Tensors that one kernel takes."""


def wide(matcher: Matcher, part: Match) -> dict[str, Any] | None:
    """Return the attributes of an operator that takes more tensors than a kernel does."""
    op = matcher.graph.ops[part.roles["main"]]
    return dict(op.attrs) if len(bind(op).tensors) > MOST else None


def split_add_n(builder: GraphBuilder, matcher: Matcher, root: int, part: Match) -> None:
    """Write a long sum as a sum of sums; one summand too many goes with the last ones."""
    op, size = matcher.graph.ops[root], MOST - 1
    items = [builder.operand(one) for one in bind(op).tensors]
    starts = list(range(0, len(items) - 1, size))
    pieces = [items[start : None if start == starts[-1] else start + size] for start in starts]
    made = [
        _part(builder, op, f"{op.name}/AddN{number}", piece, op.outputs[0])
        for number, piece in enumerate(pieces)
    ]
    _base(builder, root, f"{op.name}/AddNBase_node", made)


def split_concat(builder: GraphBuilder, matcher: Matcher, root: int, part: Match) -> None:
    """Write a long concatenation as one of concatenations, of these again if there are many."""
    op, rank = matcher.graph.ops[root], 0
    stem, last = op.name, f"{op.name}/{op.op_type}Base_node0"
    items = [builder.operand(one) for one in bind(op).tensors]
    specs = [matcher.graph.spec(one) or TensorSpec("", None) for one in bind(op).tensors]
    while len(items) > MOST:
        pieces = [slice(start, start + MOST) for start in range(0, len(items), MOST)]
        specs = [_joined(specs[piece], op) for piece in pieces]
        items = [
            _part(builder, op, f"{stem}/{op.op_type}{number}{rank}", items[piece], spec)
            for number, (piece, spec) in enumerate(zip(pieces, specs, strict=True))
        ]
        stem, rank = last, rank + 1
        last = f"{stem}/{op.op_type}Base_node{rank}"
    _base(builder, root, stem, items)


def _joined(specs: list[TensorSpec], op: Op) -> TensorSpec:
    """Spec of some tensors in a row."""
    shape, axis = op.outputs[0].shape, bind(op).settings["axis"]
    sizes = [spec.shape[axis] for spec in specs if spec.shape is not None]
    if shape is None or len(sizes) < len(specs):
        return op.outputs[0]._replace(shape=None)
    axis %= len(shape)
    return op.outputs[0]._replace(shape=(*shape[:axis], sum(sizes), *shape[axis + 1 :]))


def _part(
    builder: GraphBuilder, op: Op, name: str, items: Sequence[Operand], spec: TensorSpec
) -> Operand:
    """Append a part whose output is no tensor of the network."""
    new = replace(
        op, name=name, inputs=(Bundle(tuple(items)),), input_specs=(None,), outputs=(spec,),
        attrs=attributes(op), provenance=(None,),
    )  # fmt: skip
    return Value(builder.insert(new))


def _base(builder: GraphBuilder, root: int, name: str, items: Sequence[Operand]) -> None:
    """Append the part whose output is that of the original operator."""
    op = builder.old.ops[root]
    new = replace(
        op, name=name, inputs=(Bundle(tuple(items)),), input_specs=(None,), attrs=attributes(op),
        provenance=(SourceTensor(op.name, 0, op.outputs[0]),),
    )  # fmt: skip
    builder.replace(root, new)


def attributes(op: Op) -> dict[str, Any]:
    """Attributes of a part of an operator."""
    return {**op.attrs, **originals((op,)), IS_PART: True}


def in_training(matcher: Matcher, part: Match) -> dict[str, Any] | None:
    """Return the attributes of a normalization with moments of the batch."""
    op = matcher.graph.ops[part.roles["main"]]
    known = bind(op).settings["is_training"] is True and len(op.outputs) == 5
    return dict(op.attrs) if known else None


def split_batch_norm(builder: GraphBuilder, matcher: Matcher, root: int, part: Match) -> None:
    """Write a normalization as sums over the batch, and what is done with them."""
    op = matcher.graph.ops[root]
    x, scale, offset, mean, variance = (builder.operand(one) for one in bind(op).tensors)
    settings, shared = bind(op).settings, {**originals((op,)), IS_PART: True}
    specs = [matcher.graph.spec(one) or TensorSpec("", None) for one in bind(op).tensors]
    sum_ = TensorSpec("float32", op.outputs[1].shape)
    reduce = Op(
        f"{op.name}_Reduce", "BNTrainingReduce", (x,), shared, (sum_, sum_), (specs[0],),
        frames=op.frames, provenance=(None, None),
    )  # fmt: skip
    number = builder.insert(reduce)
    inputs = (x, Value(number, 0), Value(number, 1), scale, offset, mean, variance)
    told = {"factor": settings["momentum"], "epsilon": settings["epsilon"], **shared}
    update = Op(
        f"{op.name}_Update", "BNTrainingUpdate", inputs, told, op.outputs,
        (specs[0], sum_, sum_, *specs[1:]), frames=op.frames,
        provenance=tuple(SourceTensor(op.name, slot, spec) for slot, spec in enumerate(op.outputs)),
    )  # fmt: skip
    builder.replace(root, update)


def half(matcher: Matcher, part: Match) -> dict[str, Any] | None:
    """Return the attributes of a convolution in float16, whose sums one kernel can take along."""
    op = matcher.graph.ops[part.roles["main"]]
    return dict(op.attrs) if op.outputs and op.outputs[0].dtype == "float16" else None


def undisturbed(matcher: Matcher, part: Match) -> dict[str, Any] | None:
    """Return the attributes of the update, if no other operator uses its weights until the part ends."""
    number = part.roles["main"]
    op = matcher.graph.ops[number]
    used = {operand for operand in op.flat_inputs() if isinstance(operand, Param)}
    between = set(range(number + 1, max(part.members))) - part.members
    others = {reader for operand in used for reader, _ in matcher.graph.consumers.get(operand, ())}
    return None if others & between else dict(op.attrs)
