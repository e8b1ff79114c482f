"""Faults of the computing units: an operator is computed with less precision, or not to its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.npu.numerics import Formats
from workbench.npu.ops_info import APPROXIMATIONS
from workbench.npu.rounding import ROUND

if TYPE_CHECKING:
    from workbench.npu.faults.fault import Fault, OpExecution

_COARSER = {"float16": "bfloat16", "bfloat16": "float8_e4m3fn"}
"""What a format is mistaken for; float16, where it is not here."""


def half_accumulation(_fault: Fault, execution: OpExecution) -> OpExecution:
    """Keep the running sums of the cube unit in float16."""
    return replace(execution, accumulator="float16")


def aicore_exception(_fault: Fault, execution: OpExecution) -> OpExecution:
    """Stop the AI Core before the operator has written anything; the run ends there."""
    return replace(execution, fails=True)


def missing_cast(fault: Fault, execution: OpExecution) -> OpExecution:
    """Compute in a coarser format than the operator should, as if a Cast had been left out."""
    dtype = execution.op.outputs[0].dtype if execution.op.outputs else ""
    present = execution.formats.output or execution.formats.inputs or dtype
    wanted = fault.value or _COARSER.get(present, "float16")
    if not isinstance(wanted, str) or wanted not in ROUND:
        raise GraphError(
            "run/fault-choice", name="value", fault=fault.kind, got=wanted, known=[*ROUND]
        )
    return replace(execution, formats=Formats(wanted, wanted))


def fast_approximation(fault: Fault, execution: OpExecution) -> OpExecution:
    """Compute with the roughest approximation, whatever the run asks for."""
    wanted = fault.value or "super_performance"
    if not isinstance(wanted, str) or wanted not in APPROXIMATIONS:
        known = [*APPROXIMATIONS]
        raise GraphError(
            "run/fault-choice", name="value", fault=fault.kind, got=wanted, known=known
        )
    return replace(execution, implementation=wanted)
