"""What a compiler for inference computes, or takes away, before a model runs."""

import pytest

from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Graph, Op, Param, Parameter, Value
from workbench.ops.compile_time import (
    computed_before_the_run,
    gives_other_each_time,
    never_read,
    taken_away,
)

ROW = TensorSpec("float32", (3,))
FED, WEIGHT = Param(0), Param(1)
PARAMETERS = (Parameter("x", ROW), Parameter("w", ROW, is_weight=True))


def graph_of(*ops, outputs=()):
    """Operators by type and operands."""
    made = (Op(f"o{number}", kind, operands) for number, (kind, operands) in enumerate(ops))
    return Graph("g", PARAMETERS, tuple(made), outputs)


def test_what_only_weights_and_sizes_reach_is_computed_before():
    graph = graph_of(
        ("Neg", (WEIGHT,)),
        ("Shape", (FED,)),
        ("Add", (Value(0), WEIGHT)),
        ("Add", (Value(0), FED)),
        ("Mul", (Value(1), Value(2))),
        ("Mul", (Value(3), Value(2))),
        ("Size", (Value(5),)),
        ("RandomNormal", ()),
        ("Neg", (Value(7),)),
        ("Constant", ()),
    )
    assert computed_before_the_run(graph) == {0, 1, 2, 4, 6, 9}


def test_data_operators_of_the_graph_engine_are_known_if_they_are_constants():
    kinds = ("Const", "Constant", "Data", "Variable", "RefData", "IteratorV2", "GetNext")
    holders = [(kind, ()) for kind in kinds]
    readers = [("Neg", (Value(number),)) for number in range(len(kinds))]
    assert computed_before_the_run(graph_of(*holders, *readers)) == {0, 1, 7, 8}


@pytest.mark.parametrize(
    ("op", "differs"),
    [
        (Op("a", "Neg"), False),
        (Op("a", "Neg", unless="flag"), True),
        (Op("a", "AssignAdd"), True),
        (Op("a", "SGD"), True),
        (Op("a", "RandomUniformLike"), True),
        (Op("a", "HcomAllReduce"), True),
        (Op("a", "Dropout"), True),
    ],
)
def test_what_draws_or_overwrites_gives_something_else_each_time(op, differs):
    assert gives_other_each_time(op) is differs


def test_what_hands_its_input_on_is_taken_away():
    graph = graph_of(
        ("Identity", (FED,)),
        ("Neg", (FED,)),
        ("Dropout", (FED,)),
        ("Dropout", (FED, WEIGHT)),
        ("Dropout", (FED, WEIGHT, WEIGHT)),
    )
    assert taken_away(graph) == {0, 2, 3}


def test_what_is_read_for_its_size_alone_never_runs():
    ops = (
        ("Neg", (FED,)),
        ("Transpose", (Value(0),)),
        ("Shape", (Value(1),)),
        ("Add", (FED, Value(2))),
        ("Exp", (Value(0),)),
        ("Neg", (Value(4),)),
        ("Dropout", (FED,)),
        ("Relu", (FED,)),
    )
    assert never_read(graph_of(*ops, outputs=(Value(3), Value(7)))) == {0, 1, 4, 5}
    assert never_read(graph_of(*ops)) == set()
