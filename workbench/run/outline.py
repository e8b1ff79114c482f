"""What a run would yield, known before it runs: every record with its spec and no data.

`outline` walks a graph as `workbench.run.executor.execute` does and takes dtypes and shapes from the
graph alone, so it needs neither weights nor kernels. Graphs that cannot be executed (control flow,
unknown operators, open shapes) are outlined as far as they say: promise in
`tests/run/test_outline.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES, HELD_WIDER
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorRecord, TensorSpec
from workbench.graph.constants import constant_spec
from workbench.graph.graph import Const, Param, Value
from workbench.run.executor import operator_key, parameter_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorKey
    from workbench.graph.graph import Graph, Op, Operand, Parameter

UNKNOWN = TensorSpec("", None)
"""Spec of a value that the graph says nothing about."""


@dataclass(frozen=True, slots=True)
class Outlined:
    """Source of a tensor that nobody has computed: it has a spec and no data."""

    stated: TensorSpec

    @property
    def place(self) -> None:
        """It lies nowhere."""

    def spec(self) -> TensorSpec:
        return self.stated

    def array(self) -> NDArray[Any]:
        raise GraphError("run/outline")


def outline(graph: Graph, iteration: int = 0) -> Iterator[TensorRecord]:
    """Yield the records of one run in its order, data left out.

    A shape that is unknown or has an open dimension is ``None``; a dtype that is no number format is
    the graph's own word. Operators of subgraphs come once each, behind those of the graph: which of
    them run, and how often, is decided by the run. Operands without a tensor of their own (text,
    graphs, values of another graph) have no record.
    """
    for block in _blocks(graph):
        for op in block.ops:
            for slot, operand in enumerate(op.flat_inputs()):
                spec = _operand_spec(block, operand)
                if spec is not None:
                    yield _record(operator_key(graph, op, "input", slot, iteration), spec)
            for slot in range(len(op.outputs)):
                key = operator_key(graph, op, "output", slot, iteration)
                yield _record(key, _stored(op.outputs[slot]))
    for parameter in graph.parameters:
        yield _record(parameter_key(graph, parameter, iteration), parameter_spec(parameter))


def _blocks(graph: Graph) -> Iterator[Graph]:
    """A graph and all below it, each once."""
    waiting, seen = [graph], set[int]()
    while waiting:
        block = waiting.pop()
        if id(block) not in seen:
            seen.add(id(block))
            yield block
            waiting += reversed(block.subgraphs)


def _operand_spec(graph: Graph, operand: Operand) -> TensorSpec | None:
    if isinstance(operand, Value):
        return _output_spec(graph.ops, operand)
    if isinstance(operand, Param):
        known = operand.index < len(graph.parameters)
        return parameter_spec(graph.parameters[operand.index]) if known else UNKNOWN
    if isinstance(operand, Const):
        return constant_spec(operand)
    return None


def _output_spec(ops: Sequence[Op], value: Value) -> TensorSpec:
    if value.op < len(ops) and value.slot < len(ops[value.op].outputs):
        return _stored(ops[value.op].outputs[value.slot])
    return UNKNOWN


def parameter_spec(parameter: Parameter) -> TensorSpec:
    """Spec of a parameter's value; its default tells the shape that the graph leaves open."""
    spec = parameter.spec
    if spec.shape is None and parameter.default is not None:
        spec = spec._replace(shape=np.shape(parameter.default))
    return _stored(spec)


@lru_cache(maxsize=4096)
def _stored(spec: TensorSpec) -> TensorSpec:
    """Spec of a tensor as an executor stores and records it."""
    row = DTYPES.get(spec.dtype)
    dtype = row.storage.name if row and spec.dtype not in HELD_WIDER else spec.dtype
    return TensorSpec(dtype, None if spec.size is None else spec.shape)


def _record(key: TensorKey, spec: TensorSpec) -> TensorRecord:
    return TensorRecord(key, spec, Outlined(spec))
