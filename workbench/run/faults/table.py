"""The kinds of faults: one row each."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.errors import GraphError
from workbench.run.faults.attributes import wrong_attribute
from workbench.run.faults.fault import Site
from workbench.run.faults.outputs import overwritten_element, scaled_output
from workbench.run.faults.units import aicore_exception, half_accumulation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from workbench.graph.nodes import Graph
    from workbench.run.faults.fault import Fault, Step
    from workbench.run.numeric import Formats


class Kind(NamedTuple):
    """A kind of fault: when it strikes, what it does, what its strength and its value mean.

    ``ends_run`` says that nothing is computed after it.
    """

    step: Step
    apply: Callable[[Fault, Site], Site]
    strength: str = ""
    value: str = ""
    ends_run: bool = False


FAULTS: dict[str, Kind] = {
    "wrong-attribute": Kind("compile", wrong_attribute, value="attributes by name"),
    "half-accumulation": Kind("compile", half_accumulation),
    "aicore-exception": Kind("compile", aicore_exception, ends_run=True),
    "scaled-output": Kind("store", scaled_output, "factor (1.01)"),
    "overwritten-element": Kind(
        "store", overwritten_element, "elements (1)", "what is written (10 times the largest)"
    ),
}
"""Kind by name. `tests/run/faults` checks every one."""


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


def compiled_sites(
    graph: Graph, faults: Sequence[Fault], formats: Sequence[Formats] = ()
) -> list[Site]:
    """Return every operator as the faulty device compiled it, to be computed in ``formats``.

    Raises GraphError for a fault of unknown kind, one that meets no operator, or one that cannot
    work there.
    """
    for fault in faults:
        _check(fault, graph)
    sites = map(Site, graph.ops, formats) if formats else map(Site, graph.ops)
    return [apply_faults(faults, site, "compile") for site in sites]


def faulty_graph(graph: Graph, faults: Sequence[Fault]) -> Graph:
    """Return the graph as the faulty device compiled it: wrong attributes show in it.

    Raises GraphError as `compiled_sites` does.
    """
    if not faults:
        return graph
    return replace(graph, ops=tuple(site.op for site in compiled_sites(graph, faults)))


def _check(fault: Fault, graph: Graph) -> None:
    if fault.kind not in FAULTS:
        message = f"kind of fault must be one of {sorted(FAULTS)}, got {fault.kind!r}"
        raise GraphError(message)
    if not any(fault.meets(op) for op in graph.ops):
        names = [op.name for op in graph.ops]
        close = difflib.get_close_matches(fault.op_name, names, 3, 0.3) or names[:3]
        message = f"operator of a fault must be one of graph {graph.name!r}, got {fault.op_name!r}"
        raise GraphError(f"{message}; close: {close}")
