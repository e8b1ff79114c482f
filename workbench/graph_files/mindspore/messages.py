"""Messages of MindSpore's ``.pb`` graphs: field numbers, number formats and the wire format.

Two protocols share most of their fields. The debugger writes ``debug_graph.proto`` next to a dump;
the stages of a compilation are saved as ``anf_ir.proto``. Both are proto2. Text is declared as
bytes, which is the same on the wire and cannot fail on characters that are no UTF-8; enumerations
are declared as integers, so an unknown number stays readable.

Nothing here loads Google's library before `message_class` is called.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex

from workbench.core.dtypes import DTYPES, names_by
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

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

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIDTHS = {FIXED64: 8, FIXED32: 4}
_SCALARS = {"int32": 5, "int64": 3, "uint64": 4, "bool": 8, "float": 2, "double": 1, "bytes": 12}
"""Number of each kind in ``FieldDescriptorProto.Type``; 11 is a message."""


class Field(NamedTuple):
    """A declared field: its name, its kind (a scalar or a message) and whether it repeats."""

    name: str
    kind: str
    repeated: bool

    @property
    def nested(self) -> bool:
        return self.kind not in _SCALARS


class WireField(NamedTuple):
    """A field as it lies in the bytes: number, wire type, and where its content begins and ends."""

    number: int
    wire: int
    start: int
    end: int


class CutOffError(FormatError):
    """A field reaches past the end of what holds it; ``number`` is the field's."""

    def __init__(self, *, place: str, number: int, end: int, got: int) -> None:
        super().__init__("ir/cut-off", place=place, number=number, end=end, got=got)
        self.number = number


@lru_cache
def declared(dialect: str) -> dict[str, dict[int, Field]]:
    """Fields of every message by number."""
    tables: dict[str, dict[int, Field]] = {}
    for rows in (_SHARED, _OWN[dialect]):
        for message, text in rows.items():
            table = tables.setdefault(message, {})
            for row in text.split(", "):
                number, name, kind = row.split()
                table[int(number)] = Field(name, kind.rstrip("*"), kind.endswith("*"))
    return tables


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


@lru_cache
def _pool(dialect: str) -> Any:
    """Descriptors of one protocol in a pool of their own."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name=f"{dialect}.proto", package="graph")
    for message, table in declared(dialect).items():
        described = file.message_type.add(name=message)
        for number, (name, kind, repeated) in table.items():
            field = described.field.add(name=name, number=number, type=_SCALARS.get(kind, 11))
            field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
            if kind not in _SCALARS:
                field.type_name = f".graph.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


@lru_cache
def message_class(dialect: str, message: str) -> Any:
    """Class of a message, built from the table."""
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool(dialect).FindMessageTypeByName(f"graph.{message}"))


def parse(dialect: str, message: str, data: bytes, where: str) -> Any:
    """Decode one message; ``where`` starts the message of an error.

    A declared field with another wire type is an error; unknown fields are skipped.
    """
    from google.protobuf.message import DecodeError
    from google.protobuf.unknown_fields import UnknownFieldSet

    try:
        decoded = message_class(dialect, message).FromString(data)
    except DecodeError as error:
        raise FormatError("ir/protobuf", place=where, message=message, why=error) from error
    table = declared(dialect)[message]
    unknown: Any = UnknownFieldSet(decoded)
    for field in unknown:
        if field.field_number in table:
            known = table[field.field_number]
            raise FormatError(
                "ir/wire-type",
                place=where,
                number=field.field_number,
                name=known.name,
                message=message,
                expected=known.kind,
                got=field.wire_type,
            )
    return decoded


class ByPlace(Protocol):
    """Bytes by their places: all that a walk asks of a message."""

    def __getitem__(self, place: SupportsIndex, /) -> int: ...


def walk(data: ByPlace, where: str, start: int, end: int) -> Iterator[WireField]:
    """Fields of the message between two positions, in order, without looking into them."""
    position = start
    while position < end:
        tag_at = position
        tag, position = _varint(data, where, position, end)
        number, wire = tag >> 3, tag & 7
        content = position
        if wire == VARINT:
            _, position = _varint(data, where, position, end)
        elif wire == BYTES:
            length, content = _varint(data, where, position, end)
            position = content + length
        else:
            position += _WIDTHS.get(wire, 0)
        if not number or (wire not in _WIDTHS and wire not in (VARINT, BYTES)):
            raise FormatError("ir/tag", place=f"{where}: byte {tag_at}", got=tag)
        if position > end:
            raise CutOffError(place=f"{where}: byte {tag_at}", number=number, end=end, got=position)
        yield WireField(number, wire, content, position)


def _varint(data: ByPlace, where: str, position: int, end: int) -> tuple[int, int]:
    """Return the number that begins at ``position`` and the position behind it."""
    value = 0
    for index in range(position, min(end, position + 10)):
        byte = data[index]
        value |= (byte & 0x7F) << (7 * (index - position))
        if byte < 0x80:
            return value, index + 1
    raise FormatError("ir/varint", place=f"{where}: byte {position}", end=end)
