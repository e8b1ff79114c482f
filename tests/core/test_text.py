"""Text that nobody vouches for: nothing in it is obeyed or hidden, and a program gets it whole."""

import ast
import html
import json
import sys
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.hostile import NAMES, controls
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.text import (
    LONG,
    brief,
    editable,
    escape,
    escape_whole,
    json_escape,
    json_visible,
    one_line,
    readable,
    shorten,
    visible,
    visible_lines,
)

ANYTHING = st.text(st.characters(codec=None), max_size=40)
EVERY = "".join(map(chr, range(sys.maxunicode + 1)))


@pytest.fixture(scope="module")
def kinds():
    """Unicode category of every character."""
    return [unicodedata.category(character) for character in EVERY]


def test_exactly_controls_formats_surrogates_and_separators_are_spelled(kinds):
    hidden = {
        c for c, kind in zip(EVERY, kinds, strict=True) if kind in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }
    spelled = {c for c in EVERY if visible(c) != c}
    unassigned = {c for c, kind in zip(EVERY, kinds, strict=True) if kind == "Cn"}
    assert hidden - {"\t"} <= spelled
    assert spelled <= hidden | unassigned


@given(ANYTHING)
def test_what_is_spelled_reads_back_as_python_does(text):
    plain = text.replace("\\", "/")
    assert ast.literal_eval('"' + visible(plain).replace('"', '\\"') + '"') == plain


@given(ANYTHING)
def test_lines_stay_lines_and_a_name_stays_one(text):
    assert visible_lines(text).count("\n") == text.count("\n")
    assert "\n" not in one_line(text)
    for shown in (visible(text), visible_lines(text), readable(text), one_line(text), brief(text)):
        assert controls(shown) == []


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_no_name_gets_through(name):
    for shown in (readable(name), one_line(name), brief(name), escape(name), escape_whole(name)):
        assert controls(shown) == []
    told = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attributes: told.append((tag, attributes))
    reader.feed(f'<p title="{escape(name)}">{escape(name)}</p>')
    assert told == [("p", [("title", readable(name))])]
    assert html.unescape(escape_whole(name)) == visible_lines(name)


@example("x" * 2500, 40)
@given(st.text("ab ", min_size=1, max_size=3000), st.integers(1, 300))
def test_what_is_shortened_has_the_width_and_says_how_much_is_missing(text, width):
    text *= 4
    shown = shorten(text, width)
    assert min(width, len(text)) - 2 <= len(shown) <= min(width, len(text))
    if len(text) > max(LONG, width) and width >= 28:
        head, _, rest = shown.partition("…[")
        count, _, tail = rest.partition(" more]…")
        assert len(head) + len(tail) + int(count.replace(",", "")) == len(text)
        assert text.startswith(head)
        assert text.endswith(tail)


def test_words_of_bearable_length_are_not_cut():
    words = " ".join(["w" * LONG] * 5)
    assert one_line(words) == words
    assert len(one_line("w" * (LONG + 1))) < 300


@given(
    st.recursive(
        ANYTHING,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANYTHING, inner, max_size=3),
    )
)
def test_json_loses_nothing(value):
    text = json_visible(json.dumps(value, ensure_ascii=False, indent=1))
    assert json.loads(text) == value
    assert controls(text) == []


@given(st.characters(codec=None))
def test_escapes_of_json_are_those_of_json(character):
    assert json.loads(f'"{json_escape(character)}"') == character


def test_messages_of_errors_are_readable():
    for name in NAMES.values():
        assert controls(str(WorkbenchError("core/missing", got=name))) == []
        assert controls(str(WorkbenchError("core/missing", got="x", place=name))) == []
    why = "broken\n  {\n  ^"
    error = FormatError("core/unreadable", place="a.json:1", subject="file", why=why)
    assert str(error).splitlines()[1:] == ["  {", "  ^"]


def test_inputs_take_all_but_lone_surrogates_as_it_is():
    for key, name in NAMES.items():
        assert (editable(name) == name) == (key != "surrogate")
        assert editable(name).encode("utf-8")
