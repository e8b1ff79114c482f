"""Operators are prepared once for a graph, and small images are worked on together."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from workbench.network.models import load_graph
from workbench.ops import run_kernel
from workbench.ops.kernels.matrix import together
from workbench.run.plan import preparation
from workbench.run.reference import run_reference


def test_a_graph_is_prepared_once_and_its_preparation_ends_with_it():
    graph = load_graph("mlp_train")
    found = preparation(graph)
    ready = found.op(graph, 0)
    assert preparation(graph) is found
    assert found.op(graph, 0) is ready
    ended = weakref.ref(found)
    del graph, found, ready
    gc.collect()
    assert ended() is None


def test_constants_that_every_step_hands_out_cannot_be_changed():
    graph = load_graph("mlp_train")
    known = preparation(graph)
    constants = [
        one
        for number in range(len(graph.ops))
        for one in known.op(graph, number).constants
        if one is not None
    ]
    assert constants
    assert not any(one.flags.writeable for one in constants)


def test_a_second_run_gives_what_the_first_one_gave():
    graph = load_graph("lenet_train")
    first, second = (list(run_reference(graph, state={})) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.key == other.key
        np.testing.assert_array_equal(one.source.array(), other.source.array())


@pytest.mark.parametrize(("count", "size"), [(8, 1), (8, 20_000), (3, 1 << 30), (0, 5), (4, 0)])
def test_blocks_of_images_meet_every_image_once(count, size):
    images = list(range(count))
    assert [one for some in together(count, size) for one in images[some]] == images


@pytest.mark.parametrize("kind", ["Conv2DBackpropInput", "Conv2DBackpropFilter", "Conv2D"])
@pytest.mark.parametrize(
    ("stride", "dilation", "pads"), [(1, 1, 0), (2, 1, 1), (1, 2, 1), (2, 2, 2)]
)
def test_images_that_are_worked_on_together_give_what_each_gives_alone(
    kind, stride, dilation, pads
):
    rng = np.random.default_rng(3)
    x, weight = rng.standard_normal((5, 4, 9, 8)), rng.standard_normal((6, 2, 3, 2))
    settings = {
        "group": 2, "pad_mode": "pad", "pad": (pads,) * 4, "stride": (stride,) * 2,
        "dilation": (dilation,) * 2, "filter_size": weight.shape, "input_size": x.shape,
    }  # fmt: skip
    (forward,) = run_kernel("Conv2D", [x, weight], settings)
    dout = rng.standard_normal(forward.shape)
    inputs = {
        "Conv2D": (x, weight),
        "Conv2DBackpropInput": (dout, weight),
        "Conv2DBackpropFilter": (dout, x),
    }[kind]
    (whole,) = run_kernel(kind, inputs, settings)
    alone = [
        run_kernel(
            kind,
            [one[image : image + 1] if len(one) == len(x) else one for one in inputs],
            {**settings, "input_size": (1, *x.shape[1:])},
        )[0]
        for image in range(len(x))
    ]
    expected = sum(alone) if kind == "Conv2DBackpropFilter" else np.concatenate(alone)
    np.testing.assert_allclose(whole, expected, rtol=1e-12, atol=1e-12)
