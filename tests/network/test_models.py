"""The example networks and the way users name their own."""

import math

import numpy as np
import pytest

from kit.build.runs import results
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network.models import MODELS, TRAININGS, load_graph, networks
from workbench.network.models.scripts import trace_script
from workbench.network.tracer import trace


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_is_the_same_for_the_same_seed(name):
    one, two, other = load_graph(name), load_graph(name), load_graph(name, seed=1)
    assert one == two
    for a, b, c in zip(one.parameters, two.parameters, other.parameters, strict=True):
        np.testing.assert_array_equal(a.default, b.default)
        assert not np.array_equal(a.default, c.default) or not a.default.any()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_lines_of_a_model_are_its_own_not_those_of_the_layers(name):
    for op in load_graph(name).ops:
        assert op.frame.file.endswith("networks.py")
        assert any(word in op.frame.code for word in ("self.", "ops.", "outputs[:, -1]"))


def test_lenet_has_the_operators_of_the_real_one():
    names = [op.name for op in load_graph("lenet").ops]
    assert names[:4] == [
        "Default/conv1-Conv2d/Conv2D-op0",
        "Default/relu-ReLU/ReLU-op0",
        "Default/max_pool2d-MaxPool2d/MaxPool-op0",
        "Default/conv2-Conv2d/Conv2D-op0",
    ]
    assert names[-2:] == ["Default/fc3-Dense/MatMul-op0", "Default/fc3-Dense/BiasAdd-op0"]


FILE = """
import numpy as np
from workbench.network import nn
{extra}

class Net(nn.Cell):
    def __init__(self):
        self.fc = nn.Dense(4, 2)

    def construct(self, x):
        return self.fc(x)


built = Net()


def function(x):
    return x * factor
"""


def write(tmp_path, extra="factor = 2.0\nINPUTS = np.ones((3, 4), np.float32)"):
    path = tmp_path / "net.py"
    path.write_text(FILE.format(extra=extra), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("Net", ["MatMul", "BiasAdd"]),
        ("built", ["MatMul", "BiasAdd"]),
        ("function", ["Mul"]),
    ],
)
def test_a_class_a_cell_and_a_function_of_a_file_can_be_loaded(tmp_path, name, types):
    graph = load_graph(f"{write(tmp_path)}:{name}")
    assert [op.op_type for op in graph.ops] == types
    assert graph.name == name
    assert graph.parameters[-1].default.shape == (3, 4)


@pytest.mark.parametrize(
    "extra",
    [
        "INPUTS = (np.ones((3, 4), np.float32),)",
        "def inputs():\n    return np.ones((3, 4), np.float32)",
        "def inputs(seed):\n    return [np.full((3, 4), seed, np.float32)]",
    ],
)
def test_a_file_says_what_goes_in(tmp_path, extra):
    graph = load_graph(f"{write(tmp_path, extra)}:Net", seed=1)
    np.testing.assert_array_equal(graph.parameters[-1].default, np.ones((3, 4)))


def test_a_file_may_import_its_neighbors(tmp_path):
    (tmp_path / "neighbor_of_net.py").write_text("factor = 3.0\n", encoding="utf-8")
    extra = "from neighbor_of_net import factor\nINPUTS = np.ones(2, np.float32)"
    graph = load_graph(f"{write(tmp_path, extra)}:function")
    assert graph.ops[0].inputs[1].value == 3.0


@pytest.mark.parametrize(
    ("name", "extra", "code", "values"),
    [
        ("Nett", "INPUTS = 1", "core/choice", {"got": "Nett", "known": ["Net", "built", "function"]}),
        ("Net", "", "graph/script-inputs", {}),
        ("Net", "1 / 0", "graph/script-failed", {"error": "ZeroDivisionError"}),
        ("Net", "INPUTS = 1\nclass Net:\n    def __init__(self): ()[1]", "graph/trace-failed",
         {"name": "Net", "error": "IndexError"}),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(tmp_path, name, extra, code, values):
    path = write(tmp_path, extra)
    with refused(code, GraphError, place=str(path), **values):
        load_graph(f"{path}:{name}")


def test_a_file_of_another_kind_is_no_script(tmp_path):
    (tmp_path / "net.txt").write_text("x = 1")
    with refused("graph/not-python", GraphError, got=str(tmp_path / "net.txt")):
        trace_script(str(tmp_path / "net.txt"), "Net")


@pytest.mark.parametrize("text", ["resnet51", "model.txt", "net.py"])
def test_an_unknown_form_is_refused_with_the_known_ones(text):
    known = sorted([*MODELS, *TRAININGS])
    with refused("graph/unknown-network", GraphError, got=text, known=known):
        load_graph(text)


def test_a_missing_file_is_refused():
    with refused("core/missing", GraphError, got="nowhere.py"):
        load_graph("nowhere.py:Net")


# ---------------- what the parts of the networks compute, in NumPy


def drawn(cell):
    """Give every weight values of its own; return them in float64."""
    rng = np.random.default_rng(6)
    found = {}
    for name, weight in cell.parameters_and_names():
        weight.set_data(rng.uniform(0.1, 0.6, weight.shape).astype(np.float32))
        found[name] = weight.default.astype(float)
    return found


def run(cell, x):
    graph = trace(cell, x)
    (feed,) = [one.name for one in graph.parameters if not one.is_weight]
    return results(graph, {feed: x})[0]


def dense(x, w, name):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def layer_norm(x, w, name):
    spread = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return (x - x.mean(-1, keepdims=True)) / spread * w[f"{name}.gamma"] + w[f"{name}.beta"]


def attention(x, w, name, heads):
    """Every head and position on its own."""
    q, k, v = (dense(x, w, f"{name}{part}") for part in ("query", "key", "value"))
    batch, length, size = x.shape
    width, mixed = size // heads, np.zeros_like(x)
    for n, head, i in np.ndindex(batch, heads, length):
        some = slice(head * width, (head + 1) * width)
        scores = np.array([q[n, i, some] @ k[n, j, some] for j in range(length)]) / math.sqrt(width)
        shares = np.exp(scores) / np.exp(scores).sum()
        mixed[n, i, some] = sum(shares[j] * v[n, j, some] for j in range(length))
    return dense(mixed, w, f"{name}output")


WORDS = np.random.default_rng(1).uniform(-1, 1, (2, 3, 8)).astype(np.float32)


def test_attention_mixes_values_by_the_softmax_of_scaled_products():
    cell = networks.Attention(8, 2)
    want = attention(WORDS.astype(float), drawn(cell), "", 2)
    np.testing.assert_allclose(run(cell, WORDS), want, rtol=1e-4)


def test_an_encoder_layer_adds_and_normalizes_twice():
    cell = networks.EncoderLayer(8, 2, 16)
    w, x = drawn(cell), WORDS.astype(float)
    x = layer_norm(x + attention(x, w, "attention.", 2), w, "norm1")
    inner = dense(x, w, "dense1")
    inner = inner / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3)))
    want = layer_norm(x + dense(inner, w, "dense2"), w, "norm2")
    np.testing.assert_allclose(run(cell, WORDS), want, rtol=1e-4, atol=1e-5)


PICTURE = np.random.default_rng(2).uniform(-1, 1, (2, 3, 5, 6)).astype(np.float32)


def convolved(x, weight, stride, pad):
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    found = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))
    return np.einsum("ncijhw,ochw->noij", found[:, :, ::stride, ::stride], weight)


def batch_norm(x, w, name):
    gamma, beta, mean, variance = (
        w[f"{name}.{part}"][:, None, None]
        for part in ("gamma", "beta", "moving_mean", "moving_variance")
    )
    return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta


@pytest.mark.parametrize(("channels", "stride"), [(3, 1), (3, 2), (4, 1)])
def test_a_block_leads_its_input_around_two_convolutions(channels, stride):
    cell = networks.BasicBlock(3, channels, stride)
    w, x = drawn(cell), PICTURE.astype(float)
    out = np.maximum(batch_norm(convolved(x, w["conv1.weight"], stride, 1), w, "bn1"), 0)
    out = batch_norm(convolved(out, w["conv2.weight"], 1, 1), w, "bn2")
    if stride != 1 or channels != 3:
        x = batch_norm(convolved(x, w["down.0.weight"], stride, 0), w, "down.1")
    np.testing.assert_allclose(run(cell, PICTURE), np.maximum(out + x, 0), rtol=1e-4)


def test_dense_layers_follow_each_other_with_a_relu_between():
    cell, x = networks.MLP(), np.random.default_rng(3).uniform(-1, 1, (2, 64)).astype(np.float32)
    w = drawn(cell)
    y = np.maximum(dense(x.astype(float), w, "body.0"), 0)
    y = np.maximum(dense(y, w, "body.1"), 0)
    np.testing.assert_allclose(run(cell, x), dense(y, w, "head"), rtol=1e-4)


STARTED = [
    (networks.BatchNorm(400), "gamma", 0.7, 1.3, True), (networks.BatchNorm(400), "beta", -0.2, 0.2, True),
    (networks.BatchNorm(400), "moving_mean", -0.3, 0.3, False),
    (networks.BatchNorm(400), "moving_variance", 0.5, 1.5, False),
    (networks.Norm(400), "gamma", 0.7, 1.3, True), (networks.Norm(400), "beta", -0.2, 0.2, True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "name", "low", "high", "trained"), STARTED, ids=range(len(STARTED))
)
def test_normalizations_start_as_training_leaves_them(cell, name, low, high, trained):
    weight = dict(cell.parameters_and_names())[name]
    values = weight.array(name, 0)
    assert low <= values.min() < low + 0.02
    assert high - 0.02 < values.max() <= high
    assert (weight in cell.trainable_params()) is trained


SIZES = {
    "lenet": ((2, 1, 28, 28), "float32", (2, 10)), "alexnet": ((2, 3, 111, 111), "float32", (2, 10)),
    "mlp": ((4, 64), "float32", (4, 10)), "resnet": ((2, 3, 32, 32), "float32", (2, 10)),
    "transformer": ((2, 12), "int32", (2, 10)), "lstm": ((2, 8, 20), "float32", (2, 10)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_model_takes_and_gives_tensors_of_these_sizes(name):
    taken, dtype, given = SIZES[name]
    graph = load_graph(name)
    (feed,) = [one for one in graph.parameters if not one.is_weight]
    assert (feed.spec.shape, feed.spec.dtype) == (taken, dtype)
    assert graph.spec(graph.outputs[0]).shape == given


TRAINED = {
    "lenet_train": ((8, 1, 28, 28), "float32"), "mlp_train": ((16, 64), "float32"),
    "resnet_train": ((8, 3, 32, 32), "float32"), "transformer_train": ((16, 12), "int32"),
    "moe_train": ((8, 12), "int32"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRAININGS)
def test_a_training_has_a_new_batch_of_its_seed_in_every_iteration(name):
    shape, dtype = TRAINED[name]
    batch = TRAININGS[name][1]
    data, labels = batch(0, 0)
    assert (data.shape, data.dtype, labels.shape, labels.dtype) == (
        shape,
        dtype,
        shape[:1],
        np.int32,
    )
    assert 0 <= labels.min() <= labels.max() < 10
    for one, other in zip(batch(0, 0), (data, labels), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(batch(0, 1)[0], data)
    assert not np.array_equal(batch(1, 0)[0], data)
    if dtype == "int32":  # ids say the class
        np.testing.assert_array_equal(data // 10, np.repeat(labels[:, None], 12, 1))
        assert data.max() < 100
    graph = load_graph(name)
    feeds = graph.batches(3)
    for one, other in zip(feeds.values(), batch(0, 3), strict=True):
        np.testing.assert_array_equal(one, other)
