"""Parts of a training step, told from the graph, against the scopes that they stand in."""

import pytest

from kit.build.small_dumps import Net
from workbench.comparison.graphs.phases import phase_by_name, phases
from workbench.network.models import TRAININGS, load_graph

SCOPES = {
    "Default/network-": "forward",
    "Gradients/": "backward",
    "Default/optimizer-": "optimizer",
}


@pytest.mark.parametrize("name", TRAININGS)
def test_every_operator_of_a_step_is_in_the_part_that_its_scope_tells(name):
    graph = load_graph(name)
    wrong = {
        op.name: part
        for op, part in zip(graph.ops, phases(graph), strict=True)
        for scope, wanted in SCOPES.items()
        if op.name.startswith(scope) and part != wanted
    }
    assert wrong == {}


def test_a_gradient_written_by_hand_is_backward_though_it_has_the_scope_of_its_layer():
    net = Net()
    x, w, rate = net.feed("x"), net.weight("w"), net.feed("rate")
    out = net.op(
        "Tanh", net.op("MatMul", x, w, name="Default/fc/MatMul-op0"), name="Default/act/Tanh-op0"
    )
    grad = net.op("Sub", out, x, name="Gradients/Default/loss/Sub-op0")
    factor = net.op("Exp", out, name="Default/act/Exp-op0")
    by_hand = net.op("Mul", grad, factor, name="Default/act/Mul-op0")
    back = net.op("MatMul", x, by_hand, name="Gradients/Default/fc/MatMul-op1")
    clipped = net.op("Mul", back, rate, name="Default/clip/Mul-op1")
    net.op("AssignAdd", w, clipped, name="Default/optimizer/AssignAdd-op0")
    assert phases(net.graph()) == [
        "forward", "forward", "backward", "backward", "backward", "backward", "optimizer", "optimizer"
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["lenet", "resnet", "transformer", "lstm"])
def test_a_network_alone_is_forward(name):
    assert set(phases(load_graph(name))) == {"forward"}


@pytest.mark.parametrize(
    ("name", "kind", "part"),
    [
        ("Gradients_Default_fc1-Dense_Grad_MatMul_MatMul-op0", "MatMul", "backward"),
        ("Default_optimizer-Momentum_ApplyMomentum-op0", "ApplyMomentum", "optimizer"),
        ("Default_bn1-BatchNorm2d_BatchNorm-op0", "BatchNorm", "forward"),
        ("Default_fc1-Dense_MatMul-op0", "MatMul", "forward"),
    ],
)
def test_without_a_graph_names_tell(name, kind, part):
    assert phase_by_name(name, kind) == part
