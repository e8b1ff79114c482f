"""Optimizers, schedules and training cells: rates, names of weights and states, scopes, refusals."""

import numpy as np
import pytest

from workbench import nn
from workbench.core.errors import GraphError
from workbench.graph.tracer import trace

X = np.ones((2, 4), np.float32)
LABELS = np.array([0, 2], np.int32)
BACKBONE = "Default/network-WithLossCell/_backbone-Net"


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm((4,))
        self.fc = nn.Dense(4, 3)

    def construct(self, x):
        return self.fc(self.norm(x))


def step(make, **options):
    network = Net()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    cell = nn.WithLossCell(network, loss)
    return nn.TrainOneStepCell(cell, make(network.trainable_params()), **options)


def test_weights_and_states_are_named_as_in_mindspore():
    graph = trace(step(lambda weights: nn.Adam(weights, 0.01)), X, LABELS)
    weights = ["norm.gamma", "norm.beta", "fc.weight", "fc.bias"]
    states = [f"{prefix}.{name}" for prefix in ("moment1", "moment2") for name in weights]
    own = ["global_step", "learning_rate", "beta1_power", "beta2_power"]
    found = {one.name for one in graph.parameters if one.is_weight}
    assert found == {*weights, *states, *own}
    assert [one.name for one in graph.parameters if not one.is_weight] == ["inputs0", "inputs1"]


def test_operators_are_in_mindspores_scopes():
    graph = trace(step(lambda weights: nn.Momentum(weights, [0.1, 0.2], 0.9)), X, LABELS)
    scopes = {op.scope for op in graph.ops}
    assert f"{BACKBONE}/fc-Dense" in scopes
    assert f"Gradients/{BACKBONE}/fc-Dense/Grad_MatMul" in scopes
    assert "Default/optimizer-Momentum/learning_rate-_IteratorLearningRate" in scopes
    assert "Default/network-WithLossCell/_loss_fn-SoftmaxCrossEntropyWithLogits" in scopes
    updates = [op for op in graph.ops if op.op_type == "ApplyMomentum"]
    assert [op.scope for op in updates] == ["Default/optimizer-Momentum"] * 4


def test_factors_and_summands_of_normalizations_are_not_decayed():
    make = lambda weights: nn.Momentum(weights, 0.1, 0.9, weight_decay=0.5)  # noqa: E731
    graph = trace(step(make), X, LABELS)
    read = [
        graph.parameters[op.inputs[0].index].name
        for op in graph.ops
        if (op.scope, op.op_type) == ("Default/optimizer-Momentum", "Mul")
    ]
    assert read == ["fc.weight", "fc.bias"]


def test_moving_moments_are_no_optimizers_business():
    names = [weight.name for weight in nn.BatchNorm2d(3).trainable_params()]
    assert names == ["gamma", "beta"]
    assert len(nn.BatchNorm2d(3).get_parameters()) == 4


def test_training_reaches_all_cells():
    network = nn.SequentialCell(nn.BatchNorm2d(3), nn.SequentialCell(nn.BatchNorm2d(3)))
    image = np.ones((2, 3, 4, 4), np.float32)

    def modes():
        graph = trace(network, image)
        return [op.inputs[5].value for op in graph.ops if op.op_type == "BatchNorm"]

    assert modes() == [False, False]
    network.set_train()
    assert modes() == [True, True]
    network.set_train(False)
    assert modes() == [False, False]


REFUSED = {
    "weights must be weights": lambda: nn.SGD([], 0.1),
    "groups are not supported": lambda: nn.SGD([{"params": []}], 0.1),
    "loss_scale must be a finite number above 0, got 0.0": lambda: nn.SGD(
        Net().trainable_params(), 0.1, loss_scale=0.0
    ),
    "learning_rate must be a number": lambda: nn.SGD(Net().trainable_params(), [0.1]),
    "momentum must be above 0": lambda: nn.SGD(Net().trainable_params(), 0.1, nesterov=True),
    "max_lr must be above": lambda: nn.CosineDecayLR(0.1, 0.1, 3),
    "reduction must be one of": lambda: nn.MSELoss("most"),
    "sens must be another number": lambda: step(lambda weights: nn.SGD(weights, 0.1), sens=0),
}


NUMBERS = {
    "learning_rate must be a finite number at least 0, got -1": lambda: sgd(-1.0),
    "learning_rate must be a finite number at least 0, got nan": lambda: sgd(float("nan")),
    "learning_rate must be a finite number at least 0, got 'x'": lambda: sgd("x"),
    "learning_rate must be a finite number at least 0, got np.float32.-0.5": lambda: sgd([1, -0.5]),
    "momentum must be a finite number at least 0, got -0.9": lambda: sgd(0.1, momentum=-0.9),
    "weight_decay must be a finite number at least 0": lambda: sgd(0.1, weight_decay=-1.0),
    "beta1 must be a finite number above 0 and below 1, got 1.5": lambda: adam(beta1=1.5),
    "beta2 must be a finite number above 0 and below 1, got 0": lambda: adam(beta2=0),
    "eps must be a finite number above 0, got 0": lambda: adam(eps=0.0),
    "loss_scale_value must be a finite number above 0, got -1": lambda: nn.FixedLossScaleUpdateCell(
        -1
    ),
    "scale_factor must be a finite number above 0, got 0": lambda: nn.DynamicLossScaleUpdateCell(
        8, 0, 2
    ),
    "scale_window must be a finite number at least 1, got 0": lambda: nn.DynamicLossScaleUpdateCell(
        8, 2, 0
    ),
    "sens must be a finite number, got 'x'": lambda: step(
        lambda weights: nn.SGD(weights), sens="x"
    ),
    "optimizer must be one of workbench.nn, as SGD, got 'sgd'": lambda: nn.TrainOneStepCell(
        Net(), "sgd"
    ),
}
"""Words → what gives them. MindSpore refuses the same, but for scales of the loss."""


def sgd(rate, **options):
    return nn.SGD(Net().trainable_params(), rate, **options)


def adam(**options):
    nn.AdamWeightDecay(Net().trainable_params(), **options)
    return nn.Adam(Net().trainable_params(), **options)


@pytest.mark.parametrize("words", NUMBERS)
def test_numbers_out_of_their_range_are_refused(words):
    with pytest.raises(GraphError, match=words):
        NUMBERS[words]()


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_trained_is_refused(words):
    expected = words.replace("weights must be weights", "parameters must be weights")
    with pytest.raises(GraphError, match=expected):
        REFUSED[words]()


def test_a_flag_must_come_from_an_operator():
    from workbench.graph.tensor import recorder

    def network(x):
        with recorder("network").unless(x):
            return x + 1.0

    with pytest.raises(GraphError, match="flag must be the result of an operator"):
        trace(network, X)
