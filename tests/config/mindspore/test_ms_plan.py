"""Forms as plans and plans as forms, on the five surfaces."""

import pytest

from kit.cases import mindspore_form as form
from workbench.config import Context
from workbench.config.mindspore.surfaces import CPU, GE, GPU, O0O1, O2
from workbench.core.errors import ConfigError
from workbench.core.plan import BOTH, DumpPlan, Iterations, Selector
from workbench.core.words import Message

SURFACES = (O0O1, O2, CPU, GPU, GE)
NAMES = [surface.name for surface in SURFACES]
INPUT, OUTPUT = frozenset(("input",)), frozenset(("output",))
EIGHT = tuple(range(8))


def test_a_plain_form_dumps_every_tensor():
    found = form("o0o1").plan()
    assert found == DumpPlan("/dump", "Net", iterations=Iterations(((0, 0),)), devices=EIGHT)
    assert form("cpu").plan() == DumpPlan("/dump", "Net", iterations=Iterations(((0, 0),)))
    assert form("o2").plan() == form("o0o1").plan()
    binary = form("ge").plan()
    assert (binary.files, binary.host_format) == ("bin", False)


@pytest.mark.parametrize(("surface", "change", "expected"), [
    ("o0o1", {"input_output": 1}, {"io": INPUT}),
    ("o0o1", {"input_output": 2}, {"io": OUTPUT}),
    ("o0o1", {"iteration": "all"}, {"iterations": Iterations(None)}),
    ("o0o1", {"iteration": "9-3"}, {"iterations": Iterations(((9, 3),))}),
    ("o0o1", {"iteration": "0|18446744073709551616"}, {"iterations": Iterations(((0, 0),))}),
    ("o0o1", {"support_device": [3, 1, 1.5, True]}, {"devices": (1, 3)}),
    ("gpu", {"support_device": []}, {"devices": ()}),
    ("cpu", {"support_device": [3]}, {"devices": None}),
    ("o0o1", {"initial_iteration": 2**32 + 4}, {"initial_iteration": 4}),
    ("o2", {"initial_iteration": 4}, {"initial_iteration": 0}),
    ("o0o1", {"dump_mode": 2}, {"select": (Selector("marked"),)}),
    ("o0o1", {"kernels": ["Add"]}, {"select": ()}),
    ("o0o1", {"dump_mode": 1, "kernels": [""]}, {"select": ()}),
    ("o0o1", {"dump_mode": 1, "kernels": ["Conv2D", "Default/Add-op1", "name-regex(Default/fc.+)"]},
     {"select": (Selector("regex", "Default/fc.+"), Selector("name", "Default/Add-op1"), Selector("type", "Conv2D"))}),
    (
        "o2",
        {"dump_mode": 1, "kernels": ["Conv2D", "Default/Add-op1", "name-regex(fc[12])"]},
        {
            "select": (
                Selector("regex", ".*(?:fc[12]).*"),
                Selector("name", "Default/Add-op1"),
                Selector("name", "Conv2D"),
            )
        },
    ),
    ("o0o1", {"e2e_trans_flag": False}, {"host_format": False}),
    ("cpu", {"e2e_trans_flag": False}, {"host_format": True}),
    ("o0o1", {"e2e_sample_num": 9}, {"sample": None}),
    ("o0o1", {"e2e_sample_mode": 1}, {"sample": 100}),
    ("o0o1", {"e2e_sample_mode": 1, "e2e_sample_num": 9}, {"sample": 9}),
    ("cpu", {"e2e_sample_mode": 1}, {"sample": None}),
    ("gpu", {"e2e_sample_mode": 1}, {"sample": None}),
    ("o0o1", {"e2e_save_kernel_args": True}, {"kernel_args": True}),
    ("o0o1", {"statistic_category": ["md5"]}, {"statistics": ("max", "min", "l2norm")}),
    ("o0o1", {"saved_data": "full", "statistic_category": ["md5", "max", "md5"]},
     {"saved": "full", "statistics": ("md5", "max")}),
    ("o0o1", {"saved_data": "full", "statistic_category": ["hash", "hash:md5", "md5", "hash:sha1"]},
     {"statistics": ("sha1", "md5")}),
    ("o0o1", {"saved_data": "statistic", "statistic_category": []}, {"statistics": ()}),
    (
        "o0o1",
        {
            "saved_data": "statistic",
            "statistic_category": ["max", "md5", "l2norm"],
            "e2e_stat_calc_mode": "device",
            "e2e_device_stat_precision_mode": "low",
        },
        {
            "statistics": ("max", "l2norm"),
            "statistics_on": "device",
            "statistics_precision": "low",
        },
    ),
    ("o0o1", {"saved_data": "full", "e2e_stat_calc_mode": "device"},
     {"statistics_on": "host", "statistics_precision": "high"}),
    ("o2", {"file_format": "bin"}, {"files": "bin", "host_format": False}),
    ("o0o1", {"op_debug_mode": 1, "overflow_number": 7, "input_output": 1, "dump_mode": 1},
     {"kind": "overflow", "limit": 7, "io": BOTH, "select": ()}),
    ("o2", {"op_debug_mode": 3, "overflow_number": 7}, {"kind": "overflow", "limit": 7}),
    ("o2", {"op_debug_mode": 3, "overflow_number": 7, "file_format": "bin"}, {"kind": "overflow", "limit": 0}),
    (
        "o0o1",
        {"op_debug_mode": 4, "saved_data": "full", "iteration": "3", "e2e_sample_mode": 1},
        {
            "kind": "exception",
            "detail": "norm",
            "io": INPUT,
            "saved": "tensor",
            "iterations": Iterations(None),
            "sample": None,
        },
    ),
    ("o2", {"op_debug_mode": 4}, {"kind": "exception", "detail": "brief"}),
    ("cpu", {"op_debug_mode": 3, "input_output": 1}, {"kind": "data", "io": BOTH}),
    ("cpu", {"op_debug_mode": 4, "input_output": 2}, {"kind": "exception", "io": OUTPUT}),
])  # fmt: skip
def test_a_setting_reaches_the_plan(surface, change, expected):
    release = "2.5.0" if surface in ("o2", "ge") else "2.10.0"
    plan = form(surface, **change).plan(Context(release))
    assert {key: getattr(plan, key) for key in expected} == expected


def test_releases_read_categories_in_their_own_way():
    config = form("o0o1", saved_data="full", statistic_category=["max", "md5", "max"])
    assert config.plan(Context("2.7")).statistics == ("max", "md5", "max")
    assert config.plan(Context("2.10.0")).statistics == ("max", "md5")
    assert form("o0o1", initial_iteration=4).plan(Context("2.5")).initial_iteration == 0


@pytest.mark.parametrize(("surface", "section", "context"), [
    ("o0o1", None, Context()),
    ("o0o1", {"enable": False, "trans_flag": True}, Context("2.2")),
    ("o2", {}, Context()),
    ("ge", {"enable": False}, Context()),
    ("o2", {"enable": True, "trans_flag": True}, Context("2.2")),
])  # fmt: skip
def test_the_wrong_section_dumps_nothing(surface, section, context):
    config = form(surface).unset("e2e_dump_settings")
    if section is not None:
        config = config.set("e2e_dump_settings", section)
    assert config.plan(context).iterations == Iterations(())
    (note,) = config.judge(context).notes()
    assert note.code == "other-way"


def test_the_folder_comes_from_the_environment_if_the_form_names_none():
    context = Context(env={"MS_DIAGNOSTIC_DATA_PATH": "/data"})
    assert form("o0o1", path="").plan(context).path == "/data/debug_dump"
    assert form("o0o1").plan(context).path == "/dump"


def test_another_folder_makes_the_forms_own_irrelevant():
    assert form("o0o1", path="relative").plan(out="/tmp/with.dot").path == "/tmp/with.dot"
    with pytest.raises(ConfigError) as caught:
        form("o0o1", path="relative", input_output=9).plan()
    found = [p.path for p in caught.value.problems]
    assert found == ["common_dump_settings.path", "common_dump_settings.input_output"]


# Any plan becomes a form, any form a plan


def test_a_conversion_names_what_is_lost():
    config = form("o0o1", saved_data="full", e2e_sample_mode=1, dump_mode=2)
    losses = config.convert("mindspore-cpu").losses
    marked = Message("config/select-marked", text="", end="")
    assert Message("config/lost-operators", operators=marked) in losses
    assert Message("config/lost-every-operator") in losses
    parts = {loss.values["part"].code for loss in losses if "part" in loss.values}
    assert {"config/part-saved", "config/part-sample", "config/part-devices"} <= parts


@pytest.mark.parametrize(("version", "limit", "told"), [("2.6", 0, False), ("2.7", 7, True)])
def test_msprobe_counts_overflows_and_iterations_whatever_the_files_are(version, limit, told):
    asked = form("o2", op_debug_mode=3, overflow_number=7, file_format="bin", iteration="1")
    plan = asked.plan(Context(version))
    assert (plan.limit, plan.iterations == Iterations(((1, 1),))) == (limit, told)
