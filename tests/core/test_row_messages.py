"""Messages whose words stand in a row: compared by name and values, handed on as they are, written at the end."""

import copy
import math
import pickle

import pytest

from workbench.core.problems import Problem
from workbench.core.words import Message, RowMessage
from workbench.core.words.render import fill, number, quoted, template

ONE = RowMessage("step", "{key}: {fault}", key="dump_step", fault=Message("config/no"))


def test_a_row_message_is_its_name_and_values():
    assert RowMessage("step", "other words", **ONE.values) == ONE
    assert RowMessage("step", ONE.words, key="dump_step") != ONE
    assert RowMessage("steps", ONE.words, **ONE.values) != ONE
    assert len({ONE, RowMessage("step", "other words", **ONE.values)}) == 1


def test_a_row_message_is_copied_and_pickled_with_its_words():
    assert copy.deepcopy(ONE) is ONE
    again = pickle.loads(pickle.dumps(ONE))
    assert (again, again.words, str(again)) == (ONE, ONE.words, str(ONE))


def test_a_problem_is_its_message_and_what_to_do():
    alone = Problem("step", "error", "dump.dump_step", ONE)
    advised = Problem(
        "step", "error", "dump.dump_step", ONE, RowMessage("step", "Write {got}.", got=0)
    )
    assert str(alone) == str(ONE)
    assert str(advised) == f"{ONE}. {advised.fix}"
    assert pickle.loads(pickle.dumps(advised)) == advised


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", 2, ONE], f"a, 2 and {ONE}"),
        (list("abcdefgh"), "a, b, c, d, e, f, g and h"),
        (list("abcdefghi"), "a, b, c, d, e, f, g and 2 more"),
    ],
)
def test_names_are_joined(names, text):
    assert fill("{names:and}", {"names": names}) == text


@pytest.mark.parametrize(
    "value",
    [
        {"b": 1, "a": [2, (3,)]},
        {"a": {}},
        [],
        (1,),
        set(),
        True,
        10**20,
        -1.5,
        None,
        "a\n'b'",
        b"x",
    ],
)
def test_what_is_short_is_quoted_whole(value):
    assert quoted(value) == repr(value)


def test_what_is_long_loses_its_middle():
    text = quoted(dict.fromkeys(range(100), "x"))
    assert len(text) == 80
    assert text.startswith("{0: 'x', 1: 'x'")
    assert text.endswith("...}")


@pytest.mark.parametrize("place", ["", "a.json:3"])
def test_a_message_begins_with_its_place_and_is_written_down_with_it(place):
    message = Message("core/missing", got="x", place=place)
    alone = str(Message("core/missing", got="x"))
    assert str(message) == (f"{place}: {alone}" if place else alone)
    assert eval(repr(message), {"Message": Message}) == message
    assert ("place" in repr(message)) == bool(place)


def test_a_message_never_changes():
    message = Message("core/missing", got="x")
    for name, value in (("code", "core/empty"), ("place", "y"), ("other", 1)):
        with pytest.raises(AttributeError):
            setattr(message, name, value)
    assert (message.code, message.place) == ("core/missing", "")


def test_a_code_without_a_sentence_is_told():
    for code in ("core/no-such-code", "nowhere/missing", "missing"):
        with pytest.raises(LookupError):
            template(code)


FIGURES = {
    0.0: "0",
    -3.0: "-3",
    0.000_999: "1e-3",
    0.001: "0.001",
    0.0123: "0.012",
    99.4: "99",
    99.6: "100",
    100.4: "100",
    9999.0: "9999",
    9999.4: "9999",
    9999.6: "1e4",
    10_000.0: "1e4",
    10_000.5: "1e4",
    10_001.0: "1e4",
    -0.000_04: "-4e-5",
    math.inf: "Inf",
    -math.inf: "-Inf",
}


@pytest.mark.parametrize(("value", "text"), FIGURES.items(), ids=map(str, FIGURES))
def test_a_figure_has_two_digits_and_a_whole_number_all_below_ten_thousand(value, text):
    assert number(value) == text


def test_what_is_no_number_is_said_to_be_none():
    assert number(math.nan) == "NaN"
