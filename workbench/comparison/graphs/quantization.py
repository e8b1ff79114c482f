"""Operators between a quantization and its end: their tensors are integers of another scale.

Which they are tell names and dtypes, as for msaccucmp (``quant_filter``): tools that quantize networks for
TensorFlow, Caffe and ONNX each have their names, and a kernel into which such an operator was fused has them
in its own or among those that it stands for. ``AscendAntiQuant``, which those names miss, is told by its type.

Such a tool gives the graph engine a network that has its operators in it, so the engine's graph names these as
originals, which no network of floats has. In `with_layers` every operator gets the layers that it stands for, as
if the engine had inserted the others.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple
from workbench.comparison.graphs.ge_origins import (
    ORIGIN_NAME,
    ORIGIN_SLOT,
    is_part,
    origin_of,
    original_names,
)
from workbench.comparison.graphs.roles import ANTI_QUANT, LEAVES
from workbench.core.dtypes import DTYPES
from workbench.core.long_work import checkpoint
from workbench.graph.graph import ORIGINAL_NAMES, Value
from workbench.graph_files.ge.fields import OpAttrs
from workbench.ops import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.core.tensors import TensorSpec
    from workbench.graph.graph import Graph, Op

    Names = tuple[str, ...]

QUANT = re.compile(r"_quant_layer|/AscendQuant|/AscendWeightQuant|\.quant|\.weight_quant")
DEQUANT = re.compile(
    r"_dequant_layer|_anti_quant_layer|/AscendDequant|/AntiQuant|\.dequant|\.anti_quant|/AscendAntiQuant"
)

_QUANT_TYPES = frozenset(("AscendQuant", "AscendWeightQuant", "AscendQuantV2"))
_DEQUANT_TYPES = ANTI_QUANT | {"AscendDequant"}
_TYPES = _QUANT_TYPES | _DEQUANT_TYPES


_IN_FILES = re.compile(
    r"_quant_layer|_dequant_layer|_anti_quant_layer|Ascend(?:Anti|Weight)?Quant|AscendDequant"
)
"""What the name of a file says, where ``_`` stands for ``/`` and dots."""


def names_quantization(op_type: str, name: str) -> bool:
    """Whether a kernel quantizes or ends it, by its type and the name of its file; fused ones have several parts.

    >>> [names_quantization("Conv2D", f"{name}Relu") for name in ("fc_AscendDequant", "fc_AscendQuant", "fc")]
    [True, True, False]
    """
    return op_type in _TYPES or _IN_FILES.search(name) is not None


_INSERTED = ("act_quant_AscendQuant", "dequant_AscendDequant", "anti_quant_AscendAntiQuant")
_END = "dequant_AscendDequant"
"""What AMCT calls the operators that it inserts, behind the scope of their layer, as files spell it."""


def inserted_names(nodes: Iterable[str]) -> frozenset[str]:
    """Return what AMCT may call operators that it inserts into a network with some nodes, as files spell names."""
    scopes = {node[:end] for node in nodes for end in _ends(node)}
    named = {f"{scope}_{word}" for scope in scopes for word in _INSERTED}
    return frozenset(named).union(_INSERTED)


def ended_layer(name: str, nodes: Iterable[str]) -> tuple[str, ...]:
    """Return the nodes in whose scope a file's operator makes floats again; none for any other operator.

    >>> ended_layer("_fc_dequant_AscendDequant", ["_fc_Gemm", "_fc2_Gemm"])
    ('_fc_Gemm',)
    """
    scope = name.removesuffix(f"_{_END}")
    if scope == name:
        return ()
    return tuple(node for node in nodes if node == scope or node.startswith(f"{scope}_"))


def _ends(name: str) -> list[int]:
    """Where a scope may end in a name."""
    return [at for at, letter in enumerate(name) if letter == "_"] + [len(name)]


class Quantised(NamedTuple):
    """Operators of a graph by what they have to do with integers of another scale.

    ``quant`` give int8, ``dequant`` floats again (a kernel may do both); ``inside`` lie between, whatever
    they read. ``integers`` are outputs of that scale.
    """

    quant: frozenset[int] = frozenset()
    dequant: frozenset[int] = frozenset()
    inside: frozenset[int] = frozenset()
    integers: frozenset[Value] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.quant or self.dequant)

    def hides(self, number: int, io: str, slot: int, op: Op) -> bool:
        """Whether a tensor of an operator cannot be compared with floats."""
        if io == "output":
            return Value(number, slot) in self.integers
        if number not in self.inside:
            return False
        specs = op.device_inputs or op.input_specs
        spec = specs[slot] if slot < len(specs) else None
        operand = op.operand(slot)
        return operand in self.integers or not _is_float(spec)

    def fused_quantizers(self, graph: Graph, number: int) -> tuple[int, ...]:
        """Kernels that give what a layer reads as integers and that compute more than these.

        ``number`` is the operator in which the layer ends. Such a kernel does not say by which scale it quantizes.
        """
        found, seen = set[int](), {number}
        waiting = [number] if number in self.inside else []
        while waiting:
            for operand in graph.ops[waiting.pop()].flat_inputs():
                if not isinstance(operand, Value) or operand not in self.integers:
                    continue
                if operand.op in self.quant and graph.ops[operand.op].op_type not in _QUANT_TYPES:
                    found.add(operand.op)
                elif operand.op not in seen:
                    seen.add(operand.op)
                    waiting.append(operand.op)
        return tuple(sorted(found))


NOTHING = Quantised()


def find_quantised(graph: Graph) -> Quantised:
    """Return the operators of a graph that quantize, end it, and lie between."""
    quant, dequant, inside, integers = set[int](), set[int](), set[int](), set[Value]()
    for number, op in enumerate(graph.ops):
        checkpoint()
        begins, ends = _kinds(op)
        pair = bool(integers) and any(operand in integers for operand in op.flat_inputs())
        if not (begins or ends or pair):
            continue
        if pair:
            inside.add(number)
        for slot, spec in enumerate(op.device_outputs or op.outputs):
            if begins and spec.dtype == "int8":
                quant.add(number)
                integers.add(Value(number, slot))
            elif ends and _is_float(spec) and (pair or op.op_type in _DEQUANT_TYPES):
                dequant.add(number)
            elif pair:
                integers.add(Value(number, slot))
    return Quantised(frozenset(quant), frozenset(dequant), frozenset(inside), frozenset(integers))


def _kinds(op: Op) -> tuple[bool, bool]:
    """Whether an operator quantizes, and whether it ends that, by its names and type."""
    both = op.name, "".join(original_names(op) or ())
    names = [name for name in both if "uant" in name]  # looked for in all, found in few
    return (
        op.op_type in _QUANT_TYPES or any(QUANT.search(name) for name in names),
        op.op_type in _DEQUANT_TYPES or any(DEQUANT.search(name) for name in names),
    )


def _is_float(spec: TensorSpec | None) -> bool:
    row = DTYPES.get(spec.dtype) if spec is not None else None
    return row is not None and row.is_float


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
        origin = {ORIGIN_NAME: name, ORIGIN_SLOT: place}
        given.append({**desc, "attr": {**desc.get("attr", {}), **origin}})
    attrs = {**_attrs(op), ORIGINAL_NAMES: layers}
    fields = op.attrs.fields if isinstance(op.attrs, OpAttrs) else {}
    return replace(op, attrs=OpAttrs({**fields, "attr": attrs, "output_desc": tuple(given)}))


def _attrs(op: Op) -> Mapping[str, Any]:
    found = op.attrs.fields.get("attr", {}) if isinstance(op.attrs, OpAttrs) else {}
    return found if isinstance(found, dict) else dict(found)
