"""Faults of the computing units: an operator is computed with less precision, or not to its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.errors import GraphError
from workbench.graph.ops import op_def

if TYPE_CHECKING:
    from workbench.run.faults.fault import Fault, Site


def half_accumulation(fault: Fault, site: Site) -> Site:
    """Keep the running sums of the cube unit in float16."""
    if op_def(site.op.op_type).engine != "cube":
        message = f"operator of a {fault.kind} fault must use the cube unit, got {site.op.name!r}"
        raise GraphError(message)
    return replace(site, accumulator="float16")


def aicore_exception(fault: Fault, site: Site) -> Site:
    """Stop the AI Core before the operator has written anything; the run ends there."""
    return replace(site, fails=True)
