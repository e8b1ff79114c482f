"""What a compiler computes on the host: operators of the network that read constants alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kit.arrays import outputs
from kit.build.programs import program_for, target_for
from kit.words import refused
from workbench.core.errors import GraphError
from workbench.core.tensors import TensorSpec
from workbench.core.writers import COMPILED_SURFACES
from workbench.graph.graph import Bundle, Const, Graph, Op, Param, Parameter, Value
from workbench.npu.compile.folding import computed_weights, fold_operators
from workbench.npu.compile.program import Module
from workbench.npu.faults import Fault
from workbench.npu.runner import run_program

ROW = TensorSpec("float32", (2, 4))
RNG = np.random.default_rng(7)
W, V = (RNG.uniform(0.5, 2, (2, 4)).astype(np.float32) for _ in range(2))
PARAMETERS = (
    Parameter("x", ROW),
    Parameter("w", ROW, True, default=W),
    Parameter("v", ROW, True, default=V),
)
FED = {"x": RNG.standard_normal((2, 4)).astype(np.float32)}
X, WEIGHT, OTHER = map(Param, range(3))


def op(name, kind, *inputs, outputs=(ROW,), **attrs):
    return Op(name, kind, inputs, attrs, outputs)


def network(*ops, results=None, parameters=PARAMETERS):
    return Graph("g", parameters, ops, (Value(len(ops) - 1),) if results is None else results)


def folded(graph, surface="acl", device="a2", fed=FED):
    """What the pass leaves: operators, constants by name, and the values of these."""
    target = target_for(surface, device)
    found = fold_operators(Module(graph, graph), target)
    read = {one.name for one in found.graph.parameters}
    kernels = {name: one for name, one in found.constants.items() if name in read}
    return found, kernels, computed_weights(graph, fed, kernels, target.model)


AXIS = Const(1, "int64", ())
HALVES = (TensorSpec("float32", (2, 2)),) * 2
SPLIT = op("s", "Split", WEIGHT, AXIS, Const(2, "int64", ()), outputs=HALVES)
SUM = op("a", "Add", X, Value(0))
LEFT = {
    "an operator": ((op("n", "Neg", WEIGHT), SUM), ["a"], {"dynamic_const_0": -W}),
    "a chain": (
        (op("n", "Neg", WEIGHT), op("m", "Mul", Value(0), OTHER), op("a", "Add", X, Value(1))),
        ["a"],
        {"dynamic_const_1": -W * V},
    ),
    "a number": (
        (op("m", "Mul", WEIGHT, Const(2.0, "float32", ())), SUM),
        ["a"],
        {"dynamic_const_0": W * 2},
    ),
    "a tuple": (
        (
            op("c", "Concat", Bundle((WEIGHT, OTHER)), AXIS, outputs=(TensorSpec("float32", (2, 8)),)),
            op("d", "Concat", Bundle((X, Value(0))), AXIS, outputs=(TensorSpec("float32", (2, 12)),)),
        ),
        ["d"],
        {"dynamic_const_0": np.concatenate([W, V], 1)},
    ),
    "two outputs": (
        (SPLIT, op("p", "Concat", Bundle((X, Value(0, 1), Value(0, 0))), AXIS)),
        ["p"],
        {"dynamic_const_0": W[:, :2], "dynamic_const_1": W[:, 2:]},
    ),
    "one of two outputs": (
        (SPLIT, op("p", "Concat", Bundle((X, Value(0, 1))), AXIS)),
        ["p"],
        {"dynamic_const_0": W[:, 2:]},
    ),
    "nobody reads it": ((op("n", "Neg", WEIGHT), op("a", "Neg", X)), ["a"], {}),
    "a feed": ((op("n", "Neg", X), op("a", "Add", WEIGHT, Value(0))), ["n", "a"], {}),
    "no tensor": ((op("n", "Zeros", Const((2, 4), "tuple", (2,))), SUM), ["n", "a"], {}),
    "draws": ((op("n", "Dropout", WEIGHT, outputs=(ROW, ROW)), SUM), ["n", "a"], {}),
    "overwrites": ((op("n", "AssignAdd", WEIGHT, OTHER), SUM), ["n", "a"], {}),
    "meets others": ((op("n", "Broadcast", Bundle((WEIGHT,))), SUM), ["n", "a"], {}),
    "makes floats of integers": ((op("n", "AscendAntiQuant", WEIGHT, scale=2.0, offset=0.0), SUM), ["n", "a"], {}),
    "no kernel": ((op("n", "Unheard", WEIGHT), SUM), ["n", "a"], {}),
    "may be left out": (
        (op("p", "Neg", X), replace(op("n", "Neg", WEIGHT), unless="p"), op("a", "Add", X, Value(1))),
        ["p", "n", "a"],
        {},
    ),
    "leaves others out": (
        (op("p", "Neg", WEIGHT), replace(op("n", "Neg", X), unless="p")),
        ["p", "n"],
        {},
    ),
}  # fmt: skip
"""What an operator is or reads → the network, operators that are left, constants that are made."""


@pytest.mark.parametrize("case", LEFT)
def test_what_reads_constants_alone_is_computed_by_the_host(case):
    ops, left, values = LEFT[case]
    found, kernels, computed = folded(network(*ops))
    assert [one.name for one in found.graph.ops] == left
    assert found.folded == {one.name for one in ops} - {*left}
    made = [one for one in found.graph.parameters if one.folded]
    assert [one.name for one in made] == [*kernels] == [*values]
    assert all(one.is_weight for one in made)
    for name, value in values.items():
        np.testing.assert_array_equal(computed[name], value)


def test_a_result_of_the_network_stays_an_operator():
    ops = op("n", "Neg", WEIGHT), op("m", "Mul", Value(0), OTHER)
    found, kernels, _ = folded(network(*ops))
    assert [one.name for one in found.graph.ops] == ["m"]
    assert [*kernels] == ["dynamic_const_0"]
    assert found.graph.outputs == (Value(0),)


@pytest.mark.parametrize("surface", [one for one in COMPILED_SURFACES if one != "acl"])
def test_weights_that_are_no_constants_are_left_to_the_device(surface):
    graph = network(op("n", "Neg", WEIGHT), SUM)
    found, *_ = folded(graph, surface)
    assert (found.graph, found.constants, found.folded) == (graph, {}, frozenset())


def test_values_that_are_read_twice_are_computed_once():
    """Every operator doubles the one before: a chain for each reader would have 2**40 of them."""
    doubling = (op(f"d{n}", "Add", *(Value(n - 1) if n else WEIGHT,) * 2) for n in range(40))
    graph = network(*doubling, op("a", "Add", X, Value(39)))
    _, kernels, computed = folded(graph)
    (kernel,) = kernels.values()
    assert [one.name for one in kernel.ops] == [f"d{n}" for n in range(40)]
    np.testing.assert_array_equal(computed["dynamic_const_39"], W * np.float32(2**40))


def test_weights_that_are_given_count():
    graph = network(op("n", "Neg", WEIGHT), SUM)
    *_, computed = folded(graph, fed={**FED, "w": V})
    np.testing.assert_array_equal(computed["dynamic_const_0"], -V)


WIDE = TensorSpec("float64", (2,))
SMALL = TensorSpec("float16", (2,))
PRECISE = {
    "float64": (WIDE, np.array([1, 3.0]), lambda w: (w / 7) / 9),
    "float16": (SMALL, np.array([1, 3], np.float16), lambda w: (w / 7).astype(np.float16) / 9),
}


@pytest.mark.parametrize("kind", PRECISE)
def test_the_host_computes_in_the_precision_of_the_constants(kind):
    spec, value, expected = PRECISE[kind]
    parameters = (Parameter("x", spec), Parameter("w", spec, True, default=value))
    numbers = [Const(n, spec.dtype, ()) for n in (7.0, 9.0)]
    ops = (
        op("n", "RealDiv", WEIGHT, numbers[0], outputs=(spec,)),
        op("m", "RealDiv", Value(0), numbers[1], outputs=(spec,)),
        op("a", "Add", X, Value(1), outputs=(spec,)),
    )
    graph = network(*ops, parameters=parameters)
    *_, computed = folded(graph, fed={"x": value})
    found = computed["dynamic_const_1"]
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, expected(value.astype(np.float64)).astype(value.dtype))


@pytest.mark.parametrize("device", ["310p", "a2"])
def test_the_host_has_infinity_where_a_device_saturates(device):
    graph = network(op("n", "Exp", WEIGHT), SUM)
    *_, computed = folded(graph, device=device, fed={**FED, "w": np.full((2, 4), 100, np.float32)})
    assert np.isposinf(computed["dynamic_const_0"]).all()


NET = network(
    op("sine", "Sin", WEIGHT),
    op("whole", "Mul", Value(0), Const(1000.0, "float32", ())),
    op("ratio", "RealDiv", Value(1), OTHER),
    op("sum", "Add", X, Value(2)),
)


def test_the_device_rounds_what_the_host_gives_it_and_nothing_before():
    program = program_for(NET, "acl", precision="force_fp16")
    assert [one.op_type for one in program.graph.ops if one.op_type != "Cast"] == ["Add"]
    records = list(run_program(program, FED))
    read = next(r for r in records if (r.key.op_name, r.key.io, r.key.slot) == ("sum", "input", 1))
    exact = np.sin(W.astype(np.float64)) * 1000 / V
    found = read.source.array()
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=2**-10.9)
    half = W.astype(
        np.float16
    )  # as the device would have computed it, a rounding at every operator
    for step in (
        np.sin,
        lambda one: one * np.float16(1000),
        lambda one: one / V.astype(np.float16),
    ):
        half = step(half).astype(np.float16)
    assert (half != found).any()
    assert {name for name, _ in outputs(records)}.isdisjoint(["sine", "whole", "ratio"])


def test_stages_behind_the_first_show_constants():
    program = program_for(NET, "acl")
    kinds = {name: [one.op_type for one in g.ops] for name, g in program.stages.items()}
    assert kinds["PreRunBegin"] == ["Sin", "Mul", "RealDiv", "Add"]
    assert kinds["AfterInfershape"] == ["Add"]
    assert program.folded >= {"sine", "whole", "ratio"}


@pytest.mark.parametrize("kind", ["wrong-sign", "wrong-weight-element"])
def test_a_fault_of_the_device_cannot_be_where_it_runs_nothing(kind):
    program = program_for(NET, "acl")
    with refused("run/fault-not-run", GraphError, fault=kind, op="sine"):
        list(run_program(program, FED, faults=[Fault(kind, "sine")]))


def test_a_fault_of_a_pattern_strikes_what_runs():
    program = program_for(NET, "acl")
    clean = outputs(run_program(program, FED))["sum", 0]
    found = outputs(run_program(program, FED, faults=[Fault("wrong-sign", "s*")]))["sum", 0]
    np.testing.assert_array_equal(found, -clean)
