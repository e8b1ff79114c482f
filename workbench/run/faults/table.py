"""The kinds of faults: one row each."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.dtypes import DTYPES
from workbench.core.dtypes import dtype as dtype_row
from workbench.core.errors import GraphError
from workbench.graph.nodes import Param
from workbench.run.approximations import APPROXIMATIONS
from workbench.run.cube import CUBE, INTEGERS
from workbench.run.faults import inputs, memory, outputs, units
from workbench.run.faults.attributes import wrong_attribute
from workbench.run.faults.fault import Site
from workbench.run.numeric import UNTOUCHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from workbench.graph.nodes import Graph, Op
    from workbench.run.faults.fault import Fault, Step
    from workbench.run.numeric import Formats


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: when it strikes, what it does, what its strength and its value mean.

    ``types`` are the operator types that it can be in (none: all), ``floats``: it is about floats.
    ``ends_run`` says that nothing is computed after it, ``alters`` that the graph shows it.
    """

    step: Step
    apply: Callable[[Fault, Site], Site]
    strength: str = ""
    value: str = ""
    types: frozenset[str] = frozenset()
    floats: bool = False
    ends_run: bool = False
    alters: bool = False


_CUBE = frozenset(CUBE)
_FAST = frozenset(APPROXIMATIONS["super_performance"])
_TEN = "what is written (10 times the largest)"

FAULTS: dict[str, Kind] = {
    # what is compiled
    "wrong-attribute": Kind("compile", wrong_attribute, value="attributes by name", alters=True),
    "half-accumulation": Kind("compile", units.half_accumulation, types=_CUBE),
    "missing-cast": Kind(
        "compile", units.missing_cast, value="format it computes in (next coarser)", floats=True
    ),
    "fast-approximation": Kind(
        "compile", units.fast_approximation, value="mode (super_performance)", types=_FAST
    ),
    "aicore-exception": Kind("compile", units.aicore_exception, ends_run=True),
    # what is read
    "wrong-weight-element": Kind("upload", inputs.wrong_weight_element, "elements (1)", _TEN),
    "transposed-weight": Kind(
        "load", inputs.transposed_weight, value="two axes (the last ones)", types=INTEGERS
    ),
    "dropped-k-tail": Kind("load", inputs.dropped_k_tail, "blocks of 16 (1)", types=INTEGERS),
    # what is written
    "scaled-output": Kind("store", outputs.scaled_output, "factor (1.01)"),
    "wrong-sign": Kind("store", outputs.wrong_sign),
    "flush-to-zero": Kind("store", outputs.flush_to_zero, "least magnitude that stays (2^-14)"),
    "saturated": Kind("store", outputs.saturated_output, "largest magnitude (65504)"),
    "nan-output": Kind("store", outputs.nan_output, "elements (1)", floats=True),
    "overwritten-element": Kind("store", outputs.overwritten_element, "elements (1)", _TEN),
    "bit-flip": Kind("store", outputs.bit_flip, "elements (1)", "bit (highest of the exponent)"),
    "wrong-layout-lanes": Kind("store", outputs.wrong_layout_lanes, "distance of lanes (1)"),
    # where it is written
    "unwritten-tail-tile": Kind(
        "memory", memory.unwritten_tail_tile, value="what shows there (what memory held)"
    ),
    "stale-output": Kind("memory", memory.stale_output),
    "overrun": Kind(
        "memory",
        memory.overrun,
        "bytes behind its end (256 of the next tensor)",
        "number that is written (its output again)",
    ),
}
"""Kind by name. `tests/run/test_fault_kinds.py` checks every one."""


def apply_faults(faults: Sequence[Fault], site: Site, step: Step) -> Site:
    """Return the site after every fault of a step that meets its operator, in order."""
    for fault in faults:
        kind = FAULTS[fault.kind]
        if kind.step == step and fault.meets(site.op):
            site = kind.apply(fault, site)
    return site


def ends_run(faults: Iterable[Fault]) -> bool:
    """Whether a run with these faults does not reach its end."""
    return any(fault.kind in FAULTS and FAULTS[fault.kind].ends_run for fault in faults)


def in_memory(faults: Iterable[Fault]) -> bool:
    """Whether a run with these faults needs a memory of bytes."""
    return any(fault.kind in FAULTS and FAULTS[fault.kind].step == "memory" for fault in faults)


def compiled_sites(
    ops: Iterable[Op], faults: Sequence[Fault], formats: Mapping[str, Formats]
) -> dict[str, Site]:
    """Return how the faulty device computes operators of a `faulty_graph`, by their names.

    ``formats`` are those of the operators by name. Raises GraphError for a fault that cannot work.
    """
    others = [fault for fault in faults if not FAULTS[fault.kind].alters]
    sites = (Site(op, formats.get(op.name, UNTOUCHED)) for op in ops)
    return {site.op.name: apply_faults(others, site, "compile") for site in sites}


def faulty_graph(graph: Graph, faults: Sequence[Fault]) -> Graph:
    """Return the graph as the faulty device compiled it: wrong attributes show in it.

    Raises GraphError as `check_faults` does, or for a fault that cannot work.
    """
    check_faults(faults, graph.ops, graph.name)
    return altered_graph(graph, faults)


def altered_graph(graph: Graph, faults: Sequence[Fault]) -> Graph:
    """Return the graph with the settings that faults change; those that meet nothing are left alone."""
    altering = [f for f in faults if f.kind in FAULTS and FAULTS[f.kind].alters]
    if not altering:
        return graph
    sites = (apply_faults(altering, Site(op), "compile") for op in graph.ops)
    return replace(graph, ops=tuple(site.op for site in sites))


def uploaded(graph: Graph, feeds: Mapping[str, Any], faults: Sequence[Fault]) -> Mapping[str, Any]:
    """Return the feeds with the weights as they lie in the memory of a faulty device.

    Raises GraphError for an operator that reads no weight.
    """
    found = dict(feeds)
    for fault in faults:
        if FAULTS[fault.kind].step == "upload":
            for op in graph.ops:
                if fault.meets(op):
                    _upload(fault, op, graph, found)
    return found


def _upload(fault: Fault, op: Op, graph: Graph, feeds: dict[str, Any]) -> None:
    read = [graph.parameters[o.index] for o in op.flat_inputs() if isinstance(o, Param)]
    weight = next((one for one in read if one.is_weight), None)
    if weight is None:
        raise GraphError(f"operator of {fault} must read a weight, got {op.name!r}")
    given = feeds.get(weight.name, weight.default)
    if given is not None:
        array = np.asarray(given).astype(dtype_row(weight.spec.dtype).storage)
        feeds[weight.name] = FAULTS[fault.kind].apply(fault, Site(op, inputs=(array,))).inputs[0]


def check_faults(faults: Iterable[Fault], ops: Sequence[Op], name: str) -> None:
    """Raise GraphError for a fault of unknown kind, one that meets no operator, or not of its kind."""
    for fault in faults:
        _check(fault, ops, name)


def _check(fault: Fault, ops: Sequence[Op], name: str) -> None:
    if fault.kind not in FAULTS:
        message = f"kind of fault must be one of {sorted(FAULTS)}, got {fault.kind!r}"
        raise GraphError(message)
    met = [op for op in ops if fault.meets(op)]
    for op in met:
        _check_operator(fault, op)
    if not met:
        names = [op.name for op in ops]
        close = difflib.get_close_matches(fault.op_name, names, 3, 0.3) or names[:3]
        message = f"operator of a fault must be one of graph {name!r}, got {fault.op_name!r}"
        raise GraphError(f"{message}; close: {close}")


def _check_operator(fault: Fault, op: Op) -> None:
    kind = FAULTS[fault.kind]
    if kind.step == "memory":
        memory.check_task(fault, op)
    if kind.types and op.op_type not in kind.types:
        message = f"operator of {fault} must be one of {sorted(kind.types)}"
        raise GraphError(f"{message}, got {op.name!r} ({op.op_type})")
    dtype = op.outputs[0].dtype if op.outputs else ""
    if kind.floats and (dtype not in DTYPES or not dtype_row(dtype).is_float):
        message = f"output of {fault} must hold floats"
        raise GraphError(f"{message}, got {op.name!r} ({dtype or 'no output'})")
