"""The compiler of the simulated NPU: from the network's graph to the kernels that run.

It works as the graph engine does, in passes from `Module` to `Module`; `PASSES` has a row for each.
MindSpore's O0 and O1 run operators one by one and compile nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench._values import NamedTuple
from workbench.core.errors import GraphError
from workbench.graph.graph import COMPILED
from workbench.npu.compile.casts import annotate_kernel_dtypes, insert_casts, roundings
from workbench.npu.compile.folding import fold_constants, fold_operators
from workbench.npu.compile.formats import choose_formats, insert_transdata, propagate_formats
from workbench.npu.compile.fusions import VIRTUAL, fuse_buffers, fuse_graph
from workbench.npu.compile.no_task import mark_no_task
from workbench.npu.compile.overflow_check import lower_overflow_check
from workbench.npu.compile.program import Module, Program
from workbench.npu.compile.provenance import constants_to_attributes
from workbench.npu.compile.quantize import quantize_network
from workbench.npu.faults import check_faults, faults_in, with_compile_faults
from workbench.run.executor import has_updates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.graph.control_flow import ControlFlow
    from workbench.graph.graph import Graph
    from workbench.npu.target import Target

FIRST = "PreRunBegin"
"""Stage at which the graph is the framework's."""


def inject_compile_faults(module: Module, target: Target) -> Module:
    """Return the network with the settings that a faulty compiler changes."""
    return module.handed(with_compile_faults(module.graph, target.faults))


def inject_faults(module: Module, target: Target) -> Module:
    """Do the same where operators run one by one: faults can be in those of the network alone.

    Raises GraphError for a fault that is in none of them, or cannot work.
    """
    check_faults(target.faults, module.graph.ops, module.graph.name)
    return inject_compile_faults(module, target)


def take_over(module: Module, target: Target) -> Module:
    """Return the graph as the engine's own; raises GraphError for training where weights are constants."""
    graph = module.graph
    if target.weights == "Const" and has_updates(graph):
        raise GraphError("run/offline-training", surface=target.surface, graph=graph.name)
    return replace(module, graph=replace(graph, dialect=COMPILED))


def _always(target: Target) -> bool:
    return True


class Pass(NamedTuple):
    """A pass: what it does, the stage that GE dumps behind it (or none), for which targets, and why there.

    A stage is dumped whether the pass applies or not.
    """

    run: Callable[[Module, Target], Module]
    stage: str
    applies: Callable[[Target], bool]
    why: str


PASSES = (
    Pass(
        lower_overflow_check, "", lambda t: t.model.saturates,
        "the framework does it for the device that it is on, before anybody else has the graph",
    ),
    Pass(
        quantize_network, "", lambda t: t.quantization is not None,
        "it calibrates with a network that is whole and right, as AMCT does before ATC",
    ),
    Pass(
        inject_compile_faults, FIRST, lambda t: bool(t.faults),
        "a faulty compiler misreads what it is handed, which is quantized by then",
    ),
    Pass(take_over, "", _always, "the stage before shows the graph in the framework's words"),
    Pass(
        fold_operators, "AfterInfershape", _always,
        "GE does it while it prepares the graph: fusions, precision and formats see constants",
    ),
    Pass(
        constants_to_attributes, "", _always,
        "fusions and kernels read settings as attributes, ConstToAttrPass being the first of them",
    ),
    Pass(
        fuse_graph, "OptimizeOriginalGraph_FeGraphFusionAfter", _always,
        "patterns are those of the network: no Cast may stand between their operators yet",
    ),
    Pass(
        fold_constants, "PreRunAfterOptimizeOriginalGraph", _always,
        "what fusions compute on the host becomes a constant, in full precision",
    ),
    Pass(
        insert_casts, "AfterPrecisionRefine", _always,
        "a mode decides for kernels, so after they are fused; formats depend on the dtype, so before them",
    ),
    Pass(
        choose_formats, "OptimizeOriginalGraph_FeOpFormatJudgeAfter", _always,
        "how many elements a block has depends on the dtype that a kernel reads",
    ),
    Pass(
        propagate_formats, "OptimizeOriginalGraph_FeDistHeavyFormatAfter", _always,
        "operators that take any format take that of a neighbor that has chosen",
    ),
    Pass(
        insert_transdata, "OptimizeOriginalGraph_FeInsertTransNodeAfter", _always,
        "only where formats still differ once they were handed on",
    ),
    Pass(
        fold_constants, "OptimizeStage1_1", _always,
        "Casts and TransDatas of weights are constants too, and are there by now",
    ),
    Pass(
        fuse_buffers, "PreRunAfterOptimizeSubgraph", lambda t: t.model.profile.joins,
        "neighbors share a buffer only if no Cast or TransData is between them",
    ),
    Pass(
        mark_no_task, "PreRunAfterOptimize2", lambda t: VIRTUAL not in t.fusions_off,
        "which tensors lie side by side is known once all kernels are",
    ),
)  # fmt: skip
"""What the graph engine does, and what is done before it, in order."""

OP_BY_OP = (
    PASSES[0],
    Pass(
        inject_faults, "", lambda t: bool(t.faults),
        "a faulty compiler of kernels misreads what the framework hands over",
    ),
    Pass(
        annotate_kernel_dtypes, "", _always,
        "kernels are chosen for the settings that they are compiled with",
    ),
)  # fmt: skip
"""What is done where operators run one by one."""


def passes_of(network: Graph, target: Target) -> Sequence[Pass]:
    """Return the passes that a network goes through, in order.

    A graph of GE has been through them, and one that calls others is only taken over.
    """
    if network.dialect == "ge":
        return OP_BY_OP[1:]
    if not target.is_compiled:
        return OP_BY_OP
    count = [one.run for one in PASSES].index(take_over) + 1
    return PASSES[:count] if network.subgraphs else PASSES


def compile_graph(network: Graph, target: Target, passes: Sequence[Pass] | None = None) -> Program:
    """Compile a graph for a device.

    Parameters
    ----------
    network : Graph
        As the user wrote it.
    target : Target
        For what; a surface on which operators run one by one is one of them.
    passes : sequence of Pass, optional
        In place of those that `passes_of` returns.

    Raises
    ------
    GraphError
        The network does not fit the target: training offline, nothing to quantize, a fault that is nowhere.
    """
    module = Module(network, network)
    stages: dict[str, Graph] = {}
    for one in passes_of(network, target) if passes is None else passes:
        if one.applies(target):
            module = one.run(module, target)
        if one.stage:
            stages[one.stage] = module.graph
    model, graph = target.model, module.graph
    handed = stages.get(FIRST, module.network)
    own = zip((op.name for op in handed.ops), model.formats(handed), strict=True)
    formats = roundings(graph, dict(own)) if stages else dict(own)
    read = {parameter.name for parameter in graph.parameters}
    constants = {name: kernel for name, kernel in module.constants.items() if name in read}
    return Program(module.network, graph, model, formats, constants, stages, module.folded)


def compile_flow(flow: ControlFlow, target: Target) -> dict[int, Program]:
    """Return the programs of a flow's graphs by their ids, whose operators run one by one.

    Raises GraphError as `workbench.npu.faults.check_faults` does for the operators of all graphs.
    """
    check_faults(target.faults, [op for graph in flow.graphs for op in graph.ops], flow.name)
    return {
        graph.graph_id: compile_graph(
            graph, replace(target, faults=tuple(faults_in(graph, target.faults))), OP_BY_OP
        )
        for graph in flow.graphs
    }
