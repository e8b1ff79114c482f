"""Some nodes of a model as operators of ours, on inputs whose sizes somebody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.graph import Param, Parameter, Value
from workbench.network.onnx.lower import lower

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Set

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Op, Operand


def outer_operands(
    model: Graph, members: Collection[int], known: Set[int]
) -> dict[Operand, tuple[int, int]]:
    """Values and weights that nodes read from outside of themselves → node and slot that reads one first.

    Nodes that are ``known`` before the run (`workbench.ops.compile_time.computed_before_the_run`) count as theirs.
    """
    numbers = _with_constants(model, members, known)
    outer: dict[Operand, tuple[int, int]] = {}
    for number in numbers:
        for slot, one in enumerate(model.ops[number].flat_inputs()):
            if isinstance(one, Param) or (isinstance(one, Value) and one.op not in numbers):
                outer.setdefault(one, (number, slot))
    return outer


def lower_part(
    model: Graph,
    members: Collection[int],
    result: Value,
    specs: Mapping[Operand, TensorSpec],
    known: Set[int],
) -> Graph:
    """Return nodes of a graph of dialect onnx as a graph of ours.

    ``result`` is the value that it gives. ``specs`` are what lies in `outer_operands` that are no weights. Of these
    the graph has those that it needs, under the `input_name` of their place; its other parameters are weights with
    their values.

    Raises GraphError if there are no operators of ours for a node, and FormatError if a weight cannot be read.
    """
    numbers = _with_constants(model, members, known)
    outer = outer_operands(model, members, known)
    places = {number: place for place, number in enumerate(numbers)}
    taken: dict[Operand, Operand] = {one: Param(place) for place, one in enumerate(outer)}

    def operand(one: Operand) -> Operand:
        if isinstance(one, Value) and one.op in places:
            return Value(places[one.op], one.slot)
        return taken.get(one, one)

    ops = (model.ops[number] for number in numbers)
    part = replace(
        model,
        parameters=tuple(_parameter(model, one, specs, n) for n, one in enumerate(outer)),
        ops=tuple(replace(op, inputs=tuple(map(operand, op.inputs))) for op in ops),
        outputs=(operand(result),),
    )
    return lower(part, model.path or model.name)


def _parameter(
    model: Graph, operand: Operand, specs: Mapping[Operand, TensorSpec], number: int
) -> Parameter:
    if isinstance(operand, Param) and model.parameters[operand.index].is_weight:
        return model.parameters[operand.index]
    return Parameter(input_name(number), specs[operand])


def input_name(place: int) -> str:
    """What a graph of `lower_part` calls an input, by its place among the `outer_operands`."""
    return f"part_input_{place}"


def _with_constants(model: Graph, members: Collection[int], known: Set[int]) -> list[int]:
    """Nodes with those before them that no input's values reach."""
    found, waiting = set(members), [*members]
    while waiting:
        for number in _producers(model.ops[waiting.pop()]):
            if number in known and number not in found:
                found.add(number)
                waiting.append(number)
    return sorted(found)


def _producers(op: Op) -> Iterator[int]:
    return (one.op for one in op.flat_inputs() if isinstance(one, Value))
