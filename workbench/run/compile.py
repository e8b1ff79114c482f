"""The compiler of the simulated NPU: from the network's graph to the kernels that run.

It works as the graph engine does, in stages; `PASSES` has a row for every one that changes the graph.
MindSpore's O0 and O1 run operators one by one and compile nothing, nor do CPUs and GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.graph.nodes import Const
from workbench.graph.ops import OPS, bind
from workbench.run.fusion import FUSIONS, fuse
from workbench.run.numeric import UNTOUCHED, Formats
from workbench.run.program import COMPILED, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from workbench.graph.nodes import Graph, Op
    from workbench.run.numeric import NumericModel

WEIGHTS: dict[str, str] = {
    "mindspore-o2": "RefData",
    "mindspore-ge": "RefData",
    "tensorflow": "Variable",
    "torchair": "Data",
    "acl": "Const",
}
"""Surface that the graph engine compiles for → type of the operators that hold weights."""

SETTLED: dict[str, str] = {"Concat": "ConcatD", "Split": "SplitD"}
"""Operator type → that of the operator whose axis is an attribute. Unlike it, this one has a kernel."""

FIRST = "PreRunBegin"
"""Stage at which the graph is the framework's."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """What compiling depends on: the device, how weights are held, and the fusions that are off."""

    model: NumericModel
    weights: str
    off: frozenset[str] = frozenset()


def _attributes(graph: Graph, _: Compiler) -> Graph:
    """Make attributes of constant settings (``ConstToAttrPass``)."""
    return replace(graph, ops=tuple(_settled(op) for op in graph.ops))


def _settled(op: Op) -> Op:
    """Return an operator whose settings are attributes, if all of them are known."""
    row = OPS.get(op.op_type)
    if row is None or row.places:
        return op
    try:
        bound = bind(op)
    except GraphError:
        return op
    others = [one for slot, one in enumerate(op.flat_inputs()) if slot not in bound.slots]
    if not others or any(not isinstance(one, Const) or one.dtype == "monad" for one in others):
        return op
    named = row.named([one.value for one in others if isinstance(one, Const)])
    count = abs(row.tensors)
    return replace(
        op,
        op_type=SETTLED.get(op.op_type, op.op_type),
        inputs=op.inputs[:count],
        input_specs=op.input_specs[:count],
        attrs={**op.attrs, **{name: value for name, value in named.items() if value is not None}},
    )


def _graph_fusion(graph: Graph, compiler: Compiler) -> Graph:
    return fuse(_attributes(graph, compiler), "graph", compiler.off)


def _buffer_fusion(graph: Graph, compiler: Compiler) -> Graph:
    return fuse(graph, "buffer", compiler.off)


PASSES: dict[str, Callable[[Graph, Compiler], Graph]] = {
    "OptimizeOriginalGraph_FeGraphFusionAfter": _graph_fusion,
    "PreRunAfterOptimizeSubgraph": _buffer_fusion,
}
"""Stage of compiling → what has been done by then, in order."""


def compile_graph(
    graph: Graph, surface: str, model: NumericModel, *, off: Iterable[str] = ()
) -> Program:
    """Compile a graph for a device.

    Parameters
    ----------
    graph : Graph
        As the framework hands it over.
    surface : str
        A key of `WEIGHTS`; it decides which values the compiler knows.
    model : NumericModel
    off : iterable of str
        Fusions that are switched off, keys of `workbench.run.fusion.FUSIONS`, or ``ALL``.

    Raises
    ------
    GraphError
        The surface compiles nothing, or a fusion is unknown.
    """
    if surface not in WEIGHTS:
        message = f"surface must be one of {[*WEIGHTS]} to compile a graph, got {surface!r}"
        raise GraphError(message)
    compiler = Compiler(model, WEIGHTS[surface], switched_off(off))
    stages = {FIRST: graph}
    now = replace(graph, dialect=COMPILED)
    for stage, change in PASSES.items() if not graph.subgraphs else ():
        now = change(now, compiler)
        stages[stage] = now
    names = [op.name for op in graph.ops]
    formats = dict(zip(names, model.formats(graph), strict=True))
    return Program(graph, now, model, _with_fused(now, formats), stages)


def switched_off(names: Iterable[str]) -> frozenset[str]:
    """Return the fusions that a list switches off; raises GraphError for one that is unknown."""
    found = frozenset(names)
    for name in sorted(found - FUSIONS.keys() - {"ALL"}):
        raise GraphError(f"fusion must be ALL or one of {[*FUSIONS]}, got {name!r}")
    return frozenset(FUSIONS) if "ALL" in found else found


def _with_fused(graph: Graph, formats: Mapping[str, Formats]) -> dict[str, Formats]:
    """Add the formats of fused operators: they round to what the last one inside does."""
    found = dict(formats)
    for op in graph.ops:
        if op.fused is not None:
            inner = [formats.get(one.name, UNTOUCHED).output for one in op.fused.ops]
            found[op.name] = Formats(output=next(filter(None, reversed(inner)), ""))
    return found
