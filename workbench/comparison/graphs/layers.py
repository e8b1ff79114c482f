"""Which layers operators of int8 are parts of, where the graph itself does not say it.

A tool that quantizes a network gives the graph engine one that has its operators in it, so the engine's graph
names these as originals, which no network of floats has. Here every operator gets the layers that it
stands for, as if the engine had inserted the others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.comparison.graphs.ge_origins import is_part, origin_of, original_names
from workbench.comparison.graphs.quantization import DEQUANT, QUANT
from workbench.comparison.graphs.roles import LEAVES
from workbench.graph.nodes import Value
from workbench.graph.traits import IDENTITY
from workbench.ir.ge_graph import OpAttrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.comparison.graphs.quantization import Quantised
    from workbench.graph.nodes import Graph, Op

    Names = tuple[str, ...]


def with_layers(graph: Graph, quantised: Quantised) -> Graph:
    """Return a graph of GE whose operators stand for layers of a network of floats."""
    ops = list(graph.ops)
    before: dict[int, Names] = {}
    for number in sorted(quantised.quant | quantised.dequant | quantised.inside):
        op = graph.ops[number]
        names, own = _names(op)
        layers = _once((*_read(op, quantised, before), *own))
        if op.op_type in IDENTITY or number not in quantised.quant:
            before[number] = layers
        computes = op.op_type not in IDENTITY and op.op_type not in LEAVES
        if computes and not is_part(op) and isinstance(op.attrs, OpAttrs):
            stands = layers if number in quantised.dequant else own
            if stands != names or number in quantised.inside:
                ops[number] = _stating(number, op, stands, quantised)
    return replace(graph, ops=tuple(ops))


def _names(op: Op) -> tuple[Names, Names]:
    """Names that an operator stands for, and those of them that are no quantization."""
    said = original_names(op)
    names = (op.name,) if said is None else said
    return names, tuple(n for n in names if not (QUANT.search(n) or DEQUANT.search(n)))


def _read(op: Op, quantised: Quantised, before: Mapping[int, Names]) -> Names:
    """Layers that have begun in what an operator reads as integers."""
    read = [one for one in op.flat_inputs() if isinstance(one, Value) and one in quantised.integers]
    return _once(name for value in read for name in before.get(value.op, ()))


def _once(names: Iterable[str]) -> Names:
    return tuple(dict.fromkeys(names))


def _stating(number: int, op: Op, layers: Names, quantised: Quantised) -> Op:
    """Return an operator that says which layers it stands for, and which tensors of them it gives."""
    descs = op.attrs.get("output_desc", ())
    given: list[Mapping[str, Any]] = []
    for slot, desc in enumerate(descs if isinstance(descs, tuple | list) else ()):
        name, place = "", slot
        if Value(number, slot) not in quantised.integers and layers:
            name, place = origin_of(op, slot) or ("", slot)
            if not name or QUANT.search(name) or DEQUANT.search(name):
                name, place = layers[-1], 0
        origin = {"_datadump_origin_name": name, "_datadump_origin_output_index": place}
        given.append({**desc, "attr": {**desc.get("attr", {}), **origin}})
    attrs = {**_attrs(op), "_datadump_original_op_names": layers}
    fields = op.attrs.fields if isinstance(op.attrs, OpAttrs) else {}
    return replace(op, attrs=OpAttrs({**fields, "attr": attrs, "output_desc": tuple(given)}))


def _attrs(op: Op) -> Mapping[str, Any]:
    found = op.attrs.fields.get("attr", {}) if isinstance(op.attrs, OpAttrs) else {}
    return found if isinstance(found, dict) else dict(found)
