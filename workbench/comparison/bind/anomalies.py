"""Oddities: tensors of a bound dump that are not what their label says, found from the graph.

Each rule looks at one execution of one operator and yields the slots it distrusts. A distrusted
tensor is an anomaly: shown, counted, and kept out of verdicts (`real dumps` in docs/evidence/real-dumps.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.comparison.graphs.roles import rewritten_slots
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.core.stopping import checkpoint
from workbench.core.words import Message
from workbench.dump.files.npy import NpySource
from workbench.dump.files.payload import fingerprint
from workbench.dump.tree import Note
from workbench.graph.nodes import Param, Value
from workbench.graph.traits import UNWRITTEN_ON_CPU

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workbench.comparison.bind.binding import Binding, OperatorRun
    from workbench.core.tensors import TensorRecord
    from workbench.graph.nodes import Graph, Op

MISLABELLED = "mislabelled"
UNUSED = "unused-output"
UNWRITTEN = "unwritten-output"
REWRITTEN = "rewritten-in-place"

Found = tuple[str, int, Message]
"""io, slot, and what is odd."""


def find_anomalies(binding: Binding) -> None:
    """Mark every distrusted tensor of the binding and note it."""
    for runs in binding.runs.values():
        for run in runs.values():
            checkpoint()
            op = binding.operator(run)
            graph = binding.graph(run.block)
            if op is None or graph is None:
                _mark(binding, run, MISLABELLED, _oversized(run))
                _mark(binding, run, UNWRITTEN, _unwritten_by_type(run, on_cpu=binding.on_cpu))
                continue
            for kind, rule in ANOMALY_RULES.items():
                _mark(binding, run, kind, rule(run, op, graph, binding.on_cpu))


def _mark(binding: Binding, run: OperatorRun, kind: str, found: Iterable[Found]) -> None:
    """Note what a rule found; the first rule that distrusts a tensor names it."""
    for io, slot, said in found:
        record = run.tensors[io, slot]
        if id(record) not in binding.oddities:
            binding.oddities[id(record)] = kind
            binding.notes.append(Note(kind, run.op_name, said))


def _unwritten_by_type(run: OperatorRun, *, on_cpu: bool) -> Iterator[Found]:
    """Without a graph: outputs that the CPU kernel of this type never writes."""
    for io, slot in run.tensors:
        if on_cpu and io == "output" and slot in UNWRITTEN_ON_CPU.get(run.op_type, ()):
            yield io, slot, _unwritten_at(io, slot, run.op_type, slot)


def _oversized(run: OperatorRun) -> Iterator[Found]:
    """Without a graph: files that are twice as long as their header says."""
    for (io, slot), record in run.tensors.items():
        if _is_oversized(record):
            yield io, slot, _twice(io, slot)


def _unwritten_at(io: str, slot: int, op_type: str, output: int) -> Message:
    return Message("compare/unwritten", where=f"{io}.{slot}", op_type=op_type, slot=output)


def _twice(io: str, slot: int) -> Message:
    return Message("compare/oversized", where=f"{io}.{slot}")


def _is_oversized(record: TensorRecord) -> bool:
    if not isinstance(record.source, NpySource) or _label(record) != "float16":
        return False  # a device format has padding
    try:
        size, _ = fingerprint(record.path)
        claimed = record.source.spec().size
    except FormatError:
        return False
    return claimed is not None and 0 < claimed * 4 == size


def wider_device_type(op: Op, slot: int) -> str:
    """Dtype the kernel really wrote, if it is wider than the host dtype; else ``""``."""
    if slot >= len(op.device_outputs) or slot >= len(op.outputs):
        return ""
    host, device = DTYPES.get(op.outputs[slot].dtype), DTYPES.get(op.device_outputs[slot].dtype)
    if host is None or device is None or device.storage.itemsize <= host.storage.itemsize:
        return ""
    return device.name


def _label(record: TensorRecord) -> str:
    """Dtype the record states, from its name or else its header."""
    if record.label.dtype or record.source is None:
        return record.label.dtype
    try:
        return record.source.spec().dtype
    except FormatError:
        return ""


def _mislabelled(run: OperatorRun, op: Op, graph: Graph, _cpu: bool) -> Iterator[Found]:
    """The kernel wrote a wider type than host type and file say: as labelled it is noise."""
    for (io, slot), record in run.tensors.items():
        written = _written_by(op, io, slot, graph)
        if written is None:
            continue
        source, index = written
        if not source.device_outputs:  # the graph does not say what the kernel wrote
            if _is_oversized(record):
                yield io, slot, _twice(io, slot)
            continue
        real = wider_device_type(source, index)
        if real and _label(record) == source.outputs[index].dtype:
            place, label = f"{io}.{slot}", source.outputs[index].dtype
            yield io, slot, Message("compare/mislabelled", where=place, label=label, real=real)


def _unused(run: OperatorRun, op: Op, graph: Graph, _cpu: bool) -> Iterator[Found]:
    """An output of several that nobody reads: kernels leave such memory as it was."""
    if len(op.outputs) < 2:
        return
    for io, slot in run.tensors:
        value = Value(run.op, slot)
        if io == "output" and value not in graph.consumers and value not in _results(graph):
            yield io, slot, Message("compare/unused", where=f"{io}.{slot}")


def _unwritten(run: OperatorRun, op: Op, graph: Graph, on_cpu: bool) -> Iterator[Found]:
    """An output that the CPU kernel never writes, and whoever is handed it."""
    if not on_cpu:
        return
    for io, slot in run.tensors:
        written = _written_by(op, io, slot, graph)
        if written is None:
            continue
        source, index = written
        if index in UNWRITTEN_ON_CPU.get(source.op_type, ()):
            yield io, slot, _unwritten_at(io, slot, source.op_type, index)


def _written_by(op: Op, io: str, slot: int, graph: Graph) -> tuple[Op, int] | None:
    """Operator and output slot that a tensor comes from; ``None`` if no operator made it."""
    if io == "output":
        return op, slot
    operand = _flat_input(op, slot)
    return (graph.ops[operand.op], operand.slot) if isinstance(operand, Value) else None


def _results(graph: Graph) -> set[object]:
    return {output for output in graph.outputs if isinstance(output, Value)}


def _rewritten(run: OperatorRun, op: Op, graph: Graph, _cpu: bool) -> Iterator[Found]:
    """Inputs are dumped after the kernel ran: state shows its updated value."""
    for io, slot in run.tensors:
        if io == "input" and slot in rewritten_slots(op):
            said = Message("compare/rewritten", where=f"{io}.{slot}")
            operand = _flat_input(op, slot)
            if isinstance(operand, Param):
                name = graph.parameters[operand.index].name
                said = Message("compare/rewritten-name", where=f"{io}.{slot}", name=name)
            yield io, slot, said


def _flat_input(op: Op, slot: int) -> object:
    for index, operand in enumerate(op.flat_inputs()):
        if index == slot:
            return operand
    return None


ANOMALY_RULES: dict[str, Callable[[OperatorRun, Op, Graph, bool], Iterator[Found]]] = {
    MISLABELLED: _mislabelled,
    UNUSED: _unused,
    UNWRITTEN: _unwritten,
    REWRITTEN: _rewritten,
}
"""Kind of anomaly → rule; the first rule that distrusts a tensor names it."""
