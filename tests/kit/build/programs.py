"""Programs of a simulated device, made as a run makes them."""

from __future__ import annotations

from workbench.npu.compile.fusions import SWITCHES
from workbench.npu.compile.pipeline import compile_graph
from workbench.npu.target import Target

ONE_BY_ONE = "mindspore-o0o1"
"""A surface on which operators run one by one."""


def target_for(surface=ONE_BY_ONE, device="a2", precision="", off=(), **more):
    """A target; its mode is that of training unless another is given, ``ALL`` turns every fusion off."""
    names = frozenset(SWITCHES) if "ALL" in off else frozenset(off)
    return Target(surface, device, precision or "", names, **more)


def program_for(graph, surface=ONE_BY_ONE, device="a2", precision="", off=(), **more):
    """The program that a network becomes."""
    return compile_graph(graph, target_for(surface, device, precision, off, **more))
