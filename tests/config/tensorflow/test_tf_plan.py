"""What a script dumps, as a plan, and how a plan becomes a script."""

import ast
from textwrap import dedent

import pytest

from kit.words import check_said
from workbench import config as surfaces
from workbench.config.config import Config
from workbench.config.context import Context
from workbench.config.explain import plan_words
from workbench.config.tensorflow.surface import TENSORFLOW
from workbench.core.plan import BOTH, DumpPlan, Iterations, Selector
from workbench.core.words import Message

BINARY = {"files": "bin", "host_format": False}
DEBUG = {"enable_dump": False, "enable_dump_debug": True}
NEVER = DumpPlan("/d", iterations=Iterations(()), **BINARY)


def form(script=None, run=None, **dump):
    return {
        "script": {"interface": "session", "porting": "automated"} | (script or {}),
        "dump": {"enable_dump": True, "dump_path": "/d"} | dump,
        "run": run or {},
    }


def plan(data, **context):
    return Config(TENSORFLOW, data).plan(Context(**context))


@pytest.mark.parametrize(("data", "part", "expected"), [
    (form(), "path", "/d"),
    (form(), "iterations", Iterations()),
    (form(dump_step=""), "iterations", Iterations()),
    (form(dump_step="0|5-8"), "iterations", Iterations(((0, 0), (5, 8)))),
    (form(dump_step="-5|7-"), "iterations", Iterations(())),  # GE refuses the session
    (form(), "io", frozenset({"output"})),
    (form(dump_mode="input"), "io", frozenset({"input"})),
    (form(dump_mode="all"), "io", BOTH),
    (form(dump_layer=" a  b/c a"), "select", (Selector("name", "a"), Selector("name", "b/c"))),
    (form(dump_layer="  "), "select", ()),
    (form(), "saved", "tensor"),
    (form(dump_data="stats"), "saved", "statistic"),
    (form(dump_data="stats"), "statistics_on", "device"),
    (form(), "files", "bin"),
    (form(), "host_format", False),
    (form(), "ranks", None),
    (form({"rank": 7}), "ranks", (7,)),
    (form(run={"quant_dumpable": "1"}), "before_quantisation", True),
    (form(), "kind", "data"),
    (form(**DEBUG), "kind", "overflow"),
    (form(**DEBUG, dump_debug_mode="atomic_overflow"), "overflow", "atomic_overflow"),
    (form(enable_dump=False), "kind", "exception"),
    (form(enable_dump=False), "detail", "brief"),
    (form(run={"enable_exception_dump": 1}, enable_dump=False), "detail", "norm"),
])  # fmt: skip
def test_a_setting_becomes_its_part_of_the_plan(data, part, expected):
    assert getattr(plan(data), part) == expected


@pytest.mark.parametrize("data", [
    form(run={"enable_exception_dump": 0}, enable_dump=False),
    form({"use_off_line": False}),
    form({"optimizer": "Other"}),
])  # fmt: skip
def test_scripts_that_dump_nothing_plan_nothing(data):
    assert plan(data) == NEVER


def test_the_estimator_loses_a_debug_mode_without_a_dump_mode():
    manual = {"interface": "estimator", "porting": "manual"}
    debug = {"enable_dump": False, "enable_dump_debug": True, "dump_debug_mode": "aicore_overflow"}
    assert plan(form(manual, **debug)).overflow == "aicore_overflow"
    assert plan(form(manual, **debug, dump_mode=None)).overflow == "all"


def test_records_of_exceptions_go_where_the_environment_says():
    data = form(enable_dump=False)
    assert plan(data).path == "./"
    assert plan(data, env={"ASCEND_WORK_PATH": "/w"}).path == "/w"
    assert plan(data, env={"ASCEND_WORK_PATH": "/w", "ASCEND_DUMP_PATH": "/a"}).path == "/a"


@pytest.mark.parametrize(("wanted", "dump"), [
    (DumpPlan("/d", iterations=Iterations.parse("0|5-8|7-3"), select=(Selector("name", "a"),)),
     {"enable_dump": True, "dump_path": "/d", "dump_step": "0|5-8", "dump_mode": "all", "dump_layer": "a"}),
    (DumpPlan("/d", saved="statistic", select=(Selector("regex", "a.*"),)),
     {"enable_dump": True, "dump_path": "/d", "dump_mode": "all", "dump_data": "stats"}),
    (DumpPlan("/d", kind="overflow", overflow="aicore_overflow"),
     {"enable_dump_debug": True, "dump_path": "/d", "dump_debug_mode": "aicore_overflow"}),
    (DumpPlan("/d", iterations=Iterations(((2**31, 2**40), (3, 2**40)))),
     {"enable_dump": True, "dump_path": "/d", "dump_step": "3-2147483647", "dump_mode": "all"}),
])  # fmt: skip
def test_a_plan_becomes_settings(wanted, dump):
    assert TENSORFLOW.from_plan(wanted).data["dump"] == dump


def test_conversion_says_what_a_script_cannot():
    items = [{"model_name": "m", "layer": ["a"]}]
    dump = {"dump_path": "/d", "dump_list": items, "dump_step": "3", "dump_mode": "all"}
    result = surfaces.of("acl", {"dump": dump}).convert("tensorflow")
    assert result.config.accepted()
    assert result.config.data["dump"]["dump_step"] == "3"
    (lost,) = (loss for loss in result.losses if loss.values["part"].code == "config/part-select")
    (here,) = lost.values["here"].values["operators"]
    check_said(here, "config/select-of-model", model="m")
    back = result.config.convert("acl")
    assert back.config.surface.name == "acl"


def test_explanation_of_a_script():
    data = form({"rank": 7}, dump_step="0|5-8", dump_mode="all", dump_layer="conv1 fc/Add")
    config = Config(TENSORFLOW, data)
    first, *rest = config.explain().splitlines()
    assert str(plan_words(config.plan())) in first
    notes = list(config.judge().notes())
    assert Message("config/tf-rank", rank=7) in notes
    assert {"config/tf-tree", "config/tf-container"} <= {note.code for note in notes}
    problems = config.check()
    assert [problem.id for problem in problems] == ["volume", "graph-unset"]
    assert rest == [*(f"- {note}" for note in notes), *(f"- hint: {p}" for p in problems)]


def test_explanation_of_a_refused_script_names_what_refuses_it():
    config = Config(TENSORFLOW, form(dump_step="3-3"))
    (problem,) = (problem for problem in config.check() if problem.severity == "error")
    check_said(problem.message.values["said"], "step-order", key="dump_step", got="3-3")
    assert config.explain().splitlines()[1:] == [f"- {problem}"]


def test_notes_follow_the_settings():
    def notes(data, **context):
        found = Config(TENSORFLOW, data).judge(Context(**context)).notes()
        return {note.code.removeprefix("config/tf-"): note.values for note in found}

    assert "outputs" in notes(form())
    assert "outputs" not in notes(form(dump_mode="all"))
    assert "csv" in notes(form(dump_data="stats"))
    assert "names" in notes(form(dump_layer="a"))
    assert "init" in notes(form({"init_resource": True}))
    manual = {"interface": "estimator", "porting": "manual"}
    assert "arguments" in notes(form(manual))
    for value, name in ((1, "exception-full"), (2, "exception-brief")):
        assert notes(form(run={"enable_exception_dump": value}))[name] == {"folder": "."}
    none = notes(form(run={"enable_exception_dump": 0}))
    assert none.keys().isdisjoint({"exception-full", "exception-brief"})


def test_a_note_names_the_folder_of_the_graphs():
    def place(data, **env):
        graphs = ("config/tf-graph", "config/tf-graphs")
        notes = Config(TENSORFLOW, data).judge(Context(env=env)).notes()
        return next(((n.code, n.values["folder"]) for n in notes if n.code in graphs), None)

    here, graph = Message("config/tf-working-folder"), {"DUMP_GE_GRAPH": "2"}
    assert place(form(), **graph) == ("config/tf-graphs", here)
    assert place(form()) == ("config/tf-graph", here)
    assert place(form(enable_dump=False)) is None
    work = Message("config/tf-work-path", folder="/w")
    assert place(form(), **graph, ASCEND_WORK_PATH="/w")[1] == work
    there = Message("config/tf-graph-folder", folder="/home/dumpgraph")
    assert place(form(), **graph, DUMP_GRAPH_PATH="/home/dumpgraph")[1] == there
    collected = Message("config/tf-collect-folder", folder="/c")
    assert place(form(), **graph, NPU_COLLECT_PATH="/c", DUMP_GRAPH_PATH="/g")[1] == collected


def test_code_says_what_to_do_in_order():
    data = form({"rank": 7}, dump_path="/home/a b", dump_step="0")
    data["environment"] = {"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_PATH": "/home/dumpgraph"}
    text = Config(TENSORFLOW, data).code(file="net/train.py")
    expected = dedent("""\
        # 1. In the shell:
        #      mkdir -p '/home/a b'
        #      export DUMP_GE_GRAPH=1
        #      export DUMP_GRAPH_PATH=/home/dumpgraph
        #      export RANK_ID=0  # in each process its own, where the launcher sets none
        #      python3 net/train.py
        # 2. In net/train.py, where the script calls npu_config_proto; the import of npu_bridge comes first:

        import os

        import tensorflow as tf
        from npu_bridge.npu_init import *

        if int(os.getenv("RANK_ID", "0")) == 7:
            dump_flag = True
        else:
            dump_flag = False
        """)
    assert text.startswith(expected)
    assert "os.environ" not in text
    ast.parse(text)
    read = surfaces.read(text, "tensorflow").data
    found = {name: read[name] for name in ("script", "dump")}
    assert found == {name: data[name] for name in ("script", "dump")}


def test_code_exports_the_graph_switch_if_nothing_does():
    assert "#      export DUMP_GE_GRAPH=2" in Config(TENSORFLOW, form()).code()
