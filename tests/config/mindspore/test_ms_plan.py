"""Forms as plans and plans as forms, on the five surfaces."""

import json
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from kit.cases import examples
from kit.cases import mindspore_form as form
from workbench.config import Context
from workbench.config.mindspore.surfaces import CPU, GE, GPU, O0O1, O2
from workbench.core.errors import ConfigError
from workbench.core.plan import BOTH, CATEGORIES, DumpPlan, Iterations, Selector
from workbench.core.words import Message

SURFACES = (O0O1, O2, CPU, GPU, GE)
NAMES = [surface.name for surface in SURFACES]
INPUT, OUTPUT = frozenset(("input",)), frozenset(("output",))
EIGHT = tuple(range(8))


def test_a_plain_form_dumps_every_tensor():
    assert form("o0o1").plan() == DumpPlan(
        "/dump", "Net", iterations=Iterations(((0, 0),)), devices=EIGHT
    )
    assert form("cpu").plan() == DumpPlan("/dump", "Net", iterations=Iterations(((0, 0),)))
    assert form("o2").plan() == form("o0o1").plan()
    binary = form("ge").plan()
    assert (binary.files, binary.host_format) == ("bin", False)


@pytest.mark.parametrize(
    ("surface", "change", "expected"),
    [
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
        (
            "o0o1",
            {"dump_mode": 1, "kernels": ["Conv2D", "Default/Add-op1", "name-regex(Default/fc.+)"]},
            {
                "select": (
                    Selector("regex", "Default/fc.+"),
                    Selector("name", "Default/Add-op1"),
                    Selector("type", "Conv2D"),
                )
            },
        ),
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
        (
            "o0o1",
            {"saved_data": "full", "statistic_category": ["md5", "max", "md5"]},
            {"saved": "full", "statistics": ("md5", "max")},
        ),
        (
            "o0o1",
            {"saved_data": "full", "statistic_category": ["hash", "hash:md5", "md5", "hash:sha1"]},
            {"statistics": ("sha1", "md5")},
        ),
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
        (
            "o0o1",
            {"saved_data": "full", "e2e_stat_calc_mode": "device"},
            {"statistics_on": "host", "statistics_precision": "high"},
        ),
        ("o2", {"file_format": "bin"}, {"files": "bin", "host_format": False}),
        (
            "o0o1",
            {"op_debug_mode": 1, "overflow_number": 7, "input_output": 1, "dump_mode": 1},
            {"kind": "overflow", "limit": 7, "io": BOTH, "select": ()},
        ),
        ("o2", {"op_debug_mode": 3, "overflow_number": 7}, {"kind": "overflow", "limit": 7}),
        (
            "o2",
            {"op_debug_mode": 3, "overflow_number": 7, "file_format": "bin"},
            {"kind": "overflow", "limit": 0},
        ),
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
    ],
)
def test_a_setting_reaches_the_plan(surface, change, expected):
    plan = form(surface, **change).plan()
    assert {key: getattr(plan, key) for key in expected} == expected


def test_releases_read_categories_in_their_own_way():
    config = form("o0o1", saved_data="full", statistic_category=["max", "md5", "max"])
    assert config.plan(Context("2.7")).statistics == ("max", "md5", "max")
    assert config.plan(Context("2.10.0")).statistics == ("max", "md5")
    assert form("o0o1", initial_iteration=4).plan(Context("2.5")).initial_iteration == 0


@pytest.mark.parametrize(
    ("surface", "section", "context"),
    [
        ("o0o1", None, Context()),
        ("o0o1", {"enable": False, "trans_flag": True}, Context("2.2")),
        ("o2", {}, Context()),
        ("ge", {"enable": False}, Context()),
        ("o2", {"enable": True, "trans_flag": True}, Context("2.2")),
    ],
)
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
    assert [p.path for p in caught.value.problems] == [
        "common_dump_settings.path",
        "common_dump_settings.input_output",
    ]


# Any plan becomes a form, any form a plan

texts = st.text(st.sampled_from("abC/-_.1 op\\*[("), max_size=12)
selectors = st.builds(
    Selector,
    st.sampled_from(("regex", "name", "type", "marked", "range", "all")),
    texts,
    model=st.sampled_from(("", "net")),
)
ranges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=3).map(tuple)
plans = st.builds(
    DumpPlan,
    path=st.sampled_from(("/dump", "/a/b-c", "relative", "/x.y", "")),
    net_name=st.sampled_from(("Net", "a.b c", "")),
    iterations=st.builds(Iterations, st.none() | ranges),
    io=st.sampled_from((BOTH, INPUT, OUTPUT)),
    select=st.lists(selectors, max_size=3).map(tuple),
    saved=st.sampled_from(("tensor", "statistic", "full")),
    statistics=st.lists(st.sampled_from((*CATEGORIES, "sha1")), max_size=4).map(tuple),
    sample=st.none() | st.integers(0, 2**33),
    initial_iteration=st.integers(0, 2**33),
    kernel_args=st.booleans(),
    kind=st.sampled_from(("data", "overflow", "exception", "watch")),
    watched=st.just(("a",)),
    statistics_on=st.sampled_from(("host", "device")),
    statistics_precision=st.sampled_from(("high", "low")),
    files=st.sampled_from(("npy", "bin", "pt")),
    host_format=st.booleans(),
    limit=st.integers(0, 2**33),
    detail=st.sampled_from(("", "brief", "norm", "detail")),
    overflow=st.sampled_from(("all", "aicore_overflow")),
    devices=st.none() | st.lists(st.integers(0, 9), max_size=3).map(tuple),
    ranks=st.none() | st.just((1,)),
    single_op=st.booleans(),
)


@pytest.mark.parametrize("surface", SURFACES, ids=NAMES)
@settings(max_examples=examples(60), deadline=None)
@given(wanted=plans)
def test_a_form_made_of_a_plan_is_accepted_and_says_the_same_again(surface, wanted):
    there = wb.config.of(surface.name, surface.from_plan(wanted).data)
    assert [p for p in there.check() if p.severity == "error"] == []
    plan = there.plan()
    again = surface.from_plan(plan)
    assert again.unsupported == ()
    assert wb.config.of(surface.name, again.data).plan() == plan


def forms(surface):
    """Forms with any of the values that are accepted, and some that are not."""
    declared = {
        "op_debug_mode": st.integers(0, 4),
        "dump_mode": st.integers(0, 2),
        "iteration": st.text(st.sampled_from("0123|-"), min_size=1, max_size=6) | st.just("all"),
        "saved_data": st.sampled_from(("tensor", "statistic", "full")),
        "input_output": st.integers(0, 2),
        "kernels": st.lists(
            texts | texts.map("name-regex({})".format) | st.integers(-9, 2**63), max_size=3
        ),
        "support_device": st.lists(
            st.integers(-2, 9) | st.floats(0, 5) | st.booleans(), max_size=3
        ),
        "statistic_category": st.lists(
            st.sampled_from((*CATEGORIES, "hash", "hash:sha1", "hash:md5")), max_size=4
        ),
        "file_format": st.sampled_from(("npy", "bin")),
        "overflow_number": st.integers(0, 9),
        "initial_iteration": st.integers(0, 2**33),
    }
    more = {
        "enable": st.booleans(),
        "trans_flag": st.booleans(),
        "stat_calc_mode": st.sampled_from(("host", "device")),
        "device_stat_precision_mode": st.sampled_from(("high", "low")),
        "sample_mode": st.integers(0, 1),
        "sample_num": st.integers(1, 9),
        "save_kernel_args": st.booleans(),
    }
    common = st.fixed_dictionaries({}, optional=declared)
    return st.builds(
        partial(_filled, surface.name), common, st.none() | st.fixed_dictionaries({}, optional=more)
    )


def _filled(surface, common, e2e):
    data = dict(wb.config.new(surface).data)
    data["common_dump_settings"] = data["common_dump_settings"] | common
    data.pop("e2e_dump_settings", None)
    return data if e2e is None else data | {"e2e_dump_settings": e2e}


FORMS = {surface.name: forms(surface) for surface in SURFACES}


@pytest.mark.parametrize("surface", SURFACES, ids=NAMES)
@pytest.mark.parametrize("version", ["", "2.2", "2.5", "2.7"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_an_accepted_form_becomes_itself(surface, version, data):
    context = Context(version)
    config = wb.config.of(surface.name, data.draw(FORMS[surface.name]))
    if not config.accepted(context):
        return
    plan = config.plan(context)
    lowered = surface.from_plan(plan)
    assert lowered.unsupported == ()
    there = wb.config.of(surface.name, lowered.data)
    assert there.accepted(context)
    assert there.plan(context) == plan


@pytest.mark.parametrize("surface", SURFACES, ids=NAMES)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_a_form_goes_through_its_text_unchanged(surface, data):
    value = data.draw(FORMS[surface.name])
    text = wb.config.of(surface.name, value).to_text()
    again = wb.config.read(text, surface.name)
    assert again.data == value
    assert again.to_text() == text


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**65) | st.floats(allow_nan=False, allow_infinity=False)
    | texts | st.just("name-regex([a)"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.parametrize("surface", SURFACES, ids=NAMES)
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_any_json_is_judged_and_never_raises(surface, data):
    keys = st.sampled_from(
        [*surface.model.parts()["common_dump_settings"].model.settings(), "enable", "sample_mode"]
    )
    section = st.dictionaries(keys, anything, max_size=5) | anything
    names = st.sampled_from(("common_dump_settings", "e2e_dump_settings", "other"))
    value = surface.template() if data.draw(st.booleans()) else {}
    for name, part in data.draw(st.dictionaries(names, section, max_size=3)).items():
        old = value.get(name)
        merge = isinstance(part, dict) and isinstance(old, dict)
        value[name] = old | part if merge else part
    config = wb.config.of(surface.name, value)
    problems = config.check()
    config.explain()
    config.code()
    json.loads(config.to_text())
    errors = [p for p in problems if p.severity == "error"]
    if not errors:
        config.plan()
        return
    with pytest.raises(ConfigError) as caught:
        config.plan()
    assert list(caught.value.problems) == errors


@pytest.mark.parametrize("there", NAMES)
@pytest.mark.parametrize("here", NAMES)
def test_surfaces_convert_into_each_other(here, there):
    config = wb.config.new(here)
    conversion = config.convert(there)
    assert conversion.config.accepted()
    if here == there:
        assert conversion.losses == ()


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
