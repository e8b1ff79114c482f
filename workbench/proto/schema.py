"""What messages of protobuf are made of: one row a field, and Google's classes made from the rows.

Rows are written as protobuf's own files have them, without what a reader does not need::

    fields("1 name string, 7 graph GraphDef*, 11 attr AttrDef@")

A kind is a scalar, an enumeration or a message of the schema. ``*`` repeats, ``@`` is a map of strings to messages.
``text`` is a string that the format declares as bytes: what is no UTF-8 must not make it unreadable. Enumerations
whose words nobody needs are declared as integers, so an unknown number stays readable.

Nothing here loads Google's library before a class is asked for. Each schema has a pool of its own: nothing is
registered for other users of protobuf in the same process.
"""

from __future__ import annotations

from dataclasses import field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from workbench._values import NamedTuple, dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCALARS = {
    "double": 1, "float": 2, "int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "bytes": 12, "text": 12,
    "uint32": 13,
}  # fmt: skip
"""Kind → its number in ``FieldDescriptorProto.Type``."""

_MESSAGE, _ENUM = 11, 14


class Field(NamedTuple):
    """A field of a message; ``many`` is ``""``, ``"*"`` (repeated) or ``"@"`` (a map of strings to messages)."""

    number: int
    name: str
    kind: str
    many: str = ""


def fields(rows: str) -> tuple[Field, ...]:
    """Return the fields of a message from ``number name kind`` of each, separated by commas.

    >>> fields("1 name string, 6 op OpDef*")
    (Field(number=1, name='name', kind='string', many=''), Field(number=6, name='op', kind='OpDef', many='*'))
    """
    found = []
    for row in filter(None, (part.strip() for part in rows.split(","))):
        number, name, kind = row.split()
        bare = kind.rstrip("*@")
        found.append(Field(int(number), name, bare, kind[len(bare) :]))
    return tuple(found)


def as_fields(_message: str, values: dict[str, Any]) -> Any:
    """Keep what was read of a message as the mapping that it is."""
    return values


@dataclass(frozen=True)
class Schema:
    """The messages of one format. Schemas of one name are the same, also in another process.

    Attributes
    ----------
    name : str
    messages : mapping of str to tuple of Field
        Message → fields in order of their numbers. A message without any is opaque: it is not looked into.
    enums : mapping of str to tuple of str
        Enumeration → its words; the place of a word is its number, ``""`` a number that has none.
    one_of : frozenset of str
        Messages whose fields exclude each other.
    syntax : str
        ``proto3`` or ``proto2``: whether repeated numbers are packed, and defaults are left out.
    to_python : callable (message, values) -> object
        What the values of a message's fields, by name, become.
    """

    name: str
    messages: Mapping[str, tuple[Field, ...]] = field(compare=False, repr=False)
    enums: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)
    one_of: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    syntax: str = field(default="proto3", compare=False, repr=False)
    to_python: Callable[[str, dict[str, Any]], Any] = field(
        default=as_fields, compare=False, repr=False
    )

    def __reduce__(self) -> tuple[Any, ...]:
        values = (self.name, dict(self.messages), dict(self.enums))
        return Schema, (*values, self.one_of, self.syntax, self.to_python)

    @cached_property
    def by_name(self) -> Mapping[str, Mapping[str, Field]]:
        """Message → name → field; the message without a name is the opaque one."""
        found = {name: {row.name: row for row in rows} for name, rows in self.messages.items()}
        return {"": {}, **found}

    @cached_property
    def by_number(self) -> Mapping[str, Mapping[int, Field]]:
        """Message → number → field."""
        return {name: {row.number: row for row in rows} for name, rows in self.messages.items()}

    @cached_property
    def places(self) -> Mapping[str, Mapping[str, int]]:
        """Message → name of a field → its place among the message's fields."""
        return {
            name: {row.name: place for place, row in enumerate(rows)}
            for name, rows in self.messages.items()
        }

    def enum_word(self, enum: str, number: int) -> str | int:
        """Return the word of an enumeration's number; a number that nobody knows yet stays a number."""
        words = self.enums[enum]
        return (words[number] if 0 <= number < len(words) else "") or number

    def message_class(self, message: str) -> Any:
        """Return Google's class of a message."""
        return _message_class(self, message)


@cache
def _message_class(schema: Schema, message: str) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool(schema).FindMessageTypeByName(message))


@cache
def _pool(schema: Schema) -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool

    file = descriptor_pb2.FileDescriptorProto(name=f"{schema.name}.proto", syntax=schema.syntax)
    for enum, words in schema.enums.items():
        described = file.enum_type.add(name=enum)
        for number, word in enumerate(words):
            if word:
                described.value.add(name=word, number=number)
    for message, rows in schema.messages.items():
        _describe(schema, file.message_type.add(name=message), rows)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _describe(schema: Schema, message: Any, rows: tuple[Field, ...]) -> None:
    if message.name in schema.one_of:
        message.oneof_decl.add(name="value")
    for row in rows:
        described = message.field.add(name=row.name, number=row.number)
        described.label = described.LABEL_REPEATED if row.many else described.LABEL_OPTIONAL
        if message.name in schema.one_of:
            described.oneof_index = 0
        if row.many == "@":
            _set_type(schema, described, _add_entry(schema, message, row))
        else:
            _set_type(schema, described, row.kind)


def _add_entry(schema: Schema, message: Any, row: Field) -> str:
    """Describe the entries of a map; returns their type."""
    name = "".join(word.capitalize() for word in row.name.split("_")) + "Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    for part in entry_fields(row.kind).values():
        described = entry.field.add(name=part.name, number=part.number)
        described.label = described.LABEL_OPTIONAL
        _set_type(schema, described, part.kind)
    return f"{message.name}.{name}"


def _set_type(schema: Schema, described: Any, kind: str) -> None:
    """Set the type of a field to a scalar, or to an enumeration or a message by name."""
    described.type = SCALARS.get(kind, _ENUM if kind in schema.enums else _MESSAGE)
    if kind not in SCALARS:
        described.type_name = f".{kind}"


@cache
def entry_fields(kind: str) -> dict[str, Field]:
    """Return the two fields of a map's entry whose values are of a kind."""
    return {"key": Field(1, "key", "string"), "value": Field(2, "value", kind)}
