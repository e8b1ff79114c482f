"""What each kind of setting takes: edges that a vendor's reader knows, and its JSON Schema as an oracle of the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kit.cases import NO, read_kind
from workbench.config.form.kinds import (
    ANY,
    RECORD,
    SWITCH,
    TEXT,
    Misfit,
    choice_of,
    converted,
    either,
    integer_from,
    list_of,
    optional,
    text_like,
    uint32,
    unsigned,
    where,
)
from workbench.config.msprobe.kinds import (
    ANY_MODES,
    FIGURE_LIST,
    MODE_LIST,
    NUMBER_LIST,
    SLICE_LIST,
    or_nothing,
)

LETTERS = text_like(r"^[a-z]+$")


@pytest.mark.parametrize(("kind", "value", "kept"), [
    (SWITCH, True, True), (SWITCH, 1, NO), (SWITCH, "true", NO), (SWITCH, None, NO),
    (choice_of(0, 1), 1, 1), (choice_of(0, 1), True, NO), (choice_of(0, 1), 1.0, NO), (choice_of(0, 1), 2, NO),
    (choice_of("on", "off"), "on", "on"), (choice_of("on", "off"), "ON", NO), (choice_of("on", "off"), ["on"], NO),
    (integer_from(), -5, -5), (integer_from(), True, NO), (integer_from(), 1.0, NO),
    (integer_from(), 10**30, 10**30),
    (integer_from(1), 1, 1), (integer_from(1), 0, NO),
    (TEXT, "", ""), (TEXT, "\ud800", "\ud800"), (TEXT, b"x", NO),
    (LETTERS, "abc", "abc"), (LETTERS, "abc\n", NO), (LETTERS, "", NO), (LETTERS, "1", NO), (LETTERS, 5, NO),
    (text_like("a"), "\ud800a", NO), (text_like("a"), "xax", "xax"),
    (list_of("text"), ["a"], ("a",)), (list_of("text"), ("a",), ("a",)), (list_of("text"), "a", NO),
    (list_of("number"), [1, 0.5, True], (1, 0.5, True)), (list_of("any"), [None, []], (None, [])),
    (RECORD, {"a": 1}, {"a": 1}), (RECORD, {1: 2}, NO), (RECORD, [], NO),
    (optional(integer_from(0)), None, None), (optional(integer_from(0)), -1, NO),
    (either(SWITCH, list_of("integer")), True, True), (either(SWITCH, list_of("integer")), [1], (1,)),
    (either(SWITCH, list_of("integer")), 1, NO),
    (where(str.isupper, TEXT), "A", "A"), (where(str.isupper, TEXT), "a", NO), (where(str.isupper, TEXT), 1, NO),
    (converted(lambda value: value or "x", TEXT), None, "x"), (converted(str, choice_of("1")), 1, "1"),
    (ANY, NO, NO), (ANY, None, None),
    (unsigned(choice_of(0, 1)), 2**32 + 1, 1), (unsigned(choice_of(0, 1)), 2**32 + 2, NO),
    (unsigned(integer_from(1)), 2**32, NO), (unsigned(integer_from(1)), 2**64 - 1, 2**32 - 1),
    (unsigned(integer_from(0)), 2**64, NO), (unsigned(integer_from(0)), -1, NO),
    (unsigned(integer_from(0)), True, NO),
])  # fmt: skip
def test_a_kind_takes_what_the_vendor_takes(kind, value, kept):
    found = read_kind(kind, value)
    assert found is kept if kept is NO else (found == kept and type(found) is type(kept))


@pytest.mark.parametrize(("kind", "value", "index", "word"), [
    (list_of("text"), ["a", None], 1, "text"),
    (list_of("integer"), [0, True], 1, "integer"),
    (list_of("number"), ["1"], 0, "element"),
    (list_of("text"), "a", None, "element"),
])  # fmt: skip
def test_a_misfit_names_the_element_and_what_it_must_be(kind, value, index, word):
    with pytest.raises(Misfit) as misfit:
        kind.read(value)
    assert (misfit.value.index, misfit.value.word) == (index, word)


@pytest.mark.parametrize(("kind", "expected"), [
    (choice_of("a"), "'a'"),
    (choice_of("a", "b"), "'a' or 'b'"),
    (choice_of(0, 1, 2), "0, 1 or 2"),
    (integer_from(3), "an integer of at least 3"),
    (either(SWITCH, TEXT), "true or false or text"),
    (where(bool, TEXT, "a folder"), "a folder"),
    (optional(SWITCH), "true or false"),
])  # fmt: skip
def test_a_kind_says_what_it_takes(kind, expected):
    assert kind.expected == expected


KINDS = [
    SWITCH, choice_of("on", "off"), choice_of(0, 1, 2), integer_from(), integer_from(1), TEXT, LETTERS,
    *map(list_of, ("any", "text", "integer", "number")), RECORD, optional(LETTERS), either(SWITCH, list_of("text")),
    NUMBER_LIST, MODE_LIST, SLICE_LIST, FIGURE_LIST, ANY_MODES, or_nothing(choice_of("on", "off"), "off"),
]  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 5)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: number % 1)
    | st.sampled_from(["", "on", "off", "abc", "Abc", "é", "0", "2-4", "all", "input", "max", "mean", "md5"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["a", "dim", "size", "begin"]), inner, max_size=2)
    ),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=map(str, range(len(KINDS))))
def test_the_example_of_a_kind_is_refused_by_it_and_by_its_schema(kind):
    assert read_kind(kind, kind.misfit) is NO
    assert not Draft202012Validator(kind.schema).is_valid(kind.misfit)


@given(st.sampled_from(KINDS), VALUES)
def test_a_kind_and_its_schema_take_the_same(kind, value):
    assert Draft202012Validator(kind.schema).is_valid(value) == (read_kind(kind, value) is not NO)


@given(st.integers())
def test_32_bits_are_kept_of_64(number):
    kept = number & 0xFFFFFFFF if number >= 0 and number.bit_length() <= 64 else None
    assert uint32(number) == kept


def test_a_list_says_what_it_is_and_what_it_refuses():
    kind = list_of("any")
    assert kind.expected == "a list"
    with pytest.raises(Misfit):
        kind.read(kind.misfit)
