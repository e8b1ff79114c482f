"""Tensors that a CPU's kernels have no address of, so that MindSpore has no file of them.

In: a graph and the release that runs it. Out: its tensors without files.
Source: files of MindSpore 2.7 and 2.10 on a CPU (``tests/data/conformance/names_2.10.0_cpu.json``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.graph.graph import Const, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.core.tensors import Io
    from workbench.graph.graph import Graph, Operand

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

    The network's caller takes that memory, unless what was computed there is an output itself. Views of it have no
    files at all. Where memory has other views, a reader's file may be there in later iterations.
    """
    gone = {Value(number, 0) for number in range(len(graph.ops)) if _is_taken(graph, number)}
    for number, op in enumerate(graph.ops):
        lost = [slot for slot, operand in enumerate(op.flat_inputs()) if operand in gone]
        yield from (Slot(op.name, "input", slot) for slot in lost)
        if lost and op.op_type in VIEWS:
            gone.add(Value(number, 0))
            yield Slot(op.name, "output", 0)


def _is_taken(graph: Graph, number: int) -> bool:
    """Whether an operator is a view, an output of the graph, of computed memory that is none."""
    viewed: Operand = Value(number, 0)
    if graph.ops[number].op_type not in VIEWS or viewed not in graph.outputs:
        return False
    while (
        isinstance(viewed, Value) and viewed.op <= number and graph.ops[viewed.op].op_type in VIEWS
    ):
        number = (
            viewed.op - 1
        )  # a listing is in the order of the data; a damaged one may say otherwise
        viewed = next(iter(graph.ops[viewed.op].inputs), Const(None))
    return isinstance(viewed, Value) and viewed not in graph.outputs
