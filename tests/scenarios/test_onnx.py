"""An ONNX model from the command line: simulated, dumped, compared, and found by its source line."""

import json
import re

import numpy as np
import pytest
from onnx import helper

from kit.build.onnx_models import FLOAT, model, node, offline_model
from kit.commands import run

LINES = {
    "conv": "x = self.conv(x)",
    "norm": "x = self.norm(x)",
    "act": "x = torch.relu(x)",
    "pool": "x = x.mean((2, 3))",
    "fc": "return self.fc(x)",
}


def stack(line, code):
    text = f'File "train.py", line 3, in main\n    net(x)\nFile "net.py", line {line}, in forward\n    {code}'
    return {"pkg.torch.onnx.stack_trace": text}


@pytest.fixture
def network(tmp_path):
    rng = np.random.default_rng(0)
    notes = {name: stack(10 + k, code) for k, (name, code) in enumerate(LINES.items())}
    nodes = [
        node("Conv", ["x", "w"], ["c"], "conv", notes["conv"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "norm", notes["norm"]),
        node("Relu", ["n"], ["r"], "act", notes["act"]),
        node("GlobalAveragePool", ["r"], ["p"], "pool", notes["pool"]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "fw", "fb"], ["y"], "fc", notes["fc"], transB=1),
    ]
    weights = {
        "w": rng.standard_normal((8, 3, 3, 3)) / 5,
        "s": rng.uniform(0.5, 2, 8),
        "b": rng.standard_normal(8),
        "m": rng.standard_normal(8) / 4,
        "v": rng.uniform(0.5, 2, 8),
        "fw": rng.standard_normal((10, 8)),
        "fb": rng.standard_normal(10),
    }
    info = helper.make_tensor_value_info("x", FLOAT, ["batch", 3, 16, 16])
    made = model(nodes, {"x": info}, ["y"], {k: v.astype(np.float32) for k, v in weights.items()})
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return f"{path}:batch=2"


def test_a_fault_is_found_at_the_line_that_the_exporter_kept(tmp_path, capsys, network):
    config = tmp_path / "dump.json"
    status, text, _ = run(capsys, "config", "new", "mindspore-o0o1")
    assert status == 0
    config.write_text(text, encoding="utf-8")
    shared = ("simulate", "--graph", network, "--config", config, "--out")
    fault = "scaled-output:norm:1.01"
    assert run(capsys, *shared, tmp_path / "golden", "--device", "reference")[0] == 0
    assert run(capsys, *shared, tmp_path / "target", "--device", "a2", "--fault", fault)[0] == 0
    status, text, _ = run(
        capsys, "compare", tmp_path / "target", tmp_path / "golden", "--json", "-"
    )
    assert status == 1
    first = json.loads(text)["findings"][0]
    assert first["op_name"] == "norm"
    assert first["source"]["file"] == "net.py"
    assert (first["source"]["line"], first["source"]["code"].strip()) == (11, LINES["norm"])
    status, text, _ = run(capsys, "inspect", tmp_path / "target", "--at", "net.py:14")
    assert status == 0
    assert "fc" in text
    assert "fc/BiasAdd" in text


def test_a_preview_says_what_a_dump_of_the_model_will_hold(tmp_path, capsys, network):
    config = tmp_path / "dump.json"
    config.write_text(run(capsys, "config", "new", "acl")[1], encoding="utf-8")
    status, text, _ = run(capsys, "config", "preview", config, "--graph", network, "--json")
    assert status == 0
    assert json.loads(text)


def test_operators_that_are_lacking_end_the_command_with_their_names(tmp_path, capsys):
    path = tmp_path / "net.onnx"
    made = model([node("NonZero", ["x"], ["y"], "nz")], {"x": np.ones(3, np.float32)}, ["y"])
    path.write_bytes(made.SerializeToString())
    config = tmp_path / "dump.json"
    config.write_text(run(capsys, "config", "new", "mindspore-o0o1")[1], encoding="utf-8")
    status, _, err = run(
        capsys, "simulate", "--graph", path, "--config", config, "--out", tmp_path / "o"
    )
    assert status == 2
    assert "NonZero (node 'nz')" in err


def test_a_model_of_unknown_operators_is_the_graph_of_a_golden(tmp_path, capsys):
    """Files of both sides are called by the model's nodes; only the model says which of them comes first."""
    info = helper.make_tensor_value_info("x", FLOAT, ["batch", 4])
    nodes = [
        node("MatMul", ["x", "w"], ["a"], "/fc/MatMul"),
        node("Relu", ["a"], ["b"], "relu"),
        node("Strange", ["b"], ["s"], domain="my"),
        node("Softmax", ["s"], ["y"], "aaa"),
    ]
    weight = np.linspace(0.5, 1.5, 12, dtype=np.float32).reshape(4, 3)
    path = tmp_path / "net.onnx"
    path.write_bytes(model(nodes, {"x": info}, ["y"], {"w": weight}).SerializeToString())
    for side, fault in (("target", 1.5), ("golden", 1)):
        (tmp_path / side).mkdir()
        product = np.float32([[1, 2, 3, 4], [0.5, 0, 1, 2]]) @ weight
        relu = np.maximum(product, 0) * np.float32(fault)
        soft = np.exp(relu - 40) / np.exp(relu - 40).sum(-1, keepdims=True)
        outputs = {"_fc_MatMul": product, "relu": relu, "Strange_0": relu * 2, "aaa": soft}
        for name, array in outputs.items():
            np.save(tmp_path / side / f"{name}.0.1234567.npy", array)
    asked = ("compare", tmp_path / "target", tmp_path / "golden", "--json", "-")
    alone = json.loads(run(capsys, *asked)[1])["findings"][0]
    assert alone["kind"] == "undecided"
    status, text, _ = run(capsys, *asked, "--golden-graph", path)
    found = json.loads(text)
    assert status == 1
    assert (found["findings"][0]["kind"], found["findings"][0]["op_name"]) == ("own-error", "relu")
    assert (found["coverage"]["matched"], found["coverage"]["skipped"]) == (4, {})


KERNELS = {
    "Conv2D.conv1_Convrelu_Relu": (["conv1_Conv", "relu_Relu"], "relu_Relu"),
    "MaxPool._pool_MaxPool": ([], ""),
    "Conv2D._features_2_ConvRelu_0": (["/features/2/Conv", "bn.2", "Relu_0"], "Relu_0"),
    "ReduceMean.gap": ([], ""),
    "MatMul.fc": (["fc"], ""),
    "Softmax.soft_0": ([], ""),
}
"""Kernel, as its file begins → names of the nodes that it stands for and the one whose output it gives, where it has
none of its own. Fused kernels have the names of their parts in a row; the first unnamed node is ``Relu_0``."""


def test_kernels_of_an_offline_model_are_called_as_atc_calls_them(tmp_path, capsys):
    path, config, tree = tmp_path / "net.onnx", tmp_path / "acl.json", tmp_path / "tree"
    path.write_bytes(offline_model().SerializeToString())
    config.write_text(run(capsys, "config", "new", "acl")[1], encoding="utf-8")
    asked = ("simulate", "--graph", path, "--config", config, "--device", "a2", "--out", tree)
    assert run(capsys, *asked)[0] == 0
    kernels = {one.name.rsplit(".", 3)[0] for one in tree.rglob("*.*.*.*.*") if one.is_file()}
    assert {one for one in kernels if ".trans_" not in one} == KERNELS.keys()
    assert {one.rstrip("0123456789") for one in kernels - KERNELS.keys()} == {
        "Cast.trans_Cast_",
        "TransData.trans_TransData_",
    }
    text = next(tree.rglob("ge_proto_*_Build.txt")).read_text(encoding="utf-8")
    told = {}
    for block in text.split("\n  op {")[1:]:
        name, kind = (re.search(rf'^    {key}: "(.*)"', block, re.M)[1] for key in ("name", "type"))
        names = re.search(r'"_datadump_original_op_names"(.*?)\n    }', block, re.S)
        origin = re.search(r'"_datadump_origin_name"\s+value {\s+s: "(.*)"', block)
        found = re.findall(r's: "(.*)"', names[1]) if names else []
        told[f"{kind}.{re.sub('[/.]', '_', name)}"] = (found, origin[1] if origin else "")
    assert {kernel: told[kernel] for kernel in KERNELS} == KERNELS
