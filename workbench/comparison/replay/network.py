"""A kernel as the nodes of the source framework's model that it stands for, with the weights of that model.

What a compiler has computed into the weights of a kernel is not dumped, or not to be compared; the model has what it
was computed from. So a kernel whose own weights are unknown can be computed again from what else it read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.core.dtypes import DTYPES, name_of
from workbench.core.errors import WorkbenchError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Kernel, Param, Value
from workbench.graph_files.onnx.dialect import DIALECT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Set

    from numpy.typing import NDArray

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.graphs.view import Origin
    from workbench.graph.graph import Graph, Operand

    Array = NDArray[Any]
    Read = Callable[[int, int], Array | None]


class NetworkKernel(NamedTuple):
    """What a kernel computes by the model, its inputs, and which of the golden's values it is."""

    kernel: Kernel
    inputs: dict[int, Array]
    result: Origin


def network_kernel(
    found: Alignment, number: int, read: Read, known: Set[int]
) -> NetworkKernel | None:
    """Return a kernel of the target by the golden's model; ``None``: the model, or an input, does not tell.

    ``read`` gives a value of the golden that the nodes read, by who reads it there, and where; ``known`` are the nodes
    of the model that no input's values reach.
    """
    members, model = nodes_of(found, number), found.golden.graph
    result = found.mapped(found.target.origin(Value(number, 0)))
    if model.dialect != DIALECT or result is None or result.number not in members:
        return None
    from workbench.network.onnx.part import input_name, lower_part, outer_operands

    arrays: dict[str, Array] = {}
    specs: dict[Operand, TensorSpec] = {}
    for place, (operand, reader) in enumerate(outer_operands(model, members, known).items()):
        if _is_weight(model, operand):
            continue
        array = read(*reader)
        if array is None:
            return None
        arrays[input_name(place)], specs[operand] = array, _spec(array)
    try:
        graph = lower_part(model, members, Value(result.number, result.slot), specs, known)
    except WorkbenchError:
        return None
    return _kernel(graph, arrays, result)


def _spec(array: Array) -> TensorSpec:
    """What a node read: the model is of float32, whatever floats the device has."""
    name = name_of(array.dtype)
    return TensorSpec("float32" if DTYPES[name].is_float else name, array.shape)


def nodes_of(found: Alignment, number: int) -> Collection[int]:
    """Operators of the golden that a kernel of the target stands for."""
    fusion, partner = found.fused.get(number), found.match_of.get(number)
    if fusion is not None and fusion.target == (number,):
        return fusion.golden
    return () if partner is None else (partner,)


def _is_weight(model: Graph, operand: Operand) -> bool:
    return isinstance(operand, Param) and model.parameters[operand.index].is_weight


def _kernel(graph: Graph, arrays: Mapping[str, Array], result: Origin) -> NetworkKernel | None:
    """What a graph of one result computes; its inputs that are no weights are ``arrays``, by their names."""
    (output,) = graph.outputs
    fed = {one.name for one in graph.parameters if not one.is_weight}
    if not isinstance(output, Value) or not fed <= arrays.keys():
        return None  # nothing is computed, or a weight of the model is called like an input
    inputs = {
        number: one.default if one.is_weight else arrays[one.name]
        for number, one in enumerate(graph.parameters)
    }
    return NetworkKernel(Kernel(graph.ops, (output,)), inputs, result)
