"""Writer of GE's graph dumps ``ge_proto_{index}_{stage}.txt``: the text form of ge.proto's ``ModelDef``.

The layout is that of protobuf's C++ printer: two blanks a level, fields by number, maps by key, members
that have their default left out, octal escapes, floats of six or else nine digits. A graph becomes one of GE
first (`workbench.graph_files.ge.lower`), whose attributes have few kinds: numbers, words, bytes, lists of them,
tensors and maps of options. Promise (`tests/graph_files/ge/test_write_text.py`): protobuf's own parser reads the
message that was meant, and `workbench.graph_files.ge.text` the same graph.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import GraphError
from workbench.graph_files.ge.fields import OpAttrs
from workbench.graph_files.ge.lower import to_ge_fields
from workbench.graph_files.ge.schema import ENUMS, GE_IR

if TYPE_CHECKING:
    from workbench.graph.graph import Graph, Op
    from workbench.proto.schema import Field

LEVELS = (1, 2, 3)
"""Values of ``DUMP_GE_GRAPH``."""

_OPTIONS = frozenset(("GraphOptions", "GlobalOptions", "SessionOptions"))
_WEIGHTS = frozenset(("value",))
_CONSTANTS = frozenset(("Const", "Constant"))
_ESCAPES = {
    **{byte: f"\\{byte:03o}" for byte in range(256) if not 32 <= byte < 127},
    **dict(zip(b"\n\r\t\"'\\", (r"\n", r"\r", r"\t", r"\"", r"\'", r"\\"), strict=True)),
}
_LIST_TYPES = {"s": "STRING", "i": "INT", "f": "FLOAT", "b": "BOOL", "bt": "BYTES"}


def write_ge_text(graph: Graph, *, level: int = 1) -> str:
    """Return the text of a graph and its subgraphs as ``DUMP_GE_GRAPH`` set to ``level`` has it.

    1 is everything; 2 leaves out the values of constants (GE: and the framework's definitions, which no graph from
    here has); 3 leaves out the option maps of the graph too.
    """
    if level not in LEVELS:
        raise GraphError("core/choice", subject="level", got=level, known=LEVELS)
    model = _model(graph, level) if graph.dialect == "ge" else to_ge_fields(graph)
    lines: list[str] = []
    _message(lines, "ModelDef", _thinned(model, level), "")
    return "".join(lines)


def _model(graph: Graph, level: int) -> dict[str, Any]:
    """Fields of the ``ModelDef`` of a graph of GE, operators as text; its results are what the NetOutput takes."""
    return {
        "graph": [
            {"name": one.name, "op": [_op_text(op, level) for op in one.ops], "attr": one.attrs}
            for one in (graph, *graph.subgraphs)
        ]
    }


def _op_text(op: Op, level: int) -> str:
    """The block of an operator."""
    lines: list[str] = []
    _block(lines, "op", "OpDef", _thin_op(_op(op), level), "  ")
    return "".join(lines)


def _op(op: Op) -> Mapping[str, Any]:
    if not isinstance(op.attrs, OpAttrs):
        raise GraphError("graph_files/no-opdef", got=op.name)
    return op.attrs.fields


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
    if level == 1 or isinstance(op, str) or op.get("type") not in _CONSTANTS:
        return op
    return {**op, "attr": _without(op.get("attr", {}), _WEIGHTS)}


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
    """Member of ``AttrDef`` that holds a value: a scalar, a list, lists of numbers, a tensor or a map of options."""
    if isinstance(value, Mapping):
        return ("t" if "desc" in value else "func"), value
    if not isinstance(value, tuple | list):
        return _member(value), value
    if value and all(isinstance(item, tuple | list) for item in value):
        kinds = {_member(number) for item in value for number in item}
        return ("list_list_float" if kinds == {"f"} else "list_list_int"), value
    return "list", value


def _list(values: Any) -> dict[str, Any]:
    """Fields of a list, whose items are of one kind, and that kind."""
    if not values:
        return {}
    name = _member(values[0])
    return {name: values, "val_type": f"VT_LIST_{_LIST_TYPES[name]}"}


def _member(value: Any) -> str:
    """Member of ``AttrDef`` for one of the kinds that `workbench.graph_files.ge.lower` gives."""
    return {bool: "b", int: "i", float: "f", bytes: "bt"}.get(type(value), "s")


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
