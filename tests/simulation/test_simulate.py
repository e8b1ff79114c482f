"""A rehearsal writes the tree that its form asks for; values are checked by hand."""

import json
import re

import numpy as np
import pytest

from kit.cases import changed, mindspore_form
from kit.oracle import dump_files
from kit.trees import contents, files
from kit.words import check_said, misconfigured, refused
from workbench.config import Context, new, read
from workbench.core.errors import ConfigError, FormatError, GraphError
from workbench.core.plan import DumpPlan, Iterations
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.core.writers import SIMULATED_SURFACES
from workbench.dump.formats.container import read_container
from workbench.dump.reader import load
from workbench.forecast.preview import preview
from workbench.graph.graph import Const, Graph, Op, Param, Parameter, Value
from workbench.network.models import load_graph
from workbench.npu.compile.pipeline import compile_graph
from workbench.npu.faults import Fault
from workbench.npu.runner import run_npu, run_program
from workbench.npu.target import Target
from workbench.simulation.simulate import simulate

T = "20231114221320"
NUMBERS = r"\d+\.1\.17000000000\d{5}"
WHERE = {
    "mindspore-o2": rf"(\d)/{T}/0/kernel_graph1/1/\1/",
    "mindspore-ge": rf"{T}/0/kernel_graph1/1/(\d)/",
    "tensorflow": rf"{T}/0/ge_default_{T}_1/2/(\d)/",
    "torchair": rf"worldsize1_global_rank0/{T}/0/ge_default_{T}_1/1/(\d)/",
    "acl": rf"{T}/0/(?:LeNet|MLP)/1/(\d)/",
}
"""Surface of the graph engine → folder of a file of the network; the group is its iteration."""

X = TensorSpec("float32", (1, 2))
W = TensorSpec("float32", (3, 2))
Y = TensorSpec("float32", (1, 3))
OFF, ON = Const(False, "bool", ()), Const(True, "bool", ())
GRAPH = Graph(
    "Net",
    (
        Parameter("w", W, True, "w", np.float32([[1, 0], [0, 1], [1, 1]])),
        Parameter("x", X, default=np.float32([[3, -5]])),
    ),
    (
        Op("Default/MatMul-op0", "MatMul", (Param(1), Param(0), OFF, ON), {}, (Y,), (X, W)),
        Op("Default/ReLU-op0", "ReLU", (Value(0),), {}, (Y,), (Y,)),
    ),
    (Value(1),),
)
TINY = {"net_name": "Tiny", "iteration": "all", "input_output": 2, "support_device": [0]}


def form(**common):
    return read(mindspore_form("o0o1", **TINY | common).to_text())


def outputs(root):
    """Values of every tensor by (iteration, type)."""
    return {
        (r.key.iteration, r.key.op_type, r.key.op_name): r.source.array().tolist()
        for r in load(root).records
    }


def test_the_reference_writes_a_golden_tree_of_a_cpu(tmp_path):
    out = simulate(GRAPH, None, form(), tmp_path / "golden")
    assert outputs(out) == {
        (0, "MatMul", "Default_MatMul-op0"): [[3, -5, -2]],
        (0, "ReLU", "Default_ReLU-op0"): [[3, 0, 0]],
        (0, "Parameter", "w"): [[1, 0], [0, 1], [1, 1]],
        (0, "Parameter", "x"): [[3, -5]],
    }
    text = (out / "rank_0" / ".dump_metadata" / "data_dump.json").read_text()
    assert text == form().decoded.text


def test_feeds_replace_the_traced_values(tmp_path):
    simulate(GRAPH, {"x": np.float32([[1, 2]])}, form(), tmp_path)
    assert outputs(tmp_path)[0, "ReLU", "Default_ReLU-op0"] == [[1, 2, 3]]


def test_an_npu_writes_the_tree_of_ascend(tmp_path):
    simulate(GRAPH, None, form(), tmp_path, device="a2")
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert not any(name.startswith("Parameter") for name in names)
    assert sum(name.endswith(".float32.npy") for name in names) == 2
    assert "config.json" not in names


def test_an_npu_rounds_and_the_reference_does_not(tmp_path):
    feeds = {"x": np.float32([[1.0001, 2]])}
    for device in ("reference", "910a"):
        simulate(GRAPH, feeds, form(), tmp_path / device, device=device)
    golden, target = (
        outputs(tmp_path / d)[0, "MatMul", "Default_MatMul-op0"][0][0]
        for d in ("reference", "910a")
    )
    assert golden == float(np.float32(1.0001))
    assert target == float(np.float16(1.0001))


def test_a_precision_mode_reaches_the_device(tmp_path):
    feeds = {"x": np.float32([[1.0001, 2]])}
    simulate(GRAPH, feeds, form(), tmp_path, device="910a",
             precision_mode="must_keep_origin_dtype")  # fmt: skip
    assert outputs(tmp_path)[0, "MatMul", "Default_MatMul-op0"][0][0] == float(np.float32(1.0001))


@pytest.mark.parametrize(
    "fault", ["scaled-output:ReLU:2", Fault("scaled-output", "Default/ReLU-op0", 2.0)]
)
def test_a_planted_fault_shows_in_the_tree(tmp_path, fault):
    simulate(GRAPH, None, form(), tmp_path, device="a2", faults=[fault])
    found = outputs(tmp_path)
    assert found[0, "ReLU", "Default_ReLU-op0"] == [[6, 0, 0]]
    assert found[0, "MatMul", "Default_MatMul-op0"] == [[3, -5, -2]]


def test_the_ir_shows_the_attributes_that_the_device_compiled(tmp_path):
    graph = load_graph("alexnet")
    plan = DumpPlan("/x", "Net", iterations=Iterations(()))
    fault = "wrong-attribute:*conv3*:pad_mode=pad,pad=1"
    simulate(graph, None, plan, tmp_path, device="a2", faults=[fault])
    read = load(tmp_path).graphs[0, 0]
    assert read.op("Default/conv3-Conv2d/Conv2D-op0").attrs["pad_mode"] == "pad"
    assert read.op("Default/conv2-Conv2d/Conv2D-op0").attrs["pad_mode"] == "same"


def test_iterations_are_counted_from_the_forms_first(tmp_path):
    cfg = form(iteration="1|5-6|9", initial_iteration=4)
    simulate(GRAPH, None, cfg, tmp_path, iterations=3)
    assert {iteration for iteration, *_ in outputs(tmp_path)} == {5, 6}


def test_a_form_is_read_from_its_file(tmp_path):
    path = tmp_path / "data_dump.json"
    path.write_text(form().to_text())
    out = simulate(GRAPH, None, path, tmp_path / "out")
    assert (out / "rank_0" / "Tiny" / "0" / "0").is_dir()


def test_a_surface_can_be_chosen(tmp_path):
    cfg = form(saved_data="statistic", statistic_category=["max"])
    simulate(GRAPH, None, cfg, tmp_path / "o0", surface="mindspore-o0o1")
    assert len(list((tmp_path / "o0").rglob("statistic.csv"))) == 1
    with misconfigured("saved-data"):
        simulate(GRAPH, None, cfg, tmp_path / "cpu")
    with misconfigured("surface", "core/choice", got="pytorch"):
        simulate(GRAPH, None, cfg, tmp_path / "tf", surface="pytorch")
    with misconfigured("surface", "simulation/other-surface", got="tensorflow"):
        simulate(GRAPH, None, cfg, tmp_path / "tf", surface="tensorflow")
    assert not (tmp_path / "cpu").exists()


@pytest.mark.parametrize(("surface", "name", "layout"), [
    ("acl", "acl.json", "ge"),
    ("tensorflow", "session.py", "ge"),
    ("torchair", "dump.py", "torchair"),
    ("mindspore-o2", "data_dump.json", "mindspore-o2"),
])  # fmt: skip
def test_a_form_tells_its_surface(tmp_path, surface, name, layout):
    path = tmp_path / name
    path.write_text(new(surface).to_text())
    assert load(simulate(GRAPH, None, path, tmp_path / "out")).layout == layout


def test_the_tree_stands_in_out_whatever_folder_the_form_names(tmp_path):
    elsewhere = tmp_path / "named"
    simulate(GRAPH, None, form(path=str(elsewhere)), tmp_path / "out")
    assert outputs(tmp_path / "out")
    assert not elsewhere.exists()


def test_a_form_whose_own_folder_is_refused_is_refused(tmp_path):
    """As by its check, although the tree is written elsewhere."""
    with pytest.raises(ConfigError) as caught:
        simulate(GRAPH, None, form(path="not absolute"), tmp_path / "out")
    assert [problem.path for problem in caught.value.problems] == ["common_dump_settings.path"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("arguments", "code", "values"), [
    ({"device": "tpu"}, "core/choice", {"got": "tpu"}),
    ({"iterations": 0}, "simulation/count", {"got": 0}),
    ({"faults": ["scaled-output:ReLU:2"]}, "run/reference-faults", {}),
    ({"precision_mode": "force_fp16"}, "run/reference-precision", {"mode": "force_fp16"}),
    ({"device": "a2", "faults": ["nonsense:ReLU"]}, "core/choice", {"got": "nonsense"}),
    ({"device": "a2", "faults": ["scaled-output:Conv9"]}, "run/fault-nowhere", {"got": "Conv9"}),
    ({"device": "a2", "precision_mode": "x"}, "core/choice", {"subject": "precision mode"}),
    ({"feeds": {"y": 1}}, "simulation/feed", {"got": "y"}),
])  # fmt: skip
def test_arguments_that_do_not_fit_are_refused_before_anything_is_written(
    tmp_path, arguments, code, values
):
    with refused(code, GraphError, **values):
        simulate(GRAPH, config=form(), out=tmp_path / "out", **{"feeds": None} | arguments)
    assert not (tmp_path / "out").exists()


def test_a_folder_in_use_is_refused(tmp_path):
    simulate(GRAPH, None, form(), tmp_path)
    with refused("dump/out-filled", FormatError, got=str(tmp_path)):
        simulate(GRAPH, None, form(), tmp_path)


def test_progress_is_passed_on(tmp_path):
    seen = []
    simulate(GRAPH, None, form(), tmp_path, progress=lambda count, name: seen.append(count))
    assert seen == [1, 2, 3, 4]


def of_network(root):
    """Dump files without those of TensorFlow's other models."""
    others = re.compile(r"graphs/|.*_11/3/0/|20231114221220/")
    return [path for name, path in files(root).items() if not others.match(name)]


@pytest.mark.parametrize("model", ["lenet", "mlp"])
@pytest.mark.parametrize("surface", ["mindspore-ge", "tensorflow", "torchair", "acl"])
def test_every_tensor_of_the_run_is_in_a_container(tmp_path, surface, model):
    graph = load_graph(model)
    simulate(graph, None, new(surface), tmp_path, surface=surface, device="a2", iterations=2)
    found, formats = {}, set()
    for path in of_network(tmp_path):
        name = path.relative_to(tmp_path).as_posix()
        match = re.fullmatch(rf"{WHERE[surface]}([A-Za-z0-9]+)\.([A-Za-z0-9_-]+)\.{NUMBERS}", name)
        assert match is not None, name
        assert match[1] == "0"  # the form's own iteration
        header, blocks = dump_files.container(path.read_bytes())
        assert match[3] == header["op_name"].replace("/", "_")
        for part, slot, message, data in blocks:
            found[header["op_name"], part, slot] = dump_files.graph_array(data, message)
            formats.add(message.get("format", 0))
    wanted = {
        (r.key.op_name, r.key.io, r.key.slot): r.source.array()
        for r in run_program(compile_graph(graph, Target(surface)))
        if r.key.op_type not in ("Parameter", "Flatten")  # which runs nothing on the device
    }
    assert found.keys() == wanted.keys()
    for key, array in wanted.items():
        assert found[key].tobytes() == np.ascontiguousarray(array).tobytes(), key
    assert formats == ({0, 2, 3, 4, 29} if model == "lenet" else {2, 29})


@pytest.mark.parametrize("model", ["lenet", "mlp"])
def test_o2_writes_npy_files_step_by_step(tmp_path, model):
    """Four axes become NCHW; matrices stay as the device has them, below a header with the host's shape."""
    cfg = new("mindspore-o2").set("common_dump_settings.iteration", "0|2")
    graph = load_graph(model)
    simulate(graph, None, cfg, tmp_path, surface="mindspore-o2", iterations=4)
    form, *rest = sorted(files(tmp_path).values(), key=lambda path: path.suffix != ".json")
    assert form == tmp_path / "acl_dump_0.json"
    # the last step is not wanted: it waits for one that never comes
    assert json.loads(form.read_text())["dump"]["dump_step"] == "2147483647"
    graph_file, *arrays = sorted(rest, key=lambda path: path.suffix != ".txt")
    assert graph_file == tmp_path / "graphs" / "ge_proto_00000000_Build.txt"
    steps = set()
    for path in arrays:
        name = path.relative_to(tmp_path).as_posix()
        match = re.fullmatch(
            rf"{WHERE['mindspore-o2']}[A-Za-z0-9]+\.[A-Za-z0-9_-]+\.{NUMBERS}"
            r"\.(input|output)\.\d\.(ND|NCHW|FRACTAL_NZ)\.(float32|int64|bool)\.npy",
            name,
        )
        assert match is not None, name
        array = np.load(path)
        assert (array.dtype.name, array.ndim == 4) == (match[4], match[3] == "NCHW")
        assert ("MatMul." in name and array.ndim == 2) == (match[3] == "FRACTAL_NZ")
        rows, columns = array.shape if array.ndim == 2 else (1, 1)
        blocks = -(-rows // 16), -(-columns // 16)
        size = blocks[0] * blocks[1] * 256 if match[3] == "FRACTAL_NZ" else array.size
        assert path.stat().st_size == 128 + size * array.itemsize
        steps.add(match[1])
    assert steps == {"0", "2"}


NUMBER_OF = {"DefaultFormat": 2, "NC1HWC0": 3, "FRACTAL_Z": 4, "FRACTAL_NZ": 29}


@pytest.mark.parametrize(("model", "trans_flag", "formats"), [
    ("lenet", False, {"DefaultFormat", "NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"}),
    ("mlp", False, {"DefaultFormat", "FRACTAL_NZ"}),
    ("lenet", True, {"DefaultFormat"}),
])  # fmt: skip
def test_without_trans_flag_tensors_lie_as_the_device_has_them(
    tmp_path, model, trans_flag, formats
):
    graph = load_graph(model)
    config = new("mindspore-o0o1").set("e2e_dump_settings.trans_flag", trans_flag)
    simulate(graph, None, config, tmp_path, surface="mindspore-o0o1", device="a2")
    truth = {
        (r.key.op_name.replace("/", "_"), r.key.io, r.key.slot): r.source.array()
        for r in run_npu(graph, None, profile="a2")
        if r.key.op_type != "Parameter"
    }
    found = {}
    for path in tmp_path.rglob("*.npy"):
        _, name, _, _, _, io, slot, form, _, _ = path.name.split(".")
        key = name, io, int(slot)
        found[key] = form
        array = dump_files.in_graph_order(np.load(path), NUMBER_OF[form], truth[key].shape)
        np.testing.assert_array_equal(array, truth[key], err_msg=path.name)
    assert found.keys() == truth.keys()
    assert set(found.values()) == formats
    back = {(r.key.op_name, r.key.io, r.key.slot): r.source for r in load(tmp_path).records}
    for key, array in truth.items():
        np.testing.assert_array_equal(back[key].array(), array, err_msg=str(key))
        assert back[key].spec().shape == array.shape


def test_the_file_for_ascendcl_names_the_forms_own_folder(tmp_path):
    cfg = new("mindspore-o2").set("common_dump_settings.file_format", "bin")
    simulate(load_graph("mlp"), None, cfg, tmp_path / "form", surface="mindspore-o2")
    text = (tmp_path / "form" / "acl_dump_0.json").read_text()
    assert json.loads(text)["dump"]["dump_path"] == "/dump/0"
    simulate(load_graph("mlp"), None, DumpPlan("/there"), tmp_path / "plan", surface="mindspore-o2")
    text = (tmp_path / "plan" / "acl_dump_0.json").read_text()
    assert json.loads(text)["dump"]["dump_path"] == "/there/0"


@pytest.mark.parametrize("surface", SIMULATED_SURFACES)
def test_the_same_seed_gives_the_same_bytes_wherever_they_are_written(tmp_path, surface):
    trees = []
    for name, seed in (("a", 1), ("b/c", 1), ("d", 2)):
        simulate(load_graph("mlp"), None, new(surface), tmp_path / name, surface=surface, seed=seed)
        root = tmp_path / name
        trees.append(contents(root))
    assert trees[0] == trees[1]
    assert trees[0].keys() != trees[2].keys()


def test_a_rank_that_is_not_meant_dumps_nothing(tmp_path):
    cfg = new("tensorflow").set("script.rank", 1)
    simulate(load_graph("mlp"), None, cfg, tmp_path, surface="tensorflow")
    assert files(tmp_path) == {}


@pytest.mark.parametrize(("surface", "env", "folder"), [
    ("mindspore-cpu", {"RANK_ID": "3", "DEVICE_ID": "1"}, "rank_0"),
    ("mindspore-cpu", {"RANK_ID": "3", "RANK_SIZE": "8"}, "rank_3"),
    ("mindspore-o0o1", {"RANK_ID": "3"}, "rank_3"),
    ("torchair", {"RANK": "2", "WORLD_SIZE": "4"}, "worldsize4_global_rank2"),
    ("torchair", {"WORLD_SIZE": "../../x"}, "worldsize1_global_rank0"),
    ("mindspore-ge", {"DEVICE_ID": "1"}, "20231114221320/1/kernel_graph1"),
])  # fmt: skip
def test_a_launchers_variables_name_the_folder_as_foretold(tmp_path, surface, env, folder):
    graph, cfg = load_graph("mlp"), new(surface)
    simulate(graph, None, cfg, tmp_path / "t/out", device="a2", surface=surface, env=env)
    assert (tmp_path / "t" / "out" / folder).is_dir()
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["out"]
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
    found = preview(cfg, graph, context=Context(env=env))
    assert files(tmp_path / "t/out").keys() == set(found.names)


@pytest.mark.parametrize("asked", ["1", "7"])
@pytest.mark.parametrize(
    ("surface", "all_of_them"), [("mindspore-cpu", False), ("mindspore-gpu", True)]
)
def test_the_list_of_iterations_is_that_of_the_run_but_on_a_cpu(
    tmp_path, surface, all_of_them, asked
):
    cfg = new(surface).set("common_dump_settings.iteration", asked)
    simulate(load_graph("mlp"), None, cfg, tmp_path, surface=surface, iterations=3)
    file = "rank_0/execution_order/ms_global_execution_order_graph_0.csv"
    found = (tmp_path / file).read_text() if (tmp_path / file).exists() else ""
    assert found == ("0\n1\n2\n" if all_of_them else "1\n" * (asked == "1"))
    foretold = preview(cfg, load_graph("mlp"), iterations=3)
    assert set(foretold.names) == files(tmp_path).keys()


def test_a_device_that_is_not_meant_dumps_nothing(tmp_path):
    cfg = new("mindspore-o0o1").set("common_dump_settings.support_device", [1])
    for kind, number, count in (("a2", "0", 0), ("a2", "1", 31), ("reference", "0", 38)):
        root = tmp_path / f"{kind}{number}"
        simulate(load_graph("mlp"), None, cfg, root, device=kind, env={"DEVICE_ID": number})
        assert len(list(root.rglob("*.npy"))) == count  # a CPU has no such setting


@pytest.mark.parametrize(("surface", "changes", "silent"), [
    ("mindspore-o0o1", {"common_dump_settings.kernels": ["Default/no-op1"],
                        "common_dump_settings.dump_mode": 1}, False),
    ("mindspore-o0o1", {"common_dump_settings.saved_data": "statistic"}, True),
    ("mindspore-o2", {"common_dump_settings.iteration": "7"}, False),
    ("acl", {"dump.dump_step": "7"}, False),
    ("acl", {"dump": {"dump_path": "./", "dump_scene": "aic_err_norm_dump"}}, False),
    ("acl", {"dump.dump_data": "stats"}, True),
    ("acl", {}, True),
])  # fmt: skip
def test_a_run_that_dumps_nothing_says_so(tmp_path, surface, changes, silent):
    cfg, said = changed(new(surface), changes), []
    simulate(load_graph("mlp"), None, cfg, tmp_path, surface=surface, device="a2", say=said.append)
    assert [text[:19] for text in said] == ([] if silent else ["no tensor is dumped"])


LEFT = (
    # surface, what is set, iterations that run: what is dumped of how many, and what to set
    ("mindspore-o0o1", {}, 12, (1, 12, "common_dump_settings.iteration", "0-11")),
    ("mindspore-o0o1", {"common_dump_settings.iteration": "all"}, 12, None),
    ("acl", {}, 3, (1, 3, "dump.dump_step", "0-2")),
    ("tensorflow", {}, 3, (1, 3, "dump.dump_step", "0-2")),
    ("torchair", {}, 3, (1, 3, "dump_config.dump_step", "0-2")),
)  # fmt: skip


@pytest.mark.parametrize(("surface", "changes", "run", "left"), LEFT)
def test_a_run_says_which_iterations_it_did_not_dump_and_what_to_set(
    tmp_path, surface, changes, run, left
):
    cfg, told = changed(new(surface), changes), []
    simulate(
        load_graph("mlp"), None, cfg, tmp_path / "one", surface=surface, device="a2",
        iterations=run, report=told.append,
    )  # fmt: skip
    assert [one.code for one in told] == ([] if left is None else ["simulation/iterations-set"])
    if left is None:
        return
    dumped, whole, key, value = left
    check_said(told[0].values["said"], "simulation/iterations-some", dumped=dumped, run=whole)
    check_said(told[0], "simulation/iterations-set", key=key, value=value)
    again = []
    simulate(
        load_graph("mlp"), None, cfg.set(key, value), tmp_path / "two", surface=surface, device="a2",
        iterations=run, report=again.append,
    )  # fmt: skip
    assert again == []  # what is advised helps


def test_an_exception_dump_without_a_failure_says_so(tmp_path):
    cfg = read('{"dump": {"dump_path": "./", "dump_scene": "aic_err_norm_dump"}}', surface="acl")
    said = []
    simulate(load_graph("mlp"), None, cfg, tmp_path, surface="acl", device="a2", say=said.append)
    assert said == [str(Message("simulation/nothing-failed"))]


def test_a_fault_shows_in_a_container(tmp_path):
    trees = {}
    for name, faults in (("good", ()), ("bad", ["scaled-output:ReLU:2"])):
        out = tmp_path / name
        simulate(GRAPH, None, new("acl"), out, surface="acl", device="a2", faults=faults)
        (path,) = (path for path in files(out).values() if path.name.startswith("MatMul"))
        _, _, (_, _, message, data) = dump_files.container(path.read_bytes())[1]
        trees[name] = dump_files.graph_array(data, message).tolist()
    assert trees == {"good": [[3, 0, 0]], "bad": [[6, 0, 0]]}


@pytest.mark.parametrize("device", ["reference", "a2"])
def test_a_fusion_switch_is_read_even_where_nothing_is_fused(tmp_path, device):
    form = new("mindspore-o0o1")
    with refused("run/fusion", FormatError, got="maybe"):
        simulate(GRAPH, None, form, tmp_path / "out", device=device, fusion="maybe")


@pytest.mark.parametrize("mode", ["input", "output", "all"])
def test_torchair_dumps_the_data_operators_that_feed_a_chosen_one(tmp_path, mode):
    """The guide: if the inputs of a named operator are data operators, these are dumped as well."""
    config = new("torchair").set("dump_config.dump_layer", "trans_TransData_0")
    config = config.set("dump_config.dump_mode", mode)
    graph, out = load_graph("mlp"), tmp_path / "out"
    simulate(graph, None, config, out, surface="torchair", device="a2")
    found = {path.name.split(".")[1]: path for path in out.rglob("*.1.17*")}
    assert found.keys() == {"trans_TransData_0", "x"}
    assert [one.part for one in read_container(found["x"]).blocks] == ["output"]
    assert found["x"].name.startswith("Data.x.")
    foreseen = [name for name in preview(config, graph).names if name.startswith("worldsize")]
    assert sorted(foreseen) == sorted(str(one.relative_to(out)) for one in found.values())
