"""Help says what the check would say, from the same tables."""

import re

import pytest

from kit.words import misconfigured
from workbench import config as surfaces
from workbench.config.config import of_example
from workbench.config.form.settings import declared
from workbench.config.help import places, surface_help


def rules_told(text):
    return dict(re.findall(r"^  (?:error|warning|hint) \[([a-z0-9-]+)\] (.*) \(.*\)$", text, re.M))


@pytest.mark.parametrize("name", surfaces.SURFACES)
def test_every_setting_and_every_rule_is_told_in_whole_words(name):
    surface = surfaces.get(name)
    told, whole = {}, surface_help(surface)
    for path, setting in declared(surface.model):
        text = surface_help(surface, path)
        assert f"{path}: {setting.help}" in whole
        assert setting.expected in text
        told.update(rules_told(text))
    for path in places(surface):
        told.update(rules_told(surface_help(surface, path)))
    assert set(told) == {rule.id for rule in surface.rules}
    for rule in surface.rules:
        blanks = re.findall(r"\{[a-z_]+\}", rule.says + rule.fix)
        assert not [blank for blank in blanks if blank in told[rule.id]], rule.id


@pytest.mark.parametrize("name", surfaces.SURFACES)
def test_a_rule_is_told_wherever_an_example_breaks_it(name):
    """The breaking examples of all rules, judged as a whole, say at which settings a rule may be broken."""
    surface = surfaces.get(name)
    told = {path: rules_told(surface_help(surface, path)) for path, _ in declared(surface.model)}
    ids = {rule.id for rule in surface.rules}
    met = set()
    for example in (rule.breaks for rule in surface.rules):
        for problem in of_example(surface, example).check(example.context):
            path = re.sub(r"\[[0-9]+\]", "[]", problem.path)
            path = path if path in told else path.removesuffix("[]")
            if problem.id in ids and path in told:
                met.add((path, problem.id))
    assert met
    assert [(path, id_) for path, id_ in sorted(met) if id_ not in told[path]] == []


@pytest.mark.parametrize(("name", "rule", "keys"), [
    ("acl", "scene-key",
     "dump_mode dump_level dump_data dump_debug dump_op_switch dump_kernel_data dump_step dump_stats"),
    ("acl", "blacklist-slot", "pos"),
    ("acl", "list-twice", "dump_list"),
    ("acl", "container", "dump"),
    ("torchair", "capture-ignores", "dump_mode quant_dumpable dump_step dump_layer dump_data dump_config_path"),
    ("mindspore-cpu", "no-effect", "trans_flag save_kernel_args sample_mode"),
    ("mindspore-o2", "config-name", "MINDSPORE_DUMP_CONFIG"),
    ("mindspore-o2", "msprobe", "version"),
    ("tensorflow", "ge-collect-path", "enable_dump enable_dump_debug"),
])  # fmt: skip
def test_a_rule_of_several_settings_is_told_at_each_of_them(name, rule, keys):
    for key in keys.split():
        told = rules_told(surface_help(surfaces.get(name), key))
        assert rule in told, key


def test_a_section_shows_its_settings_and_its_own_rules():
    head, *rows = surface_help(surfaces.get("acl"), "dump.dump_list[]").splitlines()
    assert head == "dump.dump_list[]"
    keys = [row.strip().partition(":")[0] for row in rows if row.startswith("  dump.dump_list[].")]
    assert keys == [f"dump.dump_list[].{key}" for key in ("model_name", "layer", "watcher_nodes")]


def test_the_words_are_those_of_an_example():
    told = rules_told(surface_help(surfaces.get("acl"), "dump.dump_step"))
    keys = {"scene-key", "scene-key-refused", "watch-key", "watch-key-refused"}
    assert set(told) == {"step", "debug-step", "volume"} | keys
    (rule,) = (rule for rule in surfaces.get("acl").rules if rule.id == "debug-step")
    config = surfaces.of("acl", rule.breaks.form)
    assert told["debug-step"] in {str(problem) for problem in config.check(rule.breaks.context)}


def test_a_surface_lists_its_settings_and_names_them_where_one_is_unknown():
    surface = surfaces.get("torchair")
    head, *rows = surface_help(surface).splitlines()
    assert head == f"{surface.title} (as {surface.product} {surface.version} reads it)"
    paths = [path for path, _ in declared(surface.model)]
    assert [row.strip().partition(":")[0] for row in rows] == paths
    with misconfigured("setting", "config/help-key", got="steps", surface="torchair"):
        surface_help(surface, "steps")
