"""Messages of protobuf as bytes: where each field lies, and Google's parser behind a walk that bounds it.

Google's library makes objects of 50 bytes and more of two bytes of input. So a message is decoded straight if it is
short; a longer one is walked through before, field by field, and has a limited number of them. Whoever reads a
large file decodes its entries one at a time. A refusal names its byte: where the library refuses a message without
saying where, the walk says it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, overload

from workbench._values import NamedTuple
from workbench.core.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.proto.schema import Field, Schema

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

STRAIGHT = 1 << 16
"""Most bytes of a message that is decoded without a walk before: some MB at worst."""

MAX_FIELDS = 200_000
"""Most fields of a longer message, those of messages inside it among them."""

MAX_DEPTH = 100
"""Most messages inside each other in the outermost, as Google's library has it."""

_WIDTHS = {FIXED64: 8, FIXED32: 4}
_NUMBERS = {"float": FIXED32, "double": FIXED64}
_CONTENT = frozenset(("string", "text", "bytes"))


class WireField(NamedTuple):
    """A field as it lies in the bytes: number, wire type, and where its content begins and ends."""

    number: int
    wire: int
    start: int
    end: int


class CutOffError(FormatError):
    """A field reaches past the end of what holds it; ``number`` is the field's."""

    def __init__(self, *, place: str, number: int, end: int, got: int) -> None:
        super().__init__("proto/cut-off", place=place, number=number, end=end, got=got)
        self.number = number


class ByPlace(Protocol):
    """Bytes by their places: all that a walk asks of a message."""

    def __getitem__(self, place: SupportsIndex, /) -> int: ...


class Content(ByPlace, Protocol):
    """Bytes by their places that also come in slices: what decoding asks of a file or of bytes in memory."""

    def __len__(self) -> int: ...

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> int: ...

    @overload
    def __getitem__(self, place: slice, /) -> bytes: ...


def walk(data: ByPlace, where: str, start: int, end: int) -> Iterator[WireField]:
    """Yield the fields of the message between two positions, in order, without looking into them.

    Raises FormatError, ``{where}: byte N: …``, at the first that is none.
    """
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
            raise FormatError("proto/tag", place=f"{where}: byte {tag_at}", got=tag)
        if position > end:
            raise CutOffError(place=f"{where}: byte {tag_at}", number=number, end=end, got=position)
        yield WireField(number, wire, content, position)


def _varint(data: ByPlace, where: str, position: int, end: int) -> tuple[int, int]:
    """Return the number that begins at ``position`` and the position behind it."""
    if position < end and (byte := data[position]) < 0x80:  # as most are
        return byte, position + 1
    value = 0
    for index in range(position, min(end, position + 10)):
        byte = data[index]
        value |= (byte & 0x7F) << (7 * (index - position))
        if byte < 0x80:
            return value, index + 1
    raise FormatError("proto/varint", place=f"{where}: byte {position}", end=end)


def walk_declared(
    schema: Schema,
    message: str,
    data: ByPlace,
    where: str,
    start: int,
    end: int,
    limit: int = MAX_FIELDS,
) -> Iterator[tuple[str, Field, WireField]]:
    """Yield the declared fields of a message and of all messages inside it, each before those inside it.

    Each comes with the name of its message. Raises FormatError at the first field that has another type than it
    is declared with, and at the first above ``limit`` or deeper than `MAX_DEPTH`.
    """
    budget = limit
    waiting = [(message, schema.by_number[message], walk(data, where, start, end))]
    from workbench.proto.schema import entry_fields

    while waiting:
        name, known, fields = waiting[-1]
        found = next(fields, None)
        if found is None:
            waiting.pop()
            continue
        budget -= 1
        if budget < 0 or len(waiting) - 1 > MAX_DEPTH:
            code, most = ("fields", limit) if budget < 0 else ("deep", MAX_DEPTH)
            raise FormatError(f"proto/{code}", place=f"{where}: byte {found.start}", limit=most)
        row = known.get(found.number)
        if row is None:
            continue
        check_type(schema, name, row, found, where)
        yield name, row, found
        inside = walk(data, where, found.start, found.end)
        if row.many == "@":
            entry = {part.number: part for part in entry_fields(row.kind).values()}
            waiting.append((f"{name}.{row.name}", entry, inside))
        elif schema.messages.get(row.kind):
            waiting.append((row.kind, schema.by_number[row.kind], inside))


def check_type(schema: Schema, message: str, row: Field, found: WireField, where: str) -> None:
    """Raise FormatError if a field has a wire type that its kind does not allow."""
    if found.wire not in _wires(schema, row):
        raise FormatError(
            "proto/field-type",
            place=f"{where}: byte {found.start}",
            number=row.number,
            name=row.name,
            message=message,
            kind=row.kind,
            got=found.wire,
        )


def _wires(schema: Schema, row: Field) -> tuple[int, ...]:
    """Wire types that the values of a field may have; repeated numbers come packed or one by one."""
    if row.many == "@" or row.kind in _CONTENT or row.kind in schema.messages:
        return (BYTES,)
    number = _NUMBERS.get(row.kind, VARINT)
    return (number, BYTES) if row.many else (number,)


def decode(
    schema: Schema,
    message: str,
    data: Content,
    where: str,
    start: int = 0,
    end: int | None = None,
) -> Any:
    """Decode the message between two positions of ``data``; fields that nobody declares are left out.

    Raises FormatError, ``{where}: byte N: …``.
    """
    from google.protobuf.message import DecodeError

    end = len(data) if end is None else end
    if end - start > STRAIGHT:
        _check(schema, message, data, where, start, end)
    try:
        decoded = schema.message_class(message).FromString(data[start:end])
    except DecodeError as error:
        _check(schema, message, data, where, start, end)
        place = f"{where}: byte {start}"
        raise FormatError("proto/message", place=place, message=message, why=str(error)) from error
    decoded.DiscardUnknownFields()
    if end - start <= STRAIGHT and decoded.ByteSize() != end - start:
        _check(schema, message, data, where, start, end)  # a field is unknown, or of another type
    return decoded


def _check(schema: Schema, message: str, data: ByPlace, where: str, start: int, end: int) -> None:
    for _ in walk_declared(schema, message, data, where, start, end):
        pass
