"""Quantized networks: what is inserted, that sums are exact, and that errors are those of rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.build.programs import program_for
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.plan import DumpPlan
from workbench.dump.reader import load
from workbench.graph.graph import Const, Param, Value
from workbench.graph_files.formats import read_graph
from workbench.network import nn
from workbench.network.models import load_graph
from workbench.network.nn import functional as F
from workbench.network.symbolic import record
from workbench.network.tracer import trace
from workbench.npu.compile.quantize import MODES, Quantization, quantize
from workbench.npu.runner import run_program
from workbench.simulation.simulate import simulate

RNG = np.random.default_rng(3)
IMAGE = RNG.standard_normal((2, 4, 9, 9)).astype(np.float32)
ROWS = RNG.standard_normal((3, 20)).astype(np.float32)


class Net(nn.Cell):
    """A convolution in groups, a pooling, a dense layer and a product of two results."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 6, 3, pad_mode="same", group=2, has_bias=True)
        self.fc = nn.Dense(6, 5)

    def construct(self, x):
        y = F.mean(F.relu(self.conv(x)), (2, 3))
        z = self.fc(y)
        return F.matmul(z, F.transpose(z, (1, 0)))


def quantised(graph, mode="w8a8", **feeds):
    made, folded = quantize(graph, Quantization(mode, feeds or None))
    return replace(program_for(made), network=graph, constants=folded)


def tensors(program, feeds=None):
    return {
        (r.key.op_name, r.key.io, r.key.slot): r.source.array() for r in run_program(program, feeds)
    }


def words(op):
    (factor,) = (one for one in op.inputs if isinstance(one, Const))
    return np.array(factor.value, np.uint64)


def test_layers_have_the_operators_and_names_that_amct_gives():
    graph = quantised(trace(Net(), IMAGE)).graph
    assert [op.name for op in graph.ops] == [
        "Default/conv-Conv2d/act_quant/AscendQuant",
        "Default/conv-Conv2d/Conv2D-op0",
        "Default/conv-Conv2d/BiasAdd-op0",
        "Default/conv-Conv2d/dequant/AscendDequant",
        "Default/ReLU-op0",
        "Default/ReduceMean-op0",
        "Default/fc-Dense/act_quant/AscendQuant",
        "Default/fc-Dense/MatMul-op0",
        "Default/fc-Dense/BiasAdd-op0",
        "Default/fc-Dense/dequant/AscendDequant",
        "Default/Transpose-op0",
        "Default/MatMul-op0",
    ]
    kinds = {op.op_type: [spec.dtype for spec in op.outputs] for op in graph.ops[:5]}
    assert kinds == {
        "AscendQuant": ["int8"],
        "Conv2D": ["int32"],
        "BiasAdd": ["int32"],
        "AscendDequant": ["float32"],
        "ReLU": ["float32"],
    }
    assert graph.ops[-1].outputs[0].dtype == "float32"  # no weight, so no layer
    assert [(p.name, p.spec.dtype) for p in graph.parameters if p.is_weight] == [
        ("conv.weight.weight_quant", "int8"),
        ("conv.bias.quant", "int32"),
        ("fc.weight.weight_quant", "int8"),
        ("fc.bias.quant", "int32"),
    ]


def test_a_graph_says_what_its_kernels_stand_for():
    ops = {op.name.rpartition("/")[2]: op for op in quantised(trace(Net(), IMAGE)).graph.ops[:4]}
    names = {key: op.attrs["_datadump_original_op_names"] for key, op in ops.items()}
    scope = "Default/conv-Conv2d"
    assert names == {
        "AscendQuant": (),
        "Conv2D-op0": (f"{scope}/Conv2D-op0",),
        "BiasAdd-op0": (f"{scope}/BiasAdd-op0",),
        "AscendDequant": (f"{scope}/Conv2D-op0", f"{scope}/BiasAdd-op0"),
    }
    assert ops["Conv2D-op0"].provenance == ops["BiasAdd-op0"].provenance == (None,)
    (origin,) = ops["AscendDequant"].provenance
    assert (origin.op_name, origin.slot, origin.spec.dtype) == (
        f"{scope}/BiasAdd-op0",
        0,
        "float32",
    )


@pytest.mark.parametrize("model", ["lenet", "mlp", "transformer"])
def test_sums_of_int8_are_exact_and_scaled_once(model):
    program = quantised(load_graph(model))
    found = tensors(program)
    checked = 0
    for op in program.graph.ops:
        if op.op_type != "MatMul" or op.outputs[0].dtype != "int32":
            continue
        x, w = (found[op.name, "input", slot].astype(object) for slot in (0, 1))
        assert {found[op.name, "input", slot].dtype.name for slot in (0, 1)} == {"int8"}
        sums = x @ w.T
        assert (found[op.name, "output", 0] == sums).all()
        checked += 1
        scope = op.name.rpartition("/")[0]
        last = next(o for o in program.graph.ops if o.name == f"{scope}/dequant/AscendDequant")
        low = [int(word) & 0xFFFFFFFF for word in words(last)]
        scales = np.array(low, np.uint32).view(np.float32)
        assert all(bits % 8192 == 0 for bits in low)
        total = found[last.name, "input", 0].astype(np.float32)
        np.testing.assert_array_equal(found[last.name, "output", 0], total * scales)
    assert checked >= 3


def bound(x, w, bias):
    """Most that a layer's result can be off: half a step of all that was rounded, and the word's bits."""
    step = np.abs(x).max() / 127
    steps = np.abs(w).max(axis=1) / 127
    near = np.abs(x).sum(1)[:, None] * steps / 2 + np.abs(w).sum(1) * step / 2
    near += x.shape[1] * step * steps / 4
    size = np.abs(x) @ np.abs(w).T + np.abs(bias) + near
    return near + step * steps / 2 + size * 2.0**-10 + size * 2.0**-20


@given(st.integers(0, 2**32 - 1), st.floats(-3, 3), st.booleans())
def test_the_error_of_a_layer_is_that_of_rounding_to_its_steps(seed, spread, add):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((4, 24)) * 10**spread).astype(np.float32)
    w = rng.uniform(-1, 1, (5, 24)).astype(np.float32) * rng.uniform(0.01, 3, (5, 1)).astype(
        np.float32
    )
    b = rng.uniform(-1, 1, 5).astype(np.float32)
    layer = nn.Dense(24, 5)
    layer.weight.default_input = w
    graph = trace(layer, x)
    feeds = {"weight": w, "bias": b}
    made, folded = quantize(graph, Quantization("w8a8", feeds))
    program = replace(program_for(made), network=graph, constants=folded)
    found = tensors(program, feeds)
    got = found[made.ops[-1].name, "output", 0].astype(float)
    want = x.astype(float) @ w.T.astype(float) + b
    assert (np.abs(got - want) <= bound(x.astype(float), w.astype(float), b.astype(float))).all()


@pytest.mark.parametrize("mode", MODES)
def test_calibration_decides_the_scale_and_weights_may_still_change(mode):
    graph = trace(nn.Dense(20, 5), ROWS)
    program = quantised(graph, mode, x=ROWS * 4)
    wide = {op.op_type: op.attrs["scale"] for op in program.graph.ops if "scale" in op.attrs}
    own = quantised(graph, mode)
    narrow = {op.op_type: op.attrs["scale"] for op in own.graph.ops if "scale" in op.attrs}
    if mode == "w8a8":
        assert narrow["AscendQuant"] == pytest.approx(127 / np.abs(ROWS).max(), rel=1e-6)
        assert wide["AscendQuant"] == pytest.approx(narrow["AscendQuant"] / 4, rel=1e-6)
    else:
        assert wide == narrow
    (weight,) = (p for p in graph.parameters if p.name == "weight")
    halves = tensors(own, {"weight": np.asarray(weight.default) / 2})
    whole = tensors(own)
    key = ("weight.weight_quant", "output", 0)
    np.testing.assert_allclose(halves[key], whole[key] / 2, atol=0.5)


def test_weights_alone_become_floats_again_with_one_scale():
    program = quantised(trace(nn.Dense(20, 5), ROWS), "w8a16")
    quant, product = program.graph.ops[0], program.graph.ops[1]
    assert (quant.name, quant.op_type) == ("Default/anti_quant/AscendAntiQuant", "AscendAntiQuant")
    assert product.inputs[1] == Value(0)
    found = tensors(program)
    w = np.asarray(next(p.default for p in program.network.parameters if p.name == "weight"))
    assert np.abs(found[quant.name, "input", 0]).max() == 127
    near = found[quant.name, "output", 0]
    assert np.abs(near - w).max() <= np.abs(w).max() / 254 * (1 + 1e-5)


def test_one_operator_serves_all_that_read_a_value():
    class Two(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a = nn.Dense(20, 5)
            self.b = nn.Dense(20, 7)

        def construct(self, x):
            return self.a(x), self.b(x)

    graph = quantised(trace(Two(), ROWS)).graph
    kinds = [op.op_type for op in graph.ops]
    assert (kinds.count("AscendQuant"), kinds.count("AscendDequant")) == (1, 2)
    assert {op.inputs[0] for op in graph.ops if op.op_type == "MatMul"} == {Value(0)}


@pytest.mark.parametrize(
    ("shape", "folded"), [((5,), True), ((1,), False), ((3, 5), False)], ids=str
)
def test_only_one_number_a_channel_is_added_before_the_sums_become_floats(shape, folded):
    class Shifted(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(nn.Initial((20, 5), "uniform", 0.3))
            self.shift = nn.Parameter(nn.Initial(shape, "uniform", 0.3))

        def construct(self, x):
            return F.add(F.matmul(x, self.w), self.shift)

    kinds = [op.op_type for op in quantised(trace(Shifted(), ROWS)).graph.ops]
    assert (kinds.index("Add") < kinds.index("AscendDequant")) == folded


def test_zeros_and_what_is_not_finite_have_a_scale_of_one():
    graph = trace(nn.Dense(20, 5), ROWS)
    program = quantised(graph, x=np.zeros_like(ROWS))
    assert program.graph.ops[0].attrs["scale"] == 1.0
    found = tensors(quantised(graph, weight=np.full((5, 20), np.inf, np.float32)))
    assert np.isfinite(found[program.graph.ops[-1].name, "output", 0]).all()


def test_what_cannot_be_quantized_is_refused():
    with refused("core/choice", GraphError, subject="quantization"):
        Quantization("int8")
    graph = trace(lambda x: F.relu(x), ROWS)
    with refused("run/nothing-to-quantize", GraphError):
        quantize(graph, Quantization("w8a8"))
    graph = trace(nn.Dense(20, 5), ROWS)
    bare = replace(graph, parameters=tuple(replace(p, default=None) for p in graph.parameters))
    with refused("run/no-value", GraphError):
        quantize(bare, Quantization("w8a8"))


def test_a_weight_that_two_layers_share_stays_one():
    class Tied(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(nn.Initial((20, 20), "uniform", 0.3))

        def construct(self, x):
            return F.matmul(F.relu(F.matmul(x, self.w)), self.w, False, True)

    graph = quantised(trace(Tied(), ROWS)).graph
    names = [p.name for p in graph.parameters if p.is_weight]
    assert names == [
        "w.weight_quant",
        "w.weight_quant_1",
    ]  # scaled along its rows, and along its columns
    assert Param(0) not in {one for op in graph.ops[1:] for one in op.inputs}


def test_a_weight_that_the_network_updates_has_no_scale():
    class Step(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(nn.Initial((20, 5), "uniform", 0.3))
            self.v = nn.Parameter(nn.Initial((5, 5), "uniform", 0.3))

        def construct(self, x):
            y = F.matmul(F.matmul(x, self.w), self.v)
            return y, record("AssignSub", self.v, F.matmul(y, y, True))

    graph = quantised(trace(Step(), ROWS)).graph
    assert [p.name for p in graph.parameters if p.is_weight] == ["v", "w.weight_quant"]


def test_a_run_that_is_fed_anew_is_calibrated_with_its_first_iteration(tmp_path):
    graph = trace(nn.Dense(20, 5), ROWS)
    tree = simulate(
        graph, lambda number: {"x": ROWS * (number + 1)}, DumpPlan("/d", initial_iteration=3), tmp_path / "t",
        surface="acl", device="a2", quantization="w8a8",
    )  # fmt: skip
    (record,) = (
        r for r in load(tree).records if r.key.op_type == "AscendQuant" and r.key.io == "output"
    )
    assert np.abs(record.source.array()).max() == 127
    build = read_graph(next(tmp_path.rglob("*_Build.txt")))
    (scale,) = (op.attrs["scale"] for op in build.ops if op.op_type == "AscendQuant")
    assert scale == pytest.approx(127 / (4 * np.abs(ROWS).max()), rel=1e-6)
