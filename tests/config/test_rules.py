"""A row of a table of rules looks at the places that it names, and says what it finds there."""

import pytest

from kit.words import check_said
from workbench.config.context import Context
from workbench.config.form.kinds import RECORD
from workbench.config.form.reader import MANY
from workbench.config.form.rules import Example, Reading, Rule
from workbench.config.form.settings import Section, items, section, sections, setting, text


class Part(Section):
    name: str = text("n", "Name.")
    tags: tuple = items("text", "Tags.")


class Whole(Section):
    mode: str = text("m", "Mode.")
    options: dict = setting(RECORD, {}, "Options.")
    first: tuple = sections(Part)
    second: tuple = sections(Part)
    alone: Part | None = section(Part, optional=True)


def row(at, when=lambda r, at: True, code=""):
    example = Example({})
    return Rule(
        "row", "warning", at, when, "{path} {key}", "Mend it.", "here", example, example, code
    )


def broken(rule, form):
    return list(rule.problems(Reading(form, Context())))


def paths(rule, form):
    return [problem.path for problem in broken(rule, form)]


FORM = Whole(
    {
        "mode": "x",
        "options": {"a.b": 1, "c": 2},
        "first": (Part({"name": "p", "tags": ("s", "t")}), Part()),
        "second": (Part({"tags": ("u",)}),),
    }
)


@pytest.mark.parametrize(("at", "expected"), [
    ("mode", ["mode"]),
    ("mode first", ["mode", "first"]),
    ("first[]", ["first[0]", "first[1]"]),
    ("first[].name", ["first[0].name", "first[1].name"]),
    ("first[].tags[]", ["first[0].tags[0]", "first[0].tags[1]"]),
    ("first|second[].tags[]", ["first[0].tags[0]", "first[0].tags[1]", "second[0].tags[0]"]),
    # entry by entry: both keys of an entry come before the next entry
    ("first[].name|tags", ["first[0].name", "first[0].tags", "first[1].name", "first[1].tags"]),
    ("options.*", ["options.a.b", "options.c"]),
    ("alone.name", []),
    ("alone", ["alone"]),
    ("elsewhere.name", []),
])  # fmt: skip
def test_a_row_looks_at_every_place_that_its_path_means(at, expected):
    assert paths(row(at), FORM) == expected


def test_a_place_knows_its_value_whether_it_is_set_and_the_entries_above():
    seen = {}

    def note(_reading, at):
        seen[at.path] = (at.value, at.given, at.entries)

    for at in ("mode", "first[].name", "first[].tags[]"):
        broken(row(at, note), FORM)
    one, two = FORM.first
    assert seen == {
        "mode": ("x", True, ()),
        "first[0].name": ("p", True, (one,)),
        "first[1].name": ("n", False, (two,)),
        "first[0].tags[0]": ("s", True, (one, "s")),
        "first[0].tags[1]": ("t", True, (one, "t")),
    }


@pytest.mark.parametrize(("at", "found", "values"), [
    ("mode", True, [{"got": "x"}]),
    ("mode", False, []),
    ("mode", None, []),
    ("mode", [], []),
    ("mode", {"got": 7}, [{"got": 7}]),
    ("mode", {"limit": 3}, [{"got": "x", "limit": 3}]),
    ("mode", [{"n": 1}, {"n": 2}], [{"got": "x", "n": 1}, {"got": "x", "n": 2}]),
    ("first[].tags", True, [{"got": ["s", "t"]}, {"got": []}]),
])  # fmt: skip
def test_what_is_found_is_told_with_its_values(at, found, values):
    told = [dict(p.message.values) for p in broken(row(at, lambda r, at: found), FORM)]
    assert [{k: v for k, v in one.items() if k not in ("path", "key")} for one in told] == values


@pytest.mark.parametrize(("at", "path", "value", "given"), [
    ("$FOLDER", "FOLDER", "/d", True),
    ("$EMPTY", "EMPTY", "", True),
    ("$UNSET", "UNSET", "", False),
    ("$version", "version", "2.5", True),
])  # fmt: skip
def test_a_row_may_look_at_what_the_form_is_judged_by(at, path, value, given):
    seen = []
    context = Context("2.5", {"FOLDER": "/d", "EMPTY": ""})
    list(row(at, lambda _, at: seen.append(at)).problems(Reading(FORM, context)))
    assert [(one.path, one.value, one.given) for one in seen] == [(path, value, given)]


def test_a_breach_may_name_its_own_code_and_lie_below_the_place():
    def find(_reading, at):
        return [{"code": "T1"}, {"below": ".deep"}]

    found = broken(row("mode", find, code="T0"), FORM)
    assert [(p.path, p.code) for p in found] == [("mode", "T1"), ("mode.deep", "T0")]
    assert [p.message.values["key"] for p in found] == ["mode", "deep"]


def test_of_very_many_places_where_a_rule_is_broken_some_are_told_and_the_rest_counted():
    *told, last = broken(row("first[].name"), Whole({"first": (Part(),) * (MANY + 50)}))
    assert [problem.path for problem in told] == [f"first[{n}].name" for n in range(MANY)]
    assert (last.id, last.severity, last.fix) == ("row", "warning", "")
    check_said(last.message, "config/more", count=50)
