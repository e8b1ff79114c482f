"""Compile for a simulated device: what a run and its preview are told about the compiler, as one value."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.errors import FormatError, GraphError
from workbench.core.files import file_content
from workbench.core.words import Message
from workbench.npu.compile.fusions import LEVELS, SWITCHES
from workbench.npu.compile.overflow_check import by_register
from workbench.npu.compile.pipeline import WEIGHTS, compile_graph
from workbench.npu.compile.quantize import Quantization, asked_for, quantise
from workbench.npu.faults import altered_graph
from workbench.npu.numerics import numeric_model
from workbench.npu.orders.known import NO_ORDERS, Orders
from workbench.npu.precision import Precision
from workbench.npu.profiles import PROFILES
from workbench.npu.program import as_it_is

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.graph.graph import Graph
    from workbench.npu.faults import Fault
    from workbench.npu.numerics import NumericModel
    from workbench.npu.program import Program


_LARGEST = 1 << 20
"""Bytes of a switch file that are read."""


@dataclass(frozen=True)
class Compiling:
    """How a graph is compiled: for which device, in which precision, with which fusions.

    Without a precision mode it is that of training, but for acl, which ATC compiles for, that of inference.
    ``fusion`` is ``on``, ``off``, or the path of a file as of GE's ``fusion_switch_file``.
    ``quantization`` is a mode of `workbench.npu.compile.quantize`, in which the network is quantized before; with
    ``quant_dumpable`` what is quantized stays a tensor. A device that is not a key of
    `workbench.npu.profiles.PROFILES` compiles nothing. ``orders`` are those in which the device sums.
    """

    device: str = "a2"
    precision_mode: str | Precision | None = None
    fusion: str | Path = "on"
    quantization: str | Quantization | None = None
    quant_dumpable: bool = False
    orders: Orders = NO_ORDERS

    def program(self, graph: Graph, surface: str, faults: Sequence[Fault] = ()) -> Program | None:
        """Compile a graph that a faulty compiler alters; ``None`` if nothing is compiled.

        Raises GraphError or FormatError for a mode or file that does not fit.
        """
        compiles = surface in WEIGHTS and self.device in PROFILES
        if self.quantization and not compiles:
            raise GraphError(
                "pipeline/quantize-surface",
                surfaces=[*WEIGHTS],
                devices=[*PROFILES],
                got=surface,
                device=self.device,
            )
        if not compiles or graph.dialect == "ge":
            return None
        model, off = self.model(surface), fusions_off(self.fusion)
        asked = asked_for(self.quantization)
        if asked is None:
            altered = altered_graph(graph, faults)
            make = partial(compile_graph, altered, surface, model, off=off)
            return _last(altered, (surface, model, off), make)
        quantised, folded = quantise(graph, asked)
        return compile_graph(
            altered_graph(quantised, faults),
            surface,
            model,
            off=off,
            network=graph,
            folded=folded,
            quant_dumpable=self.quant_dumpable,
        )

    def handed(self, graph: Graph, surface: str) -> Graph:
        """Return a graph as the framework makes it for the device."""
        if self.device not in PROFILES or graph.dialect == "ge":
            return graph
        return by_register(graph, self.model(surface))

    def one_by_one(self, graph: Graph, surface: str) -> Graph:
        """Return a graph of which nothing is compiled, with the types that its kernels have on the device."""
        if self.device not in PROFILES or graph.dialect:
            return graph
        return as_it_is(graph, self.model(surface)).graph

    def model(self, surface: str) -> NumericModel:
        """Return how the device computes; raises GraphError for a mode that it does not have."""
        mode = self.precision_mode
        own = Precision(training=surface != "acl") if mode is None else mode
        return replace(numeric_model(self.device, own), orders=self.orders)


def _last(graph: Graph, how: tuple[Any, ...], make: Callable[[], Program]) -> Program:
    """Return what was last made of a graph if it was made so: clean runs and faulty ones run the same program."""
    kept = graph.kept.get("program")
    if kept is None or kept[0] != how:
        kept = graph.kept["program"] = how, make()
    program: Program = kept[1]
    return program


def fusions_off(fusion: str | Path) -> frozenset[str]:
    """Return the names of the fusions that a switch turns off.

    Raises FormatError if it is a file that cannot be read or is no ``fusion_switch_file``.
    """
    if fusion in ("on", "off"):
        return frozenset(SWITCHES) if fusion == "off" else frozenset()
    if not Path(fusion).exists():
        raise FormatError("pipeline/fusion", got=str(fusion))
    text = file_content(fusion, _LARGEST, "fusion_switch_file").decode("utf-8", "replace")
    return read_switch(text, str(fusion))


def read_switch(text: str, path: str) -> frozenset[str]:
    """Return the fusions that the text of a ``fusion_switch_file`` turns off.

    ``ALL`` means those of its part that are not named; names that are not simulated say nothing.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError("pipeline/switch-json", place=path, why=error) from None
    parts = _object(
        _object(content, Message("pipeline/switch-file"), path).get("Switch"), "Switch", path
    )
    off = set()
    for part, level in LEVELS.items():
        switches = _object(parts.get(part, {}), part, path)
        for name, state in switches.items():
            if state not in ("on", "off"):
                raise FormatError("pipeline/switch-state", place=path, name=name, got=state)
        for name, belongs in SWITCHES.items():
            state = switches.get(name, switches.get("ALL", "on"))
            if belongs == level and state == "off":
                off.add(name)
    return frozenset(off)


def _object(value: Any, name: str | Message, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError("pipeline/switch-object", place=path, name=name, got=value)
    return value
