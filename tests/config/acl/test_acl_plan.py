import pytest

from kit.words import check_said
from workbench.config.acl.surface import ACL
from workbench.config.config import Config
from workbench.config.context import Context
from workbench.config.convert import differences
from workbench.core.plan import BOTH, DumpPlan, Exclusion, Iterations, Selector
from workbench.core.words import Message

BINARY = {"files": "bin", "host_format": False}


def plan_of(context=None, **dump):
    return Config(ACL, {"dump": {"dump_path": "d"} | dump}).plan(context)


def back(plan):
    """The form of a plan, which must be one that adump takes."""
    config = Config(ACL, ACL.from_plan(plan).data)
    assert [p for p in config.check() if p.severity == "error"] == []
    return config


@pytest.mark.parametrize(("text", "ranges"), [
    ("", None),
    ("3", ((3, 3),)),
    ("0|5-8", ((0, 0), (5, 8))),
    ("007", ((7, 7),)),
    ("9" * 5000, ((2**63 - 1, 2**63 - 1),)),
])  # fmt: skip
def test_steps(text, ranges):
    assert plan_of(dump_list=[{}], dump_step=text).iterations == Iterations(ranges)


def test_steps_of_an_overflow_dump_are_read_as_far_as_they_can_be():
    assert plan_of(dump_debug="on", dump_step="x|3").iterations == Iterations(((3, 3),))
    assert plan_of(dump_debug="on", dump_step="x").iterations == Iterations(())


def test_modes():
    words = ("input", "output", "all")
    modes = {mode: plan_of(dump_list=[{}], dump_mode=mode).io for mode in words}
    assert modes == {"input": {"input"}, "output": {"output"}, "all": BOTH}
    assert plan_of(dump_list=[{}]).io == {"output"}


def test_statistics():
    every = ("max", "min", "avg", "nan count", "negative inf count", "positive inf count")
    default = plan_of(dump_list=[{}], dump_data="stats")
    assert (default.saved, default.statistics_on) == ("statistic", "device")
    assert default.statistics == every
    chosen = ["L2norm", "Negative Inf", "Max", "Max"]
    plan = plan_of(dump_list=[{}], dump_data="stats", dump_stats=chosen)
    assert plan.statistics == ("max", "negative inf count", "l2norm")


NAME = {"name": "n", "pos": ["output1", "input02", "input0", "bad"]}
SELECTIONS = {
    "everything": ([{}], ()),
    "a model": ([{"model_name": "m"}], (Selector("all", model="m"),)),
    "operators of a model": (
        [{"model_name": "m", "layer": ["b", "a", "b"]}],
        (Selector("name", "b", model="m"), Selector("name", "a", model="m")),
    ),
    "operators of any model": ([{"layer": ["a"]}], (Selector("name", "a"),)),
    "a range": (
        [{"model_name": "m", "opname_range": [{"begin": "a", "end": "b"}]}], (Selector("range", "a", "b", "m"),),
    ),
    "a range and operators": (
        [{"model_name": "m", "layer": ["c"], "opname_range": [{"begin": "a", "end": "b"}]}],
        (Selector("name", "c", model="m"), Selector("range", "a", "b", "m")),
    ),
    "the last entry of a model": (
        [{"model_name": "m", "layer": ["a"]}, {"model_name": "m"}], (Selector("all", model="m"),),
    ),
    "an entry without a model hides the others": ([{"model_name": "m"}, {"layer": ["a"]}], (Selector("name", "a"),)),
}  # fmt: skip


@pytest.mark.parametrize(("items", "select"), SELECTIONS.values(), ids=SELECTIONS)
def test_selection(items, select):
    assert plan_of(dump_list=items, dump_level="op").select == select


def test_omissions():
    items = [
        {"model_name": "m", "opname_blacklist": [NAME], "optype_blacklist": [NAME | {"pos": []}]},
        {"model_name": "m", "opname_blacklist": [{"name": "n", "pos": ["input1"]}]},
        {"optype_blacklist": [{"name": "T", "pos": ["input0"]}, {"pos": ["input0"]}]},
    ]
    assert plan_of(dump_list=items, dump_level="op").omit == (
        Exclusion("type", "T", ("input0",)),
        Exclusion("name", "n", ("input0", "input1", "input2", "output1"), "m"),
    )


def test_a_watch_takes_the_last_entry():
    items = [{"layer": ["A"], "watcher_nodes": ["B"]}, {"watcher_nodes": ["C", "D"]}]
    plan = plan_of(dump_list=items, dump_scene="watcher")
    assert (plan.kind, plan.watched, plan.select, plan.io) == ("watch", ("C", "D"), (), {"output"})


@pytest.mark.parametrize(
    "dump", [{}, {"dump_list": []}, {"dump_op_switch": "off"}, {"dump_scene": "watcher"}]
)
def test_plans_of_nothing(dump):
    assert plan_of(**dump) == DumpPlan("d", iterations=Iterations(()), **BINARY)


def test_older_acl_does_not_see_newer_keys():
    dump = {"dump_list": [{"model_name": "m"}], "dump_level": "op", "dump_data": "stats"}
    plan = plan_of(Context("8.0"), **dump, dump_stats=["L2norm"])
    assert (plan.level, len(plan.statistics)) == ("all", 6)


def losses(plan):
    return list(differences(plan, back(plan).plan()))


def test_what_cannot_be_said_becomes_more_and_is_listed():
    selectors = (Selector("regex", "a.*"), Selector("type", "Add"), Selector("marked"))
    plan = DumpPlan("/d", select=selectors, statistics=("max", "min", "l2norm"), **BINARY)
    (loss,) = losses(plan)
    check_said(loss, "config/lost-part", there=Message("config/select-all"))
    assert loss.values["part"].code == "config/part-select"
    found = [said.code for said in loss.values["here"].values["operators"]]
    assert found == ["config/select-regex", "config/select-type", "config/select-marked"]


def test_part_of_a_list_that_can_be_said_is_kept():
    plan = DumpPlan("/d", select=(Selector("regex", "a.*"), Selector("name", "b")), **BINARY)
    assert back(plan).plan().select == (Selector("name", "b"),)


def test_from_mindspores_words():
    never, some = Iterations.parse("9-3"), ("max", "md5")
    plan = DumpPlan("/d", saved="full", statistics=some, iterations=never)
    assert back(plan).data == {"dump": {"dump_path": "/d", "dump_list": []}}
    plan = DumpPlan("/d", saved="statistic", statistics=("md5", "l2norm", "max"))
    dump = {"dump_path": "/d", "dump_list": [{}], "dump_mode": "all", "dump_op_switch": "off"}
    statistics = {"dump_data": "stats", "dump_stats": ["Max", "L2norm"]}
    assert back(plan).data["dump"] == dump | statistics


def test_more_than_a_hundred_pieces_are_cut():
    plan = DumpPlan("/d", iterations=Iterations(tuple((i, i) for i in range(0, 300, 2))))
    assert len(back(plan).plan().iterations.ranges) == 100


def test_more_than_a_hundred_omissions_of_a_model_are_kept():
    omit = tuple(Exclusion("name", f"n{i:03}", ("input0",), "m") for i in range(250))
    select = (Selector("name", "a", model="m"),)
    plan = DumpPlan("/d", select=select, omit=omit, level="op", **BINARY)
    again = back(plan).plan()
    assert (again.omit, again.select) == (plan.omit, plan.select)


def test_a_form_for_the_newest_release_passes_it():
    for kind in ("exception", "overflow", "watch", "data"):
        detail = "norm" if kind == "exception" else ""
        plan = DumpPlan("/d", kind=kind, watched=("C",), detail=detail)
        form = Config(ACL, ACL.from_plan(plan).data)
        found = form.check(Context("9.2"))
        assert [p for p in found if p.severity == "error"] == []


@pytest.mark.parametrize("path", ["", "10.0.0.1:", "10.0.0.1:a b", "x" * 600])
def test_a_path_that_is_refused_is_replaced(path):
    assert back(DumpPlan(path)).data["dump"]["dump_path"] == "./"
