"""A rehearsal writes the tree that its form asks for; values are checked by hand."""

import json

import numpy as np
import pytest

from workbench.config import read
from workbench.core.errors import ConfigError, FormatError, GraphError
from workbench.core.plan import DumpPlan, Iterations
from workbench.core.tensors import TensorSpec
from workbench.dump.reader import load
from workbench.graph.models import load_graph
from workbench.graph.nodes import Const, Graph, Op, Param, Parameter, Value
from workbench.pipeline.simulate import simulate
from workbench.run.faults import Fault

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
FORM = {
    "common_dump_settings": {
        "dump_mode": 0,
        "path": "/dump",
        "net_name": "Tiny",
        "iteration": "all",
        "input_output": 2,
        "kernels": [],
        "support_device": [0],
    },
    "e2e_dump_settings": {"enable": True},
}


def form(e2e=None, **common):
    value = {
        "common_dump_settings": FORM["common_dump_settings"] | common,
        "e2e_dump_settings": FORM["e2e_dump_settings"] | (e2e or {}),
    }
    return read(json.dumps(value))


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


def test_the_same_seed_gives_the_same_names(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        simulate(GRAPH, None, form(), tmp_path / name, seed=seed)
    names = {
        folder: sorted(
            str(p.relative_to(tmp_path / folder)) for p in (tmp_path / folder).rglob("*")
        )
        for folder in "abc"
    }
    assert names["a"] == names["b"] != names["c"]


def test_a_form_is_read_from_its_file(tmp_path):
    path = tmp_path / "data_dump.json"
    path.write_text(json.dumps(FORM))
    out = simulate(GRAPH, None, path, tmp_path / "out")
    assert (out / "rank_0" / "Tiny" / "0" / "0").is_dir()


def test_a_surface_can_be_chosen(tmp_path):
    cfg = form(saved_data="statistic", statistic_category=["max"])
    simulate(GRAPH, None, cfg, tmp_path / "o0", surface="mindspore-o0o1")
    assert len(list((tmp_path / "o0").rglob("statistic.csv"))) == 1
    with pytest.raises(ConfigError, match="saved_data must be 'tensor' on a CPU"):
        simulate(GRAPH, None, cfg, tmp_path / "cpu")
    with pytest.raises(ConfigError, match="surface must be one of"):
        simulate(GRAPH, None, cfg, tmp_path / "tf", surface="pytorch")
    with pytest.raises(ConfigError, match="that of the form, mindspore-o0o1, got 'tensorflow'"):
        simulate(GRAPH, None, cfg, tmp_path / "tf", surface="tensorflow")
    assert not (tmp_path / "cpu").exists()


@pytest.mark.parametrize("mode", [1, 3, 4])
def test_dumps_of_another_kind_are_refused_for_now(tmp_path, mode):
    with pytest.raises(ConfigError, match="kind of dump must be 'data' for the simulated device"):
        simulate(GRAPH, None, form(op_debug_mode=mode), tmp_path / "out", device="a2")
    assert not (tmp_path / "out").exists()


def test_a_device_that_the_form_leaves_out_dumps_nothing(tmp_path):
    simulate(GRAPH, None, form(support_device=[1]), tmp_path / "npu", device="a2")
    assert outputs(tmp_path / "npu") == {}
    simulate(GRAPH, None, form(support_device=[1]), tmp_path / "cpu")
    assert outputs(tmp_path / "cpu")


def test_the_forms_own_folder_does_not_matter(tmp_path):
    simulate(GRAPH, None, form(path="not absolute"), tmp_path)
    assert outputs(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "tpu"}, "device must be one of .*'reference', '910a'"),
        ({"iterations": 0}, "iterations must be 1 or more, got 0"),
        ({"faults": ["scaled-output:ReLU:2"]}, "device must be one of .* with faults"),
        ({"precision_mode": "force_fp16"}, "with precision mode 'force_fp16', got 'reference'"),
        ({"device": "a2", "faults": ["nonsense:ReLU"]}, "fault must be"),
        ({"device": "a2", "faults": ["scaled-output:Conv9"]}, "operator of a fault must be"),
        ({"device": "a2", "precision_mode": "x"}, "precision mode must be one of"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_before_anything_is_written(
    tmp_path, arguments, message
):
    with pytest.raises(GraphError, match=message):
        simulate(GRAPH, None, form(), tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_an_unknown_feed_leaves_no_folder(tmp_path):
    with pytest.raises(GraphError, match="feed must be one of"):
        simulate(GRAPH, {"y": 1}, form(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_in_use_is_refused(tmp_path):
    simulate(GRAPH, None, form(), tmp_path)
    with pytest.raises(FormatError, match="must be new or empty"):
        simulate(GRAPH, None, form(), tmp_path)


def test_progress_is_passed_on(tmp_path):
    seen = []
    simulate(GRAPH, None, form(), tmp_path, progress=lambda count, name: seen.append(count))
    assert seen == [1, 2, 3, 4]
