"""Compiled graphs: dtypes by precision mode, device formats, constants that the compiler computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.arrays import outputs
from kit.build.programs import program_for
from kit.words import refused
from workbench.core.dtypes import dtype
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.core.transdata import to_device, to_host
from workbench.core.writers import COMPILED_SURFACES
from workbench.graph.graph import Const, Graph, Op, Param, Parameter, Value
from workbench.graph_files.ge.stages import STAGES
from workbench.network import nn
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import functional as F
from workbench.network.symbolic import record as call
from workbench.network.tracer import trace
from workbench.npu.compile.pipeline import FIRST, PASSES
from workbench.npu.layout import device_layout
from workbench.npu.precision import modes_of, read_precision
from workbench.npu.profiles import PROFILES
from workbench.npu.runner import run_npu, run_program
from workbench.run.outline import outline

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 8)).astype(np.float32)
CONVERTERS = ("Cast", "TransData")
HOSTS = {"ND", "NCHW"}  # which 4 axes are is no matter of how they lie


class Net(nn.Cell):
    """A convolution with bias and normalization, a dense layer and a softmax."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 6, 3, has_bias=True)
        self.norm = nn.BatchNorm2d(6)
        self.dense = nn.Dense(6, 5)

    def construct(self, x):
        y = F.relu(self.norm(self.conv(x)))
        return F.softmax(self.dense(F.mean(y, (2, 3))))


IMAGE = RNG.standard_normal((2, 4, 7, 7)).astype(np.float32)
NET = trace(Net(), IMAGE)
MOMENTS = {
    name: RNG.uniform(0.5, 1.5, 6).astype(np.float32)
    for name in ("norm.gamma", "norm.beta", "norm.moving_mean", "norm.moving_variance")
}


def program(graph, surface="mindspore-ge", device="a2", precision=None, off=()):
    return program_for(graph, surface, device, precision, off)


def dtypes(program, kind):
    return [
        ([spec.dtype for spec in op.input_specs], [spec.dtype for spec in op.outputs])
        for op in program.graph.ops
        if op.op_type == kind
    ]


HALF, FULL = "float16", "float32"


@pytest.mark.parametrize(
    ("mode", "product", "soft"),
    [
        ("must_keep_origin_dtype", ([FULL] * 3, [FULL]), ([FULL], [FULL])),
        ("cube_fp16in_fp32out", ([HALF, HALF, FULL], [FULL]), ([FULL], [FULL])),
        ("allow_fp32_to_fp16", ([HALF] * 3, [HALF]), ([FULL], [FULL])),
        ("allow_mix_precision", ([HALF] * 3, [HALF]), ([FULL], [FULL])),
        ("force_fp16", ([HALF] * 3, [HALF]), ([HALF], [HALF])),
        ("allow_fp32_to_bf16", (["bfloat16"] * 3, ["bfloat16"]), ([FULL], [FULL])),
    ],
)
def test_tensors_have_the_dtypes_of_the_precision_mode(mode, product, soft):
    found = program(NET, precision=mode)
    assert dtypes(found, "MatMul") == [product]
    assert dtypes(found, "Softmax") == [soft]
    for op in found.graph.ops:  # every operand really has the dtype that its reader says
        for operand, spec in zip(op.flat_inputs(), op.input_specs, strict=False):
            if isinstance(operand, Value):
                given = found.graph.ops[operand.op].outputs[operand.slot]
                assert given.dtype == spec.dtype
    (result,) = found.graph.outputs
    assert found.graph.ops[result.op].outputs[result.slot].dtype == FULL


@pytest.mark.parametrize("mode", modes_of(PROFILES["950"]))
def test_what_runs_has_the_dtypes_that_were_compiled(mode):
    found = program(load_graph("lenet"), device="950", precision=mode)
    seen = {}
    for one in run_program(found):
        if one.key.op_type != "Parameter":
            spec, array = one.source.spec(), one.source.array()
            seen[one.key.op_name, one.key.io, one.key.slot] = spec.dtype, array.shape
            assert array.dtype == dtype(spec.dtype).storage
    told = {
        (r.key.op_name, r.key.io, r.key.slot): (r.label.dtype, r.label.shape)
        for r in outline(found.graph)
        if r.key.op_type != "Parameter"
    }
    assert seen == told


def test_casts_are_numbered_shared_and_of_no_operator():
    found = program(trace(lambda x: (F.tanh(x), F.relu(x)), X), precision="force_fp16")
    casts = [op for op in found.graph.ops if op.op_type == "Cast"]
    assert [op.name for op in casts] == ["trans_Cast_0", "trans_Cast_1", "trans_Cast_2"]
    assert casts[0].inputs == (Param(0),)
    readers = [op.inputs for op in found.graph.ops if op.op_type in ("Tanh", "ReLU")]
    assert readers == [(Value(0),), (Value(0),)]
    assert all(op.attrs["_datadump_original_op_names"] == () for op in casts)
    assert [op.attrs["dst_type"] for op in casts] == [
        1,
        0,
        0,
    ]  # as ge::DataType numbers them, not ge.proto


def test_a_cast_of_the_network_and_what_is_no_float_stay_as_they_are():
    def network(x, n):
        return call("Cast", F.tanh(x), 43), n + 1  # to float32, which it is

    graph = trace(network, X, np.arange(3, dtype=np.int32))
    found = program(graph, precision="force_fp16")
    (own,) = [op for op in found.graph.ops if op.name.startswith("Default/Cast")]
    assert (own.outputs[0].dtype, found.graph.op("Default/Tanh-op0").outputs[0].dtype) == (
        FULL,
        HALF,
    )
    assert found.graph.op("Default/Add-op0").outputs[0].dtype == "int32"


def test_a_constant_takes_the_dtype_of_its_operator():
    found = program(trace(lambda x: x * 0.1, X), precision="force_fp16")
    (op,) = [op for op in found.graph.ops if op.op_type == "Mul"]
    assert [one.dtype for one in op.inputs if isinstance(one, Const)] == [HALF]
    exact = X.astype(HALF).astype(np.float64) * float(np.float16(0.1))
    got = outputs(run_program(found))[op.name, 0]
    assert np.array_equal(got, exact.astype(HALF))


def test_moments_of_a_normalization_stay_float32():
    found = program(NET, "tensorflow", precision="force_fp16")
    (op,) = [op for op in found.graph.ops if op.op_type == "BatchNorm"]
    assert [spec.dtype for spec in op.input_specs] == [HALF, *[FULL] * 4]
    assert [spec.dtype for spec in op.outputs] == [HALF, *[FULL] * 4]


def test_options_of_single_operators_reach_the_kernels_that_they_became():
    name = "Default/conv-Conv2d/Conv2D-op0"
    options = {
        "precision_mode": "must_keep_origin_dtype",
        "op_precision_mode": f"[ByNodeName]\n{name}=enable_float_32_execution",
    }
    plain = program(NET)
    asked = program(NET, precision=read_precision(options))
    assert {name: one.inputs for name, one in plain.formats.items()} == {name: "hf32"}
    assert asked.formats == {}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_reader_gets_the_format_that_it_reads(name):
    found = program(load_graph(name), precision="force_fp16")
    graph = found.graph
    for op in graph.ops:
        assert len(op.device_outputs) == len(op.outputs)
        assert len(op.device_inputs) == len(list(op.flat_inputs()))
        for slot, operand in enumerate(op.flat_inputs()):
            wanted = op.device_inputs[slot]
            if isinstance(operand, Value):
                given = graph.ops[operand.op].device_outputs[operand.slot]
                assert (given.shape, given.dtype) == (wanted.shape, wanted.dtype)
                assert given.format == wanted.format or {given.format, wanted.format} <= HOSTS
            elif isinstance(operand, Param) and wanted.shape is not None:
                assert wanted.format in HOSTS, op.name
    for operand in graph.outputs:
        assert graph.ops[operand.op].device_outputs[operand.slot].format in HOSTS


def test_heavy_formats_reach_what_lies_between():
    class Block(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 3)

        def construct(self, x):
            y = F.tanh(self.conv1(x)) * 2.0
            return self.conv2(y + F.relu(y))

    found = program(trace(Block(), IMAGE), off=["ALL"])
    forms = {op.op_type: op.device_outputs[0].format for op in found.graph.ops}
    assert {forms[kind] for kind in ("Conv2D", "Tanh", "Mul", "Add", "ReLU")} == {"NC1HWC0"}
    kinds = [op.op_type for op in found.graph.ops if op.op_type == "TransData"]
    assert len(kinds) == 4  # the image, two weights, the result


def test_between_two_device_formats_the_host_lies():
    def network(x, w):
        return F.matmul(F.reshape(F.max_pool2d(x, 2, 2), (8, 9)), w)

    x, w = RNG.standard_normal((2, 4, 6, 6)), RNG.standard_normal((9, 3))
    found = program(trace(network, x.astype(FULL), w.astype(FULL)))
    moves = [
        (op.attrs["src_format"], op.attrs["dst_format"])
        for op in found.graph.ops
        if op.op_type == "TransData"
    ]
    assert moves == [
        ("NCHW", "NC1HWC0"), ("NC1HWC0", "NCHW"), ("ND", "FRACTAL_NZ"), ("ND", "FRACTAL_NZ"),
        ("FRACTAL_NZ", "ND"),
    ]  # fmt: skip


def test_groups_of_a_convolution_are_part_of_its_weights_format():
    found = program(trace(nn.Conv2d(4, 8, 3, group=2), IMAGE))
    (conv,) = [op for op in found.graph.ops if op.op_type == "Conv2D"]
    assert conv.device_inputs[1].format == "FRACTAL_Z:2"
    weight = next(p.default for p in found.graph.parameters if p.is_weight)
    layout = device_layout(conv, "input", 1, TensorSpec(FULL, weight.shape))
    laid = to_device(weight, "NCHW", "FRACTAL_Z", groups=2)
    assert (layout.shape, layout.groups) == (laid.shape, 2)
    np.testing.assert_array_equal(
        to_host(laid, "FRACTAL_Z", "NCHW", weight.shape, groups=2), weight
    )


def test_operators_that_nobody_knows_and_open_shapes_stay():
    spec, open_ = TensorSpec(FULL, (2, 3)), TensorSpec(FULL, None)
    ops = (
        Op("a", "Mystery", (Param(0), Const(3, "int64", ())), {"k": 1}, (spec,), (spec,)),
        Op("b", "ReLU", (Value(0),), outputs=(open_,), input_specs=(spec,)),
        Op("c", "MatMul", (Value(1), Param(0)), outputs=(open_,), input_specs=(open_, spec)),
    )
    graph = Graph("g", (Parameter("x", spec),), ops, (Value(2),))
    found = program(graph, precision="must_keep_origin_dtype")
    assert [op.name for op in found.graph.ops if op.op_type not in CONVERTERS] == ["a", "b", "c"]
    assert found.graph.op("a").inputs == ops[0].inputs


def test_a_graph_with_control_flow_is_left_alone():
    graph = replace(NET, subgraphs=(NET,))
    found = program(graph)
    assert found.graph.ops == graph.ops
    assert list(found.stages) == [FIRST]


@pytest.mark.parametrize(
    ("surface", "left", "made"),
    [
        ("acl", 1, True),
        ("tensorflow", 1, False),
        ("mindspore-ge", 5, False),
        ("torchair", 5, False),
    ],
)
def test_weights_that_the_compiler_knows_are_converted_before_the_run(surface, left, made):
    found = program(load_graph("mlp"), surface, precision="force_fp16")
    casts = [
        op for op in found.graph.ops if op.op_type == "Cast" and isinstance(op.inputs[0], Param)
    ]
    assert len(casts) == (left + 2 if left > 1 else left)  # the feed's; and six weights'
    names = {p.name for p in found.graph.parameters if p.is_weight}
    assert any(name.startswith("dynamic_const_") for name in names) == made
    weights = [p for p in found.graph.parameters if p.is_weight]
    assert {p.spec.dtype for p in weights} == ({HALF} if left == 1 else {FULL})
    assert set(found.constants) == ({p.name for p in weights} if left == 1 else set())
    if surface == "acl":
        assert len(weights) == 6  # what nothing reads any more is gone


@pytest.mark.parametrize("surface", COMPILED_SURFACES)
@pytest.mark.parametrize("precision", ["must_keep_origin_dtype", "force_fp16"])
def test_every_surface_computes_the_same(surface, precision):
    """Who converts weights, and when, changes no result."""
    graph = load_graph("lenet")
    found = outputs(run_program(program(graph, surface, precision=precision)))
    golden = outputs(run_program(program(graph, "torchair", precision=precision)))
    for key, value in golden.items():
        if key[0].startswith("Default"):
            np.testing.assert_array_equal(found[key], value, err_msg=str(key))


def test_without_fusions_a_compiled_run_is_the_run_operator_by_operator():
    """Casts really round as the unit would have."""
    graph = load_graph("lenet")
    for mode in ("must_keep_origin_dtype", "force_fp16", "allow_fp32_to_fp16"):
        found = outputs(run_program(program(graph, precision=mode, off=["ALL"])))
        plain = outputs(run_npu(graph, precision_mode=mode))
        for op in graph.ops:
            np.testing.assert_array_equal(
                found[op.name, 0].astype(FULL), plain[op.name, 0], err_msg=f"{mode} {op.name}"
            )


def test_a_normalization_becomes_part_of_the_convolution_where_all_is_constant():
    found = program(NET, "acl")
    conv = next(op for op in found.graph.ops if op.op_type == "Conv2D")
    names = [op.name for op in NET.ops[:4]]
    assert conv.name == names[0] + names[3]
    assert conv.attrs["_datadump_original_op_names"] == tuple(names)
    kinds = ("Conv2D", "BiasAdd", "BatchNorm", "ReLU")
    assert conv.attrs["_datadump_original_op_types"] == kinds
    assert not any(op.op_type == "BatchNorm" for op in found.graph.ops)
    hosts = [
        op.name
        for op in found.stages["OptimizeOriginalGraph_FeGraphFusionAfter"].ops
        if "Host" in op.op_type
    ]
    stem = names[0] + names[2]
    assert hosts == [f"{stem}_filter_host", f"{stem}_bias_host"]
    values = {p.name: p.default for p in NET.parameters} | MOMENTS
    ours = outputs(run_program(found, MOMENTS))[conv.name, 0].astype(np.float64)
    theirs = outputs(run_npu(NET, MOMENTS, precision_mode="must_keep_origin_dtype"))
    golden = theirs[names[3], 0]
    assert np.linalg.norm(ours - golden) < 1e-3 * np.linalg.norm(golden)
    factor = values["norm.gamma"] / np.sqrt(values["norm.moving_variance"] + np.float32(1e-5))
    made = {p.name: p for p in found.graph.parameters if p.folded}
    folded = found.constants[found.graph.parameters[conv.inputs[1].index].name]
    assert [op.op_type for op in folded.ops] == ["ConvBnFilterHost", "TransData"]
    records = [r for r in run_program(found, MOMENTS) if r.key.op_name == conv.name]
    weight = next(r for r in records if (r.key.io, r.key.slot) == ("input", 1)).source.array()
    np.testing.assert_allclose(
        weight, values["conv.weight"] * factor.reshape(-1, 1, 1, 1), rtol=1e-6
    )
    bias = next(r for r in records if (r.key.io, r.key.slot) == ("input", 2)).source.array()
    moved = (values["conv.bias"] - values["norm.moving_mean"]) * factor + values["norm.beta"]
    np.testing.assert_allclose(bias, moved, rtol=1e-5, atol=1e-6)
    assert len(made) == 3  # filter and bias, and the weight of the dense layer in its format


@pytest.mark.parametrize("surface", ["tensorflow", "mindspore-ge", "torchair"])
def test_a_normalization_of_weights_that_may_change_stays(surface):
    assert "BatchNorm" in [op.op_type for op in program(NET, surface).graph.ops]


def test_stages_change_the_graph_in_the_order_of_ge():
    found = program(NET, "acl", precision="force_fp16")
    assert list(found.stages) == [one.stage for one in PASSES if one.stage]
    order = [stage.name for stage in STAGES]
    places = [order.index(name) for name in found.stages]
    assert places == sorted(places)
    assert found.stages[FIRST] is NET
    assert list(found.stages.values())[-1] == found.graph
    casts = {
        name: sum(op.op_type == "Cast" for op in graph.ops) for name, graph in found.stages.items()
    }
    assert casts["PreRunAfterOptimizeOriginalGraph"] == 0 < casts["AfterPrecisionRefine"]
    moves = {
        name: sum(op.op_type == "TransData" for op in graph.ops)
        for name, graph in found.stages.items()
    }
    assert moves["OptimizeOriginalGraph_FeDistHeavyFormatAfter"] == 0
    assert moves["OptimizeOriginalGraph_FeInsertTransNodeAfter"] > 0


def test_feeds_of_names_that_the_network_does_not_have_are_refused():
    found = program(load_graph("mlp"), "acl", precision="force_fp16")
    for name in ("dynamic_const_0", "nobody"):
        with refused("core/choice", GraphError, subject="feed", got=name):
            list(run_program(found, {name: np.zeros(3, FULL)}))
