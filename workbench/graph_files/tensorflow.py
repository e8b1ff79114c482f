"""Reader of frozen TensorFlow graphs: a binary ``GraphDef`` whose variables have become constants.

Nodes are decoded one at a time and stay in the order of the file; weights are not kept. Shapes are known where a
node states them: a ``Const``, a ``Placeholder``, and what has ``_output_shapes``. Numbers of fields are those of
``graph.proto``, ``node_def.proto`` and ``attr_value.proto``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.dtypes import names_by
from workbench.core.errors import FormatError
from workbench.core.files import file_content
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import FreeRef, Graph, Op, Value
from workbench.graph_files.look import MAX_BYTES
from workbench.proto.schema import Schema, fields
from workbench.proto.text import single
from workbench.proto.wire import check_type, decode, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from workbench.graph.graph import Operand

_MESSAGES = {
    "GraphDef": "1 node NodeDef*, 2 library Opaque, 3 version int32, 4 versions Opaque, 5 debug_info Opaque",
    "NodeDef": "1 name bytes, 2 op bytes, 3 input bytes*, 4 device bytes, 5 attr AttrValue@",
    "AttrValue": "1 list ListValue, 2 s bytes, 3 i int64, 4 f float, 5 b bool, 6 type int32, 7 shape Shape, "
    "8 tensor Tensor, 9 placeholder bytes",
    "ListValue": "2 s bytes*, 3 i int64*, 4 f float*, 5 b bool*, 6 type int32*, 7 shape Shape*",
    "Shape": "2 dim Dim*, 3 unknown_rank bool",
    "Dim": "1 size int64",
    "Tensor": "1 dtype int32, 2 tensor_shape Shape",
    "Opaque": "",
}
TF_GRAPH = Schema(
    "tensorflow",
    {message: fields(rows) for message, rows in _MESSAGES.items()},
    one_of=frozenset(("AttrValue",)),
)

MAX_NODES = 1 << 18
"""Most nodes of a graph."""

_TYPES = names_by("tf")
"""Number of a ``DataType`` → our word."""

_STATED_TYPES = ("dtype", "DstT", "out_type", "output_type", "Tout", "T")
"""Attributes that state the number format of an operator's results; the first that is there counts."""


def read_frozen(path: Path) -> Graph:
    """Read the graph of a file; raises FormatError with its byte if it is damaged."""
    return parse_frozen(file_content(path, MAX_BYTES, "graph"), str(path))


def parse_frozen(data: bytes, where: str = "<bytes>") -> Graph:
    """Read a graph from the bytes of a ``GraphDef``; ``where`` starts the message of an error.

    What no node reads is a result.
    """
    nodes = list(_nodes(data, where))
    numbers: dict[str, int] = {}
    for number, node in enumerate(nodes):
        numbers.setdefault(_text(node.name), number)
    ops = tuple(_op(node, numbers) for node in nodes)
    read = {operand.op for op in ops for operand in op.inputs if isinstance(operand, Value)}
    ends = tuple(Value(n, 0) for n, op in enumerate(ops) if n not in read and op.op_type != "NoOp")
    return Graph("", ops=ops, outputs=ends, dialect="tensorflow", path=where)


def _nodes(data: bytes, where: str) -> Iterator[Any]:
    """Yield the nodes, each decoded within bounds."""
    row = TF_GRAPH.by_name["GraphDef"]["node"]
    for count, field in enumerate(walk(data, where, 0, len(data))):
        if count >= MAX_NODES:
            place = f"{where}: byte {field.start}"
            raise FormatError("proto/fields", place=place, limit=MAX_NODES)
        if field.number == row.number:
            check_type(TF_GRAPH, "GraphDef", row, field, where)
            yield decode(TF_GRAPH, "NodeDef", data, where, field.start, field.end)


def _op(node: Any, numbers: Mapping[str, int]) -> Op:
    """Operator of a node; inputs ``^name`` are control edges and none of the operator's."""
    attrs = {key: _value(value) for key, value in node.attr.items()}
    names = [_text(name) for name in node.input]
    operands = tuple(_operand(name, numbers) for name in names if not name.startswith("^"))
    return Op(_text(node.name), _text(node.op), operands, attrs, _outputs(node, attrs))


def _operand(name: str, numbers: Mapping[str, int]) -> Operand:
    """Operand of an input ``producer`` or ``producer:slot``."""
    producer, _, slot = name.partition(":")
    if producer in numbers and (
        not slot or (slot.isascii() and slot.isdecimal() and len(slot) < 7)
    ):
        return Value(numbers[producer], int(slot or 0))
    return FreeRef("", name)


def _outputs(node: Any, attrs: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
    """Specs of the results as far as the node states them."""
    if "value" in node.attr and node.attr["value"].HasField("tensor"):
        tensor = node.attr["value"].tensor
        return (TensorSpec(_TYPES.get(tensor.dtype, ""), _shape(tensor.tensor_shape)),)
    words = (attrs.get(name) for name in _STATED_TYPES)
    dtype = next((word for word in words if isinstance(word, str)), "")
    shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else ()
    if shapes:
        return tuple(TensorSpec(dtype, _shape(shape)) for shape in shapes)
    shape = attrs.get("shape") if node.op == b"Placeholder" else None
    return (TensorSpec(dtype, shape if isinstance(shape, tuple) else None),) if dtype else ()


def _value(value: Any) -> Any:
    """Python value of an attribute; ``None`` for a tensor."""
    kind = value.WhichOneof("value")
    if kind is None or kind == "tensor":
        return None
    if kind == "list":
        rows = value.list.ListFields()
        return tuple(_plain(row.name, item) for row, items in rows for item in items)
    return _plain(kind, getattr(value, kind))


def _plain(kind: str, value: Any) -> Any:
    if kind == "shape":
        return _shape(value)
    if kind == "type":
        return _TYPES.get(value, f"type {value}")
    if kind == "f":
        return single(value)
    return _text(value) if isinstance(value, bytes) else value


def _shape(shape: Any) -> tuple[int, ...] | None:
    """Dimensions, -1 where one is open; ``None`` if the rank is."""
    return None if shape.unknown_rank else tuple(dim.size for dim in shape.dim)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")
