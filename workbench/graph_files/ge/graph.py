"""From the fields of a ``ModelDef`` to the workbench's graph; text and binary files meet here.

Operators keep the order of the file. All of them stay operators, ``Data``, ``Const`` and ``NetOutput``
included, so a graph of GE has no parameters. Inputs are those of data edges; an optional input that is
not connected keeps its place as ``Const(None, "None")``, and a producer that the graph does not hold
is a `FreeRef` without graph.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from workbench.core.dtypes import dtype_name
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import FreeRef, Graph, Op, Operand, Value
from workbench.graph_files.ge.fields import UNCONNECTED, OpAttrs
from workbench.graph_files.ge.schema import GE_IR
from workbench.proto.canonical import LazyMessage, excerpt
from workbench.proto.text import TextReader

_EDGE = re.compile(r"(.+):(-1|[0-9]{1,9})", re.DOTALL)
_RESERVED = ("FORMAT_RESERVED", "RESERVED")
_NO_DTYPE = ("", "UNDEFINED", "RESERVED")
_ORIGIN = ("origin_data_type", "origin_dtype", "origin_format", "origin_shape")
_DESC_INDENT = 6


def model_graph(model: Mapping[str, Any]) -> Graph | None:
    """First graph of a model with the others as its subgraphs; ``None`` if the model has no graph.

    What the model says beyond its graphs (``name``, ``version``, ``attr``) is ``attrs["model"]``.
    """
    graphs = [_graph(fields) for fields in model.get("graph", ())]
    if not graphs:
        return None
    rest = {key: value for key, value in model.items() if key != "graph"}
    first = graphs[0]
    return Graph(
        first.name,
        ops=first.ops,
        outputs=first.outputs,
        attrs={**first.attrs, "model": rest} if rest else first.attrs,
        subgraphs=tuple(graphs[1:]),
        dialect="ge",
        unknown_lines=sum(graph.unknown_lines for graph in graphs),
    )


def _graph(fields: Mapping[str, Any]) -> Graph:
    """One graph; edges that are none are counted as unknown lines."""
    blocks = fields.get("op", ())
    numbers: dict[str, int] = {}
    for number, block in enumerate(blocks):
        numbers.setdefault(block.get("name", ""), number)
    ops = tuple(_op(block, numbers) for block in blocks)
    edges = [edge for block in blocks for edge in block.get("input", ()) if edge]
    outputs = _operands(fields.get("output", ()), numbers)
    if not outputs:
        outputs = next((op.inputs for op in reversed(ops) if op.op_type == "NetOutput"), ())
    return Graph(
        fields.get("name", ""),
        ops=ops,
        outputs=outputs,
        attrs=fields.get("attr", {}),
        dialect="ge",
        unknown_lines=sum(_EDGE.fullmatch(edge) is None for edge in edges),
    )


def _op(fields: Mapping[str, Any], numbers: dict[str, int]) -> Op:
    inputs = _all_specs(fields, "input_desc")
    outputs = _all_specs(fields, "output_desc")
    return Op(
        fields.get("name", ""),
        fields.get("type", ""),
        _operands(fields.get("input", ()), numbers),
        OpAttrs(fields),
        tuple(host for host, _ in outputs),
        tuple(None if spec.format in _RESERVED else host for host, spec in inputs),
        tuple(spec for _, spec in inputs),
        tuple(spec for _, spec in outputs),
    )


def _operands(edges: tuple[str, ...], numbers: dict[str, int]) -> tuple[Operand, ...]:
    """Operands of data edges ``producer:slot``; control edges have slot -1 and are none."""
    operands: list[Operand] = []
    for edge in edges:
        found = _EDGE.fullmatch(edge)
        if found and found[2] == "-1":
            continue
        if not edge:
            operands.append(UNCONNECTED)
        elif found and found[1] in numbers:
            operands.append(Value(numbers[found[1]], int(found[2])))
        else:
            operands.append(FreeRef("", edge))
    return tuple(operands)


def _all_specs(fields: Mapping[str, Any], name: str) -> list[tuple[TensorSpec, TensorSpec]]:
    """Host and device specs of all descriptors of an operator."""
    if isinstance(fields, LazyMessage):
        pieces = fields.pieces(name)
        return [_text_specs(excerpt(piece, "attr", _DESC_INDENT, _ORIGIN)) for piece in pieces]
    return [_specs(desc) for desc in fields.get(name, ())]


@lru_cache(maxsize=4096)
def _text_specs(text: str) -> tuple[TensorSpec, TensorSpec]:
    """Specs from the part of a descriptor's text that matters; few of them differ."""
    return _specs(TextReader(GE_IR, text).message("TensorDescriptor", 0)[0])


def _specs(desc: Mapping[str, Any]) -> tuple[TensorSpec, TensorSpec]:
    """Host and device spec of a tensor; what the descriptor does not say of the host is as on the device."""
    attrs = desc.get("attr", {})
    dtype, older_dtype, layout, shape = (attrs.get(key) for key in _ORIGIN)
    device = _spec(desc.get("dtype", ""), desc.get("shape"), desc.get("layout", ""))
    host = _spec(dtype or older_dtype or "", shape, layout or "")
    return (
        TensorSpec(
            host.dtype or device.dtype,
            device.shape if shape is None else host.shape,
            device.format if host.format in ("", *_RESERVED) else host.format,
        ),
        device,
    )


def _spec(dtype: object, shape: object, layout: object) -> TensorSpec:
    """Spec of GE's words; ``(-2,)`` is GE's shape of unknown rank."""
    word = str(dtype).removeprefix("DT_")
    known = "" if word in _NO_DTYPE else dtype_name(word) or str(dtype)
    ranked = isinstance(shape, tuple) and shape != (-2,) and all(type(n) is int for n in shape)
    return TensorSpec(known, cast("tuple[int, ...]", shape) if ranked else None, str(layout))
