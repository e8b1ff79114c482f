"""The quick way through text in the layout of protobuf's printer: what it reads, and what it leaves to the scanner.

Texts are made by Google's printer, and its parser says what is in them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from google.protobuf import text_format

from workbench.proto.canonical import Layout, LazyMap, excerpt
from workbench.proto.schema import Schema, fields
from workbench.proto.text import TextReader

TOY = Schema(
    "canonical toy",
    {
        "Net": fields("1 op Op*"),
        "Op": fields(
            "1 name string, 2 input string*, 3 attr Value@, 4 id int64, 5 on bool*, 6 desc Desc*, 7 colour Colour,"
            " 8 data bytes"
        ),
        "Value": fields("1 i int64, 2 s string, 3 desc Desc, 4 func Func"),
        "Desc": fields("1 dim int64*, 2 attr Value@"),
        "Func": fields("1 attr Value@"),
    },
    {"Colour": ("RED", "DARK_RED")},
    frozenset(("Value",)),
)  # fmt: skip
OPS = Layout(
    TOY, "op", "Op", 0, "Value", 2, frozenset(("Desc", "Func")), frozenset(), pieces="Desc"
)
NARROW = replace(
    OPS, schema=replace(TOY, name="canonical toy without Func"), outside=frozenset(("Func",))
)
WHOLE = """
  name: 'a/"\\303\\244' input: ["b:0", "c\\n:1"] id: -7 on: [true, false] colour: DARK_RED data: "\\377\\000"
  attr { key: "n" value { i: 3 } } attr { key: "s" value { s: "\\'" } } attr { key: "d" value { desc { dim: 1 } } }
  desc { dim: [2, -1] attr { key: "k" value { i: 0 } } } desc { }
"""


def printed(fields_of_op: str) -> str:
    """Two operators as Google's printer lays them out, with text before them."""
    net = text_format.Parse(f"op {{ {fields_of_op} }} op {{ id: 1 }}", TOY.message_class("Net")())
    return "head: 1\n" + text_format.MessageToString(net)


def read_both(text: str):
    """Both operators, each by its place, and where they end."""
    first, end = OPS.read(text, text.index("\nop {") + 1)
    second, last = OPS.read(text, end)
    return first, second, end, last


def plain(value):
    """A value without what only looks like a dict or a tuple."""
    if hasattr(value, "items"):
        return {key: plain(one) for key, one in value.items()}
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


@pytest.mark.parametrize("text", [WHOLE, "", "name: 'x'", "input: '' desc { } desc { }"])
def test_an_operator_is_what_the_scanner_makes_of_the_same_text(text):
    whole = printed(text)
    first, second, end, last = read_both(whole)
    scanned, _ = TextReader(TOY, whole.removeprefix("head: 1\n")).message("Net", 0)
    assert [plain(first), plain(second)] == [plain(one) for one in scanned["op"]]
    assert (whole[end : end + 4], last) == ("op {", len(whole))
    assert len(first) == len(dict(first))


def test_values_are_those_that_were_printed():
    first, *_ = read_both(printed(WHOLE))
    assert [*first] == ["name", "input", "attr", "id", "on", "desc", "colour", "data"]
    assert (first["name"], first["input"], first["id"]) == ('a/"ä', ("b:0", "c\n:1"), -7)
    assert (first["on"], first["colour"], first["data"]) == ((True, False), "DARK_RED", b"\xff\0")
    assert first["attr"]["n"] == {"i": 3}
    assert sorted(first["attr"]) == ["d", "n", "s"]
    assert [plain(one) for one in first["desc"]] == [{"dim": (2, -1), "attr": {"k": {"i": 0}}}, {}]
    for missing in (first, first["attr"], first["desc"][1]):
        with pytest.raises(KeyError):
            missing["nothing"]
    assert repr(first["attr"]) == repr(dict(first["attr"]))
    assert isinstance(first["attr"], LazyMap)


LAID_OUTSIDE = {
    "a colon before the block": ("\nop {", "\nop: {"),
    "no line before the field": ("\nop {", " op {"),
    "fields in another order": ("  id: -7\n", '  id: -7\n  name: "b"\n'),
    "blanks of another number": ("  id: -7\n", "   id: -7\n"),
    "a number in hexadecimal": ("id: -7", "id: -0x7"),
    "a number for a text": ('name: "a', "name: 3 #"),
    "an escape of C": ("\\377", "\\xff"),
    "a field that is new": ("  id: -7\n", "  id: -7\n  new: 1\n"),
    "two of one value": ("    i: 3\n", '    i: 3\n    s: "x"\n'),
    "a block that stays open": ("\n}\nop {", "\nop {"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), LAID_OUTSIDE.values(), ids=LAID_OUTSIDE)
def test_another_layout_is_left_to_the_scanner(old, new):
    text = printed(WHOLE)
    changed = text.replace(old, new, 1)
    assert changed != text
    place = changed.index("op", changed.index("head") + 7)
    assert OPS.read(changed, place) is None


def nested(levels: int) -> str:
    """Attributes of tensors of attributes …, and a number at the bottom."""
    value = "i: 1"
    for _ in range(levels):
        value = f"desc {{ attr {{ key: 'k' value {{ {value} }} }} }}"
    return f"attr {{ key: 'a' value {{ {value} }} }}"


@pytest.mark.parametrize(
    ("text", "layout", "quick"),
    [
        (nested(0), OPS, True),
        (nested(1), OPS, True),
        (nested(2), OPS, False),
        ("attr { key: 'f' value { func { } } }", OPS, True),
        ("attr { key: 'f' value { func { } } }", NARROW, False),
    ],
)  # fmt: skip
def test_messages_inside_each_other_are_read_as_deep_as_the_layout_says(text, layout, quick):
    whole = printed(text)
    assert (layout.read(whole, whole.index("\nop {") + 1) is not None) == quick


def test_pieces_and_excerpts_are_the_lines_of_the_text():
    first, *_ = read_both(printed(WHOLE))
    one, two = first.pieces("desc")
    assert one.startswith("    dim: 2\n    dim: -1\n")
    assert (two, first.pieces("nothing")) == ("", [])
    text = "  id: 1\n" + "".join(
        f'  attr {{\n    key: "{key}"\n    value {{\n      i: 1\n    }}\n  }}\n' for key in "abc"
    )
    found = excerpt(text, "attr", 2, ("c", "x", "a"))
    assert TextReader(TOY, found).message("Op", 0)[0] == {
        "id": 1,
        "attr": {"c": {"i": 1}, "a": {"i": 1}},
    }
    assert excerpt("  id: 1\n", "attr", 2, ("a",)) == "  id: 1\n"
