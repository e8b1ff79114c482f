"""What operators of one dump read and gave, as far as its files tell.

`INPUT_SOURCES` has the places where an input is looked for, in order. Where none knows it, the other dump may,
which is an assumption and told as one (`workbench.comparison.replay.attempt`). Of an input that is overwritten
the value *before* is wanted, but files are written after the kernel.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeGuard, TypeVar

import numpy as np

from workbench._values import NamedTuple
from workbench.comparison.bind.anomalies import MISLABELLED, wider_device_type
from workbench.comparison.graphs.roles import LEAVES, rewritten_slots
from workbench.comparison.replay.kernel import compute_kernel, plain_kernel
from workbench.core.dtypes import DTYPES
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.words import Message
from workbench.dump.formats.mindspore_name import sanitize
from workbench.dump.formats.npy import payload_as
from workbench.graph.constants import constant
from workbench.graph.graph import Const, Param, Value
from workbench.graph_files.onnx.dialect import is_onnx
from workbench.graph_files.onnx.tensors import OnnxTensor
from workbench.ops import IDENTITY, MOVEMENT, OPS, in_place_outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph, Op, Operand

    Array = NDArray[Any]

_HELD = 1 << 26
"""Bytes of arrays that are kept, for those who read the same tensor soon."""

_DEEPEST = 16
"""Operators without files that follow each other and are looked through."""

_LARGEST = 1 << 26
"""Bytes of a tensor that is looked at at all; larger ones are left to the comparison's bounded kernels."""


_BEGINS_WITH_ONES = {"SGD": (5,)}
"""Type → inputs that hold ones before the first step: ``stat`` of SGD tells it from all others."""


class InputValue(NamedTuple):
    """A tensor, what was assumed about it if anything, and whether NaN stands for unknown elements.

    ``invented`` says that no file has it at all.
    """

    array: Array
    assumed: Message | None = None
    partial: bool = False
    invented: bool = False


class Sized(Protocol):
    """What takes bytes."""

    @property
    def nbytes(self) -> int: ...


K = TypeVar("K")
V = TypeVar("V", bound=Sized)


class BoundedCache(Generic[K, V]):
    """What was looked up last, up to a number of bytes; it belongs to whoever looks up."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held: OrderedDict[K, V] = OrderedDict()
        self._bytes = 0

    def get(self, key: K) -> V | None:
        """Return what is held for a key, which is then the last that goes."""
        found = self._held.get(key)
        if found is not None:
            self._held.move_to_end(key)
        return found

    def hold(self, key: K, value: V) -> V:
        """Hold a value that is not held yet; others go, and the value itself if it is too large."""
        self._held[key] = value
        self._bytes += value.nbytes
        while self._bytes > self.limit:
            self._bytes -= self._held.popitem(last=False)[1].nbytes
        return value

    def clear(self) -> None:
        """Let go of all that is held."""
        self._held.clear()
        self._bytes = 0


class _Wanted(NamedTuple):
    """An input that is looked for; ``depth`` operators look it up through each other, ``writers`` overwrite it."""

    graph: Graph
    execution: Execution
    number: int
    slot: int
    operand: Operand | None
    depth: int
    writers: Sequence[int] = ()

    @property
    def producer(self) -> Op | None:
        """The operator that gives it."""
        return self.graph.ops[self.operand.op] if isinstance(self.operand, Value) else None

    @property
    def is_written_first(self) -> bool:
        """Whether no operator before overwrites it: the last of these left what this one reads."""
        state = isinstance(self.operand, Param | Value)
        return state and all(n >= self.number for n in self.writers)


class DumpedInputs:
    """The arrays of one side of a comparison."""

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        self._arrays: BoundedCache[int, Array] = BoundedCache(_HELD)
        self._read_by: dict[tuple[Execution, Value | Param], list[tuple[int, int]]] = {}
        self._written_by: dict[int, tuple[Graph, Mapping[Operand, list[int]]]] = {}

    def forget(self) -> None:
        """Let go of the arrays that were read; whoever asks again reads them again."""
        self._arrays.clear()

    def given(self, block: Execution, number: int, slot: int) -> Array | None:
        """Return what an operator gave, in the shape that the graph states; ``None`` if no file tells."""
        graph = self.binding.graph(block)
        array = self._trusted(self._record(block, number, "output", slot))
        if array is None or graph is None:
            return array
        return _shaped(array, graph.ops[number], slot)

    def part_given(self, block: Execution, number: int, slot: int) -> Array | None:
        """Return the first elements, flat, of an output whose file holds a wider buffer than it says."""
        graph = self.binding.graph(block)
        record = self._record(block, number, "output", slot)
        if graph is None or record is None:
            return None
        return self._beginning(record, wider_device_type(graph.ops[number], slot))

    def _beginning(self, record: TensorRecord, real: str) -> Array | None:
        """Return the elements of a mislabelled file in the type that its kernel wrote, as many as it has."""
        kinds = self.binding.oddities.get(id(record), ())
        if kinds[:1] != (MISLABELLED,) or not real or not record.path:
            return None  # of memory that nobody wrote or reads no type is the right one
        try:
            size = record.source.spec().size if record.source is not None else None
            return payload_as(record.path, dtype_row(real).storage)[:size]
        except FormatError:
            return None

    def read(self, block: Execution, number: int, slot: int, depth: int = 0) -> InputValue | None:
        """Return what an operator read as flat input ``slot``; ``depth`` operators look it up through each other."""
        graph = self.binding.graph(block)
        if graph is None:
            return None
        op = graph.ops[number]
        operand = op.operand(slot)
        one = _Wanted(graph, block, number, slot, operand, depth, self._writers(graph, operand))
        kind = "constant" if isinstance(one.operand, Const) else "read"
        if kind == "read" and slot in rewritten_slots(op):
            kind = "overwritten"
        values = (source.find(self, one) for source in INPUT_SOURCES[kind])
        return next((value for value in values if value is not None), None)

    def after(self, block: Execution, number: int, slot: int) -> Array | None:
        """Return what an operator left in an input that it overwrites."""
        return self._loaded(self._record(block, number, "input", slot))

    def is_updated(self, graph: Graph, operand: Operand | None) -> bool:
        """Whether an operator of the graph overwrites a parameter, or what GE has as an operator for one."""
        return isinstance(operand, Param | Value) and bool(self._writers(graph, operand))

    def _record(self, block: Execution, number: int, io: str, slot: int) -> TensorRecord | None:
        run = self.binding.runs.get(block, {}).get(number)
        return run.tensors.get((io, slot)) if run is not None else None

    def _input(self, block: Execution, number: int, slot: int) -> Array | None:
        return self._trusted(self._record(block, number, "input", slot))

    # --- sources of inputs, as the table below has them ------------------------------------------

    def _own_file(self, one: _Wanted) -> InputValue | None:
        array = self._input(one.execution, one.number, one.slot)
        if array is None or isinstance(one.operand, Const):
            return _known(array)
        specs = one.graph.ops[one.number].input_specs
        spec = specs[one.slot] if one.slot < len(specs) else None
        return InputValue(_as(array, spec.shape if spec is not None else None))

    def _in_graph(self, one: _Wanted) -> InputValue | None:
        return _known(constant(one.operand)) if isinstance(one.operand, Const) else None

    def _of_producer(self, one: _Wanted) -> InputValue | None:
        operand = one.operand
        if not isinstance(operand, Value):
            return None
        return _known(self.given(one.execution, operand.op, operand.slot))

    def _renamed(self, one: _Wanted) -> InputValue | None:
        producer = one.producer
        if producer is None or not isinstance(one.operand, Value) or not _renames(producer):
            return None
        return self.read(one.execution, one.operand.op, 0, one.depth)

    def _moved(self, one: _Wanted) -> InputValue | None:
        """What an operator gave of which there is no file: it only moves what it read."""
        producer, depth = one.producer, one.depth + 1
        if producer is None or not isinstance(one.operand, Value) or depth > _DEEPEST:
            return None
        if producer.op_type not in MOVEMENT & OPS.keys() or _renames(producer) or is_onnx(producer):
            return None
        try:
            kernel = plain_kernel(producer)
            needed = sorted(kernel.needed)
            read = {slot: self.read(one.execution, one.operand.op, slot, depth) for slot in needed}
            known = {slot: value for slot, value in read.items() if value is not None}
            if len(known) < max(len(read), 1):
                return None
            arrays = {slot: value.array for slot, value in known.items()}
            moved = compute_kernel(kernel, arrays)[one.operand.slot]
        except (WorkbenchError, ValueError, TypeError, IndexError, KeyError):
            return None
        values = list(known.values())
        assumed = next((value.assumed for value in values if value.assumed), None)
        partial = any(value.partial for value in values)
        return InputValue(moved.astype(values[0].array.dtype), assumed, partial)

    def _of_other_readers(self, one: _Wanted) -> InputValue | None:
        """What other operators read of state before one of them overwrites it."""
        if not is_state(one.operand, one.graph):
            return None
        return self._of_readers(one, one.operand, min(one.writers, default=len(one.graph.ops)))

    def _of_parameter_file(self, one: _Wanted) -> InputValue | None:
        if not is_state(one.operand, one.graph) or one.writers:
            return None
        return self._of_file(one.graph, one.execution, one.operand)

    def _left_by_last_iteration(self, one: _Wanted) -> InputValue | None:
        if not is_state(one.operand, one.graph) or not one.writers:
            return None
        return self._left(one.graph, one.execution, one.operand)

    def _of_model(self, one: _Wanted) -> InputValue | None:
        """A weight as the model's file has it: what a framework read that dumps no inputs."""
        if not isinstance(one.operand, Param):
            return None
        weight = one.graph.parameters[one.operand.index].default
        if not isinstance(weight, OnnxTensor):
            return None
        held = self._arrays.get(id(weight))
        array = _weight(weight) if held is None else held
        if array is None:
            return None
        array = array if held is not None else self._arrays.hold(id(weight), array)
        if self.binding.trust(one.execution).graph == "own":
            return InputValue(array)
        return InputValue(array, Message("compare/assumed-model", name=weight.name))

    def _partly(self, one: _Wanted) -> InputValue | None:
        """An input of which mislabelled files tell the first elements; NaN are the others."""
        operand, producer = one.operand, one.producer
        if producer is None or not isinstance(operand, Value):
            return None
        real = wider_device_type(producer, operand.slot)
        shape = producer.outputs[operand.slot].shape if real else None
        if shape is None or any(dim < 0 for dim in shape):
            return None
        for n, io, slot in (
            (one.number, "input", one.slot),
            (operand.op, "output", operand.slot),
        ):
            record = self._record(one.execution, n, io, slot)
            start = self._beginning(record, real) if record is not None else None
            if start is not None and start.size:
                whole = np.full(shape, np.nan, start.dtype)
                whole.reshape(-1)[: start.size] = start[: whole.size]
                return InputValue(whole, partial=start.size < whole.size)
        return None

    def _read_before(self, one: _Wanted) -> InputValue | None:
        if not is_state(one.operand, one.graph) or not one.is_written_first:
            return None
        return self._of_readers(one, one.operand, one.number - 1)

    def _left_before(self, one: _Wanted) -> InputValue | None:
        return self._left_by_last_iteration(one) if one.is_written_first else None

    def _beginning_state(self, one: _Wanted) -> InputValue | None:
        """Assume that state which nobody else reads began the first iteration as optimizers make it.

        Weights, and statistics of a normalization, may begin with anything: what depends on them is not known.
        """
        operand, op = one.operand, one.graph.ops[one.number]
        if not is_state(operand, one.graph) or one.execution.iteration != 0:
            return None
        if not one.is_written_first:
            return None
        slot = next(s for s, own in enumerate(op.flat_inputs()) if own == operand)
        array = self._left_by(one.execution, one.number, slot)
        if array is None:
            return None
        name = _name(one.graph, operand)
        statistics = op.op_type.startswith(("BatchNorm", "BNTraining"))
        if (statistics or slot == 0) and array.dtype.kind == "f":
            return InputValue(np.full_like(array, np.nan), partial=True)
        if slot in _BEGINS_WITH_ONES.get(op.op_type, ()):
            said = Message("compare/assumed-ones", name=name)
            return InputValue(np.ones_like(array), said, invented=True)
        said = Message("compare/assumed-zeros", name=name)
        return InputValue(np.zeros_like(array), said, invented=True)

    # --- what several of them ask ----------------------------------------------------------------

    def _of_readers(self, one: _Wanted, operand: Value | Param, before: int) -> InputValue | None:
        """Return what operators up to one read of a value that they do not overwrite."""
        for reader, slot in self._readers(one.graph, one.execution, operand):
            if reader > before:
                break
            array = self._input(one.execution, reader, slot)
            if array is not None:
                return InputValue(array)
        return None

    def _writers(self, graph: Graph, operand: Operand | None) -> Sequence[int]:
        """Operators that overwrite a value, in order."""
        if not isinstance(operand, Param | Value):
            return ()
        if id(graph) not in self._written_by:
            self._written_by[id(graph)] = graph, _written_by(graph)
        return self._written_by[id(graph)][1].get(operand, ())

    def _readers(
        self, graph: Graph, block: Execution, operand: Value | Param
    ) -> list[tuple[int, int]]:
        """Return who has a file of what it read of a value: all of its readers ask, a thousand of one weight."""
        known = self._read_by.get((block, operand))
        if known is None:
            runs = self.binding.runs.get(block, {})
            known = self._read_by[block, operand] = [
                (reader, slot)
                for reader, slot in graph.consumers.get(operand, ())
                if reader in runs
                and ("input", slot) in runs[reader].tensors
                and slot not in rewritten_slots(graph.ops[reader])
            ]
        return known

    def _of_file(self, graph: Graph, block: Execution, operand: Param | Value) -> InputValue | None:
        name = _name(graph, operand)
        files = self.binding.parameters.get(block, {})
        return _known(self._trusted(files.get(name) or files.get(sanitize(name))))

    def _left(self, graph: Graph, block: Execution, operand: Param | Value) -> InputValue | None:
        """Return what the last iteration left in a parameter."""
        last = block._replace(iteration=block.iteration - 1)
        if last not in self.binding.runs:
            return None
        found = self._of_file(graph, last, operand)
        if found is not None:
            return found
        for number in reversed(self._writers(graph, operand)):
            for slot, own in enumerate(graph.ops[number].flat_inputs()):
                array = self._left_by(last, number, slot) if own == operand else None
                if array is not None:
                    return InputValue(array)
        return None

    def _left_by(self, block: Execution, number: int, slot: int) -> Array | None:
        """Return what an operator left in an input, from its file or from the output that is the same memory."""
        array = self.after(block, number, slot)
        graph = self.binding.graph(block)
        if array is not None or graph is None or graph.ops[number].op_type not in OPS:
            return array
        same = [out for out, place in in_place_outputs(graph.ops[number]).items() if place == slot]
        return self.given(block, number, same[0]) if same else None

    def _trusted(self, record: TensorRecord | None) -> Array | None:
        if record is None or id(record) in self.binding.oddities:
            return None
        return self._loaded(record)

    def _loaded(self, record: TensorRecord | None) -> Array | None:
        if record is None or record.source is None:
            return None
        held = self._arrays.get(id(record))
        if held is not None:
            return held
        array = _array(record)
        if array is None:
            return None
        array = array.view()
        array.setflags(write=False)
        return self._arrays.hold(id(record), array)


class InputSource(NamedTuple):
    """Where an input may be known from; ``why`` says what its place in the table depends on."""

    name: str
    find: Callable[[DumpedInputs, _Wanted], InputValue | None]
    why: str


_OWN_FILE = InputSource(
    "own file", DumpedInputs._own_file, "first: it is what the kernel itself was given"
)

INPUT_SOURCES: dict[str, tuple[InputSource, ...]] = {
    "constant": (
        _OWN_FILE,
        InputSource(
            "graph", DumpedInputs._in_graph, "behind the file, which has more digits than a graph prints"
        ),
    ),
    "read": (
        _OWN_FILE,
        InputSource(
            "producer", DumpedInputs._of_producer, "the same tensor, unless something wrote into it between"
        ),
        InputSource(
            "renamed", DumpedInputs._renamed, "as the producer read it; of types that the next one does not take"
        ),
        InputSource(
            "moved", DumpedInputs._moved, "as the producer would have moved it; what has no producer goes on"
        ),
        InputSource(
            "other readers", DumpedInputs._of_other_readers,
            "before the parameter's file, which may have been written at another time",
        ),
        InputSource(
            "parameter file", DumpedInputs._of_parameter_file, "of what nobody updates; the next one has the others"
        ),
        InputSource(
            "last iteration", DumpedInputs._left_by_last_iteration, "of what somebody updates"
        ),
        InputSource(
            "model", DumpedInputs._of_model, "behind all files, which tell what the run itself had"
        ),
        InputSource(
            "part", DumpedInputs._partly, "last: NaN stands for what is not known"
        ),
    ),
    "overwritten": (
        InputSource(
            "readers before", DumpedInputs._read_before,
            "of this very iteration; its own file was written after the kernel, and so is no source",
        ),
        InputSource(
            "last iteration", DumpedInputs._left_before, "what it left, if nobody has overwritten it since"
        ),
        InputSource(
            "beginning", DumpedInputs._beginning_state, "last: it is assumed, and told as such"
        ),
    ),
}  # fmt: skip
"""Sources of constants, of inputs that are only read, and of overwritten ones: the first that knows decides."""


def _array(record: TensorRecord) -> Array | None:
    """Return a record's data; nothing where they cannot be read or are too large to be looked at."""
    assert record.source is not None
    try:
        spec = record.source.spec()
        row = dtype_row(spec.dtype)
        if spec.size is None or spec.size * row.storage.itemsize > _LARGEST:
            return None
        return _as_labelled(record.source.array(), record.label.dtype)
    except FormatError:
        return None


def _weight(weight: OnnxTensor) -> Array | None:
    """Return the values of a model's weight; nothing where they cannot be read or are too large to be looked at."""
    row = DTYPES.get(weight.spec.dtype)
    if row is None or (weight.spec.size or 0) * row.storage.itemsize > _LARGEST:
        return None
    try:
        array = weight.array().view()
    except (WorkbenchError, OSError):
        return None
    array.setflags(write=False)
    return array


def _as_labelled(array: Array, name: str) -> Array:
    """Return what lies in a file as float32, for npy knows no bfloat16, as the numbers that its label says."""
    row = DTYPES.get(name)
    if array.dtype != np.float32 or row is None or not row.is_float or row.storage.itemsize >= 4:
        return array
    with np.errstate(all="ignore"):
        narrow = array.astype(row.storage)
        same = np.array_equal(narrow.astype(np.float32), array, equal_nan=True)
    return narrow if same else array


def _written_by(graph: Graph) -> dict[Operand, list[int]]:
    """Operators that overwrite a value, in order, by the value."""
    found: dict[Operand, list[int]] = {}
    for number, op in enumerate(graph.ops):
        slots = rewritten_slots(op)
        for slot, operand in enumerate(op.flat_inputs()) if slots else ():
            if slot in slots and isinstance(operand, Param | Value):
                found.setdefault(operand, []).append(number)
    return found


def _renames(op: Op) -> bool:
    return op.op_type in IDENTITY - {"Cast"}


def is_state(operand: Operand | None, graph: Graph) -> TypeGuard[Param | Value]:
    """Whether an operand is a parameter, or what GE has as an operator for one."""
    leaf = isinstance(operand, Value) and graph.ops[operand.op].op_type in LEAVES
    return leaf or isinstance(operand, Param)


def _name(graph: Graph, operand: Param | Value) -> str:
    if isinstance(operand, Param):
        return graph.parameters[operand.index].name
    return graph.ops[operand.op].name


def _known(array: Array | None) -> InputValue | None:
    return None if array is None else InputValue(array)


def _shaped(array: Array, op: Op, slot: int) -> Array:
    """Give an output its shape: files of operators that only rename have their input's."""
    return _as(array, op.outputs[slot].shape if slot < len(op.outputs) else None)


def _as(array: Array, shape: tuple[int, ...] | None) -> Array:
    if shape is None or array.shape == shape or any(dim < 0 for dim in shape):
        return array
    size = 1
    for dim in shape:
        size *= dim
    return array.reshape(shape) if size == array.size else array
