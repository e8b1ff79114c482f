"""Operators that the compiler makes several of, and kernels of such parts."""

from __future__ import annotations

import numpy as np
import pytest

from kit.arrays import outputs
from kit.build.programs import program_for
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Graph, Op, Param, Parameter, Value
from workbench.network import nn
from workbench.network.nn import functional as F
from workbench.network.symbolic import record, record_all
from workbench.network.tracer import trace
from workbench.npu.faults import parse_fault
from workbench.npu.runner import run_program
from workbench.run.reference import run_reference

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 5)).astype(np.float32)
IMAGE = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
NAMES, PART = "_datadump_original_op_names", "_datadump_is_multiop"


class Norm(nn.BatchNorm2d):
    """Normalization by the moments of the batch; the stored ones follow."""

    def construct(self, x):
        moments = (self.gamma, self.beta, self.moving_mean, self.moving_variance)
        return record_all("BatchNorm", x, *moments, True, 1e-3, 0.2, 0)[0]


class Block(nn.Cell):
    """Two convolutions with normalization, the second one beside a shortcut."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3), Norm(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 8, 3), Norm(8)

    def construct(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + y)


BLOCK = trace(Block(), IMAGE)
CONV1, NORM1, RELU1 = "conv1-Conv2d/Conv2D-op0", "norm1-Norm/BatchNorm-op0", "ReLU-op0"
CONV2, NORM2, RELU2 = "conv2-Conv2d/Conv2D-op0", "norm2-Norm/BatchNorm-op0", "ReLU-op1"


def compiled(graph, precision=None, off=(), surface="mindspore-ge"):
    return program_for(graph, surface, precision=precision, off=off)


def kernels(program):
    return [op for op in program.graph.ops if op.op_type not in ("Cast", "TransData")]


def short(names):
    return tuple(name.replace("Default/", "") for name in names)


def summands(count):
    return trace(lambda x: record("AddN", tuple(x * float(n) for n in range(count))), X)


def pieces(count):
    return trace(lambda x: F.concat([x * float(n) for n in range(count)], -1), X)


def sizes(program, kind):
    """Inputs of every part of an operator by the end of its name."""
    return {
        op.name.rpartition("/")[2]: len(list(op.flat_inputs()))
        for op in program.graph.ops
        if op.op_type == kind
    }


@pytest.mark.parametrize(
    ("count", "wanted"),
    [
        (63, {"AddN-op0": 63}),
        (64, {"AddN0": 62, "AddN1": 2, "AddNBase_node": 2}),
        (125, {"AddN0": 62, "AddN1": 63, "AddNBase_node": 2}),
        (126, {"AddN0": 62, "AddN1": 62, "AddN2": 2, "AddNBase_node": 3}),
    ],
)
def test_a_long_sum_is_one_of_sums(count, wanted):
    graph = summands(count)
    program = compiled(graph, off=["MulAddNPass"])
    assert sizes(program, "AddN") == wanted
    last = program.graph.ops[-1]
    found = outputs(run_program(program))[last.name, 0]
    np.testing.assert_allclose(found, X * (count * (count - 1) // 2), rtol=1e-5)
    if count > 63:
        parts = [op for op in program.graph.ops if op.op_type == "AddN"]
        assert all(op.attrs[NAMES] == ("Default/AddN-op0",) for op in parts)
        assert all(op.attrs[PART] is True for op in parts)
        owners = [op.provenance[0] and op.provenance[0][:2] for op in parts]
        assert owners == [None] * (len(parts) - 1) + [("Default/AddN-op0", 0)]


@pytest.mark.parametrize(
    ("count", "wanted"),
    [
        (63, {"Concat-op0": 63}),
        (64, {"ConcatD00": 63, "ConcatD10": 1, "ConcatDBase_node0": 2}),
        (126, {"ConcatD00": 63, "ConcatD10": 63, "ConcatDBase_node0": 2}),
    ],
)
def test_a_long_concatenation_is_one_of_concatenations(count, wanted):
    program = compiled(pieces(count))
    assert sizes(program, "ConcatD") == wanted
    last = program.graph.ops[-1]
    found = outputs(run_program(program))[last.name, 0]
    np.testing.assert_array_equal(
        found, np.concatenate([X * np.float32(n) for n in range(count)], 1)
    )
    assert last.outputs[0].shape == (2, 5 * count)


def test_very_many_pieces_are_joined_in_three_rounds():
    count = 63 * 63 + 1
    spec = TensorSpec("float32", X.shape)
    items = Bundle((Param(0),) * count)
    op = Op("c", "Concat", (items, Const(0, "int64", ())), {}, (spec._replace(shape=(2 * count, 5)),),
            (spec,) * count)  # fmt: skip
    program = compiled(Graph("g", (Parameter("x", spec, default=X),), (op,), (Value(0),)))
    names = [one.name for one in program.graph.ops]
    assert len(names) == 64 + 2 + 1
    assert names[0] == "c/ConcatD00"
    assert names[63] == "c/ConcatD630"
    assert names[64:] == [
        "c/ConcatDBase_node0/ConcatD01",
        "c/ConcatDBase_node0/ConcatD11",
        "c/ConcatDBase_node0/ConcatDBase_node1",
    ]
    shapes = [one.outputs[0].shape[0] for one in program.graph.ops[63:]]
    assert shapes == [2, 63 * 63 * 2, 2, 2 * count]


def test_normalization_in_training_is_two_steps():
    program = compiled(BLOCK, off=["TbeBnupdateEltwiseFusionPass"])
    by_name = {op.name.replace("Default/", ""): op for op in kernels(program)}
    reduce, update = by_name[f"{NORM1}_Reduce"], by_name[f"{NORM1}_Update"]
    assert (reduce.op_type, update.op_type) == ("BNTrainingReduce", "BNTrainingUpdate")
    assert short(reduce.attrs[NAMES]) == short(update.attrs[NAMES]) == (NORM1,)
    assert reduce.attrs[PART] is update.attrs[PART] is True
    assert reduce.provenance == (None, None)
    assert [origin[:2] for origin in update.provenance] == [
        (f"Default/{NORM1}", n) for n in range(5)
    ]
    assert (update.attrs["epsilon"], update.attrs["factor"]) == (1e-3, 0.2)
    state = {}
    found = outputs(run_program(program, state=state))
    values = {p.name: p.default for p in BLOCK.parameters}
    y = found[f"Default/{CONV1}", 0].astype(np.float64)
    mean, variance = y.mean((0, 2, 3)), y.var((0, 2, 3))
    gamma, beta = (values[f"norm1.{name}"][:, None, None] for name in ("gamma", "beta"))
    normal = (y - mean[:, None, None]) / np.sqrt(variance + 1e-3)[:, None, None] * gamma + beta
    np.testing.assert_allclose(found[update.name, 0], normal, atol=2e-5)
    np.testing.assert_allclose(found[update.name, 3], mean, atol=1e-6)
    np.testing.assert_allclose(found[update.name, 4], variance, rtol=1e-5)
    count = y.size / 8
    moved = 0.8 * values["norm1.moving_variance"] + 0.2 * variance * count / (count - 1)
    np.testing.assert_allclose(state["norm1.moving_variance"], moved, rtol=1e-5)
    np.testing.assert_allclose(state["norm1.moving_mean"], 0.2 * mean, atol=1e-6)


def test_parts_are_fused_with_their_neighbors_into_many_of_many():
    program = compiled(BLOCK, "force_fp16")
    first, second, third, fourth = kernels(program)
    assert first.name == f"Default/{CONV1}Default/{NORM1}_Reduce"
    told = [short(op.attrs[NAMES]) for op in (first, second, third, fourth)]
    assert told == [
        (CONV1, NORM1), (NORM1, RELU1), (CONV2, NORM2), (NORM2, "Add-op0", RELU2),
    ]  # fmt: skip
    assert [op.op_type for op in (first, second)] == ["Conv2D", "BNTrainingUpdate"]
    assert all(op.attrs[PART] is True for op in (first, second, third, fourth))
    assert [spec.dtype for spec in first.outputs] == ["float16", "float32", "float32"]
    assert [origin and origin[:2] for origin in first.provenance] == [
        (f"Default/{CONV1}", 0),
        None,
        None,
    ]
    assert [origin[:2] for origin in second.provenance] == [
        *((f"Default/{NORM1}", slot) for slot in (1, 2, 3, 4)), (f"Default/{RELU1}", 0),
    ]  # fmt: skip
    formats = [spec.format for spec in second.device_outputs]
    assert formats == ["ND", "ND", "ND", "ND", "NC1HWC0"]


def test_sums_are_taken_along_only_by_a_convolution_in_float16():
    program = compiled(BLOCK, "must_keep_origin_dtype")
    assert [op.op_type for op in kernels(program)] == [
        "Conv2D", "BNTrainingReduce", "BNTrainingUpdate",
    ] * 2  # fmt: skip


@pytest.mark.parametrize("precision", ["must_keep_origin_dtype", "force_fp16"])
@pytest.mark.parametrize("off", [(), ("FusedBatchnormFusionPass",), ("ALL",)])
def test_whatever_is_split_and_fused_computes_the_same(precision, off):
    golden = outputs(run_reference(BLOCK))
    program = compiled(BLOCK, precision, off)
    state = {}
    found = outputs(run_program(program, state=state))
    near = 1e-2 if precision == "force_fp16" else 2e-3
    seen = 0
    for op in kernels(program):
        origins = op.provenance or [(op.name, slot) for slot in range(len(op.outputs))]
        for slot, origin in enumerate(origins):
            if origin is not None:
                want = golden[origin[0], origin[1]]
                got = found[op.name, slot].astype(np.float64)
                assert np.linalg.norm(got - want) < near * np.linalg.norm(want), (origin, slot)
                seen += 1
    assert seen >= 12
    assert state.keys() == {p.name for p in BLOCK.parameters if "moving" in p.name}


@pytest.mark.parametrize(
    ("name", "graph", "kind"),
    [
        ("AddNFusionPass", summands(64), "AddN-op0"),
        ("ZConcatDFusionPass", pieces(64), "Concat-op0"),
        ("FusedBatchnormFusionPass", BLOCK, NORM1),
        ("TbeConvBnreduceFusionPass", BLOCK, CONV1),
        ("TbeBnupdateEltwiseFusionPass", BLOCK, f"{NORM1}_Update"),
        ("TbeBnupdateEltwiseEltwiseFusionPass", BLOCK, f"{NORM2}_Update"),
    ],
)
def test_each_can_be_switched_off(name, graph, kind):
    names = [
        {op.name for op in kernels(compiled(graph, "force_fp16", off))} for off in ([], [name])
    ]
    assert [f"Default/{kind}" in found for found in names] == [False, True]


def test_a_result_that_is_read_before_the_kernel_ends_keeps_it_apart():
    def network(x, w, gamma, beta, mean, variance):
        y = F.conv2d(x, w, pad_mode="same")
        early = F.exp(y)  # before the sums
        normal = record_all("BatchNorm", y, gamma, beta, mean, variance, True, 1e-3, 0.2, 0)[0]
        return early + normal

    weights = [p.default for p in BLOCK.parameters if p.is_weight][:5]
    graph = trace(network, IMAGE, *weights)
    types = [op.op_type for op in kernels(compiled(graph, "force_fp16"))]
    assert types == ["Conv2D", "Exp", "BNTrainingReduce", "BNTrainingUpdate", "Add"]


@pytest.mark.parametrize(
    ("graph", "text", "guilty"),
    [
        (BLOCK, f"scaled-output:Default/{NORM1}:2", (f"Default/{NORM1}_UpdateDefault/{RELU1}", 4)),
        (BLOCK, "scaled-output:BatchNorm:2", (f"Default/{NORM1}_UpdateDefault/{RELU1}", 4)),
        (summands(70), "scaled-output:Default/AddN-op0:2", ("Default/AddN-op0/AddNBase_node", 0)),
        (pieces(70), "wrong-sign:Default/Concat-op0", ("Default/Concat-op0/ConcatDBase_node0", 0)),
    ],
)
def test_a_fault_in_an_operator_is_in_the_part_that_gives_its_result(graph, text, guilty):
    program = compiled(graph)
    clean = outputs(run_program(program))
    faulty = outputs(run_program(program, faults=[parse_fault(text)]))
    changed = [key for key in clean if not np.array_equal(clean[key], faulty[key])]
    assert changed[0] == guilty
