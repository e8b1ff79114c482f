"""What ge.proto's ``ModelDef`` is made of: one row for every field, and what its values become.

The text reader and the run-time messages are both built from these rows. Numbers and names are those
of GE's ``ge_ir.proto``. Attribute groups are known, and nobody here needs them: they stay opaque.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.dtypes import DATA_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping


class Field(NamedTuple):
    """A field of a message.

    ``kind`` is a scalar type, an enum of `ENUMS` or a message of `MESSAGES`; ``text`` is a string
    that the format declares as bytes. ``many`` is ``""``, ``"*"`` (repeated) or ``"map"`` (by string).
    """

    number: int
    name: str
    kind: str
    many: str = ""


def _rows(*rows: str) -> tuple[Field, ...]:
    """Fields from lines ``number name kind``; ``kind*`` is repeated, ``kind@`` a map."""
    found = []
    for row in rows:
        number, name, kind = row.split()
        many = {"*": "*", "@": "map"}.get(kind[-1], "")
        found.append(Field(int(number), name, kind.rstrip("*@"), many))
    return tuple(found)


MESSAGES: dict[str, tuple[Field, ...]] = {
    "ModelDef": _rows(
        "1 name string",
        "2 version uint32",
        "3 custom_version string",
        "7 graph GraphDef*",
        "11 attr AttrDef@",
        "12 attr_groups AttrGroups",
    ),
    "GraphDef": _rows(
        "1 name string",
        "4 input string*",
        "5 output string*",
        "6 op OpDef*",
        "11 attr AttrDef@",
        "12 attr_groups AttrGroups",
    ),
    "OpDef": _rows(
        "1 name string",
        "2 type string",
        "5 input string*",
        "10 attr AttrDef@",
        "11 attr_groups AttrGroups",
        "20 has_out_attr bool",
        "21 id int64",
        "22 stream_id int64",
        "23 input_name string*",
        "24 src_name string*",
        "25 src_index int64*",
        "26 dst_name string*",
        "27 dst_index int64*",
        "28 input_i int64*",
        "29 output_i int64*",
        "30 workspace int64*",
        "31 workspace_bytes int64*",
        "32 is_input_const bool*",
        "33 input_desc TensorDescriptor*",
        "34 output_desc TensorDescriptor*",
        "35 subgraph_name string*",
    ),
    "TensorDescriptor": _rows(
        "1 name string",
        "2 dtype DataType",
        "3 shape ShapeDef",
        "4 layout string",
        "5 attr AttrDef@",
        "6 attr_groups AttrGroups",
        "9 has_out_attr bool",
        "10 size int64",
        "11 weight_size int64",
        "12 reuse_input bool",
        "13 output_tensor bool",
        "14 device_type string",
        "15 input_tensor bool",
        "16 real_dim_cnt int64",
        "17 reuse_input_index int64",
        "18 data_offset int64",
        "19 cmps_size int64",
        "20 cmps_tab string",
        "21 cmps_tab_offset int64",
    ),
    "ShapeDef": _rows("1 dim int64*"),
    "TensorDef": _rows("1 desc TensorDescriptor", "2 data bytes"),
    "NamedAttrs": _rows("1 name string", "2 attr AttrDef@"),
    "AttrDef": _rows(
        "1 list ListValue",
        "2 s text",
        "3 i int64",
        "4 f float",
        "5 b bool",
        "7 bt bytes",
        "10 func NamedAttrs",
        "11 td TensorDescriptor",
        "12 t TensorDef",
        "13 g GraphDef",
        "14 list_list_int ListListInt",
        "15 dt int64",
        "16 list_list_float ListListFloat",
        "17 expression text",
    ),
    "ListValue": _rows(
        "2 s text*",
        "3 i int64*",
        "4 f float*",
        "5 b bool*",
        "7 bt bytes*",
        "8 td TensorDescriptor*",
        "9 t TensorDef*",
        "10 g GraphDef*",
        "11 na NamedAttrs*",
        "12 dt int64*",
        "20 val_type ListValueType",
    ),
    "ListListInt": _rows("1 list_list_i ListInt*"),
    "ListInt": _rows("1 list_i int64*"),
    "ListListFloat": _rows("1 list_list_f ListFloat*"),
    "ListFloat": _rows("1 list_f float*"),
    "AttrGroups": (),
}
"""Message → its fields in order of their numbers. A message without rows is opaque."""

ONE_OF = frozenset(("AttrDef",))
"""Messages whose fields exclude each other."""

FIELDS: dict[str, dict[str, Field]] = {
    message: {field.name: field for field in rows} for message, rows in MESSAGES.items()
}
"""Message → field name → field."""

_LIST_TYPES = "NONE STRING INT FLOAT BOOL BYTES TENSOR_DESC TENSOR GRAPH NAMED_ATTRS DATA_TYPE"

ENUMS: dict[str, tuple[str, ...]] = {
    "DataType": tuple(f"DT_{row.word}" for row in DATA_TYPES.values()),
    "ListValueType": tuple("VT_LIST_" + word for word in _LIST_TYPES.split()),
}
"""Enum → its words; the place of a word is its number."""


def enum_word(enum: str, number: int) -> str | int:
    """Word of an enum number; a number that nobody knows yet stays a number."""
    words = ENUMS[enum]
    return words[number] if 0 <= number < len(words) else number


def finish(message: str, fields: dict[str, Any]) -> Any:
    """What the fields of a message become in Python.

    An attribute value becomes its plain value (``None`` if it has none), a list of any kind a tuple,
    a shape the tuple of its dimensions; every other message stays a mapping of its fields.
    """
    if message == "AttrDef":
        return next(iter(fields.values()), None)
    if message == "ListValue":
        kinds = (rows for name, rows in fields.items() if name != "val_type")
        return tuple(value for rows in kinds for value in rows)
    if message in _INNER:
        return fields.get(_INNER[message], ())
    return fields


_INNER: Mapping[str, str] = {
    "ShapeDef": "dim",
    "ListListInt": "list_list_i",
    "ListInt": "list_i",
    "ListListFloat": "list_list_f",
    "ListFloat": "list_f",
}
