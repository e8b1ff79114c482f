"""What ge.proto's ``ModelDef`` is made of, and what its values become; text and binary are read by it.

Numbers and names are those of GE's ``ge_ir.proto``. Attribute groups are known, and nobody here needs
them: they stay opaque.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.core.dtypes import DATA_TYPES
from workbench.proto.canonical import Layout
from workbench.proto.schema import Schema, fields

if TYPE_CHECKING:
    from collections.abc import Mapping

_MESSAGES = {
    "ModelDef": "1 name string, 2 version uint32, 3 custom_version string, 7 graph GraphDef*, 11 attr AttrDef@, "
    "12 attr_groups AttrGroups",
    "GraphDef": "1 name string, 4 input string*, 5 output string*, 6 op OpDef*, 11 attr AttrDef@, "
    "12 attr_groups AttrGroups",
    "OpDef": "1 name string, 2 type string, 5 input string*, 10 attr AttrDef@, 11 attr_groups AttrGroups, "
    "20 has_out_attr bool, 21 id int64, 22 stream_id int64, 23 input_name string*, "
    "24 src_name string*, 25 src_index int64*, 26 dst_name string*, 27 dst_index int64*, "
    "28 input_i int64*, 29 output_i int64*, 30 workspace int64*, 31 workspace_bytes int64*, "
    "32 is_input_const bool*, 33 input_desc TensorDescriptor*, 34 output_desc TensorDescriptor*, "
    "35 subgraph_name string*",
    "TensorDescriptor": "1 name string, 2 dtype DataType, 3 shape ShapeDef, 4 layout string, 5 attr AttrDef@, "
    "6 attr_groups AttrGroups, 9 has_out_attr bool, 10 size int64, 11 weight_size int64, "
    "12 reuse_input bool, 13 output_tensor bool, 14 device_type string, 15 input_tensor bool, "
    "16 real_dim_cnt int64, 17 reuse_input_index int64, 18 data_offset int64, 19 cmps_size int64, "
    "20 cmps_tab string, 21 cmps_tab_offset int64",
    "ShapeDef": "1 dim int64*",
    "TensorDef": "1 desc TensorDescriptor, 2 data bytes",
    "NamedAttrs": "1 name string, 2 attr AttrDef@",
    "AttrDef": "1 list ListValue, 2 s text, 3 i int64, 4 f float, 5 b bool, 7 bt bytes, 10 func NamedAttrs, "
    "11 td TensorDescriptor, 12 t TensorDef, 13 g GraphDef, 14 list_list_int ListListInt, 15 dt int64, "
    "16 list_list_float ListListFloat, 17 expression text",
    "ListValue": "2 s text*, 3 i int64*, 4 f float*, 5 b bool*, 7 bt bytes*, 8 td TensorDescriptor*, "
    "9 t TensorDef*, 10 g GraphDef*, 11 na NamedAttrs*, 12 dt int64*, 20 val_type ListValueType",
    "ListListInt": "1 list_list_i ListInt*",
    "ListInt": "1 list_i int64*",
    "ListListFloat": "1 list_list_f ListFloat*",
    "ListFloat": "1 list_f float*",
    "AttrGroups": "",
}
_LIST_TYPES = "NONE STRING INT FLOAT BOOL BYTES TENSOR_DESC TENSOR GRAPH NAMED_ATTRS DATA_TYPE"

ENUMS = {
    "DataType": tuple(f"DT_{row.word}" for row in DATA_TYPES.values()),
    "ListValueType": tuple("VT_LIST_" + word for word in _LIST_TYPES.split()),
}
"""Enum → its words; the place of a word is its number."""


def to_python(message: str, values: dict[str, Any]) -> Any:
    """Return what the fields of a message become in Python.

    An attribute value becomes its plain value (``None`` if it has none), a list of any kind a tuple,
    a shape the tuple of its dimensions; every other message stays a mapping of its fields.
    """
    if message == "AttrDef":
        return next(iter(values.values()), None)
    if message == "ListValue":
        kinds = (rows for name, rows in values.items() if name != "val_type")
        return tuple(value for rows in kinds for value in rows)
    if message in _INNER:
        return values.get(_INNER[message], ())
    return values


_INNER: Mapping[str, str] = {
    "ShapeDef": "dim",
    "ListListInt": "list_list_i",
    "ListInt": "list_i",
    "ListListFloat": "list_list_f",
    "ListFloat": "list_f",
}

GE_IR = Schema(
    "ge_ir",
    {message: fields(rows) for message, rows in _MESSAGES.items()},
    ENUMS,
    frozenset(("AttrDef",)),
    to_python=to_python,
)

OPERATORS = Layout(
    GE_IR,
    "op",
    "OpDef",
    indent=2,
    recursive="AttrDef",
    depth=2,
    carriers=frozenset(("TensorDescriptor", "TensorDef", "NamedAttrs", "GraphDef")),
    outside=frozenset(("GraphDef",)),
    pieces="TensorDescriptor",
)
"""Operators of a graph as GE prints them; tensors and functions inside an attribute of an attribute are scanned."""
