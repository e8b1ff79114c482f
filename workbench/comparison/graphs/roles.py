"""What one step hands on to the next: parameters that an operator of the graph updates in place.

In a graph of MindSpore they are parameters, in one of GE the outputs of data operators. Their error in an
iteration is what the updates of the last one have left, and no cause of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.dtypes import roundoff
from workbench.graph.graph import Param, Value
from workbench.graph_files.ge.fields import ITERATOR
from workbench.ops import IN_PLACE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.graph.graph import Graph, Op, Operand


def state_name(graph: Graph, operand: Operand | None) -> str:
    """Name of the parameter that an operand is; empty if it is none."""
    if isinstance(operand, Param):
        return graph.parameters[operand.index].name
    if isinstance(operand, Value) and graph.ops[operand.op].op_type in LEAVES:
        return graph.ops[operand.op].name
    return ""


def updates(graph: Graph, op: Op) -> Iterator[tuple[int, str]]:
    """Input slots that an operator overwrites, and the names of the parameters that lie there."""
    slots = rewritten_slots(op)
    if not slots:
        return
    for slot, operand in enumerate(op.flat_inputs()):
        name = state_name(graph, operand) if slot in slots else ""
        if name:
            yield slot, name


def updated_names(graph: Graph) -> set[str]:
    """Parameters that any operator of a graph updates."""
    return {name for op in graph.ops for _, name in updates(graph, op)}


LEAVES = frozenset(("Data", "RefData", "AippData", "Const", "Constant", "Variable", "UnfedData"))
"""Operators of GE that hold what are parameters and constants elsewhere."""


OF_MODELS = frozenset(("onnx", "tensorflow"))
"""Dialects of graphs that are another framework's model."""


FOLDABLE = frozenset(("BatchNorm", "BNInference", "BNInfer", "FusedBatchNorm", "FusedBatchNormV3"))
"""Normalizations that a compiler for inference computes into the weights of the product before them."""


_ENDS = LEAVES | {ITERATOR, "NetOutput"}


ANTI_QUANT = frozenset(("AscendAntiQuant", "AscendAntiQuantV2"))
"""Operators of GE that make floats of a weight of integers."""


def ends_of(graph: Graph) -> set[int]:
    """Operators at which a graph of GE begins and ends; weights that were quantized begin as floats."""
    ends = {number for number, op in enumerate(graph.ops) if op.op_type in _ENDS}
    return ends | {n for n, op in enumerate(graph.ops) if quantised_weight(graph, op)}


def quantised_weight(graph: Graph, op: Op) -> str:
    """Name of the weight that an operator makes floats of again; empty for any other operator."""
    operand = op.operand(0)
    if op.op_type not in ANTI_QUANT or not isinstance(operand, Value):
        return ""
    leaf = graph.ops[operand.op]
    return leaf.name.removesuffix(".weight_quant") if leaf.op_type in LEAVES else ""


def rewritten_slots(op: Op) -> tuple[int, ...]:
    """Flat input slots that the operator overwrites."""
    if op.op_type.startswith("BatchNorm"):
        from workbench.ops import settings

        own = settings(op)
        training = own.get("is_training", own.get("training"))
        return IN_PLACE.get(op.op_type, ()) if training else ()
    known = IN_PLACE.get(op.op_type)
    if known is not None:
        return known
    if not op.attrs.get("side_effect_mem"):
        return ()
    # An unknown operator with memory side effects: its state has the shape of a result.
    shapes = {spec.shape for spec in op.outputs}
    return tuple(
        slot
        for slot, operand in enumerate(op.flat_inputs())
        if isinstance(operand, Param)
        and slot < len(op.input_specs)
        and (spec := op.input_specs[slot]) is not None
        and spec.shape in shapes
    )


def coarsens(op: Op) -> bool:
    """Whether an operator hands its first input on in a coarser number format."""
    given = op.device_outputs or op.outputs
    taken = op.device_inputs or op.input_specs
    units = [roundoff(one[0].dtype) if one and one[0] else 0.0 for one in (given, taken)]
    return bool(given and taken) and units[0] > units[1]
