"""Tensors of a bound dump that are not what their label says, found from the graph.

Each rule looks at one execution of one operator and yields the slots it distrusts. A distrusted
tensor is an anomaly: shown, counted, and kept out of verdicts (`real dumps` in docs/evidence/real-dumps.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.comparison.graphs.roles import rewritten_slots
from workbench.core.dtypes import DTYPES
from workbench.core.errors import FormatError
from workbench.core.long_work import checkpoint
from workbench.core.words import Message
from workbench.dump.formats.npy import NpySource, fingerprint
from workbench.graph.graph import Param, Value
from workbench.ops import UNWRITTEN_ON_CPU
from workbench.ops.dont_care import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workbench.comparison.bind.binding import Binding, OperatorRun
    from workbench.core.tensors import TensorRecord
    from workbench.graph.graph import Graph, Op

    Found = Iterator[tuple[str, int, Message]]
    """io, slot, and what is odd."""

MISLABELLED = "mislabelled"
UNUSED = "unused-output"
UNWRITTEN = "unwritten-output"
NO_MATTER = "dont-care"
REWRITTEN = "rewritten-in-place"
QUIET = frozenset((UNUSED, UNWRITTEN, NO_MATTER))
"""Kinds of tensors whose values say nothing, whichever they are: no reason for a warning."""


class Anomaly(NamedTuple):
    """A tensor that is distrusted."""

    record: TensorRecord
    kind: str
    op_name: str
    said: Message


class Seen(NamedTuple):
    """One execution of an operator; ``op`` and ``graph`` are ``None`` where no graph knows it."""

    run: OperatorRun
    on_cpu: bool
    op: Op | None
    graph: Graph | None

    def written_by(self, io: str, slot: int) -> tuple[Op, int] | None:
        """Operator and output slot that a tensor comes from; ``None`` if no operator of a graph made it."""
        if self.op is None or self.graph is None:
            return None
        if io == "output":
            return self.op, slot
        operand = self.op.operand(slot)
        return (self.graph.ops[operand.op], operand.slot) if isinstance(operand, Value) else None


def find_anomalies(binding: Binding) -> list[Anomaly]:
    """Return every way in which tensors are distrusted, in the order of the binding's runs and of the rules."""
    found: list[Anomaly] = []
    on_cpu = binding.on_cpu
    for block, runs in binding.runs.items():
        graph = binding.graph(block)
        for number, run in runs.items():
            checkpoint()
            op = graph.ops[number] if graph is not None and number >= 0 else None
            seen = Seen(run, on_cpu, op, graph if op is not None else None)
            for rule in ANOMALY_RULES if op is not None else WITHOUT_GRAPH:
                for io, slot, said in rule.finds(seen):
                    record = run.tensors[io, slot]
                    found.append(Anomaly(record, rule.kind, run.op_name, said))
    return found


def kinds_by_record(found: Iterable[Anomaly]) -> dict[int, tuple[str, ...]]:
    """Return all kinds of every distrusted record, by its identity, the one that says most first."""
    kinds: dict[int, tuple[str, ...]] = {}
    for one in found:
        known = kinds.get(id(one.record), ())
        if one.kind not in known:
            kinds[id(one.record)] = (*known, one.kind)
    return kinds


def _mislabelled(seen: Seen) -> Found:
    for (io, slot), record in seen.run.tensors.items():
        written = seen.written_by(io, slot)
        if written is None and seen.op is not None:
            continue
        if written is None or not written[0].device_outputs:  # nobody says what the kernel wrote
            if _is_oversized(record):
                yield io, slot, Message("compare/oversized", where=f"{io}.{slot}")
            continue
        real = wider_device_type(*written)  # "" for an output that a damaged graph does not have
        if real and _label(record) == (label := written[0].outputs[written[1]].dtype):
            where = f"{io}.{slot}"
            yield io, slot, Message("compare/mislabelled", where=where, label=label, real=real)


def _unused(seen: Seen) -> Found:
    if seen.op is None or seen.graph is None or len(seen.op.outputs) < 2:
        return
    for io, slot in seen.run.tensors:
        value = Value(seen.run.op, slot)
        if io == "output" and value not in seen.graph.consumers and value not in seen.graph.outputs:
            yield io, slot, Message("compare/unused", where=f"{io}.{slot}")


def _unwritten(seen: Seen) -> Found:
    for io, slot, op_type, output in _producers(seen) if seen.on_cpu else ():
        if output in UNWRITTEN_ON_CPU.get(op_type, ()):
            where = f"{io}.{slot}"
            yield io, slot, Message("compare/unwritten", where=where, op_type=op_type, slot=output)


_WITHOUT_MEANING = frozenset(op_type for op_type, _ in WHOLE)
"""Types of operators of which an output means nothing."""


def _without_meaning(seen: Seen) -> Found:
    if seen.op is None and seen.run.op_type not in _WITHOUT_MEANING:
        return
    for io, slot, op_type, output in _producers(seen):
        why = WHOLE.get((op_type, output))
        if why is not None:
            said = Message(
                f"compare/dont-care-{why}", where=f"{io}.{slot}", op_type=op_type, slot=output
            )
            yield io, slot, said


def _producers(seen: Seen) -> Iterator[tuple[str, int, str, int]]:
    """Tensors of an operator by io and slot, with the type and the output slot that they come from."""
    for io, slot in seen.run.tensors:
        written = seen.written_by(io, slot)
        if written is not None:
            yield io, slot, written[0].op_type, written[1]
        elif seen.op is None and io == "output":
            yield io, slot, seen.run.op_type, slot


def _rewritten(seen: Seen) -> Found:
    if seen.op is None or seen.graph is None:
        return
    for io, slot in seen.run.tensors:
        if io == "input" and slot in rewritten_slots(seen.op):
            said = Message("compare/rewritten", where=f"{io}.{slot}")
            operand = seen.op.operand(slot)
            if isinstance(operand, Param):
                name = seen.graph.parameters[operand.index].name
                said = Message("compare/rewritten-name", where=f"{io}.{slot}", name=name)
            yield io, slot, said


def wider_device_type(op: Op, slot: int) -> str:
    """Dtype the kernel really wrote, if it is wider than the host dtype; else ``""``."""
    if slot >= len(op.device_outputs) or slot >= len(op.outputs):
        return ""
    host, device = DTYPES.get(op.outputs[slot].dtype), DTYPES.get(op.device_outputs[slot].dtype)
    if host is None or device is None or device.storage.itemsize <= host.storage.itemsize:
        return ""
    return device.name


def _is_oversized(record: TensorRecord) -> bool:
    """Whether a file is twice as long as its header says."""
    source = record.source
    if not isinstance(source, NpySource) or source.is_device_format or _label(record) != "float16":
        return False  # a device format has padding
    try:
        size, _ = fingerprint(record.path)
        claimed = source.spec().size
    except FormatError:
        return False
    return claimed is not None and 0 < claimed * 4 == size


def _label(record: TensorRecord) -> str:
    """Dtype the record states, from its name or else its header."""
    if record.label.dtype or record.source is None:
        return record.label.dtype
    try:
        return record.source.spec().dtype
    except FormatError:
        return ""


class AnomalyRule(NamedTuple):
    """One way in which a tensor is not what it says; ``needs_graph``: who knows no graph is left alone."""

    kind: str
    needs_graph: bool
    finds: Callable[[Seen], Found]
    says: str
    why: str


ANOMALY_RULES = (
    AnomalyRule(
        UNUSED,
        True,
        _unused,
        "one of several outputs that nobody reads: kernels leave such memory as it was",
        "first: whatever lies there has no consequence, under any label; it holds on every device",
    ),
    AnomalyRule(
        UNWRITTEN,
        False,
        _unwritten,
        "an output that the CPU kernel of this type never writes, and whoever is handed it",
        "before dont-care: that it was never written is the plainer reason",
    ),
    AnomalyRule(
        NO_MATTER,
        False,
        _without_meaning,
        "an output whose values say nothing, whatever they are: reserved memory, states of random numbers",
        "before mislabelled: what says nothing says so in any type",
    ),
    AnomalyRule(
        MISLABELLED,
        False,
        _mislabelled,
        "the kernel wrote a wider type than host type and file say, or the file is twice as long as "
        "its header says: as labelled the tensor is noise",
        "before rewritten-in-place: as labelled it shows no state, updated or not",
    ),
    AnomalyRule(
        REWRITTEN,
        True,
        _rewritten,
        "inputs are dumped after the kernel ran: state shows its updated value",
        "last: the tensor itself is sound, only its time is another",
    ),
)
"""Every rule that distrusts a tensor is kept; the first of them names it where one kind is asked for."""

WITHOUT_GRAPH = tuple(rule for rule in ANOMALY_RULES if not rule.needs_graph)
