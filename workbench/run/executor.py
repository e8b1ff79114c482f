"""What both executors share: order, operands and records. How an operator computes is theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from workbench.core.dtypes import HELD_WIDER, dtype
from workbench.core.errors import GraphError
from workbench.core.tensors import ArraySource, TensorKey, TensorRecord, TensorSpec
from workbench.graph.graph import Value
from workbench.ops import OPS, written
from workbench.run.plan import stated_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import Io
    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph, Op, Parameter
    from workbench.run.plan import ExecutionPlan, PlannedOp

    Array = NDArray[Any]
    Compute = Callable[[PlannedOp, Sequence[Array], Mapping[str, Any]], list[Array]]
    Watch = Mapping[str, Sequence[str]]
    """Operators of a graph by the name of one after which their outputs are looked at again."""
    State = MutableMapping[str, Array]
    """Weights by name as the steps so far have left them; empty before the first one."""
    Feeds = Mapping[str, Any] | Callable[[int], Mapping[str, Any]] | None
    """Inputs and weights by name, or a function that returns those of an iteration."""

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

    def peek(self, value: Value) -> ArraySource:
        """Return what lies where an output belongs, whether it has been written or not."""
        ...


class RefCountedStorage:
    """Storage that holds every output as it came, until it was read as often as the graph says.

    ``watched`` ones stay; until they are written they are zeros.
    """

    def __init__(self, plan: ExecutionPlan, watched: Iterable[Value] = ()) -> None:
        self._graph = plan.graph
        self._left = [list(counts) for counts in plan.reads]
        self._values: list[list[Array | None]] = [[None] * len(counts) for counts in self._left]
        for value in watched:
            self._left[value.op][value.slot] += 1  # is read to the end

    def read(self, value: Value) -> Array:
        array = self._values[value.op][value.slot]
        if array is None:
            raise GraphError("run/unwritten", value=value)
        return array

    def write(
        self, number: int, outputs: Sequence[Array], weights: Mapping[int, Array]
    ) -> list[ArraySource]:
        left = self._left[number]
        self._values[number] = [
            output if count else None for output, count in zip(outputs, left, strict=False)
        ]
        return [ArraySource(output) for output in outputs]

    def release(self, value: Value) -> None:
        left = self._left[value.op]
        left[value.slot] -= 1
        if not left[value.slot]:
            self._values[value.op][value.slot] = None

    def peek(self, value: Value) -> ArraySource:
        array = self._values[value.op][value.slot]
        if array is None:
            array = empty(self._graph.ops[value.op].outputs[value.slot])
        return ArraySource(array)


def empty(spec: TensorSpec) -> Array:
    """Return memory of a tensor that nobody has written."""
    return np.zeros(spec.shape or (), dtype(spec.dtype).storage)


@cache
def _keep_memory() -> None:
    """Let the allocator keep what one step frees for the next one.

    glibc hands memory back to the system beyond twice the largest block that it has ever mapped and freed
    (M_MMAP_THRESHOLD of mallopt), at most 32 MB; every page of it costs when it is wanted again.
    """
    np.empty(31 << 20, np.uint8)


def execute(
    plan: ExecutionPlan,
    feeds: Mapping[str, Any],
    compute: Compute,
    iteration: int = 0,
    storage: Storage | None = None,
    watch: Watch = NOTHING,
    state: State | None = None,
) -> Iterator[TensorRecord]:
    """Run a planned graph and yield its tensors: each operator's inputs and outputs, then the parameters.

    ``compute`` maps (planned operator, tensor inputs, settings) to the outputs as stored, followed by the new
    values of the inputs that the operator overwrites (`workbench.ops.written`); it is handed all
    inputs of a fused operator, and no settings. The records are those of MindSpore on a CPU: scalar
    settings are 0-d inputs, tuples 1-D int64 inputs; text has no record; inputs are as they are when the
    operator is done, weights as they are at the end. Values are dropped after their last use. ``watch``
    says after which operators the outputs of which others are recorded, too, as they are then. ``state``
    has the weights that earlier steps have updated, and gets those that this one updates. Operators that
    are left out (`workbench.graph.graph.Op.unless`) have no records.
    """
    graph = plan.graph
    _keep_memory()
    weights = parameter_values(graph, feeds, state or {})
    watched = {after: list(_outputs(graph, names)) for after, names in watch.items()}
    values = storage or RefCountedStorage(plan, chain.from_iterable(watched.values()))
    state = {} if state is None else state
    step = _Step(
        graph, compute, iteration, values, weights, state, dict.fromkeys(plan.predicates, False)
    )
    for number, planned in enumerate(plan.ops):
        op = planned.op
        if not step.predicates.get(op.unless):
            yield from step.records(number, planned)
            for value in watched.get(op.name, ()):
                key = operator_key(graph, graph.ops[value.op], "output", value.slot, iteration)
                yield _record(key, values.peek(value), stated_dtype(graph, value), after=op.name)
        for _, value in planned.produced:
            values.release(value)
    for parameter, array in zip(graph.parameters, weights, strict=True):
        key = parameter_key(graph, parameter, iteration)
        yield _record(key, ArraySource(array), parameter.spec.dtype)


@dataclass(slots=True)
class _Step:
    """A run of a graph: what outputs and weights are by now, and which predicates hold."""

    graph: Graph
    compute: Compute
    iteration: int
    values: Storage
    weights: list[Array]
    state: State
    predicates: dict[str, bool]

    def records(self, number: int, planned: PlannedOp) -> list[TensorRecord]:
        """Run an operator and return its inputs and outputs."""
        op = planned.op
        arrays = self._arrays(planned)
        results = compute_planned(planned, arrays, self.compute)
        outputs = self._write(number, planned, arrays, results)
        if op.name in self.predicates:
            self.predicates[op.name] = bool(np.any(outputs[0].data))
        if planned.written or not isinstance(self.values, RefCountedStorage):
            arrays = self._arrays(planned)  # as they are when the operator is done
        kind, name, place = op.op_type, op.name, (self.graph.graph_id, self.iteration)
        found = [
            _record(TensorKey(kind, name, "input", slot, *place), ArraySource(array), stated)
            for slot, (array, stated) in enumerate(zip(arrays, planned.dtypes, strict=True))
            if array is not None
        ]
        for slot, source in enumerate(outputs):
            stated = op.outputs[slot].dtype if slot < len(op.outputs) else ""
            found.append(_record(TensorKey(kind, name, "output", slot, *place), source, stated))
        return found

    def _arrays(self, planned: PlannedOp) -> list[Array | None]:
        """Inputs of an operator as they are now."""
        found = list(planned.constants)
        for slot, value in planned.produced:
            found[slot] = self.values.read(value)
        for slot, index in planned.parameters:
            found[slot] = self.weights[index]
        return found

    def _write(
        self,
        number: int,
        planned: PlannedOp,
        arrays: Sequence[Array | None],
        results: list[Array],
    ) -> list[ArraySource]:
        """Store what an operator has computed; what it leaves in a weight is there from now on."""
        if not planned.written:
            return self.values.write(number, results, {})
        shared, count = planned.shared, len(results) - len(planned.written)
        before = {
            slot: array for slot, place in shared.items() if (array := arrays[place]) is not None
        }
        outputs = self.values.write(number, results[:count], before)
        left = dict(zip(planned.written, results[count:], strict=True))
        left |= {place: outputs[slot].data for slot, place in shared.items()}
        for place, index in planned.parameters:
            if place in left:
                parameter = self.graph.parameters[index]
                stored = left[place].astype(dtype(parameter.spec.dtype).storage, copy=False)
                self.weights[index] = self.state[parameter.name] = stored
        return outputs


def has_updates(graph: Graph) -> bool:
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


def compute_planned(
    planned: PlannedOp, arrays: Sequence[Array | None], compute: Compute
) -> list[Array]:
    """Return what ``compute`` makes of an operator's inputs, ``None`` for text among them.

    Raises GraphError for an input that has no value.
    """
    op = planned.op
    if op.fused is not None:
        return compute(planned, [array for array in arrays if array is not None], {})
    tensors = [array for slot in planned.tensors if (array := arrays[slot]) is not None]
    if len(tensors) < len(planned.tensors):
        got = [op.operand(slot) for slot in planned.tensors]
        raise GraphError("run/inputs-unknown", op=op.name, type=op.op_type, got=got)
    settings = dict(planned.settings)
    for name, slot in planned.computed:  # a shape or an axis
        array = arrays[slot]
        settings[name] = None if array is None else _plain(array)
    return compute(planned, tensors, settings)


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
            raise GraphError("core/choice", subject="feed", got=name, known=known)
    return [
        parameter_value(
            parameter, state.get(parameter.name, feeds.get(parameter.name, parameter.default))
        )
        for parameter in graph.parameters
    ]


def parameter_value(parameter: Parameter, given: Any) -> Array:
    """Return the value of a parameter as stored; raises GraphError for none or a wrong shape."""
    if given is None:
        raise GraphError("run/no-value", name=parameter.name)
    array = np.asarray(given)
    spec = parameter.spec
    if spec.shape is not None and array.shape != spec.shape:
        raise GraphError(
            "run/value-shape", name=parameter.name, expected=spec.shape, got=array.shape
        )
    return array.astype(dtype(spec.dtype).storage, copy=False)


def operator_key(graph: Graph, op: Op, io: Io, slot: int, iteration: int) -> TensorKey:
    """Key of an operator's tensor; ``slot`` counts the operands as `Op.flat_inputs` gives them."""
    return TensorKey(op.op_type, op.name, io, slot, graph.graph_id, iteration)


def parameter_key(graph: Graph, parameter: Parameter, iteration: int) -> TensorKey:
    """Key of a parameter's value, which is recorded when the operators are done."""
    return TensorKey("Parameter", parameter.name, "output", 0, graph.graph_id, iteration)


def _record(key: TensorKey, source: ArraySource, dtype: str, after: str = "") -> TensorRecord:
    """Record of a tensor whose dtype is the array's, unless NumPy has none for it."""
    if dtype in HELD_WIDER:
        source = replace(source, dtype=dtype)
    spec = _spec(source.dtype, source.data.dtype, source.data.shape)
    return TensorRecord(key, spec, source, after=after)


@lru_cache(maxsize=4096)
def _spec(stated: str, kind: np.dtype[Any], shape: tuple[int, ...]) -> TensorSpec:
    """Spec of an array; NumPy puts the name of a type together at every call, which takes longer than a record."""
    return TensorSpec(stated or kind.name, shape)
