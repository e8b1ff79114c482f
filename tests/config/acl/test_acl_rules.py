import pytest
from pydantic import ValidationError

from workbench.config.acl.form import AclForm, Blacklist, Dump, Item, Range
from workbench.config.acl.surface import ACL
from workbench.config.config import Config
from workbench.config.setting import Reader, adapter

RULES = {rule.id: rule for rule in ACL.rules}
SETTINGS = [(s, key) for s in (Dump, Item, Blacklist, Range) for key in s.settings()]


def problems(example):
    return Config(ACL, example.form).check(example.context)


def test_ids_are_unique():
    assert len(RULES) == len(ACL.rules)


@pytest.mark.parametrize("rule", ACL.rules, ids=lambda rule: rule.id)
def test_the_breaking_example_breaks_the_rule(rule):
    found = [p for p in problems(rule.breaks) if p.id == rule.id]
    assert found, [p.id for p in problems(rule.breaks)]
    for problem in found:
        assert (problem.severity, problem.source) == (rule.severity, rule.source)
        assert problem.code == rule.code or rule.id in ("stats-value", "path-expand")
        assert problem.path.startswith("dump")
        assert problem.message.code == problem.fix.code == rule.id
        assert problem.message.values["path"] == problem.path
        assert problem.message
        assert problem.fix


@pytest.mark.parametrize("rule", ACL.rules, ids=lambda rule: rule.id)
def test_the_keeping_example_keeps_it_and_is_accepted(rule):
    found = problems(rule.keeps)
    assert rule.id not in [p.id for p in found]
    assert [p for p in found if p.severity == "error"] == []


@pytest.mark.parametrize("rule", ACL.rules, ids=lambda rule: rule.id)
def test_an_error_is_the_first_thing_that_its_example_breaks(rule):
    errors = [p.id for p in problems(rule.breaks) if p.severity == "error"]
    assert errors[:1] == ([rule.id] if rule.severity == "error" else [])


@pytest.mark.parametrize(("section", "key"), SETTINGS, ids=lambda v: getattr(v, "__name__", v))
def test_the_bad_value_of_a_setting_is_refused_and_its_default_is_not(section, key):
    with pytest.raises(ValidationError):
        adapter(section, key).validate_python(section.settings()[key].bad, strict=True)
    default = section.model_fields[key].default
    if default is not None:
        adapter(section, key).validate_python(default, strict=True)


def test_every_key_is_declared():
    for section in (AclForm, Dump, Item, Blacklist, Range):
        declared = {*section.settings(), *section.sections()}
        assert declared == set(section.model_fields)


def test_every_setting_says_what_it_does():
    for section, key in SETTINGS:
        setting = section.settings()[key]
        assert setting.help
        assert setting.expected


def test_newer_keys_are_dated():
    reader = Reader({"dump": {"dump_path": "d", "dump_stats": ["Max"]}}, "s", "8.0")
    reader.read(AclForm, reader.form)
    assert [(p.id, p.severity, p.path) for p in reader.problems] == [
        ("version", "warning", "dump.dump_stats")
    ]
