"""ONNX models of onnx's ``light`` backend set, on the reference and on the simulated NPU.

Their files and the published outputs come with the package onnx. Their weights are constants, so
that most outputs are uniform; the same networks with random weights go against onnx's own evaluator.
Every run computes them in float64 or on one device, by turns; the nightly run in both, in float32 and on another
device, too.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from kit.build.runs import results
from kit.cases import nightly
from workbench.network.onnx import read_onnx
from workbench.npu.runner import run_npu
from workbench.run.reference import run_reference

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
LARGE = ("light_vgg19", "light_bvlc_alexnet", "light_zfnet512")  # weights of 240 to 570 MB
MODELS = sorted(path.stem for path in LIGHT.glob("*.onnx"))
RUNS = {
    "reference": run_reference,
    "float32": partial(run_reference, dtype="float32"),
    "a2": partial(run_npu, profile="a2"),
    "910a": partial(run_npu, profile="910a"),
}


CASES = [
    (name, run)
    for name in MODELS
    for run in RUNS
    # its classes are a thousand equal numbers of ten digits: in single precision rounding decides
    if (name, run) != ("light_squeezenet", "float32")
]
RANDOM = ("light_squeezenet", "light_shufflenet", "light_resnet50")
"""Models that get random weights below, which says more of their outputs than constants do."""
ALIKE = ("light_vgg19", "light_zfnet512")
"""Models that have the layers of alexnet, and weights as large."""
SHOWN = [name for name in MODELS if name not in (*RANDOM, *ALIKE)]
DAILY = [(name, ("a2", "reference")[number % 2]) for number, name in enumerate(SHOWN)]
"""Each model in one of two ways, by turns."""


def marked(cases):
    return [pytest.param(*c, marks=pytest.mark.slow) if c[0] in LARGE else c for c in cases]


def image(graph):
    """The input of the backend tests: numbers from 0 to 1, in order."""
    (feed,) = (p for p in graph.parameters if not p.is_weight)
    count = np.prod(feed.spec.shape)
    return {feed.name: (np.arange(count) / count).reshape(feed.spec.shape).astype(np.float32)}


def test_the_light_set_is_there():
    assert {"light_resnet50", "light_squeezenet", "light_bvlc_alexnet"} <= {*MODELS}
    assert len(MODELS) >= 9


@pytest.mark.parametrize(("name", "run"), nightly(marked(CASES), DAILY))
def test_a_light_model_gives_its_published_output(name, run):
    graph = read_onnx(LIGHT / f"{name}.onnx")
    want = numpy_helper.to_array(onnx.load_tensor(str(LIGHT / f"{name}_output_0.pb")))
    (got,) = results(graph, image(graph), RUNS[run])
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-7)  # the tolerance of these tests


def with_random_weights(name):
    """The model up to its softmax, with random constants at a scale that keeps signals alive."""
    model = onnx.load(str(LIGHT / f"{name}.onnx"))
    shapes = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    rng = np.random.default_rng(0)
    nodes = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            nodes.append(node)
            continue
        shape = tuple(shapes[node.input[0]])
        fan_in = np.prod(shape[1:]) if len(shape) > 1 else 1
        values = (
            rng.standard_normal(shape) * np.sqrt(2 / fan_in) if fan_in > 1 else rng.random(shape)
        )
        model.graph.initializer.append(
            numpy_helper.from_array(values.astype(np.float32), node.output[0])
        )
    assert nodes[-1].op_type == "Softmax"
    del model.graph.node[:]
    model.graph.node.extend(nodes[:-1])
    model.graph.output[0].name = nodes[-1].input[0]
    return model


@pytest.mark.slow
@pytest.mark.parametrize("name", nightly(RANDOM, ("light_squeezenet", "light_shufflenet")))
def test_a_network_with_random_weights_gives_what_onnx_says(name):
    model = with_random_weights(name)
    graph = read_onnx(model)
    feed = image(graph)
    # at opset 9 the evaluator updates the moments of a BatchNormalization with one output, too;
    # these networks mean the same at 15
    if any(node.op_type == "BatchNormalization" for node in model.graph.node):
        model.opset_import[0].version = 15
    want = ReferenceEvaluator(model).run(
        None, dict(zip([feed_name(model)], feed.values(), strict=True))
    )
    (got,) = results(graph, feed, RUNS["float32"])
    spread = want[0].std()
    assert spread > 0.01 * np.abs(want[0]).max()
    np.testing.assert_allclose(got, want[0], rtol=0, atol=1e-4 * spread)
    (device,) = results(graph, feed, RUNS["a2"])
    np.testing.assert_allclose(device, want[0], rtol=0, atol=0.02 * spread)  # HF32 convolutions


def feed_name(model):
    weights = {t.name for t in model.graph.initializer}
    return next(info.name for info in model.graph.input if info.name not in weights)
