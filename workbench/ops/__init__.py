"""What operators are: one row a type, with its shapes, its kernel, its gradient and what it does to errors.

In: an operator of a graph, or specs and arrays. Out: its operands by role, shapes of outputs, arrays.
An operator is added as a row in the module of its family and a kernel in `kernels/`; `definition.OpDef` says what a
row holds. Everything else that decides by operator type is derived from the rows (`table`).
"""

from __future__ import annotations

from workbench.ops.definition import TYPE_IDS, Call, OpDef
from workbench.ops.operands import (
    Bound,
    argument_name,
    argument_names,
    bind,
    groups_of,
    in_place_outputs,
    settings,
    written,
)
from workbench.ops.table import (
    APPROXIMATED,
    CHOOSING,
    COLLECTIVES,
    COMMUTATIVE,
    CONTRACTIONS,
    IDENTITY,
    IN_PLACE,
    KNOWN,
    MOVEMENT,
    OPS,
    STEPS,
    SUMMING,
    UNWRITTEN_ON_CPU,
    check_settings,
    infer_outputs,
    op_def,
    run_kernel,
)

__all__ = [
    "APPROXIMATED",
    "CHOOSING",
    "COLLECTIVES",
    "COMMUTATIVE",
    "CONTRACTIONS",
    "IDENTITY",
    "IN_PLACE",
    "KNOWN",
    "MOVEMENT",
    "OPS",
    "STEPS",
    "SUMMING",
    "TYPE_IDS",
    "UNWRITTEN_ON_CPU",
    "Bound",
    "Call",
    "OpDef",
    "argument_name",
    "argument_names",
    "bind",
    "check_settings",
    "groups_of",
    "in_place_outputs",
    "infer_outputs",
    "op_def",
    "run_kernel",
    "settings",
    "written",
]
