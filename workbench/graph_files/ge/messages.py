"""ge.proto's messages, made at run time from the rows of `workbench.graph_files.ge.fields`, and their binary form.

The messages live in a descriptor pool of their own: nothing is registered for other users of protobuf
in the same process. Attribute groups are messages without fields, so they pass as unknown data.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from workbench.core.errors import FormatError
from workbench.graph_files.ge.fields import (
    ENUMS,
    FIELDS,
    MESSAGES,
    ONE_OF,
    Field,
    enum_word,
    finish,
)
from workbench.graph_files.ge.graph import model_graph
from workbench.graph_files.ge.scalars import decode, single

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from workbench.graph.nodes import Graph

_PACKAGE = "ge.proto"
_FILE = descriptor_pb2.FileDescriptorProto
_TYPE = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _TYPE.TYPE_STRING,
    "text": _TYPE.TYPE_BYTES,
    "bytes": _TYPE.TYPE_BYTES,
    "int64": _TYPE.TYPE_INT64,
    "uint32": _TYPE.TYPE_UINT32,
    "float": _TYPE.TYPE_FLOAT,
    "bool": _TYPE.TYPE_BOOL,
}
_OM_MAGIC = b"IMOD"


@cache
def message_class(message: str) -> type[Message]:
    """Class of a message of `workbench.graph_files.ge.fields.MESSAGES`, ``ModelDef`` for one."""
    found = _pool().FindMessageTypeByName(f"{_PACKAGE}.{message}")
    return message_factory.GetMessageClass(found)


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    file = _FILE(name="ge_ir.proto", package=_PACKAGE, syntax="proto3")
    for enum, words in ENUMS.items():
        row = file.enum_type.add(name=enum)
        for number, word in enumerate(words):
            row.value.add(name=word, number=number)
    for message, fields in MESSAGES.items():
        _add_message(file.message_type.add(name=message), fields)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _add_message(message: descriptor_pb2.DescriptorProto, fields: tuple[Field, ...]) -> None:
    if message.name in ONE_OF:
        message.oneof_decl.add(name="value")
    for field in fields:
        row = message.field.add(name=field.name, number=field.number)
        row.label = _TYPE.LABEL_REPEATED if field.many else _TYPE.LABEL_OPTIONAL
        if message.name in ONE_OF:
            row.oneof_index = 0
        if field.many == "map":
            entry = "".join(word.capitalize() for word in field.name.split("_")) + "Entry"
            nested = message.nested_type.add(name=entry)
            nested.options.map_entry = True
            for part in (Field(1, "key", "string"), Field(2, "value", field.kind)):
                _set_type(nested.field.add(name=part.name, number=part.number), part.kind)
            _set_type(row, f"{message.name}.{entry}")
        else:
            _set_type(row, field.kind)


def _set_type(row: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
    """Set the type of a field to a scalar, or to an enum or a message by name."""
    if kind in _SCALARS:
        row.type = _SCALARS[kind]
        return
    row.type = _TYPE.TYPE_ENUM if kind in ENUMS else _TYPE.TYPE_MESSAGE
    row.type_name = f".{_PACKAGE}.{kind}"


def parse_ge_model(data: bytes, where: str = "<bytes>") -> Graph:
    """Read a graph from the bytes of a ``ModelDef``; raises FormatError if they are none.

    Fields that nobody knows are left out without a count: the binary form has no lines.
    """
    try:
        model = message_class("ModelDef").FromString(data)
    except DecodeError as error:
        code = "ir/om-model" if data[:4] == _OM_MAGIC else "ir/no-model"
        raise FormatError(code, place=f"{where}: byte 0", size=len(data)) from error
    graph = model_graph(_fields("ModelDef", model))
    if graph is None:
        raise FormatError("ir/model-without-graph", place=f"{where}: byte 0", size=len(data))
    return graph


def _fields(kind: str, message: Message) -> Any:
    """What a message becomes in Python, the same as its text would."""
    fields: dict[str, Any] = {}
    for descriptor, value in message.ListFields():
        field = FIELDS[kind][descriptor.name]
        if field.many == "map":
            fields[field.name] = {key: _value(field.kind, entry) for key, entry in value.items()}
        elif field.many:
            fields[field.name] = tuple(_value(field.kind, item) for item in value)
        else:
            fields[field.name] = _value(field.kind, value)
    return finish(kind, fields)


def _value(kind: str, value: Any) -> Any:
    if kind in MESSAGES:
        return _fields(kind, value)
    if kind in ENUMS:
        return enum_word(kind, value)
    if kind == "float":
        return single(value)
    return decode(kind, value) if kind == "text" else value
