"""Help says what the check would say, from the same tables."""

import re

import pytest

from kit.words import misconfigured
from workbench.config import surfaces
from workbench.config.help import declared, surface_help


def rules_told(text):
    return dict(re.findall(r"^  (?:error|warning|hint) \[([a-z0-9-]+)\] (.*) \(.*\)$", text, re.M))


@pytest.mark.parametrize("name", surfaces.HOMES)
def test_every_rule_is_told_in_whole_words(name):
    surface = surfaces.get(name)
    told = {}
    for path, setting, _ in declared(surface.model):
        text = surface_help(surface, path)
        assert text.startswith(f"{path}: {setting.help}\n")
        told.update(rules_told(text))
    assert told
    for rule in surface.rules:
        blanks = re.findall(r"\{[a-z_]+\}", rule.says + rule.fix)
        assert not [blank for blank in blanks if blank in told.get(rule.id, "")], rule.id


def test_the_words_are_those_of_an_example():
    told = rules_told(surface_help(surfaces.get("acl"), "dump.dump_step"))
    assert set(told) == {"step", "debug-step", "volume"}
    (rule,) = (rule for rule in surfaces.get("acl").rules if rule.id == "debug-step")
    config = surfaces.of("acl", rule.breaks.form)
    assert told["debug-step"] in {str(problem) for problem in config.check(rule.breaks.context)}


def test_a_surface_lists_its_settings_and_names_them_where_one_is_unknown():
    surface = surfaces.get("torchair")
    head, *rows = surface_help(surface).splitlines()
    assert head == f"{surface.title} (as {surface.product} {surface.version} reads it)"
    paths = [path for path, _, _ in declared(surface.model)]
    assert [row.strip().partition(":")[0] for row in rows] == paths
    with misconfigured("setting", "config/help-key", got="steps", surface="torchair"):
        surface_help(surface, "steps")
