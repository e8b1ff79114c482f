"""A program: what a compiler has made of a graph for one device, ready to run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.core.dtypes import DTYPES
from workbench.graph.graph import Bundle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Op
    from workbench.npu.compile.folding import Folded
    from workbench.npu.numerics import Formats, NumericModel

COMPILED = "compiled"
"""Dialect of a graph that the graph engine runs: MindSpore's words for operators, GE's kernels."""


@dataclass(frozen=True)
class Program:
    """A compiled graph.

    Attributes
    ----------
    source : Graph
        What the framework handed over.
    graph : Graph
        What runs: one operator a kernel.
    model : NumericModel
        The device and what it was asked for.
    formats : mapping of str to Formats
        What operators round to beyond their dtypes, by name; those inside fused ones too.
    folded : mapping of str to Folded
        Parameters that the compiler has computed, by name.
    stages : mapping of str to Graph
        The graph after every stage of compiling that changes it, in order; the first is ``source``.
    """

    source: Graph
    graph: Graph
    model: NumericModel
    formats: Mapping[str, Formats] = field(default_factory=dict)
    folded: Mapping[str, Folded] = field(default_factory=dict)
    stages: Mapping[str, Graph] = field(default_factory=dict)

    @property
    def computed(self) -> Iterator[Op]:
        """Operators of the graph, and those inside fused ones."""
        for op in self.graph.ops:
            yield op
            if op.fused is not None:
                yield from op.fused.ops


def as_it_is(graph: Graph, model: NumericModel) -> Program:
    """Return the program of a graph whose operators run one by one.

    Its tensors keep the dtypes of the network; what the kernels themselves read and write are the device
    types of its operators, where they are others.
    """
    formats = model.formats(graph)
    ops = tuple(_stated(op, own) for op, own in zip(graph.ops, formats, strict=True))
    named = {op.name: own for op, own in zip(graph.ops, formats, strict=True)}
    return Program(graph, replace(graph, ops=ops), model, named)


def _stated(op: Op, formats: Formats) -> Op:
    """Return an operator with its device types; a unit's own format such as HF32 is none."""
    changed = {formats.inputs, formats.output} & DTYPES.keys()
    if not changed or any(isinstance(operand, Bundle) for operand in op.inputs):
        return op
    taken = tuple(spec for spec in op.input_specs if spec is not None)
    return replace(
        op,
        device_inputs=tuple(_as(spec, formats.inputs) for spec in taken),
        device_outputs=tuple(_as(spec, formats.output) for spec in op.outputs),
    )


def _as(spec: TensorSpec, name: str) -> TensorSpec:
    known = name in DTYPES and spec.dtype in DTYPES and DTYPES[spec.dtype].is_float
    return spec._replace(dtype=name) if known else spec
