"""The compiler of the simulated NPU: from the network's graph to the kernels that run.

It works as the graph engine does, in stages; `PASSES` has a row for every one that changes the graph.
MindSpore's O0 and O1 run operators one by one and compile nothing, nor do CPUs and GPUs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.graph.graph import Const
from workbench.npu.compile import formats
from workbench.npu.compile.casts import lower, roundings
from workbench.npu.compile.folding import fold, unread
from workbench.npu.compile.fusions import SWITCHES, VIRTUAL, fuse
from workbench.npu.compile.no_task import leave_out
from workbench.npu.compile.provenance import HCOM, SETTLED
from workbench.npu.program import COMPILED, Program
from workbench.ops import OPS, bind
from workbench.run.executor import updates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from workbench.graph.graph import Graph, Op
    from workbench.npu.compile.folding import Folded
    from workbench.npu.numerics import NumericModel

WEIGHTS: dict[str, str] = {
    "mindspore-o2": "RefData",
    "mindspore-ge": "RefData",
    "tensorflow": "Variable",
    "torchair": "Data",
    "acl": "Const",
}
"""Surface that the graph engine compiles for → type of the operators that hold weights."""

FIRST = "PreRunBegin"
"""Stage at which the graph is the framework's."""


@dataclass(slots=True)
class Work:
    """A graph while it is compiled: what it was and is now, what was folded, what compiling depends on.

    ``weights`` is the type of the operators that hold weights, ``off`` the fusions that are off,
    ``quant_dumpable`` whether no fusion may end in an AscendQuant.
    """

    source: Graph
    graph: Graph
    model: NumericModel
    weights: str
    off: frozenset[str] = frozenset()
    folded: dict[str, Folded] = field(default_factory=dict)
    quant_dumpable: bool = False


def _fuse_graph(work: Work) -> None:
    """Make constant settings attributes (``ConstToAttrPass``), and fuse what has become one function."""
    graph = replace(work.graph, ops=tuple(_settled(op) for op in work.graph.ops))
    work.graph = fuse(graph, "graph", work.off, constants=work.weights == "Const")


def _lower(work: Work) -> None:
    work.graph = lower(work.graph, work.model)


def _choose(work: Work) -> None:
    work.graph = formats.choose(work.graph)


def _spread(work: Work) -> None:
    work.graph = formats.spread(work.graph)


def _insert(work: Work) -> None:
    work.graph = formats.insert(work.graph)


def _fold(work: Work) -> None:
    graph, work.folded = fold(work.graph, work.source, work.folded, work.weights)
    work.graph = unread(graph, work.weights)


def _fuse_buffers(work: Work) -> None:
    if work.model.profile.joins:
        work.graph = fuse(work.graph, "buffer", work.off, quant_dumpable=work.quant_dumpable)


def _leave_out(work: Work) -> None:
    if VIRTUAL not in work.off:
        work.graph = leave_out(work.graph)


PASSES: dict[str, Callable[[Work], None]] = {
    "OptimizeOriginalGraph_FeGraphFusionAfter": _fuse_graph,
    "PreRunAfterOptimizeOriginalGraph": _fold,
    "AfterPrecisionRefine": _lower,
    "OptimizeOriginalGraph_FeOpFormatJudgeAfter": _choose,
    "OptimizeOriginalGraph_FeDistHeavyFormatAfter": _spread,
    "OptimizeOriginalGraph_FeInsertTransNodeAfter": _insert,
    "OptimizeStage1_1": _fold,
    "PreRunAfterOptimizeSubgraph": _fuse_buffers,
    "PreRunAfterOptimize2": _leave_out,
}
"""Stage of compiling → what has been done by then, in order."""


def _settled(op: Op) -> Op:
    """Return an operator whose settings are attributes, if all of them are known."""
    if op.op_type in HCOM:
        return _collective(op)
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


def _collective(op: Op) -> Op:
    """Return an operator in which ranks meet as the graph engine has it."""
    kind, given = HCOM[op.op_type], {**op.attrs, "reduction": op.attrs.get("op", "sum")}
    attrs = {name: given[name] for name in OPS[kind].defaults if name in given}
    return replace(op, op_type=kind, attrs=attrs)


def compile_graph(
    graph: Graph,
    surface: str,
    model: NumericModel,
    *,
    off: Iterable[str] = (),
    network: Graph | None = None,
    folded: Mapping[str, Folded] = MappingProxyType({}),
    quant_dumpable: bool = False,
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
        Fusions that are switched off, keys of `workbench.npu.compile.fusions.SWITCHES`, or ``ALL``.
    network : Graph, optional
        What the graph was made from, if its weights are not those that a run is given: ``folded`` says
        how they are computed (`workbench.npu.compile.quantize.quantise`).
    quant_dumpable : bool
        Whether what an AscendQuant reads stays a tensor of its own, as of GE's option.

    Raises
    ------
    GraphError
        The surface compiles nothing, or a fusion is unknown.
    """
    if surface not in WEIGHTS:
        raise GraphError("core/choice", subject="surface", got=surface, known=[*WEIGHTS])
    if WEIGHTS[surface] == "Const" and updates(graph):
        raise GraphError("run/offline-training", surface=surface, graph=graph.name)
    stages = {FIRST: graph}
    now = replace(graph, dialect=COMPILED)
    source = graph if network is None else network
    work = Work(
        source, now, model, WEIGHTS[surface], switched_off(off), dict(folded), quant_dumpable
    )
    for stage, change in PASSES.items() if not graph.subgraphs else ():
        change(work)
        stages[stage] = work.graph
    names = [op.name for op in graph.ops]
    before = dict(zip(names, model.formats(graph), strict=True))
    beyond = roundings(work.graph, before)
    read = {parameter.name for parameter in work.graph.parameters}
    computed = {name: one for name, one in work.folded.items() if name in read}
    return Program(source, work.graph, model, beyond, computed, stages)


def switched_off(names: Iterable[str]) -> frozenset[str]:
    """Return the fusions that a list switches off; raises GraphError for one that is unknown."""
    found = frozenset(names)
    for name in sorted(found - SWITCHES.keys() - {"ALL"}):
        known = ["ALL", *SWITCHES]
        raise GraphError("core/choice", subject="fusion", got=name, known=known)
    return frozenset(SWITCHES) if "ALL" in found else found
