"""A form says the same on another surface, or the conversion says what it could not."""

from dataclasses import fields, replace
from functools import cache

import pytest

from kit.cases import thinned
from kit.words import misconfigured
from workbench import config as surfaces
from workbench.config.config import of_example
from workbench.config.context import Context
from workbench.config.convert import differences, idle_parts
from workbench.config.explain import part_name
from workbench.core.plan import DumpPlan, Exclusion, Iterations, Selector
from workbench.core.words import Message

NAMES = list(surfaces.SURFACES)
OTHER = {
    "path": "/elsewhere",
    "net_name": "Other",
    "iterations": Iterations(((1, 2),)),
    "io": frozenset(["input"]),
    "select": (Selector("name", "Add"),),
    "saved": "tensor",
    "statistics": ("avg",),
    "sample": 3,
    "initial_iteration": 7,
    "kernel_args": True,
    "kind": "watch",
    "omit": (Exclusion("type", "Add"),),
    "watched": ("Add",),
    "statistics_on": "device",
    "statistics_precision": "low",
    "files": "bin",
    "host_format": False,
    "limit": 3,
    "detail": "norm",
    "overflow": "aicore_overflow",
    "devices": (1,),
    "ranks": (1,),
    "level": "op",
    "single_op": True,
    "before_quantisation": True,
}
"""Another value for every part of a plan."""

FULL = {
    kind: DumpPlan("/d", kind=kind, saved="full")
    for kind in ("data", "overflow", "exception", "watch")
}


@cache
def examples(name):
    """Accepted forms from the tables of a surface, one for each plan, and the one to start with."""
    surface = surfaces.get(name)
    found = {}
    for rule in surface.rules:
        for example in (rule.breaks, rule.keeps):
            config = of_example(surface, example)
            if not example.context.here and config.accepted(example.context):
                found.setdefault(config.plan(example.context), (config, example.context))
    return (surfaces.new(name), Context()), *found.values()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("other", NAMES)
def test_every_accepted_form_converts_and_passes_or_says_why(name, other):
    """Each day a third of the forms of every pair, another third for each other surface."""
    for config, context in thinned(examples(name), 3, NAMES.index(other)):
        conversion = config.convert(other, context)
        result = conversion.config
        assert result.surface.name == other
        there = context if name == other else context.elsewhere()
        errors = [p.message for p in result.check(there) if p.severity == "error"]
        for error in errors:
            assert Message("config/lost-open", problem=error) in conversion.losses, config.data
        if not errors and name != other:
            complete(config.plan(context), result.plan(there), conversion.losses)


def complete(plan, there, losses):
    """Assert that every part in which the plans differ, and that counts, is among the losses."""
    for part in fields(DumpPlan):
        if getattr(plan, part.name) != getattr(there, part.name):
            said = part.name in map(part_of, losses)
            assert said or part.name in idle_parts(plan) | idle_parts(there), part.name


def part_of(loss):
    """Name of the part of a plan that a loss is about; empty if of none."""
    if loss.code != "config/lost-part":
        return ""
    return loss.values["part"].code.removeprefix("config/part-").replace("-", "_")


@pytest.mark.parametrize("name", NAMES)
def test_a_form_converted_to_its_own_surface_stays_as_it_is(name):
    for config, context in examples(name):
        conversion = config.convert(name, context)
        assert conversion.config.data == config.data
        assert conversion.losses == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_second_conversion_there_and_back_loses_nothing_more(name):
    for other in NAMES:
        there = surfaces.new(name).convert(other).config
        if there.accepted():
            back = there.convert(name).config
            if back.accepted():
                again = back.convert(other).config.convert(name).config
                assert again.plan() == back.plan(), other


def test_every_part_of_a_plan_has_a_name_and_another_value_here():
    names = [part.name for part in fields(DumpPlan)]
    assert set(names) == set(OTHER)
    assert len({str(part_name(name)) for name in names}) == len(names)


@pytest.mark.parametrize("part", OTHER)
def test_a_difference_that_counts_is_said_and_one_that_does_not_is_not(part):
    told = {}
    for kind, plan in FULL.items():
        changed = replace(plan, **{part: OTHER[part]})
        lines = list(differences(plan, changed))
        told[kind] = [line for line in lines if part_of(line) == part]
        assert len(lines) == len(told[kind])
    only = {"overflow": "overflow", "limit": "overflow", "detail": "exception", "watched": "watch"}
    if part == "kind":
        assert told["data"]
        assert not told["watch"]
    else:
        assert {kind for kind in FULL if told[kind]} == (
            {only[part]} if part in only else set(FULL)
        )


@pytest.mark.parametrize(("saved", "part", "counts"), [
    ("tensor", "statistics", False),
    ("tensor", "statistics_on", False),
    ("tensor", "files", True),
    ("tensor", "sample", True),
    ("statistic", "statistics", True),
    ("statistic", "statistics_precision", True),
    ("statistic", "files", False),
    ("statistic", "host_format", False),
])  # fmt: skip
def test_what_is_not_saved_makes_no_difference(saved, part, counts):
    plan = DumpPlan("/d", saved=saved)
    assert bool(list(differences(plan, replace(plan, **{part: OTHER[part]})))) == counts


def test_equal_plans_differ_in_nothing():
    for plan in FULL.values():
        assert list(differences(plan, replace(plan))) == []


def test_what_would_be_refused_there_is_to_be_filled_in():
    form = surfaces.new("mindspore-cpu", common_dump_settings__path="/no/such/folder")
    losses = form.convert("acl", Context(here=True)).losses
    found = [loss.values["problem"].code for loss in losses if "problem" in loss.values]
    assert found == ["path-folder"]


def test_a_refused_form_is_not_converted():
    with misconfigured("value", "config/value", path="dump_config.dump_step", got="3-"):
        surfaces.new("torchair", dump_config__dump_step="3-").convert("acl")


def test_an_unknown_surface_is_named():
    with misconfigured("surface", "core/choice", subject="surface", got="caffe", known=NAMES):
        surfaces.new("torchair").convert("caffe")


def test_what_a_form_says_beyond_its_plan_is_among_the_losses():
    form = surfaces.new("torchair", options={"fusion_config.fusion_switch_file": "/f.cfg"})
    form = form.set("mode", "reduce-overhead").set("dump_config.data_dump_stage", "original")
    losses = form.convert("acl").losses
    lost = {loss.values["path"]: loss.values["got"] for loss in losses if "path" in loss.values}
    assert lost["dump_config.data_dump_stage"] == "original"
    assert lost["options"] == {"fusion_config.fusion_switch_file": "/f.cfg"}


@pytest.mark.parametrize(("name", "settings", "variables", "rule"), [
    ("tensorflow", {"dump.enable_dump_debug": True}, {}, "ge-both"),
    ("tensorflow", {"dump.dump_step": "5-"}, {}, "ge-step"),
    ("tensorflow", {}, {"NPU_COLLECT_PATH": "/c"}, "ge-collect-path"),
    ("torchair", {"dump_config.dump_step": "9-3"}, {}, "ge-step"),
    ("torchair", {}, {"NPU_COLLECT_PATH": "/c"}, "ge-collect-path"),
])  # fmt: skip
@pytest.mark.parametrize("other", ["tensorflow", "torchair", "acl"])
def test_of_a_session_that_is_refused_its_refusal_is_said_and_no_switch(
    name, settings, variables, rule, other
):
    form, context = surfaces.new(name), Context(env=variables)
    for path, value in settings.items():
        form = form.set(path, value)
    if other == name:
        assert form.convert(other, context).losses == ()
        return
    losses = form.convert(other, context).losses
    refusals = [loss for loss in losses if loss.code == "config/lost-refused"]
    assert [loss.values["problem"] for loss in refusals] == [
        one.message for one in form.check(context) if one.id == rule
    ]
    assert "config/lost-setting" not in [loss.code for loss in losses]


def test_a_session_that_runs_is_refused_by_nobody():
    form = surfaces.new("torchair", mode="reduce-overhead")
    codes = [loss.code for loss in form.convert("acl").losses]
    assert "config/lost-refused" not in codes


def test_an_unknown_key_is_among_the_losses():
    form = surfaces.new("mindspore-cpu").set("common_dump_settings.mine", 1)
    lost = Message("config/lost-key", path="common_dump_settings.mine")
    assert lost in form.convert("acl").losses


@pytest.mark.parametrize("one", ["tensorflow", "torchair", "acl"])
@pytest.mark.parametrize("other", ["tensorflow", "torchair", "acl"])
def test_the_graph_engine_counts_the_same_whoever_asks(one, other):
    saved = {"tensorflow": "dump.dump_data", "torchair": "dump_config.dump_data"}
    form = surfaces.new(one).set(saved.get(one, "dump.dump_data"), "stats")
    made = form.convert(other)
    assert made.config.plan().saved == "statistic"
    parts = set(map(part_of, made.losses))
    assert parts.isdisjoint({"saved", "statistics", "statistics_on", "statistics_precision"})
