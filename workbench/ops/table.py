"""The operator table: every type that is known, computed by us or not, and what follows from the rows.

An operator has *tensor arguments* and *settings*. A setting is a constant operand in newer dialects
(``MatMul(%x, %w, Bool(0), Bool(1))``) and an attribute in older ones and in `Conv2D`;
`workbench.ops.operands.bind` reads both the same way. Argument names and order are those of MindSpore
2.10; operators that only the graph engine has (`MaxPoolV3`, `AvgPoolV2`, `AscendQuant`, …) are
spelled as CANN does. A row stands in the module of its family; `workbench.ops.facts` says in which, and what
of a row is asked of every operator that is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench._doors import find
from workbench.core.errors import GraphError
from workbench.ops.definition import Call, OpDef, expect_floats, expect_numbers, reject
from workbench.ops.facts import FAMILY, FOREIGN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from workbench.core.tensors import TensorSpec
    from workbench.ops.definition import Kernel


class Rows(Mapping[str, OpDef]):
    """Rows by type; a family is imported when one of its types is first asked for."""

    def __init__(self, types: Iterable[str]) -> None:
        self._types = dict.fromkeys(types)

    def __getitem__(self, op_type: str) -> OpDef:
        if op_type not in self._types:
            raise KeyError(op_type)
        return family_rows(FAMILY[op_type])[op_type]

    def __contains__(self, op_type: object) -> bool:
        return op_type in self._types

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)


@cache
def family_rows(family: str) -> dict[str, OpDef]:
    """Rows of a family: a module of `workbench.ops.rows`."""
    rows: dict[str, OpDef] = find(f"workbench.ops.rows.{family}:ROWS")
    return rows


KNOWN = Rows(FAMILY)
"""Every operator type of which something is known."""

OPS = Rows(name for name in FAMILY if name not in FOREIGN)
"""Every operator the workbench can trace and execute, by type."""


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
