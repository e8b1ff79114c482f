"""Reader of GE's graph dumps ``ge_onnx_{index}_…_{stage}.pbtxt``: its graph in the text form of ONNX.

``DUMP_GRAPH_FORMAT=onnx`` writes them. A node is an operator of GE, called ``ge:Type``; its edges are
``producer:slot`` as in GE's own text, its tensor descriptions are attributes like ``input_desc_shape:0``. So the
nodes become operators of ge.proto again, and `workbench.graph_files.ge.graph` makes the graph of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from workbench.core.errors import FormatError
from workbench.core.files import file_content
from workbench.graph_files.ge.graph import model_graph
from workbench.graph_files.ge.schema import GE_IR
from workbench.graph_files.look import MAX_BYTES
from workbench.proto.schema import Schema, fields
from workbench.proto.text import TextReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from workbench.graph.graph import Graph

_MESSAGES = {
    "ModelProto": "1 ir_version int64, 2 producer_name text, 3 producer_version text, 4 domain text, "
    "5 model_version int64, 6 doc_string text, 7 graph GraphProto",
    "GraphProto": "1 node NodeProto*, 2 name string, 5 initializer Tensor*, 10 doc_string text, 11 input ValueInfo*, "
    "12 output ValueInfo*, 13 value_info ValueInfo*",
    "NodeProto": "1 input string*, 2 output string*, 3 name string, 4 op_type string, 5 attribute AttributeProto*, "
    "6 doc_string text, 7 domain text",
    "AttributeProto": "1 name string, 2 f float, 3 i int64, 4 s text, 5 t Tensor, 6 g GraphProto, 7 floats float*, "
    "8 ints int64*, 9 strings text*, 10 tensors Tensor*, 11 graphs GraphProto*, 13 doc_string text, "
    "20 type AttributeType",
    "ValueInfo": "",
    "Tensor": "",
}
_TYPES = "UNDEFINED FLOAT INT STRING TENSOR GRAPH FLOATS INTS STRINGS TENSORS GRAPHS"

ONNX_TEXT = Schema(
    "onnx_text",
    {message: fields(rows) for message, rows in _MESSAGES.items()},
    {"AttributeType": tuple(_TYPES.split())},
)

_MEMBERS: Mapping[str, tuple[str, Any]] = {
    "FLOAT": ("f", 0.0), "INT": ("i", 0), "STRING": ("s", ""), "FLOATS": ("floats", ()), "INTS": ("ints", ()),
    "STRINGS": ("strings", ()),
}  # fmt: skip
"""Type of an attribute → the field that holds it, and what it is where the text leaves it out."""

_OF_TENSOR = re.compile(r"(input|output)_desc_(\w{1,64}):(\d{1,4})", re.ASCII)
_COUNTS = ("input_desc_nums", "output_desc_nums")
_ORIGINS = {
    "origin_dtype": "origin_data_type",
    "origin_layout": "origin_format",
    "origin_shape": "origin_shape",
}
"""What a tensor was on the host: the name here → the attribute in GE's own text."""


def read_ge_onnx(path: Path) -> Graph:
    """Read a dumped graph; raises FormatError with line and caret if it is malformed."""
    text = file_content(path, MAX_BYTES, "graph").decode("utf-8-sig", "surrogateescape")
    return replace(parse_ge_onnx(text, str(path)), path=str(path))


def parse_ge_onnx(text: str, where: str = "<text>") -> Graph:
    """Parse the text of a dumped graph; ``where`` starts the message of an error."""
    reader = TextReader(ONNX_TEXT, text.replace("\r\n", "\n"), where)
    model, _ = reader.message("ModelProto", 0)
    if "graph" not in model:
        raise FormatError("graph_files/no-onnx-graph", place=f"{where}:1")
    graphs = [_graph_fields(found) for found in _all_graphs(model["graph"])]
    graph = cast("Graph", model_graph({"graph": graphs}))
    return replace(graph, unknown_lines=graph.unknown_lines + reader.unknown)


def _all_graphs(graph: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a graph and those that its nodes hold, each before its own."""
    yield graph
    for node in graph.get("node", ()):
        for attribute in node.get("attribute", ()):
            for inner in _graphs_of(attribute):
                yield from _all_graphs(inner)


def _graphs_of(attribute: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    own = (attribute["g"],) if "g" in attribute else ()
    return (*own, *attribute.get("graphs", ()))


def _graph_fields(graph: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a ``GraphDef``."""
    ops = tuple(_op_fields(node) for node in graph.get("node", ()))
    return {"name": graph.get("name", ""), "op": ops}


def _op_fields(node: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of an ``OpDef``; what GE keeps in fields of its own stands there again."""
    stated = node.get("attribute", ())
    tensors: dict[tuple[str, int], dict[str, Any]] = defaultdict(dict)
    own: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    for name, value in _values(stated):
        tensor = _OF_TENSOR.fullmatch(name)
        if tensor is not None:
            tensors[tensor[1], int(tensor[3])][tensor[2]] = value
        elif name not in _COUNTS:
            (own if name in GE_IR.by_name["OpDef"] else attrs)[name] = value
    inner = (graph.get("name", "") for attribute in stated for graph in _graphs_of(attribute))
    values = {
        **own,
        "name": node.get("name", ""),
        "type": node.get("op_type", "").removeprefix("ge:"),
        "input": node.get("input", ()),
        "attr": attrs,
        "input_desc": _descriptors(tensors, "input"),
        "output_desc": _descriptors(tensors, "output"),
        "subgraph_name": tuple(inner),
    }
    return {name: value for name, value in values.items() if value not in ((), "", {})}


def _values(attributes: tuple[Mapping[str, Any], ...]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each attribute that is no tensor and no graph."""
    for attribute in attributes:
        member, default = _MEMBERS.get(attribute.get("type", ""), ("", None))
        if member:
            yield attribute.get("name", ""), attribute.get(member, default)


def _descriptors(
    tensors: Mapping[tuple[str, int], Mapping[str, Any]], io: str
) -> tuple[dict[str, Any], ...]:
    """Fields of the ``TensorDescriptor`` of each slot; one that is not described has none."""
    count = max((slot for side, slot in tensors if side == io), default=-1) + 1
    return tuple(_descriptor(tensors.get((io, slot), {})) for slot in range(count))


def _descriptor(stated: Mapping[str, Any]) -> dict[str, Any]:
    known = GE_IR.by_name["TensorDescriptor"]
    own = {name: value for name, value in stated.items() if name in known and name != "attr"}
    attrs = {
        _ORIGINS.get(name, name.removeprefix("attr_")): value
        for name, value in stated.items()
        if name in _ORIGINS or name.startswith("attr_")
    }
    return {**own, "attr": attrs} if attrs else own
