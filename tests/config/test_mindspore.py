"""Expected outcomes are those of MindSpore r2.7's parser and of real runs on a CPU."""

import copy
import json

import pytest

from workbench.config.mindspore import SURFACES, DumpConfig, load_config, parse_config, read_form
from workbench.config.mindspore_form import DATA_DUMP, Common, MindSporeForm
from workbench.config.mindspore_rules import RULES
from workbench.core.errors import ConfigError, FormatError
from workbench.core.plan import DumpPlan, Iterations, Selector

FORM = {
    "common_dump_settings": {
        "op_debug_mode": 0,
        "dump_mode": 0,
        "path": "/srv/dump",
        "net_name": "Encoder",
        "iteration": "all",
        "saved_data": "tensor",
        "input_output": 0,
        "kernels": [],
        "support_device": [0, 1, 2, 3, 4, 5, 6, 7],
    },
    "e2e_dump_settings": {"enable": True, "trans_flag": True},
}


def config(e2e=None, without=(), **common):
    """A form like the one above with some keys changed."""
    form = copy.deepcopy(FORM)
    form["common_dump_settings"] |= common
    form["e2e_dump_settings"] |= e2e or {}
    for key in without:
        form["common_dump_settings"].pop(key, None)
        form.pop(key, None)
    return read_form(form)


def found(cfg, surface="mindspore-o0o1"):
    return {(p.severity, p.path.rpartition(".")[2]) for p in cfg.check(surface)}


def test_a_real_form_has_no_problems_and_dumps_everything():
    cfg = parse_config(json.dumps(FORM))
    for surface in SURFACES:
        assert cfg.check(surface) == ()
        assert cfg.plan(surface) == DumpPlan("/srv/dump", "Encoder")


def test_a_form_is_written_as_it_was_read():
    form = copy.deepcopy(FORM) | {"other": {"x": 1}}
    form["common_dump_settings"]["note"] = "mine"
    assert json.loads(read_form(form).to_json()) == form


def test_a_form_made_in_python_passes_its_own_check(monkeypatch):
    monkeypatch.setenv("MS_DIAGNOSTIC_DATA_PATH", "/data")
    text = DumpConfig(DATA_DUMP).to_json()
    again = parse_config(text)
    assert again.check("mindspore-o0o1") == ()
    assert again.form == DATA_DUMP.model_copy(
        update={"common_dump_settings": again.form.common_dump_settings}
    )
    assert again.plan("mindspore-o0o1").path == "/data/debug_dump"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"overflow_number": 1}, ("error", "overflow_number")),
        ({"iteration": "0 | 5"}, ("error", "iteration")),
        ({"iteration": ""}, ("error", "iteration")),
        ({"iteration": "0|2-x"}, ("error", "iteration")),
        ({"path": "/a.b"}, ("error", "path")),
        ({"path": "dump"}, ("error", "path")),
        ({"path": ""}, ("error", "path")),
        ({"path": "/a\n"}, ("error", "path")),
        ({"net_name": "My/Net v1.0"}, ("error", "net_name")),
        ({"net_name": ""}, ("error", "net_name")),
        ({"input_output": 9}, ("error", "input_output")),
        ({"dump_mode": 3}, ("error", "dump_mode")),
        ({"saved_data": "all"}, ("error", "saved_data")),
        ({"saved_data": "full", "statistic_category": ["mean"]}, ("error", "statistic_category")),
        ({"saved_data": "full", "statistic_category": [1]}, ("error", "statistic_category")),
        ({"support_device": 0}, ("error", "support_device")),
        ({"support_device": ["0"]}, ("error", "support_device")),
        ({"dump_mode": 1, "kernels": ["name-regex(()"]}, ("error", "kernels[0]")),
        ({"e2e": {"sample_mode": 1, "sample_num": 0}}, ("error", "sample_num")),
        ({"e2e": {"enable": "true"}}, ("error", "enable")),
        ({"without": ["dump_mode"]}, ("error", "dump_mode")),
        ({"without": ["support_device"]}, ("error", "support_device")),
        ({"without": ["common_dump_settings"]}, ("error", "common_dump_settings")),
        ({"without": ["e2e_dump_settings"]}, ("warning", "e2e_dump_settings")),
        ({"iteration": "0||5-"}, ("warning", "iteration")),
        ({"iteration": "9-3"}, ("warning", "iteration")),
        ({"op_debug_mode": 3, "dump_mode": 1}, ("warning", "dump_mode")),
        ({"op_debug_mode": 1}, ("warning", "op_debug_mode")),
        ({"support_device": []}, ("warning", "support_device")),
        ({"support_device": [0, 0]}, ("warning", "support_device")),
        ({"dump_mode": 1, "kernels": [r"name-regex(a\.b)"]}, ("warning", "kernels[0]")),
        ({"dump_mod": 1}, ("warning", "dump_mod")),
        ({"e2e": {"stat_calc_mode": "device"}}, ("warning", "stat_calc_mode")),
        (
            {"saved_data": "statistic", "statistic_category": ["max", "md5"],
             "e2e": {"stat_calc_mode": "device"}},
            ("warning", "statistic_category"),
        ),
        ({"kernels": ["Conv2D"]}, ("hint", "kernels")),
        ({"e2e": {"sample_mode": 0, "sample_num": 0}}, ("hint", "sample_num")),
        ({"file_format": "txt"}, ("hint", "file_format")),
    ],
)  # fmt: skip
def test_each_breach_is_exactly_one_problem(changes, problem, monkeypatch):
    monkeypatch.delenv("MS_DIAGNOSTIC_DATA_PATH", raising=False)
    surplus = {("error", "path")} if changes.get("without") == ["common_dump_settings"] else set()
    assert found(config(**changes)) - surplus == {problem}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"dump_mode": 2}, ("error", "dump_mode")),
        ({"saved_data": "full"}, ("error", "saved_data")),
        ({"e2e": {"sample_mode": 1}}, ("warning", "sample_mode")),
        ({"e2e": {"save_kernel_args": True}}, ("warning", "save_kernel_args")),
    ],
)
def test_a_cpu_refuses_or_ignores_more(changes, problem):
    assert found(config(**changes), "mindspore-cpu") == {problem}
    assert found(config(**changes)) == set()


@pytest.mark.parametrize(
    "changes", [{"support_device": [1]}, {"without": ["e2e_dump_settings"]}, {"support_device": []}]
)
def test_a_cpu_does_not_look_at_some_settings(changes):
    cfg = config(**changes)
    assert found(cfg, "mindspore-cpu") == set()
    assert cfg.plan("mindspore-cpu").iterations == Iterations(None)


def test_the_debug_mode_is_required_without_the_e2e_section():
    assert found(config(without=["op_debug_mode"])) == set()
    cfg = config(without=["op_debug_mode", "e2e_dump_settings"])
    assert found(cfg, "mindspore-cpu") == {("error", "op_debug_mode")}


def test_every_problem_names_its_source():
    cfg = config(iteration="9-3", path="x", dump_mode=2, saved_data="full", nonsense=1)
    problems = cfg.check("mindspore-cpu")
    assert len(problems) == 5
    assert all("MindSpore" in p.source and p.message.startswith(p.path) for p in problems)


def test_the_plan_is_refused_with_all_errors_at_once():
    with pytest.raises(ConfigError) as caught:
        config(path="x", input_output=9).plan()
    assert [p.path for p in caught.value.problems] == [
        "common_dump_settings.input_output",
        "common_dump_settings.path",
    ]


def test_another_folder_makes_the_forms_own_irrelevant():
    assert config(path="relative").plan(out="/tmp/with.dot").path == "/tmp/with.dot"


def test_overflow_modes_are_not_planned_yet():
    with pytest.raises(ConfigError, match="op_debug_mode must be 0 for a plan, got 3"):
        config(op_debug_mode=3).plan()


def test_an_unknown_surface_names_the_known_ones():
    with pytest.raises(ConfigError, match="mindspore-o0o1"):
        config().plan("pytorch")


@pytest.mark.parametrize(
    ("number", "io"), [(0, {"input", "output"}), (1, {"input"}), (2, {"output"})]
)
def test_input_output_chooses_tensors(number, io):
    assert config(input_output=number).plan().io == io


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("all", {0, 1, 2, 7, 999}),
        ("0|5-8", {0, 7}),
        ("0||5-", {0}),
        ("9-3", set()),
        ("-", set()),
        ("1-2-3", set()),
    ],
)
def test_iterations_follow_the_forms_language(text, inside):
    iterations = config(iteration=text).plan().iterations
    assert {i for i in (0, 1, 2, 7, 999) if i in iterations} == inside


def test_the_three_kinds_of_kernels_reach_the_plan_with_dump_mode_1_alone():
    kernels = ["Conv2D", "Default/Add-op1", "name-regex(Default/fc.+)"]
    assert config(kernels=kernels).plan().select == ()
    assert config(kernels=kernels, dump_mode=1).plan().select == (
        Selector("regex", "Default/fc.+"),
        Selector("name", "Default/Add-op1"),
        Selector("type", "Conv2D"),
    )
    assert config(kernels=[""], dump_mode=1).plan().select == ()


def test_set_dump_selects_nothing_without_marks():
    plan = config(dump_mode=2).plan()
    assert not plan.wants("Default/Add-op1", "Add", "output", 0)


def test_a_device_that_is_not_supported_dumps_nothing():
    plan = config(support_device=[1]).plan()
    assert not plan.wants("Default/Add-op1", "Add", "output", 0)


def test_everything_else_reaches_the_plan():
    cfg = config(
        saved_data="full",
        statistic_category=["md5", "max", "md5"],
        initial_iteration=4,
        e2e={"sample_mode": 1, "sample_num": 9, "save_kernel_args": True},
    )
    plan = cfg.plan()
    assert (plan.saved, plan.statistics) == ("full", ("md5", "max", "md5"))
    assert (plan.initial_iteration, plan.sample, plan.kernel_args) == (4, 9, True)


def test_the_sample_number_is_read_in_sample_mode_alone():
    assert config(e2e={"sample_num": 9}).plan().sample is None
    assert config(e2e={"sample_mode": 1}).plan().sample == 100
    assert config(e2e={"sample_mode": 1}).plan("mindspore-cpu").sample is None


def test_no_categories_are_no_columns_and_a_device_knows_four():
    assert config(saved_data="statistic", statistic_category=[]).plan().statistics == ()
    cfg = config(
        saved_data="statistic",
        statistic_category=["max", "md5", "l2norm"],
        e2e={"stat_calc_mode": "device"},
    )
    assert cfg.plan().statistics == ("max", "l2norm")


def test_text_behind_the_value_and_repeated_keys_are_as_mindspore_takes_them():
    text = json.dumps(FORM).replace('"all"', '"1", "iteration": "2"')
    plan = parse_config("\ufeff" + text + " } garbage").plan()
    assert 2 in plan.iterations
    assert 1 not in plan.iterations


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "a": 1,,\n}', r"x\.json:2: text must be JSON, got .*\n  \"a\": 1,,\n         \^$"),
        ("", r"x\.json:1: text must be JSON"),
        ("[1]", r"x\.json:1: text must be a JSON object, got list"),
        ('{"a": NaN}', "the constant NaN"),
        ("// hello\n{}", r"x\.json:1: text must be JSON"),
        ("[" * 100_000, r"x\.json:1: text must be JSON"),
    ],
)
def test_broken_text_is_refused_with_its_line(text, message):
    with pytest.raises(FormatError, match=message):
        parse_config(text, "x.json")


def test_a_file_is_loaded_with_its_own_text(tmp_path):
    path = tmp_path / "data_dump.json"
    text = json.dumps(FORM, indent=3)
    path.write_text(text)
    cfg = load_config(path)
    assert (cfg.text, cfg.path) == (text, str(path))
    assert cfg.form.common_dump_settings.net_name == "Encoder"


def test_files_that_mindspore_would_not_read_are_refused(tmp_path):
    other = tmp_path / "dump.txt"
    other.write_text("{}")
    with pytest.raises(FormatError, match="must end in 'json'"):
        load_config(other)
    with pytest.raises(FormatError, match="must be a readable file"):
        load_config(tmp_path / "missing.json")
    binary = tmp_path / "binary.json"
    binary.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(FormatError, match="byte 7"):
        load_config(binary)


@pytest.mark.parametrize("value", [None, 1, "x", [], True])
def test_sections_of_another_kind_are_problems(value):
    cfg = read_form({"common_dump_settings": value, "e2e_dump_settings": value})
    assert {p.path for p in cfg.check() if p.id == "section"} == {
        "common_dump_settings",
        "e2e_dump_settings",
    }


def test_rules_never_change_the_form():
    form = MindSporeForm(common_dump_settings=Common(iteration="9-3", path="x"))
    before = form.model_dump()
    for rule in RULES:
        list(rule(form, "mindspore-cpu"))
    assert form.model_dump() == before
