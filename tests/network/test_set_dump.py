"""Marks of ``set_dump``: those that MindSpore's graphs have, and trees that hold just what is marked."""

import json
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from kit.words import check_said, refused
from workbench.core.errors import GraphError
from workbench.graph.marks import is_marked, mark_operators
from workbench.network import nn
from workbench.network.cell import Cell
from workbench.network.tracer import trace

RECORD = json.loads(
    (Path(__file__).parents[1] / "data/conformance/marks_2.10.0_cpu.json").read_text()
)["cases"]
CASES = {case["case"]: case for case in RECORD}
X = np.ones((2, 4), np.float32)


class Block(Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.act = nn.Dense(4, 4, activation="relu"), nn.Sigmoid()

    def construct(self, x):
        return self.act(self.dense(x)) + x


class Net(Cell):
    text = "text"

    def __init__(self):
        super().__init__()
        self.a, self.b, self.last = Block(), Block(), nn.Dense(4, 2)

    def construct(self, x):
        return self.last(self.a(x) + self.b(x))


class Sole(Cell):
    """A network that holds its operators, as MindSpore's networks hold ``ops.Mul()``."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 2)
        self.mul, self.sig = nn.Primitive("Mul"), nn.Primitive("Sigmoid")

    def construct(self, x):
        y = self.dense(x)
        return self.sig(self.mul(y, y))


class Fork(Sole):
    def construct(self, x):
        y = self.dense(x)
        return self.mul(y, self.sig(y))


class Twice(Cell):
    def __init__(self):
        super().__init__()
        self.a, self.last = nn.Dense(4, 4), nn.Dense(4, 2)

    def construct(self, x):
        return self.last(self.a(self.a(x)))


KINDS = {
    Net: {"MatMul", "BiasAdd", "Sigmoid", "Add"},
    Sole: {"MatMul", "BiasAdd", "Sigmoid", "Mul"},
    Fork: {"MatMul", "BiasAdd", "Sigmoid", "Mul"},
    Twice: {"MatMul", "BiasAdd"},
}
"""Network → types of operators that must have one name here and in MindSpore."""
NETS = {net.__name__: net for net in KINDS}


def marked(net, marks, trains=False):
    """Names of the marked operators, and of all, of a network whose cells are marked in turn."""
    patterns = []
    for place, enabled in marks:
        if place == "add":
            patterns.append("Default/Add-op0")
            continue
        target = net
        for name in filter(None, place.split(".")):
            target = getattr(target, name)
        wb.set_dump(target, enabled)
    inputs = (X,)
    if trains:
        loss = nn.WithLossCell(net, nn.MSELoss())
        net = nn.TrainOneStepCell(loss, nn.SGD(net.trainable_params(), 0.1)).set_train()
        inputs = (X, np.ones((2, 2), np.float32))
    graph = mark_operators(trace(net, *inputs), patterns)
    return {op.name for op in graph.ops if is_marked(op)}, {op.name for op in graph.ops}


@pytest.mark.parametrize("case", [name for name, case in CASES.items() if "operators" in case])
def test_the_operators_that_mindspore_marks_are_marked(case):
    recorded = CASES[case]
    real = {name: flag for name, _, flag in recorded["operators"]}
    net = NETS[recorded.get("net", "Net")]()
    own, every = marked(net, recorded["marks"], recorded.get("trains", False))
    shared = every & real.keys()
    assert KINDS[type(net)] <= {name.rpartition("/")[2][:-4] for name in shared}
    assert own & shared == {name for name in shared if real[name]}
    assert sums(own) == sums(name for name in real if real[name])


def sums(names):
    """How many sums of gradients there are; MindSpore numbers and places them in its own way."""
    return sum("/AddN-op" in name for name in names)


@pytest.mark.parametrize(
    ("case", "code"), [("no cell", "graph/mark-target"), ("not a boolean", "graph/mark-enabled")]
)
def test_what_mindspore_refuses_to_mark_is_refused(case, code):
    assert CASES[case]["error"] == "ValueError"
    with refused(code, GraphError):
        marked(Net(), CASES[case]["marks"])


def test_a_cpu_marks_and_refuses_the_mode():
    assert CASES["a cell"]["warned"]
    assert CASES["mode 2"]["error"] == "RuntimeError"
    config = wb.config.new("mindspore-cpu").set("common_dump_settings.dump_mode", 2)
    assert "set-dump" in {one.id for one in config.check() if one.severity == "error"}


def test_marks_while_a_network_is_traced_are_refused():
    class Late(Net):
        def construct(self, x):
            wb.set_dump(self.a)
            return super().construct(x)

    with refused("graph/mark-late", GraphError, cell="Block"):
        trace(Late(), X)


def test_a_pattern_that_meets_nothing_names_the_nearest():
    with refused("graph/mark-nowhere", GraphError, got="Default/Ad-op0") as caught:
        mark_operators(trace(Net(), X), ["Default/Ad-op0"])
    assert "Default/Add-op0" in caught.value.values["close"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        (
            "Sigmoid",
            {"Default/a-Block/act-Sigmoid/Sigmoid-op0", "Default/b-Block/act-Sigmoid/Sigmoid-op0"},
        ),
        ("*last*MatMul*", {"Default/last-Dense/MatMul-op0"}),
        (
            "Default/a-Block/dense-Dense/activation-ReLU",
            {"Default/a-Block/dense-Dense/activation-ReLU/ReLU-op0"},
        ),
        ("Default/Add-op0", {"Default/Add-op0"}),
    ],
)
def test_patterns_mark_names_types_and_scopes(pattern, found):
    graph = mark_operators(trace(Net(), X), [pattern])
    assert {op.name for op in graph.ops if is_marked(op)} == found


def form(surface):
    return wb.config.new(surface).set("common_dump_settings.dump_mode", 2)


def dumped(root: Path) -> set[str]:
    return {record.key.op_name for record in wb.load(root).records}


def test_a_tree_holds_just_what_is_marked(tmp_path):
    net = Net()
    wb.set_dump(net.b.dense)
    graph = trace(net, X)
    wb.simulate(
        graph,
        None,
        form("mindspore-o0o1"),
        tmp_path / "out",
        device="a2",
        set_dump=["Default/Add-op0"],
    )
    assert dumped(tmp_path / "out") == {
        "Default_Add-op0",
        "Default_b-Block_dense-Dense_MatMul-op0",
        "Default_b-Block_dense-Dense_BiasAdd-op0",
        "Default_b-Block_dense-Dense_activation-ReLU_ReLU-op0",
    }
    text = next((tmp_path / "out").rglob("*.ir")).read_text()
    assert text.count('dump: "true"') == 4


def test_without_a_mark_nothing_is_dumped(tmp_path):
    told = []
    wb.simulate(
        trace(Net(), X),
        None,
        form("mindspore-o0o1"),
        tmp_path / "out",
        device="a2",
        report=told.append,
    )
    (said,) = told
    check_said(said.values["why"], "simulation/nothing-marked")
    assert not list(tmp_path.rglob("*.npy"))


def test_a_preview_knows_the_marks_of_a_graph(tmp_path):
    net = Net()
    wb.set_dump(net.last)
    graph = trace(net, X)
    foretold = wb.preview(form("mindspore-o0o1"), graph)
    assert foretold.exact
    wb.simulate(graph, None, form("mindspore-o0o1"), tmp_path, device="a2")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert foretold.files == len(written)


@pytest.mark.parametrize("surface", ["mindspore-o2", "mindspore-ge"])
def test_the_graph_engine_dumps_the_kernels_that_hold_a_marked_operator(tmp_path, surface):
    net = Net()
    wb.set_dump(net.a.act)
    wb.simulate(trace(net, X), None, form(surface), tmp_path, device="a2", surface=surface)
    assert dumped(tmp_path) == {"Default_a-Block_act-Sigmoid_Sigmoid-op0"}


def test_a_primitive_computes_as_its_operator(tmp_path):
    graph = trace(Sole(), X)
    assert [op.op_type for op in graph.ops] == ["MatMul", "BiasAdd", "Mul", "Sigmoid"]
    assert [op.name for op in graph.ops][2:] == ["Default/Mul-op0", "Default/Sigmoid-op0"]
    assert nn.Primitive("ReduceSum", keep_dims=True).settings == {"keep_dims": True}
    with refused("graph/primitive", GraphError, got="Mull"):
        nn.Primitive("Mull")


def test_a_marked_primitive_is_dumped_alone(tmp_path):
    net = Sole()
    wb.set_dump(net.mul)
    config = wb.config.new("mindspore-o0o1").set("common_dump_settings.dump_mode", 2)
    out = wb.simulate(trace(net, X), None, config, tmp_path / "out", device="a2")
    names = {path.name.partition(".0.")[0] for path in out.rglob("*.npy")}
    assert names == {"Mul.Default_Mul-op0"}
    wb.set_dump(net.mul, False)
    assert not any(map(is_marked, trace(net, X).ops))
