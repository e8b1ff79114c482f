import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.words import refused
from workbench.config.mindspore.kernels import (
    ascendcl_entry,
    for_ascendcl,
    kernel_text,
    read_kernel,
    read_kernels,
    write_kernel,
)
from workbench.core.errors import FormatError
from workbench.core.plan import Selector


@pytest.mark.parametrize(("entry", "selector"), [
    ("name-regex(Default/fc.+)", Selector("regex", "Default/fc.+")),
    ("Default/conv1-Conv2d/Conv2D-op12", Selector("name", "Default/conv1-Conv2d/Conv2D-op12")),
    ("Conv2D-op12", Selector("name", "Conv2D-op12")),
    ("Conv2D", Selector("type", "Conv2D")),
    ("name-regex(Default", Selector("type", "name-regex(Default")),
    (5, Selector("type", "5")),
    ("", None),
    (" ", None),
])  # fmt: skip
def test_the_three_kinds_are_told_apart(entry, selector):
    assert read_kernel(entry) == selector


def test_blanks_and_quotes_vanish_and_backslashes_stay_doubled():
    assert kernel_text('a "b" c') == "a\\b\\c"
    assert kernel_text(r"name-regex(a\.b)") == r"name-regex(a\\.b)"


def test_a_regular_expression_matches_the_whole_name():
    selector = read_kernel("name-regex(Default/fc.+)")
    assert selector.matches("Default/fc1-Dense/MatMul-op0", "MatMul")
    assert not selector.matches("Net/Default/fc1", "MatMul")
    assert not selector.matches("Default/fc", "MatMul")


def test_a_type_matches_anywhere_and_in_any_case():
    selector = read_kernel("conv2d")
    assert selector.matches("Default/Conv2DBackpropFilter-op0", "Conv2DBackpropFilter")
    assert not selector.matches("Default/conv2d/MatMul-op0", "MatMul")


def test_kinds_come_in_order_and_empty_entries_mean_everything():
    kinds = [s.kind for s in read_kernels(["Conv2D", "a/b", "name-regex(x)", ""])]
    assert kinds == ["regex", "name", "type"]
    assert read_kernels(["", " "]) == ()


@pytest.mark.parametrize(("entry", "text"), [
    ("name-regex (a) ", "name-regex(a)"),
    ('"', "\\"),
    ([], "[]"),
    ([["Add", "x/y"]], "[[Add,x/y]]"),
    ({"b": 1, "a": "Add"}, "{a:Add,b:1}"),
    (None, "null"),
    (True, "true"),
    (1.5, "1.5"),
    ("a\nb", "a\\nb"),
    ("é", "é"),
])  # fmt: skip
def test_an_entry_is_its_json_text_without_quotes_and_blanks(entry, text):
    assert kernel_text(entry) == text


@pytest.mark.parametrize("entry", ["name-regex(", "name-regex", "x-name-regex(a)"])
def test_a_regular_expression_needs_both_ends(entry):
    assert read_kernel(entry).kind != "regex"


def test_a_bad_expression_is_a_format_error():
    with refused("config/regex-parenthesis", FormatError):
        read_kernel("name-regex(()")


def test_an_entry_that_is_there_twice_counts_once():
    assert read_kernels(["Add", "A dd", "Add"]) == (Selector("type", "Add"),)


def means_the_same(selector, again):
    """What is read again is the selector, or an expression for its name."""
    if again != selector:
        assert (selector.kind, again.kind) == ("name", "regex")
        assert again.matches(selector.text, "")
        assert not again.matches(selector.text + "x", "")


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    st.sampled_from(("name", "type", "regex")),
)
def test_what_is_written_means_what_was_meant_or_is_an_expression_for_it(text, kind):
    selector = Selector(kind, text)
    entry = write_kernel(selector)
    if entry is None:
        return
    means_the_same(selector, read_kernel(entry))


@pytest.mark.parametrize(("selector", "entry", "for_acl"), [
    (Selector("regex", "Default/fc.+"), "name-regex(Default/fc.+)", "name-regex(^Default/fc.+$)"),
    (Selector("regex", r"a\\.b"), r"name-regex(a\.b)", r"name-regex(^a\.b$)"),
    (Selector("regex", r"a\.b"), 'name-regex(a".b)', 'name-regex(^a".b$)'),
    (Selector("regex", r'a\."'), 'name-regex(a"."x22)', 'name-regex(^a"."x22$)'),
    (Selector("regex", "a|b"), "name-regex(a|b)", "name-regex(^(?:a|b)$)"),
    (Selector("regex", ".*fc.*"), "name-regex(.*fc.*)", "name-regex(.*fc.*)"),
    (Selector("regex", "(?i)a"), None, None),
    (Selector("name", "Default/Add-op0"), "Default/Add-op0", "Default/Add-op0"),
    (Selector("name", "fc1.weight"), "name-regex(fc1[.]weight)", "fc1.weight"),
    (Selector("name", "]}"), "name-regex(]})", "]}"),
    (Selector("name", "name-regex(a)"), "name-regex(name-regex[(]a[)])", "name-regex(^name-regex[(]a[)]$)"),
    (Selector("name", ""), None, None),
    (Selector("type", "Conv2D"), "Conv2D", None),
    (Selector("type", "a/b"), None, None),
    (Selector("type", "a b"), None, None),
    (Selector("type", ""), None, None),
    (Selector("range", "a", "b"), None, None),
    (Selector("marked"), None, None),
])  # fmt: skip
def test_selectors_are_written_as_entries(selector, entry, for_acl):
    assert (write_kernel(selector), ascendcl_entry(selector)) == (entry, for_acl)


NAMES = ("Default/fc1/MatMul-op0", "Default/fc2/MatMul-op1", "fc1", "Add", "a|b", "")


@pytest.mark.parametrize(
    "text",
    ["fc1", "fc[12]", "^fc1$", ".*fc1.*", "^Default", "fc1|Add", "^fc1|Add$", "^(?:fc1|Add)$",
     ".*(?:fc1|Add).*", ".*(?:fc1)|(?:Add).*", "^(?:fc1)|(?:Add)$", r"op\d$", r".*\.*", ""],
)  # fmt: skip
def test_expressions_are_searched_for_until_msprobe_matches_whole_names(text):
    (found,) = for_ascendcl([Selector("regex", text)], anywhere=True)
    (whole,) = for_ascendcl([Selector("regex", text)], anywhere=False)
    for name in NAMES:
        assert found.matches(name, "") == bool(re.search(text, name)), (found, name)
        assert whole.matches(name, "") == bool(re.fullmatch(text, name)), (whole, name)


def test_a_type_is_the_name_of_an_operator_for_acl():
    (told,) = for_ascendcl([Selector("type", "Add")], anywhere=True)
    assert told.matches("Add", "Mul")
    assert not told.matches("Default/Add-op1", "Add")


@example("[[a]", "regex", False)
@given(
    st.text(st.sampled_from("ab.*^$|()[]\\?:+/"), max_size=9),
    st.sampled_from(("name", "type", "regex")),
    st.booleans(),
)
def test_what_is_written_for_acl_means_the_same_whoever_reads_it(text, kind, anywhere):
    selector = Selector(kind, text)
    entry = ascendcl_entry(selector)
    assert entry is None or kind != "type"
    if entry is None:
        return
    means_the_same(selector, *for_ascendcl(read_kernels([entry]), anywhere=anywhere))
