"""Every example of the vendor's documents: in and out unchanged as data, and its verdict."""

import json

import pytest

from workbench import config as surfaces
from workbench.config.acl.surface import ACL
from workbench.config.context import Context
from workbench.core.plan import Iterations, Selector

LAYERS = ["conv1conv1_relu", "res2a_branch2ares2a_branch2a_relu", "res2a_branch1", "pool1"]
MODELS = [{"model_name": "ResNet-101"}, {"model_name": "ResNet-50", "layer": LAYERS}]
MODEL = {"dump_mode": "output", "dump_op_switch": "off", "dump_data": "tensor"}
WATCH = {
    "dump_list": [{"layer": ["A", "B"], "watcher_nodes": ["C", "D"]}],
    "dump_path": "/home/",
    "dump_mode": "output",
    "dump_scene": "watcher",
}
SINGLE = {"dump_path": "output", "dump_list": [], "dump_op_switch": "on", "dump_data": "tensor"}

EXAMPLES = {
    "offline model": ({"dump_list": MODELS, "dump_path": "$HOME/output"} | MODEL, ["path-expand", "volume"]),
    "single-operator model": (SINGLE, ["volume"]),
    "single-operator API": (
        {"dump_path": "output", "dump_list": [], "dump_data": "tensor"}, ["nothing-dumped", "ge-list"],
    ),
    "brief exception": ({"dump_path": "output", "dump_scene": "aic_err_brief_dump"}, []),
    "overflow": ({"dump_path": "output", "dump_debug": "on"}, []),
    "watch": (WATCH, []),
    "torchair model": ({"dump_list": MODELS, "dump_path": "/home/output"} | MODEL, ["volume"]),
    "torchair single operators": (SINGLE | {"dump_path": "/home/output"}, ["volume"]),
    "torchair overflow": ({"dump_path": "output", "dump_debug": "on"}, []),
    "torchair watch": (WATCH, []),
}  # fmt: skip


@pytest.mark.parametrize(("dump", "ids"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_is_kept_and_accepted(dump, ids):
    text = json.dumps({"dump": dump})
    config = surfaces.read(text, "acl")
    assert ACL.recognises(config.data)
    assert json.loads(config.to_text()) == {"dump": dump}
    found = config.check()
    assert [p.id for p in found] == ids
    assert config.accepted()


def test_the_folder_of_the_first_example_is_refused_where_it_can_be_looked_at():
    dump, _ = EXAMPLES["offline model"]
    found = surfaces.of("acl", {"dump": dump}).check(Context(here=True))
    assert [(p.id, p.code) for p in found if p.severity == "error"] == [("path-folder", "EP0003")]


def plan_of(name, context=None):
    return surfaces.of("acl", {"dump": EXAMPLES[name][0]}).plan(context)


def test_plans_of_the_examples():
    model = plan_of("torchair model")
    assert model.select == (
        Selector("all", model="ResNet-101"),
        *(Selector("name", layer, model="ResNet-50") for layer in LAYERS),
    )
    assert (model.path, model.io, model.single_op) == ("/home/output", {"output"}, False)
    assert (model.files, model.host_format, model.iterations) == ("bin", False, Iterations())
    single = plan_of("single-operator model")
    assert (single.select, single.single_op) == ((), True)
    assert plan_of("single-operator API").iterations == Iterations(())
    overflow = plan_of("overflow")
    found = overflow.kind, overflow.path, overflow.io
    assert found == ("overflow", "output", {"input", "output"})
    brief = plan_of("brief exception")
    assert (brief.kind, brief.detail, brief.path) == ("exception", "brief", "output")
    watch = plan_of("watch")
    assert (watch.kind, watch.watched, watch.io) == ("watch", ("C", "D"), {"output"})
    assert watch.select == (Selector("name", "A"), Selector("name", "B"))


@pytest.mark.parametrize(("env", "version", "dump_path", "root"), [
    ({"ASCEND_DUMP_PATH": "/d", "ASCEND_WORK_PATH": "/w", "NPU_COLLECT_PATH": "/n"}, "", "o", "/d"),
    ({"ASCEND_WORK_PATH": "/w", "NPU_COLLECT_PATH": "/n"}, "", "o", "/w"),
    ({"NPU_COLLECT_PATH": "/n"}, "", "o", "o"),
    ({}, "", "", "./"),
    ({"ASCEND_DUMP_PATH": "/d", "NPU_COLLECT_PATH": "/n", "ASCEND_WORK_PATH": "/w"}, "8.0", "o", "/n"),
    ({"ASCEND_DUMP_PATH": "/d", "ASCEND_WORK_PATH": "/w"}, "8.0", "o", "/w"),
    ({"ASCEND_DUMP_PATH": "/d"}, "8.0", "o", "o"),
])  # fmt: skip
def test_root_of_an_exception_dump(env, version, dump_path, root):
    dump = {"dump_scene": "lite_exception"} | ({"dump_path": dump_path} if dump_path else {})
    config = surfaces.of("acl", {"dump": dump})
    assert config.plan(Context(version=version, env=env)).path == root


def test_environment_does_not_move_other_dumps():
    context = Context(env={"ASCEND_DUMP_PATH": "/d", "ASCEND_WORK_PATH": "/w"})
    assert plan_of("watch", context).path == "/home/"
    assert plan_of("overflow", context).path == "output"


def test_a_variable_that_names_a_file_is_skipped(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    env = {"ASCEND_DUMP_PATH": str(file), "ASCEND_WORK_PATH": str(tmp_path / "made")}
    context = Context(env=env, here=True)
    assert plan_of("brief exception", context).path == str(tmp_path / "made")
    config = surfaces.of("acl", {"dump": EXAMPLES["brief exception"][0]})
    assert "variable-skipped" in [p.id for p in config.check(context)]


@pytest.mark.parametrize(("scene", "detail"), [
    ("lite_exception", "brief"),
    ("aic_err_brief_dump", "brief"),
    ("aic_err_norm_dump", "norm"),
    ("aic_err_detail_dump", "detail"),
])  # fmt: skip
def test_detail_of_the_scenes(scene, detail):
    plan = surfaces.of("acl", {"dump": {"dump_scene": scene}}).plan()
    assert (plan.kind, plan.detail) == ("exception", detail)
