"""Operators ready to be computed again, and why others are not."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.runs import paired
from kit.build.small_dumps import START, Net, Shot, in_memory, shoot
from workbench.comparison.bind.binding import Execution
from workbench.comparison.replay.attempt import Attempt, ReplayCache
from workbench.comparison.replay.kernel import plain_kernel
from workbench.comparison.replay.own_error import share_unequal
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.graph.graph import Const, Op, Param
from workbench.npu.arithmetic import EXACT

RNG = np.random.default_rng(17)
BLOCK = Execution(0, "Net", 0, 0, 0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def operator(op_type, inputs, given, *, dtype="", **changes):
    inputs, given = list(map(np.asarray, inputs)), np.asarray(given)
    specs = tuple(TensorSpec(a.dtype.name, a.shape) for a in inputs)
    out = TensorSpec(dtype or given.dtype.name, given.shape)
    params = tuple(Param(n) for n in range(len(inputs)))
    op = Op("op", op_type, params, {}, (out,), specs)
    read = dict(enumerate(inputs))
    return Attempt(plain_kernel(op), read, {0: given}, BLOCK, 0, op, "table", **changes)


def attempts(shots, graph, golden=None, theirs=None):
    target = in_memory(shots, graph)
    golden = target if golden is None else in_memory(golden, theirs or graph)
    return ReplayCache(paired(target, golden))


# --- unequal -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected", "share"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 5], 0.25),
        ([np.nan, 1], [np.nan, 1], 0.0),
        ([np.nan, 1], [1, 1], 0.5),
        ([0.0], [-0.0], 0.0),
        ([], [], 0.0),
        ([1, 2], [1], 1.0),
    ],
)
def test_the_share_of_other_numbers(given, expected, share):
    assert share_unequal(np.array(given, float), np.array(expected, float)) == share


# --- results -------------------------------------------------------------------------------------


BETWEEN = 1 + 2.0**-10 + 2.0**-12  # float16 has one number less
SIX = np.arange(6, dtype=np.float32).reshape(2, 3)
KNOWN = np.array([1.0, np.nan, 3.0], np.float32)

RESULTS = {
    "dtype and shape of the file": (
        "Tanh", SIX, np.zeros((2, 3), np.float16), {}, np.tanh(SIX.astype(float)).astype(np.float16)
    ),
    "narrow format in a wide file": (
        "Neg", np.array([BETWEEN], np.float32), np.zeros(1, np.float32), {"dtype": "float16"},
        np.array([-(1 + 2.0**-10)], np.float32),
    ),
    "what the narrow format cannot hold": (
        "Square", np.full(3, 300, np.float32), np.zeros(3, np.float32), {"dtype": "float16"},
        np.full(3, np.inf, np.float32),
    ),
    "first elements": ("Neg", SIX, np.zeros(5, np.float32), {}, -SIX.reshape(-1)[:5]),
    "another size": ("Neg", SIX, np.zeros((5, 5), np.float32), {}, None),
    "unknown elements are as given": (
        "Neg", KNOWN, np.array([-1.0, 77.0, -5.0], np.float32), {"partial": True},
        np.array([-1.0, 77.0, -3.0], np.float32),
    ),
    "NaN of a file": ("Neg", KNOWN, np.array([-1.0, 77.0, -5.0], np.float32), {}, -KNOWN),
    "nothing known": (
        "Neg", np.full(3, np.nan, np.float32), np.zeros(3, np.float32), {"partial": True}, None
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RESULTS)
def test_results_are_like_what_was_given(case):
    op_type, x, given, changes, expected = RESULTS[case]
    found = operator(op_type, [x], given, **changes).results().get(0)
    if expected is None:
        assert found is None
    else:
        assert (found.dtype, found.shape) == (given.dtype, given.shape)
        np.testing.assert_array_equal(found, expected)


def test_without_inventions_only_what_files_have_counts():
    zeros, y = np.zeros(4, np.float32), normal(4)
    attempt = operator(
        "Mul",
        [zeros, y],
        zeros,
        assumed=(Message("compare/assumed-zeros", name="x"),),
        invented=(0,),
    )
    assert list(attempt.results()) == [0]
    bare = attempt.without_inventions()
    assert (bare.results(), bare.assumed, bare.invented) == ({}, (), ())


def test_a_trial_has_what_it_should_have_given():
    x = normal(4)
    trial = operator("Neg", [x], x).trial(0, 0.25, EXACT)
    np.testing.assert_array_equal(trial.expected, -x)
    assert trial.error == pytest.approx(2.0)


# --- out of dumps ----------------------------------------------------------------------------------


def test_an_operator_of_a_dump_by_hand():
    graph = small.chain("MatMul", "ReLU")
    values = small.given(graph)
    found = attempts(shoot(graph, values), graph).attempt(BLOCK, 0)
    expected = values["x"].astype(np.float64) @ values["fc0.weight"].astype(np.float64)
    np.testing.assert_array_equal(found.results()[0], expected.astype(np.float32))
    assert (found.rule, found.assumed, found.partial) == ("table", (), False)


def test_reasons():
    net = Net()
    x = net.feed("x")
    net.op("Pair", x, outputs=1)
    net.op("Tanh", net.op("Exp", x))
    graph = net.graph()
    shots = [
        Shot("Pair", "Default_Pair-op0", "output", 0, normal(4, 4)),
        Shot("Tanh", "Default_Tanh-op0", "output", 0, normal(4, 4)),
    ]
    found = attempts(shots, graph)
    assert found.attempt(BLOCK, 0) == Message("compare/no-kernel", op_type="Pair")
    assert found.attempt(BLOCK, 1) == Message("compare/outputs-not-dumped")
    assert found.attempt(BLOCK, 2) == Message("compare/input-not-dumped", slot=0)


def test_a_feed_that_the_target_lacks_is_the_goldens_and_told():
    graph = small.chain("Tanh")
    values = small.given(graph)
    shots = shoot(graph, values)
    outputs = [s for s in shots if s.io == "output"]
    found = attempts(outputs, graph, shots).attempt(BLOCK, 0)
    assert found.assumed == (Message("compare/assumed-golden", slot=0),)
    np.testing.assert_allclose(found.results()[0], np.tanh(values["x"]), rtol=1e-6)


def test_what_an_operator_computed_is_never_taken_from_the_golden():
    graph = small.chain("Exp", "Tanh")
    shots = shoot(graph, small.given(graph))
    last = [s for s in shots if "Tanh" in s.name and s.io == "output"]
    assert attempts(last, graph, shots).attempt(BLOCK, 1) == Message(
        "compare/input-not-dumped", slot=0
    )


def assigned():
    net = Net()
    net.op("AssignAdd", net.weight("w"), net.feed("x"))
    return net.graph()


def test_an_update_is_judged_by_what_it_left_in_its_input():
    graph = assigned()
    w, x = normal(4, 4), normal(4, 4)
    row = ("AssignAdd", "Default_AssignAdd-op0")
    shots, held = [], w
    for n in range(2):
        held = held + x
        place = (0, n, 0, START + 100 * n)
        shots += [Shot(*row, "input", 0, held, *place), Shot(*row, "input", 1, x, *place)]
    found = attempts(shots, graph)
    second = found.attempt(BLOCK._replace(iteration=1), 0)
    assert set(second.given) == {-1}
    np.testing.assert_array_equal(second.inputs[0], w + x)
    np.testing.assert_allclose(second.results()[-1], w + 2 * x, rtol=1e-6, atol=1e-6)


def test_a_weight_of_a_later_step_is_not_the_goldens():
    """The golden has updated it by gradients of its own."""
    net = Net()
    w = net.weight("w")
    net.op("MatMul", net.feed("x"), w)
    net.op("AssignAdd", w, net.feed("y"))
    graph = net.graph()
    values = small.given(graph)
    golden, target = [], []
    for n in range(2):
        shots = shoot(graph, values, iteration=n, start=START + 1000 * n, parameters=False)
        golden += shots
        target += [s for s in shots if s.op_type == "MatMul" and (s.io, s.slot) != ("input", 1)]
    found = attempts(target, graph, golden)
    assert found.attempt(BLOCK, 0).assumed == (Message("compare/assumed-golden", slot=1),)
    assert found.attempt(BLOCK._replace(iteration=1), 0) == Message(
        "compare/input-not-dumped", slot=1
    )


def test_the_goldens_counterpart():
    graph = small.chain("Exp", "Tanh")
    values = small.given(graph)
    shots = shoot(graph, values)
    spoilt = shoot(graph, values, alter={"Default/Tanh-op0": lambda a: a + 1})
    partner = attempts(shots, graph, spoilt).golden_attempt(BLOCK, 1)
    expected = np.tanh(np.exp(values["x"].astype(np.float64)))
    np.testing.assert_allclose(partner.results()[0], expected, rtol=1e-6)
    np.testing.assert_allclose(partner.given[0], expected + 1, rtol=1e-6)
    other = small.chain("Exp")
    alone = attempts(shots, graph, shoot(other, small.given(other)), other)
    assert isinstance(alone.golden_attempt(BLOCK, 1), Message)


def test_a_constant_scalar_is_an_input_of_no_dimensions():
    net = Net()
    net.op("Mul", net.feed("x"), Const(2.5, "float32"))
    graph = net.graph()
    values = small.given(graph)
    found = attempts(shoot(graph, values), graph).attempt(BLOCK, 0)
    np.testing.assert_array_equal(found.results()[0], np.float32(2.5) * values["x"])


def stated_as_half(x):
    """A Neg of a float16 graph whose files hold float32."""
    net = Net()
    net.op("Neg", net.feed("x", dtype="float16"), dtype="float16")
    row = ("Neg", "Default_Neg-op0")
    shots = [Shot(*row, "input", 0, x), Shot(*row, "output", 0, -x)]
    return attempts(shots, net.graph()).attempt(BLOCK, 0)


def test_inputs_are_read_in_the_format_that_the_graph_states():
    x = np.full((4, 4), 1 + 2.0**-10 + 2.0**-12, np.float32)
    found = stated_as_half(x)
    assert (found.inputs[0] == 1 + 2.0**-10).all()
    assert found.inputs[0].dtype == np.float32


def test_numbers_that_the_stated_format_cannot_hold_become_infinite_in_silence():
    found = stated_as_half(np.full((4, 4), 3e38, np.float32))
    assert (found.results()[0] == -np.inf).all()


def two_tanh():
    graph = small.chain("Tanh", "Tanh")
    return attempts(shoot(graph, small.given(graph)), graph)


def test_an_attempt_is_kept():
    found = two_tanh()
    first = found.attempt(BLOCK, 0)
    assert found.attempt(BLOCK, 1) is not first
    assert found.attempt(BLOCK, 0) is first


def test_attempts_are_kept_within_bounds(monkeypatch):
    one = two_tanh().attempt(BLOCK, 0).nbytes
    assert one == 2 * 16 * 4
    monkeypatch.setattr(sys.modules[ReplayCache.__module__], "_HELD", one)
    found = two_tanh()
    first = found.attempt(BLOCK, 0)
    found.attempt(BLOCK, 1)
    again = found.attempt(BLOCK, 0)
    assert again is not first
    np.testing.assert_array_equal(again.inputs[0], first.inputs[0])
