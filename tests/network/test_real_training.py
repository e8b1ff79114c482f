"""The training step of LeNet as we record it, beside the one that MindSpore 2.10 dumped.

Network and step are those of the pair ``lenet_train_fp16``: in float32, and with
``to_float(float16)``. What differs is told in docs/guide/training.md, and named here.
"""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from workbench.graph.graph import Const, Param, Value
from workbench.graph_files.mindspore.text import read_ms_text
from workbench.network import nn
from workbench.network.tracer import trace
from workbench.ops import settings

ms = SimpleNamespace(float32="float32")
BACKBONE = "Default/network-WithLossCell/_backbone-LeNet5"


class LeNet5(nn.Cell):
    def __init__(self, num_class=10, num_channel=1):
        super().__init__()
        self.conv1 = nn.Conv2d(num_channel, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(16 * 2 * 2, 48)
        self.fc2 = nn.Dense(48, 32)
        self.fc3 = nn.Dense(32, num_class)

    def construct(self, x):
        x = self.conv1(x)
        x = self.relu(x)
        x = self.max_pool2d(x)
        x = self.conv2(x)
        x = self.relu(x)
        x = self.max_pool2d(x)
        x = self.flatten(x)
        x = self.fc1(x)
        x = self.relu(x)
        x = self.fc2(x)
        x = self.relu(x)
        x = self.fc3(x)
        return x  # noqa: RET504 - the source line is compared


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.ce = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, logits, label):
        return self.ce(logits.astype(ms.float32), label)


@pytest.fixture(scope="module", params=["a", "b"])
def steps(request, real_pairs):
    """Our graph and MindSpore's, of float32 (a) or float16 (b)."""
    network = LeNet5()
    if request.param == "b":
        network.to_float("float16")
    optimizer = nn.Momentum(network.trainable_params(), 0.01, 0.9)
    train = nn.TrainOneStepCell(nn.WithLossCell(network, Loss()), optimizer)
    train.set_train()
    x, label = np.zeros((2, 1, 20, 20), np.float32), np.zeros(2, np.int32)
    folder = real_pairs["lenet_train_fp16"].folder / f"dump_{request.param}"
    return trace(train, x, label), read_ms_text(next(folder.rglob("*.ir")))


def inserted(op):
    """Whether MindSpore's CPU backend put a Cast there, for kernels without float16."""
    return op.op_type == "Cast" and bool(op.attrs.get("is_backend_cast"))


def theirs(scope):
    """Scope that MindSpore gives a gradient: that of the first one whose graph it could use again."""
    scope = re.sub(r"fc[12]-Dense/(Grad_MatMul|Grad_BiasAdd)", r"fc3-Dense/\1", scope)
    if scope.startswith("Gradients/") and scope.endswith("/Grad_Cast"):
        return f"Gradients/{BACKBONE}/Grad_Cast"
    return scope


def test_types_and_scopes_are_mindspores(steps):
    ours, real = steps
    assert Counter((op.op_type, theirs(op.scope)) for op in ours.ops) == Counter(
        (op.op_type, op.scope) for op in real.ops if not inserted(op)
    )


def test_weights_and_inputs_are_mindspores(steps):
    ours, real = steps
    assert {(p.name, p.spec.dtype, p.spec.shape) for p in ours.parameters} == {
        (p.name, p.spec.dtype, p.spec.shape) for p in real.parameters
    }


def origin(graph, operand):
    """What an operand is: a parameter, a constant or the result of an operator of some type."""
    while isinstance(operand, Value) and inserted(graph.ops[operand.op]):
        operand = next(graph.ops[operand.op].flat_inputs())
    if isinstance(operand, Param):
        return graph.parameters[operand.index].name
    if isinstance(operand, Const):
        return "constant"
    op = graph.ops[operand.op]
    return f"{op.op_type} {operand.slot} {op.outputs[operand.slot].shape}"


def flow(graph):
    """Every operator with what it reads."""
    return Counter(
        (op.op_type, *(origin(graph, operand) for operand in op.flat_inputs()))
        for op in graph.ops
        if not inserted(op)
    )


def test_every_operator_reads_what_mindspores_reads(steps):
    ours, real = steps
    assert flow(ours) == flow(real)


def chain(op, last):
    """Source lines of the user's code from the outermost on, each once."""
    lines = [frame.code.strip() for frame in op.frames if frame.file.endswith(last)]
    return tuple(dict.fromkeys(lines))


def chains(graph, file):
    return Counter(
        (op.op_type, chain(op, file))
        for op in graph.ops
        if not inserted(op) and op.name not in (f"{BACKBONE}/Cast-op0", f"{BACKBONE}/Cast-op1")
    )


def test_source_lines_are_those_of_the_script(steps):
    ours, real = steps  # the Cast of the network's input has no line of its own here
    assert chains(ours, "test_real_training.py") == chains(real, "script.py")


def test_gradients_carry_lines_of_their_forward_operators_only(steps):
    for graph in steps:
        forward = {op.unique_id: op for op in graph.ops if op.unique_id}
        gradients = [op for op in graph.ops if op.forward_id]
        assert len(gradients) > 15
        for op in gradients:
            assert {frame.group for frame in op.frames} == {"forward"}
            assert op.scope.endswith(f"/Grad_{forward[op.forward_id].op_type}")


def spelled(graph, hidden):
    """Every operator with its settings."""
    return Counter(
        (op.op_type, *sorted((k, str(v)) for k, v in settings(op).items() if k != hidden))
        for op in graph.ops
        if not inserted(op)
    )


def test_settings_are_mindspores(steps):
    ours, real = steps
    hidden = "filter_sizes" if any(map(inserted, real.ops)) else ""  # behind a Cast to int32 there
    assert spelled(ours, hidden) == spelled(real, hidden)
