"""Converters of recurrent layers, against onnx's own evaluator, and each direction against the other."""

import numpy as np
import pytest

from kit.build.onnx_models import (
    OnnxCase,
    assert_as_onnx,
    assert_every_converter,
    computed,
    model,
    node,
    numbered,
    one,
)
from workbench.core.errors import GraphError
from workbench.network.onnx import recurrent

RNG = np.random.default_rng(0)
STEPS, BATCH, SIZE, HIDDEN = 4, 2, 3, 5
X = RNG.uniform(-1, 1, (STEPS, BATCH, SIZE)).astype(np.float32)
GATES = {"LSTM": 4, "GRU": 3}
STATES = {"LSTM": ("h", "c"), "GRU": ("h",)}


def draw(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def weights_of(op_type, directions=1):
    rows = GATES[op_type] * HIDDEN
    return {
        "w": draw(directions, rows, SIZE),
        "r": draw(directions, rows, HIDDEN),
        "b": draw(directions, 2 * rows),
    }


def started(op_type, directions=1):
    states = {name: draw(directions, BATCH, HIDDEN) for name in STATES[op_type]}
    return {**weights_of(op_type, directions), "lengths": None, **states}


def case(op_type, weights, **attrs):
    return OnnxCase(
        op_type, {"x": X}, weights, {"hidden_size": HIDDEN, **attrs}, count=1 + len(STATES[op_type])
    )


def without_bias(op_type):
    return {name: value for name, value in weights_of(op_type).items() if name != "b"}


CASES = [
    *(case(op_type, weights_of(op_type)) for op_type in GATES),
    *(case(op_type, without_bias(op_type)) for op_type in GATES),
    *(case(op_type, started(op_type)) for op_type in GATES),
    case("GRU", weights_of("GRU"), linear_before_reset=1),
    case("GRU", started("GRU"), linear_before_reset=1),
]


@pytest.mark.parametrize("case", numbered(CASES))
def test_a_node_computes_what_onnx_does(case):
    assert_as_onnx(case, rtol=2e-5, atol=2e-5)


def test_every_converter_has_a_case():
    assert_every_converter(recurrent, CASES)


def of_direction(weights, place):
    """What one direction of a layer has of its weights and states."""
    known = {name: value for name, value in weights.items() if value is not None}
    return {name: value[place : place + 1] for name, value in known.items()}


def run(op_type, x, weights, **attrs):
    """Outputs of a layer; inputs that it is not given are left open."""
    names = ("w", "r", "b", "lengths", *STATES[op_type])
    given = {name: weights[name] for name in names if weights.get(name) is not None}
    order = [name if name in given else "" for name in names]
    outputs = [f"y{k}" for k in range(1 + len(STATES[op_type]))]
    only = node(op_type, ["x", *order], outputs, hidden_size=HIDDEN, **attrs)
    return computed(model([only], {"x": x}, outputs, given), {"x": x})


@pytest.mark.parametrize("op_type", GATES)
def test_the_way_back_is_the_way_forward_of_the_sequence_turned_around(op_type):
    weights = started(op_type)
    y, *states = run(op_type, X, weights, direction="reverse")
    turned, *others = run(op_type, X[::-1], weights)
    np.testing.assert_array_equal(y, turned[::-1])
    for one_state, other in zip(states, others, strict=True):
        np.testing.assert_array_equal(one_state, other)


@pytest.mark.parametrize("op_type", GATES)
def test_both_directions_are_one_beside_the_other(op_type):
    weights = started(op_type, 2)
    both = run(op_type, X, weights, direction="bidirectional")
    for place, direction in enumerate(("forward", "reverse")):
        alone = run(op_type, X, of_direction(weights, place), direction=direction)
        np.testing.assert_array_equal(both[0][:, place], alone[0][:, 0])
        for one_state, other in zip(both[1:], alone[1:], strict=True):
            np.testing.assert_array_equal(one_state[place], other[0])


@pytest.mark.parametrize("op_type", GATES)
def test_a_layout_with_batches_in_front_is_the_same_turned(op_type):
    weights = started(op_type)
    plain = run(op_type, X, weights)
    turned = {
        name: value.swapaxes(0, 1) if name in STATES[op_type] else value
        for name, value in weights.items()
        if value is not None
    }
    first = run(op_type, X.swapaxes(0, 1), turned, layout=1)
    np.testing.assert_array_equal(first[0], plain[0].transpose(2, 0, 1, 3))
    for one_state, other in zip(first[1:], plain[1:], strict=True):
        np.testing.assert_array_equal(one_state, other.swapaxes(0, 1))


LACKING = [
    ("graph/onnx-attribute", {"activations": ["Relu", "Tanh", "Tanh"]}, {}),
    ("graph/onnx-attribute", {"clip": 1.0}, {}),
    ("graph/onnx-attribute", {"input_forget": 1}, {}),
    ("graph/onnx-lengths", {}, {"lengths": np.array([4, 3], np.int32)}),
    ("graph/onnx-peepholes", {}, {"lengths": np.array([4, 4], np.int32), "h": draw(1, 2, 5), "c": draw(1, 2, 5),
                                  "p": draw(1, 15)}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "attrs", "more"), LACKING)
def test_what_is_lacking_is_refused(code, attrs, more):
    with pytest.raises(GraphError) as error:
        one(
            "LSTM",
            {"x": X},
            21,
            {**weights_of("LSTM"), **more},
            count=3,
            hidden_size=HIDDEN,
            **attrs,
        )
    causes = [error.value, *error.value.values.get("problems", [])]
    assert code in [cause.code for cause in causes]


def test_lengths_of_all_steps_and_the_usual_activations_are_said_and_change_nothing():
    weights = weights_of("LSTM")
    plain = run("LSTM", X, weights)
    said = run("LSTM", X, {**weights, "lengths": np.full(BATCH, STEPS, np.int32)},
               activations=["Sigmoid", "Tanh", "Tanh"])  # fmt: skip
    for one_output, other in zip(plain, said, strict=True):
        np.testing.assert_array_equal(one_output, other)
