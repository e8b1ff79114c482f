"""A preview is the tree that the simulation then writes; what it says beyond is checked by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kit.build.small_dumps import chain, on_disk, shoot
from kit.build.small_dumps import given as given_values
from kit.cases import changed, mindspore_form, nightly
from kit.trees import foretold, sizes
from kit.words import check_said, refused
from workbench import config
from workbench.config.context import Context
from workbench.core.errors import FormatError, GraphError
from workbench.core.plan import DumpPlan, Exclusion, Iterations, Selector
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.core.writers import WRITERS
from workbench.dump.write.cost import CLASSES, estimate_overhead
from workbench.dump.write.targets import Target
from workbench.forecast.preview import preview, preview_plan
from workbench.forecast.render import SHOWN, headline
from workbench.forecast.sources import load_graphs, load_workload
from workbench.graph.graph import Graph, Op, Param, Parameter, Value
from workbench.graph_files.ge.text import parse_ge_text
from workbench.graph_files.mindspore.write_text import write_ms_text
from workbench.network.models import MODELS, load_graph
from workbench.npu import target as npu
from workbench.simulation.simulate import simulate

F = TensorSpec("float32", (2, 3))
CONV = "Default/conv1-Conv2d/Conv2D-op0"
GE = 'graph {{ name: "ge_default_1" {} }}'


def form(surface="mindspore-cpu", **settings):
    """The surface's own starting form with some settings of ``common_dump_settings``."""
    return mindspore_form(surface.removeprefix("mindspore-"), **settings)


def plan_of(surface, plan, graph, iterations=1, **more):
    more = {"context": Context()} | more
    work = load_workload(graph, surface, iterations=iterations)
    return preview_plan(plan, work, npu.Target(surface), Target(surface), **more)


FORMS = {
    "all": {},
    "some iterations": {"iteration": "1|3-4", "initial_iteration": 2},
    "none": {"iteration": "100"},
    "inputs": {"input_output": 1},
    "types": {"dump_mode": 1, "kernels": ["conv", "name-regex(Default/fc.+)"]},
    "full name": {"dump_mode": 1, "kernels": [CONV]},
    "wrong name": {"dump_mode": 1, "kernels": ["Default/none-op0"]},
    "statistics": {"saved_data": "statistic", "statistic_category": ["md5", "count"]},
    "full": {"saved_data": "full", "statistic_category": ["md5"]},
    "containers": {"file_format": "bin"},
    "some containers": {"file_format": "bin", "iteration": "1-2", "input_output": 2},
    "another device": {"support_device": [3]},
}
ONLY = {
    "mindspore-cpu": ("saved_data", "file_format", "support_device"),
    "mindspore-gpu": ("file_format",),
    "mindspore-o0o1": ("file_format",),
}
"""Settings that a surface does not have."""

_ACL = "dump.dump_list[0]"
OTHERS = {
    "tensorflow": {
        "all": {},
        "some iterations": {"dump.dump_step": "0|2"},
        "names": {"dump.dump_mode": "output", "dump.dump_layer": f"{CONV} none"},
        "rank": {"script.rank": 1},
    },
    "torchair": {
        "all": {},
        "some iterations": {"dump_config.dump_step": "1-5"},
        "wrong name": {"dump_config.dump_layer": "none"},
    },
    "acl": {
        "all": {},
        "inputs": {"dump.dump_step": "2", "dump.dump_mode": "input"},
        "names": {f"{_ACL}.layer": [CONV]},
        "blacklist": {
            "dump.dump_level": "op", f"{_ACL}.optype_blacklist": [{"name": "MatMul", "pos": ["input1"]}],
        },
        "single operators": {
            "dump.dump_op_switch": "on", "dump.dump_list": [], "dump.dump_step": "",
        },
        "watcher": {
            "dump.dump_scene": "watcher", "dump.dump_mode": "output", f"{_ACL}.watcher_nodes": [CONV],
        },
    },
}  # fmt: skip


def has(surface, settings):
    """Whether a surface of MindSpore has the settings of a form."""
    lacking = ("saved_data",) if surface == "mindspore-ge" else ONLY.get(surface, ())
    return not settings.keys() & {*lacking}


SETTINGS = {
    surface: {title: one for title, one in FORMS.items() if has(surface, one)}
    for surface in sorted(WRITERS)
    if surface.startswith("mindspore")
} | OTHERS
"""Surface → its forms by what they ask for."""

CASES = [
    (name, surface, title)
    for surface, forms in SETTINGS.items()
    for title in forms
    for name in sorted(MODELS)
]


DAILY = [
    (sorted(MODELS)[number % len(MODELS)], surface, title)
    for surface, forms in SETTINGS.items()
    for number, title in enumerate(forms)
]
"""Every form once, with the networks by turns."""


def asked_of(surface, settings):
    if surface.startswith("mindspore"):
        return form(surface, **settings)
    return changed(config.new(surface), settings)


@pytest.mark.parametrize(
    ("name", "surface", "title"), nightly(CASES, DAILY), ids=map(" ".join, CASES)
)
def test_the_simulation_writes_what_was_previewed(tmp_path, name, surface, title):
    asked = asked_of(surface, SETTINGS[surface][title])
    graph = load_graph(name)
    foreseen = preview(asked, graph, iterations=3, seed=5)
    device = "reference" if surface in ("mindspore-cpu", "mindspore-gpu") else "a2"
    simulate(graph, None, asked, tmp_path, device=device, surface=surface, iterations=3, seed=5)
    written = sizes(tmp_path)
    assert foretold(foreseen.forecast) == written
    assert foreseen.exact
    assert (foreseen.files, foreseen.bytes) == (len(written), sum(written.values()))
    assert sorted(foreseen.names) == sorted(written)
    folders = {f.path: (f.files, f.bytes) for f in foreseen.folders}
    for folder, (count, size) in folders.items():
        inside = [n for path, n in written.items() if path.rpartition("/")[0] == folder]
        assert (count, size) == (len(inside), sum(inside))
    assert sum(count for count, _ in folders.values()) == len(written)


@pytest.mark.parametrize(("device", "mode"), [
    ("910a", None),
    ("a2", "allow_mix_precision_bf16"),
    ("a3", "force_fp16"),
    ("950", "cube_hif8"),
])  # fmt: skip
def test_types_of_the_device_are_foretold_where_operators_run_one_by_one(tmp_path, device, mode):
    """The graph file states them, and their names differ in length."""
    known = config.new("mindspore-o0o1")
    graph = load_graph("lstm")
    simulate(graph, None, known, tmp_path, device=device, precision_mode=mode)
    told = preview(known, graph, device=device, precision_mode=mode)
    assert foretold(told.forecast) == sizes(tmp_path)


@pytest.mark.parametrize("columns", [(), ("Max", "L2norm")])
@pytest.mark.parametrize("surface", ["acl", "torchair", "tensorflow"])
def test_the_devices_statistics_are_foretold_within_their_bound(tmp_path, surface, columns):
    asked = config.new(surface)
    path = "dump_config.dump_data" if surface == "torchair" else "dump.dump_data"
    asked = asked.set(path, "stats")
    if columns and surface == "acl":
        asked = asked.set("dump.dump_stats", list(columns))
    foreseen = preview(asked, "lenet", seed=1)
    simulate(load_graph("lenet"), None, asked, tmp_path, surface=surface, device="a2", seed=1)
    written = sizes(tmp_path)
    assert sorted(foreseen.names) == sorted(written)
    tables = {name for name in written if not name.startswith("graphs/")}
    assert all(name.endswith(".csv") for name in tables)
    assert all(written[e.path] <= e.size < 2 * written[e.path] for e in foreseen.forecast.files)
    beside = 15 if surface == "tensorflow" else 0  # two operators and three, three tensors each
    own = 2 * 3 + 2 * 2 + 3 * 4  # convolutions, poolings, dense layers; Flatten runs nothing
    # before and after it, at both ends; five weights are fed
    moves = 4 + 5 * (surface == "torchair")
    casts = 2 * (surface == "acl")
    assert foreseen.to_dict()["statistic_rows"] == own + beside + 2 * (moves + casts)
    assert foreseen.inexact_because == (Message("dump/size-bound"),)


@pytest.mark.parametrize("graph", ["lenet", "ir", "dump", "file"])
def test_a_graph_is_given_by_name_file_or_dump(tmp_path, graph):
    traced = load_graph("lenet")
    text = graph
    if graph == "ir":
        text = tmp_path / "ms_output_trace_code_graph_2.ir"
        text.write_text(write_ms_text(traced), encoding="utf-8")
    elif graph == "dump":
        text = simulate(traced, None, DumpPlan("/x"), tmp_path / "dump")
    elif graph == "file":
        (tmp_path / "net.py").write_text(
            "import numpy as np\nfrom workbench.network import nn\n"
            "INPUTS = np.ones((2, 4), np.float32)\nclass Net(nn.Dense):\n"
            "    def __init__(self):\n        super().__init__(4, 2)\n"
        )
        text = f"{tmp_path}/net.py:Net"
    found = preview(form(), text)
    assert len(found.selection.operators) == (2 if graph == "file" else len(traced.ops))
    assert found.forecast.files


def test_all_graphs_of_a_dump_are_taken(tmp_path):
    graphs = [replace(chain("MatMul", "ReLU"), name=f"g{n}").with_id(n) for n in (2, 10)]
    shots = [shot for graph in graphs for shot in shoot(graph, given_values(graph))]
    root = on_disk(tmp_path / "dump", shots, *graphs)
    assert [graph.graph_id for graph in load_graphs(root)] == [2, 10]
    found = preview(form(iteration="all"), root)
    assert found.operators == 4
    assert [f.path for f in found.folders if "/Net/" in f.path] == [
        "rank_0/Net/2/0", "rank_0/Net/10/1",
    ]  # fmt: skip


def nowhere(got):
    return got, {}, GraphError, "forecast/graph", {"got": got}


REFUSED = [
    nowhere("nothing.ir"),
    nowhere("resnet5000"),
    (parse_ge_text(GE.format('op { name: "a" type: "Relu" }')), {}, GraphError, "forecast/preview-ge",
     {"surface": "mindspore-cpu"}),
    (Graph("g", (), (Op("a", "x/y", (), {}, (F,)),)), {}, FormatError, "dump/operator-name", {}),
    *[("mlp", {"iterations": got}, FormatError, "dump/iterations", {"got": got}) for got in (0, -1, 10**9)],
    *[("mlp", {"seed": got}, GraphError, "core/seed", {"got": got}) for got in (-1, 1.5, True)],
    ("mlp", {"ranks": 0}, GraphError, "graph/integer", {"subject": "ranks", "got": 0}),
    # what a graph is compiled for is checked as for a run
    ("mlp", {"device": "a9"}, GraphError, "core/choice", {}),
    ("mlp", {"device": "reference", "precision_mode": "force_fp16"}, GraphError, "run/reference-precision", {}),
    ("mlp", {"quantization": "w4"}, GraphError, "core/choice", {}),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "options", "kind", "code", "values"), REFUSED)
def test_what_cannot_be_foretold_is_refused(graph, options, kind, code, values):
    with refused(code, kind, **values):
        preview(form(), graph, **options)


def test_a_dump_without_graphs_is_refused(tmp_path):
    (tmp_path / "rank_0").mkdir()
    with refused("forecast/dump-without-graph", GraphError, got=str(tmp_path)):
        preview(form(), tmp_path)


def test_a_network_is_not_called_like_the_folder_above():
    with refused("dump/net-name", FormatError, got=".."):
        plan_of("mindspore-cpu", DumpPlan("/d", ".."), load_graph("mlp"))


@pytest.mark.parametrize(("entry", "code", "values"), [
    (Selector("name", "Default_conv1-Conv2d_Conv2D-op0"), "entry-file-name", {"near": CONV}),
    (Selector("name", "Default/conv1-Conv2d/Conv2D-op12"), "entry-number", {"near": CONV}),
    (Selector("name", "Default/conv9-Conv2d/Conv2D-op0"), "entry-name", {}),
    (Selector("type", "lstm"), "entry-type", {}),
    (Selector("regex", "conv"), "entry-regex", {}),
    (Selector("range", CONV, "Default/none"), "entry-range",
     {"end": "Default/none", "why": Message("simulation/entry-name")}),
])  # fmt: skip
def test_entries_that_match_nothing_are_named_with_a_hint(entry, code, values):
    good = Selector("type", "CONV")
    found = plan_of("mindspore-cpu", DumpPlan("/d", select=(good, entry)), load_graph("lenet"))
    (unmet,) = found.selection.unmatched
    check_said(unmet.reason, f"simulation/{code}", **values)
    assert unmet.entry.startswith(entry.text)
    assert [name.rpartition("/")[2] for name in found.selection.operators] == ["Conv2D-op0"] * 2


def test_an_entry_that_matches_a_parameter_alone_is_met():
    plan = DumpPlan("/d", select=(Selector("type", "conv1.WEIGHT"),))
    found = plan_of("mindspore-cpu", plan, load_graph("lenet"))
    assert found.selection.unmatched == ()
    told = [name.split("/")[-1].split(".")[1] for name in found.names if name.endswith("npy")]
    assert told == ["conv1_weight"]


def test_a_blacklist_and_a_fused_name_that_match_nothing_are_named():
    fused = '{ key: "_datadump_original_op_names" value { list { s: "conv" s: "relu" } } }'
    graph = parse_ge_text(
        GE.format(f'op {{ name: "conv_relu" type: "Conv2D" attr {fused} output_desc {{ }} }}')
    )
    select = (Selector("name", "relu"), Selector("all", model="resnet"))
    plan = DumpPlan("/d", select=select, omit=(Exclusion("type", "Nothing"),), files="bin")
    found = plan_of("acl", plan, graph)
    assert [(u.where, u.entry, u.reason) for u in found.selection.unmatched] == [
        ("list", "relu", Message("simulation/entry-fused", near="conv_relu")),
        ("list", "resnet", Message("simulation/entry-model", got="resnet", names=["ge_default_1"])),
        ("blacklist", "Nothing", Message("simulation/entry-type")),
    ]
    assert found.selection.operators == ()


@pytest.mark.parametrize(("version", "told"), [("2.6", False), ("2.7", True)])
def test_msprobe_saves_tensors_or_statistics(version, told):
    asked = config.new("mindspore-o2").set("common_dump_settings.saved_data", "full")
    found = preview(asked, "mlp", context=Context(version))
    assert any(name.endswith(".npy") for name in found.names) is not told
    codes = {note.code for note in found.notes}
    assert ({"forecast/msprobe", "forecast/msprobe-statistics"} <= codes) is told
    names = [name for name in found.names if not name.startswith(("acl_dump", "graphs/"))]
    assert all(name.endswith("statistic.csv") for name in names) is told


def test_marked_operators_are_unknown_before_the_run():
    found = plan_of("mindspore-o0o1", DumpPlan("/d", select=(Selector("marked"),)),
                    load_graph("mlp"))  # fmt: skip
    assert found.selection.operators == ()
    assert not found.exact
    check_said(found.inexact_because[0], "forecast/late-marked")
    counts = {"matched": 0, "operators": found.operators, "files": found.files}
    about = Message("forecast/headline-about", **counts, iterations=1, size=found.bytes)
    assert str(about) in str(found).splitlines()[0]


@pytest.mark.parametrize(("plan", "surface", "code"), [
    (DumpPlan("/d", files="pt"), "torchair", "late-captured"),
    (DumpPlan("/d", kind="watch"), "mindspore-o0o1", "no-watch"),
])  # fmt: skip
def test_what_only_the_run_can_tell_is_not_foretold(plan, surface, code):
    found = plan_of(surface, plan, load_graph("mlp"))
    assert (found.files, found.bytes, found.exact) == (0, 0, False)
    check_said(found.inexact_because[0], f"forecast/{code}")
    assert found.overhead.name == "unknown"
    assert str(found.inexact_because[0]) in str(found).splitlines()[0]


@pytest.mark.parametrize(("plan", "context", "code"), [
    (DumpPlan("/d", devices=(1, 2)), Context(), "device-left-out"),
    (DumpPlan("/d", ranks=(7,)), Context(rank=3), "rank-left-out"),
    (DumpPlan("/d", iterations=Iterations.parse("9")), Context(), "iteration-left-out"),
    (DumpPlan("/d", iterations=Iterations(())), Context(), "iterations-none"),
])  # fmt: skip
def test_a_run_that_dumps_nothing_says_why(plan, context, code):
    found = plan_of("acl", plan, load_graph("mlp"), context=context)
    compiled = plan.devices is None and plan.ranks is None
    assert [name.rpartition("_")[2] for name in found.names] == ["Build.txt"] * compiled
    assert f"simulation/{code}" in {note.code for note in found.notes}
    assert found.overhead.name == "none"
    assert sum(name.startswith("Default/") for name in found.selection.operators) == 3


def test_the_device_and_rank_of_the_context_are_in_the_tree():
    context = Context(device=2, rank=5, env={"WORLD_SIZE": "8"})
    plan = DumpPlan("/d", devices=(2,), files="bin")
    found = plan_of("torchair", plan, load_graph("mlp"), context=context)
    assert found.folders[-1].path.startswith("worldsize8_global_rank5/20231114221320/2/")
    tree = preview(form("mindspore-o0o1", support_device=[2]), "mlp", context=context)
    assert {name.partition("/")[0] for name in tree.names} == {"rank_5"}


def test_disk_space_is_looked_at_only_here(tmp_path):
    plan = DumpPlan(str(tmp_path / "not" / "yet"))
    assert plan_of("mindspore-cpu", plan, load_graph("mlp")).disk is None
    found = plan_of("mindspore-cpu", plan, load_graph("mlp"), context=Context(here=True))
    disk = found.disk
    said = Message("forecast/disk-enough", free=disk.free, path=disk.path)
    assert str(said) in str(found)
    assert disk.path == str(tmp_path)
    assert disk.fits == (disk.needed <= disk.free)
    huge = Graph("g", (Parameter("x", TensorSpec("float32", (1 << 50,))),), ())
    large = plan_of("mindspore-cpu", plan, huge, context=Context(here=True))
    assert not large.disk.fits
    assert "NOT ENOUGH" in str(large)


@pytest.mark.parametrize(("moved", "written", "count", "name"), [
    (0, 0, 0, "none"),
    (1, 1, 1, "light"),
    (64 << 20, 0, 1_000, "light"),
    ((64 << 20) + 1, 0, 1_000, "noticeable"),
    (0, 2 << 30, 10, "heavy"),
    (0, 1, 200_000, "extreme"),
    (17 << 30, 1, 1, "extreme"),
])  # fmt: skip
def test_the_class_of_overhead_follows_bytes_and_files(moved, written, count, name):
    found = estimate_overhead(DumpPlan("/d"), moved, written, count)
    meaning = found.reason.values.get("meaning", found.reason)
    assert found.reason.values.get("files", 0) == count
    assert (found.name, meaning.code) == (name, f"dump/overhead-{name}")


def test_statistics_on_the_device_spare_the_copies():
    host = DumpPlan("/d", saved="statistic")
    device = replace(host, statistics_on="device")
    assert estimate_overhead(host, 5 << 30, 1000, 1).name == "heavy"
    assert estimate_overhead(device, 5 << 30, 1000, 1).name == "light"
    assert [row.nbytes for row in CLASSES] == sorted(row.nbytes for row in CLASSES)


def test_the_json_holds_everything():
    asked = form(iteration="0-1")
    found = preview(asked, "lenet", iterations=3, context=Context(here=True))
    data = json.loads(json.dumps(found.to_dict()))
    assert data["schema"] == "workbench.preview/1"
    assert (data["surface"], data["version"], data["kind"]) == ("mindspore-cpu", "2.6.0", "data")
    assert data["graph"] == {"name": "LeNet", "operators": 15}
    assert data["matched"]["count"] == len(data["matched"]["operators"]) == 15
    assert data["iterations"] == [0, 1]
    assert data["files"] == len(data["names"]) == found.files
    assert data["bytes"] == sum(item["bytes"] for item in data["names"])
    assert data["per_iteration"]["files"] == 56
    assert data["first"] == [item["path"] for item in data["names"]][:SHOWN]
    assert sum(folder["files"] for folder in data["folders"]) == data["files"]
    assert (data["exact"], data["doubts"], data["statistic_rows"]) == (True, [], 0)
    assert data["slow_down"]["class"] == "light"
    assert data["disk"]["needed"] == data["bytes"]


def test_the_text_says_the_same_in_a_screen():
    found = preview(form(dump_mode=1, kernels=["conv", "lstm"]), "lenet")
    text = str(found)
    counts = {"matched": 2, "operators": 15, "files": 14, "iterations": 1, "size": found.bytes}
    assert str(Message("forecast/headline", **counts)) in text
    assert f"lstm  ({Message('simulation/entry-type')})" in text
    assert str(Message("forecast/more", count=found.files - SHOWN)) in text
    assert len(text.splitlines()) < 50


def test_notebooks_get_escaped_html_without_scripts():
    op = Op("Default/<script>alert(1)</script>-op0", "Add", (Param(0),), {}, (F,), (F,))
    graph = Graph("<b>g</b>", (Parameter("x", F),), (op,), (Value(0),))
    found = plan_of("acl", DumpPlan("/d", files="bin"), graph)
    html = found._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert "3 of 3 operators matched" in html  # and a Cast before and after it
    assert "&lt;script&gt;alert(1)&lt;" in html


def test_the_version_of_the_context_decides_the_names():
    old = preview(form(), "lenet", context=Context("2.3"))
    assert any(name.endswith(".output.0.DefaultFormat.npy") for name in old.names)
    assert old.version == "2.3"
    newer = preview(form(), "lenet", context=Context("2.10.0"))
    assert any(name.endswith(".DefaultFormat.Float32.npy") for name in newer.names)


@pytest.mark.parametrize("kind", ["data", "overflow", "exception"])
def test_what_never_runs_matches_no_kind_of_dump(kind):
    ops = 'op { name: "x" type: "Data" } op { name: "y" type: "Add" input: "x:0" }'
    (graph,) = load_graphs(parse_ge_text(GE.format(ops)))
    found = plan_of("acl", DumpPlan("/d", kind=kind, files="bin"), graph)
    assert found.selection.operators == ("y",)
    assert [name for name, _ in found.never_dumped] == ["x"]


@pytest.mark.parametrize("surface", ["mindspore-o0o1", "acl"])
def test_a_node_without_a_name_is_called_by_its_type(surface):
    ops = (
        Op("Default/Add-op0", "Add", (Param(0),), {}, (F,), (F,)),
        Op("", "call", (Value(0),), {}, (F,), (F,)),
    )
    found = plan_of(surface, DumpPlan("/d"), Graph("g", (Parameter("x", F),), ops, (Value(1),)))
    own = [name for name in found.selection.operators if not name.startswith("trans_Cast_")]
    assert own == ["Default/Add-op0"]
    assert [name for name, _ in found.never_dumped] == ["call"]


BLOCK = (
    "op = config.graph_options.rewrite_options.custom_optimizers.add()\n"
    "op.name = 'NpuOptimizer'\n"
    "op.parameter_map['enable_dump'].b = True\n"
    "op.parameter_map['dump_path'].s = {path}\n"
    "{more}"
    "sess = tf.Session(config=config)\n"
)
ARGUMENTS = (
    "from npu_bridge.npu_init import *\nd = DumpConfig({})\nrun = NPURunConfig(dump_config=d)\n"
)
STEP = "op.parameter_map['dump_step'].s = b'{}'\n"


@pytest.mark.parametrize(("text", "doubts", "notes"), [
    (ARGUMENTS.format("True, '/d', '1'"), [], []),
    # the folder is not among the names
    (ARGUMENTS.format("True, args.path, '1'"), [], ["dump.dump_path"]),
    (ARGUMENTS.format("True, args.path, args.step"), ["forecast/late-value"], ["dump.dump_path"]),
    (ARGUMENTS.format("args.dump, '/d'"), ["forecast/late-value"], []),
    (BLOCK.format(path="b'/d'", more=STEP.format(1)), [], []),
    (BLOCK.format(path="b'/d'", more="if args.one:\n    " + STEP.format(1)), ["conditional"], []),
    (
        BLOCK.format(path="b'/d'", more=f"if args.one:\n    {STEP.format(1)}else:\n    {STEP.format(2)}"),
        ["conditional"], [],
    ),
    (BLOCK.format(path="b'/d'", more="op.parameter_map.MergeFrom(other)\n"), ["changed-map"], []),
    ("run = NPURunConfig(dump_config=make())\n", ["forecast/late-value", "untold"], ["dump.dump_path"]),
])  # fmt: skip
def test_a_preview_of_what_only_the_run_decides_is_not_exact(text, doubts, notes):
    found = preview(config.read(text, "tensorflow"), "mlp", iterations=4)
    assert sorted({doubt.code for doubt in found.inexact_because}) == sorted(doubts)
    assert found.exact == (not doubts)
    late = [note.values["path"] for note in found.notes if note.code == "forecast/late-value"]
    assert late == notes
    for one in found.inexact_because:
        assert str(one) in str(found)


def test_other_settings_of_a_script_leave_a_preview_exact():
    text = BLOCK.format(path="args.path", more="")
    found = preview(config.read(text, "tensorflow"), "mlp", iterations=2)
    assert found.exact
    assert found.notes[0] == Message("forecast/late-value", path="dump.dump_path")


@pytest.mark.parametrize(("surface", "key"), [
    ("mindspore-o0o1", "common_dump_settings.iteration"), ("acl", "dump.dump_step"),
    ("tensorflow", "dump.dump_step"), ("torchair", "dump_config.dump_step"),
])  # fmt: skip
def test_the_preview_says_which_iterations_are_not_dumped_and_what_to_set(surface, key):
    form = config.new(surface)
    forms = form, form.set(key, "20"), form.set(key, "0-11")
    some, none, every = (preview(one, "mlp", iterations=12) for one in forms)
    codes = ("simulation/iterations-set", "simulation/iteration-left-out")
    said = [[note for note in one.notes if note.code in codes] for one in (some, none, every)]
    assert [len(notes) for notes in said] == [1, 1, 0]
    inside = ("simulation/iterations-some", "simulation/iteration-left-out")
    for (note,), inner in zip(said[:2], inside, strict=True):
        check_said(note, "simulation/iterations-set", key=key, value="0-11")
        assert note.values["said"].code == inner
    assert (len(some.iterations), len(every.iterations)) == (1, 12)


def test_without_iterations_no_tensor_is_promised_and_other_files_are_counted():
    form = config.new("mindspore-o0o1").set("common_dump_settings.iteration", "20")
    result = preview(form, "mlp", iterations=12)
    assert result.files > 0
    expected = Message("forecast/headline-none", files=result.files, size=result.bytes)
    assert headline(result) == str(expected)
    assert result.overhead.reason == Message("dump/overhead-none")


@pytest.mark.parametrize(("ranks", "processes"), [(1, {"proc{pid}"}), (2, {"rank0", "rank1"})])
def test_folders_of_a_scripts_calls_are_told_by_step_and_process(ranks, processes):
    form = config.new("msprobe").set("step", [0, "2-3", 7]).set("dump_path", "/d/")
    found = preview(form, "mlp", iterations=6, ranks=ranks)
    told = [note for note in found.notes if note.code == "forecast/call-folders"]
    assert {note.values["process"] for note in told} == processes
    for note in told:
        assert (note.values["path"], note.values["count"]) == ("/d", 3)
        assert note.values["steps"] == ["0", "2-3"]


def test_kernels_lie_elsewhere_than_calls():
    form = config.new("msprobe-mindspore").set("level", "L2")
    assert "forecast/call-folders" not in [note.code for note in preview(form, "mlp").notes]


def test_complex_numbers_are_spoken_of_where_the_network_has_some():
    """A form does not tell them, so what becomes of them is no note on every form with statistics."""
    form = config.new("mindspore-o0o1").set("common_dump_settings.saved_data", "statistic")
    assert "complex" not in form.explain()
    spec = TensorSpec("complex64", (2,))
    op = Op("Default/Neg-op0", "Neg", (Param(0),), outputs=(spec,))
    graphs = {
        "complex64": Graph("net", (Parameter("x", spec),), (op,), (Value(0),)),
        "float32": load_graph("mlp"),
    }
    for dtype, graph in graphs.items():
        said = [one.code for one in preview(form, graph, device="reference").notes]
        assert ("complex-statistics" in said) == (dtype == "complex64")
