"""Random ge.proto messages, and what a reader must say of them, told by protobuf's own classes alone."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from workbench.graph_files.ge.schema import GE_IR

NAMES = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ["net/conv1/Conv2D", "网络/卷积", 'a"b\\c\n', "origin_shape", "_no_task", "id", "#{}"]
)
BYTES = st.binary(max_size=12) | NAMES.map(lambda name: name.encode())
INTS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 9)
FLOATS = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1e-05, 0.1, 3.0])
DEFAULTS = ("", b"", 0, "DT_UNDEFINED")


def scalar(field) -> st.SearchStrategy:
    """Values of a scalar field."""
    cpp = field.cpp_type
    if cpp == field.CPPTYPE_STRING:
        return NAMES if field.type == field.TYPE_STRING else BYTES
    return {
        field.CPPTYPE_INT64: INTS,
        field.CPPTYPE_UINT32: st.integers(0, (1 << 32) - 1),
        field.CPPTYPE_FLOAT: FLOATS,
        field.CPPTYPE_BOOL: st.booleans(),
        field.CPPTYPE_ENUM: st.integers(0, 12) | st.just(99),
    }[cpp]


def fill(draw, message, depth: int) -> None:
    """Set some fields of a message, at most ``depth`` messages deep."""
    fields = list(message.DESCRIPTOR.fields)
    if message.DESCRIPTOR.oneofs:
        fields = [draw(st.sampled_from(fields))]
    for field in fields:
        nested = field.message_type is not None
        if (nested and depth == 0) or not draw(st.booleans()):
            continue
        if nested and field.message_type.GetOptions().map_entry:
            for key in draw(st.lists(NAMES, max_size=2)):
                fill(draw, getattr(message, field.name)[key], depth - 1)
        elif field.is_repeated and nested:
            for _ in range(draw(st.integers(0, 2))):
                fill(draw, getattr(message, field.name).add(), depth - 1)
        elif field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(scalar(field), max_size=3)))
        elif nested:
            getattr(message, field.name).SetInParent()
            fill(draw, getattr(message, field.name), depth - 1)
        else:
            setattr(message, field.name, draw(scalar(field)))


@st.composite
def models(draw, depth: int = 6):
    """A model with one or two graphs."""
    model = GE_IR.message_class("ModelDef")()
    fill(draw, model, draw(st.integers(2, depth)))
    for _ in range(1 - len(model.graph)):
        fill(draw, model.graph.add(), depth)
    return model


def plain(message):
    """A message as Python values: the rules of the reader, told from the message's side."""
    kind = message.DESCRIPTOR.name
    if kind == "AttrDef":
        chosen = message.WhichOneof("value")
        return None if chosen is None else value_of(chosen, getattr(message, chosen))
    if kind == "ShapeDef":
        return tuple(message.dim)
    if kind == "ListListInt":
        return tuple(tuple(row.list_i) for row in message.list_list_i)
    if kind == "ListListFloat":
        return tuple(tuple(row.list_f) for row in message.list_list_f)
    if kind == "ListValue":
        names = ("s", "i", "f", "b", "bt", "td", "t", "g", "na", "dt")
        return tuple(value_of(n, item) for n in names for item in getattr(message, n))
    return {field.name: whole(field, value) for field, value in message.ListFields()}


def whole(field, value):
    """All values of a field."""
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return {key: plain(entry) for key, entry in value.items()}
    if field.is_repeated:
        return tuple(value_of(field.name, item, field) for item in value)
    return value_of(field.name, value, field)


def value_of(name: str, value, field=None):
    """One value; bytes that are meant as text are text where they can be."""
    if hasattr(value, "DESCRIPTOR"):
        return plain(value)
    if field is not None and field.enum_type is not None:
        word = field.enum_type.values_by_number.get(value)
        return value if word is None else word.name
    if isinstance(value, bytes) and name in ("s", "expression"):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    return value


def same(mine, theirs) -> bool:
    """Whether two trees of values are equal; floats count in single precision, NaN equals NaN.

    A default that a text spells out is there for the reader and not for protobuf.
    """
    if hasattr(theirs, "items"):
        added = all(mine[key] in DEFAULTS for key in mine.keys() - theirs.keys())
        return added and all(key in mine and same(mine[key], theirs[key]) for key in theirs)
    if isinstance(theirs, tuple):
        return (
            isinstance(mine, tuple)
            and len(mine) == len(theirs)
            and all(same(a, b) for a, b in zip(mine, theirs, strict=True))
        )
    if isinstance(theirs, float):
        number = GE_IR.message_class("AttrDef")(f=mine).f
        return number == theirs or (math.isnan(number) and math.isnan(theirs))
    return type(mine) is type(theirs) and mine == theirs
