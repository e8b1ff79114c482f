"""What compiled operators stand for, noted under GE's names (``graph_pass_util``)."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench.core.errors import GraphError
from workbench.graph.graph import ORIGINAL_NAMES, ORIGINAL_TYPES, Const, SourceTensor
from workbench.ops import OPS, bind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.graph.graph import Op
    from workbench.npu.compile.program import Module
    from workbench.npu.target import Target

SETTLED: dict[str, str] = {"Concat": "ConcatD", "Split": "SplitD"}
"""Operator type → that of the operator whose axis is an attribute. Unlike it, this one has a kernel."""

RENAMED: dict[str, str] = {"Stack": "Pack"}
"""Operator type → that of the graph engine for the same. What it calls ``Stack`` keeps tensors of a loop."""

HCOM: dict[str, str] = {
    "AllReduce": "HcomAllReduce",
    "AllGather": "HcomAllGather",
    "ReduceScatter": "HcomReduceScatter",
    "Broadcast": "HcomBroadcast",
}
"""Operator type → that of the graph engine, whose attributes are fewer and ``reduction`` in place of ``op``."""

RANKS = "group_ranks"
"""Attribute that says which ranks a group is; GE has the group's name alone, and asks the runtime."""

TRACED: dict[str, str] = {
    new: old for table in (SETTLED, RENAMED, HCOM) for old, new in table.items()
}
"""Operator type of the graph engine → that of the network's operator, which keeps its name."""

INSERTED: Mapping[str, Any] = MappingProxyType({ORIGINAL_NAMES: (), ORIGINAL_TYPES: ()})
"""Attributes that say of an operator that nothing of the network corresponds to it."""


def originals(ops: Iterable[Op]) -> dict[str, Any]:
    """Attributes of an operator that stands for others, each of them told once."""
    found: dict[str, str] = {}
    for op in ops:
        for name, kind in zip(original_names(op), original_types(op), strict=True):
            found.setdefault(name, kind)
    return {ORIGINAL_NAMES: tuple(found), ORIGINAL_TYPES: tuple(found.values())}


def original_names(op: Op) -> tuple[str, ...]:
    """Names of the network's operators that an operator stands for."""
    return tuple(op.attrs.get(ORIGINAL_NAMES, (op.name,)))


def original_types(op: Op) -> tuple[str, ...]:
    """Types of the network's operators that an operator stands for."""
    return tuple(op.attrs.get(ORIGINAL_TYPES, (op.op_type,)))


def origin_of(op: Op, slot: int) -> SourceTensor | None:
    """Tensor of the network that an output is."""
    return op.provenance[slot] if op.provenance else SourceTensor(op.name, slot, op.outputs[slot])


def constants_to_attributes(module: Module, target: Target) -> Module:
    """Return the graph with constant settings as attributes (``ConstToAttrPass``)."""
    ops = tuple(_with_attributes(op) for op in module.graph.ops)
    return replace(module, graph=replace(module.graph, ops=ops))


def _with_attributes(op: Op) -> Op:
    """Return an operator whose settings are attributes, if all of them are known."""
    if op.op_type in HCOM:
        return _collective(op)
    op = replace(op, op_type=RENAMED.get(op.op_type, op.op_type))
    row = OPS.get(op.op_type)
    if row is None or row.places:
        return op
    try:
        bound = bind(op)
    except GraphError:
        return op
    others = [one for slot, one in enumerate(op.flat_inputs()) if slot not in bound.slots]
    if not others or any(not isinstance(one, Const) or one.dtype == "monad" for one in others):
        return op
    named = row.named([one.value for one in others if isinstance(one, Const)])
    count = abs(row.tensors)
    return replace(
        op,
        op_type=SETTLED.get(op.op_type, op.op_type),
        inputs=op.inputs[:count],
        input_specs=op.input_specs[:count],
        attrs={**op.attrs, **{name: value for name, value in named.items() if value is not None}},
    )


def _collective(op: Op) -> Op:
    """Return an operator in which ranks meet as the graph engine has it."""
    kind, given = HCOM[op.op_type], {**op.attrs, "reduction": op.attrs.get("op", "sum")}
    attrs = {name: given[name] for name in (*OPS[kind].defaults, RANKS) if name in given}
    return replace(op, op_type=kind, attrs=attrs)
