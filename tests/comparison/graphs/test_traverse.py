"""Values followed through operators that only hand them on."""

from __future__ import annotations

import pytest

from kit.build.small_dumps import Net
from workbench.comparison.graphs.traverse import ALIAS, copies, producer, readers, storage_of
from workbench.graph.graph import Graph, Op, Param, Value
from workbench.ops import IDENTITY, MOVEMENT


def chain():
    """x → MatMul 0 → Cast 1 → Reshape 2 → Concat 3 (in its second slot) → Add 4; Cast 1 and Exp 5 read no more."""
    net = Net()
    x = net.feed("x")
    value = net.op("MatMul", x, x)
    for kind in ("Cast", "Reshape"):
        value = net.op(kind, value)
    value = net.op("Concat", x, value)
    net.op("Add", value, value)
    net.op("Exp", net.op("Cast", x))
    return net.graph()


GRAPH = chain()
OPS = [op.op_type for op in GRAPH.ops]


@pytest.mark.parametrize(
    ("start", "through", "found"),
    [
        (Value(2), (), Value(2)),
        (Value(2), ALIAS, Value(1)),
        (Value(2), IDENTITY, Value(2)),
        (Value(2), MOVEMENT, Value(0)),
        (Value(1), IDENTITY, Value(0)),
        (Value(3), MOVEMENT, Param(0)),  # the first input of a concatenation
        (Value(5), IDENTITY, Param(0)),
        (None, MOVEMENT, None),
    ],
)
def test_the_producer_is_behind_what_only_hands_on(start, through, found):
    assert producer(GRAPH, start, through) == found


@pytest.mark.parametrize(("value", "found"), [(2, 1), (1, 1), (0, 0)])
def test_renamed_memory_is_that_of_whose_name_it_was(value, found):
    assert storage_of(GRAPH, Value(value)) == Value(found)


def test_memory_that_renames_a_parameter_is_the_first_name_it_has_as_a_value():
    net = Net()
    net.op("Reshape", net.op("Flatten", net.feed("x")))
    assert storage_of(net.graph(), Value(1)) == Value(0)


@pytest.mark.parametrize(
    ("value", "through", "found"),
    [
        (0, (), [(1, 0)]),
        (0, IDENTITY, [(1, 0), (2, 0)]),
        (1, ALIAS, [(2, 0), (3, 1)]),
        (0, MOVEMENT, [(1, 0), (2, 0), (3, 1), (4, 0), (4, 1)]),
        (4, MOVEMENT, []),
    ],
)
def test_readers_are_found_under_every_name(value, through, found):
    assert list(readers(GRAPH, Value(value), through)) == found


def test_shapes_that_a_mover_reads_are_not_moved():
    net = Net()
    x = net.feed("x")
    net.op("Reshape", x, net.op("Shape", x))
    assert list(copies(net.graph(), Value(0), MOVEMENT)) == [Value(0)]


def test_an_edge_back_is_followed_no_further():
    loop = Graph("loop", (), (Op("a", "Cast", (Value(1),)), Op("b", "Cast", (Value(0),))))
    assert producer(loop, Value(1), IDENTITY) == Value(0)
    assert list(copies(loop, Value(0), IDENTITY)) == [Value(0), Value(1)]
