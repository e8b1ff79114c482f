"""Writer of GE's graph dumps ``ge_proto_{index}_{stage}.txt``: the text form of ge.proto's ``ModelDef``.

The layout is that of protobuf's C++ printer: two blanks a level, fields by number, maps by key, members
that have their default left out, octal escapes, floats of six or else nine digits. A graph that was read
from a file of GE is written as it was read; any other becomes one of GE first
(`workbench.graph_files.ge.lower`). Promise (`tests/graph_files/test_ge_text_writer.py`):
`workbench.graph_files.ge.text` reads the same graph, and protobuf's own parser the same message.

Python values do not tell every kind of an attribute apart: an integer is written as ``i``, bytes as
``bt``, or as ``s`` if they are no text, a list with the ``val_type`` of its items.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph_files.ge.graph import OpAttrs
from workbench.graph_files.ge.lower import lowered
from workbench.graph_files.ge.schema import ENUMS, GE_IR

if TYPE_CHECKING:
    from workbench.graph.nodes import Graph, Op
    from workbench.proto.schema import Field

LEVELS = (1, 2, 3)
"""Values of ``DUMP_GE_GRAPH``."""

_SHORT = 1 << 14
"""Characters of an operator's text that is kept; constants may be larger."""

_OPTIONS = frozenset(("GraphOptions", "GlobalOptions", "SessionOptions"))
_FRAMEWORK = frozenset(("node_def", "op_def", "func_def"))
_WEIGHTS = frozenset((*_FRAMEWORK, "value"))
_CONSTANTS = frozenset(("Const", "Constant"))
_ESCAPES = {
    **{byte: f"\\{byte:03o}" for byte in range(256) if not 32 <= byte < 127},
    **dict(zip(b"\n\r\t\"'\\", (r"\n", r"\r", r"\t", r"\"", r"\'", r"\\"), strict=True)),
}
_LIST_TYPES = {
    "s": "STRING", "i": "INT", "f": "FLOAT", "b": "BOOL", "bt": "BYTES", "td": "TENSOR_DESC",
    "t": "TENSOR", "g": "GRAPH", "na": "NAMED_ATTRS",
}  # fmt: skip
_ONLY = {
    "t": frozenset(("desc", "data")),
    "g": frozenset(row.name for row in GE_IR.messages["GraphDef"])
    - {"name", "attr", "attr_groups"},
    "td": frozenset(row.name for row in GE_IR.messages["TensorDescriptor"]) - {"name", "attr"},
}
"""Message of an attribute → names of fields that tell it from the others."""


def write_ge_text(graph: Graph, *, level: int = 1) -> str:
    """Return the text of a graph and its subgraphs as ``DUMP_GE_GRAPH`` set to ``level`` has it.

    1 is everything; 2 leaves out the values of constants and the definitions of the framework
    (``node_def``, ``op_def``, ``func_def``); 3 leaves out the option maps of the graph too. Only the
    ONNX form of GE's dumps loses its tensor descriptions at level 3.
    """
    if level not in LEVELS:
        raise GraphError("core/choice", subject="level", got=level, known=LEVELS)
    model = _model(graph, level) if graph.dialect == "ge" else lowered(graph)
    lines: list[str] = []
    _message(lines, "ModelDef", _thinned(model, level), "")
    return "".join(lines)


def _model(graph: Graph, level: int) -> dict[str, Any]:
    """Fields of the ``ModelDef`` that a graph of GE was read from."""
    rest, own = graph.attrs.get("model"), dict(graph.attrs)
    model = dict(own.pop("model")) if isinstance(rest, Mapping) else {}
    graphs = [_graph(graph, own, level)]
    graphs += [_graph(sub, sub.attrs, level) for sub in graph.subgraphs]
    return {**model, "graph": graphs}


def _graph(graph: Graph, attrs: Mapping[str, Any], level: int) -> dict[str, Any]:
    """Fields of a graph, its operators as text."""
    ops = [_op_text(op, level) for op in graph.ops]
    fields: dict[str, Any] = {"name": graph.name, "op": ops, "attr": attrs}
    last = next((op.inputs for op in reversed(graph.ops) if op.op_type == "NetOutput"), ())
    if graph.outputs != last:
        fields["output"] = [_edge(graph, operand) for operand in graph.outputs]
    return fields


def _op_text(op: Op, level: int) -> str:
    """The block of an operator; a short one is kept for other levels' files, and for the next dump."""
    key = f"ge text {min(level, 2)}"
    found = op.kept.get(key)
    if found is None:
        lines: list[str] = []
        _block(lines, "op", "OpDef", _thin_op(_op(op), level), "  ")
        found = "".join(lines)
        if len(found) <= _SHORT:
            op.kept[key] = found
    return str(found)


def _op(op: Op) -> Mapping[str, Any]:
    if not isinstance(op.attrs, OpAttrs):
        raise GraphError("graph_files/no-opdef", got=op.name)
    return op.attrs.fields


def _edge(graph: Graph, operand: Any) -> str:
    """``producer:slot``; a producer that the graph does not hold is spelled as it was."""
    if hasattr(operand, "slot"):
        return f"{graph.ops[operand.op].name}:{operand.slot}"
    return str(getattr(operand, "node", ""))


def _thinned(model: Mapping[str, Any], level: int) -> dict[str, Any]:
    """The model without what a level leaves out."""
    fields = dict(model)
    fields["graph"] = [
        {
            **graph,
            "op": [_thin_op(op, level) for op in graph.get("op", ())],
            "attr": _without(graph.get("attr", {}), _OPTIONS if level > 2 else frozenset()),
        }
        for graph in model["graph"]
    ]
    return fields


def _thin_op(op: Mapping[str, Any] | str, level: int) -> Mapping[str, Any] | str:
    if level == 1 or isinstance(op, str) or "attr" not in op:
        return op
    left_out = _WEIGHTS if op.get("type") in _CONSTANTS else _FRAMEWORK
    return {**op, "attr": _without(op["attr"], left_out)}


def _without(attrs: Mapping[str, Any], keys: frozenset[str]) -> Mapping[str, Any]:
    return {key: attrs[key] for key in attrs if key not in keys} if keys else attrs


def _message(lines: list[str], kind: str, fields: Mapping[str, Any], blanks: str) -> None:
    """Add the lines of a message's fields, in order of their numbers."""
    for row in GE_IR.messages[kind]:
        if row.name in fields:
            _field(lines, row, fields[row.name], blanks, bare=kind in GE_IR.one_of)


def _field(lines: list[str], row: Field, value: Any, blanks: str, *, bare: bool = False) -> None:
    """Add a field; ``bare`` says that it is printed even if it has its default."""
    if row.many == "@":
        for key in sorted(value):
            lines.append(f"{blanks}{row.name} {{\n{blanks}  key: {quoted(key)}\n")
            _block(lines, "value", row.kind, value[key], blanks + "  ")
            lines.append(f"{blanks}}}\n")
    elif row.many:
        for item in value:
            _one(lines, row, item, blanks)
    elif bare or row.kind in GE_IR.messages or not _is_default(row.kind, value):
        _one(lines, row, value, blanks)


def _one(lines: list[str], row: Field, value: Any, blanks: str) -> None:
    if row.kind in GE_IR.messages and isinstance(value, str):
        lines.append(value)  # an operator that is written already
    elif row.kind in GE_IR.messages:
        _block(lines, row.name, row.kind, value, blanks)
    else:
        lines.append(f"{blanks}{row.name}: {_scalar(row.kind, value)}\n")


def _block(lines: list[str], name: str, kind: str, value: Any, blanks: str) -> None:
    lines.append(f"{blanks}{name} {{\n")
    _message(lines, kind, _fields_of(kind, value), blanks + "  ")
    lines.append(f"{blanks}}}\n")


def _fields_of(kind: str, value: Any) -> Mapping[str, Any]:
    """Fields of a message from what `workbench.graph_files.ge.schema.to_python` makes of it."""
    if kind == "AttrDef":
        return {} if value is None else dict([_attribute(value)])
    if kind == "ListValue":
        return _list(value)
    if isinstance(value, tuple | list):
        (row,) = GE_IR.messages[kind]
        return {row.name: value}
    fields: Mapping[str, Any] = value
    return fields


def _attribute(value: Any) -> tuple[str, Any]:
    """Member of ``AttrDef`` that holds a value, and the value in its form."""
    if not isinstance(value, tuple | list):
        return _member(value, named="func")
    if value and all(isinstance(item, tuple | list) for item in value):
        items = [number for item in value for number in item]
        if all(_is_integer(number) for number in items):
            return "list_list_int", tuple(value)
        if all(isinstance(number, int | float | np.number) for number in items):
            return "list_list_float", tuple(value)
    return "list", value


def _list(values: Any) -> dict[str, Any]:
    """Fields of a list: its items, which in GE are of one kind, and that kind."""
    fields: dict[str, Any] = {}
    as_bytes = any(isinstance(item, bytes) and _is_text(item) for item in values)
    for item in values:
        name, value = _member(item, named="na")
        if as_bytes and isinstance(item, bytes):
            name = "bt"  # all of them: items of one kind keep their order
        fields.setdefault(name, []).append(value)
    kinds = [kind for name, kind in _LIST_TYPES.items() if name in fields]
    if kinds:
        fields["val_type"] = f"VT_LIST_{kinds[0]}"
    return fields


def _member(value: Any, named: str) -> tuple[str, Any]:
    """Name of the member for one value; what no member holds is written as text."""
    if isinstance(value, Mapping):
        return next((name for name, only in _ONLY.items() if only & value.keys()), named), value
    if isinstance(value, bool | np.bool_):
        return "b", bool(value)
    if _is_integer(value):
        return "i", int(value)
    if isinstance(value, float | np.floating):
        return "f", float(value)
    if isinstance(value, bytes):
        return ("bt" if _is_text(value) else "s"), value
    return "s", str(value)


def _is_integer(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and -(1 << 63) <= int(value) < 1 << 63


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _is_default(kind: str, value: Any) -> bool:
    """Whether proto3 leaves a value out."""
    if kind in ENUMS:
        return value in (0, ENUMS[kind][0])
    return value in (0, "", b"") and not (isinstance(value, float) and math.copysign(1, value) < 0)


def _scalar(kind: str, value: Any) -> str:
    if kind in ENUMS:
        return str(value)
    if kind == "bool":
        return "true" if value else "false"
    if kind == "float":
        return _float(value)
    return quoted(value) if kind in ("string", "text", "bytes") else str(int(value))


def _float(value: float) -> str:
    """Number of single precision: six digits if they name it, else nine.

    >>> _float(3.0), _float(1e-05), _float(1 / 3)
    ('3', '1e-05', '0.333333343')
    """
    with np.errstate(over="ignore"):
        number = np.float32(value)
    if np.isnan(number):
        return "nan"
    short = f"{number:.6g}"
    return short if np.float32(short) == number else f"{number:.9g}"


def quoted(value: str | bytes) -> str:
    """Return a string between quotes, with the escapes of C."""
    data = value if isinstance(value, bytes) else value.encode("utf-8", "backslashreplace")
    return '"' + data.decode("latin-1").translate(_ESCAPES) + '"'
