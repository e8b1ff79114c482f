"""What operators are: one row a type, with its shapes, its kernel, its gradient and what it does to errors.

In: an operator of a graph, or specs and arrays. Out: its operands by role, shapes of outputs, arrays.
An operator is added as a row in the module of its family and a kernel in `kernels/`; `definition.OpDef` says what a
row holds. Everything else that decides by operator type is derived from the rows: `facts` holds what follows from them,
so that whoever asks for it loads no rows.
"""

from typing import TYPE_CHECKING

from workbench._doors import make_door

if TYPE_CHECKING:
    from workbench.ops.definition import (
        TYPE_IDS,
        Call,
        OpDef,
    )
    from workbench.ops.facts import (
        APPROXIMATED,
        CHOOSING,
        COLLECTIVES,
        COMMUTATIVE,
        CONTRACTIONS,
        FAMILY,
        FOREIGN,
        IDENTITY,
        IN_PLACE,
        MOVEMENT,
        PARTING,
        RENAMING,
        RESHAPING,
        STEPS,
        SUMMING,
        UNWRITTEN_ON_CPU,
    )
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
        KNOWN,
        OPS,
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
    "FAMILY",
    "FOREIGN",
    "IDENTITY",
    "IN_PLACE",
    "KNOWN",
    "MOVEMENT",
    "OPS",
    "PARTING",
    "RENAMING",
    "RESHAPING",
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

PLACES = {
    "APPROXIMATED": "workbench.ops.facts:APPROXIMATED",
    "CHOOSING": "workbench.ops.facts:CHOOSING",
    "COLLECTIVES": "workbench.ops.facts:COLLECTIVES",
    "COMMUTATIVE": "workbench.ops.facts:COMMUTATIVE",
    "CONTRACTIONS": "workbench.ops.facts:CONTRACTIONS",
    "FAMILY": "workbench.ops.facts:FAMILY",
    "FOREIGN": "workbench.ops.facts:FOREIGN",
    "IDENTITY": "workbench.ops.facts:IDENTITY",
    "IN_PLACE": "workbench.ops.facts:IN_PLACE",
    "KNOWN": "workbench.ops.table:KNOWN",
    "MOVEMENT": "workbench.ops.facts:MOVEMENT",
    "OPS": "workbench.ops.table:OPS",
    "PARTING": "workbench.ops.facts:PARTING",
    "RENAMING": "workbench.ops.facts:RENAMING",
    "RESHAPING": "workbench.ops.facts:RESHAPING",
    "STEPS": "workbench.ops.facts:STEPS",
    "SUMMING": "workbench.ops.facts:SUMMING",
    "TYPE_IDS": "workbench.ops.definition:TYPE_IDS",
    "UNWRITTEN_ON_CPU": "workbench.ops.facts:UNWRITTEN_ON_CPU",
    "Bound": "workbench.ops.operands:Bound",
    "Call": "workbench.ops.definition:Call",
    "OpDef": "workbench.ops.definition:OpDef",
    "argument_name": "workbench.ops.operands:argument_name",
    "argument_names": "workbench.ops.operands:argument_names",
    "bind": "workbench.ops.operands:bind",
    "check_settings": "workbench.ops.table:check_settings",
    "groups_of": "workbench.ops.operands:groups_of",
    "in_place_outputs": "workbench.ops.operands:in_place_outputs",
    "infer_outputs": "workbench.ops.table:infer_outputs",
    "op_def": "workbench.ops.table:op_def",
    "run_kernel": "workbench.ops.table:run_kernel",
    "settings": "workbench.ops.operands:settings",
    "written": "workbench.ops.operands:written",
}
"""What others import from here, by name; each is loaded when it is first used."""

__getattr__, __dir__ = make_door(__name__, PLACES)
