"""Planted faults: what is wrong with a simulated device, as plain values.

A fault works on a `Site`, one operator as it is compiled or just computed, and is deterministic for
its seed. `FAULTS` has a row for every kind.
"""

from workbench.npu.faults.fault import Fault, Site, Step
from workbench.npu.faults.table import (
    FAULTS,
    Kind,
    altered_graph,
    apply_faults,
    check_faults,
    check_settings,
    compiled_sites,
    ends_run,
    faults_in,
    faulty_graph,
    in_memory,
    uploaded,
)
from workbench.npu.faults.text import parse_fault

__all__ = [
    "FAULTS",
    "Fault",
    "Kind",
    "Site",
    "Step",
    "altered_graph",
    "apply_faults",
    "check_faults",
    "check_settings",
    "compiled_sites",
    "ends_run",
    "faults_in",
    "faulty_graph",
    "in_memory",
    "parse_fault",
    "uploaded",
]
