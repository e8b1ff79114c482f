"""An offline model on the simulated NPU against onnxruntime: golden, dump, comparison, as a user does it."""

import json
import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper

import workbench as wb
from kit.build.onnx_models import model as model_of
from kit.build.onnx_models import node, offline_model
from kit.commands import run
from workbench.dump.formats.ge_name import standard_name
from workbench.simulation.inputs import networks_with_inputs

pytest.importorskip("onnxruntime")

DEVICES = ("310p", "a2", "a3")
FAULTS = {
    "scaled-output:conv1_Conv:1.05": "conv1_Convrelu_Relu",
    "scaled-output:fc:1.05": "fc",
    "wrong-sign:gap": "gap",
    "nan-output:/pool/MaxPool": "/pool/MaxPool",
}
"""Fault in a node → the kernel that is to blame."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The model's file, the form of a dump, and the golden data beside them."""
    place = tmp_path_factory.mktemp("offline")
    (place / "net.onnx").write_bytes(offline_model().SerializeToString())
    return place


@pytest.fixture
def golden(model, capsys):
    if not (model / "golden").exists():
        (model / "acl.json").write_text(run(capsys, "config", "new", "acl")[1], encoding="utf-8")
        asked = ("golden", model / "net.onnx", "--out", model / "golden", "--engine", "onnxruntime")
        assert run(capsys, *asked)[0] == 0
    return model / "golden"


def compared(capsys, golden, tree, *options, device="a2", graphs=True):
    """Simulate the model and compare; return exit status and result."""
    model = golden.parent / "net.onnx"
    form, fed = golden.parent / "acl.json", f"x={golden}/inputs/x.npy"
    asked = ("simulate", "--graph", model, "--config", form, "--out", tree, "--input", fed)
    status, _, err = run(capsys, *asked, "--device", device, *options)
    assert status == 0, err
    if not graphs:
        shutil.rmtree(tree / "graphs")
    named = ("--golden-graph", model) if graphs else ()
    status, text, _ = run(capsys, "compare", tree, golden, *named, "--json", "-")
    return status, json.loads(text)


@pytest.mark.parametrize("device", DEVICES)
def test_every_golden_of_a_clean_run_is_found_or_has_a_reason(capsys, tmp_path, golden, device):
    status, result = compared(capsys, golden, tmp_path / "tree", device=device)
    assert (status, result["verdict"]) == (0, "warn")
    coverage = result["coverage"]
    assert coverage["unmatched_golden"] == 0
    reasons = {key: count for key, count in coverage["skipped"].items() if key[:6] == "golden"}
    # conv1, conv2 and bn.2 lie inside of kernels; Reshape and Dropout run nothing
    assert reasons == {"golden:fused": 3, "golden:no-task": 2}


def test_constants_among_golden_data_are_told_by_the_model(capsys, tmp_path, golden):
    """As other tools write them: zeros and three sizes."""
    whole = tmp_path / "golden"
    shutil.copytree(golden, whole)
    for path in (whole / "constants").iterdir():
        path.rename(whole / path.name)
    (whole / "constants").rmdir()
    compared(capsys, golden, tmp_path / "tree")
    model = golden.parent / "net.onnx"
    status, text, _ = run(
        capsys, "compare", tmp_path / "tree", whole, "--golden-graph", model, "--json", "-"
    )
    coverage = json.loads(text)["coverage"]
    assert (status, coverage["unmatched_golden"]) == (0, 0)
    assert coverage["skipped"]["golden:folded"] == 4


@pytest.mark.parametrize("device", DEVICES)
def test_without_graphs_a_clean_run_accuses_nobody(capsys, tmp_path, golden, device):
    status, result = compared(capsys, golden, tmp_path / "tree", device=device, graphs=False)
    assert (status, result["verdict"]) == (3, "incomplete")
    assert {one["kind"] for one in result["findings"]} <= {"incomplete", "precision", "unmatched"}


# --- what the golden was fed, in its folder `inputs` -------------------------------------------------

READERS = {
    ("trans_Cast_0", "input"), ("trans_Cast_0", "output"),
    ("trans_TransData_7", "input"), ("trans_TransData_7", "output"), ("conv1_Convrelu_Relu", "input"),
}  # fmt: skip
"""Tensors on the device that are the network's input."""


def simulated(golden, tree, fed):
    """The clean dump of the model on other inputs."""
    networks, feeds = networks_with_inputs([str(golden.parent / "net.onnx")], {"x": fed}, {}, 0, 1)
    return wb.simulate(
        networks, feeds, golden.parent / "acl.json", tree, surface="acl", device="a2"
    )


def test_what_reads_the_network_s_input_is_compared_with_what_the_golden_was_fed(tmp_path, golden):
    tree = simulated(golden, tmp_path / "tree", golden / "inputs/x.npy")
    found = wb.compare(tree, golden, golden_graph=golden.parent / "net.onnx")
    fed = [row for row in found.rows if row.golden_path == str(golden / "inputs/x.npy")]
    assert {(row.op_name, row.io) for row in fed} == READERS
    assert {row.status for row in fed} <= {"equal", "pass"}
    assert (found.verdict, found.coverage.unmatched_golden) == ("warn", 0)


def test_other_inputs_are_said_and_no_operator_is_blamed(tmp_path, golden):
    np.save(tmp_path / "other.npy", np.load(golden / "inputs/x.npy")[:, :, ::-1])
    tree = simulated(golden, tmp_path / "tree", tmp_path / "other.npy")
    found = wb.compare(tree, golden, golden_graph=golden.parent / "net.onnx")
    kinds = [one.kind for one in found.findings]
    assert (found.verdict, kinds[0]) == ("fail", "input")
    assert not {"own-error", "undecided"} & set(kinds)


def test_a_damaged_input_is_told_and_the_rest_is_compared(tmp_path, golden):
    shutil.copytree(golden, tmp_path / "golden")
    (tmp_path / "golden/inputs/x.npy").write_bytes(b"damaged")
    tree = simulated(golden, tmp_path / "tree", golden / "inputs/x.npy")
    found = wb.compare(tree, tmp_path / "golden", golden_graph=golden.parent / "net.onnx")
    read = {row.status for row in found.rows if row.golden_path.endswith("inputs/x.npy")}
    others = {row.status for row in found.rows if row.match_rule} - read
    assert (read, others) == ({"uncomparable"}, {"pass"})


def test_without_the_model_inputs_of_the_golden_change_nothing(tmp_path, golden):
    """Nobody knows who reads a file that is called like an input."""
    shutil.copytree(golden, tmp_path / "golden", ignore=shutil.ignore_patterns("inputs"))
    tree = simulated(golden, tmp_path / "tree", golden / "inputs/x.npy")
    with_inputs, without = (wb.compare(tree, one) for one in (golden, tmp_path / "golden"))
    assert with_inputs.coverage == without.coverage
    assert [one.kind for one in with_inputs.findings] == [one.kind for one in without.findings]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_kernel_is_named_first(capsys, tmp_path, golden, fault):
    status, result = compared(capsys, golden, tmp_path / "tree", "--fault", fault)
    assert (status, result["findings"][0]["op_name"]) == (1, FAULTS[fault])


# --- a dump of outputs alone: weights, and what went into them, are the model's -----------------------


def compared_with_the_model(golden, tree, *faults, mode="output", device="a2", precision=None):
    """Compare a dump of the model; what it read is in a dump of mode ``all`` alone."""
    form = {"dump": {"dump_list": [{}], "dump_path": "/dump", "dump_mode": mode}}
    config = tree.with_suffix(".json")
    config.write_text(json.dumps(form), encoding="ascii")
    model = golden.parent / "net.onnx"
    fed = golden / "inputs/x.npy"
    networks, feeds = networks_with_inputs([str(model)], {"x": fed}, {}, 0, 1)
    options = {"device": device, "faults": faults, "precision_mode": precision}
    wb.simulate(networks, feeds, config, tree, surface="acl", **options)
    return wb.compare(tree, golden, golden_graph=model)


@pytest.mark.parametrize("device", DEVICES)
def test_outputs_alone_are_computed_again_with_the_weights_of_the_model(tmp_path, golden, device):
    found = compared_with_the_model(golden, tmp_path / "tree", device=device)
    assert (found.verdict, found.findings) == ("pass", ())


def test_weights_that_the_cube_rounds_with_a_normalization_in_them_accuse_nobody(tmp_path):
    """In HF32, whose products are written in float32: the model's own weights are rounded otherwise."""
    draw = np.random.default_rng(1)
    shapes = {"w": (24, 16, 3, 3), "s": 24, "b": 24, "m": 24, "v": 24}
    weights = {name: np.abs(draw.standard_normal(shape)) + 0.5 for name, shape in shapes.items()}
    weights["w"] = draw.standard_normal(shapes["w"])
    nodes = [
        node("Conv", ["x", "w"], ["c"], "conv"),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "bn"),
        node("Relu", ["n"], ["y"], "relu"),
    ]
    shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 12, 12])
    arrays = {name: array.astype(np.float32) for name, array in weights.items()}
    net = tmp_path / "net.onnx"
    net.write_bytes(model_of(nodes, {"x": shape}, ["y"], arrays).SerializeToString())
    x = draw.standard_normal((1, 16, 12, 12)).astype(np.float32)
    wb.golden(net, {"x": x}, tmp_path / "golden", engine="onnxruntime")
    found = compared_with_the_model(
        tmp_path / "golden", tmp_path / "tree", precision="must_keep_origin_dtype"
    )
    assert (found.verdict, found.findings) == ("pass", ())


@pytest.mark.parametrize("node", ["bn.2", "conv1_Conv", "fc"])
def test_a_small_fault_in_a_dump_of_outputs_is_named_by_replay(tmp_path, golden, node):
    """One percent: far below what nodes in float16 may differ by, far above one rounding.

    Statistics of bn.2 went into the weights of a kernel.
    """
    found = compared_with_the_model(golden, tmp_path / "tree", f"scaled-output:{node}:1.01")
    first = found.findings[0]
    assert (first.kind, first.op_name.startswith(KERNELS[node])) == ("own-error", True)
    assert "compare/assumed-network" in {getattr(one, "code", "") for one in first.evidence}


def test_wrong_weights_that_were_computed_from_others_are_named(tmp_path, golden):
    """The kernel does what it has to with its own weights; what the model has for them gives something else."""
    fault = "wrong-weight-element:/features/2/Conv:16"
    found = compared_with_the_model(golden, tmp_path / "tree", fault, mode="all")
    first = found.findings[0]
    assert (first.kind, first.op_name.startswith("/features/2/Conv")) == ("parameter", True)
    assert "compare/other-weights" in {getattr(one, "code", "") for one in first.evidence}


KERNELS = {"bn.2": "/features/2/Conv", "conv1_Conv": "conv1_Conv", "fc": "fc"}
"""Node → how the kernel begins that it became a part of."""


def make_golden(place, net, x):
    """Save a model of one input, x, and its golden data of onnxruntime."""
    (place / "net.onnx").write_bytes(net.SerializeToString())
    x = x.astype(np.float32)
    wb.golden(place / "net.onnx", {"x": x}, place / "golden", engine="onnxruntime")


def simulated_net(place, tree, mode="all", *, device="a2", **options):
    """The dump of the model of `make_golden`, fed with what its golden data were made of."""
    fed = {"x": place / "golden/inputs/x.npy"}
    networks, feeds = networks_with_inputs([str(place / "net.onnx")], fed, {}, 0, 1)
    form = place / f"{mode}.json"
    dump = {"dump_list": [{}], "dump_path": "/dump", "dump_mode": mode}
    form.write_text(json.dumps({"dump": dump}), encoding="utf-8")
    return wb.simulate(networks, feeds, form, tree, surface="acl", device=device, **options)


def defects(found):
    """Operators that are accused."""
    return [one.op_name for one in found.findings if one.defect]


def far_below(tmp_path, precision, mode):
    """A dump of a logistic function below -18 in full, and golden data of onnxruntime."""
    shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 512])
    nodes = [node("Add", ["x", "far"], ["low"], "low"), node("Sigmoid", ["low"], ["y"], "gate")]
    net = model_of(nodes, {"x": shape}, ["y"], {"far": np.full(512, -22, np.float32)})
    make_golden(tmp_path, net, np.random.default_rng(0).normal(0, 3, (1, 512)))
    tree = simulated_net(tmp_path, tmp_path / "tree", mode, precision_mode=precision)
    return tree, tmp_path / "golden"


def test_a_library_s_error_near_zero_accuses_nobody(tmp_path):
    """Float16 gives multiples of 2**-24, onnxruntime a part of 1."""
    tree, golden = far_below(tmp_path, "force_fp16", "all")
    found = wb.compare(tree, golden, golden_graph=tmp_path / "net.onnx")
    assert (found.verdict, [one.kind for one in found.findings if one.defect]) == ("warn", [])


def test_a_library_s_error_near_zero_needs_no_graph(tmp_path):
    """In float32, where the device is exact: the file's name tells the type."""
    tree, golden = far_below(tmp_path, "must_keep_origin_dtype", "output")
    shutil.rmtree(tree / "graphs")
    found = wb.compare(tree, golden)
    assert [one.kind for one in found.findings if one.defect] == []
    assert found.verdict == "inconclusive"


# --- nodes of which the device runs nothing, at the end of others that it runs in pieces ---------------


def recurrent_model():
    """An LSTM whose result and last state go through changes of shape and format, and a product behind a Dropout."""
    draw = np.random.default_rng(4)
    shapes = {"w": (1, 64, 8), "r": (1, 64, 16), "b": (1, 128), "fw": (16, 32)}
    arrays = {name: draw.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    numbers = {name: np.array([value]) for name, value in (("zero", 0), ("one", 1), ("two", 2))}
    nodes = [
        node("LSTM", ["x", "w", "r", "b"], ["y", "h", "c"], "rnn", hidden_size=16),
        node("Squeeze", ["h", "zero"], ["s"], "last"),
        node("Unsqueeze", ["s", "two"], ["u"], "wide"),
        node("Cast", ["u"], ["same"], "same", to=TensorProto.FLOAT),
        node("Relu", ["same"], ["gate"], "gate"),
        node("Squeeze", ["y", "one"], ["steps"], "steps"),
        node("Dropout", ["steps"], ["kept"], "drop"),
        node("Reshape", ["kept", "flat"], ["rows"], "rows"),
        node("Gemm", ["rows", "fw"], ["out"], "fc"),
        node("Split", ["out"], ["left", "right"], "halves", axis=1, num_outputs=2),
        node("Concat", ["right", "left"], ["turned"], "turned", axis=1),
        node("Concat", ["h", "c"], ["states"], "states", axis=0),
    ]
    arrays["flat"] = np.array([5, 16])
    return model_of(
        nodes,
        {"x": np.zeros((5, 1, 8), np.float32)},
        ["gate", "turned", "c", "states"],
        arrays | numbers,
    )


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory):
    """The model's file, the golden data of onnxruntime, and dumps of outputs by precision mode."""
    place = tmp_path_factory.mktemp("recurrent")
    x = np.random.default_rng(5).standard_normal((5, 1, 8))
    make_golden(place, recurrent_model(), x)
    for mode in ("force_fp16", "must_keep_origin_dtype"):
        simulated_net(place, place / mode, "output", precision_mode=mode)
    return place


@pytest.mark.parametrize("mode", ["force_fp16", "must_keep_origin_dtype"])
def test_results_that_reach_no_kernel_of_their_own_are_compared(recurrent, mode):
    found = wb.compare(recurrent / mode, recurrent / "golden", golden_graph=recurrent / "net.onnx")
    assert found.coverage.gaps == {}
    compared = {(row.golden_op_name, row.slot) for row in found.rows if row.match_rule}
    assert {"rnn", "same", "gate", "fc"} <= {name for name, _ in compared}
    golden = {row.golden_path for row in found.rows if row.golden_op_name == "rnn"}
    assert len(golden) == 3
    assert found.verdict in ("pass", "warn")
    assert [one.kind for one in found.findings if one.defect] == []


def test_what_only_splits_and_joins_needs_no_graph(recurrent, tmp_path):
    shutil.copytree(
        recurrent / "force_fp16", tmp_path / "bare", ignore=shutil.ignore_patterns("graphs")
    )
    found = wb.compare(tmp_path / "bare", recurrent / "golden")
    lonely = {row.golden_op_name for row in found.rows if row.golden_path and not row.match_rule}
    assert lonely.isdisjoint({"halves", "turned", "rows", "drop", "same"})
    assert [one.kind for one in found.findings if one.defect] == []


def test_a_fault_in_a_node_strikes_the_kernel_that_bears_its_name_alone(recurrent, tmp_path):
    """Its last states are computed by slices behind it, and named after it."""
    fault = "scaled-output:rnn:1.05"
    tree = simulated_net(recurrent, tmp_path / "tree", "output", faults=(fault,))
    found = wb.compare(tree, recurrent / "golden", golden_graph=recurrent / "net.onnx")
    assert defects(found) == ["rnn"]


@pytest.mark.parametrize("device", ["310p", "a2"])  # one saturates, the other has infinity
def test_numbers_beyond_a_format_are_told_as_such(tmp_path, device):
    x = np.arange(1, 65)[None]
    weights = {"w": np.full((64, 8), 100, np.float32), "small": np.full(8, 1e-4, np.float32)}
    nodes = [node("MatMul", ["x", "w"], ["a"], "product"), node("Mul", ["a", "small"], ["y"], "y")]
    make_golden(tmp_path, model_of(nodes, {"x": x.astype(np.float32)}, ["y"], weights), x)
    options = {"device": device, "precision_mode": "force_fp16"}
    found = wb.compare(simulated_net(tmp_path, tmp_path / "tree", **options), tmp_path / "golden")
    first = found.findings[0]
    assert (found.verdict, first.op_name) == ("fail", "product")
    said = [one for one in first.evidence if getattr(one, "code", "") == "compare/beyond-range"]
    assert [one.values for one in said] == [
        {"golden": 208_000.0, "dtype": "float16", "limit": 65504.0}  # 100 × (1 + … + 64)
    ]


POLES = {
    "Log": node("Log", ["a"], ["y"], "pole"),
    "Reciprocal": node("Reciprocal", ["a"], ["y"], "pole"),
    "Div": node("Div", ["x", "a"], ["y"], "pole"),
}


@pytest.mark.parametrize(("kind", "device"), [*((kind, "a2") for kind in POLES), ("Div", "310p")])
def test_numbers_below_a_format_are_told_as_such(tmp_path, kind, device):
    small = np.array([[1e-9, 2e-9, 1, 2]], np.float32)
    ones = np.ones((1, 4), np.float32)
    x, scale = (ones, small) if kind == "Div" else (small, ones)  # zero by zero is no infinity
    nodes = [node("Mul", ["x", "scale"], ["a"], "small"), POLES[kind]]
    make_golden(tmp_path, model_of(nodes, {"x": x}, ["y"], {"scale": scale}), x)
    options = {"device": device, "precision_mode": "force_fp16"}
    found = wb.compare(simulated_net(tmp_path, tmp_path / "tree", **options), tmp_path / "golden")
    first = found.findings[0]
    assert (found.verdict, first.op_name) == ("fail", "pole")
    said = [one for one in first.evidence if getattr(one, "code", "") == "compare/below-range"]
    limit = float(np.finfo(np.float16).tiny)
    assert [one.values for one in said] == [
        {"count": 2, "golden": float(np.float32(2e-9)), "dtype": "float16", "limit": limit}
    ]


def test_a_result_that_a_compiler_knows_has_no_file(tmp_path):
    """Its size is all that is asked of the input, so the model's result is a constant."""
    x = np.arange(6, dtype=np.float32).reshape(1, 6)
    nodes = [
        node("Transpose", ["x"], ["t"], "turn", perm=[1, 0]),
        node("Shape", ["t"], ["s"], "size"),
        node("ConstantOfShape", ["s"], ["y"], "zeros"),
        node("Neg", ["x"], ["z"], "neg"),
    ]
    make_golden(tmp_path, model_of(nodes, {"x": x}, ["y", "z"], {}), x)
    tree = simulated_net(tmp_path, tmp_path / "tree")
    found = wb.compare(tree, tmp_path / "golden", golden_graph=tmp_path / "net.onnx")
    assert found.verdict in ("pass", "warn")
    assert found.coverage.gaps_of("golden") == 0
    assert found.coverage.outputs == ()


@pytest.mark.parametrize("mode", ["all", "output"])
def test_a_part_that_is_off_by_more_than_the_whole_accuses_nobody(tmp_path, mode):
    """Two elements near the end of float16 are cut out of a tensor whose others are near one; their reader is wrong."""
    x = np.array([[6.7, 0.56, -51.835, -52.266]], np.float32)
    ends = {f"{name}{at}": np.int64([at]) for name in ("from", "to") for at in (0, 2, 4)}
    weights = {**ends, "axis": np.int64([1]), "half": np.float32([0.5])}
    weights["shift"] = np.float32([[0, 0, 40.301, 40.301]])
    nodes = [
        node("Add", ["x", "shift"], ["near"], "shifted"),
        node("Sigmoid", ["near"], ["s"], "gate"),
        node("Slice", ["s", "from0", "to2", "axis"], ["a"], "large"),
        node("Mul", ["a", "half"], ["b"], "scaled"),
        node("Slice", ["s", "from2", "to4", "axis"], ["c"], "small"),
        node("Concat", ["b", "c"], ["y"], "joined", axis=1),
    ]
    make_golden(tmp_path, model_of(nodes, {"x": x}, ["y"], weights), x)
    options = {"precision_mode": "force_fp16", "faults": ("scaled-output:joined:1.05",)}
    tree = simulated_net(tmp_path, tmp_path / "tree", mode, **options)
    found = wb.compare(tree, tmp_path / "golden", golden_graph=tmp_path / "net.onnx")
    assert defects(found) == ["joined"]


def choosing(tmp_path, shift):
    """A model that goes on with one of two branches, as its first products say; its golden data, and a run of it."""
    draw = np.random.default_rng(3)
    weights = {"w": draw.standard_normal((8, 6)).astype(np.float32), "shift": np.float32([shift])}
    ends = {name: [helper.make_empty_tensor_value_info(name)] for name in ("t", "e")}
    then = [
        node("MatMul", ["m", "v"], ["u"], "deep/product"),
        node("Relu", ["u"], ["t"], "deep/relu"),
    ]
    inner = helper.make_tensor("v", TensorProto.FLOAT, [6, 6], draw.standard_normal(36))
    branches = {
        "then_branch": helper.make_graph(then, "then", [], ends["t"], [inner]),
        "else_branch": helper.make_graph(
            [node("Tanh", ["m"], ["e"], "flat")], "else", [], ends["e"]
        ),
    }
    nodes = [
        node("MatMul", ["x", "w"], ["m"], "product"),
        node("ReduceMean", ["m"], ["mean"], "mean", keepdims=0),
        node("Greater", ["mean", "shift"], ["c"], "asked"),
        node("If", ["c"], ["i"], "choice", **branches),
        node("Neg", ["i"], ["y"], "last"),
    ]  # fmt: skip
    x = draw.standard_normal((4, 8))
    make_golden(tmp_path, model_of(nodes, {"x": x.astype(np.float32)}, ["y"], weights), x)


@pytest.mark.parametrize(("shift", "inside"), [(-9, {"deep_product", "deep_relu"}), (9, {"flat"})])
def test_the_branch_that_a_run_takes_is_simulated_and_compared(tmp_path, shift, inside):
    choosing(tmp_path, shift)
    tree = simulated_net(tmp_path, tmp_path / "tree")
    found = wb.compare(tree, tmp_path / "golden", golden_graph=tmp_path / "net.onnx")
    assert found.verdict in ("pass", "warn")
    assert found.coverage.gaps_of("golden") == 0
    compared = {standard_name(row.golden_op_name) for row in found.rows if row.match_rule}
    assert inside | {"product", "asked", "last"} <= compared | {"deep_product"}
    assert not {"deep_relu", "flat"} - inside & compared


def test_a_fault_inside_a_branch_is_named(tmp_path):
    choosing(tmp_path, -9)
    tree = simulated_net(tmp_path, tmp_path / "tree", faults=("scaled-output:deep/product:1.05",))
    found = wb.compare(tree, tmp_path / "golden", golden_graph=tmp_path / "net.onnx")
    assert [name.startswith("deep/product") for name in defects(found)] == [True]


@pytest.mark.parametrize("where", ["conv", "conv/BiasAdd"])
def test_wrong_weights_are_named_though_little_of_their_effect_is_left(tmp_path, where):
    """The kernel does what its weights say, and its readers agree; those of the model say something else."""
    draw = np.random.default_rng(7)
    x = draw.standard_normal((1, 4, 8, 8)).astype(np.float32)
    drawn = {"w": (64, 4, 3, 3), "b": 64, "m": 64, "k": 64}
    weights = {
        name: draw.standard_normal(shape).astype(np.float32) for name, shape in drawn.items()
    }
    weights |= {name: draw.uniform(1, 2, 64).astype(np.float32) for name in ("s", "v")}
    weights |= {"little": np.array([1e-6], np.float32), "one": np.array([1], np.float32)}
    nodes = [
        node("Conv", ["x", "w", "k"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "norm"),
        node("Mul", ["n" if where == "conv" else "c", "little"], ["small"], "small"),
        node("Add", ["small", "one"], ["y"], "sum"),
    ]
    make_golden(tmp_path, model_of(nodes, {"x": x}, ["y"], weights), x)
    options = {"precision_mode": "must_keep_origin_dtype"}
    options["faults"] = (f"wrong-weight-element:{where}:16",)
    tree = simulated_net(tmp_path, tmp_path / "tree", **options)
    found = wb.compare(tree, tmp_path / "golden", golden_graph=tmp_path / "net.onnx")
    first = found.findings[0]
    assert (first.kind, first.op_name, first.defect) == ("parameter", "conv", True)


@pytest.mark.parametrize("mode", ["all", "output"])
def test_without_graphs_what_joins_is_not_blamed_for_what_has_no_golden(recurrent, tmp_path, mode):
    """The device computes the last state by a kernel that the model has no node for."""
    fault = "overwritten-element:rnn/StridedSlice_2:value=9"
    tree = simulated_net(recurrent, tmp_path / "tree", mode, faults=(fault,))
    shutil.rmtree(tree / "graphs")
    found = wb.compare(tree, recurrent / "golden")
    assert (found.verdict, defects(found)) == ("inconclusive", [])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A root of a sum of powers, of which the device has overwritten one with a negative number."""
    place = tmp_path_factory.mktemp("root")
    nodes = [
        node("Pow", ["x", "two"], ["p"], "power"),
        node("Add", ["p", "low"], ["s"], "sum"),
        node("Sqrt", ["s"], ["y"], "root"),
    ]
    x = np.random.default_rng(8).uniform(-3, 3, (4, 128)).astype(np.float32)
    weights = {"two": np.array(2, np.float32), "low": np.full(128, 0.25, np.float32)}
    make_golden(place, model_of(nodes, {"x": x}, ["y"], weights), x)
    for mode in ("all", "output"):
        simulated_net(place, place / mode, mode, faults=("overwritten-element:power:value=-0.5",))
    return place


@pytest.mark.parametrize("mode", ["all", "output"])
def test_a_negative_number_under_a_root_is_held_against_whoever_gave_it(root, mode):
    found = wb.compare(root / mode, root / "golden", golden_graph=root / "net.onnx")
    assert set(defects(found)) == {"power"}


@pytest.mark.parametrize("mode", ["all", "output"])
def test_without_graphs_no_root_of_a_negative_number_is_blamed(root, tmp_path, mode):
    shutil.copytree(root / mode, tmp_path / "bare", ignore=shutil.ignore_patterns("graphs"))
    found = wb.compare(tmp_path / "bare", root / "golden")
    assert set(defects(found)) <= {"power"}
    assert found.verdict == "fail"  # one element is no number: that is certain, whoever it is


def test_a_single_number_tells_of_no_memory_that_was_written_over(tmp_path):
    """Whatever an operator of one element gave, some number in its input explains it."""
    nodes = [
        node("ReduceSum", ["x"], ["a"], "total", keepdims=1),
        node("Mul", ["a", "a"], ["q"], "square"),
        node("Neg", ["a"], ["n"], "opposite"),
        node("Add", ["q", "n"], ["y"], "sum"),
    ]
    x = np.random.default_rng(9).standard_normal((1, 64)).astype(np.float32)
    make_golden(tmp_path, model_of(nodes, {"x": x}, ["y"]), x)
    options = {"device": "a3", "precision_mode": "must_keep_origin_dtype"}
    options["faults"] = ("scaled-output:opposite:1.05",)
    tree = simulated_net(tmp_path, tmp_path / "tree", "output", **options)
    found = wb.compare(tree, tmp_path / "golden", golden_graph=tmp_path / "net.onnx")
    assert {(one.kind, one.op_name) for one in found.findings if one.defect} == {
        ("own-error", "opposite")
    }


@pytest.mark.parametrize("device", DEVICES)
def test_an_activation_in_full_precision_is_held_against_the_formula_of_its_node(tmp_path, device):
    """Gelu by the error function differs from that with tanh by far more than float32 rounds."""
    x = np.random.default_rng(0).standard_normal((2, 64)).astype(np.float32)
    nodes = [node("Tanh", ["x"], ["t"], "before"), node("Gelu", ["t"], ["y"], "act")]
    make_golden(tmp_path, model_of(nodes, {"x": x}, ["y"], {}, opset=20), x)
    tree = simulated_net(
        tmp_path, tmp_path / "tree", device=device, precision_mode="must_keep_origin_dtype"
    )
    found = wb.compare(tree, tmp_path / "golden", golden_graph=tmp_path / "net.onnx")
    assert [one.op_name for one in found.findings if one.defect] == []


# --- what golden data say of themselves, where no graph is ---------------------------------------------


def model_with_zeros():
    """Zeros that are fed and reshaped, and a recurrence whose last states nothing reads."""
    draw = np.random.default_rng(6)
    shapes = {"w": (1, 64, 8), "r": (1, 64, 16)}
    arrays = {name: draw.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    nodes = [
        node("Identity", ["h"], ["same"], "same"),
        node("Unsqueeze", ["same", "zero"], ["state"], "state"),
        node(
            "LSTM", ["x", "w", "r", "", "", "state"], ["y", "last", "cell"], "rnn", hidden_size=16
        ),
        node("Relu", ["y"], ["out"], "gate"),
    ]
    fed = {"x": np.zeros((5, 2, 8), np.float32), "h": np.zeros((2, 16), np.float32)}
    return model_of(nodes, fed, ["out"], arrays | {"zero": np.array([0])})


def test_copies_and_unread_results_have_their_reason_without_graphs(tmp_path):
    (tmp_path / "net.onnx").write_bytes(model_with_zeros().SerializeToString())
    fed = {"x": np.random.default_rng(7).standard_normal((5, 2, 8)).astype(np.float32)}
    fed["h"] = np.zeros((2, 16), np.float32)
    wb.golden(tmp_path / "net.onnx", fed, tmp_path / "golden", engine="onnxruntime")
    networks, feeds = networks_with_inputs([str(tmp_path / "net.onnx")], fed, {}, 0, 1)
    form = tmp_path / "acl.json"
    dump = {"dump_list": [{}], "dump_path": "/dump", "dump_mode": "output"}
    form.write_text(json.dumps({"dump": dump}), encoding="utf-8")
    wb.simulate(networks, feeds, form, tmp_path / "tree", surface="acl", device="a2")
    shutil.rmtree(tmp_path / "tree/graphs")
    told = wb.compare(tmp_path / "tree", tmp_path / "golden")
    assert told.coverage.gaps_of("golden") == 0
    assert (told.coverage.skipped["golden:copy"], told.coverage.skipped["golden:unread"]) == (2, 2)
    assert defects(told) == []
    (tmp_path / "golden/roles.csv").unlink()  # as older golden data are
    silent = wb.compare(tmp_path / "tree", tmp_path / "golden")
    assert silent.coverage.gaps_of("golden") == 4


@pytest.mark.parametrize("mode", ["all", "output"])
@pytest.mark.parametrize("kind", ["Identity", "Dropout"])
def test_a_result_that_is_an_input_again_is_computed_by_nobody(tmp_path, kind, mode):
    shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])
    nodes = [node("Relu", ["x"], ["y"], "act"), node(kind, ["x"], ["same"], "same")]
    net = model_of(nodes, {"x": shape}, ["y", "same"], {})
    make_golden(tmp_path, net, np.random.default_rng(0).normal(0, 3, (3, 4)))
    tree = simulated_net(tmp_path, tmp_path / "tree", mode)
    found = wb.compare(tree, tmp_path / "golden", golden_graph=tmp_path / "net.onnx")
    assert (found.verdict in ("pass", "warn"), found.coverage.gaps) == (True, {})
    assert found.coverage.explained["golden:handed-through"] == 1


def test_a_result_that_is_computed_and_given_again_is_still_asked_for(tmp_path):
    """Only what is fed needs no kernel: a result behind one is missing if its file is."""
    shape = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])
    nodes = [node("Relu", ["x"], ["y"], "act"), node("Identity", ["y"], ["same"], "same")]
    net = model_of(nodes, {"x": shape}, ["same"], {})
    make_golden(tmp_path, net, np.random.default_rng(0).normal(0, 3, (3, 4)))
    tree = simulated_net(tmp_path, tmp_path / "tree", "output")
    lost = [*tree.rglob("*.act.*"), *tree.rglob("*.trans_Cast_1.*")]
    for file in lost:
        file.unlink()
    assert len(lost) == 2
    found = wb.compare(tree, tmp_path / "golden", golden_graph=tmp_path / "net.onnx")
    assert found.verdict == "incomplete"
    assert "golden:handed-through" not in found.coverage.explained
