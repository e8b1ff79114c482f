"""A kernel as the nodes of the source framework's model that it stands for, with the weights of that model.

What a compiler has computed into the weights of a kernel is not dumped, or not to be compared; the model has what it
was computed from. So a kernel whose own weights are unknown can be computed again from what else it read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.errors import WorkbenchError
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Kernel, Param, Value
from workbench.graph_files.onnx.dialect import DIALECT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

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


def network_kernel(found: Alignment, number: int, read: Read) -> NetworkKernel | None:
    """Return a kernel of the target by the golden's model; ``None``: the model, or an input, does not tell.

    ``read`` gives a value of the golden that the nodes read, by who reads it there, and where.
    """
    members, model = _members(found, number), found.golden.graph
    result = found.mapped(found.target.origin(Value(number, 0)))
    if model.dialect != DIALECT or result is None or result.number not in members:
        return None
    from workbench.network.onnx.part import lower_part, outer_operands

    arrays: dict[Operand, Array] = {}
    for operand, place in outer_operands(model, members).items():
        if _is_weight(model, operand):
            continue
        array = read(*place)
        if array is None:
            return None
        arrays[operand] = array
    specs = {one: TensorSpec("float32", array.shape) for one, array in arrays.items()}
    try:
        graph = lower_part(model, members, Value(result.number, result.slot), specs)
    except WorkbenchError:
        return None
    return _kernel(graph, [*arrays.values()], result)


def _members(found: Alignment, number: int) -> Collection[int]:
    fusion, partner = found.fused.get(number), found.match_of.get(number)
    if fusion is not None and fusion.target == (number,):
        return fusion.golden
    return () if partner is None else (partner,)


def _is_weight(model: Graph, operand: Operand) -> bool:
    return isinstance(operand, Param) and model.parameters[operand.index].is_weight


def _kernel(graph: Graph, arrays: list[Array], result: Origin) -> NetworkKernel | None:
    """What a graph of one result computes; its inputs that are no weights are ``arrays``, in order."""
    (output,) = graph.outputs
    if not isinstance(output, Value):
        return None
    given = iter(arrays)
    inputs = {
        number: one.default if one.is_weight else next(given)
        for number, one in enumerate(graph.parameters)
    }
    return NetworkKernel(Kernel(graph.ops, (output,)), inputs, result)
