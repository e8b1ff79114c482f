"""The engine reference: our operators in float64, and onnx's own evaluator for nodes that have none of ours.

A node that reads no floats is exact wherever it is computed, so the evaluator has it at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from workbench.core.errors import GraphError
from workbench.core.words import Message
from workbench.golden_data.model import failed
from workbench.graph.constants import constant
from workbench.graph.graph import Param
from workbench.graph.graph import Value as Output
from workbench.graph_files.onnx.tensors import library
from workbench.network.onnx import read_onnx
from workbench.run.reference import run_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from onnx import ModelProto

    from workbench.golden_data.model import Value
    from workbench.graph.graph import Const, Graph, Operand

    Array = NDArray[Any]

_KNOWN = 64
"""Most elements of a vector of integers that may be a shape or an axis, which our operators must know beforehand."""


class Reference:
    """Computes nodes on NumPy."""

    def __init__(self, _seed: int) -> None:
        self._evaluated: dict[str, None] = {}

    def run(self, model: ModelProto, feeds: Mapping[str, Value]) -> Sequence[Value]:
        """Return the outputs of a model of one node; raises GraphError if neither can compute it."""
        weights = [
            library().helper.tensor_dtype_to_np_dtype(one.data_type)
            for one in model.graph.initializer
        ]
        arrays = {name: one for name, one in feeds.items() if isinstance(one, np.ndarray)}
        kinds = [*weights, *(one.dtype for one in arrays.values())]
        if len(arrays) == len(feeds) and any(kind.kind in "fcV" for kind in kinds):
            try:
                return _own(model, arrays)
            except GraphError:
                found = _evaluate(model, feeds)
                self._evaluated[model.graph.node[0].op_type] = None
                return found
        return _evaluate(model, feeds)

    def remarks(self) -> Iterable[Message]:
        if self._evaluated:
            yield Message("golden/evaluated", types=list(self._evaluated))


def _evaluate(model: ModelProto, feeds: Mapping[str, Value]) -> Sequence[Value]:
    """Run a node by the evaluator of onnx; raises GraphError if that cannot."""
    from onnx.reference import ReferenceEvaluator

    model, feeds = _conditioned(model, feeds)
    try:
        with np.errstate(all="ignore"):
            found: Any = ReferenceEvaluator(model).run(None, dict(feeds))
    except Exception as error:
        raise failed(error, str(error)) from error
    return [np.asarray(one) if isinstance(one, np.generic) else one for one in found]


_HOLDS = "holds before the first turn"


def _conditioned(
    model: ModelProto, feeds: Mapping[str, Value]
) -> tuple[ModelProto, Mapping[str, Value]]:
    """Return a loop that counts its turns alone with a condition that holds: the evaluator takes none for false."""
    (node,) = model.graph.node
    if node.op_type != "Loop" or len(node.input) < 2 or node.input[1]:
        return model, feeds
    made: ModelProto = library().ModelProto()
    made.CopyFrom(model)
    made.graph.node[0].input[1] = _HOLDS
    kind = library().TensorProto.BOOL
    made.graph.input.append(library().helper.make_tensor_value_info(_HOLDS, kind, []))
    return made, {**feeds, _HOLDS: np.array(True)}


def _own(model: ModelProto, feeds: Mapping[str, Array]) -> Sequence[Value]:
    """Run a node as operators of ours; raises GraphError if it has none."""
    plain = {name: f"x{number}" for number, name in enumerate(feeds)}
    graph = read_onnx(
        _renamed(model, plain),
        values={plain[name]: one for name, one in feeds.items() if _is_setting(one)},
    )
    given = {plain[name]: one for name, one in feeds.items()}
    fed = {one.name for one in graph.parameters}
    return _results(graph, {name: one for name, one in given.items() if name in fed})


def _renamed(model: ModelProto, names: Mapping[str, str]) -> ModelProto:
    """Return the model with other names for its inputs, which a graph of ours may have."""
    made: ModelProto = library().ModelProto()
    made.CopyFrom(model)
    for one in made.graph.input:
        one.name = names[one.name]
    (node,) = made.graph.node
    node.input[:] = [names.get(name, name) for name in node.input]
    return made


def _is_setting(array: Array) -> bool:
    return array.dtype.kind in "iub" and array.ndim <= 1 and array.size <= _KNOWN


def _results(graph: Graph, feeds: Mapping[str, Array]) -> list[Value]:
    """Values of a graph's outputs, in their order."""
    records = [one for one in run_reference(graph, feeds) if one.key.io == "output"]
    found = {
        (one.key.op_type == "Parameter", one.key.op_name, one.key.slot): one.source.array()
        for one in records
        if one.source
    }  # a weight may be called like a node

    def value_of(operand: Operand) -> Value:
        if isinstance(operand, Output):
            return found[False, graph.ops[operand.op].name, operand.slot]
        if isinstance(operand, Param):
            return found[True, graph.parameters[operand.index].name, 0]
        return np.asarray(constant(cast("Const", operand)))

    return [value_of(operand) for operand in graph.outputs]
