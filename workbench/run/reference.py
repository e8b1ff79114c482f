"""The reference executor: makes golden data.

Every operator is computed in float64 from its inputs as stored, and its result is rounded once to
the dtype that the graph gives it. So every dumped output is the correctly rounded result of the
dumped inputs (up to the last bit of float64), and recomputing an operator from the records gives
the record again. ``dtype="float32"`` computes in single precision instead, at twice the speed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import GraphError
from workbench.graph.control_flow import ControlFlow
from workbench.ops import CHOOSING, OPS, run_kernel, written
from workbench.run.control_flow import run_flow
from workbench.run.executor import NOTHING, execute, feeds_at
from workbench.run.plan import plan_execution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorRecord
    from workbench.graph.control_flow import Network
    from workbench.graph.graph import Graph, Op
    from workbench.run.control_flow import RunGraph
    from workbench.run.executor import Compute, Feeds, State, Watch
    from workbench.run.plan import ExecutionPlan, PlannedOp
    from workbench.run.ranks import Member

    Array = NDArray[Any]

Precision = Literal["float64", "float32"]

_DOUBLE = np.dtype("float64")

_AS_THEY_ARE = frozenset(map(np.dtype, ("float32", "float64", "int32", "int64", "bool")))
"""Types that kernels read as they are stored, where no result is a new number."""


def run_reference(
    graph: Network,
    feeds: Feeds = None,
    *,
    dtype: Precision = "float64",
    iteration: int = 0,
    watch: Watch = NOTHING,
    state: State | None = None,
    member: Member | None = None,
    plan: ExecutionPlan | None = None,
) -> Iterator[TensorRecord]:
    """Yield every tensor of one run, in order of execution, then the parameters.

    Parameters
    ----------
    graph : Graph or Flow
        A flow's loops may turn `workbench.run.control_flow.MAX_TURNS` times; nothing is watched in it.
    feeds : mapping of parameter name to array, or a function of the iteration that returns one
        Inputs, and weights to replace; what is missing comes from the traced graph.
    dtype : {"float64", "float32"}
        Precision of the arithmetic; the records are in the graph's own dtypes.
    watch : mapping of str to sequence of str, optional
        Operators whose outputs are recorded again after another one, by the latter's name. Nobody
        overwrites them here.
    state : dict, optional
        Weights that earlier steps have updated, by name, empty before the first; this one adds its own.
        Without it every run begins with the weights of the graph.
    member : Member, optional
        The rank that runs it, where there are several.
    plan : ExecutionPlan, optional
        Of the graph, where it runs more than once; a flow has those of its graphs in `reference_runs`.

    Raises
    ------
    GraphError
        An input has no value or a wrong shape, or an operator has no kernel.
    """
    if isinstance(graph, ControlFlow):
        runs = reference_runs(graph, dtype=dtype, member=member)
        return run_flow(graph, runs, feeds, iteration=iteration, state=state)
    given = feeds_at(graph, feeds, iteration)
    computing: Compute = partial(_compute_planned, dtype=dtype)
    if member is not None:
        computing = member.joined(computing, iteration)
    plan = plan or plan_execution(graph)
    return execute(plan, given, computing, iteration, watch=watch, state=state)


def reference_runs(
    flow: ControlFlow, *, dtype: Precision = "float64", member: Member | None = None
) -> Callable[[Graph], RunGraph]:
    """Return how the graphs of a flow run on the reference; each is planned once."""
    runs = {
        graph.graph_id: partial(
            run_reference, graph, dtype=dtype, member=member, plan=plan_execution(graph)
        )
        for graph in flow.graphs
    }
    return lambda graph: runs[graph.graph_id]


def _compute_planned(
    planned: PlannedOp,
    tensors: Sequence[Array],
    settings: Mapping[str, Any],
    *,
    dtype: Precision,
) -> list[Array]:
    return compute(planned.op, tensors, settings, dtype=dtype)


def compute(
    op: Op, tensors: Sequence[Array], settings: Mapping[str, Any], *, dtype: Precision = "float64"
) -> list[Array]:
    """Return the outputs of one operator in its stored dtypes, then what it leaves in its inputs.

    ``tensors`` and ``settings`` are as `workbench.ops.bind` sorts them; this is also what
    replays an operator of a real dump.
    """
    if op.op_type not in OPS:
        raise GraphError("run/no-kernel", op=op.name, type=op.op_type)
    if op.op_type not in CHOOSING or any(one.dtype not in _AS_THEY_ARE for one in tensors):
        kind = np.dtype(dtype)
        inputs = [_wide(one, kind) for one in tensors]
    else:
        inputs = list(tensors)
    with np.errstate(all="ignore"):
        outputs = run_kernel(op.op_type, inputs, settings)
        count = len(outputs) - len(places := written(op))
        stored = [_store(output, op, slot) for slot, output in enumerate(outputs[:count])]
        if not places:
            return stored
        known = dict(zip(map(id, [*inputs, *outputs]), [*tensors, *stored], strict=False))
        for place, array in zip(places, outputs[count:], strict=True):
            left = known.get(id(array), array)  # most are outputs, or were not changed
            stored.append(left.astype(tensors[place].dtype, copy=False))
        return stored


def _wide(array: Array, kind: np.dtype[Any]) -> Array:
    """Floats in the precision of the computation; float64, integers and bools as they are."""
    own = array.dtype
    if own in (kind, _DOUBLE) or own.kind in "biu":
        return array
    return array.astype(kind)


def _store(array: Array, op: Op, slot: int) -> Array:
    """Round an output to the dtype that the graph states for it."""
    if slot >= len(op.outputs):
        return array
    return array.astype(dtype_row(op.outputs[slot].dtype).storage, copy=False)
