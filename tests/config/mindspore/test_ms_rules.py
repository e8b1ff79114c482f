"""Every rule of MindSpore's tables breaks and keeps as it says; every setting refuses what it must."""

import dataclasses

import pytest

import workbench as wb
from workbench.config.mindspore.form import COMMON, E2E
from workbench.config.mindspore.surfaces import CPU, GE, GPU, O0O1, O2

SURFACES = (O0O1, O2, CPU, GPU, GE)
RULES = [(surface, rule) for surface in SURFACES for rule in surface.rules]


def judged(surface, example):
    return wb.config.of(surface.name, example.form).check(example.context)


@pytest.mark.parametrize(
    ("surface", "rule"), RULES, ids=[f"{surface.name}-{rule.id}" for surface, rule in RULES]
)
def test_a_rule_is_broken_by_one_example_and_kept_by_the_other(surface, rule):
    broken = [p for p in judged(surface, rule.breaks) if p.id == rule.id]
    assert broken
    for problem in broken:
        assert problem.severity == rule.severity
        assert problem.message.code == problem.fix.code == rule.id
        assert problem.message
        assert problem.fix
        assert problem.source
    assert not [p for p in judged(surface, rule.keeps) if p.id == rule.id]


@pytest.mark.parametrize("surface", SURFACES, ids=lambda s: s.name)
def test_rule_names_are_unique(surface):
    ids = [rule.id for rule in surface.rules]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("surface", SURFACES, ids=lambda s: s.name)
def test_an_error_needs_an_error_to_be_refused(surface):
    """Nothing but errors keeps a form from being accepted."""
    for rule in surface.rules:
        accepted = wb.config.of(surface.name, rule.breaks.form).accepted(rule.breaks.context)
        if rule.severity == "error":
            assert not accepted, rule.id


def settings():
    for surface in SURFACES:
        for name, (section, _) in surface.model.sections().items():
            for key, setting in section.settings().items():
                yield surface, name, section, key, setting


def needed(surface, key):
    """What must be set for a key to be read at all."""
    return {
        "statistic_category": {"saved_data": "statistic", "file_format": "npy"},
        "overflow_number": {"op_debug_mode": 3},
        "sample_num": {"sample_mode": 1},
    }.get(key, {})


@pytest.mark.parametrize(("surface", "name", "section", "key", "setting"), list(settings()))
def test_a_setting_refuses_its_bad_value_and_accepts_its_default(
    surface, name, section, key, setting
):
    config = wb.config.new(surface.name)
    for other, value in needed(surface, key).items():
        place = E2E if other == "sample_mode" else COMMON
        config = config.set(f"{place}.{other}", value)
    path = f"{name}.{key}"
    bad = config.set(path, setting.bad)
    found = {p.id for p in bad.check() if p.path.startswith(path)}
    assert found & {"value", "value-unread"}
    if setting.read(bad.data):
        assert "value" in found
    default = section.model_fields[key].default
    default = list(default) if isinstance(default, tuple) else default
    good = config.set(path, default)
    refused = {p.id for p in good.check() if p.path.startswith(path)} & {"value", "value-unread"}
    assert refused == set()


def test_every_field_is_declared_with_help():
    for surface in SURFACES:
        for section, _ in surface.model.sections().values():
            assert list(section.settings()) == list(section.model_fields)
            for setting in section.settings().values():
                assert setting.help
                assert setting.expected
                assert setting.bad is not None


def test_declarations_agree_on_what_a_key_is():
    """The surfaces differ in when a key is read, not in what it means."""
    for surface in SURFACES:
        section = surface.model.sections()[COMMON][0]
        for key, setting in O0O1.model.sections()[COMMON][0].settings().items():
            here = section.settings()[key]
            for field in dataclasses.fields(setting):
                if field.name not in ("required", "read"):
                    assert getattr(here, field.name) == getattr(setting, field.name)


def test_rules_never_raise_on_a_form_without_its_sections():
    for surface in SURFACES:
        for data in ({}, {COMMON: {}}, {COMMON: 1, E2E: 1}, {E2E: {}}):
            wb.config.of(surface.name, data).check()
