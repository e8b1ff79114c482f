"""What a form does, in a plan and in words, and how a plan becomes a form."""

import json

import pytest

from workbench import config as surfaces
from workbench.config.config import Config
from workbench.config.context import Context
from workbench.config.explain import plan_words
from workbench.config.files import read
from workbench.config.torchair.code import rank_folder
from workbench.config.torchair.plan import from_plan
from workbench.config.torchair.surface import TORCHAIR
from workbench.core.plan import BOTH, DumpPlan, Iterations, Selector
from workbench.core.words import Message


def config(**dump):
    return Config(TORCHAIR, {"dump_config": {"enable_dump": True} | dump})


@pytest.mark.parametrize(("dump", "part", "expected"), [
    ({}, "path", "./"),
    ({"dump_path": "/d"}, "path", "/d"),
    ({}, "io", BOTH),
    ({"dump_mode": "input"}, "io", {"input"}),
    ({"dump_mode": "output"}, "io", {"output"}),
    ({}, "iterations", Iterations()),
    ({"dump_step": "0|3-5"}, "iterations", Iterations(((0, 0), (3, 5)))),
    ({"dump_step": "5-3"}, "iterations", Iterations(())),
    ({"enable_dump": False}, "iterations", Iterations(())),
    ({"dump_layer": " Add  Mul/2 "}, "select", (Selector("name", "Add"), Selector("name", "Mul/2"))),
    ({"quant_dumpable": True}, "before_quantisation", True),
    ({}, "files", "bin"),
    ({}, "host_format", False),
    ({}, "saved", "tensor"),
    ({"dump_data": "stats"}, "saved", "statistic"),
    ({"dump_data": "stats"}, "statistics_on", "device"),
])  # fmt: skip
def test_an_option_becomes_its_part_of_the_plan(dump, part, expected):
    assert getattr(config(**dump).plan(), part) == expected


def test_the_json_file_decides_where_it_can_be_read(tmp_path):
    file = tmp_path / "d.json"
    entry = {"model_name": "m", "layer": ["A"]}
    dump = {"dump_path": str(tmp_path), "dump_list": [entry]}
    dump |= {"dump_step": "4", "dump_mode": "input"}
    file.write_text(json.dumps({"dump": dump}))
    form = config(enable_dump=False, dump_config_path=str(file))
    assert form.plan().iterations == Iterations(())
    plan = form.plan(Context(here=True))
    assert (plan.path, plan.io) == (str(tmp_path), {"input"})
    assert plan.iterations == Iterations(((4, 4),))
    assert plan.select == (Selector("name", "A", model="m"),)


def test_what_torchair_cannot_say_is_a_sentence():
    plan = DumpPlan("/d", kind="overflow")
    lowered = from_plan(plan)
    assert lowered.data["dump_config"]["enable_dump"] is False
    assert lowered.unsupported == (Message("config/lost-kind", kind="overflow"),)


OF_MODEL = (Selector("name", "conv1", model="m"), Selector("name", "pool1", model="m"))


@pytest.mark.parametrize(("select", "layer"), [
    # names that torchair refuses are left out
    ((Selector("name", "conv-1"), Selector("name", "Add"), Selector("regex", "A.*")), "Add"),
    # names of a model are kept, and not widened to every operator
    (OF_MODEL, "conv1 pool1"),
    ((*OF_MODEL, Selector("all", model="n")), None),
])  # fmt: skip
def test_a_selection_becomes_the_names_that_torchair_takes(select, layer):
    assert from_plan(DumpPlan("/d", select=select)).data["dump_config"].get("dump_layer") == layer


def said(form, context=None):
    """Names and values of the notes on a form."""
    notes = form.judge(context).notes()
    return {note.code.removeprefix("config/ta-"): dict(note.values) for note in notes}


def test_statistics_need_no_conversion_to_be_read():
    assert "containers" in said(config())
    assert "containers" not in said(config(dump_data="stats"))
    assert "csv" in said(config(dump_data="stats"))


def test_a_form_is_explained():
    form = config(dump_step="0|5-8", dump_layer="Add Mul", dump_path="/d")
    first, *rest = form.explain().splitlines()
    assert str(plan_words(form.plan())) in first
    notes = said(form)
    told = {"path": {"path": "/d"}, "tree": {"folder": "worldsize1_global_rank0"}}
    silent = ("ranks", "containers", "data-operators", "names", "index")
    assert notes == told | {name: {} for name in silent}
    assert len(rest) == len(notes)


def test_notes_on_what_stands_beside_a_dump():
    form = config(dump_path="d", quant_dumpable=True, dump_step="")
    form = form.set("environment.DUMP_GE_GRAPH", "3")
    form = form.set("options", {"fusion_config.fusion_switch_file": "/f"})
    notes = said(form)
    assert notes["variable"] == {"name": "DUMP_GE_GRAPH", "value": "3"}
    assert notes["options"] == {"names": ["fusion_config.fusion_switch_file"]}
    assert notes["path-relative"] == {"path": "d"}
    assert {"quantized", "index-all"} <= notes.keys()
    original = config().set("mode", "npugraph_ex").set("dump_config.data_dump_stage", "original")
    assert {"capture", "capture-original"} <= said(original).keys()


def test_notes_on_a_json_file():
    form = surfaces.of("torchair", {"dump_config": {"dump_config_path": "/a.json"}})
    assert said(form) == {"file-decides": {"path": "/a.json"}, "file-tree": {}, "file-scene": {}}
    assert said(form, Context(here=True)).keys() == {"file-tree", "file-scene"}


def test_the_folder_of_a_rank_comes_from_the_environment():
    notes = said(config(dump_step="0"), Context(env={"WORLD_SIZE": "8"}, rank=3))
    assert notes["tree"] == {"folder": "worldsize8_global_rank3"}
    form = config().set("mode", "reduce-overhead")
    notes = said(form, Context(env={"WORLD_SIZE": "x"}))
    assert notes["tree-capture"] == {"folder": "worldsize1_global_rank0"}
    assert "capture" in notes


@pytest.mark.parametrize(("env", "folder"), [
    ({"WORLD_SIZE": "4", "RANK": "2"}, "worldsize4_global_rank2"),
    ({"RANK": "2"}, "worldsize1_global_rank0"),
    ({"WORLD_SIZE": "0", "RANK": "2"}, "worldsize1_global_rank0"),
    ({"WORLD_SIZE": "../../x", "RANK": "1"}, "worldsize1_global_rank0"),
    ({"WORLD_SIZE": "2", "RANK": "/x"}, "worldsize2_global_rank0"),
])  # fmt: skip
def test_a_launcher_names_the_folder_with_numbers_alone(env, folder):
    assert rank_folder(Context(env=env)) == folder


def test_the_code_makes_the_folder_before_it_is_named():
    form = config(dump_path="/d", dump_step="0").set("environment.DUMP_GE_GRAPH", "3")
    assert form.code(file="train.py").splitlines() == [
        "import os",
        "os.environ['DUMP_GE_GRAPH'] = '3'",
        "",
        "import torch",
        "import torch_npu  # before torchair, which needs it",
        "import torchair",
        "",
        "os.makedirs('/d', exist_ok=True)  # torchair refuses a folder that is missing",
        "config = torchair.CompilerConfig()",
        "config.dump_config.enable_dump = True",
        "config.dump_config.dump_path = '/d'",
        "config.dump_config.dump_step = '0'",
        "npu_backend = torchair.get_npu_backend(compiler_config=config)",
        "model = torch.compile(model, backend=npu_backend)",
        "# put these lines where the script compiles its model, then: python train.py",
    ]


def test_a_form_that_is_off_makes_no_folder():
    assert "makedirs" not in config(enable_dump=False).code()


def test_a_dump_that_only_the_run_turns_on_is_judged_as_if_it_did():
    dump = "config.dump_config.enable_dump = args.dump\nconfig.dump_config.dump_step = '5-3'\n"
    text = f"import torchair\nconfig = torchair.CompilerConfig()\n{dump}"
    problems = read(text, "torchair").check()
    assert [p.code for p in problems if p.severity == "warning"] == ["E10001"]
    assert "unresolved" in {p.id for p in problems}
