"""The decoder agrees with the standard library's, and says where text is not JSON."""

import json
import math
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.words import check_said, refused
from workbench.config.form.json_text import MANY, MAX_DEPTH, MAX_PATH, MAX_VALUES, decode_json
from workbench.core.errors import FormatError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def never(name):
    raise ValueError(name)


@given(VALUES, st.sampled_from([None, 0, 1, "\t"]), st.booleans())
def test_whatever_json_can_hold_is_read_as_the_standard_library_reads_it(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert decode_json(text).data == value
    assert repr(decode_json(text).data) == repr(json.loads(text))


PIECES = st.sampled_from(
    [*'{}[],:"\\ \n\t0123456789-+.eEé\x1f', "true", "null", '"a"', "\\u00e9", "tru"]
)


@given(st.lists(PIECES, max_size=12).map("".join))
@example('"\\ud83d\\ude00"')
@example("1e400")
@example("01")
@example("-")
@example("[1,]")
@example('{"a":1,}')
@example('{"a" 1}')
@example('"\\x41"')
@example("\u00a0 1")
def test_text_is_json_for_us_exactly_if_it_is_for_the_standard_library(text):
    """Apart from what a double cannot hold, and from text behind the value, which is only noted."""
    try:
        end = json.JSONDecoder(parse_constant=never).raw_decode(
            text, len(text) - len(text.lstrip(" \t\r\n"))
        )
    except (ValueError, RecursionError):
        end = None
    fault = ""
    try:
        got = decode_json(text)
    except FormatError as error:
        fault = str(error)
    if end is None or not _plain(end[0]):
        assert fault.startswith("<text>:")
    else:
        assert not fault
        assert got.data == end[0]
        assert bool(got.trailing) == bool(text[end[1] :].strip(" \t\r\n"))


def _plain(value):
    """Whether a double and whole characters can hold it."""
    if isinstance(value, list | dict):
        items = value if isinstance(value, list) else [*value, *value.values()]
        return all(map(_plain, items))
    if isinstance(value, str):
        return not any("\ud800" <= c <= "\udfff" for c in value)
    return not isinstance(value, float) or math.isfinite(value)


MALFORMED = {
    "nothing": ("", 1, "end", ""),
    "blanks": (" \n ", 2, "end", ""),
    "not closed": ('{"a": [1, 2', 1, "end", ""),
    "a bare word": ('{"a":\n yes}', 2, "token", "yes}"),
    "not a number": ('{"a": NaN}', 1, "token", "NaN}"),
    "infinity": ("[-Infinity]", 1, "token", "-Infinity]"),
    "too large": ("[1e999]", 1, "number", "1e999"),
    "a leading zero": ("[01]", 1, "array-goes-on", "1"),
    "a leading plus": ("[+1]", 1, "token", "+1]"),
    "no digits behind the point": ("[1.]", 1, "token", ".]"),
    "a single quote": ("{'a': 1}", 1, "token", "'a': 1}"),
    "a key without quotes": ("{a: 1}", 1, "token", "a: 1}"),
    "a number for a key": ('{1: "a"}', 1, "key", "1"),
    "a comma at the end of a list": ("[1,\n]", 2, "value", "]"),
    "a comma at the end of an object": ('{"a": 1,\n}', 2, "key", "}"),
    "a comma too many": ("[1,,2]", 1, "value", ","),
    "no comma": ('{"a": 1\n"b": 2}', 2, "object-goes-on", '"b"'),
    "no colon": ('{"a" 1}', 1, "colon", "1"),
    "two colons": ('{"a":: 1}', 1, "value", ":"),
    "the wrong bracket": ('{"a": [1}\n]', 1, "array-goes-on", "}"),
    "a closing bracket alone": ("]", 1, "value", "]"),
    "a line end inside quotes": ('{"a": "b\nc"}', 1, "token", '"b\nc"}'),
    "a tab inside quotes": ('"a\tb"', 1, "token", '"a\tb"'),
    "an unknown escape": (r'["\q"]', 1, "token", r'"\q"]'),
    "half an escape": (r'["\u12"]', 1, "token", r'"\u12"]'),
    "half a character": (r'["\ud800"]', 1, "character", r'"\ud800"'),
    "a comment": ('{\n// no\n"a": 1}', 2, "token", '// no\n"a": 1}'),
    "windows line ends": ('{\r\n"a": 1,\r\n"b": x\r\n}', 3, "token", "x\r\n}"),
    "a zero byte": ("\0", 1, "token", "\0"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_not_json_is_told_with_its_place_and_line(name):
    text, line, fault, got = MALFORMED[name]
    with refused("config/json", FormatError, place=f"dump.json:{line}") as caught:
        decode_json(text, "dump.json")
    check_said(caught.value.values["why"], f"config/json-{fault}", got=got)
    shown = str(caught.value).split("\n")[1]
    assert shown == text.split("\n")[line - 1].rstrip("\r").replace("\0", r"\x00")


def test_the_caret_stands_below_the_fault():
    with refused("config/json", FormatError, place="<text>:3") as caught:
        decode_json('{\n  "a": 1,\n  "b": yes\n}')
    assert str(caught.value).splitlines()[1:] == ['  "b": yes', "       ^"]


def test_a_long_line_is_shown_without_its_end():
    text = "[" + "1," * 5000 + "x]"
    with pytest.raises(FormatError) as caught:
        decode_json(text)
    assert str(caught.value).splitlines()[1:] == [text[:200]]


def test_every_key_and_element_knows_its_line():
    text = '{\n"dump": {\n\n"list": [\n{"layer": ["a",\n"b"]}],\r\n"path": "x"}}'
    assert decode_json(text).lines == {
        "dump": 2,
        "dump.list": 4,
        "dump.list[0]": 5,
        "dump.list[0].layer": 5,
        "dump.list[0].layer[0]": 5,
        "dump.list[0].layer[1]": 6,
        "dump.path": 7,
    }
    # a key stands where it is written, an element where it begins
    assert decode_json('{"key":\n1, "list": [\n\n2]}').lines == {"key": 1, "list": 2, "list[0]": 4}


def test_a_key_that_appears_again_wins_and_is_noted():
    decoded = decode_json('{"a": 1,\n"b": {"c": 1, "c": 2},\n"a": 3,\n"a": 4}')
    assert decoded.data == {"a": 4, "b": {"c": 2}}
    assert decoded.duplicates == (("b.c", 2), ("a", 3), ("a", 4))


@pytest.mark.parametrize(
    ("text", "line"), [("{}", 0), ("{} \n\t", 0), ("{}\n\n x", 3), ("1 2", 1), ("[]]", 1)]
)
def test_text_behind_the_value_is_noted(text, line):
    assert decode_json(text).trailing == line


def test_a_byte_order_mark_is_passed_over():
    assert decode_json('\ufeff{"a": 1}').data == {"a": 1}


def test_nesting_is_bounded_long_before_python_is():
    deep = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert decode_json(deep).data
    for text in ("[" * (MAX_DEPTH + 1), '{"a":' * 10_000_000, "[" * 10_000_000):
        with refused("config/json", FormatError, place="<text>:1") as caught:
            decode_json(text)
        check_said(caught.value.values["why"], "config/json-deep", limit=MAX_DEPTH)


def test_the_number_of_values_is_bounded():
    assert len(decode_json("[" + "0," * (MAX_VALUES - 2) + "0]").data) == MAX_VALUES - 1
    with refused("config/json", FormatError, place="<text>:1") as caught:
        decode_json("[" + "0," * 10_000_000 + "0]")
    check_said(caught.value.values["why"], "config/json-many", limit=MAX_VALUES)


def test_a_long_text_costs_little_more_than_itself():
    text = '{"a": "' + "x" * 10_000_000 + '"}'
    tracemalloc.start()
    try:
        decode_json(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(text)


def test_long_keys_in_one_another_have_no_paths_of_their_own():
    """The paths alone would be as long as the square of the text."""
    text = '{"a": ' + ('{"' + "k" * 400 + '": ') * (MAX_DEPTH - 1) + "1" + "}" * MAX_DEPTH
    decoded = decode_json(text)
    assert [len(path) for path in decoded.lines] == [1, 402, 803]
    flat = decode_json("[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH)
    assert max(map(len, flat.lines)) <= MAX_PATH


def test_of_very_many_repeated_keys_some_are_told():
    decoded = decode_json("{" + '"a": 1,' * (MANY + 50) + '"b": 2}')
    assert decoded.data == {"a": 1, "b": 2}
    assert len(decoded.duplicates) == MANY
