"""A healthy device is never blamed: every kind of rounding that a network may get, judged."""

from itertools import product

import numpy as np
import pytest

import workbench as wb
from kit.cases import each_once, nightly
from kit.evidence import defects
from workbench.core.plan import DumpPlan
from workbench.core.tensors import TensorSpec
from workbench.network import nn
from workbench.network.models import load_graph
from workbench.network.nn import functional as F
from workbench.network.tracer import trace
from workbench.npu.precision import Precision, modes_of
from workbench.npu.profiles import PROFILES


def body(x, wide, narrow, gamma, beta):
    """Every operator that has a fast implementation, behind matrix products and a normalization."""
    h = F.layer_norm(x + F.matmul(F.gelu(F.matmul(x, wide)), narrow), gamma, beta)
    return F.tanh(F.softmax(h) * F.rsqrt(F.square(h) + F.exp(h))) / (F.exp(h) + h * h)


SHAPES = ((16, 32), (32, 64), (64, 32), (32,), (32,))


def feeds(graph):
    rng = np.random.default_rng(0)
    scale = {2: 0.2, 1: 1.0}
    return {
        p.name: rng.standard_normal(p.spec.shape) * scale[len(p.spec.shape)]
        for p in graph.parameters
    }


class Stack(nn.Cell):
    """The same operators with float32 weights of its own."""

    def __init__(self):
        super().__init__()
        self.wide, self.narrow = nn.Dense(32, 64), nn.Dense(64, 32)
        self.norm, self.gelu = nn.LayerNorm((32,)), nn.GELU()

    def construct(self, x):
        h = self.norm(x + self.narrow(self.gelu(self.wide(x))))
        return F.tanh(F.softmax(h) * F.rsqrt(F.square(h) + F.exp(h))) / (F.exp(h) + h * h)


X = np.random.default_rng(1).standard_normal((16, 32)).astype(np.float32)
GRAPHS = {
    "lenet": load_graph("lenet"),
    "mlp": load_graph("mlp"),
    "stack": trace(Stack(), X),
}


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """Trees of the reference, by graph; each is written once."""
    trees = {}

    def tree(name, graph, data=None):
        if name not in trees:
            root = tmp_path_factory.mktemp("golden") / name
            trees[name] = wb.simulate(graph, data, DumpPlan("/x"), root)
        return trees[name]

    return tree


def judged(golden, graph, data, root, **settings):
    target = wb.simulate(graph, data, DumpPlan("/x"), root / "target", **settings)
    comparison = wb.compare(target, golden)
    return comparison.verdict, {finding.kind for finding in comparison.findings}


CASES = [
    *((device, mode) for device in ("910a", "a2", "950") for mode in modes_of(PROFILES[device])),
    ("310p", Precision(training=False)),
    ("a3", Precision(hf32=(True, True))),
    ("a2", Precision("force_fp16", saturate=True)),
    ("a2", Precision("force_fp16", select="high_precision")),
]


BY_TURNS = [
    pytest.param(
        *(name, *case),
        marks=() if (place - number) % len(GRAPHS) == 0 else pytest.mark.exhaustive,
        id=f"{name}-{case[0]}-{case[1]}",
    )
    for place, case in enumerate(CASES)
    for number, name in enumerate(GRAPHS)
]
"""Every mode of every device with a network, another one in turn; the nightly run takes all."""


@pytest.mark.parametrize(("name", "device", "mode"), BY_TURNS)
def test_a_clean_run_is_not_blamed(name, device, mode, golden, tmp_path):
    graph = GRAPHS[name]
    settings = {"device": device, "precision_mode": mode}
    verdict, kinds = judged(golden(name, graph), graph, None, tmp_path, **settings)
    assert verdict in ("pass", "warn")
    assert kinds <= {"precision", "unmatched", "info"}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("device", PROFILES)
def test_a_clean_run_of_a_16_bit_network_is_not_blamed(dtype, device, golden, tmp_path):
    if dtype not in PROFILES[device].vector:
        pytest.skip("the device has no bfloat16")
    graph = trace(body, *(TensorSpec(dtype, shape) for shape in SHAPES))
    data = feeds(graph)
    tree = golden(dtype, graph, data)
    verdict, kinds = judged(tree, graph, data, tmp_path, device=device)
    assert verdict in ("pass", "warn")
    assert kinds <= {"precision", "unmatched", "info"}


def test_a_cast_to_bfloat16_is_not_blamed_for_a_file_of_float32(golden, tmp_path):
    """An npy file knows no bfloat16: it holds float32, and its name says what the kernel wrote."""
    graph = GRAPHS["mlp"]
    form = wb.config.new("mindspore-o2").set("common_dump_settings.file_format", "npy")
    mode = "allow_mix_precision_bf16"
    target = wb.simulate(graph, None, form, tmp_path / "t", device="950", precision_mode=mode)
    found = wb.compare(target, golden("mlp", graph))
    assert not defects(found)


OF_EIGHT_BITS = [
    *product(
        ("wrong-sign", "stale-output", "wrong-layout-lanes", "nan-output"),
        ("mindspore-o0o1", "tensorflow"),
    )
]


@pytest.mark.parametrize(("kind", "surface"), nightly(OF_EIGHT_BITS, each_once(OF_EIGHT_BITS)))
def test_what_is_wrong_in_a_run_of_eight_bits_is_found_all_the_same(
    kind, surface, golden, tmp_path
):
    name = "Default/conv2-Conv2d/Conv2D-op0"
    settings = {"device": "950", "precision_mode": "cube_hif8", "surface": surface}
    faulty = wb.simulate(
        GRAPHS["lenet"], None, DumpPlan("/x"), tmp_path / "t", faults=[f"{kind}:{name}"], **settings
    )
    found = wb.compare(faulty, golden("lenet", GRAPHS["lenet"]))
    assert found.verdict == "fail"
    assert found.findings[0].op_name.startswith(name)
