"""The rules say of each mode and of GE what the documents say."""

import pytest

from kit.words import check_said
from workbench import config as surfaces
from workbench.config.config import Config
from workbench.config.context import Context
from workbench.config.torchair.surface import TORCHAIR


def config(mode="max-autotune", **dump):
    dump = {"enable_dump": True, "dump_step": "0"} | dump
    return Config(TORCHAIR, {"mode": mode, "dump_config": dump})


def found(form, context=None, *, without=("dump-off", "everything", "config-file-unread")):
    problems = form.check(context)
    told = [p for p in problems if p.id not in (*without, "guide")]
    return [(p.id, p.severity, p.path.rpartition(".")[2], p.code) for p in told]


# one row for each line of the tables on later components: what passes torchair and fails behind it
@pytest.mark.parametrize("steps", ["5-3", "3|", "3-3", "9-3", "|".join("1" * 101), "1-22-3"])
def test_steps_that_only_ge_refuses_are_warnings_with_its_code(steps):
    form = config(dump_step=steps)
    assert found(form) == [("ge-step", "warning", "dump_step", "E10001")]
    assert form.accepted()
    assert form.plan().iterations.ranges == ()
    assert found(form.set("dump_config.enable_dump", False)) == []
    assert not [p for p in config("reduce-overhead", dump_step=steps).check() if p.code]


@pytest.mark.parametrize("mode", ["reduce-overhead", "npugraph_ex"])
@pytest.mark.parametrize(("key", "value"), [
    ("dump_mode", "input"),
    ("dump_step", "1"),
    ("dump_layer", "Add"),
    ("dump_data", "stats"),
    ("quant_dumpable", True),
    ("dump_config_path", "a.json"),
])  # fmt: skip
def test_what_a_capture_mode_silently_ignores_is_a_warning(mode, key, value):
    form = config(mode, **{"dump_step": "", key: value})
    assert found(form) == [("capture-ignores", "warning", key, "")]
    assert form.plan() == config(mode, dump_step="").plan()


@pytest.mark.parametrize("mode", ["reduce-overhead", "npugraph_ex"])
def test_what_a_capture_mode_heeds_is_none(mode):
    form = config(mode, dump_step="", dump_path="/d", data_dump_stage="original")
    assert found(form) == []
    plan = form.plan()
    assert (plan.path, plan.io, plan.files) == ("/d", {"output"}, "pt")


def test_a_capture_mode_dumps_since_26_only():
    form = config("reduce-overhead", dump_step="")
    assert found(form, Context("7.3")) == [("capture-never-dumps", "warning", "enable_dump", "")]
    assert form.plan(Context("7.3")).iterations.ranges == ()
    assert form.plan(Context("26.0")).iterations.ranges is None


def test_the_stage_counts_in_the_capture_modes_only():
    form = config(data_dump_stage="original")
    assert found(form) == [("stage-ignored", "warning", "data_dump_stage", "")]


def test_file_and_options_together_are_a_warning_either_way():
    both = config(dump_config_path="/d.json")
    assert found(both) == [("config-path-and-options", "warning", "dump_config_path", "")]
    rest = config(dump_config_path="/d.json", enable_dump=False, dump_path="/d")
    assert found(rest) == [
        ("option-beside-file", "warning", "dump_path", ""),
        ("option-beside-file", "warning", "dump_step", ""),
    ]
    assert not found(config(dump_config_path="/d.json", enable_dump=False, dump_step=""))


def test_hints_come_where_a_dump_is_off_or_boundless_or_elsewhere():
    def ids(form):
        return [p.id for p in form.check()]

    assert ids(surfaces.of("torchair", {})) == ["dump-off"]
    assert ids(config(dump_step="")) == ["everything"]
    assert ids(config(dump_step="", dump_data="stats")) == []
    assert ids(config(dump_step="", dump_layer="Add")) == []
    alone = {"dump_config": {"dump_config_path": "a.json"}}
    assert ids(surfaces.of("torchair", alone)) == ["config-file-unread"]


def test_an_expression_is_shown_and_taken_for_a_dump():
    text = "config = torchair.CompilerConfig()\nconfig.dump_config.enable_dump = args.dump\n"
    problem, everything = surfaces.read(text, "torchair").check()
    assert (problem.id, problem.severity, problem.line) == ("unresolved", "hint", 2)
    assert everything.id == "everything"
    check_said(problem.message, "config/unresolved", expression="args.dump")


@pytest.mark.parametrize(("text", "expected"), [
    ('{"dump": {"dump_path": ".", "dump_op_switch": "on", "dump_debug": "on"}}', "EP0005"),
    ('{"dump": {"dump_path": ".", "dump_list": [], "dump_step": "5-4"}}', "EP0003"),
    ('{"dump": {"dump_debug": "off"}}', "EP0001"),
    ("not json", ""),
    ('{"dump": {}} trailing', ""),
    ("", ""),
])  # fmt: skip
def test_the_problems_of_the_json_file_come_along(tmp_path, monkeypatch, text, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text(text)
    form = surfaces.of("torchair", {"dump_config": {"dump_config_path": "d.json"}})
    assert form.accepted(Context(here=True))
    problems = [p for p in form.check(Context(here=True)) if p.id == "config-file"]
    assert expected in {p.code for p in problems}
    for problem in problems:
        assert problem.severity == "warning"
        assert problem.path.startswith("dump_config.dump_config_path")
        assert problem.message.values["file"].partition(":")[0] == "d.json"
        assert "\n" not in str(problem)


def test_an_exception_scene_in_the_file_has_no_effect(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.json").write_text('{"dump": {"dump_scene": "aic_err_brief_dump"}}')
    form = surfaces.of("torchair", {"dump_config": {"dump_config_path": "d.json"}})
    assert "exception-scene" in {p.id for p in form.check(Context(here=True))}
    assert "exception-scene" not in {p.id for p in form.check()}
