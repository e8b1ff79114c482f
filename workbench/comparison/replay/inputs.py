"""What operators of one dump read and gave, as far as its files tell.

An input is looked for in the operator's own files, then in those of whoever produced it, then, for what
nobody produces, in other operators that read the same parameter, in Parameter files, and last in the
other dump, which is an assumption and told as one. Of an input that is overwritten the value *before*
is wanted, but files are written after the kernel: it is what another operator of the same execution read
earlier, or what the last iteration left.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeGuard, TypeVar

import numpy as np

from workbench.comparison.bind.anomalies import MISLABELLED, wider_device_type
from workbench.comparison.graphs.roles import LEAVES, rewritten_slots
from workbench.comparison.replay.kernel import plain_kernel
from workbench.core.dtypes import DTYPES
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.words import Message
from workbench.dump.files.payload import payload_as
from workbench.dump.names.mindspore import sanitize
from workbench.graph.nodes import Const, Param, Value
from workbench.graph.ops import OPS, left_in
from workbench.graph.traits import IDENTITY, MOVEMENT
from workbench.run.constants import constant
from workbench.run.kernels import KERNELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.comparison.bind.binding import Binding, Execution
    from workbench.core.tensors import TensorRecord
    from workbench.graph.nodes import Graph, Op, Operand

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


class DumpedInputs:
    """The arrays of one side of a comparison."""

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        self._arrays: BoundedCache[int, Array] = BoundedCache(_HELD)

    def given(self, block: Execution, number: int, slot: int) -> Array | None:
        """Return what an operator gave, in the shape that the graph states; ``None`` if no file tells."""
        graph = self.binding.graph(block)
        run = self.binding.runs.get(block, {}).get(number)
        record = run.tensors.get(("output", slot)) if run is not None else None
        array = self._trusted(record)
        if array is None or graph is None:
            return array
        return _shaped(array, graph.ops[number], slot)

    def part_given(self, block: Execution, number: int, slot: int) -> Array | None:
        """Return the first elements, flat, of an output whose file holds a wider buffer than it says."""
        graph = self.binding.graph(block)
        run = self.binding.runs.get(block, {}).get(number)
        record = run.tensors.get(("output", slot)) if run is not None else None
        if graph is None or record is None:
            return None
        return self._beginning(record, wider_device_type(graph.ops[number], slot))

    def _beginning(self, record: TensorRecord, real: str) -> Array | None:
        """Return the elements of a mislabelled file in the type that its kernel wrote, as many as it has."""
        if self.binding.oddities.get(id(record)) != MISLABELLED or not real or not record.path:
            return None
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
        operand = _operand(op, slot)
        if isinstance(operand, Const):
            own = self._input(block, number, slot)
            return _known(constant(operand) if own is None else own)
        if slot in rewritten_slots(op):
            found = self._before(graph, block, number, operand)
            return found or self._first(graph, block, number, operand)
        own = self._input(block, number, slot)
        if own is not None:
            spec = op.input_specs[slot] if slot < len(op.input_specs) else None
            shape = spec.shape if spec is not None else None
            return InputValue(_as(own, shape))
        found = self._produced(graph, block, operand, depth)
        return found or self._partly(graph, block, number, slot, operand)

    def _partly(
        self, graph: Graph, block: Execution, number: int, slot: int, operand: Operand | None
    ) -> InputValue | None:
        """Return an input of which mislabelled files tell the first elements; NaN are the others."""
        if not isinstance(operand, Value):
            return None
        producer = graph.ops[operand.op]
        real = wider_device_type(producer, operand.slot)
        shape = producer.outputs[operand.slot].shape if real else None
        if shape is None or any(dim < 0 for dim in shape):
            return None
        runs = self.binding.runs.get(block, {})
        places = ((number, ("input", slot)), (operand.op, ("output", operand.slot)))
        for n, key in places:
            record = runs[n].tensors.get(key) if n in runs else None
            start = self._beginning(record, real) if record is not None else None
            if start is not None and start.size:
                whole = np.full(shape, np.nan, start.dtype)
                whole.reshape(-1)[: start.size] = start[: whole.size]
                return InputValue(whole, partial=start.size < whole.size)
        return None

    def _first(
        self, graph: Graph, block: Execution, number: int, operand: Operand | None
    ) -> InputValue | None:
        """Assume that state which nobody else reads began the first iteration as optimizers make it.

        Weights, and statistics of a normalization, may begin with anything: what depends on them is not known.
        """
        if not _is_state(operand, graph) or block.iteration != 0:
            return None
        if any(n < number for n in self._writers(graph, operand)):
            return None
        slots = [s for s, own in enumerate(graph.ops[number].flat_inputs()) if own == operand]
        array = self._left_by(block, number, slots[0])
        if array is None:
            return None
        name = _name(graph, operand)
        statistics = graph.ops[number].op_type.startswith(("BatchNorm", "BNTraining"))
        if (statistics or slots[0] == 0) and array.dtype.kind == "f":
            return InputValue(np.full_like(array, np.nan), partial=True)
        if slots[0] in _BEGINS_WITH_ONES.get(graph.ops[number].op_type, ()):
            return InputValue(
                np.ones_like(array), Message("compare/assumed-ones", name=name), invented=True
            )
        return InputValue(
            np.zeros_like(array), Message("compare/assumed-zeros", name=name), invented=True
        )

    def after(self, block: Execution, number: int, slot: int) -> Array | None:
        """Return what an operator left in an input that it overwrites."""
        run = self.binding.runs.get(block, {}).get(number)
        record = run.tensors.get(("input", slot)) if run is not None else None
        return self._loaded(record)

    def _input(self, block: Execution, number: int, slot: int) -> Array | None:
        run = self.binding.runs.get(block, {}).get(number)
        return self._trusted(run.tensors.get(("input", slot)) if run is not None else None)

    def _produced(
        self, graph: Graph, block: Execution, operand: Operand | None, depth: int
    ) -> InputValue | None:
        """Return an input without a file of its own: from its producer, or from whoever reads it, too."""
        if isinstance(operand, Value):
            array = self.given(block, operand.op, operand.slot)
            if array is not None:
                return InputValue(array)
            producer = graph.ops[operand.op]
            if producer.op_type in IDENTITY - {"Cast"}:
                return self.read(block, operand.op, 0, depth)
            if producer.op_type in MOVEMENT:
                return self._moved(block, operand, producer, depth + 1)
        if _is_state(operand, graph):
            updated = self._writers(graph, operand)
            found = self._of_readers(graph, block, operand, min(updated, default=1 << 60))
            if found is not None or not updated:
                return found or self._of_file(graph, block, operand)
            return self._left(graph, block, operand)
        return None

    def _moved(
        self, block: Execution, operand: Value, producer: Op, depth: int
    ) -> InputValue | None:
        """Return what an operator gave of which there is no file: it only moves what it read."""
        if producer.op_type not in KERNELS or depth > _DEEPEST:
            return None
        try:
            kernel = plain_kernel(producer)
            needed = sorted(kernel.needed)
            read = {slot: self.read(block, operand.op, slot, depth) for slot in needed}
            known = {slot: one for slot, one in read.items() if one is not None}
            if len(known) < len(read):
                return None
            moved = kernel.run({slot: one.array for slot, one in known.items()})[operand.slot]
        except (WorkbenchError, ValueError, TypeError, IndexError, KeyError):
            return None
        kind = next(iter(known.values())).array.dtype
        assumed = next((one.assumed for one in known.values() if one.assumed), None)
        return InputValue(moved.astype(kind), assumed, any(one.partial for one in known.values()))

    def _of_readers(
        self, graph: Graph, block: Execution, operand: Value | Param, before: int
    ) -> InputValue | None:
        """Return what other operators read of a value before one of them overwrites it."""
        for reader, slot in graph.consumers.get(operand, ()):
            if reader <= before and slot not in rewritten_slots(graph.ops[reader]):
                array = self._input(block, reader, slot)
                if array is not None:
                    return InputValue(array)
        return None

    def _of_file(self, graph: Graph, block: Execution, operand: Param | Value) -> InputValue | None:
        name = _name(graph, operand)
        files = self.binding.parameters.get(block, {})
        return _known(self._trusted(files.get(name) or files.get(sanitize(name))))

    def is_updated(self, graph: Graph, operand: Operand | None) -> bool:
        """Whether an operator of the graph overwrites a parameter, or what GE has as an operator for one."""
        return isinstance(operand, Param | Value) and bool(self._writers(graph, operand))

    def _writers(self, graph: Graph, operand: Param | Value) -> list[int]:
        readers = graph.consumers.get(operand, ())
        return [n for n, slot in readers if slot in rewritten_slots(graph.ops[n])]

    def _before(
        self, graph: Graph, block: Execution, number: int, operand: Operand | None
    ) -> InputValue | None:
        """Return what an input held before the operator overwrote it."""
        if not _is_state(operand, graph):
            return None
        for other in self._writers(graph, operand):
            if other < number:  # the last one before it left what it read
                return None
        return self._of_readers(graph, block, operand, number - 1) or self._left(
            graph, block, operand
        )

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
        same = [out for out, place in left_in(graph.ops[number]).items() if place == slot]
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
        return None if array is None else self._arrays.hold(id(record), array)


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


def _as_labelled(array: Array, name: str) -> Array:
    """Return what lies in a file as float32, for npy knows no bfloat16, as the numbers that its label says."""
    row = DTYPES.get(name)
    if array.dtype != np.float32 or row is None or not row.is_float or row.storage.itemsize >= 4:
        return array
    with np.errstate(all="ignore"):
        narrow = array.astype(row.storage)
        same = np.array_equal(narrow.astype(np.float32), array, equal_nan=True)
    return narrow if same else array


def _is_state(operand: Operand | None, graph: Graph) -> TypeGuard[Param | Value]:
    """Whether an operand is a parameter, or what GE has as an operator for one."""
    leaf = isinstance(operand, Value) and graph.ops[operand.op].op_type in LEAVES
    return leaf or isinstance(operand, Param)


def _name(graph: Graph, operand: Param | Value) -> str:
    if isinstance(operand, Param):
        return graph.parameters[operand.index].name
    return graph.ops[operand.op].name


def _known(array: Array | None) -> InputValue | None:
    return None if array is None else InputValue(array)


def _operand(op: Op, slot: int) -> Operand | None:
    return op.operand(slot)


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
