"""Graph files and models of a run of the graph engine, read by protobuf and by the vendor's own recipe."""

from __future__ import annotations

import re

import pytest
from google.protobuf import text_format

import workbench as wb
from kit.cases import changed
from kit.commands import run
from kit.oracle import dump_files
from kit.trees import foretold, sizes
from workbench.config import new
from workbench.config.context import Context
from workbench.core.plan import DumpPlan
from workbench.core.words import Message
from workbench.dump.reader import load
from workbench.forecast.preview import preview
from workbench.graph_files.ge.schema import GE_IR
from workbench.network.models import load_graph

GRAPH = load_graph("lenet")
NETWORK = "ge_default_20231114221320_1"
INIT, RATE = "ge_default_20231114221220_1", "ge_default_20231114221420_11"
CONV = "Default/conv2-Conv2d/Conv2D-op0"
FUSED = CONV + "Default/relu-ReLU/ReLU-op1"
FORMATS = {0: "NCHW", 2: "ND", 3: "NC1HWC0", 4: "FRACTAL_Z", 29: "FRACTAL_NZ"}
LISTED = 9
"""Stages of the white list that a graph of fixed shapes passes."""


def write(out, surface="tensorflow", graph=GRAPH, form=None, **more):
    form = form or new(surface)
    more = {"device": "a2"} | more
    return wb.simulate(graph, None, form, out, surface=surface, **more)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return write(tmp_path_factory.mktemp("tree") / "dump")


def graph_files(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("ge_proto_*"))


def parsed(path):
    """The model of a file and its first graph, by protobuf's own parser."""
    model = text_format.Parse(path.read_text(), GE_IR.message_class("ModelDef")())
    return model, model.graph[0]


def of_type(graph, *types):
    return [op.name for op in graph.op if op.type in types]


def test_the_vendors_two_ways_lead_to_the_folder_of_the_network(tree):
    builds = sorted(tree.rglob("*_Build.txt"))
    assert len(builds) == 3
    for word in ("Iterator", CONV):
        (found,) = [path for path in builds if word in path.read_text()]
        name = re.search(r'^graph \{\n  name: "([^"]+)"', found.read_text())[1]
        assert name == NETWORK
        (folder,) = tree.glob(f"*/0/{name}")
        assert len(list(folder.rglob("Conv2D.*"))) == 2


def test_every_model_has_a_folder_called_like_its_graph(tree):
    folders = {path.name: path.parts[-3] for path in tree.glob("2*/0/*")}
    assert folders == {INIT: "20231114221220", NETWORK: "20231114221320", RATE: "20231114221320"}
    ids = [path.relative_to(tree).parts[3] for path in sorted(tree.glob("2*/0/*/*"))]
    assert ids == ["1", "2", "3"]
    names = [parsed(tree / name)[1].name for name in graph_files(tree)]
    assert names == [INIT] * LISTED + [NETWORK] * LISTED + [RATE] * LISTED


def test_files_are_numbered_through_the_run_in_the_order_of_stages(tree):
    names = graph_files(tree)
    assert [int(name.split("_")[2]) for name in names] == list(range(3 * LISTED))
    stages = [name.rpartition("_")[2] for name in names]
    assert stages[0] == stages[LISTED] == "PreRunBegin.txt"
    assert stages[LISTED - 1] == stages[-1] == "Build.txt"
    assert all(name.startswith("graphs/ge_proto_000000") for name in names)


def test_the_last_graph_says_how_the_dumped_tensors_lie(tree):
    _, graph = parsed(next(p for p in tree.rglob("*17_Build.txt")))
    ops = {op.name: op for op in graph.op}
    seen = set()
    for path in tree.glob(f"*/0/{NETWORK}/2/0/*"):
        header, blocks = dump_files.container(path.read_bytes())
        op = ops.pop(header["op_name"])
        assert path.name.startswith(f"{op.type}.")
        for part, slot, message, _ in blocks:
            desc = (op.input_desc if part == "input" else op.output_desc)[slot]
            assert desc.dtype == message["data_type"]
            assert list(desc.shape.dim) == message["shape"].get("dim", [])
            assert desc.layout == FORMATS[message.get("format", 0)]
            origin = list(desc.attr["origin_shape"].list.i)
            assert origin == message["original_shape"].get("dim", [])
            seen.add(desc.layout)
    assert seen == set(FORMATS.values())
    kinds = {op.type for op in ops.values()}  # what is left leaves no dump
    assert kinds == {"IteratorGetNext", "Variable", "Flatten", "NetOutput"}


def test_the_first_graph_knows_no_format_of_the_device(tree):
    _, graph = parsed(next(p for p in tree.rglob("*09_PreRunBegin.txt")))
    layouts = {desc.layout for op in graph.op for desc in (*op.input_desc, *op.output_desc)}
    assert layouts == {"ND", "NCHW"}


@pytest.mark.parametrize(
    ("level", "weights", "options"), [("1", True, True), ("2", False, True), ("3", False, False)]
)
def test_levels_leave_out_weights_and_options_but_not_of_the_graph_that_runs(
    tmp_path, level, weights, options
):
    form = new("tensorflow").set("environment.DUMP_GE_GRAPH", level).set("dump.dump_step", "0|3")
    write(tmp_path, form=form)
    first, *_, last = [tmp_path / name for name in graph_files(tmp_path)[:LISTED]]
    for path, whole in ((first, weights), (last, True)):
        _, graph = parsed(path)
        constants = [op for op in graph.op if op.type == "Const"]
        assert {"value" in op.attr for op in constants} == {whole}
        session = graph.attr["SessionOptions"].func if "SessionOptions" in graph.attr else None
        assert (session is not None) == options == ("GraphOptions" in graph.attr)
        if session is not None:
            assert session.name == "SessionOptions"
            given = {key: value.s.decode() for key, value in session.attr.items()}
            told = {"enableDump": "1", "dumpMode": "all", "dumpStep": "0|3"}
            assert given == {f"ge.exec.{key}": value for key, value in told.items()}


@pytest.mark.parametrize(
    ("surface", "weights"),
    [("tensorflow", "Variable"), ("torchair", "Data"), ("mindspore-ge", "RefData")],
)
def test_a_dump_by_options_of_the_session_always_brings_the_graph_that_runs(
    tmp_path, surface, weights
):
    form = new(surface)
    if surface == "tensorflow":
        form = form.unset("environment.DUMP_GE_GRAPH")
    write(tmp_path, surface, form=form)
    names = graph_files(tmp_path)
    models = 3 if surface == "tensorflow" else 1
    assert [name.rpartition("_")[2] for name in names] == ["Build.txt"] * models
    _, graph = parsed(tmp_path / names[len(names) // 2])
    held = {p.name for p in GRAPH.parameters if p.is_weight}
    assert held <= set(of_type(graph, weights))
    assert of_type(graph, "IteratorGetNext") == ["IteratorGetNext"] * (surface == "tensorflow")
    assert "SessionOptions" not in graph.attr
    dump = wb.load(tmp_path)
    assert [found.name for found in dump.graphs.values()] == [graph.name]
    assert {record.key.net_name for record in dump.records} == {graph.name}


@pytest.mark.parametrize(
    ("surface", "model"), [("acl", "LeNet"), ("mindspore-o2", "kernel_graph1")]
)
def test_what_is_set_up_beside_the_compiler_always_leaves_the_graph_that_runs(
    tmp_path, surface, model
):
    write(tmp_path / "plain", surface)
    build = "graphs/ge_proto_00000000_Build.txt"
    assert graph_files(tmp_path / "plain") == [build]
    assert wb.load(tmp_path / "plain").graphs[0, 0].name == model
    write(tmp_path / "asked", surface, env={"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "4"})
    files = graph_files(tmp_path / "asked")
    assert [name.rpartition("_")[2] for name in files] == ["PreRunBegin.txt", "Build.txt"]
    write(tmp_path / "as it is", surface, device="reference")
    assert graph_files(tmp_path / "as it is") == [build]


def test_fusions_show_in_the_stage_that_makes_them(tmp_path):
    env = {"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "1"}
    write(tmp_path, "mindspore-ge", env=env)
    kinds = {}
    for name in graph_files(tmp_path):
        _, graph = parsed(tmp_path / name)
        kinds[name.partition("_")[2].partition("_")[2].partition("_")[2]] = [
            op.type for op in graph.op if op.type not in ("RefData", "Data", "NetOutput", "Const")
        ]
    first, fused = kinds["PreRunBegin.txt"], kinds["OptimizeOriginalGraph_FeGraphFusionAfter.txt"]
    assert first.count("BiasAdd") == 3
    assert (fused.count("BiasAdd"), fused.count("ReLU")) == (0, 4)
    assert kinds["PreRunAfterOptimizeAfterStage1.txt"].count("ReLU") == 4
    assert kinds["PreRunAfterOptimizeSubgraph.txt"].count("ReLU") == 0
    assert kinds["Build.txt"] == kinds["PreRunAfterOptimizeSubgraph.txt"]


def test_dtypes_formats_and_what_they_insert_show_stage_by_stage(tmp_path):
    stages = "AfterPrecisionRefine|FeOpFormat|FeInsertTrans|FeDtype|FeGraphFusionAfter"
    env = {"DUMP_GE_GRAPH": "2", "DUMP_GRAPH_LEVEL": stages}
    write(tmp_path, "mindspore-ge", env=env, precision_mode="force_fp16")
    seen = []
    for name in graph_files(tmp_path):
        _, graph = parsed(tmp_path / name)
        descs = [desc for op in graph.op for desc in op.output_desc]
        made = [op for op in graph.op if op.name.startswith("trans_")]
        inserted = {op.type for op in made}
        assert not any(op.attr["_datadump_original_op_names"].list.s for op in made)
        dtypes, layouts = {desc.dtype for desc in descs}, {desc.layout for desc in descs}
        seen.append((2 in dtypes, "NC1HWC0" in layouts, inserted))
    assert seen == [
        (False, False, set()),  # fused
        (True, False, {"Cast"}),  # in their dtypes
        (True, True, {"Cast"}),  # in their formats
        (True, True, {"Cast", "TransData"}),
        (True, True, {"Cast", "TransData"}),  # Build
    ]


def test_the_graph_that_runs_says_what_its_operators_were(tree):
    _, graph = parsed(next(p for p in tree.rglob("*17_Build.txt")))
    (op,) = [op for op in graph.op if op.name == FUSED]
    assert op.type == "Conv2D"
    names = list(op.attr["_datadump_original_op_names"].list.s)
    assert names == [CONV.encode(), FUSED.removeprefix(CONV).encode()]
    assert list(op.attr["_datadump_original_op_types"].list.s) == [b"Conv2D", b"ReLU"]
    attrs = op.output_desc[0].attr
    assert attrs["_datadump_origin_name"].s == names[1]
    assert attrs["_datadump_origin_output_index"].i == 0
    assert attrs["_datadump_origin_format"].s == b"NCHW"
    assert attrs["_datadump_origin_data_type"].s == b"DT_FLOAT"
    (pool,) = [op for op in graph.op if op.name == "Default/max_pool2d-MaxPool2d/MaxPool-op1"]
    assert not any(key.startswith("_datadump") for key in (*pool.attr, *pool.output_desc[0].attr))


@pytest.mark.parametrize(("env", "folder"), [
    ({"ASCEND_WORK_PATH": "/work"}, "graphs"),
    ({"DUMP_GRAPH_PATH": "/home/../graphs"}, "graphs/pid_4242_deviceid_0"),
    ({"NPU_COLLECT_PATH": "/collect"}, "graphs/extra-info/graph/4242_0"),
])  # fmt: skip
def test_the_environment_names_folders_that_stay_in_the_tree_and_are_found(tmp_path, env, folder):
    write(tmp_path, "mindspore-ge", env=env)
    assert graph_files(tmp_path) == [f"{folder}/ge_proto_00000000_Build.txt"]
    assert list(wb.load(tmp_path).graphs) == [(0, 0)]


def test_what_the_form_sets_counts_before_the_environment(tmp_path):
    env = {"DUMP_GE_GRAPH": "0", "DUMP_GRAPH_LEVEL": "4"}
    write(tmp_path, env=env)
    stages = {name.rpartition("_")[2] for name in graph_files(tmp_path)}
    assert stages == {"PreRunBegin.txt", "Build.txt"}


@pytest.mark.parametrize("settings", [{"script.rank": 1}, {"dump.dump_layer": "none"}])
def test_a_run_that_dumps_nothing_writes_graphs_only_if_it_was_asked_to_dump(tmp_path, settings):
    write(tmp_path, form=changed(new("tensorflow"), settings))
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(path.parent.name == "graphs" for path in found)
    assert len(found) == (0 if "script.rank" in settings else 3 * LISTED)


def test_a_preview_in_an_environment_is_the_tree_written_in_it(tmp_path):
    env = {"DUMP_GE_GRAPH": "1", "DUMP_GRAPH_LEVEL": "1", "DUMP_GRAPH_PATH": "/g"}
    for surface in ("mindspore-o2", "torchair"):
        foreseen = preview(new(surface), GRAPH, context=Context(env=env))
        root = write(tmp_path / surface, surface, env=env)
        assert foretold(foreseen.forecast) == sizes(root)
        assert len(graph_files(root)) > 20


def test_a_graph_of_the_graph_engine_is_not_written_again(tree):
    (path,) = tree.rglob("*17_Build.txt")
    found = preview(new("tensorflow"), wb.read_ir(path))
    assert not any("ge_proto" in name for name in found.names)
    kernels = [name for name in found.names if f"/{NETWORK}/" in name]
    assert len(kernels) == 12  # seven, four TransData and the iterator


def test_inspect_says_how_the_network_was_found(tree, capsys):
    status, out, _ = run(capsys, "inspect", tree)
    assert status == 0
    assert f"model {NETWORK}: named by ge_proto_00000017_Build.txt" in out
    assert "'Iterator'" in out
    assert f"graph 0: {NETWORK}, 22 operators" in out
    assert f"20231114221220 (only {INIT}" in out
    info = wb.inspect(wb.load(tree))
    (conv,) = [op for op in info["operators"] if op["op_name"] == FUSED]
    assert (conv["op_type"], len(conv["files"])) == ("Conv2D", 3)


@pytest.mark.parametrize("asked", [RATE, "ExponentialDecay/Pow"])
def test_another_model_is_inspected_by_its_name_or_an_operator(tree, capsys, asked):
    status, out, _ = run(capsys, "inspect", tree, "--model", asked)
    assert status == 0
    assert f"graph 0: {RATE}, 8 operators" in out
    dump = wb.load(tree, model=asked)
    assert {record.key.op_type for record in dump.records} == {"RealDiv", "Pow", "Mul"}
    assert {s.reason for s in dump.skipped} == {"other-model"}


@pytest.mark.parametrize("arguments", [("inspect",), ("compare",), ("compare", "--golden-model")])
def test_a_model_that_is_not_there_is_refused_with_those_that_are(tree, capsys, arguments):
    command, *option = arguments
    trees = [tree] * (2 if command == "compare" else 1)
    status, _, err = run(capsys, command, *trees, *(option or ["--model"]), "resnet")
    assert status == 2
    assert all(name in err for name in (INIT, NETWORK, RATE, "'resnet'"))


def test_models_are_compared_by_name(tree, capsys):
    status, out, _ = run(capsys, "compare", tree, tree, "--model", INIT, "--golden-model", INIT)
    assert status == 0
    assert "6 tensors compared, 6 equal" in out
    assert out.count(f"model {INIT}: ") == 2
    assert "14 other-model" in out


def test_a_defect_is_named_with_type_line_and_setting(tmp_path):
    """Types and settings come from the graph engine's own graph, lines from that of the golden."""
    graph = load_graph("alexnet")
    fault = "wrong-attribute:*conv3*:pad_mode=pad,pad=1"
    target = write(tmp_path / "target", graph=graph, faults=[fault])
    golden = wb.simulate(graph, None, DumpPlan("/d"), tmp_path / "golden")
    found = wb.compare(target, golden)
    first, row = found.findings[0], found.first_divergence
    assert (first.kind, first.op_type) == ("attribute", "Conv2D")
    conv = "Default/conv3-Conv2d/Conv2D-op0"
    assert first.op_name == row.op_name == conv + "Default/relu-ReLU/ReLU-op2"
    line = next(op for op in graph.ops if op.name == conv).frame
    assert first.source == row.source == line
    assert "pad_mode" in found.sentence
    reasons = {"target:other-model", "target:inserted", "golden:fused", "golden:no-task"}
    assert found.coverage.skipped.keys() == reasons


def test_the_command_takes_the_environment_of_the_run(tmp_path, capsys):
    form, out = tmp_path / "form.json", tmp_path / "out"
    form.write_text(new("mindspore-ge").to_text())
    what = ("simulate", "--graph", "mlp", "--config", form, "--surface", "mindspore-ge")
    env = ("--env", "DUMP_GE_GRAPH=2", "--env", "DUMP_GRAPH_LEVEL=PreRunBegin")
    assert run(capsys, *what, "--out", out, *env)[0] == 0
    stages = [name.rpartition("_")[2] for name in graph_files(out)]
    assert stages == ["PreRunBegin.txt", "Build.txt"]
    status, _, err = run(capsys, *what, "--out", tmp_path / "other", "--env", "DUMP_GE_GRAPH")
    assert (status, err) == (2, f"error: {Message('cli/variable', got='DUMP_GE_GRAPH')}\n")


def test_releases_of_the_guide_count_graph_files_with_five_digits(tmp_path):
    """The guide: ``${DUMP_GRAPH_PATH}/${pid}_${deviceid}/ge_proto_00292_Build.txt``; five digits are read, too."""
    env = {"DUMP_GRAPH_PATH": "/g"}
    trees = {}
    for version in ("", "guide"):
        out = tmp_path / (version or "release")
        asked = {"surface": "tensorflow", "device": "a2", "version": version, "env": env}
        wb.simulate(load_graph("mlp"), None, new("tensorflow"), out, **asked)
        trees[version] = {one.relative_to(out).as_posix() for one in out.rglob("ge_proto_*")}
        assert load(out).graphs
        found = preview(new("tensorflow"), "mlp", context=Context(version, env))
        assert trees[version] <= {*found.names}
    eight = {
        one.replace("4242_0/ge_proto_", "pid_4242_deviceid_0/ge_proto_000")
        for one in trees["guide"]
    }
    assert eight == trees[""]
    assert all(re.search(r"/4242_0/ge_proto_\d{5}_", one) for one in trees["guide"])
