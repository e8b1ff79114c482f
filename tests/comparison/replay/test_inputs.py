"""What operators read and gave, out of dumps whose every file is written by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from kit.build import small_dumps as small
from kit.build.runs import paired
from kit.build.small_dumps import START, Net, Shot, in_memory, on_disk, shoot
from workbench.comparison.bind.binding import Execution
from workbench.comparison.replay import inputs
from workbench.comparison.replay.inputs import BoundedCache, DumpedInputs
from workbench.core.tensors import TensorSpec
from workbench.core.words import Message
from workbench.dump.reader import load
from workbench.graph.graph import Const
from workbench.graph_files.onnx.dialect import OUTPUTS

RNG = np.random.default_rng(11)


def values_of(shots, graph):
    dump = in_memory(shots, graph)
    return DumpedInputs(paired(dump, dump).target)


def block(iteration=0):
    return Execution(0, "Net", 0, iteration, 0)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def without(shots, *places):
    """Shots but for those of ``(part of the name, io, slot)``."""
    return [
        s
        for s in shots
        if not any(name in s.name and (io, slot) == (s.io, s.slot) for name, io, slot in places)
    ]


# --- inputs and outputs --------------------------------------------------------------------------


def two():
    net = Net()
    net.op("ReLU", net.op("Tanh", net.feed("x")))
    graph = net.graph()
    return graph, small.given(graph)


def test_an_input_of_its_own_is_read_first():
    graph, given = two()
    shots = [
        s._replace(data=s.data + 1) if ("ReLU" in s.name and s.io == "input") else s
        for s in shoot(graph, given)
    ]
    known = values_of(shots, graph).read(block(), 1, 0)
    np.testing.assert_array_equal(known.array, np.tanh(given["x"]) + 1)
    assert known[1:] == (None, False, False)


def test_an_input_without_a_file_is_its_producers_output():
    graph, given = two()
    shots = without(shoot(graph, given), ("ReLU", "input", 0))
    found = values_of(shots, graph).read(block(), 1, 0)
    np.testing.assert_array_equal(found.array, np.tanh(given["x"]))


def test_an_input_of_which_there_is_no_file_at_all_is_not_known():
    graph, given = two()
    shots = without(shoot(graph, given), ("ReLU", "input", 0), ("Tanh", "output", 0))
    values = values_of(shots, graph)
    assert values.read(block(), 1, 0) is None
    assert values.given(block(), 0, 0) is None
    assert values.read(block(7), 1, 0) is None
    assert values.read(Execution(3, "Net", 9, 0, 0), 1, 0) is None


def test_an_output_has_the_shape_of_the_graph():
    net = Net()
    net.op("Reshape", net.feed("x"), Const((16,), "tuple"), shape=(16,))
    graph = net.graph()
    given = small.given(graph)
    shots = [s for s in shoot(graph, given) if s.slot == 0]  # the file has the input's shape
    assert values_of(shots, graph).given(block(), 0, 0).shape == (16,)


def test_a_constant_is_the_files_or_the_graphs():
    net = Net()
    net.op("Add", net.feed("x"), Const(0.1, "float32"))
    graph = net.graph()
    shots = shoot(graph, small.given(graph))
    exact = [
        s._replace(data=np.float32(0.1000001)) if (s.io, s.slot) == ("input", 1) else s
        for s in shots
    ]
    assert values_of(exact, graph).read(block(), 0, 1).array == np.float32(0.1000001)
    printed = values_of(without(shots, ("Add", "input", 1)), graph).read(block(), 0, 1).array
    assert printed == np.float32(0.1)


def test_movers_without_files_are_looked_through():
    net = Net()
    x = net.op("Tanh", net.feed("x", (2, 3)), shape=(2, 3))
    turned = net.op("Transpose", x, Const((1, 0), "tuple"), shape=(3, 2))
    net.op("ReLU", turned, shape=(3, 2))
    graph = net.graph()
    given = small.given(graph)
    shots = [s for s in shoot(graph, given) if "Tanh" in s.name or s.io == "output"]
    shots = without(shots, ("Transpose", "output", 0))
    found = values_of(shots, graph).read(block(), 2, 0)
    np.testing.assert_array_equal(found.array, np.tanh(given["x"]).T)
    assert found.array.dtype == np.float32


def test_a_node_of_onnx_that_sounds_like_a_mover_is_not_looked_through():
    """Its arguments are others: ``Slice`` has ends where ours has sizes."""
    net = Net()
    net.op("ReLU", net.op("Transpose", net.op("Tanh", net.feed("x")), Const((1, 0), "tuple")))
    graph = net.graph()
    shots = [shot for shot in shoot(graph, small.given(graph)) if "Tanh" in shot.name]
    assert values_of(shots, graph).read(block(), 2, 0) is not None
    nodes = tuple(replace(op, attrs={OUTPUTS: (op.name,)}) for op in graph.ops)
    assert values_of(shots, replace(graph, ops=nodes)).read(block(), 2, 0) is None


@pytest.mark.parametrize(("movers", "known"), [(16, True), (17, False)])
def test_chains_of_movers_without_files_are_looked_through_up_to_a_length(movers, known):
    net = Net()
    x = net.op("Tanh", net.feed("x", (2, 2)), shape=(2, 2))
    for _ in range(movers):
        x = net.op("Transpose", x, Const((1, 0), "tuple"), shape=(2, 2))
    net.op("ReLU", x, shape=(2, 2))
    graph = net.graph()
    values = small.given(graph)
    shots = [s for s in shoot(graph, values) if "Tanh" in s.name]
    found = values_of(shots, graph).read(block(), movers + 1, 0)
    assert (found is not None) == known
    if known:
        np.testing.assert_array_equal(found.array, np.tanh(values["x"]))


def test_operators_that_compute_are_not_looked_through():
    net = Net()
    net.op("ReLU", net.op("Exp", net.op("Tanh", net.feed("x"))))
    graph = net.graph()
    shots = [s for s in shoot(graph, small.given(graph)) if "Exp" not in s.name]
    shots = without(shots, ("ReLU", "input", 0))
    assert values_of(shots, graph).read(block(), 2, 0) is None


def test_a_long_row_of_movers_ends():
    net = Net()
    value = net.op("Tanh", net.feed("x"))
    for _ in range(400):
        value = net.op("Transpose", value, Const((1, 0), "tuple"))
    net.op("ReLU", value)
    graph = net.graph()
    shots = [s for s in shoot(graph, small.given(graph)) if "Tanh" in s.name]
    assert values_of(shots, graph).read(block(), 401, 0) is None


# --- parameters ------------------------------------------------------------------------------------


def shared():
    net = Net()
    w = net.weight("w")
    net.op("MatMul", net.op("MatMul", net.feed("x"), w), w)
    graph = net.graph()
    return graph, small.given(graph)


def test_a_weight_without_a_file_is_what_another_reader_had():
    graph, given = shared()
    shots = without(shoot(graph, given, parameters=False), ("MatMul-op1", "input", 1))
    np.testing.assert_array_equal(values_of(shots, graph).read(block(), 1, 1).array, given["w"])


def test_a_weight_without_readers_is_its_parameter_file():
    graph, given = shared()
    shots = [s for s in shoot(graph, given) if (s.io, s.slot) != ("input", 1)]
    np.testing.assert_array_equal(values_of(shots, graph).read(block(), 0, 1).array, given["w"])


def test_a_leaf_of_the_graph_engine_is_a_parameter_too():
    net = Net()
    x = net.op("Data", name="x")
    w = net.op("Variable", name="fc.weight")
    net.op("MatMul", x, w)
    graph = replace(net.graph(), dialect="ge")
    x, w = normal(4, 4), normal(4, 4)
    shots = [
        Shot("MatMul", "Default_MatMul-op0", "input", 0, x),
        Shot("MatMul", "Default_MatMul-op0", "output", 0, x @ w),
        Shot("Parameter", "fc_weight", "output", 0, w),
    ]
    found = values_of(shots, graph).read(block(), 2, 1)
    np.testing.assert_array_equal(found.array, w)


# --- what an update overwrites ---------------------------------------------------------------------


def trained(*, reads=True, optimizer="ApplyMomentum"):
    """A weight that a product reads (unless told otherwise) before an optimizer updates it."""
    net = Net()
    w = net.weight("w")
    first = net.weight("state.w")
    out = net.op("MatMul", net.feed("x"), w) if reads else net.op("Tanh", net.feed("x"))
    rate = Const(0.5, "float32")
    net.op(optimizer, w, first, rate, out, Const(0.9, "float32"))
    return net.graph()


def steps(graph, w, state, gradients, *, reads=True, parameters=False):
    """Files of Momentum as MindSpore writes them: state after the update; return them and the states."""
    shots, held = [], [(w, state)]
    for n, gradient in enumerate(gradients):
        time = START + 1000 * n
        w, state = held[-1]
        name = "Default_MatMul-op0" if reads else "Default_Tanh-op0"
        kind = "MatMul" if reads else "Tanh"
        if reads:
            shots.append(Shot(kind, name, "input", 1, w, 0, n, 0, time))
        shots.append(Shot(kind, name, "output", 0, gradient, 0, n, 0, time))
        state = np.float32(0.9) * state + gradient
        w = w - np.float32(0.5) * state
        held.append((w, state))
        place = (0, n, 0, time + 10)
        row = ("ApplyMomentum", "Default_ApplyMomentum-op0")
        shots += [Shot(*row, "input", s, a, *place) for s, a in ((0, w), (1, state), (3, gradient))]
        if parameters:
            shots.append(Shot("Parameter", "w", "output", 0, w, 0, n, 0, time + 20))
            shots.append(Shot("Parameter", "state_w", "output", 0, state, 0, n, 0, time + 20))
    return shots, held


def test_before_an_update_another_reader_of_the_step_tells():
    graph = trained()
    shots, held = steps(graph, normal(4, 4), np.zeros((4, 4), np.float32), [normal(4, 4)])
    found = values_of(shots, graph).read(block(), 1, 0)
    np.testing.assert_array_equal(found.array, held[0][0])
    assert not found.assumed


@pytest.mark.parametrize("parameters", [False, True])
def test_before_an_update_the_last_iteration_tells(parameters):
    """Its Parameter file, or what the same optimizer left in its own input."""
    graph = trained(reads=False)
    start = normal(4, 4), np.zeros((4, 4), np.float32)
    shots, held = steps(
        graph, *start, [normal(4, 4), normal(4, 4)], reads=False, parameters=parameters
    )
    values = values_of(shots, graph)
    for slot in (0, 1):
        found = values.read(block(1), 1, slot)
        np.testing.assert_array_equal(found.array, held[1][slot])
        assert (found.assumed, found.partial) == (None, False)


def test_the_value_before_is_never_the_dumped_value_after():
    graph = trained(reads=False)
    shots, held = steps(graph, normal(4, 4), normal(4, 4), [normal(4, 4)], reads=False)
    values = values_of(shots, graph)
    np.testing.assert_array_equal(values.after(block(), 1, 0), held[1][0])
    found = values.read(block(), 1, 0)
    assert found.partial
    assert np.isnan(found.array).all()  # a weight may begin with anything


def test_an_accumulator_is_assumed_to_begin_with_zeros_and_says_so():
    graph = trained(reads=False)
    shots, _ = steps(graph, normal(4, 4), np.zeros((4, 4), np.float32), [normal(4, 4)], reads=False)
    found = values_of(shots, graph).read(block(), 1, 1)
    assert not found.array.any()
    assert (found.assumed, found.invented) == (
        Message("compare/assumed-zeros", name="state.w"),
        True,
    )


def test_nothing_is_assumed_of_later_iterations():
    graph = trained(reads=False)
    shots, _ = steps(graph, normal(4, 4), normal(4, 4), [normal(4, 4)] * 2, reads=False)
    late = [s for s in shots if s.iteration == 1]
    assert values_of(late, graph).read(block(1), 1, 1) is None


def sgd():
    net = Net()
    w, accumulated, stat = net.weight("w"), net.weight("accum"), net.weight("stat")
    gradient = net.op("Tanh", net.feed("x"))
    net.op("SGD", w, gradient, Const(0.1, "float32"), accumulated, Const(0.9, "float32"), stat)
    return net.graph()


def test_the_stat_of_sgd_begins_with_ones():
    graph = sgd()
    row = ("SGD", "Default_SGD-op0", "input")
    after = np.zeros((4, 4), np.float32)
    shots = [Shot(*row, slot, after) for slot in (0, 3, 5)]
    values = values_of(shots, graph)
    assert (values.read(block(), 1, 5).array == 1).all()
    assert values.read(block(), 1, 5).assumed == Message("compare/assumed-ones", name="stat")
    assert values.read(block(), 1, 3).assumed == Message("compare/assumed-zeros", name="accum")
    assert np.isnan(values.read(block(), 1, 0).array).all()


def test_after_a_second_update_of_a_step_the_first_ones_result_is_not_made_up():
    net = Net()
    w = net.weight("w")
    net.op("AssignAdd", w, net.feed("x"))
    net.op("AssignAdd", w, net.feed("y"))
    graph = net.graph()
    row = "AssignAdd", "Default_AssignAdd-op1"
    shots = [Shot(*row, "input", 0, normal(4, 4)), Shot(*row, "input", 1, normal(4, 4))]
    assert values_of(shots, graph).read(block(), 1, 0) is None


# --- files that are not what they say ----------------------------------------------------------------


def mislabelled(tmp_path, wide):
    """A dump of Tanh → ReLU in float16 whose kernel wrote float32, as MindSpore's file has it."""
    net = Net()
    value = net.op("Tanh", net.feed("x", (2, 4)), shape=(2, 4), dtype="float16",
                   device_outputs=(TensorSpec("float32", (2, 4)),))  # fmt: skip
    net.op("ReLU", value, shape=(2, 4), dtype="float16")
    graph = net.graph()
    half = np.zeros((2, 4), np.float16)
    shots = [
        Shot("Tanh", "Default_Tanh-op0", "output", 0, half),
        Shot("ReLU", "Default_ReLU-op0", "output", 0, half),
    ]
    root = on_disk(tmp_path, shots, graph)
    (path,) = root.rglob("Tanh*.npy")
    head = path.read_bytes()[: -half.nbytes]
    path.write_bytes(head + wide.tobytes())
    dump = replace(load(root), graphs={(0, 0): graph})
    return DumpedInputs(paired(dump, dump).target)


def test_a_mislabelled_file_is_known_by_the_elements_that_it_has(tmp_path):
    wide = normal(2, 4)
    values = mislabelled(tmp_path, wide.reshape(-1)[:6])
    assert values.given(block(), 0, 0) is None
    np.testing.assert_array_equal(values.part_given(block(), 0, 0), wide.reshape(-1)[:6])
    known = values.read(block(), 1, 0)
    assert known.partial
    np.testing.assert_array_equal(known.array.reshape(-1)[:6], wide.reshape(-1)[:6])
    assert np.isnan(known.array.reshape(-1)[6:]).all()


@pytest.mark.parametrize("kind", ["unused-output", "unwritten-output"])
def test_memory_that_nobody_reads_or_writes_is_nothing_that_a_kernel_gave(tmp_path, kind):
    """In float16 a BatchNorm of a CPU leaves statistics unwritten, behind labels of half the size."""
    values = mislabelled(tmp_path, normal(2, 4).reshape(-1)[:6])
    kinds = {number: (kind, *some) for number, some in values.binding.oddities.items()}
    known = DumpedInputs(replace(values.binding, oddities=kinds))
    assert values.part_given(block(), 0, 0) is not None
    assert known.part_given(block(), 0, 0) is None
    assert known.given(block(), 0, 0) is None


def test_a_mislabelled_file_that_has_all_elements_is_known(tmp_path):
    wide = normal(2, 4)
    known = mislabelled(tmp_path, wide).read(block(), 1, 0)
    assert not known.partial
    np.testing.assert_array_equal(known.array, wide)


def test_files_that_cannot_be_read_are_not_there(tmp_path):
    graph, given = two()
    root = on_disk(tmp_path, shoot(graph, given), graph)
    for path in root.rglob("*.npy"):
        path.write_bytes(path.read_bytes()[:70])
    dump = load(root)
    values = DumpedInputs(paired(dump, dump).target)
    assert [values.given(block(), n, 0) for n in (0, 1)] == [None, None]
    assert [values.read(block(), n, 0) for n in (0, 1)] == [None, None]


def test_an_input_that_the_operator_does_not_have_is_not_known():
    graph, given = two()
    values = values_of(shoot(graph, given), graph)
    assert values.read(block(), 1, 5) is None


# --- the order of the sources ------------------------------------------------------------------


def marked(graph, marks, shots):
    """Values of shots whose files are told apart by the number that fills them."""
    at = {place: number for number, place in enumerate(marks, 1)}
    filled = [
        s._replace(data=np.full_like(s.data, at.get((s.name, s.io, s.slot, s.iteration), 99)))
        for s in shots
    ]
    return lambda gone: values_of(
        [s for s in filled if (s.name, s.io, s.slot, s.iteration) not in marks[:gone]], graph
    )


def behind(op_type, *more):
    net = Net()
    net.op("ReLU", net.op(op_type, net.op("Tanh", net.feed("x")), *more))
    graph = net.graph()
    name = f"Default_{op_type}-op0"
    places = ("Default_ReLU-op0", "input", 0, 0), (name, "output", 0, 0), (name, "input", 0, 0)
    return marked(graph, places, shoot(graph, small.given(graph))), (block(), 2, 0)


def read_twice():
    graph, given = shared()
    places = [(f"Default_MatMul-op{n}", "input", 1, 0) for n in (1, 0)]
    return marked(graph, (*places, ("w", "output", 0, 0)), shoot(graph, given)), (block(), 1, 1)


def updated(place, *places):
    graph = trained()
    shots, _ = steps(graph, normal(4, 4), normal(4, 4), [normal(4, 4)] * 2, parameters=True)
    return marked(graph, places, shots), place


OPTIMIZER, PRODUCT = "Default_ApplyMomentum-op0", "Default_MatMul-op0"


KNOWN_TWICE = {
    "renamed": behind("Load"),
    "reshaped": behind("Reshape", Const((4, 4), "tuple")),
    "moved": behind("Transpose", Const((1, 0), "tuple")),
    "parameter": read_twice(),
    "overwritten": updated(
        (block(1), 1, 0),
        (PRODUCT, "input", 1, 1), ("w", "output", 0, 0), (OPTIMIZER, "input", 0, 0),
    ),
    "updated": updated(
        (block(1), 0, 1),
        (PRODUCT, "input", 1, 1), ("w", "output", 0, 0), (OPTIMIZER, "input", 0, 0),
    ),
}  # fmt: skip
"""Case → values of which the first files are gone, and an input that several of the files know."""


@pytest.mark.parametrize("case", KNOWN_TWICE)
def test_the_first_source_that_knows_an_input_decides(case):
    values, place = KNOWN_TWICE[case]
    found = [values(gone).read(*place).array for gone in range(3)]
    assert [np.unique(array).tolist() for array in found] == [[1.0], [2.0], [3.0]]


SOURCES = {
    ("read", "own file", "producer"): "renamed",
    ("read", "producer", "renamed"): "renamed",
    ("read", "other readers", "parameter file"): "parameter",
    ("overwritten", "readers before", "last iteration"): "overwritten",
}
"""Kind of input and two neighboring sources that both know it → case."""

NEVER_BOTH = {
    ("read", "renamed", "moved"): "one takes the types that the other does not",
    (
        "read",
        "moved",
        "other readers",
    ): "one is of what an operator gives, the other of parameters and the like",
    (
        "read",
        "parameter file",
        "last iteration",
    ): "one is of what nobody updates, the other of what somebody does",
    (
        "read",
        "last iteration",
        "model",
    ): "a model of another framework updates nothing",
    (
        "read",
        "model",
        "part",
    ): "one is of parameters and the like, the other of what an operator gives",
    ("overwritten", "last iteration", "beginning"): "the first iteration has none before it",
}
"""Neighboring sources that never know the same input → why."""


def exchanged(patch, kind, first, second):
    rows = list(inputs.INPUT_SOURCES[kind])
    place = [row.name for row in rows].index(first)
    assert rows[place + 1].name == second
    rows[place : place + 2] = reversed(rows[place : place + 2])
    patch.setitem(inputs.INPUT_SOURCES, kind, tuple(rows))


def known(case):
    values, place = KNOWN_TWICE[case]
    return [np.unique(values(gone).read(*place).array).tolist() for gone in range(3)]


@pytest.mark.parametrize("both", SOURCES, ids=" ".join)
def test_the_order_of_two_sources_decides(both, monkeypatch):
    usual = known(SOURCES[both])
    exchanged(monkeypatch, *both)
    assert known(SOURCES[both]) != usual


@pytest.mark.parametrize("both", NEVER_BOTH, ids=" ".join)
@pytest.mark.parametrize("case", KNOWN_TWICE)
def test_any_order_of_two_sources_that_exclude_each_other_knows_the_same(case, both, monkeypatch):
    usual = known(case)
    exchanged(monkeypatch, *both)
    assert known(case) == usual


def test_the_file_of_a_constant_comes_before_what_its_graph_prints(monkeypatch):
    net = Net()
    net.op("Add", net.feed("x"), Const(0.3333))
    graph = net.graph()
    shots = [
        s._replace(data=np.float32(1 / 3)) if s.slot == 1 else s
        for s in shoot(graph, small.given(graph))
    ]
    usual = values_of(shots, graph).read(block(), 0, 1).array
    exchanged(monkeypatch, "constant", "own file", "graph")
    assert values_of(shots, graph).read(block(), 0, 1).array != usual == np.float32(1 / 3)


def test_every_two_neighboring_sources_have_a_case_or_exclude_each_other():
    neighbors = {
        (kind, *both)
        for kind, rows in inputs.INPUT_SOURCES.items()
        for both in pairwise(row.name for row in rows)
    }
    assert neighbors == {*SOURCES, *NEVER_BOTH, ("constant", "own file", "graph")}
    assert not SOURCES.keys() & NEVER_BOTH.keys()


# --- what is held ----------------------------------------------------------------------------------


def test_what_was_looked_up_last_is_held_up_to_a_number_of_bytes():
    held = BoundedCache(32)
    arrays = {name: np.zeros(4, np.float32) for name in "abc"}
    for name in "ab":
        assert held.hold(name, arrays[name]) is arrays[name]
    assert held.get("a") is arrays["a"]  # so b goes first
    held.hold("c", arrays["c"])
    assert [name for name in "abc" if held.get(name) is not None] == ["a", "c"]
    large = np.zeros(9, np.float32)
    assert held.hold("d", large) is large
    assert [name for name in "abcd" if held.get(name) is not None] == []
