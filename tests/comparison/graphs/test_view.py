"""The index over a graph: which operators compute, and which repeat an earlier one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.comparison.graphs.view import (
    GraphView,
    Origin,
    changed_parameters,
    hands_on,
    is_repeatable,
)
from workbench.comparison.limits import LIMITS
from workbench.core.tensors import TensorSpec
from workbench.graph.graph import Graph, Op, Param, Parameter, SourceFrame, Value

SPEC = (TensorSpec("float32", (2, 3)),)


class Counted(dict):
    """Attributes that count how often they are read."""

    reads = 0

    def items(self):
        type(self).reads += 1
        return super().items()


@pytest.fixture(autouse=True)
def _from_zero(monkeypatch):
    monkeypatch.setattr(Counted, "reads", 0)


def feed(number):
    return Op(f"feed{number}", "Data", outputs=SPEC, attrs=Counted(index=number))


def relu(name, **attrs):
    return Op(name, "ReLU", (Value(0, 0),), outputs=SPEC, attrs=Counted(attrs))


def test_an_operator_that_does_the_same_again_is_no_kernel():
    view = GraphView(Graph("g", ops=(feed(0), relu("a"), relu("b"), relu("c", slope=0.5))))
    assert view.kernels == [0, 1, 3]
    assert view.recomputed == {2: 1}


def test_feeds_and_weights_are_kernels_of_their_own_and_not_compared_with_each_other():
    view = GraphView(Graph("g", ops=tuple(feed(number) for number in range(300))))
    assert view.kernels == [*range(300)]
    assert Counted.reads <= 300  # a network of thousands of weights would take minutes


def test_settings_of_operators_that_read_the_same_are_read_once():
    ops = (feed(0), *(relu(f"relu{number}", slope=number) for number in range(300)))
    view = GraphView(Graph("g", ops=ops))
    assert view.kernels == [*range(301)]
    assert Counted.reads <= 301


@pytest.mark.parametrize(
    ("readers", "hint"),
    [(LIMITS.hint_most, [*range(1, LIMITS.hint_most + 1)]), (LIMITS.hint_most + 1, [])],
)
def test_what_too_many_of_a_type_read_is_no_hint(readers, hint):
    ops = (feed(0), *(relu(f"relu{number}", slope=number) for number in range(readers)))
    view = GraphView(Graph("g", ops=(*ops, Op("tanh", "Tanh", (Value(0, 0),), outputs=SPEC))))
    value = Origin("op", 0)
    assert view.alike_readers(value, "ReLU") == hint
    assert view.alike_readers(value, "Tanh") == [readers + 1]
    assert view.alike_readers(value, "Sigmoid") == []


@pytest.mark.parametrize(
    ("op_type", "slots", "changed"),
    [("AssignAdd", (1, 0), {1}), ("ApplyMomentum", (2, 0, 1), {0, 2}), ("MatMul", (0, 1), set())],
)
def test_parameters_that_an_operator_writes_over(op_type, slots, changed):
    some = tuple(Parameter(f"w{n}", SPEC[0], is_weight=True) for n in range(3))
    op = Op("op", op_type, tuple(map(Param, slots)), {}, SPEC)
    assert changed_parameters(Graph("g", some, (op,))) == changed


@pytest.mark.parametrize(
    ("op", "reads", "same"),
    [
        (Op("a", "ReLU"), [Origin("op", 0)], True),
        (Op("a", "ReLU"), [Origin("param", 1)], True),
        (Op("a", "ReLU"), [Origin("param", 7)], False),
        (Op("a", "ReLU"), [Origin("op", 7)], True),
        (Op("a", "ReLU"), [], False),
        (Op("a", "AssignAdd"), [Origin("param", 1)], False),
        (Op("a", "Dropout"), [Origin("op", 0)], False),
    ],
    ids=[
        "value",
        "weight",
        "changing weight",
        "value of that number",
        "nothing",
        "writes",
        "draws",
    ],
)
def test_what_gives_the_same_whenever_it_reads_the_same(op, reads, same):
    assert is_repeatable(op, reads, {7}) is same


@pytest.mark.parametrize(
    ("op_type", "moves"),
    [("Cast", True), ("Reshape", True), ("ReLU", False), ("Fused_Cast_Add", False)],
)
def test_what_hands_on_the_elements_that_it_reads(op_type, moves):
    assert hands_on(op_type) is moves


OWN = SourceFrame("/me/net.py", 3, " y = f(x) ")


@pytest.mark.parametrize(
    ("name", "op_type", "frame", "alike"),
    [
        ("Default/left/a", "ReLU", None, [1, 1]),
        ("Default/left/b", "ReLU", None, [1]),
        ("Other/b", "ReLU", None, []),
        ("Other/b", "ReLU", replace(OWN, file="/you/net.py", code="y = f(x)"), [1]),
        ("Other/b", "ReLU", replace(OWN, line=4), []),
        ("Other/b", "ReLU", replace(OWN, code="y = g(x)"), []),
        ("Default/left/a", "Tanh", OWN, []),
    ],
    ids=[
        "name and scope",
        "scope",
        "nothing",
        "line",
        "another line",
        "another code",
        "another type",
    ],
)
def test_an_operator_is_looked_for_by_name_line_and_scope(name, op_type, frame, alike):
    known = replace(relu("Default/left/a"), frames=(OWN,))
    view = GraphView(Graph("g", ops=(feed(0), known)))
    frames = () if frame is None else (frame,)
    assert [*view.alike(Op(name, op_type, frames=frames))] == alike


def test_a_line_of_a_library_is_no_hint():
    frame = replace(OWN, file="/usr/lib/python3/site-packages/x/net.py")
    view = GraphView(Graph("g", ops=(feed(0), replace(relu("left/a"), frames=(frame,)))))
    assert [*view.alike(Op("right/b", "ReLU", frames=(frame,)))] == []
