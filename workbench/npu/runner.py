"""The simulated NPU: runs a graph with the numerics of a device, and with planted faults.

Matrix products and convolutions go to the cube unit (`workbench.npu.cube`), everything else to the
vector unit, which computes in float32 and rounds its result to the format in use. Which formats
these are says the precision mode (`workbench.npu.precision`):

======================== ======================= ============================ ===================
precision mode           cube reads (float32)    cube writes                  vector unit
======================== ======================= ============================ ===================
must_keep_origin_dtype   910A, 310P: float32     float32                      float32
                         (scalar unit); others:
                         HF32 in convolutions,
                         else float32
cube_fp16in_fp32out,     float16                 float32                      float32
force_fp32
allow_fp32_to_fp16,      float16                 float16                      float32
…_to_lowprecision
allow_mix_precision,     float16, if white       float16                      float16 behind a
…_fp16                                                                        float16 producer
force_fp16               float16                 float16                      float16
*_bf16                   bfloat16                bfloat16                     as above
force_lowerprecision     bfloat16, else float16  the same                     the same
cube_hif8 (950)          hifloat8                float16                      float32
mixed_hif8 (950)         hifloat8, if white      float16                      float16 behind a
                                                                              float16 producer
======================== ======================= ============================ ===================

Without a mode a device uses its own for training (`workbench.npu.profiles`): 910A and 310P
``allow_fp32_to_fp16``, the others ``must_keep_origin_dtype``. Tensors keep the dtypes of the graph.
910A and 310P saturate (largest finite value, 0 for NaN), the others give Inf and NaN.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.core.errors import check_seed
from workbench.graph.control_flow import ControlFlow
from workbench.npu.arena import Arena
from workbench.npu.compile.folding import computed_weights
from workbench.npu.compile.pipeline import compile_flow, compile_graph
from workbench.npu.device import Device
from workbench.npu.faults import (
    check_faults,
    compiled_executions,
    faults_in,
    in_memory,
    uploaded,
)
from workbench.npu.orders.known import NO_ORDERS
from workbench.npu.target import Target
from workbench.run.control_flow import run_flow
from workbench.run.executor import NOTHING, execute, feeds_at
from workbench.run.plan import plan_execution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workbench.core.events import DeviceEvent
    from workbench.core.tensors import TensorRecord
    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph
    from workbench.npu.compile.program import Program
    from workbench.npu.faults import Fault
    from workbench.npu.orders.known import Orders
    from workbench.npu.precision import Precision
    from workbench.run.control_flow import RunGraph
    from workbench.run.executor import Compute, Feeds, State, Watch
    from workbench.run.plan import ExecutionPlan
    from workbench.run.ranks import Member

_SURFACE = "mindspore-o0o1"
"""Where operators run one by one."""


def run_npu(
    graph: Network,
    feeds: Feeds = None,
    *,
    profile: str = "a2",
    precision_mode: str | Precision | None = None,
    faults: Sequence[Fault] = (),
    seed: int = 0,
    iteration: int = 0,
    state: State | None = None,
    orders: Orders = NO_ORDERS,
) -> Iterator[TensorRecord]:
    """Yield every tensor of one run on the simulated device, as `run_reference` does.

    Outputs carry what the device reported of their operator. A run in which an operator fails ends with
    the outputs of that operator, as they lie in memory that it has not written: zeros.

    Parameters
    ----------
    profile : str
        A key of `workbench.npu.profiles.PROFILES`.
    precision_mode : str or Precision, optional
        A name of ``precision_mode`` or ``precision_mode_v2``, or all that is asked of the compiler;
        the device's own mode for training if left out.
    faults : sequence of Fault
        Each must meet an operator of the graph.
    seed : int
        Added to the seed of every fault.
    state : dict, optional
        Weights that earlier steps have updated, as `run_reference`'s.
    orders : Orders, optional
        In which order the device sums, where that is confirmed (`workbench.npu.orders`).

    Raises
    ------
    GraphError
        Unknown profile, mode or fault, or an input that does not fit.
    """
    check_seed(seed)
    target = Target.of(
        _SURFACE, profile, precision_mode=precision_mode, orders=orders, faults=faults, seed=seed
    )
    if isinstance(graph, ControlFlow):
        runs = flow_runs(graph, compile_flow(graph, target), target.faults)
        return run_flow(graph, runs, feeds, iteration=iteration, state=state)
    program = compile_graph(graph, target)
    return run_program(program, feeds, faults=target.faults, iteration=iteration, state=state)


def flow_runs(
    flow: ControlFlow,
    programs: Mapping[int, Program],
    faults: Sequence[Fault] = (),
    member: Member | None = None,
) -> Callable[[Graph], RunGraph]:
    """Return how the graphs of a flow run on the device; each is planned once."""
    runs = {
        graph.graph_id: partial(
            run_program,
            programs[graph.graph_id],
            faults=faults_in(graph, faults),
            member=member,
            plan=plan_execution(programs[graph.graph_id].graph),
        )
        for graph in flow.graphs
    }
    return lambda graph: runs[graph.graph_id]


def run_program(
    program: Program,
    feeds: Feeds = None,
    *,
    faults: Sequence[Fault] = (),
    iteration: int = 0,
    watch: Watch = NOTHING,
    state: State | None = None,
    member: Member | None = None,
    plan: ExecutionPlan | None = None,
) -> Iterator[TensorRecord]:
    """Yield every tensor of one run of a program, as `run_npu` does.

    ``member`` is the rank that runs it where there are several; it fails where a peer has. ``watch`` names
    operators whose outputs are recorded again, as they lie in memory after another one
    (`workbench.run.executor.execute`). Faults that alter the graph must be in the program already
    (`workbench.npu.faults.with_compile_faults`); the others may be in operators of the network or of the
    program. ``plan`` is that of its graph, where it runs more than once.
    """
    computed = list(program.computed)
    ops = [*program.network.ops, *computed]
    check_faults(faults, ops, program.network.name, program.folded)
    faults = [fault for fault in faults if fault.is_in(iteration)]
    executions = compiled_executions(computed, faults, program.formats)
    plan = plan or plan_execution(program.graph)
    device = Device(program.model, plan, executions, faults)
    given = uploaded(program.network, feeds_at(program.network, feeds, iteration), faults)
    memory = _memory(program, given)
    arena = Arena(program.graph, faults) if watch or in_memory(faults) else None
    compute: Compute = device.compute
    if member is not None:
        compute = member.joined(compute, iteration, device)
    records = execute(plan, memory, compute, iteration, arena, watch, state)
    return _reported(records, device.events)


def _memory(program: Program, feeds: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the feeds and weights that a program reads, those that its compiler computes included."""
    if not program.constants:
        return feeds
    made = computed_weights(program.network, feeds, program.constants, program.model)
    read = {parameter.name for parameter in program.graph.parameters}
    return {**{name: value for name, value in feeds.items() if name in read}, **made}


def _reported(
    records: Iterator[TensorRecord], events: Mapping[str, DeviceEvent]
) -> Iterator[TensorRecord]:
    """Yield records with the events of their operators, up to the end of one that failed."""
    failed = ""
    for record in records:
        key = record.key
        if failed and (key.op_name, key.io) != (failed, "output"):
            return
        if key.io == "output" and not record.after:
            record = replace(record, event=events.get(key.op_name))
            if record.event is not None and record.event.kind == "failure":
                failed = key.op_name
        yield record
