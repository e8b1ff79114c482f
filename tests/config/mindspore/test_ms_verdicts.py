"""What MindSpore does with each form, from its parser and tutorial: accepted, warned of or refused.

A row is a surface, what differs from a form that is right, what is judged by, and the problems that
must be found (severity and setting); a form without errors is accepted.
"""

import copy
import dataclasses

import pytest

import workbench as wb
from workbench.config import Context
from workbench.config.mindspore.surfaces import CPU, GE, GPU, O0O1, O2
from workbench.core.plan import CATEGORIES

OUT = object()
COMMON = {
    "op_debug_mode": 0,
    "dump_mode": 0,
    "path": "/srv/dump",
    "net_name": "Encoder",
    "iteration": "0",
    "saved_data": "tensor",
    "input_output": 0,
    "kernels": [],
    "support_device": [0],
}
E2E = {"enable": True, "trans_flag": True}
NEW, OLD = Context("2.10.0"), Context("2.2")
STATISTIC = {"saved_data": "statistic"}
DEVICE = {"e2e.stat_calc_mode": "device"}


def form(surface, change):
    data = {"common_dump_settings": copy.deepcopy(COMMON)}
    if surface in ("o0o1", "cpu", "gpu"):
        data["e2e_dump_settings"] = dict(E2E)
    for key, value in change.items():
        section, _, name = key.rpartition(".")
        if key in ("common", "e2e"):
            holder, name = data, f"{key}_dump_settings"
        elif section == "e2e":
            holder = data.setdefault("e2e_dump_settings", {})
        else:
            holder = data["common_dump_settings"]
        if value is OUT:
            holder.pop(name, None)
        else:
            holder[name] = value
    return data


def found(surface, change, context):
    config = wb.config.of(f"mindspore-{surface}", form(surface, change))
    problems = config.check(context)
    return {(p.severity, p.path.rpartition(".")[2], p.id) for p in problems}


# Which mode: the second section decides, whatever is in it
SECTIONS = [
    ("o0o1", {"e2e": {}}, NEW, set()),
    ("o0o1", {"e2e": {"enable": False}}, NEW, {("hint", "enable", "guide")}),
    ("o0o1", {"e2e": OUT}, NEW, {("warning", "e2e_dump_settings", "e2e-absent")}),
    ("o0o1", {"e2e": 5}, NEW, {("warning", "e2e_dump_settings", "section")}),
    ("o0o1", {"e2e": None}, NEW, {("warning", "e2e_dump_settings", "section")}),
    ("o2", {"e2e": {}}, Context("2.5"), {("warning", "e2e_dump_settings", "e2e-present")}),
    ("o2", {"e2e": {"enable": False}}, Context("2.5"), {("warning", "e2e_dump_settings", "e2e-present")}),
    ("cpu", {"e2e": OUT}, NEW, {("hint", "e2e_dump_settings", "e2e-alarm")}),
    ("gpu", {"e2e": OUT}, NEW, {("hint", "e2e_dump_settings", "e2e-alarm")}),
    ("cpu", {"e2e": OUT}, Context("2.6"), set()),
    ("cpu", {"e2e.enable": False}, NEW, {("hint", "enable", "guide")}),
    ("o0o1", {"common": OUT}, NEW, {("error", "common_dump_settings", "section")}),
    ("o0o1", {"common": []}, NEW, {("error", "common_dump_settings", "value")}),
    # up to 2.2 enable and trans_flag are required, and enable decides
    ("o0o1", {"e2e": {}}, OLD, {("error", "enable", "e2e-required"), ("error", "trans_flag", "e2e-required"),
                                ("warning", "enable", "e2e-enable")}),
    ("o0o1", {"e2e.enable": False}, OLD, {("warning", "enable", "e2e-enable"), ("hint", "enable", "guide")}),
    ("o2", {"e2e": {"enable": False, "trans_flag": True}}, OLD, set()),
    ("o2", {"e2e": dict(E2E)}, OLD, {("warning", "e2e_dump_settings", "e2e-present")}),
]  # fmt: skip

# Type checks and bounds of every key: what is refused
REFUSED = [
    *[("o0o1", {f"e2e.{key}": bad}) for key in ("enable", "trans_flag", "save_kernel_args")
      for bad in ("true", 1, 0, None, [])],
    *[("o0o1", {"e2e.stat_calc_mode": bad}) for bad in ("npu", "", 1, None)],
    *[("o0o1", {"e2e.device_stat_precision_mode": bad}) for bad in ("mid", 1)],
    *[("o0o1", {"e2e.sample_mode": bad}) for bad in (2, -1, 1.0, "1", True, None)],
    *[("o0o1", {"e2e.sample_mode": 1, "e2e.sample_num": bad}) for bad in (0, -1, "5", 2.0, 2**32)],
    *[("o0o1", {"dump_mode": bad}) for bad in (OUT, 3, -1, 1.0, "0", True, -0.0, 2**64)],
    *[("o0o1", {"net_name": bad}) for bad in (OUT, "", "a b", "a/b", "a.b", "Net\n", "é", 1)],
    *[("o0o1", {"iteration": bad}) for bad in (OUT, "", "0 | 5", "0,5", "x", "All", "all|1", 0, "1\n")],
    *[("o0o1", {"input_output": bad}) for bad in (OUT, 3, -1, "0", 2**32 + 3)],
    *[("o0o1", {"kernels": bad}) for bad in (OUT, "Conv2D", {}, None)],
    *[("o0o1", {"support_device": bad}) for bad in (OUT, 0, "0", ["0"], [None], [[0]])],
    *[("o0o1", {"op_debug_mode": bad}) for bad in (5, -1, "0", 2**32 + 5)],
    *[("o0o1", {"path": bad}) for bad in ("/a.b", "/a b", "~/a", "a", "./a", "", "/a\n", 1, "/é", OUT)],
    *[("o0o1", {"saved_data": bad}) for bad in ("all", "", 1, None)],
    *[("o0o1", {"initial_iteration": bad}) for bad in (-1, "1", 1.0)],
    *[("o2", {"file_format": bad}) for bad in ("txt", "", 1)],
    ("o2", {"op_debug_mode": OUT}),
    ("ge", {"op_debug_mode": OUT}),
    ("o0o1", {"e2e": OUT, "op_debug_mode": OUT}),
    *[("o0o1", {"overflow_number": 1, "op_debug_mode": mode}) for mode in (0, 4, OUT)],
    ("o0o1", {"overflow_number": -1, "op_debug_mode": 3}),
    ("cpu", {"dump_mode": 2}),
    ("gpu", {"dump_mode": 2}),
    ("cpu", STATISTIC),
    ("cpu", {"saved_data": "full"}),
    ("o2", STATISTIC),
    ("o2", STATISTIC | {"file_format": "bin"}),
    ("ge", {"saved_data": "full"}),
    ("o0o1", STATISTIC | {"statistic_category": ["mean"]}),
    ("o0o1", STATISTIC | {"statistic_category": ["max", 1]}),
    ("o0o1", STATISTIC | {"statistic_category": "max"}),
    ("o0o1", STATISTIC | DEVICE | {"statistic_category": ["mean"]}),
    ("gpu", {"saved_data": "full", "statistic_category": ["Max"]}),
    ("o0o1", {"dump_mode": 1, "kernels": ["name-regex(()"]}),
    ("o0o1", {"dump_mode": 1, "kernels": ["name-regex((?i)a)"]}),
    ("o0o1", {"dump_mode": 1, "op_debug_mode": 3, "kernels": ["name-regex([)"]}),
]  # fmt: skip

ACCEPTED = [
    ("o0o1", {"op_debug_mode": OUT}),
    ("cpu", {"op_debug_mode": OUT, "e2e": OUT}),
    ("o0o1", {"dump_mode": 2}),
    ("o0o1", {"dump_mode": 2**32}),
    ("o0o1", {"e2e.sample_mode": 0, "e2e.sample_num": 0}),
    ("o0o1", {"e2e.sample_mode": 2**32 + 1, "e2e.sample_num": 7}),
    ("o0o1", {"iteration": "0||5-"}),
    *[("o0o1", {"iteration": odd}) for odd in ("5-", "-", "1-2-3", "9-3", "|", "3-3", "5|", "002-0004")],
    ("o0o1", {"iteration": "|".join(map(str, range(101)))}),
    ("o0o1", {"iteration": "0|" + "9" * 30}),
    ("o0o1", {"support_device": [0, 1.5, True, -1]}),
    ("o0o1", {"file_format": "txt"}),
    ("o0o1", {"op_debug_mode": 3, "overflow_number": 0}),
    *[("o0o1", {"op_debug_mode": mode, "overflow_number": 2}) for mode in (1, 2, 3, 2**32 + 3)],
    ("o0o1", {"op_debug_mode": 4, "saved_data": "bogus"}),
    ("cpu", {"op_debug_mode": 4, "saved_data": "full"}),
    ("cpu", {"statistic_category": 5, "file_format": None, "support_device": []}),
    ("o0o1", {"statistic_category": 5}),
    ("o0o1", STATISTIC),
    ("o0o1", STATISTIC | {"statistic_category": []}),
    ("o2", STATISTIC | {"file_format": "npy"}),
    ("gpu", {"saved_data": "full", "statistic_category": ["md5", "zero count"]}),
    ("o0o1", {"kernels": ["name-regex(()"]}),
    ("o0o1", {"dump_mode": 1, "kernels": []}),
    ("o0o1", {"dump_mode": 1, "kernels": [5, None, ["a"], "name-regex(", "name-regex (a)"]}),
    ("o0o1", {"dump_mode": 1, "kernels": ["name-regex(a**)", "name-regex([])"]}),
    ("o2", {"dump_mode": 1, "kernels": ["Conv2D"]}),
    ("o0o1", {"path": "//a//b/"}),
]  # fmt: skip

# What is changed or ignored, and what will hurt
CHANGED = [
    ("o0o1", {"iteration": "0||5-"}, NEW, {("warning", "iteration", "iteration-void")}),
    ("o0o1", {"iteration": "9-3"}, NEW, {("warning", "iteration", "iteration-void")}),
    ("o0o1", {"iteration": "|"}, NEW, {("warning", "iteration", "iteration-void")}),
    ("o0o1", {"op_debug_mode": 2}, NEW, {("warning", "op_debug_mode", "debug-mode")}),
    ("o0o1", {"op_debug_mode": 3, "dump_mode": 1, "kernels": ["Add"]}, NEW,
     {("warning", "dump_mode", "debug-dump-mode")}),
    ("o0o1", {"op_debug_mode": 3, "input_output": 2}, NEW, {("warning", "input_output", "overflow-io")}),
    ("o0o1", {"op_debug_mode": 4, "iteration": "3", "saved_data": "full", "e2e.sample_mode": 1}, NEW,
     {("warning", "iteration", "exception-iteration"), ("warning", "saved_data", "exception-saved"),
      ("warning", "sample_mode", "exception-sample")}),
    ("o2", {"op_debug_mode": 4, "iteration": "all"}, Context("2.5"), {("hint", "iteration", "sink-size")}),
    ("ge", {"op_debug_mode": 4, "iteration": "all"}, Context("2.5", {"ENABLE_MS_GE_DUMP": "1"}),
     {("error", "op_debug_mode", "exception-ge")}),
    ("cpu", {"op_debug_mode": 4, "iteration": "all"}, NEW, {("warning", "op_debug_mode", "exception-host")}),
    ("gpu", {"op_debug_mode": 3}, NEW, {("warning", "op_debug_mode", "overflow-host")}),
    ("o0o1", DEVICE, NEW, {("warning", "stat_calc_mode", "stat-host")}),
    ("o0o1", DEVICE | {"saved_data": "full"}, NEW, {("warning", "stat_calc_mode", "stat-host")}),
    ("o0o1", DEVICE | STATISTIC, NEW, set()),
    ("o0o1", DEVICE | STATISTIC | {"statistic_category": ["max", "md5"]}, NEW,
     {("warning", "statistic_category[1]", "category-device")}),
    ("o0o1", DEVICE | STATISTIC | {"op_debug_mode": 3, "e2e.enable": False}, NEW,
     {("warning", "stat_calc_mode", "stat-host"), ("hint", "enable", "guide"),
      ("hint", "saved_data", "overflow-statistics")}),
    ("cpu", DEVICE, NEW, {("warning", "stat_calc_mode", "stat-host")}),
    ("cpu", {"e2e.trans_flag": False, "e2e.save_kernel_args": True, "e2e.sample_mode": 1}, NEW,
     {("warning", key, "no-effect") for key in ("trans_flag", "save_kernel_args", "sample_mode")}),
    ("o0o1", {"support_device": [0, 0]}, NEW, {("warning", "support_device", "support-device-twice")}),
    ("o0o1", {"support_device": [1.5, 1, 0]}, NEW, {("warning", "support_device", "support-device-twice")}),
    ("o0o1", {"support_device": []}, NEW, {("warning", "support_device", "support-device")}),
    ("gpu", {"support_device": [1]}, NEW, {("warning", "support_device", "support-device")}),
    ("gpu", {"support_device": [1]}, Context("2.10", device=1), set()),
    ("o0o1", {"support_device": [3]}, Context("2.10", {"DEVICE_ID": "3"}), set()),
    ("o0o1", {"initial_iteration": 4}, Context("2.5"), {("warning", "initial_iteration", "version")}),
    ("o0o1", STATISTIC | {"statistic_category": ["max"]}, Context("2.3.0"),
     {("warning", "statistic_category", "version")}),
    ("o0o1", STATISTIC | {"statistic_category": ["hash", "hash:md5"]}, NEW, set()),
    ("o0o1", STATISTIC | {"statistic_category": ["hash"]}, Context("2.7"),
     {("error", "statistic_category[0]", "category")}),
    ("o0o1", STATISTIC | {"statistic_category": []}, NEW, {("hint", "statistic_category", "category-empty")}),
    ("o2", {}, Context("2.7"), {("warning", "version", "msprobe")}),
    ("o2", {}, Context("2.6"), {("hint", "version", "deprecated")}),
    ("o2", {"op_debug_mode": 3, "overflow_number": 2, "iteration": "all"}, Context("2.5"),
     {("hint", "overflow_number", "overflow-number-bin"), ("hint", "iteration", "sink-size")}),
    ("o0o1", {"dump_mode": 1, "kernels": ["Default/a b/Add-op0"]}, NEW,
     {("warning", "kernels[0]", "kernels-blank"), ("hint", "kernels", "kernels-ids")}),
    ("o0o1", {"dump_mode": 1, "kernels": [r"name-regex(a\.b)"]}, NEW, {("warning", "kernels[0]", "kernels-backslash")}),
    ("o0o1", {"dump_mode": 1, "kernels": ["Conv*"]}, NEW, {("warning", "kernels[0]", "kernels-glob")}),
    ("o0o1", {"dump_mode": 1, "kernels": ["MatMull"]}, NEW, {("hint", "kernels[0]", "kernels-type")}),
    ("o0o1", {"dump_mode": 1, "kernels": ["conv"]}, NEW, set()),
    ("o2", {"dump_mode": 1, "kernels": ["conv"]}, Context("2.5"), {("warning", "kernels[0]", "kernels-type-o2")}),
    ("o0o1", {"dump_mode": 1, "kernels": [""]}, NEW, {("hint", "kernels", "kernels-empty")}),
    ("o0o1", {"dump_mod": 1}, NEW, {("warning", "dump_mod", "unknown-key")}),
    *[("cpu", {"iteration": asked, "initial_iteration": first}, NEW,
       {("warning", "iteration", "iteration-passed")} if passed else set())
      for asked, first, passed in (("0|2", 10, True), ("0|9", 10, True), ("0|10", 10, False), ("0|2-10", 10, False),
                                   ("0", 0, False), ("9", 2**31, True))],
    ("cpu", {"iteration": "0|2", "initial_iteration": 10}, Context("2.5"),
     {("warning", "initial_iteration", "version")}),
    ("o0o1", {"net_name": "x" * 256}, NEW, {("warning", "net_name", "net-name-long")}),
    ("o0o1", {"path": "/" + "x" * 256}, NEW, {("warning", "path", "path-long")}),
    ("o0o1", {"iteration": "all"}, NEW, {("hint", "iteration", "volume")}),
    ("o2", {"iteration": "7"}, Context("2.5"), {("hint", "iteration", "sink-size")}),
    ("gpu", {"iteration": "7"}, NEW, {("hint", "iteration", "sink-mode")}),
    ("o0o1", {"iteration": "0-9", "support_device": [0, 1]}, NEW, {("hint", "HCCL_EXEC_TIMEOUT", "timeout")}),
    ("o0o1", {"iteration": "5-6|3-1", "support_device": [0, 1]}, NEW,
     {("warning", "iteration", "iteration-void"), ("hint", "HCCL_EXEC_TIMEOUT", "timeout")}),
    ("o0o1", {"iteration": "5|3-1", "support_device": [0, 1]}, NEW, {("warning", "iteration", "iteration-void")}),
    ("o0o1", {"iteration": "0-9", "support_device": [0, 1]}, Context("2.10", {"HCCL_EXEC_TIMEOUT": "7200"}), set()),
]  # fmt: skip

ENVIRONMENT = [
    ("o0o1", {"path": ""}, Context("2.10", {"MS_DIAGNOSTIC_DATA_PATH": "/data"}), set()),
    ("o0o1", {"path": OUT}, Context("2.10", {"MS_DIAGNOSTIC_DATA_PATH": "/data"}), set()),
    ("o0o1", {"path": ""}, NEW, {("error", "path", "path-missing")}),
    ("o0o1", {"path": ""}, Context("2.10", {"MS_DIAGNOSTIC_DATA_PATH": "da.ta"}), {("error", "path", "path")}),
    ("o0o1", {}, Context("2.10", {"MS_DIAGNOSTIC_DATA_PATH": "da.ta"}), set()),
    ("cpu", {}, Context("2.10", {"MS_SIMULATION_LEVEL": "0"}),
     {("warning", "MS_SIMULATION_LEVEL", "simulation-level")}),
    ("cpu", {}, Context("2.10", {"MS_SIMULATION_LEVEL": "3"}), set()),
    ("cpu", {}, Context("2.10", {"MINDSPORE_DUMP_CONFIG": "/w/a.json"}), set()),
    ("cpu", {}, Context("2.10", {"MINDSPORE_DUMP_CONFIG": "a.json"}),
     {("hint", "MINDSPORE_DUMP_CONFIG", "config-relative")}),
    ("cpu", {}, Context("2.10", {"MINDSPORE_DUMP_CONFIG": "/w/a.JSON"}),
     {("error", "MINDSPORE_DUMP_CONFIG", "config-name")}),
    ("cpu", {}, Context("2.10", {"MINDSPORE_DUMP_CONFIG": ""}), {("warning", "MINDSPORE_DUMP_CONFIG", "config-empty")}),
    ("ge", {}, Context("2.5"), {("warning", "ENABLE_MS_GE_DUMP", "ge-switch")}),
    ("ge", {}, Context("2.5", {"ENABLE_MS_GE_DUMP": "0"}), {("warning", "ENABLE_MS_GE_DUMP", "ge-switch")}),
    ("ge", {}, Context("2.5", {"ENABLE_MS_GE_DUMP": "1"}), set()),
    ("o2", {}, Context("2.5", {"ENABLE_MS_GE_DUMP": "1"}), {("warning", "ENABLE_MS_GE_DUMP", "ge-switch-on")}),
    ("o0o1", {"path": "/etc/passwd/x"}, Context("2.10", here=True), {("warning", "path", "path-unusable")}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("surface", "change", "context", "problems"), [*SECTIONS, *CHANGED, *ENVIRONMENT]
)
def test_each_row_gives_these_problems_and_no_other(surface, change, context, problems):
    assert found(surface, change, context) == problems


@pytest.mark.parametrize(("surface", "change"), REFUSED)
def test_mindspore_refuses(surface, change):
    config = wb.config.of(f"mindspore-{surface}", form(surface, change))
    assert not config.accepted()


@pytest.mark.parametrize(("surface", "change"), ACCEPTED)
def test_mindspore_accepts(surface, change):
    config = wb.config.of(f"mindspore-{surface}", form(surface, change))
    assert [p for p in config.check() if p.severity == "error"] == []


@pytest.mark.parametrize("surface", ["o0o1", "o2", "cpu", "gpu"])
def test_a_plain_form_has_no_problems(surface):
    assert found(surface, {}, Context("2.5" if surface == "o2" else "")) == set()


def test_errors_come_in_the_order_of_mindspores_checks():
    change = {"saved_data": "all", "dump_mode": 9, "net_name": OUT, "path": "x"}
    change |= {"e2e.enable": 1, "op_debug_mode": 9, "kernels": OUT}
    problems = wb.config.of("mindspore-o0o1", form("o0o1", change)).check()
    assert [p.path.rpartition(".")[2] for p in problems] == [
        *("enable", "net_name", "kernels", "dump_mode", "path", "op_debug_mode", "saved_data")
    ]


@pytest.mark.parametrize(("name", "accepted"), [
    ("data_dump.json", True),
    ("a.b.json", True),
    (".json", True),
    ("dump.JSON", False),
    ("dumpjson", False),
    ("json", False),
    ("dump.json5", False),
    ("dump.txt", False),
])  # fmt: skip
def test_the_name_of_a_file_ends_in_json(tmp_path, name, accepted):
    path = tmp_path / name
    wb.config.of("mindspore-cpu", form("cpu", {})).save(path)
    config = wb.config.load(path, "mindspore-cpu")
    assert config.accepted() == accepted
    assert [p.id for p in config.check()] == ([] if accepted else ["suffix"])


def test_text_around_the_form_is_taken_as_mindspores_parser_takes_it():
    text = wb.config.of("mindspore-cpu", form("cpu", {})).to_text()
    again = text.replace('"iteration": "0"', '"iteration": "1", "iteration": "2"')
    config = wb.config.read("\ufeff" + again + "} garbage", "mindspore-cpu")
    assert {p.id for p in config.check()} == {"duplicate-key", "trailing-text"}
    assert config.accepted()
    assert 2 in config.plan().iterations
    assert 1 not in config.plan().iterations


@pytest.mark.parametrize(("data", "surface"), [
    ({"common_dump_settings": {}, "e2e_dump_settings": {}}, "mindspore-o0o1"),
    ({"common_dump_settings": {}, "e2e_dump_setting": {}}, "mindspore-o0o1"),
    ({"e2e_dump_settings": 1}, "mindspore-o0o1"),
    ({"common_dump_settings": {}}, "mindspore-o2"),
    ({"comon_dump_settings": {}}, "mindspore-o2"),
])  # fmt: skip
def test_content_tells_o0o1_from_o2(data, surface):
    import json

    assert wb.config.read(json.dumps(data)).surface.name == surface


def test_every_category_of_a_form_is_a_column_that_can_be_written():
    from workbench.config.mindspore.reading import reading
    from workbench.dump.statistics.dialects import TITLES

    settings = wb.config.of("mindspore-o0o1", form("o0o1", STATISTIC | {
        "statistic_category": [*CATEGORIES, "hash", "hash:sha1", "hash:md5"],
    })).settings  # fmt: skip
    assert set(reading(settings, NEW).categories) == set(TITLES)


def test_declarations_agree_on_what_a_key_is():
    """The surfaces differ in when a key is read, not in what it means."""
    first = O0O1.model.parts()["common_dump_settings"].model
    for other in (O2, CPU, GPU, GE):
        section = other.model.parts()["common_dump_settings"].model
        for key, setting in first.settings().items():
            here = section.settings()[key]
            for field in dataclasses.fields(setting):
                if field.name not in ("required", "read_when"):
                    assert getattr(here, field.name) == getattr(setting, field.name)
