"""Quantized and precision-mixed models against the golden of the float network, with and without graphs."""

from __future__ import annotations

import shutil
from itertools import product

import numpy as np
import pytest

import workbench as wb
from kit.build.onnx_models import model, node
from kit.cases import nightly, pairwise
from kit.evidence import the
from workbench.core.plan import DumpPlan
from workbench.network.models import load_graph
from workbench.npu.precision import Precision
from workbench.npu.precision.lists import MixList
from workbench.simulation.simulate import simulate

PLAN = DumpPlan("/d")


def drawn(seed, **shapes):
    """Weights by name, of such a size that values neither grow nor vanish."""
    draw = np.random.default_rng(seed)
    return {
        name: (draw.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32)
        for name, shape in shapes.items()
    }


def residual():
    """Convolutions with biases, one of them beside a residual, pooling and a product with a bias."""
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "/stem/Conv", pads=[1] * 4),
        node("Relu", ["c1"], ["r1"], "/stem/Relu"),
        node("MaxPool", ["r1"], ["p1"], "/stem/MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "w2", "b2"], ["c2"], "/block/conv1/Conv", pads=[1] * 4),
        node("Relu", ["c2"], ["r2"], "/block/relu1/Relu"),
        node("Conv", ["r2", "w3", "b3"], ["c3"], "/block/conv2/Conv", pads=[1] * 4),
        node("Add", ["c3", "r2"], ["s"], "/block/Add"),
        node("Relu", ["s"], ["r3"], "/block/relu2/Relu"),
        node("GlobalAveragePool", ["r3"], ["g"], "/gap/GlobalAveragePool"),
        node("Flatten", ["g"], ["f"], "/Flatten"),
        node("Gemm", ["f", "fw", "fb"], ["y"], "/fc/Gemm", transB=1),
        node("Softmax", ["y"], ["out"], "/Softmax", axis=1),
    ]
    weights = drawn(
        5, w1=(16, 3, 3, 3), w2=(32, 16, 3, 3), w3=(32, 32, 3, 3), fw=(10, 32),
        b1=(16,), b2=(32,), b3=(32,), fb=(10,),
    )  # fmt: skip
    return model(nodes, {"x": np.zeros((1, 3, 32, 32), np.float32)}, ["out"], weights)


def attention():
    """Attention with a residual and a normalization, and two products behind it."""
    nodes = [
        node("MatMul", ["x", "wq"], ["q"], "/attn/q/MatMul"),
        node("MatMul", ["x", "wk"], ["k"], "/attn/k/MatMul"),
        node("MatMul", ["x", "wv"], ["v"], "/attn/v/MatMul"),
        node("Transpose", ["k"], ["kt"], "/attn/Transpose", perm=[0, 2, 1]),
        node("MatMul", ["q", "kt"], ["qk"], "/attn/qk/MatMul"),
        node("Softmax", ["qk"], ["p"], "/attn/Softmax", axis=-1),
        node("MatMul", ["p", "v"], ["a"], "/attn/pv/MatMul"),
        node("MatMul", ["a", "wo"], ["o"], "/attn/o/MatMul"),
        node("Add", ["o", "bo"], ["ob"], "/attn/o/Add"),
        node("Add", ["ob", "x"], ["res"], "/attn/residual/Add"),
        node("LayerNormalization", ["res", "g", "be"], ["ln"], "/ln/LayerNormalization"),
        node("MatMul", ["ln", "w1"], ["h"], "/ffn/fc1/MatMul"),
        node("Relu", ["h"], ["r"], "/ffn/Relu"),
        node("MatMul", ["r", "w2"], ["out"], "/ffn/fc2/MatMul"),
    ]
    square = dict.fromkeys(("wq", "wk", "wv", "wo"), (64, 64))
    weights = drawn(6, **square, bo=(64,), be=(64,), w1=(64, 128), w2=(128, 64))
    weights["g"] = np.ones(64, np.float32)
    return model(nodes, {"x": np.zeros((1, 16, 64), np.float32)}, ["out"], weights, opset=17)


NETWORKS = {"residual": residual, "attention": attention}
BLACK = MixList(added={"MatMul": "black", "BatchMatMul": "black", "Softmax": "black"})
MODES = {
    "w8a8": {"quantization": "w8a8"},
    "w8a16": {"quantization": "w8a16"},
    "w8a8 origin": {"quantization": "w8a8", "precision_mode": "must_keep_origin_dtype"},
    "fp16": {"precision_mode": "force_fp16"},
    "origin": {"precision_mode": "must_keep_origin_dtype"},
    "fp32 to fp16": {"precision_mode": "allow_fp32_to_fp16"},
    "mixed": {"precision_mode": "allow_mix_precision_fp16"},
    "mixlist": {
        "precision_mode": Precision("allow_mix_precision_fp16", training=False, mixlist=BLACK)
    },
}
"""How a model is compiled, by name."""

GRAPHS = ("both", "model", "target", "none")
"""Graphs that a comparison is given: the golden's model, the target's own graph."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Folder with each network's model and golden data."""
    root = tmp_path_factory.mktemp("quantized")
    for name, make in NETWORKS.items():
        (root / name).mkdir()
        (root / name / "net.onnx").write_bytes(make().SerializeToString())
        wb.golden(root / name / "net.onnx", out=root / name / "golden", engine="reference")
    return root


def compared(place, network, tree, graphs, **settings):
    """Simulate a network and compare with its golden."""
    net, golden = place / network / "net.onnx", place / network / "golden"
    fed = {"x": np.load(golden / "inputs" / "x.npy")}
    simulate(load_graph(str(net)), fed, PLAN, tree, surface="acl", **settings)
    if graphs in ("model", "none"):
        shutil.rmtree(tree / "graphs")
    return wb.compare(tree, golden, golden_graph=net if graphs in ("both", "model") else None)


ACCUSING = frozenset(("own-error", "attribute", "parameter", "non-finite", "wrong-input"))
CLEAN = [*product(NETWORKS, ("310p", "a2"), MODES, GRAPHS)]


@pytest.mark.parametrize(("network", "device", "mode", "graphs"), nightly(CLEAN, pairwise(CLEAN)))
def test_a_clean_run_accuses_nobody(tmp_path, place, network, device, mode, graphs):
    found = compared(place, network, tmp_path / "t", graphs, device=device, **MODES[mode])
    assert {one.kind for one in found.findings} & ACCUSING == set()
    assert found.verdict != "fail"
    if graphs == "both":
        assert found.coverage.unmatched_golden == 0


@pytest.mark.parametrize("graphs", GRAPHS)
@pytest.mark.parametrize("network", NETWORKS)
def test_integers_are_compared_with_no_float(tmp_path, place, network, graphs):
    found = compared(place, network, tmp_path / "t", graphs, device="a2", quantization="w8a8")
    assert found.coverage.skipped["target:quantised"] > 0
    compared_rows = [row for row in found.rows if row.error is not None]
    assert {row.target_spec.dtype for row in compared_rows} <= {"float16", "float32"}


FAULTY = {
    "a kernel of floats": ("residual", "scaled-output:/block/Add:1.3", "both", "/block/Add"),
    "a product of floats": ("attention", "wrong-sign:/attn/pv/MatMul", "both", "/attn/pv/MatMul"),
    "a layer of int8": ("residual", "wrong-sign:/stem/Conv/stem/dequant*", "both", "/stem/Conv"),
    "its end": ("residual", "scaled-output:*fc/dequant*:1.3", "both", "/fc/dequant/AscendDequant"),
    "its end, by names": ("residual", "wrong-sign:*fc/dequant*", "model", "_fc_dequant_AscendDequant"),
    "a layer, by names": ("residual", "wrong-sign:/stem/Conv/stem/dequant*", "model", "_stem_Conv"),
    "a product, by names": ("attention", "stale-output:*attn/q/dequant*", "model", "_attn_q_dequant"),
    "a layer with a bias, by names": ("attention", "wrong-sign:*ffn/fc1/MatMul*", "model", "_ffn_fc1_MatMul"),
}  # fmt: skip
"""Network, fault in its w8a8 form, graphs, and what the name of the kernel to blame begins with."""


@pytest.mark.parametrize(("network", "fault", "graphs", "kernel"), FAULTY.values(), ids=FAULTY)
def test_a_faulty_kernel_of_a_quantized_model_is_named(
    tmp_path, place, network, fault, graphs, kernel
):
    found = compared(
        place, network, tmp_path / "t", graphs, device="a2", quantization="w8a8", faults=[fault]
    )
    assert (found.verdict, found.findings[0].kind) == ("fail", "own-error")
    assert found.findings[0].op_name.startswith(kernel)


@pytest.mark.parametrize("fault", ["wrong-sign:*fc/dequant*", "stale-output:*fc/dequant*"])
def test_without_graphs_the_reader_of_a_wrong_layer_is_not_accused(tmp_path, place, fault):
    found = compared(
        place, "residual", tmp_path / "t", "none", device="a2", quantization="w8a8", faults=[fault]
    )
    accused = [one.op_name for one in found.findings if one.kind in ACCUSING]
    assert accused[:1] in ([], ["_fc_dequant_AscendDequant"])


def test_a_kernel_that_quantizes_what_it_computes_is_named_where_its_integers_are_read(
    tmp_path, place
):
    fault = "scaled-output:*stem/MaxPool*:1.3"
    found = compared(
        place, "residual", tmp_path / "t", "both", device="a2", quantization="w8a8", faults=[fault]
    )
    told = the(found.findings[0].evidence, "integers-from")
    assert told.values["names"] == ("/stem/MaxPool/block/conv1/act_quant/AscendQuant",)
