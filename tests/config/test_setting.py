"""A form is read by its declarations: nothing is raised, nothing is lost, everything is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.words import check_said
from workbench.config.form.reader import MANY, Reader
from workbench.config.form.settings import (
    Part,
    RuntimeValue,
    Section,
    always,
    choice,
    integer,
    items,
    section,
    sections,
    switch,
    text,
)
from workbench.core.words.render import quoted


class Entry(Section):
    name: str = text("", "Name of an entry.", required=always)
    size: int = integer(0, "Size.", least=0)


class Strict(Section):
    unknown = "error"

    on: bool = switch(False, "A switch.")
    new: int = integer(0, "A newer key.", since="3.0")


def _is_high(form):
    return form.get("level") == "high"


class Form(Section):
    level: str = choice("low", "low high", "How much.")
    count: int = integer(0, "How many.", least=0)
    steps: tuple = items("integer", "Which.")
    names: tuple = items("text", "Whose.")
    sizes: tuple = items("number", "Of.")
    more: int = integer(5, "Read at level high.", read_when=_is_high)
    need: str = text("", "Needed at level high.", required=_is_high)
    new: int = integer(0, "A newer key.", since="2.5")
    old: int = integer(0, "A key of another source.", source="elsewhere")
    entries: tuple = sections(Entry)
    strict: Strict | None = section(Strict, optional=True)


def read(form, version=""):
    def code(key, value):
        return f"{key}={value!r}"

    reader = Reader(form, "the source", version, code)
    return reader.read(Form, form), reader.problems


def told(form, version=""):
    return [(p.id, p.severity, p.path) for p in read(form, version)[1]]


def test_what_fits_is_read_and_what_is_absent_is_at_its_default():
    settings, problems = read({"level": "high", "need": "x", "steps": [1, 2]})
    assert problems == []
    assert (settings.level, settings.steps, settings.count, settings.more) == ("high", (1, 2), 0, 5)
    assert settings.given == {"level", "need", "steps"}


@pytest.mark.parametrize(("key", "value"), [
    *(("level", value) for value in ("mid", "HIGH", "", None, 1, ["low"], {})),
    *(("count", value) for value in (-1, 1.0, "1", True, None, [1])),
    *(("steps", value) for value in ("0", 1, {}, None)),
])  # fmt: skip
def test_a_value_that_does_not_fit_is_one_error_and_the_setting_keeps_its_default(key, value):
    settings, (problem,) = read({key: value})
    assert (problem.id, problem.severity, problem.path) == ("value", "error", key)
    check_said(
        problem.message, "config/value", path=key, expected=Form.settings()[key].expected, got=value
    )
    assert problem.code == f"{key}={value!r}"
    assert problem.source == "the source"
    assert getattr(settings, key) == getattr(Form, key)
    assert key not in settings.given


def test_the_wrong_element_of_a_list_is_named():
    _, (problem,) = read({"steps": [1, "2", 3]})
    assert problem.path == "steps[1]"
    check_said(problem.message, "config/value-integer", path="steps[1]", got="2")
    _, (problem,) = read({"names": ["a", None]})
    check_said(problem.message, "config/value-text", path="names[1]", got=None)
    _, (problem,) = read({"sizes": [1, 0.5, "2"]})
    check_said(problem.message, "config/value-element", path="sizes[2]", got="2")


@pytest.mark.parametrize(("form", "problems"), [
    ({}, []),
    # a setting that is not read may hold anything, and is mentioned
    ({"more": "x"}, [("value-unread", "hint", "more")]),
    ({"more": "x", "level": "high", "need": ""}, [("value", "error", "more")]),
    # a needed key is missing only where it is needed
    ({"level": "high"}, [("missing", "error", "need")]),
    ({"entries": [{}, {"name": "b"}]}, [("missing", "error", "entries[0].name")]),
    ({"entries": [{"name": "a", "size": -1}], "strict": {"on": True}}, [("value", "error", "entries[0].size")]),
])  # fmt: skip
def test_each_place_has_its_own_problem(form, problems):
    assert told(form) == problems


def test_the_value_of_what_is_not_read_is_told():
    check_said(read({"more": "x"})[1][0].message, "config/value-unread", path="more", got="x")


def test_sections_and_lists_of_sections_are_read_in_depth():
    settings, _ = read({"entries": [{"name": "a", "size": -1}], "strict": {"on": True}})
    assert settings.entries[0].name == "a"
    assert settings.strict.on is True


@pytest.mark.parametrize(("form", "path", "code", "got"), [
    ({"entries": {}}, "entries", "config/objects", {}),
    ({"entries": 3}, "entries", "config/objects", 3),
    ({"entries": [{"name": "a"}, 3]}, "entries[1]", "config/object", 3),
    ({"strict": []}, "strict", "config/value", []),
    ({"strict": True}, "strict", "config/value", True),
])  # fmt: skip
def test_what_is_no_section_is_refused(form, path, code, got):
    _, (problem,) = read(form)
    assert (problem.id, problem.path) == ("value", path)
    check_said(problem.message, code, path=path, got=got)


def test_an_unknown_key_is_kept_and_its_neighbour_is_named():
    settings, (problem,) = read({"cuont": {"a": [1]}})
    check_said(problem.message, "config/ignored-key", path="cuont")
    check_said(problem.fix, "config/near-key", near="count")
    assert (problem.severity, problem.code) == ("warning", "")
    assert settings.extra == {"cuont": {"a": [1]}}


def test_an_unknown_key_of_a_strict_section_is_an_error_with_a_code():
    _, (problem,) = read({"strict": {"zzz": 1}})
    check_said(problem.message, "config/unknown-key", path="strict.zzz")
    check_said(problem.fix, "config/known-keys", known=["on", "new"])
    assert (problem.severity, problem.code) == ("error", "zzz=None")


@pytest.mark.parametrize(("key", "version", "fits"), [
    ("new", "", True),
    ("new", "2.4.9", False),
    ("new", "2.5", True),
    ("new", "2.10", True),
])  # fmt: skip
def test_a_key_of_another_version_is_a_warning(key, version, fits):
    assert told({key: 1}, version) == ([] if fits else [("version", "warning", key)])
    for problem in read({key: 1}, version)[1]:
        check_said(problem.message, "config/version", path=key, version=version)
        check_said(problem.fix, "config/version-advice", since="2.5")


def test_a_key_of_another_version_is_an_error_where_unknown_ones_are():
    _, (problem,) = read({"strict": {"new": 1}}, "2.0")
    assert (problem.id, problem.severity, problem.code) == ("version", "error", "new=None")
    check_said(problem.fix, "config/version-advice", since="3.0")


@pytest.mark.parametrize("key", ["count", "strict"])
def test_what_only_a_run_knows_is_shown_and_not_judged(key):
    settings, (problem,) = read({key: RuntimeValue("f(x)")})
    assert (problem.id, problem.severity, problem.path) == ("unresolved", "hint", key)
    check_said(problem.message, "config/unresolved", path=key, expression="f(x)")
    check_said(problem.fix, "config/unresolved-unset")
    assert getattr(settings, key) == getattr(Form, key)


def test_settings_and_sections_together_are_the_fields_of_a_form():
    assert [*Form.settings(), *Form.parts()] == list(Form.fields)
    assert Form.parts() == {
        "entries": Part(Entry, (), many=True),
        "strict": Part(Strict, None, many=False),
    }


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=3) | st.sampled_from(["name", "size", "on"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(list(Form.fields)) | st.text(max_size=3), ANY))
def test_any_form_is_read_and_every_problem_lies_at_one_of_its_keys(form):
    settings, problems = read(form)
    assert isinstance(settings, Form)
    for problem in problems:
        assert problem.path.startswith((*map(str, form), "need"))
        assert "\n" not in str(problem)


@given(ANY)
def test_a_shown_value_is_short_and_on_one_line(value):
    text = quoted(value)
    assert len(text) <= 80
    assert "\n" not in text
    if len(repr(value)) <= 80 and isinstance(value, str | int | None):
        assert text == repr(value)


def test_a_large_value_is_shown_cheaply():
    deep, long = [], 10**10_000
    for _ in range(10**5):
        deep = [deep]
    for got in (list(range(10**6)), "x" * 10**7, deep, {"a": deep}, [deep], long, [long]):
        reader = Reader({}, "test")
        reader.read(Form, {"level": got})
        (problem,) = reader.problems
        assert problem.message.values["got"] is got
        assert len(str(problem.message)) < 160


def test_an_assumed_value_stands_in_for_one_of_a_run_and_is_not_set():
    class Assuming(Section):
        on: bool = switch(False, "switch", run_default=True)

    reader = Reader({}, "test")
    settings = reader.read(Assuming, {"on": RuntimeValue("f(x)")})
    assert settings.on is True
    assert settings.given == set()
    check_said(reader.problems[0].fix, "config/unresolved-assumed", assumed=True)


def test_of_very_many_unknown_keys_some_are_told_and_the_rest_counted():
    reader = Reader({}, "test")
    form = {f"k{number}": 1 for number in range(MANY + 50)}
    assert reader.read(Strict, form).given == set(form)
    assert len(reader.problems) == MANY + 1
    last = reader.problems[-1]
    assert (last.id, last.severity) == ("unknown-key", "error")
    check_said(last.message, "config/more", count=50)


def test_of_very_many_wrong_elements_some_are_told_and_the_others_read():
    reader = Reader({}, "test")
    parts = [{"name": "a"}, *[1] * (MANY + 2), {"name": "b"}]
    assert [part.name for part in reader.read(Form, {"entries": parts}).entries] == ["a", "b"]
    told = [problem for problem in reader.problems if problem.path.startswith("entries")]
    assert len(told) == MANY + 1
    check_said(told[-1].message, "config/more-in", path="entries", count=2)


def is_on(form):
    return form.get("on") is True


class Both(Section):
    on: bool = switch(False, "Whether the other is read.")
    coded: int = integer(0, "A key with a code and source of its own.", code="E1", source="there")
    other: Entry = section(Entry, read_when=is_on)


@pytest.mark.parametrize("value", [[], 1, "x", None])
def test_a_section_that_is_not_read_may_be_anything(value):
    for on, found in ((True, ("value", "error")), (False, ("value-unread", "hint"))):
        reader = Reader({"on": on, "other": value}, "test")
        settings = reader.read(Both, reader.form)
        told = [(p.id, p.severity, p.path, p.source) for p in reader.problems]
        assert told == [(*found, "other", "test")]
        assert (settings.other.values(), settings.other.size) == ({}, 0)
        assert settings.given == {"on"}


def test_settings_of_a_section_that_is_not_read_may_hold_anything():
    told = {}
    for on in (True, False):
        reader = Reader({"on": on, "other": {"size": -1}}, "test")
        reader.read(Both, reader.form)
        told[on] = [(p.id, p.path) for p in reader.problems]
    assert told[True] == [("missing", "other.name"), ("value", "other.size")]
    assert told[False] == [("value-unread", "other.size")]


def test_a_declaration_may_have_its_own_source_and_code():
    assert read({"old": "x"})[1][0].source == "elsewhere"
    reader = Reader({"coded": ""}, "test", code=lambda _key, _value: "E0")
    reader.read(Both, reader.form)
    assert [(p.code, p.source) for p in reader.problems] == [("E1", "there")]


def test_a_section_never_changes_and_equals_one_that_says_the_same():
    one = Entry({"name": "a", "more": 1})
    with pytest.raises(AttributeError, match="name"):
        one.name = "b"
    assert one == Entry({"more": 1, "name": "a"})
    assert one != Entry({"name": "b", "more": 1})
    assert one != Entry({"name": "a"})
    assert Entry({"size": 0}) != Entry()
    assert one.values() == {"name": "a", "more": 1}
    found = Both({"other": one, "on": True}).data()
    assert found == {"on": True, "other": {"name": "a", "more": 1}}
    with pytest.raises(TypeError):
        hash(one)
