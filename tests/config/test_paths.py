"""Paths of settings: every part of a form has one, and changes are copies."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import misconfigured
from workbench.config.form.paths import assign, delete, lookup, place_of, steps
from workbench.core.errors import ConfigError

FORM = {"dump": {"list": [{"layer": ["a", "b"]}, {}], "path": "x"}, "n": None}
KEY = st.text("abc_- é1", min_size=1, max_size=3)
FORMS = st.dictionaries(
    KEY,
    st.recursive(
        st.integers() | st.none(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=3,
)


def parts(value, path=""):
    """Every path of a form and what it holds, found by walking it."""
    if isinstance(value, dict):
        for key, item in value.items():
            here = f"{path}.{key}" if path else key
            yield here, item
            yield from parts(item, here)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield f"{path}[{index}]", item
            yield from parts(item, f"{path}[{index}]")


@pytest.mark.parametrize(("path", "expected"), [
    ("dump", ["dump"]),
    ("dump.list[0].layer[12]", ["dump", "list", 0, "layer", 12]),
    ("a[0][1]", ["a", 0, 1]),
    ("a b.é", ["a b", "é"]),
])  # fmt: skip
def test_a_path_is_keys_and_indices(path, expected):
    assert steps(path) == expected


@given(FORMS)
def test_every_part_of_a_form_is_found_at_its_path(form):
    for path, value in parts(form):
        assert lookup(form, path, "none") is value


@pytest.mark.parametrize(
    "path",
    ["x", "dump.x", "dump.list[2]", "dump[0]", "dump.path.x", "n.x", "dump.list.layer", "n[0]"],
)
def test_what_is_not_there_is_the_default(path):
    assert lookup(FORM, path, "none") == "none"


@given(FORMS, st.integers())
def test_an_assigned_value_is_found_and_nothing_else_changes(form, value):
    before = copy.deepcopy(form)
    for path, _ in list(parts(form)):
        changed = assign(form, path, value)
        assert lookup(changed, path) == value
        for other, item in parts(form):
            if not (other.startswith(path) or path.startswith(other)):
                assert lookup(changed, other, "none") == item
    assert form == before


@given(FORMS)
def test_a_deleted_value_is_gone_and_putting_a_key_back_restores_the_form(form):
    before = copy.deepcopy(form)
    for path, value in list(parts(form)):
        without = delete(form, path)
        assert dict(parts(without)) != dict(parts(form))
        if isinstance(steps(path)[-1], str):
            assert lookup(without, path, "none") == "none"
            assert assign(without, path, value) == form
    assert form == before


def test_missing_objects_are_made_and_lists_grow_by_one():
    assert assign({}, "a.b[0].c", 1) == {"a": {"b": [{"c": 1}]}}
    assert assign({"a": [1]}, "a[1]", 2) == {"a": [1, 2]}
    assert assign({"a": 5}, "a.b", 2) == {"a": {"b": 2}}
    assert delete(FORM, "dump.x") is FORM
    with misconfigured("path", "config/path-index", path="a[2]", index=2, length=1):
        assign({"a": [1]}, "a[2]", 3)


NO_PATH = (
    "",
    ".",
    "a.",
    ".a",
    "a..b",
    "a[",
    "a[x]",
    "a]",
    "[0]",
    "a[-1]",
    "a[0]b",
    "a[0].",
    "a[²]",
)


@pytest.mark.parametrize("path", [*NO_PATH, "a[" + "9" * 5000 + "]", "a." * 5000 + "a"])
def test_what_is_no_path_is_refused_and_holds_nothing(path):
    for change in (lambda: assign(FORM, path, 1), lambda: delete(FORM, path)):
        with misconfigured("path", "config/path", got=path):
            change()
    assert lookup(FORM, path, "none") == ("none" if path else FORM)


@given(st.text(max_size=12))
def test_any_text_is_a_path_or_refused(path):
    assert isinstance(steps(path), list)
    lookup(FORM, path)
    place_of({"a": 1}, path)
    try:
        got = lookup(assign({}, path, 7), path)
    except ConfigError as error:
        got = error.problems[0].id
    assert got in (7, "path")


@pytest.mark.parametrize(
    ("path", "line"),
    [("a.b[1].c", 5), ("a.b[1].x.y", 4), ("a.b[2]", 3), ("a.x", 2), ("x.y", 0), ("", 0)],
)
def test_a_path_stands_where_its_innermost_known_part_stands(path, line):
    assert place_of({"a": 2, "a.b": 3, "a.b[1]": 4, "a.b[1].c": 5}, path) == line


def test_a_path_that_is_nothing_but_steps_is_placed_without_taking_them_all():
    """A key of a million dots would be cut a million times."""
    assert place_of({"a": 3}, "a" + "." * 1_000_000) == 3
