"""Planted faults: what is wrong with a simulated device, as plain values.

In: a `Fault` and a `Site`, one operator as it is compiled or just computed. Out: the site as the fault leaves it,
the same for the same seed.
A kind is added as a row of `FAULTS` and a function on a site.
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
