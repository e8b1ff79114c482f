"""The example networks and the way users name their own."""

import numpy as np
import pytest

from kit.words import refused
from workbench.core.errors import GraphError
from workbench.network.models import MODELS, TRAININGS, load_graph
from workbench.network.models.scripts import trace_script


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
