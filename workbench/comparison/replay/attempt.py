"""One attempt to compute an operator of the target again: its work, its inputs, what it gave."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._values import dataclass
from workbench.comparison.graphs.roles import rewritten_slots
from workbench.comparison.pair.undefined.find import where_it_counts
from workbench.comparison.replay.inputs import BoundedCache, DumpedInputs, is_state
from workbench.comparison.replay.kernel import Computation, Trial, beginning, cast_like
from workbench.comparison.replay.lowering import Lowering, golden_kernel, lower
from workbench.core.dtypes import DTYPES, name_of
from workbench.core.errors import GraphError
from workbench.core.long_work import checkpoint
from workbench.core.words import Message
from workbench.graph_files.onnx.dialect import DIALECT
from workbench.npu.arithmetic import EXACT
from workbench.npu.rounding import ROUND
from workbench.ops import OPS, in_place_outputs
from workbench.ops.compile_time import computed_before_the_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.comparison.align.alignment import Alignment
    from workbench.comparison.bind.binding import Execution
    from workbench.comparison.pair.pairing import Pairing
    from workbench.comparison.replay.inputs import InputValue
    from workbench.comparison.replay.models import Candidate
    from workbench.comparison.replay.network import NetworkKernel
    from workbench.core.dtypes import DType
    from workbench.graph.graph import Graph, Op
    from workbench.npu.arithmetic import Arithmetic

    Array = NDArray[Any]

NOT_DUMPED = "compare/outputs-not-dumped"
"""Code of an operator without outputs in the dump."""

TROUBLE = (GraphError, ValueError, TypeError, IndexError, KeyError, ArithmeticError, MemoryError)
"""What kernels raise on inputs that do not fit; files may hold anything."""

Counts = Mapping[tuple["Execution", int], Mapping[int, "NDArray[np.bool_]"]]
"""Which elements of outputs count where not all do, by execution, operator and slot."""

_HELD = 1 << 26
"""Bytes of arrays of attempts that are kept."""


@dataclass(frozen=True, slots=True)
class Attempt(Computation):
    """An operator of a dump that can be computed again.

    Attributes
    ----------
    given : mapping of int to array
        What it gave, by slot as results are numbered; flat and short where only the first elements are known.
    block, number, op
        Execution, number in the graph, and the operator as the graph has it.
    rule : str
        How it is known what it computes, as in `workbench.comparison.replay.lowering`.
    assumed : tuple of Message
        What of its inputs is not from the target's own files.
    partial : bool
        Whether NaN stands for unknown elements of inputs.
    invented : tuple of int
        Inputs that no file has at all.
    dumped : set of int
        Inputs that files of the same side hold whole.
    counts : mapping of int to array of bool
        Which elements of what it gave count, by slot, where not all do; an axis of one entry stands for all. The
        others are zero, here and in results.
    """

    given: Mapping[int, Array]
    block: Execution
    number: int
    op: Op
    rule: str
    assumed: tuple[Message, ...] = ()
    partial: bool = False
    invented: tuple[int, ...] = ()
    dumped: frozenset[int] = frozenset()
    counts: Mapping[int, NDArray[np.bool_]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays; some of them may be other operators' as well."""
        return sum(array.nbytes for array in (*self.inputs.values(), *self.given.values()))

    def without_inventions(self) -> Attempt:
        """Return the attempt with unknown numbers where no file has any, so that it tells the rest."""
        unknown = {
            slot: np.full_like(self.inputs[slot], np.nan)
            for slot in self.invented
            if self.inputs[slot].dtype.kind == "f"
        }
        return replace(
            self, inputs={**self.inputs, **unknown}, assumed=(), partial=True, invented=()
        )

    def results(self, arithmetic: Arithmetic = EXACT) -> dict[int, Array]:
        """Return what it should have given, by slot, in the dtypes of what it gave.

        Raises one of ``TROUBLE`` if its inputs do not fit.
        """
        found = {
            slot: self._like(self._in_format(array, slot), self.given[slot], arithmetic)
            for slot, array in self.computed(self.given, arithmetic).items()
        }
        return {
            slot: where_it_counts(array, self.counts.get(slot))
            for slot, array in found.items()
            if array is not None and array.shape == self.given[slot].shape
        }

    def _in_format(self, array: Array, slot: int) -> Array:
        """Round a result to the format that the graph states, where a file holds it in a wider one."""
        row = self._narrow(slot)
        return array if row is None or array.dtype.kind != "f" else _through(array, row)

    def _narrow(self, slot: int) -> DType | None:
        """The format that the graph states of an output, where a file holds it in a wider one."""
        specs = self.op.device_outputs or self.op.outputs
        row = DTYPES.get(specs[slot].dtype) if 0 <= slot < len(specs) else None
        if row is None or not row.is_float or row.storage == self.given[slot].dtype:
            return None
        wide = DTYPES.get(name_of(self.given[slot].dtype))
        return None if wide is None or wide.roundoff >= row.roundoff else row

    def _like(self, array: Array, given: Array, arithmetic: Arithmetic) -> Array | None:
        """Give a result the shape and dtype of what was given; what is not known is not told apart from it."""
        array = beginning(array, given)
        unknown = np.isnan(array) if self.partial and array.dtype.kind == "f" else None
        array = cast_like(array, given, saturates=arithmetic.saturates)
        if unknown is None or unknown.size != given.size:
            return array
        if unknown.all() and unknown.size:
            return None
        unknown = unknown.reshape(given.shape)
        return np.where(unknown, given, array)

    def trial(
        self, slot: int, floor: float, arithmetic: Arithmetic, earlier: tuple[Array, ...] = ()
    ) -> Trial:
        """Return the trial of one of its outputs; raises one of ``TROUBLE``."""
        expected = self.results(arithmetic)[slot]
        given = self.given[slot]
        row = self._narrow(slot)
        if row is not None and not arithmetic.output and row.name in ROUND:
            arithmetic = arithmetic._replace(output=row.name)
        return Trial(
            self.kernel, self.inputs, slot, given, expected, floor, arithmetic, earlier, self.dumped
        )


class ReplayCache:
    """The operators of both sides of a comparison, each made ready when it is asked for.

    What was read last is held within bounds; of what an operator computes there is one entry an operator of a graph.
    """

    def __init__(self, pairing: Pairing, counts: Counts | None = None) -> None:
        self.pairing = pairing
        self._counts: Counts = counts or {}
        self.target_inputs = DumpedInputs(pairing.target)
        self.golden_inputs = DumpedInputs(pairing.golden)
        self._lowerings: dict[tuple[int, int, int], Lowering] = {}
        self._constants: dict[int, Set[int]] = {}
        self._candidates: dict[int, tuple[Candidate, ...]] = {}
        self._attempts: BoundedCache[tuple[Execution, int], Attempt] = BoundedCache(_HELD)

    def __reduce__(self) -> tuple[type[ReplayCache], tuple[Pairing, Counts]]:
        """Travel without what it holds: that is found under identities, which do not last."""
        return ReplayCache, (self.pairing, self._counts)

    def forget(self) -> None:
        """Let go of all arrays; whoever asks again reads them again."""
        self._attempts.clear()
        self.target_inputs.forget()
        self.golden_inputs.forget()

    def candidates(self, graph: Graph) -> tuple[Candidate, ...]:
        """Return what every numeric model says of a graph of the target; ranks whose files say the same share it."""
        known = id(graph.ops)  # lives as long as the pairing
        if known not in self._candidates:
            from workbench.comparison.replay.models import candidates

            self._candidates[known] = candidates(graph)
        return self._candidates[known]

    def golden_attempt(
        self, block: Execution, number: int, *, loosely: bool = False
    ) -> Attempt | Message:
        """Return the golden's partner of an operator, ready to be computed, or why it cannot be.

        ``loosely``: those that a kernel stands for will do, computed one after the other, and if that cannot be,
        the one that gives its result.
        """
        checkpoint()
        found = self.pairing.alignments.get(block.graph_key)
        other = self.pairing.blocks.get(block)
        graph = self.pairing.golden.graph(other) if other is not None else None
        if found is None or other is None or graph is None:
            return Message("compare/no-match")
        several = self._of_members(block, other, number, found) if loosely else None
        if several is not None:
            return several
        partner = found.counterpart(number) if loosely else found.match_of.get(number)
        if partner is None:
            return Message("compare/no-match")
        op = graph.ops[partner]
        given = _given(self.golden_inputs, other, partner, op)
        work = lower(partner, op, None)
        if work.kernel is None or not given:
            return work.reason or Message(NOT_DUMPED)
        return self._ready(self.golden_inputs, other, partner, op, work, given)

    def _of_members(
        self, block: Execution, other: Execution, number: int, found: Alignment
    ) -> Attempt | None:
        """Return the golden's operators that a kernel stands for, on what they read; ``None``: that is not known."""
        fusion = found.fused.get(number)
        if fusion is None or fusion.target != (number,) or len(fusion.golden) < 2:
            return None
        op = found.target.graph.ops[number]
        try:
            kernel, readers = golden_kernel(number, op, fusion.golden, found)
        except GraphError:
            return None
        read = {slot: self.golden_inputs.read(other, *place) for slot, place in readers.items()}
        inputs = {slot: known.array for slot, known in read.items() if known is not None}
        if len(inputs) < len(read):
            return None
        return Attempt(kernel, _read_only(inputs), _read_only({}), block, number, op, "fusion")

    def attempt(self, block: Execution, number: int) -> Attempt | Message:
        """Return an operator ready to be computed, or why it cannot be; whoever stops this work ends here."""
        checkpoint()
        held = self._attempts.get((block, number))
        if held is not None:
            return held
        found = self._gathered(block, number)
        return self._attempts.hold((block, number), found) if isinstance(found, Attempt) else found

    def _gathered(self, block: Execution, number: int) -> Attempt | Message:
        graph = self.pairing.target.graph(block)
        assert graph is not None
        op = graph.ops[number]
        given = _given(self.target_inputs, block, number, op)
        if not given:
            return Message(NOT_DUMPED)
        work = self.lowering(block, number, op)
        if work.kernel is None:
            return work.reason or Message("compare/inputs-unknown")
        found = self._ready(self.target_inputs, block, number, op, work, given)
        if not isinstance(found, Attempt):
            found = self.of_network(block, number) or found
        counts = self._counts.get((block, number))
        if counts is None or not isinstance(found, Attempt):
            return found
        given = {slot: where_it_counts(one, counts.get(slot)) for slot, one in found.given.items()}
        return replace(found, given=_read_only(given), counts=counts)

    def of_network(self, block: Execution, number: int) -> Attempt | None:
        """Return a kernel as the golden's model has it (`workbench.comparison.replay.network`), if that tells."""
        found = self.pairing.alignments.get(block.graph_key)
        given = self.target_inputs.given(block, number, 0)
        if found is None or given is None:
            return None
        slots = {found.mapped(origin): n for n, origin in enumerate(found.target.origins(number))}

        def read(member: int, at: int) -> Array | None:
            slot = slots.get(found.golden.origins(member)[at])
            known = None if slot is None else self.target_inputs.read(block, number, slot)
            return None if known is None or known.assumed is not None else known.array

        from workbench.comparison.replay.network import network_kernel

        return _of_nodes(
            network_kernel(found, number, read, self._known(found.golden.graph)),
            block,
            number,
            found,
            given,
        )

    def _known(self, model: Graph) -> Set[int]:
        """Nodes of a model that no input's values reach; one answer for all kernels."""
        key = id(model.ops)  # lives as long as the pairing
        if key not in self._constants:
            self._constants[key] = (
                computed_before_the_run(model) if model.dialect == DIALECT else set()
            )
        return self._constants[key]

    def golden_counterpart(
        self, block: Execution, number: int, rule: str
    ) -> Attempt | Message | None:
        """Return the golden's counterpart as an attempt of the target was made ready: by which rule of lowering."""
        if rule == "network":
            return self._golden_of_network(block, number)
        return self.golden_attempt(block, number)

    def _golden_of_network(self, block: Execution, number: int) -> Attempt | None:
        """Return the nodes of the golden's model that a kernel stands for, on what they read themselves."""
        found, other = self.pairing.alignments.get(block.graph_key), self.pairing.blocks.get(block)
        if found is None or other is None:
            return None

        def read(member: int, at: int) -> Array | None:
            known = self.golden_inputs.read(other, member, at)
            return None if known is None else known.array

        from workbench.comparison.replay.network import network_kernel

        work = network_kernel(found, number, read, self._known(found.golden.graph))
        array = work and self.golden_inputs.given(other, work.result.number, work.result.slot)
        return None if array is None else _of_nodes(work, block, number, found, array)

    def _ready(
        self,
        values: DumpedInputs,
        block: Execution,
        number: int,
        op: Op,
        work: Lowering,
        given: dict[int, Array],
    ) -> Attempt | Message:
        """Gather the inputs of an operator of one side."""
        assert work.kernel is not None
        inputs: dict[int, Array] = {}
        assumed: list[Message] = []
        partial, invented, dumped = False, [], []
        for slot in sorted(work.kernel.needed):
            known = values.read(block, number, slot)
            if known is None and values is self.target_inputs:
                known = self._assumed(block, number, op, slot)
            if known is None:
                return _missing(op, slot)
            inputs[slot] = cast_as_declared(known.array, op, slot)
            partial |= known.partial
            invented += [slot] if known.invented else []
            dumped += [] if known.assumed or known.invented or known.partial else [slot]
            if known.assumed is not None:
                assumed.append(known.assumed)
        return Attempt(
            work.kernel, _read_only(inputs), _read_only(given), block, number, op, work.rule,
            tuple(dict.fromkeys(assumed)), partial, tuple(invented), frozenset(dumped),
        )  # fmt: skip

    def lowering(self, block: Execution, number: int, op: Op) -> Lowering:
        key = (block.rank, block.graph_id, number)
        if key not in self._lowerings:
            found = self.pairing.alignments.get(key[:2])
            self._lowerings[key] = lower(number, op, found)
        return self._lowerings[key]

    def _assumed(self, block: Execution, number: int, op: Op, slot: int) -> InputValue | None:
        """Return what the golden read there, for an input that no operator computes."""
        graph = self.pairing.target.graph(block)
        operand = op.operand(slot)
        found = self.pairing.alignments.get(block.graph_key)
        other = self.pairing.blocks.get(block)
        partner = found.match_of.get(number) if found is not None else None
        if graph is None or found is None or other is None or partner is None:
            return None
        if not is_state(operand, graph) or slot in rewritten_slots(op):
            return None
        if block.iteration > 0 and self.target_inputs.is_updated(graph, operand):
            return None  # the golden has updated it by gradients of its own
        known = self.golden_inputs.read(other, partner, found.input_order(number).get(slot, slot))
        return (
            known._replace(assumed=Message("compare/assumed-golden", slot=slot)) if known else None
        )


def _of_nodes(
    work: NetworkKernel | None, block: Execution, number: int, found: Alignment, given: Array
) -> Attempt | None:
    """Return an attempt of a kernel by nodes of a model, that gave an array."""
    if work is None:
        return None
    said, op = Message("compare/assumed-network"), found.target.graph.ops[number]
    inputs, result = _read_only(work.inputs), _read_only({0: given})
    return Attempt(work.kernel, inputs, result, block, number, op, "network", (said,))


def _given(values: DumpedInputs, block: Execution, number: int, op: Op) -> dict[int, Array]:
    """Return what an operator gave, by slot, and what it left in inputs that it overwrites."""
    left = in_place_outputs(op) if op.op_type in OPS else {}
    found: dict[int, Array] = {}
    for slot in range(max(len(op.outputs), 1)):
        if slot in left:
            continue  # the same memory as the input that is updated
        array = values.given(block, number, slot)
        if array is None:
            array = values.part_given(block, number, slot)
        if array is not None:
            found[slot] = array
    for slot in rewritten_slots(op):
        array = values.after(block, number, slot)
        if array is not None:
            found[-1 - slot] = array
    return found


def _read_only(arrays: Mapping[int, Array]) -> Mapping[int, Array]:
    """Return arrays by slot that nobody can change: one attempt is asked for by several."""
    held = {slot: np.asarray(array).view() for slot, array in arrays.items()}
    for array in held.values():
        array.setflags(write=False)
    return MappingProxyType(held)


def cast_as_declared(array: Array, op: Op, slot: int) -> Array:
    """Round an input to the dtype in which the graph says it is read, where a file holds a wider one."""
    specs = op.device_inputs or op.input_specs
    spec = specs[slot] if slot < len(specs) else None
    stated = DTYPES.get(spec.dtype) if spec is not None else None
    held = DTYPES.get(name_of(array.dtype))
    if stated is None or held is None or not (stated.is_float and held.is_float):
        return array
    if array.dtype.kind == "c":  # a real format would lose half of every number
        return array
    if stated.roundoff <= held.roundoff or stated.limit:
        return array
    return _through(array, stated)


def _through(array: Array, row: DType) -> Array:
    """Round to a coarser format and keep the dtype; what it cannot hold is infinite."""
    with np.errstate(all="ignore"):
        return array.astype(row.storage).astype(array.dtype)


def _missing(op: Op, slot: int) -> Message:
    if slot in rewritten_slots(op):
        return Message("compare/input-updated", slot=slot)
    return Message("compare/input-not-dumped", slot=slot)
