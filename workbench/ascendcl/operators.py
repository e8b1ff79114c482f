"""A single operator that AscendCL runs outside of models: a graph of one operator, named by its type."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.ascendcl.errors import AclError, AclRefusal
from workbench.core.errors import GraphError, WorkbenchError
from workbench.core.words import Message
from workbench.graph.control_flow import one_graph
from workbench.network.symbolic import record_all
from workbench.network.tracer import trace
from workbench.ops import OPS, op_def
from workbench.run.executor import parameter_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workbench.ascendcl.dump_state import ActiveDump
    from workbench.core.plan import DumpPlan
    from workbench.graph.graph import Graph


def operator_graph(op_type: str, inputs: Sequence[Any], attr: Mapping[str, Any]) -> Graph:
    """Return the graph of one operator; raises AclRefusal for an unknown type or what does not fit it."""
    if op_type not in OPS:
        said = Message("ascendcl/operator", got=op_type)
        raise AclRefusal(AclError.ACL_ERROR_OP_NOT_FOUND, said)

    row = op_def(op_type)
    unknown = attr.keys() - {*row.settings, *row.defaults}
    if unknown:
        known = sorted({*row.settings, *row.defaults})
        said = Message("ascendcl/attributes", op_type=op_type, known=known, got=sorted(unknown))
        raise AclRefusal(AclError.ACL_ERROR_OP_ATTR_NOT_MATCH, said)

    def network(*tensors: Any) -> Any:
        operands = list(_operands(op_type, tensors, attr))
        others = {name: value for name, value in attr.items() if name not in row.settings}
        return record_all(op_type, *operands, **others)

    try:
        graph = one_graph(trace(network, *inputs, name=op_type), "an operator")
        parameter_values(graph, {})
    except (WorkbenchError, ValueError, TypeError) as error:
        code = AclError.ACL_ERROR_OP_INPUT_NOT_MATCH
        raise AclRefusal(code, Message("ascendcl/inputs-misfit", why=error)) from error
    (op,) = graph.ops
    return replace(graph, ops=(replace(op, name=op_type, frames=()),))


def _operands(op_type: str, tensors: Sequence[Any], attr: Mapping[str, Any]) -> Iterator[Any]:
    """Yield tensors and settings in the operator's own order; raises GraphError if one is missing."""
    row = op_def(op_type)
    waiting = iter(tensors)
    for place, name in enumerate(row.arguments):
        if place in row.positions:
            yield tuple(waiting) if row.tensors < 0 else next(waiting, None)
            continue
        settings = {**row.defaults, **attr}
        if name not in settings:
            raise GraphError(
                "ascendcl/attribute-missing", op_type=op_type, name=name, got=sorted(attr)
            )
        yield settings[name]
    left = len(list(waiting))
    if left:
        expected = len(tensors) - left
        raise GraphError(
            "ascendcl/operator-inputs", op_type=op_type, expected=expected, got=len(tensors)
        )


def plan_alone(setting: ActiveDump) -> DumpPlan | None:
    """Return what a configuration wants of an operator outside of models; ``None`` if nothing.

    Such an operator belongs to no step, so that one for some steps leaves it out; nothing watches it.
    """
    plan = setting.plan
    if plan.kind == "exception":
        return plan
    wanted = plan.kind == "overflow" or (plan.kind == "data" and plan.single_op)
    if not wanted or plan.iterations.ranges is not None:
        return None
    omit = tuple(entry for entry in plan.omit if not entry.model)
    return replace(plan, select=(), omit=omit, single_op=True)
