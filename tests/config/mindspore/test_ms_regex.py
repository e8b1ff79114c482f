"""Outcomes are those that MindSpore 2.10.0 (libstdc++) gave for the same expressions."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.config.mindspore.regex import to_python


@pytest.mark.parametrize(
    "text",
    [
        *(
            "{",
            "a{",
            "a{1",
            "a{,3}",
            "a{2,1}",
            "(",
            ")",
            "[",
            "[a",
            "*",
            "+",
            "?",
            "(?",
            "(a",
            "a)",
        ),
        *("(?i)a", "(?P<n>a)", "(?<n>a)", "(?<=a)b", "(?#x)", "(?>a)", "(?s:.)", "^*", "$*"),
        *("(?=a)*", "x{100000}", "(x{1000}){1000}", "[[:bad:]]", "[[.ab.]]", "[z-a]", r"[\w-a]"),
        *(
            r"[a-\w]",
            r"\1",
            r"(\1)",
            "\\",
            r"\x4",
            r"\u00",
            r"[\1]",
            r"\b*",
            "[[:alpha:",
            "((",
            "a|*",
        ),
    ],
)
def test_libstdcxx_refuses(text):
    with pytest.raises(ValueError, match="at character"):
        to_python(text)


@pytest.mark.parametrize(
    ("text", "matches", "misses"),
    [
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
    ],
)
def test_a_match_is_the_same_as_there(text, matches, misses):
    pattern = re.compile(to_python(text))
    assert [word for word in matches if not pattern.fullmatch(word)] == []
    assert [word for word in misses if pattern.fullmatch(word)] == []


@given(st.text(st.sampled_from("ab01-^$.*+?()[]{}|\\,:=dwsbBxcu ")))
def test_results_compile_and_are_expressions_of_both_languages(text):
    try:
        result = to_python(text)
    except ValueError:
        return
    re.compile(result)
    assert to_python(result) == result


@given(st.text(st.sampled_from("abc/-_1"), min_size=1))
def test_plain_names_stand_for_themselves(name):
    assert to_python(name) == name


def test_a_thousand_copies_are_taken_and_deep_groups_are_not():
    assert re.fullmatch(to_python("x{1000}"), "x" * 1000)
    with pytest.raises(ValueError, match="groups in each other"):
        to_python("(" * 200 + ")" * 200)
