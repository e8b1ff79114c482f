"""Messages of MindSpore's ``.pb`` graphs: field numbers and number formats.

Two protocols share most of their fields. The debugger writes ``debug_graph.proto`` next to a dump;
the stages of a compilation are saved as ``anf_ir.proto``. Both are proto2. Text is declared as
bytes, which is the same on the wire and cannot fail on characters that are no UTF-8; enumerations
are declared as integers, so an unknown number stays readable.
"""

from __future__ import annotations

from functools import lru_cache

from workbench.core.dtypes import DTYPES, names_by
from workbench.proto.schema import Schema, fields

DEBUGGER = "pb-debugger"
ANF = "pb-anf"

_SHARED = {
    "ModelProto": "1 ir_version int64, 4 graph GraphProto",
    "GraphProto": "1 node NodeProto*, 2 name bytes, 3 parameters ParameterProto*, "
    "4 outputs OutputProto*, 5 const_vals NamedValueProto*",
    "NodeProto": "1 input InputProto*, 2 name bytes, 3 op_type bytes, 4 scope bytes, "
    "5 attribute AttributeProto*, 6 output_type TypeProto, 8 full_name bytes",
    "InputProto": "1 name bytes, 2 type int32",
    "ParameterProto": "1 name bytes, 2 type TypeProto",
    "OutputProto": "1 name bytes, 2 type TypeProto",
    "AttributeProto": "1 name bytes, 2 value ValueProto",
    "NamedValueProto": "1 key bytes, 2 value ValueProto",
    "ValueProto": "1 dtype int32, 2 bool_val bool, 3 int_val int64, 4 uint_val uint64, "
    "5 float_val float, 6 double_val double, 7 str_val bytes, 8 tensor_val TensorProto, "
    "10 bool_vals bool*, 11 int_vals int64*, 12 uint_vals uint64*, 13 float_vals float*, "
    "14 double_vals double*, 15 str_vals bytes*, 18 values ValueProto*, "
    "19 dict_val NamedValueProto*, 20 type_val TypeProto",
    "TypeProto": "1 data_type int32, 2 tensor_type TensorType, 3 sequence_type SequenceType",
    "TensorType": "1 elem_type int32, 2 shape TensorShapeProto",
    "SequenceType": "1 elem_types TypeProto*",
    "TensorShapeProto": "1 dim Dimension*",
    "Dimension": "1 size int64, 2 name bytes",
}
_OWN = {
    DEBUGGER: {
        "GraphProto": "6 root_name bytes",
        "NodeProto": "9 source_address bytes",
        "NamedValueProto": "3 full_name bytes",
        "TensorProto": "4 dims int64*, 5 data_type int32",
    },
    ANF: {
        "NodeProto": "10 instance_name bytes",
        "TensorProto": "1 dims int64*, 2 data_type int32",
    },
}


def _schema(dialect: str) -> Schema:
    own = _OWN[dialect]
    names = dict.fromkeys((*_SHARED, *own))
    rows = {name: f"{_SHARED.get(name, '')}, {own.get(name, '')}" for name in names}
    return Schema(dialect, {name: fields(text) for name, text in rows.items()}, syntax="proto2")


SCHEMAS = {dialect: _schema(dialect) for dialect in (DEBUGGER, ANF)}
"""Protocol → its messages."""

_FORMATS = names_by("pb")
_KINDS = {
    0: "Undefined", 13: "String", 14: "Tensor", 15: "Func", 31: "Tuple", 32: "List", 33: "Dictionary",
    34: "None", 35: "SymInst", 36: "Int", 37: "UInt", 38: "Float", 39: "TypeType", 40: "AnyType",
    41: "RefKey", 42: "Ref", 49: "UMonad",
}  # fmt: skip
"""Number 49 is declared as a slice, but the stages of 2.10 have it as the type of every monad."""

_TYPE_WORDS = {
    DEBUGGER: _FORMATS | _KINDS | {43: "UMonad", 44: "IOMonad", 49: "Slice"},
    ANF: _FORMATS | _KINDS | {45: "Complex"},
}
"""Number of a ``DataType`` → our name of a number format, MindSpore's word for all else."""

_FIELDS_OF = {
    "bool": "bool_val", "int": "int_val", "uint": "uint_val", "float": "float_val", "bfloat": "float_val",
}  # fmt: skip
SCALAR_FIELDS = {
    **{
        number: _FIELDS_OF[kind]
        for number, name in _FORMATS.items()
        if (kind := name.rstrip("0123456789")) in _FIELDS_OF
    },
    DTYPES["float64"].pb: "double_val",
    13: "str_val",
}
"""Number of a ``DataType`` → field of ``ValueProto`` that holds such a scalar."""


def type_word(dialect: str, number: int) -> str:
    """Name of a ``DataType``: ours for number formats, else MindSpore's; ``type 99`` if unknown.

    >>> type_word(DEBUGGER, 11), type_word(DEBUGGER, 43), type_word(ANF, 43)
    ('float32', 'UMonad', 'complex64')
    """
    return _TYPE_WORDS[dialect].get(number) or f"type {number}"


@lru_cache
def _type_numbers(dialect: str) -> dict[str, int]:
    return {word: number for number, word in _TYPE_WORDS[dialect].items()}


def type_number(dialect: str, word: str) -> int:
    """Number of a ``DataType``, the inverse of `type_word`; 0 if the protocol has no such type.

    >>> type_number(DEBUGGER, "float32"), type_number(DEBUGGER, "complex64")
    (11, 0)
    """
    return _type_numbers(dialect).get(word, 0)
