"""Graphs written anew: operands follow, what is not named stays."""

from __future__ import annotations

import pytest

from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Bundle, Const, Graph, Op, Param, Parameter, Value
from workbench.graph.rewrite import GraphBuilder, live_ops, map_operands

ROW, HALF = TensorSpec("float32", (3,)), TensorSpec("float16", (3,))
PLACE = Const((0, 1), "int64", (2,))
OPS = (
    Op("a", "Neg", (Param(0),), outputs=(ROW,)),
    Op("b", "Abs", (Value(0),), outputs=(ROW,)),
    Op("c", "AddN", (Bundle((Value(0), Value(1), Param(1))),), outputs=(ROW,)),
)
GRAPH = Graph("g", (Parameter("x", ROW), Parameter("w", HALF, is_weight=True)), OPS, (Value(2),))


@pytest.mark.parametrize(
    ("operand", "spec"),
    [
        (Param(1), HALF),
        (Value(2), ROW),
        (Value(2, 1), None),
        (PLACE, TensorSpec("int64", (2,))),
        (Const("text", "str"), None),
        (Bundle((Param(0),)), None),
    ],
)
def test_a_graph_is_asked_for_the_spec_of_an_operand(operand, spec):
    assert GRAPH.spec(operand) == spec


def test_operands_are_changed_inside_of_tuples_and_constants_are_kept():
    nested = Bundle((Value(0), Bundle((Param(0), PLACE))), flatten=False)
    found = map_operands(nested, lambda one: Param(7) if isinstance(one, Param) else Value(9))
    assert found == Bundle((Value(9), Bundle((Param(7), PLACE))), flatten=False)


@pytest.mark.parametrize(
    ("outputs", "kept", "alive"),
    [
        ((Value(1),), (), {0, 1}),
        ((Value(2),), (), {0, 1, 2}),
        ((Param(0),), (), set()),
        ((Param(0),), (1,), {0, 1}),
    ],
)
def test_what_outputs_need_is_alive(outputs, kept, alive):
    assert live_ops(OPS, outputs, kept) == alive


def test_an_operator_lives_as_long_as_one_that_it_may_leave_out():
    guarded = (OPS[0], Op("d", "Exp", (Param(0),), outputs=(ROW,), unless="a"))
    assert live_ops(guarded, (Value(1),)) == {0, 1}


def test_a_graph_that_is_only_kept_is_the_same():
    builder = GraphBuilder(GRAPH)
    for number in range(len(OPS)):
        assert builder.keep(number) == number
    assert builder.build() == GRAPH


def test_operands_follow_what_is_inserted_and_replaced():
    builder = GraphBuilder(GRAPH)
    builder.keep(0)
    weight = builder.add_parameter(Parameter("v", HALF))
    cast = Value(builder.insert(Op("t", "Cast", (weight,), outputs=(HALF,))))
    assert builder.spec(cast) == HALF
    builder.replace(1, Op("b2", "Add", (builder.operand(Value(0)), cast), outputs=(ROW,)))
    builder.put(Param(1), weight)
    builder.keep(2)
    built = builder.build()
    assert [op.name for op in built.ops] == ["a", "t", "b2", "c"]
    assert built.ops[3].inputs == (Bundle((Value(0), Value(2), Param(2))),)
    assert built.outputs == (Value(3),)
    assert [one.name for one in built.parameters] == ["x", "w", "v"]
    assert GRAPH.ops == OPS
    assert builder.build([Param(0)]).outputs == (Param(0),)
