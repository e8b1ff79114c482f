"""Expressions are matched as ``re`` matches them, and in bounded time."""

import inspect
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import refused
from workbench.config.mindspore.kernels import read_kernel
from workbench.core import regex as expressions
from workbench.core.errors import FormatError
from workbench.core.plan import Selector
from workbench.core.regex import Expression

NAME = "Default/" + "a" * 60

PIECES = st.recursive(
    st.sampled_from(
        [
            "a",
            "b",
            ".",
            "[ab]",
            "[^a]",
            r"\d",
            "[a-c_]",
            r"\W",
            r"[^\w-]",
            r"\b",
            r"\B",
            "^",
            "$",
            "",
        ]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"(?={one})"),
        inner.map(lambda one: f"(?!{one})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=8,
)


def followed(text):
    """An expression whose ways are all followed at once, however few they are."""
    found = Expression(text)
    found._few = False
    return found


@given(PIECES, st.text("ab_1- \n", max_size=6))
def test_following_all_ways_finds_what_re_finds(text, name):
    found = followed(text)
    assert found.fullmatch(name) == (re.fullmatch(text, name) is not None)
    assert found.search(name) == (re.search(text, name) is not None)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("(?:a*)*b", True),
        ("(?:a|a)*b", True),
        ("(?:a|aa)+b", True),
        (".*(?:a+)+$b", False),
        ("(?:.*a){25}b", True),
        ("a?" * 60 + "a" * 60 + "b", True),
        ("(?:(?:a*)*)*b", True),
        ("(?=(?:a*)*c)a", False),
        ("(?:a{1,30}){1,30}b", True),
    ],
)
def test_expressions_with_countless_ways_end(text, ends):
    found = Selector("regex", f"Default/{text}")
    assert not found.matches(NAME, "")
    assert found.matches(NAME + "b", "") == ends


def test_what_takes_too_many_steps_is_refused(monkeypatch):
    monkeypatch.setattr(expressions, "MAX_STEPS", 100)
    with refused("core/expression-steps", FormatError, limit=100, name=NAME):
        Expression("Default/(?:a*)*b").fullmatch(NAME)


def test_references_are_matched_where_ways_are_few_and_refused_where_not():
    assert Expression(r"(.*)/\1").fullmatch("conv/conv")
    assert not Expression(r"(.*)/\1").fullmatch("conv/fc")
    with refused("core/expression-repeats", FormatError):
        Expression(r"(a*)*\1b").fullmatch(NAME)


@pytest.mark.parametrize("text", ["(", "a{2,1}", "*"])
def test_no_expression_is_refused(text):
    with refused("core/expression-invalid", FormatError, got=text):
        Expression(text)


@pytest.mark.parametrize("text", [r"(?i)A", r"(?<=a)b", "(?>a*)b", "a*+b"])
def test_what_only_python_has_is_left_to_it(text):
    for name in ("a", "ab", "b", "aab"):
        assert Expression(text).fullmatch(name) == (re.fullmatch(text, name) is not None)


def test_a_form_cannot_make_a_preview_endless():
    entry = read_kernel("name-regex(Default/(a*)*b)")
    assert entry is not None
    assert not entry.matches(NAME, "")


def test_groups_in_groups_in_groups_are_refused():
    nested = "(?:" * 90 + "a*" + ")*" * 90 + "b"
    found = Expression(nested)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 120)
    try:
        with refused(("core/expression-nested", "core/expression-steps"), FormatError, got=nested):
            found.fullmatch(NAME)
    finally:
        sys.setrecursionlimit(limit)
