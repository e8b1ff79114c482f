"""What every surface promises of its tables of rules and settings."""

from dataclasses import replace

import pytest

import workbench as wb
from workbench.config.config import of_example
from workbench.config.form.settings import Section, choice, declared
from workbench.config.help import surface_help
from workbench.config.mindspore.settings import COMMON, E2E
from workbench.config.schema import json_schema
from workbench.config.surface import SURFACES, get
from workbench.ui.widgets.fields import fields_of

RULES = [(name, rule) for name in SURFACES for rule in get(name).rules]
SETTINGS = [(name, *row) for name in SURFACES for row in declared(get(name).model)]

OWN_CODES = {
    "stats-value": {"EP0001", "EP0002"},
    "path-expand": {"EP0003"},
    "path-empty": {"Exception"},
    "path-folder": {"FileNotFoundError", "EP0003"},
    "ge-step": {"E10001"},
    "ge-collect-path": {"E10056"},
    "config-file": {"EP0003", "EP0005"},
}
"""Rules whose code depends on what is found, with the codes of their examples."""

READ_WITH = {
    "statistic_category": {f"{COMMON}.saved_data": "statistic", f"{COMMON}.file_format": "npy"},
    "overflow_number": {f"{COMMON}.op_debug_mode": 3},
    "sample_num": {f"{E2E}.sample_mode": 1},
    "dump_debug_mode": {"dump.enable_dump_debug": True},
}
"""What must be set for a setting to be read at all."""


def judged(name, example):
    return of_example(get(name), example).check(example.context)


def errors(problems):
    return [problem.id for problem in problems if problem.severity == "error"]


def named(rows):
    return [f"{name}-{getattr(first, 'id', first)}" for name, first, *_ in rows]


@pytest.mark.parametrize("name", SURFACES)
def test_rules_have_names_of_their_own(name):
    ids = [rule.id for rule in get(name).rules]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("name", "rule"), RULES, ids=named(RULES))
def test_a_rule_is_broken_by_one_example_and_kept_by_the_other(name, rule):
    broken = [problem for problem in judged(name, rule.breaks) if problem.id == rule.id]
    assert broken
    for problem in broken:
        assert (problem.severity, problem.source) == (rule.severity, rule.source)
        assert problem.code == rule.code or problem.code in OWN_CODES[rule.id]
        assert problem.message.code == problem.fix.code == rule.id
        assert problem.message
        assert problem.fix
        assert problem.source
    assert rule.id not in [problem.id for problem in judged(name, rule.keeps)]


@pytest.mark.parametrize(("name", "rule"), RULES, ids=named(RULES))
def test_an_example_is_refused_by_its_rule_alone(name, rule):
    found = errors(judged(name, rule.breaks))
    assert found[:1] == ([rule.id] if rule.severity == "error" else [])
    assert errors(judged(name, rule.keeps)) == []


@pytest.mark.parametrize(
    ("name", "path", "setting"), SETTINGS, ids=named([row[:2] for row in SETTINGS])
)
def test_a_setting_refuses_its_bad_value_and_takes_its_default(name, path, setting):
    config = wb.config.new(name)
    for other, value in READ_WITH.get(path.rpartition(".")[2], {}).items():
        config = config.set(other, value)
    place = path.replace("[]", "[0]")

    def refusals(value):
        changed = config.set(place, list(value) if isinstance(value, tuple) else value)
        found = {problem.id for problem in changed.check() if problem.path.startswith(place)}
        return changed, found & {"value", "value-unread"}

    changed, found = refusals(setting.misfit)
    assert found == {"value" if setting.read_when(changed.data) else "value-unread"}
    if setting.default is not None:
        assert refusals(setting.default)[1] == set()


@pytest.mark.parametrize(
    ("name", "path", "setting"), SETTINGS, ids=named([row[:2] for row in SETTINGS])
)
def test_a_setting_says_what_it_is(name, path, setting):
    assert setting.help
    assert setting.expected


@pytest.mark.parametrize("name", SURFACES)
def test_no_setting_hides_what_a_section_is_asked(name):
    sections = [get(name).model]
    for section in sections:
        assert not section.fields.keys() & {*dir(Section), *Section.__annotations__}
        sections += [part.model for part in section.parts().values()]


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("value", [None, 1, {}, [], "text"], ids=str)
def test_any_value_of_a_section_is_judged(name, value):
    for key in get(name).model.fields:
        wb.config.of(name, {key: value}).check()


class Toy(Section):
    level: str = choice("all", "op kernel all", "What is dumped.", since="2.0")


def test_one_line_is_all_that_a_setting_needs():
    """Reading, refusal, help, schema and input follow from its declaration."""
    surface = replace(get("acl"), name="toy", model=Toy, rules=())
    form = replace(wb.config.new("acl"), surface=surface, data={"level": "kernel"})
    assert (form.settings.level, Toy().level) == ("kernel", "all")
    refused = replace(form, data={"level": 1}).settings
    assert (refused.level, refused.given) == ("all", frozenset())
    schema = json_schema(surface)["properties"]["level"]
    assert schema["enum"] == ["op", "kernel", "all"]
    assert schema["default"] == "all"
    for words in ("What is dumped.", "'op', 'kernel' or 'all'", "2.0"):
        assert words in surface_help(surface, "level")
    (field,) = fields_of(Toy)
    assert [value for _, value in field.input.options][1:] == ["op", "kernel", "all"]
