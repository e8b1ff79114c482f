"""What both executors share: order, operands and records. How an operator computes is theirs."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from workbench.core.dtypes import DTYPES, HELD_WIDER, dtype
from workbench.core.errors import GraphError
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.graph.nodes import Const, Param, Value
from workbench.graph.ops import OPS, bind, left_in, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import Io
    from workbench.graph.flow import Network
    from workbench.graph.nodes import Graph, Op, Operand, Parameter

    Array = NDArray[Any]
    Compute = Callable[[Op, Sequence[Array], Mapping[str, Any]], list[Array]]
    Watch = Mapping[str, Sequence[str]]
    """Operators of a graph by the name of one after which their outputs are looked at again."""
    State = MutableMapping[str, Array]
    """Weights by name as the steps so far have left them; empty before the first one."""
    Feeds = Mapping[str, Any] | Callable[[int], Mapping[str, Any]] | None
    """Inputs and weights by name, or a function that returns those of an iteration."""

_WIDEST = 8
"""Bytes of an element while it is computed: in float64, or as integer."""

NOTHING: Watch = MappingProxyType({})
"""No operator is watched."""


class Storage(Protocol):
    """Where outputs are from the time they are written until nobody reads them any more."""

    def read(self, value: Value) -> Array:
        """Return an output as it is now."""
        ...

    def write(
        self, number: int, outputs: Sequence[Array], weights: Mapping[int, Array]
    ) -> list[ArraySource]:
        """Take the outputs of operator ``number``; return what they are from now on.

        ``weights`` has those that lie where the operator overwrites a weight, as it was, by slot.
        """
        ...

    def release(self, value: Value) -> None:
        """Take note that an output has been read once more."""
        ...

    def look(self, value: Value) -> ArraySource:
        """Return what lies where an output belongs, whether it has been written or not."""
        ...


class Held:
    """Storage that holds every output as it came, until it was read as often as the graph says.

    ``watched`` ones stay; until they are written they are zeros.
    """

    def __init__(self, graph: Graph, watched: Iterable[Value] = ()) -> None:
        self._graph, self._watched = graph, frozenset(watched)
        self._uses = {value: len(readers) for value, readers in graph.consumers.items()}
        self._values: dict[Value, Array] = {}

    def read(self, value: Value) -> Array:
        return self._values[value]

    def write(
        self, number: int, outputs: Sequence[Array], weights: Mapping[int, Array]
    ) -> list[ArraySource]:
        for slot, output in enumerate(outputs):
            value = Value(number, slot)
            if value in self._uses or value in self._watched:
                self._values[value] = output
        return [ArraySource(output) for output in outputs]

    def release(self, value: Value) -> None:
        self._uses[value] -= 1
        if not self._uses[value] and value not in self._watched:
            self._values.pop(value, None)

    def look(self, value: Value) -> ArraySource:
        if value not in self._values:
            return ArraySource(empty(self._graph.ops[value.op].outputs[value.slot]))
        return ArraySource(self._values[value])


def empty(spec: TensorSpec) -> Array:
    """Return memory of a tensor that nobody has written."""
    return np.zeros(spec.shape or (), dtype(spec.dtype).storage)


def _check_sizes(graph: Graph) -> None:
    """Raise GraphError for an output that no memory of this machine can hold while it is computed."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for op in graph.ops:
        for spec in op.outputs:
            if spec.size is not None and spec.size * _WIDEST > memory:
                message = f"outputs of {op.name} ({op.op_type}) must fit into {memory >> 20} MiB"
                raise GraphError(f"{message}, got {spec.dtype} of shape {spec.shape}")


def execute(
    graph: Graph,
    feeds: Mapping[str, Any],
    compute: Compute,
    iteration: int = 0,
    storage: Storage | None = None,
    watch: Watch = NOTHING,
    state: State | None = None,
) -> Iterator[TensorRecord]:
    """Run a graph and yield its tensors: each operator's inputs and outputs, then the parameters.

    ``compute`` maps (operator, tensor inputs, settings) to the outputs as stored, followed by the new
    values of the inputs that the operator overwrites (`workbench.graph.ops.written`); it is handed all
    inputs of a fused operator, and no settings. The records are those of MindSpore on a CPU: scalar
    settings are 0-d inputs, tuples 1-D int64 inputs; text has no record; inputs are as they are when the
    operator is done, weights as they are at the end. Values are dropped after their last use. ``watch``
    says after which operators the outputs of which others are recorded, too, as they are then. ``state``
    has the weights that earlier steps have updated, and gets those that this one updates. Operators that
    are left out (`workbench.graph.nodes.Op.unless`) have no records.
    """
    if graph.subgraphs:
        message = f"graph {graph.name!r} must have no control flow to be executed, got subgraphs"
        raise GraphError(message)
    _check_sizes(graph)
    weights = parameter_values(graph, feeds, state or {})
    watched = {after: list(_outputs(graph, names)) for after, names in watch.items()}
    values = storage or Held(graph, chain.from_iterable(watched.values()))
    state = {} if state is None else state
    step = _Step(graph, compute, iteration, values, weights, state, _flags(graph))
    for number, op in enumerate(graph.ops):
        if not step.flags.get(op.unless):
            yield from step.records(number)
            for value in watched.get(op.name, ()):
                key = operator_key(graph, graph.ops[value.op], "output", value.slot, iteration)
                yield _record(key, values.look(value), _dtype(graph, value), after=op.name)
        for operand in op.flat_inputs():
            if isinstance(operand, Value):
                values.release(operand)
    for parameter, array in zip(graph.parameters, weights, strict=True):
        key = parameter_key(graph, parameter, iteration)
        yield _record(key, ArraySource(array), parameter.spec.dtype)


@dataclass(slots=True)
class _Step:
    """A run of a graph: what outputs and weights are by now, and which flags are true."""

    graph: Graph
    compute: Compute
    iteration: int
    values: Storage
    weights: list[Array]
    state: State
    flags: dict[str, bool]

    def records(self, number: int) -> Iterator[TensorRecord]:
        """Run an operator and yield its inputs and outputs."""
        op = self.graph.ops[number]
        operands = list(op.flat_inputs())
        arrays = [_array(operand, self.values, self.weights, op) for operand in operands]
        results = _compute(op, operands, arrays, self.compute)
        outputs = self._write(number, operands, arrays, results)
        if op.name in self.flags:
            self.flags[op.name] = bool(np.any(outputs[0].data))
        if written(op) or not isinstance(self.values, Held):
            arrays = self._afterwards(op, operands, arrays)
        yield from _records(self.graph, op, arrays, self.iteration)
        for slot, source in enumerate(outputs):
            key = operator_key(self.graph, op, "output", slot, self.iteration)
            yield _record(key, source, _dtype(self.graph, Value(number, slot)))

    def _afterwards(
        self, op: Op, operands: Sequence[Operand], before: Sequence[Array | None]
    ) -> list[Array | None]:
        """Inputs of an operator as they are when it is done."""
        return [
            array if isinstance(operand, Const) else _array(operand, self.values, self.weights, op)
            for operand, array in zip(operands, before, strict=True)
        ]

    def _write(
        self,
        number: int,
        operands: Sequence[Operand],
        arrays: Sequence[Array | None],
        results: list[Array],
    ) -> list[ArraySource]:
        """Store what an operator has computed; what it leaves in a weight is there from now on."""
        op = self.graph.ops[number]
        places = written(op)
        if not places:
            return self.values.write(number, results, {})
        shared, count = left_in(op), len(results) - len(places)
        before = {
            slot: array for slot, place in shared.items() if (array := arrays[place]) is not None
        }
        outputs = self.values.write(number, results[:count], before)
        left = dict(zip(places, results[count:], strict=True))
        left |= {place: outputs[slot].data for slot, place in shared.items()}
        for place, array in left.items():
            operand = operands[place]
            if isinstance(operand, Param):
                parameter = self.graph.parameters[operand.index]
                stored = array.astype(dtype(parameter.spec.dtype).storage, copy=False)
                self.weights[operand.index] = self.state[parameter.name] = stored
        return outputs


def _flags(graph: Graph) -> dict[str, bool]:
    """Operators whose results leave others out, by name, none of them true yet.

    Raises GraphError if one is not there, or if an operator that always runs reads one that may not.
    """
    flags = {op.unless: False for op in graph.ops if op.unless}
    for name in flags:
        graph.op(name)
    if flags:
        for op in graph.ops:
            for operand in op.flat_inputs():
                if isinstance(operand, Value):
                    before = graph.ops[operand.op]
                    if before.unless not in ("", op.unless):
                        message = f"operator {op.name} must be left out with {before.name}"
                        raise GraphError(f"{message}, which it reads, got {op.unless!r}")
    return flags


def updates(graph: Graph) -> bool:
    """Whether a step of a graph leaves weights other than it found them."""
    return any(written(op) for op in graph.ops if op.op_type in OPS or op.fused is not None)


def feeds_at(graph: Network, feeds: Feeds, iteration: int) -> Mapping[str, Any]:
    """Return the feeds of an iteration; those that are given win over the graph's own batches."""
    given = (feeds(iteration) if callable(feeds) else feeds) or {}
    return given if graph.batches is None else {**graph.batches(iteration), **given}


def _outputs(graph: Graph, names: Iterable[str]) -> Iterator[Value]:
    for name in names:
        number = graph.by_name[name]
        for slot in range(len(graph.ops[number].outputs)):
            yield Value(number, slot)


def _compute(
    op: Op, operands: Sequence[Operand], arrays: Sequence[Array | None], compute: Compute
) -> list[Array]:
    if op.fused is not None:
        return compute(op, [array for array in arrays if array is not None], {})
    bound = bind(op)
    tensors = [arrays[slot] for slot in bound.slots]
    if any(tensor is None for tensor in tensors):
        message = f"inputs of {op.name} ({op.op_type}) must have values, got {bound.tensors!r}"
        raise GraphError(message)
    settings = dict(bound.settings)
    for name, value in settings.items():
        if isinstance(value, Value | Param):  # a computed shape or axis
            array = arrays[operands.index(value)]
            settings[name] = None if array is None else _plain(array)
    return compute(op, [tensor for tensor in tensors if tensor is not None], settings)


def _plain(array: Array) -> Any:
    return array.item() if array.ndim == 0 else tuple(array.tolist())


def parameter_values(
    graph: Graph, feeds: Mapping[str, Any], state: Mapping[str, Array] = MappingProxyType({})
) -> list[Array]:
    """Values of the graph's parameters, in order.

    What earlier steps have left wins over ``feeds``, these over the values that the graph brought along.
    Raises GraphError for an unknown name, a missing value or a wrong shape.
    """
    known = [parameter.name for parameter in graph.parameters]
    for name in feeds:
        if name not in known:
            message = f"feed must be one of {known}, got {name!r}"
            raise GraphError(message)
    return [
        parameter_value(
            parameter, state.get(parameter.name, feeds.get(parameter.name, parameter.default))
        )
        for parameter in graph.parameters
    ]


def parameter_value(parameter: Parameter, given: Any) -> Array:
    """Return the value of a parameter as stored; raises GraphError for none or a wrong shape."""
    if given is None:
        message = f"parameter {parameter.name!r} must have a value, got none; pass it in feeds"
        raise GraphError(message)
    array = np.asarray(given)
    spec = parameter.spec
    if spec.shape is not None and array.shape != spec.shape:
        message = f"shape of {parameter.name!r} must be {spec.shape}, got {array.shape}"
        raise GraphError(message)
    return array.astype(dtype(spec.dtype).storage, copy=False)


def _array(operand: Operand, values: Storage, parameters: Sequence[Array], op: Op) -> Array | None:
    if isinstance(operand, Value):
        return values.read(operand)
    if isinstance(operand, Param):
        return parameters[operand.index]
    if isinstance(operand, Const):
        return constant(operand)
    message = f"operand of {op.name} must be a value, a parameter or a constant, got {operand!r}"
    raise GraphError(message)


def constant(operand: Const) -> Array | None:
    """Array that a constant is dumped as; ``None`` for text and what is no number."""
    array = _literal(operand)
    if array is None or operand.dtype not in DTYPES or operand.shape is None:
        return array
    return array.reshape(operand.shape) if array.size > 1 else np.full(operand.shape, array)


def literal(operand: Operand) -> Array:
    """Array of a constant that must have one; raises GraphError for any other operand."""
    array = constant(operand) if isinstance(operand, Const) else None
    if array is None:
        raise GraphError(f"operand must be a constant with a value, got {operand!r}")
    return array


def constant_spec(operand: Const) -> TensorSpec | None:
    """Spec of what `constant` gives, without making it.

    A tensor too large to be printed, of which a file shows dtype and shape alone, has a spec too.
    """
    row = DTYPES.get(operand.dtype)
    if row is not None and operand.shape is not None and isinstance(operand.value, str):
        return TensorSpec(row.storage.name, operand.shape)
    array = _literal(operand)
    if array is None:
        return None
    stated = operand.shape if row is not None else None
    return TensorSpec(array.dtype.name, array.shape if stated is None else stated)


def _literal(operand: Const) -> Array | None:
    """Values of a constant as they are written down, in their dtype; the shape may still differ."""
    value = operand.value
    if isinstance(value, str) or value is None:
        return None
    row = DTYPES.get(operand.dtype)
    try:
        array = np.asarray(value, row.storage if row else None)
    except (TypeError, ValueError, OverflowError):
        return None
    if row is None and array.size == 0:
        array = array.astype(np.int64)
    return array if array.dtype.kind in "biufV" else None


def operator_key(graph: Graph, op: Op, io: Io, slot: int, iteration: int) -> TensorKey:
    """Key of an operator's tensor; ``slot`` counts the operands as `Op.flat_inputs` gives them."""
    return TensorKey(op.op_type, op.name, io, slot, graph.graph_id, iteration)


def parameter_key(graph: Graph, parameter: Parameter, iteration: int) -> TensorKey:
    """Key of a parameter's value, which is recorded when the operators are done."""
    return TensorKey("Parameter", parameter.name, "output", 0, graph.graph_id, iteration)


def _records(
    graph: Graph, op: Op, arrays: Sequence[Array | None], iteration: int
) -> Iterator[TensorRecord]:
    """Records of an operator's inputs."""
    for slot, (operand, array) in enumerate(zip(op.flat_inputs(), arrays, strict=True)):
        if array is not None:
            key = operator_key(graph, op, "input", slot, iteration)
            yield _record(key, ArraySource(array), _dtype(graph, operand))


def _dtype(graph: Graph, operand: Operand) -> str:
    """Dtype that the graph gives an operand."""
    if isinstance(operand, Value):
        specs = graph.ops[operand.op].outputs
        return specs[operand.slot].dtype if operand.slot < len(specs) else ""
    if isinstance(operand, Param):
        return graph.parameters[operand.index].spec.dtype
    return ""


def _record(key: TensorKey, source: ArraySource, dtype: str, after: str = "") -> TensorRecord:
    """Record of a tensor whose dtype is the array's, unless NumPy has none for it."""
    if dtype in HELD_WIDER:
        source = replace(source, dtype=dtype)
    spec = TensorSpec(source.dtype or _name(source.data.dtype), source.data.shape)
    return TensorRecord(key, spec, source, after=after)


@lru_cache(maxsize=64)
def _name(kind: np.dtype[Any]) -> str:
    """Name of a NumPy type; NumPy itself puts it together at every call, which takes longer than a record."""
    return kind.name
