"""Tensors that a CPU's kernels have no address of, so that MindSpore has no file of them.

In: a graph and the release that runs it. Out: its tensors without files.
Source: files of MindSpore 2.7 and 2.10 on a CPU (``tests/data/conformance/names_2.10.0_cpu.json``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workbench.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.core.tensors import Io
    from workbench.graph.graph import Graph

UNREAD = {
    "Conv2DBackpropFilter": 2,
    "Conv2DBackpropInput": 2,
    "Conv3DBackpropFilter": 2,
    "Conv3DBackpropInput": 2,
    "ExpandDims": 1,
    "OneHot": 1,
    "Reshape": 1,
    "ResizeBilinearV2": 1,
    "ScatterNd": 2,
    "ShapeCalc": 0,
    "Squeeze": 1,
    "Transpose": 1,
    "UnsortedSegmentMax": 2,
    "UnsortedSegmentMin": 2,
    "UnsortedSegmentProd": 2,
    "UnsortedSegmentSum": 2,
}
"""Operator → the input that its kernel on a CPU never reads: a shape, axis, order or depth.

MindSpore's kernels say so since they take kernel tensors (2.3); 2.0 wrote such inputs."""

VIEWS = frozenset(("ExpandDims", "Flatten", "FlattenGrad", "Reshape", "Squeeze"))
"""Operators whose output lies where their input does."""

HANDED_OVER = (2, 7)
"""First release that was seen to take the memory of a graph's output from its readers, where a view made it."""


class Slot(NamedTuple):
    """A tensor of an operator."""

    op_name: str
    io: Io
    slot: int


def handed_over(graph: Graph) -> Iterator[Slot]:
    """Yield the tensors of operators that read an output of the graph which is a view of computed memory.

    The network's caller takes that memory. Views of it have no files at all. Seen without exception where the view
    reads no other view; else a reader's file may be there in some iterations.
    """
    gone = {
        Value(number, 0)
        for number, op in enumerate(graph.ops)
        if op.op_type in VIEWS
        and isinstance(next(iter(op.inputs), None), Value)
        and Value(number, 0) in graph.outputs
    }
    for number, op in enumerate(graph.ops):
        lost = [slot for slot, operand in enumerate(op.flat_inputs()) if operand in gone]
        yield from (Slot(op.name, "input", slot) for slot in lost)
        if lost and op.op_type in VIEWS:
            gone.add(Value(number, 0))
            yield Slot(op.name, "output", 0)
