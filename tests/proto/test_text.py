"""The text form of messages that no graph has: scalars of every kind. Protobuf's parser is the oracle.

The language itself (layouts, comments, escapes, errors with caret) is held by `tests/graph_files/ge/test_text.py`.
"""

from __future__ import annotations

import math

import pytest
from google.protobuf import text_format

from kit.words import refused
from workbench.core.errors import FormatError
from workbench.core.words import Message
from workbench.proto.schema import Schema, fields
from workbench.proto.text import MAX_SHOWN, TextReader, excerpt, line_of

TOY = Schema(
    "text toy",
    {
        "Net": fields(
            "1 small int32, 2 large int64, 3 word uint32, 4 long uint64, 5 single float, 6 real double, 7 on bool,"
            "8 name string, 9 raw bytes, 10 colour Colour*, 11 parts Net@"
        )
    },
    {"Colour": ("RED", "GREEN")},
)


def read(text: str):
    reader = TextReader(TOY, text, "t")
    return reader.message("Net", 0)[0], reader.unknown


def plain(message):
    """What Google's parser made of a text."""
    found = {}
    for row, value in message.ListFields():
        if row.message_type is not None and row.message_type.GetOptions().map_entry:
            value = {
                key: plain(one) if hasattr(one, "ListFields") else one for key, one in value.items()
            }
        elif row.enum_type is not None:
            value = tuple(row.enum_type.values_by_number[one].name for one in value)
        found[row.name] = value
    return found


TEXTS = [
    "small: -2147483648 large: 9223372036854775807 word: 4294967295 long: 18446744073709551615",
    "small: 0x7fffffff large: -0x10 long: 0xffffffffffffffff word: 017",
    "real: 0.1 on: true name: 'a' 'b' raw: \"\\377\\000\" colour: [RED, GREEN, 1]",
    "real: 1e-300 single: 1.5 real2: 3",
    "parts { key: 'p' value { small: 3 } } parts { key: 'q' }",
]


@pytest.mark.parametrize("text", TEXTS)
def test_every_kind_of_value_is_what_protobuf_reads(text):
    theirs = text_format.Parse(text, TOY.message_class("Net")(), allow_unknown_field=True)
    values, unknown = read(text)
    assert values == plain(theirs)
    assert unknown == text.count("real2")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("small: 2147483648", "int32"), ("small: -2147483649", "int32"), ("word: -1", "uint32"),
        ("long: 18446744073709551616", "uint64"), ("long: -1", "uint64"), ("real: x", "float"),
    ],
)  # fmt: skip
def test_what_does_not_fit_its_kind_is_refused(text, kind):
    with pytest.raises(text_format.ParseError):
        text_format.Parse(text, TOY.message_class("Net")())
    with refused("proto/value-kind", FormatError, place="t:1", expected=Message(f"proto/{kind}")):
        read(text)


def test_a_double_keeps_its_digits_and_a_float_the_fewest_that_name_it():
    values, _ = read("single: 0.100000001490116 real: 0.100000001490116")
    assert values == {"single": 0.1, "real": 0.100000001490116}
    assert math.isinf(read("single: 1e300")[0]["single"])


LONG = "x" * 1000
HALF = MAX_SHOWN // 2


@pytest.mark.parametrize(
    ("text", "position", "line", "shown", "caret"),
    [
        ("abc", 0, 1, "abc", 0),
        ("abc", 3, 1, "abc", 3),
        ("\nabc", 0, 1, "", 0),
        ("\nabc", 1, 2, "abc", 0),
        ("a\nbcd\ne", 4, 2, "bcd", 2),
        ("a\tb\0c\n", 4, 1, "a?b?c", 4),
        (LONG, 500, 1, "x" * MAX_SHOWN, HALF),
        (f"a\n{LONG}", 1001, 2, "x" * (HALF + 1), HALF),
    ],
)
def test_an_error_shows_its_line_or_a_part_of_it_and_a_caret(text, position, line, shown, caret):
    assert line_of(text, position) == line
    assert excerpt(text, position) == f"{shown}\n{' ' * caret}^"
