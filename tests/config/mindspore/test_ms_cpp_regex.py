"""Outcomes are those that MindSpore 2.10.0 (libstdc++) gave for the same expressions."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.cases import nightly
from kit.words import refused
from workbench.config.mindspore import cpp_regex
from workbench.config.mindspore.cpp_regex import to_python
from workbench.core.errors import FormatError


@pytest.mark.parametrize(("fault", "texts"), [
    ("alone", ["{", ")", "*", "+", "?", "a)", "^*", "$*", "(?=a)*", r"\b*", "a|*"]),
    ("brace", ["a{1"]),
    ("number", ["a{", "a{,3}"]),
    ("repetition", ["a{2,1}"]),
    ("parenthesis", ["(", "(a", "(("]),
    ("group", ["(?", "(?i)a", "(?P<n>a)", "(?<n>a)", "(?<=a)b", "(?#x)", "(?>a)", "(?s:.)"]),
    ("states", ["x{100000}", "(x{1000}){1000}"]),
    ("bracket", ["[", "[a", "[[:alpha:"]),
    ("class", ["[[:bad:]]"]),
    ("character", ["[[.ab.]]"]),
    ("range", ["[z-a]", r"[a-\w]"]),
    ("range-class", [r"[\w-a]"]),
    ("reference", [r"\1", r"(\1)"]),
    ("backslash", ["\\"]),
    ("escape", [r"\x4", r"\u00"]),
    ("in-bracket", [r"[\1]"]),
])  # fmt: skip
def test_libstdcxx_refuses(fault, texts):
    for text in texts:
        with refused(f"config/regex-{fault}", FormatError) as caught:
            to_python(text)
        assert re.fullmatch(r"character \d+", caught.value.place)


@pytest.mark.parametrize(("text", "matches", "misses"), [
    ("a**", ["", "aaa"], ["b"]),
    ("a++", ["a", "aa"], [""]),
    ("a*+", ["", "aa"], ["b"]),
    ("a???", ["", "a"], ["aa"]),
    ("a{1,2}{3}", ["aaa", "aaaaaa"], ["aa", "aaaaaaa"]),
    ("a{2,}", ["aa", "aaaa"], ["a"]),
    ("a{2}", ["aa"], ["a", "aaa"]),
    ("[]", [], ["", "a", "]"]),
    ("[^]", ["a", "]", "^"], ["", "ab"]),
    ("[^]+", ["abc"], [""]),
    ("]}", ["]}"], ["]"]),
    ("a|", ["a", ""], ["b"]),
    ("|a", ["a", ""], ["b"]),
    ("()", [""], ["a"]),
    ("(a)\\1", ["aa"], ["a"]),
    ("(?:ab)+c", ["ababc"], ["abac"]),
    ("(?=a)[ab]+", ["ab"], ["ba"]),
    ("(?!a)[ab]+", ["ba"], ["ab"]),
    ("[[:digit:]]+", ["12"], ["1a", ":"]),
    ("[[:upper:]x]", ["A", "x"], ["a"]),
    ("[[.a.]]", ["a"], ["."]),
    ("[[=a=]-]", ["a", "-"], ["="]),
    ("[a-c-e]", ["a", "b", "-", "e"], ["d"]),
    ("[--/]", ["-", ".", "/"], ["0"]),
    ("[-a]", ["-", "a"], ["b"]),
    ("[a-]", ["-", "a"], ["b"]),
    ("[[a]", ["[", "a"], ["]"]),
    (r"a\.b", ["a.b"], ["axb"]),
    (r"\d\D\w\W\s\S", ["1a_. x"], ["aaaaaa"]),
    (r"[\d\.]+", ["1.2"], ["a"]),
    (r"[\Da]", ["x", "a"], ["1"]),
    (r"\x41\u0042\cC\q", ["ABCq"], ["AB"]),
    (r"\\\*", ["\\*"], ["*"]),
    (r"\bDefault\b/.+", ["Default/x"], ["Default"]),
    ("Default/fc.+", ["Default/fc1"], ["Default/fc", "xDefault/fc1"]),
    ("^a$", ["a"], ["ab"]),
])  # fmt: skip
def test_a_match_is_the_same_as_there(text, matches, misses):
    pattern = re.compile(to_python(text))
    assert [word for word in matches if not pattern.fullmatch(word)] == []
    assert [word for word in misses if pattern.fullmatch(word)] == []


@given(st.text(st.sampled_from("ab01-^$.*+?()[]{}|\\,:=dwsbBxcu ")))
def test_results_compile_and_are_expressions_of_both_languages(text):
    try:
        result = to_python(text)
    except FormatError:
        return
    re.compile(result)
    assert to_python(result) == result


@given(st.text(st.sampled_from("abc/-_1"), min_size=1))
def test_plain_names_stand_for_themselves(name):
    assert to_python(name) == name


FIRSTS = [
    ("(x)", 25000), ("(?:x)", 33333), ("x*", 49999), ("x+", 49999), ("x?", 33333),
    ("x{3}", 16667), ("x{0,2}", 14286), ("x{2,}", 16667), ("x{0}", 33333), ("[ab]", 99997),
    ("(?=x)", 25000), ("x|", 25000), ("(?:x|y)", 14286), ("(?=x|y)", 12500),
]  # fmt: skip
"""How often a piece must stand for g++ 12 to refuse the whole: it counts states, up to 100,000."""


@pytest.mark.parametrize(("unit", "first"), nightly(FIRSTS, FIRSTS[5:6]))
def test_states_are_counted_as_there(unit, first):
    to_python(unit * (first - 1))
    with refused("config/regex-states", FormatError, limit=100_000):
        to_python(unit * first)


@pytest.mark.parametrize(("unit", "first"), FIRSTS)
def test_states_of_every_piece_are_counted_up_to_a_small_limit(unit, first, monkeypatch):
    """Four states are around all pieces, and each has as many as the number for 100,000 says."""
    states = (100_000 - 4) // first + 1
    monkeypatch.setattr(cpp_regex, "MAX_STATES", 1000)
    few = (1000 - 4) // states + 1
    to_python(unit * (few - 1))
    with refused("config/regex-states", FormatError, limit=1000):
        to_python(unit * few)


def test_a_thousand_copies_are_taken_and_deep_groups_are_not():
    assert re.fullmatch(to_python("x{1000}"), "x" * 1000)
    with refused("config/regex-depth", FormatError, limit=100):
        to_python("(" * 200 + ")" * 200)
