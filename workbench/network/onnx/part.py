"""Some nodes of a model as operators of ours, on inputs whose sizes somebody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.graph.graph import Param, Parameter, Value
from workbench.network.onnx.lower import lower
from workbench.ops.compile_time import computed_before_the_run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Op, Operand


def outer_operands(model: Graph, members: Collection[int]) -> dict[Operand, tuple[int, int]]:
    """Values and weights that nodes read from outside of themselves → node and slot that reads one first.

    What a compiler knows before the run counts as theirs.
    """
    numbers = _with_constants(model, members)
    outer: dict[Operand, tuple[int, int]] = {}
    for number in numbers:
        for slot, one in enumerate(model.ops[number].flat_inputs()):
            if isinstance(one, Param) or (isinstance(one, Value) and one.op not in numbers):
                outer.setdefault(one, (number, slot))
    return outer


def lower_part(
    model: Graph, members: Collection[int], result: Value, specs: Mapping[Operand, TensorSpec]
) -> Graph:
    """Return nodes of a graph of dialect onnx as a graph of ours.

    ``result`` is the value that it gives. ``specs`` are what lies in `outer_operands` that are no weights; the
    parameters of the graph are these in their order, and weights with their values.

    Raises GraphError if there are no operators of ours for a node, and FormatError if a weight cannot be read.
    """
    numbers, outer = _with_constants(model, members), outer_operands(model, members)
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
    return Parameter(f"x{number}", specs[operand])


def _with_constants(model: Graph, members: Collection[int]) -> list[int]:
    """Nodes with those before them that no input's values reach."""
    known, found = computed_before_the_run(model), set(members)
    waiting = [*members]
    while waiting:
        for number in _producers(model.ops[waiting.pop()]):
            if number in known and number not in found:
                found.add(number)
                waiting.append(number)
    return sorted(found)


def _producers(op: Op) -> Iterator[int]:
    return (one.op for one in op.flat_inputs() if isinstance(one, Value))
