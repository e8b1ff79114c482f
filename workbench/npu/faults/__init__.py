"""Planted faults: what is wrong with a simulated device, as plain values.

In: a `Fault` and an `OpExecution`, one operator as it is compiled or just computed. Out: the execution as the fault
leaves it, the same for the same seed. A kind is added as a row of `FAULTS` and a function on an execution.
"""

from workbench.npu.faults.fault import NODE, Fault, OpExecution, Step
from workbench.npu.faults.links import LINKS, Links, check_links
from workbench.npu.faults.table import (
    FAULTS,
    Kind,
    apply_faults,
    check_faults,
    check_settings,
    compiled_executions,
    ends_run,
    faults_in,
    in_memory,
    uploaded,
    with_compile_faults,
)
from workbench.npu.faults.text import parse_fault

__all__ = [
    "FAULTS",
    "LINKS",
    "NODE",
    "Fault",
    "Kind",
    "Links",
    "OpExecution",
    "Step",
    "apply_faults",
    "check_faults",
    "check_links",
    "check_settings",
    "compiled_executions",
    "ends_run",
    "faults_in",
    "in_memory",
    "parse_fault",
    "uploaded",
    "with_compile_faults",
]
