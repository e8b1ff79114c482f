"""Golden data of ONNX models: every intermediate, held against onnxruntime and onnx's evaluator run on whole models."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import workbench as wb
from kit.build.onnx_models import FLOAT, model, node
from kit.cases import nightly
from kit.words import refused
from workbench.core.errors import FormatError, GraphError
from workbench.golden_data import walk

HAS_RUNTIME = find_spec("onnxruntime") is not None
ENGINES = [
    pytest.param("onnxruntime", marks=pytest.mark.skipif(not HAS_RUNTIME, reason="not installed")),
    "reference",
]
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
MINE = helper.make_opsetid("my.ops", 1)


def files_of(root):
    """Arrays of a folder by operator and output, in order of time."""
    found = {}
    for path in sorted(root.glob("*.npy"), key=lambda path: path.name.split(".")[-2]):
        name, slot, _, _ = path.name.split(".")
        found.setdefault((name, int(slot)), []).append(np.load(path))
    return {key: arrays[0] if len(arrays) == 1 else arrays for key, arrays in found.items()}


def exposed(made):
    """The model with every output of its nodes as an output of its own, and the key of each in `files_of`."""
    whole = onnx.ModelProto()
    whole.CopyFrom(made)
    keys = {
        name: (one.name, slot)
        for one in made.graph.node
        for slot, name in enumerate(one.output)
        if name
    }
    del whole.graph.output[:]
    whole.graph.output.extend(map(helper.make_empty_tensor_value_info, keys))
    return whole, list(keys.values())


def by_evaluator(whole, feeds):
    return ReferenceEvaluator(whole).run(None, feeds)


def by_runtime(whole, feeds):
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(whole.SerializeToString(), options)
    return session.run(None, feeds)


def network(seed=0):
    """Layers of many kinds: a convolution, shapes that are computed, several outputs of one node."""
    rng = np.random.default_rng(seed)
    nodes = [
        node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "s", "b", "b", "s"], ["n"], "norm"),
        node("Relu", ["n"], ["r"], "relu"),
        node("Shape", ["r"], ["shape"], "shape"),
        node("Gather", ["shape", "zero"], ["batch"], "batch"),
        node("Concat", ["batch", "minus"], ["wanted"], "wanted", axis=0),
        node("Reshape", ["r", "wanted"], ["flat"], "flat"),
        node("Gemm", ["flat", "fc"], ["g"], "fc", transB=1),
        node("Split", ["g"], ["left", "right"], "split", num_outputs=2, axis=1),
        node("Softmax", ["left"], ["p"], "softmax"),
        node("ArgMax", ["right"], ["k"], "best", axis=1),
        node("Cast", ["p"], ["half"], "half", to=TensorProto.FLOAT16),
    ]
    weights = {
        "w": rng.standard_normal((4, 3, 3, 3), np.float32),
        "s": rng.uniform(0.5, 2, 4).astype(np.float32),
        "b": rng.standard_normal(4, np.float32),
        "zero": np.array([0]),
        "minus": np.array([-1]),
        "fc": rng.standard_normal((6, 4 * 25), np.float32),
    }
    feeds = {"x": rng.standard_normal((2, 3, 5, 5), np.float32)}
    return model(nodes, feeds, ["half", "k"], weights), feeds


@pytest.mark.parametrize("whole_run", [by_evaluator, by_runtime])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_intermediate_is_what_a_run_of_the_whole_model_gives(tmp_path, engine, whole_run):
    made, feeds = network()
    done = wb.golden(made, feeds, tmp_path / "out", engine=engine)
    whole, keys = exposed(made)
    want = dict(zip(keys, whole_run(whole, feeds), strict=True))
    known, got = files_of(tmp_path / "out/constants"), files_of(tmp_path / "out")
    assert known.keys() == {("shape", 0), ("batch", 0), ("wanted", 0)}
    own, got = [want[key] for key in got], got | known
    assert got.keys() == want.keys()
    for key, array in want.items():
        assert (got[key].dtype, got[key].shape) == (array.dtype, array.shape), key
        np.testing.assert_allclose(
            np.float64(got[key]), np.float64(array), rtol=1e-3, atol=2e-5, err_msg=str(key)
        )
    assert (done.engine, done.tensors, done.missing) == (engine, len(want) - 3, ())
    assert done.nbytes == sum(array.nbytes for array in own)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_real_network_is_what_a_run_of_the_whole_model_gives(tmp_path, engine):
    """Weights of these files are computed, so they lie aside. onnx's evaluator has no Softmax of old."""
    path = LIGHT / "light_squeezenet.onnx"
    feeds = {"data_0": np.random.default_rng(0).standard_normal((1, 3, 224, 224), np.float32)}
    wb.golden(path, feeds, tmp_path / "out", engine=engine)
    made = onnx.load(str(path))
    whole, keys = exposed(made)
    files = [*tmp_path.glob("out/*.npy"), *tmp_path.glob("out/constants/*.npy")]
    got = sorted(files, key=lambda one: one.name.split(".")[-2])
    assert len(got) == len(keys) == sum(len(one.output) for one in made.graph.node)
    masks = {one.output[1] for one in made.graph.node if one.op_type == "Dropout"}  # not specified
    names = [one.name for one in whole.graph.output]
    for one, name, array in zip(got, names, by_runtime(whole, feeds), strict=True):
        if name not in masks:
            np.testing.assert_allclose(np.load(one), array, rtol=1e-3, atol=1e-4, err_msg=name)


def test_what_no_input_changes_lies_aside(tmp_path):
    """A compiler computes it; what is drawn at random and what the model gives as a result stay."""
    nodes = [
        node("Constant", [], ["c"], "const", value=numpy_helper.from_array(np.ones(3, np.float32))),
        node("Neg", ["c"], ["n"], "neg"),
        node("Shape", ["x"], ["s"], "shape"),
        node("RandomNormal", [], ["r"], "drawn", shape=[3]),
        node("Add", ["x", "n"], ["a"], "add"),
        node("Add", ["a", "r"], ["b"], "other"),
        node("Identity", ["c"], ["same"], "result"),
    ]
    feeds, told = {"x": np.zeros(3, np.float32)}, []
    wb.golden(model(nodes, feeds, ["b", "same"], {}), feeds, tmp_path / "out", report=told.append)
    aside = {("const", 0), ("neg", 0), ("shape", 0)}
    assert files_of(tmp_path / "out/constants").keys() == aside
    stays = {("drawn", 0), ("add", 0), ("other", 0), ("result", 0)}
    assert files_of(tmp_path / "out").keys() == stays
    assert [one.values["outputs"] for one in told if one.code == "golden/constants"] == [3]
    assert wb.load(tmp_path / "out").layout == "golden"


def test_the_reference_is_rounded_once_per_node(tmp_path):
    """A sum of a thousand terms is the float32 nearest to the exact one, which single precision misses."""
    rng = np.random.default_rng(3)
    feeds = {"x": rng.standard_normal((64, 1000), np.float32)}
    made = model([node("ReduceSum", ["x", "axis"], ["y"], "sum")], feeds, ["y"], {"axis": [1]})
    wb.golden(made, feeds, tmp_path / "out", engine="reference")
    (got,) = files_of(tmp_path / "out").values()
    exact = feeds["x"].astype(np.float64).sum(1, keepdims=True).astype(np.float32)
    np.testing.assert_array_equal(got, exact)
    assert not np.array_equal(np.add.reduce(feeds["x"], 1, keepdims=True), exact)


# ---------------------------------------------------------------- memory

LADDER = """
import resource, sys
import workbench as wb
from workbench.golden_data import walk
walk._HELD = 1 << 25
done = wb.golden(sys.argv[1], None, sys.argv[2], engine=sys.argv[3])
print(done.nbytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)
"""
"""Prints how many bytes a run has written, and the most memory that its process took."""


def ladder(depth):
    """Outputs of the way down are read on the way up, so that half of all is alive in the middle."""
    nodes, last = [], "x"
    for k in range(depth):
        nodes.append(node("Relu", [last], [f"d{k}"], f"down{k}"))
        last = f"d{k}"
    for k in reversed(range(depth)):
        nodes.append(node("Add", [last, f"d{k}"], [f"u{k}"], f"up{k}"))
        last = f"u{k}"
    shape = helper.make_tensor_value_info("x", FLOAT, [1 << 20])
    return model(nodes, {"x": shape}, [last])


@pytest.mark.slow
@pytest.mark.parametrize("engine", nightly(ENGINES, ENGINES[:1]))
def test_memory_does_not_grow_with_the_intermediates(tmp_path, engine):
    """Four times as many tensors, of which half are alive at once, cost less than one in ten of them."""
    peaks = []
    for depth in (24, 96):
        path, out = tmp_path / f"{depth}.onnx", tmp_path / f"out{depth}"
        onnx.save(ladder(depth), path)
        arguments = [sys.executable, "-c", LADDER, str(path), str(out), engine]
        shown = subprocess.run(arguments, capture_output=True, text=True, check=True)
        nbytes, peak = map(int, shown.stdout.split())
        assert nbytes == 2 * depth << 22
        peaks.append(peak)
    assert peaks[1] - peaks[0] < (2 * 72 << 22) // 10


@given(held=st.sampled_from([0, 24, 60, 1 << 28]), seed=st.integers(0, 99))
def test_what_is_dropped_from_memory_and_read_again_changes_nothing(tmp_path_factory, held, seed):
    """Random graphs of bfloat16, float32 and integers; each node reads any two values before it."""
    rng = np.random.default_rng(seed)
    kinds, nodes = {"x": "float32"}, []
    for k in range(8):
        one, other = rng.choice([*kinds], 2)
        if kinds[one] != "float32" or rng.random() < 0.3:
            to = TensorProto.BFLOAT16 if kinds[one] == "float32" else FLOAT
            nodes.append(node("Cast", [one], [f"v{k}"], f"n{k}", to=to))
            kinds[f"v{k}"] = "bfloat16" if to != FLOAT else "float32"
        else:
            other = other if kinds[other] == "float32" else "x"
            nodes.append(node("Sub", [one, other], [f"v{k}"], f"n{k}"))
            kinds[f"v{k}"] = "float32"
    made = model(nodes, {"x": X}, ["v7"])
    want = {"x": X}
    for one in nodes:  # by hand
        first, *rest = (want[name] for name in one.input)
        kind = np.float32 if kinds[one.output[0]] == "float32" else ml_dtypes.bfloat16
        want[one.output[0]] = (first - rest[0] if rest else first).astype(kind)
    root = tmp_path_factory.mktemp("held") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "_HELD", held)
        wb.golden(made, {"x": X}, root, engine="reference")
    got = files_of(root)
    assert {name: want[f"v{name[1:]}"].astype(np.float32).tolist() for name, _ in got} == {
        name: array.tolist() for (name, _), array in got.items()
    }
    assert len(got) == 8


# ---------------------------------------------------------------- what cannot be computed or written


def said_codes(messages):
    return [one.code for one in messages]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_custom_operator_costs_itself_and_what_reads_it(tmp_path, engine):
    nodes = [
        node("Relu", ["x"], ["a"], "act"),
        node("Strange", ["a"], ["b"], "odd", domain="my.ops"),
        node("Add", ["b", "a"], ["c"], "sum"),
        node("Neg", ["c"], ["d"], "last"),
        node("Neg", ["a"], ["y"], "other"),
    ]
    made = model(nodes, {"x": X}, ["y", "d"], imports=[MINE])
    done = wb.golden(made, {"x": X}, tmp_path / "out", engine=engine)
    assert files_of(tmp_path / "out").keys() == {("act", 0), ("other", 0)}
    missing = [(one.values["name"], one.values["type"], one.values["why"]) for one in done.missing]
    assert [name for name, _, _ in missing] == ["odd", "sum", "last"]
    assert [kind for _, kind, _ in missing] == ["my.ops.Strange", "Add", "Neg"]
    assert [why.code for *_, why in missing] == ["golden/node-failed", *["golden/after"] * 2]
    assert [why.values.get("name") for *_, why in missing] == [None, "odd", "sum"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_of_which_nothing_can_be_computed_is_refused(tmp_path, engine):
    made = model([node("Strange", ["x"], ["y"], domain="my.ops")], {"x": X}, ["y"], imports=[MINE])
    with refused("golden/nothing", GraphError):
        wb.golden(made, {"x": X}, tmp_path / "out", engine=engine)


def branch(op_type, out):
    ends = [helper.make_empty_tensor_value_info(out)]
    return helper.make_graph([node(op_type, ["a"], [out], f"{op_type}_{out}")], out, [], ends)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("flag", [True, False])
def test_the_branch_that_is_taken_is_written_node_by_node(tmp_path, engine, flag):
    """Branches read values around them and have weights of their own; a choice in a choice is made as well."""
    nodes = [
        node("Relu", ["x"], ["a"], "act"),
        node("If", ["c"], ["y"], "choice", then_branch=inner("then", "not_c"), else_branch=branch("Exp", "e")),
        node("Neg", ["y"], ["z"], "last"),
    ]  # fmt: skip
    nodes.insert(0, node("Not", ["c"], ["not_c"], "not"))
    feeds = {"x": X, "c": np.array(flag)}
    said = []
    wb.golden(
        model(nodes, feeds, ["z"]), feeds, tmp_path / "out", engine=engine, report=said.append
    )
    act = np.maximum(X, 0)
    found = files_of(tmp_path / "out")
    wanted = {("act", 0): act, ("not", 0): np.array(not flag)}
    if flag:  # the inner condition is false
        wanted |= {
            ("then_scaled", 0): act * 3,
            ("Exp_else", 0): np.exp(act),
            ("then_sum", 0): act * 3 + np.exp(act),
        }
        wanted["last", 0] = -wanted["then_sum", 0]
    else:
        wanted |= {("Exp_e", 0): np.exp(act), ("last", 0): -np.exp(act)}
    assert found.keys() == wanted.keys()
    for place, array in wanted.items():
        np.testing.assert_allclose(found[place], array, rtol=1e-6)
    taken = next(one for one in said if one.code == "golden/branches").values["branches"]
    assert {one.values["node"]: one.values["branch"] for one in taken} == (
        {"choice": "then_branch", "then_choice": "else_branch"}
        if flag
        else {"choice": "else_branch"}
    )


def inner(name, condition):
    """A branch with a weight, and a choice of its own between `branch` and another."""
    three = onnx.numpy_helper.from_array(np.array([3], np.float32), "three")
    nodes = [
        node("Mul", ["a", "three"], ["scaled"], f"{name}_scaled"),
        node("If", [condition], ["chosen"], f"{name}_choice",
             then_branch=branch("Neg", "then"), else_branch=branch("Exp", "else")),
        node("Add", ["scaled", "chosen"], [f"{name}_out"], f"{name}_sum"),
    ]  # fmt: skip
    ends = [helper.make_empty_tensor_value_info(f"{name}_out")]
    return helper.make_graph(nodes, name, [], ends, [three])


@pytest.mark.parametrize("engine", ENGINES)
def test_values_inside_a_loop_are_said_not_to_be_written(tmp_path, engine):
    ends = [helper.make_empty_tensor_value_info(name) for name in ("go_on", "next")]
    starts = [
        helper.make_tensor_value_info("turn", TensorProto.INT64, []),
        helper.make_tensor_value_info("go", TensorProto.BOOL, []),
        helper.make_tensor_value_info("now", TensorProto.FLOAT, None),
    ]
    body = [node("Identity", ["go"], ["go_on"]), node("Add", ["now", "now"], ["next"])]
    loop = helper.make_graph(body, "body", starts, ends)
    nodes = [node("Loop", ["n", "", "x"], ["y"], "loop", body=loop)]
    feeds = {"x": X, "n": np.array(3)}
    said = []
    made = model(nodes, feeds, ["y"])
    wb.golden(made, feeds, tmp_path / "out", engine=engine, report=said.append)
    np.testing.assert_array_equal(files_of(tmp_path / "out")["loop", 0], X * 8)
    assert ("golden/subgraphs", ["loop"]) in [(one.code, one.values.get("nodes")) for one in said]


@pytest.mark.parametrize("engine", ENGINES)
def test_functions_of_the_model_run_and_sequences_and_texts_are_said_not_to_be_written(
    tmp_path, engine
):
    double = helper.make_function(
        "my.ops", "Twice", ["p"], ["q"], [node("Add", ["p", "p"], ["q"])], [helper.make_opsetid("", 21)]
    )  # fmt: skip
    nodes = [
        node("Twice", ["x"], ["d"], "twice", domain="my.ops"),
        node("SequenceConstruct", ["x", "d"], ["s"], "list"),
        node("SequenceAt", ["s", "one"], ["y"], "item"),
        node("StringNormalizer", ["t"], ["u"], "text"),
    ]
    texts = helper.make_tensor_value_info("t", TensorProto.STRING, [2])
    own = {"imports": [MINE], "functions": [double]}
    made = model(nodes, {"x": X, "t": texts}, ["y", "u"], {"one": np.int64(1)}, **own)
    said = []
    feeds = {"x": X, "t": np.array(["a", "b"])}
    done = wb.golden(made, feeds, tmp_path / "out", engine=engine, report=said.append)
    assert done.missing == ()
    got = files_of(tmp_path / "out")
    assert got.keys() == {("twice", 0), ("item", 0)}
    np.testing.assert_array_equal(got["item", 0], 2 * X)
    told = {one.code: one.values for one in said}
    assert told["golden/functions"]["nodes"] == ["twice"]
    assert told["golden/no-array"]["names"] == ["s", "u"]


KINDS = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_formats_that_numpy_lacks_pass_through_and_are_written_wider(tmp_path, engine, kind):
    number = helper.np_dtype_to_tensor_dtype(np.dtype(KINDS[kind]))
    nodes = [
        node("Cast", ["x"], ["n"], "narrow", to=number),
        node("Cast", ["n"], ["y"], "back", to=FLOAT),
    ]
    said = []
    made = model(nodes, {"x": X}, ["y"])
    wb.golden(made, {"x": X}, tmp_path / "out", engine=engine, report=said.append)
    want = X.astype(KINDS[kind]).astype(np.float32)
    got = files_of(tmp_path / "out")
    for key in (("narrow", 0), ("back", 0)):
        assert got[key].dtype == np.float32
        np.testing.assert_array_equal(got[key], want)
    (widened,) = [one.values for one in said if one.code == "golden/widened"]
    assert (widened["own"], widened["held"], widened["tensors"]) == (kind, "float32", 1)


@pytest.mark.skipif(not HAS_RUNTIME, reason="not installed")
def test_what_onnxruntime_has_no_kernel_for_the_reference_computes(tmp_path):
    """Products of bfloat16: exact in float64, rounded once."""
    number = TensorProto.BFLOAT16
    nodes = [
        node("Cast", ["x"], ["a"], "a", to=number),
        node("Softplus", ["a"], ["y"], "y"),
        node("Cast", ["y"], ["z"], "z", to=FLOAT),
    ]
    said = []
    made = model(nodes, {"x": X}, ["z"])
    done = wb.golden(made, {"x": X}, tmp_path / "out", engine="onnxruntime", report=said.append)
    narrow = X.astype(ml_dtypes.bfloat16).astype(np.float64)
    want = np.log1p(np.exp(narrow)).astype(ml_dtypes.bfloat16).astype(np.float32)
    assert (done.missing, done.engine) == ((), "onnxruntime")
    np.testing.assert_array_equal(files_of(tmp_path / "out")["z", 0], want)
    assert {one.code: one.values for one in said}["golden/by-reference"]["types"] == ["Softplus"]


def test_what_is_no_model_is_refused(tmp_path):
    with refused("golden/no-model", GraphError, got="int"):
        wb.golden(3, None, tmp_path / "out")


def test_a_subgraph_that_reads_what_comes_later_is_not_computed(tmp_path):
    nodes = [
        node("If", ["c"], ["y"], "choice", then_branch=branch("Neg", "t"), else_branch=branch("Exp", "e")),
        node("Relu", ["x"], ["a"], "act"),
    ]  # fmt: skip
    feeds = {"x": X, "c": np.array(True)}
    done = wb.golden(model(nodes, feeds, ["y"]), feeds, tmp_path / "out", engine="reference")
    (missing,) = done.missing
    assert (missing.values["name"], missing.values["why"].code) == (
        "Neg_t",
        "graph/onnx-input-later",
    )
    assert files_of(tmp_path / "out").keys() == {("act", 0)}


def damaged(data, rng):
    """The bytes with some of them changed, gone or twice."""
    at, much = int(rng.integers(len(data))), int(rng.integers(1, 4))
    kind = rng.integers(3)
    if kind == 0:
        return data[:at] + rng.bytes(much) + data[at + much :]
    return data[:at] + data[at + much :] if kind == 1 else data[: at + much] + data[at:]


@pytest.mark.filterwarnings("ignore")  # NumPy's, of numbers that damage has made
@given(seed=st.integers(0, 1 << 20))
def test_a_damaged_model_gives_golden_data_or_an_error_of_ours(tmp_path_factory, seed):
    nodes = [
        node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"], "relu"),
        node("Transpose", ["r"], ["t"], "turn", perm=[0, 2, 3, 1]),
        node("If", ["flag"], ["y"], "choice", then_branch=branch("Neg", "n"), else_branch=branch("Exp", "e")),
    ]  # fmt: skip
    image = np.ones((1, 2, 4, 4), np.float32)
    feeds = {"x": image, "a": X, "flag": np.array(True)}
    made = model(nodes, feeds, ["t", "y"], {"w": np.ones((2, 2, 3, 3), np.float32)})
    rng = np.random.default_rng(seed)
    root = tmp_path_factory.mktemp("damaged")
    (root / "net.onnx").write_bytes(damaged(made.SerializeToString(), rng))
    refused_as, done = "", None
    try:
        done = wb.golden(root / "net.onnx", None, root / "out", engine="reference")
    except wb.WorkbenchError as error:
        refused_as = str(error)
    assert "\n" not in refused_as
    assert done is None or done.tensors == len(list((root / "out").glob("*.npy")))


def test_what_the_evaluator_computes_is_said(tmp_path):
    made = model([node("Det", ["x"], ["y"], "det")], {"x": np.eye(3, dtype=np.float32)}, ["y"])
    said = []
    wb.golden(made, None, tmp_path / "out", engine="reference", report=said.append)
    assert {one.code: one.values for one in said}["golden/evaluated"]["types"] == ["Det"]


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_in_other_files_and_large_ones_are_read(tmp_path, engine):
    weight = np.random.default_rng(0).standard_normal((1 << 10, 300), np.float32)
    nodes = [node("MatMul", ["x", "w"], ["y"], "product"), node("Add", ["y", "b"], ["z"], "sum")]
    feeds = {"x": np.ones((2, 1 << 10), np.float32)}
    made = model(nodes, feeds, ["z"], {"w": weight, "b": weight[0]})
    path = tmp_path / "net.onnx"
    onnx.save(made, path, save_as_external_data=True, location="net.data", size_threshold=0)
    wb.golden(path, feeds, tmp_path / "out", engine=engine)
    got = files_of(tmp_path / "out")
    exact = np.float64(feeds["x"]) @ np.float64(weight)
    np.testing.assert_allclose(got["product", 0], exact, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(got["sum", 0], exact + weight[0], rtol=1e-4, atol=1e-4)


def external(tmp_path, location, **entries):
    """A model whose weight lies in another file."""
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=text)
    made = model([node("Add", ["x", "w"], ["y"])], {"x": X}, ["y"])
    made.graph.initializer.append(tensor)
    path = tmp_path / "models" / "net.onnx"
    path.parent.mkdir()
    path.write_bytes(made.SerializeToString())
    return path


def a_circle(folder):
    (folder / "w.bin").symlink_to(folder / "v.bin")
    (folder / "v.bin").symlink_to(folder / "w.bin")


def a_way_out(folder):
    (folder.parent / "secret").write_bytes(bytes(64))
    (folder / "w.bin").symlink_to(folder.parent / "secret")


def too_short(folder):
    (folder / "w.bin").write_bytes(bytes(4))


def not_there(_folder):
    pass


EXTERNAL = {
    "a circle of links": ("w.bin", a_circle, "graph/onnx-external-circle"),
    "a link out of the folder": ("w.bin", a_way_out, "graph/onnx-external-outside"),
    "a path out of the folder": ("../secret", a_way_out, "graph/onnx-external-outside"),
    "an absolute path": ("/etc/passwd", not_there, "graph/onnx-external-outside"),
    "the folder itself": (".", not_there, "graph/onnx-external-outside"),
    "too few bytes": ("w.bin", too_short, "graph/onnx-external-short"),
    "no file": ("w.bin", not_there, "graph/onnx-external-missing"),
}


@pytest.mark.parametrize("case", EXTERNAL)
def test_external_data_that_are_not_there_are_refused_before_anything_is_written(tmp_path, case):
    location, prepare, code = EXTERNAL[case]
    path = external(tmp_path, location)
    prepare(path.parent)
    with refused(code, FormatError):
        wb.golden(path, {"x": X}, tmp_path / "out", engine="reference")
    assert not (tmp_path / "out").exists()


def test_a_model_of_two_gibibytes_is_refused_by_its_size(tmp_path):
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 31)
    with refused("graph/onnx-large", FormatError, got=1 << 31):
        wb.golden(path, None, tmp_path / "out")


def test_weights_of_a_model_stay_in_its_file(tmp_path):
    """Reading a model takes what its nodes take: a weight of 64 MiB is passed over."""
    from kit.memory import peak_below
    from workbench.golden_data.model import read_model

    weight = np.zeros((1 << 12, 1 << 12), np.float32)
    made = model([node("MatMul", ["x", "w"], ["y"])], {"x": weight[:1]}, ["y"], {"w": weight})
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    with peak_below(4 << 20):
        source = read_model(path)
    assert len(source.proto.SerializeToString()) < 1000
    assert (
        numpy_helper.to_array(made.graph.initializer[0]).nbytes == source.weights["w"].spec.size * 4
    )


def copying():
    """Nodes that hand on what they read, in one way or another, beside some that only seem to."""
    nodes = [
        node("Relu", ["x"], ["a"], "positive"),  # gives what it reads, and computes
        node("Dropout", ["a"], ["d", "mask"], "drop"),
        node("Unsqueeze", ["d", "zero"], ["u"], "wide"),
        node("Transpose", ["u"], ["t"], "turned", perm=[0, 2, 1]),  # elements in another order
        node("Identity", ["x"], ["same"], "same"),
        node("Gather", ["same", "zero"], ["row"], "row"),  # fewer elements
        node("Cast", ["t"], ["wider"], "wider", to=TensorProto.DOUBLE),
        node("Exp", ["a"], ["e"], "unread"),
        node("Neg", ["e"], ["n"], "behind"),
    ]
    weights = {"zero": np.array([0])}
    feeds = {"x": np.arange(1, 7, dtype=np.float32).reshape(2, 3)}
    return model(nodes, feeds, ["wider", "row"], weights), feeds


@pytest.mark.parametrize("engine", ENGINES)
def test_files_that_repeat_others_or_that_nothing_reads_are_listed(tmp_path, engine):
    made, feeds = copying()
    wb.golden(made, feeds, tmp_path / "out", engine=engine)
    first, *lines = (tmp_path / "out/roles.csv").read_text().splitlines()
    assert first == "file,role,of"
    rows = [[word.partition(".0.")[0] for word in line.split(",")] for line in lines]
    assert {row[0].partition(".1.")[0] for row in rows if row[1] == "unread"} == {
        "unread", "behind", "drop",
    }  # fmt: skip
    assert {(row[0], row[2]) for row in rows if row[1] == "copy"} == {
        ("drop", "positive"), ("wide", "drop"), ("same", "inputs/x.npy"),
    }  # fmt: skip
    roles = wb.load(tmp_path / "out").roles
    paths = {one.path for one in wb.load(tmp_path / "out").records}
    assert (len(roles), roles.keys() <= paths) == (len(lines), True)


def test_a_model_of_which_nothing_repeats_has_no_table_of_roles(tmp_path):
    made = model([node("Exp", ["x"], ["y"], "e")], {"x": X}, ["y"], {})
    wb.golden(made, {"x": X}, tmp_path / "out", engine="reference")
    assert not (tmp_path / "out/roles.csv").exists()
