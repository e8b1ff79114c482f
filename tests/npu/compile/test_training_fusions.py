"""Fusions of optimizers: what they are called, and that weights come out as on the reference."""

import numpy as np
import pytest

from kit.build.programs import program_for
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network import nn
from workbench.network.models import MLP
from workbench.network.symbolic import Parameter, record
from workbench.network.tracer import trace
from workbench.npu.runner import run_program
from workbench.run.reference import run_reference

RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 64), np.float32)
LABELS = np.array([1, 5, 7, 1], np.int32)
FUSIONS = {"MulAddNPass": "FusedMulAddN", "MomentumLossscaleFusionPass": "FusedMulApplyMomentum"}


def training():
    network = MLP()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    weights = network.trainable_params()
    optimizer = nn.Momentum(weights, 0.05, 0.9, weight_decay=0.01, loss_scale=64.0)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, loss), optimizer, sens=64.0)
    return trace(step, X, LABELS)


def compiled(graph, off=()):
    return program_for(graph, "mindspore-o2", off=off)


def kinds(program):
    return [op.op_type for op in program.graph.ops]


def test_decay_and_scale_go_into_the_kernels_behind_them():
    graph = training()
    program = compiled(graph)
    found = kinds(program)
    assert found.count("FusedMulAddN") == found.count("FusedMulApplyMomentum") == 6
    assert "ApplyMomentum" not in found
    assert "AddN" not in found
    kernel = next(op for op in program.graph.ops if op.op_type == "FusedMulApplyMomentum")
    assert kernel.name == "Default/optimizer-Momentum/ApplyMomentum-op0"
    assert len(list(kernel.flat_inputs())) == 6
    assert [op.op_type for op in kernel.fused.ops] == ["Mul", "ApplyMomentum"]


@pytest.mark.parametrize("name", FUSIONS)
def test_each_can_be_switched_off(name):
    found = kinds(compiled(training(), off=[name]))
    assert FUSIONS[name] not in found
    (other,) = set(FUSIONS.values()) - {FUSIONS[name]}
    assert found.count(other) == 6


def test_weights_come_out_as_on_the_reference():
    graph = training()
    program, ours, theirs = compiled(graph), {}, {}
    for step in range(3):
        list(run_program(program, iteration=step, state=ours))
        list(run_reference(graph, iteration=step, state=theirs))
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_a_product_of_tensors_or_behind_the_sum_is_left_alone():
    weight = Parameter(np.ones(3, np.float32), "w")

    def step(x, y):
        first = record("AddN", (record("Mul", x, y), x), n=2, N=2)
        half = np.float32(0.5)
        second = record("AddN", (y, record("Mul", first, half)), n=2, N=2)
        return record("Assign", weight, second)

    graph = trace(step, np.ones(3, np.float32), np.ones(3, np.float32))
    assert kinds(compiled(graph)).count("AddN") == 2


def test_an_offline_model_is_not_trained():
    with refused("run/offline-training", GraphError, surface="acl"):
        program_for(training(), "acl")
