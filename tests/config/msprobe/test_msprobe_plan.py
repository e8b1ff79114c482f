"""What a ``config.json`` of msprobe comes to: its plan, its words, its script, and the same on other surfaces."""

import ast
import json
from dataclasses import replace

import pytest

import workbench as wb
from kit.words import check_said
from workbench.config.msprobe.surface import PYTORCH, recognises
from workbench.core.plan import BOTH, Iterations, Selector

MODULES = ["Module.fc1.Linear.forward.0", "Module.fc2.Linear.forward.0"]
CALLS = ["Functional.relu.0.forward", "Functional.conv2d.0.forward"]
LOAD = {"path": "/earlier", "modules": ["Module.fc1.Linear.forward.0"]}


def form(surface="msprobe", section=None, **settings):
    """A form of a task, ``section`` its options."""
    data = {"task": "statistics", "dump_path": "/d", **settings}
    return wb.config.of(surface, data | ({data["task"]: section} if section else {}))


def codes(config):
    return [note.code for note in config.judge().notes()]


@pytest.mark.parametrize(("step", "ranges"), [
    ([], None),
    ([0], ((0, 0),)),
    (["5-8", 2, "3"], ((2, 3), (5, 8))),
    ([4, "2-3", "1-6"], ((1, 6),)),
])  # fmt: skip
def test_steps_and_ranks_are_sets_of_numbers_and_ranges(step, ranges):
    plan = form(step=step, rank=step).plan()
    assert plan.iterations == Iterations(ranges)
    numbers = {n for low, high in ranges or () for n in range(low, high + 1)}
    assert plan.ranks == (None if ranges is None else tuple(sorted(numbers)))


@pytest.mark.parametrize(("settings", "section", "saved", "statistics", "io"), [
    ({}, {}, "statistic", ("max", "min", "avg", "l2norm"), BOTH),
    ({}, {"summary_mode": "md5", "data_mode": ["output"]}, "statistic", ("md5",), {"output"}),
    ({"task": "tensor"}, {"data_mode": ["forward"]}, "full", ("max", "min", "avg", "l2norm"), BOTH),
    ({}, {"tensor_list": ["relu"]}, "full", ("max", "min", "avg", "l2norm"), BOTH),
    ({"task": "structure"}, {}, "statistic", (), frozenset()),
    ({"level": "L2", "task": "tensor"}, {"list": CALLS[:1]}, "tensor", ("max", "min", "avg", "l2norm"), BOTH),
])  # fmt: skip
def test_a_task_says_what_is_written(settings, section, saved, statistics, io):
    plan = form(section=section, **settings).plan()
    assert (plan.saved, plan.statistics, plan.io) == (saved, statistics, io)


@pytest.mark.parametrize(("surface", "settings", "section", "select"), [
    ("msprobe", {}, {}, (Selector("call", ""),)),
    ("msprobe", {}, {"list": ["conv", "conv", "relu"]}, (Selector("call", "conv"), Selector("call", "relu"))),
    ("msprobe", {}, {"scope": CALLS}, (Selector("range", *CALLS),)),
    ("msprobe", {"level": "debug"}, {"list": ["conv"]}, (Selector("marked"),)),
    ("msprobe-mindspore", {"level": "L2"}, {}, ()),
    ("msprobe-mindspore", {"level": "L2"}, {"list": ["Default/fc1/MatMul-op0", "Conv2D"]},
     (Selector("name", "Default/fc1/MatMul-op0"), Selector("type", "Conv2D"))),
])  # fmt: skip
def test_a_selection_is_of_calls_kernels_or_what_the_script_saves(
    surface, settings, section, select
):
    assert form(surface, section, **settings).plan().select == select


def test_a_call_is_meant_by_a_part_of_its_name():
    (entry,) = form(section={"list": ["conv"]}).plan().select
    assert entry.matches("Functional.conv2d.0.forward", "")
    assert not entry.matches("Functional.relu.0.forward", "Conv2D")


@pytest.mark.parametrize(("surface", "settings", "kind", "files"), [
    ("msprobe", {"task": "nan_check"}, "overflow", "pt"),
    ("msprobe-mindspore", {"task": "exception_dump", "level": "L2"}, "exception", "npy"),
    ("msprobe", {"task": "tensor"}, "data", "pt"),
    ("msprobe-mindspore", {"task": "tensor"}, "data", "npy"),
])  # fmt: skip
def test_a_task_has_its_kind_and_a_framework_its_files(surface, settings, kind, files):
    plan = form(surface, **settings).plan()
    assert (plan.kind, plan.files) == (kind, files)


@pytest.mark.parametrize(("settings", "section", "expected"), [
    ({}, {}, ["config/mp-tree", "config/mp-process", "config/mp-risk-focus"]),
    ({"risk_level": "CORE"}, {}, ["config/mp-risk-core"]),
    ({"task": "tensor", "risk_level": "ALL"}, {}, ["config/mp-tree", "config/mp-tensors", "config/mp-process"]),
    ({"level": "debug"}, {}, ["config/mp-tree-debug", "config/mp-save"]),
    ({"task": "tensor", "level": "L2"}, {"list": CALLS[:1]}, ["config/mp-tree-kernel"]),
    ({}, {"list": ["conv"]}, ["config/mp-names"]),
    ({}, {"data_mode": ["backward", "input"]}, ["config/mp-phase"]),
    ({}, {"slice": [{"dim": 0}], "request_id": "r"}, ["config/mp-slice", "config/mp-request"]),
    ({}, {"tensor_list": ["relu"]}, ["config/mp-tensors", "config/mp-tensor-list"]),
    ({"precision": "high", "extra_info": False}, {}, ["config/mp-precision", "config/mp-no-stack"]),
    ({"async_dump": True, "dump_enable": True}, {}, ["config/mp-async", "config/mp-dynamic"]),
    ({"task": "tensor"}, {"bench_path": "/b"}, ["config/mp-bench"]),
    ({"load": LOAD}, {}, ["config/mp-load", "config/mp-off"]),
    ({"load": LOAD | {"dump_after_load": True}}, {}, ["config/mp-load", "config/mp-tree"]),
    ({"dump_enable": False}, {}, ["config/mp-off"]),
])  # fmt: skip
def test_notes_say_what_a_plan_does_not(settings, section, expected):
    told = codes(form(section=section, **settings))
    assert [code for code in told if code in expected] == expected
    assert all(str(note) for note in form(section=section, **settings).judge().notes())


def test_mindspore_dumps_kernels_by_a_file_that_msprobe_writes():
    assert "config/mp-tree-mindspore" in codes(form("msprobe-mindspore", level="L2"))


def test_what_is_off_or_only_loads_dumps_nothing():
    for settings in ({"dump_enable": False}, {"load": LOAD}):
        assert form(**settings).plan().iterations == Iterations(())


@pytest.mark.parametrize(("level", "start"), [("L1", 0), ("L0", 1), ("mix", 1), ("debug", 0)])
@pytest.mark.parametrize("surface", ["msprobe", "msprobe-mindspore"])
def test_the_code_is_a_training_loop_with_the_model_where_modules_are_dumped(surface, level, start):
    text = form(surface, level=level).code(file="c.json")
    tree = ast.parse(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {ast.unparse(call.func): call for call in calls}
    assert {"PrecisionDebugger", "debugger.start", "debugger.stop", "debugger.step"} <= names.keys()
    assert ast.literal_eval(names["PrecisionDebugger"].keywords[0].value) == "c.json"
    assert len(names["debugger.start"].keywords) == start
    assert ("debugger.save" in names) == (level == "debug")
    package = "mindspore" if surface.endswith("mindspore") else "pytorch"
    assert f"from msprobe.{package} import" in text


@pytest.mark.parametrize(("surface", "settings", "section"), [
    ("msprobe", {"step": [1, "3-5"], "rank": [0]}, {"list": ["conv"], "data_mode": ["input"]}),
    ("msprobe", {"task": "tensor", "step": [0]}, {"scope": CALLS}),
    ("msprobe", {"level": "L0"}, {"scope": MODULES}),
    ("msprobe", {"level": "mix"}, {"scope": [CALLS[0], CALLS[1]]}),
    ("msprobe", {"level": "mix"}, {"scope": [CALLS[0], MODULES[1]]}),
    ("msprobe", {"task": "nan_check"}, {}),
    ("msprobe", {"level": "debug"}, {}),
    ("msprobe", {"task": "structure"}, {}),
    ("msprobe", {"dump_enable": False}, {}),
    ("msprobe", {}, {"summary_mode": "md5"}),
    ("msprobe-mindspore", {"level": "L2", "task": "tensor"}, {"list": ["Default/fc1/MatMul-op0"]}),
    ("msprobe-mindspore", {"level": "L2"}, {"device": "device", "precision": "low"}),
    ("msprobe-mindspore", {"task": "exception_dump", "level": "L2"}, {}),
    ("msprobe-mindspore", {"level": "L1"}, {"list": ["conv"]}),
])  # fmt: skip
def test_a_plan_comes_back(surface, settings, section):
    config = form(surface, section, **settings)
    lowered = config.surface.from_plan(config.plan())
    again = wb.config.of(surface, json.loads(json.dumps(lowered.data)))
    assert again.accepted()
    assert again.plan() == config.plan()


def test_a_scope_of_what_msprobe_does_not_name_is_lost():
    plan = form().plan()
    lowered = PYTORCH.from_plan(replace(plan, select=(Selector("range", "Add_1", "Mul_2"),)))
    assert lowered.data["statistics"]["scope"] == []
    assert [lost.code for lost in lowered.unsupported] == ["config/lost-operators"]


def test_kernels_of_mindspore_convert_to_mindspores_own_form():
    chosen = {"list": ["Default/fc1/MatMul-op0"]}
    config = form("msprobe-mindspore", chosen, level="L2", task="tensor", step=["0-2"])
    made = config.convert("mindspore-o0o1")
    assert made.losses == ()
    common = made.config.data["common_dump_settings"]
    assert (common["iteration"], common["kernels"]) == ("0-2", ["Default/fc1/MatMul-op0"])
    assert made.config.convert("msprobe-mindspore").config.plan().select == config.plan().select


def test_calls_are_lost_where_operators_are_selected():
    made = form(section={"list": ["conv"]}).convert("acl")
    assert "config/lost-part" in [loss.code for loss in made.losses]
    lost = next(loss for loss in made.losses if "conv" in str(loss))
    check_said(lost.values["here"].values["operators"][0], "config/select-call", text="conv")


def test_settings_that_no_plan_holds_are_lost_by_name():
    section = {"data_mode": ["forward"], "slice": [{"dim": 0}]}
    made = form(section=section, extra_info=False).convert("acl")
    paths = {loss.values["path"] for loss in made.losses if loss.code == "config/lost-setting"}
    assert paths == {"extra_info", "statistics.data_mode", "statistics.slice"}


@pytest.mark.parametrize(("data", "ours"), [
    ({"task": "tensor", "level": "L1"}, True),
    ({"task": "statistics", "statistics": {}}, True),
    ({"task": "tensor"}, False),
    ({"dump": {}}, False),
    ([], False),
])  # fmt: skip
def test_a_form_is_known_by_two_of_its_keys(data, ours):
    assert recognises(data) is ours


def test_a_new_form_is_its_own(tmp_path):
    first = PYTORCH.template()
    first["tensor"]["list"].append("changed")
    assert PYTORCH.template()["tensor"]["list"] == []


def test_statistics_of_kernels_are_computed_where_the_form_says():
    told = {"summary_mode": ["max", "mean"], "device": "device", "precision": "low"}
    plan = form("msprobe-mindspore", told, level="L2").plan()
    assert plan.statistics == ("max", "avg")
    assert (plan.statistics_on, plan.statistics_precision) == ("device", "low")
    plan = form("msprobe-mindspore", told | {"device": "host"}, level="L2").plan()
    assert (plan.statistics_on, plan.statistics_precision) == ("host", "high")
    plan = form("msprobe-mindspore", told, level="L1").plan()
    assert plan.statistics_on == "host"


LOADED = {"path": "/d", "modules": ["Module.a.forward.0", "x", "Module.a.forward.0"]}


@pytest.mark.parametrize(("settings", "section", "first"), [
    ({"step": ["x"], "rank": ["y"]}, {}, "rank[0]"),
    ({"dump_path": "", "load": {"path": "", "modules": []}}, {}, "load.modules"),
    ({"load": LOADED}, {}, "load.modules[1]"),
    ({"load": LOADED | {"modules": ["x", "x"]}}, {}, "load.modules[0]"),
    ({"dump_path": ""}, {"list": 5, "scope": 5}, "statistics.scope"),
    ({"task": "structure"}, {"scope": 5, "list": 5}, "structure.list"),
    ({"task": "structure", "dump_path": ""}, {"list": 5, "scope": 5}, "dump_path"),
    ({"level": "L2"}, {"scope": ["x"], "list": []}, "statistics.scope"),
    ({"level": "L3"}, {"list": 5}, "level"),
    ({"task": "foo", "level": "L3"}, {}, "task"),
    ({"level": "debug"}, {"scope": [MODULES[0], CALLS[0]]}, "statistics.scope"),
    ({"level": "debug"}, {"scope": [CALLS[0], MODULES[0]]}, "statistics.scope"),
    ({"task": "foo", "step": ["x"]}, {}, "step[0]"),
])  # fmt: skip
def test_the_first_error_is_the_first_that_msprobe_meets(settings, section, first):
    assert form(section=section, **settings).check()[0].path == first


def test_an_expression_that_a_later_python_may_read_otherwise_is_taken_without_a_word():
    entry = form("msprobe-mindspore", level="L2", section={"list": ["name-regex([[a])"]})
    assert [p.id for p in entry.check() if p.severity == "error"] == []
