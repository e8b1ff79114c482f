"""Compiled graphs: dtypes by precision mode, device formats, constants that the compiler computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.arrays import outputs
from kit.build.programs import program_for, target_for
from kit.words import refused
from workbench.core.dtypes import dtype
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.core.transdata import to_device, to_host
from workbench.core.writers import COMPILED_SURFACES
from workbench.graph.graph import Bundle, Const, Graph, Op, Param, Parameter, Value
from workbench.graph_files.ge.stages import STAGES
from workbench.network import nn
from workbench.network.models import MODELS, load_graph
from workbench.network.nn import functional as F
from workbench.network.symbolic import record as call
from workbench.network.tracer import trace
from workbench.npu.compile.casts import TransBuilder
from workbench.npu.compile.folding import computed_weights, drop_unused_constants, fold_constants
from workbench.npu.compile.pipeline import FIRST, PASSES, compile_flow
from workbench.npu.compile.program import Module
from workbench.npu.compile.provenance import INSERTED, constants_to_attributes, origin_of, originals
from workbench.npu.faults import Fault
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


# ---------------- what single passes say of single operators

FOUR = TensorSpec("float32", (2, 4))
WEIGHTS = (Parameter("x", FOUR), Parameter("w", FOUR, True, default=np.full((2, 4), 1.5, FULL)),
           Parameter("v", FOUR, True, default=np.full((2, 4), 0.1, FULL)))  # fmt: skip


def cast(operand, name="c", dtype=HALF):
    return Op(name, "Cast", (operand,), {"dst_type": dtype}, (TensorSpec(dtype, (2, 4)),))


def module(*ops, outputs=None, constants=()):
    graph = Graph("g", WEIGHTS, ops, (Value(len(ops) - 1),) if outputs is None else outputs)
    return Module(graph, graph, dict(constants))


def add(left, right, name="a"):
    return Op(name, "Add", (left, right), {}, (FOUR,))


FOLDS = [
    ("acl", (cast(Param(1)), add(Param(0), Value(0))), ["Add"], ["x", "dynamic_const_0"]),
    ("acl", (cast(Param(0)), add(Param(1), Value(0))), ["Cast", "Add"], ["x", "w"]),
    ("acl", (cast(Param(1)), add(Param(1), Value(0))), ["Add"], ["x", "w", "dynamic_const_0"]),
    ("acl", (cast(Param(1)), cast(Value(0), "d", FULL), add(Param(0), Value(1))), ["Add"], ["x", "dynamic_const_1"]),
    ("acl", (add(Param(1), Param(2)),), ["Add"], ["x", "w", "v"]),
    ("tensorflow", (cast(Param(1)), add(Param(0), Value(0))), ["Add"], ["x", "w", "v"]),
    ("tensorflow", (cast(Param(1)), add(Param(1), Value(0))), ["Cast", "Add"], ["x", "w", "v"]),
    ("mindspore-ge", (cast(Param(1)), add(Param(0), Value(0))), ["Cast", "Add"], ["x", "w", "v"]),
    ("torchair", (cast(Param(1)), add(Param(0), Value(0))), ["Cast", "Add"], ["x", "w", "v"]),
]  # fmt: skip


@pytest.mark.parametrize(("surface", "ops", "kinds", "names"), FOLDS, ids=range(len(FOLDS)))
def test_what_a_compiler_knows_of_weights_becomes_a_constant(surface, ops, kinds, names):
    found = fold_constants(module(*ops), target_for(surface))
    assert [op.op_type for op in found.graph.ops] == kinds
    assert [one.name for one in found.graph.parameters] == names
    assert all(one.folded for one in found.graph.parameters if one.name.startswith("dynamic"))


def test_a_chain_of_constants_is_computed_with_a_rounding_at_every_operator():
    ops = (cast(Param(2), "c", HALF), cast(Value(0), "d", FULL), add(Param(0), Value(1)))
    first = fold_constants(module(*ops), target_for("acl"))
    model, fed = target_for("acl").model, np.zeros((2, 4), FULL)
    (name,) = [one.name for one in first.graph.parameters if one.folded]
    values = computed_weights(first.network, {"x": fed}, first.constants, model)
    np.testing.assert_array_equal(values[name], np.full((2, 4), np.float16(0.1), FULL))
    other = {"x": fed, "v": np.full((2, 4), 0.3)}
    given = computed_weights(first.network, other, first.constants, model)
    np.testing.assert_array_equal(given[name], np.full((2, 4), np.float16(0.3), FULL))
    again = module(
        Op("e", "ConvBnFilterHost", (Param(3), *(Param(1),) * 4), {"epsilon": 0.0}, (FOUR,)),
        add(Param(0), Value(0)),
    )
    graph = replace(
        again.graph,
        parameters=first.graph.parameters[:1] + WEIGHTS[1:] + first.graph.parameters[-1:],
    )
    second = fold_constants(
        replace(again, graph=graph, network=first.network, constants=first.constants),
        target_for("acl"),
    )
    kernel = second.constants[second.graph.parameters[-1].name]
    assert [op.op_type for op in kernel.ops] == ["Cast", "Cast", "ConvBnFilterHost"]
    assert [op.inputs[0] for op in kernel.ops] == [Param(2), Value(0), Value(1)]
    assert kernel.ops[2].inputs[1:] == (Param(1),) * 4
    assert kernel.results == (Value(2),)


def test_weights_that_nobody_reads_are_dropped_and_what_is_fed_stays():
    graph = Graph("g", WEIGHTS, (Op("n", "Neg", (Param(2),), {}, (FOUR,)),), (Value(0),))
    found = drop_unused_constants(graph)
    assert [one.name for one in found.parameters] == ["x", "v"]
    assert found.ops[0].inputs == (Param(1),)
    kept = drop_unused_constants(replace(graph, outputs=(Value(0), Param(1))))
    assert [one.name for one in kept.parameters] == ["x", "w", "v"]


def test_operators_that_run_one_by_one_say_what_their_kernels_read_and_write():
    def network(x, n):
        return F.matmul(x, x, False, True), F.concat([x, x]), n + 1

    graph = trace(network, X, np.arange(3, dtype=np.int32))
    found = program(graph, "mindspore-o0o1", precision="force_fp16").graph
    product, joined, whole = found.ops
    assert [one.dtype for one in product.device_inputs] == [HALF, HALF, "bool", "bool"]
    assert [one.dtype for one in product.device_outputs] == [HALF]
    assert [one.dtype for one in product.outputs] == [FULL]
    assert (joined.device_inputs, whole.device_inputs) == ((), ())
    kept = program(graph, "mindspore-o0o1", precision="must_keep_origin_dtype").graph
    assert [op.device_outputs for op in kept.ops] == [()] * 3


def test_inserted_operators_are_numbered_on_and_shared():
    ops = tuple(
        cast(Param(0), name)
        for name in ("trans_Cast_3", "trans_TransData_11", "trans_Cast_x", "Cast_40")
    )
    builder = TransBuilder(module(*ops).graph)
    half, full = (TensorSpec(name, (2, 4)) for name in (HALF, FULL))
    first = builder.convert("Cast", Param(0), half)
    assert builder.ops[first.op].name == "trans_Cast_12"
    assert builder.convert("Cast", Param(0), half) == first
    others = [
        builder.convert("Cast", Param(1), half),
        builder.convert("Cast", Param(0), full),
        builder.convert("TransData", Param(0), half),
        builder.convert("Cast", Param(0), half, attrs={"dst_type": 1}),
    ]
    assert [builder.ops[one.op].name for one in others] == [
        "trans_Cast_13",
        "trans_Cast_14",
        "trans_TransData_15",
        "trans_Cast_16",
    ]
    assert TransBuilder(GRAPH_OF_NONE).convert("Cast", Param(0), half) == Value(0)


GRAPH_OF_NONE = Graph("g", WEIGHTS)
NAMED = {"_datadump_original_op_names": ("a", "b"), "_datadump_original_op_types": ("A", "B")}


def test_an_operator_that_stands_for_others_tells_each_once():
    ops = [Op("x", "X", (), NAMED), Op("b", "B"), Op("y", "Y"), Op("n", "N", (), dict(INSERTED))]
    assert originals(ops) == {
        "_datadump_original_op_names": ("a", "b", "y"),
        "_datadump_original_op_types": ("A", "B", "Y"),
    }
    assert origin_of(Op("y", "Y", outputs=(FOUR, FOUR)), 1) == ("y", 1, FOUR)
    assert origin_of(Op("y", "Y", outputs=(FOUR,), provenance=(None,)), 0) is None


MONAD = Const("U", "monad")
SETTLED = [
    (Op("s", "Softmax", (Param(0), Const((1,), "tuple"))), "Softmax", (Param(0),), {"axis": (1,)}),
    (Op("s", "Softmax", (Param(0),), {"axis": (1,)}), "Softmax", (Param(0),), {"axis": (1,)}),
    (Op("c", "ClampScalar", (Param(0), Const(None, "None"), Const(1.0, "float32", ()))), "ClampScalar", (Param(0),),
     {"max": 1.0}),
    (Op("r", "Reshape", (Param(0), Param(1))), "Reshape", (Param(0), Param(1)), {}),
    (Op("r", "ReLU", (Param(0), MONAD)), "ReLU", (Param(0), MONAD), {}),
    (Op("u", "Unknown", (Param(0), Const(1, "int64"))), "Unknown", (Param(0), Const(1, "int64")), {}),
    (Op("j", "Concat", (Bundle((Param(0), Param(1))), Const(1, "int64", ()))), "ConcatD",
     (Bundle((Param(0), Param(1))),), {"axis": 1}),
    (Op("j", "Concat", (Bundle((Param(0), Param(1))),), {"axis": 1}), "Concat", (Bundle((Param(0), Param(1))),),
     {"axis": 1}),
    (Op("j", "Stack", (Bundle((Param(0), Param(1))),), {"axis": 1}), "Pack", (Bundle((Param(0), Param(1))),),
     {"axis": 1}),
    (Op("f", "FillV2", (Const((2,), "tuple"), Param(0))), "FillV2", (Const((2,), "tuple"), Param(0)), {}),
    (Op("a", "AllReduce", (Param(0),), {"op": "max", "group": "g", "fusion": 1, "index": 3}), "HcomAllReduce",
     (Param(0),), {"reduction": "max", "group": "g", "fusion": 1}),
    (Op("a", "AllReduce", (Param(0),), {"group": "g"}), "HcomAllReduce", (Param(0),),
     {"reduction": "sum", "group": "g"}),
    (Op("a", "AllReduce", (Param(0),), {"group": "g", "group_ranks": "0-2"}), "HcomAllReduce", (Param(0),),
     {"reduction": "sum", "group": "g", "group_ranks": "0-2"}),
    (Op("a", "AllGather", (Param(0),), {"rank_size": 2, "group": "g", "fusion": 1}), "HcomAllGather", (Param(0),),
     {"rank_size": 2, "group": "g"}),
]  # fmt: skip


@pytest.mark.parametrize(("op", "kind", "inputs", "attrs"), SETTLED, ids=range(len(SETTLED)))
def test_settings_that_are_known_become_attributes(op, kind, inputs, attrs):
    (found,) = constants_to_attributes(module(op), target_for("acl")).graph.ops
    assert (found.op_type, found.inputs, dict(found.attrs)) == (kind, inputs, attrs)


def test_a_fault_that_no_graph_of_a_flow_has_is_refused():
    flow = trace(lambda p, x: F.cond(p, F.relu, F.tanh, x), np.bool_(True), X)
    inside = Fault("scaled-output", "*Tanh*")
    compile_flow(flow, target_for(faults=(inside,)))
    with pytest.raises(GraphError):
        compile_flow(flow, target_for(faults=(inside, Fault("scaled-output", "*Sigmoid*"))))
