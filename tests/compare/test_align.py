"""Alignment of two graphs whose true correspondence is known by construction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.compare.align import align, match_parameters
from workbench.compare.overrides import Match, Overrides
from workbench.core.tensors import TensorSpec
from workbench.graph.nodes import Const, Graph, Op, Param, Parameter, Value

FLOAT = TensorSpec("float32", (4, 4))


def chain(*kinds: str, scope: str = "Default", weight: str = "w") -> Graph:
    """A chain of operators; every MatMul reads a weight of its own."""
    parameters = [Parameter("x", FLOAT)]
    ops: list[Op] = []
    value: Param | Value = Param(0)
    for number, kind in enumerate(kinds):
        inputs: tuple[Param | Value, ...] = (value,)
        if kind == "MatMul":
            parameters.append(Parameter(f"{weight}{len(parameters)}", FLOAT, is_weight=True))
            inputs = (value, Param(len(parameters) - 1))
        name = f"{scope}/{kind}-op{sum(op.op_type == kind for op in ops)}"
        ops.append(Op(name, kind, inputs, {}, (FLOAT,), (FLOAT,) * len(inputs)))
        value = Value(number)
    return Graph("g", tuple(parameters), tuple(ops), (value,))


def partners(target: Graph, golden: Graph) -> dict[int, int]:
    return align(target, golden).partner


def test_equal_graphs_align_one_to_one():
    graph = chain("MatMul", "ReLU", "MatMul", "Softmax")
    assert partners(graph, graph) == {0: 0, 1: 1, 2: 2, 3: 3}
    assert {match.rule for match in align(graph, graph).matches} == {"name"}


def test_renamed_scopes_align_by_structure():
    other = chain("MatMul", "ReLU", "MatMul", scope="Default/_backbone-Net")
    found = align(other, chain("MatMul", "ReLU", "MatMul"))
    assert found.partner == {0: 0, 1: 1, 2: 2}
    assert {match.rule for match in found.matches} == {"structure"}


def test_casts_do_not_disturb_the_alignment():
    found = align(chain("Cast", "MatMul", "Cast", "ReLU"), chain("MatMul", "ReLU"))
    assert found.partner == {1: 0, 3: 1}
    assert found.groups == ()


@pytest.mark.parametrize("position", [0, 1, 2, 3])
def test_an_inserted_operator_shifts_no_other(position):
    """The inserted ReLU takes the name of a later one; the others keep their true partners."""
    kinds = ["MatMul", "ReLU", "MatMul", "ReLU"]
    longer = [*kinds[:position], "Tanh", *kinds[position:]]
    found = align(chain(*longer), chain(*kinds))
    expected = {t if t < position else t + 1: t for t in range(4)}
    assert found.partner == expected
    assert [(group.target, group.golden) for group in found.groups] == [((position,), ())]


def test_an_inserted_operator_of_the_same_type_is_told_from_its_twin():
    target = chain("MatMul", "ReLU", "Add", "ReLU", "MatMul")
    golden = chain("MatMul", "Add", "ReLU", "MatMul")
    assert partners(target, golden) == {0: 0, 2: 1, 3: 2, 4: 3}


def test_a_replaced_operator_makes_a_group_with_a_common_edge():
    found = align(chain("MatMul", "AvgPool", "MatMul"), chain("MatMul", "MaxPool", "MatMul"))
    (group,) = found.groups
    assert (group.target, group.golden) == ((1,), (1,))
    assert [(a.number, b.number) for a, b in group.edges] == [(1, 1)]


def product(first: int, second: int) -> Graph:
    """``tanh(x) · exp(x)`` or the factors swapped, transposed as told by constant arguments."""
    ops = [
        Op(f"Default/{kind}-op0", kind, (Param(0),), {}, (FLOAT,), (FLOAT,))
        for kind in ("Tanh", "Exp")
    ]
    flags = (Const(False, "bool", ()), Const(False, "bool", ()))
    inputs = (Value(first), Value(second), *flags)
    ops.append(Op("Default/MatMul-op0", "MatMul", inputs, {}, (FLOAT,)))
    return Graph("g", (Parameter("x", FLOAT),), tuple(ops), (Value(2),))


def test_an_operator_with_swapped_inputs_stays_the_same_operator():
    assert partners(product(1, 0), product(0, 1)) == {0: 0, 1: 1, 2: 2}


def test_a_fusion_makes_one_group_for_each_layer():
    golden = chain("MatMul", "MatMul", "Softmax")
    fused = tuple(
        replace(op, op_type="MatMulReluFusion") if op.op_type == "MatMul" else op
        for op in golden.ops
    )
    found = align(chain("MatMul", "ReLU", "MatMul", "ReLU", "Softmax"), replace(golden, ops=fused))
    assert sorted((g.target, g.golden) for g in found.groups) == [((0, 1), (0,)), ((2, 3), (1,))]
    assert found.partner == {4: 2}


def test_the_user_has_the_first_word():
    graph = chain("ReLU", "ReLU")
    found = align(graph, graph, Overrides((Match((graph.ops[0].name,), (graph.ops[1].name,)),)))
    assert found.partner[0] == 1
    assert found.matches[0].rule == "map"


def test_parameters_match_behind_a_wrapper_prefix_and_feeds_by_position():
    ours = Graph("g", (Parameter("_backbone.fc.weight", FLOAT, True), Parameter("args0", FLOAT)))
    theirs = Graph("g", (Parameter("x", FLOAT), Parameter("fc.weight", FLOAT, True)))
    assert match_parameters(ours, theirs) == {0: 1, 1: 0}


def test_graphs_without_anything_in_common_leave_all_operators_over():
    found = align(chain("Sin", "Cos"), chain("Exp", "Log"))
    assert found.partner == {}
    assert (found.only_target, found.only_golden) == ((0, 1), (0, 1))
