"""What the graph engine will write, as far as a graph tells: one container an operator.

`predict_containers` grows the same tree as the writer (`workbench.dump.write.ge_tree`) from records that have
no data, into a sink that counts. Promise (`tests/pipeline/test_preview.py`): names, folders and bytes
equal those that `workbench.pipeline.simulate` writes with the same seed. Graphs of the graph engine itself
state what runs on a device and how it lies there, but nothing simulates them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING

from workbench.core.tensors import TensorRecord, TensorSpec
from workbench.core.words import Message
from workbench.dump.watched import watch_of
from workbench.dump.write.ge_graphs import GeRun
from workbench.dump.write.mindspore_tree import CONTROL_FLOW
from workbench.dump.write.preview import (
    MAX_TENSORS,
    Counter,
    Forecast,
    beyond,
    branches,
    shapeless,
    stored_bytes,
)
from workbench.dump.write.sink import Clock
from workbench.run.executor import operator_key
from workbench.run.outline import UNKNOWN, Outlined, outline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.core.plan import DumpPlan
    from workbench.core.tensors import Io
    from workbench.dump.write.ge_tree import GeTree
    from workbench.dump.write.target import GeTarget
    from workbench.graph.nodes import Graph, Op


def predict_containers(
    graph: Graph,
    plan: DumpPlan,
    iterations: Sequence[int],
    target: GeTarget,
    clock: Clock | None = None,
) -> Forecast:
    """Return what the graph engine writes for a plan of kind ``data`` or ``watch``.

    Parameters
    ----------
    graph : Graph
        Best the graph that runs (``ge_proto_*_Build.txt``); any other differs in names and fusions.
    iterations : sequence of int
        The iterations that run and dump (`workbench.dump.selection.dumped_iterations`).
    target : GeTarget
        Whose tree it is.
    clock : Clock, optional
        As the writer's, for the same names.

    Raises
    ------
    FormatError
        An entry of the operator list is no regular expression.
    """
    counter = Counter()
    run = GeRun(plan, graph, target, clock or Clock(), counter, _records)
    tree = run.network
    stated = list(_watched(list(_records(graph)), watch_of(plan, graph)))
    listed = max(1, MAX_TENSORS // max(len(stated), 1))
    runs = (_at(stated, iteration) for iteration in iterations[:listed])
    run.take(chain.from_iterable(runs), counter.done)
    more = max(0, len(iterations) - listed)
    turns = max(1, len(iterations) - more)
    return Forecast(
        counter.files,
        {name: count for name, count in counter.tensors.items() if count},
        counter.rows,
        counter.moved // turns,
        dict(_silent(graph, plan, tree, stated)),
        more,
        (*_doubts(graph, tree, counter), *beyond(more, listed)),
    )


def _doubts(graph: Graph, tree: GeTree, counter: Counter) -> Iterator[Message]:
    if graph.dialect == "ge":
        yield Message("dump/names-of-device")
    if any(entry.bound for entry in counter.files):
        yield Message("dump/size-bound")
    if tree.fed:
        yield Message("dump/fed", operators=sorted(tree.fed))
    yield from branches((graph,))
    yield from shapeless(counter.files)


def _at(records: Sequence[TensorRecord], iteration: int) -> Iterator[TensorRecord]:
    for record in records:
        key = record.key._replace(iteration=iteration)
        yield replace(record, key=key)


def _watched(
    records: Sequence[TensorRecord], watch: Mapping[str, Sequence[str]]
) -> Iterator[TensorRecord]:
    """Yield records, and those of the outputs that are looked at again after each operator."""
    outputs: dict[str, list[TensorRecord]] = {}
    for record in records if watch else ():
        if record.key.io == "output":
            outputs.setdefault(record.key.op_name, []).append(record)
    for name, group in groupby(records, key=lambda record: record.key.op_name):
        yield from group
        for watched in watch.get(name, ()):
            yield from (replace(record, after=name) for record in outputs.get(watched, ()))


def _records(graph: Graph) -> Iterator[TensorRecord]:
    """Records of one iteration that a kernel can leave."""
    if graph.dialect == "ge":
        for block in (graph, *graph.subgraphs):
            for op in block.ops:
                yield from _on_device(graph, op)
        return
    for record in outline(graph):
        if record.key.op_type not in CONTROL_FLOW:
            yield record


def _on_device(graph: Graph, op: Op) -> Iterator[TensorRecord]:
    """Tensors of an operator of GE, which its graph describes as they lie on the device."""
    if not op.device_inputs and not op.device_outputs:  # a file of edges alone
        for slot in range(len(op.inputs)):
            yield _record(graph, op, "input", slot, UNKNOWN, UNKNOWN)
        yield _record(graph, op, "output", 0, UNKNOWN, UNKNOWN)
    sides: tuple[tuple[Io, Sequence[TensorSpec], Sequence[TensorSpec | None]], ...] = (
        ("input", op.device_inputs, op.input_specs),
        ("output", op.device_outputs, op.outputs),
    )
    for io, there, here in sides:
        for slot, spec in enumerate(there):
            host = here[slot] if slot < len(here) else None
            if spec.dtype:
                yield _record(graph, op, io, slot, spec, host or spec)


def _record(
    graph: Graph, op: Op, io: Io, slot: int, there: TensorSpec, here: TensorSpec
) -> TensorRecord:
    shape = there.shape if here.shape is None else here.shape
    source = Outlined(TensorSpec(there.dtype, shape))
    return TensorRecord(operator_key(graph, op, io, slot, 0), there, source)


def _silent(
    graph: Graph, plan: DumpPlan, tree: GeTree, records: Sequence[TensorRecord]
) -> Iterator[tuple[str, Message | str]]:
    """Operators that were chosen and leave no dump, with the reason."""
    found: dict[str, list[TensorRecord]] = {}
    for record in records:
        if tree.wants(record.key):
            found.setdefault(record.key.op_name, []).append(record)
    for block in (graph, *graph.subgraphs):
        for op in block.ops:
            if op.name in tree.fed or tree.choice.selects(op.name, op.op_type):
                reason = tree.silence(op.name) or _emptiness(found.get(op.name, ()))
                if reason:
                    yield op.name or op.op_type, reason


def _emptiness(records: Sequence[TensorRecord]) -> Message | None:
    """Why tensors leave no file: there are none, or the device writer finds no bytes in them."""
    if not records:
        return Message("dump/no-such-tensor")
    sizes = [stored_bytes(record.label.dtype, record.label.size) for record in records]
    return Message("dump/no-bytes") if all(size == 0 for size in sizes) else None
