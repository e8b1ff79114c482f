"""The operator table: every type that is known, computed by us or not, and what follows from the rows.

An operator has *tensor arguments* and *settings*. A setting is a constant operand in newer dialects
(``MatMul(%x, %w, Bool(0), Bool(1))``) and an attribute in older ones and in `Conv2D`;
`workbench.ops.operands.bind` reads both the same way. Argument names and order are those of MindSpore
2.10; operators that only the graph engine has (`MaxPoolV3`, `AvgPoolV2`, `AscendQuant`, …) are
spelled as CANN does. A row stands in the module of its family; a type in two of them is an error.
"""

from __future__ import annotations

from functools import cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.ops.definition import Call, OpDef, expect_floats, expect_numbers, reject
from workbench.ops.rows import (
    activation,
    collective,
    elementwise,
    indexing,
    loss,
    matrix,
    movement,
    normalization,
    pooling,
    quantization,
    recurrent,
    reduction,
    transformer,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorSpec
    from workbench.ops.definition import Effect, Kernel

FAMILIES: tuple[ModuleType, ...] = (
    matrix,
    elementwise,
    activation,
    reduction,
    normalization,
    pooling,
    movement,
    indexing,
    quantization,
    loss,
    recurrent,
    update,
    collective,
    transformer,
)
"""Modules of rows."""


def merge_rows(families: Iterable[Mapping[str, OpDef]]) -> dict[str, OpDef]:
    """Rows of all families; raises ValueError for a type that stands in two of them."""
    merged: dict[str, OpDef] = {}
    for rows in families:
        if twice := sorted(merged.keys() & rows.keys()):
            raise ValueError(f"two rows for {', '.join(twice)}")
        merged.update(rows)
    return merged


KNOWN = merge_rows(family.ROWS for family in FAMILIES)
"""Every operator type of which something is known."""

OPS = {name: row for name, row in KNOWN.items() if row.kernel is not None}
"""Every operator the workbench can trace and execute, by type."""


def _with(*effects: Effect) -> frozenset[str]:
    return frozenset(name for name, row in KNOWN.items() if row.effect in effects)


IDENTITY = _with("identity")
"""Types that hand a value on, at most in another number or device format."""

MOVEMENT = _with("identity", "move")
"""Types that move elements without computing: they cannot be where a value first goes wrong."""

CHOOSING = _with("identity", "move", "choose")
"""Types whose results are numbers of their inputs, up to sign, or zero: there is nothing to round."""

CONTRACTIONS = _with("contract")
"""Types that sum products; they run on the cube unit."""

SUMMING = _with("sum")
"""Types of the vector unit that sum up elements, or normalize by such sums."""

COMMUTATIVE = frozenset(name for name, row in KNOWN.items() if row.commutative)
"""Types whose inputs may stand in any order."""

APPROXIMATED = frozenset(name for name, row in KNOWN.items() if row.libm)
"""Types that libraries compute by approximations good to about ten units in the last place."""

STEPS = frozenset(name for name, row in KNOWN.items() if row.discontinuous)
"""Types that jump: a small difference of an input may change an output element altogether."""

IN_PLACE = {name: row.writes for name, row in KNOWN.items() if row.writes}
"""Operator type → input slots that it overwrites; their dumped inputs hold the value afterwards."""

UNWRITTEN_ON_CPU = {
    name: row.unwritten_on_cpu for name, row in KNOWN.items() if row.unwritten_on_cpu
}
"""Operator type → output slots that MindSpore's CPU kernels leave as they were (2.0 to 2.10)."""

COLLECTIVES = collective.ROWS
"""Rows of the operators in which the ranks of a job meet."""


def op_def(op_type: str) -> OpDef:
    """Row of a type that is computed; raises GraphError naming the known types."""
    try:
        return OPS[op_type]
    except KeyError:
        raise GraphError(
            "core/choice", subject="operator type", got=op_type, known=sorted(OPS)
        ) from None


def infer_outputs(
    op_type: str, tensors: Iterable[TensorSpec], settings: Mapping[str, Any]
) -> tuple[TensorSpec, ...]:
    """Specs of an operator's outputs; raises GraphError if the inputs do not fit."""
    row = op_def(op_type)
    call = Call(op_type, tuple(tensors), dict(row.defaults) | dict(settings))
    check_settings(op_type, call.settings)
    expect_numbers(call, *(name for name, one in row.defaults.items() if isinstance(one, float)))
    outputs = row.shape_rule(call)
    expect_floats(call, row.floats)
    return outputs


def check_settings(op_type: str, settings: Mapping[str, Any]) -> None:
    """Raise GraphError for a setting with which an operator is not computed."""
    for name, value in op_def(op_type).only.items():
        given = settings[name]
        if isinstance(given, np.ndarray) or given != value:
            reject("graph/only", subject=name, expected=value, got=given)


def run_kernel(
    op_type: str, tensors: Sequence[NDArray[Any]], settings: Mapping[str, Any], **more: Any
) -> list[NDArray[Any]]:
    """Outputs of an operator, then what it leaves in the inputs that it overwrites.

    Everything is computed in the precision of ``tensors``. ``more`` goes to the kernel as it is.
    """
    kernel = op_def(op_type).kernel
    assert kernel is not None  # OPS has those with a kernel
    return call_kernel(kernel, tensors, settings, **more)


def call_kernel(
    kernel: Kernel, tensors: Sequence[NDArray[Any]], settings: Mapping[str, Any], **more: Any
) -> list[NDArray[Any]]:
    """Call a kernel with the settings that it names, all of them if it takes any."""
    names = kernel_settings(kernel)
    chosen = settings if names is None else {name: settings[name] for name in names}
    found = kernel(*tensors, **chosen, **more)
    return found if isinstance(found, list) else [np.asarray(found)]


@cache
def kernel_settings(kernel: Kernel) -> tuple[str, ...] | None:
    """Settings that a kernel needs, by name; ``None`` if it takes all of them."""
    if isinstance(kernel, np.ufunc):
        return ()
    parameters = signature(kernel).parameters.values()
    if any(one.kind is Parameter.VAR_KEYWORD for one in parameters):
        return None
    return tuple(
        one.name
        for one in parameters
        if one.kind is Parameter.KEYWORD_ONLY and one.default is Parameter.empty
    )
