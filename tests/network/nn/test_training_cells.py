"""Optimizers, schedules and training cells: rates, names of weights and states, scopes, refusals."""

import math

import numpy as np
import pytest

from kit.build.runs import results
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network import nn
from workbench.network.tracer import trace
from workbench.run.reference import run_reference

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
    "no parameters": (lambda: nn.SGD([], 0.1), "optimizer-parameters", {"got": ()}),
    "groups": (lambda: nn.SGD([{"params": []}], 0.1), "optimizer-parameters", {"got": ({"params": []},)}),
    "one rate": (lambda: sgd([0.1]), "rates", {}),
    "nesterov": (lambda: sgd(0.1, nesterov=True), "nesterov", {"momentum": 0.0, "dampening": 0.0}),
    "max_lr": (lambda: nn.CosineDecayLR(0.1, 0.1, 3), "learning-rates", {"least": 0.1, "most": 0.1}),
    "sens": (lambda: step(lambda weights: nn.SGD(weights, 0.1), sens=0), "sens", {"got": 0}),
    "optimizer": (lambda: nn.TrainOneStepCell(Net(), "sgd"), "optimizer", {"got": "sgd"}),
    "scale_sense": (lambda: nn.TrainOneStepWithLossScaleCell(Net(), sgd(0.1), [1, 2]), "scale-sense", {"got": [1, 2]}),
    "gradients": (lambda: nn.DistributedGradReducer([]).construct([1]), "gradients-count", {"expected": 0, "got": 1}),
}  # fmt: skip


NUMBERS = {
    "learning_rate -1": (lambda: sgd(-1.0), "learning_rate", [">= 0"], -1.0),
    "learning_rate text": (lambda: sgd("x"), "learning_rate", [">= 0"], "x"),
    "learning_rate in a list": (lambda: sgd([1, -0.5]), "learning_rate", [">= 0"], -0.5),
    "momentum": (lambda: sgd(0.1, momentum=-0.9), "momentum", [">= 0"], -0.9),
    "weight_decay": (lambda: sgd(0.1, weight_decay=-1.0), "weight_decay", [">= 0"], -1.0),
    "loss_scale": (lambda: sgd(0.1, loss_scale=0.0), "loss_scale", ["> 0"], 0.0),
    "beta1": (lambda: adam(beta1=1.5), "beta1", ["> 0", "< 1"], 1.5),
    "beta2": (lambda: adam(beta2=0), "beta2", ["> 0", "< 1"], 0),
    "eps": (lambda: adam(eps=0.0), "eps", ["> 0"], 0),
    "loss_scale_value": (lambda: nn.FixedLossScaleUpdateCell(-1), "loss_scale_value", ["> 0"], -1),
    "scale_factor": (lambda: nn.DynamicLossScaleUpdateCell(8, 0, 2), "scale_factor", ["> 0"], 0),
    "scale_window": (lambda: nn.DynamicLossScaleUpdateCell(8, 2, 0), "scale_window", [">= 1"], 0),
    "sens": (lambda: step(lambda weights: nn.SGD(weights), sens="x"), "sens", [], "x"),
}  # fmt: skip
"""What gives an error → its name, limits and value. MindSpore refuses the same, but for scales of the loss."""


def sgd(rate, **options):
    return nn.SGD(Net().trainable_params(), rate, **options)


def adam(**options):
    nn.AdamWeightDecay(Net().trainable_params(), **options)
    return nn.Adam(Net().trainable_params(), **options)


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_out_of_their_range_are_refused(case):
    make, name, limits, got = NUMBERS[case]
    code = "graph/finite-within" if limits else "graph/finite"
    with refused(code, GraphError, subject=name, limits=limits, got=got):
        make()


def test_nan_is_no_learning_rate():
    with refused("graph/finite-within", GraphError, subject="learning_rate", limits=[">= 0"]):
        sgd(float("nan"))


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_trained_is_refused(case):
    make, code, values = REFUSED[case]
    with refused(f"graph/{code}", GraphError, **values):
        make()


def test_an_unknown_reduction_is_refused():
    with refused("core/choice", GraphError, subject="reduction", got="most"):
        nn.MSELoss("most")


def run(function, *inputs):
    graph = trace(function, *inputs)
    feeds = [one.name for one in graph.parameters if not one.is_weight]
    return results(graph, dict(zip(feeds, inputs, strict=True)))[0]


RATES = {
    "exponential": (nn.ExponentialDecayLR(0.1, 0.5, 4), lambda t: 0.1 * 0.5 ** (t / 4)),
    "exponential, stairs": (nn.ExponentialDecayLR(0.1, 0.5, 4, True), lambda t: 0.1 * 0.5 ** (t // 4)),
    "natural": (nn.NaturalExpDecayLR(0.1, 0.3, 4), lambda t: 0.1 * math.exp(-0.3 * t)),
    "natural, stairs": (nn.NaturalExpDecayLR(0.1, 0.3, 4, True), lambda t: 0.1 * math.exp(-0.3 * (t // 4 * 4))),
    "inverse": (nn.InverseDecayLR(0.1, 0.5, 4), lambda t: 0.1 / (1 + 0.5 * t / 4)),
    "inverse, stairs": (nn.InverseDecayLR(0.1, 0.5, 4, True), lambda t: 0.1 / (1 + 0.5 * (t // 4))),
    "cosine": (nn.CosineDecayLR(0.01, 0.1, 6), lambda t: 0.01 + 0.045 * (1 + math.cos(math.pi * min(t, 6) / 6))),
    "polynomial": (nn.PolynomialDecayLR(0.1, 0.01, 6, 0.5), lambda t: 0.09 * (1 - min(t, 6) / 6) ** 0.5 + 0.01),
    "polynomial, longer": (nn.PolynomialDecayLR(0.1, 0.01, 3, 2.0, True),
                           lambda t: 0.09 * (1 - t / (3 * max(math.ceil(t / 3), 1))) ** 2 + 0.01),
    "warm-up": (nn.WarmUpLR(0.1, 6), lambda t: 0.1 * min(t, 6) / 6),
}  # fmt: skip
"""Schedule, and the rate of a step."""


@pytest.mark.parametrize("case", RATES)
def test_a_rate_follows_the_step(case):
    schedule, rate = RATES[case]
    steps = (0, 1, 3, 4, 5, 6, 7, 9)
    found = [float(run(schedule, np.array(step, np.int32))) for step in steps]
    np.testing.assert_allclose(found, [rate(step) for step in steps], rtol=1e-5, atol=1e-8)


SCORES = np.random.default_rng(3).uniform(-2, 2, (4, 3)).astype(np.float32)
WANTED = np.random.default_rng(4).dirichlet([1, 1, 1], 4).astype(np.float32)
CLASSES = np.array([2, 0, 1, 1], np.int32)
LOGS = SCORES - np.log(np.exp(SCORES.astype(float)).sum(-1, keepdims=True))
LOSSES = [
    (nn.MSELoss, {}, WANTED, (SCORES.astype(float) - WANTED) ** 2, "mean"),
    (nn.L1Loss, {}, WANTED, np.abs(SCORES.astype(float) - WANTED), "mean"),
    (nn.SoftmaxCrossEntropyWithLogits, {}, WANTED, -(LOGS * WANTED).sum(-1), "none"),
    (nn.SoftmaxCrossEntropyWithLogits, {"sparse": True}, CLASSES, -LOGS[range(4), CLASSES], "none"),
]
"""Loss, its options, labels, and the loss of each sample; how it is reduced if nothing is said."""
REDUCED = {"none": lambda x: x, "mean": np.mean, "sum": np.sum}


@pytest.mark.parametrize("reduction", [*REDUCED, ""])
@pytest.mark.parametrize(("kind", "options", "labels", "each", "usual"), LOSSES)
def test_a_loss_is_the_one_of_every_sample_reduced(kind, options, labels, each, usual, reduction):
    loss = kind(**options, **({"reduction": reduction} if reduction else {}))
    want = REDUCED[reduction or usual](each)
    got = run(loss, SCORES, labels)
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=2e-6)


def test_gradients_of_ranks_are_summed_or_averaged_in_float32():
    half = X.astype(np.float16)
    for mean, factors in ((True, 1), (False, 0), (None, 1)):
        with nn.data_parallel(4, gradients_mean=True):
            reducer = nn.DistributedGradReducer([1], mean=mean)
        graph = trace(lambda x, r=reducer: tuple(r([x])), half)
        assert [op.op_type for op in graph.ops] == ["Cast", "AllReduce", *["Mul"] * factors, "Cast"]
        assert graph.ops[1].outputs[0].dtype == "float32"
        assert graph.ops[1].attrs["fusion"] == 1
        if factors:
            assert graph.ops[2].inputs[1].value == 0.25
        assert graph.ops[-1].outputs[0].dtype == "float16"


@pytest.mark.parametrize("ranks", [0, -1, True, 2.0, "2"])
def test_a_number_of_ranks_is_a_whole_one(ranks):
    with refused("graph/integer", GraphError, subject="degree", least=1, got=ranks):
        nn.DistributedGradReducer([1], degree=ranks)
    with (
        refused("graph/integer", GraphError, subject="device_num", least=1, got=ranks),
        nn.data_parallel(ranks),
    ):
        pass


def scaled_steps(manager, gradients):
    """Scale, counter, last overflow and weight behind every step of a weight whose gradients are given."""
    weight = nn.Parameter(np.float32([0.0]), "w")

    class Net(nn.Cell):
        def __init__(self):
            self.weight = weight

        def construct(self, x):
            return (self.weight * x).sum()

    network = Net()
    cell = nn.TrainOneStepWithLossScaleCell(
        network, nn.SGD(network.trainable_params(), 1.0), manager
    )
    graph, state, found = trace(cell, np.ones(1, np.float32)), {}, []
    for number, gradient in enumerate(gradients):
        feeds = {"inputs0": np.float32([gradient])}
        list(run_reference(graph, feeds, iteration=number, state=state))
        found.append((float(state.get("scale_sense", 8)), float(state.get("w", [0])[0])))
    return found


def scale_by_hand(gradients, factor, window):
    """MindSpore's rule: halved at an overflow, never below 1; multiplied when a window has passed without one."""
    scale, count, last, weight, found = 8.0, 1, 0, 0.0, []
    for gradient in gradients:
        overflow = not np.isfinite(gradient)
        if overflow:
            scale, last = max(scale / factor, 1.0), count
        else:
            weight -= gradient
            if count - last >= window:
                scale, last = scale * factor, count
        count += 1
        found.append((scale, weight))
    return found


INF = np.inf
GRADIENTS = [1.0, 2.0, INF, 1.0, 1.0, INF, INF, INF, INF, INF, 0.5, 0.25, 1.0]


@pytest.mark.parametrize(("factor", "window"), [(2, 2), (4, 1), (2, 3)])
def test_a_scale_of_the_loss_follows_overflows_and_windows_without_one(factor, window):
    found = scaled_steps(nn.DynamicLossScaleUpdateCell(8.0, factor, window), GRADIENTS)
    assert found == scale_by_hand(GRADIENTS, factor, window)


@pytest.mark.parametrize("manager", [8.0, np.float32([8]), nn.FixedLossScaleUpdateCell(8.0)])
def test_a_fixed_scale_stays_and_a_step_that_overflows_is_left_out(manager):
    found = scaled_steps(manager, [1.0, INF, 2.0])
    assert found == [(8.0, -1.0), (8.0, -1.0), (8.0, -3.0)]


def test_a_flag_must_come_from_an_operator():
    from workbench.network.symbolic import recorder

    def network(x):
        with recorder("network").unless(x):
            return x + 1.0

    with refused("graph/flag", GraphError):
        trace(network, X)
